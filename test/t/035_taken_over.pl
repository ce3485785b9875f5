# 035_taken_over.pl -- other nodes take the tasks of a node whose control
# session has ended, and the node does not hear of that end.  It starts none of
# these tasks: not one whose grab is answered late, and not one that waits for a
# worker.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Proxy;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node    = TwTasks::Cluster->create('main');
my $ledger  = TwTasks::Ledger->new;
my $proxy   = TwTasks::Proxy->start($node);
my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	postgres => $proxy->connstr . ' user=sidecar',
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
my $control = $node->value(
	q(SELECT pid FROM pg_stat_activity WHERE application_name = 'twtasksd control'));

# It has no handlers, and takes over what others leave.
my $other = TwTasks::Sidecar->start($node, 'b',
	handlers => [ { types => ['OTHER'], command => $ledger->command } ]);
my ($first, $waits) = map { $node->add_task('WORKER') } 1, 2;

wait_for(
	sub { $ledger->select('start') == 1 && $node->tasks('status = \'PROCESSING\'') == 2 },
	'one to run and one to wait');

# The network falls silent: no tick arrives, and the last grab is not answered.
$proxy->silence('tick', 'blocked');
wait_for(sub { $proxy->has_noted('has blocked tick') }, 'a tick');
$proxy->silence('grab', 'held');

my $late = $node->add_task('COMMAND');

wait_for(sub { $node->status_of($late) eq 'PROCESSING' }, 'its grab to be committed');
$node->value("SELECT pg_terminate_backend($control)");
wait_ok(sub { $node->tasks('status = \'ERROR\'') == 3 }, 'another node takes the tasks over');
unlike($sidecar->log, qr/postgres: control: .*will connect again/, 'the node has not heard of it');

# Time that would be enough for a start, by what the node does next.
my $from = $sidecar->log_position;

$proxy->mend('grab');
$ledger->release('gate');
wait_for(sub { $ledger->ends($first) }, 'the end of the first');
wait_for(sub { $sidecar->log($from) =~ /refused "done" for task \Q$first\E/ },
	'its end to be refused');
$proxy->mend('tick');
$sidecar->wait_for_log(qr/was declared gone/, 'the node to hear of it', $from);
is($ledger->starts($late), 0, 'a task whose grab was answered late is not started');
is($ledger->select('start'), 1, 'nor is a task that waited for a worker');

# A person has resumed them.
$node->value('SELECT twtasks.resume_task(id) FROM twtasks.error_tasks');
$ledger->release('gate', 2);
wait_ok(sub { $node->tasks('status = \'DONE\'') == 3 }, 'the tasks run when they were resumed');
is($ledger->starts($_), 1, 'each of them once') foreach $late, $waits;
is($sidecar->stop, 0, 'the sidecar stops in order');
is($other->stop, 0, 'so does the other');

done_testing();
