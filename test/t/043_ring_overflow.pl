# 043_ring_overflow.pl -- a ring that overflows asks for a sweep: with sixteen
# places for ten thousand triggers all tasks run, though the sweep that comes
# by itself is switched off.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

use constant TASKS => 10_000;

my $node =
  TwTasks::Cluster->create('main', conf => { 'twtasks.queue_size' => 16 });
my $ledger = TwTasks::Ledger->new;
my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	sweep => '1h',
	handlers => [ { types => ['TASK'], worker => $ledger->worker } ]);

$sidecar->wait_until_idle;
$node->add_many('TASK', TASKS, 20);
wait_ok(sub { $node->tasks('status = \'DONE\'') == TASKS },
	'all tasks are done');
is(scalar($ledger->select('start')), TASKS, 'there are as many starts as tasks');
is(scalar($ledger->repeated), 0, 'no task was started twice');
cmp_ok(
	$node->value('SELECT dropped FROM twtasks.queue_stats()'),
	'>',
	TASKS / 100,
	'the ring did overflow');

# It is not stuck: what fits comes by a trigger again.
$sidecar->wait_until_idle;
$node->add_many('TASK', 10, 1);
wait_ok(sub { $node->tasks('status = \'DONE\'') == TASKS + 10 },
	'triggers arrive as before after the overflow');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
