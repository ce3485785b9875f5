/*-------------------------------------------------------------------------
 *
 * tables.c
 *		The tables of all buckets, and how policies affect them.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "table/names.h"
#include "table/tables.h"

/* We log this many types without a handler, each once. */
#define UNHANDLED_MAX 50

struct Tables
{
	Loop	   *loop;
	Policies   *policies;
	Table	  **tables;
	int			n;
	LoopTimer  *aging;
	Names	   *unhandled;		/* types logged as without a handler */
};

void
tables_push(Tables *tables, int bucket, const Trigger *trigger)
{
	if (policies_take(tables->policies, bucket, trigger->type) &&
		table_push(tables->tables[bucket], trigger, NULL) == TABLE_NO_HANDLER &&
		names_add(tables->unhandled, trigger->type))
		log_line(TWT_LOG_WARN, "table",
				 "no handler for type \"%s\": left to other nodes", trigger->type);
}

bool
tables_can_start(Tables *tables, int bucket, const Trigger *trigger)
{
	return policies_take(tables->policies, bucket, trigger->type) &&
		table_can_start(tables->tables[bucket], trigger);
}

typedef struct Withdrawal
{
	Policies   *policies;
	int			bucket;
} Withdrawal;

static bool
is_withdrawn(void *arg, const char *type)
{
	const Withdrawal *withdrawal = arg;

	return !policies_take(withdrawal->policies, withdrawal->bucket, type);
}

static int64
aging_of(void *arg, const char *type)
{
	return policies_of(arg, type)->aging_us;
}

static void
on_time(void *arg)
{
	Tables	   *tables = arg;

	for (int i = 0; i < tables->n; i++)
		table_age(tables->tables[i], loop_now_us(tables->loop), aging_of, tables->policies);
	loop_timer_start(tables->aging, policies_aging_us(tables->policies) / TABLE_AGINGS);
	loop_want_turn(tables->loop);
}

/* Removes the tasks that this node may no longer take. */
static void
on_policies(void *arg)
{
	Tables	   *tables = arg;

	for (int i = 0; i < tables->n; i++)
	{
		Withdrawal	withdrawal = {tables->policies, i};

		table_withdraw(tables->tables[i], is_withdrawn, &withdrawal);
	}
	if (policies_aging_us(tables->policies) > 0)
		on_time(tables);
	else
		loop_timer_stop(tables->aging);
}

Tables *
tables_open(Loop *loop, Policies *policies, Table **tables, int ntables)
{
	Tables	   *all = palloc0(sizeof(Tables));

	all->loop = loop;
	all->policies = policies;
	all->tables = tables;
	all->n = ntables;
	all->unhandled = names_new(UNHANDLED_MAX);
	all->aging = loop_timer_new(loop, on_time, all);
	policies_on(policies, POLICIES_CHANGED, on_policies, all);
	return all;
}

void
tables_free(Tables *tables)
{
	loop_timer_free(tables->aging);
	names_free(tables->unhandled);
	pfree(tables);
}
