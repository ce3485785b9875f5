-- before:
/* A cron expression, as src/common/cron.h has it. */
CREATE TYPE twtasks_internal.cron AS (
	minutes integer[], hours integer[], days integer[], months integer[], weekdays integer[], either_day boolean, every_hour boolean);
COMMENT ON TYPE twtasks_internal.cron IS 'A cron expression: sets of values';

-- twin: twt_cron_next LANGUAGE plpgsql PARALLEL UNSAFE SECURITY DEFINER
DECLARE
	cron CONSTANT twtasks_internal.cron := twtasks_internal.read_cron(expr);
	zone CONSTANT text := twtasks_internal.cron_zone(tz);
BEGIN
	PERFORM twtasks_internal.check_cron_time('after', after);
	RETURN twtasks_internal.cron_moment_after(cron, zone, after);
END

-- twin: twt_cron_preview LANGUAGE plpgsql PARALLEL UNSAFE SECURITY DEFINER
DECLARE
	cron CONSTANT twtasks_internal.cron := twtasks_internal.read_cron(expr);
	zone CONSTANT text := twtasks_internal.cron_zone(tz);
BEGIN
	PERFORM twtasks_internal.check_cron_time('after', after);
	PERFORM twtasks_internal.check_cron_count(n);
	occurrence := after;
	FOR i IN 1 .. n LOOP
		occurrence := twtasks_internal.cron_moment_after(cron, zone, occurrence);
		EXIT WHEN occurrence IS NULL;
		local_time := timezone(zone, occurrence);
		RETURN NEXT;
	END LOOP;
END

-- twin: twt_cron_last LANGUAGE plpgsql PARALLEL UNSAFE
DECLARE
	cron twtasks_internal.cron;
	zone text;
	-- Callers mostly want the last few of many: a short time before the end is looked at first.
	span interval := '1 hour';
	is_all boolean;
	at timestamptz;
	found timestamptz[];
BEGIN
	PERFORM twtasks_internal.check_cron_time('after', after);
	PERFORM twtasks_internal.check_cron_time('until', until);
	PERFORM twtasks_internal.check_cron_count(n);
	cron := twtasks_internal.read_cron(expr);
	zone := twtasks_internal.cron_zone(tz);
	LOOP
		is_all := extract(epoch FROM until) - extract(epoch FROM span) <= extract(epoch FROM after);
		at := CASE WHEN is_all THEN after ELSE until - span END;
		found := '{}';
		LOOP
			at := twtasks_internal.cron_moment_after(cron, zone, at);
			EXIT WHEN at IS NULL OR at > until;
			found := found || at;
		END LOOP;
		EXIT WHEN is_all OR cardinality(found) >= n;
		span := span * 4;
	END LOOP;
	RETURN found[greatest(1, cardinality(found) - n + 1):];
END
