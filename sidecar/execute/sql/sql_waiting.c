/*-------------------------------------------------------------------------
 *
 * sql_waiting.c
 *		Tasks of a SQL handler that wait for a session, first in, first out.
 *
 *		from: execute_sql.c			to: batch.c
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "execute/sql/sql_waiting.h"

typedef struct Waiting
{
	slist_node	node;
	Table	   *table;
	TableEntry *entry;
	bool		goes_alone;
} Waiting;

struct SqlWaiting
{
	const Handler *handler;
	slist_head	waiting;
	slist_node *last;
	int			n;
};

SqlWaiting *
sql_waiting_new(const Handler *handler)
{
	SqlWaiting *list = palloc0(sizeof(SqlWaiting));

	list->handler = handler;
	slist_init(&list->waiting);
	return list;
}

void
sql_waiting_free(SqlWaiting *list)
{
	Assert(list->n == 0);
	pfree(list);
}

void
sql_waiting_add(SqlWaiting *list, Table *table, TableEntry *entry, bool alone)
{
	Waiting    *waiting = palloc(sizeof(Waiting));

	waiting->table = table;
	waiting->entry = entry;
	waiting->goes_alone = alone;
	if (slist_is_empty(&list->waiting))
		slist_push_head(&list->waiting, &waiting->node);
	else
		slist_insert_after(list->last, &waiting->node);
	list->last = &waiting->node;
	list->n++;
}

int
sql_waiting_count(const SqlWaiting *list)
{
	return list->n;
}

static int64
timeout_of(const SqlWaiting *list, const Waiting *waiting)
{
	return handler_policy(list->handler, table_entry_type(waiting->entry))->timeout_us;
}

Batch *
sql_waiting_take(SqlWaiting *list, int size)
{
	Batch	   *batch = batch_new();

	while (batch->n < size && !batch_is_full(batch) && list->n > 0)
	{
		Waiting    *waiting = slist_head_element(Waiting, node, &list->waiting);
		bool		alone = waiting->goes_alone;

		if (batch->n > 0 &&
			(alone || timeout_of(list, waiting) != batch->items[0].policy->timeout_us))
			break;
		slist_pop_head_node(&list->waiting);
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
		Waiting    *waiting = slist_container(Waiting, node,
											  slist_pop_head_node(&list->waiting));

		slots_cancel(table_entry_limit(waiting->entry));
		table_return(waiting->table, waiting->entry);
		pfree(waiting);
		list->n--;
	}
}
