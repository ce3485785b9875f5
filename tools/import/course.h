/*-------------------------------------------------------------------------
 *
 * course.h
 *		The course of an import: check all tasks, add them, compare them.
 *
 *		from: main.c		to: import_source.h, target.h
 *
 * Each step reads the whole source.  Nothing is added before all tasks were checked.
 * Tasks go over in batches, each a transaction, so memory and locks stay small; a run
 * that broke off is repeated from its beginning, and finds what is there.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_IMPORT_COURSE_H
#define TWT_IMPORT_COURSE_H

#include "tools/import/import_source.h"
#include "tools/import/target.h"
#include "tools/import/task_json.h"

typedef struct CourseOptions
{
	bool		dry_run;		/* check only */
	bool		skips_misfits;	/* leave tasks that do not fit in the source */
	bool		while_handled;	/* although sidecars handle the types */
	int			ended_days;
	int64		watch_us;		/* see source_watch(); 0: do not */
	Patterns	json;
} CourseOptions;

/* Returns the exit status, after reports on stdout. */
extern int	course_run(Source *source, Target *target, const CourseOptions *options);

#endif							/* TWT_IMPORT_COURSE_H */
