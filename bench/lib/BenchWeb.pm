# BenchWeb.pm -- twtasks-web with its management API beside a private server, for
# measurements.
package BenchWeb;

use strict;
use warnings;
use Exporter 'import';
use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use HTTP::Tiny;
use IO::Socket::INET;
use POSIX qw(WNOHANG);
use Time::HiRes qw(sleep);

our @EXPORT_OK = qw(fill load quantile sql start_web);

my $root = dirname(dirname(dirname(__FILE__ =~ m{^/} ? __FILE__ : "./" . __FILE__)));
my $directory = tempdir(CLEANUP => 1);
my @started;
my $owner = $$;

END
{
	local $?;
	$_->stop foreach $$ == $owner ? @started : ();
}

sub sql
{
	open my $out, '-|', 'psql', '-X', '-q', '-At', '-v', 'ON_ERROR_STOP=1', map { ('-c', $_) } @_ or die "psql: $!\n";
	my $said = join '', readline $out;
	close $out or die "psql failed\n";
	chomp $said;
	return $said;
}

# Fills the database as bench/large does, unless it is full already.
sub fill
{
	my (%rows) = @_;

	return if sql(q{SELECT count(*) FROM pg_extension WHERE extname = 'twtasks'}) > 0;
	print STDERR "filling the database\n";
	sql('CREATE EXTENSION twtasks', 'SELECT twtasks.adopt(NULL, hold => false)');
	system('psql', '-X', '-q', '-o', '/dev/null', (map { ('-v', "$_=$rows{$_}") } sort keys %rows), '-f', "$root/bench/large.sql") == 0 or die "psql failed\n";
}

# The path of a file with that text, which nobody else may read.
sub write_file
{
	my ($name, $text) = @_;

	open my $out, '>', "$directory/$name" or die "$name: $!\n";
	chmod 0600, $out;
	print $out $text;
	close $out or die "$name: $!\n";
	return "$directory/$name";
}

sub free_port
{
	my $socket = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1') or die "no port: $!\n";

	return $socket->sockport;
}

# A new token of an operator; the token, and its line for the file of people.
sub new_token
{
	my ($name) = @_;
	my $line = `'$root/web/twtasks-web' --new-token '$name' operator 2>'$directory/token'`;

	open my $in, '<', "$directory/token" or die "no token: $!\n";
	chomp(my $token = <$in>);
	return ($token, $line);
}

# Starts the program, with a token of an operator, and of so many viewers more; further lines
# are those of manage.  It logs in as a role of its own, whose statements can be told from ours.
sub start_web
{
	my ($viewers, @manage) = @_;
	my $self = bless { port => free_port(), tokens => [] }, __PACKAGE__;
	my ($lines, $line) = ('');

	($self->{token}, $lines) = new_token('bench');
	foreach my $n (1 .. $viewers)
	{
		($self->{tokens}[ $n - 1 ], $line) = new_token("viewer$n");
		$lines .= $line;
	}
	sql(q{SELECT 'CREATE ROLE bench_web LOGIN' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'bench_web')})
	  && sql('CREATE ROLE bench_web LOGIN', 'GRANT twtasks_web, twtasks_viewer, twtasks_operator TO bench_web');
	my $people = write_file('people', $lines);
	my $config = write_file('web.yaml', "postgres: \"user=bench_web\"\nlisten: 127.0.0.1:$self->{port}\nconnections_per_address: 256\n"
		  . "log: {level: error}\nmanage:\n" . join('', map { "  $_\n" } "token_file: $people", @manage));

	$self->{pid} = fork // die "no process: $!\n";
	exec "$root/web/twtasks-web", '--config', $config or die "twtasks-web: $!\n" unless $self->{pid};
	push @started, $self;
	until ($self->client->get("http://127.0.0.1:$self->{port}/health")->{status} =~ /^(?:200|503)$/)
	{
		die "twtasks-web has ended\n" if waitpid($self->{pid}, WNOHANG) != 0;
		sleep 0.05;
	}
	return $self;
}

sub stop
{
	my ($self) = @_;
	my $pid = delete $self->{pid} // return;

	kill 'TERM', $pid;
	waitpid $pid, 0;
}

# A client with a connection of its own.
sub client
{
	return HTTP::Tiny->new(keep_alive => 1, timeout => 60);
}

# Asks; anything but 200 is fatal.
sub ask
{
	my ($self, $client, $path, @headers) = @_;
	my $answer = $client->get("http://127.0.0.1:$self->{port}/api/v1$path", { headers => { Authorization => "Bearer $self->{token}", @headers } });

	die "$path: $answer->{status} $answer->{content}\n" unless $answer->{status} == 200;
	return $answer->{content};
}

# Opens a stream of changes, of a task or NULL, as the viewer with that number; a person may
# have few of them.  Returns its socket.
sub open_stream
{
	my ($self, $viewer, $task) = @_;
	my $socket = IO::Socket::INET->new("127.0.0.1:$self->{port}") or die "no connection: $!\n";
	my $query = defined $task ? "?task=$task" : '';

	print $socket "GET /api/v1/stream$query HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer $self->{tokens}[$viewer]\r\n\r\n";
	$socket->flush;
	return $socket;
}

# The value below which this part of the values lies.
sub quantile
{
	my ($part, @values) = @_;

	return (sort { $a <=> $b } @values)[ $part * $#values ];
}

# How busy the machine is.
sub load
{
	return join ' ', (split ' ', qx(cat /proc/loadavg))[ 0 .. 2 ];
}

1;
