/*
 * twtasks.check_pattern(pattern)
 *
 *		Refuses what is neither a type nor the beginning of types and a *.
 *
 * Errors
 *		22004			pattern is NULL
 *		22023			it is not a pattern
 */
CREATE FUNCTION twtasks.check_pattern(pattern text)
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
	IF pattern !~ '^([A-Za-z0-9_.:|/-]{1,120}|[A-Za-z0-9_.:|/-]{0,120}\*)$' THEN
		RAISE EXCEPTION 'invalid pattern: "%"', left(regexp_replace(pattern, '[[:cntrl:]]', '?', 'g'), 64)
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'A pattern is a type, or the beginning of types and a *; a type has 1 to 120 letters (A to Z), digits and characters of "_.:|/-".',
				HINT = 'Write SEND_EMAIL for one type, EMAIL|* for all that begin so, * for all.';
	END IF;
END $$;

/*
 * twtasks.check_duration(name, value, shortest, longest)
 *
 *		Refuses a duration that is out of range.
 *
 * Errors
 *		22023			value is shorter or longer than that
 */
CREATE FUNCTION twtasks.check_duration(name text, value interval, shortest interval, longest interval)
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
 * twtasks.fits(pattern, type)
 *
 *		Whether the pattern is for that type, and how well.
 *
 * Returns
 *		NULL: it does not fit; else a number, the greatest for the type itself and
 *		more for a longer beginning
 */
CREATE FUNCTION twtasks.fits(pattern text, type text)
RETURNS integer
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN right(pattern, 1) <> '*' THEN CASE WHEN pattern = type COLLATE "C" THEN 1000 END
				WHEN starts_with(type, left(pattern, -1)) THEN length(pattern) END
$$;

/*
 * twtasks.check_function(option, function)
 *
 *		Refuses a function that cannot be the value of that option of
 *		configure_type(); NULL is none.
 *
 * Errors
 *		42883			there is none of that name with the right signature
 *		42501			the session's user may not execute it
 *		22023			it does not fix its search_path
 */
CREATE FUNCTION twtasks.check_function(option text, function text)
RETURNS void
LANGUAGE c STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_check_function';

/*
 * twtasks.configure_type(pattern, ...)
 *
 *		Sets policies of a type, or of all types that begin so.  Every sidecar and
 *		every session goes by them from the commit on; a task that runs goes on
 *		with what it was grabbed with.
 *
 *		Of several patterns that fit a type, each option is taken from the most
 *		special one that sets it: the type itself, else the longest beginning.
 *		What none of them sets is as the configuration of the sidecar says.
 *
 * Parameters
 *		pattern			a type, or the beginning of types and a *; * alone: all
 *		bucket			for tasks that are added without one; must be configured
 *		priority		for tasks that are added without one: 0 (urgent) to 9
 *		timeout			deadline of a task from its grab, 10ms to 30d
 *		queue_time		how long a task may be SUBMITTED before it counts as stuck in
 *						the queue, 1s to 1 year; without a policy 30min
 *		expires_after	a task that was added without expires is no longer started
 *						so long after it was added, or after its run_after; 1ms to
 *						100 years
 *		stuck			what becomes of a task whose node is gone or whose deadline
 *						passed unseen: retry, error, fail or ignore
 *		stuck_function	a function (twtasks.task_input) that returns the rule for
 *						that task; should it fail, or return NULL, the task's own
 *						rule decides, which is error instead of ignore.  'none': none
 *		when_done		what is kept of a task that is DONE: keep, all; clear, all
 *						but data and payload; delete, nothing, and its key is free
 *		retry			when a task that failed is tried again: "none", never;
 *						{"delay": "5s", "multiplier": 2, "max_delay": "2h",
 *						"max_tries": 20, "jitter": 0.1}, longer and longer, with these
 *						figures for what is left out; {"delays": ["1s", "1min"]},
 *						after these times; or a list of such, one after the other
 *		retry_function	a function (twtasks.task_input, error text) that returns a
 *						timestamptz or NULL, for no more, in place of retry; should
 *						it fail, retry decides.  'none': none
 *		reset_tries		whether tries start anew when a handler answers "repeat"; if
 *						not, repeats end with the tries.  Without a policy they do
 *
 *		A function runs with the rights of its owner and must fix its search_path.
 *		NULL, or left out: as it was; unset_type_options() takes one away.
 *
 * Errors
 *		22004			pattern is NULL
 *		22023			a value is not valid, no option is given, the bucket is not
 *						configured, or the function does not fix its search_path
 *		42883			there is no such function
 *		42501			the session's user may not execute it
 *
 * Writes		twtasks.type_policy
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
	retry jsonb DEFAULT NULL,
	retry_function text DEFAULT NULL,
	reset_tries boolean DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
	PERFORM twtasks.check_pattern(configure_type.pattern);
	IF num_nonnulls(configure_type.bucket, configure_type.priority, timeout, queue_time,
					expires_after, stuck, stuck_function, when_done,
					retry, retry_function, reset_tries) = 0 THEN
		RAISE EXCEPTION 'no option is given for "%"', configure_type.pattern
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Name at least one, such as timeout => ''30s''.';
	END IF;
	IF configure_type.priority NOT BETWEEN 0 AND 9 THEN
		RAISE EXCEPTION 'priority must be between 0 and 9, not %', configure_type.priority
			USING ERRCODE = 'invalid_parameter_value',
				HINT = '0 is the most urgent, 5 the default.';
	END IF;
	PERFORM twtasks.check_bucket(configure_type.bucket);
	PERFORM twtasks.check_duration('timeout', timeout, '10 ms', '30 d');
	PERFORM twtasks.check_duration('queue_time', queue_time, '1 s', '1 year');
	PERFORM twtasks.check_duration('expires_after', expires_after, '1 ms', '100 years');
	PERFORM twtasks.check_retry(retry);
	PERFORM twtasks.check_function('retry_function', retry_function),
			twtasks.check_function('stuck_function', stuck_function);
	INSERT INTO twtasks.type_policy AS p
		(pattern, bucket, priority, timeout, queue_time, expires_after, stuck,
		 stuck_function, when_done, retry, retry_function, reset_tries, changed_at, changed_by)
	VALUES (configure_type.pattern, configure_type.bucket, configure_type.priority,
			timeout, queue_time, expires_after, stuck,
			stuck_function, when_done, retry, retry_function, reset_tries, clock_timestamp(), session_user)
	ON CONFLICT (pattern) DO UPDATE SET
		bucket = coalesce(EXCLUDED.bucket, p.bucket),
		priority = coalesce(EXCLUDED.priority, p.priority),
		timeout = coalesce(EXCLUDED.timeout, p.timeout),
		queue_time = coalesce(EXCLUDED.queue_time, p.queue_time),
		expires_after = coalesce(EXCLUDED.expires_after, p.expires_after),
		stuck = coalesce(EXCLUDED.stuck, p.stuck),
		stuck_function = coalesce(EXCLUDED.stuck_function, p.stuck_function),
		when_done = coalesce(EXCLUDED.when_done, p.when_done),
		retry = coalesce(EXCLUDED.retry, p.retry),
		retry_function = coalesce(EXCLUDED.retry_function, p.retry_function),
		reset_tries = coalesce(EXCLUDED.reset_tries, p.reset_tries),
		changed_at = EXCLUDED.changed_at,
		changed_by = EXCLUDED.changed_by;
END $$;

/*
 * twtasks.unset_type_options(pattern, options)
 *
 *		Takes options away from a pattern: they are again as less special patterns
 *		or the configuration of the sidecar say.
 *
 * Parameters
 *		pattern			as it was configured
 *		options			names of parameters of configure_type()
 *
 * Returns
 *		false when that pattern is not configured
 *
 * Errors
 *		22023			a name is not that of an option
 *
 * Writes		twtasks.type_policy
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
	known CONSTANT text[] := ARRAY(
		SELECT a.attname::text FROM pg_attribute a
		WHERE a.attrelid = 'twtasks.type_policy'::regclass AND a.attnum > 0 AND NOT a.attisdropped
		  AND a.attname <> ALL ('{pattern,changed_at,changed_by}') ORDER BY a.attnum);
	stray text;
	policy twtasks.type_policy;
BEGIN
	SELECT o INTO stray FROM unnest(options) o WHERE (o = ANY (known)) IS NOT TRUE LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'unrecognized option: %', coalesce('"' || stray || '"', 'NULL')
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Options are ' || array_to_string(known, ', ') || '.';
	END IF;
	DELETE FROM twtasks.type_policy p WHERE p.pattern = unset_type_options.pattern
	RETURNING p.* INTO policy;
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	policy := jsonb_populate_record(policy, (SELECT jsonb_object_agg(o, NULL::text) FROM unnest(options) o));
	policy.changed_at := clock_timestamp();
	policy.changed_by := session_user;
	IF jsonb_strip_nulls(to_jsonb(policy)) - '{pattern,changed_at,changed_by}'::text[] <> '{}' THEN
		INSERT INTO twtasks.type_policy SELECT policy.*;
	END IF;
	RETURN true;
END $$;

/*
 * twtasks.drop_type_policy(pattern)
 *
 *		Takes all options of a pattern away.
 *
 * Returns
 *		false when that pattern is not configured
 *
 * Writes		twtasks.type_policy
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

/*
 * twtasks.policy_of(type)
 *
 *		What is configured in the database for a type, all patterns that fit taken
 *		together.
 *
 * Returns
 *		patterns		those that fit, the most special first
 *		the others		as in configure_type(); NULL: as the configuration of the
 *						sidecar says
 *
 * Locks		none
 * Example		SELECT * FROM twtasks.policy_of('EMAIL|WELCOME');
 */
CREATE FUNCTION twtasks.policy_of(
	type text,
	OUT patterns text[],
	OUT bucket text,
	OUT priority smallint,
	OUT timeout interval,
	OUT queue_time interval,
	OUT expires_after interval,
	OUT stuck twtasks.stuck_rule,
	OUT stuck_function text,
	OUT when_done twtasks.done_rule,
	OUT retry jsonb,
	OUT retry_function text,
	OUT reset_tries boolean)
RETURNS record
LANGUAGE sql STABLE STRICT PARALLEL SAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT coalesce(array_agg(p.pattern ORDER BY p.fit DESC), '{}'),
		   (array_agg(p.bucket ORDER BY p.fit DESC) FILTER (WHERE p.bucket IS NOT NULL))[1],
		   (array_agg(p.priority ORDER BY p.fit DESC) FILTER (WHERE p.priority IS NOT NULL))[1],
		   (array_agg(p.timeout ORDER BY p.fit DESC) FILTER (WHERE p.timeout IS NOT NULL))[1],
		   (array_agg(p.queue_time ORDER BY p.fit DESC) FILTER (WHERE p.queue_time IS NOT NULL))[1],
		   (array_agg(p.expires_after ORDER BY p.fit DESC) FILTER (WHERE p.expires_after IS NOT NULL))[1],
		   (array_agg(p.stuck ORDER BY p.fit DESC) FILTER (WHERE p.stuck IS NOT NULL))[1],
		   (array_agg(p.stuck_function ORDER BY p.fit DESC) FILTER (WHERE p.stuck_function IS NOT NULL))[1],
		   (array_agg(p.when_done ORDER BY p.fit DESC) FILTER (WHERE p.when_done IS NOT NULL))[1],
		   (array_agg(p.retry ORDER BY p.fit DESC) FILTER (WHERE p.retry IS NOT NULL))[1],
		   (array_agg(p.retry_function ORDER BY p.fit DESC) FILTER (WHERE p.retry_function IS NOT NULL))[1],
		   (array_agg(p.reset_tries ORDER BY p.fit DESC) FILTER (WHERE p.reset_tries IS NOT NULL))[1]
	FROM (SELECT t.*, twtasks.fits(t.pattern, policy_of.type) AS fit FROM twtasks.type_policy t) p
	WHERE p.fit IS NOT NULL
$$;

/*
 * twtasks.queue_time(type)
 *
 *		How long a task of that type may be SUBMITTED before it counts as stuck in
 *		the queue.
 *
 * Returns
 *		interval
 *
 * Locks		none
 */
CREATE FUNCTION twtasks.queue_time(type text)
RETURNS interval
LANGUAGE c STABLE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_queue_time';

/*
 * twtasks.read_policies()
 *
 *		All policies, as a sidecar reads them.
 *
 * Returns
 *		pattern			exact, or a beginning and a *
 *		timeout_ms, stuck, reset_tries
 *						as in configure_type()
 *		retry			as retry_in_ms() has it, as text
 *		asks_retry, asks_stuck
 *						whether there is a function to ask
 *
 * Locks		none
 */
CREATE FUNCTION twtasks.read_policies()
RETURNS TABLE (pattern text, timeout_ms bigint, stuck text, retry text,
			   asks_retry boolean, reset_tries boolean, asks_stuck boolean)
LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT p.pattern, (extract(epoch FROM p.timeout) * 1000)::bigint, p.stuck::text,
		   twtasks.retry_in_ms(p.retry)::text, p.retry_function <> 'none', p.reset_tries,
		   p.stuck_function <> 'none'
	FROM twtasks.type_policy p
$$;
