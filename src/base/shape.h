/*-------------------------------------------------------------------------
 *
 * shape.h
 *		The columns of our tables and types, as they really are.
 *
 *		from: rows.c, indexes.c, table_cache.c, and the owners of the types
 *
 * Users add columns to our tables and attributes to our types, and a library
 * may be newer than the SQL of the database.  So no code counts on the columns
 * of a declaration: a shape names the columns that we know, and everything else
 * in a relation or type is foreign.
 *
 * A foreign column of a new row gets the value that INSERT would give it: see
 * fill.h.  A foreign attribute of a value that we make is null.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_SHAPE_H
#define TWT_SHAPE_H

#include "access/htup.h"
#include "access/tupdesc.h"
#include "fmgr.h"
#include "utils/relcache.h"

/* The most columns of a shape. */
#define SHAPE_MAX 32

typedef struct ShapeColumn
{
	const char *name;
	Oid			type;			/* InvalidOid: a type of schema twtasks */
	const char *own_type;		/* ... with this name */
	bool		is_optional;	/* a new row may have no value */
	bool		may_lack;		/* SQL of an older version lacks it */
} ShapeColumn;

typedef struct Shape
{
	const char *name;			/* the table or type, in schema twtasks */
	int			n;
	const ShapeColumn *columns;
	bool		by_number;		/* column i must be column number i + 1 */
} Shape;

#define SHAPE(its_name, its_columns) \
	{.name = its_name, .n = lengthof(its_columns), .columns = its_columns}

#define SHAPE_BY_NUMBER(its_name, its_columns) \
	{.name = its_name, .n = lengthof(its_columns), .columns = its_columns, .by_number = true}

typedef struct ShapeMap
{
	AttrNumber	at[SHAPE_MAX];	/* the number of each column; 0: it lacks */
	bool		is_plain;		/* a new row needs only our columns */
} ShapeMap;

/* A type of schema twtasks; InvalidOid: none. */
extern Oid	shape_type(const char *name);

/*
 * Finds our columns in a table.
 *
 * Errors: 42804, with the name of the column, if one is missing, has another
 * type, or stands elsewhere in a table that is read by number.
 */
extern void shape_map(const Shape *shape, TupleDesc desc, ShapeMap *map);

/* The same check for a table that is only read, by number. */
extern void shape_check(const Shape *shape, Relation relation);

/*
 * Makes a value of a type of ours; the arrays are in the shape's order.
 * shape_form_as() is for a caller that knows the type's oid.
 */
extern Datum shape_form(const Shape *shape, const Datum *values, const bool *nulls);
extern Datum shape_form_as(const Shape *shape, Oid type, const Datum *values, const bool *nulls);

/*
 * The same of the arguments, in the shape's order, of a function that returns the
 * type.
 */
extern Datum shape_form_args(const Shape *shape, FunctionCallInfo fcinfo);

/* Puts such a value into the result of a function that returns a set of them. */
extern void shape_put(const Shape *shape, FunctionCallInfo fcinfo, const Datum *values,
					  const bool *nulls);

/* Reads a value of a type of ours; the values point into the row. */
extern void shape_deform(const Shape *shape, HeapTupleHeader row, Datum *values, bool *nulls);

#endif							/* TWT_SHAPE_H */
