--
-- Many stuck tasks: the policy of a type is looked up once, and only the tasks of
-- types with a function are asked about.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(4);
CREATE FUNCTION public.regress_judge(task twtasks.task_input) RETURNS twtasks.stuck_rule LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$ SELECT 'retry'::twtasks.stuck_rule $$;
SELECT twtasks.configure_type('JUDGED', stuck_function => 'public.regress_judge') \g /dev/null
SELECT twtasks.add_task('JUDGED', task_id => pg_temp.id(n)) FROM generate_series(1, 20) n \g /dev/null
SELECT twtasks.add_task('OTHER', task_id => pg_temp.id(n)) FROM generate_series(21, 300) n \g /dev/null
SELECT pg_temp.grab(pg_temp.id(n)) FROM generate_series(1, 300) n \g /dev/null

CREATE FUNCTION pg_temp.calls(name text) RETURNS bigint LANGUAGE sql
AS $$ SELECT coalesce(pg_stat_get_xact_function_calls(name::regproc), 0) $$;
SET LOCAL track_functions = 'all';
SELECT is(twtasks_internal.ask_stuck(ARRAY(SELECT pg_temp.id(n) FROM generate_series(1, 300) n)), '{}', 'all tasks are asked about');
SELECT is(pg_temp.calls('twtasks.policy_of'), 2::bigint, 'the policy of each of two types is looked up once');
SELECT is(pg_temp.calls('twtasks_internal.call_stuck'), 20::bigint, 'and only tasks of types with a function are asked about');
SELECT is((SELECT string_agg(type || ' ' || stuck || ' ' || n, ', ' ORDER BY type) FROM (SELECT type, stuck, count(*) AS n FROM twtasks.task GROUP BY 1, 2) t),
	'JUDGED retry 20, OTHER error 280', 'each function decides on the tasks of its type');
SELECT * FROM finish();
ROLLBACK;
