/*-------------------------------------------------------------------------
 *
 * json_digits.h
 *		How much longer JSON is as text than as it is stored.
 *
 * Numbers are what can make the great difference: 1e100000 takes 10 bytes as it
 * is stored, and whoever reads the task gets 100,001 digits.  Of the rest no
 * byte becomes more than six, which the ceiling of twtasks.max_payload allows
 * for.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_JSON_DIGITS_H
#define TWT_JSON_DIGITS_H

/*
 * Bytes that the numbers of a jsonb take as text beyond those that they take as
 * stored; at most a few too many for each.  Looks at no digits.
 */
extern Size json_digits(Datum json);

#endif							/* TWT_JSON_DIGITS_H */
