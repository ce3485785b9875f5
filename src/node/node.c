/*-------------------------------------------------------------------------
 *
 * node.c
 *		A node's life is tied to a session, whose end wakes sidecars.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "storage/ipc.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/contract.h"
#include "base/rows.h"
#include "node/locks.h"
#include "node/node.h"
#include "queue/queue.h"

/* Columns of twtasks.node, as schema.sql declares them. */
#define NODE_NAME 2
#define NODE_MISSING_SINCE 6
#define NODE_ENDED 7

static const ShapeColumn node_columns[] = {
	{"incarnation", INT8OID},
	{"name", TEXTOID},
	{"started", TIMESTAMPTZOID},
	{"heartbeat", TIMESTAMPTZOID},
	{"lease", INTERVALOID},
	{"missing_since", TIMESTAMPTZOID},
	{"ended", TIMESTAMPTZOID}
};

static const Shape node_shape = SHAPE_BY_NUMBER("node", node_columns);

static bool is_registered = false;

bool
node_is_session(void)
{
	return is_registered;
}

static void
on_session_end(int code, Datum arg)
{
	queue_node_ended();
}

TWT_FUNCTION(twt_watch_session);
Datum
twt_watch_session(PG_FUNCTION_ARGS)
{
	/*
	 * on_shmem_exit callbacks run after the locks were released, so a session
	 * that they wake finds the lock free.
	 */
	if (!is_registered)
		on_shmem_exit(on_session_end, 0);
	is_registered = true;
	PG_RETURN_VOID();
}

typedef struct LivingNode
{
	bool		is_missing;		/* its session, as a look has found */
	bool		is_own;			/* this transaction has made its row */
} LivingNode;

/* Finds a node that has not ended.  If found, name (unless NULL) gets its name. */
static bool
find_living(Datum incarnation, Snapshot snapshot, Datum *name, LivingNode *node)
{
	Relation	table = table_open(rows_relation("node"), AccessShareLock);
	TupleDesc	desc = RelationGetDescr(table);
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple	tuple;
	bool		lives;
	bool		isnull;

	shape_check(&node_shape, table);
	RelationGetIndexList(table);
	ScanKeyInit(&key, 1, BTEqualStrategyNumber, F_INT8EQ, incarnation);
	scan = systable_beginscan(table, table->rd_pkindex, true, snapshot, 1, &key);
	tuple = systable_getnext(scan);
	lives = HeapTupleIsValid(tuple) && heap_attisnull(tuple, NODE_ENDED, desc);
	if (lives)
	{
		node->is_missing = !heap_attisnull(tuple, NODE_MISSING_SINCE, desc);
		node->is_own = TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple->t_data));
	}
	if (lives && name != NULL)
		*name = datumCopy(heap_getattr(tuple, NODE_NAME, desc, &isnull), false, -1);
	systable_endscan(scan);
	table_close(table, AccessShareLock);
	return lives;
}

bool
node_lives(Datum incarnation, Datum *name)
{
	LivingNode	node;

	return find_living(incarnation, GetActiveSnapshot(), name, &node);
}

/*
 * A look for gone nodes holds the lock, shared, from when it finds the session
 * missing until it has committed that.  So if a session has the lock now, a
 * later snapshot shows what each earlier look has found.  Nobody else sees a
 * node that this transaction has made.
 */
bool
node_may_grab(Datum incarnation, Datum *name)
{
	bool		is_held = locks_held(LOCKS_NODE(DatumGetInt64(incarnation)));
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	LivingNode	node;
	bool		lives = find_living(incarnation, snapshot, name, &node);

	UnregisterSnapshot(snapshot);
	return lives && (node.is_own || (is_held && !node.is_missing));
}
