-- before:
/*
 * twtasks_internal.retry_stages(retry)
 *
 *		The stages of a retry policy: each object of a list, or the only one; none, if the
 *		policy is neither, as "none".
 */
CREATE FUNCTION twtasks_internal.retry_stages(retry jsonb)
RETURNS TABLE (n bigint, stage jsonb, retries integer)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT e.n, e.stage, CASE WHEN e.stage ? 'delays' THEN jsonb_array_length(e.stage -> 'delays')
		ELSE coalesce((e.stage ->> 'max_tries')::numeric::integer, 20) - 1 END
	FROM jsonb_array_elements(CASE jsonb_typeof(retry) WHEN 'array' THEN retry WHEN 'object' THEN jsonb_build_array(retry)
		ELSE '[]' END) WITH ORDINALITY e(stage, n)
$$;

/*
 * twtasks_internal.backed_off(stage, n)
 *
 *		The delay before the n-th retry of a stage without a list of delays, in
 *		milliseconds.
 */
CREATE FUNCTION twtasks_internal.backed_off(stage jsonb, n integer)
RETURNS double precision
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	delay CONSTANT double precision := extract(epoch FROM coalesce(stage ->> 'delay', '5s')::interval) * 1000;
	longest CONSTANT double precision := extract(epoch FROM coalesce(stage ->> 'max_delay', '2h')::interval) * 1000;
	multiplier CONSTANT double precision := coalesce((stage ->> 'multiplier')::double precision, 2);
BEGIN
	IF delay <= 0 OR longest <= 0 THEN
		RETURN 0;
	-- power() fails where its result is too large
	ELSIF ln(delay) + (n - 1) * ln(multiplier) >= ln(longest) THEN
		RETURN longest;
	END IF;
	RETURN delay * power(multiplier, n - 1);
END $$;

-- twin: twt_retry_delay LANGUAGE plpgsql
DECLARE
	n integer := greatest(tries, 1);
	part record;
	delay double precision;
	jitter double precision;
BEGIN
	FOR part IN SELECT s.stage, s.retries FROM twtasks_internal.retry_stages(retry) s ORDER BY s.n LOOP
		IF n > part.retries AND tries <> 0 THEN
			n := n - part.retries;
			CONTINUE;
		END IF;
		IF part.stage -> 'delays' = '[]' THEN
			RAISE EXCEPTION 'invalid retry policy' USING ERRCODE = 'invalid_parameter_value',
				HINT = 'twtasks.configure_type() says which ones are valid.';
		ELSIF part.stage ? 'delays' THEN
			delay := extract(epoch FROM (part.stage -> 'delays' ->> (n - 1))::interval) * 1000;
			jitter := coalesce((part.stage ->> 'jitter')::double precision, 0);
		ELSE
			delay := twtasks_internal.backed_off(part.stage, n);
			jitter := coalesce((part.stage ->> 'jitter')::double precision, 0.1);
		END IF;
		RETURN floor(greatest(delay - delay * jitter * random(), 0));
	END LOOP;
	RETURN NULL;
END
