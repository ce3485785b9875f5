/*
 * twtasks_internal.keep_outcome(state)
 *
 *		Writes the row of an identifier back.
 *
 * Writes		twtasks.outcome
 */
CREATE FUNCTION twtasks_internal.keep_outcome(state twtasks.outcome)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	UPDATE twtasks.outcome o
	SET decided = state.decided, due = state.due, until = state.until, task = state.task, attempt = state.attempt, spent = state.spent,
		repeats = state.repeats, may_act = state.may_act, uncertain = state.uncertain, step = state.step, first = state.first,
		verdict = state.verdict, fault = state.fault, answer = state.answer, problem = state.problem,
		decision = state.decision, outcome = state.outcome, decided_by = state.decided_by
	WHERE o.kind = state.kind AND o.identifier = state.identifier;
END $$;

/*
 * twtasks_internal.leave_step(state)
 *
 *		Whether an identifier still waits for what follows its step.  If so, and the
 *		task of the step is in ERROR, the task goes to the history: what follows it is
 *		known, so no person needs to look.
 *
 * Returns
 *		false: the identifier does not wait for what follows that step.  A function of
 *		its kind may have decided it meanwhile, or may have let the step run again: that
 *		stays
 *
 * Writes		twtasks.task, twtasks.finished_task
 */
CREATE FUNCTION twtasks_internal.leave_step(state twtasks.outcome)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	now record;
BEGIN
	-- A condition on decided would let a planner without statistics read all undecided
	-- identifiers of the kind, by outcome_undecided.
	SELECT o.decided IS NULL AND o.task IS NOT DISTINCT FROM state.task AS waits, t.status, t.error INTO now
	FROM twtasks.outcome o LEFT JOIN twtasks.task t ON t.id = o.task
	WHERE o.kind = state.kind AND o.identifier = state.identifier;
	IF NOT FOUND OR NOT now.waits OR now.status <> 'ERROR' THEN
		RETURN false;
	ELSIF now.status = 'ERROR' THEN
		PERFORM twtasks_internal.end_now(ARRAY[state.task], '{FAILED}', ARRAY[now.error]);
	END IF;
	RETURN true;
END $$;

/*
 * twtasks_internal.put_step(known, state, wanted)
 *
 *		Adds a task for a step, and makes it the step under way.  A step that acts
 *		expires with its identifier; one that only looks or undoes never does.  If a
 *		function or trigger of a user decides the identifier while the step is added, the
 *		step becomes CANCELLED.
 *
 * Parameters
 *		state			the row of the identifier, which does not wait for another step
 *
 * Errors
 *		23505			somebody has added a task with the key of the step
 *
 * Writes		twtasks.task, twtasks.attempt, twtasks.outcome, or twtasks.finished_task
 * Wakes		after commit one sidecar
 */
CREATE FUNCTION twtasks_internal.put_step(known twtasks.kind, state twtasks.outcome, wanted text)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- For people to find.  Its end keeps others from taking it before.
	key CONSTANT text := format('%s:%s#%s.%s~%s', state.kind, state.identifier, state.attempt, wanted,
								to_hex((random() * 4294967295)::bigint));
	from_when CONSTANT timestamptz := coalesce(state.due, twtasks.clock());
	expires CONSTANT timestamptz := CASE WHEN wanted IN ('attempt', 'first', 'second', 'answer') THEN state.expires END;
	added twtasks.added_task;
BEGIN
	added := twtasks.add_task(
		known.type,
		jsonb_build_object('step', wanted, 'identifier', state.identifier, 'event', state.event,
						   'attempt', state.attempt, 'started', from_when)
			|| CASE WHEN state.first IS NULL THEN '{}' ELSE jsonb_build_object('first', state.first) END,
		key => key,
		-- No handler runs an item that waits for a person.
		run_after => CASE WHEN wanted = 'answer' THEN '9999-12-31' ELSE state.due END,
		expires => expires,
		context => CASE WHEN known.kind = 'idempotent'
						THEN jsonb_build_object('idempotency_key', state.identifier) END);
	IF added.result <> 'added' THEN
		RAISE EXCEPTION 'another task has the key "%"', key USING ERRCODE = 'unique_violation';
	END IF;
	-- o.decided IS NULL would let a planner without statistics read all undecided identifiers
	-- of the kind, by outcome_undecided.  num_nulls() asks the same, and matches no index.
	UPDATE twtasks.outcome o
	SET due = state.due, until = state.until, task = added.task_id, attempt = state.attempt, spent = state.spent, repeats = state.repeats,
		may_act = state.may_act, uncertain = state.uncertain, step = wanted, first = state.first, verdict = state.verdict,
		fault = state.fault, answer = NULL, problem = NULL
	WHERE o.kind = state.kind AND o.identifier = state.identifier
	  AND num_nulls(o.decided) = 1 AND o.task IS NOT DISTINCT FROM state.task;
	IF NOT FOUND THEN
		-- An intercept function or a trigger of a user has decided it.
		PERFORM twtasks_internal.end_now(ARRAY[added.task_id], '{CANCELLED}', '{its identifier was decided while the step was added}');
		RETURN;
	END IF;
	INSERT INTO twtasks.attempt (started, expires, task, number, kind, identifier, step)
	VALUES (from_when, expires, added.task_id, state.attempt, state.kind, state.identifier, wanted);
END $$;

/*
 * twtasks_internal.add_step(known, state, wanted)
 *
 *		Makes a step the next one of an identifier, if the identifier still waits for
 *		what follows the step of its row.
 *
 * Errors
 *		as put_step()
 *
 * Writes		as leave_step() and put_step()
 */
CREATE FUNCTION twtasks_internal.add_step(known twtasks.kind, state twtasks.outcome, wanted text)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	-- An identifier without a task has just been started.  put_step() sees whether a
	-- function of its kind has decided it since.
	IF state.task IS NULL OR twtasks_internal.leave_step(state) THEN
		PERFORM twtasks_internal.put_step(known, state, wanted);
	END IF;
END $$;
