# Listener.pm -- processes of "twtasks-kafka listen", started by the test as the
# sidecar starts them: with their settings as a line of their input.

package TwTasks::Listener;

use strict;
use warnings FATAL => 'all';

use parent 'TwTasks::Sidecar';

use File::Basename;
use IO::Handle;
use JSON::PP;
use POSIX ();

# Beside twtasksd, or where it was built.
sub program
{
	my $directory = dirname(TwTasks::Sidecar->program);
	my ($found) = grep { -x } "$directory/twtasks-kafka",
	  "$directory/../workers/kafka/twtasks-kafka";

	return $found // die "no twtasks-kafka\n";
}

# The settings of a process that reads from the broker: the rest are its listeners,
# as hashes.
sub settings_for
{
	my ($node, $kafka, @listeners) = @_;

	return (
		listen => 1,
		postgres => $node->connstr('postgres') . ' user=producer',
		kafka => {
			brokers => [ split /,/, $kafka->brokers ],
			group => 'test',
			namespace => '',
			prefixes => [],
			settings => {
				'session.timeout.ms' => 6000,
				'heartbeat.interval.ms' => 500,
				'topic.metadata.refresh.interval.ms' => 500,
				'fetch.wait.max.ms' => 50
			},
			secrets => {}
		},
		listeners => \@listeners);
}

# The line of a process of that name: settings_for(), and more.
sub config_for
{
	my ($node, $name, %settings) = @_;

	return { node => $name, %settings };
}

sub run
{
	return $_[0]->launch;
}

sub launch
{
	my ($self) = @_;
	my ($out, $in);

	PostgreSQL::Test::Utils::append_to_file($self->{log_path}, '');
	$self->{log_offset} = -s $self->{log_path};
	delete $self->{status};
	pipe $out, $in or die "could not make a pipe: $!";
	$self->{pid} = fork // die "could not fork: $!";
	if ($self->{pid} == 0)
	{
		close $in;
		delete $ENV{PGAPPNAME};
		%ENV = (%ENV, %{ $self->{env} });
		open STDIN, '<&', $out or POSIX::_exit(126);
		open STDOUT, '>', '/dev/null' or POSIX::_exit(126);
		open STDERR, '>>', $self->{log_path} or POSIX::_exit(126);
		exec { $self->program } $self->program, 'listen' or POSIX::_exit(127);
	}
	close $out;
	print $in encode_json($self->{config}), "\n";
	$in->flush;
	$self->{in} = $in;
	return $self;
}

# In order; returns the wait status.
sub stop
{
	my ($self) = @_;

	close delete $self->{in} if $self->{in};
	return $self->wait_for_exit;
}

# Waits until it reads the partitions that the group gave to it.
sub wait_until_reading
{
	my ($self) = @_;

	$self->wait_for_log(qr/reads [1-9]\d* partition/, 'partitions');
	return $self;
}

1;
