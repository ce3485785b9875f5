# 021_two_sidecars.pl -- two sidecars share the work, and no task runs twice,
# even if both have the same name.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

use constant TASKS => 10_000;

my $node = TwTasks::Cluster->create('main');
my $ledger = TwTasks::Ledger->new;
my @sidecars = map {
	TwTasks::Sidecar->start(
		$node, $_,
		node => 'same',
		sweep => '1s',
		handlers =>
		  [ { types => ['SHARED'], worker => $ledger->worker('go') } ])
} qw(a b);

sub by_worker
{
	my %tasks;

	$tasks{ $_->{pid} }++ foreach $ledger->select('start');
	return %tasks;
}

$node->add_many('SHARED', TASKS, 500);
wait_ok(
	sub { my %tasks = by_worker(); keys %tasks == 2 },
	'the workers of both sidecars have begun');
# Neither can be done with all before the other one goes on.
my $released = 0;

wait_for(
	sub {
		my %tasks = by_worker();

		$ledger->release('go', 10);
		$released += 10;
		return 2 == grep { $_ > 1 } values %tasks;
	},
	'both to go on');
$ledger->release('go', TASKS - $released);
wait_ok(sub { $node->tasks('status = \'DONE\'') == TASKS },
	'all tasks are done');

my %tasks = by_worker();

is(scalar($ledger->select('start')), TASKS, 'there are as many starts as tasks');
is(scalar($ledger->repeated), 0, 'no task was started twice');
is($node->tasks('tries <> 1 OR version <> 2'), 0, 'each task is done in its first try');
is(scalar(grep { $tasks{$_} > 1 } keys %tasks), 2, 'both sidecars ran tasks');
is( $node->value(
		'SELECT count(*) FROM twtasks.nodes WHERE name = \'same\'
		AND ended IS NULL'),
	2,
	'both sidecars are alive');
is($_->stop, 0, 'the sidecar stops in order') foreach @sidecars;

done_testing();
