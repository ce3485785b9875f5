
/*
 * Times of a clock on the wall count as if it showed UTC, in seconds since 1970.  A
 * change of the clock is looked for only around a match: no clock is 16 hours or more
 * away from UTC.
 */

/*
 * twtasks_internal.check_cron_time(name, value)
 *
 *		Raises an error unless the parameter of that name is a finite time.
 */
CREATE FUNCTION twtasks_internal.check_cron_time(name text, value timestamptz)
RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF value IS NULL THEN
		RAISE EXCEPTION '% must not be null', name USING ERRCODE = 'null_value_not_allowed';
	ELSIF NOT isfinite(value) THEN
		RAISE EXCEPTION '% must be a finite time', name USING ERRCODE = 'invalid_parameter_value';
	END IF;
END $$;

/*
 * twtasks_internal.check_cron_count(n)
 *
 *		Raises an error unless so many times may be asked for.
 */
CREATE FUNCTION twtasks_internal.check_cron_count(n integer)
RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF n IS NULL THEN
		RAISE EXCEPTION 'n must not be null' USING ERRCODE = 'null_value_not_allowed';
	ELSIF n NOT BETWEEN 1 AND 10000 THEN
		RAISE EXCEPTION 'n must be between 1 and 10000, not %', n USING ERRCODE = 'invalid_parameter_value';
	END IF;
END $$;

/*
 * twtasks_internal.cron_zone(tz)
 *
 *		The time zone to compute with.  Names of places count, and neither POSIX rules,
 *		which have digits, nor abbreviations: SQL takes CET and others, which are both, for
 *		a fixed offset, so a place with the same clock stands for them.
 *
 * Errors
 *		22004, 22023	it is NULL, or no name of a time zone
 */
CREATE FUNCTION twtasks_internal.cron_zone(tz text)
RETURNS text
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	zone CONSTANT text := CASE upper(tz) WHEN 'CET' THEN 'Europe/Brussels' WHEN 'MET' THEN 'Europe/Brussels'
		WHEN 'EET' THEN 'Europe/Athens' WHEN 'WET' THEN 'Europe/Lisbon' ELSE tz END;
BEGIN
	IF tz IS NULL THEN
		RAISE EXCEPTION 'tz must not be null' USING ERRCODE = 'null_value_not_allowed';
	ELSIF tz !~ '[0-9]' AND (upper(tz) = ANY ('{UTC,GMT,UCT,EST,MST,HST,ZULU}')
			OR NOT EXISTS (SELECT FROM pg_timezone_abbrevs a WHERE a.abbrev = upper(zone)))
		OR tz ~* '^(Etc/GMT.*|GMT[+-]?0|EST5EDT|CST6CDT|MST7MDT|PST8PDT)$' THEN
		PERFORM timezone(zone, timestamptz '2000-01-01 00:00+00');
		RETURN zone;
	END IF;
	RAISE invalid_parameter_value;
EXCEPTION WHEN invalid_parameter_value THEN
	RAISE EXCEPTION 'unrecognized time zone: "%"', twtasks_internal.shown(tz)
		USING ERRCODE = 'invalid_parameter_value',
			HINT = 'Write UTC, or a name of pg_timezone_names such as Europe/Berlin.';
END $$;

/*
 * twtasks_internal.cron_time(at)
 *
 *		That second.  Each part is exact, and to_timestamp() is not in far years.
 */
CREATE FUNCTION twtasks_internal.cron_time(at bigint)
RETURNS timestamptz
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT timestamptz '2000-01-01 00:00+00' + interval '1 hour' * ((at - 946684800) / 3600) + interval '1 second' * ((at - 946684800) % 3600)
$$;

/*
 * twtasks_internal.cron_offset(zone, at)
 *
 *		The zone's offset from UTC at that moment.  At both ends of PostgreSQL's time, a
 *		moment a few days nearer counts.
 */
CREATE FUNCTION twtasks_internal.cron_offset(zone text, at bigint)
RETURNS bigint
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT extract(epoch FROM timezone(zone, twtasks_internal.cron_time(t)))::bigint - t
	FROM (SELECT greatest(-210866500000, least(9224317700000, at))) c(t)
$$;

/*
 * twtasks_internal.cron_change(zone, low, high)
 *
 *		The first second with the offset of high, if low has another one; NULL: both have the
 *		same.
 */
CREATE FUNCTION twtasks_internal.cron_change(zone text, low bigint, high bigint)
RETURNS bigint
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	before CONSTANT bigint := twtasks_internal.cron_offset(zone, low);
	middle bigint;
BEGIN
	IF twtasks_internal.cron_offset(zone, high) = before THEN
		RETURN NULL;
	END IF;
	WHILE high - low > 1 LOOP
		middle := low + (high - low) / 2;
		IF twtasks_internal.cron_offset(zone, middle) = before THEN
			low := middle;
		ELSE
			high := middle;
		END IF;
	END LOOP;
	RETURN high;
END $$;

/*
 * twtasks_internal.cron_moment(zone, shown)
 *
 *		The moment at which the clock first shows that time.
 *
 * Returns
 *		is_skipped		it never does; at is the first whole minute after the gap
 */
CREATE FUNCTION twtasks_internal.cron_moment(zone text, shown bigint, OUT at bigint, OUT is_skipped boolean)
RETURNS record
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	change CONSTANT bigint := twtasks_internal.cron_change(zone, shown - 57600, shown + 57600);
	behind bigint;	-- offset after the change
BEGIN
	is_skipped := false;
	at := shown - twtasks_internal.cron_offset(zone, shown - 57600);
	IF at < change OR change IS NULL THEN
		RETURN;
	END IF;
	behind := twtasks_internal.cron_offset(zone, change);
	at := shown - behind;
	IF at < change THEN
		is_skipped := true;
		at := ceil((change + behind) / 60.0) * 60 - behind;
	END IF;
END $$;

/*
 * twtasks_internal.cron_day(cron, day)
 *
 *		The first matching day from that one on; NULL: there is none, ever, or that one is
 *		infinite.  A date comes again on the same day of the week after 40 years at most.
 */
CREATE FUNCTION twtasks_internal.cron_day(cron twtasks_internal.cron, day date)
RETURNS date
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	by_day boolean;
	by_weekday boolean;
BEGIN
	IF NOT isfinite(day) THEN
		RETURN NULL;
	END IF;
	FOR month IN 1 .. 41 * 12 LOOP
		LOOP
			IF extract(month FROM day)::integer <> ALL (cron.months) THEN
				day := day + 32 - extract(day FROM day)::integer;
				day := day - extract(day FROM day)::integer + 1;
				EXIT;
			END IF;
			by_day := extract(day FROM day)::integer = ANY (cron.days);
			by_weekday := extract(dow FROM day)::integer = ANY (cron.weekdays);
			IF by_day AND by_weekday OR cron.either_day AND (by_day OR by_weekday) THEN
				RETURN day;
			END IF;
			day := day + 1;
			EXIT WHEN extract(day FROM day) = 1;
		END LOOP;
	END LOOP;
	RETURN NULL;
END $$;

/*
 * twtasks_internal.cron_minute(cron, minute)
 *
 *		The first matching minute of a day from that one on; NULL: no more.
 */
CREATE FUNCTION twtasks_internal.cron_minute(cron twtasks_internal.cron, minute integer)
RETURNS integer
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	hour integer := minute / 60;
	found integer;
BEGIN
	IF hour = ANY (cron.hours) THEN
		SELECT hour * 60 + min(m) INTO found FROM unnest(cron.minutes) m WHERE m >= minute % 60;
	END IF;
	IF found IS NULL THEN
		SELECT min(h) * 60 + cron.minutes[1] INTO found FROM unnest(cron.hours) h WHERE h > hour;
	END IF;
	RETURN found;
END $$;

/*
 * twtasks_internal.cron_shown(cron, shown)
 *
 *		The first matching time of the clock from that one on; NULL: never.
 */
CREATE FUNCTION twtasks_internal.cron_shown(cron twtasks_internal.cron, shown bigint)
RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	minutes CONSTANT bigint := ceil(shown / 60.0);
	today CONSTANT bigint := floor(minutes / 1440.0);
	day date := twtasks_internal.cron_day(cron, date '1970-01-01' + today::integer);
	minute integer;
BEGIN
	minute := twtasks_internal.cron_minute(cron, CASE WHEN day = date '1970-01-01' + today::integer THEN minutes - today * 1440 ELSE 0 END::integer);
	IF minute IS NULL THEN
		day := twtasks_internal.cron_day(cron, day + 1);
		minute := twtasks_internal.cron_minute(cron, 0);
	END IF;
	RETURN ((day - date '1970-01-01') * 1440::bigint + minute) * 60;
END $$;

/*
 * twtasks_internal.cron_once(cron, zone, first)
 *
 *		The first match from that second on, of an expression that names hours: once for
 *		each time of the clock, and after a gap for times in it.
 */
CREATE FUNCTION twtasks_internal.cron_once(cron twtasks_internal.cron, zone text, first bigint)
RETURNS bigint
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- A gap that ends here may hold a match; it ends in a whole minute.
	shown bigint := twtasks_internal.cron_shown(cron, first - 60 + twtasks_internal.cron_offset(zone, first - 60));
	at bigint;
BEGIN
	WHILE shown IS NOT NULL LOOP
		at := (twtasks_internal.cron_moment(zone, shown)).at;
		EXIT WHEN at >= first;
		shown := twtasks_internal.cron_shown(cron, shown + 60);
	END LOOP;
	RETURN CASE WHEN shown IS NOT NULL THEN at END;
END $$;

/*
 * twtasks_internal.cron_each(cron, zone, first)
 *
 *		The first match from that second on, of an expression for every hour: whenever the
 *		clock shows a matching time.
 */
CREATE FUNCTION twtasks_internal.cron_each(cron twtasks_internal.cron, zone text, first bigint)
RETURNS bigint
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	at bigint := first;
	around CONSTANT bigint := 115200;
	behind bigint;
	change bigint;
	shown bigint;
	moment record;
BEGIN
	LOOP
		behind := twtasks_internal.cron_offset(zone, at);
		change := twtasks_internal.cron_change(zone, at, at + around);
		shown := twtasks_internal.cron_shown(cron, at + behind);
		IF shown IS NULL OR shown - behind < coalesce(change, at + around) THEN
			RETURN shown - behind;
		ELSIF change IS NOT NULL THEN
			at := change;
			CONTINUE;
		END IF;
		moment := twtasks_internal.cron_moment(zone, shown);
		IF NOT moment.is_skipped THEN
			RETURN moment.at;
		END IF;
		at := moment.at;
	END LOOP;
END $$;

/*
 * twtasks_internal.cron_moment_after(cron, zone, after)
 *
 *		The first match after that moment; NULL: never, or beyond our calendar.
 */
CREATE FUNCTION twtasks_internal.cron_moment_after(cron twtasks_internal.cron, zone text, after timestamptz)
RETURNS timestamptz
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	first CONSTANT bigint := floor(extract(epoch FROM after))::bigint + 1;
	at CONSTANT bigint := CASE WHEN cron.every_hour THEN twtasks_internal.cron_each(cron, zone, first)
		ELSE twtasks_internal.cron_once(cron, zone, first) END;
BEGIN
	RETURN CASE WHEN at < 9224318016000 THEN twtasks_internal.cron_time(at) END;
END $$;
