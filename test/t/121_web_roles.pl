# 121_web_roles.pl -- requests of one role wait for no function that another role's
# requests call, and the health sees sessions that a frozen backend holds up.

use strict;
use warnings FATAL => 'all';

use IO::Socket::INET;
use List::Util qw(uniq);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Wait;
use TwTasks::Web;

use constant SESSIONS => 2;

my $node = TwTasks::Cluster->create('main', conf => { 'twtasks.function_timeout' => '60s' });
my $directory = PostgreSQL::Test::Utils::tempdir();
my $port = PostgreSQL::Test::Cluster::get_free_port();
my @roles = qw(clerks auditors);
my $frozen;

# The contract waits while somebody has the lock.
$node->add_extensions('kinds');
$node->value(<<'SQL');
	CREATE ROLE clerks;
	CREATE ROLE auditors;
	GRANT clerks, auditors TO web;
	GRANT USAGE ON SCHEMA twtasks TO clerks, auditors;
	CREATE SCHEMA app;
	GRANT USAGE ON SCHEMA app TO PUBLIC;
	CREATE FUNCTION app.contract(data jsonb) RETURNS boolean LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
	BEGIN
		WHILE data->>'do' = 'wait' AND NOT pg_try_advisory_xact_lock_shared(121) LOOP
			PERFORM pg_sleep(0.01); -- workload
		END LOOP;
		RETURN true;
	END $$;
	CREATE FUNCTION app.decide(read_model jsonb, data jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE
		SET search_path = pg_catalog, pg_temp AS $$ SELECT '{"decision": "yes"}'::jsonb $$;
	SELECT twtasks.configure_kind('items', 'to_do', 'ITEMS', '{/n}', contract => 'app.contract', decide => 'app.decide',
		readers => '{clerks,auditors}', answerers => '{clerks,auditors}');
	SELECT twtasks.start('items', jsonb_build_object('n', n::text)) FROM generate_series(1, 20) n;
SQL

my $web = TwTasks::Web->start(
	$node, 'web',
	listen => "127.0.0.1:$port",
	sessions => SESSIONS,
	to_do => [ map { { token_file => TwTasks::Web::write_tokens("$directory/$_", "a token for $_"), role => $_ } } @roles ]);

sub answer
{
	my ($role, $n, $data) = @_;

	return ($web->ask('POST', "/api/to-do/items/$n", token => "a token for $role", body => $data // {}))[0];
}

sub health
{
	my ($status, $body) = $web->ask('GET', '/health');

	return "$status $body->{status}";
}

# Sends a request whose contract waits; returns its connection.
sub send_waiting
{
	my ($role, $n) = @_;
	my $socket = IO::Socket::INET->new("127.0.0.1:$port") or die "could not connect: $!";
	my $text = '{"do": "wait"}';

	print $socket "POST /api/to-do/items/$n HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n",
	  "Authorization: Bearer a token for $role\r\nContent-Type: application/json\r\n",
	  'Content-Length: ', length $text, "\r\n\r\n$text";
	return $socket;
}

sub backends
{
	return split /\n/, $node->value(
		"SELECT pid FROM pg_stat_activity WHERE application_name = 'twtasks-web to-do' AND state = 'active' ORDER BY backend_start");
}

# ---- a slow contract ----

my $gate = $node->session;

$gate->query('SELECT pg_advisory_lock(121)');
my @slow = map { send_waiting('clerks', $_) } 1 .. SESSIONS;

wait_for(sub { backends() == SESSIONS }, 'contracts that wait');
is_deeply([ uniq map { answer('auditors', $_) } 11 .. 15 ], [200], 'another role is answered');
is(health(), '200 ok', 'a slow contract is not silence');
$gate->query('SELECT pg_advisory_unlock(121)');
like(join('', readline $_), qr/^HTTP\/1\.1 (200|503) /, 'a slow request is answered') foreach @slow;

# ---- a frozen backend ----

$gate->query('SELECT pg_advisory_lock(121)');
my $silent = send_waiting('auditors', 16);

$frozen = $node->freeze_backend("application_name = 'twtasks-web to-do' AND state = 'active'");
wait_ok(sub { health() eq '503 the database does not answer' }, 'the health names a to-do request without an answer');
is(answer('clerks', 17), 200, 'another role is answered meanwhile');
like(join('', readline $silent), qr/^HTTP\/1\.1 503 .*whether it stored the answer to the item is not known/s,
	'the request is told so');
wait_ok(sub { health() eq '200 ok' }, 'the health is right when the session is given up');
kill CONT => $frozen;
undef $frozen;
$gate->close;
is($web->stop, 0, 'the server stops in order');

END { kill CONT => $frozen if $frozen }

done_testing();
