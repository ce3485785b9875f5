--
-- add_task() and add_tasks(): what is stored, and from where they may be called.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(39);

-- Defaults, and what time it is.
SELECT task_id AS task FROM twtasks.add_task('PLAIN') \gset
SELECT is((SELECT jsonb_build_array(version, status, queued, priority, bucket, tries, size, stuck, type,
				num_nulls(sub_type, key, data, payload, context, expires, deadline, incarnation, token, error))
		   FROM twtasks.task WHERE id = :'task'),
	'[0, "SUBMITTED", true, 5, "default", 0, 0, "error", "PLAIN", 10]'::jsonb,
	'a task of which only the type is given has the defaults');
SELECT ok((SELECT created > now() AND created = state_time FROM twtasks.task WHERE id = :'task'),
	'the times of a task are of the call, not of the transaction');
SELECT is((SELECT next_event_time - created FROM twtasks.task WHERE id = :'task'), interval '30 minutes',
	'a task counts as late in the queue after half an hour');
SELECT is((SELECT count(*) FROM twtasks.unique_key WHERE task_id = :'task'), 0::bigint,
	'a generated id without a key claims nothing');

-- Ids.
CREATE TEMPORARY TABLE made AS
SELECT n, (twtasks.add_task('ID')).task_id AS id FROM generate_series(1, 1000) n;
SELECT is((SELECT count(DISTINCT id) FROM made), 1000::bigint, 'generated ids differ');
SELECT ok((SELECT bool_and(id::text ~ '^.{14}7.{4}[89ab]') FROM made), 'generated ids have the layout of UUID version 7');
SELECT ok((SELECT bool_and(ordered) FROM (
	SELECT left(id::text, 18) >= lag(left(id::text, 18), 1, '') OVER (ORDER BY n) AS ordered FROM made) x),
	'generated ids are in order of time');
SELECT ok((SELECT bool_and(('x' || replace(left(t.id::text, 13), '-', ''))::bit(48)::bigint
						   = floor(extract(epoch FROM t.created) * 1000)) FROM made m JOIN twtasks.task t USING (id)),
	'the time in an id is that of the add');
SELECT is((SELECT task_id FROM twtasks.add_task('ID', task_id => '00000000-0000-0000-0000-000000000000')),
	'00000000-0000-0000-0000-000000000000'::uuid, 'any id of the caller''s is taken, also the nil one');

-- Everything given.
SELECT task_id AS task FROM twtasks.add_task('FULL|A.b:c/d-e', '{"b": [1, null, "\u00e4"], "a": 1.50}', 'sub', 'key', pg_temp.id(1), 0,
	NULL, 'b', clock_timestamp() + interval '1 day', '{"trace": "x"}', '\x0001fe00ff') \gset
SELECT is(:'task'::uuid, pg_temp.id(1), 'the id given is the id returned');
SELECT is((SELECT jsonb_build_array(type, sub_type, key, priority, bucket, data, context, payload::text,
				expires > clock_timestamp())
		   FROM twtasks.task WHERE id = pg_temp.id(1)),
	'["FULL|A.b:c/d-e", "sub", "key", 0, "b", {"a": 1.50, "b": [1, null, "\u00e4"]}, {"trace": "x"}, "\\x0001fe00ff", true]'::jsonb,
	'every given value is stored, byte for byte');
SELECT task_id AS without FROM twtasks.add_task('SIZE', '{"b": [1, null, "\u00e4"], "a": 1.50}', context => '{"trace": "x"}') \gset
SELECT is((SELECT size - 5 FROM twtasks.task WHERE id = pg_temp.id(1)), (SELECT size FROM twtasks.task WHERE id = :'without'),
	'the size counts each byte of the payload');

-- Bytes and sizes.
CREATE TEMPORARY TABLE payloads AS
	SELECT n, decode(repeat(md5(n::text), n), 'hex') AS payload FROM unnest('{0,1,7,512,65536}'::integer[]) n;
CREATE TEMPORARY TABLE added AS
	SELECT p.n, (twtasks.add_task('PAYLOAD', payload => p.payload)).task_id AS id FROM payloads p;
SELECT is((SELECT count(*) FROM added a JOIN payloads p USING (n) JOIN twtasks.task t USING (id)
		   WHERE t.payload = p.payload AND t.size = octet_length(p.payload)), 5::bigint,
	'payloads from nothing to 1 MB come back as they went');

-- Now or later.
SELECT task_id AS task FROM twtasks.add_task('LATER', run_after => clock_timestamp() + interval '1 h') \gset
SELECT is((SELECT jsonb_build_array(status, queued, next_event_time > clock_timestamp() + interval '59 min')
		   FROM twtasks.task WHERE id = :'task'), '["WAITING", false, true]'::jsonb,
	'a task with run_after in the future waits');
SELECT task_id AS task FROM twtasks.add_task('LATER', run_after => now() - interval '1 h') \gset
SELECT is(pg_temp.state(:'task'), 'SUBMITTED 0', 'a task with run_after in the past may run at once');
SELECT task_id AS task FROM twtasks.add_task('LATER', run_after => now()) \gset
SELECT is(pg_temp.state(:'task'), 'SUBMITTED 0', 'a task with run_after now() may run at once');
SELECT task_id AS task FROM twtasks.add_task('LATER', expires => now() - interval '1 h') \gset
SELECT is(pg_temp.state(:'task'), 'SUBMITTED 0', 'a task that has expired already is stored all the same');

-- Many in one statement.
CREATE TEMPORARY TABLE batch AS
SELECT * FROM twtasks.add_tasks(ARRAY(
	SELECT ('BATCH', to_jsonb(n), NULL, CASE WHEN n % 3 = 0 THEN 'key ' || n / 6 END, NULL,
			CASE WHEN n % 2 = 0 THEN 1 END, NULL, NULL, NULL, NULL, NULL)::twtasks.new_task
	FROM generate_series(1, 300) n ORDER BY n)) WITH ORDINALITY;
SELECT is((SELECT count(*) FROM batch), 300::bigint, 'a batch returns one row for each task');
SELECT ok((SELECT bool_and(b.ordinality = t.data::bigint) FROM batch b JOIN twtasks.task t ON t.id = b.task_id
		   WHERE b.result = 'added'), 'the rows of a batch are in the order given');
SELECT is((SELECT count(*) FROM batch WHERE result = 'already_exists'),
	100 - (SELECT count(DISTINCT n / 6) FROM generate_series(3, 300, 3) n),
	'duplicates within a batch are reported as such');
SELECT is((SELECT jsonb_agg(DISTINCT jsonb_build_array(bucket, priority)) FROM twtasks.task WHERE type = 'BATCH'),
	'[["default", 1], ["default", 5]]'::jsonb, 'a value that a row leaves out is the default');
SELECT is((SELECT count(*) FROM twtasks.add_tasks(array_fill(
	ROW('MANY', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::twtasks.new_task, '{2000}'))), 2000::bigint,
	'a batch of 2,000 tasks is added');

-- As JSON.
SELECT ok((SELECT bool_and(a.task_id > a.earlier) FROM (SELECT task_id, lag(task_id, 1, '00000000-0000-0000-0000-000000000000') OVER (ORDER BY n) AS earlier
		   FROM twtasks.add_tasks('ORDER', array_fill('1'::jsonb, '{20000}')) WITH ORDINALITY x(task_id, version, result, n)) a),
	'the ids of what a session adds ascend');
CREATE TEMPORARY TABLE same AS
SELECT * FROM twtasks.add_tasks('SAME', ARRAY['{"n": 1}', NULL, '{"n": 3}']::jsonb[], 2, clock_timestamp() + interval '1 h', NULL,
	clock_timestamp() + interval '2 h', '{"c": 1}');
SELECT is((SELECT jsonb_agg(jsonb_build_array(s.result, s.version, t.data, t.priority, t.status, t.bucket, t.expires - t.next_event_time > '59 min', t.context) ORDER BY s.task_id)
		   FROM same s JOIN twtasks.task t ON t.id = s.task_id),
	'[["added", 0, {"n": 1}, 2, "WAITING", "default", true, {"c": 1}], ["added", 0, null, 2, "WAITING", "default", true, {"c": 1}],
	  ["added", 0, {"n": 3}, 2, "WAITING", "default", true, {"c": 1}]]'::jsonb, 'many of one type differ in their data only');
SELECT is((SELECT count(*) FROM twtasks.add_tasks('SAME', '{1,2}')), 2::bigint, 'the other arguments of a type''s batch may be left out');
SELECT is((SELECT result FROM twtasks.add_tasks(
	'[{"type": "JSON", "data": {"x": 1}, "sub_type": "s", "key": "j", "task_id": "00000000-0000-0000-0000-000000000007",
	   "priority": 2, "run_after": "2100-01-01T00:00:00Z", "bucket": "b", "expires": "2100-01-02T00:00:00Z",
	   "context": {"c": 1}, "payload": "\\x0102"}]'::jsonb)), 'added', 'add_tasks(jsonb) takes every name');
SELECT is((SELECT jsonb_build_array(type, data, sub_type, key, priority, bucket, context, payload::text,
				extract(epoch FROM next_event_time), extract(epoch FROM expires - next_event_time))
		   FROM twtasks.task WHERE id = pg_temp.id(7)),
	'["JSON", {"x": 1}, "s", "j", 2, "b", {"c": 1}, "\\x0102", 4102444800, 86400]'::jsonb,
	'add_tasks(jsonb) stores every value');
SELECT is((SELECT array_agg(result) FROM twtasks.add_tasks('[{"type": "JSON", "priority": null, "data": null, "bucket": null}]'::jsonb)),
	'{added}'::text[], 'a null in JSON counts as left out');
SELECT is((SELECT jsonb_agg(jsonb_build_array(priority, bucket, data)) FROM twtasks.task WHERE type = 'JSON' AND bucket = 'default'),
	'[[5, "default", null]]'::jsonb, 'a null in JSON gets the default');

-- From a trigger, a rule, a function in SQL, a view.
CREATE TEMPORARY TABLE orders (n integer);
CREATE FUNCTION pg_temp.on_order() RETURNS trigger LANGUAGE plpgsql
AS $$ BEGIN PERFORM twtasks.add_task('TRIGGER', to_jsonb(NEW.n)); RETURN NULL; END $$;
CREATE TRIGGER on_order AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION pg_temp.on_order();
INSERT INTO orders SELECT generate_series(1, 10);
SELECT is((SELECT count(DISTINCT data) FROM twtasks.task WHERE type = 'TRIGGER'), 10::bigint, 'a trigger adds tasks');
CREATE TEMPORARY TABLE ruled (n integer);
CREATE TEMPORARY TABLE results (result text);
CREATE RULE on_ruled AS ON INSERT TO ruled
	DO ALSO INSERT INTO results SELECT result FROM twtasks.add_task('RULE', to_jsonb(NEW.n));
INSERT INTO ruled VALUES (1), (2);
SELECT is((SELECT count(*) FROM twtasks.task WHERE type = 'RULE'), 2::bigint, 'a rule adds tasks');
CREATE FUNCTION pg_temp.wrapped(n integer) RETURNS text LANGUAGE sql
AS $$ SELECT result FROM twtasks.add_task('INLINED', to_jsonb(n)) $$;
SELECT is((SELECT count(*) FROM generate_series(1, 5) n WHERE pg_temp.wrapped(n) = 'added'), 5::bigint,
	'an inlined function in SQL adds a task for each call');
SELECT is((SELECT count(*) FROM twtasks.task WHERE type = 'INLINED'), 5::bigint, 'an inlined function in SQL adds no task twice');
PREPARE adding(integer) AS SELECT result FROM twtasks.add_task('PREPARED', to_jsonb($1));
SELECT results_eq('EXECUTE adding(1)', $$VALUES ('added')$$, 'a prepared statement adds a task');
DECLARE cursor CURSOR FOR SELECT (twtasks.add_task('CURSOR')).result FROM generate_series(1, 3);
MOVE 2 FROM cursor;
SELECT is((SELECT count(*) FROM twtasks.task WHERE type = 'CURSOR'), 2::bigint, 'a cursor adds tasks as far as it was moved');
CLOSE cursor;

-- By a role that may do nothing else; and its search_path does not matter.
CREATE ROLE regress_producer IN ROLE twtasks_producer;
SET LOCAL ROLE regress_producer;
SET LOCAL search_path = '';
SELECT result AS by_producer FROM twtasks.add_task('PRODUCER', key => 'p') \gset
SELECT result AS twice FROM twtasks.add_task('PRODUCER', key => 'p') \gset
SELECT count(*) AS in_batch FROM twtasks.add_tasks('[{"type": "PRODUCER"}, {"type": "PRODUCER"}]'::jsonb) \gset
RESET search_path;
RESET ROLE;
SELECT is(:'by_producer'::text, 'added', 'a producer adds a task');
SELECT is(:'twice'::text, 'already_exists', 'a producer learns of a duplicate');
SELECT is(:in_batch, 2, 'a producer adds a batch');
SELECT is((SELECT count(*) FROM twtasks.task WHERE type = 'PRODUCER'), 3::bigint, 'the tasks of the producer exist');

SELECT * FROM finish();
ROLLBACK;
