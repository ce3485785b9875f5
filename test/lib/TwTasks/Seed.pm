# Seed.pm -- what a random test begins with: TWT_TEST_SEED, else the time.  A
# failure names it.

package TwTasks::Seed;

use strict;
use warnings FATAL => 'all';

use Test::More;

my $seed = $ENV{TWT_TEST_SEED} || time;

# Call it before the first random choice.
sub sow
{
	srand $seed;
	note("TWT_TEST_SEED=$seed");
	return;
}

sub seed
{
	return $seed;
}

END
{
	diag("TWT_TEST_SEED=$seed repeats it")
	  if $? || !Test::More->builder->is_passing;
}

1;
