# torture.pl -- no task is lost and none runs twice under any fault, by the verdict of
# witnesses that do not know of each other: scripts/torture runs it.
#
# TWT_TORTURE_SECONDS says how long faults come at random; 0: each comes once.
# TWT_TEST_SEED chooses what happens.

use strict;
use warnings FATAL => 'all';

use POSIX qw(strftime);
use Test::More;
use Time::HiRes qw(time);
use TwTasks::Seed;
use TwTasks::Torture;
use TwTasks::Wait;

TwTasks::Seed::sow();

my $seconds = $ENV{TWT_TORTURE_SECONDS} // 0;
my $torture = TwTasks::Torture->create(producers => 2, batch => 5);
my $nemesis = $torture->nemesis;

# Each fault once, in random order, each while tasks run.
sub play_each
{
	foreach my $name (sort { rand() <=> 0.5 } $nemesis->names)
	{
		my $before = $torture->progress;

		wait_for(sub { $torture->progress > $before + 2000 }, 'tasks to run');
		$nemesis->strike($name);
		$torture->pace;
	}
	return;
}

# Faults overlap, since most last longer than the time to the next one.
sub play_campaign
{
	my $until = time + $seconds;

	while (time < $until)
	{
		watch_for(rand 1.5);
		$nemesis->strike($nemesis->any_name);
		$torture->pace;
	}
	return;
}

$seconds ? play_campaign() : play_each();
$torture->settle;

my $verdict = $torture->verdict;
my %count = $verdict->counts;

is(join("\n", $verdict->report(20)), '', 'the witnesses agree, and nobody broke a promise');
cmp_ok($count{$_}, '>', 0, "there were $_") foreach qw(acknowledged refused starts followers effects);
$torture->sound_ok;
$torture->stop;
diag(sprintf "%s, seed %s, %d s: %d tasks, of them %d acknowledged, %d recovered and %d followers; %d starts; %d of unknown "
	  . "outcome; %d faults: %s.",
	strftime('%Y-%m-%d', gmtime), TwTasks::Seed::seed(), $seconds, @count{qw(tasks acknowledged recovered followers starts unsure)},
	$nemesis->struck, $nemesis->summary);
diag(sprintf '%d lost, %d double, %d other violations', @count{qw(lost double others)});
done_testing();
