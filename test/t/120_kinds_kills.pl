# 120_kinds_kills.pl -- each kind of task keeps its promise while handlers, sidecars
# and the server are killed at random, while people cancel steps, and while the third
# party fails in every way that it can.
#
# TWT_KIND_SECONDS and TWT_KIND_RATE (identifiers a second) make it a campaign:
# scripts/campaign-kinds.  TWT_TEST_SEED chooses what happens.

use strict;
use warnings FATAL => 'all';

use POSIX qw(strftime);
use Test::More;
use Time::HiRes qw(time);
use TwTasks::KindRun;
use TwTasks::Seed;
use TwTasks::Wait;

use constant ROUNDS => 12;
use constant IDENTIFIERS => 250;

# Seconds for which the identifiers of a wave are enough.
use constant WAVE => 10;

my $seconds = $ENV{TWT_KIND_SECONDS};
my $rate = $ENV{TWT_KIND_RATE} || 20;

TwTasks::Seed::sow();

my $run = TwTasks::KindRun->create(
	fence => 1,
	rivals => 0.3,
	lifetime => 4,
	slow => [ 0.8, 2.5 ],
	faults => { drop_request => 0.06, drop_reply => 0.06, refuse => 0.08, late => 0.02, slow => 0.02, early => 0.05, twice => 0.1 });
my @faults = qw(cancel_steps kill_handler freeze_handler kill_sidecar crash_server);

# The rare ones come once.
sub play_rounds
{
	$run->start_identifiers(IDENTIFIERS, 3);
	foreach my $round (1 .. ROUNDS)
	{
		last unless $run->wait_for_steps(100 + int rand 200);
		$run->strike($round <= @faults ? $faults[ $round - 1 ] : $faults[ rand 3 ]);
	}
	return;
}

sub play_campaign
{
	my $until = time + $seconds;
	my $next = 0;

	while (time < $until)
	{
		if (time >= $next)
		{
			$run->start_identifiers(1 + int($rate * WAVE / $run->names), 2);
			$next = time + WAVE;
		}
		watch_for(0.5 + rand 4);
		$run->strike(rand() < 0.05 ? 'crash_server' : (@faults[ 0 .. 3 ], 'freeze_sidecar')[ rand 5 ]);
	}
	$run->thaw_sidecars;
	return;
}

$run->start_sidecar($_) foreach qw(a b);
$seconds ? play_campaign() : play_rounds();

my $began = time;

$run->give_time;
$run->settle;
my $drained = time - $began;
$run->verify;
diag(sprintf "%s, seed %s: %d s, all decided %.1f s later. %s.",
	strftime('%Y-%m-%d', gmtime), TwTasks::Seed::seed(), $seconds, $drained, $run->summary)
  if $seconds;
$run->stop;
done_testing();
