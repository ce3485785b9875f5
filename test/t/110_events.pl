# 110_events.pl -- each object's events come in one chain, none is missing, and a
# resend is identical: while processes add, roll back, and prepare transactions,
# and while sidecars, consumers and the server are killed and frozen at random.
#
# TWT_EVENT_SECONDS makes it a campaign: scripts/campaign-events.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Chain;
use TwTasks::Cluster;
use TwTasks::EventProducer;
use TwTasks::Seed;
use TwTasks::Sidecar;
use TwTasks::Wait;

use constant ROUNDS => 12;

TwTasks::Seed::sow();

my $node = TwTasks::Cluster->create('main', conf => { max_prepared_transactions => 20 });
my $chain = TwTasks::Chain->new;
my $seconds = $ENV{TWT_EVENT_SECONDS};
my %sidecars;

$node->add_extensions('events');
$node->value(<<'SQL');
	SELECT twtasks.configure_stream('works', 'WORKS', batch => 3),
		twtasks.configure_stream('hot', 'HOT', batch => 20),
		twtasks.configure_type(t, stuck => 'retry', retry => '{"delay": "50ms", "max_delay": "50ms", "max_tries": 10000}')
	FROM unnest('{WORKS,HOT}'::text[]) t;
SQL

sub start_sidecar
{
	my ($name) = @_;

	$sidecars{$name} = TwTasks::Sidecar->start(
		$node, $name,
		lease => '5s',
		handlers => [ { types => [qw(WORKS HOT)], concurrency => 8, processes => 2, worker => $chain->worker } ]);
	return;
}

# Waits for consumers to get so many more head tasks.
sub wait_for_heads
{
	my ($more) = @_;
	my $before = () = $chain->heads;

	return wait_for(sub { (() = $chain->heads) >= $before + $more }, "$more more heads");
}

my %faults = (
	sidecar => sub {
		my $name = (sort keys %sidecars)[ rand 2 ];

		$sidecars{$name}->kill9;
		start_sidecar($name);
	},
	consumer => sub {
		my @heads = $chain->heads;

		kill 'KILL', $heads[-1]{pid} if @heads;
	},
	freeze => sub {
		my $sidecar = $sidecars{ (sort keys %sidecars)[ rand 2 ] };

		$sidecar->freeze;
		watch_for(rand 9);
		$sidecar->signal('CONT');
	},
	server => sub {
		$node->forget_session;
		$node->stop('immediate');
		$node->start;
	});

push @TwTasks::Wait::on_failure, sub {
	diag('unsent: ' . $node->value('SELECT o::text FROM twtasks.event_objects o WHERE queued > 0 OR head IS NOT NULL'));
};
start_sidecar($_) foreach qw(a b);

my @producers = map { TwTasks::EventProducer->start($node, "p$_") } 1 .. 3;

my @names = sort keys %faults;

# Each fault comes once at least.
sub play_rounds
{
	foreach my $round (1 .. ROUNDS)
	{
		my $fault = $names[ $round <= @names ? $round - 1 : rand @names ];

		wait_for_heads(1 + int rand 40);
		note("round $round: $fault");
		$faults{$fault}->();
	}
	return;
}

# Crashes of the server are rarer than the rest.
sub play_campaign
{
	my $until = time + $seconds;

	while (time < $until)
	{
		watch_for(0.5 + rand 4);
		$faults{ rand() < 0.05 ? 'server' : (grep { $_ ne 'server' } @names)[ rand @names - 1 ] }->();
	}
	return;
}

$seconds ? play_campaign() : play_rounds();
wait_for_heads(20);
$_->stop foreach @producers;

# Transactions that a crash left prepared are committed after all.
$node->value("COMMIT PREPARED '$_'")
  foreach split /\n/, $node->value('SELECT gid FROM pg_prepared_xacts');
wait_ok(
	sub {
		$node->value('SELECT count(*) FROM twtasks.event_objects WHERE queued > 0 OR head IS NOT NULL') eq '0';
	},
	'all events are sent in the end');

my @faults = $chain->faults;
my %got = map { $_->{event} => $_ } $chain->events;
my @added = map { $_->events } @producers;
my %expected = map { $_->[1] => $_->[2] } @added;

is(join("\n", @faults[ 0 .. ($#faults < 9 ? $#faults : 9) ]), '', 'each object has one chain, and resends are identical');
is_deeply([ grep { $expected{$_} eq 'sent' && !$got{$_} } sort keys %expected ],
	[], 'no event of a committed transaction is missing');
is_deeply([ grep { ($expected{$_} // 'gone') eq 'gone' } sort keys %got ],
	[], 'no event came from what was rolled back');

# Within one process, a later transaction is later in the chain too.
my (%last, @swapped);
foreach my $producer (@producers)
{
	foreach (grep { $_->[2] eq 'sent' && $got{ $_->[1] } } $producer->events)
	{
		my ($object, $event) = @$_;
		my $id = $got{$event}{id};
		my $before = \$last{"$producer->{name} $object"};

		push @swapped, $event if $$before && $id < $$before;
		$$before = $id;
	}
}
is_deeply(\@swapped, [], 'events are in the order in which each process added them');
is($node->value('SELECT count(*) FROM twtasks.broken_event_objects'), '0', 'no invariant is broken');
cmp_ok(scalar(keys %got), '>', 100, 'there were many events');
my $summary = scalar(keys %got) . ' events in ' . (() = $chain->heads) . ' head tasks';

$seconds ? diag("seed " . TwTasks::Seed::seed() . ": $seconds s, $summary") : note($summary);

$_->stop foreach values %sidecars;
done_testing();
