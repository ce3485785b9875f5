/*
 * twtasks.cron_next(expr, after, tz)
 *
 *		When a cron expression is due next.
 *
 *		A clock that is put forward skips a time: what names hours and falls
 *		into the gap is due when the clock goes on.  A clock that is put back
 *		shows a time twice: what names hours is due the first time.  What is
 *		due in every hour (*, 0-23) goes by what the clock shows, each time.
 *
 * Parameters
 *		expr			minute, hour, day of month, month, day of week; each a list
 *						of values, ranges (1-5), * and steps (0-30/10); names
 *						such as jan and mon; or @yearly, @monthly, @weekly, @daily,
 *						@hourly.  If neither day field begins with *, one of
 *						the two is enough
 *		after			the result is later than this
 *		tz				a name of pg_timezone_names
 *
 * Returns
 *		timestamptz; NULL: never (30 February)
 *
 * Errors
 *		22004			a parameter is NULL
 *		22023			expr, after or tz is not valid; says which field
 *
 * Locks		none
 * Example		SELECT twtasks.cron_next('30 2 * * mon-fri', now(), 'Europe/Berlin');
 */
CREATE FUNCTION twtasks.cron_next(
	expr text,
	after timestamptz DEFAULT pg_catalog.clock_timestamp(),
	tz text DEFAULT 'UTC')
RETURNS timestamptz
LANGUAGE c STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_cron_next';

/*
 * twtasks.cron_preview(expr, after, tz, n)
 *
 *		The next n times of a cron expression, to look at before it is used.
 *
 * Parameters
 *		expr, after, tz	as cron_next()
 *		n				at most so many, 1 to 10000
 *
 * Returns
 *		occurrence		when it is due
 *		local_time		what a clock in that time zone shows then
 *
 * Errors
 *		22004			a parameter is NULL
 *		22023			a parameter is not valid
 *
 * Locks		none
 * Example		SELECT * FROM twtasks.cron_preview('0 9 * * mon', now(), 'Asia/Tokyo', 5);
 */
CREATE FUNCTION twtasks.cron_preview(
	expr text,
	after timestamptz DEFAULT pg_catalog.clock_timestamp(),
	tz text DEFAULT 'UTC',
	n integer DEFAULT 10,
	OUT occurrence timestamptz,
	OUT local_time timestamp)
RETURNS SETOF record
LANGUAGE c STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_cron_preview';

/*
 * twtasks_internal.cron_last(expr, after, until, tz, n)
 *
 *		The last n times after the one and up to the other.
 *
 * Parameters
 *		expr, tz, n		as cron_preview()
 *
 * Returns
 *		timestamptz[], in order of time; empty: there was none
 *
 * Errors
 *		22004			a parameter is NULL
 *		22023			a parameter is not valid
 *
 * Locks		none
 */
CREATE FUNCTION twtasks_internal.cron_last(
	expr text, after timestamptz, until timestamptz, tz text, n integer)
RETURNS timestamptz[]
LANGUAGE c STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_cron_last';
