--
-- grab_tasks() and resolve_grab(): what is won, what is lost, and how a grab of
-- unknown outcome is resolved.
--
\ir ../lib/tasks.sql
SELECT plan(59);

-- The answer and the effect of a grab.
SELECT task_id AS task FROM twtasks.add_task('GRAB', '{"d": 1}', 'sub', 'key', NULL, 3, NULL, 'b', NULL, '{"c": 1}', '\x00ff') \gset
CREATE TEMPORARY TABLE before AS SELECT * FROM twtasks.task;
CREATE TEMPORARY TABLE won AS
SELECT * FROM twtasks_internal.grab_tasks(ARRAY[:'task'::uuid], '{0}', pg_temp.node(), 77, '{60000}', '{retry}');
SELECT is((SELECT to_jsonb(w) - '{id,grabbed,place,runnable}'::text[] FROM won w),
	'{"version": 1, "type": "GRAB", "sub_type": "sub", "key": "key", "bucket": "b", "priority": 3, "tries": 1,
	  "data": {"d": 1}, "payload": "\\x00ff", "context": {"c": 1}}'::jsonb, 'a grab returns everything that the handler needs');
SELECT is((SELECT jsonb_build_array(status, version, tries, incarnation = pg_temp.node(), token, stuck)
		   FROM twtasks.task WHERE id = :'task'), '["PROCESSING", 1, 1, true, 77, "retry"]'::jsonb,
	'a grab stores its node, its token and its stuck rule');
SELECT is((SELECT deadline - state_time FROM twtasks.task WHERE id = :'task'), interval '1 min', 'the deadline is the timeout after the grab');
SELECT is((SELECT grabbed FROM won), (SELECT state_time FROM twtasks.task WHERE id = :'task'), 'the handler is told the time of the grab');
SELECT is((SELECT to_jsonb(t) - '{version,status,tries,incarnation,token,stuck,deadline,state_time}'::text[] FROM twtasks.task t),
	(SELECT to_jsonb(b) - '{version,status,tries,incarnation,token,stuck,deadline,state_time}'::text[] FROM before b),
	'a grab changes nothing else');
SELECT is((SELECT count(*) FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid
		   WHERE i.indrelid = 'twtasks.task'::regclass
			 AND (a.attnum = ANY (i.indkey) OR pg_get_indexdef(i.indexrelid) ~ ('WHERE .*\m' || a.attname || '\M'))
			 AND a.attname IN ('version', 'status', 'tries', 'incarnation', 'token', 'stuck', 'deadline', 'state_time')), 0::bigint,
	'no index contains a column that a grab changes');

-- 50 at once: all of them heap-only updates.
TRUNCATE twtasks.task;
CREATE TEMPORARY TABLE many AS
SELECT (twtasks.add_task('MANY')).task_id AS id FROM generate_series(1, 50);
BEGIN;
CREATE TEMPORARY TABLE figures AS SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_xact_all_tables WHERE relid = 'twtasks.task'::regclass;
SELECT is((SELECT count(*) FROM twtasks_internal.grab_tasks(ARRAY(SELECT id FROM many), array_fill(0, '{50}'), pg_temp.node(), pg_temp.token(),
	array_fill(60000, '{50}'), array_fill('error'::twtasks.stuck_rule, '{50}'))), 50::bigint, 'one call grabs many tasks');
SELECT is((SELECT ARRAY[s.n_tup_upd - f.n_tup_upd, s.n_tup_hot_upd - f.n_tup_hot_upd]
		   FROM pg_stat_xact_all_tables s, figures f WHERE s.relid = 'twtasks.task'::regclass), '{50,50}'::bigint[],
	'a grab writes no index entry');
COMMIT;
SELECT is((SELECT count(DISTINCT token) FROM twtasks.task), 1::bigint, 'all tasks of a call carry its token');

-- Lost tasks are missing from the answer.
TRUNCATE twtasks.task;
SELECT task_id AS a FROM twtasks.add_task('A') \gset
SELECT task_id AS b FROM twtasks.add_task('B') \gset
SELECT task_id AS c FROM twtasks.add_task('C') \gset
SELECT is(pg_temp.grab(:'a', 1), NULL, 'a future version is not grabbed');
SELECT is(pg_temp.grab(:'a', -1), NULL, 'a negative version is not grabbed');
SELECT is(pg_temp.grab(:'a', 0), 1::bigint, 'the current version is grabbed');
SELECT is(pg_temp.grab(:'a', 0), NULL, 'the same version is not grabbed twice');
SELECT is(pg_temp.grab(:'a', 1), NULL, 'a running task is not grabbed');
SELECT is((SELECT array_agg(type) FROM twtasks_internal.grab_tasks(ARRAY[:'a', :'b', pg_temp.id(404), NULL, :'c']::uuid[], '{1,0,0,0,5}',
	pg_temp.node(), pg_temp.token(), '{1,1,1,1,1}', '{error,error,error,error,error}')), '{B}'::text[],
	'a mixed batch grabs only the free tasks');
SELECT is((SELECT count(*) FROM twtasks_internal.grab_tasks(ARRAY[:'c', :'c', :'c']::uuid[], '{0,0,1}', pg_temp.node(), pg_temp.token(),
	'{1000,1000,1000}', '{error,error,error}')), 1::bigint, 'a task named twice is grabbed once');
SELECT is(pg_temp.state(:'c'), 'PROCESSING 1', 'a task named twice gets one new version');
SELECT throws_ok(format('SELECT pg_temp.grab(pg_temp.id(404), 0, %s)', ms), '22023', 'timeouts must not be negative', 'a timeout of ' || ms)
FROM (VALUES ('-1'), ('(-9223372036854775808)')) t(ms);
SELECT is((SELECT count(*) FROM twtasks_internal.grab_tasks('{}', '{}', pg_temp.node(), 1, '{}', '{}')), 0::bigint, 'an empty call grabs nothing');

-- A node that has ended gets nothing.
SELECT task_id AS d FROM twtasks.add_task('D') \gset
SELECT twtasks_internal.start_node('ended') AS ended \gset
SELECT twtasks_internal.end_node(:ended);
SELECT is((SELECT count(*) FROM twtasks_internal.grab_tasks(ARRAY[:'d'::uuid], '{0}', :ended, 1, '{1000}', '{error}')), 0::bigint, 'an incarnation that has ended grabs nothing');
SELECT is((SELECT count(*) FROM twtasks_internal.grab_tasks(ARRAY[:'d'::uuid], '{0}', 0, 1, '{1000}', '{error}')), 0::bigint, 'an incarnation that never existed grabs nothing');
SELECT is((SELECT count(*) FROM twtasks_internal.grab_tasks(ARRAY[:'d'::uuid], '{0}', NULL, 1, '{1000}', '{error}')), 0::bigint, 'a NULL incarnation grabs nothing');
SELECT is(pg_temp.state(:'d'), 'SUBMITTED 0', 'a refused grab leaves the task as it was');

-- Only tasks that have not expired start.
SELECT task_id AS expired FROM twtasks.add_task('E', expires => clock_timestamp()) \gset
SELECT task_id AS fresh FROM twtasks.add_task('F', expires => clock_timestamp() + interval '1 min') \gset
SELECT is(pg_temp.grab(:'expired'), NULL, 'an expired task is not grabbed');
SELECT is(pg_temp.grab(:'fresh'), 1::bigint, 'a task that expires later is grabbed');

-- Each status but SUBMITTED.
SELECT is(pg_temp.grab(pg_temp.task_in(s)), NULL, 'not one in ' || s)
FROM unnest('{WAITING,PROCESSING,ERROR,HELD,DONE,FAILED,CANCELLED}'::twtasks.task_status[]) s;

-- The answer was lost, the grab was not: resolve_grab() gives the answer.
TRUNCATE twtasks.task;
SELECT task_id AS a FROM twtasks.add_task('A', '{"d": 1}') \gset
SELECT task_id AS b FROM twtasks.add_task('B') \gset
SELECT task_id AS c FROM twtasks.add_task('C') \gset
CREATE TEMPORARY TABLE lost AS
SELECT * FROM twtasks_internal.grab_tasks(ARRAY[:'a', :'b']::uuid[], '{0,0}', pg_temp.node(), 500, '{60000,60000}', '{error,error}');
CREATE TEMPORARY TABLE found AS
SELECT * FROM twtasks_internal.resolve_grab(ARRAY[:'a', :'b', :'c']::uuid[], '{0,0,0}', pg_temp.node(), 500);
SELECT bag_eq('SELECT to_jsonb(f) FROM found f', 'SELECT to_jsonb(l) - ''{place,runnable}''::text[] FROM lost l', 'resolve_grab() returns what the grab returned');
SELECT is(pg_temp.state(:'a'), 'PROCESSING 1', 'resolve_grab() leaves grabbed tasks as they are');
SELECT bag_eq(format('SELECT to_jsonb(r) FROM twtasks_internal.resolve_grab(ARRAY[%L, %L]::uuid[], ''{0,0}'', pg_temp.node(), 500) r', :'a', :'b'),
	'SELECT to_jsonb(l) - ''{place,runnable}''::text[] FROM lost l', 'resolve_grab() says the same when asked again');
SELECT is((SELECT count(*) FROM twtasks_internal.resolve_grab(ARRAY[:'a'::uuid], '{0}', pg_temp.node(), 501)), 0::bigint, 'resolve_grab() returns nothing for another token');
SELECT is((SELECT count(*) FROM twtasks_internal.resolve_grab(ARRAY[:'a'::uuid], '{0}', pg_temp.node() + 1, 500)), 0::bigint, 'resolve_grab() returns nothing for another incarnation');
SELECT is((SELECT count(*) FROM twtasks_internal.resolve_grab(ARRAY[:'a'::uuid], '{1}', pg_temp.node(), 500)), 0::bigint, 'resolve_grab() returns nothing for another version');
SELECT is(pg_temp.state(:'a'), 'PROCESSING 1', 'a wrong question to resolve_grab() changes nothing');

-- The grab was lost as well: the version it named is gone, so that it cannot
-- come back.
SELECT is(pg_temp.state(:'c'), 'SUBMITTED 1', 'resolve_grab() gives tasks that were not grabbed a new version');
SELECT is(pg_temp.grab(:'c', 0), NULL, 'the lost grab gets nothing if it arrives late');
SELECT is(pg_temp.grab(:'c', 1), 2::bigint, 'a grab of the new version gets the task');
SELECT is((SELECT count(*) FROM twtasks_internal.resolve_grab(ARRAY[pg_temp.task_in('WAITING'), pg_temp.task_in('HELD')], '{0,1}', pg_temp.node(), 1)),
	0::bigint, 'resolve_grab() leaves tasks alone that may not run now');
SELECT is((SELECT array_agg(DISTINCT version ORDER BY version) FROM twtasks.task WHERE status IN ('WAITING', 'HELD')), '{0,1}'::bigint[], 'these tasks keep their versions');

-- Within one transaction no version of a row can be taken away: its page runs
-- full, and then a grab is an update that moves the row and writes the indexes.
SELECT task_id AS f FROM twtasks.add_task('F', '{"large": true}') \gset
DO $$
DECLARE
	task uuid := (SELECT id FROM twtasks.task WHERE type = 'F');
BEGIN
	FOR n IN 1 .. 200 LOOP
		PERFORM pg_temp.grab(task);
		PERFORM pg_temp.finish(task, 'release');
	END LOOP;
END $$;
SELECT is(pg_temp.grab(:'f'), 401::bigint, 'a grab works on a full page');
SET enable_seqscan = off;
SELECT is((SELECT count(*) FROM twtasks.task WHERE bucket = 'default' AND type = 'F' AND queued), 1::bigint, 'the index of runnable tasks finds the moved row');
SELECT is((SELECT version FROM twtasks.task WHERE id = :'f'), 401::bigint, 'the primary key finds the moved row');
RESET enable_seqscan;

-- Only a grab that may be lost is committed without waiting for the disk.
CREATE FUNCTION pg_temp.waits_after(tasks uuid[], rules twtasks.stuck_rule[], durable boolean) RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
	waits text;
BEGIN
	PERFORM FROM twtasks_internal.grab_tasks(tasks, '{0}', pg_temp.node(), pg_temp.token(), '{60000}', rules, durable => waits_after.durable);
	waits := current_setting('synchronous_commit');
	PERFORM set_config('synchronous_commit', 'on', true);
	RETURN waits;
END $$;
SELECT pg_temp.task_in('SUBMITTED', pg_temp.id(n)) AS made FROM generate_series(31, 38) n \g /dev/null
SELECT is(pg_temp.waits_after(ARRAY[pg_temp.id(31)], '{retry}', true), 'on', 'a grab waits for the disk if its caller wants that');
SELECT is(pg_temp.waits_after(ARRAY[pg_temp.id(32)], '{error}', false), 'on', 'a grab of a task that must not run twice always waits for the disk');
SELECT is(pg_temp.waits_after(ARRAY[pg_temp.id(33), pg_temp.id(34)], '{retry,fail}', false), 'on', 'a grab waits for the disk if one task of the batch must not run twice');
SELECT is(pg_temp.waits_after(ARRAY[pg_temp.id(99)], '{retry}', false), 'on', 'a grab that wins nothing does not change how the commit waits');
SELECT is(pg_temp.waits_after(ARRAY[pg_temp.id(35), pg_temp.id(36)], '{retry}', false), 'off', 'a grab of tasks that may run twice does not wait for the disk');
SELECT is((SELECT count(*) FROM twtasks.task WHERE id = ANY (ARRAY[pg_temp.id(35), pg_temp.id(36)]) AND stuck = 'retry' AND status = 'PROCESSING'), 2::bigint,
	'one stuck rule may stand for all tasks of a call');
SELECT twtasks.configure_type('TEST', takeover => 'deadline') \g /dev/null
SELECT is(pg_temp.waits_after(ARRAY[pg_temp.id(37)], '{retry}', false), 'on', 'a grab of a task that must not run again before its deadline waits for the disk');
SELECT twtasks.drop_type_policy('TEST') \g /dev/null

-- Locks of the own transaction are no others' locks.
SELECT task_id AS locked FROM twtasks.add_task('LOCKED') \gset
BEGIN;
SAVEPOINT a;
SELECT FROM twtasks.task WHERE id = :'locked' FOR SHARE \g /dev/null
RELEASE a;
SAVEPOINT b;
SELECT FROM twtasks.task WHERE id = :'locked' FOR UPDATE \g /dev/null
RELEASE b;
SELECT is(pg_temp.grab(:'locked'), 1::bigint, 'a task that subtransactions of the own transaction have locked is grabbed');
COMMIT;

-- Switched off, nobody gets anything; and on again.
SELECT task_id AS e FROM twtasks.add_task('E') \gset
\ir ../lib/switch.sql
SELECT is(pg_temp.grab(:'e'), NULL, 'a grab gets nothing while twtasks.enabled is off');
\ir ../lib/switch.sql
SELECT is(pg_temp.grab(:'e'), 1::bigint, 'a grab works again when twtasks.enabled is on');

-- A node grabs in several sessions; one of them, here ours, holds its lock.
SELECT task_id AS other FROM twtasks.add_task('OTHER') \gset
\setenv PGHOST :HOST
\setenv PGPORT :PORT
\setenv PGUSER :USER
\setenv PGDATABASE :DBNAME
SELECT format('SELECT FROM twtasks_internal.grab_tasks(ARRAY[%L]::uuid[], ''{0}'', %s, 99, ''{60000}'', ''{error}'')', :'other', pg_temp.node())
	\g (format=unaligned tuples_only=on) | psql -Xqo /dev/null
SELECT is(pg_temp.state(:'other'), 'PROCESSING 1', 'another session of the node grabs');

SELECT * FROM finish();
