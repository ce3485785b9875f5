# 057_aging.pl -- where a policy says so a task that waits rises, and runs
# though more urgent work never runs out: from the sidecar's memory, and from a
# backlog that is larger than this.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');

# As soon as one task has begun there is another one, and three wait.
sub next_round
{
	my ($ledger, $type) = @_;
	my $n = $ledger->starts;

	$node->add_task($type, priority => 3);
	$ledger->release('gate', 1);
	wait_for(sub { $ledger->starts > $n }, 'the next start');
	return;
}

sub check_starving
{
	my ($name, $stream, $low, %config) = @_;
	my $ledger = TwTasks::Ledger->new;
	my $sidecar = TwTasks::Sidecar->start(
		$node, $name, %config,
		log => { level => 'debug' },
		handlers => [
			{
				types => ['*'],
				concurrency => 1,
				command => $ledger->command('gate')
			}
		]);
	my $first = $node->add_task($stream);

	wait_for(sub { $ledger->starts($first) }, 'the first start');
	$node->add_task($stream, priority => 3) foreach 1 .. 3;
	my $starving = $node->add_task($low, priority => 9);

	next_round($ledger, $stream) foreach 1 .. 30;
	is($ledger->starts($starving), 0,
		"$name: more urgent work goes before a task, however long it waits");

	TwTasks::Sidecar::configure(
		policies => "SELECT twtasks.configure_type('$low', aging => '200 ms')", $sidecar);
	wait_ok(
		sub {
			next_round($ledger, $stream);
			return $ledger->starts($starving);
		},
		"$name: a task gets its turn where tasks rise");
	cmp_ok($node->tasks("type = '$stream' AND status = 'SUBMITTED'"),
		'>', 0, "$name: more urgent tasks still wait");
	is($node->value("SELECT priority FROM twtasks.task WHERE id = '$starving'"),
		9, "$name: the stored priority of the task is unchanged");
	$ledger->release('gate', 1000);
	wait_ok(
		sub { $node->tasks('status <> \'DONE\'') == 0 },
		"$name: all tasks are done");
	is(scalar($ledger->repeated), 0, "$name: each task was started once");
	is($sidecar->stop, 0, "$name: the sidecar stops in order");
	$node->value('TRUNCATE twtasks.finished_task');
	return;
}

check_starving('memory', 'URGENT', 'LOW');
check_starving('database', 'ONE', 'ONE', look_ahead => 20);

done_testing();
