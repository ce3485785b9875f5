# HttpServer.pm -- an HTTP server of the tests: see test/handlers/http_server.py
# for what it can be told to do.

package TwTasks::HttpServer;

use strict;
use warnings FATAL => 'all';

use IPC::Open2;
use JSON::PP;
use PostgreSQL::Test::Utils;
use TwTasks::Ledger;

# With tls => NAME it has a certificate for that name, signed by itself; with
# gate => FIFO besides it waits there before it makes a connection secure.  port => N:
# not a free port, but that one.
sub start
{
	my ($class, %options) = @_;
	my $directory = PostgreSQL::Test::Utils::tempdir();
	my $self = bless { directory => $directory }, $class;
	my @arguments = ("$directory/record");

	push @arguments, $self->make_certificate($options{tls}) if $options{tls};
	push @arguments, $options{gate} if $options{gate};
	local $ENV{HTTP_PORT} = $options{port} // 0;
	$self->{scheme} = $options{tls} ? 'https' : 'http';
	PostgreSQL::Test::Utils::append_to_file("$directory/record", '');
	$self->{pid} = open2($self->{out}, $self->{in},
		TwTasks::Ledger::handler('http_server.py'), @arguments);
	my $line = readline $self->{out};
	die "the HTTP server did not start\n" unless defined $line;
	chomp($self->{port} = $line);
	return $self;
}

sub make_certificate
{
	my ($self, $name) = @_;
	my $alternative =
	  $name =~ /^[\d.]+$/ ? "IP:$name" : "DNS:$name";

	PostgreSQL::Test::Utils::system_log(
		'openssl', 'req', '-x509', '-newkey', 'rsa:2048',
		'-nodes', '-days', '2', '-subj', "/CN=$name",
		'-addext', "subjectAltName=$alternative",
		'-keyout', "$self->{directory}/key.pem",
		'-out', $self->certificate) == 0
	  or die "could not make a certificate\n";
	return ($self->certificate, "$self->{directory}/key.pem");
}

sub certificate
{
	return $_[0]->{directory} . '/certificate.pem';
}

# How many connections have come to the gate.
sub waited
{
	my $path = "$_[0]->{directory}/record.gate";

	return -e $path ? scalar(() = PostgreSQL::Test::Utils::slurp_file($path) =~ /\n/g) : 0;
}

sub port
{
	return $_[0]->{port};
}

sub url
{
	my ($self, $path, $host) = @_;

	return "$self->{scheme}://"
	  . ($host // '127.0.0.1')
	  . ":$self->{port}"
	  . ($path // '/');
}

# Returns the requests, in order: hashes of method, target, headers (a hash of
# names in lower case), body, connection (its number) and at (a time).
sub requests
{
	my ($self, $id) = @_;
	my @requests = map { decode_json($_) } TwTasks::Ledger::whole_lines("$self->{directory}/record");

	foreach my $request (@requests)
	{
		$request->{headers} =
		  { map { lc $_->[0] => $_->[1] } @{ $request->{headers} } };
	}
	return @requests unless $id;
	return grep { ($_->{headers}{'twtasks-id'} // '') eq $id } @requests;
}

sub stop
{
	my ($self) = @_;
	my $pid = delete $self->{pid} or return;

	local ($?, $!);
	kill KILL => $pid;
	waitpid $pid, 0;
	return;
}

sub DESTROY
{
	$_[0]->stop;
	return;
}

1;
