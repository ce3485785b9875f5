--
-- Places: where a row was seen is a hint that saves a look into the index, and
-- that decides nothing.
--
\ir ../lib/tasks.sql
SELECT plan(22);

CREATE FUNCTION pg_temp.looks() RETURNS bigint LANGUAGE sql
AS $$ SELECT pg_stat_get_xact_numscans('twtasks.task_pkey'::regclass) $$;
CREATE FUNCTION pg_temp.grab_at(tasks uuid[], places tid[]) RETURNS TABLE (id uuid, version bigint, place tid)
LANGUAGE sql
AS $$
	SELECT g.id, g.version, g.place
	FROM twtasks_internal.grab_tasks(tasks, '{0}', pg_temp.node(), pg_temp.token(), '{60000}', '{error}', places => places) g
$$;
CREATE FUNCTION pg_temp.finish_at(tasks uuid[], places tid[]) RETURNS SETOF uuid LANGUAGE sql
AS $$
	SELECT f.id FROM twtasks_internal.finish_tasks(tasks, '{1}', '{done}', '{0}', '{NULL}', pg_temp.node(), pg_temp.token(), NULL, places) f
$$;

SELECT task_id FROM generate_series(1, 20) n CROSS JOIN LATERAL twtasks.add_task('P', task_id => pg_temp.id(n)) \g /dev/null
CREATE TEMPORARY TABLE seen AS SELECT * FROM twtasks_internal.sweep_tasks('default', 100);
SELECT is((SELECT count(*) FROM seen s JOIN twtasks.task t ON t.id = s.id AND t.ctid = s.place), 20::bigint, 'a sweep says where it saw each row');

-- In the right place no index is asked.
BEGIN;
CREATE TEMPORARY TABLE before AS SELECT pg_temp.looks() AS n;
CREATE TEMPORARY TABLE won AS
SELECT * FROM pg_temp.grab_at(ARRAY(SELECT id FROM seen ORDER BY id LIMIT 10), ARRAY(SELECT place FROM seen ORDER BY id LIMIT 10));
\if :is_sql
SELECT skip('SQL finds rows by their id', 1);
\else
SELECT is((SELECT pg_temp.looks() - n FROM before), 0::bigint, 'a grab finds rows where the sweep saw them');
\endif
SELECT is((SELECT count(*) FROM won w JOIN twtasks.task t ON t.id = w.id AND t.ctid = w.place WHERE t.status = 'PROCESSING'), 10::bigint,
	'a grab says where it left the rows');
SELECT is((SELECT array_agg(f) FROM pg_temp.finish_at(ARRAY(SELECT id FROM won ORDER BY id LIMIT 5), ARRAY(SELECT place FROM won ORDER BY id LIMIT 5)) f),
	ARRAY(SELECT id FROM won ORDER BY id LIMIT 5), 'a finish finds rows where the grab left them');
\if :is_sql
SELECT skip('SQL finds rows by their id', 1);
\else
SELECT is((SELECT pg_temp.looks() - n FROM before), 0::bigint, 'a finish by place reads no index');
\endif
COMMIT;

-- Anywhere else the index is.
SELECT is((SELECT array_agg(f) FROM pg_temp.finish_at(ARRAY[pg_temp.id(6)], ARRAY(SELECT place FROM seen WHERE id = pg_temp.id(6))) f),
	ARRAY[pg_temp.id(6)], 'a finish finds a row by the place of an old version');
SELECT is((SELECT array_agg(f) FROM pg_temp.finish_at(ARRAY[pg_temp.id(7)], ARRAY(SELECT place FROM won WHERE id = pg_temp.id(8))) f),
	ARRAY[pg_temp.id(7)], 'a finish in the place of another task finishes the task that was named');
SELECT is(pg_temp.state(pg_temp.id(8)), 'PROCESSING 1', 'the task in that place is not finished');
SELECT is((SELECT array_agg(f) FROM pg_temp.finish_at(ARRAY[pg_temp.id(404)], ARRAY(SELECT place FROM won WHERE id = pg_temp.id(8))) f), NULL,
	'an unknown task in the place of a known one is not finished');
SELECT is((SELECT array_agg(f) FROM pg_temp.finish_at(ARRAY[pg_temp.id(8), pg_temp.id(9)], '{}') f), ARRAY[pg_temp.id(8), pg_temp.id(9)], 'a finish needs no places');
SELECT is((SELECT array_agg(id) FROM pg_temp.grab_at(ARRAY[pg_temp.id(11)], ARRAY(SELECT place FROM seen WHERE id = pg_temp.id(12)))),
	ARRAY[pg_temp.id(11)], 'a grab in the place of another task grabs the task that was named');
SELECT is(pg_temp.state(pg_temp.id(12)), 'SUBMITTED 0', 'the task in that place is not grabbed');
SELECT is((SELECT array_agg(id) FROM pg_temp.grab_at(ARRAY[pg_temp.id(12 + n)], ARRAY[place])), ARRAY[pg_temp.id(12 + n)], 'a grab finds its task with ' || what)
FROM (VALUES (1, NULL::tid, 'an unknown place'), (2, '(0,0)', 'no place'), (3, '(4294967294,1)', 'a place far beyond the end'),
	  (4, '(0,60000)', 'a place that no page has'), (5, '(4294967295,65535)', 'the last possible place')) v(n, place, what);
SELECT is((SELECT array_agg(f) FROM pg_temp.finish_at(ARRAY[pg_temp.id(12 + n)], ARRAY[place]) f), ARRAY[pg_temp.id(12 + n)], 'a finish finds its task with ' || what)
FROM (VALUES (1, NULL::tid, 'an unknown place'), (2, '(0,0)', 'no place'), (3, '(4294967294,1)', 'a place far beyond the end')) v(n, place, what);

-- Where another has been first, a place does not help.
SELECT is((SELECT count(*) FROM pg_temp.grab_at(ARRAY[pg_temp.id(11)], ARRAY(SELECT place FROM seen WHERE id = pg_temp.id(11)))), 0::bigint,
	'a task that runs already is not grabbed in the place where it waited');

-- A place for each task, or none.
SELECT throws_ok('SELECT pg_temp.grab_at(ARRAY[pg_temp.id(18), pg_temp.id(19)], ''{"(0,1)"}'')', '22023', NULL, 'a grab with too few places is refused');
SELECT * FROM finish();
