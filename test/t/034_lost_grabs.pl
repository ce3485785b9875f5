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
my $once = $node->add_task('ONCE');
my ($lost, @again);

wait_ok(sub { $ledger->starts($once) }, 'the task that must not run twice');

# A heartbeat between the grab and the crash would make the grab durable.
foreach my $attempt (1 .. 20)
{
	my $from = $sidecar->log_position;
	my $again = $node->add_task('AGAIN');

	push @again, $again;
	wait_for(sub { $ledger->starts($again) }, 'its start');
	$node->stop('immediate');
	$node->start;
	$sidecar->wait_for_log(qr/grab: connected/, 'the grabs come back',
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
	scalar @again, 'those tasks are done, each once');
is($ledger->starts($again[-1]),
	1, 'the run that was under way is taken for the new one');
is($node->state_of($once), 'PROCESSING 1',
	'the grab of the task that must not run twice is there');
is($ledger->starts($once), 1, 'it was started once');
$ledger->release('gate');
wait_ok(sub { $node->state_of($once) eq 'DONE 2' }, 'and its end is accepted');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
