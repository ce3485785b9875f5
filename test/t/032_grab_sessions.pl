# 032_grab_sessions.pl -- many tasks at once are grabbed over two sessions: when
# the answer to one is lost, or both are ended again and again, nothing is lost or
# runs twice.

use strict;
use warnings FATAL => 'all';

use List::Util qw(max);
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Proxy;
use TwTasks::Sidecar;
use TwTasks::Wait;

use constant TASKS => 6000;

my $node = TwTasks::Cluster->create('main');
my $ledger = TwTasks::Ledger->new;
my $proxy = TwTasks::Proxy->start($node);
my $sidecar = TwTasks::Sidecar->start($node, 'a',
	postgres => $proxy->connstr . ' user=sidecar',
	handlers => [ { types => ['WORKER'], worker => $ledger->worker, prefetch => 500, concurrency => 1500 } ]);

sub add
{
	return $node->value('SELECT count(*) FROM twtasks.add_tasks(\'WORKER\',
		ARRAY(SELECT to_jsonb(i) FROM generate_series(1, ' . TASKS . ') i))');
}

sub sessions
{
	return $node->value('SELECT count(*) FROM pg_stat_activity WHERE application_name = \'twtasksd grab\'');
}

my $most = 0;

sub wait_until_done
{
	my ($n, $name) = @_;

	wait_ok(
		sub {
			$most = max($most, sessions());
			return $node->tasks('status = \'DONE\'') == $n;
		},
		$name);
	return;
}

add();
wait_until_done(TASKS, 'many tasks are done');
is($most, 2, 'two grab sessions shared the work');

# Asked over the other session, which is there, while the lost call may come late.
my $done = TASKS;

foreach my $how (qw(after never late))
{
	my $from = $sidecar->log_position;

	$proxy->cut('grab', $how);
	add();
	wait_until_done($done += TASKS, "grab cut, server: $how: all tasks are done");
	ok($proxy->has_noted("cut grab $how"), 'grab cut, server: $how: the connection was cut');
	like($sidecar->log($from), qr/asking for the outcome of \d+ grabs/, 'the sidecar asks for the outcome of lost grabs');
}
wait_ok(sub { $proxy->has_noted('late grab gave 0 rows') }, 'the late call grabbed nothing');

my $ended = 0;

# A session may just have ended by itself.
$node->value('SET client_min_messages = error');
add();
$done += TASKS;
while ($ended < 50 && $node->tasks('status = \'DONE\'') < $done)
{
	$ended += $node->value('SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
		WHERE application_name = \'twtasksd grab\'');
}
wait_until_done($done, 'tasks whose grab sessions were ended are done');
cmp_ok($ended, '>', 2, "several grab sessions were ended ($ended)");
is($node->tasks('tries <> 1'), 0, 'all tasks were done in their first try');
is($ledger->starts, $done, 'each task was started once in all');
is(scalar($ledger->repeated), 0, 'no task is started twice');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
