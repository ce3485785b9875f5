/*-------------------------------------------------------------------------
 *
 * values.h
 *		Single values of options: from text, checked, and back to text.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_VALUES_H
#define TWT_VALUES_H

#include "config/option.h"

/*
 * Stores the value that text stands for at target, a member of the option's
 * kind (for the kinds that are lists: one word, a char *).  The stored value
 * belongs to the caller.  False, with a palloc'd reason, when text is not such
 * a value or out of the option's range.  The reason never quotes a conninfo.
 */
extern bool values_parse(const Option *option, const char *text, void *target,
						 char **reason) MUSTCHECK;

/*
 * Appends the value at source as YAML that values_parse() takes back.  Lists
 * come as flow sequences; passwords in a conninfo as asterisks.
 */
extern void values_print(const Option *option, const void *source,
						 StringInfo out);

#endif							/* TWT_VALUES_H */
