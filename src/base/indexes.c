/*-------------------------------------------------------------------------
 *
 * indexes.c
 *		What a session knows of a table that it writes: columns and indexes.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "access/genam.h"
#include "catalog/pg_am.h"
#include "catalog/pg_index.h"
#include "nodes/primnodes.h"
#include "utils/inval.h"
#include "utils/rel.h"

#include "base/indexes.h"
#include "base/path.h"

/*
 * The live table, the history, its part of this day, and around midnight its part of
 * yesterday.
 */
#define TABLES_MAX 6

static KnownTable tables[TABLES_MAX];
static int	next_place = 0;
static uint64 generation = 0;	/* grows with each change */

static bool
concerns(const KnownTable *table, Oid relation)
{
	if (!OidIsValid(relation) || relation == table->oid)
		return true;
	for (int i = 0; i < table->nindexes; i++)
		if (table->index[i].oid == relation)
			return true;
	return false;
}

static void
forget(Datum arg, Oid relation)
{
	generation++;
	for (int i = 0; i < TABLES_MAX; i++)
		if (concerns(&tables[i], relation))
			tables[i].oid = InvalidOid;
}

void
indexes_init(void)
{
	CacheRegisterRelcacheCallback(forget, (Datum) 0);
}

/* ---- what an index is like ---- */

static bool
is_column(const Node *node, AttrNumber *column)
{
	if (!IsA(node, Var))
		return false;
	*column = ((const Var *) node)->varattno;
	return *column > 0;
}

static bool
read_condition(List *predicate, KnownIndex *index)
{
	const Node *node;

	index->condition = INDEX_ALWAYS;
	if (predicate == NIL)
		return true;
	node = linitial(predicate);
	index->condition = INDEX_IF_TRUE;
	if (IsA(node, BoolExpr) && ((const BoolExpr *) node)->boolop == NOT_EXPR)
	{
		node = linitial(((const BoolExpr *) node)->args);
		index->condition = INDEX_IF_FALSE;
	}
	else if (IsA(node, NullTest) && ((const NullTest *) node)->nulltesttype == IS_NOT_NULL)
	{
		node = (const Node *) ((const NullTest *) node)->arg;
		index->condition = INDEX_IF_NOT_NULL;
	}
	return list_length(predicate) == 1 && is_column(node, &index->column);
}

static bool
is_simple(Relation index)
{
	Form_pg_index form = index->rd_index;

	if (index->rd_rel->relam != BTREE_AM_OID || !form->indisready)
		return false;
	for (int i = 0; i < form->indnatts; i++)
		if (form->indkey.values[i] <= 0)
			return false;
	return true;
}

/* Its second check would come at the end of a transaction of many tasks. */
static bool
is_refused(Relation index)
{
	return !index->rd_index->indimmediate || index->rd_index->indisexclusion;
}

static void
read_index(Oid oid, KnownTable *table)
{
	Relation	index = index_open(oid, RowExclusiveLock);
	KnownIndex	known = {.oid = oid};

	if (is_refused(index))
		table->refused = oid;
	if (table->nindexes == INDEXES_MAX || !is_simple(index) ||
		!read_condition(RelationGetIndexPredicate(index), &known))
		table->needs_executor = true;
	else
		table->index[table->nindexes++] = known;
	index_close(index, NoLock);
}

static void
read_table(Relation relation, const Shape *shape, KnownTable *table)
{
	List	   *oids = RelationGetIndexList(relation);
	ListCell   *cell;

	memset(table, 0, sizeof(*table));
	shape_map(shape, RelationGetDescr(relation), &table->map);
	foreach(cell, oids)
		read_index(lfirst_oid(cell), table);
	list_free(oids);
}

/*
 * Keeps what it read, unless a change arrived meanwhile.  Reading an index may
 * execute immutable functions of its condition.
 */
static void
learn(Relation relation, const Shape *shape, KnownTable *table)
{
	uint64		before;
	int			pinned;

	pinned = path_pin();
	do
	{
		before = generation;
		read_table(relation, shape, table);
	} while (generation != before);
	path_unpin(pinned);
	table->oid = RelationGetRelid(relation);
	tables[next_place] = *table;
	next_place = (next_place + 1) % TABLES_MAX;
}

void
known_table(Relation relation, const Shape *shape, KnownTable *known)
{
	Oid			oid = RelationGetRelid(relation);

	for (int i = 0; i < TABLES_MAX; i++)
		if (tables[i].oid == oid)
		{
			*known = tables[i];
			return;
		}
	learn(relation, shape, known);
}

/* ---- writing ---- */

bool
index_wants(const KnownIndex *index, TupleTableSlot *row)
{
	Datum		value;
	bool		isnull;

	if (index->condition == INDEX_ALWAYS)
		return true;
	value = slot_getattr(row, index->column, &isnull);
	if (isnull)
		return false;
	return index->condition == INDEX_IF_NOT_NULL ||
		DatumGetBool(value) == (index->condition == INDEX_IF_TRUE);
}

/* A B-tree does not look at the index's info, which PostgreSQL's toast leaves out too. */
void
index_write(Relation index, Relation table, TupleTableSlot *row)
{
	Form_pg_index form = index->rd_index;
	Datum		values[INDEX_MAX_KEYS];
	bool		nulls[INDEX_MAX_KEYS];

	for (int i = 0; i < form->indnatts; i++)
		values[i] = slot_getattr(row, form->indkey.values[i], &nulls[i]);
	index_insert(index, values, nulls, &row->tts_tid, table,
				 form->indisunique ? UNIQUE_CHECK_YES : UNIQUE_CHECK_NO, false, NULL);
}
