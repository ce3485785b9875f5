# 151_api_origins.pl -- for each way to log in to the management API: which pages and
# hosts a request may come from.  Each cell is a read or a change that is right but
# for its headers; a refused change makes nothing.

use strict;
use warnings FATAL => 'all';

use IO::Socket::INET;
use IO::Socket::UNIX;
use IPC::Run;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Certificates qw(make_authority make_certificate);
use TwTasks::Cluster;
use TwTasks::Web;

my $node = TwTasks::Cluster->create('main');
my $directory = PostgreSQL::Test::Utils::tempdir_short();
my $me = getpwuid $<;

$node->value('GRANT twtasks_viewer, twtasks_operator TO web');

# ---- three servers: tokens, proxy and users; a proxy by the socket; certificates ----

sub start
{
	my ($name, %manage) = @_;

	return TwTasks::Web->start($node, $name, listen => '127.0.0.1:' . PostgreSQL::Test::Cluster::get_free_port(),
		manage => { hosts => ['tasks.example'], %manage });
}

my ($line, $token);

IPC::Run::run([ TwTasks::Web::program(), '--new-token', 'otto', 'operator' ], '>', \$line, '2>', \$token) or die "no token: $token";
chomp($line, $token);
make_authority($directory, 'ours');
make_certificate($directory, 'ours', 'server', '/CN=localhost');
make_certificate($directory, 'ours', 'robot', '/CN=robot');

my %proxy = (user_header => 'X-User', users => [ { user => 'dave', roles => ['operator'] } ]);
my $web = start(
	'web',
	token_file => TwTasks::Web::write_tokens("$directory/people", $line),
	socket => "$directory/web.sock",
	socket_users => [ { user => $me, roles => ['operator'] } ],
	proxy => { %proxy, from => ['127.0.0.2'] });
my $behind = start('behind', socket => "$directory/behind.sock", proxy => { %proxy, from_users => [$me] });
my $tls = start(
	'tls',
	tls => {
		certificate_file => "$directory/server.crt",
		key_file => "$directory/server.key",
		client_ca_file => "$directory/ours.crt",
		clients => [ { name => 'robot', roles => ['operator'] } ]
	});

# ---- ways to log in ----

# The status of an answer to a request on this connection.
sub plainly
{
	my ($socket, $method, $path, $body, @headers) = @_;

	die "could not connect: $!" unless $socket;
	push @headers, 'Connection: close', 'Content-Length: ' . length $body;
	print $socket join "\r\n", "$method $path HTTP/1.1", @headers, '', $body;
	my $answer = join '', readline $socket;

	return $answer =~ m{^HTTP/1.1 (\d+)} ? $1 : 'none';
}

sub from
{
	my ($address, $server) = @_;

	return IO::Socket::INET->new(PeerAddr => $server->{config}{listen}, LocalAddr => $address);
}

sub by_certificate
{
	my ($method, $path, $body, @headers) = @_;
	my ($port) = $tls->{config}{listen} =~ /:(\d+)$/;
	my $status;

	# curl would add a type of its own.
	unshift @headers, 'Content-Type:' unless grep { /^content-type:/i } @headers;
	IPC::Run::run(
		[
			'curl', '-sS', '-o', '/dev/null', '-w', '%{http_code}', '--cacert', "$directory/ours.crt", '--cert', "$directory/robot.crt",
			'--key', "$directory/robot.key", '-X', $method, ($method eq 'GET' ? () : ('--data', $body)), (map { ('-H', $_) } @headers),
			"https://localhost:$port$path"
		],
		'>', \$status);
	return $status;
}

my %ways = (
	'token' => sub { plainly(from('127.0.0.1', $web), @_, "Authorization: Bearer $token") },
	'token by the socket' => sub { plainly(IO::Socket::UNIX->new(Peer => "$directory/web.sock"), @_, "Authorization: Bearer $token") },
	'user of the socket' => sub { plainly(IO::Socket::UNIX->new(Peer => "$directory/web.sock"), @_) },
	'proxy' => sub { plainly(from('127.0.0.2', $web), @_, 'X-User: dave') },
	'proxy by the socket' => sub { plainly(IO::Socket::UNIX->new(Peer => "$directory/behind.sock"), @_, 'X-User: dave') },
	'certificate' => \&by_certificate);

# ---- cells ----

my $json = 'Content-Type: application/json';
my $host = 'Host: tasks.example';
my $ours = 'Origin: https://tasks.example';

# The headers; the status of a read, and of a change: by a token, by a proxy, and by
# what else a browser sends by itself.
my @cells = (
	[ 'a program', 200, 201, 403, 201, $host, $json ],
	[ 'an address as host', 200, 201, 403, 201, 'Host: 127.0.0.1', $json ],
	[ 'another host', 421, 421, 421, 421, 'Host: evil.example', $json ],
	[ 'another host whose page it is', 421, 421, 421, 421, 'Host: evil.example', $json, 'Origin: http://evil.example', 'Sec-Fetch-Site: same-origin' ],
	[ 'a host that begins like ours', 421, 421, 421, 421, 'Host: tasks.example.evil.example', $json ],
	[ 'our page', 200, 201, 201, 201, $host, $json, $ours, 'Sec-Fetch-Site: same-origin' ],
	[ 'our page without TLS', 200, 201, 201, 201, $host, $json, 'Origin: http://tasks.example' ],
	[ 'our page in words of another case', 200, 201, 201, 201, $host, 'content-type: Application/JSON; charset=utf-8', 'origin: HTTPS://Tasks.Example', 'sec-fetch-site: Same-Origin' ],
	[ 'another page', 403, 403, 403, 403, $host, $json, 'Origin: https://evil.example' ],
	[ 'another page that says it is ours', 403, 403, 403, 403, $host, $json, 'Origin: https://evil.example', 'Sec-Fetch-Site: same-origin' ],
	[ 'a page that begins like ours', 403, 403, 403, 403, $host, $json, 'Origin: https://tasks.example.evil.example' ],
	[ 'a page of another port', 403, 403, 403, 403, $host, $json, 'Origin: https://tasks.example:8443' ],
	[ 'a page without an origin', 403, 403, 403, 403, $host, $json, 'Origin: null' ],
	[ 'a page of a file', 403, 403, 403, 403, $host, $json, 'Origin: file://' ],
	[ 'two pages', 400, 400, 400, 400, $host, $json, $ours, 'Origin: https://evil.example' ],
	[ 'another site', 200, 201, 403, 403, $host, $json, $ours, 'Sec-Fetch-Site: cross-site' ],
	[ 'a neighbour of our site', 200, 201, 403, 403, $host, $json, $ours, 'Sec-Fetch-Site: same-site' ],
	[ 'an address that a person typed', 200, 201, 403, 403, $host, $json, $ours, 'Sec-Fetch-Site: none' ],
	[ 'two sites', 200, 201, 403, 403, $host, $json, $ours, 'Sec-Fetch-Site: same-origin', 'Sec-Fetch-Site: cross-site' ],
	[ 'a form of text', 200, 415, 403, 403, $host, $ours, 'Sec-Fetch-Site: same-origin', 'Content-Type: text/plain' ],
	[ 'a form', 200, 415, 403, 403, $host, $ours, 'Content-Type: application/x-www-form-urlencoded' ],
	[ 'a form with parts', 200, 415, 403, 403, $host, $ours, 'Content-Type: multipart/form-data; boundary=application/json' ],
	[ 'no type', 200, 415, 403, 403, $host, $ours ]);

my $until = $node->value(q{SELECT to_char(now() AT TIME ZONE 'UTC' + interval '1 day', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')});
my $made = 0;

foreach my $cell (@cells)
{
	my ($name, $read, $by_token, $by_proxy, $by_browser, @headers) = @$cell;

	foreach my $way (sort keys %ways)
	{
		my $change = $way =~ /token/ ? $by_token : $way =~ /proxy/ ? $by_proxy : $by_browser;
		my $body = encode_json({ pattern => "$name, $way", until => $until, reason => 'a test' });

		is( join(' ', $ways{$way}->('GET', '/api/v1/me', '', @headers), $ways{$way}->('POST', '/api/v1/silences', $body, @headers)),
			"$read $change", "$way: $name");
		$made += $change == 201;
	}
}
is($node->value('SELECT count(*) FROM twtasks.silence'), $made, "no refused change was made, and $made others");

done_testing();
