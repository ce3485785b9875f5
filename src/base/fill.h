/*-------------------------------------------------------------------------
 *
 * fill.h
 *		Columns of a row that a statement fills.
 *
 *		from: target.c
 *
 * INSERT without a value for a column stores its default, the next value of its
 * identity, or null where its domain allows null.  INSERT and UPDATE compute
 * generated columns, and refuse null in a column that is NOT NULL.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_FILL_H
#define TWT_FILL_H

#include "nodes/execnodes.h"

#include "base/shape.h"

typedef struct Fill Fill;

/* The whole gives the defaults, as in an INSERT into it. */
extern Fill *fill_open(ResultRelInfo *info, EState *estate, Relation whole, const ShapeMap *map);

/*
 * Fills a virtual row.  Our columns have their values, and what the row points
 * to is valid until the next call.
 *
 * Errors: 23502, and errors of users' expressions
 */
extern void fill_insert(Fill *fill, TupleTableSlot *row);
extern void fill_update(Fill *fill, TupleTableSlot *row);

#endif							/* TWT_FILL_H */
