--
-- sweep_tasks(), expire_tasks() and promote_tasks(): what they find, in which
-- order, and what they leave alone.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(55);

-- Only what may run now, with the version there is.
SELECT pg_temp.task_in(s) AS made FROM unnest(enum_range(NULL::twtasks.task_status)) s \g /dev/null
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(1)) AS made, pg_temp.finish(pg_temp.id(1), 'release') \g /dev/null
SELECT result AS made FROM twtasks.add_task('EXPIRED', expires => clock_timestamp()) \g /dev/null
SELECT result AS made FROM twtasks.add_task('FRESH', '1', expires => clock_timestamp() + interval '1 min', payload => '\x010203') \g /dev/null
SELECT result AS made FROM twtasks.add_task('ELSEWHERE', bucket => 'b') \g /dev/null
UPDATE twtasks.task SET next_event_time = created - interval '1 h' WHERE type = 'FRESH';
CREATE TEMPORARY TABLE before AS SELECT ctid::text AS place, xmin::text AS writer, id FROM twtasks.task;
SELECT bag_eq($$SELECT type || ' ' || version FROM twtasks_internal.sweep_tasks('default', 10)$$,
	ARRAY['TEST 0', 'TEST 2', 'FRESH 0'], 'a sweep finds the SUBMITTED tasks of its bucket that have not expired');
SELECT bag_eq($$SELECT type || ' ' || version FROM twtasks_internal.sweep_tasks('b', 10)$$, ARRAY['ELSEWHERE 0'], 'a sweep of another bucket finds the tasks of that bucket');
SELECT is((SELECT count(*) FROM twtasks_internal.sweep_tasks('none', 10)), 0::bigint, 'a sweep of an unknown bucket finds nothing');
SELECT is((SELECT count(*) FROM twtasks_internal.sweep_tasks(NULL, 10)), 0::bigint, 'a sweep of a NULL bucket finds nothing');
SELECT is((SELECT jsonb_build_array(s.priority, s.size = t.size, s.id = t.id) FROM twtasks_internal.sweep_tasks('default', 10) s
		   JOIN twtasks.task t ON t.id = s.id WHERE s.type = 'FRESH'), '[5, true, true]'::jsonb, 'each trigger has the priority and size of its task');
SELECT bag_eq('SELECT ctid::text AS place, xmin::text AS writer, id FROM twtasks.task', 'SELECT place, writer, id FROM before',
	'a sweep changes no row');
SELECT is((SELECT jsonb_build_array(p.promoted, r.retried, r.errors, r.failed) FROM twtasks_internal.promote_tasks() p, twtasks_internal.recover_tasks() r), '[0, 0, 0, 0]', 'promotion and recovery find nothing to do');
SELECT bag_eq('SELECT ctid::text AS place, xmin::text AS writer, id FROM twtasks.task', 'SELECT place, writer, id FROM before',
	'promotion and recovery do not submit late tasks again');

-- The most urgent first, of each type no more than asked.
TRUNCATE twtasks.task, twtasks.unique_key;
CREATE TEMPORARY TABLE added AS
SELECT a.task_id AS id, t.type, n, 9 - n % 10 AS priority
FROM unnest('{A,AB,A|B,A_B,B,a,Z.1,Z:1,Z/1,Z-1,0}'::text[]) t(type), generate_series(1, 50) n,
	twtasks.add_task(t.type, priority => 9 - n % 10) a;
SELECT is((SELECT count(DISTINCT id) FROM twtasks_internal.sweep_tasks('default', 1000)), 550::bigint, 'similar types are all found');
SELECT is((SELECT count(*) FROM twtasks_internal.sweep_tasks('default', 1000)), 550::bigint, 'each task is found once');
SELECT results_eq($$SELECT count(*) FROM twtasks_internal.sweep_tasks('default', 7) GROUP BY type$$,
	$$SELECT 7::bigint FROM generate_series(1, 11)$$, 'no more tasks of each type than wanted are found');
SELECT is((SELECT array_agg(DISTINCT priority ORDER BY priority) FROM twtasks_internal.sweep_tasks('default', 7)), '{0,1}'::smallint[],
	'the most urgent tasks of each type are found');
SELECT ok((SELECT bool_and(priority >= earlier) FROM (SELECT priority, lag(priority, 1, 0::smallint) OVER (PARTITION BY type ORDER BY n) AS earlier
		   FROM twtasks_internal.sweep_tasks('default', 50) WITH ORDINALITY s(id, version, type, priority, size, place, n)) x), 'tasks of a type come in the order of priority');
SELECT ok((SELECT bool_and(id > earlier) FROM (SELECT id, lag(id, 1, pg_temp.id(0)) OVER (PARTITION BY type, priority ORDER BY n) AS earlier
		   FROM twtasks_internal.sweep_tasks('default', 50) WITH ORDINALITY s(id, version, type, priority, size, place, n)) x), 'tasks of one priority come oldest first');
SELECT is((SELECT count(*) FROM twtasks_internal.sweep_tasks('default', 0)), 0::bigint, 'a sweep for no tasks finds nothing');

-- Types of which the caller has plenty.
SELECT set_eq($$SELECT type::text FROM twtasks_internal.sweep_tasks('default', 5, '{A,AB,B,0,Z.1,unknown}')$$,
	'{A_B,A|B,Z-1,Z/1,Z:1,a}'::text[], 'skipped types are not found');
SELECT is(ARRAY(SELECT DISTINCT type COLLATE "C" FROM twtasks_internal.sweep_tasks('default', 9, ARRAY(
		SELECT CASE n % 4 WHEN 0 THEN NULL WHEN 1 THEN t.type ELSE 'NONE-' || n END
		FROM (SELECT DISTINCT x.type FROM twtasks.task x WHERE x.type <> 'Z-1') t, generate_series(1, 100) n ORDER BY md5(n || t.type)))),
	'{Z-1}'::text[], 'the skip list may have any order, NULLs and unknown types');
SELECT is((SELECT count(*) FROM twtasks_internal.sweep_tasks('default', 5, ARRAY(SELECT DISTINCT type::text FROM added))), 0::bigint, 'all types may be skipped');

-- Types of which the caller has the first ones: what comes after them.
CREATE TEMPORARY TABLE whole AS
SELECT s.id, s.type, row_number() OVER (PARTITION BY s.type ORDER BY s.n) AS n
FROM twtasks_internal.sweep_tasks('default', 1000) WITH ORDINALITY s(id, version, type, priority, size, place, n);
CREATE FUNCTION pg_temp.nth(type text, n integer) RETURNS uuid LANGUAGE sql
AS 'SELECT w.id FROM whole w WHERE w.type = nth.type AND w.n = nth.n';
SELECT results_eq(format($$SELECT id FROM twtasks_internal.sweep_tasks('default', 1000, after => %L) WHERE type = 'B'$$, ARRAY[pg_temp.nth('B', n)]),
	format($$SELECT id FROM whole WHERE type = 'B' AND n > %s ORDER BY n$$, n), format('what comes after number %s, in order', n))
FROM unnest('{1,5,49}'::integer[]) n;
SELECT is((SELECT count(*) FROM twtasks_internal.sweep_tasks('default', 7, after => ARRAY[pg_temp.nth('B', 3)]) WHERE type = 'B'), 7::bigint,
	'a sweep after a task finds as many as wanted, across priorities');
SELECT is((SELECT jsonb_object_agg(type, c) FROM (SELECT type, count(*) AS c
		   FROM twtasks_internal.sweep_tasks('default', 1000, after => ARRAY[pg_temp.nth('A', 50), pg_temp.nth('AB', 10)]) GROUP BY type) x
		   WHERE type IN ('A', 'AB', 'B')), '{"AB": 40, "B": 50}'::jsonb, 'a task to start after counts only for its own type');
SELECT is((SELECT count(*) FROM twtasks_internal.sweep_tasks('default', 1000, after => ARRAY[pg_temp.id(12345), NULL])), 550::bigint,
	'a task that is gone hides nothing');
SELECT bag_eq(format($$SELECT s.id FROM generate_series(0, 2) share, twtasks_internal.sweep_tasks('default', 1000, '{}', share, 3, after => %L) s WHERE s.type = 'B'$$,
		ARRAY[pg_temp.nth('B', 20)]), $$SELECT id FROM whole WHERE type = 'B' AND n > 20$$, 'shares of the rest are the whole rest, each task once');

-- Shares: each task is in exactly one of n shares, whatever n is.
SELECT bag_eq(format('SELECT id FROM generate_series(0, %s - 1) share, twtasks_internal.sweep_tasks(''default'', 1000, ''{}'', share, %s)', n, n),
	'SELECT id FROM added', format('%s shares are the whole, once', n))
FROM generate_series(1, 8) n;
SELECT ok((SELECT min(c) > 550 / 4 / 2 FROM (SELECT count(*) AS c FROM generate_series(0, 3) share,
			twtasks_internal.sweep_tasks('default', 1000, '{}', share, 4) GROUP BY share) x), 'four shares are about equal');
SELECT is((SELECT count(*) FROM twtasks_internal.sweep_tasks('default', 1000, '{}', 0, 0)), 550::bigint, 'zero shares mean the whole');

-- Types of which nothing is left are passed over, and not visited one by one.
CREATE TEMPORARY TABLE gone AS SELECT count(twtasks.add_task('GONE|' || i)) FROM generate_series(1, 200) i;
DELETE FROM twtasks.task WHERE type LIKE 'GONE|%';
CREATE TEMPORARY TABLE scans AS SELECT pg_stat_get_xact_numscans('twtasks.task_queued'::regclass) AS n;
SELECT count(*) AS swept FROM twtasks_internal.sweep_tasks('default', 1) \g /dev/null
SELECT cmp_ok((SELECT pg_stat_get_xact_numscans('twtasks.task_queued'::regclass) - n FROM scans), '<', 50::bigint, 'types without tasks are not visited one by one');

-- A type with many that are not to be had hides no other.
UPDATE twtasks.task SET status = 'PROCESSING' WHERE type = 'A';
SELECT is((SELECT count(DISTINCT type) FROM twtasks_internal.sweep_tasks('default', 5)), 10::bigint, 'a type whose tasks all run hides no other type');

-- A long list of skipped types is searched, not walked: that would take a minute.
SELECT count(twtasks.add_task('MANY|' || n)) FROM generate_series(1, 30000) n \g /dev/null
SET LOCAL statement_timeout = '20s';
SELECT is((SELECT count(*) FROM twtasks_internal.sweep_tasks('default', 1, ARRAY(SELECT 'MANY|' || n FROM generate_series(2, 300000) n)) s WHERE s.type LIKE 'MANY|%'), 1::bigint,
	'skipping thousands of types by a list of hundreds of thousands takes no time');
RESET statement_timeout;

-- Expiry.
TRUNCATE twtasks.task, twtasks.finished_task, twtasks.unique_key;
SELECT result AS made FROM twtasks.add_task('NEVER') \g /dev/null
SELECT result AS made FROM twtasks.add_task('LATER', expires => clock_timestamp() + interval '1 min') \g /dev/null
SELECT twtasks.add_task('EXPIRED', to_jsonb(n), key => 'expired ' || n, expires => clock_timestamp()) FROM generate_series(1, 5) n \g /dev/null
SELECT result AS made FROM twtasks.add_task('WAITING', run_after => clock_timestamp() + interval '1 h', expires => clock_timestamp()) \g /dev/null
SELECT pg_temp.task_in(s) AS made FROM unnest('{PROCESSING,ERROR,HELD}'::twtasks.task_status[]) s \g /dev/null
UPDATE twtasks.task SET expires = created, type = CASE status WHEN 'PROCESSING' THEN 'RUNS' ELSE status::text END WHERE type = 'TEST';
SELECT is(twtasks_internal.expire_tasks(3), 3::bigint, 'expired tasks fail, a batch at a time');
SELECT is(twtasks_internal.expire_tasks(3), 3::bigint, 'the next batch fails the rest, also WAITING tasks');
SELECT is(twtasks_internal.expire_tasks(3), 0::bigint, 'no other task fails');
SELECT is((SELECT jsonb_agg(DISTINCT jsonb_build_array(status, version, error, tries, incarnation)) FROM twtasks.finished_task),
	'[["FAILED", 1, "expired before it was started", 0, null]]'::jsonb, 'expired tasks are FAILED, with the reason');
SELECT is((SELECT array_agg(DISTINCT data ORDER BY data) FROM twtasks.finished_task WHERE type = 'EXPIRED'), ARRAY(SELECT to_jsonb(n) FROM generate_series(1, 5) n), 'expired tasks keep their data');
SELECT is((SELECT count(*) FROM twtasks.unique_key), 5::bigint, 'expired tasks keep their keys');
SELECT bag_eq('SELECT type::text FROM twtasks.task', '{ERROR,HELD,LATER,NEVER,RUNS}'::text[], 'tasks with time left stay, and tasks that were not waiting to start');

-- Promotion.
TRUNCATE twtasks.task, twtasks.finished_task, twtasks.unique_key;
SELECT is((SELECT to_jsonb(p) FROM twtasks_internal.promote_tasks() p), '{"promoted": 0, "next_ms": null}'::jsonb, 'no promotion is due without WAITING tasks');
SELECT twtasks.add_task('DUE', to_jsonb(n), task_id => pg_temp.id(n), run_after => clock_timestamp() + interval '1 h') FROM generate_series(1, 5) n \g /dev/null
SELECT is((SELECT promoted FROM twtasks_internal.promote_tasks()), 0::bigint, 'a task that is not due is not promoted');
SELECT ok((SELECT next_ms BETWEEN 3590000 AND 3600000 FROM twtasks_internal.promote_tasks()), 'the next promotion is when the earliest task is due');
-- Task 5 has been due for longest.
UPDATE twtasks.task SET next_event_time = created - right(id::text, 1)::integer * interval '1 s';
SELECT is((SELECT to_jsonb(p) FROM twtasks_internal.promote_tasks(2) p), '{"promoted": 2, "next_ms": 0}'::jsonb, 'a single call promotes a batch, and says that more are due');
SELECT is((SELECT array_agg(right(id::text, 1) ORDER BY id) FROM twtasks.task WHERE status = 'SUBMITTED'), '{4,5}'::text[], 'the task that is due for longest is promoted first');
SELECT is((SELECT jsonb_agg(DISTINCT jsonb_build_array(version, queued, tries, next_event_time - state_time, deadline)) FROM twtasks.task WHERE status = 'SUBMITTED'),
	'[[1, true, 0, "00:30:00", null]]'::jsonb, 'promoted tasks are SUBMITTED as if added now, with a new version');
SELECT is((SELECT to_jsonb(p) FROM twtasks_internal.promote_tasks() p), '{"promoted": 3, "next_ms": null}'::jsonb, 'the next call promotes the others');
SELECT bag_eq($$SELECT id FROM twtasks_internal.sweep_tasks('default', 10)$$, 'SELECT pg_temp.id(n) FROM generate_series(1, 5) n', 'a sweep finds promoted tasks');

-- A real wait: until it is due nothing, then within moments.
SELECT result AS made FROM twtasks.add_task('SOON', task_id => pg_temp.id(9), run_after => clock_timestamp() + interval '50 ms') \g /dev/null
DO $$
DECLARE
	until CONSTANT timestamptz := clock_timestamp() + interval '10 s';
BEGIN
	LOOP
		EXIT WHEN (SELECT promoted > 0 FROM twtasks_internal.promote_tasks()) OR clock_timestamp() > until;
	END LOOP;
END $$;
SELECT is(pg_temp.state(pg_temp.id(9)), 'SUBMITTED 1', 'a task is promoted when its time has come');
SELECT ok((SELECT state_time >= created + interval '49 ms' FROM twtasks.task WHERE id = pg_temp.id(9)), 'a task is not promoted before its time');

SELECT * FROM finish();
ROLLBACK;
