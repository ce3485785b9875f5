/*
 * twtasks_internal.time_of(value)
 *
 *		Returns the time that a text names; NULL if it names none, or one without end.
 */
CREATE FUNCTION twtasks_internal.time_of(value text)
RETURNS timestamptz
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN CASE WHEN isfinite(value::timestamptz) THEN value::timestamptz END;
EXCEPTION WHEN data_exception THEN
	RETURN NULL;
END $$;

/*
 * twtasks_internal.looked(told)
 *
 *		Returns the answer of a step "look".  A second step that was completed under a
 *		first step which has not expired belongs to somebody who is still at work.
 */
CREATE FUNCTION twtasks_internal.looked(told jsonb)
RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	until CONSTANT timestamptz := twtasks_internal.time_of(told->>'until');
BEGIN
	RETURN CASE
		WHEN told->>'look' IN ('own', 'none') THEN told->>'look'
		WHEN told->>'look' = 'completed' AND told->>'until' IS NULL THEN 'completed'
		WHEN (told->>'look' IN ('completed', 'blocked')) IS NOT TRUE OR until IS NULL THEN 'unknown'
		WHEN told->>'look' = 'blocked' OR until > twtasks.clock() THEN 'blocked'
		ELSE 'completed' END;
END $$;

/*
 * twtasks_internal.said_of(step, told)
 *
 *		Returns the answer of a step whose handler has come to its end.  A handler that
 *		contradicts itself, or whose decision is no text, says nothing that is known.
 */
CREATE FUNCTION twtasks_internal.said_of(step text, told jsonb)
RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN CASE
		WHEN told ? 'fault' THEN CASE WHEN told ? 'decision' OR jsonb_typeof(told->'fault') NOT IN ('string', 'number') THEN 'unknown'
									  ELSE 'fault' END
		WHEN step IN ('first', 'undo') THEN 'done'
		-- answer_to_do() alone answers an item, by contract and decide.
		WHEN step = 'answer' THEN 'unknown'
		WHEN told ? 'decision' AND NOT twtasks_internal.is_decision(told) THEN 'unknown'
		WHEN step = 'find' THEN CASE WHEN told->'found' = 'false' THEN CASE WHEN told ? 'decision' THEN 'unknown' ELSE 'not_found' END
									 WHEN told ? 'decision' THEN 'decided' ELSE 'unknown' END
		WHEN step = 'look' THEN twtasks_internal.looked(told)
		ELSE 'decided' END;
END $$;

/*
 * twtasks_internal.answer_of(step, ended)
 *
 *		Reads the end of a step's task.
 *
 * Returns
 *		said			the answer, as kind_rule names it
 *		fault			the fault; NULL: none
 *		told			the outcome of the step; for a decision with the text "decision"
 */
CREATE FUNCTION twtasks_internal.answer_of(
	step text, ended twtasks.ended_task, OUT said text, OUT fault text, OUT told jsonb)
RETURNS record
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	told := coalesce(ended.outcome, '{}');
	-- Many languages write null for what is not there.
	IF told->'fault' = 'null' THEN
		told := told - 'fault';
	END IF;
	IF told->'decision' = 'null' THEN
		told := told - 'decision';
	END IF;
	said := CASE
		-- A task that expires has never run; a person fails only what has, or a search in vain.
		WHEN ended.status = 'FAILED' AND ended.tries = 0 AND step NOT IN ('find', 'look') THEN 'expired'
		WHEN ended.status = 'CANCELLED' AND ended.tries > 0 THEN 'cut_off'
		WHEN ended.status IN ('FAILED', 'CANCELLED') THEN 'given_up'
		WHEN ended.status = 'ERROR' AND NOT told ? 'fault' THEN 'unknown'
		ELSE twtasks_internal.said_of(step, told) END;
	-- One condition with EXISTS would be planned and executed for each answer.
	IF said IN ('expired', 'given_up') THEN
		-- An earlier run of this task may have acted, also one whose answer was lost.
		IF EXISTS (SELECT FROM twtasks.attempt a
				   WHERE a.task = ended.id AND (a.answer IN ('unknown', 'cut_off') OR a.answer IS NULL AND ended.tries > 0)) THEN
			said := CASE said WHEN 'expired' THEN 'unknown' ELSE 'cut_off' END;
		END IF;
	END IF;
	fault := CASE said WHEN 'fault' THEN told->>'fault'
					   WHEN 'unknown' THEN coalesce(ended.error, ended.message, format('step %s gave no answer that is known', step)) END;
	IF said IN ('given_up', 'cut_off') THEN
		told := jsonb_build_object('decision', lower(ended.status::text));
	ELSIF said IN ('decided', 'completed') AND NOT told ? 'decision' THEN
		told := told || '{"decision": "done"}';
	END IF;
END $$;

/*
 * twtasks_internal.keep_answer(state, said, fault, told, problem, pause)
 *
 *		Keeps an answer that could not be followed, for duty_follow_answers().
 *
 * Writes		twtasks.outcome
 */
CREATE FUNCTION twtasks_internal.keep_answer(
	state twtasks.outcome, said text, fault text, told jsonb, problem text, pause interval)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	state.answer := jsonb_build_object('said', said, 'fault', fault, 'told', told);
	state.problem := twtasks_internal.cut_message(problem);
	state.due := twtasks.clock() + pause;
	state.fault := coalesce(fault, state.fault);
	PERFORM twtasks_internal.keep_outcome(state);
END $$;

/*
 * twtasks_internal.follow(state, said, fault, told, until)
 *
 *		Does what follows an answer.  If that fails, or the time is over, keeps the
 *		answer: the end of a task must not fail, or a person would have to find out what
 *		its handler has done.
 *
 * Writes		as go_on()
 */
CREATE FUNCTION twtasks_internal.follow(
	state twtasks.outcome, said text, fault text, told jsonb, until timestamptz)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	done record;
BEGIN
	IF clock_timestamp() > until THEN
		PERFORM twtasks_internal.keep_answer(state, said, fault, told, 'functions for other identifiers took too long', '3 s');
		RETURN;
	END IF;
	done := twtasks_internal.try_call('twtasks_internal.go_on', state, said, fault, told);
	IF done.state IS NOT NULL THEN
		PERFORM twtasks_internal.keep_answer(state, said, fault, told, done.error, twtasks_internal.pause_after(done.state));
	END IF;
END $$;

/*
 * twtasks_internal.note_anomaly(task, what, result, message, told)
 *
 *		Keeps a result that counts no more, if it is a step's.
 *
 * Writes		twtasks.anomaly
 */
CREATE FUNCTION twtasks_internal.note_anomaly(task uuid, what text, result text, message text, told jsonb)
RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	INSERT INTO twtasks.anomaly (seen, task, number, kind, identifier, step, what, result, message, outcome)
	SELECT twtasks.clock(), a.task, a.number, a.kind, a.identifier, a.step,
		   note_anomaly.what, note_anomaly.result, twtasks_internal.cut_message(note_anomaly.message), note_anomaly.told
	FROM twtasks.attempt a WHERE a.task = note_anomaly.task
$$;

/*
 * twtasks_internal.end_step(ended, until)
 *
 *		Moves the identifier of an ended step on, until that time.  The caller has
 *		locked its row.
 *
 * Writes		twtasks.attempt, twtasks.anomaly, and as go_on()
 */
CREATE FUNCTION twtasks_internal.end_step(ended twtasks.ended_task, until timestamptz)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	state twtasks.outcome;
	end_of record;
BEGIN
	-- A condition on decided would let a planner without statistics read all undecided
	-- identifiers, by outcome_undecided.
	SELECT o.* INTO state FROM twtasks.outcome o WHERE o.task = ended.id;
	IF NOT FOUND OR state.decided IS NOT NULL THEN
		PERFORM twtasks_internal.note_anomaly(ended.id, 'a step ended again', ended.status::text, ended.message, ended.outcome)
		WHERE ended.status IN ('DONE', 'ERROR');
		RETURN;
	END IF;
	end_of := twtasks_internal.answer_of(state.step, ended);
	UPDATE twtasks.attempt a
	SET started = coalesce(end_step.ended.started, a.started), ended = end_step.ended.state_time, answer = end_of.said, fault = end_of.fault
	WHERE a.task = ended.id;
	PERFORM twtasks_internal.follow(state, end_of.said, end_of.fault, end_of.told, until);
END $$;

/*
 * twtasks_internal.end_steps(ended)
 *
 *		Moves identifiers on when their steps have ended, in the transaction that ends
 *		the tasks.  on_end of the types of all kinds.
 *
 * Errors
 *		40001			the time is over, which a lock on a table of kinds can cause
 *
 * Writes		as end_step()
 * Locks		rows of identifiers, in their order
 * Wakes		after commit one sidecar
 */
CREATE FUNCTION twtasks_internal.end_steps(ended twtasks.ended_task[])
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off
AS $$
DECLARE
	-- A function that is cut off at the time limit is the last one to run.
	half CONSTANT timestamptz := clock_timestamp() + current_setting('twtasks.function_timeout')::interval / 2;
	until timestamptz := 'infinity';		-- the first one has waited for no other, however slow the machine is
	task twtasks.ended_task;
BEGIN
	-- A join lets a planner without statistics read all undecided identifiers.
	PERFORM FROM twtasks.outcome o WHERE o.task = ANY (ARRAY(SELECT e.id FROM unnest(ended) e))
	ORDER BY o.kind, o.identifier FOR UPDATE;
	FOREACH task IN ARRAY ended LOOP
		PERFORM twtasks_internal.end_step(task, until);
		until := half;
	END LOOP;
EXCEPTION WHEN query_canceled OR lock_not_available THEN
	IF SQLSTATE = '57014' AND NOT twtasks_internal.time_is_over() THEN
		RAISE;
	END IF;
	-- With any other error the tasks would be in ERROR, and their outcomes lost.
	RAISE EXCEPTION 'identifiers are locked, or the time is over' USING ERRCODE = 'serialization_failure',
		DETAIL = SQLERRM, HINT = 'The results can be reported again.';
END $$;

/*
 * twtasks_internal.late_results_of_steps(late)
 *
 *		Keeps results that came after the end of their attempt was given up.  The core
 *		calls it with results that it has refused.
 *
 * Writes		twtasks.anomaly
 */
CREATE FUNCTION twtasks_internal.late_results_of_steps(late twtasks.late_result[])
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	-- A result that was stored comes again when its sidecar did not hear so.
	PERFORM twtasks_internal.note_anomaly(l.id, 'the result came too late', l.result, l.message, l.outcome)
	FROM unnest(late) l JOIN twtasks.attempt a ON a.task = l.id
	WHERE a.answer IS NULL OR a.answer IN ('unknown', 'given_up', 'cut_off');
END $$;

/*
 * twtasks_internal.follow_again(state)
 *
 *		Does again what failed for an identifier.  The caller has locked its row.
 *
 * Writes		twtasks.outcome, and as go_on()
 */
CREATE FUNCTION twtasks_internal.follow_again(state twtasks.outcome)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	task twtasks.task;
BEGIN
	IF state.decided IS NOT NULL THEN
		PERFORM twtasks_internal.start_reactions(state);
		RETURN;
	END IF;
	SELECT t.* INTO task FROM twtasks.task t WHERE t.id = state.task FOR UPDATE SKIP LOCKED;
	IF FOUND AND task.status = 'HELD' THEN
		UPDATE twtasks.outcome o SET due = twtasks.clock() + interval '3 s'
		WHERE o.kind = state.kind AND o.identifier = state.identifier;
	ELSIF FOUND AND task.status <> 'ERROR' THEN
		-- A person has resumed the step, so its next end counts.
		state.answer := NULL;
		state.problem := NULL;
		PERFORM twtasks_internal.keep_outcome(state);
	ELSIF FOUND OR NOT EXISTS (SELECT FROM twtasks.task t WHERE t.id = state.task) THEN
		PERFORM twtasks_internal.follow(state, state.answer->>'said', state.answer->>'fault', state.answer->'told', 'infinity');
	END IF;
END $$;

/*
 * twtasks_internal.duty_follow_answers()
 *
 *		The duty of this extension: does again what failed, mostly a function of a
 *		kind or a reaction.  See run_duties().
 *
 * Returns
 *		milliseconds until the next call
 *
 * Writes		as follow_again()
 */
CREATE FUNCTION twtasks_internal.duty_follow_answers()
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	until CONSTANT timestamptz := clock_timestamp() + interval '200 ms';
	has_solved boolean := false;
	state twtasks.outcome;
	done record;
BEGIN
	-- A problem that stays goes behind the others.
	FOR state IN
		SELECT o.* FROM twtasks.outcome o WHERE o.problem IS NOT NULL AND o.due <= (SELECT twtasks.clock())
		ORDER BY o.due LIMIT 1000 FOR UPDATE SKIP LOCKED
	LOOP
		done := twtasks_internal.try_call('twtasks_internal.follow_again', state);
		IF done.state IS NOT NULL THEN
			RAISE WARNING 'identifier "%" of kind "%" cannot go on: %', state.identifier, state.kind, done.error
				USING ERRCODE = done.state;
		END IF;
		has_solved := has_solved OR EXISTS (
			SELECT FROM twtasks.outcome o
			WHERE o.kind = state.kind AND o.identifier = state.identifier AND o.problem IS NULL);
		EXIT WHEN clock_timestamp() > until;
	END LOOP;
	RETURN CASE WHEN has_solved THEN 0 ELSE 3000 END;
END $$;
