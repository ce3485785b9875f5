/*
 * twtasks.configure_kind(name, kind, type, identifier, ...)
 *
 *		Makes a kind of task, or replaces all that is set for it.  Steps under way keep
 *		their tasks; what follows them obeys the new configuration.
 *
 *		The type gets policies for its steps: each is tried once, and its end moves the
 *		identifier on.  Other tasks of that type should not exist.
 *
 * Parameters
 *		name			1 to 250 bytes, no control characters
 *		kind			idempotent, pessimistic, black_boxed, optimistic or to_do
 *		type			of the step tasks; of this kind only
 *		identifier		a template such as 'refund-{/payment}', with JSON pointers into the
 *						event, or a function (event jsonb) returns text
 *		expires			no action begins later than this after start(); NULL: no limit
 *		still_needed	a function (event jsonb, identifier text) returns boolean, asked
 *						when an action is planned, which is before its back-off; NULL:
 *						actions are needed until they expire
 *		on_expiry		a function (event jsonb, identifier text) returns jsonb, the
 *						decision for what is no longer needed; NULL: {"decision": "expired"}
 *		attempts		most attempts of the action: 1 is at most once; NULL: any number
 *		delay			time before the second attempt; it doubles with each, to an hour
 *		retry_function	a function (event jsonb, identifier text, attempts integer, fault
 *						text) returns interval, in place of delay; NULL: no more attempts
 *		on_fault		a function (event jsonb, identifier text, fault text) returns jsonb,
 *						the decision when no attempt is left; without one, or if it returns
 *						NULL, a person must decide: see "problem" in twtasks.outcomes
 *		on_uncertain	black_boxed only, and needed there: a function (event jsonb,
 *						identifier text, started timestamptz) returns jsonb, the decision
 *						when nobody knows how the action ended
 *		read_model		to_do only: a function (event jsonb) returns jsonb, what people read;
 *						NULL: the event
 *		contract		to_do only: a function (data jsonb) returns boolean; NULL: any answer
 *						fulfils it
 *		decide			to_do only, and needed there: an IMMUTABLE function (read_model
 *						jsonb, data jsonb) returns jsonb, the decision.  It runs as a role
 *						without rights, and cannot write
 *		readers, answerers	to_do only: roles that may read and answer; NULL: none
 *
 *		Functions are named with their schema, fix their search_path, and run with the
 *		rights of their owners.  A decision is an object with the text "decision".
 *
 * Errors
 *		22004			name, kind, type, identifier or delay is NULL
 *		22023			a value is not valid, or not one of this kind
 *		42501			the caller names functions, and is neither a superuser nor the owner
 *						of the database nor a member of twtasks_owner
 *		42704			a role does not exist
 *		42883			a function does not exist
 *		55000			the type is another kind's or has another on_end function, or kind
 *						and type cannot change while identifiers are undecided, or identifier
 *						cannot change once there are some
 *
 * Writes		twtasks.kind, twtasks.type_policy, twtasks.policy_audit
 * Locks		twtasks.kind in SHARE ROW EXCLUSIVE mode, which lets others read; if kind or
 *				type change, in EXCLUSIVE mode, for which start() waits
 * Wakes		every sidecar, to read the configuration again
 * Example		SELECT twtasks.configure_kind('refund', 'pessimistic', 'REFUND', 'refund-{/payment}', attempts => 5);
 */
CREATE FUNCTION twtasks.configure_kind(
	name text,
	kind twtasks.task_kind,
	type text,
	identifier text,
	expires interval DEFAULT NULL,
	still_needed text DEFAULT NULL,
	on_expiry text DEFAULT NULL,
	attempts integer DEFAULT NULL,
	delay interval DEFAULT '5s',
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
 *		Checks the names and figures among the parameters of configure_kind().
 *
 * Errors
 *		22004, 22023, 42704		as configure_kind()
 */
CREATE FUNCTION twtasks_internal.check_kind_names(given record)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	stray text;
BEGIN
	IF given.name IS NULL OR given.kind IS NULL OR given.type IS NULL OR given.identifier IS NULL OR given.delay IS NULL THEN
		RAISE EXCEPTION 'name, kind, type, identifier and delay must not be null' USING ERRCODE = 'null_value_not_allowed';
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
			USING ERRCODE = 'invalid_parameter_value', HINT = 'NULL allows any number.';
	END IF;
	PERFORM twtasks_internal.check_duration('expires', given.expires, '1 ms'::interval, '100 years'::interval),
			twtasks_internal.check_duration('delay', given.delay, '0'::interval, '1 h'::interval);
	SELECT r INTO stray FROM unnest(given.readers || given.answerers) r WHERE to_regrole(quote_ident(r)) IS NULL LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'role "%" does not exist', twtasks_internal.shown(stray) USING ERRCODE = 'undefined_object';
	END IF;
END $$;

/*
 * twtasks_internal.check_kind_options(given)
 *
 *		Checks that configure_kind() was given the options that this kind needs, and
 *		none that it does not know.
 *
 * Errors
 *		22023			as configure_kind()
 */
CREATE FUNCTION twtasks_internal.check_kind_options(given record)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	options CONSTANT jsonb := jsonb_strip_nulls(to_jsonb(given)) - '{name,kind,type,identifier,expires,still_needed,on_expiry,delay}'::text[];
	known CONSTANT text[] := CASE given.kind
		WHEN 'to_do' THEN '{read_model,contract,decide,readers,answerers}'
		WHEN 'black_boxed' THEN '{attempts,retry_function,on_fault,on_uncertain}'
		ELSE '{attempts,retry_function,on_fault}' END;
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
 * twtasks_internal.check_kind_functions(given)
 *
 *		Checks that the functions among the parameters of configure_kind() exist and
 *		may be named by the caller.
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
 * twtasks_internal.keep_step_policy()
 *
 *		Refuses changes of the policies on which the kinds of a type rely: a step that
 *		was tried twice, or taken over early, could act twice.
 *
 * Errors
 *		55000			the policy is a kind's
 */
CREATE FUNCTION twtasks_internal.keep_step_policy()
RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	name CONSTANT text := (SELECT k.name FROM twtasks.kind k WHERE k.type = OLD.pattern);
	kept CONSTANT text[] := '{on_end,retry,retry_function,reset_tries,stuck,stuck_function,takeover}';
BEGIN
	IF name IS NOT NULL AND (TG_OP = 'DELETE' OR OLD.pattern <> NEW.pattern
		OR EXISTS (SELECT FROM unnest(kept) o WHERE OLD.options->o IS DISTINCT FROM NEW.options->o)) THEN
		RAISE EXCEPTION 'these policies of type "%" belong to kind "%"', OLD.pattern, name
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'Change the kind with twtasks.configure_kind(). Other options of the type can be changed.';
	END IF;
	RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END $$;
CREATE TRIGGER keep_step_policy BEFORE UPDATE OR DELETE ON twtasks.type_policy
	FOR EACH ROW EXECUTE FUNCTION twtasks_internal.keep_step_policy();
ALTER TRIGGER keep_step_policy ON twtasks.type_policy DEPENDS ON EXTENSION twtasks_kinds;

/*
 * twtasks_internal.keep_step_ended()
 *
 *		Refuses to reopen a step: its identifier has gone on, so it would act beside
 *		the next step.
 *
 * Errors
 *		55000			the task is a step
 */
CREATE FUNCTION twtasks_internal.keep_step_ended()
RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	step twtasks.attempt;
BEGIN
	SELECT a.* INTO step FROM twtasks.attempt a WHERE a.task = NEW.task_id;
	IF FOUND THEN
		RAISE EXCEPTION 'step "%" of "%" cannot be reopened', step.step, step.identifier
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = format('Its kind "%s" has gone on from task %s.', step.kind, step.task),
				HINT = 'To reopen many tasks, name types that belong to no kind.';
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER keep_step_ended BEFORE INSERT ON twtasks.audit
	FOR EACH ROW WHEN (NEW.action = 'reopen') EXECUTE FUNCTION twtasks_internal.keep_step_ended();
ALTER TRIGGER keep_step_ended ON twtasks.audit DEPENDS ON EXTENSION twtasks_kinds;

/*
 * twtasks_internal.go_on_in_error(step)
 *
 *		Does what follows a step whose end nobody knows.  If that fails, its task is in
 *		ERROR, and its answer waits.
 *
 * Returns
 *		facts of the task now
 *
 * Errors
 *		55000			its identifier has gone on from the step
 *
 * Writes		twtasks.task, and as follow()
 */
CREATE FUNCTION twtasks_internal.go_on_in_error(step twtasks.attempt)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	reason CONSTANT text := (SELECT t.error FROM twtasks.task t WHERE t.id = step.task);
	state twtasks.outcome;
BEGIN
	SELECT o.* INTO state FROM twtasks.outcome o WHERE o.task = step.task AND o.decided IS NULL FOR UPDATE;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'step "%" of "%" cannot run again', step.step, step.identifier
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = format('Its kind "%s" has gone on from task %s.', step.kind, step.task);
	END IF;
	PERFORM twtasks_internal.end_now(ARRAY[step.task], '{ERROR}', ARRAY[reason]);
	PERFORM twtasks_internal.follow(state, coalesce(state.answer->>'said', 'unknown'), coalesce(state.answer->>'fault', reason),
									coalesce(state.answer->'told', '{}'), 'infinity');
	RETURN coalesce((SELECT twtasks_internal.facts(t) FROM twtasks.task t WHERE t.id = step.task),
					(SELECT twtasks_internal.finished_facts(f) FROM twtasks.finished_task f WHERE f.id = step.task));
END $$;

/*
 * twtasks_internal.go_on_by_hand(task, before)
 *
 *		Decides about a step that a person lets run again.  If it may have acted, what
 *		follows its end is done in place of a run: an action never runs again without
 *		its search, and a black box not at all.
 *
 * Parameters
 *		before			facts() that a person has changed, as they were
 *
 * Returns
 *		facts of the task now; NULL: it may run
 *
 * Errors
 *		as go_on_in_error()
 *
 * Writes		twtasks.task, twtasks.attempt, and as follow()
 */
CREATE FUNCTION twtasks_internal.go_on_by_hand(task uuid, before jsonb)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
	step twtasks.attempt;
BEGIN
	SELECT a.* INTO step FROM twtasks.attempt a WHERE a.task = task;
	-- The tries of a task in ERROR start anew, so they are among what was changed.
	IF step.step IN ('attempt', 'first', 'second') AND (step.answer IN ('unknown', 'cut_off') OR step.answer IS NULL AND before ? 'tries') THEN
		UPDATE twtasks.attempt a SET ended = twtasks.clock(), answer = 'unknown', fault = (SELECT t.error FROM twtasks.task t WHERE t.id = task)
		WHERE a.task = task AND a.answer IS NULL;
		IF (twtasks_internal.kind_named(step.kind)).kind <> 'idempotent' THEN
			RETURN twtasks_internal.go_on_in_error(step);
		END IF;
	ELSE
		UPDATE twtasks.attempt a SET ended = NULL, answer = NULL, fault = NULL WHERE a.task = task AND a.answer IS NOT NULL;
	END IF;
	UPDATE twtasks.outcome o SET answer = NULL, problem = NULL WHERE o.task = task AND o.decided IS NULL AND o.answer IS NOT NULL;
	RETURN NULL;
END $$;

/*
 * twtasks_internal.keep_step_once()
 *
 *		Lets go_on_by_hand() decide about a step that a person lets run again.
 *
 * Errors
 *		as go_on_by_hand()
 */
CREATE FUNCTION twtasks_internal.keep_step_once()
RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	became CONSTANT jsonb := twtasks_internal.go_on_by_hand(NEW.task_id, NEW.before);
BEGIN
	IF became IS NOT NULL THEN
		NEW.to_version := became->'version';
		NEW.to_status := became->>'status';
		NEW.after := became;
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER keep_step_once BEFORE INSERT ON twtasks.audit
	FOR EACH ROW WHEN (NEW.action IN ('resume', 'release') AND NEW.to_status <> 'ERROR' AND twtasks_internal.is_new_entry(NEW.id))
	EXECUTE FUNCTION twtasks_internal.keep_step_once();
ALTER TRIGGER keep_step_once ON twtasks.audit DEPENDS ON EXTENSION twtasks_kinds;

/*
 * twtasks_internal.has_undecided(name)
 *
 *		Whether a kind has undecided identifiers.  Transactions that have started some
 *		are waited for; no others start until this one ends.
 *
 * Locks		twtasks.kind in EXCLUSIVE mode, which lets others read
 */
CREATE FUNCTION twtasks_internal.has_undecided(name text)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	LOCK TABLE twtasks.kind IN EXCLUSIVE MODE;
	RETURN EXISTS (SELECT FROM twtasks.outcome o WHERE o.kind = name AND o.decided IS NULL);
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
BEGIN
	PERFORM twtasks_internal.check_kind_names(given),
			twtasks_internal.check_kind_options(given),
			twtasks_internal.check_kind_functions(given);
	LOCK TABLE twtasks.kind IN SHARE ROW EXCLUSIVE MODE;
	SELECT k.* INTO before FROM twtasks.kind k WHERE k.name = given.name;
	SELECT p.on_end INTO on_end FROM twtasks.policy_of(given.type) p;
	IF on_end <> ALL (ARRAY[hook, 'none'])
		OR EXISTS (SELECT FROM twtasks.kind k WHERE k.type = given.type AND k.name <> given.name) THEN
		RAISE EXCEPTION 'type "%" is used by another kind or has another on_end function', given.type
			USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Give the kind a type of its own.';
	END IF;
	IF (before.kind <> given.kind OR before.type <> given.type)
		AND twtasks_internal.has_undecided(given.name) THEN
		RAISE EXCEPTION 'kind "%" cannot become % of type "%"', given.name, given.kind, given.type
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'Some of its identifiers are undecided.';
	END IF;
	-- By another template the same event would name another action.
	IF before.identifier <> given.identifier AND EXISTS (SELECT FROM twtasks.outcome o WHERE o.kind = given.name) THEN
		RAISE EXCEPTION 'kind "%" cannot make other identifiers', given.name
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'Actions were started under the old ones, and would be done again.',
				HINT = 'Give the new identifiers a kind of their own.';
	END IF;
	DELETE FROM twtasks.kind k WHERE k.name = given.name;
	PERFORM twtasks.configure_type(given.type, on_end => hook, retry => '"none"', retry_function => 'none',
		reset_tries => false, stuck => 'error', stuck_function => 'none',
		-- An idempotent action may run twice at the same time; others wait until it is over.
		takeover => CASE given.kind WHEN 'idempotent' THEN 'gone' ELSE 'deadline' END::twtasks.takeover_rule);
	INSERT INTO twtasks.kind
	VALUES (given.name, given.kind, given.type, given.identifier, given.expires, given.still_needed, given.on_expiry,
			given.attempts, given.delay, given.retry_function, given.on_fault, given.on_uncertain, given.read_model,
			given.contract, given.decide, given.readers, given.answerers, clock_timestamp(), twtasks_internal.actor());
END $$;
