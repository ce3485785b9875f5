/*
 * twtasks_internal.check_pattern(pattern)
 *
 *		Raises an error unless the pattern is a type, or the beginning of types and
 *		a *.
 *
 * Errors
 *		22004			pattern is NULL
 *		22023			pattern is not valid
 */
CREATE FUNCTION twtasks_internal.check_pattern(pattern text)
RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF pattern IS NULL THEN
		RAISE EXCEPTION 'pattern must not be null'
			USING ERRCODE = 'null_value_not_allowed',
				HINT = 'Name a type, such as SEND_EMAIL, the beginning of types, such as EMAIL|*, or * for all.';
	END IF;
	IF pattern !~ '^([A-Za-z0-9_.:|/-]{1,120}|[A-Za-z0-9_.:|/-]{0,120}[*])$' THEN
		RAISE EXCEPTION 'invalid pattern: "%"', twtasks_internal.shown(pattern)
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'A pattern is a type, or the beginning of types and a *; a type has 1 to 120 letters (A to Z), digits and characters of "_.:|/-".',
				HINT = 'Write SEND_EMAIL for one type, EMAIL|* for all that begin so, * for all.';
	END IF;
END $$;

/*
 * twtasks_internal.check_duration(name, value, shortest, longest)
 *
 *		Raises an error if a duration is out of range.
 *
 * Errors
 *		22023			value is too short or too long
 */
CREATE FUNCTION twtasks_internal.check_duration(name text, value interval, shortest interval, longest interval)
RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF value < shortest OR value > longest THEN
		RAISE EXCEPTION '% must be between % and %, not %', name, shortest, longest, value
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Write a duration such as 30s, 10min or 2h.';
	END IF;
END $$;

/*
 * twtasks_internal.check_function(option text, function text)
 *
 *		Raises an error unless the function can be the value of that option of
 *		configure_type(); NULL and 'none' pass.
 *
 * Errors
 *		42883			no function of that name has the right signature
 *		42501			the caller may not execute the function
 *		22023			the function does not fix its search_path
 */
CREATE FUNCTION twtasks_internal.check_function(option text, function text)
RETURNS void
LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'twt_check_function';

/*
 * twtasks_internal.check_may_name(functions)
 *
 *		Raises an error if the caller names a function and may not see all that tasks
 *		carry, because the function sees it.  NULL and 'none' pass.
 *
 * Errors
 *		42501			the caller is neither a superuser nor the owner of the
 *						database nor a member of twtasks_owner
 */
CREATE FUNCTION twtasks_internal.check_may_name(VARIADIC functions text[])
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF EXISTS (SELECT FROM unnest(functions) f WHERE f <> 'none')
		AND NOT pg_has_role(twtasks_internal.caller(), twtasks_internal.owner(), 'USAGE')
		AND NOT (SELECT pg_has_role(twtasks_internal.caller(), d.datdba, 'USAGE')
				 FROM pg_database d WHERE d.datname = current_database()) THEN
		RAISE EXCEPTION 'permission denied to name a function in a policy'
			USING ERRCODE = 'insufficient_privilege',
				DETAIL = 'It sees all that tasks carry, and may change it.',
				HINT = 'A superuser, the owner of the database and members of twtasks_owner may.';
	END IF;
END $$;

/*
 * twtasks.configure_type(pattern, ...)
 *
 *		Sets policies of a type, or of all types that begin so.  Every sidecar and
 *		every session follows them from the commit on.  A running task keeps the
 *		deadline and the stuck rule of its grab.
 *
 *		Several patterns may match a type.  Each option comes from the most special
 *		pattern that sets it: the type itself, else the longest beginning.  The
 *		configuration of the sidecar decides on options that no pattern sets.
 *
 * Parameters
 *		pattern			a type, or the beginning of types and a *; * alone: all
 *		bucket			for tasks that are added without one; must be configured
 *		priority		for tasks that are added without one: 0 (urgent) to 9
 *		timeout			deadline of a task from its grab, 10ms to 30d
 *		queue_time		after so long in SUBMITTED a task counts as stuck in the queue;
 *						1s to 1 year, without a policy 30min
 *		expires_after	a task that was added without expires no longer starts so long
 *						after it was added, or after its run_after; 1ms to 100 years
 *		stuck			the rule for a task whose node is gone, or whose deadline passed
 *						unseen: retry, error, fail or ignore
 *		stuck_function	a function (twtasks.task_input) that returns the rule for that
 *						task.  If the function fails or returns NULL, the task's own
 *						rule decides, with error instead of ignore.  'none': no function
 *		nodes			names of the nodes that run the type, each in full or as a
 *						beginning and a *; other nodes do not start such tasks
 *		intercept		a function (twtasks.new_task) that returns the task to be added
 *						in place of the given one, or raises an error.  Values that
 *						add_task() was not given are NULL.  'none': no function
 *		when_done		the part of a DONE task that is kept: keep, all; clear, all but
 *						data and payload; delete, nothing, and its key is free
 *		retry			when a failed task is tried again: "none", never; {"delay": "5s",
 *						"multiplier": 2, "max_delay": "2h", "max_tries": 20, "jitter":
 *						0.1}, with growing delays, where these figures are the defaults;
 *						{"delays": ["1s", "1min"]}, after these delays; or a list of
 *						such objects, one after the other
 *		retry_function	a function (twtasks.task_input, error text) that returns the
 *						time of the next try, or NULL for no more tries.  It decides in
 *						place of retry, which decides if the function fails.  'none': no
 *						function
 *		reset_tries		whether tries start again from 0 when a handler answers
 *						"repeat", as without a policy; if not, repeats end with the tries
 *		aging			a task that waits for a slot rises by one priority each such
 *						time, but not above 1, so tasks of priority 0 go first; 100ms to
 *						30d.  0, as without a policy: tasks do not rise
 *		on_end			a function (twtasks.ended_task[]) that returns nothing, called in
 *						the transaction in which tasks become DONE, FAILED, CANCELLED or
 *						ERROR.  If the function fails, the task becomes ERROR instead.
 *						'none': no function
 *		takeover		when the stuck rule applies to a task whose node is gone: gone, as
 *						without a policy, at once; deadline, when the timeout and the
 *						grace of its handler are over, since a node that is only cut off
 *						lets the handler run until then
 *
 *		A function runs with the rights of its owner and must fix its search_path.
 *		The function sees all that tasks carry, so a caller who names one must be
 *		allowed to see that as well.  An option that is NULL or left out stays
 *		unchanged; unset_type_options() removes one.
 *
 * Errors
 *		22004			pattern is NULL
 *		22023			a value is not valid, no option is given, the bucket is not
 *						configured, or the function does not fix its search_path
 *		42883			there is no such function
 *		42501			the caller may not execute the function, or may not name
 *						functions: a superuser, the owner of the database and
 *						members of twtasks_owner may; or the call is within a
 *						security-restricted operation, such as ANALYZE
 *
 * Writes		twtasks.type_policy, twtasks.policy_audit
 * Locks		row lock
 * Wakes		every sidecar, to read the configuration again
 * Example		SELECT twtasks.configure_type('EMAIL|*', timeout => '30s', stuck => 'retry');
 */
CREATE FUNCTION twtasks.configure_type(
	pattern text,
	bucket text DEFAULT NULL,
	priority integer DEFAULT NULL,
	timeout interval DEFAULT NULL,
	queue_time interval DEFAULT NULL,
	expires_after interval DEFAULT NULL,
	stuck twtasks.stuck_rule DEFAULT NULL,
	stuck_function text DEFAULT NULL,
	when_done twtasks.done_rule DEFAULT NULL,
	nodes text[] DEFAULT NULL,
	intercept text DEFAULT NULL,
	retry jsonb DEFAULT NULL,
	retry_function text DEFAULT NULL,
	reset_tries boolean DEFAULT NULL,
	aging interval DEFAULT NULL,
	on_end text DEFAULT NULL,
	takeover twtasks.takeover_rule DEFAULT NULL)
RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_as_owner';

/*
 * twtasks_internal.configure_type_as_owner(given)
 *
 *		Does the work of configure_type(), whose parameters are the columns of the
 *		row.
 *
 * Writes		twtasks.type_policy, twtasks.policy_audit
 */
CREATE FUNCTION twtasks_internal.configure_type_as_owner(given record)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET intervalstyle = 'postgres'
AS $$
DECLARE
	wanted CONSTANT jsonb := (SELECT jsonb_object_agg(o.key, o.value) FROM jsonb_each(to_jsonb(given) - 'pattern') o
							  WHERE o.value <> 'null');
BEGIN
	PERFORM twtasks_internal.check_pattern(given.pattern);
	PERFORM twtasks_internal.check_retry(given.retry);
	IF wanted IS NULL THEN
		RAISE EXCEPTION 'no option is given for "%"', given.pattern
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Name at least one, such as timeout => ''30s''.';
	END IF;
	IF given.priority NOT BETWEEN 0 AND 9 THEN
		RAISE EXCEPTION 'priority must be between 0 and 9, not %', given.priority
			USING ERRCODE = 'invalid_parameter_value',
				HINT = '0 is the most urgent, 5 the default.';
	END IF;
	PERFORM twtasks_internal.check_bucket(given.bucket),
			twtasks_internal.check_duration('timeout', given.timeout, '10 ms'::interval, '30 d'::interval),
			twtasks_internal.check_duration('queue_time', given.queue_time, '1 s'::interval, '1 year'::interval),
			twtasks_internal.check_duration('expires_after', given.expires_after, '1 ms'::interval, '100 years'::interval),
			twtasks_internal.check_duration('aging', nullif(given.aging, '0'::interval), '100 ms'::interval, '30 d'::interval),
			twtasks_internal.check_may_name(given.retry_function, given.stuck_function, given.intercept, given.on_end),
			twtasks_internal.check_function('retry_function', given.retry_function),
			twtasks_internal.check_function('stuck_function', given.stuck_function),
			twtasks_internal.check_function('intercept', given.intercept),
			twtasks_internal.check_function('on_end', given.on_end);
	IF cardinality(given.nodes) = 0
		OR EXISTS (SELECT FROM unnest(given.nodes) n WHERE (n ~ '^[^[:cntrl:]]{1,128}$') IS NOT TRUE) THEN
		RAISE EXCEPTION 'invalid names of nodes'
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Write a list of names as the sidecars have them, or beginnings of such and a *: ''{payouts-1,pictures-*}''.';
	END IF;
	INSERT INTO twtasks.type_policy AS p (pattern, options, changed_at, changed_by)
	VALUES (given.pattern, wanted, clock_timestamp(), twtasks_internal.author())
	ON CONFLICT (pattern) DO UPDATE SET
		options = p.options || EXCLUDED.options,
		changed_at = EXCLUDED.changed_at,
		changed_by = EXCLUDED.changed_by;
END $$;

/*
 * twtasks_internal.check_options(options, known)
 *
 *		Raises an error unless all names are names of options.
 *
 * Errors
 *		22023			one of the options is not known, or NULL
 */
CREATE FUNCTION twtasks_internal.check_options(options text[], known text[])
RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	stray text;
BEGIN
	SELECT o INTO stray FROM unnest(options) o WHERE (o = ANY (known)) IS NOT TRUE LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'unrecognized option: %', coalesce('"' || twtasks_internal.shown(stray) || '"', 'NULL')
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Options are ' || array_to_string(known, ', ') || '.';
	END IF;
END $$;

/*
 * twtasks.unset_type_options(pattern, options)
 *
 *		Removes options of a pattern.  Less special patterns, or the configuration of
 *		the sidecar, decide on them again.
 *
 * Parameters
 *		pattern			as it was configured
 *		options			names of parameters of configure_type()
 *
 * Returns
 *		false if the pattern is not configured
 *
 * Errors
 *		22023			a name does not name an option
 *
 * Writes		twtasks.type_policy, twtasks.policy_audit
 * Locks		row lock
 * Wakes		every sidecar, to read the configuration again
 * Example		SELECT twtasks.unset_type_options('EMAIL|*', 'timeout', 'stuck');
 */
CREATE FUNCTION twtasks.unset_type_options(pattern text, VARIADIC options text[])
RETURNS boolean
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	kept jsonb;
BEGIN
	PERFORM twtasks_internal.check_options(options, ARRAY(
		SELECT a.attname::text FROM pg_attribute a
		WHERE a.attrelid = 'twtasks.policy'::regclass AND NOT a.attisdropped ORDER BY a.attnum));
	SELECT p.options - unset_type_options.options INTO kept FROM twtasks.type_policy p
	WHERE p.pattern = unset_type_options.pattern FOR UPDATE;
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	IF kept = '{}' THEN
		DELETE FROM twtasks.type_policy p WHERE p.pattern = unset_type_options.pattern;
	ELSE
		UPDATE twtasks.type_policy p
		SET options = kept, changed_at = clock_timestamp(), changed_by = twtasks_internal.author()
		WHERE p.pattern = unset_type_options.pattern;
	END IF;
	RETURN true;
END $$;

/*
 * twtasks.drop_type_policy(pattern)
 *
 *		Removes all options of a pattern.
 *
 * Returns
 *		false if the pattern is not configured
 *
 * Writes		twtasks.type_policy, twtasks.policy_audit
 * Locks		row lock
 * Wakes		every sidecar, to read the configuration again
 */
CREATE FUNCTION twtasks.drop_type_policy(pattern text)
RETURNS boolean
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	DELETE FROM twtasks.type_policy p WHERE p.pattern = drop_type_policy.pattern;
	RETURN FOUND;
END $$;
