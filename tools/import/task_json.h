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
 * why the data or context cannot be unpacked (static); then nothing was appended.
 */
extern const char *task_json(StringInfo out, const PGresult *page, int row, const Patterns *json) MUSTCHECK;

#endif							/* TWT_TASK_JSON_H */
