# 026_hosts.pl -- a connection string with several hosts: one that refuses
# connections, and one that never answers, do not keep a sidecar from another.

use strict;
use warnings FATAL => 'all';

use IO::Socket::INET;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main',
	conf => { listen_addresses => '\'127.0.0.1\'' });

# A port of this machine that nobody else can have meanwhile.
sub bind_port
{
	my (%options) = @_;

	return IO::Socket::INET->new(
		Proto     => 'tcp',
		LocalAddr => '127.0.0.1',
		%options) || die "could not bind: $!";
}

my $hosts = '127.0.0.1,' . $node->host;

# The ports, beside the hosts.
sub ports
{
	my ($first) = @_;

	return $first->sockport . ',' . $node->port;
}

sub check
{
	my ($case, $connstr, %env) = @_;
	my $sidecar = TwTasks::Sidecar->start(
		$node, 'a',
		postgres => "$connstr dbname=postgres user=sidecar",
		env      => \%env,
		handlers => [ { types => ['NOOP'], noop => JSON::PP::true } ]);
	my $task = $node->add_task('NOOP');

	pass("$case: the sidecar finds the next server");
	wait_ok(sub { $node->status_of($task) eq 'DONE' },
		"$case: a task runs there, so all connections found the server");
	unlike($sidecar->log, qr/ WARN  ?postgres/,
		"$case: the log has no warning");

	# the one of use comes first now
	my $from = $sidecar->log_position;
	$node->value('SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
		WHERE application_name LIKE \'twtasksd %\'');
	$sidecar->wait_for_log(qr/postgres: control: connected/,
		"$case: connection once more", $from);
	$task = $node->add_task('NOOP');
	wait_ok(sub { $node->status_of($task) eq 'DONE' },
		"$case: the sidecar finds a server again after a loss");
	is($sidecar->stop, 0, "$case: the sidecar stops in order");
	return;
}

my $closed   = bind_port();
my $refusing = ports($closed);

check('refused', "host=$hosts port=$refusing");

# Here libpq goes from one to the other.
my $services = PostgreSQL::Test::Utils::tempdir() . '/services';

PostgreSQL::Test::Utils::append_to_file($services,
	"[main]\nhost=$hosts\nport=$refusing\n");
check('refused by a service', 'service=main', PGSERVICEFILE => $services);

# By name, where it may have another address first.
$node->append_conf('pg_hba.conf', "host all all 127.0.0.1/32 trust\n");
$node->reload;
check('by name', 'host=localhost port=' . $node->port);

# The kernel takes the connection; nobody ever reads from it.
my $silent = bind_port(Listen => 20);

check('silent', "host=$hosts port=" . ports($silent) . ' connect_timeout=2');

done_testing();
