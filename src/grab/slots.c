/*-------------------------------------------------------------------------
 *
 * slots.c
 *		Slots that count in the whole cluster: which grabs they allow.
 *
 * A limit is never exceeded, because a grab changes the rows of its tasks and
 * the rows of slot_use in one transaction.  A session that sees a row of
 * slot_use also sees its tasks PROCESSING, or how they ended since.  We read
 * and lock the row as one snapshot shows it: we name it by its epoch, which
 * every change raises.  A later snapshot shows the tasks.  A task that has
 * ended by then never comes back with that version.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/plan.h"
#include "base/rows.h"
#include "grab/limit_rules.h"
#include "grab/slots.h"
#include "node/clock.h"
#include "node/locks.h"
#include "node/node.h"

/* Delay while another grab, which commits soon, uses the limit. */
#define BUSY_MS 2

/* A grab that holds a slot, or has held one. */
typedef struct Holder
{
	pg_uuid_t	id;
	int64		version;
	int64		incarnation;
} Holder;

/* The state of a limit, by its name. */
typedef struct Use
{
	char		name[LIMIT_NAME_MAX + 1];
	const LimitRule *rule;
	bool		is_busy;
	bool		is_verified;	/* every holder was seen to hold its slot */
	bool		is_changed;
	bool		is_wanted;		/* a limit refused a task for want of a slot */
	int64		epoch;
	TimestampTz now;			/* read under the row's lock */
	Holder	   *holders;
	int			nholders;
	int			room;			/* for holders */
	ArrayType  *waiting;
	double		tokens;
} Use;

/* Columns of PLAN_LOCK_SLOTS. */
enum
{
	SLOTS_EPOCH = 1,
	SLOTS_USED_AT,
	SLOTS_IDS,
	SLOTS_VERSIONS,
	SLOTS_INCARNATIONS,
	SLOTS_WAITING,
	SLOTS_TOKENS
};

struct Slots
{
	MemoryContext context;
	int64		incarnation;
	HTAB	   *uses;			/* Uses, by name */
	const LimitCover *covers;	/* the last task's */
	int			ncovers;
	bool		took_slots;
	int64		alive;			/* an incarnation known to live */
};

Slots *
slots_open(int64 incarnation)
{
	HASHCTL		control = {
		.keysize = LIMIT_NAME_MAX + 1,
		.entrysize = sizeof(Use)
	};
	Slots	   *slots;

	if (likely(!limit_rules_any()))
		return NULL;
	slots = palloc0(sizeof(Slots));
	slots->context = CurrentMemoryContext;
	slots->incarnation = slots->alive = incarnation;
	control.hcxt = CurrentMemoryContext;
	slots->uses = hash_create("limits of a grab", 16, &control,
							  HASH_ELEM | HASH_STRINGS | HASH_CONTEXT);
	return slots;
}

/*
 * Executes a statement that finds its rows by their keys, however small the
 * tables were when it was planned.
 */
static uint64
execute_by_key(PlanId plan, Datum *values, const char *nulls)
{
	int			nest = NewGUCNestLevel();
	uint64		count;

	(void) set_config_option("enable_seqscan", "off", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	count = plan_execute(plan, values, nulls);
	AtEOXact_GUC(true, nest);
	return count;
}

/* ---- reading ---- */

static Datum
column(int number, bool *isnull)
{
	return SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, number, isnull);
}

static Datum *
array_column(int number, Oid type, int *n)
{
	bool		isnull;
	Datum	   *values;
	ArrayType  *array = DatumGetArrayTypeP(column(number, &isnull));

	if (type == UUIDOID)
		deconstruct_array(array, type, UUID_LEN, false, TYPALIGN_CHAR, &values, NULL, n);
	else
		deconstruct_array(array, type, 8, FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, &values, NULL, n);
	return values;
}

static void
read_holders(Slots *slots, Use *use)
{
	int			n;
	Datum	   *ids = array_column(SLOTS_IDS, UUIDOID, &n);
	Datum	   *versions = array_column(SLOTS_VERSIONS, INT8OID, &n);
	Datum	   *incarnations = array_column(SLOTS_INCARNATIONS, INT8OID, &n);

	use->room = n + 16;
	use->nholders = n;
	use->holders = MemoryContextAlloc(slots->context, use->room * sizeof(Holder));
	for (int i = 0; i < n; i++)
	{
		use->holders[i].id = *DatumGetUUIDP(ids[i]);
		use->holders[i].version = DatumGetInt64(versions[i]);
		use->holders[i].incarnation = DatumGetInt64(incarnations[i]);
	}
}

/* A clock that went back adds no tokens and takes none. */
static double
tokens_now(const Use *use, double tokens, TimestampTz since)
{
	const LimitRule *rule = use->rule;

	if (use->now > since)
		tokens += (double) (use->now - since) * rule->rate / rule->per_us;
	return Min(tokens, rule->burst);
}

static void
read_use(Slots *slots, Use *use)
{
	bool		isnull;
	Datum		value;
	MemoryContext old;

	/* A time taken before the lock could be earlier than used_at. */
	use->now = twt_now();
	use->epoch = DatumGetInt64(column(SLOTS_EPOCH, &isnull));
	read_holders(slots, use);
	old = MemoryContextSwitchTo(slots->context);
	use->waiting = DatumGetArrayTypePCopy(column(SLOTS_WAITING, &isnull));
	MemoryContextSwitchTo(old);
	if (use->rule->rate == 0)
		return;
	value = column(SLOTS_TOKENS, &isnull);
	use->tokens = isnull ? use->rule->burst :
		tokens_now(use, DatumGetFloat8(value),
				   DatumGetTimestampTz(column(SLOTS_USED_AT, &isnull)));
}

/* False: the row is missing or locked, or another session just changed it. */
static bool
lock_use(Slots *slots, Use *use)
{
	Datum		values[1] = {CStringGetTextDatum(use->name)};

	if (execute_by_key(PLAN_LOCK_SLOTS, values, NULL) == 0)
		return false;
	read_use(slots, use);
	return true;
}

static bool
is_made(const Use *use)
{
	Datum		values[1] = {CStringGetTextDatum(use->name)};

	return execute_by_key(PLAN_FIND_SLOTS, values, NULL) > 0;
}

/*
 * Does not wait: a session that does not get the lock leaves the work to its
 * holder.
 */
static bool
make_use(const Use *use)
{
	Datum		values[1] = {CStringGetTextDatum(use->name)};

	if (!locks_try(LOCKS_SLOTS, ExclusiveLock))
		return false;
	(void) execute_by_key(PLAN_MAKE_SLOTS, values, NULL);
	return true;
}

static void
load_use(Slots *slots, Use *use)
{
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "could not connect to SPI");
	use->is_busy = !lock_use(slots, use) &&
		(is_made(use) || !make_use(use) || !lock_use(slots, use));
	SPI_finish();
}

static Use *
find_use(Slots *slots, const LimitCover *cover)
{
	bool		found;
	Use		   *use = hash_search(slots->uses, cover->key + 1, HASH_ENTER, &found);

	if (found)
		return use;
	memset((char *) use + sizeof(use->name), 0, sizeof(Use) - sizeof(use->name));
	use->rule = cover->rule;
	load_use(slots, use);
	return use;
}

/* ---- counting ---- */

static bool
lives(Slots *slots, int64 incarnation)
{
	if (incarnation == slots->alive)
		return true;
	if (!node_lives(Int64GetDatum(incarnation), NULL))
		return false;
	slots->alive = incarnation;
	return true;
}

static bool
holds(Rows *rows, const Holder *holder, Oid processing)
{
	TupleTableSlot *row = rows_find(rows, &holder->id);

	return row != NULL &&
		DatumGetObjectId(row_value(row, TASK_STATUS)) == processing &&
		DatumGetInt64(row_value(row, TASK_VERSION)) == holder->version &&
		!row_null(row, TASK_INCARNATION) &&
		DatumGetInt64(row_value(row, TASK_INCARNATION)) == holder->incarnation;
}

/* Drops the holders that no longer hold a slot. */
static void
verify(Slots *slots, Use *use)
{
	Oid			processing = rows_label("task_status", "PROCESSING");
	Rows	   *rows = rows_open();
	int			n = 0;

	for (int i = 0; i < use->nholders; i++)
		if (lives(slots, use->holders[i].incarnation) &&
			holds(rows, &use->holders[i], processing))
			use->holders[n++] = use->holders[i];
	rows_close(rows);
	use->is_changed |= n < use->nholders;
	use->nholders = n;
	use->is_verified = true;
}

static bool
has_slot(Slots *slots, Use *use, int priority)
{
	int			max = use->rule->concurrency;

	if (max < 0)
		return true;
	if (priority <= use->rule->stretch_priority)
		max += use->rule->stretch;
	if (use->nholders >= max && !use->is_verified)
		verify(slots, use);
	return use->nholders < max;
}

static bool
refuse(const Use *use, int64 again_ms, LimitRefusal *refusal)
{
	strlcpy(refusal->name, use->name, sizeof(refusal->name));
	refusal->again_ms = again_ms;
	return false;
}

static bool
has_room(Slots *slots, Use *use, int priority, LimitRefusal *refusal)
{
	const LimitRule *rule = use->rule;

	if (use->is_busy)
		return refuse(use, BUSY_MS, refusal);
	if (!has_slot(slots, use, priority))
	{
		use->is_wanted = true;
		return refuse(use, 0, refusal);
	}
	if (rule->rate > 0 && use->tokens < 1)
		return refuse(use, 1 + (int64) ((1 - use->tokens) * rule->per_us / rule->rate / 1000),
					  refusal);
	return true;
}

/* ---- taking ---- */

/*
 * Keeps an earlier holder with the same task.  Its grab may be newer than the
 * row that we have seen, and our grab would then win nothing.
 */
static void
add_holder(Slots *slots, Use *use, const LimitedTask *task)
{
	Holder	   *holder;

	if (use->nholders == use->room)
	{
		use->room *= 2;
		use->holders = repalloc(use->holders, use->room * sizeof(Holder));
	}
	holder = &use->holders[use->nholders++];
	holder->id = *task->id;
	holder->version = task->version;
	holder->incarnation = slots->incarnation;
}

bool
slots_take(Slots *slots, const LimitedTask *task, LimitRefusal *refusal)
{
	slots->ncovers = limit_rules_cover(task->type, &slots->covers);
	for (int i = slots->ncovers - 1; i >= 0; i--)
		if (!has_room(slots, find_use(slots, &slots->covers[i]), task->priority, refusal))
		{
			slots->ncovers = 0;
			return false;
		}
	for (int i = 0; i < slots->ncovers; i++)
	{
		Use		   *use = find_use(slots, &slots->covers[i]);

		if (use->rule->concurrency >= 0)
			add_holder(slots, use, task);
		use->tokens -= 1;
		use->is_changed = true;
	}
	slots->took_slots |= slots->ncovers > 0;
	return true;
}

/* The slot that was taken last belongs to the last holder. */
void
slots_untake(Slots *slots)
{
	for (int i = 0; i < slots->ncovers; i++)
	{
		Use		   *use = find_use(slots, &slots->covers[i]);

		if (use->rule->concurrency >= 0)
			use->nholders--;
		use->tokens += 1;
	}
	slots->ncovers = 0;
}

/* ---- storing ---- */

static Datum
make_array(const Use *use, int what)
{
	Datum	   *values = palloc((use->nholders + 1) * sizeof(Datum));

	for (int i = 0; i < use->nholders; i++)
	{
		const Holder *holder = &use->holders[i];

		if (what == SLOTS_IDS)
			values[i] = UUIDPGetDatum(&holder->id);
		else
			values[i] = Int64GetDatum(what == SLOTS_VERSIONS ? holder->version :
									  holder->incarnation);
	}
	if (what == SLOTS_IDS)
		return PointerGetDatum(construct_array(values, use->nholders, UUIDOID, UUID_LEN,
											   false, TYPALIGN_CHAR));
	return PointerGetDatum(construct_array(values, use->nholders, INT8OID, 8,
										   FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

/* Adds us to the end of the nodes that wait, unless we wait already. */
static bool
add_waiting(const Slots *slots, Use *use)
{
	Datum	   *values;
	Datum	   *all;
	int			n;

	deconstruct_array(use->waiting, INT8OID, 8, FLOAT8PASSBYVAL, TYPALIGN_DOUBLE,
					  &values, NULL, &n);
	for (int i = 0; i < n; i++)
		if (DatumGetInt64(values[i]) == slots->incarnation)
			return false;
	all = palloc((n + 1) * sizeof(Datum));
	memcpy(all, values, n * sizeof(Datum));
	all[n] = Int64GetDatum(slots->incarnation);
	use->waiting = construct_array(all, n + 1, INT8OID, 8, FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
	return true;
}

static void
store_use(Use *use)
{
	Datum		values[8] = {
		CStringGetTextDatum(use->name),
		Int64GetDatum(use->epoch),
		TimestampTzGetDatum(use->now),
		make_array(use, SLOTS_IDS),
		make_array(use, SLOTS_VERSIONS),
		make_array(use, SLOTS_INCARNATIONS),
		PointerGetDatum(use->waiting),
		Float8GetDatum(use->tokens)
	};
	char		nulls[9] = "        ";

	if (use->rule->rate == 0)
		nulls[7] = 'n';
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "could not connect to SPI");
	if (execute_by_key(PLAN_STORE_SLOTS, values, nulls) != 1)
		elog(ERROR, "could not find the slots of limit \"%s\"", use->name);
	SPI_finish();
}

bool
slots_store(Slots *slots)
{
	HASH_SEQ_STATUS each;
	Use		   *use;

	hash_seq_init(&each, slots->uses);
	while ((use = hash_seq_search(&each)) != NULL)
	{
		if (use->is_busy)
			continue;
		if (use->is_wanted)
			use->is_changed |= add_waiting(slots, use);
		if (use->is_changed)
			store_use(use);
	}
	return slots->took_slots;
}
