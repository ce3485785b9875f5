# 066_http_secrets.pl -- a host that knows its own secret can make no request that
# another host takes, and a signature tells where a request goes, and for which try.

use strict;
use warnings FATAL => 'all';

use Digest::SHA qw(hmac_sha256_base64);
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::HttpServer;
use TwTasks::Sidecar;
use TwTasks::Wait;
use TwTasks::Web;

my $node = TwTasks::Cluster->create('main');
my $server = TwTasks::HttpServer->start;
my $directory = PostgreSQL::Test::Utils::tempdir();
my %secrets = (handler => 'the secret of the handler', host => 'the secret of the host', next => 'the next one of the host');
my $host = 'http://localhost:' . $server->port;

sub secret_file
{
	my ($name, @secrets) = @_;

	return TwTasks::Web::write_tokens("$directory/$name", map { $secrets{$_} } @secrets);
}

sub handler
{
	my (%options) = @_;

	return {
		http => $server->url('/hook?a=1#part'),
		secret_file => secret_file('handler', 'handler'),
		hosts => [$host],
		networks => 'any',
		retry => { delay => '1s', max_tries => 5 },
		%options
	};
}

my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	handlers => [
		handler(types => ['OWN'], secret_files => { $host => secret_file('host', 'host', 'next') }),
		handler(types => ['SHARED'])
	]);

# A request of a task, when it is there; try n, from 1.
sub request_of
{
	my ($id, $n) = @_;

	wait_for(sub { $server->requests($id) >= $n }, "request $n");
	return ($server->requests($id))[ $n - 1 ];
}

sub add
{
	my ($type, $url, %options) = @_;
	my $context = $url ? { http_url => $url } : {};

	$context->{idempotency_key} = $options{key} if $options{key};
	return $node->add_task(
		$type,
		data => encode_json($options{data} // {}),
		sub_type => 'a b',
		context => encode_json($context));
}

sub signature
{
	my ($version, $text, @secrets) = @_;

	return join ' ', map {
		my $digest = hmac_sha256_base64($text, $secrets{$_});
		$digest .= '=' while length($digest) % 4;
		"$version,$digest"
	} @secrets;
}

# As a receiver checks it: what it knows itself, and then headers.
sub is_signed
{
	my ($request, $url, $what, @secrets) = @_;
	my %headers = %{ $request->{headers} };
	my $lines = join "\n", 'v2', $url, map { $headers{$_} // '' } 'webhook-timestamp',
	  (map { "twtasks-$_" } qw(id version type sub-type tries deadline)), 'idempotency-key';

	is($headers{'twtasks-signature'}, signature('v2', "$lines\n$request->{body}", @secrets), "$what: version 2");
	return is($headers{'webhook-signature'},
		signature('v1', "$headers{'webhook-id'}.$headers{'webhook-timestamp'}.$request->{body}", @secrets),
		"$what: version 1");
}

my $to_handler = $server->url('/hook?a=1');
my $to_host = "$host/chosen";

is_signed(request_of(add('OWN'), 1), $to_handler, 'the host of the handler', 'handler');
is_signed(request_of(add('OWN', $to_host), 1), $to_host, 'a host with secrets of its own', 'host', 'next');
is_signed(request_of(add('SHARED', $to_host), 1), $to_host, 'a host without', 'handler');
is_signed(request_of(add('OWN', uc($host) =~ s/HTTP/http/r), 1), "$host/", 'a host in capitals', 'host', 'next');

my $retried = add('OWN', $to_host, key => 'refund 7', data => { status => 503, headers => [ [ 'Retry-After' => 1 ] ] });
my @tries = map { request_of($retried, $_) } 1, 2;

is_signed($_, $to_host, "try $_->{headers}{'twtasks-tries'}", 'host', 'next') foreach @tries;
is($tries[1]{headers}{'idempotency-key'}, 'refund%207', 'the key is signed as it is sent');
isnt($tries[0]{headers}{'twtasks-signature'}, $tries[1]{headers}{'twtasks-signature'}, 'each try has a signature of its own');

# ---- secrets are changed, or wrong ----

secret_file('host', 'next');
$sidecar->reload($sidecar->{config});
$sidecar->wait_for_log(qr/config: reloaded/, 'its reload');
is_signed(request_of(add('OWN', $to_host), 1), $to_host, 'after a reload', 'next');
foreach my $case (
	[ { 'other.example' => secret_file('host', 'next') }, qr/secret_files: .*"other\.example".*no entry of "hosts"/ ],
	[ { $host => '/nonexistent' }, qr/secret_files: could not open the file/ ])
{
	my ($files, $complaint) = @$case;
	my $position = $sidecar->log_position;

	$sidecar->{config}{handlers}[0]{secret_files} = $files;
	$sidecar->reload($sidecar->{config});
	$sidecar->wait_for_log(qr/not reloaded: .*$complaint/, 'a refusal', $position);
	pass("refused: $complaint");
}
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
