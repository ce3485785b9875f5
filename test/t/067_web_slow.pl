# 067_web_slow.pl -- clients that only hold connections, or send much, do not shut
# the service of twtasks-web; nobody has to send a body to be refused.

use strict;
use warnings FATAL => 'all';

use IO::Select;
use IO::Socket::INET;
use JSON::PP;
use List::Util qw(uniq);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use POSIX ();
use Test::More;
use Time::HiRes;
use TwTasks::Cluster;
use TwTasks::Wait;
use TwTasks::Web;

$SIG{PIPE} = 'IGNORE';
my $node = TwTasks::Cluster->create('main');
my $port = PostgreSQL::Test::Cluster::get_free_port();
my $token = 'a token that nobody guesses';
my $token_file = TwTasks::Web::write_tokens(PostgreSQL::Test::Utils::tempdir() . '/tokens', $token);
my $path = '/api/tasks/00000000-0000-0000-0000-00000000ffff/finish';
my $json = 'Content-Type: application/json';
my $web = TwTasks::Web->start(
	$node, 'web',
	listen => "127.0.0.1:$port",
	token_file => $token_file,
	connections_per_address => 3,
	proxies => [ '127.0.0.100', '127.0.1.0/24' ]);

# A connection of a client with an address of its own.
sub client
{
	my ($address) = @_;

	return IO::Socket::INET->new(PeerAddr => "127.0.0.1:$port", LocalAddr => $address // '127.0.0.2')
	  || die "could not connect: $!";
}

# Sends the lines of a request's head.
sub head
{
	my ($socket, @lines) = @_;

	syswrite $socket, join "\r\n", @lines, '', '';
	return $socket;
}

sub begin
{
	my ($socket, $length) = @_;

	return head($socket, "POST $path HTTP/1.1", 'Host: a', "Authorization: Bearer $token", $json,
		"Content-Length: $length");
}

# The same, when the server has judged the request.
sub busy
{
	my ($address) = @_;
	my $socket = head(client($address), "POST $path HTTP/1.1", 'Host: a', "Authorization: Bearer $token", $json,
		'Content-Length: 10', 'Expect: 100-continue');

	die "no request for the body\n" if status_of($socket) ne '100';
	readline $socket;
	return $socket;
}

# Seconds until the server ends the connection, to which drips go meanwhile.
sub ends_after
{
	my ($socket, $drip) = @_;
	my $select = IO::Select->new($socket);
	my $from = Time::HiRes::time();

	wait_for(
		sub {
			syswrite $socket, $drip;
			return $select->can_read(0.1) && !sysread $socket, my $bytes, 1000;
		},
		'the end of a connection');
	return Time::HiRes::time() - $from;
}

sub status_of
{
	my ($socket) = @_;

	return (readline($socket) // '') =~ /^HTTP\/1.1 (\d+)/ ? $1 : 'none';
}

sub health
{
	return ($web->ask('GET', '/health'))[0];
}

# A body that takes too long; the end is looked at below.
my $slow_body = begin(client('127.0.0.50'), 100_000);
my $slow_pid = open my $slow_end, '-|' // die "could not fork: $!";

if (!$slow_pid)
{
	print ends_after($slow_body, ' ');
	close STDOUT;
	POSIX::_exit(0);
}

# ---- headers ----

foreach my $drips ([ '', '' ], [ 'GET /health', 'x' ], [ "GET /health HTTP/1.1\r\n", "X: y\r\n" ])
{
	my ($first, $more) = @$drips;
	my $socket = client();

	syswrite $socket, $first;
	my $seconds = ends_after($socket, $more);

	cmp_ok($seconds, '>', 4, "a client has time for: $first");
	cmp_ok($seconds, '<', 25, "a client has no longer for: $first");
}

# ---- many connections ----

my @holders = map { client('127.0.0.' . (3 + $_ % 90)) } 1 .. 255;

syswrite $_, "GET /health HTTP/1.1\r\nX: y\r\n" foreach @holders;
is(health(), 200, 'silent connections hold up nobody');
syswrite $_, "X: y\r\n" foreach @holders;
is(health(), 200, 'slow connections hold up nobody');
@holders = ();

# ---- a thousand slow clients ----

# Each with an address of its own; every tenth has the token, and a request whose
# body does not end.
my @slow_heads = (
	'', 'GET /he', "GET /health HTTP/1.1\r\nX: y\r\n",
	"POST $path HTTP/1.1\r\nHost: a\r\n$json\r\nContent-Length: 1000\r\n\r\n",
	"GET /health HTTP/1.1\r\nHost: a\r\n\r\n" x 20);

sub slow_client
{
	my ($n) = @_;
	my $socket = client('127.0.' . (2 + int($n / 250)) . '.' . (1 + $n % 250));

	return begin($socket, 1000) if $n % 10 == 0;
	syswrite $socket, $slow_heads[$n % @slow_heads];
	return $socket;
}

system_or_bail('prlimit', '--pid', $$, '--nofile=2048:');
my @slow = map { slow_client($_) } 1 .. 1000;

# Seconds until both kinds of answers are there, while all clients drip.
sub answers_after
{
	syswrite $_, ' ' foreach @slow;
	my $from = Time::HiRes::time();

	is(health(), 200, 'the health is answered beside a thousand slow clients');
	is(($web->ask('POST', $path, token => $token, body => { version => 1, result => 'done' }))[0],
		404, 'and so is a result');
	return Time::HiRes::time() - $from;
}

once_ok(sub { answers_after() < 1 }, 'slow clients delay nobody');
@slow = ();

# ---- refused without a body ----

foreach my $case (
	[ 401, "POST $path", $json ],
	[ 401, "POST $path", $json, 'Authorization: Bearer wrong' ],
	[ 401, 'POST /api/to-do/x', $json, "Authorization: Bearer $token" ],
	[ 403, "POST $path", $json, "Authorization: Bearer $token", 'Origin: http://evil.example' ],
	[ 404, 'POST /nothing', $json ],
	[ 400, 'POST /%', $json ],
	[ 405, "PUT $path", $json ],
	[ 405, 'POST /health', $json ])
{
	my ($status, $line, @headers) = @$case;

	foreach my $body ('Content-Length: 1000', 'Content-Length: 1000000000', 'Transfer-Encoding: chunked')
	{
		is(status_of(head(client(), "$line HTTP/1.1", 'Host: a', $body, @headers)),
			$status, "$status without a body: $line @headers, $body");
	}
}
is(status_of(begin(client(), 300_000)), 413, '413 without a body');
is( status_of(head(client(), "POST $path HTTP/1.1", 'Host: a', "Authorization: Bearer $token", 'Content-Type: text/plain', 'Content-Length: 10')),
	415, '415 without a body');
my $expecting = head(client(), "POST $path HTTP/1.1", 'Host: a', $json, 'Content-Length: 10', 'Expect: 100-continue');

is(status_of($expecting), 401, 'no client is asked for a body that will be refused');

# The answer is not lost, though the client has sent a body before it reads.
my $sender = head(client(), "POST $path HTTP/1.1", 'Host: a', $json, 'Content-Length: 300000');

is(syswrite($sender, 'x' x 300_000), 300_000, 'a body that is refused may be sent');
is(status_of($sender), 401, 'the answer to it arrives');

# More bytes than sockets and the server take.
foreach my $body ('Content-Length: 1000000000', 'Transfer-Encoding: chunked')
{
	my $flood = head(client(), "POST $path HTTP/1.1", 'Host: a', $json, $body);
	my $block = 'x' x 65_536;
	my $sent = 0;

	$block = "10000\r\n$block\r\n" if $body =~ /chunked/;
	while ($sent < 200_000_000 && syswrite $flood, $block)
	{
		$sent += length $block;
	}
	cmp_ok($sent, '<', 50_000_000, "an endless body is not taken: $body");
}
my $flood = head(client(), "POST $path HTTP/1.1", 'Host: a', $json, "Authorization: Bearer $token", 'Transfer-Encoding: chunked');
my $sent = 0;

$sent += 65_536 while $sent < 200_000_000 && syswrite $flood, "10000\r\n" . 'x' x 65_536 . "\r\n";
cmp_ok($sent, '<', 50_000_000, 'nor with a token');

# ---- connections of one address ----

my @kept = map { client('127.0.0.60') } 1 .. 3;

is_deeply([ uniq map { status_of(head($_, 'GET /health HTTP/1.1', 'Host: a')) } @kept ], [200], 'an address may have some connections');
is(status_of(head(client('127.0.0.60'), 'GET /health HTTP/1.1', 'Host: a')), 200, 'one more ends an idle one');
my @busy = map { busy('127.0.0.61') } 1 .. 3;

is(status_of(head(client('127.0.0.61'), 'GET /health HTTP/1.1', 'Host: a')),
	'none', 'requests under way are not ended for one more');
syswrite $_, '{}        ' foreach @busy;
is_deeply([ uniq map { status_of($_) } @busy ], [400], 'they are answered');

foreach my $proxy ('127.0.0.100', '127.0.1.7')
{
	my @many = map { busy($proxy) } 1 .. 50;

	syswrite $_, '{}        ' foreach @many;
	is_deeply([ uniq map { status_of($_) } @many ], [400], "a proxy may have many: $proxy");
}

# ---- the slow body ----

my $seconds = readline $slow_end;

close $slow_end;
cmp_ok($seconds, '>', 20, 'a client has time for a body');
cmp_ok($seconds, '<', 50, 'but not for ever');
is(health(), 200, 'the server is well');
is($web->stop, 0, 'the server stops in order');

done_testing();
