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
	int64_t		minute;

	if (!cron_parse(text, &cron, &error))
		check_error(text, &error);
	else if (cron_find(&cron, from, &minute))
		must(minute == search(&cron, from), "the first minute is found", text);
	else
		must(search(&cron, from) == -1, "no minute is missed", text);
	pfree(text);
	return 0;
}
