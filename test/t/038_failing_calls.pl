# 038_failing_calls.pl -- one call of a sidecar to its server fails, or is lost without a
# word, or libpq cannot keep its result: whichever it is, from the first byte of a
# session on, tasks go on after a while, and none is lost or run twice.

use strict;
use warnings FATAL => 'all';

use Cwd qw(abs_path);
use File::Basename;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Seed;
use TwTasks::Sidecar;
use TwTasks::Wait;

# The number of sidecars at once, each with a call of its own that fails, and of rounds.
# TWT_TEST_CALLS: all calls up to that one instead.
use constant AT_ONCE => 16;
use constant ROUNDS => 2;
use constant CALLS => 60;

# A session that was given up, one more that could not be opened, and a busy machine.
use constant PATIENCE => 120;

TwTasks::Seed::sow();
my $directory = PostgreSQL::Test::Utils::tempdir();
my $shim = "$directory/fail_calls.so";
my $source = abs_path(dirname(__FILE__) . '/../handlers/fail_calls.c');

is(system('cc', '-shared', '-fPIC', '-o', $shim, $source, '-ldl'), 0, 'the shim is built');

# Each sidecar has a bucket of its own with a queue.  So no trigger comes by NOTIFY,
# which would wake a session that the shim has made deaf.
my $node = TwTasks::Cluster->create('main', conf => { max_connections => 300, 'twtasks.queues' => 2 * AT_ONCE });
my $ledger = TwTasks::Ledger->new;

$node->create_effect;
$node->value("SELECT twtasks.configure_type('SQL', timeout => '2 seconds')");

sub bucket
{
	return $_[0] =~ s/.*x/b/r;
}

sub prepare
{
	my ($name, $call, $n, $how) = @_;

	return TwTasks::Sidecar->prepare(
		$node, $name,
		buckets => [ bucket($name) ],
		env => {
			LD_PRELOAD => $shim,
			FAIL_CALL => $call,
			FAIL_NTH => $n,
			FAIL_HOW => $how,
			FAIL_RECORD => "$directory/$name"
		},
		handlers => [
			{ types => ['COMMAND'], command => $ledger->command },
			{ types => ['SQL'], sql => 'app.effect', processes => 1, grace => '1s' }
		]);
}

sub has_failed
{
	return -e "$directory/$_[0]";
}

# Adds tasks until the call has failed, and some more.
sub work
{
	my ($names) = @_;
	my %left = map { $_ => 1 } @$names;
	my $more = 0;

	while ($more++ < 15)
	{
		foreach my $name (grep { $more <= 2 || !has_failed($_) } @$names)
		{
			$node->add_task($_, bucket => bucket($name)) foreach qw(COMMAND SQL);
		}
		watch_for(0.2);
	}
	foreach my $name (@$names)
	{
		$node->add_task($_, bucket => bucket($name)) foreach qw(COMMAND SQL);
	}
	return;
}

sub round
{
	my ($round, @cases) = @_;
	my %case;
	my @sidecars;

	foreach my $i (0 .. $#cases)
	{
		my $name = "r${round}x$i";

		$case{$name} = join ' ', @{ $cases[$i] };
		push @sidecars, prepare($name, @{ $cases[$i] });
	}
	$_->launch foreach @sidecars;
	note("round $round: " . join(', ', map { "$_: $case{$_}" } sort keys %case));
	work([ sort keys %case ]);
	wait_for(
		sub { $node->tasks("status <> 'DONE'") == 0 },
		"tasks of round $round (" . join(', ', sort keys %case) . ')', PATIENCE);
	note(sprintf 'round %s: after %.1f s, %d of %d failed', $round, took(), scalar(grep { has_failed($_) } keys %case), scalar keys %case);
	is(scalar(grep { $_->stop != 0 } @sidecars), 0, "round $round: all sidecars stop in order");
	unlike(join('', map { $_->log } @sidecars), qr/declared gone/, "round $round: no node was declared gone");
	return scalar grep { has_failed($_) } keys %case;
}

my @ways = ([qw(send error)], [qw(send lost)], [qw(recv error)], [qw(recv lost)], [qw(result error)]);
my @cases;

if (my $most = $ENV{TWT_TEST_CALLS})
{
	@cases = map { my $n = $_; map { [ $_->[0], $n, $_->[1] ] } @ways } 1 .. $most;
}
else
{
	@cases = map { my $way = $ways[ $_ % @ways ]; [ $way->[0], 1 + int(rand(CALLS)), $way->[1] ] } 1 .. AT_ONCE * ROUNDS;
}

my $failed = 0;

for (my $round = 1; @cases; $round++)
{
	$failed += round($round, splice @cases, 0, AT_ONCE);
}
cmp_ok($failed, '>', 0, "calls failed ($failed)");
is(scalar($ledger->repeated), 0, 'no task was started twice');
$node->effects_once_ok;
is( $ledger->starts + $node->value('SELECT count(*) FROM app.effect'),
	$node->tasks("status = 'DONE'"), 'all tasks were executed');

done_testing();
