/*-------------------------------------------------------------------------
 *
 * target.h
 *		The database with the extension, which takes the tasks.
 *
 *		from: course.c			to: sql/add/import_tasks.sql
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_IMPORT_TARGET_H
#define TWT_IMPORT_TARGET_H

#include "tools/ctl_session.h"

typedef struct Target Target;

typedef enum TargetCall
{
	TARGET_CHECK,				/* import_tasks(), stores nothing */
	TARGET_ADD,					/* import_tasks() */
	TARGET_COMPARE				/* compare_import() */
} TargetCall;

/* name is the import's; processing is "error" or "retry".  Both stay the caller's. */
extern Target *target_open(const SessionOptions *options, const char *name, const char *processing);
extern void target_close(Target *target);

/* Gives tasks, a JSON array, to a call: one transaction.  One row for each task. */
extern PGresult *target_give(Target *target, TargetCall call, const char *tasks);

/* Ends the program if a live sidecar handles one of the types, a JSON array of texts. */
extern void target_refuse_handled(Target *target, const char *types);

/* Returns whether an earlier run was found complete. */
extern bool target_begin(Target *target, int ended_days);
extern void target_end(Target *target);

#endif							/* TWT_IMPORT_TARGET_H */
