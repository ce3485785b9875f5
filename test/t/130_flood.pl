# 130_flood.pl -- no task is lost and none runs twice, while sidecars, workers,
# sessions, backends and the server are killed and frozen at random, and while users
# change and rewrite the table.
#
# TWT_FLOOD_SECONDS and TWT_FLOOD_BATCH make it a campaign: scripts/campaign-flood.
# TWT_TEST_SEED chooses what happens.

use strict;
use warnings FATAL => 'all';

use POSIX qw(strftime);
use Test::More;
use Time::HiRes qw(time);
use TwTasks::Flood;
use TwTasks::Seed;
use TwTasks::Wait;

TwTasks::Seed::sow();

my $seconds = $ENV{TWT_FLOOD_SECONDS};
my $flood = TwTasks::Flood->create(
	producers => $seconds ? 4 : 2,
	batch => $ENV{TWT_FLOOD_BATCH} || 10);
my @all = TwTasks::Flood::names();

# Each fault once, in random order; the long freeze is for campaigns.
sub play_rounds
{
	foreach my $fault (sort { rand() <=> 0.5 } grep { $_ ne 'freeze_session' } @all)
	{
		my $before = $flood->started;

		wait_for(sub { $flood->started > $before + 50 }, 'tasks to run');
		$flood->strike($fault);
	}
	return;
}

# Crashes of the server are rarer than the rest.
sub play_campaign
{
	my $until = time + $seconds;
	my @usual = grep { !/^(?:crash_server|kill_backend)$/ } @all;

	while (time < $until)
	{
		watch_for(0.2 + rand 3);
		$flood->strike(rand() < 0.08 ? ('crash_server', 'kill_backend')[ rand 2 ] : $usual[ rand @usual ]);
	}
	return;
}

$seconds ? play_campaign() : play_rounds();
$flood->settle;
$flood->verify;

my ($added, $followed, $unknown) = $flood->counts;

cmp_ok($followed, '>', 100, 'many tasks followed others');
diag(sprintf "%s, seed %s: %d s, %d tasks committed, of which %d follow others; %d of unknown outcome. Faults: %s.",
	strftime('%Y-%m-%d', gmtime), TwTasks::Seed::seed(), $seconds, $added, $followed, $unknown, $flood->summary)
  if $seconds;
$flood->stop;
done_testing();
