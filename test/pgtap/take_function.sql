-- take_messages() makes tasks of messages: by a type, or by a function of the user's.

BEGIN;
SELECT plan(88);

CREATE FUNCTION message(no bigint, value text, key text DEFAULT NULL, headers jsonb DEFAULT NULL) RETURNS twtasks.message
LANGUAGE sql AS $$ SELECT 'invoices', 0, no, '2026-01-02 03:04:05+00'::timestamptz, convert_to(key, 'UTF8'), convert_to(value, 'UTF8'), headers $$;
CREATE FUNCTION refused(state text, statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
BEGIN
	EXECUTE statement;
	RETURN 'ok';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN concat_ws('|', nullif(SQLSTATE, state), SQLERRM, nullif(detail, ''));
END $$;

-- Many messages of one type.
CREATE FUNCTION take(from_offset bigint, messages twtasks.message[], value text DEFAULT 'json', key text DEFAULT NULL,
	headers text[] DEFAULT NULL, corrupt text DEFAULT 'retry') RETURNS bigint
LANGUAGE sql AS $$ SELECT twtasks.take_messages('billing', 'invoices', 0, from_offset, from_offset + cardinality(messages),
	messages => messages, type => 'BILL', value => value, key => key, headers => headers, corrupt => corrupt) $$;
CREATE VIEW bills AS SELECT t.* FROM twtasks.task t WHERE t.type = 'BILL' ORDER BY t.id;
CREATE FUNCTION stands_at() RETURNS bigint LANGUAGE sql AS $$ SELECT next_offset FROM twtasks.listeners
	WHERE listener = 'billing' AND topic = 'invoices' AND partition = 0 $$;

SELECT is(stands_at(), NULL, 'a listener that has taken nothing stands nowhere');
SELECT is(take(0, ARRAY[message(0, '{"no": 1}'), message(1, '{"no": 2}')]), 2::bigint, 'messages of a type are taken');
SELECT is(stands_at(), 2::bigint, 'the listener then stands behind them');
SELECT results_eq('SELECT data, payload, key, context FROM bills', $$VALUES ('{"no": 1}'::jsonb, NULL::bytea, NULL::text, NULL::jsonb), ('{"no": 2}', NULL, NULL, NULL)$$,
	'each value is the data of a task, in the order of the messages');
SELECT is(take(0, ARRAY[message(0, '{"no": 1}')]), 2::bigint, 'messages that were taken are not taken again');
SELECT is(take(2, ARRAY[message(2, NULL)]), 3::bigint, 'a message without a value is taken');
SELECT is((SELECT data IS NULL AND payload IS NULL FROM bills OFFSET 2), true, 'a message without a value gives a task without data');
SELECT is(take(3, ARRAY[message(3, 'no json')], 'bytes'), 4::bigint, 'values may be bytes');
SELECT is((SELECT convert_from(payload, 'UTF8') FROM bills OFFSET 3), 'no json', 'a value of bytes is the payload of the task');
SELECT is(take(4, ARRAY[message(4, '4', headers => '{"source": "shop", "traceparent": "00-1-2-01", "other": "x", "none": null}')], headers => '{source,none,missing}'), 5::bigint,
	'a message with headers is taken');
SELECT is((SELECT context FROM bills OFFSET 4), '{"source": "shop", "traceparent": "00-1-2-01", "none": null}'::jsonb,
	'the named headers and traceparent are the context of the task');

SELECT is(take(5, ARRAY[message(5, '5', headers => '{"a": "x", "b": "y"}'), message(6, '6')], headers => '{*}'), 7::bigint, 'all headers may be wanted');
SELECT results_eq('SELECT context FROM bills OFFSET 5', $$VALUES ('{"a": "x", "b": "y"}'::jsonb), (NULL)$$, 'all headers are the context of the task, if there are any');
SELECT is(twtasks.reset_listener('billing', 'invoices', 0, 5), 7::bigint, 'back to the messages before');
DELETE FROM twtasks.task WHERE id IN (SELECT id FROM bills OFFSET 5);

-- Keys.
SELECT is(take(5, ARRAY[message(5, '5', headers => '{"id": "k5"}')], key => 'header:id'), 6::bigint, 'a header may be the key');
SELECT is(take(6, ARRAY[message(6, '{"a/b": {"~c": ["x", 7]}}')], key => 'json:/a~1b/~0c/1'), 7::bigint, 'a JSON pointer may lead to the key');
SELECT is(take(7, ARRAY[message(7, '7')], key => 'position'), 8::bigint, 'the position may be the key');
SELECT is(take(8, ARRAY[message(8, '{"": "eight"}')], key => 'json:/'), 9::bigint, 'a member without a name may be the key');
SELECT is(ARRAY(SELECT key FROM bills WHERE key IS NOT NULL), '{k5,7,billing/invoices/0/7,eight}'::text[], 'the tasks have the keys of their messages');
SELECT is(take(9, ARRAY[message(9, '9', headers => '{"id": "k5"}')], key => 'header:id'), 10::bigint, 'a message with a known key is taken');
SELECT is((SELECT count(*) FROM bills), 9::bigint, 'a message with a known key gives no second task');
SELECT is(refused('22004', $$SELECT take(10, ARRAY[message(10, '1')], key => 'header:id')$$),
	'message has no key at "header:id"|The message is at offset 10 of partition 0 of topic "invoices".', 'a message without the header of the key fails');
SELECT is(refused('22004', $$SELECT take(10, ARRAY[message(10, '{"id": {}}')], key => 'json:/id')$$),
	'message has no key at "json:/id"|The message is at offset 10 of partition 0 of topic "invoices".', 'an object is no key');
SELECT is(refused('22004', $$SELECT take(10, ARRAY[message(10, '{"id": null}')], key => 'json:/id')$$),
	'message has no key at "json:/id"|The message is at offset 10 of partition 0 of topic "invoices".', 'null is no key');
SELECT is(take(10, ARRAY[message(10, '{"id": "a"}'), message(11, '{"no": 1}'), message(12, '{}')], key => 'json:/id'), 11::bigint,
	'messages before one without a key are taken');
SELECT is(twtasks.reset_listener('billing', 'invoices', 0, 10), 11::bigint, 'back to the messages before');
DELETE FROM twtasks.task WHERE key = 'a';

SELECT is(take(10, ARRAY[message(10, '10', 'k10')], key => 'message'), 11::bigint, 'the key of the message may be the key');
SELECT is(take(11, ARRAY[('invoices', 0, 11, NULL, '\xff00', '11', NULL)::twtasks.message], key => 'bills/{message}'), 12::bigint, 'a prefix may stand before it');
SELECT is(take(12, ARRAY[message(12, '{"id": "x{y}"}')], key => 'a b/{json:/id}'), 13::bigint, 'or before a path');
SELECT is(take(13, ARRAY[message(13, '13', headers => '{"id": "h"}')], 'bytes', key => 'c/{header:id}'), 14::bigint, 'or before a header');
SELECT is(take(14, ARRAY[message(14, '14')], key => 'd/{position}'), 15::bigint, 'or before the position');
SELECT is(ARRAY(SELECT key FROM bills OFFSET 9), '{k10,"bills/\\xff00","a b/x{y}",c/h,d/billing/invoices/0/14}'::text[], 'the tasks have these keys');
SELECT is(refused('22004', $$SELECT take(15, ARRAY[message(15, '1')], key => 'bills/{message}')$$),
	'message has no key at "message"|The message is at offset 15 of partition 0 of topic "invoices".', 'a prefix alone is no key');
SELECT is(refused('22023', $$SELECT take(15, ARRAY[message(15, '1')], 'bytes', key => 'bills/{json:/id}')$$), 'invalid key: "bills/{json:/id}"', 'bytes have no path behind a prefix either');
SELECT is(refused('22023', $$SELECT take(15, ARRAY[message(15, '1')], key => 'bills/{id}')$$), 'invalid key: "bills/{id}"', 'braces have a word of ours');
SELECT is(twtasks.reset_listener('billing', 'invoices', 0, 10), 15::bigint, 'back to the messages before');
DELETE FROM twtasks.task WHERE id IN (SELECT id FROM bills OFFSET 9);

-- Bytes as texts: the unit test of messages has the same cases.
SELECT results_eq($$SELECT twtasks.bytes_as_text(b) FROM unnest(ARRAY['key-4', '\xc3a9', '\xefbfbd', '\xff', '\xfe', '\x00', '\xeda080', '\xc3', '\xc080', '\xf4908080', '\x5c786666',
	'\x5c784646', '\x5c7866', '\x5c78', '']::bytea[]) WITH ORDINALITY AS u (b, n) ORDER BY n$$,
	$$VALUES ('key-4'), ('é'), ('�'), ('\xff'), ('\xfe'), ('\x00'), ('\xeda080'), ('\xc3'), ('\xc080'), ('\xf4908080'), ('\x5c786666'), ('\xFF'), ('\xf'), ('\x'), ('')$$,
	'different bytes are different texts');
SELECT is(twtasks.bytes_as_text(NULL), NULL, 'NULL has no text');

-- Messages that fail.
SELECT is(refused('22P02', $$SELECT take(10, ARRAY[message(10, 'junk'), message(11, '11')])$$),
	'invalid input syntax for type json|The message is at offset 10 of partition 0 of topic "invoices". Token "junk" is invalid.', 'retry: a broken message fails the call by name');
SELECT is(ARRAY[(SELECT count(*) FROM bills), stands_at()], '{9,10}'::bigint[], 'retry: a call that fails takes nothing');
SELECT is(take(10, ARRAY[message(10, '10'), message(11, '11'), message(12, 'junk'), message(13, '13')]), 12::bigint, 'retry: messages before a broken one are taken');
SELECT is(ARRAY[(SELECT count(*) FROM bills), stands_at()], '{11,12}'::bigint[], 'retry: the listener then stands at the broken message');
SELECT is(take(12, ARRAY[message(12, 'junk', 'k', '{"h": "v"}'), message(13, '13'),
	('invoices', 0, 14, NULL, NULL, '\xff00', NULL)::twtasks.message, message(15, '"\u0000"'), message(16, '16', key => NULL)], corrupt => 'task'), 17::bigint, 'task: all messages are taken');
SELECT is((SELECT count(*) FROM bills), 13::bigint, 'task: messages beside broken ones give their tasks');
CREATE VIEW corrupted AS SELECT t.* FROM twtasks.task t WHERE t.type = 'CORRUPTED_KAFKA_MESSAGE' ORDER BY t.id;
SELECT is(ARRAY(SELECT payload FROM corrupted), ARRAY[convert_to('junk', 'UTF8'), '\xff00', convert_to('"\u0000"', 'UTF8')], 'task: a broken message gives a task with its bytes');
SELECT is((SELECT context - 'time' FROM corrupted LIMIT 1), '{"listener": "billing", "topic": "invoices", "partition": 0, "offset": 12, "bytes": 4, "key": "\\x6b", "headers": {"h": "v"},
	"sqlstate": "22P02", "error": "invalid input syntax for type json"}'::jsonb, 'task: the context of such a task says where it is from and why it is corrupt');
SET LOCAL twtasks.max_payload = 2000;
SELECT is(take(17, ARRAY[message(17, to_json(repeat('x', 3000))::text)], corrupt => 'task'), 18::bigint, 'task: a message that is too large is taken');
SELECT is((SELECT ARRAY[payload IS NULL, (context -> 'bytes')::integer = 3002, context ? 'key'] FROM corrupted OFFSET 3), '{t,t,f}'::boolean[], 'task: the task of a large message has its place alone');
RESET twtasks.max_payload;
CREATE ROLE twt_keeper_of_corrupted IN ROLE twtasks_producer;
SELECT twtasks.allow_type('CORRUPTED_KAFKA_MESSAGE', 'twt_keeper_of_corrupted');
CREATE ROLE twt_taker IN ROLE twtasks_producer;
GRANT USAGE ON SCHEMA twtasks TO twt_taker;
SET LOCAL ROLE twt_taker;
SELECT is((SELECT twtasks.take_messages('taker', 'invoices', 0, 1, 3, messages => ARRAY[message(1, '1'), message(2, 'junk')], type => 'BILL', corrupt => 'task')), 2::bigint,
	'task: messages before one that may not become a task are taken');
SELECT is(twtasks.begin_partition('taker', 'invoices', 0, partitions => 1, start => 0, first => 0), 2::bigint, 'task: the listener then stands at that message');
SELECT is(refused('22P02', $$SELECT twtasks.take_messages('taker', 'invoices', 0, 2, 3, messages => ARRAY[message(2, 'junk')], type => 'BILL', corrupt => 'task')$$),
	'invalid input syntax for type json|The message is at offset 2 of partition 0 of topic "invoices". Token "junk" is invalid. '
	'A task CORRUPTED_KAFKA_MESSAGE cannot be added: permission denied to add tasks of type "CORRUPTED_KAFKA_MESSAGE".',
	'task: a message that may not become a task fails the call by name, with its own error');
RESET ROLE;

-- A message that was refused when its transaction ended.
CREATE FUNCTION take_one(no bigint, state text DEFAULT '23514', error text DEFAULT 'no account') RETURNS bigint
LANGUAGE sql AS $$ SELECT twtasks.take_corrupted('billing', 'invoices', 0, message(no, 'bytes', 'k'), state, error) $$;
SELECT is(take_one(17), 18::bigint, 'a message that is behind the listener is not taken again');
SELECT is((SELECT count(*) FROM corrupted), 4::bigint, 'and gives no task');
SELECT is(take_one(18), 19::bigint, 'a message is taken as a corrupt one');
SELECT is(stands_at(), 19::bigint, 'the listener then stands behind it');
SELECT is((SELECT context - 'time' FROM corrupted OFFSET 4), '{"listener": "billing", "topic": "invoices", "partition": 0, "offset": 18, "bytes": 5, "key": "\\x6b", "headers": null,
	"sqlstate": "23514", "error": "no account"}'::jsonb, 'its task says where it is from and why it is corrupt');
SELECT is(refused('22004', 'SELECT take_one(19, NULL)'), 'message, state and error must not be null', 'NULL is refused by name');
SELECT is(refused('22023', $$SELECT twtasks.take_corrupted('billing', 'invoices', 1, message(19, ''), '23514', 'e')$$),
	'message 1 is not of this run of messages|Its topic, partition and offset are invoices, 0 and 19.', 'a message of another partition is refused');
SET LOCAL ROLE twt_taker;
SELECT is(refused('42501', 'SELECT take_one(19)'), 'listener "billing" belongs to role "' || session_user || '"', 'another role cannot take the message');
RESET ROLE;
SELECT is(twtasks.reset_listener('billing', 'invoices', 0, 18), 19::bigint, 'back to the messages before');
DELETE FROM twtasks.task WHERE id IN (SELECT id FROM corrupted OFFSET 4);

-- A function.
CREATE SCHEMA app;
GRANT USAGE ON SCHEMA app TO PUBLIC;
CREATE TABLE app.seen (no integer PRIMARY KEY, as_user name DEFAULT current_user);
CREATE FUNCTION app.to_task(m twtasks.message) RETURNS twtasks.new_task
LANGUAGE plpgsql SECURITY DEFINER SET search_path = app, pg_temp AS $$
DECLARE
	task twtasks.new_task;
BEGIN
	INSERT INTO seen VALUES (pg_catalog.convert_from(m.value, 'UTF8')::integer);
	IF m.offset = 101 THEN
		RETURN NULL;
	ELSIF m.offset = 102 THEN
		RAISE EXCEPTION 'no such customer' USING DETAIL = 'Ask the shop.', HINT = 'Mind the gap.';
	ELSIF m.offset = 103 THEN
		LOOP
			PERFORM;
		END LOOP;
	ELSIF m.offset = 104 THEN
		PERFORM FROM missing_table;
	END IF;
	task.type := 'MADE';
	task.payload := m.key;
	RETURN task;
END $$;
CREATE FUNCTION made(from_offset bigint, messages twtasks.message[], function text DEFAULT 'app.to_task', corrupt text DEFAULT 'retry') RETURNS bigint
LANGUAGE sql AS $$ SELECT twtasks.take_messages('f', 'invoices', 0, from_offset, messages[cardinality(messages)]."offset" + 1,
	messages => messages, function => function, corrupt => corrupt) $$;
CREATE VIEW made_tasks AS SELECT t.* FROM twtasks.task t WHERE t.type = 'MADE' ORDER BY t.id;
CREATE ROLE twt_function_owner;
GRANT USAGE ON SCHEMA twtasks, app TO twt_function_owner;
GRANT ALL ON app.seen TO twt_function_owner;
ALTER FUNCTION app.to_task OWNER TO twt_function_owner;
CREATE FUNCTION app.sets(m twtasks.message) RETURNS twtasks.new_task
LANGUAGE plpgsql SECURITY DEFINER SET search_path = app, pg_temp AS $$
BEGIN
	SET statement_timeout = '1234ms';
	SET LOCAL work_mem = '1234kB';
	PERFORM pg_catalog.set_config('search_path', 'app', false), pg_catalog.set_config('app.customer', '7', false);
	RETURN NULL;
END $$;
CREATE FUNCTION settings() RETURNS text[]
LANGUAGE sql AS $$ SELECT ARRAY[current_setting('statement_timeout'), current_setting('work_mem'), current_setting('search_path'),
	nullif(current_setting('app.customer', true), '')] $$;
SELECT (twtasks.edition()).edition = 'sql' AS is_sql \gset
\if :is_sql
SELECT skip('SQL does not take back what a function sets', 3);
\else
SET LOCAL statement_timeout = '1h';
SELECT settings() AS before \gset
SELECT is(twtasks.take_messages('sets', 'invoices', 0, 1, 2, messages => ARRAY[message(1, '1')], function => 'app.sets'), 2::bigint, 'a function may change settings');
SELECT is(settings(), :'before'::text[], 'the session has its settings back afterwards');
SELECT throws_ok($$SELECT settings(), 1 / (twtasks.take_messages('sets', 'invoices', 0, 2, 3, messages => ARRAY[message(2, '1')], function => 'app.sets') - 3)$$, '22012', NULL, 'and after an error');
\endif
CREATE ROLE twt_listener IN ROLE twtasks_producer;
GRANT USAGE ON SCHEMA twtasks TO twt_listener;
GRANT EXECUTE ON FUNCTION twtasks.take_messages TO twt_listener;
SET LOCAL ROLE twt_listener;

SELECT is(made(100, ARRAY[message(100, '1', 'k1'), message(101, '2')]), 102::bigint, 'a function takes messages');
RESET ROLE;
SELECT is((SELECT array_agg(convert_from(payload, 'UTF8')) FROM made_tasks), '{k1}'::text[], 'the function makes the task, or returns NULL to ignore the message');
SELECT is((SELECT array_agg(DISTINCT added_by) FROM made_tasks), '{twt_listener}'::text[], 'the task is added by the caller');
SELECT results_eq('SELECT no, as_user FROM app.seen ORDER BY 1', $$VALUES (1, 'twt_function_owner'::name), (2, 'twt_function_owner')$$, 'the function runs as its owner, once for each message');
SELECT is(made(100, ARRAY[message(100, '1', 'k1'), message(101, '2')]), 102::bigint, 'the same messages again are told where to go on');
SELECT is((SELECT count(*) FROM app.seen), 2::bigint, 'the function is not called for the same messages again');
SELECT is(refused('P0001', $$SELECT made(102, ARRAY[message(102, '3'), message(105, '4')])$$),
	'no such customer|The message is at offset 102 of partition 0 of topic "invoices". Ask the shop. Mind the gap.', 'an error of the function has its words and the place of the message');
SELECT is(made(102, ARRAY[message(102, '3'), message(105, '4')], corrupt => 'task'), 106::bigint, 'task: a message that the function refuses is taken');
SELECT is(ARRAY(SELECT no FROM app.seen ORDER BY 1), '{1,2,4}'::integer[], 'task: changes of the function that failed are gone, those for other messages stay');
SELECT is((SELECT context ->> 'error' FROM corrupted OFFSET 4), 'no such customer', 'task: the task of a refused message has the function''s words');
\if :is_sql
SELECT skip('the SQL edition limits no time of a function', 1);
\else
SELECT is(refused('53400', $$SET LOCAL twtasks.function_timeout = 50; SELECT twtasks.take_messages('slow', 'invoices', 0, 103, 104, messages => ARRAY[message(103, '5')], function => 'app.to_task', corrupt => 'task')$$),
	'function "app.to_task" took too long|The message is at offset 103 of partition 0 of topic "invoices". The setting twtasks.function_timeout allows 50 ms.', 'a slow function fails the call, since the message may be sound');
\endif
SELECT is(refused('42P01', $$SELECT twtasks.take_messages('slow', 'invoices', 0, 104, 105, messages => ARRAY[message(104, '5')], function => 'app.to_task', corrupt => 'task')$$),
	'relation "missing_table" does not exist|The message is at offset 104 of partition 0 of topic "invoices".', 'a broken function fails the call, since the message may be sound');
SELECT throws_ok($$SELECT made(106, ARRAY[message(106, '6')], 'app.none')$$, '42883', 'function "app.none" for take_messages does not exist', 'a function that does not exist is refused');
SELECT throws_ok($$SELECT made(106, ARRAY[message(106, '6')], 'to_task')$$, '42883', NULL, 'a function without its schema is refused');
SELECT throws_ok($$SELECT made(106, ARRAY[message(106, '6')], 'none')$$, '42883', NULL, 'a function must be named');
REVOKE EXECUTE ON FUNCTION app.to_task FROM PUBLIC;
SET LOCAL ROLE twt_listener;
SELECT throws_ok($$SELECT made(106, ARRAY[message(106, '6')])$$, '42501', 'permission denied for function "app.to_task"', 'a caller must be allowed to call the function');
RESET ROLE;
ALTER FUNCTION app.to_task RESET ALL;
SELECT throws_ok($$SELECT made(106, ARRAY[message(106, '6')])$$, '22023', 'function "app.to_task" does not fix its search_path', 'a function must fix its search_path');

-- Rules and runs that make no sense.
SELECT throws_ok($$SELECT twtasks.take_messages('l', 't', 0, 0, 1, messages => '{}')$$, '22023', 'either type or function must be given', 'messages need a rule');
SELECT throws_ok($$SELECT twtasks.take_messages('l', 't', 0, 0, 1, messages => '{}', type => 'a b')$$, '22023', 'invalid type: "a b"', 'a type that no task can have is refused at once');
SELECT throws_ok($$SELECT twtasks.take_messages('l', 't', 0, 0, 1, messages => '{}', type => 'A', value => 'xml')$$, '22023', 'value must be "json" or "bytes"', 'another kind of value is refused');
SELECT throws_ok($$SELECT twtasks.take_messages('l', 't', 0, 0, 1, messages => '{}', type => 'A', corrupt => 'skip')$$, '22023', 'corrupt must be "retry" or "task"', 'another rule for corrupt messages is refused');
SELECT throws_ok($$SELECT twtasks.take_messages('l', 't', 0, 0, 1, messages => '{}', type => 'A', value => 'bytes', key => 'json:/a')$$, '22023', 'invalid key: "json:/a"', 'bytes have no JSON path');
SELECT throws_ok($$SELECT twtasks.take_messages('l', 't', 0, 0, 1, messages => '{}', type => 'A', key => 'json:id')$$, '22023', 'invalid key: "json:id"', 'a JSON path begins with a slash');
SELECT throws_ok($$SELECT twtasks.take_messages('l', 'invoices', 0, 0, 9, messages => ARRAY[message(1, ''), message(1, '')], type => 'A')$$, '22023', 'message 2 is not of this run of messages', 'offsets must ascend');
SELECT throws_ok($$SELECT twtasks.take_messages('l', 'invoices', 1, 0, 9, messages => ARRAY[message(1, '')], type => 'A')$$, '22023', 'message 1 is not of this run of messages', 'messages of another partition are refused');

SELECT * FROM finish();
ROLLBACK;
