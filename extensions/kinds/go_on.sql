/*
 * twtasks_internal.wait_of(first, n)
 *
 *		The back-off before attempt n + 1: the first one doubled with each attempt, at
 *		most an hour, and up to 10 % shorter, so that attempts which failed together
 *		are not repeated together.  The first one is 10 ms at least.
 */
CREATE FUNCTION twtasks_internal.wait_of(first interval, n integer)
RETURNS interval
LANGUAGE plpgsql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN least(greatest(first, '10 ms') * power(2, least(greatest(n, 1), 16) - 1), '1 h') * (1 - random() / 10);
END $$;

/*
 * twtasks_internal.expiry_of(known, state)
 *
 *		Returns the decision for an identifier that has expired or is no longer needed.
 *
 * Errors
 *		all errors of on_expiry
 */
CREATE FUNCTION twtasks_internal.expiry_of(known twtasks.kind, state twtasks.outcome)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN CASE WHEN known.on_expiry IS NULL THEN '{"decision": "expired"}'
				ELSE twtasks_internal.call_function('on_expiry', known.on_expiry, 'jsonb', NULL,
													state.event, state.identifier)::jsonb END;
END $$;

/*
 * twtasks_internal.is_over(known, state)
 *
 *		Whether the action of an identifier has expired or is no longer needed.
 *
 * Errors
 *		all errors of still_needed
 */
CREATE FUNCTION twtasks_internal.is_over(known twtasks.kind, state twtasks.outcome)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN coalesce(state.expires <= twtasks.clock(), false)
		OR known.still_needed IS NOT NULL
		AND NOT coalesce(twtasks_internal.call_function('still_needed', known.still_needed, 'boolean', NULL,
														state.event, state.identifier)::boolean, true);
END $$;

/*
 * twtasks_internal.leave(known, state, undo, verdict)
 *
 *		Ends the attempts of an identifier with that decision, after an undo if that
 *		is the name of a step.
 *
 * Writes		as decide() or add_step()
 */
CREATE FUNCTION twtasks_internal.leave(known twtasks.kind, state twtasks.outcome, undo text, verdict jsonb)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF undo IS NULL THEN
		PERFORM twtasks_internal.decide(state, verdict);
	ELSE
		state.verdict := verdict;
		state.due := NULL;
		PERFORM twtasks_internal.add_step(known, state, undo);
	END IF;
END $$;

/*
 * twtasks_internal.act(known, state, wanted)
 *
 *		Adds a step that acts, if the action is still needed and allowed.  If not,
 *		on_expiry or on_fault decides.
 *
 * Errors
 *		55000			no attempt is left, and no function decides; all errors of the kind's
 *						functions
 *
 * Writes		as add_step() or leave()
 */
CREATE FUNCTION twtasks_internal.act(known twtasks.kind, state twtasks.outcome, wanted text)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	undo CONSTANT text := CASE WHEN known.kind = 'optimistic' AND state.task IS NOT NULL THEN 'undo' END;
	verdict jsonb := state.verdict;
BEGIN
	IF verdict IS NOT NULL THEN
		PERFORM twtasks_internal.leave(known, state, undo, verdict);
	ELSIF twtasks_internal.is_over(known, state) THEN
		PERFORM twtasks_internal.leave(known, state, undo, twtasks_internal.expiry_of(known, state));
	ELSIF state.may_act THEN
		PERFORM twtasks_internal.add_step(known, state, wanted);
	ELSE
		verdict := CASE WHEN known.on_fault IS NOT NULL
			THEN twtasks_internal.call_function('on_fault', known.on_fault, 'jsonb', NULL,
												state.event, state.identifier, state.fault)::jsonb END;
		IF verdict IS NULL THEN
			RAISE EXCEPTION 'no attempt is left, and no function decides'
				USING ERRCODE = 'object_not_in_prerequisite_state';
		END IF;
		PERFORM twtasks_internal.leave(known, state, undo, verdict);
	END IF;
END $$;

/*
 * twtasks_internal.spend(known, state)
 *
 *		Counts an attempt that failed: returns the row with the new counts, the time
 *		of the next attempt, and whether it may act.
 *
 * Errors
 *		all errors of retry_function
 */
CREATE FUNCTION twtasks_internal.spend(known twtasks.kind, state twtasks.outcome)
RETURNS twtasks.outcome
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	wait interval;
BEGIN
	state.attempt := state.attempt + 1;
	state.spent := state.spent + 1;
	wait := CASE WHEN known.retry_function IS NULL THEN twtasks_internal.wait_of(known.delay, state.spent)
		ELSE twtasks_internal.call_function('retry_function', known.retry_function, 'interval', NULL,
											state.event, state.identifier, state.spent, state.fault)::interval END;
	state.may_act := wait IS NOT NULL AND (known.attempts IS NULL OR state.spent < known.attempts);
	state.due := twtasks.clock() + wait;
	RETURN state;
END $$;

/*
 * twtasks_internal.settle(known, state, wanted)
 *
 *		Goes on after an undo: decides as was decided before it, or takes the next step
 *		when the first step that was in the way has expired.
 *
 * Writes		as decide() or add_step()
 */
CREATE FUNCTION twtasks_internal.settle(known twtasks.kind, state twtasks.outcome, wanted text)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	-- A completed second step that was in the way may be our own.
	IF state.verdict IS NOT NULL AND state.until IS NULL THEN
		PERFORM twtasks_internal.decide(state, state.verdict);
		RETURN;
	END IF;
	state.attempt := state.attempt + 1;
	state.first := NULL;
	state.due := state.until;
	PERFORM twtasks_internal.add_step(known, state, wanted);
END $$;

/*
 * twtasks_internal.answers_of(state, answer)
 *
 *		Returns how often steps "look" of an identifier have given that answer.
 */
CREATE FUNCTION twtasks_internal.answers_of(state twtasks.outcome, answer text)
RETURNS integer
LANGUAGE sql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT count(*)::integer FROM twtasks.attempt a
	WHERE a.kind = state.kind AND a.identifier = state.identifier AND a.step = 'look' AND a.answer = answers_of.answer
$$;

/*
 * twtasks_internal.look_again_at(known, state, until)
 *
 *		Returns when to look again at a first step that is in the way until that time:
 *		within a day, since a handler may err, and after a pause if the time has passed.
 */
CREATE FUNCTION twtasks_internal.look_again_at(known twtasks.kind, state twtasks.outcome, until timestamptz)
RETURNS timestamptz
LANGUAGE sql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN until > twtasks.clock() + known.delay THEN least(until, twtasks.clock() + interval '1 day')
				ELSE twtasks.clock() + twtasks_internal.wait_of(known.delay, twtasks_internal.answers_of(state, 'blocked')) END
$$;

/*
 * twtasks_internal.is_in_vain(known, state, said)
 *
 *		Whether a step that only looks or undoes has failed often enough: an undo five
 *		times in a row, since what was decided waits for it, a search ten times.  A search
 *		goes on even then until the action has expired, or the search has failed as often
 *		as the action may be attempted.
 */
CREATE FUNCTION twtasks_internal.is_in_vain(known twtasks.kind, state twtasks.outcome, said text)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN said IN ('fault', 'unknown', 'expired') AND CASE state.step
		WHEN 'undo' THEN state.repeats >= 4
		ELSE state.repeats >= 9 AND coalesce(state.expires <= twtasks.clock() OR state.repeats + 1 >= known.attempts, false) END;
END $$;

/*
 * twtasks_internal.stop_search(state, fault)
 *
 *		Leaves the next search in ERROR for a person, since those before it have failed
 *		and nobody knows what was done.
 *
 * Writes		twtasks.task
 */
CREATE FUNCTION twtasks_internal.stop_search(state twtasks.outcome, fault text)
RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT twtasks_internal.end_now(ARRAY[o.task], '{ERROR}', ARRAY[twtasks_internal.cut_message(
		format(twtasks_internal.plural(state.repeats, 'step "%s" has failed %s time, at last: %s', 'step "%s" has failed %s times in a row, at last: %s'),
			   state.step, state.repeats, fault))])
	FROM twtasks.outcome o WHERE o.kind = state.kind AND o.identifier = state.identifier
$$;

/*
 * twtasks_internal.noted(known, state, does, said, told)
 *
 *		Returns the row of an identifier with what an answer says.
 */
CREATE FUNCTION twtasks_internal.noted(
	known twtasks.kind, state twtasks.outcome, does text, said text, told jsonb)
RETURNS twtasks.outcome
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	state.due := NULL;
	-- A person who ends a search lets it begin anew.
	state.repeats := CASE WHEN does = 'repeat' AND said NOT IN ('given_up', 'cut_off') THEN state.repeats + 1 ELSE 0 END;
	IF does = 'repeat' THEN
		state.attempt := state.attempt + 1;
		state.due := twtasks.clock() + twtasks_internal.wait_of(known.delay, state.repeats);
	END IF;
	state.until := CASE WHEN said = 'blocked'
						THEN twtasks_internal.look_again_at(known, state, twtasks_internal.time_of(told->>'until'))
						WHEN state.step = 'undo' THEN state.until END;
	IF said = 'done' AND state.step = 'first' THEN
		state.first := coalesce(told, '{}');
	ELSIF said = 'none' THEN
		-- Our first step has expired, or never came to be: the next one is another.
		IF state.first IS NOT NULL AND twtasks_internal.answers_of(state, 'none') > 1 THEN
			state.due := twtasks.clock() + twtasks_internal.wait_of(known.delay, twtasks_internal.answers_of(state, 'none') - 1);
		END IF;
		state.first := NULL;
		state.attempt := state.attempt + 1;
	ELSIF said IN ('given_up', 'cut_off') THEN
		-- Somebody wants no more actions, but what was done counts first.
		state.verdict := coalesce(state.verdict, told);
	END IF;
	-- Nobody can ask for an action that ended unknown, but its own answer may come.
	state.uncertain := does = 'uncertain' OR known.kind = 'idempotent' AND said IN ('unknown', 'cut_off');
	IF known.kind = 'idempotent' AND said <> 'decided' AND NOT state.uncertain THEN
		state.uncertain := EXISTS (
			SELECT FROM twtasks.attempt a
			WHERE a.kind = state.kind AND a.identifier = state.identifier AND a.answer IN ('unknown', 'cut_off'));
	END IF;
	RETURN state;
END $$;

/*
 * twtasks_internal.go_on(state, said, fault, told)
 *
 *		Does what follows an answer of the step under way, as kind_rule says.
 *
 * Parameters
 *		state			the row of the identifier, which the caller has locked
 *		said			the answer
 *		fault			the fault; NULL: none
 *		told			the outcome that came with it; NULL: none
 *
 * Errors
 *		22023			a function has made no decision
 *		55000			the kind has no rule for the answer, or as act(); all errors of the
 *						kind's functions
 *
 * Writes		as decide() or add_step()
 */
CREATE FUNCTION twtasks_internal.go_on(state twtasks.outcome, said text, fault text, told jsonb)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	known CONSTANT twtasks.kind := twtasks_internal.kind_named(state.kind);
	in_vain CONSTANT boolean := state.repeats > 0 AND twtasks_internal.is_in_vain(known, state, said);
	rule twtasks_internal.kind_rule;
BEGIN
	IF in_vain AND state.step = 'undo' THEN
		-- Not every third party lets a first step be removed.
		PERFORM twtasks_internal.note_anomaly(state.task, 'its first step could not be removed', NULL, fault, told);
		said := 'done';
	END IF;
	SELECT r.* INTO rule FROM twtasks_internal.kind_rule r
	WHERE r.kind = known.kind AND r.step = state.step AND r.answer = said;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'kind % has no rule for answer "%" of step "%"', known.kind, said, state.step
			USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Decide by hand: twtasks.decide_by_hand().';
	END IF;
	state := twtasks_internal.noted(known, state, rule.does, said, told);
	state.fault := coalesce(fault, state.fault);
	IF rule.does = 'again' THEN
		state := twtasks_internal.spend(known, state);
	END IF;
	CASE
	WHEN rule.does = 'act' OR rule.does = 'again' AND rule.next = 'attempt' THEN
		PERFORM twtasks_internal.act(known, state, rule.next);
	WHEN rule.does IN ('next', 'again', 'repeat') THEN
		PERFORM twtasks_internal.add_step(known, state, rule.next);
		IF in_vain AND rule.does = 'repeat' THEN
			PERFORM twtasks_internal.stop_search(state, fault);
		END IF;
	WHEN rule.does IN ('decide', 'adopt') THEN
		PERFORM twtasks_internal.leave(known, state, rule.next, told);
	WHEN rule.does = 'expire' THEN
		PERFORM twtasks_internal.leave(known, state, rule.next, twtasks_internal.expiry_of(known, state));
	WHEN rule.does = 'uncertain' THEN
		PERFORM twtasks_internal.decide(state, twtasks_internal.call_function('on_uncertain', known.on_uncertain, 'jsonb',
			NULL, state.event, state.identifier, (SELECT a.started FROM twtasks.attempt a WHERE a.task = state.task))::jsonb);
	WHEN rule.does = 'settle' THEN
		PERFORM twtasks_internal.settle(known, state, rule.next);
	END CASE;
END $$;
