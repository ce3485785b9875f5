# 094_clock_limits.pl -- the database's clock is set forward and back while three
# sidecars share limits of the whole cluster.  Each of them goes on at once: the
# pause after a refusal is a duration, which no clock makes longer.  A limit with
# a rate counts no time twice, so it waits after a step back.

use strict;
use warnings FATAL => 'all';

use List::Util qw(min);
use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');

$node->value("ALTER DATABASE postgres SET twtasks.testing = on");
$node->forget_session;
$node->value("SELECT twtasks.configure_limit('SLOT', concurrency => 4, scope => 'cluster')");
$node->value("SELECT twtasks.configure_limit('RATE', rate => 100, per => '1 s', burst => 1, scope => 'cluster')");

my @sidecars = map {
	TwTasks::Sidecar->start($node, $_,
		handlers => [ { types => [qw(SLOT RATE)], noop => JSON::PP::true } ])
} qw(a b c);

# The numbers of each sidecar, by type.
sub finished
{
	my (@types) = @_;

	return split /,/, $node->value(
		"SELECT string_agg(n::text, ',') FROM (
			SELECT count(f.id) AS n FROM twtasks.node i
			CROSS JOIN unnest('{@{[ join ',', @types ]}}'::text[]) t(type)
			LEFT JOIN twtasks.finished_task f ON f.incarnation = i.incarnation AND f.type = t.type
			WHERE i.ended IS NULL GROUP BY i.incarnation, t.type ORDER BY i.incarnation, t.type) c");
}

# Each sidecar finishes more tasks of each type, in less time than the clock was set.
sub check_progress
{
	my ($name, @types) = @_;
	my @before = finished(@types);

	wait_ok(
		sub {
			my @now = finished(@types);

			return min(map { $now[$_] - $before[$_] } 0 .. $#now) > 20;
		},
		$name);
	return;
}

sub add
{
	my ($type, $n) = @_;

	return $node->value("SELECT count(*) FROM twtasks.add_tasks('$type',
		ARRAY(SELECT to_jsonb(i) FROM generate_series(1, $n) i))");
}

add('SLOT', 150_000);
add('RATE', 20_000);
check_progress('three sidecars share the limits', qw(SLOT RATE));
foreach my $step ('600 seconds', '600 seconds', '-2 hours', '600 seconds')
{
	my @types = $node->value("SELECT twtasks.clock() + '$step' > clock_timestamp()") eq 't' ? qw(SLOT RATE) : 'SLOT';

	$node->value("SELECT twtasks.advance_clock('$step')");
	check_progress("they go on when the clock is set by $step", @types);
}
cmp_ok($node->tasks("status = 'SUBMITTED' AND type = '$_'"), '>', 0, "tasks of $_ are left")
  foreach qw(SLOT RATE);
is($_->stop, 0, 'a sidecar stops in order') foreach @sidecars;

done_testing();
