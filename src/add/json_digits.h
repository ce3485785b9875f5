/*-------------------------------------------------------------------------
 *
 * json_digits.h
 *		How much longer JSON is as text than as it is stored.
 *
 * Numbers can make the great difference: 1e100000 is stored in 10 bytes, and a
 * reader of the task gets 100,001 digits.  No other byte becomes more than
 * six, which the ceiling of twtasks.max_payload allows for.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_JSON_DIGITS_H
#define TWT_JSON_DIGITS_H

/*
 * The bytes that the numbers of a jsonb take as text beyond their stored size;
 * at most a few too many for each number.  Looks at no digits.
 */
extern Size json_digits(Datum json);

#endif							/* TWT_JSON_DIGITS_H */
