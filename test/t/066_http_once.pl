# 066_http_once.pl -- one try sends its request once, whatever the server does on
# a kept connection, unless the handler allows more.

use strict;
use warnings FATAL => 'all';

use JSON::PP;
use PostgreSQL::Test::Utils;
use POSIX ();
use Test::More;
use TwTasks::Cluster;
use TwTasks::HttpServer;
use TwTasks::Sidecar;
use TwTasks::Wait;

# Connections that are kept at once: libcurl would try each of them.
use constant KEPT => 5;

my $node = TwTasks::Cluster->create('main');
my $server = TwTasks::HttpServer->start;
my $secure = TwTasks::HttpServer->start(tls => '127.0.0.1');
my $gate = PostgreSQL::Test::Utils::tempdir() . '/gate';
my $unanswered = qr/^no answer from 127\.0\.0\.1 port \d+: /;

POSIX::mkfifo($gate, oct 600) or die "could not make a fifo: $!";
open my $opener, '+<', $gate or die "could not open a fifo: $!";
$opener->autoflush(1);

sub raw
{
	my (@lines) = @_;

	return { raw => join '', map { "$_\r\n" } @lines, '' };
}

# The server's answer to the next request on a kept connection, and the state of
# its task then.
my %cases = (
	CLOSE => [ { how => 'close' }, 'WAITING 2', $unanswered ],
	RESET => [ { how => 'reset' }, 'WAITING 2', $unanswered ],
	GARBAGE => [ raw('SSH-2.0-OpenSSH_9.2'), 'WAITING 2', $unanswered ],
	CONTINUE => [ raw('HTTP/1.1 100 Continue'), 'WAITING 2', $unanswered ],
	HALF_A_LINE => [ { raw => 'HTTP/1.' }, 'WAITING 2', $unanswered ],
	TIMEOUT => [
		raw('HTTP/1.1 408 Request Timeout', 'Content-Length: 0', 'Connection: close'),
		'WAITING 2', qr/answered 408/
	],
	EXPECTATION => [ { status => 417 }, 'WAITING 2', qr/answered 417/ ],
	MISDIRECTED => [ { status => 421 }, 'WAITING 2', qr/answered 421/ ],
	EARLY => [ { status => 425 }, 'WAITING 2', qr/answered 425/ ],
	MOVED => [
		{ status => 308, headers => [ [ Location => '/other' ] ] },
		'WAITING 2', qr/answered 308/
	],
	LOGIN => [
		{ status => 401, headers => [ [ 'WWW-Authenticate' => 'Negotiate' ], [ 'WWW-Authenticate' => 'Basic realm=x' ] ] },
		'WAITING 2', qr/answered 401/
	],
	PROXY => [
		{ status => 407, headers => [ [ 'Proxy-Authenticate' => 'Basic realm=x' ] ] },
		'WAITING 2', qr/answered 407/
	],
	UPGRADE => [
		{ status => 426, headers => [ [ Upgrade => 'h2c' ], [ Connection => 'Upgrade' ] ] },
		'WAITING 2', qr/answered 426/
	],
	TLS_CLOSE => [ { how => 'close' }, 'WAITING 2', $unanswered ],
	TLS_RESET => [ { how => 'reset' }, 'WAITING 2', $unanswered ],
	FUNCTION => [ { how => 'close' }, 'WAITING 2', $unanswered ],
	LAST => [ { how => 'close' }, 'DONE 2', qr/^$/ ],
	ALLOWED => [ { how => 'close' }, 'DONE 2', qr/^$/, KEPT + 1 ]);

sub handler
{
	my ($type) = @_;
	my $at = $type =~ /^TLS/ ? $secure : $server;

	return {
		types => [$type],
		http => $at->url,
		concurrency => KEPT,
		retry => { delay => '1h', max_tries => $type eq 'LAST' ? 1 : 5 },
		$type =~ /^TLS/ ? (ca_file => $secure->certificate) : (),
		$type eq 'ALLOWED' ? (resend => 'unanswered') : ()
	};
}

$node->value(<<'SQL');
	CREATE FUNCTION public.in_an_hour(task twtasks.task_input, error text) RETURNS timestamptz
		LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$ SELECT clock_timestamp() + interval '1 hour' $$;
	SELECT twtasks.configure_type('FUNCTION', retry_function => 'public.in_an_hour');
SQL

my $sidecar = TwTasks::Sidecar->start($node, 'a', handlers => [ map { handler($_) } sort keys %cases ]);

sub add
{
	my ($type, %orders) = @_;

	return $node->add_task($type, data => encode_json(\%orders));
}

sub sent
{
	my ($id) = @_;

	return map { $_->requests($id) } $server, $secure;
}

# Keeps connections whose next request is met so.
sub keep
{
	my ($type, $next) = @_;
	my @ids = map { add($type, gate => $gate, next => $next) } 1 .. KEPT;

	wait_for(sub { (grep { sent($_) } @ids) == KEPT }, "$type: requests at once");
	print {$opener} 'x' x KEPT;
	wait_for(sub { (grep { $node->status_of($_) eq 'DONE' } @ids) == KEPT }, "$type: kept connections");
	return;
}

foreach my $type (sort keys %cases)
{
	my ($next, $state, $message, $times) = @{ $cases{$type} };

	keep($type, $next);
	my $id = add($type);

	wait_ok(sub { $node->state_of($id) eq $state }, "$type: the task is $state");
	like($node->value("SELECT coalesce(error, '') FROM twtasks.tasks WHERE id = '$id'"),
		$message, "$type: the message is right");
	my @sent = sent($id);

	is(scalar @sent, $times // 1, "$type: the request came " . ($times // 1) . ' times');
	is(scalar(keys %{ { map { $_->{headers}{'idempotency-key'} => 1 } @sent } }), 1, "$type: it had one key");
}

# ---- connections are kept ----

my @ids = map { add('ALLOWED') } 1 .. 60;

wait_for(sub { (grep { $node->status_of($_) eq 'DONE' } @ids) == @ids }, 'many requests');
my %connections = map { $_->{connection} => 1 } map { sent($_) } @ids;

cmp_ok(scalar(keys %connections), '<=', KEPT + 1, 'many requests use few connections');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
