/*-------------------------------------------------------------------------
 *
 * import_source.h
 *		The tables of TwTasks, read page by page.
 *
 *		to: course.c
 *
 * A page has at most 500 tasks, in the order of ids, and 4 MB of packed data, contexts
 * and texts beside its last task.  Each page is a transaction of its own: the tables do not change while no
 * node runs, and if they do, a later reading shall see that.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_IMPORT_SOURCE_H
#define TWT_IMPORT_SOURCE_H

#include "tools/ctl_session.h"

typedef struct Source Source;

/* Ended tasks count if they ended at most so many days ago. */
extern Source *source_open(const SessionOptions *options, int ended_days);
extern void source_close(Source *source);

/* Lets source_next() begin anew. */
extern void source_rewind(Source *source);

/* The next page, with the columns of source_columns; NULL at the end. */
extern PGresult *source_next(Source *source) MUSTCHECK;

/* How many tasks of that status the tables have now. */
extern PGresult *source_count(Source *source);

/*
 * Ends the program if others read the table of tasks within this time, as nodes of
 * TwTasks do every few seconds.  Statistics do not count reads of a view or of a
 * foreign table: then it only says so.
 */
extern void source_watch(Source *source, int64 us);

#endif							/* TWT_IMPORT_SOURCE_H */
