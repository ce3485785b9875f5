/*-------------------------------------------------------------------------
 *
 * constructors.c
 *		Values of our types that SQL makes.
 *
 *		from: sql/base/constructors.sql		to: shape.h
 *
 * A row in SQL that is cast to a type must have a column for each attribute, so
 * it fails once users add an attribute.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "catalog/pg_type.h"

#include "base/contract.h"
#include "base/new_task.h"
#include "base/rows.h"

static const ShapeColumn message_columns[] = {
	{"topic", TEXTOID},
	{"partition", INT4OID},
	{"offset", INT8OID},
	{"time", TIMESTAMPTZOID},
	{"key", BYTEAOID},
	{"value", BYTEAOID},
	{"headers", JSONBOID}
};

static const ShapeColumn change_columns[] = {
	{"result", TEXTOID},
	{"version", INT8OID},
	{"status", .own_type = "task_status"}
};

static const ShapeColumn late_columns[] = {
	{"id", UUIDOID},
	{"version", INT8OID},
	{"result", TEXTOID},
	{"message", TEXTOID},
	{"outcome", JSONBOID}
};

static const Shape message_shape = SHAPE("message", message_columns);
static const Shape change_shape = SHAPE("change_result", change_columns);
static const Shape late_shape = SHAPE("late_result", late_columns);

/* A value of that shape, of the arguments. */
#define CONSTRUCTOR(name, shape) \
	TWT_FUNCTION(name); \
	Datum \
	name(PG_FUNCTION_ARGS) \
	{ \
		return shape_form_args(&shape, fcinfo); \
	} \
	extern int	no_such_variable

CONSTRUCTOR(twt_new_task, new_task_shape);
CONSTRUCTOR(twt_message, message_shape);
CONSTRUCTOR(twt_task_input, input_shape);
CONSTRUCTOR(twt_change_result, change_shape);
CONSTRUCTOR(twt_late_result, late_shape);
