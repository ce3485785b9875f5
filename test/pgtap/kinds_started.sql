--
-- on_uncertain gets the time at which the step really started, in whichever way it
-- ended, and not the time from which it could start.
--
BEGIN;
\ir ../lib/tasks.sql
\ir ../lib/kinds.sql
SELECT plan(15);

CREATE TABLE public.regress_mood (fails boolean);
INSERT INTO public.regress_mood VALUES (false);
CREATE FUNCTION public.regress_unsure(event jsonb, identifier text, started timestamptz) RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ BEGIN ASSERT NOT (SELECT m.fails FROM public.regress_mood m); RETURN jsonb_build_object('decision', 'unsure', 'started', started); END $$;
SELECT twtasks.configure_kind('box', 'black_boxed', 'BOX', 'box-{/n}', on_uncertain => 'public.regress_unsure') \g /dev/null
CREATE TEMPORARY TABLE run (n integer, task uuid, version bigint, started timestamptz);
-- Starts a step that has waited in the queue for an hour, and grabs it.
CREATE FUNCTION pg_temp.run(n integer) RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
	made uuid;
	grabbed bigint;
BEGIN
	PERFORM twtasks.start('box', jsonb_build_object('n', n));
	made := (SELECT o.task FROM twtasks.outcomes o WHERE o.identifier = 'box-' || n);
	UPDATE twtasks.attempt a SET started = a.started - interval '1 h' WHERE a.task = made;
	grabbed := pg_temp.grab(made);
	INSERT INTO pg_temp.run SELECT run.n, made, grabbed, t.state_time FROM twtasks.task t WHERE t.id = made;
	RETURN made;
END $$;
CREATE FUNCTION pg_temp.told(wanted integer) RETURNS text LANGUAGE sql AS $$
	SELECT CASE (o.outcome->>'started')::timestamptz WHEN r.started THEN 'as grabbed' WHEN a.started THEN 'as planned' ELSE 'neither' END
		|| CASE WHEN a.started = r.started THEN ', and shown' ELSE '' END
	FROM run r JOIN twtasks.attempt a ON a.task = r.task JOIN twtasks.outcome o ON o.identifier = a.identifier WHERE r.n = wanted $$;
CREATE FUNCTION pg_temp.finish_with(task uuid, result text, outcome jsonb) RETURNS text LANGUAGE sql AS $$
	SELECT f.status::text FROM twtasks_internal.finish_tasks(ARRAY[task], ARRAY[pg_temp.version_of(task)], ARRAY[result], '{0}', '{x}',
		pg_temp.node(), pg_temp.token(), outcomes => ARRAY[outcome]) f $$;

SELECT is(pg_temp.finish(pg_temp.run(1), 'error'), 'FAILED', 'a handler fails');
SELECT is(pg_temp.told(1), 'as grabbed, and shown', '... the function gets the time of the grab');
SELECT is(pg_temp.finish_with(pg_temp.run(2), 'error', '{"more": 1}'), 'FAILED', 'a handler fails with an outcome');
SELECT is(pg_temp.told(2), 'as grabbed, and shown', '... the same');
SELECT is((SELECT status FROM twtasks_internal.end_tasks(ARRAY[pg_temp.run(3)], '{ERROR}', '{"the node is gone"}')), 'FAILED', 'a node is lost');
SELECT is(pg_temp.told(3), 'as grabbed, and shown', '... the same');
SELECT pg_temp.run(4) \g /dev/null
SELECT twtasks.request_cancel(r.task, NULL, 'x') FROM run r WHERE r.n = 4 \g /dev/null
SELECT is(pg_temp.finish(r.task, 'error'), 'CANCELLED', 'a person cancels the step as it runs') FROM run r WHERE r.n = 4;
SELECT is(pg_temp.told(4), 'as grabbed, and shown', '... the same');
SELECT is(pg_temp.finish(pg_temp.run(5), 'accepted'), 'PROCESSING', 'a handler leaves the step to a program');
SELECT (twtasks.finish_task(r.task, r.version, 'error', 'x')).status FROM run r WHERE r.n = 5 \g /dev/null
SELECT is(pg_temp.told(5), 'as grabbed, and shown', '... the same');

-- ---- the function fails at first ----
UPDATE public.regress_mood SET fails = true;
SELECT is(pg_temp.finish(pg_temp.run(6), 'error'), 'ERROR', 'the function fails, too');
SELECT is(pg_temp.told(6), 'neither, and shown', '... so there is no decision');
UPDATE public.regress_mood SET fails = false;
UPDATE twtasks.outcome SET due = '-infinity' WHERE problem IS NOT NULL;
SELECT twtasks_internal.run_duties() \g /dev/null
SELECT is(pg_temp.told(6), 'as grabbed, and shown', 'it gets the same time later');

-- ---- a step that is done ----
SELECT is(pg_temp.finish_with(pg_temp.run(7), 'done', '{"decision": "sent"}'), 'DONE', 'a step is done');
SELECT is(pg_temp.told(7), 'neither, and shown', '... its start is shown');
SELECT * FROM finish();
ROLLBACK;
