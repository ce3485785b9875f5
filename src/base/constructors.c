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

TWT_FUNCTION(twt_new_task);
Datum
twt_new_task(PG_FUNCTION_ARGS)
{
	return shape_form_args(&new_task_shape, fcinfo);
}

TWT_FUNCTION(twt_message);
Datum
twt_message(PG_FUNCTION_ARGS)
{
	return shape_form_args(&message_shape, fcinfo);
}

TWT_FUNCTION(twt_task_input);
Datum
twt_task_input(PG_FUNCTION_ARGS)
{
	return shape_form_args(&input_shape, fcinfo);
}

TWT_FUNCTION(twt_change_result);
Datum
twt_change_result(PG_FUNCTION_ARGS)
{
	return shape_form_args(&change_shape, fcinfo);
}

TWT_FUNCTION(twt_late_result);
Datum
twt_late_result(PG_FUNCTION_ARGS)
{
	return shape_form_args(&late_shape, fcinfo);
}
