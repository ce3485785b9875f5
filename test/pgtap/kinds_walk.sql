--
-- twtasks_kinds: no state in which an identifier stands still without a word.
-- Each answer of each step of each kind, in each circumstance, with each kind of
-- failure behind it, and each status of a step's task: the identifier moves, or
-- broken_outcomes and warnings have a row for it.
--
BEGIN;
\ir ../lib/tasks.sql
\ir ../lib/kinds.sql
SET twtasks.testing = on;
SET twtasks.function_timeout = '60 s';		-- a busy machine is no failure
SET client_min_messages = error;
SELECT plan(14);

-- ---- kinds whose functions, reactions and intercepts fail on demand ----
CREATE TABLE public.regress_mood (broken text);
INSERT INTO public.regress_mood VALUES ('nothing');
CREATE FUNCTION public.regress_fail(what text) RETURNS void LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$ BEGIN ASSERT what IS DISTINCT FROM (SELECT broken FROM regress_mood), what || ' out of order'; END $$;
CREATE FUNCTION public.regress_needed(event jsonb, identifier text) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$ BEGIN PERFORM regress_fail('functions'); RETURN true; END $$;
CREATE FUNCTION public.regress_expiry(event jsonb, identifier text) RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$ BEGIN PERFORM regress_fail('functions'); RETURN '{"decision": "expired"}'; END $$;
CREATE FUNCTION public.regress_fault(event jsonb, identifier text, fault text) RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$ BEGIN PERFORM regress_fail('functions'); RETURN '{"decision": "failed"}'; END $$;
CREATE FUNCTION public.regress_uncertain(event jsonb, identifier text, started timestamptz) RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$ BEGIN PERFORM regress_fail('functions'); RETURN '{"decision": "unclear"}'; END $$;
CREATE FUNCTION public.regress_decide(read_model jsonb, data jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS 'SELECT data';
CREATE FUNCTION public.regress_event(event jsonb, identifier text, outcome jsonb) RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$ BEGIN PERFORM regress_fail('reactions'); RETURN event; END $$;
CREATE FUNCTION public.regress_intercept(task twtasks.new_task) RETURNS twtasks.new_task LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$ BEGIN PERFORM regress_fail('intercepts'); RETURN task; END $$;
SELECT twtasks.configure_kind(k::text, k, upper(k::text), k || '-{/n}', attempts => CASE WHEN k <> 'to_do' THEN 4 END, delay => '10ms', expires => '5 h',
	still_needed => CASE WHEN k <> 'to_do' THEN 'public.regress_needed' END, on_expiry => 'public.regress_expiry',
	on_fault => CASE WHEN k <> 'to_do' THEN 'public.regress_fault' END, on_uncertain => CASE WHEN k = 'black_boxed' THEN 'public.regress_uncertain' END,
	decide => CASE WHEN k = 'to_do' THEN 'public.regress_decide' END),
	twtasks.configure_type(upper(k::text), intercept => 'public.regress_intercept')
FROM unnest(enum_range(NULL::twtasks.task_kind)) k \g /dev/null
SELECT twtasks.configure_kind('then', 'idempotent', 'THEN', 'then-{/n}') \g /dev/null
SELECT twtasks.on_outcome(k::text, '*', 'then', 'public.regress_event') FROM unnest(enum_range(NULL::twtasks.task_kind)) k \g /dev/null

-- The end of a task that means the answer.
CREATE FUNCTION pg_temp.end_of(task twtasks.task, answer text) RETURNS twtasks.ended_task LANGUAGE sql AS $$
	SELECT (task.id, task.version + 1, task.type, NULL, task.bucket, task.key,
			CASE WHEN answer IN ('expired', 'given_up') THEN 0 ELSE 1 END,
			CASE WHEN answer = 'unknown' THEN 'ERROR' WHEN answer = 'expired' THEN 'FAILED'
				WHEN answer IN ('given_up', 'cut_off') THEN 'CANCELLED' ELSE 'DONE' END,
			now(), CASE WHEN answer = 'unknown' THEN 'it broke' END, NULL, task.data, NULL,
			CASE answer WHEN 'decided' THEN '{"decision": "paid"}' WHEN 'completed' THEN '{"look": "completed", "decision": "paid"}'
				WHEN 'not_found' THEN '{"found": false}' WHEN 'fault' THEN '{"fault": "no"}' WHEN 'own' THEN '{"look": "own"}'
				WHEN 'none' THEN '{"look": "none"}' WHEN 'blocked' THEN '{"look": "blocked", "until": "9999-01-01"}' END::jsonb, NULL)::twtasks.ended_task $$;

-- An identifier at that step; its task has a row in attempts.
CREATE FUNCTION pg_temp.at(kind text, step text, n integer) RETURNS twtasks.task LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
	task twtasks.task;
BEGIN
	PERFORM twtasks.start(kind, jsonb_build_object('n', n));
	UPDATE twtasks.outcome o SET step = at.step WHERE o.identifier = kind || '-' || n AND at.step <> 'start';
	UPDATE twtasks.attempt a SET step = at.step WHERE a.identifier = kind || '-' || n AND at.step <> 'start';
	SELECT t.* INTO task FROM twtasks.outcome o JOIN twtasks.task t ON t.id = o.task WHERE o.identifier = kind || '-' || n;
	RETURN task;
END $$;
CREATE FUNCTION pg_temp.answer(kind text, step text, answer text, circumstance text, broken text, n integer) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
	task CONSTANT twtasks.task := pg_temp.at(kind, step, n);
BEGIN
	UPDATE twtasks.outcome o
	SET expires = CASE circumstance WHEN 'expired' THEN now() - interval '2 h' ELSE o.expires END,
		spent = CASE circumstance WHEN 'last attempt' THEN 3 ELSE 0 END, repeats = CASE circumstance WHEN 'in vain' THEN 12 ELSE 0 END,
		first = CASE WHEN step IN ('look', 'second', 'undo') THEN '{}'::jsonb END,
		verdict = CASE WHEN step = 'undo' THEN '{"decision": "paid"}'::jsonb END
	WHERE o.identifier = kind || '-' || n;
	UPDATE public.regress_mood m SET broken = answer.broken;
	IF answer <> 'started' THEN
		PERFORM twtasks_internal.end_now(ARRAY[task.id], ARRAY[(pg_temp.end_of(task, answer)).status], '{it broke}');
		PERFORM twtasks_internal.end_steps(ARRAY[pg_temp.end_of(task, answer)]);
	END IF;
	UPDATE public.regress_mood m SET broken = 'nothing';
END $$;

CREATE TEMPORARY TABLE walked AS
	SELECT row_number() OVER (ORDER BY r.kind, r.step, r.answer, c.circumstance, b.broken)::integer AS n, r.kind::text, r.step, r.answer, c.circumstance, b.broken
	FROM twtasks_internal.kind_rule r, unnest('{fresh,expired,last attempt,in vain}'::text[]) c(circumstance),
		unnest('{nothing,functions,reactions,intercepts}'::text[]) b(broken)
	WHERE NOT (r.kind = 'to_do' AND r.answer = 'decided');

-- Identifiers by how they go on.
CREATE VIEW pg_temp.told AS
	SELECT o.kind, o.identifier, o.step, o.decided IS NOT NULL AND o.reacted
		OR o.decided IS NULL AND o.problem IS NULL AND t.status IN ('WAITING', 'SUBMITTED', 'PROCESSING') AND t.type = upper(o.kind)
			AND (t.next_event_time < now() + interval '25 h' OR o.step = 'answer') AS moves,
		b.broken
	FROM twtasks.outcome o LEFT JOIN twtasks.task t ON t.id = o.task
	LEFT JOIN (SELECT n.kind, n.identifier, string_agg(n.broken, '; ') AS broken FROM twtasks.broken_outcomes n WHERE n.hint <> '' GROUP BY n.kind, n.identifier) b
		ON b.kind = o.kind AND b.identifier = o.identifier;
-- Reasons that broken_outcomes has, and warnings lacks.
CREATE VIEW pg_temp.untold AS
	SELECT b.kind, b.broken FROM twtasks.broken_outcomes b
	EXCEPT
	SELECT substring(w->>'detail' FROM 'kind "([^"]*)"'), substring(w->>'detail' FROM 'such as "[^"]*": (.*)$')
	FROM jsonb_array_elements(twtasks_internal.warn_of_kinds(1000)) w WHERE w->>'warning' = 'outcomes stand still';

-- ---- each answer of each step ----
SELECT cmp_ok(count(pg_temp.answer(w.kind, w.step, w.answer, w.circumstance, w.broken, w.n)), '>', 800::bigint, 'all rows of the machines are walked') FROM walked w;
SELECT is((SELECT array_agg(format('%s %s %s, %s, without %s: %s', w.kind, w.step, w.answer, w.circumstance, w.broken, t.identifier)) FROM walked w JOIN pg_temp.told t ON t.identifier = w.kind || '-' || w.n
		   WHERE t.moves IS NOT TRUE AND t.broken IS NULL), NULL, 'each identifier moves, or says why not');
SELECT is((SELECT array_agg(DISTINCT format('%s %s, %s: %s', w.kind, w.answer, w.circumstance, t.broken)) FROM walked w JOIN pg_temp.told t ON t.identifier = w.kind || '-' || w.n
		   WHERE w.broken = 'nothing' AND w.circumstance = 'fresh' AND t.broken IS NOT NULL), NULL, 'without a failure none stands still');
SELECT cmp_ok((SELECT count(*) FROM walked w JOIN pg_temp.told t ON t.identifier = w.kind || '-' || w.n WHERE t.moves IS NOT TRUE), '>', 100::bigint, 'the failures stop many');
SELECT is_empty('SELECT * FROM pg_temp.untold', 'warnings have each reason');
SELECT is((SELECT count(*) FROM twtasks.tasks t JOIN twtasks.attempts a ON a.task = t.id AND a.step IN ('attempt', 'first', 'second') AND a.answer IN ('unknown', 'cut_off') AND t.status IN ('WAITING', 'SUBMITTED')),
	0::bigint, 'no action whose end nobody knows may run again');

-- ---- ... once the failures are repaired ----
CREATE FUNCTION pg_temp.repair() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. 100 LOOP
		UPDATE twtasks.outcome SET due = '-infinity' WHERE problem IS NOT NULL;
		EXIT WHEN NOT FOUND;
		PERFORM twtasks_internal.run_duties();
	END LOOP;
END $$;
SELECT pg_temp.repair();
SELECT is((SELECT array_agg(DISTINCT t.broken) FROM walked w JOIN pg_temp.told t ON t.identifier = w.kind || '-' || w.n WHERE t.moves IS NOT TRUE AND t.broken !~ '^step "(find|look)" is ERROR: step "(find|look)" has failed 13 times in a row'),
	NULL, 'all go on that do not search in vain');
SELECT twtasks.change_tasks('resume', '*', 'x', max_tasks => 10000) \g /dev/null
SELECT is((SELECT array_agg(DISTINCT t.step || ': ' || t.broken) FROM walked w JOIN pg_temp.told t ON t.identifier = w.kind || '-' || w.n WHERE t.moves IS NOT TRUE), NULL, 'a person lets these search again');

-- ---- each status of the task of each step ----
CREATE TEMPORARY TABLE stood AS
	SELECT 10000 + row_number() OVER (ORDER BY s.kind, s.step, t.status)::integer AS n, s.kind::text, s.step, t.status
	FROM (SELECT DISTINCT kind, step FROM twtasks_internal.kind_rule WHERE step <> 'start') s,
		(SELECT unnest(enum_range(NULL::twtasks.task_status))::text UNION ALL VALUES ('forgotten'), ('of another type'), ('of a decided identifier')) t(status);
CREATE FUNCTION pg_temp.stand(kind text, step text, wanted text, n integer) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
	task CONSTANT uuid := (pg_temp.at(kind, step, n)).id;
BEGIN
	CASE
	WHEN wanted IN ('WAITING', 'SUBMITTED', 'PROCESSING') THEN
		UPDATE twtasks.task t SET status = wanted::twtasks.task_status, queued = wanted <> 'WAITING' WHERE t.id = task;
	WHEN wanted IN ('ERROR', 'HELD') THEN
		UPDATE twtasks.task t SET status = wanted::twtasks.task_status, queued = false, next_event_time = 'infinity', error = 'x' WHERE t.id = task;
	WHEN wanted IN ('DONE', 'FAILED', 'CANCELLED') THEN
		PERFORM twtasks_internal.end_now(ARRAY[task], ARRAY[wanted::twtasks.task_status], '{x}');
	WHEN wanted = 'forgotten' THEN
		DELETE FROM twtasks.task t WHERE t.id = task;
	WHEN wanted = 'of another type' THEN
		UPDATE twtasks.task t SET type = 'OTHER' WHERE t.id = task;
	ELSE
		UPDATE twtasks.outcome o SET decided = now(), decision = 'x', outcome = '{}' WHERE o.task = task;
	END CASE;
END $$;
SELECT cmp_ok(count(pg_temp.stand(s.kind, s.step, s.status, s.n)), '>', 80::bigint, 'all steps are walked') FROM stood s;
SELECT is((SELECT array_agg(format('%s %s %s', s.kind, s.step, s.status)) FROM stood s JOIN pg_temp.told t ON t.identifier = s.kind || '-' || s.n
		   WHERE (t.broken IS NULL) <> (s.status IN ('WAITING', 'SUBMITTED', 'PROCESSING'))), NULL, 'each step whose task does not run says why');
SELECT is_empty('SELECT * FROM pg_temp.untold', 'warnings have each of these reasons');
SELECT is((SELECT array_agg(problem) FROM twtasks.outcomes WHERE status = 'ERROR' AND problem IS NULL), NULL, 'each step in ERROR is a problem');

-- ---- kinds ----
SET session_replication_role = replica;
UPDATE twtasks.type_policy SET options = options - 'on_end' WHERE pattern = 'PESSIMISTIC';
RESET session_replication_role;
DELETE FROM twtasks.kind WHERE name = 'to_do';
SELECT twtasks.configure_type('OTHER', priority => 3) \g /dev/null
SELECT is((SELECT array_agg(DISTINCT b.kind || ': ' || b.broken) FROM twtasks.broken_outcomes b WHERE b.broken ~ 'nobody hears|not configured'),
	'{"pessimistic: nobody hears of the ends of its steps","to_do: its kind is not configured"}', 'a kind that cannot go on says why');
SELECT is_empty('SELECT * FROM pg_temp.untold', 'warnings have these reasons too');
SELECT * FROM finish();
ROLLBACK;
