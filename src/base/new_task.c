/*-------------------------------------------------------------------------
 *
 * new_task.c
 *		A task that is about to be added.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "catalog/pg_type.h"

#include "utils/builtins.h"

#include "base/new_task.h"
#include "base/shown.h"

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

KeyRule
key_rule_of(Datum name)
{
	static const char *const names[] = {
		[KEY_KEPT] = "kept",[KEY_LIVE] = "live",[KEY_REPLACE] = "replace",
		[KEY_REPLACE_DATA] = "replace_data"
	};
	char	   *given = TextDatumGetCString(name);

	for (size_t i = 0; i < lengthof(names); i++)
		if (strcmp(given, names[i]) == 0)
			return i;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unrecognized key_rule: \"%s\"", shown_value(given)),
			 errhint("Rules are kept, live, replace and replace_data.")));
}
