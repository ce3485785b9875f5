/* A limit counts on each node for itself, or on all together. */
CREATE TYPE twtasks.limit_scope AS ENUM ('node', 'cluster');

/*
 * How many tasks may run at once, and how often one may start.
 * src/common/limit_pattern.h says which types a pattern covers.
 */
CREATE TABLE twtasks.limit_rule (
	pattern				text COLLATE "C" NOT NULL,		-- A type and all below it, the beginning of types with *, or a type with |* for each key
	scope				twtasks.limit_scope NOT NULL,	-- Whether the limit counts on each node for itself or in the whole cluster
	concurrency			integer,						-- Tasks that may run at once; NULL: no limit
	stretch				integer NOT NULL,				-- Extra slots for urgent tasks
	stretch_priority	smallint NOT NULL,				-- Tasks up to this priority are urgent
	rate				integer,						-- Tasks that may start per period; NULL: no limit
	per					interval,						-- Period of the rate
	burst				integer,						-- Tasks that may start at once after a quiet time
	changed_at			timestamptz NOT NULL,			-- Time of the last change
	changed_by			text NOT NULL,					-- Role that logged in and made the last change, or the person for whom twtasks-web did
	CONSTRAINT limit_rule_pkey PRIMARY KEY (pattern, scope)
);
COMMENT ON TABLE twtasks.limit_rule IS 'Limits of types, as configure_limit() set them';

CREATE TRIGGER config_changed
	AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON twtasks.limit_rule
	FOR EACH STATEMENT EXECUTE FUNCTION twtasks_internal.config_changed();

SELECT pg_catalog.pg_extension_config_dump('twtasks.limit_rule', '');

/*
 * twtasks.limit_name(pattern, type)
 *
 *		Returns the name under which a pattern counts a type: the pattern itself, or
 *		the type's key if the pattern counts each key for itself.
 *
 * Returns
 *		text; NULL: the pattern does not cover the type
 *
 * Errors
 *		22023			pattern is not valid
 *
 * Example		SELECT twtasks.limit_name('PAYOUT|*', 'PAYOUT|ACME|EUR');   -- PAYOUT|ACME
 */
CREATE FUNCTION twtasks.limit_name(pattern text, type text)
RETURNS text
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_limit_name';

/*
 * twtasks_internal.check_limit(...)
 *
 *		Raises an error unless the figures of a limit are valid.
 *
 * Parameters
 *		as configure_limit()
 *
 * Errors
 *		22023			a value is not valid, or values do not go together
 */
CREATE FUNCTION twtasks_internal.check_limit(
	concurrency integer, scope twtasks.limit_scope, stretch integer,
	stretch_priority integer, rate integer, per interval, burst integer)
RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	most CONSTANT integer := CASE scope WHEN 'cluster' THEN 10000 ELSE 1000000 END;
BEGIN
	IF concurrency IS NULL AND rate IS NULL THEN
		RAISE EXCEPTION 'neither concurrency nor rate is given'
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Say how many may run at once, or how many may start per period; drop_limit() takes a limit away.';
	END IF;
	IF concurrency NOT BETWEEN 0 AND most THEN
		RAISE EXCEPTION 'concurrency must be between 0 and %, not %', most, concurrency
			USING ERRCODE = 'invalid_parameter_value',
				HINT = '0 lets no task start.';
	END IF;
	IF (stretch IS NULL) <> (stretch_priority IS NULL) OR stretch IS NOT NULL AND concurrency IS NULL THEN
		RAISE EXCEPTION 'stretch needs concurrency and stretch_priority'
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Such as concurrency => 10, stretch => 2, stretch_priority => 1: two more for tasks of priority 0 and 1.';
	END IF;
	IF stretch NOT BETWEEN 0 AND most THEN
		RAISE EXCEPTION 'stretch must be between 0 and %, not %', most, stretch
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	IF stretch_priority NOT BETWEEN 0 AND 9 THEN
		RAISE EXCEPTION 'stretch_priority must be between 0 and 9, not %', stretch_priority
			USING ERRCODE = 'invalid_parameter_value',
				HINT = '0 is the most urgent.';
	END IF;
	IF rate NOT BETWEEN 1 AND 1000000 THEN
		RAISE EXCEPTION 'rate must be between 1 and 1000000, not %', rate
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Use concurrency => 0 to let no task start.';
	END IF;
	IF rate IS NULL AND burst IS NOT NULL THEN
		RAISE EXCEPTION 'burst needs rate'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	IF burst NOT BETWEEN 1 AND 1000000 THEN
		RAISE EXCEPTION 'burst must be between 1 and 1000000, not %', burst
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	PERFORM twtasks_internal.check_duration('per', per, '1 ms'::interval, '366 d'::interval);
END $$;

/*
 * twtasks.configure_limit(pattern, ...)
 *
 *		Sets how many tasks may run at once, and how often one may start.  A task
 *		starts when all limits that cover its type have room for it.  Every sidecar
 *		obeys the limit from the commit on; running tasks go on.
 *
 * Parameters
 *		pattern			types that are counted together:
 *						EXECUTE_PAYOUT		that type and all types below it, which
 *											begin with EXECUTE_PAYOUT|
 *						EXECUTE_PAYOUT|*	each key for itself: EXECUTE_PAYOUT|ACME
 *											and all below it
 *						EXECUTE_PAYOUT|ACME	one key, in place of the limit for each
 *						EXECUTE_*			all types that begin so
 *						*					all types
 *		concurrency		tasks that may run at once; 0: no task starts
 *		scope			node: counted on each node for itself; cluster: on all
 *						together.  A pattern may have a limit of each
 *		stretch			extra slots for urgent tasks
 *		stretch_priority	tasks of this priority or a more urgent one are urgent
 *		rate			tasks that may start in each period
 *		per				the period, 1ms to 366d
 *		burst			tasks that may start at once after a quiet time; NULL: rate.
 *						No stretch of time has more starts than one burst and the
 *						rate's share of that time
 *
 *		The call defines the whole limit: what it leaves out is not limited.
 *
 * Errors
 *		22004			pattern, scope or per is NULL
 *		22023			pattern or another value is not valid
 *
 * Writes		twtasks.limit_rule, twtasks.slot_use, twtasks.policy_audit
 * Locks		row lock.  A cluster-wide concurrency reads the whole live table, to
 *				count the tasks that run already
 * Wakes		every sidecar, to read the configuration again
 * Example		SELECT twtasks.configure_limit('EXECUTE_PAYOUT|*', 5, scope => 'cluster', rate => 100, per => '1 minute');
 */
CREATE FUNCTION twtasks.configure_limit(
	pattern text,
	concurrency integer DEFAULT NULL,
	scope twtasks.limit_scope DEFAULT 'node',
	stretch integer DEFAULT NULL,
	stretch_priority integer DEFAULT NULL,
	rate integer DEFAULT NULL,
	per interval DEFAULT '1 second',
	burst integer DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM twtasks_internal.check_pattern(configure_limit.pattern);
	IF configure_limit.scope IS NULL OR configure_limit.per IS NULL THEN
		RAISE EXCEPTION '% must not be null', CASE WHEN configure_limit.scope IS NULL THEN 'scope' ELSE 'per' END
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	PERFORM twtasks_internal.check_limit(concurrency, configure_limit.scope, stretch, stretch_priority,
								rate, per, burst);
	INSERT INTO twtasks.limit_rule
		(pattern, scope, concurrency, stretch, stretch_priority, rate, per, burst,
		 changed_at, changed_by)
	VALUES (configure_limit.pattern, configure_limit.scope, concurrency, coalesce(stretch, 0),
			coalesce(stretch_priority, 0), rate, CASE WHEN rate IS NOT NULL THEN per END,
			CASE WHEN rate IS NOT NULL THEN coalesce(burst, rate) END,
			clock_timestamp(), twtasks_internal.author())
	ON CONFLICT ON CONSTRAINT limit_rule_pkey DO UPDATE SET
		concurrency = EXCLUDED.concurrency, stretch = EXCLUDED.stretch,
		stretch_priority = EXCLUDED.stretch_priority, rate = EXCLUDED.rate,
		per = EXCLUDED.per, burst = EXCLUDED.burst,
		changed_at = EXCLUDED.changed_at, changed_by = EXCLUDED.changed_by;
	IF configure_limit.scope = 'cluster' AND concurrency IS NOT NULL THEN
		PERFORM twtasks_internal.count_slots(configure_limit.pattern);
	END IF;
END $$;

/*
 * twtasks.drop_limit(pattern, scope)
 *
 *		Removes a limit.
 *
 * Parameters
 *		scope			NULL: the limits of both scopes
 *
 * Returns
 *		whether there was a limit
 *
 * Writes		twtasks.limit_rule, twtasks.policy_audit
 * Locks		row lock
 * Wakes		every sidecar, to read the configuration again
 */
CREATE FUNCTION twtasks.drop_limit(pattern text, scope twtasks.limit_scope DEFAULT NULL)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	DELETE FROM twtasks.limit_rule r
	WHERE r.pattern = drop_limit.pattern
	  AND (drop_limit.scope IS NULL OR r.scope = drop_limit.scope);
	RETURN FOUND;
END $$;

/*
 * twtasks_internal.read_limits()
 *
 *		Returns all limits, as a sidecar reads them.
 *
 * Returns
 *		the figures of configure_limit(), with the period in microseconds; -1 or 0:
 *		not limited
 *
 * Locks		none
 */
CREATE FUNCTION twtasks_internal.read_limits()
RETURNS TABLE (pattern text, is_shared boolean, concurrency integer, stretch integer,
			   stretch_priority integer, rate integer, per_us bigint, burst integer)
LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT r.pattern, r.scope = 'cluster', coalesce(r.concurrency, -1), r.stretch,
		   r.stretch_priority, coalesce(r.rate, 0),
		   coalesce(extract(epoch FROM r.per) * 1000000, 0)::bigint, coalesce(r.burst, 0)
	FROM twtasks.limit_rule r
$$;
