# 172_import_nth_call.pl -- the n-th call of twtasks-import to the system or the C library
# fails, whichever it is: no signal ends it, a failure has a message, and with success all
# tasks are here.
#
# The cases are the same in each run.  "make nth-call" tries all, or some by chance:
# TWT_TEST_SEED repeats them.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::NthCall;
use TwTasks::Original;
use TwTasks::Seed;

use constant { TASKS => 60, FEW => 30 };

TwTasks::Seed::sow();
my $node = TwTasks::Cluster->create('main');
my $original = TwTasks::Original->create($node, TASKS);
my $number = 0;
my $failed = 0;

sub count_here
{
	return $node->value('SELECT count(*) FROM twtasks.tasks');
}

# Forgets the tasks that were imported.
sub empty
{
	$node->value("DELETE FROM twtasks.$_") foreach qw(unique_key task finished_task import imported);
	return;
}

# Returns the name of the run, wait status, output and messages.
sub import_all
{
	my ($case) = @_;
	my $name = 'i' . ++$number;
	my $env = TwTasks::NthCall::env($name, $case);
	local @ENV{ keys %$env } = values %$env;
	my @answer = $original->run([]);

	$failed += TwTasks::NthCall::failed($name) > 0 if $case;
	return ($name, @answer);
}

my ($all, $report);

# Returns what is wrong with an answer, or ''.  Where memory is out, glibc may crash while it
# looks up a user.
sub fault
{
	my ($name, $status, $out, $err) = @_;

	return TwTasks::NthCall::stack($name) =~ /getpwuid_r/ ? '' : 'signal ' . ($status & 127) if $status & 127;
	return $out . $err eq '' ? "status $status without a message" : '' if $status != 0;
	return "success, with ${\ count_here()} tasks in place of $all: $out$err" if count_here() != $all;
	return $out eq $report ? '' : "success, but it prints: $out";
}

my ($clean, $status, $out, $err) = import_all();

is($status, 0, 'without faults it imports') or diag("$out$err");
($all, $report) = (count_here(), $out);
cmp_ok($all, '>', 0, 'tasks are here');

my %counts = TwTasks::NthCall::counts($clean);
my @cases = $ENV{TWT_NTH_PART} ? TwTasks::NthCall::some_cases(%counts) : TwTasks::NthCall::spread(FEW, %counts);
my @faults;

foreach my $case (@cases)
{
	empty();
	my @answer = import_all($case);
	my $fault = fault(@answer);

	push @faults, TwTasks::NthCall::describe($case) . ": $fault\n" . TwTasks::NthCall::stack($answer[0]) if $fault;
}
note('of ' . @cases . " calls $failed failed");
is(join("\n", @faults), '', 'no failed call ends it by a signal, without a word, or with success where tasks or words are missing');
cmp_ok($failed, '>', @cases / 2, 'calls failed');
(undef, $status, $out, $err) = import_all();
is($status, 0, 'after all faults it imports the rest') or diag("$out$err");
is(count_here(), $all, 'all tasks are here');

done_testing();
