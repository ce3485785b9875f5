/*
 * twtasks.cron_next(expr, after, tz)
 *
 *		The next time at which a cron expression is due.
 *
 *		A clock that is put forward skips a time: an expression that names an
 *		hour in the gap is due after the gap.  A clock that is put back shows a
 *		time twice: an expression that names hours is due the first time.  An
 *		expression for every hour (*, 0-23) follows the clock each time.
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
 *		22023			expr, after or tz is not valid; the message names the field
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
 *		The next n times of a cron expression, to check it before use.
 *
 * Parameters
 *		expr, after, tz	as cron_next()
 *		n				at most this many, 1 to 10000
 *
 * Returns
 *		occurrence		time at which it is due
 *		local_time		the same in that time zone
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
 *		The last n times later than "after" and not later than "until".
 *
 * Parameters
 *		expr, tz, n		as cron_preview()
 *
 * Returns
 *		timestamptz[], ascending
 *
 * Errors
 *		22004			a parameter is NULL
 *		22023			a parameter is not valid
 */
CREATE FUNCTION twtasks_internal.cron_last(
	expr text, after timestamptz, until timestamptz, tz text, n integer)
RETURNS timestamptz[]
LANGUAGE c STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_cron_last';
