# 050_slots.pl -- limits hold at every moment, and the urgent overtakes.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');

sub wait_until_done
{
	my ($condition, $n, $name) = @_;

	return wait_ok(
		sub { $node->tasks("status = 'DONE' AND $condition") == $n }, $name);
}

sub no_slot_is_wasted
{
	my ($ledger) = @_;
	my %started = (THREE => 0, FOUR => 0);
	my %running = (THREE => 0, FOUR => 0);

	foreach my $line ($ledger->lines)
	{
		my $handler = $line->{type} =~ s/\|.*//r;

		$started{$handler}++ if $line->{what} eq 'start';
		$running{$handler} += $line->{what} eq 'start' ? 1 : -1;
	}
	return $running{THREE} + $running{FOUR} == 5
	  || ($running{THREE} == 3 || $started{THREE} == 40)
	  && ($running{FOUR} == 4 || $started{FOUR} == 20);
}

# Two handlers with limits of their own, and one of the node that is lower
# than their sum.
sub check_limits
{
	my $ledger = TwTasks::Ledger->new;
	my $sidecar = TwTasks::Sidecar->start(
		$node, 'limits',
		buckets => [ 'limits', 'more' ],
		concurrency => 5,
		handlers => [
			{
				types => [ 'THREE', 'THREE|*' ],
				concurrency => 3,
				command => $ledger->command('gate')
			},
			{
				types => ['FOUR'],
				concurrency => 4,
				command => $ledger->command('gate')
			}
		]);

	foreach my $n (1 .. 60)
	{
		my $type = (qw(THREE FOUR THREE|x))[ $n % 3 ];

		$node->add_task($type, bucket => $n % 2 ? 'limits' : 'more');
	}
	wait_for(sub { $ledger->starts == 5 }, 'five starts');
	foreach my $n (1 .. 30)
	{
		$ledger->release('gate', $n % 3 + 1);
		wait_for(sub { no_slot_is_wasted($ledger) },
			'freed slots to be used');
	}
	wait_until_done('type ~ \'THREE|FOUR\'', 60, 'all tasks are done');

	# The other handler may have left it no more than two, by chance.
	$node->add_task('THREE', bucket => 'limits') for 1 .. 4;
	wait_for(sub { $ledger->starts >= 63 }, 'three more starts');
	$ledger->release('gate', 4);
	wait_until_done('type ~ \'THREE|FOUR\'', 64, 'tasks of one handler are done');
	is($ledger->most_at_once, 5,
		'the node\'s limit was used and not exceeded');
	is($ledger->most_at_once(sub { $_[0]->{type} =~ /THREE/ }),
		3, 'the limit of one handler was reached, with any of its types');
	cmp_ok($ledger->most_at_once(sub { $_[0]->{type} eq 'FOUR' }),
		'<=', 4, 'the limit of the other handler was not exceeded');
	is($sidecar->stop, 0, 'the sidecar stops in order');
	return;
}

sub check_urgent
{
	my $ledger = TwTasks::Ledger->new;
	my $sidecar = TwTasks::Sidecar->start(
		$node, 'urgent',
		handlers => [
			{
				types => [ 'A', 'B' ],
				concurrency => 1,
				command => $ledger->command('gate')
			},
			{ types => ['MARK'], noop => JSON::PP::true }
		]);
	my $first = $node->add_task('A');

	wait_for(sub { $ledger->starts($first) }, 'the first start');
	my @usual = map { $node->add_task('A') } 1 .. 5;
	my $low = $node->add_task('B', priority => 9);
	my $high = $node->add_task('B', priority => 1);
	my $urgent = $node->add_task('A', priority => 0);

	# Triggers come in order: when this one has come, so have those.
	my $mark = $node->add_task('MARK');

	wait_for(sub { $node->status_of($mark) eq 'DONE' }, 'all triggers to be taken');
	$ledger->release('gate', 100);
	wait_until_done('type IN (\'A\', \'B\')', 9, 'all tasks are done');
	is_deeply(
		[ map { $_->{id} } $ledger->select('start') ],
		[ $first, $urgent, $high, @usual, $low ],
		'the urgent first, then in order of arrival');
	is($sidecar->stop, 0, 'the sidecar stops in order');
	return;
}

check_limits();
check_urgent();

done_testing();
