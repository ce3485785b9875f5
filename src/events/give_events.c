/*-------------------------------------------------------------------------
 *
 * give_events.c
 *		Moves the next events of objects from the queue into head tasks.
 *
 *		from: extensions/events/give_events.sql		to: src/add/batch.c
 *
 * Each object takes three statements that read or change single rows: one that
 * joins all objects costs more than a head does, and its plan may be of empty tables.
 * The caller has locked the objects, so nobody else takes their events.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "commands/sequence.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/jsonb.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "add/batch.h"
#include "add/store.h"
#include "base/arrays.h"
#include "base/caller.h"
#include "base/contract.h"
#include "base/plan.h"
#include "base/rows.h"
#include "base/settings.h"
#include "base/unix_time.h"
#include "node/adoption.h"

/* A head this large takes a small part of twtasks.function_timeout ... */
#define HEAD_BYTES 1048576

/* ... and so do all heads of a call. */
#define ALL_BYTES 4194304

/* Room for an event in the data of a head, beside its own text. */
#define EVENT_FRAME_BYTES 120

/* Ids this far behind the clock are of a state that somebody has restored. */
#define IDS_BEHIND_US (60 * USECS_PER_SEC)

/* Columns of PLAN_FIND_OBJECT, from 1. */
enum
{
	FOUND_LAST_ID = 1,
	FOUND_SENT_ID,
	FOUND_TYPE,
	FOUND_BUCKET,
	FOUND_BATCH,
	FOUND_PRIORITY
};

/* Columns of PLAN_TAKE_EVENT and PLAN_TAKE_EVENTS, from 1. */
enum
{
	TAKEN_SEQ = 1,
	TAKEN_EVENT,
	TAKEN_SIZE
};

typedef struct Event
{
	int64		seq;
	Jsonb	   *event;
} Event;

typedef struct Object
{
	Datum		stream;
	Datum		object;
	Datum		type;
	Datum		bucket;
	int32		batch;
	int32		priority;
	bool		has_priority;
	int64		last_id;		/* moves on with each event that is given */
	int64		sent_id;
	int			task;			/* its head in the batch; -1: none */
} Object;

typedef struct Giving
{
	Object	   *objects;
	int			n;
	Batch		batch;
	Oid			sequence;
	int64		bytes;			/* all heads so far */
	int			too_many;		/* the first object beyond ALL_BYTES; -1: none */
} Giving;

static Datum
column(uint64 row, int number, bool *isnull)
{
	return SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, number, isnull);
}

static Datum
text_column(int number)
{
	bool		isnull;

	return PointerGetDatum(PG_DETOAST_DATUM_COPY(column(0, number, &isnull)));
}

static int64
int8_column(uint64 row, int number)
{
	bool		isnull;

	return DatumGetInt64(column(row, number, &isnull));
}

/* Raises the errors of keep_ids_new(), which does the rest where there is something to do. */
static void
keep_ids_new(void)
{
	int64		now = unix_us(GetCurrentTimestamp());
	Datum		values[] = {
		Int64GetDatum(GetWALInsertionTimeLine()),
		/* A copy that was not adopted gives no ids at all. */
		Int64GetDatum(twt_is_adopted() ? now - IDS_BEHIND_US : PG_INT64_MAX)
	};

	plan_execute(PLAN_KEEP_IDS_NEW, values, NULL);
	SPI_freetuptable(SPI_tuptable);
}

/*
 * A grab may be lost in a crash.  An event that was sent must keep its id.  The setting
 * is undone where on_end calls us, so a commit that waits for a standby is asked for as
 * far as the caller's settings allow; the flush is not a setting.
 */
static void
require_durable_commit(void)
{
	ForceSyncCommit();
	if (synchronous_commit == SYNCHRONOUS_COMMIT_OFF ||
		synchronous_commit == SYNCHRONOUS_COMMIT_LOCAL_FLUSH)
		(void) set_config_option("synchronous_commit", "on", PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_LOCAL, true, 0, false);
}

/* Returns false if there is no such object or stream. */
static bool
find_object(Datum stream, Datum name, bool done, Object *object)
{
	Datum		values[] = {stream, name};
	bool		isnull;

	if (plan_execute(PLAN_FIND_OBJECT, values, NULL) == 0)
		return false;
	*object = (Object)
	{
		.stream = stream, .object = name, .task = -1,
			.type = text_column(FOUND_TYPE),
			.bucket = text_column(FOUND_BUCKET),
			.batch = DatumGetInt32(column(0, FOUND_BATCH, &isnull)),
			.last_id = int8_column(0, FOUND_LAST_ID),
			.sent_id = int8_column(0, done ? FOUND_LAST_ID : FOUND_SENT_ID)
	};
	object->priority = DatumGetInt32(column(0, FOUND_PRIORITY, &isnull));
	object->has_priority = !isnull;
	SPI_freetuptable(SPI_tuptable);
	return true;
}

static int
by_seq(const void *a, const void *b)
{
	int64		first = ((const Event *) a)->seq;
	int64		second = ((const Event *) b)->seq;

	return first < second ? -1 : first > second;
}

static int
name_bytes(Datum name)
{
	return VARSIZE_ANY_EXHDR(DatumGetPointer(name));
}

/* How many bytes the events of a head may have: a character of a name may take six. */
static int64
room(const Object *object)
{
	return Min(HEAD_BYTES, twt_max_payload - 100) -
		6 * (name_bytes(object->stream) + name_bytes(object->object));
}

/* Takes the next events of an object, in their order; returns how many. */
static int
take_events(Giving *giving, const Object *object, Event **events)
{
	Datum		values[] = {
		object->stream, object->object, Int32GetDatum(object->batch), Int64GetDatum(room(object))
	};
	int			n = (int) plan_execute(object->batch == 1 ? PLAN_TAKE_EVENT : PLAN_TAKE_EVENTS, values, NULL);
	bool		isnull;

	*events = palloc(sizeof(Event) * Max(n, 1));
	for (int i = 0; i < n; i++)
	{
		(*events)[i].seq = int8_column(i, TAKEN_SEQ);
		(*events)[i].event = DatumGetJsonbPCopy(column(i, TAKEN_EVENT, &isnull));
		giving->bytes += DatumGetInt32(column(i, TAKEN_SIZE, &isnull)) + EVENT_FRAME_BYTES;
	}
	SPI_freetuptable(SPI_tuptable);
	qsort(*events, n, sizeof(Event), by_seq);
	return n;
}

static void
push_key(JsonbParseState **state, char *key)
{
	JsonbValue	value = {.type = jbvString,.val.string = {strlen(key), key}};

	pushJsonbValue(state, WJB_KEY, &value);
}

static void
push_number(JsonbParseState **state, char *key, int64 number)
{
	JsonbValue	value = {.type = jbvNumeric,.val.numeric = int64_to_numeric(number)};

	push_key(state, key);
	pushJsonbValue(state, WJB_VALUE, &value);
}

static void
push_text(JsonbParseState **state, char *key, Datum text)
{
	JsonbValue	value = {
		.type = jbvString,.val.string = {name_bytes(text), VARDATA_ANY(DatumGetPointer(text))}
	};

	push_key(state, key);
	pushJsonbValue(state, WJB_VALUE, &value);
}

static void
push_json(JsonbParseState **state, char *key, Jsonb *json)
{
	JsonbValue	value = {.type = jbvBinary,.val.binary = {VARSIZE(json) - VARHDRSZ, &json->root}};

	if (JB_ROOT_IS_SCALAR(json))
		(void) JsonbExtractScalar(&json->root, &value);
	push_key(state, key);
	pushJsonbValue(state, WJB_VALUE, &value);
}

static int64
next_id(const Giving *giving, const Object *object)
{
	int64		id = nextval_internal(giving->sequence, false);
	Datum		values[] = {Int64GetDatum(object->last_id)};

	if (id > object->last_id)
		return id;
	plan_execute(PLAN_RAISE_IDS, values, NULL);
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("ids of events were behind those that objects have")));
}

/* Gives each event its id, and moves the object on to the last one. */
static Jsonb *
data_of(const Giving *giving, Object *object, const Event *events, int n)
{
	JsonbParseState *state = NULL;
	int64		before = object->last_id;

	pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
	push_text(&state, "stream", object->stream);
	push_text(&state, "object", object->object);
	push_key(&state, "events");
	pushJsonbValue(&state, WJB_BEGIN_ARRAY, NULL);
	for (int i = 0; i < n; i++)
	{
		int64		id = next_id(giving, object);

		pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
		push_number(&state, "id", id);
		push_number(&state, "prev", object->last_id);
		push_json(&state, "event", events[i].event);
		if (i == 0 && object->sent_id < before)
			push_number(&state, "skipped", object->sent_id);
		pushJsonbValue(&state, WJB_END_OBJECT, NULL);
		object->last_id = id;
	}
	pushJsonbValue(&state, WJB_END_ARRAY, NULL);
	return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, NULL));
}

static void
set_field(NewTask *task, NewField field, Datum value)
{
	task->values[field] = value;
	task->nulls[field] = false;
}

static void
fill_task(NewTask *task, const Object *object, Jsonb *data)
{
	memset(task, 0, sizeof(*task));
	memset(task->nulls, true, sizeof(task->nulls));
	task->key_rule = KEY_KEPT;
	set_field(task, NEW_TYPE, object->type);
	set_field(task, NEW_DATA, JsonbPGetDatum(data));
	set_field(task, NEW_SUB_TYPE, object->object);
	set_field(task, NEW_BUCKET, object->bucket);
	if (object->has_priority)
		set_field(task, NEW_PRIORITY, Int32GetDatum(object->priority));
}

static void
make_head(Giving *giving, Object *object)
{
	Event	   *events;
	int			n = take_events(giving, object, &events);

	if (n == 0)
		return;
	object->task = giving->batch.n++;
	fill_task(&giving->batch.tasks[object->task], object, data_of(giving, object, events, n));
}

static void
check_elements(const Elements *streams, const Elements *names, const Elements *done)
{
	bool		fit = streams->n == names->n && done->n == names->n;

	for (int i = 0; fit && i < names->n; i++)
		fit = !streams->nulls[i] && !names->nulls[i] && !done->nulls[i];
	if (!fit)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("streams, objects and done must have as many elements, and no nulls")));
}

static void
make_heads(Giving *giving, const Elements *streams, const Elements *names, const Elements *done)
{
	for (int i = 0; i < names->n; i++)
	{
		Object	   *object = &giving->objects[giving->n];

		CHECK_FOR_INTERRUPTS();
		if (!find_object(streams->values[i], names->values[i], DatumGetBool(done->values[i]), object))
			continue;
		if (giving->bytes < ALL_BYTES)
			make_head(giving, object);
		else if (giving->too_many < 0)
			giving->too_many = giving->n;
		giving->n++;
	}
}

static AddedTask *
add_heads(Batch *batch)
{
	const char *role = GetUserNameFromId(caller_role(), false);
	AddedTask  *added;

	batch_enter(batch);
	batch_check(batch, role);
	added = batch_store(batch, role);
	batch_leave(batch);
	for (int i = 0; i < batch->n; i++)
		if (added[i].result != ADD_NEW)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("a head task was not added"),
					 errhint("Look at the intercept functions of its type: twtasks.policy_of().")));
	return added;
}

static void
set_head(const Object *object, const AddedTask *added)
{
	Datum		values[] = {
		object->stream, object->object,
		object->task < 0 ? (Datum) 0 : UUIDPGetDatum(&added[object->task].id),
		Int64GetDatum(object->last_id), Int64GetDatum(object->sent_id)
	};

	plan_execute(PLAN_SET_HEAD, values, object->task < 0 ? "  n  " : NULL);
}

/* The next look at the list begins with the first object that got no head here. */
static void
list_rest(const Giving *giving)
{
	const Object *first = &giving->objects[giving->too_many];
	Datum		after[] = {first[-1].stream, first[-1].object, first->bucket};

	for (int i = giving->too_many; i < giving->n; i++)
	{
		Datum		values[] = {giving->objects[i].stream, giving->objects[i].object};

		plan_execute(PLAN_LIST_OBJECT, values, NULL);
	}
	plan_execute(PLAN_LIST_GOES_ON, after, NULL);
	SPI_freetuptable(SPI_tuptable);
}

static Datum
act_give_events(FunctionCallInfo fcinfo)
{
	Elements	streams = elements_of(fcinfo, 0, "streams");
	Elements	names = elements_of(fcinfo, 1, "objects");
	Elements	done = elements_of(fcinfo, 2, "done");
	Giving		giving = {.batch.call = "give_events", .too_many = -1};
	AddedTask  *added;
	int			pinned;

	check_elements(&streams, &names, &done);
	store_check();				/* before we look at the timeline */
	pinned = plan_begin();
	keep_ids_new();
	require_durable_commit();
	giving.sequence = rows_relation("event_id_seq");
	giving.objects = palloc0(sizeof(Object) * Max(names.n, 1));
	batch_make(&giving.batch, names.n);
	giving.batch.n = 0;
	make_heads(&giving, &streams, &names, &done);
	added = add_heads(&giving.batch);
	for (int i = 0; i < giving.n; i++)
		set_head(&giving.objects[i], added);
	if (giving.too_many >= 0)
		list_rest(&giving);
	plan_end(pinned);
	PG_RETURN_INT64(giving.batch.n);
}

TWT_FUNCTION_AS_OWNER(twt_give_events, act_give_events);
