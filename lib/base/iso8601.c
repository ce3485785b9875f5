#include "base/port.h"

#include <ctype.h>

#include "base/iso8601.h"

/* Reads exactly n digits. */
static bool
take_number(const char **p, int n, int *value)
{
	for (*value = 0; n > 0; n--, (*p)++)
	{
		if (!isdigit((unsigned char) **p))
			return false;
		*value = *value * 10 + (**p - '0');
	}
	return true;
}

static bool
take_char(const char **p, char c)
{
	if (**p != c)
		return false;
	(*p)++;
	return true;
}

/*
 * Days since 1970-01-01; a year of this count begins in March.  Month 13 is the
 * next January.
 */
static int64
days_since_1970(int year, int month, int day)
{
	int			y = month > 2 ? year : year - 1;
	int			m = month > 2 ? month - 3 : month + 9;

	return (int64) y * 365 + y / 4 - y / 100 + y / 400 +
		(m * 153 + 2) / 5 + day - 1 - 719468;
}

static bool
take_date(const char **p, int64 *days)
{
	int			year;
	int			month;
	int			day;

	if (!take_number(p, 4, &year) || !take_char(p, '-') ||
		!take_number(p, 2, &month) || !take_char(p, '-') ||
		!take_number(p, 2, &day))
		return false;
	*days = days_since_1970(year, month, day);
	return year >= 1 && month >= 1 && month <= 12 && day >= 1 &&
		*days < days_since_1970(year, month + 1, 1);
}

/* Digits after the microseconds are dropped. */
static bool
take_fraction(const char **p, int64 *us)
{
	int64		unit = 100000;

	if (!isdigit((unsigned char) **p))
		return false;
	for (; isdigit((unsigned char) **p); (*p)++, unit /= 10)
		*us += (**p - '0') * unit;
	return true;
}

/* The 60th second of a leap second is the next minute's first. */
static bool
take_time(const char **p, int64 *us)
{
	int			hour;
	int			minute;
	int			second = 0;

	if (!take_number(p, 2, &hour) || !take_char(p, ':') ||
		!take_number(p, 2, &minute))
		return false;
	if (take_char(p, ':') && !take_number(p, 2, &second))
		return false;
	if (hour > 23 || minute > 59 || second > 60)
		return false;
	*us = SECONDS_TO_US((hour * 60 + minute) * 60 + second);
	return !take_char(p, '.') || take_fraction(p, us);
}

static bool
take_zone(const char **p, int64 *us)
{
	int			sign = **p == '-' ? -1 : 1;
	int			hours;
	int			minutes = 0;

	*us = 0;
	if (take_char(p, 'Z') || take_char(p, 'z'))
		return true;
	if (!take_char(p, '+') && !take_char(p, '-'))
		return false;
	if (!take_number(p, 2, &hours))
		return false;
	if ((take_char(p, ':') || **p) && !take_number(p, 2, &minutes))
		return false;
	if (hours > 18 || minutes > 59)
		return false;
	*us = SECONDS_TO_US((hours * 60 + minutes) * 60) * sign;
	return true;
}

bool
iso8601_parse(const char *text, int64 *us)
{
	int64		days;
	int64		time_us;
	int64		zone_us;

	if (!take_date(&text, &days) ||
		(!take_char(&text, 'T') && !take_char(&text, 't') &&
		 !take_char(&text, ' ')) ||
		!take_time(&text, &time_us) || !take_zone(&text, &zone_us) || *text)
		return false;
	*us = SECONDS_TO_US(days * 86400) + time_us - zone_us;
	return true;
}
