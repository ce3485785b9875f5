/*
 * twtasks.start(name, event)
 *
 *		Starts the action that an event asks for, in the caller's transaction.  The
 *		kind makes the identifier of the action from the event; each identifier is
 *		started once.
 *
 * Parameters
 *		name		of a kind, as configured by configure_kind()
 *		event		what the handlers get; at most twtasks.max_payload less 2 kB
 *
 * Returns
 *		started				the first step's task is added
 *		already_started		the identifier is under way
 *		already_decided		the identifier has its outcome: see twtasks.outcomes
 *
 * Errors
 *		22004		name or event is NULL
 *		22023		the event lacks a value that the identifier needs, or the identifier
 *					is not valid
 *		23505		an event with other values where the template looks has got the same
 *					identifier, so this one would be lost
 *		25006		read-only transaction, or a standby
 *		40001		REPEATABLE READ, and another transaction has started the identifier or
 *					configured the kind since this one began: start the whole transaction
 *					again
 *		42501		the calling role may not add tasks of the kind's type
 *		42704		the kind is not configured
 *		54000		the event is too large
 *
 *		Errors of the kind's functions pass to the caller.
 *
 * Writes		twtasks.outcome, twtasks.attempt, twtasks.task
 * Locks		waits for a transaction that is starting the same identifier
 * Wakes		after commit one sidecar
 * Example		SELECT twtasks.start('refund', '{"payment": "p-17", "amount": 30}');
 */
CREATE FUNCTION twtasks.start(name text, event jsonb)
RETURNS text
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_as_owner';

/*
 * twtasks_internal.start_as_owner(given)
 *
 *		Does the work of start(), whose parameters are the columns of the row.
 *
 * Writes		as start_kind()
 */
CREATE FUNCTION twtasks_internal.start_as_owner(given record)
RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	known CONSTANT twtasks.kind := twtasks_internal.kind_to_start(given.name);
BEGIN
	PERFORM twtasks_internal.check_allowed(known.type);
	RETURN twtasks_internal.start_kind(known, given.event, 0);
END $$;

/*
 * twtasks_internal.kind_to_start(name)
 *
 *		Returns the kind of that name, for start_kind().
 *
 * Errors
 *		as kind_named()
 *		40001			REPEATABLE READ, and the kind was configured since this transaction
 *						began
 *
 * Locks		the table of kinds: configure_kind() waits for the end of this transaction
 *				before it gives the name another machine or template.  REPEATABLE READ: the
 *				row of the kind, for whose change configure_kind() waits, too
 */
CREATE FUNCTION twtasks_internal.kind_to_start(name text)
RETURNS twtasks.kind
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	LOCK TABLE twtasks.kind IN ROW SHARE MODE;
	IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
		-- The snapshot may be older than the lock on the table.  A lock on a row that was changed since fails.
		PERFORM FROM twtasks.kind k WHERE k.name = kind_to_start.name FOR KEY SHARE SKIP LOCKED;
	END IF;
	RETURN twtasks_internal.kind_named(name);
END $$;

/*
 * twtasks_internal.check_started_event(known, event)
 *
 *		Raises an error unless steps of the kind can carry the event.
 *
 * Errors
 *		22004, 54000		as start()
 */
CREATE FUNCTION twtasks_internal.check_started_event(known twtasks.kind, event jsonb)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- A step adds the identifier, of which a character may take six bytes, and the
	-- outcome of a first step.
	room CONSTANT bigint := pg_size_bytes(current_setting('twtasks.max_payload')) - 2000
		- CASE known.kind WHEN 'optimistic' THEN 8192 ELSE 0 END;
BEGIN
	IF event IS NULL THEN
		RAISE EXCEPTION 'event must not be null'
			USING ERRCODE = 'null_value_not_allowed', HINT = 'Write ''null''::jsonb for an event without content.';
	END IF;
	IF octet_length(event::text) > room THEN
		RAISE EXCEPTION 'event of kind "%" is too large', known.name
			USING ERRCODE = 'program_limit_exceeded',
				DETAIL = format('With the setting twtasks.max_payload an event of this kind has at most %s bytes.', room);
	END IF;
END $$;

/*
 * twtasks_internal.start_kind(known, event, chain)
 *
 *		Does the work of start() for a kind; asks for no rights.
 *
 * Parameters
 *		known			as kind_to_start() returned it
 *		chain			reactions in a row that lead here
 *
 * Returns
 *		as start()
 *
 * Errors
 *		54000			too many reactions lead here; all errors of start()
 *
 * Writes		as start()
 */
CREATE FUNCTION twtasks_internal.start_kind(known twtasks.kind, event jsonb, chain integer)
RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	moment CONSTANT timestamptz := twtasks.clock();
	wanted text;
	state twtasks.outcome;
	rule twtasks_internal.kind_rule;
BEGIN
	PERFORM twtasks_internal.check_started_event(known, event);
	wanted := twtasks_internal.identifier_of(known, event);
	LOOP
		INSERT INTO twtasks.outcome AS o (started, expires, kind, identifier, step, attempt, event, chain)
		VALUES (moment, moment + known.expires, known.name, wanted, 'start', 1, start_kind.event, start_kind.chain)
		ON CONFLICT ON CONSTRAINT outcome_pkey DO NOTHING
		RETURNING o.* INTO state;
		EXIT WHEN FOUND;
		SELECT o.* INTO state FROM twtasks.outcome o WHERE o.kind = known.name AND o.identifier = wanted;
		IF FOUND AND NOT twtasks_internal.is_same_action(known, event, state.event) THEN
			RAISE EXCEPTION 'identifier "%" of kind "%" stands for another event', wanted, known.name
				USING ERRCODE = 'unique_violation',
					DETAIL = format('Events with other values make the same identifier by the template "%s".', known.identifier),
					HINT = 'Start the event under a kind whose function or template keeps such values apart.';
		ELSIF FOUND THEN
			RETURN CASE WHEN state.decided IS NOT NULL THEN 'already_decided' ELSE 'already_started' END;
		END IF;
	END LOOP;
	-- Kinds that start each other in a circle would never end.
	IF chain > 100 THEN
		RAISE EXCEPTION 'outcomes have started each other 100 times in a row'
			USING ERRCODE = 'program_limit_exceeded', DETAIL = format('The next one is "%s" of kind "%s".', wanted, known.name),
				HINT = 'Remove a reaction with on_outcome(..., ''none''), or let its function return NULL; start() begins a new row.';
	END IF;
	IF known.kind = 'to_do' THEN
		UPDATE twtasks.outcome o SET read_model = twtasks_internal.read_model_of(known, start_kind.event)
		WHERE o.kind = known.name AND o.identifier = wanted;
	END IF;
	SELECT r.* INTO STRICT rule FROM twtasks_internal.kind_rule r
	WHERE r.kind = known.kind AND r.step = 'start' AND r.answer = 'started';
	IF rule.does = 'act' AND (known.still_needed IS NOT NULL OR state.expires <= twtasks.clock()) THEN
		PERFORM twtasks_internal.act(known, state, rule.next);
	ELSE
		PERFORM twtasks_internal.put_step(known, state, rule.next);
	END IF;
	RETURN 'started';
END $$;
