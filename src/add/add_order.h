/*-------------------------------------------------------------------------
 *
 * add_order.h
 *		The order in which tasks of one call are added.
 *
 *		to: add.c
 *
 * Two batches that claim the same keys in different orders would deadlock.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_ADD_ORDER_H
#define TWT_ADD_ORDER_H

#include "base/new_task.h"

/*
 * Returns the tasks' numbers from 0, sorted by key, then by the caller's id,
 * then as given.
 */
extern int *add_order(const NewTask *tasks, int n);

#endif							/* TWT_ADD_ORDER_H */
