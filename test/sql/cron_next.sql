--
-- cron_next() and cron_preview(): which moments a cron expression names, in
-- which time zone, and what is refused.
--
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';
\pset tuples_only on
\pset format unaligned

CREATE FUNCTION pg_temp.show(expr text, after timestamptz, tz text, n integer) RETURNS SETOF text
LANGUAGE sql
AS $$ SELECT occurrence || '   ' || local_time FROM twtasks.cron_preview(expr, after, tz, n) $$;

-- Tries what must fail; what the user is told.
CREATE FUNCTION pg_temp.refused(statement text) RETURNS SETOF text
LANGUAGE plpgsql
AS $$
DECLARE
	detail text;
	hint text;
BEGIN
	EXECUTE statement;
	RETURN NEXT 'not refused: ' || statement;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN NEXT SQLSTATE || ': ' || SQLERRM;
	RETURN QUERY SELECT '       DETAIL: ' || detail WHERE detail <> '';
	RETURN QUERY SELECT '       HINT: ' || hint WHERE hint <> '';
END $$;

-- The result is later than "after", by the microsecond.
SELECT twtasks.cron_next('* * * * *', '2024-05-06 07:08:00');
SELECT twtasks.cron_next('* * * * *', '2024-05-06 07:07:59.999999');
SELECT twtasks.cron_next('* * * * *', '2024-05-06 07:08:00.000001');
SELECT twtasks.cron_next('* * * * *', '1969-12-31 23:59:59.999999'), twtasks.cron_next('* * * * *', '1969-12-31 23:58:59.999999');
SELECT twtasks.cron_next('* * * * *') - clock_timestamp() BETWEEN interval '0' AND interval '1 minute';

-- Years end, leap days come.
SELECT pg_temp.show('30 23 31 12 *', '2024-12-31 12:00', 'UTC', 2);
SELECT pg_temp.show('0 0 1 1 *', '2024-12-31 22:59', 'Europe/Berlin', 2);
SELECT pg_temp.show('0 0 29 2 *', '2024-02-28', 'UTC', 3);
SELECT pg_temp.show('0 0 29 2 *', '2096-01-01', 'America/New_York', 2);
SELECT pg_temp.show('0 12 31 * *', '2024-01-01', 'UTC', 8);
-- Dates that no calendar has.
SELECT twtasks.cron_next('0 0 30 2 *', '2024-01-01') IS NULL, twtasks.cron_next('0 0 31 4,6,9,11 *', '2024-01-01') IS NULL,
	(SELECT count(*) FROM twtasks.cron_preview('0 0 31 2 *')) AS none;
-- Both ends of PostgreSQL's time.
SELECT twtasks.cron_next('0 0 1 1 *', '4713-01-01 BC'), twtasks.cron_next('* * * * *', '294276-12-31 23:58:30'),
	twtasks.cron_next('* * * * *', '294276-12-31 23:59:30') IS NULL;

-- Berlin, March: 02:00 to 03:00 is skipped.  A schedule that names hours
-- runs after the jump, once however often it would have been due.
SELECT pg_temp.show('30 2 * * *', '2024-03-30', 'Europe/Berlin', 3);
SELECT pg_temp.show('*/10 2 * * *', '2024-03-31', 'Europe/Berlin', 2);
SELECT pg_temp.show('*/20 1-3 * * *', '2024-03-31', 'Europe/Berlin', 7);
SELECT pg_temp.show('15 2 31 3 *', '2024-01-01', 'Europe/Berlin', 2);
SELECT pg_temp.show('15 2 30 3 *', '2024-01-01', 'Europe/Berlin', 1);
-- After the gap, or in its last second.
SELECT twtasks.cron_next('30 2 * * *', '2024-03-31 00:59:59.999999', 'Europe/Berlin'), twtasks.cron_next('30 2 * * *', '2024-03-31 01:00', 'Europe/Berlin');
-- A schedule for every hour follows the clock.
SELECT pg_temp.show('*/20 * * * *', '2024-03-31 00:30', 'Europe/Berlin', 3);
SELECT pg_temp.show('7 * * * *', '2024-03-31', 'Europe/Berlin', 3);

-- Berlin, October: 02:00 to 03:00 comes twice.
SELECT pg_temp.show('30 2 * * *', '2024-10-26 12:00', 'Europe/Berlin', 2);
SELECT pg_temp.show('*/30 1-3 * * *', '2024-10-26 23:15', 'Europe/Berlin', 6);
SELECT pg_temp.show('*/30 * * * *', '2024-10-26 23:45', 'Europe/Berlin', 5);
SELECT pg_temp.show('*/30 0-23 * * *', '2024-10-26 23:45', 'Europe/Berlin', 5);
-- From between the two.
SELECT twtasks.cron_next('30 2 * * *', '2024-10-27 00:30', 'Europe/Berlin'), twtasks.cron_next('30 2 * * *', '2024-10-27 00:29', 'Europe/Berlin'),
	twtasks.cron_next('30 2 * * *', '2024-10-27 01:15', 'Europe/Berlin');

-- Where the clock is put forward at midnight, the day begins at one.
SELECT pg_temp.show('0 0 * * *', '2018-11-03 12:00', 'America/Sao_Paulo', 2);
SELECT pg_temp.show('@daily', '2024-04-25 12:00', 'Africa/Cairo', 2);
-- ... and where it is put back at midnight, a day ends twice.
SELECT pg_temp.show('30 23 * * *', '2018-02-17 12:00', 'America/Sao_Paulo', 2);
SELECT pg_temp.show('30 * * * *', '2018-02-18 01:00', 'America/Sao_Paulo', 3);
-- Lord Howe Island moves its clocks by half an hour.
SELECT pg_temp.show('45 1 * * *', '2024-04-05 16:00', 'Australia/Lord_Howe', 2);
SELECT pg_temp.show('15,45 1 * * *', '2024-04-06 10:00', 'Australia/Lord_Howe', 3);
SELECT pg_temp.show('45 * * * *', '2024-04-06 14:00', 'Australia/Lord_Howe', 3);
SELECT pg_temp.show('15 2 * * *', '2024-10-05', 'Australia/Lord_Howe', 2);
SELECT pg_temp.show('45 2 * * *', '2024-10-05', 'Australia/Lord_Howe', 2);
-- Offsets of half and quarter hours.
SELECT pg_temp.show('0 9 * * *', '2024-05-06', 'Asia/Kolkata', 1);
SELECT pg_temp.show('0 0 * * *', '2024-05-06', 'Asia/Kathmandu', 1);
SELECT pg_temp.show('0 2 * * *', '2024-09-28 00:00', 'Pacific/Chatham', 2);
SELECT pg_temp.show('50 2 * * *', '2024-09-28 12:00', 'Pacific/Chatham', 2);
-- Half an hour of North Korea's, once; a day of Samoa's, never.
SELECT pg_temp.show('45 23 * * *', '2018-05-03', 'Asia/Pyongyang', 3);
SELECT pg_temp.show('0 12 * * *', '2011-12-28 12:00', 'Pacific/Apia', 4);
SELECT pg_temp.show('0 12 30 12 *', '2011-01-01', 'Pacific/Apia', 2);
-- Morocco puts its clock back for Ramadan, by years.
SELECT pg_temp.show('30 2 * * *', '2024-03-09', 'Africa/Casablanca', 3);
-- Far beyond the tables of changes.
SELECT pg_temp.show('30 2 * * *', '2999-03-30 12:00', 'Europe/Berlin', 2);
-- The clock's time zone is not the session's.
SET timezone = 'Asia/Tokyo';
SELECT twtasks.cron_next('0 12 * * *', '2024-05-06 00:00+00');
SET timezone = 'UTC';

-- Refused: the field is named.
SELECT pg_temp.refused('SELECT twtasks.cron_next('''')');
SELECT pg_temp.refused('SELECT twtasks.cron_next(''* * * * * *'')');
SELECT pg_temp.refused('SELECT twtasks.cron_next(''@reboot'')');
SELECT pg_temp.refused('SELECT twtasks.cron_next(''0,60 * * * *'')');
SELECT pg_temp.refused('SELECT twtasks.cron_next(''* 22-5 * * *'')');
SELECT pg_temp.refused('SELECT twtasks.cron_next(''* * L * *'')');
SELECT pg_temp.refused('SELECT twtasks.cron_next(''* * * january *'')');
SELECT pg_temp.refused('SELECT twtasks.cron_next(''* * * * 5#3'')');
SELECT pg_temp.refused('SELECT twtasks.cron_next(''*/60 * * * *'')');
SELECT pg_temp.refused('SELECT twtasks.cron_next(''5/10 * * * *'')');
SELECT pg_temp.refused(format('SELECT twtasks.cron_next(%L)', '0 ' || repeat('1,', 1000) || 'x * * *'));
SELECT line !~ '[[:cntrl:]]' FROM pg_temp.refused(format('SELECT twtasks.cron_next(%L)', E'\x1b[31m * * * *')) line LIMIT 1;
SELECT twtasks.cron_next('0 ' || repeat('1,', 100000) || '2 * * *', '2024-01-01');

-- Refused: the time zone.  A name that looks like an offset would mean the opposite.
SELECT pg_temp.refused('SELECT twtasks.cron_next(''* * * * *'', now(), ''Europe/Berlinn'')');
SELECT pg_temp.refused('SELECT twtasks.cron_next(''* * * * *'', now(), '''')');
SELECT pg_temp.refused('SELECT twtasks.cron_next(''* * * * *'', now(), ''UTC+3'')');
SELECT z, (SELECT count(*) FROM pg_temp.refused(format('SELECT twtasks.cron_next(''* * * * *'', now(), %L)', z)) line WHERE line ~ '^22023') AS refused
FROM unnest('{+02,<+02>-2,CET-1CEST,EST5,PST,../../etc/passwd,/etc/localtime,Etc/GMT+2,EST5EDT,europe/berlin,GMT0,Asia/Kathmandu}'::text[]) z;
-- Every name that PostgreSQL lists is taken.
SELECT count(twtasks.cron_next('* * * * *', '2024-01-01', name)) = count(*) FROM pg_timezone_names WHERE name !~ '^posix';
-- Refused: NULL, infinity, numbers out of range.
SELECT pg_temp.refused('SELECT twtasks.cron_next(NULL)');
SELECT pg_temp.refused('SELECT twtasks.cron_next(''* * * * *'', NULL)');
SELECT pg_temp.refused('SELECT twtasks.cron_next(''* * * * *'', now(), NULL)');
SELECT pg_temp.refused('SELECT twtasks.cron_next(''* * * * *'', ''infinity'')');
SELECT pg_temp.refused('SELECT twtasks.cron_preview(''* * * * *'', ''-infinity'')');
SELECT pg_temp.refused('SELECT twtasks.cron_preview(''* * * * *'', n => 0)');
SELECT pg_temp.refused('SELECT twtasks.cron_preview(''* * * * *'', n => 10001)');
SELECT pg_temp.refused('SELECT twtasks.cron_preview(''* * * * *'', n => NULL)');

-- cron_last(): the last ones up to a time, that included, in order.
SELECT twtasks_internal.cron_last('0 * * * *', '2024-05-06 00:00', '2024-05-06 05:00', 'UTC', 3);
SELECT twtasks_internal.cron_last('0 * * * *', '2024-05-06 00:00', '2024-05-06 02:59', 'UTC', 3);
SELECT twtasks_internal.cron_last('0 0 1 * *', '2020-01-01', '2024-05-06', 'UTC', 2);
SELECT twtasks_internal.cron_last('0 0 1 * *', '2024-05-06', '2024-05-06', 'UTC', 2), twtasks_internal.cron_last('0 0 1 * *', '2024-05-06', '2020-01-01', 'UTC', 2);
SELECT twtasks_internal.cron_last('* * * * *', '4713-01-01 BC', '294276-01-01', 'UTC', 1);
SELECT twtasks_internal.cron_last('0 0 29 2 *', '1000-01-01', '2023-01-01', 'UTC', 2);
-- It agrees with cron_next(), whatever the times lie apart.
SELECT DISTINCT twtasks_internal.cron_last(expr, '2020-02-03 04:05', '2024-03-31 01:00', 'Europe/Berlin', n) =
	(SELECT array_agg(t ORDER BY t) FROM (
		SELECT occurrence t FROM twtasks.cron_preview(expr, '2020-02-03 04:05', 'Europe/Berlin', 10000)
		WHERE occurrence <= '2024-03-31 01:00' ORDER BY 1 DESC LIMIT n) x)
FROM unnest('{0 0 * * *,30 2 * * *,0 */6 * * *,0 12 1 1 *,*/30 3 * 1 *,59 23 31 12 *}'::text[]) expr, unnest('{1,2,7,500}'::integer[]) n;
