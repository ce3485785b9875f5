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

/* How many tasks there are; 22023 unless it is an array. */
extern int	json_count(Jsonb *json);

/*
 * Fills as many tasks.  *number is that of the task we are at.
 *
 * Errors: 22023 when an element is no object or has a name that is no
 * parameter of add_task(); those of the types' input otherwise.
 */
extern void json_unpack(Jsonb *json, NewTask *tasks, int *number);

#endif							/* TWT_ADD_JSON_H */
