# 155_web_certificates.pl -- TLS of twtasks-web, and clients who log in by their
# certificates: another name, another authority and no certificate are refused.

use strict;
use warnings FATAL => 'all';

use IPC::Run;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Certificates qw(make_authority make_certificate);
use TwTasks::Cluster;
use TwTasks::Wait;
use TwTasks::Web;

my $node = TwTasks::Cluster->create('main');
my $directory = PostgreSQL::Test::Utils::tempdir();
my $port = PostgreSQL::Test::Cluster::get_free_port();
my $change = '/api/v1/tasks/00000000-0000-4000-8000-000000000000/cancel';

# ---- certificates ----

make_authority($directory, $_) foreach qw(ours theirs);
make_certificate($directory, 'ours', 'server', '/CN=localhost');
make_certificate($directory, 'ours', 'robot', '/CN=robot');
make_certificate($directory, 'ours', 'other', '/CN=other robot');
make_certificate($directory, 'theirs', 'forged', '/CN=robot');

# ---- the server ----

$node->value('GRANT twtasks_viewer, twtasks_operator TO web');

my %tls = (
	certificate_file => "$directory/server.crt",
	key_file => "$directory/server.key",
	client_ca_file => "$directory/ours.crt",
	clients => [ { name => 'robot', roles => ['operator'] } ]);
my $web = TwTasks::Web->start($node, 'web', listen => "127.0.0.1:$port", manage => { tls => \%tls });

# Asks with the certificate (undef: none).  Returns the status and the body.
sub ask
{
	my ($certificate, $path, @options) = @_;
	my ($out, $err);

	IPC::Run::run(
		[
			'curl', '-sS', '-w', "\n%{http_code}", '--cacert', "$directory/ours.crt", @options,
			($certificate ? ('--cert', "$directory/$certificate.crt", '--key', "$directory/$certificate.key") : ()),
			"https://localhost:$port$path"
		],
		'>', \$out, '2>', \$err);
	diag($err) if $err;
	return reverse split /\n(?=\d+\z)/, $out;
}

my ($status, $body) = ask('robot', '/api/v1/me');

is($status, 200, 'a client with a certificate');
is_deeply([ @{ decode_json($body) }{qw(name roles)} ], [ 'robot', [qw(viewer operator)] ], '... has its name and its roles');
is((ask(undef, '/api/v1/me'))[0], 401, 'no certificate');
is((ask('other', '/api/v1/me'))[0], 403, 'a certificate of another name');
is((ask(undef, '/health'))[0], 200, 'the health needs none');

# The handshake may fail in place of an answer.
unlike((ask('forged', '/api/v1/me'))[0] // '', qr/^200/, 'a certificate of another authority');

# ---- changes ----

my @json = ('-H', 'Content-Type: application/json', '-d', '{}');

is((ask('robot', $change, @json))[0], 428, 'a change is judged by its body');
is((ask('robot', $change, @json, '-H', 'Sec-Fetch-Site: cross-site'))[0], 403, '... of another page is refused');
is((ask('robot', $change, @json, '-H', 'Origin: https://evil.example'))[0], 403, '... of another origin');
is((ask('robot', $change, @json, '-H', "Origin: https://localhost:$port"))[0], 428, '... our own origin');

# ---- a reload ----

my $at = $web->log_position;

$tls{clients} = [ { name => 'other robot', roles => ['viewer'] } ];
$web->reload({ %{ $web->{config} }, manage => { tls => \%tls } });
$web->wait_for_log(qr/config: reloaded/, 'reload', $at);
is((ask('robot', '/api/v1/me'))[0], 403, 'a client that is gone');
is((ask('other', '/api/v1/me'))[0], 200, '... and a new one');
is($web->stop, 0, 'the server stops in order');

done_testing();
