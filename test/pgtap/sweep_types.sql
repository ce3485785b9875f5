--
-- The sweep finds the most urgent tasks of each type, in order, whether a type
-- has few tasks or many.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(9);

-- Forty types of two tasks; each tenth type has 30, more than the reading of the
-- next type takes in its stride.
SELECT twtasks.add_task('T' || t, priority => (t * n) % 3, bucket => 'a', task_id => pg_temp.id(100 * t + n))
FROM generate_series(10, 49) t, generate_series(1, CASE WHEN t % 10 = 0 THEN 30 ELSE 2 END) n \g /dev/null
-- Tasks that nobody may start: one grabbed, one expired, one of a type with many.
UPDATE twtasks.task SET status = 'PROCESSING' WHERE id IN (pg_temp.id(1101), pg_temp.id(2003));
UPDATE twtasks.task SET expires = now() - interval '1 day' WHERE id = pg_temp.id(1201);

CREATE FUNCTION pg_temp.wanted(per_type integer, skip text[] DEFAULT '{}') RETURNS uuid[] LANGUAGE sql
AS $$
	SELECT array_agg(id ORDER BY type COLLATE "C", priority, id) FROM (
		SELECT t.*, row_number() OVER (PARTITION BY type ORDER BY priority, id) AS place FROM twtasks.task t
		WHERE bucket = 'a' AND status = 'SUBMITTED' AND expires IS NULL AND type <> ALL (skip)) t
	WHERE place <= per_type
$$;
CREATE FUNCTION pg_temp.found(per_type integer, skip text[] DEFAULT '{}') RETURNS uuid[] LANGUAGE sql
AS $$ SELECT array_agg(id ORDER BY n) FROM twtasks_internal.sweep_tasks('a', per_type, skip) WITH ORDINALITY s(id, v, t, p, z, c, n) $$;

SELECT is(pg_temp.found(1), pg_temp.wanted(1), 'the most urgent task of each type');
SELECT is(pg_temp.found(2), pg_temp.wanted(2), 'a few tasks of each type');
SELECT is(pg_temp.found(21), pg_temp.wanted(21), 'a type ends shortly after the last wanted task');
SELECT is(pg_temp.found(1000), pg_temp.wanted(1000), 'all tasks');
SELECT is(pg_temp.found(2, '{T10,T11,T25,T30,T49}'), pg_temp.wanted(2, '{T10,T11,T25,T30,T49}'), 'types that are left out: first, in a row, long, last');

-- A type with a rule of its own is read alone; the scan goes on after it.
SELECT twtasks.configure_type('T15', aging => '1 h'), twtasks.pause_type('T20', 'test') \g /dev/null
SELECT is(pg_temp.found(2), pg_temp.wanted(2, '{T20}'), 'a type whose tasks rise, and one that is paused');

-- Two nodes share the ids; together they see all.
SELECT is((SELECT array_agg(id ORDER BY id) FROM generate_series(0, 1) n, twtasks_internal.sweep_tasks('a', 1000, '{}', n, 2)),
	(SELECT array_agg(id ORDER BY id) FROM unnest(pg_temp.wanted(1000, '{T20}')) id), 'the shares of two nodes are all tasks');

-- After so many in all, one of each further type.
SELECT is((SELECT count(*) FROM twtasks_internal.sweep_tasks('a', 2, '{}', 0, 1, 10)), (10 + 39 - 6)::bigint, 'a look that found enough takes one task of each further type');

-- From a mark on, the same tasks follow.
SELECT is((SELECT array_agg(id ORDER BY n) FROM twtasks_internal.sweep_tasks('a', 1000, '{}', 0, 1, 1000, ARRAY[(SELECT id FROM unnest(pg_temp.wanted(1000)) WITH ORDINALITY u(id, n) JOIN twtasks.task t USING (id) WHERE t.type = 'T40' ORDER BY n OFFSET 9 LIMIT 1)]) WITH ORDINALITY s(id, v, t, p, z, c, n) WHERE t = 'T40'),
	(SELECT array_agg(id ORDER BY n) FROM (SELECT id, n FROM unnest(pg_temp.wanted(1000)) WITH ORDINALITY u(id, n) JOIN twtasks.task t USING (id) WHERE t.type = 'T40' ORDER BY n OFFSET 10) r), 'a type is read from its mark on');

SELECT finish();
ROLLBACK;
