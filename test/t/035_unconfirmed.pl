# 035_unconfirmed.pl -- when its control session was cut, a node may have been
# declared gone before its lease is over: it grabs nothing, and starts nothing
# that waits for a worker, before the database has confirmed that it lives.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node    = TwTasks::Cluster->create('main');
my $ledger  = TwTasks::Ledger->new;
my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	lease    => '1h',
	handlers => [
		{ types => ['COMMAND'], command => $ledger->command },
		{
			types       => ['WORKER'],
			concurrency => 2,
			processes   => 1,
			prefetch    => 1,
			worker      => $ledger->worker('gate')
		}
	]);
my $control = q(FROM pg_stat_activity WHERE application_name = 'twtasksd control');
my ($first, $waits) = map { $node->add_task('WORKER') } 1, 2;

wait_for(
	sub {
		$ledger->select('start') == 1
		  && $node->tasks('status = \'PROCESSING\'') == 2;
	},
	'one to run and one to wait');

# Its next heartbeat waits.
my $nodes = $node->session;

$nodes->query('BEGIN; LOCK TABLE twtasks.node IN EXCLUSIVE MODE');
my $old = $node->value("SELECT pid $control");

$node->value("SELECT pg_terminate_backend($old)");
wait_for(
	sub {
		$node->value(
			"SELECT count(*) $control AND pid <> $old AND wait_event_type = 'Lock'");
	},
	'its new control session to wait');

my $later = $node->add_task('COMMAND');

$ledger->release('gate', 2);
wait_for(sub { $node->tasks('status = \'DONE\'') >= 1 }, 'the first to be done');
is($ledger->select('start'), 1, 'a task that was grabbed before is not started');
is($node->state_of($later), 'SUBMITTED 0', 'no task is grabbed');
$nodes->close;
wait_ok(sub { $node->tasks('status <> \'DONE\'') == 0 },
	'the tasks run when the database has answered');
is($ledger->repeated, 0, 'no task was started twice');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
