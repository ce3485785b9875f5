# 152_web_login.pl -- persons of the management API: each way to log in, each
# refusal, what a reload changes, and no secret in a log.

use strict;
use warnings FATAL => 'all';

use HTTP::Tiny;
use IO::Socket::INET;
use IO::Socket::UNIX;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Wait;
use TwTasks::Web;

my $node = TwTasks::Cluster->create('main');
my $directory = PostgreSQL::Test::Utils::tempdir_short();
my $port = PostgreSQL::Test::Cluster::get_free_port();
my $people = "$directory/people";
my $socket = "$directory/web.sock";
my $me = getpwuid $<;
my $group = getgrgid((split / /, $()[0]);
my $sent = '{}';			# the body of changes
my (%token, @lines, @logs);

# ---- tokens ----

# Runs twtasks-web; returns its status, stdout and stderr.
sub run_web
{
	my ($out, $err);

	IPC::Run::run([ TwTasks::Web::program(), @_ ], '>', \$out, '2>', \$err);
	push @logs, $out, $err if $_[0] ne '--new-token';
	return ($? >> 8, $out, $err);
}

foreach my $person ([ vera => 'viewer' ], [ otto => 'operator,payload' ], [ nina => 'payload=nobody_here' ])
{
	my ($status, $out, $err) = run_web('--new-token', @$person);

	is($status, 0, "a token for $person->[0]");
	like($out, qr/^\Q@$person\E [0-9a-f]{64}\n$/, '... its line for the file');
	like($err, qr/^[A-Za-z0-9_-]{43}\n$/, '... and itself');
	push @lines, $out =~ s/\n//r;
	$token{ $person->[0] } = $err =~ s/\n//r;
}
is((run_web('--new-token', 'vera', 'boss'))[0], 2, 'no token for an unknown role');

# ---- the server ----

$node->value('GRANT twtasks_viewer, twtasks_operator TO web; ALTER ROLE web NOINHERIT');
TwTasks::Web::write_tokens($people, '# people', '', @lines);

my %manage = (
	token_file => $people,
	socket => $socket,
	socket_users => [ { user => $me, roles => ['operator'] } ],
	hosts => ['tasks.example'],
	proxy => {
		user_header => 'X-User',
		groups_header => 'X-Groups',
		from => ['127.0.0.2'],
		users => [ { user => 'carol', roles => ['viewer'] } ],
		groups => [ { group => 'ops', roles => ['operator'] } ],
	});
my $web = TwTasks::Web->start($node, 'web', listen => "127.0.0.1:$port", manage => \%manage);

# Sends a request, of which the first part says from where: an address or "socket".
# Returns its status and its body.
sub ask
{
	my ($from, $method, $path, @headers) = @_;
	my $client =
	  $from eq 'socket' ? IO::Socket::UNIX->new(Peer => $socket) :
	  IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port, LocalAddr => $from);
	my $text = "$method /api/v1$path HTTP/1.1\r\nConnection: close\r\n";

	die "could not connect from $from: $!" unless $client;
	push @headers, Host => "127.0.0.1:$port" unless grep { $_ eq 'Host' } @headers;
	$text .= shift(@headers) . ': ' . shift(@headers) . "\r\n" while @headers;
	$text .= $method eq 'GET' ? "\r\n" : 'Content-Length: ' . length($sent) . "\r\n\r\n$sent";
	print $client $text;
	my $answer = join '', readline $client;
	my ($status) = $answer =~ m{^HTTP/1.1 (\d+)};

	push @logs, $answer =~ s/"name" *: *"[^"]*"//r;
	return ($status, $answer =~ s/.*?\r\n\r\n//sr);
}

sub is_status
{
	my ($expected, $name, @request) = @_;
	my ($status, $body) = ask(@request);

	is($status, $expected, $name) or diag($body);
	return $body;
}

# The person of the request, with the roles.
sub is_me
{
	my ($expected, $name, $from, @headers) = @_;
	my ($status, $body) = ask($from, 'GET', '/me', @headers);
	my $me = eval { decode_json($body) } // {};

	is("$status $me->{name} @{ $me->{roles} // [] }", "200 $expected", $name) or diag($body);
}

# The log has such lines, at most one a minute.
sub is_few
{
	my ($words, $name) = @_;
	my $n = () = $web->log =~ /\Q$words\E/g;

	ok($n > 0 && $n <= 1 + (time - $^T) / 60, $name) or diag("$n lines");
}

sub bearer
{
	return (Authorization => "Bearer $_[0]");
}

is_me('vera viewer', 'a token', '127.0.0.1', bearer($token{vera}));
is_me('otto viewer operator payload', 'a token of many roles', '127.0.0.1', bearer($token{otto}));
is_status(401, 'no token', '127.0.0.1', 'GET', '/me');
is_status(401, 'a wrong token', '127.0.0.1', 'GET', '/me', bearer('canary-wrong-token-' . 'x' x 43));
is_status(401, 'a hash is not a token', '127.0.0.1', 'GET', '/me', bearer($lines[0] =~ s/.* //r));
is_status(200, 'a listed host', '127.0.0.1', 'GET', '/me', bearer($token{vera}), Host => 'tasks.example');
is_status(421, 'another host', '127.0.0.1', 'GET', '/me', bearer($token{vera}), Host => 'evil.example');
is_status(403, 'a foreign page', '127.0.0.1', 'GET', '/me', bearer($token{vera}), Origin => 'https://evil.example');
is_status(200, 'our page behind TLS', '127.0.0.1', 'GET', '/me', bearer($token{vera}), Origin => 'https://tasks.example');

# ---- the socket ----

is((stat $socket)[2] & oct 777, oct 660, 'rights of the socket');
is_me("$me viewer operator", 'a system user', 'socket');
is_me('vera viewer', 'a token by the socket', 'socket', bearer($token{vera}));
is_status(401, 'a wrong token by the socket', 'socket', 'GET', '/me', bearer('canary-wrong-token'));
is_status(400, 'a header of the proxy by the socket', 'socket', 'GET', '/me', 'X-User' => 'carol');

# ---- the proxy ----

is_me('carol viewer', 'a user of the proxy', '127.0.0.2', 'X-User' => 'carol');
is_me('dave viewer operator', 'a group of the proxy', '127.0.0.2', 'X-User' => 'dave', 'X-Groups' => 'staff, ops');
is_status(403, 'a user without a role', '127.0.0.2', 'GET', '/me', 'X-User' => 'dave', 'X-Groups' => 'staff');
is_status(400, 'no name', '127.0.0.2', 'GET', '/me', 'X-User' => '');
is_status(400, 'two names', '127.0.0.2', 'GET', '/me', 'X-User' => 'dave', 'x-user' => 'carol');
is_status(401, 'nobody at the proxy', '127.0.0.2', 'GET', '/me');
is_status(400, 'a header from elsewhere', '127.0.0.1', 'GET', '/me', 'X-User' => 'carol', bearer($token{vera}));
is_status(400, 'groups from elsewhere', '127.0.0.3', 'GET', '/me', 'X-Groups' => 'ops');
is_few('with the header X-User', 'headers from elsewhere are logged once a minute');

# ---- changes ----

my $change = '/tasks/00000000-0000-4000-8000-000000000000/cancel';
my @json = ('Content-Type' => 'application/json');
my @same = ('Sec-Fetch-Site' => 'same-origin');
my @dave = ('X-User' => 'dave', 'X-Groups' => 'ops');

is_status(403, 'a change by the proxy that tells no page', '127.0.0.2', 'POST', $change, @dave, @json);
is_status(403, '... of another page', '127.0.0.2', 'POST', $change, @dave, @json, 'Sec-Fetch-Site' => 'cross-site');
is_status(403, '... of a form', '127.0.0.2', 'POST', $change, @dave, @same, 'Content-Type' => 'text/plain');
is_status(428, '... of our page is judged by its body', '127.0.0.2', 'POST', $change, @dave, @json, @same);
is_status(428, '... and with an Origin', '127.0.0.2', 'POST', $change, @dave, @json, Origin => "http://127.0.0.1:$port");
is_status(428, 'a change by the socket', 'socket', 'POST', $change, @json);
is_status(403, '... of another page', 'socket', 'POST', $change, @json, 'Sec-Fetch-Site' => 'cross-site');
is_status(428, 'a change by a token', '127.0.0.1', 'POST', $change, @json, bearer($token{otto}));
is_status(403, '... of another page', '127.0.0.1', 'POST', $change, @json, bearer($token{otto}), Origin => 'null');

my $id = $node->add_task('LONELY');

$sent = '{"version": "0", "reason": "a test"}';
is_status(200, 'a change', '127.0.0.2', 'POST', "/tasks/$id/cancel", @dave, @json, @same);
is($node->value("SELECT on_behalf_of FROM twtasks.audit WHERE task_id = '$id'"), 'dave', '... is the person\'s in the audit');

# ---- the database ----

is_status(503, 'a role that the server may not take on', '127.0.0.1', 'GET', '/me', bearer($token{nina}));
like($web->log, qr/GRANT "nobody_here" TO "web"$/m, '... is named in the log');
$node->value('REVOKE twtasks_viewer FROM web');
is_status(503, 'a missing grant', '127.0.0.1', 'GET', '/me', bearer($token{vera}));
like($web->log, qr/GRANT "twtasks_viewer" TO "web"$/m, '... is named in the log, with the role that gets it');
my $health = HTTP::Tiny->new->get("http://127.0.0.1:$port/health");
is("$health->{status} $health->{content}", '200 ' . qq({"status":"ok","roles":"the database does not allow a role; the log names the GRANT","version":"1.1"}\n), '... and the health says so, but results go on');
$node->value('GRANT twtasks_viewer TO web');
is_me('vera viewer', '... and works when it is there', '127.0.0.1', bearer($token{vera}));
$node->value('ALTER VIEW twtasks.limits RENAME TO no_limits');
is_status(501, 'a view that the extension lacks', '127.0.0.1', 'GET', '/limits', bearer($token{vera}));
like($web->log, qr/does not fit version .* relation "twtasks\.limits" does not exist; Run ALTER EXTENSION twtasks UPDATE/, '... is in the log, with the remedy');
$node->value('ALTER VIEW twtasks.no_limits RENAME TO limits');

# ---- reloads ----

# Reads the configuration again, as the changes say.
sub reload
{
	my (%changes) = @_;
	my $at = $web->log_position;

	$web->reload({ %{ $web->{config} }, manage => { %manage, %changes } });
	$web->wait_for_log(qr/config: (?:not )?reloaded/, 'reload', $at);
	return $web->log($at);
}

TwTasks::Web::write_tokens($people, $lines[1]);
reload(socket_users => [ { group => $group, roles => ['viewer'] } ]);
is_status(401, 'a token that is gone', '127.0.0.1', 'GET', '/me', bearer($token{vera}));
is_me('otto viewer operator payload', 'a token that stayed', '127.0.0.1', bearer($token{otto}));
my ($status, $body) = ask('socket', 'GET', '/me');
is_deeply(decode_json($body)->{roles}, ['viewer'], 'a system group');
is(decode_json($body)->{name}, $me, '... whose user has a name, although the group does not list the user');

reload(socket_users => [ map { { $_ => 'root', roles => ['viewer'] } } qw(user group) ]) if $< != 0;
is_status(401, 'a system user without an entry', 'socket', 'GET', '/me') if $< != 0;
is_status(401, 'nobody is root without the socket', '127.0.0.1', 'GET', '/me');
TwTasks::Web::write_tokens($people, "vera canary-role $token{vera}");
like(reload(), qr/manage\.token_file: line 1: it must be a name/, 'a wrong file is not read');
is_me('otto viewer operator payload', '... and changes nothing', '127.0.0.1', bearer($token{otto}));

# ---- wrong tokens ----

my @wrong;

push @wrong, (ask('127.0.0.4', 'GET', '/me', bearer("canary-wrong-$#wrong")))[0] while @wrong < 31 || (@wrong < 200 && $wrong[-1] != 429);
is_deeply([ @wrong[ 0, -1 ] ], [ 401, 429 ], 'an address with many wrong tokens is told to wait');
is_me('otto viewer operator payload', '... but right ones are taken', '127.0.0.4', bearer($token{otto}));
is_few('with a wrong token', '... and the log has few lines');

# ---- configurations ----

sub check
{
	my ($what, %config) = @_;

	TwTasks::Sidecar::write_config("$directory/web.yaml", { postgres => 'password=canary-password', %config });
	return run_web('--config', "$directory/web.yaml", $what);
}

TwTasks::Web::write_tokens($people, @lines);
my ($exit, undef, $fault) = check('--check-config', listen => "0.0.0.0:$port",
	manage => { socket => $socket, socket_users => $manage{socket_users} });

is($exit, 3, 'other machines could not log in');
like($fault, qr/web\.yaml:\d+:\d+: listen: an address that other machines can reach needs a token_file, or a way to log in/,
	'... says so');
is((check('--check-config', listen => "0.0.0.0:$port", manage => \%manage))[0], 0, 'other machines can log in');
($exit, my $printed) = check('--print-config', listen => "127.0.0.1:$port", manage => \%manage);
is($exit, 0, 'the configuration is printed');
TwTasks::Web::write_tokens("$directory/old", $token{vera});
like(
	(check('--check-config', listen => "127.0.0.1:$port", token_file => "$directory/old", manage => \%manage))[2],
	qr/manage\.token_file: a token of it is in another file too/,
	'a token is in one file only');
chmod oct 644, $people;
like((check('--check-config', listen => "127.0.0.1:$port", manage => \%manage))[2],
	qr/manage\.token_file: the file must be root's or the daemon's own/, 'others may not read the file');

# ---- secrets ----

is($web->stop, 0, 'the server stops in order');
ok(!-e $socket, '... and removes its socket');
push @logs, $web->log, PostgreSQL::Test::Utils::slurp_file($node->logfile);
my @secrets = (values %token, map { s/.* //r } @lines);
is_deeply(
	[ grep { my $secret = $_; grep { index($_ // '', $secret) >= 0 } @logs } @secrets, qw(canary-password canary-wrong canary-role) ],
	[], 'no secret is in a log or an answer');

done_testing();
