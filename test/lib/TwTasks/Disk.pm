# Disk.pm -- the disk of a server, which can be full: test/handlers/full_disk.c.

package TwTasks::Disk;

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use TwTasks::Ledger;

sub new
{
	my ($class) = @_;
	my $directory = PostgreSQL::Test::Utils::tempdir();
	my $self = bless { full => "$directory/full", library => "$directory/full_disk.so" }, $class;

	system('cc', '-shared', '-fPIC', '-o', $self->{library}, TwTasks::Ledger::handler('full_disk.c'), '-ldl') == 0
	  or die "could not build full_disk.c\n";
	return $self;
}

sub fill
{
	my ($self) = @_;

	PostgreSQL::Test::Utils::append_to_file($self->{full}, '');
	return;
}

sub free
{
	my ($self) = @_;

	unlink $self->{full};
	return;
}

# The environment that starts a server on this disk.
sub environment
{
	my ($self) = @_;

	return (LD_PRELOAD => $self->{library}, FULL_DISK => $self->{full});
}

1;
