# 034_lost_grabs.pl -- a crash of the server undoes grabs that were not
# durable: such a task runs on, or again, and is finished once.  A task that
# must not run twice is grabbed durably.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

# Nobody but a commit that waits for the disk writes the log.
my $node =
  TwTasks::Cluster->create('main', conf => { wal_writer_delay => '10s' });
my $ledger = TwTasks::Ledger->new;
my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	handlers => [
		{ types => ['ONCE'], command => $ledger->command('gate') },
		{
			types => ['AGAIN'],
			worker => $ledger->worker('worker_gate'),
			stuck => 'retry'
		}
	]);
my ($lost, @again, @once);

# A heartbeat between the grab and the crash would make the grab durable.
foreach my $attempt (1 .. 20)
{
	my $from = $sidecar->log_position;
	my $again = $node->add_task('AGAIN');

	push @again, $again;
	wait_for(sub { $ledger->starts($again) }, 'its start');
	$node->stop('immediate');
	$node->start;
	$sidecar->wait_for_log(qr/control: connected/, 'its sessions to come back',
		$from);
	wait_for(
		sub {
			$node->state_of($again) eq 'PROCESSING 1';
		},
		'the grab, the old one or a new one');
	$lost = $sidecar->log($from) =~ /the server had lost its grab.*\Q$again\E/;
	$ledger->release('worker_gate');
	wait_for(sub { $node->state_of($again) eq 'DONE 2' }, 'its end');
	last if $lost;
}
ok($lost, 'a grab was lost in the crash');
is($node->tasks("type = 'AGAIN' AND status = 'DONE'"),
	scalar @again, 'tasks of lost grabs are done, each once');
is($ledger->starts($again[-1]),
	1, 'the run that was under way counts for the new grab');

foreach my $attempt (1 .. 5)
{
	my $task = $node->add_task('ONCE');

	push @once, $task;
	wait_for(sub { $ledger->starts($task) }, 'its start');
	$node->stop('immediate');
	$node->start;
	wait_for(sub { $node->state_of($task) eq 'PROCESSING 1' }, 'the grab');
	$ledger->release('gate');
	wait_for(sub { $node->state_of($task) eq 'DONE 2' }, 'its end');
}
unlike($sidecar->log, qr/had lost its grab.* type=ONCE/,
	'no grab of a task that must not run twice was lost');
is(scalar(grep { $ledger->starts($_) != 1 } @once),
	0, 'each task that must not run twice was started once');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
