/*-------------------------------------------------------------------------
 *
 * cron.c
 *		Cron expressions: five fields, and the times that they name.
 *
 *-------------------------------------------------------------------------
 */
#include "cron.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#define DAY_MINUTES 1440

/*
 * 29 February on a given day of the week comes again after 40 years at most
 * (from 2096 to 2136, say); every other date sooner.
 */
#define SEARCH_MONTHS (41 * 12)

enum
{
	MINUTE, HOUR, DAY, MONTH, WEEKDAY
};

typedef struct Field
{
	int			min;
	int			max;
	const char *names;			/* three letters each, in order from min */
} Field;

static const Field fields[CRON_FIELDS] = {
	[MINUTE] = {0, 59, ""},
	[HOUR] = {0, 23, ""},
	[DAY] = {1, 31, ""},
	[MONTH] = {1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"},
	[WEEKDAY] = {0, 7, "sunmontuewedthufrisat"},
};

static const char *const words[][2] = {
	{"@yearly", "0 0 1 1 *"},
	{"@annually", "0 0 1 1 *"},
	{"@monthly", "0 0 1 * *"},
	{"@weekly", "0 0 * * 0"},
	{"@daily", "0 0 * * *"},
	{"@midnight", "0 0 * * *"},
	{"@hourly", "0 * * * *"},
};

/* ---- Text ---- */

/* An element of a field, and how far it has been read. */
typedef struct Reader
{
	const char *at;
	const char *end;
	int			field;
} Reader;

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/*
 * Returns -1 if there is no number.  A number too large for any field stays
 * too large.
 */
static int
read_number(Reader *reader)
{
	int			value = -1;

	while (reader->at < reader->end && is_digit(*reader->at))
	{
		value = (value < 0 ? 0 : value * 10) + (*reader->at++ - '0');
		if (value > 1000)
			value = 1000;
	}
	return value;
}

static int
read_name(Reader *reader)
{
	const Field *field = &fields[reader->field];

	if (reader->end - reader->at < 3)
		return -1;
	for (int i = 0; field->names[3 * i] != '\0'; i++)
	{
		if (strncasecmp(reader->at, &field->names[3 * i], 3) == 0)
		{
			reader->at += 3;
			return field->min + i;
		}
	}
	return -1;
}

/* A number or name within the field; -1: neither. */
static int
read_value(Reader *reader)
{
	const Field *field = &fields[reader->field];
	int			value;

	if (reader->at < reader->end && is_digit(*reader->at))
		value = read_number(reader);
	else
		value = read_name(reader);
	return value >= field->min && value <= field->max ? value : -1;
}

static bool
skip(Reader *reader, char c)
{
	if (reader->at == reader->end || *reader->at != c)
		return false;
	reader->at++;
	return true;
}

/* "*", "a" or "a-b" */
static CronProblem
read_range(Reader *reader, int *first, int *last, bool *is_single)
{
	const Field *field = &fields[reader->field];
	bool		is_name;

	*is_single = false;
	*first = field->min;
	*last = field->max;
	if (skip(reader, '*'))
		return CRON_OK;
	*first = *last = read_value(reader);
	if (*first < 0)
		return CRON_VALUE;
	*is_single = !skip(reader, '-');
	if (*is_single)
		return CRON_OK;
	is_name = reader->at < reader->end && !is_digit(*reader->at);
	*last = read_value(reader);
	/* As the end of a range, the name of Sunday means the later one. */
	if (is_name && reader->field == WEEKDAY && *last == 0 && *first > 0)
		*last = 7;
	if (*last < 0)
		return CRON_VALUE;
	return *last < *first ? CRON_BACKWARDS : CRON_OK;
}

static CronProblem
read_element(Reader *reader, uint64_t *set)
{
	const Field *field = &fields[reader->field];
	int			first;
	int			last;
	int			step = 1;
	bool		is_single;
	CronProblem problem = read_range(reader, &first, &last, &is_single);

	if (problem != CRON_OK)
		return problem;
	if (skip(reader, '/'))
	{
		step = read_number(reader);
		if (step < 0)
			return CRON_VALUE;
		if (step < 1 || step > field->max - field->min)
			return CRON_STEP;
		if (is_single)
			return CRON_LONE_STEP;
	}
	if (reader->at != reader->end)
		return CRON_VALUE;
	for (int value = first; value <= last; value += step)
		*set |= UINT64_C(1) << value;	/* NOLINT: at most 59 */
	return CRON_OK;
}

/* The elements of one field, between begin and end. */
static bool
read_field(const char *begin, const char *end, uint64_t *set, CronError *error)
{
	const char *element = begin;

	*set = 0;
	for (;;)
	{
		const char *comma = memchr(element, ',', end - element);
		const char *stop = comma != NULL ? comma : end;
		Reader		reader = {element, stop, error->field};

		error->problem = read_element(&reader, set);
		if (error->problem != CRON_OK)
		{
			error->at = element;
			error->len = (int) (stop - element);
			return false;
		}
		if (comma == NULL)
			return true;
		element = comma + 1;
	}
}

/*
 * Splits the text into fields; returns their number, even if there are too
 * many.
 */
static int
split(const char *text, const char **begins, const char **ends)
{
	int			n = 0;

	for (;;)
	{
		const char *begin = text + strspn(text, " \t");

		text = begin + strcspn(begin, " \t");
		if (text == begin)
			return n;
		if (n < CRON_FIELDS)
		{
			begins[n] = begin;
			ends[n] = text;
		}
		n++;
	}
}

/* The expression behind a word such as @daily; NULL: no such word. */
static const char *
find_word(const char *begin, const char *end)
{
	size_t		len = end - begin;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i][0]) == len && strncasecmp(words[i][0], begin, len) == 0)
			return words[i][1];
	return NULL;
}

static bool
refuse(CronError *error, CronProblem problem, const char *at, int len)
{
	error->problem = problem;
	error->at = at;
	error->len = len;
	return false;
}

bool
cron_parse(const char *text, Cron *cron, CronError *error)
{
	const char *begins[CRON_FIELDS];
	const char *ends[CRON_FIELDS];
	uint64_t	sets[CRON_FIELDS];
	int			n = split(text, begins, ends);

	error->field = n;
	if (n == 1 && *begins[0] == '@')
	{
		const char *meaning = find_word(begins[0], ends[0]);

		if (meaning == NULL)
			return refuse(error, CRON_WORD, begins[0], (int) (ends[0] - begins[0]));
		return cron_parse(meaning, cron, error);
	}
	if (n != CRON_FIELDS)
		return refuse(error, CRON_FIELD_COUNT, text, (int) strlen(text));
	for (int i = 0; i < CRON_FIELDS; i++)
	{
		error->field = i;
		if (!read_field(begins[i], ends[i], &sets[i], error))
			return false;
	}
	cron->minutes = sets[MINUTE];
	cron->hours = (uint32_t) sets[HOUR];
	cron->days = (uint32_t) sets[DAY];
	cron->months = (uint16_t) sets[MONTH];
	cron->weekdays = (uint8_t) ((sets[WEEKDAY] | sets[WEEKDAY] >> 7) & 0x7f);
	cron->either_day = *begins[DAY] != '*' && *begins[WEEKDAY] != '*';
	return true;
}

/* ---- Time ---- */

typedef struct Date
{
	int64_t		year;
	int			month;			/* 1 .. 12 */
	int			day;			/* 1 .. 31 */
} Date;

static int64_t
divide_down(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

/*
 * Days since 1970.  With years that begin in March, the day that may be
 * missing is the last one, and the months' lengths follow a rule.
 */
static int64_t
day_number(int64_t year, int month, int day)
{
	int			from_march = (month + 9) % 12;

	year -= month <= 2;
	return year * 365 + divide_down(year, 4) - divide_down(year, 100) +
		divide_down(year, 400) + (153 * from_march + 2) / 5 + day - 1 - 719468;
}

static Date
date_of(int64_t day)
{
	Date		date = {.month = 1};

	/*
	 * an estimate that is never too late a year; then forward to the right
	 * one
	 */
	date.year = 1970 + divide_down(day * 400, 146097) - 1;
	while (day_number(date.year + 1, 1, 1) <= day)
		date.year++;
	while (date.month < 12 && day_number(date.year, date.month + 1, 1) <= day)
		date.month++;
	date.day = (int) (day - day_number(date.year, date.month, 1)) + 1;
	return date;
}

static void
next_month(Date *date)
{
	date->day = 1;
	if (++date->month > 12)
	{
		date->month = 1;
		date->year++;
	}
}

/* The days of the date's month that match, as a set. */
static uint32_t
matching_days(const Cron *cron, Date date)
{
	int64_t		first = day_number(date.year, date.month, 1);
	int			weekday;		/* the first day's: day 0 was a Thursday */
	int			length;
	uint64_t	by_weekday = 0;
	uint32_t	match;

	weekday = (int) (first + 4 - 7 * divide_down(first + 4, 7));
	next_month(&date);
	length = (int) (day_number(date.year, date.month, 1) - first);
	for (int day = 1; day <= length; day++, weekday = (weekday + 1) % 7)
		by_weekday |= (uint64_t) (cron->weekdays >> weekday & 1) << day;
	match = cron->either_day ? (cron->days | (uint32_t) by_weekday) :
		(cron->days & (uint32_t) by_weekday);
	return match & (uint32_t) ((UINT64_C(2) << length) - 1);
}

/* Returns the first member of the set at or after from; -1: none. */
static int
first_from(uint64_t set, int from)
{
	if (from > 63 || set >> from == 0)
		return -1;
	return from + __builtin_ctzll(set >> from);
}

/* Finds the first matching day at or after the date. */
static bool
find_day(const Cron *cron, Date *date)
{
	for (int i = 0; i < SEARCH_MONTHS; i++)
	{
		int			day = -1;

		if (cron->months >> date->month & 1)
			day = first_from(matching_days(cron, *date), date->day);
		if (day > 0)
		{
			date->day = day;
			return true;
		}
		next_month(date);
	}
	return false;
}

/* Returns the first matching minute of a day, at or after from; -1: none. */
static int
find_in_day(const Cron *cron, int from)
{
	int			hour = from / 60;
	int			minute = -1;

	if (hour < 24 && cron->hours >> hour & 1)
		minute = first_from(cron->minutes, from % 60);
	if (minute >= 0)
		return hour * 60 + minute;
	hour = first_from(cron->hours, hour + 1);
	return hour < 0 ? -1 : hour * 60 + first_from(cron->minutes, 0);
}

bool
cron_find(const Cron *cron, int64_t from, int64_t *minute)
{
	int64_t		today = divide_down(from, DAY_MINUTES);
	int64_t		day;
	Date		date = date_of(today);
	int			in_day;

	if (!find_day(cron, &date))
			return false;
	day = day_number(date.year, date.month, date.day);
	in_day = find_in_day(cron, day == today ? (int) (from - today * DAY_MINUTES) : 0);
	if (in_day < 0)
	{
		/* nothing more today */
		date = date_of(day + 1);
		if (!find_day(cron, &date))
			return false;
		day = day_number(date.year, date.month, date.day);
		in_day = find_in_day(cron, 0);
	}
	*minute = day * DAY_MINUTES + in_day;
	return true;
}

bool
cron_every_hour(const Cron *cron)
{
	return cron->hours == (1 << 24) - 1;
}
