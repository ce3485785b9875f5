/*-------------------------------------------------------------------------
 *
 * values.h
 *		Single values of options: from text, checked, and back to text.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_VALUES_H
#define TWT_VALUES_H

#include "options/option.h"

/*
 * Stores the value of text at target, a member of the option's type (one word,
 * a char *, for the types that are lists).  The stored value belongs to the
 * caller.  Returns false, with a palloc'd reason, if text is invalid or out of
 * the option's range.  The reason never quotes a conninfo.
 */
extern bool values_parse(const Option *option, const char *text, void *target,
						 char **reason) MUSTCHECK;

/*
 * Appends the value at source as YAML that values_parse() accepts.  Lists
 * become flow sequences, and passwords in a conninfo asterisks.
 */
extern void values_print(const Option *option, const void *source,
						 StringInfo out);

#endif							/* TWT_VALUES_H */
