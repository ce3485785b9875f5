# 090_idle.pl -- a sidecar that has nothing to do does next to nothing, also
# beside tasks that are late and nobody's business, and needs little memory,
# even when a hundred thousand tasks wait in it.

use strict;
use warnings FATAL => 'all';

use List::Util qw(max sum0);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

use constant SECONDS => 20;

# Statements per second that a sidecar without work may send.
use constant ALLOWED => { ring => 0.3, notify => 0.5 };

my $ledger = TwTasks::Ledger->new;

sub start
{
	my ($kind) = @_;
	my $libraries =
	  $kind eq 'ring' ? 'twtasks,pg_stat_statements' : 'pg_stat_statements';
	my $node = TwTasks::Cluster->create(
		$kind,
		queue => $kind,
		conf => { shared_preload_libraries => "'$libraries'" });

	$node->value('CREATE EXTENSION pg_stat_statements');
	leave_tasks($node);
	my $sidecar = TwTasks::Sidecar->start(
		$node, $kind,
		log => { level => 'debug' },
		handlers => [
			{ types => ['NOOP'], noop => JSON::PP::true },
			{ types => ['WORKER'], worker => $ledger->worker },
			{
				types => ['GATED|*'],
				concurrency => 1,
				command => $ledger->command('gate')
			}
		]);

	$sidecar->wait_until_idle;
	return { kind => $kind, node => $node, sidecar => $sidecar };
}

# Their times are past, yet no duty has anything to do with them.
sub leave_tasks
{
	my ($node) = @_;

	$node->value("SELECT count(twtasks.add_task('LEFT', run_after => 'tomorrow'::timestamptz, sub_type => s))
		FROM unnest('{ERROR,HELD,PROCESSING}'::text[]) s");
	$node->value(
		"UPDATE twtasks.task
		SET status = sub_type::twtasks.task_status, stuck = 'ignore', expires = created,
			deadline = created,
			next_event_time = CASE sub_type WHEN 'PROCESSING' THEN created ELSE 'infinity' END"
	);
	return;
}

sub statements
{
	my ($case) = @_;

	return $case->{node}->value(
		'SELECT coalesce(sum(calls), 0)
		FROM pg_stat_statements WHERE userid = \'sidecar\'::regrole');
}

# Work at the start, and work once in a while, does not count.
sub wait_until_settled
{
	my ($case) = @_;

	wait_for(
		sub {
			$case->{node}->value(
				'SELECT count(*) FROM pg_stat_statements
				WHERE query ~ \'promote_tasks|recover_tasks|expire_tasks|make_partitions|clean_tasks|monitor_tasks\'
				  AND userid = \'sidecar\'::regrole') == 6;
		},
		"the duties of $case->{kind} to be done once");
	return;
}

# The sockets of a process that are of the network: TCP and UDP.
sub network_sockets
{
	my ($pid) = @_;
	my %open = map { (readlink($_) // '') =~ /^socket:\[(\d+)\]$/ ? ($1 => 1) : () } glob "/proc/$pid/fd/*";

	return grep { $open{$_} }
	  map { (split)[9] }
	  map { split /\n/, PostgreSQL::Test::Utils::slurp_file("/proc/net/$_") } qw(tcp tcp6 udp udp6);
}

# Each statement, by its number, and its calls.
sub calls
{
	my ($case) = @_;

	return map { split / / } split /\n/, $case->{node}->value(
		'SELECT queryid || \' \' || sum(calls)
		FROM pg_stat_statements WHERE userid = \'sidecar\'::regrole GROUP BY queryid');
}

# Also where some attempts see more, nothing is asked again and again.
sub no_poll_ok
{
	my ($case, $since, %before) = @_;
	my %now = calls($case);
	my $seconds = time - $since;
	my $most = max(map { ($now{$_} - ($before{$_} // 0)) / $seconds } keys %now);

	note(sprintf '%s: at most %.2f a second', $case->{kind}, $most);

	return cmp_ok($most, '<', 1, "$case->{kind}: no statement runs every second, all the time");
}

sub note_use
{
	my ($case) = @_;

	$case->{statements} = statements($case);
	$case->{processor} = $case->{sidecar}->processor_time;
	return;
}

# The SQL edition has no ring.
my @cases = map { start($_) } ($ENV{TWT_TEST_EDITION} ? () : 'ring', 'notify');

# Whether all were idle for some time.  The duties of each minute may fall into it.
sub are_idle
{
	my $since = time;
	my $much = 0;

	note_use($_) foreach @cases;
	watch_for(SECONDS);
	foreach my $case (@cases)
	{
		my $processor = $case->{sidecar}->processor_time - $case->{processor};
		my $statements = statements($case) - $case->{statements};
		my $seconds = time - $since;

		note("$case->{kind}: $statements statements, $processor s of processor time");
		$much ||= $statements > ALLOWED->{ $case->{kind} } * $seconds || $processor >= 0.02 * $seconds;
	}
	return !$much;
}

wait_until_settled($_) foreach @cases;
my $begun = time;
my %before = map { $_->{kind} => { calls($_) } } @cases;
once_ok(\&are_idle, 'idle sidecars run few statements, and use less than 2 % of a processor');
no_poll_ok($_, $begun, %{ $before{ $_->{kind} } }) foreach @cases;
foreach my $case (@cases)
{
	my $kind = $case->{kind};

	cmp_ok($case->{sidecar}->memory('VmRSS'),
		'<', 32 * 1024, "$kind: an idle sidecar uses less than 32 MB of memory");
	cmp_ok($case->{sidecar}->memory('Threads'),
		'<=', 2, "$kind: an idle sidecar has the loop's thread, and one that waits for the next call that blocks");
	is(scalar(network_sockets($case->{sidecar}->pid)),
		0, "$kind: an idle sidecar has no socket of the network");
}

my ($case, $notify) = @cases;

if ($notify)
{
	is($notify->{sidecar}->stop, 0, 'the sidecar stops in order');
	$notify->{node}->stop;
}

# ---- many that wait ----

my $sidecar = $case->{sidecar};

# There are so many types that no limit for one of them keeps the memory empty.
foreach my $n (1 .. 25)
{
	$case->{node}->add_many("GATED|$n", 6_000, 6_000);
}
# The first 1,024 of each come by triggers, the others by sweeps.
wait_ok(
	sub {
		sum0($sidecar->log =~ /found (\d+) tasks/g) > 75_000;
	},
	'about a hundred thousand triggers are in memory');
my $memory = $sidecar->memory('VmRSS');

note("$memory kB");
cmp_ok($memory, '<', 64 * 1024, 'a hundred thousand triggers take less than 64 MB');
cmp_ok($sidecar->memory('VmHWM'), '<', 96 * 1024, 'the memory never was much larger');
# Without the ring, each notification of many tasks brings a sweep, which finds some again.
cmp_ok(sum0($sidecar->log =~ /found (\d+) tasks/g),
	'<=', 100_000, 'the other triggers stay in the database') if $case->{node}->has_ring;

# It is not busy with them either.
once_ok(
	sub {
		my $before = $sidecar->processor_time;

		watch_for(2);
		return $sidecar->processor_time - $before < 0.2;
	},
	'waiting tasks cost little processor time');
$sidecar->kill9;

done_testing();
