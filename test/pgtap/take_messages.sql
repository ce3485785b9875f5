-- A consumer stores the tasks of a run of messages and its offset together.

BEGIN;
SELECT plan(26);

CREATE FUNCTION one_task(type text) RETURNS twtasks.new_task[]
LANGUAGE sql AS $$ SELECT ARRAY[(type, '{}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::twtasks.new_task] $$;
CREATE FUNCTION take(from_offset bigint, to_offset bigint, type text DEFAULT 'TAKEN') RETURNS bigint
LANGUAGE sql AS $$ SELECT twtasks.take_messages('billing', 'invoices', 0, from_offset, to_offset, one_task(type)) $$;
CREATE FUNCTION tasks() RETURNS bigint LANGUAGE sql AS $$ SELECT count(*) FROM twtasks.tasks WHERE type = 'TAKEN' $$;

SELECT is(take(17, 20), 20::bigint, 'the first call for a partition may begin anywhere');
SELECT is(tasks(), 1::bigint, 'the first call stores its tasks');
SELECT is(take(20, 21), 21::bigint, 'the next run of messages follows');
SELECT is(tasks(), 2::bigint, 'the next run stores its tasks');
SELECT is(take(20, 21), 21::bigint, 'the same run again is told where to go on');
SELECT is(tasks(), 2::bigint, 'the same run again stores nothing');
SELECT is(take(17, 30), 21::bigint, 'an owner that is behind is told where to go on');
SELECT is(take(25, 30), 21::bigint, 'an owner that is ahead is told where to go on');
SELECT is(tasks(), 2::bigint, 'an owner that is behind or ahead stores nothing');
SELECT is(twtasks.take_messages('billing', 'invoices', 0, 21, 23, '{}'), 23::bigint,
	'messages without a task move the offset');
SELECT is(twtasks.take_messages('audit', 'invoices', 0, 0, 1, '{}'), 1::bigint,
	'another listener has an offset of its own');
SELECT is(twtasks.take_messages('billing', 'invoices', 1, 0, 0, '{}'), 0::bigint,
	'another partition has an offset of its own, and a run may be empty');

SELECT throws_ok($$ SELECT take(23, 24, 'no type') $$, '22023', NULL, 'a task that add_tasks() refuses is an error');
SELECT is((SELECT next_offset FROM twtasks.message_offset WHERE listener = 'billing' AND partition = 0),
	23::bigint, 'a refused task leaves the offset where it was');

SELECT throws_ok($$ SELECT twtasks.take_messages(NULL, 't', 0, 0, 1, '{}') $$, '22004',
	'listener must not be null', 'a NULL listener is refused by name');
SELECT throws_ok($$ SELECT twtasks.take_messages('l', 't', 0, 0, 1, NULL) $$, '22004',
	'either tasks or messages must be given', 'a call without tasks or messages is refused');
SELECT throws_ok($$ SELECT twtasks.take_messages('l', 'a b', 0, 0, 1, '{}') $$, '22023',
	'invalid name of a topic: "a b"', 'a topic that Kafka would refuse is refused');
SELECT throws_ok($$ SELECT twtasks.take_messages(repeat('l', 251), 't', 0, 0, 1, '{}') $$, '22023',
	NULL, 'a listener with too long a name is refused');
SELECT throws_ok($$ SELECT twtasks.take_messages('l', 't', 0, 5, 4, '{}') $$, '22023',
	'invalid range of messages: offsets 5 to 4', 'a run that ends before it begins is refused');
SELECT throws_ok($$ SELECT twtasks.take_messages('l', 't', -1, 0, 1, '{}') $$, '22023', NULL,
	'a negative partition is refused');

CREATE ROLE twt_other_consumer IN ROLE twtasks_producer;
GRANT USAGE ON SCHEMA twtasks TO twt_other_consumer;
GRANT EXECUTE ON FUNCTION twtasks.take_messages TO twt_other_consumer;
SET ROLE twt_other_consumer;
SELECT throws_ok($$ SELECT twtasks.take_messages('billing', 'invoices', 0, 23, 99, '{}') $$, '42501',
	NULL, 'a role cannot move the offset of another role''s listener');
SELECT throws_ok($$ SELECT twtasks.take_messages('billing', 'invoices', 2, 0, 9, '{}') $$, '42501',
	format('listener "billing" belongs to role "%s"', session_user), 'a role cannot add a partition to another role''s listener');
SELECT throws_ok($$ SELECT twtasks.take_messages('billing', 'orders', 0, 0, 9, '{}') $$, '42501',
	format('listener "billing" belongs to role "%s"', session_user), 'a role cannot add a topic to another role''s listener');
SELECT throws_ok($$ SELECT count(*) FROM twtasks.message_offset $$, '42501', NULL,
	'a role cannot read the table of offsets');
RESET ROLE;

SELECT twtasks.reset_listener('billing', 'invoices', 1, 0, 'twt_other_consumer');
SET ROLE twt_other_consumer;
SELECT is(twtasks.take_messages('billing', 'invoices', 2, 0, 9, '{}'), 9::bigint,
	'a role that has one of the partitions may add another');
RESET ROLE;

UPDATE twtasks.adoption SET ended = clock_timestamp();
SELECT throws_ok($$ SELECT take(23, 24) $$, '55000', 'this database takes no messages: it is a copy that was not adopted',
	'a copy takes no messages');

SELECT * FROM finish();
ROLLBACK;
