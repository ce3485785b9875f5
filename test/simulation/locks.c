/*-------------------------------------------------------------------------
 *
 * locks.c
 *		The model's row locks, which transactions of users hold over time.
 *
 * Functions that skip locked rows ask locks_hold().  A statement that waits for rows asks
 * locks_wait() before it does anything, and again at the end of that time, since the model
 * executes it at one moment.  Rows that the statement has locked before it waits are locked
 * for as long.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "acts.h"
#include "calls/calls.h"
#include "tables.h"
#include "values.h"
#include "world.h"

/* The lock_timeout of resolve_grab(). */
#define RESOLVE_US MS_TO_US(200)

/* Rows that one transaction locks at most. */
#define ROWS_MOST 4

static int64 until_us[MODEL_TASKS];
static int64 latest_us;			/* no row is locked from then on */
static int64 ambush_us;			/* a row of the next grab is locked for so
								 * long; 0: none is */

void
locks_begin(void)
{
	memset(until_us, 0, sizeof(until_us));
	latest_us = ambush_us = 0;
}

bool
locks_hold(const Row *row)
{
	return until_us[row->number] > world_now_us();
}

int64
locks_end_us(const Row *row)
{
	return until_us[row->number];
}

static void
lock(const Row *row, int64 us)
{
	until_us[row->number] = Max(until_us[row->number], world_now_us() + us);
	latest_us = Max(latest_us, until_us[row->number]);
}

/* ---- statements that wait ---- */

/* Rows that a statement locks one after the other. */
typedef struct Wanted
{
	const Row  *rows[2 * ELEMENTS_MOST];
	int			n;
} Wanted;

static void
want(Wanted *wanted, const Row *row)
{
	if (row != NULL)
		wanted->rows[wanted->n++] = row;
}

/* The time until the first of them that is locked is free; 0: none is. */
static int64
wait_for(const Wanted *wanted, int64 most_us)
{
	int			i = 0;
	int64		us;

	while (i < wanted->n && !locks_hold(wanted->rows[i]))
		i++;
	if (i == wanted->n)
		return 0;
	us = Min(most_us, locks_end_us(wanted->rows[i]) - world_now_us());
	world_count(REACHED_LOCKS);
	world_tell("a statement waits %.3f s for task %d", us / 1e6, wanted->rows[i]->number);
	while (--i >= 0)
		lock(wanted->rows[i], us);
	return us;
}

static int64
wait_for_finish(const ServerCall *call)
{
	Wanted		wanted;
	Elements	ids;

	wanted.n = 0;
	param_array(call, 0, &ids);
	for (int i = 0; i < ids.n; i++)
		want(&wanted, tasks_to_finish(call, i, false));
	for (int i = 0; i < ids.n; i++)
		want(&wanted, tasks_to_finish(call, i, true));
	return wait_for(&wanted, PG_INT64_MAX);
}

static int64
wait_for_resolve(ServerCall *call)
{
	Wanted		wanted;
	Elements	ids;
	int64		us;

	wanted.n = 0;
	param_array(call, 0, &ids);
	for (int i = 0; i < ids.n; i++)
		want(&wanted, tasks_to_fence(call, i));
	us = wait_for(&wanted, RESOLVE_US);
	if (us > 0 && call->waits_in_vain)
		return -1;
	call->waits_in_vain = us == RESOLVE_US;
	return us;
}

int64
locks_wait(ServerCall *call)
{
	if (latest_us <= world_now_us())
		return 0;
	if (call->statement == &call_finish)
		return wait_for_finish(call);
	if (call->statement == &call_resolve_grab || call->statement == &call_resolve_grab_bare)
		return wait_for_resolve(call);
	return 0;
}

/* ---- users ---- */

void
model_lock_at_grab(int64 us)
{
	act_tell("a transaction locks a task of the next grab for %.3f s, and its answer is lost", us / 1e6);
	ambush_us = us;
}

bool
locks_ambush(const ServerCall *call)
{
	Elements	ids;
	const Row  *row;
	int64		us = ambush_us;

	if (us == 0 || (call->statement != &call_grab && call->statement != &call_grab_bare))
		return false;
	param_array(call, 0, &ids);
	row = ids.n < 2 ? NULL : model_find(ids.values[0]);
	if (row == NULL || row->status != ROW_SUBMITTED)
		return false;
	lock(row, us);
	ambush_us = 0;
	return true;
}

void
model_lock_tasks(int64 us)
{
	int			n = (int) world_between(1, ROWS_MOST);

	for (int i = 0; i < n && model_count() > 0; i++)
	{
		const Row  *row = model_row((int) world_between(0, model_count() - 1));

		if (row->status >= ROW_ERROR)
			continue;
		lock(row, us);
		act_tell("a transaction locks task %d v" INT64_FORMAT " for %.3f s", row->number, row->version, us / 1e6);
		if (world_happens(200))
			model_cancel(row->number);
	}
}

void
model_unlock_tasks(void)
{
	for (int i = 0; i < MODEL_TASKS; i++)
		until_us[i] = Min(until_us[i], world_now_us());
	latest_us = world_now_us();
	ambush_us = 0;
	server_unlock();
}
