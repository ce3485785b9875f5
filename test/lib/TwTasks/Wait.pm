# Wait.pm -- waiting for conditions, with a deadline.
#
# The only place in the tests where time is let pass: between two looks at a
# condition, and where a length of time is what is measured.

package TwTasks::Wait;

use strict;
use warnings FATAL => 'all';

use Exporter qw(import);
use IO::Poll;
use List::Util qw(max min);
use Test::More;
use Time::HiRes qw(time);

our @EXPORT = qw(wait_for wait_ok watch_for took once_ok);

# PostgreSQL::Test::Utils sends the last words of a file to its log alone.
$SIG{__DIE__} = sub { diag("died: $_[0]") if defined $^S && !$^S };

# Called when a wait has failed, for what may say why.
our @on_failure;

# Longer than a busy machine takes: what is to be soon must not have another way
# to happen, or is a case for once_ok().
use constant PATIENCE => 180;
use constant ATTEMPTS => 8;

# More of it is for all waits, also those that say how long.
my $patience = $ENV{TWT_TEST_PATIENCE} || PATIENCE;
my $took = 0;

sub nap
{
	IO::Poll->new->poll(0.02);
	return;
}

# The first true value of the condition; dies after the deadline.  While the
# machine stands still nobody can fulfil it: a look counts as a second at most.
sub wait_for
{
	my ($condition, $what, $seconds) = @_;
	my $most =
	  $seconds ? $seconds * max(1, $patience / PATIENCE) : $patience;
	my $before = time;
	my $spent = 0;

	$took = 0;
	while (1)
	{
		my $value = $condition->();
		my $now = time;

		$spent += min($now - $before, 1);
		$took = $spent;
		return $value if $value;
		last if $spent > $most;
		$before = $now;
		nap();
	}
	diag("waited in vain for: $what");
	$_->() foreach @on_failure;
	die "waited in vain for: $what\n";
}

# How many seconds the last wait took, or has taken so far, counted in the same
# way: what is promised to be soon may last as long as the machine stands still.
sub took
{
	return $took;
}

# Waits as a test of its own.  A failure ends the file, since later tests would
# wait in vain too.
sub wait_ok
{
	my ($condition, $name, $seconds) = @_;
	my $value = eval { wait_for($condition, $name, $seconds) };

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	die $@ unless ok($value, $name);
	return $value;
}

# As a test of its own, what a busy machine may prevent at times: one of several
# attempts is true, or as many of them as are wanted where it may be so by chance.
sub once_ok
{
	my ($attempt, $name, $wanted) = @_;
	my $true = 0;

	$wanted //= 1;
	for (my $n = 1; $n <= ATTEMPTS && $true < $wanted; $n++)
	{
		$true++ if $attempt->();
	}
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return cmp_ok($true, '>=', $wanted, $name);
}

# Looks at something for so long, calling back again and again.
sub watch_for
{
	my ($seconds, $look) = @_;
	my $until = time + $seconds;

	while (time < $until)
	{
		$look->() if $look;
		nap();
	}
	return;
}

1;
