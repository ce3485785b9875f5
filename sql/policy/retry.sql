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
 * twtasks_internal.retry_parts(retry)
 *
 *		The parts of a retry policy, one of which is used up after the other.
 *
 * Returns
 *		a list of objects; "none" is empty
 */
CREATE FUNCTION twtasks_internal.retry_parts(retry jsonb)
RETURNS jsonb
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN retry = '"none"' THEN '[]'
				WHEN jsonb_typeof(retry) = 'array' THEN retry
				ELSE jsonb_build_array(retry) END
$$;

/*
 * twtasks_internal.retry_tries(retry)
 *
 *		How often a task is tried in all, the first try included.  The last try of
 *		a part is the first of the next.
 *
 * Parameters
 *		retry			as configure_type() takes it
 */
CREATE FUNCTION twtasks_internal.retry_tries(retry jsonb)
RETURNS integer
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT 1 + coalesce(sum(CASE WHEN p ? 'delays' THEN jsonb_array_length(p->'delays')
								 ELSE coalesce((p->>'max_tries')::integer, 20) - 1 END), 0)::integer
	FROM jsonb_array_elements(twtasks_internal.retry_parts(retry)) p
$$;

/*
 * twtasks_internal.retry_delay(retry, tries)
 *
 *		When a task that was tried so often is tried again.  A part that backs off
 *		waits delay * multiplier ^ (n - 1) after its try number n, never more than
 *		max_delay.  A random part of at most jitter of it is taken off.
 *
 * Parameters
 *		retry			as configure_type() takes it
 *
 * Returns
 *		milliseconds; NULL: no more tries
 */
CREATE FUNCTION twtasks_internal.retry_delay(retry jsonb, tries integer)
RETURNS bigint
LANGUAGE plpgsql VOLATILE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	parts jsonb;
	part jsonb;
	n bigint := greatest(tries, 1);
	retries bigint;
	delay float8;
	longest float8;
	factor float8;
BEGIN
	-- without a query: every failure of a task comes here
	parts := CASE jsonb_typeof(retry) WHEN 'array' THEN retry
									  WHEN 'object' THEN jsonb_build_array(retry) ELSE '[]' END;
	FOR i IN 0 .. jsonb_array_length(parts) - 1 LOOP
		part := parts->i;
		retries := coalesce(jsonb_array_length(part->'delays'), coalesce((part->>'max_tries')::integer, 20) - 1);
		IF n > retries THEN
			n := n - retries;
			CONTINUE;
		END IF;
		IF part ? 'delays' THEN
			delay := 1000 * extract(epoch FROM (part->'delays'->>(n - 1)::integer)::interval);
		ELSE
			delay := 1000 * extract(epoch FROM coalesce((part->>'delay')::interval, '5s'));
			longest := 1000 * extract(epoch FROM coalesce((part->>'max_delay')::interval, '2h'));
			factor := coalesce((part->>'multiplier')::float8, 2);
			-- the power itself may be more than a number can hold
			delay := CASE WHEN delay <= 0 THEN 0
						  WHEN delay >= longest THEN longest
						  WHEN (n - 1) * ln(factor) >= ln(longest / delay) THEN longest
						  ELSE delay * power(factor, n - 1) END;
		END IF;
		RETURN floor(delay - delay * random()
					 * coalesce((part->>'jitter')::float8, CASE WHEN part ? 'delays' THEN 0 ELSE 0.1 END));
	END LOOP;
	RETURN NULL;
END $$;

/*
 * twtasks_internal.judge_answer(id, version, result, delay_ms, message, retry, ask_until)
 *
 *		What becomes of a task whose handler failed, or asked for a retry or a
 *		repeat, by the policies of its type.
 *
 * Parameters
 *		id, version		of the task, which is PROCESSING
 *		result			'retry', also for a failure, or 'repeat'
 *		delay_ms		that the handler asked for; NULL: as the policy says
 *		message			why it failed; NULL: nothing was said
 *		retry			when no policy of the database has one, as configure_type()
 *						takes it; NULL: {}
 *		ask_until		when it is too late to ask a function; NULL: none is asked
 *
 * Returns
 *		result, delay_ms	for finish_tasks(); 'later': it was too late.  As they
 *						were given, if there is no such task
 */
CREATE FUNCTION twtasks_internal.judge_answer(
	id uuid, version bigint, INOUT result text, INOUT delay_ms bigint, message text,
	retry jsonb, ask_until timestamptz)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
	task record;
	answer text := 'policy';
	answer_ms bigint;
BEGIN
	SELECT t.tries, o.retry, o.retry_function, o.reset_tries INTO task
	FROM twtasks.task t CROSS JOIN LATERAL twtasks_internal.type_options(t.type) o
	WHERE t.id = judge_answer.id AND t.version = judge_answer.version AND t.status = 'PROCESSING';
	IF NOT FOUND THEN
		RETURN;
	END IF;
	task.retry := coalesce(task.retry, retry, '{}');
	IF result = 'repeat' AND task.reset_tries THEN
		delay_ms := coalesce(delay_ms, twtasks_internal.retry_delay(task.retry, 1), 0);
		RETURN;
	END IF;
	IF result = 'retry' AND ask_until IS NOT NULL AND task.retry_function IS NOT NULL THEN
		IF clock_timestamp() > ask_until THEN
			result := 'later';
			RETURN;
		END IF;
		SELECT f.answer, f.delay_ms INTO answer, answer_ms
		FROM twtasks.task t
		CROSS JOIN LATERAL twtasks_internal.ask_function(task.retry_function,
			(t.id, t.version, t.type, t.sub_type, t.bucket, t.priority, t.tries,
			 t.state_time, t.data, t.payload, t.context)::twtasks.task_input, message) f
		WHERE t.id = judge_answer.id;
	END IF;
	IF answer = 'policy' THEN
		answer_ms := twtasks_internal.retry_delay(task.retry, task.tries);
		answer := CASE WHEN answer_ms IS NULL THEN 'error' ELSE 'retry' END;
	END IF;
	result := answer;
	delay_ms := coalesce(delay_ms, answer_ms, 0);
END $$;

/*
 * twtasks_internal.judge_answers(ids, versions, results, delays_ms, messages, retries, ask)
 *
 *		judge_answer() for the retries and repeats among the results of a finish.
 *
 * Parameters
 *		as finish_tasks() has them, each with an element for each task
 *
 * Returns
 *		results, delays_ms	as judged
 */
CREATE FUNCTION twtasks_internal.judge_answers(
	ids uuid[], versions bigint[], INOUT results text[], INOUT delays_ms bigint[],
	messages text[], retries jsonb[], ask boolean)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	ask_until CONSTANT timestamptz := CASE WHEN ask THEN clock_timestamp()
		+ greatest(current_setting('twtasks.function_timeout')::interval, '100 ms') END;
	judged record;
BEGIN
	FOR i IN 1 .. cardinality(ids) LOOP
		IF retries[i] IS NOT NULL AND results[i] IN ('retry', 'repeat') THEN
			judged := twtasks_internal.judge_answer(ids[i], versions[i], results[i], delays_ms[i],
										   messages[i], retries[i], ask_until);
			results[i] := judged.result;
			delays_ms[i] := judged.delay_ms;
		END IF;
	END LOOP;
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
