/*-------------------------------------------------------------------------
 *
 * json_digits.h
 *		The bytes that JSON takes as text beyond its stored size.
 *
 * Numbers make the largest difference: 1e100000 is stored in 10 bytes, and a
 * reader of the task gets 100,001 digits.  No other byte becomes more than six
 * bytes, which the ceiling of twtasks.max_payload allows for.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_JSON_DIGITS_H
#define TWT_JSON_DIGITS_H

/*
 * Returns the bytes that the numbers of a jsonb take as text beyond their
 * stored size.  The result may be a few bytes too high for each number,
 * because it reads no digits.
 */
extern Size json_digits(Datum json);

#endif							/* TWT_JSON_DIGITS_H */
