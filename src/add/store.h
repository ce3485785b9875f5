/*-------------------------------------------------------------------------
 *
 * store.h
 *		Stores checked tasks and remembers their triggers.
 *
 *		from: add.c			to: claim.c, commit.c
 *
 * A task with a key or an id from the caller first claims it: see claim.h.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_STORE_H
#define TWT_STORE_H

#include "add/claim.h"
#include "base/new_task.h"

/* All adds of one call. */
typedef struct Store Store;

/* Refuses read-only transactions, standbys and parallel workers. */
extern void store_check(void);

/*
 * patience_ms: how long to wait for a key that an open transaction claims; 0: no
 * limit of ours.
 *
 * Errors: 55P03 after that time.  store_end() writes the last rows, so it may
 * raise any error.
 */
extern Store *store_begin(const char *role, int patience_ms);
extern void store_task(Store *store, const NewTask *task, AddedTask *result);
extern void store_end(Store *store);

#endif							/* TWT_STORE_H */
