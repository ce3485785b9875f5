/*-------------------------------------------------------------------------
 *
 * interval.h
 *		The length of an interval.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_INTERVAL_H
#define TWT_INTERVAL_H

#include "datatype/timestamp.h"

/*
 * Milliseconds, with a fraction.  Counts as extract(epoch FROM interval) does:
 * a year has 8,766 hours, a month of the rest 30 days.
 */
static inline double
interval_ms(const Interval *interval)
{
	int64		years = interval->month / MONTHS_PER_YEAR;
	int64		months = interval->month % MONTHS_PER_YEAR;
	int64		hours = years * 8766 + (months * DAYS_PER_MONTH + interval->day) * HOURS_PER_DAY;

	return (double) hours * SECS_PER_HOUR * 1000 + interval->time / 1000.0;
}

/* The same in microseconds, at most some 290,000 years. */
static inline int64
interval_us(const Interval *interval)
{
	return (int64) Min(interval_ms(interval) * 1000, 9.2e18);
}

#endif							/* TWT_INTERVAL_H */
