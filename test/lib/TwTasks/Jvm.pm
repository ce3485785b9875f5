# Jvm.pm -- a server of the tests that runs in Java, on ports of the run's own.
#
# A subclass gives its class path, its arguments and its port, and may say better
# than by the port when it is ready.  The server can be killed and started again with the same data.

package TwTasks::Jvm;

use strict;
use warnings FATAL => 'all';

use IO::Socket::INET;
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Wait;

# name, classes, arguments and port of the server; memory is in MB.
sub new
{
	my ($class, %parts) = @_;

	return bless {
		%parts,
		log => "$PostgreSQL::Test::Utils::log_path/$parts{name}.log"
	}, $class;
}

sub free_port
{
	return PostgreSQL::Test::Cluster::get_free_port();
}

# Does not wait for it.
sub launch
{
	my ($self) = @_;

	$self->{pid} = fork // die "could not fork: $!";
	return $self if $self->{pid};
	open STDERR, '>>', $self->{log};
	open STDOUT, '>&', *STDERR;
	exec 'java', "-Xmx$self->{memory}m", '-XX:TieredStopAtLevel=1',
	  '-XX:+UseSerialGC', '-cp', $self->{classes},
	  @{ $self->{arguments} }
	  or POSIX::_exit(127);
}

# Returns when it is ready.
sub start
{
	my ($self) = @_;

	$self->launch unless $self->{pid};
	wait_for(sub { $self->has_ended || $self->is_ready }, "$self->{name} to listen");
	return $self if $self->{pid};
	my @lines = split /\n/, PostgreSQL::Test::Utils::slurp_file($self->{log});

	diag(join "\n", @lines[ ($#lines > 20 ? -20 : 0) .. -1 ]);
	die "$self->{name} ended at its start\n";
}

sub has_ended
{
	my ($self) = @_;

	return 1 unless $self->{pid};
	return 0 if waitpid($self->{pid}, POSIX::WNOHANG) == 0;
	delete $self->{pid};
	return 1;
}

sub is_open
{
	my ($self) = @_;

	return defined IO::Socket::INET->new(
		PeerHost => '127.0.0.1',
		PeerPort => $self->{port});
}

sub is_ready
{
	return $_[0]->is_open;
}

# STOP and CONT: the machine of the server hangs for a while.
sub signal
{
	my ($self, $name) = @_;

	return kill $name => $self->{pid};
}

# The server loses what it had not written.
sub crash
{
	my ($self) = @_;
	my $pid = delete $self->{pid} or return;

	local ($?, $!);
	kill KILL => $pid;
	waitpid $pid, 0;
	return 1;
}

sub DESTROY
{
	$_[0]->crash;
	return;
}

1;
