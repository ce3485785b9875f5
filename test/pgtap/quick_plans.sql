--
-- Functions whose plans look expensive are never compiled: JIT costs seconds, and such
-- a plan reads few rows, or none.
--
BEGIN;
SELECT plan(3);
CREATE VIEW pg_temp.own AS
	SELECT p.oid::regprocedure AS function, p.proname AS name, coalesce(p.proconfig, '{}') AS config
	FROM pg_proc p WHERE p.pronamespace IN ('twtasks'::regnamespace, 'twtasks_internal'::regnamespace)
	  AND p.prolang IN (SELECT l.oid FROM pg_language l WHERE l.lanname IN ('sql', 'plpgsql'));
SELECT cmp_ok((SELECT count(*) FROM pg_temp.own o WHERE o.config::text ~ 'enable_'), '>', 20::bigint, 'functions rule out kinds of plans');
-- Sidecars switch JIT off in their sessions; these are for them.
SELECT is_empty($$SELECT o.function FROM pg_temp.own o WHERE o.config::text ~ 'enable_' AND NOT 'jit=off' = ANY (o.config)
	AND o.name NOT IN ('live_slots', 'cancel_orphans', 'apply_stuck_rule', 'free_old_keys', 'clean_audit', 'resolve_grab', 'promote_tasks', 'take_cancels', 'tick', 'offer_slots')$$,
	'a plan that is ruled out counts as expensive, and none is compiled');
SELECT is_empty($$SELECT o.function FROM pg_temp.own o
	WHERE o.name IN ('find_tasks', 'left_tasks', 'list_tasks_as_owner', 'error_groups', 'metrics', 'metrics_text', 'monitor_tasks', 'find_incidents')
	  AND NOT 'jit=off' = ANY (o.config)$$, 'nor one that names all tasks and leaves out nearly all of them when it runs');
SELECT * FROM finish();
ROLLBACK;
