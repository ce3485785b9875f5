/*-------------------------------------------------------------------------
 *
 * shape.c
 *		The columns of our tables and types, as they really are.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "nodes/execnodes.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"
#include "utils/typcache.h"

#include "base/shape.h"

Oid
shape_type(const char *name)
{
	return GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum(name),
						   ObjectIdGetDatum(get_namespace_oid("twtasks", false)));
}

static Oid
type_of(const ShapeColumn *column)
{
	return OidIsValid(column->type) ? column->type : shape_type(column->own_type);
}

static bool
is_column(const ShapeColumn *column, TupleDesc desc, int i)
{
	Form_pg_attribute attribute = TupleDescAttr(desc, i);

	return !attribute->attisdropped && strcmp(NameStr(attribute->attname), column->name) == 0;
}

static void
refuse(const Shape *shape, const ShapeColumn *column, const char *problem)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("column \"%s\" of \"twtasks.%s\" %s", column->name, shape->name, problem),
			 errdetail("twtasks needs a column \"%s\" of type %s.", column->name,
					   format_type_be(type_of(column))),
			 errhint("Restore the column. If the library is newer than the extension, run ALTER EXTENSION twtasks UPDATE.")));
}

/*
 * The number of our column i, which mostly stands where it was declared; 0 if it
 * may lack.
 */
static AttrNumber
find_column(const Shape *shape, TupleDesc desc, int i)
{
	const ShapeColumn *column = &shape->columns[i];
	int			at = i;

	if (at >= desc->natts || !is_column(column, desc, at))
		for (at = 0; at < desc->natts; at++)
			if (is_column(column, desc, at))
				break;
	if (at == desc->natts && column->may_lack)
		return InvalidAttrNumber;
	if (at == desc->natts)
		refuse(shape, column, "does not exist");
	if (TupleDescAttr(desc, at)->atttypid != type_of(column) ||
		TupleDescAttr(desc, at)->atttypmod != -1)
		refuse(shape, column, "has another type");
	if (shape->by_number && at != i)
		refuse(shape, column, "is not at its place");
	return at + 1;
}

/* Our column at a place; NULL: it is foreign. */
static const ShapeColumn *
column_at(const Shape *shape, const ShapeMap *map, AttrNumber number)
{
	for (int i = 0; i < shape->n; i++)
		if (map->at[i] == number)
			return &shape->columns[i];
	return NULL;
}

/* Whether a new row may be stored without a look at this column. */
static bool
is_plain(const Shape *shape, const ShapeMap *map, Form_pg_attribute attribute)
{
	const ShapeColumn *ours = column_at(shape, map, attribute->attnum);

	if (attribute->attgenerated)
		return false;
	if (ours != NULL)
		return !attribute->attnotnull || !ours->is_optional;
	return !attribute->attnotnull && !attribute->atthasdef && !attribute->attidentity &&
		get_typtype(attribute->atttypid) != TYPTYPE_DOMAIN;
}

void
shape_map(const Shape *shape, TupleDesc desc, ShapeMap *map)
{
	for (int i = 0; i < shape->n; i++)
		map->at[i] = find_column(shape, desc, i);
	map->is_plain = true;
	for (int i = 0; i < desc->natts; i++)
		if (!TupleDescAttr(desc, i)->attisdropped)
			map->is_plain &= is_plain(shape, map, TupleDescAttr(desc, i));
}

void
shape_check(const Shape *shape, Relation relation)
{
	for (int i = 0; i < shape->n; i++)
		(void) find_column(shape, RelationGetDescr(relation), i);
}

/* ---- values of types ---- */

static HeapTuple
form(const Shape *shape, TupleDesc desc, const Datum *values, const bool *nulls)
{
	Datum	   *to = palloc0(desc->natts * sizeof(Datum));
	bool	   *to_nulls = palloc(desc->natts * sizeof(bool));
	HeapTuple	tuple;

	memset(to_nulls, true, desc->natts * sizeof(bool));
	for (int i = 0; i < shape->n; i++)
	{
		int			at = find_column(shape, desc, i) - 1;

		if (at < 0)
			continue;
		to[at] = values[i];
		to_nulls[at] = nulls[i];
	}
	tuple = heap_form_tuple(desc, to, to_nulls);
	pfree(to);
	pfree(to_nulls);
	return tuple;
}

Datum
shape_form(const Shape *shape, const Datum *values, const bool *nulls)
{
	return shape_form_as(shape, shape_type(shape->name), values, nulls);
}

Datum
shape_form_as(const Shape *shape, Oid type, const Datum *values, const bool *nulls)
{
	TupleDesc	desc = lookup_rowtype_tupdesc(type, -1);
	Datum		value = HeapTupleGetDatum(form(shape, desc, values, nulls));

	ReleaseTupleDesc(desc);
	return value;
}

Datum
shape_form_args(const Shape *shape, FunctionCallInfo fcinfo)
{
	Datum		values[SHAPE_MAX];
	bool		nulls[SHAPE_MAX];

	for (int i = 0; i < shape->n; i++)
	{
		values[i] = PG_GETARG_DATUM(i);
		nulls[i] = PG_ARGISNULL(i);
	}
	return shape_form_as(shape, get_func_rettype(fcinfo->flinfo->fn_oid), values, nulls);
}

void
shape_put(const Shape *shape, FunctionCallInfo fcinfo, const Datum *values, const bool *nulls)
{
	ReturnSetInfo *results = (ReturnSetInfo *) fcinfo->resultinfo;
	HeapTuple	tuple = form(shape, results->setDesc, values, nulls);

	tuplestore_puttuple(results->setResult, tuple);
	heap_freetuple(tuple);
}

void
shape_deform(const Shape *shape, HeapTupleHeader row, Datum *values, bool *nulls)
{
	TupleDesc	desc = lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(row),
											  HeapTupleHeaderGetTypMod(row));
	HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(row), .t_data = row};
	Datum	   *from = palloc(desc->natts * sizeof(Datum));
	bool	   *from_nulls = palloc(desc->natts * sizeof(bool));

	ItemPointerSetInvalid(&tuple.t_self);
	heap_deform_tuple(&tuple, desc, from, from_nulls);
	for (int i = 0; i < shape->n; i++)
	{
		int			at = find_column(shape, desc, i) - 1;

		values[i] = at < 0 ? (Datum) 0 : from[at];
		nulls[i] = at < 0 || from_nulls[at];
	}
	pfree(from);
	pfree(from_nulls);
	ReleaseTupleDesc(desc);
}
