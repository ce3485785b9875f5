--
-- Functions for people whose plans look expensive are never compiled: JIT costs
-- seconds, and these plans read few rows.
--
BEGIN;
SELECT plan(2);
-- Plans of the first kind name all tasks, and leave out nearly all of them when they run.  A plan of the
-- second kind uses what its function rules out, if there is no other way, and then counts as very expensive.
SELECT is_empty(format($$SELECT u FROM unnest(%L::text[]) u WHERE NOT EXISTS (
		SELECT FROM pg_proc p WHERE p.proname = u AND p.pronamespace IN ('twtasks'::regnamespace, 'twtasks_internal'::regnamespace)
		AND 'jit=off' = ANY (p.proconfig))$$, x.functions), x.kind)
FROM (VALUES ('plans of all tasks', '{error_groups,find_incidents,find_tasks,left_tasks,list_page,metrics,metrics_text,monitor_tasks}'),
	('plans with kinds that are ruled out', '{count_errors,count_held,count_not_queued,count_retried,count_tasks,find_stuck,late_not_queued,life_of_attempts,
		life_of_task,list_few,list_queue,lonely_buckets,queue_before,queued_buckets,seen_running,unhandled,why_limited,why_queued}')) x(kind, functions);
SELECT * FROM finish();
ROLLBACK;
