/*-------------------------------------------------------------------------
 *
 * add_json.h
 *		Tasks given as a JSON array of objects.
 *
 *		to: add.c
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_ADD_JSON_H
#define TWT_ADD_JSON_H

#include "utils/jsonb.h"

#include "base/new_task.h"

/* The number of tasks in the array; 22023 if it is not an array. */
extern int	json_count(Jsonb *json);

/*
 * Fills that many tasks.  *number is the task that we are reading.
 *
 * Errors: 22023 if an element is not an object, or has a name that is no
 * parameter of add_task(); otherwise the errors of the types' input functions.
 */
extern void json_unpack(Jsonb *json, NewTask *tasks, int *number);

#endif							/* TWT_ADD_JSON_H */
