# 147_ctl_nth_call.pl -- the n-th call of twtasksctl to the system or the C library fails,
# whichever it is: no signal ends it, what it prints with success is all that there is, a
# failure has a message, and a change is made at most once.
#
# The cases are the same in each run.  "make nth-call" tries all, or some by chance:
# TWT_TEST_SEED repeats them.

use strict;
use warnings FATAL => 'all';

use Cwd qw(abs_path);
use File::Basename;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ctl;
use TwTasks::NthCall;
use TwTasks::Seed;

TwTasks::Seed::sow();
my $node = TwTasks::Cluster->create('main');
my $ctl = TwTasks::Ctl->new($node);
my ($id) = map { $node->add_task('T', run_after => '2100-01-01') } 1 .. 3;
my @hold = ('hold', $id, '--yes', '--reason', 'a test');
my $number = 0;
my %failed;

# The name of the run, exit status, output, messages and the signal.
sub run_case
{
	my ($arguments, $case) = @_;
	my $name = 'c' . ++$number;
	my $env = TwTasks::NthCall::env($name, $case);
	local @ENV{ keys %$env } = values %$env;
	my @answer = $ctl->run($arguments);

	$failed{ $case->{call} } += TwTasks::NthCall::failed($name) if $case;
	return ($name, @answer);
}

# Without the numbers of times and versions; of a table, perhaps without the names of columns.
sub shape
{
	my ($text, $is_nameless) = @_;

	$text =~ s/^.*\n// if $is_nameless;
	return $text =~ s/\d+/0/gr;
}

# Returns what is wrong with an answer, or ''.  Where memory is out, glibc may crash while it
# looks up a user, and libsmartcols may leave out the name of a column and say nothing.
sub fault
{
	my ($wanted, $name, $status, $out, $err, $signal) = @_;
	my $stack = TwTasks::NthCall::stack($name);
	my $is_nameless = $stack =~ /scols_print_table/;

	return $stack =~ /getpwuid_r/ ? '' : "signal $signal" if $signal;
	return $err eq '' ? "status $status without a message" : '' if $status != 0;
	return shape($out, $is_nameless) eq shape($wanted, $is_nameless) ? '' : "success, but it prints: $out";
}

# Runs the command with each case; prepare() comes before, and judge() says what is wrong after it.
sub try_ok
{
	my ($arguments, %options) = @_;
	my $prepare = $options{prepare} // sub { };

	$prepare->();
	my ($name, $status, $wanted, $err) = run_case($arguments);
	is("$status$err", '0', "$arguments->[0]: works without faults");
	my @faults;

	my %counts = TwTasks::NthCall::counts($name);
	my @cases = $ENV{TWT_NTH_PART} ? TwTasks::NthCall::some_cases(%counts) : TwTasks::NthCall::spread($options{few}, %counts);

	foreach my $case (@cases)
	{
		$prepare->();
		my @answer = run_case($arguments, $case);
		my $fault = fault($wanted, @answer) || ($options{judge} && !$answer[4] ? $options{judge}->($answer[1]) : '');

		push @faults, TwTasks::NthCall::describe($case) . ": $fault\n" . TwTasks::NthCall::stack($answer[0]) if $fault;
	}
	is(join("\n", @faults), '', "$arguments->[0]: no fault is passed over");
	return;
}

# ---- results that libpq cannot keep ----

my $directory = PostgreSQL::Test::Utils::tempdir();
my $shim = "$directory/fail_calls.so";
my $source = abs_path(dirname(__FILE__) . '/../handlers/fail_calls.c');

is(system('cc', '-shared', '-fPIC', '-o', $shim, $source, '-ldl'), 0, 'the library that loses results is built');

# BEGIN and COMMIT have no rows, so this is the result of the statement before them.
sub lost_result_ok
{
	my ($n, $what) = @_;
	local @ENV{qw(LD_PRELOAD FAIL_CALL FAIL_NTH FAIL_HOW FAIL_RECORD)} = ($shim, 'result', $n, 'error', "$directory/lost");

	my (undef, $err) = $ctl->ends(3, ['list'], "$what is lost: the exit status");
	like($err, qr/^twtasksctl: lost the connection to the database: out of memory$/m, "$what is lost: the message");
	return;
}

lost_result_ok(1, 'the result of the settings');
lost_result_ok(2, 'the result of the question');

# ---- calls ----

my $before;

sub changes
{
	return $node->value('SELECT count(*) FROM twtasks.audit');
}

sub release
{
	$node->value("SELECT twtasks.release_task('$id', run_after => '2100-01-01', reason => 'a test')")
	  if $node->status_of($id) eq 'HELD';
	$before = changes();
	return;
}

sub judge_hold
{
	my ($status) = @_;
	my $changed = changes() - $before;

	return "held $changed times" if $changed > 1;
	return $status == 0 && $node->status_of($id) ne 'HELD' ? 'not held' : '';
}

try_ok([ 'list', '--json' ], few => 30);
try_ok(['list'], few => 15);
try_ok(\@hold, few => 15, prepare => \&release, judge => \&judge_hold);
note(join ', ', map { "$_ $failed{$_}" } sort keys %failed);
done_testing();
