/*
 * twtasks_internal.check_retry(retry)
 *
 *		Refuses what is no retry policy: configure_type() says what is one.
 *
 * Errors
 *		22023			it is not valid
 */
CREATE FUNCTION twtasks_internal.check_retry(retry jsonb)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	how_to CONSTANT text := 'Write "none", {"delay": "5s", "multiplier": 2, "max_delay": "2h", "max_tries": 20, "jitter": 0.1}, {"delays": ["1s", "1min"]}, or a list of the latter two.';
	stage jsonb;
BEGIN
	IF retry IS NULL OR retry = '"none"' THEN
		RETURN;
	END IF;
	IF jsonb_typeof(retry) = 'array' AND jsonb_array_length(retry) NOT BETWEEN 1 AND 16 THEN
		RAISE EXCEPTION 'a chain of retry policies must have 1 to 16 of them, not %', jsonb_array_length(retry)
			USING ERRCODE = 'invalid_parameter_value', HINT = how_to;
	END IF;
	FOR stage IN SELECT s FROM jsonb_array_elements(
		CASE jsonb_typeof(retry) WHEN 'array' THEN retry ELSE jsonb_build_array(retry) END) s
	LOOP
		IF jsonb_typeof(stage) <> 'object' THEN
			RAISE EXCEPTION 'invalid retry policy: %', left(stage::text, 64)
				USING ERRCODE = 'invalid_parameter_value', HINT = how_to;
		END IF;
		PERFORM twtasks_internal.check_retry_stage(stage, how_to);
	END LOOP;
END $$;

/*
 * twtasks_internal.check_retry_stage(stage, how_to)
 *
 *		Refuses an object that is no retry policy, with that hint.
 *
 * Errors
 *		22023			it is not valid
 */
CREATE FUNCTION twtasks_internal.check_retry_stage(stage jsonb, how_to text)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	known CONSTANT text[] := CASE WHEN stage ? 'delays' THEN '{delays,jitter}'
								  ELSE '{delay,multiplier,max_delay,max_tries,jitter}' END;
	stray text;
BEGIN
	SELECT k INTO stray FROM jsonb_object_keys(stage) k WHERE k <> ALL (known) LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'unrecognized name in retry policy: "%"', twtasks_internal.shown(stray)
			USING ERRCODE = 'invalid_parameter_value', HINT = how_to;
	END IF;
	IF stage ? 'delays' AND (jsonb_typeof(stage->'delays') <> 'array'
							 OR jsonb_array_length(stage->'delays') NOT BETWEEN 1 AND 100) THEN
		RAISE EXCEPTION 'delays must be a list of 1 to 100 durations'
			USING ERRCODE = 'invalid_parameter_value', HINT = how_to;
	END IF;
	PERFORM twtasks_internal.check_duration(d.name, twtasks_internal.parse_duration(d.name, d.value), '0'::interval, '30 d'::interval)
	FROM (SELECT 'each of delays', e FROM jsonb_array_elements(stage->'delays') e
		  UNION ALL SELECT k, stage->k FROM unnest('{delay,max_delay}'::text[]) k
		  WHERE stage ? k) d(name, value);
	PERFORM twtasks_internal.check_number(stage, 'multiplier', 1, 100),
			twtasks_internal.check_number(stage, 'max_tries', 1, 1000000),
			twtasks_internal.check_number(stage, 'jitter', 0, 1);
	IF (stage->>'max_tries')::numeric % 1 <> 0 THEN
		RAISE EXCEPTION 'max_tries must be a whole number, not %', stage->>'max_tries'
			USING ERRCODE = 'invalid_parameter_value', HINT = how_to;
	END IF;
	IF coalesce((stage->>'delay')::interval, '5s') > coalesce((stage->>'max_delay')::interval, '2h') THEN
		RAISE EXCEPTION 'delay must not be longer than max_delay'
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Without a word on it delay is 5s and max_delay is 2h.';
	END IF;
END $$;

/*
 * twtasks_internal.parse_duration(name, value)
 *
 *		A duration from a text in JSON, in which it has a unit.
 *
 * Errors
 *		22023			it is not one
 */
CREATE FUNCTION twtasks_internal.parse_duration(name text, value jsonb)
RETURNS interval
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF jsonb_typeof(value) = 'string' AND value #>> '{}' ~ '[a-z:]|^0$' THEN
		RETURN (value #>> '{}')::interval;
	END IF;
	RAISE invalid_datetime_format;
EXCEPTION WHEN invalid_datetime_format OR datetime_field_overflow OR interval_field_overflow THEN
	RAISE EXCEPTION '% must be a duration, not %', name, left(value::text, 64)
		USING ERRCODE = 'invalid_parameter_value',
			HINT = 'Write a duration such as "30s", "10min" or "2h".';
END $$;

/*
 * twtasks_internal.check_number(stage, name, smallest, largest)
 *
 *		Refuses a member of an object that is there and no number, or is out of
 *		range.
 *
 * Errors
 *		22023			it is not valid
 */
CREATE FUNCTION twtasks_internal.check_number(stage jsonb, name text, smallest integer, largest integer)
RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF stage ? name AND (jsonb_typeof(stage->name) <> 'number'
						 OR (stage->>name)::numeric NOT BETWEEN smallest AND check_number.largest) THEN
		RAISE EXCEPTION '% must be a number from % to %, not %', name, smallest, check_number.largest, left((stage->name)::text, 64)
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
END $$;

/*
 * twtasks_internal.retry_in_ms(retry)
 *
 *		A retry policy as sidecars read it: a list of its parts, durations in
 *		milliseconds, with everything that it leaves out.
 *
 * Returns
 *		[{"delays_ms": [...], "jitter": ...}, {"delay_ms": ..., "multiplier": ...,
 *		"max_delay_ms": ..., "max_tries": ..., "jitter": ...}]; "none" is empty
 */
CREATE FUNCTION twtasks_internal.retry_in_ms(retry jsonb)
RETURNS jsonb
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT coalesce(jsonb_agg(CASE WHEN s.stage ? 'delays' THEN
		jsonb_build_object(
			'delays_ms', (SELECT jsonb_agg((extract(epoch FROM d.delay::interval) * 1000)::bigint ORDER BY d.n)
						  FROM jsonb_array_elements_text(s.stage->'delays') WITH ORDINALITY d(delay, n)),
			'jitter', coalesce((s.stage->>'jitter')::float8, 0))
	ELSE
		jsonb_build_object(
			'delay_ms', (extract(epoch FROM coalesce((s.stage->>'delay')::interval, '5s')) * 1000)::bigint,
			'multiplier', coalesce((s.stage->>'multiplier')::float8, 2),
			'max_delay_ms', (extract(epoch FROM coalesce((s.stage->>'max_delay')::interval, '2h')) * 1000)::bigint,
			'max_tries', coalesce((s.stage->>'max_tries')::integer, 20),
			'jitter', coalesce((s.stage->>'jitter')::float8, 0.1))
	END ORDER BY s.n), '[]')
	FROM jsonb_array_elements(
		CASE WHEN retry = '"none"' THEN '[]'
			 WHEN jsonb_typeof(retry) = 'array' THEN retry
			 ELSE jsonb_build_array(retry) END) WITH ORDINALITY s(stage, n)
$$;

/*
 * twtasks_internal.retry_delay(plan, tries)
 *
 *		When a task that was tried so often is tried again.  Sidecars count alike.
 *
 * Parameters
 *		plan			as retry_in_ms() has it
 *
 * Returns
 *		milliseconds; NULL: no more tries
 */
CREATE FUNCTION twtasks_internal.retry_delay(plan jsonb, tries integer)
RETURNS bigint
LANGUAGE plpgsql VOLATILE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	part jsonb;
	n bigint := greatest(tries, 1);
	retries bigint;
	delay float8;
	longest float8;
	factor float8;
BEGIN
	FOR part IN SELECT p FROM jsonb_array_elements(plan) p LOOP
		retries := coalesce(jsonb_array_length(part->'delays_ms'), greatest((part->>'max_tries')::integer, 1) - 1);
		IF n > retries THEN
			n := n - retries;
			CONTINUE;
		END IF;
		IF part ? 'delays_ms' THEN
			delay := (part->'delays_ms'->>(n - 1)::integer)::float8;
		ELSE
			delay := (part->>'delay_ms')::float8;
			longest := (part->>'max_delay_ms')::float8;
			factor := greatest((part->>'multiplier')::float8, 1);
			-- the power itself may be more than a number can hold
			delay := CASE WHEN delay <= 0 THEN 0
						  WHEN delay >= longest THEN longest
						  WHEN (n - 1) * ln(factor) >= ln(longest / delay) THEN longest
						  ELSE delay * power(factor, n - 1) END;
		END IF;
		RETURN floor(delay - delay * (part->>'jitter')::float8 * random());
	END LOOP;
	RETURN NULL;
END $$;

/*
 * twtasks_internal.judge_answer(id, result, delay_ms, message, plan)
 *
 *		What becomes of a task whose SQL handler asked for a retry or a repeat, by
 *		the policies of its type.
 *
 * Parameters
 *		id				of the task, which is PROCESSING
 *		result, delay_ms, message
 *						what the handler answered
 *		plan			when no policy has one, as retry_in_ms() has it
 *
 * Returns
 *		result, delay_ms	for finish_tasks()
 */
CREATE FUNCTION twtasks_internal.judge_answer(
	id uuid, INOUT result text, INOUT delay_ms bigint, message text, plan jsonb)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
	task CONSTANT twtasks.task_input := (
		SELECT (t.id, t.version, t.type, t.sub_type, t.bucket, t.priority, t.tries,
				t.state_time, t.data, t.payload, t.context)::twtasks.task_input
		FROM twtasks.task t WHERE t.id = judge_answer.id);
	policy CONSTANT record := twtasks.policy_of(task.type);
	figures CONSTANT jsonb := coalesce(twtasks_internal.retry_in_ms(policy.retry), plan, twtasks_internal.retry_in_ms('{}'::jsonb));
	said record;
BEGIN
	IF result = 'repeat' AND coalesce(policy.reset_tries, true) THEN
		delay_ms := coalesce(delay_ms, twtasks_internal.retry_delay(figures, 1), 0);
		RETURN;
	END IF;
	said := twtasks_internal.ask_function(CASE result WHEN 'retry' THEN policy.retry_function END,
								 task, message);
	IF said.answer = 'policy' THEN
		said.delay_ms := twtasks_internal.retry_delay(figures, task.tries);
		said.answer := CASE WHEN said.delay_ms IS NULL THEN 'error' ELSE 'retry' END;
	END IF;
	result := said.answer;
	delay_ms := coalesce(delay_ms, said.delay_ms, 0);
END $$;

/*
 * twtasks_internal.call_retry(function, task, error)
 *
 *		Asks the function of a policy, with the rights of its owner, for as long as
 *		twtasks.function_timeout at most.
 *
 * Returns
 *		answered		false when it failed, which was told as a warning
 *		run_at			when to try again; NULL: no more
 */
CREATE FUNCTION twtasks_internal.call_retry(
	function text, task twtasks.task_input, error text,
	OUT answered boolean, OUT run_at timestamptz)
RETURNS record
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_call_retry';

/*
 * twtasks_internal.ask_function(function, task, error)
 *
 *		What the function of a policy says about a task that failed.
 *
 * Parameters
 *		function		NULL or 'none': there is none
 *		error			NULL: nothing was said
 *
 * Returns
 *		answer			'retry', 'error', or 'policy': there is no function, or it
 *						failed, which was told as a warning
 *		delay_ms		of a retry
 */
CREATE FUNCTION twtasks_internal.ask_function(
	function text, task twtasks.task_input, error text,
	OUT answer text, OUT delay_ms bigint)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	said record;
BEGIN
	answer := 'policy';
	IF coalesce(function, 'none') = 'none' THEN
		RETURN;
	END IF;
	said := twtasks_internal.call_retry(function, task, coalesce(error, ''));
	IF said.run_at = 'infinity' THEN
		RAISE WARNING 'function "%" of a policy failed: it returned an infinite time', function;
	ELSIF said.answered AND said.run_at IS NULL THEN
		answer := 'error';
	ELSIF said.answered THEN
		answer := 'retry';
		delay_ms := greatest(0, extract(epoch FROM
			greatest(said.run_at, 'epoch') - clock_timestamp()) * 1000)::bigint;
	END IF;
END $$;

/*
 * twtasks_internal.ask_retry(ids, versions, errors)
 *
 *		What the functions of their policies say about tasks that failed.
 *
 * Parameters
 *		ids, versions	of the tasks, as the grab returned them
 *		errors			for each: why it failed; NULL: nothing was said
 *
 * Returns
 *		for each that is still PROCESSING in that version:
 *		answer			'retry', 'error', 'policy': there is no function, or it
 *						failed; 'later': those before it took too long together,
 *						ask again
 *		delay_ms		of a retry
 *
 * Locks		none of its own
 */
CREATE FUNCTION twtasks_internal.ask_retry(
	ids uuid[],
	versions bigint[],
	errors text[],
	OUT id uuid,
	OUT answer text,
	OUT delay_ms bigint)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER ROWS 100
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
	until CONSTANT timestamptz := clock_timestamp() + current_setting('twtasks.function_timeout')::interval;
	asked record;
	any_asked boolean := false;
BEGIN
	FOR asked IN
		SELECT (t.id, t.version, t.type, t.sub_type, t.bucket, t.priority, t.tries,
				t.state_time, t.data, t.payload, t.context)::twtasks.task_input AS task, w.error
		FROM unnest(ids, versions, errors) w(id, version, error)
		JOIN twtasks.task t ON t.id = w.id
		WHERE t.version = w.version AND t.status = 'PROCESSING'
	LOOP
		id := (asked.task).id;
		answer := 'later';
		delay_ms := NULL;
		IF NOT any_asked OR clock_timestamp() < until THEN
			any_asked := true;
			SELECT f.answer, f.delay_ms INTO answer, delay_ms
			FROM twtasks_internal.ask_function((twtasks.policy_of((asked.task).type)).retry_function,
									  asked.task, asked.error) f;
		END IF;
		RETURN NEXT;
	END LOOP;
END $$;
