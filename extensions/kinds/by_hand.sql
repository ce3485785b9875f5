/*
 * twtasks.decide_by_hand(name, identifier, decision, reason)
 *
 *		Gives an undecided identifier its outcome, because a person knows it.  The step
 *		under way ends; a result that its handler still reports becomes an anomaly.
 *		Look at the third party first.
 *
 * Parameters
 *		name, identifier	the kind and the identifier
 *		decision			an object with the text "decision"
 *		reason				why, for the history of the step's task
 *
 * Returns
 *		false: it was decided already, and nothing is changed
 *
 * Errors
 *		22004			a parameter is NULL
 *		22023			decision is no such object
 *		42704			the kind is not configured, or has no such identifier
 *
 * Writes		twtasks.outcome, twtasks.task, twtasks.finished_task, and as start()
 * Locks		rows of the identifier and its task
 * Example		SELECT twtasks.decide_by_hand('payment', 'payment-17', '{"decision": "paid"}', 'Ann of the bank says so');
 */
CREATE FUNCTION twtasks.decide_by_hand(name text, identifier text, decision jsonb, reason text)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	known CONSTANT twtasks.kind := twtasks_internal.kind_named(name);
	state twtasks.outcome;
BEGIN
	IF identifier IS NULL OR decision IS NULL OR reason IS NULL THEN
		RAISE EXCEPTION 'identifier, decision and reason must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	state := twtasks_internal.lock_item(known.name, identifier);
	IF state.decided IS NOT NULL THEN
		RETURN false;
	END IF;
	PERFORM twtasks_internal.end_item(state, 'CANCELLED', reason, decision, twtasks_internal.author());
	RETURN true;
END $$;

/*
 * twtasks.close_anomalies(name, identifier, reason)
 *
 *		Closes the open anomalies of an identifier, after a person has compared them
 *		with its outcome.
 *
 * Parameters
 *		name, identifier	the kind and the identifier
 *		reason				what was found
 *
 * Returns
 *		number of anomalies
 *
 * Errors
 *		22004			a parameter is NULL
 *		42704			the kind is not configured
 *
 * Writes		twtasks.anomaly
 * Example		SELECT twtasks.close_anomalies('fax', 'fax-17', 'the client has it');
 */
CREATE FUNCTION twtasks.close_anomalies(name text, identifier text, reason text)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	known CONSTANT twtasks.kind := twtasks_internal.kind_named(name);
	n bigint;
BEGIN
	IF identifier IS NULL OR reason IS NULL THEN
		RAISE EXCEPTION 'identifier and reason must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	UPDATE twtasks.anomaly a
	SET closed = twtasks.clock(), closed_by = twtasks_internal.author(), reason = close_anomalies.reason
	WHERE a.kind = known.name AND a.identifier = close_anomalies.identifier AND a.closed IS NULL;
	GET DIAGNOSTICS n = ROW_COUNT;
	RETURN n;
END $$;

/*
 * twtasks.forget_outcomes(name, older_than)
 *
 *		Removes decided identifiers whose decision is older, with their attempts and
 *		anomalies.  A forgotten identifier can be started again, and its action would
 *		happen again.  An identifier stays while the history has one of its tasks, a
 *		reaction to its outcome has not succeeded, or an anomaly of it is open.
 *
 * Returns
 *		number of identifiers
 *
 * Errors
 *		22004			a parameter is NULL
 *		42704			the kind is not configured
 *
 * Writes		twtasks.outcome, twtasks.attempt, twtasks.anomaly
 * Example		SELECT twtasks.forget_outcomes('payment', '2 years');
 */
CREATE FUNCTION twtasks.forget_outcomes(name text, older_than interval)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	known CONSTANT twtasks.kind := twtasks_internal.kind_named(name);
	forgotten bigint;
BEGIN
	IF older_than IS NULL THEN
		RAISE EXCEPTION 'older_than must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	WITH old AS (
		DELETE FROM twtasks.outcome o
		WHERE o.kind = known.name AND o.decided < (SELECT twtasks.clock()) - older_than AND o.reacted
		  AND NOT EXISTS (SELECT FROM twtasks.anomaly a
						  WHERE a.kind = o.kind AND a.identifier = o.identifier AND a.closed IS NULL)
		  AND NOT EXISTS (SELECT FROM twtasks.attempt a JOIN twtasks.finished_task f ON f.id = a.task
						  WHERE a.kind = o.kind AND a.identifier = o.identifier)
		RETURNING o.kind, o.identifier),
	attempts AS (
		DELETE FROM twtasks.attempt a USING old WHERE a.kind = old.kind AND a.identifier = old.identifier),
	anomalies AS (
		DELETE FROM twtasks.anomaly a USING old WHERE a.kind = old.kind AND a.identifier = old.identifier)
	SELECT count(*) INTO forgotten FROM old;
	RETURN forgotten;
END $$;
