# Old.pm -- libraries, SQL and sidecars of older commits, and a PostgreSQL into
# which they are installed one by one.

package TwTasks::Old;

use strict;
use warnings FATAL => 'all';

use parent 'TwTasks::Prefix';

use File::Basename;
use File::Copy;

# The commit that was released as 1.0, one before it with that number, and the
# first one.
use constant {
	RELEASE => 'f00434d',
	BEFORE => '1ff26c0',
	FIRST => 'a01a3ae'
};

# Returns where scripts/old-builds has put what it built; undef: nowhere.
sub builds
{
	my $place = $ENV{TWT_OLD_BUILDS};

	return defined $place && -d "$place/" . FIRST ? $place : undef;
}

# The directory of the tests of the release.
sub tests
{
	return builds() . '/' . RELEASE . '/test';
}

sub sidecar
{
	return builds() . '/' . RELEASE . '/twtasksd';
}

# With the library and the scripts of today.
sub new
{
	my ($class) = @_;
	my $self = $class->SUPER::new('twtasks');

	$self->{current} = readlink $self->library;
	return $self;
}

sub library
{
	return $_[0]->libraries . '/twtasks.so';
}

# As a package manager does: the old file stays for those that have it.
sub put
{
	my ($from, $to) = @_;

	copy($from, "$to.new") or die "could not copy \"$from\": $!";
	rename "$to.new", $to or die "could not rename \"$to\": $!";
	return;
}

# Installs the library of a commit; of today, without one.
sub install_library
{
	my ($self, $commit) = @_;

	put($commit ? builds() . "/$commit/twtasks.so" : $self->{current}, $self->library);
	return;
}

# Installs the script of a commit in place of the released one.
sub install_sql
{
	my ($self, $commit) = @_;

	put(builds() . "/$commit/extension/twtasks--1.0.sql", $self->extensions . '/twtasks--1.0.sql');
	return;
}

1;
