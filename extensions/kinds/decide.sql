/*
 * twtasks.on_outcome(kind, decision, then_kind, event_function)
 *
 *		Lets the outcomes of a kind start another kind, in the same transaction.  If
 *		that fails, the outcome stays, and the sidecars try again every few seconds.
 *		After 100 reactions in a row the next one fails, since kinds may start each other
 *		in a circle.
 *
 * Parameters
 *		kind			name of the kind whose outcomes count
 *		decision		the decision that counts; *: any
 *		then_kind		name of the kind that is started
 *		event_function	a function (event jsonb, identifier text, outcome jsonb) returns
 *						jsonb, the event; if it returns NULL, nothing starts.  NULL: the event
 *						is {"identifier", "event", "outcome"}.  'none' removes the reaction
 *
 * Errors
 *		22004			kind, decision or then_kind is NULL
 *		22023			the function does not fix its search_path
 *		42501			the caller may not name functions, as for configure_kind()
 *		42704			a kind is not configured
 *		42883			the function does not exist
 *
 * Writes		twtasks.reaction
 * Example		SELECT twtasks.on_outcome('payment', 'paid', 'shipment');
 */
CREATE FUNCTION twtasks.on_outcome(
	kind text,
	decision text,
	then_kind text,
	event_function text DEFAULT NULL)
RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_as_owner';

/*
 * twtasks_internal.on_outcome_as_owner(given)
 *
 *		Does the work of on_outcome(), whose parameters are the columns of the row.
 *
 * Writes		twtasks.reaction
 */
CREATE FUNCTION twtasks_internal.on_outcome_as_owner(given record)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF given.decision IS NULL THEN
		RAISE EXCEPTION 'decision must not be null' USING ERRCODE = 'null_value_not_allowed', HINT = '* is any decision.';
	END IF;
	PERFORM twtasks_internal.kind_named(given.kind), twtasks_internal.kind_named(given.then_kind);
	IF given.event_function = 'none' THEN
		DELETE FROM twtasks.reaction r
		WHERE (r.kind, r.decision, r.then_kind) = (given.kind, given.decision, given.then_kind);
		RETURN;
	END IF;
	PERFORM twtasks_internal.check_may_name(given.event_function),
			twtasks_internal.check_function('event_function', given.event_function, '{jsonb,text,jsonb}', 'jsonb');
	INSERT INTO twtasks.reaction AS r
	VALUES (given.kind, given.decision, given.then_kind, given.event_function, clock_timestamp(), twtasks_internal.author())
	ON CONFLICT ON CONSTRAINT reaction_pkey DO UPDATE SET
		event_function = EXCLUDED.event_function, changed_at = EXCLUDED.changed_at, changed_by = EXCLUDED.changed_by;
END $$;

/*
 * twtasks_internal.pause_after(state)
 *
 *		Returns the time until something that failed with that SQLSTATE is done again.
 *		A function that took too long takes the time of others.
 */
CREATE FUNCTION twtasks_internal.pause_after(state text)
RETURNS interval
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT CASE WHEN state = '53400' THEN interval '30 s' ELSE interval '3 s' END $$;

/*
 * twtasks_internal.start_reaction(state, reaction)
 *
 *		Starts what one reaction starts.
 *
 * Errors
 *		all errors of its function, and as start()
 *
 * Writes		as start()
 */
CREATE FUNCTION twtasks_internal.start_reaction(state twtasks.outcome, reaction twtasks.reaction)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	wanted CONSTANT jsonb := CASE WHEN reaction.event_function IS NULL
		THEN jsonb_build_object('identifier', state.identifier, 'event', state.event, 'outcome', state.outcome)
		ELSE twtasks_internal.call_function('event_function', reaction.event_function, 'jsonb', NULL,
											state.event, state.identifier, state.outcome)::jsonb END;
BEGIN
	IF wanted IS NOT NULL THEN
		PERFORM twtasks_internal.start_kind(twtasks_internal.kind_to_start(reaction.then_kind), wanted, state.chain + 1);
	END IF;
END $$;

/*
 * twtasks_internal.start_reactions(state)
 *
 *		Starts what an outcome starts.  Kinds that it has started already stay as they
 *		are, so the function may be called again.  A reaction that fails stops no other,
 *		nor the outcome.  Locks are waited for only shortly, since the end of a task
 *		waits for this.
 *
 * Writes		twtasks.outcome, and as start()
 */
CREATE FUNCTION twtasks_internal.start_reactions(state twtasks.outcome)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '200ms'
AS $$
DECLARE
	reaction twtasks.reaction;
	done record;
	error text;			-- by the last reaction that failed; NULL: none
	state_of_error text;
BEGIN
	FOR reaction IN
		SELECT r.* FROM twtasks.reaction r
		WHERE r.kind = state.kind AND r.decision IN (state.decision, '*') ORDER BY r.then_kind, r.decision
	LOOP
		done := twtasks_internal.try_call('twtasks_internal.start_reaction', state, reaction);
		IF done.state IS NOT NULL THEN
			state_of_error := done.state;
			error := done.error;
		END IF;
	END LOOP;
	IF error IS NOT NULL OR NOT state.reacted THEN
		UPDATE twtasks.outcome o
		SET reacted = error IS NULL, problem = twtasks_internal.cut_message(error),
			due = CASE WHEN error IS NOT NULL THEN twtasks.clock() + twtasks_internal.pause_after(state_of_error) END
		WHERE o.kind = state.kind AND o.identifier = state.identifier;
	END IF;
END $$;

/*
 * twtasks_internal.is_decision(verdict)
 *
 *		Whether it is an object with the text "decision".
 */
CREATE FUNCTION twtasks_internal.is_decision(verdict jsonb)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN coalesce(jsonb_typeof(verdict) = 'object' AND jsonb_typeof(verdict->'decision') = 'string'
					AND octet_length(verdict->>'decision') BETWEEN 1 AND 250, false);
END $$;

/*
 * twtasks_internal.decide(state, verdict, by)
 *
 *		Gives an identifier its outcome, and starts what that starts.  Nothing changes if
 *		the identifier is no longer under way.
 *
 * Parameters
 *		verdict			an object with the text "decision"
 *		by				the person who decided; NULL: no person
 *
 * Errors
 *		22023			verdict is no such object
 *
 * Writes		twtasks.outcome, and as start()
 */
CREATE FUNCTION twtasks_internal.decide(state twtasks.outcome, verdict jsonb, by text DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF NOT twtasks_internal.leave_step(state) THEN
		RETURN;
	ELSIF NOT twtasks_internal.is_decision(verdict) THEN
		RAISE EXCEPTION 'a decision must be an object with the text "decision"'
			USING ERRCODE = 'invalid_parameter_value', DETAIL = format('It is %s.', coalesce(left(verdict::text, 200), 'null'));
	END IF;
	state.decided := twtasks.clock();
	state.decision := verdict->>'decision';
	state.outcome := verdict;
	state.decided_by := by;
	state.task := NULL;
	state.first := NULL;
	state.verdict := NULL;
	state.due := NULL;
	state.until := NULL;
	state.answer := NULL;
	state.problem := NULL;
	PERFORM twtasks_internal.keep_outcome(state);
	IF EXISTS (SELECT FROM twtasks.reaction r WHERE r.kind = state.kind) THEN
		PERFORM twtasks_internal.start_reactions(state);
	END IF;
END $$;
