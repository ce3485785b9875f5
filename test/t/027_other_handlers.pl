# 027_other_handlers.pl -- sidecars with different handlers work for one bucket: a
# trigger reaches one that handles its type, and no task waits for a sweep.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;

# A routine sweep would come long after the test has given up.
use constant { SWEEP => '1h', TASKS => 50, BULK => 3_000 };

sub start_for
{
	my ($node, $name, @types) = @_;

	return TwTasks::Sidecar->start(
		$node, $name,
		sweep => SWEEP,
		handlers => [ { types => [@types], noop => JSON::PP::true, stuck => 'retry' } ]);
}

sub done_ok
{
	my ($node, $type, $tasks, $what) = @_;

	return wait_ok(
		sub {
			$node->tasks("type LIKE '$type%' AND status = 'DONE'") == $tasks;
		},
		$what);
}

# One by one, so that each commit wakes one sidecar, be it the wrong one.
sub add_in_turn
{
	my ($node, @types) = @_;

	foreach my $n (1 .. TASKS)
	{
		$node->add_task($_) foreach @types;
	}
	return;
}

foreach my $queue (qw(ring notify))
{
	my $node = TwTasks::Cluster->create($queue, queue => $queue);
	my $alpha = start_for($node, 'alpha', 'ALPHA');
	my $beta = start_for($node, 'beta', 'BETA|*', 'GAMMA');

	$node->wait_for_company(2);
	add_in_turn($node, 'ALPHA', 'BETA|ONE', 'GAMMA');
	done_ok($node, $_, TASKS, "$queue: tasks of $_ are done") foreach qw(ALPHA BETA GAMMA);

	$node->add_many('BULK', BULK, BULK);
	my $bulk = start_for($node, 'bulk', 'BULK');
	done_ok($node, 'BULK', BULK, "$queue: a sidecar that starts finds the tasks that wait");
	$node->wait_for_company(3);
	$node->add_many('BULK', BULK, BULK);
	done_ok($node, 'BULK', 2 * BULK,
		"$queue: tasks of a transaction without room for their triggers are found");
	$node->add_many('BULK', BULK, 500);
	done_ok($node, 'BULK', 3 * BULK,
		"$queue: more tasks at once than can be handed on are found");

	# Triggers that it had taken and not grabbed go to the other one of its kind.
	my $twin = start_for($node, 'twin', 'BULK');

	$node->wait_for_company(4);
	$node->add_many('BULK', BULK, 500);
	$bulk->kill9;
	add_in_turn($node, 'ALPHA', 'BULK');
	done_ok($node, 'BULK', 4 * BULK + TASKS, "$queue: a killed sidecar leaves its triggers to its twin");
	done_ok($node, 'ALPHA', 2 * TASKS, "$queue: the sidecars of other types go on");
	is($_->stop, 0, "$queue: a sidecar stops in order") foreach $alpha, $beta, $twin;
	$node->stop;
}

done_testing();
