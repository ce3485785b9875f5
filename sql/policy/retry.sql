/*
 * twtasks_internal.check_retry(retry)
 *
 *		Raises an error unless the retry policy is one that configure_type() takes.
 *
 * Errors
 *		22023			the policy is not valid
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
 *		Raises an error, with that hint, unless the object is a valid retry policy.
 *
 * Errors
 *		22023			the policy is not valid
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
				HINT = 'Without a value delay is 5s and max_delay is 2h.';
	END IF;
END $$;

/*
 * twtasks_internal.parse_duration(name, value)
 *
 *		Returns the duration that a text in JSON names.
 *
 * Errors
 *		22023			value is not a duration with a unit
 */
CREATE FUNCTION twtasks_internal.parse_duration(name text, value jsonb)
RETURNS interval
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
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
 *		Raises an error if an object has that member, and the member is not a number
 *		or is out of range.
 *
 * Errors
 *		22023			the member is not valid
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
 * twtasks_internal.retry_delay(retry, tries)
 *
 *		Returns when a task that was tried so often is tried again.  finish_tasks()
 *		calls the same C function.
 *
 * Parameters
 *		retry			as configure_type() takes it
 *		tries			0: a repeat, which waits as for a first retry, even if there is none
 *
 * Returns
 *		milliseconds; NULL: no more tries
 *
 * Errors
 *		22023			retry is not valid
 */
CREATE FUNCTION twtasks_internal.retry_delay(retry jsonb, tries integer)
RETURNS bigint
LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'twt_retry_delay';
