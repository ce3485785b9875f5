# 095_monitor.pl -- the leading sidecar counts tasks, leaves the figures in a
# view, and says once when there are new ones in ERROR or stuck.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');

# A leader counts when it begins to lead, and says it if there is news.
sub lead
{
	my ($name, $has_news) = @_;
	my $before = $node->value('SELECT coalesce(max(at)::text, \'-infinity\') FROM twtasks.monitor');
	my $sidecar = TwTasks::Sidecar->start($node, $name,
		handlers => [ { types => ['NOOP'], noop => JSON::PP::true } ]);

	wait_ok(sub { $node->value("SELECT count(*) FROM twtasks.monitor WHERE at > '$before'") == 1 },
		"the sidecar $name has counted");
	$sidecar->wait_for_log(qr/monitor: /, 'the news') if $has_news;
	is($sidecar->stop, 0, "the sidecar $name stops in order");
	# A call of it may outlive it, and wait for a lock later.
	wait_for(sub { $node->value(q(SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'twtasksd %')) == 0 },
		"the sessions of $name to end");
	return scalar(() = $sidecar->log =~ /monitor: /g) . ' ' . join ',',
	  $sidecar->log =~ /WARN  monitor: (.*)/g;
}

sub give_up
{
	my ($type) = @_;

	$node->value("SELECT twtasks.add_task('$type')");
	$node->value("UPDATE twtasks.task SET status = 'ERROR', queued = false, next_event_time = 'infinity',
		state_time = clock_timestamp() WHERE type = '$type'");
	return;
}

is(lead('first'), '0 ', 'the monitor logs nothing without tasks');
give_up('BROKEN');
is( lead('second', 1),
	'1 1 tasks in ERROR, 0 stuck, some of them new: see twtasks.error_tasks, twtasks.stuck_tasks',
	'the monitor logs a task in ERROR in one line');
is( $node->value(
		'SELECT errors, stuck, submitted, nodes, age BETWEEN \'0\' AND \'1 minute\' FROM twtasks.monitor'),
	'1|0|0|1|t',
	'the view has the figures');
is($node->value('SELECT DISTINCT buckets FROM twtasks.nodes'),
	'{default}', 'another view has the buckets of a sidecar');
is(lead('third'), '0 ', 'the next leader does not log the same task again');
give_up('BROKEN_TOO');
like(lead('fourth', 1), qr/^1 2 tasks in ERROR/, 'the next leader logs another task in ERROR');

# ---- what is due does not wait behind what reads much ----

my $lock = $node->session;

$lock->query('BEGIN; LOCK TABLE twtasks.monitor_look');
my $sidecar = TwTasks::Sidecar->start($node, 'fifth',
	handlers => [ { types => ['NOOP'], noop => JSON::PP::true } ]);

wait_ok(sub { $node->waits_for_lock('duties') == 1 }, 'the count waits for a lock');
my $soon = $node->value('SELECT clock_timestamp() + interval \'300 milliseconds\'');
my $task = $node->add_task('NOOP', run_after => $soon);

wait_ok(sub { $node->status_of($task) eq 'DONE' }, 'a task that is due meanwhile is done');
is($node->waits_for_lock('duties'), 1, 'the count still waits for its lock');
$lock->close;
wait_ok(sub { $node->waits_for_lock('duties') == 0 }, 'the count goes on when the lock is free');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
