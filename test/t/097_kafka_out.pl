# 097_kafka_out.pl -- tasks as messages: what is sent, and that no message is lost
# by a broker that dies, by a rollback, or by a topic that is not there.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Kafka;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $kafka = TwTasks::Kafka->create(settings => { 'message.max.bytes' => 12_000_000 });
my $node = TwTasks::Cluster->create('main');

sub handler
{
	my ($type, $topic, %options) = @_;

	return {
		types => [$type],
		kafka => $topic,
		brokers => [ $kafka->brokers ],
		settings => { 'message.timeout.ms' => 60000, 'topic.metadata.propagation.max.ms' => 500 },
		retry => { delay => '1s', multiplier => 1, jitter => 0, max_tries => 100 },
		%options
	};
}

$kafka->create_topic('out', 3, 'max.message.bytes' => 12_000_000);
$kafka->create_topic('orders');
$kafka->create_topic('traced');
$kafka->create_topic('small');
my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	handlers => [ handler('SendToKafka', '*'), handler('ORDER', 'orders'), handler('TRACED', 'traced') ]);

# Sends messages, given as SQL; returns the ids of the tasks.
sub send_to
{
	my ($topic, $messages) = @_;

	return split /\n/,
	  $node->value("SELECT task_id FROM twtasks.send_to_kafka('$topic', $messages)");
}

sub done_ok
{
	my ($what, @ids) = @_;

	wait_ok(sub { !grep { $node->state_of($_) !~ /^DONE / } @ids }, "$what: the status is DONE");
	return;
}

sub error_of
{
	my ($id) = @_;

	return $node->value(
		"SELECT coalesce(string_agg(error, ''), '') FROM twtasks.tasks WHERE id = '$id'");
}

# ---- what is sent ----

my ($id) = send_to('out', <<'SQL');
	ARRAY[twtasks.kafka_message('k', '{"a": "ä"}', '{"h": "1", "none": null}'),
		ROW('\xff00', NULL, NULL)::twtasks.kafka_message,
		ROW(NULL, '\x00ff', NULL)::twtasks.kafka_message]
SQL
done_ok('three messages', $id);
my %found = map { $_->{key} // '' => $_ } $kafka->messages('out');

is($found{k}{value}, qq({"a": "\xc3\xa4"}), 'a text arrives in UTF-8');
is_deeply($found{k}{headers},
	[ [ h => '1' ], [ none => undef ], [ 'twtasks-id' => "$id:0" ] ],
	'a message has its headers, and the id of its task');
is($found{"\xff\x00"}{value}, undef, 'a tombstone arrives, under a key of any bytes');
is($found{''}{value}, "\x00\xff", 'any bytes arrive, without a key');
is_deeply($found{''}{headers}, [ [ 'twtasks-id' => "$id:2" ] ], 'each message has its own id');

my $order = $node->add_task('ORDER', data => '{"id": 7}', key => "order-\xc3\xa47");

done_ok('a task of another type', $order);
my ($message) = $kafka->messages('orders');
is("$message->{value} $message->{headers}[0][1]", qq({"id": 7} $order:0),
	'the data of a task is the value of a message');
is($message->{key}, "order-\xc3\xa47", 'the key of a task is the key of its message');

# ---- traces ----

my $parent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
my $own = '00-11111111111111111111111111111111-2222222222222222-01';
my $context = qq({"traceparent": "$parent", "tracestate": "v=1", "request_id": "r-7", "user": "alice"});

# The headers of the message with this value.
sub headers_of
{
	my ($value) = @_;
	my ($found) = grep { ($_->{value} // '') eq $value } $kafka->messages('traced');

	return [ sort map { "$_->[0]=$_->[1]" } @{ $found->{headers} } ];
}

my @trace = ("traceparent=$parent", 'tracestate=v=1');
my $traced = $node->add_task('TRACED', data => '"traced"', context => $context);
my $untraced = $node->add_task('TRACED', data => '"untraced"', context => '{"traceparent": "no"}');

done_ok('tasks with a context', $traced, $untraced);
is_deeply(headers_of('"traced"'), [ 'X-Request-Id=r-7', @trace, "twtasks-id=$traced:0" ],
	'a message has the trace of its task, and nothing else of the context');
is((grep { $_->{value} eq '"traced"' } $kafka->messages('traced'))[0]{key},
	undef, 'the message of a task without a key has none');
is_deeply(headers_of('"untraced"'), ["twtasks-id=$untraced:0"], 'a malformed trace is no header');
$node->value("SET twtasks.context = '$context'");
($id) = send_to('traced', <<"SQL");
	ARRAY[twtasks.kafka_message('t', 'joins'),
		twtasks.kafka_message('t', 'own', '{"traceparent": "$own"}')]
SQL
$node->value('RESET twtasks.context');
done_ok('messages of a traced session', $id);
is_deeply(headers_of('joins'), [ 'X-Request-Id=r-7', @trace, "twtasks-id=$id:0" ],
	'a message of send_to_kafka() has the trace of its session');
is_deeply(headers_of('own'), [ 'X-Request-Id=r-7', "traceparent=$own", "twtasks-id=$id:1" ],
	'a message\'s own trace wins');

# ---- transactions ----

my $session = $node->session;

$session->query("BEGIN; SELECT count(*) FROM twtasks.send_to_kafka('orders', ARRAY[twtasks.kafka_message('k', 'rolled back')]); ROLLBACK");
$session->query("BEGIN; SELECT count(*) FROM twtasks.send_to_kafka('orders', ARRAY[twtasks.kafka_message('k', 'committed')]); COMMIT");
wait_ok(sub { $kafka->messages('orders') == 2 }, 'a commit sends its message');
is_deeply([ map { $_->{value} } $kafka->messages('orders') ],
	[ '{"id": 7}', 'committed' ], 'a rollback sends nothing');

# ---- sizes ----

($id) = send_to('out', "ARRAY[ROW('large', convert_to(repeat('x', 10000000), 'UTF8'), NULL)::twtasks.kafka_message]");
done_ok('a message of 10 MB', $id);
is((grep { ($_->{key} // '') eq 'large' } $kafka->messages('out'))[0]{size}, 10_000_000,
	'a message of 10 MB arrives whole');
my @ids = send_to('out', <<'SQL');
	ARRAY(SELECT ROW('split', convert_to(repeat('x', n * 1000000), 'UTF8'), NULL)::twtasks.kafka_message
		FROM unnest(ARRAY[3, 3, 5]) n)
SQL
is(scalar @ids, 2, '3 + 3 + 5 MB are two tasks');
done_ok('messages of 11 MB', @ids);
is_deeply([ sort map { $_->{size} } grep { ($_->{key} // '') eq 'split' } $kafka->messages('out') ],
	[ 3e6, 3e6, 5e6 ], '11 MB in two tasks arrive whole');
($id) = send_to('small', "ARRAY[ROW(NULL, convert_to(repeat('x', 13000000), 'UTF8'), NULL)::twtasks.kafka_message]");
wait_ok(sub { $node->status_of($id) eq 'ERROR' }, 'a message that is too large for the broker is an error');
like(error_of($id), qr/^could not send to topic "small": Broker: Message size too large$/,
	'the error of a too large message says so');

# ---- a topic that takes less than a batch ----

# The messages of each key, in the order in which they arrived last.
sub last_of_keys
{
	my %last;
	my $n = 0;

	foreach my $message ($kafka->messages('narrow'))
	{
		$last{ $message->{key} }{ $message->{headers}[-1][1] } = [ $n++, $message->{value} =~ /^(\d+)/ ];
	}
	return map { join ' ', map { $_->[1] } sort { $a->[0] <=> $b->[0] } values %$_ } map { $last{$_} } sort keys %last;
}

$kafka->create_topic('narrow', 1, 'max.message.bytes' => 2000);
@ids = send_to('narrow', q{ARRAY(SELECT twtasks.kafka_message('k' || n % 4, n || repeat('x', 300)) FROM generate_series(1, 1000) n)});
done_ok('1,000 messages, of which the topic takes a few at once', @ids);
is_deeply([last_of_keys()], [ map { my $k = $_; join ' ', grep { $_ % 4 == $k } 1 .. 1000 } 0 .. 3 ],
	'all of them arrive, those of a key in their order');
@ids = $node->value(q(SELECT task_id FROM generate_series(1, 1000) n,
	twtasks.send_to_kafka('narrow', ARRAY[twtasks.kafka_message('s', n || repeat('y', 300))]))) =~ /(\S+)/g;
done_ok('1,000 tasks of a message each', @ids);
($id) = send_to('narrow', q{ARRAY[twtasks.kafka_message('l', repeat('z', 3000))]});
wait_ok(sub { $node->status_of($id) eq 'ERROR' }, 'a message that is too large alone is an error');
$kafka->configure_topic('narrow', 'max.message.bytes' => 4000);
$node->value("SELECT twtasks.resume_task('$id')");
done_ok('a message that a wider topic takes', $id);

# ---- topics ----

($id) = send_to('missing', "ARRAY[twtasks.kafka_message('k', 'early')]");
wait_ok(sub { error_of($id) =~ /^could not send to topic "missing": / }, 'a missing topic leads to a retry');
$kafka->create_topic('missing');
done_ok('a topic that was created', $id);
is(scalar $kafka->messages('missing'), 1, 'a message arrives when its topic is there');
($id) = $node->add_task('ORDER', sub_type => 'out');
wait_ok(sub { error_of($id) eq 'the handler does not send to the topic that the task names in its sub_type' },
	'a topic that is not the handler\'s is refused');
is($node->status_of($id), 'ERROR', 'a task for a topic that is not the handler\'s is in ERROR');
($id) = $node->add_task('SendToKafka', sub_type => 'out', data => '{}');
wait_ok(sub { error_of($id) eq 'the task was not added by send_to_kafka()' },
	'a task that send_to_kafka() did not add is an error');

# ---- the broker dies before it acknowledges ----

$kafka->signal('STOP');
@ids = send_to('orders', "ARRAY(SELECT twtasks.kafka_message('k', 'n' || n) FROM generate_series(1, 1000) n)");
push @ids, map { $node->add_task('ORDER', data => $_) } 1 .. 50;
wait_ok(sub { $node->tasks("status = 'PROCESSING'") == 51 }, 'tasks wait for a broker that hangs');
$kafka->crash;
$kafka->start;
done_ok('all tasks after the return of the broker', @ids);
my %values;

$values{ $_->{value} }{ $_->{headers}[0][1] }++ foreach $kafka->messages('orders');
is(scalar(grep { $values{"n$_"} } 1 .. 1000), 1000, 'no message of a batch is lost');
is(scalar(grep { $values{$_} } 1 .. 50), 50, 'no message of a single task is lost');
is(scalar(grep { keys %{ $values{$_} } != 1 } keys %values), 0, 'a message has one id, however often it arrives');

# ---- the broker hangs and dies while messages are added ----

my $producer = $node->session;

sub sent
{
	return $node->tasks('type = \'SendToKafka\' AND sub_type = \'stream\' AND status = \'DONE\'');
}

$kafka->create_topic('stream', 3);
$node->value('CREATE TABLE public.enough ()');
$producer->send(<<'SQL');
	DO $$
	BEGIN
		FOR i IN 1..100000 LOOP
			EXIT WHEN EXISTS (SELECT FROM public.enough);
			PERFORM twtasks.send_to_kafka('stream', ARRAY(
				SELECT twtasks.kafka_message('k' || n, i || '.' || n) FROM generate_series(1, 2) n));
			COMMIT;
			PERFORM pg_sleep(0.005); -- workload
		END LOOP;
	END $$
SQL
wait_for(sub { sent() > 0 }, 'the first messages of a stream');
$kafka->signal('STOP');
wait_for(sub { $node->tasks('status = \'PROCESSING\'') > 10 }, 'messages for a broker that hangs');
$kafka->signal('CONT');
wait_for(sub { $node->tasks('status = \'PROCESSING\'') < 10 }, 'messages for a broker that goes on');
$kafka->crash;
wait_for(sub { $node->tasks('status = \'PROCESSING\'') > 10 }, 'messages for a broker that is away');
$kafka->start;
$node->value('INSERT INTO public.enough DEFAULT VALUES');
$producer->receive;
my $added = $node->tasks('sub_type = \'stream\'');

wait_ok(sub { sent() == $added }, 'a stream is sent, though its broker hangs and dies');
my %ids;

$ids{ $_->{value} }{ $_->{headers}[0][1] }++ foreach $kafka->messages('stream');
is(scalar(keys %ids), 2 * $added, 'no message of a stream is lost');
is(scalar(grep { keys %$_ != 1 } values %ids), 0, 'a message of a stream has one id, however often it arrives');

# ---- a reload ----

sub config
{
	return TwTasks::Sidecar::config_for($node, 'a',
		handlers => [ handler('SendToKafka', '*', settings => {@_}), handler('ORDER', 'orders') ]);
}

my $position = $sidecar->log_position;

$sidecar->reload(config('linger.mss' => 0));
$sidecar->wait_for_log(qr/handlers\[0\]\.settings\.linger\.mss: librdkafka does not know this setting/,
	'a setting that does not exist', $position);
$position = $sidecar->log_position;
$sidecar->reload(config('linger.ms' => 0));
$sidecar->wait_for_log(qr/reloaded/, 'a reload', $position);
($id) = send_to('orders', "ARRAY[twtasks.kafka_message('k', 'reloaded')]");
done_ok('a task after a reload', $id);

done_testing();
