--
-- Tasks that a reply adds: they are stored with the finish, or neither is; if
-- they cannot be added, their task is in ERROR.
--
BEGIN;
\ir ../lib/tasks.sql
SET LOCAL client_min_messages = error;
SELECT plan(35);

-- Finishes tasks in one call; the statuses that they got.
CREATE FUNCTION pg_temp.end_with(ids uuid[], results text[], adds jsonb[]) RETURNS text
LANGUAGE sql
AS $$
	SELECT string_agg(f.status::text, ' ' ORDER BY array_position(ids, f.id))
	FROM twtasks_internal.finish_tasks(ids, ARRAY(SELECT pg_temp.version_of(u.id) FROM unnest(ids) WITH ORDINALITY u(id, n) ORDER BY n),
		results, '{0}', '{NULL}', pg_temp.node(), pg_temp.token(), adds => adds) f
$$;
CREATE FUNCTION pg_temp.running(type text, context jsonb DEFAULT NULL, key text DEFAULT NULL) RETURNS uuid
LANGUAGE plpgsql
AS $$
DECLARE
	made CONSTANT uuid := (SELECT a.task_id FROM twtasks.add_task(type, context => running.context, key => running.key) a);
BEGIN
	PERFORM pg_temp.grab(made);
	RETURN made;
END $$;
CREATE FUNCTION pg_temp.next() RETURNS text
LANGUAGE sql
AS $$
	SELECT coalesce(string_agg(concat_ws(' ', t.type, t.data->>'n', t.key, t.context->>'r', t.priority), ', ' ORDER BY t.type, t.data->>'n'), 'none')
	FROM twtasks.task t WHERE t.type LIKE 'NEXT%'
$$;
CREATE FUNCTION pg_temp.why(task_id uuid) RETURNS text
LANGUAGE sql
AS $$ SELECT t.error FROM twtasks.task t WHERE t.id = task_id AND t.status = 'ERROR' $$;

-- With done and delete.
SELECT is(pg_temp.end_with(ARRAY[pg_temp.running('LINK')], '{done}', ARRAY['[{"type": "NEXT", "data": {"n": 1}, "priority": 2}]'::jsonb]), 'DONE', 'a task is done ...');
SELECT is(pg_temp.next(), 'NEXT 1 2', '... and its successor is there');
SELECT is((SELECT status || ' ' || version || ' ' || added_by FROM twtasks.task WHERE type = 'NEXT'), 'SUBMITTED 0 ' || session_user, '... added by the role of the session');
DELETE FROM twtasks.task WHERE type = 'NEXT';
SELECT is(pg_temp.end_with(ARRAY[pg_temp.running('LINK')], '{delete}', ARRAY['[{"type": "NEXT"}, {"type": "NEXT|B"}]'::jsonb]), 'DONE', 'delete adds too');
SELECT is(pg_temp.next(), 'NEXT 5, NEXT|B 5', '... several tasks');
DELETE FROM twtasks.task WHERE type LIKE 'NEXT%';
SELECT is(pg_temp.end_with(ARRAY[pg_temp.running('LINK')], '{done}', ARRAY['[]'::jsonb]), 'DONE', 'an empty array adds nothing');
SELECT is(pg_temp.next(), 'none', '... and nothing is there');

-- Contexts and keys.
SELECT is(pg_temp.end_with(ARRAY[pg_temp.running('LINK', '{"r": "one"}'), pg_temp.running('LINK'), pg_temp.running('LINK', '{"r": "three"}')], '{done}',
	ARRAY['[{"type": "NEXT", "data": {"n": 1}}]', NULL, '[{"type": "NEXT", "data": {"n": 3}}, {"type": "NEXT", "data": {"n": 4}, "context": {"r": "own"}}]']::jsonb[]),
	'DONE DONE DONE', 'three tasks of a call are done');
SELECT is(pg_temp.next(), 'NEXT 1 one 5, NEXT 3 three 5, NEXT 4 own 5', 'each successor has the context of its own task, unless it brings one');
SELECT is(current_setting('twtasks.context', true), '', 'the session has no context afterwards');
DELETE FROM twtasks.task WHERE type LIKE 'NEXT%';
SELECT twtasks.add_task('NEXT', '{"n": 0}', key => 'once') \g /dev/null
SELECT is(pg_temp.end_with(ARRAY[pg_temp.running('LINK')], '{done}', ARRAY['[{"type": "NEXT", "data": {"n": 1}, "key": "once"}]'::jsonb]), 'DONE', 'a key that exists is no error');
SELECT is(pg_temp.next(), 'NEXT 0 once 5', '... and nothing is added');
DELETE FROM twtasks.task WHERE type LIKE 'NEXT%';
SELECT pg_temp.running('LINK', key => 'twice') AS freed \gset
SELECT is(pg_temp.end_with(ARRAY[:'freed'::uuid], '{delete}', ARRAY['[{"type": "NEXT", "key": "twice"}]'::jsonb]), 'DONE', 'a task that leaves no trace frees its key ...');
SELECT is(pg_temp.next(), 'NEXT twice 5', '... for its successor');
DELETE FROM twtasks.task WHERE type LIKE 'NEXT%';

-- A finish that is refused adds nothing.
SELECT pg_temp.running('LINK') AS task \gset
SELECT is((SELECT count(*) FROM twtasks_internal.finish_tasks(ARRAY[:'task'::uuid], '{7}', '{done}', '{0}', '{NULL}', pg_temp.node(), pg_temp.token(), adds => ARRAY['[{"type": "NEXT"}]'::jsonb])), 0::bigint, 'a finish of another version is refused');
SELECT is(pg_temp.next(), 'none', '... and adds nothing');
SELECT pg_temp.end_with(ARRAY[:'task'::uuid], '{done}', ARRAY['[{"type": "NEXT"}]'::jsonb]) \g /dev/null
SELECT is((SELECT count(*) FROM twtasks_internal.finish_tasks(ARRAY[:'task'::uuid], '{1}', '{done}', '{0}', '{NULL}', pg_temp.node(), pg_temp.token(), adds => ARRAY['[{"type": "NEXT"}]'::jsonb])), 0::bigint, 'a repeated finish is refused');
SELECT is(pg_temp.next(), 'NEXT 5', '... and adds nothing more');
DELETE FROM twtasks.task WHERE type LIKE 'NEXT%';

-- Tasks that cannot be added.
SELECT pg_temp.running('LINK') AS good \gset
SELECT pg_temp.running('LINK') AS bad \gset
SELECT pg_temp.running('LINK') AS good2 \gset
SELECT is(pg_temp.end_with(ARRAY[:'good', :'bad', :'good2']::uuid[], '{done}',
	ARRAY['[{"type": "NEXT", "data": {"n": 1}}]', '[{"type": "NEXT", "data": {"n": 2}}, {"type": "no good"}]', '[{"type": "NEXT", "data": {"n": 3}}]']::jsonb[]),
	'DONE ERROR DONE', 'a bad successor leaves its own task in ERROR, and the others are done');
SELECT is(pg_temp.next(), 'NEXT 1 5, NEXT 3 5', '... with their successors, and none of the bad reply');
SELECT is(pg_temp.why(:'bad'), 'it became DONE, but adding the tasks of its reply failed: invalid type: "no good" (SQLSTATE 22023)', '... and says why');
DELETE FROM twtasks.task WHERE type LIKE 'NEXT%';
SELECT is(pg_temp.end_with(ARRAY[pg_temp.running('LINK')], '{done}', ARRAY['[{"typo": "NEXT"}]'::jsonb]), 'ERROR', 'an unknown name is an error');
SELECT is(pg_temp.end_with(ARRAY[pg_temp.running('LINK')], '{done}', ARRAY['[7]'::jsonb]), 'ERROR', 'so is an element that is no object');
SELECT throws_ok($$SELECT pg_temp.end_with(ARRAY[pg_temp.running('LINK')], '{done}', ARRAY['{}'::jsonb])$$, '22023', 'tasks to add must be a JSON array', 'what is no array is refused');
SELECT throws_ok($$SELECT pg_temp.end_with(ARRAY[pg_temp.running('LINK')], '{retry}', ARRAY['[]'::jsonb])$$, '22023', 'tasks can be added only with the results done and delete', 'so is another result');

-- Rights.
CREATE ROLE a_sidecar IN ROLE twtasks_worker;
SELECT pg_temp.running('LINK') AS task \gset
SELECT pg_temp.node(), pg_temp.token() \g /dev/null
GRANT ALL ON SEQUENCE pg_temp.test_token TO a_sidecar;
SET LOCAL ROLE a_sidecar;
SELECT status AS ended FROM twtasks_internal.finish_tasks(ARRAY[:'task'::uuid], '{1}', '{done}', '{0}', '{NULL}', pg_temp.node(), pg_temp.token(), adds => ARRAY['[{"type": "NEXT"}]'::jsonb]) \gset
RESET ROLE;
SELECT is(:'ended'::text, 'ERROR', 'a role that may not add tasks adds none by a reply');
SELECT alike(pg_temp.why(:'task'), '%permission denied for role "a_sidecar" to add tasks (SQLSTATE 42501)', '... and the task says so');
SELECT is(pg_temp.next(), 'none', '... and nothing is there');
GRANT twtasks_producer TO a_sidecar;
SELECT twtasks.allow_type('NEXT', 'twtasks_web') \g /dev/null
SELECT pg_temp.running('LINK') AS task \gset
SET LOCAL ROLE a_sidecar;
SELECT status AS ended FROM twtasks_internal.finish_tasks(ARRAY[:'task'::uuid], '{1}', '{done}', '{0}', '{NULL}', pg_temp.node(), pg_temp.token(), adds => ARRAY['[{"type": "NEXT"}]'::jsonb]) \gset
RESET ROLE;
SELECT is(:'ended'::text, 'ERROR', 'nor a type that it may not add');
SELECT twtasks.disallow_type('NEXT', 'twtasks_web') \g /dev/null

-- finish_task() raises what its caller can mend.
SELECT pg_temp.running('LINK') AS task \gset
SELECT is((SELECT result FROM twtasks.finish_task(:'task', 1, 'done', add => '[{"type": "NEXT"}]')), 'changed', 'finish_task() adds too');
SELECT is(pg_temp.next(), 'NEXT 5', '... in its transaction');
SELECT pg_temp.running('LINK') AS task \gset
SELECT throws_ok(format('SELECT twtasks.finish_task(%L, 1, ''done'', add => ''[{"type": "no good"}]'')', :'task'), '22023', 'invalid type: "no good"', '... and raises the error of a bad one');
SELECT is(pg_temp.state(:'task'), 'PROCESSING 1', '... which leaves the task as it was');
SELECT throws_ok(format('SELECT twtasks.finish_task(%L, 1, ''error'', add => ''[]'')', :'task'), '22023', NULL, '... also for another result');
SELECT is((SELECT result FROM twtasks.finish_task(:'task', 7, 'done', add => '[{"type": "NEXT"}]')), 'wrong_version', '... and a wrong version adds nothing');
SELECT * FROM finish();
ROLLBACK;
