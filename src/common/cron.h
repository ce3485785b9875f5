/*-------------------------------------------------------------------------
 *
 * cron.h
 *		Cron expressions: five fields, and the times that they name.
 *
 * An expression names minutes of a clock on the wall, without a time zone.
 * Minutes count from 1970-01-01 00:00 of that clock.  src/schedule/cron.c finds
 * the moments of these minutes.
 *
 *		field			values		names
 *		minute			0 - 59
 *		hour			0 - 23
 *		day of month	1 - 31
 *		month			1 - 12		jan - dec
 *		day of week		0 - 7		sun - sat; 0 and 7 are Sunday
 *
 * A field is a list of values, ranges and stars; a range or star may have a
 * step.  A day must match day of month and day of week; if neither field
 * begins with a star, one of the two is enough.  Plain C without PostgreSQL's
 * headers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CRON_H
#define TWT_CRON_H

#include <stdbool.h>
#include <stdint.h>

#define CRON_FIELDS 5

/* Sets of values: bit v stands for v. */
typedef struct Cron
{
	uint64_t	minutes;
	uint32_t	hours;
	uint32_t	days;
	uint16_t	months;
	uint8_t		weekdays;		/* without bit 7 */
	bool		either_day;		/* one of the two day fields is enough */
} Cron;

typedef enum CronProblem
{
	CRON_OK,
	CRON_FIELD_COUNT,			/* not five fields */
	CRON_WORD,					/* begins with @ and is no known word */
	CRON_VALUE,					/* no value, range or star */
	CRON_BACKWARDS,				/* a range that ends before it begins */
	CRON_STEP,					/* a step of 0, or larger than the field */
	CRON_LONE_STEP				/* a step after a single value */
} CronProblem;

typedef struct CronError
{
	CronProblem problem;
	int			field;			/* from 0; which one, or how many there are */
	const char *at;				/* the element in the text that was refused */
	int			len;
} CronError;

/*
 * Reads an expression, or one of @yearly, @annually, @monthly, @weekly,
 * @daily, @midnight, @hourly.  False: *error says what is wrong, and points
 * into the text.
 */
extern bool cron_parse(const char *text, Cron *cron, CronError *error);

/*
 * Finds the first minute of the expression, at or after from.  Returns false
 * if there is none, ever (30 February).
 */
extern bool cron_find(const Cron *cron, int64_t from, int64_t *minute);

/* Whether it names every hour of its days. */
extern bool cron_every_hour(const Cron *cron);

#endif							/* TWT_CRON_H */
