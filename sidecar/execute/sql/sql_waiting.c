/*-------------------------------------------------------------------------
 *
 * sql_waiting.c
 *		Tasks of a SQL handler that wait for a session, first in, first out.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "execute/sql/sql_waiting.h"

/* The time that a statement of several tasks should take at most. */
#define STATEMENT_TARGET_US MS_TO_US(20)

typedef struct Waiting
{
	dlist_node	node;
	Table	   *table;
	TableEntry *entry;
	bool		goes_alone;
} Waiting;

struct SqlWaiting
{
	const HandlerConfig *config;
	dlist_head	waiting;
	int			n;
	int			nalone;			/* number of next batches with one task each */
	double		task_us;		/* average duration of a task; 0: unknown */
};

SqlWaiting *
sql_waiting_new(const HandlerConfig *config)
{
	SqlWaiting *list = palloc0(sizeof(SqlWaiting));

	list->config = config;
	dlist_init(&list->waiting);
	return list;
}

void
sql_waiting_free(SqlWaiting *list)
{
	Assert(list->n == 0);
	pfree(list);
}

void
sql_waiting_add(SqlWaiting *list, Table *table, TableEntry *entry, bool goes_alone)
{
	Waiting    *waiting = palloc(sizeof(Waiting));

	waiting->table = table;
	waiting->entry = entry;
	waiting->goes_alone = goes_alone || slots_are_shared(table_entry_limit(entry));
	dlist_push_tail(&list->waiting, &waiting->node);
	list->n++;
}

int
sql_waiting_count(const SqlWaiting *list)
{
	return list->n;
}

void
sql_waiting_part(SqlWaiting *list, int n)
{
	list->nalone = n;
}

void
sql_waiting_learn(SqlWaiting *list, double task_us)
{
	list->task_us = list->task_us == 0 ? task_us : list->task_us * 0.8 + task_us * 0.2;
}

/*
 * The size of the next batch: small enough for a short statement, and for work
 * in all sessions.  A function that takes an array gets what waits: its call may cost
 * the same for many tasks as for one, so that the time of a task tells nothing.
 */
static int
next_size(const SqlWaiting *list)
{
	int			sessions = list->config->processes;
	int			most = Min(list->config->prefetch, BATCH_MAX);
	int			share = (list->n + sessions - 1) / sessions;
	double		quick = list->task_us == 0 ? 1 : STATEMENT_TARGET_US / list->task_us;

	if (list->nalone > 0)
		return 1;
	if (list->config->batch > 0)
		return Min(list->config->batch, BATCH_MAX);
	return Max(1, Min(Min(most, share), (int) Min(quick, BATCH_MAX)));
}

static int64
timeout_of(const Waiting *waiting)
{
	return handler_policy(table_entry_tag(waiting->entry),
						  table_entry_type(waiting->entry))->timeout_us;
}

Batch *
sql_waiting_take(SqlWaiting *list)
{
	Batch	   *batch = batch_new();
	int			size = next_size(list);

	list->nalone = Max(0, list->nalone - 1);
	while (batch->n < size && !batch_is_full(batch) && list->n > 0)
	{
		Waiting    *waiting = dlist_head_element(Waiting, node, &list->waiting);
		bool		alone = waiting->goes_alone;

		if (batch->n > 0 &&
			(alone || timeout_of(waiting) != batch->items[0].policy->timeout_us))
			break;
		dlist_pop_head_node(&list->waiting);
		list->n--;
		batch_add(batch, waiting->table, waiting->entry);
		pfree(waiting);
		if (alone)
			break;
	}
	batch_sort(batch);
	return batch;
}

void
sql_waiting_give_back(SqlWaiting *list)
{
	while (list->n > 0)
	{
		Waiting    *waiting = dlist_container(Waiting, node,
											  dlist_pop_head_node(&list->waiting));

		slots_cancel(table_entry_limit(waiting->entry));
		table_return(waiting->table, waiting->entry);
		pfree(waiting);
		list->n--;
	}
}
