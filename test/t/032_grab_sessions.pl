# 032_grab_sessions.pl -- many tasks at once are grabbed over two sessions; both
# are ended again and again under load, and nothing is lost or runs twice.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

use constant TASKS => 20000;

my $node = TwTasks::Cluster->create('main');
my $ledger = TwTasks::Ledger->new;
my $sidecar = TwTasks::Sidecar->start($node, 'a',
	handlers => [ { types => ['WORKER'], worker => $ledger->worker, window => 500, concurrency => 1500 } ]);

sub add
{
	return $node->value('SELECT count(*) FROM twtasks.add_tasks(\'WORKER\',
		ARRAY(SELECT to_jsonb(i) FROM generate_series(1, ' . TASKS . ') i))');
}

sub sessions
{
	return $node->value('SELECT count(*) FROM pg_stat_activity WHERE application_name = \'twtasksd grab\'');
}

sub wait_until_done
{
	my ($n, $name) = @_;

	wait_ok(sub { $node->tasks('status = \'DONE\'') == $n }, $name);
	return;
}

is(sessions(), 1, 'one session at first');
add();
wait_until_done(TASKS, 'many tasks are done');
is(sessions(), 2, 'with two');

my $ended = 0;

# One that has just ended is nobody's fault.
$node->value('SET client_min_messages = error');
add();
while ($node->tasks('status = \'DONE\'') < 2 * TASKS)
{
	last if $ended > 1000;
	$ended += $node->value('SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
		WHERE application_name = \'twtasksd grab\'');
}
wait_until_done(2 * TASKS, 'so are more, while sessions are ended');
cmp_ok($ended, '>', 2, "$ended of them");
is($ledger->starts, 2 * TASKS, 'each was started');
is(scalar($ledger->repeated), 0, 'and none twice');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
