/*-------------------------------------------------------------------------
 *
 * new_task.c
 *		A task that is about to be added.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "catalog/pg_type.h"

#include "base/new_task.h"

static const ShapeColumn new_task_columns[NEW_FIELDS] = {
	{"type", TEXTOID},
	{"data", JSONBOID},
	{"sub_type", TEXTOID},
	{"key", TEXTOID},
	{"task_id", UUIDOID},
	{"priority", INT4OID},
	{"run_after", TIMESTAMPTZOID},
	{"bucket", TEXTOID},
	{"expires", TIMESTAMPTZOID},
	{"context", JSONBOID},
	{"payload", BYTEAOID}
};

const Shape new_task_shape = SHAPE("new_task", new_task_columns);
