# ZooKeeper.pm -- a ZooKeeper server of the tests, from Debian's jar.

package TwTasks::ZooKeeper;

use strict;
use warnings FATAL => 'all';

use parent 'TwTasks::Jvm';

use IO::Poll qw(POLLIN);
use IO::Socket::INET;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

use constant JAR => '/usr/share/java/zookeeper.jar';

# A tick is short: a session may be as short as two of them.  It would not be longer
# than twenty of them.
my %settings = (
	tickTime => 200,
	minSessionTimeout => 400,
	maxSessionTimeout => 60000,
	clientPortAddress => '127.0.0.1',
	'admin.enableServer' => 'false',
	'4lw.commands.whitelist' => '*');

# A running server.
sub create
{
	my ($class) = @_;

	plan(skip_all => 'built without ZooKeeper') if ($ENV{WITH_ZOOKEEPER} // '') eq 'no';
	plan(skip_all => 'no ZooKeeper is installed') unless -e JAR;
	my $directory = PostgreSQL::Test::Utils::tempdir();
	my $port = $class->free_port;
	my %all = (%settings, dataDir => $directory, clientPort => $port);
	my $self = $class->SUPER::new(
		name => 'zookeeper',
		memory => 64,
		classes => JAR,
		arguments => [
			'org.apache.zookeeper.server.quorum.QuorumPeerMain',
			"$directory/zoo.cfg"
		],
		port => $port);

	PostgreSQL::Test::Utils::append_to_file("$directory/zoo.cfg",
		join('', map { "$_=$all{$_}\n" } sort keys %all));
	return $self->start;
}

# Its port opens before anybody is served; a question of that moment may never
# be answered.
sub is_ready
{
	return $_[0]->ask('srvr') =~ /^Mode: /m;
}

sub servers
{
	return "127.0.0.1:$_[0]->{port}";
}

# Returns the server's answer to a command of four letters, such as dump: sessions
# and their ephemeral nodes.
sub ask
{
	my ($self, $word) = @_;
	my $socket = IO::Socket::INET->new($self->servers) or return '';
	my $poll = IO::Poll->new;
	my $answer = '';

	print {$socket} $word;
	$poll->mask($socket => POLLIN);
	while ($poll->poll(10) > 0)
	{
		last if !sysread $socket, $answer, 65536, length $answer;
	}
	return $answer;
}

# Runs a command of ZooKeeper's own client; returns its output.
sub command
{
	my ($self, @command) = @_;
	my $out = '';

	IPC::Run::run(
		[ 'java', '-Xmx64m', '-XX:TieredStopAtLevel=1', '-cp', JAR, 'org.apache.zookeeper.ZooKeeperMain',
			'-server', $self->servers, @command ], '&>', \$out, IPC::Run::timeout(60))
	  or die "@command: $out";
	return $out;
}

1;
