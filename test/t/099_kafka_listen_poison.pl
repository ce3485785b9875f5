# 099_kafka_listen_poison.pl -- a message that cannot be stored alone, whatever the
# reason and however late the database says so, is found, named, and handled by the
# rule of its listener.  Its neighbours become tasks once.

use strict;
use warnings FATAL => 'all';

use JSON::PP;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Kafka;
use TwTasks::Listener;
use TwTasks::Wait;

my $kafka = TwTasks::Kafka->create;
my $node = TwTasks::Cluster->create('main');
my $corrupted = "type = 'CORRUPTED_KAFKA_MESSAGE'";

# The constraint speaks at the commit.  ASSERT is no error that "others" catches.
$node->safe_psql('postgres', <<'SQL');
	CREATE TABLE public.seen (no integer NOT NULL);
	CREATE FUNCTION public.check_seen() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		IF NEW.no = 7 THEN
			RAISE EXCEPTION 'no customer %', NEW.no USING ERRCODE = '23503';
		ELSIF NEW.no = 8 AND EXISTS (SELECT FROM pg_catalog.pg_class WHERE relname = 'busy') THEN
			RAISE EXCEPTION 'busy' USING ERRCODE = '40001';
		ELSIF NEW.no = 9 THEN
			RAISE EXCEPTION 'odd' USING ERRCODE = 'MY001';
		END IF;
		RETURN NULL;
	END $$;
	CREATE CONSTRAINT TRIGGER late AFTER INSERT ON public.seen DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION public.check_seen();
	CREATE FUNCTION public.see(m twtasks.message) RETURNS twtasks.new_task LANGUAGE plpgsql
	SET search_path = pg_catalog, pg_temp AS $$
	DECLARE
		no CONSTANT integer := convert_from(m.value, 'UTF8')::integer;
	BEGIN
		ASSERT no <> 5, 'five';
		INSERT INTO public.seen VALUES (no);
		RETURN ROW('SEEN', to_jsonb(m.time IS NULL), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::twtasks.new_task;
	END $$
SQL

sub start
{
	my ($name, %options) = @_;

	return TwTasks::Listener->start($node, $name,
		TwTasks::Listener::settings_for($node, $kafka,
			{ name => $name, topics => [$name], start => 'earliest', %options }));
}

sub stands_at
{
	my ($name) = @_;

	return $node->value("SELECT coalesce(max(next_offset), -1) FROM twtasks.message_offset WHERE listener = '$name'");
}

# ---- a time that PostgreSQL does not have ----

my $nanoseconds = time * 1_000_000_000;

$kafka->create_topic('times');
$kafka->produce('times', map { { value => $_, $_ == 300 ? (timestamp => $nanoseconds) : () } } 101 .. 600);
my $process = start('times', function => 'public.see', corrupt => 'task');

wait_ok(sub { $node->tasks(q(type = 'SEEN')) == 500 }, 'messages beside one with a time of nanoseconds become tasks');
is($node->value(q(SELECT count(*) FROM twtasks.task WHERE type = 'SEEN' AND data = 'true')), 1, 'a time that PostgreSQL does not have is not known');
is($process->stop, 0, 'the process ends in order');
$node->value('TRUNCATE public.seen');

# ---- errors at the commit, and errors that nothing catches ----

my %odd = (400 => 7, 401 => 5, 450 => 7);

sub fill
{
	my ($name, %values) = @_;

	$kafka->create_topic($name);
	$kafka->produce($name, map { { value => $values{$_} // 100 + $_, key => "k$_" } } 0 .. 499);
	return;
}

fill('late', %odd);
$process = start('late', function => 'public.see', corrupt => 'task');
wait_ok(sub { stands_at('late') == 500 }, 'messages that fail at the commit do not stop their partition');
is($node->value('SELECT count(*) || \' \' || count(DISTINCT no) FROM public.seen'), '497 497',
	'their neighbours are stored once');
is($node->value("SELECT string_agg(context ->> 'offset', ' ' ORDER BY (context ->> 'offset')::int) FROM twtasks.task WHERE $corrupted"),
	'400 401 450', 'each of them is a task, and no other message is');
my $context = decode_json($node->value("SELECT context - 'time' FROM twtasks.task WHERE $corrupted AND context ->> 'offset' = '400'"));

is_deeply($context,
	{ listener => 'late', topic => 'late', partition => 0, offset => 400, bytes => 1, key => '\x6b343030', headers => undef,
		sqlstate => '23503', error => 'no customer 7' },
	'the task of a message that failed at the commit says where it is from, and why');
is($node->value("SELECT convert_from(payload, 'UTF8') FROM twtasks.task WHERE $corrupted AND context ->> 'offset' = '400'"), '7',
	'it has the bytes of the message');
$process->stop;
$node->value('TRUNCATE public.seen');

# ---- corrupt: retry, and errors that are not of the content ----

fill('again', 400 => 7);
fill('strange', 400 => 9);
foreach my $case ([ again => 'retry', '23503' ], [ strange => 'task', 'MY001' ])
{
	my ($name, $rule, $state) = @$case;

	$process = start($name, function => 'public.see', corrupt => $rule);
	wait_ok(sub { stands_at($name) == 400 }, "$rule, $state: the messages before are stored");
	$process->wait_for_log(qr/"$name" \[0\]: could not store the message at offset 400: .* \($state\)/, 'the message by name');
	is(scalar(() = $process->log =~ /could not store/g), 1, "$rule, $state: the log names the message, once");
	$node->value("SELECT twtasks.reset_listener('$name', '$name', 0, 401)");
	wait_ok(sub { stands_at($name) == 500 }, "$rule, $state: the partition goes on when the message is passed by hand");
	is($node->value('SELECT count(*) || \' \' || count(DISTINCT no) FROM public.seen'), '499 499',
		"$rule, $state: its neighbours are stored once");
	$process->stop;
	$node->value('TRUNCATE public.seen');
}

# ---- a server in trouble ----

$node->value('CREATE TABLE public.busy ()');
fill('busy', 400 => 8);
$process = start('busy', function => 'public.see', corrupt => 'task');
$process->wait_for_log(qr/could not store the messages? .* \(40001\)/, 'a serialization failure');
wait_ok(sub { $process->log =~ /message at offset 400: .* \(40001\)/ }, 'a message that meets the trouble alone is named');
$node->value('DROP TABLE public.busy');
wait_ok(sub { stands_at('busy') == 500 }, 'the messages are stored when the trouble is over');
is($node->tasks($corrupted), 3, 'trouble of the server is not taken for a corrupt message');

# ---- a rule that is not valid ----

my $broken = start('busy2', type => 'B', topics => ['busy'], value => 'bytes', key => 'json:/a', corrupt => 'task');

$broken->wait_for_log(qr/could not store the message at offset 0: .* \(22023\)/, 'the rule');
is($node->tasks($corrupted), 3, 'an error of the rule is not taken for one of the message');
$_->stop foreach $process, $broken;

# ---- a header with a character that the encoding of the database lacks ----

$node->safe_psql('postgres', q(CREATE DATABASE latin1 ENCODING 'LATIN1' TEMPLATE template0));
$node->install('latin1');
$kafka->create_topic('latin');
$kafka->produce('latin', map { { value => 100 + $_, headers => [ [ name => $_ == 400 ? "\xe2\x82\xac" : "\xc3\xa9" ] ] } } 0 .. 499);
my %settings = TwTasks::Listener::settings_for($node, $kafka,
	{ name => 'latin', topics => ['latin'], start => 'earliest', type => 'LATIN', value => 'bytes', corrupt => 'task' });

$settings{postgres} =~ s/dbname=\S+/dbname=latin1/;
$process = TwTasks::Listener->start($node, 'latin', %settings);
wait_ok(sub { $node->safe_psql('latin1', 'SELECT next_offset FROM twtasks.message_offset') eq '500' },
	'a header that the database cannot hold does not stop the partition');
is($node->safe_psql('latin1', q(SELECT string_agg(format('%s %s %s', type, n, headers), ';' ORDER BY type) FROM (
		SELECT type, count(*) AS n, min(context ->> 'headers') AS headers FROM twtasks.task GROUP BY type) t)),
	'CORRUPTED_KAFKA_MESSAGE 1 ;LATIN 499 ', 'its task lacks the headers, and its neighbours are stored');
$process->stop;
$node->stop;
done_testing();
