# 038_silent_leave.pl -- the row of a node stays locked, and the answer to a grab comes
# when the node may start no task any more.  The task is given back, so that the node
# can begin a new incarnation, which runs it.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

# The control session is given up after half of the lease.
use constant { LEASE => 8, PATIENCE => 60 };

my $node = TwTasks::Cluster->create('main');
my $ledger = TwTasks::Ledger->new;
my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	lease => LEASE . 's',
	handlers => [ { types => ['TASK'], worker => $ledger->worker } ]);
my $old = $sidecar->incarnation;

# A session for grabs is there, and idle.
$node->value('SELECT count(twtasks.add_task(\'TASK\')) FROM generate_series(1, 20)');
wait_for(sub { $node->tasks('status <> \'DONE\'') == 0 }, 'tasks to run');

my ($holder, $control) = $node->hold_tick($old);
my @grabs = split /\n/, $node->value('SELECT pid FROM pg_stat_activity WHERE application_name = \'twtasksd grab\'');
my $from = $sidecar->log_position;

note(scalar(@grabs) . ' sessions for grabs');
kill STOP => $control, @grabs;
my $late = $node->value('SELECT task_id FROM twtasks.add_task(\'TASK\')');

wait_ok(sub { $sidecar->log($from) =~ /no answer to "tick" .*given up \(backend $control\)/ },
	'the session is given up', PATIENCE);
kill CONT => @grabs;

wait_ok(
	sub { $sidecar->log($from) =~ /incarnation $old is left, and a new one begins: another transaction locks its row/ },
	'the incarnation is left', PATIENCE);
is($node->value("SELECT ended IS NULL FROM twtasks.node WHERE incarnation = $old"), 't', 'its row is still locked');
wait_ok(sub { $node->tasks('status <> \'DONE\'') == 0 }, 'the new one runs all tasks', PATIENCE);

$holder->close;
kill CONT => $control;
is(scalar($ledger->repeated), 0, 'no task was started twice');
is($node->value("SELECT tries FROM twtasks.finished_task WHERE id = '$late'"), 1, 'the late grab cost no try');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
