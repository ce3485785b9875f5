/*-------------------------------------------------------------------------
 *
 * import_options.h
 *		The command line of twtasks-import, and its help.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_IMPORT_OPTIONS_H
#define TWT_IMPORT_OPTIONS_H

#include "tools/import/course.h"

typedef struct ImportOptions
{
	const char *from;			/* connection strings; to may be NULL: the
								 * variables of libpq */
	const char *to;
	const char *schema;			/* the one with the source's tables */
	const char *name;
	const char *processing;
	int64		timeout_us;
	bool		is_told;		/* help was printed: there is nothing to do */
	CourseOptions course;
} ImportOptions;

/* Ends the program if the arguments are wrong. */
extern void import_options_read(int argc, char **argv, ImportOptions *options);

#endif							/* TWT_IMPORT_OPTIONS_H */
