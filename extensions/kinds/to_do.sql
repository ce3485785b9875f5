/*
 * twtasks_internal.check_may_see(known, what)
 *
 *		Raises an error unless the caller is a member of a role that may read or answer
 *		the items of a kind.
 *
 * Errors
 *		22023			the kind is not to_do
 *		42501			the caller is a member of none
 */
CREATE FUNCTION twtasks_internal.check_may_see(known twtasks.kind, what text)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF known.kind <> 'to_do' THEN
		RAISE EXCEPTION 'kind "%" has no to-do items', known.name
			USING ERRCODE = 'invalid_parameter_value', DETAIL = format('It is %s.', known.kind);
	END IF;
	IF NOT pg_has_role(twtasks_internal.caller(), twtasks_internal.owner(), 'USAGE')
		AND NOT EXISTS (SELECT FROM twtasks.item_role i
						WHERE i.kind = known.name AND i.may = what AND pg_has_role(twtasks_internal.caller(), i.role, 'USAGE')) THEN
		RAISE EXCEPTION 'permission denied to % to-do items of kind "%"', what, known.name
			USING ERRCODE = 'insufficient_privilege', HINT = 'configure_kind() names the roles that may.';
	END IF;
END $$;

/*
 * twtasks_internal.read_model_of(known, event)
 *
 *		Returns what people read about an item.
 *
 * Errors
 *		all errors of read_model
 */
CREATE FUNCTION twtasks_internal.read_model_of(known twtasks.kind, event jsonb)
RETURNS jsonb
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN known.read_model IS NULL THEN event
				ELSE twtasks_internal.call_function('read_model', known.read_model, 'jsonb', NULL, event)::jsonb END
$$;

/*
 * twtasks.read_to_do(name, item)
 *
 *		Returns open to-do items, the oldest first.
 *
 * Parameters
 *		name			of the kind
 *		item			identifier of one item; NULL: all
 *
 * Returns
 *		identifier		of the item
 *		read_model		what the kind shows of it
 *		started			time of start()
 *		expires			time from which it is not needed any more; NULL: none
 *
 * Errors
 *		22004			name is NULL
 *		22023			the kind is not to_do
 *		42501			the caller is a member of none of the kind's readers
 *		42704			the kind is not configured
 *
 * Locks		none
 * Example		SELECT * FROM twtasks.read_to_do('approval');
 */
CREATE FUNCTION twtasks.read_to_do(
	name text,
	item text DEFAULT NULL,
	OUT identifier text,
	OUT read_model jsonb,
	OUT started timestamptz,
	OUT expires timestamptz)
RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 100
AS 'MODULE_PATHNAME', 'twt_as_owner';

/*
 * twtasks_internal.read_to_do_as_owner(given)
 *
 *		Does the work of read_to_do(), whose parameters are the columns of the row.
 */
CREATE FUNCTION twtasks_internal.read_to_do_as_owner(
	given record, OUT identifier text, OUT read_model jsonb, OUT started timestamptz, OUT expires timestamptz)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	known CONSTANT twtasks.kind := twtasks_internal.kind_named(given.name);
BEGIN
	PERFORM twtasks_internal.check_may_see(known, 'read');
	RETURN QUERY
	SELECT o.identifier::text, o.read_model, o.started, o.expires FROM twtasks.outcome o
	WHERE o.kind = known.name AND o.decided IS NULL
	  AND (given.item IS NULL OR o.identifier = given.item)
	ORDER BY o.started, o.identifier;
END $$;

/*
 * twtasks.answer_to_do(name, identifier, data)
 *
 *		Answers a to-do item.  The kind's decide function makes the outcome of the read
 *		model and the data, and sees nothing else.  An item has one outcome, ever.
 *
 * Parameters
 *		name			of the kind
 *		identifier		of the item; NULL: the kind makes it from data, as from an event
 *		data			the answer
 *
 * Returns
 *		result			decided; already_decided, by an earlier answer or otherwise;
 *						expired: the item was not needed any more
 *		outcome			the outcome of the item
 *
 * Errors
 *		22004			name or data is NULL
 *		22023			the kind is not to_do, data does not fulfil the contract, or decide
 *						makes no decision of it; the item stays open
 *		40001			REPEATABLE READ, and another transaction has changed the item since
 *						this one began: start the whole transaction again
 *		42501			the caller is a member of none of the kind's answerers
 *		42704			the kind is not configured, or there is no such item
 *		53400			the kind's functions took longer than twtasks.function_timeout
 *
 *		Errors of the kind's functions pass to the caller, except that 42501 and 42704
 *		become 38000.
 *
 * Writes		twtasks.outcome, twtasks.task, twtasks.finished_task, and as start()
 * Locks		rows of the item and its task
 * Example		SELECT * FROM twtasks.answer_to_do('approval', 'refund-17', '{"approved": true}');
 */
CREATE FUNCTION twtasks.answer_to_do(
	name text, identifier text, data jsonb, OUT result text, OUT outcome jsonb)
RETURNS record
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_as_owner';

/*
 * twtasks_internal.decide_alone(known, read_model, data)
 *
 *		Returns the decision of decide, which runs as a role without rights and cannot
 *		write.
 *
 * Errors
 *		22023			data does not fulfil the contract, or there is no decision; all
 *						errors of the functions
 */
CREATE FUNCTION twtasks_internal.decide_alone(known twtasks.kind, read_model jsonb, data jsonb)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	verdict jsonb;
BEGIN
	IF known.contract IS NOT NULL AND NOT coalesce(
		twtasks_internal.call_function('contract', known.contract, 'boolean', NULL, data)::boolean, false) THEN
		RAISE EXCEPTION 'data does not fulfil the contract of kind "%"', known.name USING ERRCODE = 'invalid_parameter_value';
	END IF;
	verdict := twtasks_internal.call_function('decide', known.decide, 'jsonb', 'twtasks_nobody', read_model, data)::jsonb;
	IF verdict IS NULL THEN
		RAISE EXCEPTION 'function "%" makes no decision of the data', known.decide USING ERRCODE = 'invalid_parameter_value';
	END IF;
	RETURN verdict;
END $$;

/*
 * twtasks_internal.lock_item(name, identifier)
 *
 *		Returns the row of an item, locked.  The task's row is locked first, as by those
 *		who end the task.
 *
 * Errors
 *		42704			there is no such item
 *
 * Locks		rows of the item and its task
 */
CREATE FUNCTION twtasks_internal.lock_item(name text, identifier text)
RETURNS twtasks.outcome
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	state twtasks.outcome;
BEGIN
	PERFORM FROM twtasks.task t
	WHERE t.id = (SELECT o.task FROM twtasks.outcome o
				  WHERE o.kind = name AND o.identifier = lock_item.identifier) FOR UPDATE;
	SELECT o.* INTO state FROM twtasks.outcome o
	WHERE o.kind = name AND o.identifier = lock_item.identifier FOR UPDATE;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'kind "%" has no identifier "%"', name, twtasks_internal.shown(identifier) USING ERRCODE = 'undefined_object';
	END IF;
	RETURN state;
END $$;

/*
 * twtasks_internal.end_item(state, status, reason, verdict, by)
 *
 *		Decides for an identifier, and ends its live step.
 *
 * Writes		twtasks.attempt, twtasks.task, twtasks.finished_task, and as decide()
 */
CREATE FUNCTION twtasks_internal.end_item(
	state twtasks.outcome, status twtasks.task_status, reason text, verdict jsonb, by text)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM twtasks_internal.end_now(ARRAY[t.id], ARRAY[end_item.status], ARRAY[reason])
	FROM twtasks.task t WHERE t.id = state.task;
	UPDATE twtasks.attempt a
	SET ended = twtasks.clock(), answer = CASE end_item.status WHEN 'DONE' THEN 'decided' WHEN 'FAILED' THEN 'expired' ELSE 'given_up' END
	WHERE a.task = state.task AND a.ended IS NULL;
	state.uncertain := false;
	PERFORM twtasks_internal.decide(state, verdict, by);
END $$;

/*
 * twtasks_internal.verdict_of(known, state, data)
 *
 *		Asks the functions of a kind about an answer.
 *
 * Returns
 *		an object with the decision, and whether the item was not needed any more
 *
 * Errors
 *		all errors of the functions, and as decide_alone()
 */
CREATE FUNCTION twtasks_internal.verdict_of(known twtasks.kind, state twtasks.outcome, data jsonb)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	is_over CONSTANT boolean := twtasks_internal.is_over(known, state);
BEGIN
	RETURN jsonb_build_object('is_over', is_over, 'verdict',
		CASE WHEN is_over THEN twtasks_internal.expiry_of(known, state)
			 ELSE twtasks_internal.decide_alone(known, state.read_model, data) END);
END $$;

/*
 * twtasks_internal.told_in_time(known, done)
 *
 *		Returns what functions of a kind have told by try_call(), which gives them
 *		twtasks.function_timeout: the item is locked, and others wait for the session.
 *
 * Errors
 *		38000			a function raised an error with an SQLSTATE by which answer_to_do()
 *						speaks of its caller or of the item
 *		53400			the functions took too long; all other errors of theirs
 */
CREATE FUNCTION twtasks_internal.told_in_time(known twtasks.kind, done record)
RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF done.state IS NOT NULL THEN
		RAISE EXCEPTION '%', done.error
			USING ERRCODE = CASE WHEN done.state IN ('42501', '42704') THEN '38000' ELSE done.state END,
				DETAIL = concat_ws(' ', done.detail, done.hint, format('A function of kind "%s" ended with SQLSTATE %s.', known.name, done.state));
	END IF;
	RETURN done.result;
END $$;

/*
 * twtasks_internal.answer_to_do_as_owner(given)
 *
 *		Does the work of answer_to_do(), whose parameters are the columns of the row.
 *
 * Writes		as answer_to_do()
 */
CREATE FUNCTION twtasks_internal.answer_to_do_as_owner(given record, OUT result text, OUT outcome jsonb)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	known CONSTANT twtasks.kind := twtasks_internal.kind_named(given.name);
	person CONSTANT text := (SELECT r.rolname FROM pg_roles r WHERE r.oid = twtasks_internal.caller());
	state twtasks.outcome;
	made jsonb;
	is_over boolean;
BEGIN
	PERFORM twtasks_internal.check_may_see(known, 'answer');
	IF given.data IS NULL THEN
		RAISE EXCEPTION 'data must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	state := twtasks_internal.lock_item(known.name, coalesce(given.identifier,
		twtasks_internal.told_in_time(known, twtasks_internal.try_call('twtasks_internal.identifier_of', known, given.data))));
	IF given.identifier IS NULL AND NOT twtasks_internal.is_same_action(known, given.data, state.event) THEN
		RAISE EXCEPTION 'identifier "%" of kind "%" stands for another event', state.identifier, known.name
			USING ERRCODE = 'undefined_object', HINT = 'Name the item by its identifier.';
	END IF;
	IF state.decided IS NULL THEN
		made := twtasks_internal.told_in_time(known, twtasks_internal.try_call('twtasks_internal.verdict_of', known, state, given.data))::jsonb;
		-- A function may have decided the item itself.
		state := twtasks_internal.lock_item(known.name, state.identifier);
	END IF;
	IF state.decided IS NOT NULL THEN
		result := 'already_decided';
		outcome := state.outcome;
		RETURN;
	END IF;
	is_over := (made->'is_over')::boolean;
	PERFORM twtasks_internal.end_item(state, CASE WHEN is_over THEN 'FAILED' ELSE 'DONE' END::twtasks.task_status,
									  CASE WHEN is_over THEN 'it was not needed any more' END,
									  made->'verdict', CASE WHEN NOT is_over THEN person END);
	result := CASE WHEN is_over THEN 'expired' ELSE 'decided' END;
	outcome := made->'verdict';
END $$;
