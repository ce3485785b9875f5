--
-- send_to_kafka(): how many tasks hold the messages, and what is refused.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(17);

-- The payload of a task.
CREATE FUNCTION pg_temp.read_task(id uuid) RETURNS bytea
LANGUAGE sql
AS $$ SELECT payload FROM twtasks.task WHERE task.id = read_task.id $$;

-- Messages of so many millions of bytes each; returns those of each task.
CREATE FUNCTION pg_temp.split(VARIADIC sizes integer[]) RETURNS text
LANGUAGE sql
AS $$
	WITH sent AS (
		SELECT (twtasks.send_to_kafka('t', ARRAY(
			SELECT ROW('k', convert_to(repeat('x', n * 1000000 - 13), 'UTF8'), NULL)::twtasks.kafka_message
			FROM unnest(sizes) WITH ORDINALITY s (n, i) ORDER BY i))).task_id
	)
	SELECT string_agg((octet_length(pg_temp.read_task(task_id)) / 1000000)::text, ' ') FROM sent
$$;
SELECT is(pg_temp.split(6, 6), '6 6', 'two messages that do not fit together have two tasks');
SELECT is(pg_temp.split(3, 3, 5), '6 5', 'a task takes messages as long as they fit');
SELECT is(pg_temp.split(4, 4), '8', 'messages of exactly the most bytes fit');
SELECT is(pg_temp.split(11), '11', 'a message that is too long for a task has one of its own');
SELECT is(pg_temp.split(1, 11, 1, 1), '1 11 2', 'the neighbours of a long message are in other tasks');
SELECT is((SELECT count(*) FROM twtasks.send_to_kafka('t', '{}')), 0::bigint, 'an empty array adds no task');
SELECT is((SELECT string_agg(DISTINCT type || ' ' || sub_type, ', ') FROM twtasks.tasks), 'SendToKafka t', 'the type and the topic of the task can be seen');

SELECT is(
	(SELECT pg_temp.read_task(task_id) FROM twtasks.send_to_kafka('t', ARRAY[
		twtasks.kafka_message('ä', NULL, '{"b": null, "a": "1"}'),
		ROW(NULL, '\x00', NULL)::twtasks.kafka_message])),
	'\x00000002c3a4ffffffff000000020000000161000000013100000001'::bytea || '\x62ffffffff'::bytea ||
	'\xffffffff000000010000000000'::bytea,
	'the payload has lengths and bytes, in the order of the messages');

SELECT throws_ok($$SELECT twtasks.send_to_kafka(NULL, '{}')$$, '22004');
SELECT throws_ok($$SELECT twtasks.send_to_kafka('t', NULL)$$, '22004');
SELECT throws_ok($$SELECT twtasks.send_to_kafka('t', ARRAY[NULL]::twtasks.kafka_message[])$$, '22004');
SELECT throws_ok($$SELECT twtasks.send_to_kafka('a/b', '{}')$$, '22023');
SELECT throws_ok($$SELECT twtasks.send_to_kafka('..', '{}')$$, '22023');
SELECT throws_ok(format($$SELECT twtasks.send_to_kafka(%L, '{}')$$, repeat('a', 250)), '22023');
SELECT throws_ok($$SELECT twtasks.send_to_kafka('t', ARRAY[twtasks.kafka_message('k', 'v', '[]')])$$, '22023');
SELECT throws_ok($$SELECT pg_temp.split(17)$$, '54000');

SELECT lives_ok($$
	CREATE ROLE regress_sender IN ROLE twtasks_producer;
	SET LOCAL ROLE regress_sender;
	SELECT twtasks.send_to_kafka('t', ARRAY[twtasks.kafka_message('k', 'v')]);
$$, 'a producer may send messages');
RESET ROLE;

SELECT finish();
ROLLBACK;
