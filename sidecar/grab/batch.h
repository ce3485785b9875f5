/*-------------------------------------------------------------------------
 *
 * batch.h
 *		Triggers that go to the database in one statement.
 *
 *		from: table.h (table_pop)			to: grab.h, sql_waiting.h
 *
 * A batch owns its entries and their booked slots until each is taken out, or
 * all are dropped.  batch_sort() orders entries by id, the order in which the
 * database locks them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_BATCH_H
#define TWT_BATCH_H

#include "execute/handler.h"
#include "pg/wire.h"
#include "table/table.h"

#define BATCH_MAX 300

typedef struct BatchItem
{
	TableEntry *entry;			/* NULL: taken out */
	Table	   *table;
	Policy	   *policy;			/* in force when it was added; a reference */
	bool		is_started;
	bool		is_cancelled;	/* an operator cancelled the task */
	uint8		id[16];
} BatchItem;

typedef struct Batch
{
	int			n;
	int64		bytes;			/* size of data and payload of the tasks, from
								 * their triggers */
	int64		token;
	int64		version_shift;	/* added to all versions, since the tasks got
								 * new ones */
	BatchItem	items[BATCH_MAX];
} Batch;

extern Batch *batch_new(void);
extern void batch_add(Batch *batch, Table *table, TableEntry *entry);

/* Whether the batch is full, by number or by bytes. */
extern bool batch_is_full(const Batch *batch);

/*
 * Sorts the items by id, and drops the older of two versions of a task.  Call
 * it once, before the parameters are made.
 */
extern void batch_sort(Batch *batch);

/* Adds ids and versions; then timeouts_ms, stuck rules, types and buckets. */
extern void batch_add_ids(const Batch *batch, WireParams *params);
extern void batch_add_policies(const Batch *batch, const Config *config,
							   WireParams *params);
extern void batch_add_places(const Batch *batch, WireParams *params);

/* NULL: the item is not, or no longer, in the batch. */
extern BatchItem *batch_find(Batch *batch, const uint8 *id);

/*
 * The item with that id starts now and stays in the batch.  Does nothing if
 * the item is not in the batch.
 */
extern void batch_start(Batch *batch, const uint8 *id);

/*
 * Takes the item with that id out; the item starts now if it has not yet.  Its
 * slot, handler and reference to the policy become the caller's, and counts counts
 * tasks of its type.  NULL: the
 * item is not, or no longer, in the batch.
 */
extern Handler *batch_take(Batch *batch, const uint8 *id, Limit **slot,
						   Policy **policy, TypeCounts **counts);

/* Reads the task in that row of a grab.  task.type points into the result. */
extern Task batch_read_grab(int64 token, const PGresult *result, int row);

/*
 * How long the limit in that row of a grab refuses its task; 0: until an offer.
 * It is a duration, since the database's clock may have been set.
 */
extern int64 batch_again_us(const PGresult *result, int row);

/*
 * Puts the item with that id back into its table, since it was refused a slot.
 * Does nothing if the item is not in the batch.
 */
extern void batch_refuse(Batch *batch, const uint8 *id);

/*
 * Forgets the triggers that are left, frees their slots and the batch.
 * Returns how many triggers were left.
 */
extern int	batch_drop(Batch *batch);

/* The batch was not sent: its triggers go back to their tables. */
extern void batch_put_back(Batch *batch);

/*
 * Makes each remaining trigger a batch of its own; the first stays in this
 * one, and fn gets each of the others.
 */
extern void batch_split(Batch *batch, void (*fn) (void *arg, Batch *single),
						void *arg);

#endif							/* TWT_BATCH_H */
