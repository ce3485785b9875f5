/*-------------------------------------------------------------------------
 *
 * fuzz_cron.c
 *		Cron expressions: a second reader, and a search minute by minute.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <time.h>

#include "common/cron.h"
#include "input.h"

#define HOUR 60
#define DAY (24 * HOUR)

static bool
has(uint64 set, int value)
{
	return (set >> value & 1) != 0;
}

/* ---- a second reader ---- */

/* A number or the name of a month or a day; the text is right. */
static int
number_of(const char *text)
{
	static const char months[] = "janfebmaraprmayjunjulaugsepoctnovdec";
	static const char days[] = "sunmontuewedthufrisat";

	for (int i = 0; i < 12; i++)
		if (strncasecmp(text, months + (ptrdiff_t) 3 * i, 3) == 0)
			return i + 1;
	for (int i = 0; i < 7; i++)
		if (strncasecmp(text, days + (ptrdiff_t) 3 * i, 3) == 0)
			return i;
	return atoi(text);
}

static bool
fits_element(const char *element, int min, int max, int value)
{
	const char *dash = strchr(element, '-');
	const char *slash = strchr(element, '/');
	int			low = element[0] == '*' ? min : number_of(element);
	int			high = element[0] == '*' ? max : dash != NULL ? number_of(dash + 1) : low;

	/* from a day to Sunday */
	if (dash != NULL && high < low && strncasecmp(dash + 1, "sun", 3) == 0)
		high = 7;
	return value >= low && value <= high && (slash == NULL || (value - low) % atoi(slash + 1) == 0);
}

static bool
fits(const char *field, int min, int max, int value)
{
	char	   *copy = pstrdup(field);
	char	   *rest = copy;
	char	   *element;
	bool		fits_any = false;

	while ((element = strsep(&rest, ",")) != NULL)
		fits_any = fits_any || fits_element(element, min, max, value);
	pfree(copy);
	return fits_any;
}

/* The same sets, of an expression with five fields. */
static void
compare_sets(const Cron *cron, const char *text)
{
	static const int bounds[CRON_FIELDS][2] = {{0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 7}};
	const uint64 sets[CRON_FIELDS] = {cron->minutes, cron->hours, cron->days, cron->months, cron->weekdays};
	char	   *copy = pstrdup(text);
	char	   *rest = NULL;
	char	   *fields[CRON_FIELDS];

	for (int i = 0; i < CRON_FIELDS; i++)
		fields[i] = strtok_r(i == 0 ? copy : NULL, " \t", &rest);
	for (int i = 0; i < CRON_FIELDS && fields[4] != NULL; i++)
		for (int value = bounds[i][0]; value <= Min(bounds[i][1], i == 4 ? 6 : 59); value++)
			must(has(sets[i], value) == (fits(fields[i], bounds[i][0], bounds[i][1], value) ||
										 (i == 4 && value == 0 && fits(fields[i], 0, 7, 7))), "a field has its values", text);
	must(fields[4] == NULL || cron->either_day == (fields[2][0] != '*' && fields[4][0] != '*'), "one of two days is enough", text);
	pfree(copy);
}

/* ---- the search ---- */

static struct tm
clock_of(int64 minute)
{
	time_t		seconds = minute * 60;
	struct tm	tm = {0};

	must(gmtime_r(&seconds, &tm) != NULL, "there is such a time", "");
	return tm;
}

static bool
is_day(const Cron *cron, const struct tm *tm)
{
	bool		fits_month = has(cron->days, tm->tm_mday);
	bool		fits_week = has(cron->weekdays, tm->tm_wday);

	return has(cron->months, tm->tm_mon + 1) &&
		(cron->either_day ? fits_month || fits_week : fits_month && fits_week);
}

/* The first minute at or after from; -1: none within 41 years. */
static int64
search(const Cron *cron, int64 from)
{
	for (int64 minute = from; minute < from + 41 * 366 * DAY;)
	{
		struct tm	tm = clock_of(minute);

		if (!is_day(cron, &tm))
			minute += DAY - tm.tm_hour * HOUR - tm.tm_min;
		else if (!has(cron->hours, tm.tm_hour))
			minute += HOUR - tm.tm_min;
		else if (!has(cron->minutes, tm.tm_min))
			minute++;
		else
			return minute;
	}
	return -1;
}

static void
check_error(const char *text, const CronError *error)
{
	bool		has_place = error->problem != CRON_FIELD_COUNT;

	must(error->problem != CRON_OK, "a fault has a problem", text);
	must(!has_place || (error->at >= text && error->len >= 0 && error->at + error->len <= text + strlen(text)), "a fault lies within the text", text);
}

static void
compare_minute(const Cron *cron, int64 from, const char *text)
{
	int64_t		minute;

	if (cron_find(cron, from, &minute))
		must(minute == search(cron, from), "the first minute is found", text);
	else
		must(search(cron, from) == -1, "no minute is missed", text);
}

int
LLVMFuzzerTestOneInput(const uint8 *bytes, size_t size)
{
	Input		input = {bytes, size};
	int			high = input_choice(&input, 256);
	int			low = input_choice(&input, 256);
	char	   *text = input_text(&input);

	/* from 1970 to 2095 */
	int64		from = (int64) high * 256 * 1000 + low * 1000 + low * high;
	Cron		cron;
	CronError	error = {CRON_OK};

	if (cron_parse(text, &cron, &error))
	{
		compare_sets(&cron, text);
		compare_minute(&cron, from, text);
	}
	else
		check_error(text, &error);
	pfree(text);
	return 0;
}
