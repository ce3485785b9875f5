/*-------------------------------------------------------------------------
 *
 * batch.c
 *		Triggers that go to the database in one statement.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "common/trigger.h"
#include "grab/batch.h"
#include "calls/calls.h"

/* A single larger task makes a batch of its own. */
#define BATCH_MAX_BYTES (4 * 1024 * 1024)

Batch *
batch_new(void)
{
	Batch	   *batch = palloc(sizeof(Batch));

	batch->n = 0;
	batch->bytes = 0;
	batch->token = 0;
	batch->version_shift = 0;
	return batch;
}

void
batch_add(Batch *batch, Table *table, TableEntry *entry)
{
	Assert(batch->n < BATCH_MAX);
	batch->items[batch->n].table = table;
	batch->items[batch->n].entry = entry;
	batch->items[batch->n].policy = policy_ref(handler_policy(table_entry_tag(entry),
															  table_entry_type(entry)));
	batch->items[batch->n].is_started = false;
	batch->items[batch->n].is_cancelled = false;
	memcpy(batch->items[batch->n].id, table_entry_id(entry), 16);
	batch->n++;
	batch->bytes += table_entry_size(entry);
}

bool
batch_is_full(const Batch *batch)
{
	return batch->n == BATCH_MAX || batch->bytes >= BATCH_MAX_BYTES;
}

static int
compare_items(const void *a, const void *b)
{
	return memcmp(((const BatchItem *) a)->id, ((const BatchItem *) b)->id, 16);
}

/* False: the item had been taken out before. */
static bool
drop_item(BatchItem *item)
{
	policy_unref(item->policy);
	if (item->entry == NULL)
		return false;
	if (item->is_started)
		slots_free(table_entry_limit(item->entry));
	else
		slots_cancel(table_entry_limit(item->entry));
	table_forget(item->table, item->entry);
	return true;
}

/* Drops the older of two versions of a task. */
static void
drop_older(Batch *batch)
{
	int			kept = 0;

	for (int i = 0; i < batch->n; i++)
	{
		BatchItem  *item = &batch->items[i];
		BatchItem  *next = item + 1;

		if (i + 1 < batch->n && compare_items(item, next) == 0)
		{
			if (table_entry_version(item->entry) > table_entry_version(next->entry))
			{
				BatchItem	newer = *item;

				*item = *next;
				*next = newer;
			}
			drop_item(item);
		}
		else
			batch->items[kept++] = *item;
	}
	batch->n = kept;
}

void
batch_sort(Batch *batch)
{
	qsort(batch->items, batch->n, sizeof(BatchItem), compare_items);
	drop_older(batch);
}

void
batch_add_ids(const Batch *batch, WireParams *params)
{
	wire_add_array(params, WIRE_UUID, batch->n);
	for (int i = 0; i < batch->n; i++)
		wire_uuid(params, batch->items[i].id);
	wire_add_array(params, WIRE_INT8, batch->n);
	for (int i = 0; i < batch->n; i++)
		wire_int8(params, table_entry_version(batch->items[i].entry) +
				  batch->version_shift);
}

void
batch_add_places(const Batch *batch, WireParams *params)
{
	wire_add_array(params, WIRE_TID, batch->n);
	for (int i = 0; i < batch->n; i++)
		wire_place(params, table_entry_place(batch->items[i].entry));
}

static const HandlerConfig *
item_config(const BatchItem *item)
{
	return handler_config(table_entry_tag(item->entry));
}

/*
 * Whether all items have the same values, so that one element per array is
 * enough.
 */
static bool
is_uniform(const Batch *batch)
{
	const BatchItem *first = &batch->items[0];

	for (int i = 1; i < batch->n; i++)
		if (batch->items[i].policy != first->policy ||
			item_config(&batch->items[i]) != item_config(first) ||
			strcmp(table_entry_type(batch->items[i].entry), table_entry_type(first->entry)) != 0)
			return false;
	return true;
}

void
batch_add_policies(const Batch *batch, const Config *config, WireParams *params)
{
	int			n = is_uniform(batch) ? 1 : batch->n;

	wire_add_array(params, WIRE_INT8, n);
	for (int i = 0; i < n; i++)
	{
		const BatchItem *item = &batch->items[i];

		wire_int8(params, handler_stuck_after_grab_us(table_entry_tag(item->entry),
													  item->policy->timeout_us) / 1000);
	}
	wire_add_array(params, WIRE_TEXT, n);
	for (int i = 0; i < n; i++)
		wire_text(params, config_stuck_name(batch->items[i].policy->stuck));
	wire_add_array(params, WIRE_TEXT, n);
	for (int i = 0; i < n; i++)
		wire_text(params, table_entry_type(batch->items[i].entry));
	calls_add_buckets(params, config);
}

static int
compare_id(const void *id, const void *item)
{
	return memcmp(id, ((const BatchItem *) item)->id, 16);
}

BatchItem *
batch_find(Batch *batch, const uint8 *id)
{
	BatchItem  *item = bsearch(id, batch->items, batch->n, sizeof(BatchItem),
							   compare_id);

	return item == NULL || item->entry == NULL ? NULL : item;
}

static void
start(BatchItem *item)
{
	if (!item->is_started)
		slots_start(table_entry_limit(item->entry));
	item->is_started = true;
}

void
batch_start(Batch *batch, const uint8 *id)
{
	BatchItem  *item = batch_find(batch, id);

	if (item != NULL)
		start(item);
}

Handler *
batch_take(Batch *batch, const uint8 *id, Limit **slot, Policy **policy, TypeCounts **counts)
{
	BatchItem  *item = batch_find(batch, id);
	Handler    *handler;

	if (item == NULL)
		return NULL;
	handler = table_entry_tag(item->entry);
	*slot = table_entry_limit(item->entry);
	start(item);
	*counts = table_counts(item->table, item->entry);
	*policy = item->policy;
	item->policy = NULL;
	table_forget(item->table, item->entry);
	item->entry = NULL;
	return handler;
}

Task
batch_read_grab(int64 token, const PGresult *result, int row)
{
	Task		task = {
		.version = wire_get_int(result, row, GRAB_VERSION),
		.token = token,
		.tries = wire_get_int(result, row, GRAB_TRIES),
		.type = PQgetvalue(result, row, GRAB_TYPE)
	};

	memcpy(task.id, wire_get_uuid(result, row, GRAB_ID), TASK_ID_BYTES);
	trigger_id_text(task.id, task.id_text);
	return task;
}

/* A library of version 1.0 tells the time alone. */
int64
batch_again_us(const PGresult *result, int row)
{
	if (PQgetisnull(result, row, GRAB_GRABBED))
		return 0;
	return PQgetisnull(result, row, GRAB_TRIES) ? 1 :
		MS_TO_US(wire_get_int(result, row, GRAB_TRIES));
}

void
batch_refuse(Batch *batch, const uint8 *id)
{
	BatchItem  *item = batch_find(batch, id);

	if (item == NULL)
		return;
	slots_undo(table_entry_limit(item->entry));
	table_return(item->table, item->entry);
	item->entry = NULL;
}

int
batch_drop(Batch *batch)
{
	int			left = 0;

	for (int i = 0; i < batch->n; i++)
		left += drop_item(&batch->items[i]);
	pfree(batch);
	return left;
}

void
batch_put_back(Batch *batch)
{
	for (int i = 0; i < batch->n; i++)
	{
		BatchItem  *item = &batch->items[i];

		policy_unref(item->policy);
		slots_undo(table_entry_limit(item->entry));
		table_return(item->table, item->entry);
	}
	pfree(batch);
}

void
batch_split(Batch *batch, void (*fn) (void *arg, Batch *single), void *arg)
{
	for (int i = 1; i < batch->n; i++)
	{
		Batch	   *single = batch_new();

		batch_add(single, batch->items[i].table, batch->items[i].entry);
		policy_unref(batch->items[i].policy);
		fn(arg, single);
	}
	batch->n = 1;
}
