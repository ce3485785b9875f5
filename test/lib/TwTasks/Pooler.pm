# Pooler.pm -- PgBouncer before a server, with one connection to it for each
# user, which all clients of that user share by transactions.

package TwTasks::Pooler;

use strict;
use warnings FATAL => 'all';

use IO::Socket::UNIX;
use POSIX ();
use PostgreSQL::Test::Utils;
use TwTasks::Session;
use TwTasks::Wait;

# Debian keeps it where not everybody's PATH leads.
sub program
{
	return (grep { -x } map { "$_/pgbouncer" } split(/:/, $ENV{PATH}),
		'/usr/sbin')[0];
}

sub start
{
	my ($class, $node) = @_;
	my $directory = PostgreSQL::Test::Utils::tempdir_short();
	my $self = bless { directory => $directory, port => $node->port }, $class;
	my $host = $node->host;

	PostgreSQL::Test::Utils::append_to_file("$directory/users",
		qq("sidecar" ""\n"producer" ""\n));
	PostgreSQL::Test::Utils::append_to_file("$directory/ini", <<"INI");
[databases]
* = host=$host port=$self->{port}
[pgbouncer]
listen_addr =
listen_port = $self->{port}
unix_socket_dir = $directory
auth_type = trust
auth_file = $directory/users
pool_mode = transaction
default_pool_size = 1
INI
	$self->{pid} = fork // die "could not fork: $!";
	if (!$self->{pid})
	{
		open STDERR, '>>', "$PostgreSQL::Test::Utils::log_path/pgbouncer.log";
		open STDOUT, '>&', *STDERR;
		exec { program() } 'pgbouncer', "$directory/ini"
		  or POSIX::_exit(127);
	}
	wait_for(sub { IO::Socket::UNIX->new(Peer => "$directory/.s.PGSQL.$self->{port}") },
		'PgBouncer to listen');
	return $self;
}

sub connstr
{
	my ($self, $user) = @_;

	return
	  "host=$self->{directory} port=$self->{port} dbname=postgres user=$user";
}

sub session
{
	my ($self, $user) = @_;

	return TwTasks::Session->new($self->connstr($user));
}

sub stop
{
	my ($self) = @_;
	my $pid = delete $self->{pid} or return;
	my $status = $?;

	kill KILL => $pid;
	waitpid $pid, 0;
	$? = $status;
	return;
}

sub DESTROY
{
	my ($self) = @_;

	$self->stop;
	return;
}

1;
