# 067_health.pl -- a sidecar serves its health by HTTP, and nothing else.  It
# refuses other requests.  Clients that only hold connections delay neither its
# work nor other requests.

use strict;
use warnings FATAL => 'all';

use HTTP::Tiny;
use IO::Select;
use IO::Socket::INET;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;

$SIG{PIPE} = 'IGNORE';
my $node = TwTasks::Cluster->create('main');
my $port = PostgreSQL::Test::Cluster::get_free_port();
my $taken = IO::Socket::INET->new(
	LocalAddr => '127.0.0.1',
	LocalPort => $port,
	Listen => 1) or die "could not listen: $!";
my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	listen => "127.0.0.1:$port",
	handlers => [
		{ types => ['NOOP'], noop => JSON::PP::true },
		{ types => ['LONG'], command => [ '/bin/sleep', '1000' ] }
	]);

# Returns the status of an answer, 599 without one; its body as a hash; the answer.
sub ask
{
	my ($method, $path, %options) = @_;
	my $answer =
	  HTTP::Tiny->new(timeout => 180)
	  ->request($method, "http://127.0.0.1:$port$path", \%options);

	return ($answer->{status}, eval { decode_json($answer->{content}) } // {}, $answer);
}

sub done_ok
{
	my ($name) = @_;
	my $id = $node->add_task('NOOP');

	return wait_ok(sub { $node->status_of($id) eq 'DONE' }, $name);
}

sub connected
{
	return IO::Socket::INET->new("127.0.0.1:$port") || die "could not connect: $!";
}

$sidecar->wait_for_log(
	qr/could not listen on 127.0.0.1 port $port: .*will try again/,
	'that its port is taken');
done_ok('a sidecar whose port is taken runs tasks');
close $taken;
wait_ok(sub { (ask('GET', '/health'))[0] == 200 },
	'the sidecar listens when the port is free');

# ---- health, and nothing else ----

my ($status, $body, $answer) = ask('GET', '/health');

is("$body->{status} $body->{node} $body->{incarnation} $body->{running}",
	'ok a ' . $sidecar->incarnation . ' 0', '/health names the status, the node and its running tasks');
ok($body->{leader}, '/health says that the node leads');
is($answer->{headers}{'content-type'}, 'application/json', '/health answers in JSON');
($status, undef, $answer) = ask('HEAD', '/health');
is("$status:" . ($answer->{content} // ''), '200:', 'HEAD is answered like GET');
is((ask('GET', '/health?verbose=1'))[0], 200, 'a query does not matter');
foreach my $case (
	[ 404, 'GET', '/' ],
	[ 404, 'GET', '/healthy' ],
	[ 404, 'GET', '/healt' ],
	[ 404, 'GET', '//health' ],
	[ 404, 'POST', '/api/tasks/00000000-0000-0000-0000-000000000001/finish' ],
	[ 405, 'POST', '/health' ],
	[ 405, 'DELETE', '/health' ])
{
	my ($expected, $method, $path) = @$case;

	($status, $body) =
	  ask($method, $path, content => $method eq 'POST' ? '"' . 'x' x 300_000 . '"' : '');
	is($status, $expected, "$method $path is answered with $expected");
	ok($body->{detail}, "$method $path says why it fails");
}

# ---- malformed requests ----

foreach my $case (
	[ 400, "nonsense\r\n\r\n" ],
	[ 400, "GET\r\n\r\n" ],
	[ 400, "\r\n\r\n" ],
	[ 400, "GET http://evil.example/health HTTP/1.1\r\n\r\n" ],
	[ 431, "GET /health HTTP/1.1\r\nX-Long: " . 'x' x 100_000 ],
	[ 431, 'x' x 100_000 ],
	[ 431, "GET /health HTTP/1.1\r\n\0\r\n\r\n" . "\0" x 100_000 ],
	[ 200, "GET /health HTTP/1.1\n\n" ],
	[ 200, "GET /health HTTP/1.1\r\n\r\nGET /health HTTP/1.1\r\n\r\n" ])
{
	my ($expected, $text) = @$case;
	my $socket = connected();

	syswrite $socket, $text;
	like(scalar(readline $socket) // '',
		qr/^HTTP\/1\.1 $expected /,
		"$expected answers: " . substr($text =~ s/[^ -~]/./gr, 0, 60));
	is(() = (join '', <$socket>) =~ /HTTP\/1\.1/g, 0, 'the connection gets one answer');
}
my $piecemeal = connected();

foreach my $byte (split //, "HEAD /health HTTP/1.0\r\n\r\n")
{
	syswrite $piecemeal, $byte;
}
like(
	join('', <$piecemeal>),
	qr/^HTTP\/1\.1 200 OK\r\n(?:[^\r\n]+\r\n)+\r\n\z/,
	'a request may come byte by byte, and HEAD has no body in its answer');
my $late = connected();

syswrite $late, "POST /health HTTP/1.1\r\nContent-Length: 1000\r\n\r\n";
like(join('', <$late>), qr/^HTTP\/1\.1 405 /, 'a request is answered before its body has come');
is(scalar(grep { defined syswrite $late, 'x' x 100 } 1 .. 10),
	10, 'a body that comes after the answer is read, so that the answer is not lost');

# ---- silent connections ----

my @holders = map { connected() } 1 .. 300;

syswrite $_, "GET /health HTTP/1.1\r\nHost: a\r\nX" foreach @holders;
done_ok('many silent connections do not stop the work');
is((ask('GET', '/health'))[0], 200, 'many silent connections do not stop other requests');
ok($sidecar->descriptors < 200, 'only some of the silent connections are kept');
close $_ foreach @holders;

my $slow = connected();
my $began = Time::HiRes::time();

wait_for(
	sub {
		syswrite $slow, "X: y\r\n";
		IO::Select->new($slow)->can_read(0.1) && !sysread $slow, my $bytes, 1000;
	},
	'the end of a slow connection');
cmp_ok(Time::HiRes::time() - $began, '>', 4, 'a client has time for its headers');
cmp_ok(Time::HiRes::time() - $began, '<', 25, 'a client has no longer for its headers');

# ---- a database that is away ----

$node->stop('fast');
wait_ok(
	sub {
		($status, $body) = ask('GET', '/health');
		"$status $body->{status}" eq '503 no database';
	},
	'the answer is 503 without the database');
$node->start;
wait_ok(sub { (ask('GET', '/health'))[0] == 200 }, 'the answer is 200 when the database is back');

# ---- the end ----

my $stays = $node->add_task('LONG');

wait_for(sub { $node->status_of($stays) eq 'PROCESSING' }, 'its grab');
$sidecar->signal('TERM');
wait_ok(sub { (ask('GET', '/health'))[0] == 599 },
	'a sidecar that stops refuses connections');
is($node->state_of($stays), 'PROCESSING 1', 'the sidecar waits for its running task meanwhile');
$sidecar->kill9;

done_testing();
