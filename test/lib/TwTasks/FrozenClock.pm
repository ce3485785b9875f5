# FrozenClock.pm -- a clock that stands still until somebody writes its file, for a server:
# test/simulation/conformance/frozen_clock.c.

package TwTasks::FrozenClock;

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;

# library: the built frozen_clock.so; seconds: the time that it shows at first, since 1970
sub new
{
	my ($class, $library, $seconds) = @_;
	my $self = bless { library => $library, path => PostgreSQL::Test::Utils::tempdir_short() . '/clock' }, $class;

	open my $file, '>:raw', $self->{path} or die "could not write \"$self->{path}\": $!";
	print $file pack 'q2', ($seconds * 1_000_000) x 2;
	close $file or die "could not write \"$self->{path}\": $!";
	return $self;
}

sub path
{
	my ($self) = @_;

	return $self->{path};
}

# The environment that starts a server with this clock.
sub environment
{
	my ($self) = @_;

	return (LD_PRELOAD => $self->{library}, TWT_FROZEN_CLOCK => $self->{path});
}

1;
