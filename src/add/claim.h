/*-------------------------------------------------------------------------
 *
 * claim.h
 *		Keys and ids of callers: which task has them.
 *
 *		from: store.c
 *
 * A task with a key or an id from the caller first claims a row of unique_key.
 * A second caller finds that row; it waits if the first has not yet committed,
 * unless it has no patience.  An id that we generate needs no claim.
 *
 * The rule of the caller decides what a key means that another task has:
 *
 *		KEY_KEPT			that task counts while it is kept, live or finished
 *		KEY_LIVE			it counts while it is live; else the new task takes
 *							the key
 *		KEY_REPLACE			if it has never started, it becomes the new task;
 *							else the new task takes the key
 *		KEY_REPLACE_DATA	the same, but a task that is replaced keeps its time
 *
 * The last three are rules of put_task().  They change only keys that put_task() has
 * claimed: unique_key.put_version is the version that it gave the task last.
 *
 *		invariant	a key or an id of add_task() stays with its task
 *		invariant	a task that has started keeps its data: receivers know its id
 *					from the first try, and would take other data for the same.
 *					A start and its end raise the version by two, so a task may be
 *					replaced while its version is at most one above put_version.
 *					Changes by hand that start nothing do not count
 *		invariant	a held task is replaced or the add fails: no task with its key
 *					runs beside it
 *		invariant	a finish frees no key.  The next add takes the key from the
 *					ended task, so tasks of other rules pay nothing
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CLAIM_H
#define TWT_CLAIM_H

#include "utils/uuid.h"

#include "base/new_task.h"
#include "base/rows.h"

typedef enum AddResult
{
	ADD_EXISTS,
	ADD_NEW,
	ADD_REPLACED
} AddResult;

typedef struct AddedTask
{
	pg_uuid_t	id;
	int64		version;
	bool		version_known;
	AddResult	result;
} AddedTask;

/* All claims of one call. */
typedef struct Claims Claims;

/* append: rows of this call that are not stored yet; role: the adding one, as text. */
extern Claims *claims_begin(Appender *append, Datum role, int patience_ms);
extern void claims_end(Claims *claims);

/*
 * Claims the id and the key of a task.  Afterwards result->result is ADD_NEW if the task
 * has them and is to be stored; else *result is about the task that has them.
 *
 * Errors: 23505 if the id exists with another key, the live task with the key has
 * another type, or add_task() has the key that put_task() wants; 55000 if a task
 * is held that may have started; 55P03 after patience_ms; 40001 if the holder comes and goes
 */
extern void claim_key(Claims *claims, const NewTask *task, TimestampTz now, AddedTask *result);

/* Whether we gave this id to a task that has finished. */
extern bool claim_find_finished(AddedTask *result);

/*
 * Takes our insert back if the task finished while the insert waited for its
 * row.
 */
extern bool claim_take_back(const Claims *claims, AddedTask *result);

/* For a task that has its id, but was not inserted: an earlier task has the id. */
extern void claim_find_other(Claims *claims, const NewTask *task, AddedTask *result);

#endif							/* TWT_CLAIM_H */
