# 097_kafka_tls.pl -- messages leave over TLS to a broker whose certificate has its
# host name, and to no other.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Kafka;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $directory = PostgreSQL::Test::Utils::tempdir();

sub openssl
{
	PostgreSQL::Test::Utils::system_log('openssl', @_) == 0 or die "openssl failed\n";
	return;
}

# Makes the certificate of a broker of this host name, and its key, in one file.
sub make_certificate
{
	my ($name, $host) = @_;

	openssl('req', '-newkey', 'rsa:2048', '-nodes', '-subj', "/CN=$host", '-addext', "subjectAltName=DNS:$host",
		'-keyout', "$directory/$name.key", '-out', "$directory/$name.csr");
	openssl('x509', '-req', '-in', "$directory/$name.csr", '-copy_extensions', 'copy', '-days', 2,
		'-CA', "$directory/ca.pem", '-CAkey', "$directory/ca.key", '-out', "$directory/$name.crt");
	PostgreSQL::Test::Utils::append_to_file("$directory/$name.pem",
		join '', map { PostgreSQL::Test::Utils::slurp_file("$directory/$name.$_") } qw(key crt));
	return "$directory/$name.pem";
}

openssl('req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', 2, '-subj', '/CN=ca',
	'-keyout', "$directory/ca.key", '-out', "$directory/ca.pem");

my $kafka = TwTasks::Kafka->create(
	listeners => { RIGHT => 'SSL', WRONG => 'SSL' },
	settings => {
		'listener.name.right.ssl.keystore.type' => 'PEM',
		'listener.name.right.ssl.keystore.location' => make_certificate('right', 'localhost'),
		'listener.name.wrong.ssl.keystore.type' => 'PEM',
		'listener.name.wrong.ssl.keystore.location' => make_certificate('wrong', 'kafka.example.com')
	});
my $node = TwTasks::Cluster->create('main');

sub handler
{
	my ($type, $listener, %settings) = @_;

	return {
		types => [$type],
		kafka => 'orders',
		brokers => [ $kafka->address($listener) ],
		settings => {
			'security.protocol' => 'ssl',
			'broker.address.family' => 'v4',
			'message.timeout.ms' => 3000,
			%settings
		},
		retry => { delay => '500ms', multiplier => 1, jitter => 0, max_tries => 1000 }
	};
}

$kafka->create_topic('orders');
my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	handlers => [
		handler('RIGHT', 'RIGHT', 'ssl.ca.location' => "$directory/ca.pem"),
		handler('WRONG', 'WRONG', 'ssl.ca.location' => "$directory/ca.pem"),
		handler('UNKNOWN', 'RIGHT'),
		handler('CARELESS', 'WRONG', 'ssl.ca.location' => "$directory/ca.pem",
			'ssl.endpoint.identification.algorithm' => 'none')
	]);

sub error_of
{
	my ($id) = @_;

	return $node->value("SELECT coalesce(string_agg(error, ''), '') FROM twtasks.tasks WHERE id = '$id'");
}

my %ids = map { $_ => $node->add_task($_, data => qq("$_")) } qw(RIGHT WRONG UNKNOWN CARELESS);
my $refused = qr/^could not send to topic "orders": ssl:.*certificate verify failed/;

wait_ok(sub { $node->state_of($ids{RIGHT}) =~ /^DONE / }, 'a broker with a certificate of its host name gets the message');
wait_ok(sub { error_of($ids{WRONG}) =~ $refused }, 'a broker with a certificate of another host name is refused');
wait_ok(sub { error_of($ids{UNKNOWN}) =~ $refused }, 'a broker with a certificate of an unknown authority is refused');
wait_ok(sub { $node->state_of($ids{CARELESS}) =~ /^DONE / }, 'a setting can switch the check of the host name off');
is_deeply([ sort map { $_->{value} } $kafka->messages('orders') ],
	[ '"CARELESS"', '"RIGHT"' ], 'a refused broker gets no message');

done_testing();
