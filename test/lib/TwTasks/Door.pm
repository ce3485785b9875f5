# Door.pm -- a server and sidecars with a door, the pipes by which lone triggers come.
#
# A sidecar's sweeps are an hour apart, so a trigger that was lost is not hidden: its
# task would not be done in time.

package TwTasks::Door;

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

# conf => parameters of the server, beside twtasks.door_directory
# init => as in TwTasks::Cluster
sub new
{
	my ($class, %options) = @_;
	my $directory = PostgreSQL::Test::Utils::tempdir();

	chmod oct 750, $directory;
	return bless {
		directory => $directory,
		ledger => TwTasks::Ledger->new,
		node => TwTasks::Cluster->create('main', init => $options{init} || {},
			conf => { 'twtasks.door_directory' => "'$directory'", %{ $options{conf} || {} } })
	}, $class;
}

sub node
{
	return $_[0]->{node};
}

sub directory
{
	return $_[0]->{directory};
}

# A sidecar of these types, not started; after the name comes more configuration.
sub prepare
{
	my ($self, $name, $types, %config) = @_;

	return TwTasks::Sidecar->prepare(
		$self->{node}, $name,
		sweep => '1h',
		log => { level => 'debug' },
		door_directory => $self->{directory},
		handlers => [ map { { types => [$_], worker => $self->{ledger}->worker, stuck => 'retry' } } @$types ],
		%config);
}

sub start
{
	my ($self, @rest) = @_;

	return $self->prepare(@rest)->run;
}

# The paths of all pipes.
sub pipes
{
	my ($self) = @_;

	return grep { -p } glob "$self->{directory}/door.*";
}

# The path of the pipe that the sidecar opened last, as soon as it is there.
sub pipe_of
{
	my ($self, $sidecar) = @_;

	return wait_for(
		sub {
			my @paths = $sidecar->log =~ /come through the door "([^"]+)"/g;

			return @paths && -p $paths[-1] && $paths[-1];
		},
		'a pipe');
}

# Whether the first trigger of the task came to the sidecar through its door.
sub passed
{
	my ($self, $sidecar, $task) = @_;

	return $sidecar->log =~ /task \Q$task\E came through the door at version 0$/m;
}

# As a test of its own: the door is open.  The session that waits may be busy at any
# moment, and its task then comes through shared memory alone.  So lone tasks are added
# until one passes.
sub passes_ok
{
	my ($self, $sidecar, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return wait_ok(
		sub {
			my $task = $self->{node}->add_task('TASK');

			$self->wait_until_done($task);
			return $self->passed($sidecar, $task);
		},
		$name);
}

sub wait_until_done
{
	my ($self, $task) = @_;

	return wait_for(sub { $self->{node}->status_of($task) eq 'DONE' }, "task $task to be done");
}

# As a test of its own: no task is left.
sub all_done_ok
{
	my ($self, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return wait_ok(sub { $self->{node}->tasks("status IN ('SUBMITTED', 'PROCESSING')") == 0 }, $name);
}

# Adds lone tasks by new sessions, which open the pipe anew.
sub add_anew
{
	my ($self, $n) = @_;

	foreach (1 .. $n)
	{
		my $session = $self->{node}->session;

		$self->wait_until_done($session->query("SELECT task_id FROM twtasks.add_task('TASK')"));
		$session->close;
	}
	return;
}

# Versions of tasks that were started twice.
sub repeated
{
	my ($self) = @_;
	my %starts;

	$starts{"$_->{id} $_->{version}"}++ foreach $self->{ledger}->select('start');
	return grep { $starts{$_} > 1 } sort keys %starts;
}

1;
