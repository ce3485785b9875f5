# 099_kafka_listen.pl -- messages of topics become tasks: which parts of a message
# a task has, and with which message a listener begins.

use strict;
use warnings FATAL => 'all';

use IPC::Run;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Kafka;
use TwTasks::Listener;
use TwTasks::Wait;

my $kafka = TwTasks::Kafka->create(settings => { 'message.max.bytes' => 12_000_000 });
my $node = TwTasks::Cluster->create('main', conf => { 'twtasks.max_payload' => "'12MB'" });
my $hour = 3600;

sub listen_to
{
	my ($name, $topic, %options) = @_;
	my $kafka_options = delete $options{kafka} || {};
	my %settings = TwTasks::Listener::settings_for($node, $kafka,
		{
			name => $name,
			topics => [$topic],
			$options{function} ? () : (type => uc $name),
			start => 'earliest',
			%options
		});


	%{ $settings{kafka} } = (%{ $settings{kafka} }, %$kafka_options);
	return TwTasks::Listener->start($node, $name, %settings);
}

sub tasks_ok
{
	my ($type, $n, $claim) = @_;

	return wait_ok(sub { $node->tasks("type = '$type'") == $n }, $claim);
}

sub all_of
{
	my ($type, $what) = @_;

	return $node->value("SELECT coalesce(string_agg($what, ' ' ORDER BY id), '') FROM twtasks.tasks WHERE type = '$type'");
}

# ---- the parts of a task ----

my $parent = '00-0123456789abcdef0123456789abcdef-0123456789abcdef-01';

$kafka->create_topic('plain', 3);
$kafka->produce('plain',
	{ value => '{"no": 4}', key => 'k', partition => 1,
		headers => [ [ id => 'key-4' ], [ traceparent => $parent ], [ other => '1' ] ] },
	{ value => undef, headers => [ [ id => 'key-5' ] ], partition => 0 });
my $plain = listen_to('plain', 'plain', key => 'header:id', headers => ['other']);

tasks_ok('PLAIN', 2, 'each message is one task');
is($node->value("SELECT data::text FROM twtasks.task WHERE type = 'PLAIN' AND key = 'key-4'"),
	'{"no": 4}', 'the value is the data');
is_deeply(
	decode_json($node->value("SELECT context FROM twtasks.task WHERE type = 'PLAIN' AND key = 'key-4'")),
	{ traceparent => $parent, other => '1' },
	'the context has the trace and the headers that were asked for');
is($node->value("SELECT data IS NULL AND payload IS NULL FROM twtasks.task WHERE type = 'PLAIN' AND key = 'key-5'"),
	't', 'a message without a value is a task without data');
is($node->value("SELECT string_agg(partition || ':' || next_offset, ' ' ORDER BY partition) FROM twtasks.message_offset WHERE listener = 'plain'"),
	'0:1 1:1 2:0', 'the offset of each partition stands after its last message');
is($plain->stop, 0, 'the process ends in order when its input ends');

$kafka->create_topic('raw');
$kafka->produce('raw', { value => "\x00\xff", headers => [ [ a => "x\x00\xff" ], [ b => undef ] ] });
my $raw = listen_to('raw', 'raw', value => 'bytes', key => 'position', headers => ['*']);

tasks_ok('RAW', 1, 'a message of any bytes is a task');
is($node->value("SELECT payload FROM twtasks.task WHERE type = 'RAW'"), '\x00ff', 'the bytes are the payload');
is($node->value("SELECT key FROM twtasks.task WHERE type = 'RAW'"), 'raw/raw/0/0',
	'the key is the position of the message');
is_deeply(decode_json($node->value("SELECT context FROM twtasks.task WHERE type = 'RAW'")),
	{ a => '\x7800ff', b => undef }, 'all headers are texts in the context');
$raw->stop;

# Each key has its task: bytes that are not UTF-8, and texts that look like their form.
my @binary = map { pack 'n', 0xff00 + $_ } 1 .. 20;
my @texts = ('\xff01', '\x5c7866663031', "\xef\xbf\xbd\xef\xbf\xbd", 'plain');

$kafka->create_topic('binary');
$kafka->produce('binary', map { { value => 1, headers => [ [ id => $_ ] ] } } @binary, @texts, @binary);
my $binary = listen_to('binary', 'binary', key => 'header:id');

wait_for(sub { $node->value("SELECT count(*) FROM twtasks.message_offset WHERE next_offset = 44") == 1 }, 'all messages');
is($node->tasks("type = 'BINARY'"), 24, 'different keys of bytes give different tasks, equal ones give one');
is($node->value(q(SELECT count(*) FROM twtasks.task WHERE type = 'BINARY'
	AND key IN ('plain', U&'\FFFD\FFFD', '\x5c7866663031', '\x5c78356337383636363633303331', '\xff01'))), 5,
	'a key of text keeps its form, unless it looks like bytes');
$binary->stop;

# ---- a function ----

$node->safe_psql('postgres', <<'SQL');
	CREATE FUNCTION public.from_message(m twtasks.message) RETURNS twtasks.new_task LANGUAGE sql
	SET search_path = pg_catalog, pg_temp AS $$
		SELECT ROW('PICKED', convert_from(m.value, 'UTF8')::jsonb, m.topic, convert_from(m.key, 'UTF8'),
			NULL, NULL, NULL, NULL, NULL, NULL, NULL)::twtasks.new_task
		WHERE m.headers ->> 'kind' = 'invoice' $$
SQL
$kafka->create_topic('mixed');
$kafka->produce('mixed', map { { value => $_, key => "k$_", headers => [ [ kind => $_ % 2 ? 'invoice' : 'other' ] ] } } 1 .. 5);
my $mixed = listen_to('mixed', 'mixed', function => 'public.from_message');

tasks_ok('PICKED', 3, 'a function decides which messages become tasks');
is(all_of('PICKED', 'key'), 'k1 k3 k5', 'a function decides what a task has');
is($node->value("SELECT next_offset FROM twtasks.message_offset WHERE listener = 'mixed'"), 5,
	'ignored messages are read');
$mixed->stop;

# ---- names ----

$kafka->create_topic($_) foreach qw(eu.names test-eu.names);
$kafka->produce($_, { value => 1 }) foreach qw(eu.names test-eu.names);
my $names = listen_to('names', 'names', kafka => { namespace => 'eu', prefixes => ['test-'] });

tasks_ok('NAMES', 2, 'a listener reads its topic in the namespace, and under each prefix');
is($node->value("SELECT string_agg(topic, ' ' ORDER BY topic) FROM twtasks.message_offset WHERE listener = 'names'"),
	'eu.names test-eu.names', 'offsets have the names that the brokers know');
$names->stop;

# ---- the first message ----

my $now = time;

$kafka->create_topic('old');
$kafka->produce('old', map { { value => $_, timestamp => ($now - (10 - $_) * $hour) * 1000 } } 1 .. 5);

sub starts_ok
{
	my ($name, $start, $expected, $claim) = @_;
	my $listener = listen_to($name, 'old', start => $start);

	wait_for(sub { $node->value("SELECT count(*) FROM twtasks.message_offset WHERE listener = '$name'") == 1 },
		'an offset');
	$listener->stop;
	$listener = listen_to($name, 'old', start => $start);
	$kafka->produce('old', { value => '"new"', timestamp => ($now - 10 * $hour) * 1000 }) if $name eq 'latest';
	tasks_ok(uc $name, $expected, $claim);
	$listener->stop;
	return;
}

starts_ok('earliest', 'earliest', 5, 'earliest begins with the first message');
starts_ok('recent', 7.5 * $hour, 3, 'a duration begins with the first message that is so young');
starts_ok('young', $hour, 0, 'a duration for which no message is young enough begins at the end');
starts_ok('latest', 'latest', 1, 'latest begins at the end, also when the process ends before a message');

# ---- topics that change ----

my $early = listen_to('early', 'early');

$early->wait_for_log(qr/early.*(unknown|not available)/i, 'a missing topic');
$kafka->create_topic('early', 1);
$kafka->produce('early', map { { value => $_ } } 1 .. 3);
tasks_ok('EARLY', 3, 'a topic that is created later is read');
$kafka->add_partitions('early', 3);
wait_for(sub { eval { $kafka->produce('early', { value => 4, partition => 2 }) } }, 'the new partition');
tasks_ok('EARLY', 4, 'a partition that is added later is read');
$early->stop;

# A message is there before the listener can see its partition.
$kafka->create_topic('later', 2);
$kafka->produce('later', map { { value => $_, partition => $_ % 2 } } 1 .. 4);
my $later = listen_to('later', 'later', start => 'latest');

wait_for(sub { $node->value("SELECT count(*) FROM twtasks.message_offset WHERE listener = 'later'") == 2 }, 'two offsets');
$later->stop;
$kafka->add_partitions('later', 3);
wait_for(sub { eval { $kafka->produce('later', { value => 5, partition => 2 }) } }, 'the third partition');
$later = listen_to('later', 'later', start => 'latest');
tasks_ok('LATER', 1, 'latest skips no message of a partition that is added later');
is($node->value("SELECT data FROM twtasks.task WHERE type = 'LATER'"), '5', 'latest begins at the end of the partitions that were there first');
$later->stop;

# ---- gaps ----

$kafka->create_topic('gaps');
$kafka->produce_in_transaction('commit', 'gaps', map { { value => $_ } } 1 .. 3);
$kafka->produce_in_transaction('abort', 'gaps', map { { value => $_ } } 4 .. 6);
$kafka->produce_in_transaction('commit', 'gaps', { value => 7 });
my $gaps = listen_to('gaps', 'gaps', key => 'position');

tasks_ok('GAPS', 4, 'messages of an aborted transaction give no tasks');
wait_ok(sub { $node->value("SELECT next_offset FROM twtasks.message_offset WHERE listener = 'gaps'") == 10 },
	'the offset passes the marks of transactions');
$gaps->stop;
$gaps = listen_to('gaps', 'gaps', key => 'position');
$kafka->produce('gaps', { value => 8 });
tasks_ok('GAPS', 5, 'gaps in the offsets do no harm');
$gaps->stop;

# ---- sizes ----

$kafka->create_topic('large', 1, 'max.message.bytes' => 12_000_000);
$kafka->produce('large', { value => 'x' x 10_000_000 }, { value => 'small' },
	map { { value => 'y' x 3_000_000 } } 1 .. 8);
my $large = listen_to('large', 'large', value => 'bytes');

tasks_ok('LARGE', 10, 'a message of 10 MB, and more than memory has room for, become tasks');
is($node->value("SELECT max(length(payload)) || ' ' || sum(length(payload)) FROM twtasks.task WHERE type = 'LARGE'"),
	'10000000 34000005', 'large messages arrive whole');
$large->stop;

# ---- an offset that is set by hand ----

$kafka->create_topic('idle');
$kafka->produce('idle', map { { value => $_, key => "k$_" } } 1 .. 3);
my $idle = listen_to('idle', 'idle', key => 'idle/{message}');

tasks_ok('IDLE', 3, 'messages of a topic that is idle then');
is(all_of('IDLE', 'key'), 'idle/k1 idle/k2 idle/k3', 'a key may be that of the message, behind a prefix');
$node->value("SELECT twtasks.reset_listener('idle', 'idle', 0, 1)");
wait_ok(sub { $node->value("SELECT next_offset FROM twtasks.message_offset WHERE listener = 'idle'") == 3 },
	'a listener goes to an offset that is set by hand, also in an idle topic');
is($node->tasks("type = 'IDLE'"), 3, 'messages that are taken again give no second task if they have keys');
$node->value('CREATE SEQUENCE told');
my $stranger = $node->session;
my $backend = $stranger->backend_pid;

$stranger->send(q(DO $$ BEGIN LOOP NOTIFY twtasks_listener, 'idle/idle/0'; COMMIT; PERFORM nextval('told'); END LOOP; END $$));
wait_for(sub { $node->value('SELECT last_value FROM told') > 100 }, 'a session that notifies without end');
$kafka->produce('idle', map { { value => $_, key => "k$_" } } 4 .. 6);
tasks_ok('IDLE', 6, 'a listener takes messages though somebody notifies it without end');
$node->value("SELECT pg_terminate_backend($backend)");
$idle->stop;

# ---- settings ----

my $checked = do
{
	my %good = TwTasks::Listener::settings_for($node, $kafka, { name => 'a', topics => ['t'], type => 'A' });
	my %bad = TwTasks::Listener::settings_for($node, $kafka, { name => 'a', topics => ['t t'], type => 'A' });
	my $lines = encode_json({ %good, node => 'n' }) . "\n" . encode_json({ %bad, node => 'n' }) . "\n";
	my $out = '';

	IPC::Run::run([ TwTasks::Listener->program, 'listen', '--check' ], '<', \$lines, '>', \$out);
	$out;
};

is($checked, <<'OUT', 'the program checks settings without any server');
{"ready":1}
{"error":"a topic has letters, digits and . _ -, at most 249 of them with its namespace and prefix","setting":"listeners[0].topics"}
OUT
my ($hello, $answer) = (encode_json({ node => 'n', postgres => '', listeners => [ { name => 'a' } ] }) . "\n", '');

IPC::Run::run([ TwTasks::Listener->program, 'listen' ], '<', \$hello, '>', \$answer);
is($? >> 8, 3, 'a process with settings that are not valid ends');
is($answer, qq({"error":"a topic has letters, digits and . _ -, at most 249 of them with its namespace and prefix","setting":"listeners[0].topics"}\n), 'its answer says why');

done_testing();
