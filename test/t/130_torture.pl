# 130_torture.pl -- no task is lost and none runs twice under faults, ordered events stay in order,
# and kinds keep their promises, by the verdict of witnesses that do not know of each other.
#
# TWT_TORTURE_SECONDS says how long all faults come at random, and TWT_TORTURE_BATCH how
# many tasks a third of a transaction has at most: scripts/torture.  TWT_TORTURE_STANDBY 0 or 1
# says whether a synchronous standby may be promoted, and TWT_TORTURE_KAFKA whether events and
# messages go to a broker, too; else half of the seeds have one.  TWT_TORTURE_FAULTS names the faults that come, else all do.  Without seconds each fault of "short"
# comes once.  TWT_TEST_SEED chooses what happens.

use strict;
use warnings FATAL => 'all';

BEGIN { $ENV{TWT_TEST_SEED} ||= 20261127 if !$ENV{TWT_TORTURE_SECONDS} }

use POSIX qw(strftime);
use Test::More;
use Time::HiRes qw(time);
use TwTasks::Seed;
use TwTasks::Torture;
use TwTasks::Wait;

TwTasks::Seed::sow();

my $seconds = $ENV{TWT_TORTURE_SECONDS};
my @short = qw(kill_sidecar restart_sidecar freeze_sidecar kill_worker end_session end_producer cut_after cut_never commit_after commit_never
  kill_backend crash_server add_column drop_column add_index drop_index reindex rewrite checkpoint);
my $has_standby = $seconds && ($ENV{TWT_TORTURE_STANDBY} // rand() < 0.5);
my $has_kafka = $seconds && ($ENV{TWT_TORTURE_KAFKA} // (-d ($ENV{TWT_KAFKA_JARS} // '') && rand() < 0.5));
my @only = split ' ', $ENV{TWT_TORTURE_FAULTS} // '';
my $torture = TwTasks::Torture->create(
	producers => 2,
	batch => $ENV{TWT_TORTURE_BATCH} || 5,
	standby => $has_standby,
	kafka => $has_kafka,
	full => $seconds);
my $nemesis = $torture->nemesis;

push @short, 'set_clock' if $nemesis->with_clock;

# Each in random order, and each while tasks run.
sub play_short
{
	foreach my $name (sort { rand() <=> 0.5 } @short)
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
		$nemesis->strike(@only ? $only[ rand @only ] : $nemesis->any_name);
		$torture->pace;
	}
	return;
}

$seconds ? play_campaign() : play_short();
$torture->settle;

my $verdict = $torture->verdict;
my %count = $verdict->counts;

is(join("\n", $verdict->report(20)), '', 'the witnesses agree, and nobody broke a promise');
cmp_ok($count{$_}, '>', 0, "there were $_") foreach qw(acknowledged refused starts followers effects events identifiers), $has_kafka ? 'messages' : ();
$torture->sound_ok;
$torture->stop;
diag(sprintf "%s, seed %s, %d s: %d tasks, of them %d acknowledged, %d recovered and %d followers; %d starts; %d of unknown "
	  . "outcome; %d events in order, sent again %d times; %d messages, sent again %d times; %d identifiers of kinds, %d of them uncertain; %d faults: %s; %d times no space on a full disk.\n%d lost, %d double, %d other violations",
	strftime('%Y-%m-%d', gmtime), TwTasks::Seed::seed(), $seconds, @count{qw(tasks acknowledged recovered followers starts unsure events resends messages repeats identifiers uncertain)},
	$nemesis->struck, $nemesis->summary, $torture->no_space, @count{qw(lost double others)})
  if $seconds;
done_testing();
