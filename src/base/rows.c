/*-------------------------------------------------------------------------
 *
 * rows.c
 *		Rows of twtasks.task, found and changed without a statement.
 *
 * We do what an executor node for UPDATE or DELETE does between the index and
 * the heap, and no more; compare
 * PostgreSQL's nodeModifyTable.c.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_enum.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "base/rows.h"
#include "base/target.h"
#include "base/vacated.h"

static const ShapeColumn task_columns[TASK_COLUMNS] = {
	{"id", UUIDOID},
	{"version", INT8OID},
	{"next_event_time", TIMESTAMPTZOID},
	{"state_time", TIMESTAMPTZOID},
	{"created", TIMESTAMPTZOID},
	{"status", .own_type = "task_status"},
	{"stuck", .own_type = "stuck_rule"},
	{"tries", INT4OID},
	{"size", INT4OID},
	{"priority", INT2OID},
	{"queued", BOOLOID},
	{"type", TEXTOID},
	{"bucket", TEXTOID},
	{"deadline", TIMESTAMPTZOID, .is_optional = true},
	{"expires", TIMESTAMPTZOID, .is_optional = true},
	{"incarnation", INT8OID, .is_optional = true},
	{"token", INT8OID, .is_optional = true},
	{"sub_type", TEXTOID, .is_optional = true},
	{"key", TEXTOID, .is_optional = true},
	{"error", TEXTOID, .is_optional = true},
	{"data", JSONBOID, .is_optional = true},
	{"payload", BYTEAOID, .is_optional = true},
	{"context", JSONBOID, .is_optional = true},
	{"planned", TIMESTAMPTZOID, .is_optional = true},
	{"added_by", TEXTOID, .is_optional = true}
};

const Shape task_shape = SHAPE_BY_NUMBER("task", task_columns);

static const ShapeColumn input_columns[INPUT_COLUMNS] = {
	{"id", UUIDOID},
	{"version", INT8OID},
	{"type", TEXTOID},
	{"sub_type", TEXTOID},
	{"bucket", TEXTOID},
	{"priority", INT2OID},
	{"tries", INT4OID},
	{"grabbed", TIMESTAMPTZOID},
	{"data", JSONBOID},
	{"payload", BYTEAOID},
	{"context", JSONBOID},
	{"key", TEXTOID}
};

const Shape input_shape = SHAPE("task_input", input_columns);

struct Rows
{
	Relation	table;
	Relation	key;			/* its primary key */
	IndexScanDesc scan;
	BlockNumber blocks;			/* length of the table; 0: not asked yet */
	TupleTableSlot *found;
	TupleTableSlot *edited;
	Target	   *target;
};

Oid
rows_relation(const char *name)
{
	Oid			oid = get_relname_relid(name, get_namespace_oid("twtasks", false));

	if (!OidIsValid(oid))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation \"twtasks.%s\" does not exist", name)));
	return oid;
}

Oid
rows_label(const char *type, const char *label)
{
	Oid			oid = GetSysCacheOid2(ENUMTYPOIDNAME, Anum_pg_enum_oid,
									  ObjectIdGetDatum(shape_type(type)),
									  CStringGetDatum(label));

	if (!OidIsValid(oid))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("\"%s\" is not a label of type twtasks.%s", label, type)));
	return oid;
}

static Rows *
open_table(LOCKMODE mode)
{
	Rows	   *rows = palloc0(sizeof(Rows));

	CommandCounterIncrement();
	PushActiveSnapshot(GetTransactionSnapshot());
	rows->table = table_open(rows_relation("task"), mode);
	rows->found = table_slot_create(rows->table, NULL);
	return rows;
}

Rows *
rows_open_to_read(void)
{
	Rows	   *rows = open_table(AccessShareLock);

	shape_check(&task_shape, rows->table);
	return rows;
}

Rows *
rows_open(void)
{
	Rows	   *rows = open_table(RowExclusiveLock);

	rows->target = target_open(rows->table, NULL, &task_shape);
	rows->edited = MakeSingleTupleTableSlot(RelationGetDescr(rows->table),
											&TTSOpsVirtual);
	return rows;
}

void
rows_close(Rows *rows)
{
	if (rows->target != NULL)
	{
		target_close(rows->target);
		ExecDropSingleTupleTableSlot(rows->edited);
		vacated_offer(rows->table);
	}
	ExecDropSingleTupleTableSlot(rows->found);
	if (rows->scan != NULL)
		index_endscan(rows->scan);
	if (rows->key != NULL)
		index_close(rows->key, NoLock);
	table_close(rows->table, NoLock);
	PopActiveSnapshot();
	pfree(rows);
}

static void
begin_scan(Rows *rows)
{
	Oid			key;

	RelationGetIndexList(rows->table);
	key = rows->table->rd_pkindex;
	if (!OidIsValid(key))
		elog(ERROR, "table \"%s\" has no primary key",
			 RelationGetRelationName(rows->table));
	rows->key = index_open(key, AccessShareLock);
	rows->scan = twt_index_beginscan(rows->table, rows->key, GetActiveSnapshot(), 1);
}

TupleTableSlot *
rows_find(Rows *rows, const pg_uuid_t *id)
{
	ScanKeyData key;

	if (rows->scan == NULL)
		begin_scan(rows);
	ScanKeyInit(&key, 1, BTEqualStrategyNumber, F_UUID_EQ, UUIDPGetDatum(id));
	index_rescan(rows->scan, &key, 1, NULL, 0);
	if (!index_getnext_slot(rows->scan, ForwardScanDirection, rows->found))
		return NULL;
	slot_getallattrs(rows->found);
	return rows->found;
}

/* A rewritten table may end before the place, which then cannot be read. */
static bool
is_place(Rows *rows, const ItemPointerData * at)
{
	if (at == NULL || !ItemPointerIsValid(at))
		return false;
	if (rows->blocks == 0)
		rows->blocks = RelationGetNumberOfBlocks(rows->table);
	return ItemPointerGetBlockNumber(at) < rows->blocks;
}

TupleTableSlot *
rows_find_at(Rows *rows, const pg_uuid_t *id, const ItemPointerData * at)
{
	if (!is_place(rows, at) ||
		!table_tuple_fetch_row_version(rows->table, unconstify(ItemPointerData *, at), GetActiveSnapshot(),
									   rows->found))
		return rows_find(rows, id);
	slot_getallattrs(rows->found);
	if (memcmp(DatumGetUUIDP(row_value(rows->found, TASK_ID)), id, UUID_LEN) != 0)
		return rows_find(rows, id);
	return rows->found;
}

void
row_input(TupleTableSlot *row, Datum *values, bool *nulls)
{
	static const TaskColumn columns[INPUT_COLUMNS] = {
		TASK_ID, TASK_VERSION, TASK_TYPE, TASK_SUB_TYPE, TASK_BUCKET, TASK_PRIORITY,
		TASK_TRIES, TASK_STATE_TIME, TASK_DATA, TASK_PAYLOAD, TASK_CONTEXT,
		TASK_KEY
	};

	for (int i = 0; i < INPUT_COLUMNS; i++)
	{
		values[i] = row_value(row, columns[i]);
		nulls[i] = row_null(row, columns[i]);
	}
}

bool
row_is_outdated(TupleTableSlot *row)
{
	HeapTupleHeader header = ExecFetchSlotHeapTuple(row, false, NULL)->t_data;

	return !(header->t_infomask & HEAP_XMAX_INVALID) &&
		!HEAP_XMAX_IS_LOCKED_ONLY(header->t_infomask) &&
		TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetUpdateXid(header));
}

TupleTableSlot *
rows_edit(Rows *rows, TupleTableSlot *row)
{
	int			n = row->tts_tupleDescriptor->natts;

	ExecClearTuple(rows->edited);
	memcpy(rows->edited->tts_values, row->tts_values, n * sizeof(Datum));
	memcpy(rows->edited->tts_isnull, row->tts_isnull, n * sizeof(bool));
	ExecStoreVirtualTuple(rows->edited);
	return rows->edited;
}

static void
refuse_stale_snapshot(void)
{
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to concurrent update")));
}

/*
 * An update that does not wait is part of the interface of table access
 * methods, and heap_update() returns TM_BeingModified as that says.  A server
 * with assertions refuses it all the same: nothing in PostgreSQL asks for it.
 * There the row is locked first, by a lock that does not wait either.  Other
 * servers are spared that lock, which is a WAL record per task.
 */
static bool
must_lock(void)
{
	static int	asserts = -1;

	if (asserts < 0)
		asserts = strcmp(GetConfigOption("debug_assertions", false, false), "on") == 0;
	return asserts > 0;
}

/* A second slot keeps what the edited row points to. */
static TM_Result
lock_row(Rows *rows, TupleTableSlot *row, TM_FailureData *failure)
{
	TupleTableSlot *locked = table_slot_create(rows->table, NULL);
	ItemPointerData at = row->tts_tid;
	TM_Result	result = table_tuple_lock(rows->table, &at, GetActiveSnapshot(), locked,
										  GetCurrentCommandId(true), LockTupleExclusive,
										  LockWaitSkip, 0, failure);

	ExecDropSingleTupleTableSlot(locked);
	return result;
}

static TM_Result
try_update(Rows *rows, TupleTableSlot *row, bool wait, TM_FailureData *failure)
{
	LockTupleMode mode;
	TwtUpdateIndexes indexes;
	TM_Result	result;

	if (!wait && must_lock())
	{
		result = lock_row(rows, row, failure);
		if (result != TM_Ok)
			return result;
		wait = true;
	}
	result = table_tuple_update(rows->table, &row->tts_tid, rows->edited,
								GetCurrentCommandId(true), GetActiveSnapshot(),
								InvalidSnapshot, wait, failure, &mode, &indexes);
	/* While the page has room, the update is HOT and needs no index entries. */
	if (result == TM_Ok)
		target_updated(rows->target, &row->tts_tid, rows->edited,
					   twt_update_indexes(indexes), twt_only_summarizing(indexes));
	return result;
}

bool
rows_update(Rows *rows, TupleTableSlot *row)
{
	TM_FailureData failure;
	TM_Result	result;

	target_will_update(rows->target, rows->edited);
	result = try_update(rows, row, false, &failure);
	/* Our own locks, also of subtransactions, are no reason to wait. */
	if (result == TM_BeingModified && lock_row(rows, row, &failure) == TM_Ok)
		result = try_update(rows, row, true, &failure);
	if (result == TM_Updated || result == TM_Deleted)
		refuse_stale_snapshot();
	return result == TM_Ok;
}

bool
rows_update_locked(Rows *rows, TupleTableSlot *row)
{
	TM_FailureData failure;

	target_will_update(rows->target, rows->edited);
	return try_update(rows, row, true, &failure) == TM_Ok;
}

bool
rows_lock(Rows *rows, TupleTableSlot *row)
{
	int			flags = IsolationUsesXactSnapshot() ? 0 : TUPLE_LOCK_FLAG_FIND_LAST_VERSION;
	ItemPointerData at = row->tts_tid;
	TM_FailureData failure;
	TM_Result	result = table_tuple_lock(rows->table, &at, GetActiveSnapshot(), row,
										  GetCurrentCommandId(false), LockTupleExclusive,
										  LockWaitBlock, flags, &failure);

	if (result == TM_Updated || result == TM_Deleted)
		refuse_stale_snapshot();
	if (result == TM_Ok)
		slot_getallattrs(row);
	return result == TM_Ok;
}

RowResult
rows_delete(Rows *rows, TupleTableSlot *row)
{
	TM_FailureData failure;

	target_will_delete(rows->target);
	switch (table_tuple_delete(rows->table, &row->tts_tid,
							   GetCurrentCommandId(true), GetActiveSnapshot(),
							   InvalidSnapshot, true, &failure, false))
	{
		case TM_Ok:
			target_deleted(rows->target, &row->tts_tid);
			vacated_note(rows->table, row);
			return ROW_OK;
		case TM_Updated:
			refuse_stale_snapshot();
			return rows_lock(rows, row) ? ROW_CHANGED : ROW_GONE;
		case TM_Deleted:
			refuse_stale_snapshot();
			return ROW_GONE;
		default:
			return ROW_GONE;
	}
}
