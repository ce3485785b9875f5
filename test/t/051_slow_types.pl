# 051_slow_types.pl -- slow types hold up no other, however many of their
# tasks wait: neither one of them nor so many that they fill the memory.
#
# The sweep that comes by itself is switched off: what there is no room for is
# fetched as soon as there is.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

use constant LOOK_AHEAD => 2000;

my $node = TwTasks::Cluster->create('main');
my $ledger = TwTasks::Ledger->new;
my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	look_ahead => LOOK_AHEAD,
	sweep => '1h',
	handlers => [
		{
			types => ['SLOW|*'],
			concurrency => 60,
			worker => $ledger->worker('slow')
		},
		{ types => [ 'FAST', 'LATER' ], worker => $ledger->worker }
	]);

sub check
{
	my ($type, $what) = @_;

	$node->add_many($type, 10, 1);
	wait_ok(sub { $node->tasks("status = 'DONE' AND type = '$type'") == 10 },
		"ten tasks of another type are done beside $what");
	is($node->tasks('status = \'DONE\' AND type LIKE \'SLOW|%\''),
		0, 'no slow task is done');
	return;
}

# Some come by triggers, and so many at once that they are swept.
$node->add_many('SLOW|1', 9_000, 3_000);
$node->add_many('SLOW|1', 1_000, 1);
check('FAST', 'ten thousand of one slow type');

$node->add_many("SLOW|$_", LOOK_AHEAD, 500) foreach 2 .. 8;
check('LATER', 'more of eight slow types than memory has room for');

my $all = 10_000 + 7 * LOOK_AHEAD + 20;

$ledger->release('slow', $all);
wait_ok(sub { $node->tasks('status = \'DONE\'') == $all },
	'the slow tasks get their turn');
is(scalar($ledger->repeated), 0, 'no task was started twice');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
