/*-------------------------------------------------------------------------
 *
 * store.h
 *		Stores checked tasks and remembers their triggers.
 *
 *		from: add.c			to: commit.c
 *
 * A task with a key or an id from the caller first claims a row of unique_key.
 * A second caller finds that row; it waits if the first has not yet committed.
 * An id that we generate needs no claim.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_STORE_H
#define TWT_STORE_H

#include "utils/uuid.h"

#include "base/new_task.h"

/* All adds of one call. */
typedef struct Store Store;

typedef struct AddedTask
{
	pg_uuid_t	id;
	int64		version;
	bool		version_known;
	bool		added;
} AddedTask;

/* Refuses read-only transactions, standbys and parallel workers. */
extern void store_check(void);

/* store_end() writes the last rows, so it may raise any error. */
extern Store *store_begin(const char *role);
extern void store_task(Store *store, const NewTask *task, AddedTask *result);
extern void store_end(Store *store);

#endif							/* TWT_STORE_H */
