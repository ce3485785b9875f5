# 022_late_start.pl -- a task's time begins when it is grabbed, though the
# answer may come late: what is left of it is the handler's, and when nothing is
# left the handler is not started.

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

$node->value('SELECT twtasks.configure_type(\'SHORT\', timeout => \'4s\')');

my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	lease => '1h',
	handlers => [
		{
			types => [qw(LONG SHORT)],
			concurrency => 1,
			timeout => '10min',
			grace => '60s',
			command => $ledger->command('gate')
		}
	]);
# The sweep of the start may find a task that a trigger names, too: the second grab
# of it would be the one that waits.
$ledger->release('gate');
$node->add_task('LONG');
$node->wait_until_done('LONG', 'a task that the first sweep may find');

my $first = $node->add_task('LONG');

wait_for(sub { $ledger->starts($first) }, 'its start');

# It stands still, for less than its lease, when the next grab is committed.
my $late = $node->add_task('SHORT');
my $lock = $node->lock_tasks;

$ledger->release('gate');
wait_for(sub { $node->wait_in_call('grab_tasks') }, 'grab to wait for the lock');
$sidecar->freeze;
$lock->close;
wait_for(sub { $node->state_of($late) eq 'PROCESSING 1' },
	'grab to be committed');
wait_for(
	sub {
		$node->value("SELECT clock_timestamp() > state_time + interval '4.5 seconds'
			FROM twtasks.tasks WHERE id = '$late'") eq 't';
	},
	'its time to be over');
$ledger->release('gate');
$sidecar->signal('CONT');
# more than once where the second grab was late, too
wait_ok(
	sub { $node->state_of($late) =~ /^DONE (?:[4-9]|\d\d)$/ },
	'the late task is given back, and runs by another grab');
is($ledger->starts($late), 1, 'the handler of the late task was started once');
is($node->value("SELECT tries FROM twtasks.tasks WHERE id = '$late'"),
	1, 'the late start was the first try');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
