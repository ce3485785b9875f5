/*-------------------------------------------------------------------------
 *
 * pattern.h
 *		Patterns: a name, or the beginning of names and a *.
 *
 * Patterns match task types and names of nodes.  Plain C without PostgreSQL's
 * headers: both sides compile it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_PATTERN_H
#define TWT_PATTERN_H

#include <stddef.h>
#include <stdint.h>

/* The fit of a pattern that is the name itself. */
#define PATTERN_EXACT SIZE_MAX

/*
 * How well the pattern fits: 0 not at all, more for a longer beginning, most
 * for the name itself.
 */
extern size_t pattern_fit(const char *pattern, const char *name);

#endif							/* TWT_PATTERN_H */
