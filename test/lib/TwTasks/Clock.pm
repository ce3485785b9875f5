# Clock.pm -- a clock that a test can put forward and back, for a server or a
# sidecar: libfaketime, told by a file.
#
# Only the time of day changes.  CLOCK_MONOTONIC goes on, as when somebody sets
# the clock of a machine.
#
# That of a server must be behind the machine's: a signal that comes while it
# waits is handled by the machine's, and a timeout that lies in the future by
# that would never end.

package TwTasks::Clock;

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Time::HiRes qw(time);

# The library, or nothing where there is none.
sub library
{
	my ($found) = glob '/usr/lib/*/faketime/libfaketime.so.1';

	return $found;
}

# Shows what the machine's clock shows.
sub new
{
	my ($class) = @_;
	my $self = bless {
		path => PostgreSQL::Test::Utils::tempdir_short() . '/clock' }, $class;

	return $self->put(0);
}

# Sets it to so many seconds before the machine's clock, or behind it.
sub put
{
	my ($self, $offset) = @_;

	# in one step: it is read all the time
	open my $file, '>', "$self->{path}.new"
	  or die "could not write \"$self->{path}.new\": $!";
	printf $file "%+.6f\n", $offset;
	close $file;
	rename "$self->{path}.new", $self->{path}
	  or die "could not rename \"$self->{path}.new\": $!";
	$self->{offset} = $offset;
	return $self;
}

# By so many seconds from what it shows now.
sub jump
{
	my ($self, $seconds) = @_;

	return $self->put($self->{offset} + $seconds);
}

# To a time, in seconds since 1970.
sub set
{
	my ($self, $seconds) = @_;

	return $self->put($seconds - time);
}

sub now
{
	my ($self) = @_;

	return time + $self->{offset};
}

# The environment that starts a process with this clock.  The times of files
# stay real: the time of birth tells the marker of a database from a copy.
sub environment
{
	my ($self) = @_;

	return (
		LD_PRELOAD => library(),
		FAKETIME_TIMESTAMP_FILE => $self->{path},
		FAKETIME_NO_CACHE => 1,
		FAKETIME_DONT_FAKE_MONOTONIC => 1,
		DONT_FAKE_MONOTONIC => 1,
		NO_FAKE_STAT => 1);
}

1;
