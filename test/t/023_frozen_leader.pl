# 023_frozen_leader.pl -- a leader that stands still, its sessions alive, does
# not hold up what one node does for all: when it is late another one leads, due
# tasks become due, and its own are taken over after its lease.  When it goes on it
# still takes itself for the leader, and does no harm.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

use constant TASKS => 100;

foreach my $kind (qw(ring notify))
{
	my $node    = TwTasks::Cluster->create($kind, queue => $kind);
	my $ledger  = TwTasks::Ledger->new;
	my $leader  = TwTasks::Sidecar->start(
		$node,
		"$kind-leader",
		lease    => '4s',
		handlers => [
			{
				types   => ['TASK'],
				stuck   => 'retry',
				command => $ledger->command('never')
			}
		]);

	$leader->wait_for_log(qr/this node leads/);

	my $task = $node->add_task('TASK');

	wait_for(sub { $ledger->starts($task) }, 'start of the task');
	$leader->freeze;

	my $heir  = TwTasks::Sidecar->start(
		$node,
		"$kind-heir",
		handlers => [
			{ types => ['TASK'], command => $ledger->command },
			{ types => ['DUE'],  worker  => $ledger->worker }
		]);

	# In this order: it may begin to lead between the two.
	my $leads = $heir->log =~ /this node leads/;
	my $is_late = $node->value('SELECT twtasks_internal.overdue_at(next_tick) < clock_timestamp()
		FROM twtasks.node WHERE incarnation = ' . $leader->incarnation) eq 't';

	ok(!$leads || $is_late, "$kind: no other sidecar leads while the leader is in time");
	wait_ok(sub { $heir->log =~ /this node leads/ },
		"$kind: another sidecar leads when the leader is late");
	note(sprintf '%s: leads after %.2f s', $kind, took());
	wait_ok(sub { $node->status_of($task) eq 'DONE' },
		"$kind: the task of the frozen sidecar is taken over");

	# Word of it may go to the frozen one, whose sessions still wait for triggers.
	my $due = $node->add_task('TASK',
		run_after =>
		  $node->value('SELECT clock_timestamp() + interval \'1 second\''));

	wait_ok(sub { $node->status_of($due) eq 'DONE' },
		"$kind: a task that is due later runs");

	# It does its pending work now, while the other one leads.
	$node->value(
		"SELECT count(twtasks.add_task('DUE', to_jsonb(n), run_after => clock_timestamp() + interval '300 ms'))
		FROM generate_series(1, ${\ TASKS}) n"
	);
	$leader->signal('CONT');
	$leader->wait_for_log(qr/was declared gone.*started as incarnation/s);
	pass("$kind: the frozen one goes on as a new incarnation");
	wait_ok(sub { $node->tasks('status <> \'DONE\'') == 0 },
		"$kind: all tasks are done");
	is($node->tasks('type = \'DUE\' AND (version <> 3 OR tries <> 1)'),
		0, "$kind: the tasks due meanwhile were promoted and run once");
	is(scalar(grep { $_->{type} eq 'DUE' } $ledger->select('start')),
		TASKS, "$kind: each of the tasks due meanwhile was started");
	is($_->stop, 0, "$kind: the sidecar stops in order")
	  foreach $leader, $heir;
	$node->stop;
}

done_testing();
