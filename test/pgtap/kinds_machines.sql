--
-- The machines of twtasks_kinds: for each answer that a step can give, the step
-- or the decision that follows, the number of the attempt, and the attempts that
-- are spent.
--
BEGIN;
\ir ../lib/tasks.sql
\ir ../lib/kinds.sql
CREATE FUNCTION public.regress_uncertain(event jsonb, identifier text, started timestamptz) RETURNS jsonb
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT jsonb_build_object('decision', 'uncertain') $$;
CREATE FUNCTION public.regress_decide(read_model jsonb, data jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$ SELECT data $$;
SELECT twtasks.configure_kind(k::text, k, upper(k::text), 'x-{/n}',
	on_uncertain => CASE WHEN k = 'black_boxed' THEN 'public.regress_uncertain' END,
	decide => CASE WHEN k = 'to_do' THEN 'public.regress_decide' END)
FROM unnest(enum_range(NULL::twtasks.task_kind)) k \g /dev/null

-- The end of a task that means the answer.
CREATE FUNCTION pg_temp.end_of(task twtasks.task, answer text) RETURNS twtasks.ended_task
LANGUAGE sql AS $$
	SELECT (task.id, task.version + 1, task.type, NULL, task.bucket, task.key,
			CASE WHEN answer IN ('expired', 'given_up') THEN 0 ELSE 1 END,
			CASE WHEN answer = 'unknown' THEN 'ERROR' WHEN answer = 'expired' THEN 'FAILED'
				WHEN answer IN ('given_up', 'cut_off') THEN 'CANCELLED' ELSE 'DONE' END,
			now(), CASE WHEN answer = 'unknown' THEN 'it broke' END, NULL, task.data, NULL,
			CASE answer WHEN 'decided' THEN '{"decision": "paid"}'::jsonb
				WHEN 'completed' THEN '{"look": "completed", "decision": "paid"}'
				WHEN 'not_found' THEN '{"found": false}' WHEN 'fault' THEN '{"fault": "no"}'
				WHEN 'own' THEN '{"look": "own"}' WHEN 'none' THEN '{"look": "none"}'
				WHEN 'blocked' THEN jsonb_build_object('look', 'blocked', 'until', now() + interval '5 h') END::jsonb, NULL)::twtasks.ended_task
$$;

-- Starts an identifier, puts it to that step, and ends the step so.  Returns
-- "step attempt/spent", or "= decision".
CREATE FUNCTION pg_temp.follow(kind text, step text, answer text, n integer) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	task twtasks.task;
BEGIN
	PERFORM twtasks.start(kind, jsonb_build_object('n', n));
	IF kind = 'to_do' AND answer = 'decided' THEN
		PERFORM twtasks.answer_to_do(kind, 'x-' || n, '{"decision": "paid"}');
	ELSIF step <> 'start' THEN
		UPDATE twtasks.outcome o SET step = follow.step WHERE o.kind = follow.kind AND o.identifier = 'x-' || n;
		SELECT t.* INTO task FROM twtasks.outcome o JOIN twtasks.task t ON t.id = o.task
		WHERE o.kind = follow.kind AND o.identifier = 'x-' || n;
		PERFORM twtasks_internal.end_now(ARRAY[task.id], ARRAY[(pg_temp.end_of(task, answer)).status], '{NULL}');
		PERFORM twtasks_internal.end_steps(ARRAY[pg_temp.end_of(task, answer)]);
	END IF;
	RETURN (SELECT coalesce(o.problem, '= ' || o.decision, concat(o.step, ' ', o.attempt, '/', o.spent))
			FROM twtasks.outcome o WHERE o.kind = follow.kind AND o.identifier = 'x-' || n);
END $$;

CREATE TEMPORARY TABLE expected (n integer GENERATED ALWAYS AS IDENTITY, kind text, step text, answer text, follows text);
INSERT INTO expected (kind, step, answer, follows) VALUES
	('idempotent',	'start',	'started',		'attempt 1/0'),
	('idempotent',	'attempt',	'decided',		'= paid'),
	('idempotent',	'attempt',	'fault',		'attempt 2/1'),
	('idempotent',	'attempt',	'unknown',		'attempt 2/1'),
	('idempotent',	'attempt',	'expired',		'= expired'),
	('idempotent',	'attempt',	'given_up',		'= cancelled'),
	('idempotent',	'attempt',	'cut_off',		'= cancelled'),
	('pessimistic',	'start',	'started',		'find 1/0'),
	('pessimistic',	'find',		'decided',		'= paid'),
	('pessimistic',	'find',		'not_found',	'attempt 1/0'),
	('pessimistic',	'find',		'fault',		'find 2/0'),
	('pessimistic',	'find',		'unknown',		'find 2/0'),
	('pessimistic',	'find',		'expired',		'find 2/0'),
	('pessimistic',	'find',		'given_up',		'find 2/0'),
	('pessimistic',	'find',		'cut_off',		'find 2/0'),
	('pessimistic',	'attempt',	'decided',		'= paid'),
	('pessimistic',	'attempt',	'fault',		'find 2/1'),
	('pessimistic',	'attempt',	'unknown',		'find 2/1'),
	('pessimistic',	'attempt',	'expired',		'= expired'),
	('pessimistic',	'attempt',	'given_up',		'= cancelled'),
	('pessimistic',	'attempt',	'cut_off',		'find 2/1'),
	('black_boxed',	'start',	'started',		'attempt 1/0'),
	('black_boxed',	'attempt',	'decided',		'= paid'),
	('black_boxed',	'attempt',	'fault',		'attempt 2/1'),
	('black_boxed',	'attempt',	'unknown',		'= uncertain'),
	('black_boxed',	'attempt',	'expired',		'= expired'),
	('black_boxed',	'attempt',	'given_up',		'= cancelled'),
	('black_boxed',	'attempt',	'cut_off',		'= uncertain'),
	('optimistic',	'start',	'started',		'first 1/0'),
	('optimistic',	'first',	'done',			'look 1/0'),
	('optimistic',	'first',	'fault',		'look 2/1'),
	('optimistic',	'first',	'unknown',		'look 2/1'),
	('optimistic',	'first',	'expired',		'undo 1/0'),
	('optimistic',	'first',	'given_up',		'undo 1/0'),
	('optimistic',	'first',	'cut_off',		'look 2/1'),
	('optimistic',	'look',		'own',			'second 1/0'),
	('optimistic',	'look',		'none',			'first 2/0'),
	('optimistic',	'look',		'blocked',		'undo 1/0'),
	('optimistic',	'look',		'completed',	'undo 1/0'),
	('optimistic',	'look',		'fault',		'look 2/0'),
	('optimistic',	'look',		'unknown',		'look 2/0'),
	('optimistic',	'look',		'expired',		'look 2/0'),
	('optimistic',	'look',		'given_up',		'look 2/0'),
	('optimistic',	'look',		'cut_off',		'look 2/0'),
	('optimistic',	'second',	'decided',		'= paid'),
	('optimistic',	'second',	'fault',		'look 2/1'),
	('optimistic',	'second',	'unknown',		'look 2/1'),
	('optimistic',	'second',	'expired',		'undo 1/0'),
	('optimistic',	'second',	'given_up',		'undo 1/0'),
	('optimistic',	'second',	'cut_off',		'look 2/1'),
	('optimistic',	'undo',		'done',			'look 2/0'),
	('optimistic',	'undo',		'fault',		'undo 2/0'),
	('optimistic',	'undo',		'unknown',		'undo 2/0'),
	('optimistic',	'undo',		'expired',		'undo 2/0'),
	('optimistic',	'undo',		'given_up',		'= cancelled'),
	('optimistic',	'undo',		'cut_off',		'= cancelled'),
	('to_do',		'start',	'started',		'answer 1/0'),
	('to_do',		'answer',	'decided',		'= paid'),
	('to_do',		'answer',	'fault',		'answer 2/0'),
	('to_do',		'answer',	'unknown',		'answer 2/0'),
	('to_do',		'answer',	'expired',		'= expired'),
	('to_do',		'answer',	'given_up',		'= cancelled'),
	('to_do',		'answer',	'cut_off',		'= cancelled');

SELECT plan(6 + (SELECT count(*)::integer FROM expected));
SELECT set_eq('SELECT kind::text, step, answer FROM twtasks_internal.kind_rule', 'SELECT kind, step, answer FROM expected',
	'each rule is tested');
SELECT is(pg_temp.follow(e.kind, e.step, e.answer, e.n), e.follows, format('%s: %s answers %s', e.kind, e.step, e.answer))
FROM expected e ORDER BY e.n;
SELECT is_empty('SELECT * FROM twtasks.broken_outcomes', 'each identifier has a live step or an outcome');
SELECT is_empty($$SELECT * FROM twtasks.task WHERE status = 'ERROR'$$, 'a step in ERROR that is followed needs no person');

-- answers that wait for an undo
CREATE FUNCTION pg_temp.after_undo(step text, answer text, n integer) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	task twtasks.task;
BEGIN
	PERFORM pg_temp.follow('optimistic', step, answer, n);
	SELECT t.* INTO task FROM twtasks.outcome o JOIN twtasks.task t ON t.id = o.task WHERE o.identifier = 'x-' || n;
	PERFORM twtasks_internal.end_now(ARRAY[task.id], '{DONE}', '{NULL}');
	PERFORM twtasks_internal.end_steps(ARRAY[pg_temp.end_of(task, 'done')]);
	RETURN (SELECT coalesce('= ' || o.decision, concat(o.step, ' ', o.attempt, ' ', o.due - now())) FROM twtasks.outcome o
			WHERE o.identifier = 'x-' || n);
END $$;
SELECT is(pg_temp.after_undo('look', 'completed', 1001), '= paid', 'the result of a completed second step is taken after the undo');
SELECT is(pg_temp.after_undo('second', 'given_up', 1002), '= cancelled', 'the word of a person is taken after the undo');
SELECT is(pg_temp.after_undo('look', 'blocked', 1003), 'look 2 05:00:00', 'the next look comes when the blocking step expires');
SELECT * FROM finish();
ROLLBACK;
