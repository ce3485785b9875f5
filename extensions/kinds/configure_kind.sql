/*
 * twtasks.configure_kind(name, kind, type, identifier, ...)
 *
 *		Makes a kind of task, or sets options of one.  An option that is NULL or left out
 *		stays unchanged; unset_kind_options() removes one.  Steps under way keep their
 *		tasks; what follows them obeys the new configuration.
 *
 *		The type gets policies for its steps: each is tried once, and its end moves the
 *		identifier on.  Other tasks of that type should not exist.
 *
 * Parameters
 *		name			1 to 250 bytes, no control characters
 *		kind			idempotent, pessimistic, black_boxed, optimistic or to_do; another
 *						kind removes the options that it does not have
 *		type			of the step tasks; of this kind only
 *		identifier		a template such as 'refund-{/payment}', with JSON pointers into the
 *						event, or a function (event jsonb) returns text.  A template of
 *						several values is warned of, since {/a}-{/b} makes the same of x-y
 *						and z as of x and y-z.  A new kind needs this, kind and type
 *		expires			no action begins later than this after start(); unset: no limit
 *		still_needed	a function (event jsonb, identifier text) returns boolean, asked
 *						when an action is planned, which is before its back-off; unset:
 *						actions are needed until they expire
 *		on_expiry		a function (event jsonb, identifier text) returns jsonb, the
 *						decision for what is no longer needed; unset: {"decision": "expired"}
 *		attempts		most attempts of the action: 1 is at most once; unset: any number
 *		delay			time before the second attempt; it doubles with each, to an hour;
 *						unset: 5s
 *		retry_function	a function (event jsonb, identifier text, attempts integer, fault
 *						text) returns interval, in place of delay; NULL: no more attempts
 *		on_fault		a function (event jsonb, identifier text, fault text) returns jsonb,
 *						the decision when no attempt is left; without one, or if it returns
 *						NULL, a person must decide: see "problem" in twtasks.outcomes
 *		on_uncertain	black_boxed only, and needed there: a function (event jsonb,
 *						identifier text, started timestamptz) returns jsonb, the decision
 *						when nobody knows how the action ended
 *		read_model		to_do only: a function (event jsonb) returns jsonb, what people read;
 *						unset: the event
 *		contract		to_do only: a function (data jsonb) returns boolean; unset: any answer
 *						fulfils it
 *		decide			to_do only, and needed there: an IMMUTABLE function (read_model
 *						jsonb, data jsonb) returns jsonb, the decision.  It runs as a role
 *						without rights, and cannot write
 *		readers, answerers	to_do only: roles that may read and answer, also by another name
 *						later; unset: none
 *
 *		Functions are named with their schema, fix their search_path, and run with the
 *		rights of their owners.  A decision is an object with the text "decision".
 *
 * Errors
 *		22004			name is NULL, or kind, type or identifier of a new kind
 *		22023			a value is not valid, or not one of this kind
 *		25001			REPEATABLE READ, in which kind, type and identifier cannot change
 *		40001			REPEATABLE READ, and another transaction has configured the kind
 *						since this one began: start the whole transaction again
 *		42501			the caller names functions or makes a kind, and is neither a superuser
 *						nor the owner of the database nor a member of twtasks_owner
 *		42704			a role does not exist
 *		42883			a function does not exist
 *		55000			the type is another kind's or has another on_end function, or kind
 *						and type cannot change while identifiers are undecided, or identifier
 *						cannot change once there are some
 *
 * Writes		twtasks.kind, twtasks.item_role, twtasks.type_policy, twtasks.policy_audit
 * Locks		twtasks.kind in SHARE ROW EXCLUSIVE mode, which lets others read; if kind,
 *				type or identifier change, in EXCLUSIVE mode, for which start() waits
 * Wakes		every sidecar, to read the configuration again
 * Example		SELECT twtasks.configure_kind('refund', 'pessimistic', 'REFUND', 'refund-{/payment}', attempts => 5);
 */
CREATE FUNCTION twtasks.configure_kind(
	name text,
	kind twtasks.task_kind DEFAULT NULL,
	type text DEFAULT NULL,
	identifier text DEFAULT NULL,
	expires interval DEFAULT NULL,
	still_needed text DEFAULT NULL,
	on_expiry text DEFAULT NULL,
	attempts integer DEFAULT NULL,
	delay interval DEFAULT NULL,
	retry_function text DEFAULT NULL,
	on_fault text DEFAULT NULL,
	on_uncertain text DEFAULT NULL,
	read_model text DEFAULT NULL,
	contract text DEFAULT NULL,
	decide text DEFAULT NULL,
	readers text[] DEFAULT NULL,
	answerers text[] DEFAULT NULL)
RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_as_owner';

/*
 * twtasks_internal.check_kind_names(given)
 *
 *		Checks the names and figures of a kind.
 *
 * Errors
 *		22004, 22023	as configure_kind()
 */
CREATE FUNCTION twtasks_internal.check_kind_names(given twtasks.kind)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF given.name IS NULL OR given.kind IS NULL OR given.type IS NULL OR given.identifier IS NULL THEN
		RAISE EXCEPTION 'name, kind, type and identifier of a new kind must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	IF octet_length(given.name) NOT BETWEEN 1 AND 250 OR given.name ~ '[[:cntrl:]]' THEN
		RAISE EXCEPTION 'invalid name of a kind: "%"', twtasks_internal.shown(given.name)
			USING ERRCODE = 'invalid_parameter_value', HINT = 'A name has 1 to 250 bytes and no control characters.';
	END IF;
	IF given.type !~ '^[A-Za-z0-9_.:|/-]{1,120}$' THEN
		RAISE EXCEPTION 'invalid type: "%"', twtasks_internal.shown(given.type)
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'A type has 1 to 120 letters (A to Z), digits and characters of "_.:|/-".';
	END IF;
	IF given.identifier ~ '[{}]' AND given.identifier !~ '^([^{}]*[{]/[^{}]+[}])+[^{}]*$' THEN
		RAISE EXCEPTION 'invalid template of an identifier: "%"', twtasks_internal.shown(given.identifier)
			USING ERRCODE = 'invalid_parameter_value', HINT = 'Write JSON pointers in braces, such as ''refund-{/payment/id}''.';
	END IF;
	IF given.attempts NOT BETWEEN 1 AND 1000000 THEN
		RAISE EXCEPTION 'attempts must be between 1 and 1000000, not %', given.attempts
			USING ERRCODE = 'invalid_parameter_value', HINT = 'Without a number there are as many as it takes.';
	END IF;
	PERFORM twtasks_internal.check_duration('expires', given.expires, '1 ms'::interval, '100 years'::interval),
			twtasks_internal.check_duration('delay', given.delay, '0'::interval, '1 h'::interval);
END $$;

/*
 * twtasks_internal.let_see(name, what, roles)
 *
 *		Lets just these roles read or answer items of a kind; NULL leaves all as it is.
 *
 * Errors
 *		42704			a role does not exist
 *
 * Writes		twtasks.item_role
 */
CREATE FUNCTION twtasks_internal.let_see(name text, what text, roles text[])
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	stray CONSTANT text := (SELECT r FROM unnest(roles) r WHERE to_regrole(quote_ident(r)) IS NULL LIMIT 1);
BEGIN
	IF stray IS NOT NULL THEN
		RAISE EXCEPTION 'role "%" does not exist', twtasks_internal.shown(stray) USING ERRCODE = 'undefined_object';
	END IF;
	DELETE FROM twtasks.item_role i WHERE i.kind = name AND i.may = what AND roles IS NOT NULL;
	INSERT INTO twtasks.item_role SELECT DISTINCT name, what, to_regrole(quote_ident(r)) FROM unnest(roles) r WHERE r IS NOT NULL;
END $$;

/*
 * twtasks_internal.options_of(kind)
 *
 *		The options that a kind has besides the options of all kinds.
 */
CREATE FUNCTION twtasks_internal.options_of(kind twtasks.task_kind)
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE kind
		WHEN 'to_do' THEN '{read_model,contract,decide,readers,answerers}'
		WHEN 'black_boxed' THEN '{attempts,retry_function,on_fault,on_uncertain}'
		ELSE '{attempts,retry_function,on_fault}' END::text[]
$$;

/*
 * twtasks_internal.check_kind_options(given, roles)
 *
 *		Checks that a kind has the options that it needs, and none that it does not know.
 *		Roles are options that are kept apart.
 *
 * Errors
 *		22023			as configure_kind()
 */
CREATE FUNCTION twtasks_internal.check_kind_options(given twtasks.kind, roles jsonb DEFAULT '{}')
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	known CONSTANT text[] := twtasks_internal.options_of(given.kind);
	options CONSTANT jsonb := jsonb_strip_nulls(to_jsonb(given) || roles) -
		'{name,kind,type,identifier,expires,still_needed,on_expiry,delay,changed_at,changed_by}'::text[];
	needed CONSTANT text := CASE given.kind WHEN 'to_do' THEN 'decide' WHEN 'black_boxed' THEN 'on_uncertain' END;
	stray CONSTANT text := (SELECT min(o) FROM jsonb_object_keys(options) o WHERE o <> ALL (known));
BEGIN
	IF stray IS NOT NULL THEN
		RAISE EXCEPTION 'kind % has no option %', given.kind, stray
			USING ERRCODE = 'invalid_parameter_value', HINT = format('Its own options are %s.', array_to_string(known, ', '));
	END IF;
	IF needed IS NOT NULL AND NOT options ? needed THEN
		RAISE EXCEPTION 'kind % needs a function for %', given.kind, needed USING ERRCODE = 'invalid_parameter_value';
	END IF;
END $$;

/*
 * twtasks_internal.without_options(known, options)
 *
 *		Returns the row of a kind without these options.
 */
CREATE FUNCTION twtasks_internal.without_options(known twtasks.kind, options text[])
RETURNS twtasks.kind
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	known := jsonb_populate_record(known, (SELECT jsonb_object_agg(o, NULL) FROM unnest(options) o));
	known.delay := coalesce(known.delay, '5 s');
	RETURN known;
END $$;

/*
 * twtasks_internal.with_options(before, given)
 *
 *		Returns the row of a kind as configure_kind() makes it of the row before, which
 *		may be NULL, and of the parameters that were given.
 */
CREATE FUNCTION twtasks_internal.with_options(before twtasks.kind, given record)
RETURNS twtasks.kind
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	options CONSTANT jsonb := jsonb_strip_nulls(to_jsonb(given));
	-- Another kind may not have them.
	lost CONSTANT text[] := ARRAY(
		SELECT o FROM unnest(twtasks_internal.options_of(before.kind)) o
		WHERE o <> ALL (twtasks_internal.options_of(coalesce(given.kind, before.kind))) AND (SELECT to_jsonb(k)->o FROM twtasks.kinds k WHERE k.name = before.name) <> 'null' ORDER BY o);
BEGIN
	IF lost <> '{}' THEN
		RAISE NOTICE 'kind "%" becomes %, and loses %', given.name, given.kind, array_to_string(lost, ', ');
	END IF;
	RETURN jsonb_populate_record(twtasks_internal.without_options(before, lost), options);
END $$;

/*
 * twtasks_internal.check_kind_functions(given)
 *
 *		Checks that the functions among the parameters of configure_kind() exist and
 *		may be named by the caller.  Functions that stay were checked when they were given.
 *
 * Errors
 *		22023, 42501, 42883		as configure_kind()
 */
CREATE FUNCTION twtasks_internal.check_kind_functions(given record)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	identifier CONSTANT text := CASE WHEN given.identifier !~ '[{]' THEN given.identifier END;
	about CONSTANT regtype[] := '{jsonb,text}';
BEGIN
	PERFORM twtasks_internal.check_may_name(identifier, given.still_needed, given.on_expiry, given.retry_function,
				given.on_fault, given.on_uncertain, given.read_model, given.contract, given.decide),
			twtasks_internal.check_function('identifier', identifier, '{jsonb}', 'text'),
			twtasks_internal.check_function('still_needed', given.still_needed, about, 'boolean'),
			twtasks_internal.check_function('on_expiry', given.on_expiry, about, 'jsonb'),
			twtasks_internal.check_function('retry_function', given.retry_function, about || '{integer,text}', 'interval'),
			twtasks_internal.check_function('on_fault', given.on_fault, about || 'text'::regtype, 'jsonb'),
			twtasks_internal.check_function('on_uncertain', given.on_uncertain, about || 'timestamptz'::regtype, 'jsonb'),
			twtasks_internal.check_function('read_model', given.read_model, '{jsonb}', 'jsonb'),
			twtasks_internal.check_function('contract', given.contract, '{jsonb}', 'boolean'),
			twtasks_internal.check_function('decide', given.decide, '{jsonb,jsonb}', 'jsonb');
	-- By the catalog: the owner of twtasks may have no rights in the function's schema.
	IF EXISTS (SELECT FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
			   WHERE n.nspname = (parse_ident(given.decide))[1] AND p.proname = (parse_ident(given.decide))[2]
				 AND p.pronargs = 2 AND p.proargtypes[0] = 'jsonb'::regtype AND p.proargtypes[1] = 'jsonb'::regtype
				 AND (p.provolatile <> 'i' OR p.prosecdef)) THEN
		RAISE EXCEPTION 'function "%" for decide must be IMMUTABLE and SECURITY INVOKER', given.decide
			USING ERRCODE = 'invalid_parameter_value', DETAIL = 'It decides by the read model and the answer, and nothing else.';
	END IF;
END $$;

/*
 * twtasks_internal.wait_for_starts()
 *
 *		Waits for transactions that have started identifiers; no others start until this
 *		one ends.  The next statement sees what they have started.
 *
 * Errors
 *		25001			REPEATABLE READ, which would not see it
 *
 * Locks		twtasks.kind in EXCLUSIVE mode, which lets others read
 */
CREATE FUNCTION twtasks_internal.wait_for_starts()
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
		RAISE EXCEPTION 'kind, type and identifier of a kind cannot change in a transaction that is %', upper(current_setting('transaction_isolation'))
			USING ERRCODE = 'active_sql_transaction', DETAIL = 'It does not see identifiers that others have started since it began.',
				HINT = 'Call configure_kind() in a transaction that is READ COMMITTED.';
	END IF;
	LOCK TABLE twtasks.kind IN EXCLUSIVE MODE;
END $$;

/*
 * twtasks_internal.warn_of_template(known)
 *
 *		Warns of a template that joins several values of an event, since other values
 *		may make the same identifier.
 */
CREATE FUNCTION twtasks_internal.warn_of_template(known twtasks.kind)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF (SELECT count(DISTINCT m) > 1 FROM regexp_matches(known.identifier, '[{][^{}]*[}]', 'g') m) THEN
		RAISE WARNING 'events with different values may get the same identifier of kind "%"', known.name
			USING DETAIL = format('By the template "%s" the end of one value may be the beginning of the next one. start() refuses the second of such events.', known.identifier),
				HINT = 'Let only the last value contain the text that stands between the values, or name a function that makes identifiers.';
	END IF;
END $$;

/*
 * twtasks_internal.keep_kind(known)
 *
 *		Writes the row of a kind, as changed now.
 *
 * Writes		twtasks.kind
 */
CREATE FUNCTION twtasks_internal.keep_kind(known twtasks.kind)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	known.changed_at := clock_timestamp();
	known.changed_by := twtasks_internal.author();
	INSERT INTO twtasks.kind SELECT (known).*;
END $$;

/*
 * twtasks_internal.configure_kind_as_owner(given)
 *
 *		Does the work of configure_kind(), whose parameters are the columns of the row.
 *
 * Writes		as configure_kind()
 */
CREATE FUNCTION twtasks_internal.configure_kind_as_owner(given record)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	hook CONSTANT text := 'twtasks_internal.end_steps';
	on_end text;
	before twtasks.kind;
	wanted twtasks.kind;
BEGIN
	PERFORM twtasks_internal.check_kind_functions(given);
	LOCK TABLE twtasks.kind IN SHARE ROW EXCLUSIVE MODE;
	SELECT k.* INTO before FROM twtasks.kind k WHERE k.name = given.name;
	wanted := twtasks_internal.with_options(before, given);
	PERFORM twtasks_internal.check_kind_names(wanted),
			twtasks_internal.check_kind_options(wanted, jsonb_build_object('readers', given.readers, 'answerers', given.answerers)),
			twtasks_internal.let_see(wanted.name, 'read', CASE wanted.kind WHEN 'to_do' THEN given.readers ELSE '{}' END),
			twtasks_internal.let_see(wanted.name, 'answer', CASE wanted.kind WHEN 'to_do' THEN given.answerers ELSE '{}' END);
	SELECT p.on_end INTO on_end FROM twtasks.policy_of(wanted.type) p;
	IF on_end <> ALL (ARRAY[hook, 'none'])
		OR EXISTS (SELECT FROM twtasks.kind k WHERE k.type = wanted.type AND k.name <> wanted.name) THEN
		RAISE EXCEPTION 'type "%" is used by another kind or has another on_end function', wanted.type
			USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Give the kind a type of its own.';
	END IF;
	PERFORM twtasks_internal.wait_for_starts() WHERE (before.kind, before.type, before.identifier) <> (wanted.kind, wanted.type, wanted.identifier);
	IF (before.kind <> wanted.kind OR before.type <> wanted.type)
		AND EXISTS (SELECT FROM twtasks.outcome o WHERE o.kind = wanted.name AND o.decided IS NULL) THEN
		RAISE EXCEPTION 'kind "%" cannot become % of type "%"', wanted.name, wanted.kind, wanted.type
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'Some of its identifiers are undecided.';
	END IF;
	-- By another template the same event would name another action.
	IF before.identifier <> wanted.identifier AND EXISTS (SELECT FROM twtasks.outcome o WHERE o.kind = wanted.name) THEN
		RAISE EXCEPTION 'kind "%" cannot make other identifiers', wanted.name
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'Actions were started under the old ones, and would be done again.',
				HINT = 'Give the new identifiers a kind of their own.';
	END IF;
	PERFORM twtasks_internal.warn_of_template(wanted) WHERE before.identifier IS DISTINCT FROM wanted.identifier;
	DELETE FROM twtasks.kind k WHERE k.name = wanted.name;
	PERFORM twtasks.configure_type(wanted.type, on_end => hook, retry => '"none"', retry_function => 'none',
		reset_tries => false, stuck => 'error', stuck_function => 'none',
		-- An idempotent action may run twice at the same time; others wait until it is over.
		takeover => CASE wanted.kind WHEN 'idempotent' THEN 'gone' ELSE 'deadline' END::twtasks.takeover_rule)
	WHERE (before.kind, before.type, on_end) IS DISTINCT FROM (wanted.kind, wanted.type, hook);
	PERFORM twtasks_internal.keep_kind(wanted);
END $$;

/*
 * twtasks.unset_kind_options(name, options)
 *
 *		Removes options of a kind.
 *
 * Parameters
 *		name			of the kind
 *		options			names of parameters of configure_kind()
 *
 * Returns
 *		false if the kind is not configured
 *
 * Errors
 *		22004			a parameter is NULL
 *		22023			a name is not an option of this kind, or one that the kind needs
 *
 * Writes		twtasks.kind, twtasks.item_role
 * Locks		twtasks.kind in SHARE ROW EXCLUSIVE mode, which lets others read
 * Example		SELECT twtasks.unset_kind_options('refund', 'attempts', 'on_fault');
 */
CREATE FUNCTION twtasks.unset_kind_options(name text, VARIADIC options text[])
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	known twtasks.kind;
BEGIN
	IF name IS NULL OR options IS NULL THEN
		RAISE EXCEPTION 'name and options must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	LOCK TABLE twtasks.kind IN SHARE ROW EXCLUSIVE MODE;
	SELECT k.* INTO known FROM twtasks.kind k WHERE k.name = unset_kind_options.name;
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	PERFORM twtasks_internal.check_options(options, '{expires,still_needed,on_expiry,delay}' || twtasks_internal.options_of(known.kind));
	known := twtasks_internal.without_options(known, options);
	PERFORM twtasks_internal.check_kind_options(known),
			twtasks_internal.let_see(known.name, 'read', CASE WHEN 'readers' = ANY (options) THEN '{}'::text[] END),
			twtasks_internal.let_see(known.name, 'answer', CASE WHEN 'answerers' = ANY (options) THEN '{}'::text[] END);
	DELETE FROM twtasks.kind k WHERE k.name = known.name;
	PERFORM twtasks_internal.keep_kind(known);
	RETURN true;
END $$;
