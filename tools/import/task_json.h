/*-------------------------------------------------------------------------
 *
 * task_json.h
 *		Tasks of TwTasks, as twtasks.import_tasks() takes them.
 *
 *		from: import_source.h			to: target.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TASK_JSON_H
#define TWT_TASK_JSON_H

#include "libpq-fe.h"

/*
 * Most bytes of the data and context of a task, packed or not.  In hexadecimal digits
 * and beside a batch they must fit an array of jsonb, of 256 MB.
 */
#define TASK_BYTES_MAX (120 * 1024 * 1024)

/* Most bytes of all its texts, which grow sixfold at most. */
#define TASK_TEXTS_MAX 1000000

/* Patterns of types, as policies have them: a type, or the beginning of types and a *. */
typedef struct Patterns
{
	int			n;
	char	  **patterns;
} Patterns;

/*
 * task_json -- appends a task as a JSON object.
 *
 * The data of types in json is JSON, and of all others it is bytes.  Returns NULL, or
 * why the task is too large, or why its data or context cannot be unpacked (static);
 * then nothing was appended.
 */
extern const char *task_json(StringInfo out, const PGresult *page, int row, const Patterns *json) MUSTCHECK;

#endif							/* TWT_TASK_JSON_H */
