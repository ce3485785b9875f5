/*-------------------------------------------------------------------------
 *
 * served.c
 *		The handlers of this node, their slots, and the tables of their triggers.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "common/trigger.h"
#include "metrics/metrics_text.h"
#include "served.h"

/*
 * One type may fill at most 1/TYPE_SHARE of a table.  So TYPE_SHARE types must
 * be flooded at once before other types find no room.
 */
#define TYPE_SHARE 20

typedef struct Bucket
{
	Served	   *served;
	Limit	   *limit;			/* shared by the types of the bucket */
} Bucket;

struct Served
{
	Loop	   *loop;
	const Config *config;
	Policies   *policies;
	Limits	   *all;
	LoopTimer  *timer;			/* for limits that get room by time */
	Limit	   *node;			/* the parent of all limits */
	TypeLimits *of_types;		/* the limits of types that the database sets */
	Bucket	   *buckets;
	Table	  **tables;			/* one per bucket */
	int			ntables;
	int			turn;			/* the table to pop from next */
	Handler   **handlers;		/* one per handler of the configuration */
	int			nhandlers;
};

/* ---- triggers ---- */

static bool
resolve_type(void *arg, const char *type, Limit **limit, void **tag)
{
	const Bucket *bucket = arg;
	const Served *served = bucket->served;
	const HandlerConfig *config = config_handler(served->config, type);

	if (config == NULL)
		return false;
	*tag = served->handlers[config->index];
	*limit = type_limits_leaf(served->of_types, type, handler_limit(*tag), bucket->limit);
	return true;
}

/* Pops from the tables of the buckets in turn. */
static TableEntry *
pop_any(Served *served, Table **table)
{
	for (int i = 0; i < served->ntables; i++)
	{
		TableEntry *entry;

		*table = served->tables[served->turn++ % served->ntables];
		entry = table_pop(*table);
		if (entry != NULL)
			return entry;
	}
	return NULL;
}

bool
served_is_ready(void *arg)
{
	const Served *served = arg;

	for (int i = 0; i < served->ntables; i++)
		if (table_ready(served->tables[i]))
			return true;
	return false;
}

/* A pop from one table may make another table ready, so try until none is. */
TableEntry *
served_next(void *arg, Table **table)
{
	Served	   *served = arg;

	do
	{
		TableEntry *entry;

		while ((entry = pop_any(served, table)) != NULL)
			if (!execute_take(*table, entry))
				return entry;
	} while (served_is_ready(served));
	return NULL;
}

/* ---- slots ---- */

static int64
clock_us(void *loop)
{
	return loop_now_us(loop);
}

static void
on_time(void *limits)
{
	limits_tick(limits);
}

void
served_pump(Served *served)
{
	int64		next = limits_next_us(served->all);

	if (next >= 0)
		loop_timer_start(served->timer, next - loop_now_us(served->loop));
	else
		loop_timer_stop(served->timer);
}

static void
set_bucket_limits(void *arg)
{
	const Served *served = arg;

	for (int i = 0; i < served->ntables; i++)
	{
		LimitTerms	terms = {.max = policies_bucket_max(served->policies, i)};

		limit_set_terms(served->buckets[i].limit, &terms);
	}
}

Limits *
served_all_limits(const Served *served)
{
	return served->all;
}

TypeLimits *
served_type_limits(const Served *served)
{
	return served->of_types;
}

Table	  **
served_tables(const Served *served)
{
	return served->tables;
}

/* ---- gauges ---- */

static void
write_tables(const Served *served, StringInfo out, const char *name, const char *help, int (*figure) (const Table *table))
{
	prometheus_begin(out, name, "gauge", help);
	for (int i = 0; i < served->ntables; i++)
	{
		char	   *label = prometheus_label("bucket", served->config->buckets[i]);

		prometheus_sample(out, name, label, figure(served->tables[i]));
		pfree(label);
	}
}

void
served_write(const Served *served, StringInfo out, char *const *labels)
{
	prometheus_begin(out, "running", "gauge", "Slots in use: tasks that run, or whose grab is under way.");
	for (int i = 0; i < served->nhandlers; i++)
		prometheus_sample(out, "running", labels[i], limit_used(handler_limit(served->handlers[i])));
	prometheus_begin(out, "slots", "gauge", "Tasks that the handler may run at once on this node.");
	for (int i = 0; i < served->nhandlers; i++)
		prometheus_sample(out, "slots", labels[i], handler_config(served->handlers[i])->concurrency);
	prometheus_begin(out, "slots_free", "gauge", "Slots that a task could have now, by the limits of the handler and of the node.");
	for (int i = 0; i < served->nhandlers; i++)
		prometheus_sample(out, "slots_free", labels[i],
						  slots_room(handler_limit(served->handlers[i]), TRIGGER_PRIORITIES - 1));
	write_tables(served, out, "table_triggers", "Triggers that wait in the memory of this node.", table_waiting);
	write_tables(served, out, "table_limit", "Triggers that this node keeps in memory at most.", table_capacity);
}

/* ---- open, reload, free ---- */

static void
open_tables(Served *served)
{
	int			capacity = served->config->look_ahead / served->config->nbuckets;

	served->ntables = served->config->nbuckets;
	served->tables = palloc(served->ntables * sizeof(Table *));
	served->buckets = palloc(served->ntables * sizeof(Bucket));
	for (int i = 0; i < served->ntables; i++)
	{
		Bucket	   *bucket = &served->buckets[i];

		bucket->served = served;
		bucket->limit = limit_new(served->config->buckets[i], 0, served->node);
		served->tables[i] = table_new(capacity, Max(capacity / TYPE_SHARE, 1),
									  resolve_type, bucket);
	}
}

void
served_set_metrics(Served *served, Metrics *metrics)
{
	for (int i = 0; i < served->ntables; i++)
		table_set_metrics(served->tables[i], metrics, served->config->buckets[i]);
}

Served *
served_open(Loop *loop, const Config *config)
{
	Served	   *served = palloc0(sizeof(Served));

	served->loop = loop;
	served->config = config;
	served->all = limits_new(clock_us, loop);
	served->timer = loop_timer_new(loop, on_time, served->all);
	served->node = limit_new_root(served->all, "node", config->concurrency);
	served->of_types = type_limits_new(served->node);
	open_tables(served);
	return served;
}

void
served_add_handlers(Served *served, Policies *policies, Execute *execute)
{
	const Config *config = served->config;

	served->policies = policies;
	policies_on(policies, POLICIES_CHANGED, set_bucket_limits, served);
	served->nhandlers = config->nhandlers;
	served->handlers = palloc(config->nhandlers * sizeof(Handler *));
	for (int i = 0; i < config->nhandlers; i++)
	{
		served->handlers[i] = handler_new(config->handlers[i], policies, served->node);
		execute_add_handler(execute, served->handlers[i]);
	}
}

void
served_reload(Served *served, const Config *config)
{
	served->config = config;
	limit_set_max(served->node, config->concurrency);
	for (int i = 0; i < served->nhandlers; i++)
		handler_reload(served->handlers[i], config->handlers[i]);
}

/*
 * The freed slots need no report: the database knows that an ended node holds
 * none.
 */
static void
ignore_freed(void *arg, Limit *limit, int freed, bool is_wanted)
{
}

void
served_free(Served *served)
{
	for (int i = 0; i < served->ntables; i++)
		table_free(served->tables[i]);
	for (int i = 0; i < served->nhandlers; i++)
		handler_free(served->handlers[i]);
	limits_take_freed(served->all, ignore_freed, NULL);
	type_limits_free(served->of_types);
	for (int i = 0; i < served->ntables; i++)
		limit_free(served->buckets[i].limit);
	limit_free(served->node);
	loop_timer_free(served->timer);
	limits_free(served->all);
	pfree(served->tables);
	pfree(served->buckets);
	pfree(served->handlers);
	pfree(served);
}
