/*-------------------------------------------------------------------------
 *
 * cron.c
 *		cron_next(), cron_preview(), cron_last(): the moments of an expression.
 *
 * An expression names times of a clock on the wall (common/cron.h).  A
 * clock that is put forward skips some times, and a clock that is put back
 * shows some times twice.  Then
 *
 *	- an expression that names hours matches once: a skipped hour matches when
 *	  the clock goes on after the gap, an hour that comes twice the first time;
 *	- an expression that matches in every hour follows the clock each time.
 *
 * Between two such changes the offset from UTC stays the same.  So we walk
 * from change to change, and look at each stretch of time by itself.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "pgtime.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "base/call.h"
#include "base/contract.h"
#include "base/shown.h"
#include "common/cron.h"

#define MAX_TIMES 10000

/* No clock was ever put back by more than a day. */
#define LOOK_BACK (2 * SECS_PER_DAY)

/*
 * How far ahead we search: as far as common/cron.c does, and one change more.
 */
#define LOOK_AHEAD ((int64) 42 * 366 * SECS_PER_DAY)

/* A thousand years, in microseconds. */
#define LONG_TIME (366000 * USECS_PER_DAY)

#define EPOCH_SECONDS \
	((POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * (int64) SECS_PER_DAY)

/* An expression in a time zone. */
typedef struct Schedule
{
	Cron		cron;
	pg_tz	   *zone;
} Schedule;

/* ---- Arguments ---- */

static const char *const field_names[CRON_FIELDS] = {
	"minute", "hour", "day of month", "month", "day of week"
};

static int
detail_of(int field)
{
	switch (field)
	{
		case 0:
			return errdetail("A minute is a number from 0 to 59.");
		case 1:
			return errdetail("An hour is a number from 0 to 23.");
		case 2:
			return errdetail("A day of month is a number from 1 to 31.");
		case 3:
			return errdetail("A month is a number from 1 to 12, or jan to dec.");
		default:
			return errdetail("A day of week is a number from 0 to 7, of which both 0 and 7 are Sunday, or sun to sat.");
	}
}

static int
hint_for(CronProblem problem)
{
	switch (problem)
	{
		case CRON_BACKWARDS:
			return errhint("Write a range that goes over the end as two, such as 22-23,0-5.");
		case CRON_STEP:
			return errhint("A step counts within its field, from 1 to the field's largest value.");
		case CRON_LONE_STEP:
			return errhint("Give the step a range, such as 5-59/10.");
		default:
			return errhint("A field is a value, a range such as 1-5, or *, with or without a step such as */10; several are separated by commas.");
	}
}

static void
refuse_expression(const char *text, const CronError *error)
{
	if (error->problem == CRON_FIELD_COUNT)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid cron expression: \"%s\"", shown_value(text)),
				 errdetail("It must have 5 fields, for minute, hour, day of month, month and day of week, and has %d.",
						   error->field)));
	if (error->problem == CRON_WORD)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid cron expression: \"%s\"", shown_value(text)),
				 errdetail("The words are @yearly, @annually, @monthly, @weekly, @daily, @midnight and @hourly.")));
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid %s in cron expression: \"%s\"", field_names[error->field],
					shown_value(pnstrdup(error->at, error->len))),
			 detail_of(error->field),
			 hint_for(error->problem)));
}

/*
 * PostgreSQL also reads POSIX rules as time zones.  A rule has digits, the name
 * of a place has none.
 */
static bool
is_name_of_place(const char *name)
{
	static const char *const with_digits[] = {
		"GMT0", "GMT+0", "GMT-0", "EST5EDT", "CST6CDT", "MST7MDT", "PST8PDT"
	};

	if (name[strcspn(name, "0123456789")] == '\0' ||
		pg_strncasecmp(name, "Etc/GMT", 7) == 0)
		return *name != '\0';
	for (int i = 0; i < (int) lengthof(with_digits); i++)
		if (pg_strcasecmp(name, with_digits[i]) == 0)
			return true;
	return false;
}

static pg_tz *
find_zone(const char *name)
{
	pg_tz	   *zone = is_name_of_place(name) ? pg_tzset(name) : NULL;

	if (zone == NULL || !pg_tz_acceptable(zone))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unrecognized time zone: \"%s\"", shown_value(name)),
				 errhint("Write UTC, or a name of pg_timezone_names such as Europe/Berlin.")));
	return zone;
}

static void
read_schedule(FunctionCallInfo fcinfo, int expr, int tz, Schedule *schedule)
{
	char	   *line;
	CronError	error;

	require_argument(fcinfo, expr, "expr");
	require_argument(fcinfo, tz, "tz");
	line = text_to_cstring(PG_GETARG_TEXT_PP(expr));
	if (!cron_parse(line, &schedule->cron, &error))
		refuse_expression(line, &error);
	schedule->zone = find_zone(text_to_cstring(PG_GETARG_TEXT_PP(tz)));
}

static TimestampTz
time_argument(FunctionCallInfo fcinfo, int number, const char *name)
{
	require_argument(fcinfo, number, name);
	if (TIMESTAMP_NOT_FINITE(PG_GETARG_TIMESTAMPTZ(number)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be a finite time", name)));
	return PG_GETARG_TIMESTAMPTZ(number);
}

/* ---- Times ---- */

/* A stretch of time without a change of the offset, in seconds since 1970. */
typedef struct Stretch
{
	pg_time_t	begin;
	pg_time_t	end;			/* the next one's begin, if there is one */
	long int	offset;			/* local time's, from UTC */
	long int	next_offset;
	bool		is_last;
} Stretch;

static void
find_stretch(pg_tz *zone, pg_time_t begin, Stretch *stretch)
{
	int			isdst;
	int			next_isdst;
	int			found;

	stretch->begin = begin;
	found = pg_next_dst_boundary(&begin, &stretch->offset, &isdst, &stretch->end,
								 &stretch->next_offset, &next_isdst, zone);
	if (found < 0)
		elog(ERROR, "could not find the next change of a clock");
	stretch->is_last = found == 0;
}

static int64
divide_up(int64 a, int64 b)
{
	return a / b + (a % b > 0);
}

/*
 * Finds the first whole minute that matches, from a local time in seconds on.
 */
static bool
find_local(const Cron *cron, int64 from, int64 *local)
{
	if (!cron_find(cron, divide_up(from, SECS_PER_MINUTE), local))
		return false;
	*local *= SECS_PER_MINUTE;
	return true;
}

/* Whether the gap after the stretch skips a match, which is due after the gap. */
static bool
gap_matches(const Cron *cron, const Stretch *stretch, int64 seen)
{
	int64		gap_begin = Max(stretch->end + stretch->offset, seen);
	int64		gap_end = stretch->end + stretch->next_offset;
	int64		local;

	return gap_begin < gap_end && !cron_every_hour(cron) &&
		find_local(cron, gap_begin, &local) && local < gap_end;
}

/* The first match from "first" on (seconds since 1970); false: never. */
static bool
find_next(const Schedule *schedule, pg_time_t first, pg_time_t *next)
{
	const Cron *cron = &schedule->cron;
	int64		seen = PG_INT64_MIN;	/* the latest time that the clock
										 * showed before */
	Stretch		stretch;

	for (stretch.end = first - LOOK_BACK; stretch.end < first + LOOK_AHEAD;)
	{
		int64		from;
		int64		local;

		find_stretch(schedule->zone, stretch.end, &stretch);
		from = Max(stretch.begin, first) + stretch.offset;
		if (!cron_every_hour(cron))
			from = Max(from, seen);
		if (!find_local(cron, from, &local))
			return false;
		*next = local - stretch.offset;
		if (stretch.is_last || *next < stretch.end)
			return true;
		*next = divide_up(stretch.end + stretch.next_offset, SECS_PER_MINUTE) *
			SECS_PER_MINUTE - stretch.next_offset;
		if (*next >= first && gap_matches(cron, &stretch, seen))
			return true;
		seen = Max(seen, stretch.end + stretch.offset);
	}
	return false;
}

static pg_time_t
seconds_of(TimestampTz at)
{
	return (at - (((at % USECS_PER_SEC) + USECS_PER_SEC) % USECS_PER_SEC)) /
		USECS_PER_SEC + EPOCH_SECONDS;
}

/*
 * The first match after the given time; false: never, or beyond our calendar.
 */
static bool
next_time(const Schedule *schedule, TimestampTz after, TimestampTz *next)
{
	pg_time_t	seconds;

	CHECK_FOR_INTERRUPTS();
	if (!find_next(schedule, seconds_of(after) + 1, &seconds))
		return false;
	if (seconds >= END_TIMESTAMP / USECS_PER_SEC + EPOCH_SECONDS)
		return false;
	*next = (seconds - EPOCH_SECONDS) * USECS_PER_SEC;
	return true;
}

/*
 * Puts matches later than after and not later than until into a ring of n.
 * Returns their count; the last match stands at (count - 1) % n.
 */
static int64
collect(const Schedule *schedule, TimestampTz after, TimestampTz until, int n,
		TimestampTz *ring)
{
	int64		count = 0;

	while (next_time(schedule, after, &after) && after <= until)
		ring[count++ % n] = after;
	return count;
}

/* The local time that the clock shows at that moment. */
static Timestamp
local_time(const Schedule *schedule, TimestampTz at)
{
	pg_time_t	seconds = seconds_of(at);

	return at + pg_localtime(&seconds, schedule->zone)->tm_gmtoff * USECS_PER_SEC;
}

/* ---- Functions ---- */

TWT_FUNCTION(twt_cron_next);
Datum
twt_cron_next(PG_FUNCTION_ARGS)
{
	Schedule	schedule;
	TimestampTz next;

	read_schedule(fcinfo, 0, 2, &schedule);
	if (!next_time(&schedule, time_argument(fcinfo, 1, "after"), &next))
		PG_RETURN_NULL();
	PG_RETURN_TIMESTAMPTZ(next);
}

TWT_FUNCTION(twt_cron_preview);
Datum
twt_cron_preview(PG_FUNCTION_ARGS)
{
	Schedule	schedule;
	TimestampTz at;
	int			n;

	read_schedule(fcinfo, 0, 2, &schedule);
	at = time_argument(fcinfo, 1, "after");
	n = int_argument(fcinfo, 3, "n", 1, MAX_TIMES);
	InitMaterializedSRF(fcinfo, 0);
	while (n-- > 0 && next_time(&schedule, at, &at))
	{
		Datum		values[2] = {TimestampTzGetDatum(at),
		TimestampGetDatum(local_time(&schedule, at))};
		bool		nulls[2] = {false};

		result_put(fcinfo, values, nulls);
	}
	return (Datum) 0;
}

/*
 * Callers mostly want the last few of many matches.  So we look at a short
 * time before the end first, and at more only when that time has too few.
 */
TWT_FUNCTION(twt_cron_last);
Datum
twt_cron_last(PG_FUNCTION_ARGS)
{
	Schedule	schedule;
	TimestampTz after = time_argument(fcinfo, 1, "after");
	TimestampTz until = time_argument(fcinfo, 2, "until");
	int			n = int_argument(fcinfo, 4, "n", 1, MAX_TIMES);
	TimestampTz *ring = palloc(n * sizeof(TimestampTz));
	Datum	   *times = palloc(n * sizeof(Datum));
	int64		count;

	read_schedule(fcinfo, 0, 3, &schedule);
	for (int64 span = USECS_PER_HOUR;; span *= 4)
	{
		bool		is_all = span > LONG_TIME || until - span <= after;

		count = collect(&schedule, is_all ? after : until - span, until, n, ring);
		if (is_all || count >= n)
			break;
	}
	n = Min(n, count);
	for (int i = 0; i < n; i++)
		times[i] = TimestampTzGetDatum(ring[(count - n + i) % n]);
	PG_RETURN_ARRAYTYPE_P(construct_array(times, n, TIMESTAMPTZOID, 8,
										  FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}
