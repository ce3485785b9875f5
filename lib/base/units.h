/*-------------------------------------------------------------------------
 *
 * units.h
 *		Whole numbers with a unit: durations and sizes, as people write them.
 *
 * Our own rules for numbers are narrower than YAML's: no octal, no
 * hexadecimal, no exponent, and nothing that could be misread.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_UNITS_H
#define TWT_UNITS_H

typedef struct Unit
{
	const char *name;			/* NULL ends the list */
	int64		factor;
} Unit;

typedef enum Parsed
{
	PARSED,
	PARSED_INVALID,
	PARSED_TOO_LARGE
} Parsed;

/* The units of microseconds and of bytes, ascending. */
extern const Unit duration_units[];
extern const Unit size_units[];

/* Reads the decimal digits at *text, and moves *text behind them. */
extern Parsed units_parse_digits(const char **text, int64 *value);

/* Reads a whole number and one of the units. */
extern Parsed units_parse(const char *text, const Unit *units, int64 *value);

/*
 * "250ms", "30s", "10min", "2h", "1d" -> microseconds.  Refuses bare numbers,
 * negative numbers and numbers that are too large.
 */
extern bool units_parse_duration(const char *text, int64 *us) MUSTCHECK;

#endif							/* TWT_UNITS_H */
