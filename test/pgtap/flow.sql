--
-- The flow of tasks by minute: what sidecars add, what the leader makes of it.
--
BEGIN;
\ir ../lib/tasks.sql
DELETE FROM twtasks.flow;
SELECT plan(22);

CREATE FUNCTION pg_temp.caught(statement text) RETURNS text LANGUAGE plpgsql
AS $$ BEGIN EXECUTE statement; RETURN 'ok'; EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE; END $$;
CREATE FUNCTION pg_temp.at(before interval) RETURNS timestamptz LANGUAGE sql
AS $$ SELECT date_trunc('hour', twtasks.clock()) - before $$;
-- Two rows: A with histograms in which bucket n has n tasks, B without.
CREATE FUNCTION pg_temp.note(node bigint, at timestamptz) RETURNS bigint LANGUAGE sql
AS $$ SELECT twtasks_internal.note_flow(node, at, 60000, '{default,other}', '{A,B}', '{1,2,3,4,5,6,7,10,20,30,40,50,60,70}',
	(SELECT array_agg(CASE WHEN n <= 21 THEN n END ORDER BY n) FROM generate_series(1, 42) n),
	(SELECT array_agg(CASE WHEN n <= 21 THEN 2 * n END ORDER BY n) FROM generate_series(1, 42) n)) $$;
CREATE FUNCTION pg_temp.clean_all() RETURNS integer LANGUAGE plpgsql
AS $$ DECLARE n integer := 0; BEGIN WHILE twtasks_internal.clean_tasks() IS NOT NULL LOOP n := n + 1; ASSERT n < 100; END LOOP; RETURN n; END $$;
SELECT pg_temp.clean_all() \g /dev/null

-- Rows that a call of a sidecar adds.
SELECT is(pg_temp.note(1, pg_temp.at('1 minute')), 2::bigint, 'a call adds a row for each type');
SELECT is((SELECT to_jsonb(f) - '{at,step}'::text[] FROM twtasks.flow f WHERE f.type = 'A'),
	'{"node": 1, "bucket": "default", "type": "A", "started": 1, "done": 2, "failed": 3, "errors": 4, "retried": 5, "refused": 6, "unknown": 7,
	"wait": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21],
	"run": [2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 42]}'::jsonb, 'the figures stand in their columns');
SELECT is((SELECT to_jsonb(f) - '{at}'::text[] FROM twtasks.flow f WHERE f.type = 'B'),
	'{"step": "00:01:00", "node": 1, "bucket": "other", "type": "B", "started": 10, "done": 20, "failed": 30, "errors": 40, "retried": 50, "refused": 60, "unknown": 70,
	"wait": null, "run": null}'::jsonb, 'a type that is not measured has no histogram');
SELECT is(pg_temp.note(1, pg_temp.at('1 minute')), 0::bigint, 'a call that is repeated adds nothing');
SELECT is(pg_temp.note(2, pg_temp.at('1 minute')), 2::bigint, 'another node adds rows for the same time');
SELECT is(twtasks_internal.note_flow(pg_temp.node(), pg_temp.at('0'), 60000, '{}', '{}', '{}', '{}', '{}'), 0::bigint, 'a call without rows adds nothing');
SELECT is((SELECT n.notes_flow FROM twtasks.node n WHERE n.incarnation = pg_temp.node()), true, '... and tells that the node notes what it does');
SELECT is(pg_temp.caught(format($$SELECT twtasks_internal.note_flow(3, now(), 1, %s)$$, a)), '22023', 'refused: ' || a)
FROM unnest(ARRAY[
	$$'{a}', '{A,B}', '{}', '{}', '{}'$$,
	$$'{a}', '{A}', '{1,2,3,4,5,6}', array_fill(0::bigint, ARRAY[21]), array_fill(0::bigint, ARRAY[21])$$,
	$$'{a}', '{A}', '{1,2,3,4,5,6,7}', '{}', array_fill(0::bigint, ARRAY[21])$$,
	$$'{a}', '{A}', '{1,2,3,4,5,6,7}', array_fill(0::bigint, ARRAY[21]), '{}'$$,
	$$array_fill('a'::text, ARRAY[1001]), array_fill('A'::text, ARRAY[1001]), array_fill(0::bigint, ARRAY[7007]), array_fill(0::bigint, ARRAY[21021]), array_fill(0::bigint, ARRAY[21021])$$]) a;

-- Hours, after 48 hours.
SELECT is(pg_temp.clean_all(), 0, 'young rows stay');
SELECT pg_temp.note(n, pg_temp.at(interval '50 hours' + m * interval '1 minute')) FROM generate_series(1, 2) n, generate_series(1, 90) m \g /dev/null
SELECT is(pg_temp.clean_all(), 2, 'rows older than 48 hours are merged, an hour in each call');
SELECT is((SELECT jsonb_agg(jsonb_build_array(f.at = pg_temp.at('51 hours'), f.step, f.node, f.type, f.started, f.unknown) ORDER BY f.at, f.type)
		   FROM twtasks.flow f WHERE f.at < pg_temp.at('3 hours')),
	'[[false, "01:00:00", null, "A", 60, 420], [false, "01:00:00", null, "B", 600, 4200],
	  [true, "01:00:00", null, "A", 120, 840], [true, "01:00:00", null, "B", 1200, 8400]]'::jsonb, 'an hour has the sums of its minutes and nodes');
SELECT is((SELECT f.run FROM twtasks.flow f WHERE f.at = pg_temp.at('51 hours') AND f.type = 'A'),
	(SELECT array_agg(2 * n * 120::bigint ORDER BY n) FROM generate_series(1, 21) n), 'histograms are added');
SELECT is((SELECT f.wait FROM twtasks.flow f WHERE f.at = pg_temp.at('51 hours') AND f.type = 'B'), NULL, 'no histogram stays none');
SELECT is(pg_temp.clean_all(), 0, 'a second call finds nothing');
SELECT is((SELECT count(*) FROM twtasks.flow f WHERE f.at >= pg_temp.at('3 hours')), 4::bigint, 'young rows stay as they are');

-- The end, after 400 days.
UPDATE twtasks.flow SET at = at - interval '400 days' WHERE node IS NULL;
SELECT pg_temp.clean_all() \g /dev/null
SELECT is((SELECT count(*) FROM twtasks.flow), 4::bigint, 'hours are deleted after 400 days');

-- A table that is locked delays no sidecar: see duties.
SELECT is((SELECT 'lock_timeout=1s' = ANY (p.proconfig) FROM pg_proc p WHERE p.proname = 'note_flow'), true, 'a call does not wait long for a lock');
SELECT is(has_table_privilege('twtasks_viewer', 'twtasks.flow', 'SELECT'), true, 'viewers read the table');

SELECT * FROM finish();
ROLLBACK;
