# 130_torture.pl -- no task is lost and none runs twice under faults, ordered events stay in order,
# and kinds keep their promises, by the verdict of witnesses that do not know of each other.
#
# TWT_TORTURE_SECONDS says how long all faults come at random: scripts/torture.  Without seconds each
# fault of "short" comes once.  TWT_TEST_SEED chooses what happens.
#
#	TWT_TORTURE_BATCH			the most tasks in a third of a transaction
#	TWT_TORTURE_STANDBY			0 or 1: whether a synchronous standby may be promoted
#	TWT_TORTURE_KAFKA			0 or 1: whether events and messages go to a broker, too
#	TWT_TORTURE_ZOOKEEPER		0 or 1: whether sidecars elect their leader there
#	TWT_TORTURE_FAULTS			the names of the large faults that come, else all do
#	TWT_TORTURE_SMALL=0			leaves out the small ones
#
# Half of the seeds have a standby, a broker and ZooKeeper each, unless a variable says so.

use strict;
use warnings FATAL => 'all';

BEGIN { $ENV{TWT_TEST_SEED} ||= 20261127 if !$ENV{TWT_TORTURE_SECONDS} }

use List::Util qw(sum);
use POSIX qw(strftime);
use Test::More;
use Time::HiRes qw(time);
use TwTasks::Seed;
use TwTasks::Torture;
use TwTasks::Wait;
use TwTasks::ZooKeeper;

TwTasks::Seed::sow();

my $seconds = $ENV{TWT_TORTURE_SECONDS};
my @short = qw(kill_sidecar restart_sidecar freeze_sidecar kill_worker end_session end_producer cut_after cut_never commit_after commit_never
  kill_backend crash_server add_column drop_column add_index drop_index reindex rewrite checkpoint);
my $has_standby = $seconds && ($ENV{TWT_TORTURE_STANDBY} // rand() < 0.5);
my $has_kafka = $seconds && ($ENV{TWT_TORTURE_KAFKA} // (-d ($ENV{TWT_KAFKA_JARS} // '') && rand() < 0.5));
my $has_zookeeper = $seconds
  && ($ENV{TWT_TORTURE_ZOOKEEPER} // (($ENV{WITH_ZOOKEEPER} // '') ne 'no' && -e TwTasks::ZooKeeper::JAR && rand() < 0.5));
my @only = split ' ', $ENV{TWT_TORTURE_FAULTS} // '';
my $torture = TwTasks::Torture->create(
	producers => 2,
	batch => $ENV{TWT_TORTURE_BATCH} || ($seconds ? 600 : 5),
	standby => $has_standby,
	kafka => $has_kafka,
	zookeeper => $has_zookeeper,
	full => $seconds,
	small => $seconds && ($ENV{TWT_TORTURE_SMALL} // 1));
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

END
{
	$torture->keep if $torture && ($? || !Test::More->builder->is_passing);
}

# For a person, and for the sum of scripts/torture.
sub report
{
	my (%count) = @_;
	my %faults = $torture->faults;
	my %all = (%count, faults => sum(values %faults), no_space => $torture->no_space, map { ("fault_$_" => $faults{$_}) } keys %faults);

	diag(join ' ', 'result:', strftime('%Y-%m-%d', gmtime), 'seed=' . TwTasks::Seed::seed(), "seconds=$seconds", map { "$_=$all{$_}" } sort keys %all);
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
report(%count) if $seconds;
done_testing();
