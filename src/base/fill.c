/*-------------------------------------------------------------------------
 *
 * fill.c
 *		Columns of a row that a statement fills.
 *
 * Compare slot_fill_defaults() of PostgreSQL's worker.c.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "executor/executor.h"
#include "executor/nodeModifyTable.h"
#include "nodes/makefuncs.h"
#include "parser/parse_coerce.h"
#include "rewrite/rewriteHandler.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "base/fill.h"

struct Fill
{
	ResultRelInfo *info;
	EState	   *estate;
	TupleDesc	desc;
	ExprState **defaults;		/* by column; NULL: it stays null */
};

/* A null that the domain may refuse. */
static Expr *
null_of_domain(Form_pg_attribute attribute)
{
	int32		typmod = attribute->atttypmod;
	Oid			base = getBaseTypeAndTypmod(attribute->atttypid, &typmod);
	Node	   *null = (Node *) makeConst(base, typmod, attribute->attcollation,
										  attribute->attlen, (Datum) 0, true, attribute->attbyval);

	return (Expr *) coerce_to_domain(null, base, typmod, attribute->atttypid, COERCION_IMPLICIT,
									 COERCE_IMPLICIT_CAST, -1, false);
}

static ExprState *
find_default(Relation whole, Form_pg_attribute attribute, EState *estate)
{
	AttrNumber	number = get_attnum(RelationGetRelid(whole), NameStr(attribute->attname));
	Expr	   *value = (Expr *) build_column_default(whole, number);

	if (value == NULL && get_typtype(attribute->atttypid) == TYPTYPE_DOMAIN)
		value = null_of_domain(attribute);
	return value == NULL ? NULL : ExecPrepareExpr(value, estate);
}

static bool
is_ours(const ShapeMap *map, AttrNumber number)
{
	for (int i = 0; i < SHAPE_MAX; i++)
		if (map->at[i] == number)
			return true;
	return false;
}

Fill *
fill_open(ResultRelInfo *info, EState *estate, Relation whole, const ShapeMap *map)
{
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	Fill	   *fill = palloc(sizeof(Fill));

	fill->info = info;
	fill->estate = estate;
	fill->desc = RelationGetDescr(info->ri_RelationDesc);
	fill->defaults = palloc0(fill->desc->natts * sizeof(ExprState *));
	for (int i = 0; i < fill->desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(fill->desc, i);

		if (!attribute->attisdropped && !attribute->attgenerated &&
			!is_ours(map, attribute->attnum))
			fill->defaults[i] = find_default(whole, attribute, estate);
	}
	MemoryContextSwitchTo(old);
	return fill;
}

static void
compute_and_check(Fill *fill, TupleTableSlot *row)
{
	/* Expressions may ask for it; the row has none until it is stored. */
	row->tts_tableOid = RelationGetRelid(fill->info->ri_RelationDesc);
	/* For an update the server would skip columns, by a list that we lack. */
	if (fill->desc->constr->has_generated_stored)
		ExecComputeStoredGenerated(fill->info, fill->estate, row, CMD_INSERT);
	ExecConstraints(fill->info, row, fill->estate);
}

void
fill_insert(Fill *fill, TupleTableSlot *row)
{
	ExprContext *context = GetPerTupleExprContext(fill->estate);

	ResetExprContext(context);
	for (int i = 0; i < fill->desc->natts; i++)
		if (fill->defaults[i] != NULL)
			row->tts_values[i] = ExecEvalExprSwitchContext(fill->defaults[i], context,
														   &row->tts_isnull[i]);
	compute_and_check(fill, row);
}

void
fill_update(Fill *fill, TupleTableSlot *row)
{
	ResetPerTupleExprContext(fill->estate);
	compute_and_check(fill, row);
}
