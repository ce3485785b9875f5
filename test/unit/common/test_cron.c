/*-------------------------------------------------------------------------
 *
 * test_cron.c
 *		Cron expressions: what is read, what is refused, which times they name.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <time.h>

#include "check.h"
#include "common/cron.h"

#define DAY_SECONDS 86400

/* The next time from the one to the other, as UTC; fails if it is another. */
static void
assert_next(const char *text, const char *from, const char *expected)
{
	Cron		cron;
	CronError	error;
	struct tm	at = {0};
	int64_t		minute;
	time_t		seconds;
	char		found[32] = "never";

	assert_true(cron_parse(text, &cron, &error));
	assert_non_null(strptime(from, "%Y-%m-%d %H:%M", &at));
	if (cron_find(&cron, timegm(&at) / 60, &minute))
	{
		seconds = minute * 60;
		strftime(found, sizeof(found), "%Y-%m-%d %H:%M", gmtime_r(&seconds, &at));
	}
	if (strcmp(found, expected) != 0)
		fail_msg("\"%s\" from %s: %s, not %s", text, from, found, expected);
}

static const struct
{
	const char *text;
	const char *from;
	const char *next;
}			times[] = {
	{"* * * * *", "2024-05-06 07:08", "2024-05-06 07:08"},
	{"*/15 * * * *", "2024-05-06 07:46", "2024-05-06 08:00"},
	{"10-50/20 * * * *", "2024-05-06 07:31", "2024-05-06 07:50"},
	{"10-50/20 * * * *", "2024-05-06 07:51", "2024-05-06 08:10"},
	{"59 23 31 12 *", "2024-01-01 00:00", "2024-12-31 23:59"},
	{"0 0 1 1 *", "2024-12-31 23:59", "2025-01-01 00:00"},
	{"5,3,4 1,0 * * *", "2024-05-06 01:06", "2024-05-07 00:03"},
	{" \t0  9\t* * MON-fri ", "2024-05-10 09:01", "2024-05-13 09:00"},
	{"0 0 * feb,APR *", "2024-03-01 00:00", "2024-04-01 00:00"},
	{"0 0 31 * *", "2024-04-01 00:00", "2024-05-31 00:00"},
	{"0 12 * * 7", "2024-05-06 00:00", "2024-05-12 12:00"},
	{"0 12 * * 0", "2024-05-06 00:00", "2024-05-12 12:00"},
	{"0 12 * * fri-sun", "2024-05-12 12:01", "2024-05-17 12:00"},
	{"0 12 * * 5-7", "2024-05-12 00:01", "2024-05-12 12:00"},
	{"0 0 1 1 *", "1969-06-01 00:00", "1970-01-01 00:00"},
	{"30 4 * * *", "1901-12-31 04:31", "1902-01-01 04:30"},
	{"* * * * *", "0005-02-28 23:59", "5-02-28 23:59"},

	/* leap years */
	{"0 0 29 2 *", "2024-03-01 00:00", "2028-02-29 00:00"},
	{"0 0 29 2 *", "2096-03-01 00:00", "2104-02-29 00:00"},
	{"0 0 29 2 *", "1896-03-01 00:00", "1904-02-29 00:00"},
	{"0 0 29 2 *", "1999-03-01 00:00", "2000-02-29 00:00"},
	{"0 0 28-29 2 *", "2100-02-28 00:01", "2101-02-28 00:00"},
	{"0 0 29 2 */7", "2088-03-01 00:00", "2128-02-29 00:00"},

	/* if neither day field begins with a star, one of them is enough */
	{"0 0 13 * fri", "2024-05-01 00:00", "2024-05-03 00:00"},
	{"0 0 13 * fri", "2024-05-11 00:00", "2024-05-13 00:00"},
	{"0 0 */2 * fri", "2024-05-01 00:00", "2024-05-03 00:00"},
	{"0 0 */2 * fri", "2024-05-04 00:00", "2024-05-17 00:00"},
	{"0 0 13 * */5", "2024-05-01 00:00", "2024-09-13 00:00"},
	{"0 0 1-31 * fri", "2024-05-01 00:00", "2024-05-01 00:00"},
	{"0 0 13 * *", "2024-05-01 00:00", "2024-05-13 00:00"},
	{"0 0 * * fri", "2024-05-04 00:00", "2024-05-10 00:00"},
	{"0 0 31 2 fri", "2024-02-24 00:00", "2025-02-07 00:00"},

	/* words */
	{"@yearly", "2024-05-06 07:08", "2025-01-01 00:00"},
	{"@annually", "2024-05-06 07:08", "2025-01-01 00:00"},
	{"@monthly", "2024-05-06 07:08", "2024-06-01 00:00"},
	{"@weekly", "2024-05-06 07:08", "2024-05-12 00:00"},
	{"@daily", "2024-05-06 07:08", "2024-05-07 00:00"},
	{"@MIDNIGHT", "2024-05-06 07:08", "2024-05-07 00:00"},
	{" @hourly ", "2024-05-06 07:08", "2024-05-06 08:00"},
};

static void
test_times(void **state)
{
	(void) state;
	for (size_t i = 0; i < lengthof(times); i++)
		assert_next(times[i].text, times[i].from, times[i].next);
}

static void
test_never(void **state)
{
	static const char *const never[] = {
		"0 0 30 2 *", "* * 31 4,6,9,11 *", "0 0 31 2 */2", "0 0 30,31 feb *"
	};

	(void) state;
	for (size_t i = 0; i < lengthof(never); i++)
		assert_next(never[i], "2024-01-01 00:00", "never");
}

static void
test_every_hour(void **state)
{
	static const char *const every[] = {
		"5 * * * *", "* */1 1 * *", "* 0-23 * * *", "* 0-11,12-23 * * mon", "@hourly"
	};
	static const char *const some[] = {"5 1 * * *", "* */2 * * *", "* 0-22 * * *", "@daily"};
	Cron		cron;
	CronError	error;

	(void) state;
	for (size_t i = 0; i < lengthof(every); i++)
	{
		assert_true(cron_parse(every[i], &cron, &error));
		assert_true(cron_every_hour(&cron));
	}
	for (size_t i = 0; i < lengthof(some); i++)
	{
		assert_true(cron_parse(some[i], &cron, &error));
		assert_false(cron_every_hour(&cron));
	}
}

typedef struct Refused
{
	const char *text;
	CronProblem problem;
	int			field;
	const char *element;		/* NULL: the whole */
} Refused;

static const Refused refused[] = {
	{"", CRON_FIELD_COUNT, 0, NULL},
	{" \t ", CRON_FIELD_COUNT, 0, NULL},
	{"*", CRON_FIELD_COUNT, 1, NULL},
	{"* * * *", CRON_FIELD_COUNT, 4, NULL},
	{"* * * * * *", CRON_FIELD_COUNT, 6, NULL},
	{"0 0 12 * * ? *", CRON_FIELD_COUNT, 7, NULL},
	{"@daily @daily", CRON_FIELD_COUNT, 2, NULL},
	{"@reboot", CRON_WORD, 1, "@reboot"},
	{"@", CRON_WORD, 1, "@"},
	{"@dail", CRON_WORD, 1, "@dail"},
	{"@dailyx", CRON_WORD, 1, "@dailyx"},
	{"60 * * * *", CRON_VALUE, 0, "60"},
	{"-1 * * * *", CRON_VALUE, 0, "-1"},
	{"+1 * * * *", CRON_VALUE, 0, "+1"},
	{"1.5 * * * *", CRON_VALUE, 0, "1.5"},
	{"1- * * * *", CRON_VALUE, 0, "1-"},
	{"1-2-3 * * * *", CRON_VALUE, 0, "1-2-3"},
	{"** * * * *", CRON_VALUE, 0, "**"},
	{"*-5 * * * *", CRON_VALUE, 0, "*-5"},
	{"5* * * * *", CRON_VALUE, 0, "5*"},
	{", * * * *", CRON_VALUE, 0, ""},
	{"1,,2 * * * *", CRON_VALUE, 0, ""},
	{"1,2, * * * *", CRON_VALUE, 0, ""},
	{"99999999999999999999 * * * *", CRON_VALUE, 0, "99999999999999999999"},
	{"4294967296 * * * *", CRON_VALUE, 0, "4294967296"},
	{"0\n * * * *", CRON_VALUE, 0, "0\n"},
	{"\xc3\xa4 * * * *", CRON_VALUE, 0, "\xc3\xa4"},
	{"mon * * * *", CRON_VALUE, 0, "mon"},
	{"*/0 * * * *", CRON_STEP, 0, "*/0"},
	{"*/60 * * * *", CRON_STEP, 0, "*/60"},
	{"*/999999999999 * * * *", CRON_STEP, 0, "*/999999999999"},
	{"0-30/ * * * *", CRON_VALUE, 0, "0-30/"},
	{"*/-5 * * * *", CRON_VALUE, 0, "*/-5"},
	{"*/5/5 * * * *", CRON_VALUE, 0, "*/5/5"},
	{"/5 * * * *", CRON_VALUE, 0, "/5"},
	{"5/10 * * * *", CRON_LONE_STEP, 0, "5/10"},
	{"* 24 * * *", CRON_VALUE, 1, "24"},
	{"* 0,5-27 * * *", CRON_VALUE, 1, "5-27"},
	{"* 22-5 * * *", CRON_BACKWARDS, 1, "22-5"},
	{"* */24 * * *", CRON_STEP, 1, "*/24"},
	{"* * 0 * *", CRON_VALUE, 2, "0"},
	{"* * 32 * *", CRON_VALUE, 2, "32"},
	{"* * L * *", CRON_VALUE, 2, "L"},
	{"* * 15W * *", CRON_VALUE, 2, "15W"},
	{"* * ? * *", CRON_VALUE, 2, "?"},
	{"* * * 0 *", CRON_VALUE, 3, "0"},
	{"* * * 13 *", CRON_VALUE, 3, "13"},
	{"* * * ja *", CRON_VALUE, 3, "ja"},
	{"* * * january *", CRON_VALUE, 3, "january"},
	{"* * * dec-jan *", CRON_BACKWARDS, 3, "dec-jan"},
	{"* * * * 8", CRON_VALUE, 4, "8"},
	{"* * * * 5#3", CRON_VALUE, 4, "5#3"},
	{"* * * * jan", CRON_VALUE, 4, "jan"},
	{"* * * * fri-tue", CRON_BACKWARDS, 4, "fri-tue"},
	{"* * * * 6-0", CRON_BACKWARDS, 4, "6-0"},
};

static void
test_refused(void **state)
{
	(void) state;
	for (size_t i = 0; i < lengthof(refused); i++)
	{
		const Refused *r = &refused[i];
		const char *element = r->element != NULL ? r->element : r->text;
		Cron		cron;
		CronError	error;

		if (cron_parse(r->text, &cron, &error))
			fail_msg("accepted: \"%s\"", r->text);
		if (error.problem != r->problem || error.field != r->field ||
			error.len != (int) strlen(element) ||
			strncmp(error.at, element, error.len) != 0)
			fail_msg("\"%s\": problem %d in field %d: \"%.*s\"", r->text,
					 error.problem, error.field, error.len, error.at);
	}
}

/* ---- A field by chance: its text, and what that means ---- */

typedef struct RandomField
{
	char		text[200];
	uint64		set;
	bool		has_star;
} RandomField;

static const int mins[CRON_FIELDS] = {0, 0, 1, 1, 0};
static const int maxs[CRON_FIELDS] = {59, 23, 31, 12, 7};
static const char *const month_names[] = {
	"jan", "Feb", "MAR", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"
};

static void
append_value(Chance *chance, int field, int value, char *text)
{
	size_t		len = strlen(text);

	if (field == 3 && chance_percent(chance, 40))
		snprintf(text + len, 8, "%s", month_names[value - 1]);
	else if (chance_percent(chance, 20))
		snprintf(text + len, 8, "%02d", value);
	else
		snprintf(text + len, 8, "%d", value);
}

static void
append_element(Chance *chance, int field, RandomField *f)
{
	int			width = maxs[field] - mins[field];
	int			first = mins[field];
	int			last = maxs[field];
	int			step = 1;
	int			kind = chance_below(chance, 10);

	if (kind < 3)
		strcat(f->text, "*");
	else
	{
		first += chance_below(chance, width + 1);
		last = kind < 7 ? first : first + chance_below(chance, maxs[field] - first + 1);
		append_value(chance, field, first, f->text);
		if (kind >= 7)
		{
			strcat(f->text, "-");
			append_value(chance, field, last, f->text);
		}
	}
	if ((kind < 3 || kind >= 7) && chance_percent(chance, 60))
	{
		step = 1 + chance_below(chance, width);
		snprintf(f->text + strlen(f->text), 8, "/%d", step);
	}
	for (int value = first; value <= last; value += step)
		f->set |= UINT64CONST(1) << value;
}

static RandomField
random_field(Chance *chance, int field)
{
	RandomField f = {""};

	if (chance_percent(chance, 30))
		return (RandomField)
	{
		"*", ~UINT64CONST(0), true
	};
	for (int n = 1 + chance_below(chance, 3); n > 0; n--)
	{
		append_element(chance, field, &f);
		if (n > 1)
			strcat(f.text, ",");
	}
	f.has_star = f.text[0] == '*';
	return f;
}

/* Whether the day matches, by the fields and the C library's calendar. */
static bool
day_matches(const RandomField *f, const struct tm *at)
{
	bool		day = f[2].set >> at->tm_mday & 1;
	bool		weekday = (f[4].set >> at->tm_wday & 1) ||
		(at->tm_wday == 0 && (f[4].set >> 7 & 1));

	if (!(f[3].set >> (at->tm_mon + 1) & 1))
		return false;
	return f[2].has_star || f[4].has_star ? day && weekday : day || weekday;
}

/* The first minute of the day at or after the given one; -1: none. */
static int
minute_in_day(const RandomField *f, int from)
{
	for (int minute = from; minute < 1440; minute++)
		if ((f[0].set >> minute % 60 & 1) && (f[1].set >> minute / 60 & 1))
			return minute;
	return -1;
}

/* The same by looking at every day; -1: not within the time. */
static int64
find_slowly(const RandomField *f, int64 from, int days)
{
	int64		day = from / 1440;
	int			in_day = (int) (from % 1440);

	for (int i = 0; i < days; i++, day++, in_day = 0)
	{
		time_t		seconds = day * DAY_SECONDS;
		struct tm	at;
		int			minute;

		if (!day_matches(f, gmtime_r(&seconds, &at)))
			continue;
		minute = minute_in_day(f, in_day);
		if (minute >= 0)
			return day * 1440 + minute;
	}
	return -1;
}

#define LONG_DAYS (45 * 366)

static void
test_random_expressions(void **state)
{
	(void) state;
	for (int seed = test_seed(); seed < test_seed() + 3000; seed++)
	{
		Chance		chance;
		RandomField f[CRON_FIELDS];
		char		text[1100] = "";
		int64_t		minute;
		Cron		cron;
		CronError	error;

		chance_init(&chance, seed);
		for (int i = 0; i < CRON_FIELDS; i++)
		{
			f[i] = random_field(&chance, i);
			snprintf(text + strlen(text), sizeof(f[i].text) + 1, "%s ", f[i].text);
		}
		if (!cron_parse(text, &cron, &error))
			fail_msg("TWT_TEST_SEED=%d: refused \"%s\"", seed, text);
		for (int step = 0; step < 5; step++)
		{
			int64		from = (int64) chance_below(&chance, 400 * 366) * 1440 +
				chance_below(&chance, 1440);
			int64		expected = find_slowly(f, from, LONG_DAYS);
			int64		found = cron_find(&cron, from, &minute) ? minute : -1;

			if (found != expected)
				fail_msg("TWT_TEST_SEED=%d, \"%s\" from " INT64_FORMAT ": " INT64_FORMAT ", not " INT64_FORMAT,
						 seed, text, from, found, expected);
		}
	}
}

/* However rare a day is, it is found: from every 1 March of 400 years. */
static void
test_rarest_days(void **state)
{
	(void) state;
	for (int weekday = 0; weekday < 7; weekday++)
	{
		Cron		cron = {.minutes = 1, .hours = 1, .days = UINT32_C(1) << 29,
			.months = 1 << 2, .weekdays = 1 << weekday
		};

		for (int year = 1900; year < 2300; year++)
		{
			struct tm	at = {.tm_year = year - 1900, .tm_mon = 2, .tm_mday = 1};
			int64_t		minute;

			assert_true(cron_find(&cron, timegm(&at) / 60, &minute));
		}
	}
}

/* The next time of an accepted expression is never before the given one. */
static void
test_random_bytes(void **state)
{
	static const char bytes[] = "0123456789*/-,, \t@jansunfebMON?#LW\n";
	static const char valid[] = "5-30/5 1,2 * jan-mar mon,7";
	Chance		chance;
	int			accepted = 0;

	(void) state;
	chance_init(&chance, test_seed());
	for (int i = 0; i < 200000; i++)
	{
		char		text[sizeof(valid)];
		int			len = chance_below(&chance, sizeof(text));
		int64		from = (int64) chance_below(&chance, 60000000) - 30000000;
		int64_t		minute;
		Cron		cron;
		CronError	error;

		memcpy(text, valid, sizeof(valid));
		if (i % 2 == 0)
			text[len] = '\0';
		for (int j = chance_below(&chance, 8); j > 0; j--)
			text[chance_below(&chance, sizeof(valid) - 1)] =
				bytes[chance_below(&chance, sizeof(bytes) - 1)];
		if (!cron_parse(text, &cron, &error))
		{
			assert_true(error.at >= text && error.at + error.len <= text + sizeof(valid));
			continue;
		}
		accepted++;
		if (cron_find(&cron, from, &minute))
			assert_true(minute >= from);
	}
	assert_true(accepted > 1000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_never),
		cmocka_unit_test(test_every_hour),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_random_expressions),
		cmocka_unit_test(test_rarest_days),
		cmocka_unit_test(test_random_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
