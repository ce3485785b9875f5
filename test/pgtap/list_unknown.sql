--
-- list_unknown(): pages meet without gap, whatever became of the tasks in between, and a page looks at the
-- attempts of its own tasks alone.
--
BEGIN;
\ir ../lib/tasks.sql
TRUNCATE twtasks.task_attempt;
SELECT plan(21);
SELECT twtasks_internal.begin_history('task_attempt') \g /dev/null

-- 400 lost tasks, three of each time, every 10th held after that.  Every 7th has an old error: a later try ended.
INSERT INTO twtasks.task (id, version, next_event_time, state_time, created, status, planned, queued, type, error)
SELECT pg_temp.id(n), 3, 'infinity', now() - n / 3 * interval '1 min', now() - interval '1 day', CASE WHEN n % 10 = 0 THEN 'HELD' ELSE 'ERROR' END::twtasks.task_status,
	CASE WHEN n % 10 = 0 THEN 'infinity'::timestamptz END, false, 'LOST|' || n % 4, CASE WHEN n % 2 = 0 THEN 'the node that ran it is gone' ELSE 'its deadline passed without a result' END
FROM generate_series(1, 400) n;
INSERT INTO twtasks.task_attempt (task_id, version, try, ended, result, error, node)
SELECT pg_temp.id(n), 1, 1, now(), 'unknown', 'the node that ran it is gone', 'gone' FROM generate_series(1, 400) n WHERE n % 3 > 0
UNION ALL
SELECT pg_temp.id(n), 2, 2, now(), 'error', 'refused', 'here' FROM generate_series(1, 400) n WHERE n % 7 = 0;
-- Others in ERROR and HELD are not unknown.
INSERT INTO twtasks.task (id, version, next_event_time, state_time, created, status, queued, type, error)
SELECT pg_temp.id(1000 + n), 2, 'infinity', now(), now(), CASE WHEN n % 2 = 0 THEN 'HELD' ELSE 'ERROR' END::twtasks.task_status, false, 'LOST|1', CASE WHEN n % 2 = 0 THEN 'its deadline passed without a result' ELSE 'refused' END
FROM generate_series(1, 50) n;
ANALYZE twtasks.task, twtasks.task_attempt;

CREATE FUNCTION pg_temp.wanted(pattern text DEFAULT 'LOST|%') RETURNS uuid[]
LANGUAGE sql
AS $$ SELECT array_agg(t.id ORDER BY t.state_time DESC, t.id DESC) FROM twtasks.unknown_outcomes u JOIN twtasks.task t USING (id) WHERE t.type LIKE pattern $$;

-- All pages of so many tasks; with each cursor, what became of the tasks meanwhile.
CREATE FUNCTION pg_temp.walk(size integer, pattern text DEFAULT '*', meanwhile text DEFAULT 'SELECT', OUT ids uuid[], OUT sizes text)
LANGUAGE plpgsql
AS $$
DECLARE
	page uuid[];
	cursor text;
BEGIN
	ids := '{}';
	LOOP
		SELECT array_agg(l.id) FILTER (WHERE l.id IS NOT NULL), max(l.cursor) INTO page, cursor FROM twtasks.list_unknown(pattern, cursor, size) l;
		ids := ids || page;
		sizes := concat_ws(' ', sizes, coalesce(cardinality(page), 0));
		EXIT WHEN cursor IS NULL OR cardinality(ids) > 1000;
		EXECUTE meanwhile;
	END LOOP;
END $$;

SELECT is(cardinality(pg_temp.wanted()), 343, 'the view has those whose error is not old');
SELECT is((SELECT ids FROM pg_temp.walk(1000)), pg_temp.wanted(), 'one page has them all, those that entered their status last first');
SELECT is((SELECT tasks FROM twtasks.list_unknown(max_tasks => 1000) WHERE id IS NULL), 343::bigint, '... and their number');
SELECT is((SELECT string_agg(format('%s', (to_jsonb(l) - '{cursor,tasks}'::text[]) = to_jsonb(u)), ' ') FROM twtasks.list_unknown(max_tasks => 3) l JOIN twtasks.unknown_outcomes u USING (id)),
	't t t', '... each as in the view');
SELECT is((SELECT ids FROM pg_temp.walk(7)), pg_temp.wanted(), 'pages of 7 have them all, once');
SELECT is((SELECT sizes FROM pg_temp.walk(100)), '100 100 100 43', '... and each page but the last is full');
SELECT is((SELECT sizes FROM pg_temp.walk(343)), '343', 'no page follows one that has the last of them');
SELECT is((SELECT ids FROM pg_temp.walk(5, 'LOST|3')), pg_temp.wanted('LOST|3'), 'those of a type');
SELECT is((SELECT ids FROM pg_temp.walk(50, 'LOST|*')), pg_temp.wanted(), 'those of a beginning of types');
SELECT is((SELECT tasks FROM twtasks.list_unknown('LOST', max_tasks => 1) WHERE id IS NULL), 0::bigint, '... and none of another type');

-- Between pages the last one of those seen is decided, and another task is lost.
CREATE TEMPORARY SEQUENCE later START 2000;
SELECT pg_temp.wanted() AS wanted \gset
SELECT ok((SELECT ids @> :'wanted' AND cardinality(ids) = 343 FROM pg_temp.walk(20, meanwhile => $$
	WITH gone AS (DELETE FROM twtasks.task t WHERE t.id = (SELECT l.id FROM twtasks.list_unknown(max_tasks => 1) l WHERE l.id IS NOT NULL))
	INSERT INTO twtasks.task (id, next_event_time, state_time, created, status, queued, type, error)
	VALUES (pg_temp.id(nextval('pg_temp.later')::integer), 'infinity', now() + interval '1 min', now(), 'ERROR', false, 'LOST|1', 'the node that ran it is gone') $$)),
	'no task is lost or twice between pages, although some come and go');

-- More than it counts, of which none is unknown, before one that is.
INSERT INTO twtasks.task (id, version, next_event_time, state_time, created, status, queued, type, error)
SELECT pg_temp.id(10000 + n), 3, 'infinity', now() - n * interval '1 s', now(), 'ERROR', false, 'OLD', 'the node that ran it is gone' FROM generate_series(1, 5100) n;
INSERT INTO twtasks.task_attempt (task_id, version, try, ended, result, error)
SELECT pg_temp.id(10000 + n), 2, 1, now(), 'error', 'refused' FROM generate_series(1, 5099) n;
SELECT is((SELECT format('%s %s', ids = ARRAY[pg_temp.id(15100)], sizes) FROM pg_temp.walk(50, 'OLD')), 't 0 1', 'a page may be empty and lead to the next one');
SELECT is((SELECT l.tasks > 0 FROM twtasks.list_unknown('OLD') l WHERE l.id IS NULL), true, '... and does not say that there is none');

-- A page beside thousands reads the tasks, and the attempts of its own ones.
UPDATE twtasks.task_attempt SET result = 'unknown' WHERE result = 'error';
ANALYZE twtasks.task, twtasks.task_attempt;
CREATE FUNCTION pg_temp.pages(statement text) RETURNS bigint
LANGUAGE plpgsql
AS $$
DECLARE
	plan json;
BEGIN
	FOR i IN 1 .. 2 LOOP
		EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ' || statement INTO plan;
	END LOOP;
	RETURN (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::bigint + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::bigint;
END $$;
SELECT pg_relation_size('twtasks.task') / 8192 AS task_pages, pg_temp.pages('SELECT FROM twtasks.list_unknown(max_tasks => 10)') AS read \gset
SELECT cmp_ok((SELECT tasks FROM twtasks.list_unknown() WHERE id IS NULL), '=', 5001::bigint, 'more than 5,000 are counted as 5,001');
SELECT cmp_ok(:read::bigint, '<', :task_pages::bigint + 1000, format('a page of 10 beside 5,400 reads %s pages, the table has %s', :read, :task_pages));

-- ---- What it refuses ----
SELECT throws_ok($$SELECT twtasks.list_unknown(after => 'x')$$, '22023', NULL, 'a wrong cursor');
SELECT throws_ok($$SELECT twtasks.list_unknown(after => '2026-11-27T01:02:03.000000Z/1')$$, '22023', NULL, 'a cursor that is cut off');
SELECT throws_ok($$SELECT twtasks.list_unknown(max_tasks => 0)$$, '22023', NULL, 'a page of no task');
SELECT throws_ok($$SELECT twtasks.list_unknown(max_tasks => NULL)$$, '22023', NULL, '... or of an unknown number');
SELECT throws_ok($$SELECT twtasks.list_unknown(NULL)$$, '22004', NULL, 'no type');
SET LOCAL ROLE twtasks_viewer;
SELECT is((SELECT count(id) FROM twtasks.list_unknown()), 50::bigint, 'a viewer may list them');
SELECT * FROM finish();
ROLLBACK;
