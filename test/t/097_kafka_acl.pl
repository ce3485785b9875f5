# 097_kafka_acl.pl -- the sidecar's user of Kafka loses its right to a topic, and
# its password: tasks wait and are not lost, and one line of the log says why.

use strict;
use warnings FATAL => 'all';

use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Kafka;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $password = 'geheim-4711';
my $kafka = TwTasks::Kafka->create(
	listeners => { SASL => 'SASL_PLAINTEXT' },
	settings => {
		'authorizer.class.name' => 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
		'super.users' => 'User:ANONYMOUS',
		'sasl.enabled.mechanisms' => 'PLAIN',
		'listener.name.sasl.plain.sasl.jaas.config' =>
		  'org.apache.kafka.common.security.plain.PlainLoginModule required '
		  . qq(user_twtasks="$password";)
	});
my $node = TwTasks::Cluster->create('main');
my $sidecar;
my $secret = PostgreSQL::Test::Utils::tempdir() . '/password';

sub write_password
{
	my ($text) = @_;

	unlink $secret;
	PostgreSQL::Test::Utils::append_to_file($secret, "$text\n");
	chmod oct 600, $secret;
	return;
}

sub config
{
	return handlers => [
		{
			types => ['SendToKafka'],
			kafka => '*',
			brokers => [ $kafka->address('SASL') ],
			settings => {
				'security.protocol' => 'sasl_plaintext',
				'sasl.mechanism' => 'PLAIN',
				'sasl.username' => 'twtasks',
				'broker.address.family' => 'v4',
				'topic.metadata.refresh.interval.ms' => 1000,
				'message.timeout.ms' => 3000
			},
			secrets => { 'sasl.password' => $secret },
			retry => { delay => '500ms', multiplier => 1, jitter => 0, max_tries => 1000 }
		}
	];
}

# Lets the sidecar read the password again.
sub reload
{
	my $position = $sidecar->log_position;

	$sidecar->reload(TwTasks::Sidecar::config_for($node, 'a', config()));
	$sidecar->wait_for_log(qr/INFO .*reloaded/, 'a reload', $position);
	return;
}

sub send_to
{
	my ($topic, $n) = @_;

	return split /\n/, $node->value(
		"SELECT (twtasks.send_to_kafka('$topic', ARRAY[twtasks.kafka_message('k', n::text)])).task_id
		FROM generate_series(1, $n) n");
}

sub done_ok
{
	my ($what, @ids) = @_;

	wait_ok(sub { !grep { $node->state_of($_) !~ /^DONE / } @ids }, $what);
	return;
}

# Whether each of these tasks has failed several times, for this reason.
sub fail_ok
{
	my ($what, $reason, @ids) = @_;
	my $list = join ',', @ids;

	wait_ok(
		sub {
			$node->value("SELECT coalesce(bool_and(tries >= 3 AND error ~ '$reason'), false)
				FROM twtasks.tasks WHERE id = ANY ('{$list}')") eq 't';
		},
		$what);
	return;
}

# The lines since then that match, but for those that say that a task's try failed.
sub lines
{
	my ($position, $regexp) = @_;

	return scalar grep { /$regexp/ && !/ finish: try \d+ failed/ } split /\n/, $sidecar->log($position);
}

$kafka->create_topic($_) foreach qw(orders audit);
$kafka->change_rights('add', 'twtasks', $_, 'Write', 'Describe') foreach qw(orders audit);
write_password($password);
$sidecar = TwTasks::Sidecar->start($node, 'a', config());
done_ok('a user with a right and a password from a file sends', send_to('orders', 3));

# ---- The right to a topic ----

my $position = $sidecar->log_position;

$kafka->change_rights('remove', 'twtasks', 'orders', 'Write', 'Describe');
my @refused = send_to('orders', 10);

fail_ok('tasks without the right are tried again',
	'^could not send to topic "orders": Broker: Topic authorization failed$', @refused);
done_ok('tasks of another topic go on', send_to('audit', 10));
is(lines($position, qr/authorization/), 0, 'a failed try is one line of the log, and the worker adds none');
$kafka->change_rights('add', 'twtasks', 'orders', 'Write', 'Describe');
done_ok('tasks go on when the right is back', @refused);

# ---- All rights: the client may not even begin ----

$position = $sidecar->log_position;
$kafka->change_rights('remove', 'twtasks', $_, 'Write', 'Describe') foreach qw(orders audit);
reload();
@refused = send_to('orders', 10);
fail_ok('tasks without any right are tried again', 'authorization', @refused);
$kafka->change_rights('add', 'twtasks', $_, 'Write', 'Describe') foreach qw(orders audit);
done_ok('tasks go on when the rights are back', @refused);

# ---- The password ----

$position = $sidecar->log_position;
write_password("wrong-$password");
reload();
my @late = send_to('orders', 10);

fail_ok('tasks are tried again with a wrong password',
	'^could not send to topic "orders": .*Invalid username or password', @late);
is(lines($position, qr/worker: .*Authentication failed: Invalid username or password/),
	1, 'the log says once that the password is wrong');
write_password($password);
reload();
done_ok('tasks go on with the right password', @late);
unlike($sidecar->log(0), qr/\Q$password\E/, 'the log has no password');
# A process that was replaced may end meanwhile.
my $shown = join '', map { eval { PostgreSQL::Test::Utils::slurp_file($_) } // '' } map { ("/proc/$_/cmdline", "/proc/$_/environ") } $sidecar->processes;

like($shown, qr/twtasks-kafka/, 'the program that sends runs');
unlike($shown, qr/\Q$password\E/, 'no argument and no environment of a process has the password');
$sidecar->stop;

# ---- The right to read ----

sub read_count
{
	my ($n, $what) = @_;

	return wait_ok(sub { $node->tasks("type = 'READ'") == $n }, $what);
}

my (undef, $handlers) = config();
my %client = %{ $handlers->[0]{settings} };

delete $client{'message.timeout.ms'};
$kafka->create_topic('inbox');
$kafka->produce('inbox', map { { value => $_ } } 1 .. 3);
$kafka->change_rights('add', 'twtasks', 'inbox', 'Read', 'Describe');
$kafka->change_rights_on('add', 'twtasks', group => 'test.inbox', 'Read');
$sidecar = TwTasks::Sidecar->start($node, 'reader',
	handlers => [ { types => ['READ'], noop => JSON::PP::true } ],
	kafka => {
		brokers => [ $kafka->address('SASL') ],
		group => 'test',
		settings => { %client, 'fetch.wait.max.ms' => 50 },
		secrets => { 'sasl.password' => $secret }
	},
	listeners_postgres => $node->connstr('postgres') . ' user=producer',
	listeners => [ { topics => ['inbox'], type => 'READ', start => 'earliest' } ]);
read_count(3, 'the documented rights are enough to read');
$kafka->change_rights('remove', 'twtasks', 'inbox', 'Read', 'Describe');
wait_ok(
	sub {
		$node->value(q(SELECT problem FROM twtasks.listeners WHERE listener = 'inbox')) =~ /authorization|unknown topic/i;
	},
	'twtasks.listeners says that a right to read is missing');
$kafka->produce('inbox', map { { value => $_ } } 4 .. 6);
$kafka->change_rights('add', 'twtasks', 'inbox', 'Read', 'Describe');
read_count(6, 'the messages of that time are read when the right is back');

done_testing();
