--
-- Functions that users may call in a query of parallel workers work there: none that begins
-- a subtransaction, which workers refuse, says that it is safe.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(2);

SELECT is_empty($$SELECT p.oid::regprocedure FROM pg_proc p
	WHERE p.pronamespace IN ('twtasks'::regnamespace, 'twtasks_internal'::regnamespace) AND p.prolang = (SELECT oid FROM pg_language WHERE lanname = 'plpgsql')
	  AND p.proparallel <> 'u' AND p.prosrc ~ 'EXCEPTION\s+WHEN'$$, 'no function with a handler of exceptions is parallel safe');

SELECT name AS parallel FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query') \gset
SET LOCAL :parallel = on;
SELECT lives_ok($$SELECT count(twtasks.cron_next('0 3 * * *', now(), 'Europe/Berlin')), count(p.*)
	FROM pg_class, twtasks.cron_preview('0 3 * * *', now(), 'Europe/Berlin', 3) p$$, 'cron_next() and cron_preview() work beside parallel workers');

SELECT finish();
ROLLBACK;
