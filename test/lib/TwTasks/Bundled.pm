# Bundled.pm -- bundled programs that a sidecar drives by lines, such as twtasks-http, driven
# by a test in the sidecar's place.

package TwTasks::Bundled;

use strict;
use warnings FATAL => 'all';

use parent 'TwTasks::Sidecar';

use Errno qw(EAGAIN EINTR);
use Fcntl;
use JSON::PP;
use POSIX ();
use TwTasks::Wait;

my $number = 0;

# A program such as "http" under a name of the test, not started yet; "hello" has its
# settings, "arguments" those that it gets, and "env" goes into its environment.
sub prepare
{
	my ($class, $program, $name, %config) = @_;

	my $self = $class->SUPER::prepare(undef, $name, program => TwTasks::Sidecar::beside($program), %config);

	@$self{qw(ids lines unread)} = ([], [], '');
	return $self;
}

sub config_for
{
	my ($node, $name, %config) = @_;

	return \%config;
}

# Starts it, or another one in its place, and says hello.  The lines of the first one stay.
sub launch
{
	my ($self) = @_;

	$self->said;
	PostgreSQL::Test::Utils::append_to_file($self->{log_path}, '');
	$self->{log_offset} = -s $self->{log_path};
	delete $self->{status};
	pipe my $in, $self->{to} or die "could not make a pipe: $!";
	pipe $self->{from}, my $out or die "could not make a pipe: $!";
	$self->{pid} = fork // die "could not fork: $!";
	$self->become($in, $out) if $self->{pid} == 0;
	fcntl $self->{from}, F_SETFL, O_NONBLOCK or die "could not set a pipe: $!";
	$self->{unread} = '';
	$self->hello;
	return $self;
}

sub become
{
	my ($self, $in, $out) = @_;

	%ENV = (%ENV, %{ $self->{env} });
	open STDIN, '<&', $in or POSIX::_exit(126);
	open STDOUT, '>&', $out or POSIX::_exit(126);
	open STDERR, '>>', $self->{log_path} or POSIX::_exit(126);
	exec { $self->program } $self->program, @{ $self->{config}{arguments} // [] } or POSIX::_exit(127);
}

# A later one has the same settings.
sub hello
{
	my ($self) = @_;

	return $self->say({ hello => 1, settings => $self->{config}{hello} });
}

# Writes an object as a line, unless the program has ended.
sub say
{
	my ($self, $object) = @_;
	my $line = JSON::PP->new->canonical->encode($object) . "\n";
	local $SIG{PIPE} = 'IGNORE';

	syswrite $self->{to}, $line;
	return;
}

# Gives it so many tasks, each with an id that no other one has; "of" returns more members of
# a task, by its number.  "ids" has all ids so far.
sub give_tasks
{
	my ($self, $n, $of) = @_;

	foreach my $i (1 .. $n)
	{
		my $id = sprintf '00000000-0000-0000-0000-%012x', ++$number;

		push @{ $self->{ids} }, $id;
		$self->say({ id => $id, version => 1, type => 'T', tries => 1, max_tries => 20, deadline => '2100-01-01T00:00:00Z',
			context => { request_id => "r-$i" }, $of->($i) });
	}
	return;
}

# The objects that it has written so far; it may have been cut off in the last line.
sub said
{
	my ($self) = @_;

	while ($self->{from})
	{
		my $n = sysread $self->{from}, $self->{unread}, 65536, length $self->{unread};

		next if !defined $n && $! == EINTR;
		last if !$n;
	}
	push @{ $self->{lines} }, decode_json($1) while $self->{unread} =~ s/^(.*)\n//;
	return @{ $self->{lines} };
}

# Ends its input; returns its wait status.  Its lines stay.
sub stop
{
	my ($self) = @_;

	close delete $self->{to} if $self->{to};
	my $status = $self->wait_for_exit;

	$self->said;
	close delete $self->{from} if $self->{from};
	return $status;
}

1;
