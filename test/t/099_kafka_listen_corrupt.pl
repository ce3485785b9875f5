# 099_kafka_listen_corrupt.pl -- messages that give no task, slow calls, and junk hold
# up nothing but their own partition.

use strict;
use warnings FATAL => 'all';

use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Kafka;
use TwTasks::Listener;
use TwTasks::Wait;

my $kafka = TwTasks::Kafka->create;
my $node = TwTasks::Cluster->create('main', conf => { 'twtasks.max_payload' => "'300kB'" });

sub listener
{
	my ($name, %options) = @_;

	$options{type} = uc $name unless $options{function};
	return { name => $name, topics => [$name], start => 'earliest', %options };
}

sub start
{
	my (@listeners) = @_;

	return TwTasks::Listener->start($node, $listeners[0]{name},
		TwTasks::Listener::settings_for($node, $kafka, @listeners));
}

sub number_of
{
	return 0 + $node->tasks("type = '$_[0]'");
}

# ---- corrupt: task ----

my @bad = (
	{ value => '{"no": ' },
	{ value => "\"\xff\"" },
	{ value => '{"id": "a\u0000b"}' },
	{ value => '{"no": 7}' },
	{ value => '{"id": "' . 'x' x 2000 . '"}' },
	{ value => '{"id": "large", "x": "' . 'x' x 400_000 . '"}' });
my $corrupted = "type = 'CORRUPTED_KAFKA_MESSAGE'";

$kafka->create_topic('tasks');
$kafka->produce('tasks', map { { value => qq({"id": "before$_"}) }, $bad[$_], { value => qq({"id": "after$_"}) } } 0 .. $#bad);
my $process = start(listener('tasks', key => 'json:/id', corrupt => 'task'));

wait_ok(sub { number_of('TASKS') == 2 * @bad }, 'messages before and after a corrupt one become tasks');
wait_ok(sub { $node->tasks($corrupted) == @bad }, 'each corrupt message is a task too');
is($node->value("SELECT encode(payload, 'escape') FROM twtasks.task WHERE $corrupted AND (context->>'offset')::int = 1"),
	'{"no": ', 'the task of a corrupt message has its bytes');
my $context = decode_json($node->value("SELECT context FROM twtasks.task WHERE $corrupted AND (context->>'offset')::int = 1"));

is("$context->{topic} $context->{partition} $context->{listener}", 'tasks 0 tasks',
	'the task of a corrupt message says where it is from');
like($context->{error}, qr/json/, 'the task of a corrupt message says what is wrong');
$process->stop;

# ---- corrupt: retry ----

$kafka->create_topic('again', 2);
$kafka->produce('again', map { { value => $_, partition => $_ % 2 } } 1 .. 4);
$kafka->produce('again', { value => 'no json', partition => 0 });
$kafka->produce('again', map { { value => $_, partition => $_ % 2 } } 5 .. 8);
$process = start(listener('again'), listener('tasks'));
wait_ok(sub { number_of('AGAIN') == 6 }, 'messages before a corrupt one, and those of other partitions, become tasks');
$process->wait_for_log(qr/ERROR .*"again" \[0\]: could not store the message at offset 2: /, 'the error');
watch_for(2);
is(scalar(() = $process->log =~ /"again" \[0\]: could not/g), 1, 'a corrupt message is told once');
$kafka->produce('again', { value => 9, partition => 1 });
wait_ok(sub { number_of('AGAIN') == 7 }, 'other partitions go on beside a corrupt message');
$node->value("SELECT twtasks.reset_listener('again', 'again', 0, 3)");
wait_ok(sub { number_of('AGAIN') == 9 }, 'the partition goes on when an operator has set its offset');
ok($process->wait_for_log(qr/"again" \[0\]: goes on at offset/), 'the log says that the partition goes on');
$process->stop;

# ---- a function that fails ----

$node->safe_psql('postgres', <<'SQL');
	CREATE FUNCTION public.picky(m twtasks.message) RETURNS twtasks.new_task LANGUAGE plpgsql
	SET search_path = pg_catalog, pg_temp AS $$
	BEGIN
		IF m.value = '\x626164' THEN
			RAISE EXCEPTION 'not this one';
		END IF;
		RETURN ROW('PICKY', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, m.value)::twtasks.new_task;
	END $$
SQL
$kafka->create_topic('picky');
$kafka->produce('picky', map { { value => $_ } } qw(one bad two));
$process = start(listener('picky', function => 'public.picky', corrupt => 'task'));
wait_ok(sub { number_of('PICKY') == 2 }, 'messages beside one that a function refuses become tasks');
wait_ok(sub { $node->tasks($corrupted) == @bad + 1 }, 'a message that a function refuses is a task too');
$process->stop;

# ---- junk ----

$kafka->create_topic('junk', 3);
$kafka->produce('junk',
	{ value => '1', headers => [ [ large => 'x' x 200_000 ] ] },
	{ value => '2', headers => [ map { [ "h$_" => '1' ] } 1 .. 10_000 ] },
	{ value => '3', key => "a\x00b\xff", headers => [ [ "n\x01" => "\x00\xff" ], [ "n\x01" => 'again' ], [ '' => '' ] ] },
	{ value => undef, key => undef },
	{ value => '', key => '' });
$process = start(listener('junk', value => 'bytes', headers => ['*'], corrupt => 'task'));
wait_ok(sub { number_of('JUNK') == 5 }, 'messages with large, many or odd headers become tasks');
$process->stop;

# ---- a lock ----

my $lock = $node->session;

$lock->query('BEGIN');
$lock->query("SELECT twtasks.add_task('OTHER', key => 'held')");
$kafka->create_topic('locked', 2);
$kafka->produce('locked', map { { value => qq({"id": "$_"}), partition => 0 } } qw(before held after));
$process = start(listener('locked', key => 'json:/id'));
$process->wait_for_log(qr/"locked" \[0\]: could not store the messages? (?:from|at) offset 1: .*55P03/, 'the end of the wait');
$kafka->produce('locked', map { { value => qq({"id": $_}), partition => 1 } } 1 .. 10);
wait_ok(sub { number_of('LOCKED') == 11 }, 'messages of other partitions become tasks while one waits for a lock');
$lock->query('ROLLBACK');
wait_ok(sub { number_of('LOCKED') == 13 }, 'messages that waited for a lock become tasks in the end');
$process->stop;

# ---- slow calls ----

$node->safe_psql('postgres', <<'SQL');
	CREATE FUNCTION public.slow(m twtasks.message) RETURNS twtasks.new_task LANGUAGE plpgsql
	SET search_path = pg_catalog, pg_temp AS $$
	BEGIN
		PERFORM pg_advisory_xact_lock(4711);
		RETURN ROW('SLOW', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::twtasks.new_task;
	END $$
SQL
$lock->query('SELECT pg_advisory_lock(4711)');
$kafka->create_topic($_, 3) foreach qw(slow quick);
$kafka->produce('slow', map { { value => $_ } } 1 .. 1000);
$process = start(listener('slow', function => 'public.slow'), listener('quick'));
wait_for(sub { $node->value("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'advisory' AND application_name LIKE '%listener slow'") == 1 },
	'a slow call');
$kafka->produce('quick', map { { value => $_ } } 1 .. 1000);
wait_ok(sub { number_of('QUICK') == 1000 }, '1,000 messages of another topic do not wait for slow ones');
is(number_of('SLOW'), 0, 'the slow calls are still under way');

$kafka->create_topic('heavy');
$kafka->produce('heavy', map { { value => 'x' x 900_000 } } 1 .. 25) foreach 1 .. 4;
my $heavy = start(listener('heavy', function => 'public.slow', value => 'bytes'));

wait_for(sub { $heavy->memory('VmHWM') > 20_000 }, 'messages in memory');
watch_for(3);
cmp_ok($heavy->memory('VmHWM'), '<', 90_000, 'a listener that waits has 10 MB of messages, not all of 90 MB');

# The group takes the paused partition away, and gives it back.
my $guest = start(listener('heavy', function => 'public.slow', value => 'bytes'));

$guest->wait_for_log(qr/reads \d partition/, 'the other member');
$guest->stop;
$heavy->wait_for_log(qr/reads 1 partition(?s:.*)reads 1 partition/, 'the partition again');
$lock->query('SELECT pg_advisory_unlock(4711)');
wait_ok(sub { number_of('SLOW') == 1100 }, 'slow messages become tasks in the end');
$_->stop foreach $process, $heavy;

done_testing();
