# 023_frozen_leader.pl -- a leader that stands still, its sessions alive, does
# not hold up what one node does for all: when its lease is over another one
# leads, due tasks become due, and its own are taken over.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my $ledger = TwTasks::Ledger->new;
my @options = (lease => '1s');
my $leader = TwTasks::Sidecar->start(
	$node, 'leader', @options,
	handlers => [
		{
			types => ['TASK'],
			stuck => 'retry',
			command => $ledger->command('never')
		}
	]);

$leader->wait_for_log(qr/this node leads/);

my $task = $node->add_task('TASK');

wait_for(sub { $ledger->starts($task) }, 'start of the task');
$leader->freeze;

my $heir = TwTasks::Sidecar->start($node, 'heir', @options,
	handlers => [ { types => ['TASK'], command => $ledger->command } ]);

is($heir->log =~ /this node leads/, '', 'the other one does not lead yet');

wait_ok(sub { $heir->log =~ /this node leads/ },
	'when the lease is over another one leads', 15);
wait_ok(sub { $node->status_of($task) eq 'DONE' },
	'the task of the frozen one is taken over', 15);

# Word of it may go to the frozen one, whose sessions still wait for triggers.
my $due = $node->add_task('TASK',
	run_after =>
	  $node->value('SELECT clock_timestamp() + interval \'1 second\''));

wait_ok(sub { $node->status_of($due) eq 'DONE' },
	'a task that is due later runs', 15);

$leader->signal('CONT');
$leader->wait_for_log(qr/was declared gone.*started as incarnation/s);
pass('the frozen one goes on as a new incarnation');
is($node->tasks('status <> \'DONE\''), 0, 'all tasks are done');
is($_->stop, 0, 'the sidecar stops in order') foreach $leader, $heir;

done_testing();
