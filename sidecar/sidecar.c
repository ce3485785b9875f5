/*-------------------------------------------------------------------------
 *
 * sidecar.c
 *		The parts of the sidecar put together, from start to orderly end.
 *
 * What happens in a turn of the loop is collected, and acted on at its end in
 * the order of a task's life: sweeps are asked for, triggers become grabs,
 * outcomes become finishes.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "api/health.h"
#include "base/log.h"
#include "base/sdnotify.h"
#include "execute/execute.h"
#include "execute/handler.h"
#include "execute/process/leftovers.h"
#include "check/faults.h"
#include "finish/finish.h"
#include "grab/grab.h"
#include "node/cancels.h"
#include "node/duties.h"
#include "node/node.h"
#include "node/policies.h"
#include "queue/feed.h"
#include "queue/sweep.h"
#include "sidecar.h"
#include "slots/limit_reader.h"
#include "slots/offers.h"
#include "slots/slots.h"
#include "table/table.h"
#include "table/tables.h"

/*
 * A type's triggers may take this part of a table: so many types at once can
 * be flooded, each with more than it has slots for, before the others find no
 * room.
 */
#define TYPE_SHARE 20

/* Of the configuration. */
typedef struct Bucket
{
	Sidecar    *sidecar;
	Limit	   *limit;			/* across those of types */
} Bucket;

struct Sidecar
{
	Loop	   *loop;
	Config	   *config;
	Config	   *first_config;	/* what needs a restart is looked up there */
	Limits	   *all_limits;
	Limit	   *slots_of_node;
	TypeLimits *limits;			/* of the database */
	LimitReader *limit_reader;
	Offers	   *offers;
	LoopTimer  *slots_timer;	/* when time makes room */
	Handler   **handlers;		/* those of the configuration */
	int			nhandlers;
	Bucket	   *buckets;
	Table	  **tables;			/* one per bucket */
	int			ntables;
	Tables	   *all_tables;
	int			turn;			/* which table is asked next */
	Feed	   *feed;
	Node	   *node;
	Policies   *policies;
	Grab	   *grab;
	Execute    *execute;
	Finish	   *finish;
	Sweep	   *sweep;
	Duties	   *duties;
	Cancels    *cancels;
	Faults	   *faults;
	Health	   *health;			/* NULL: not configured */
	LoopTimer  *watchdog;
	LoopTimer  *drain_end;
	bool		is_draining;
	bool		is_ending;
};

static bool
resolve_type(void *arg, const char *type, Limit **limit, void **tag)
{
	const Bucket *bucket = arg;
	Sidecar    *sidecar = bucket->sidecar;
	const HandlerConfig *config = config_handler(sidecar->config, type);

	if (config == NULL)
		return false;
	*tag = sidecar->handlers[config->index];
	*limit = type_limits_leaf(sidecar->limits, type, handler_limit(*tag), bucket->limit);
	return true;
}

/* The buckets take turns; a pop in one table may make another ready. */
static TableEntry *
pop_any(Sidecar *sidecar, Table **table)
{
	for (int i = 0; i < sidecar->ntables; i++)
	{
		TableEntry *entry;

		*table = sidecar->tables[sidecar->turn++ % sidecar->ntables];
		entry = table_pop(*table);
		if (entry != NULL)
			return entry;
	}
	return NULL;
}

static bool
any_ready(void *arg)
{
	const Sidecar *sidecar = arg;

	for (int i = 0; i < sidecar->ntables; i++)
		if (table_ready(sidecar->tables[i]))
			return true;
	return false;
}

/* The next trigger that nobody grabs but us. */
static TableEntry *
next_entry(void *arg, Table **table)
{
	Sidecar    *sidecar = arg;

	do
	{
		TableEntry *entry;

		while ((entry = pop_any(sidecar, table)) != NULL)
			if (!execute_take(*table, entry))
				return entry;
	} while (any_ready(sidecar));
	return NULL;
}

static void
on_task(void *arg, Task *task)
{
	execute_task(((Sidecar *) arg)->execute, task);
}

static bool
on_refused(void *arg, const char *limit, int64 until_us)
{
	return offers_refused(((Sidecar *) arg)->offers, limit, until_us);
}

static void
on_doubt(void *arg)
{
	sweep_want_all(((Sidecar *) arg)->sweep);
}

static void
on_connected(void *arg)
{
	execute_doubt_all(((Sidecar *) arg)->execute);
}

static void
on_trigger(void *arg, int bucket, const Trigger *trigger)
{
	tables_push(((Sidecar *) arg)->all_tables, bucket, trigger);
}

static void
on_sweep(void *arg, int bucket)
{
	sweep_want(((Sidecar *) arg)->sweep, bucket);
}

static void
on_triggers(void *arg, const char *payload)
{
	feed_notify_read(((Sidecar *) arg)->feed, payload);
}

static void
on_slots(void *arg, const char *payload)
{
	offers_read(((Sidecar *) arg)->offers, payload);
}

static void
on_cancel(void *arg)
{
	cancels_want(((Sidecar *) arg)->cancels);
}

static void
on_due(void *arg, int64 unix_us)
{
	duties_due_at(((Sidecar *) arg)->duties, unix_us);
}

static void
on_node_gone(void *arg)
{
	Sidecar    *sidecar = arg;

	node_look(sidecar->node);
	duties_node_gone(sidecar->duties);
}

static void
on_begin(void *arg)
{
	Sidecar    *sidecar = arg;

	sweep_want_all(sidecar->sweep);
	duties_begin(sidecar->duties);
	cancels_want(sidecar->cancels);
	faults_look(sidecar->faults);
	sdnotify_ready();
}

/* Nothing that runs is ours any more. */
static void
on_gone(void *arg)
{
	Sidecar    *sidecar = arg;

	grab_forget(sidecar->grab);
	finish_forget(sidecar->finish);
	execute_gone(sidecar->execute);
}

static void
on_leader(void *arg, bool is_leader)
{
	if (is_leader)
		duties_begin(((Sidecar *) arg)->duties);
}

/* What was not to be taken, or refused before we knew, may be there to take. */
static void
on_policies(void *arg)
{
	Sidecar    *sidecar = arg;

	for (int i = 0; i < sidecar->ntables; i++)
	{
		LimitTerms	terms = {.max = policies_bucket_max(sidecar->policies, i)};

		limit_set_terms(sidecar->buckets[i].limit, &terms);
	}
	sweep_want_all(sidecar->sweep);
}

/* A node that is frozen and not gone takes the triggers of these with it. */
static void
on_revived(void *arg)
{
	sweep_want_all(((Sidecar *) arg)->sweep);
}

static void
on_clock(void *arg)
{
	duties_begin(((Sidecar *) arg)->duties);
}

static void
on_look(void *arg, bool has_work, int64 next_us)
{
	Sidecar    *sidecar = arg;

	sweep_set_idle(sidecar->sweep, !has_work);
	duties_look(sidecar->duties, has_work, next_us);
}

static void
on_config(void *arg)
{
	policies_read(((Sidecar *) arg)->policies);
}

static int
running(const Sidecar *sidecar)
{
	return grab_under_way(sidecar->grab) + execute_running(sidecar->execute);
}

static void
stop_loop(void *arg)
{
	loop_stop(((Sidecar *) arg)->loop);
}

/* The drain is over when nothing runs and everything is reported. */
static void
look_at_drain(Sidecar *sidecar)
{
	if (!sidecar->is_draining || sidecar->is_ending ||
		running(sidecar) > 0 || finish_pending(sidecar->finish) > 0)
		return;
	sidecar->is_ending = true;
	node_end(sidecar->node, stop_loop, sidecar);
}

/* Not before the policies are known that tasks are to be grabbed with. */
static void
pump_grabs(Sidecar *sidecar)
{
	if (!policies_are_read(sidecar->policies))
		return;
	grab_pump(sidecar->grab);
	execute_pump(sidecar->execute);
}

static void
on_slots_time(void *arg)
{
	limits_tick(((Sidecar *) arg)->all_limits);
}

static void
arm_slots_timer(Sidecar *sidecar)
{
	int64		next = limits_next_us(sidecar->all_limits);

	if (next >= 0)
		loop_timer_start(sidecar->slots_timer, next - loop_now_us(sidecar->loop));
	else
		loop_timer_stop(sidecar->slots_timer);
}

static void
on_turn(void *arg)
{
	Sidecar    *sidecar = arg;
	QueueKind	queue = feed_kind(sidecar->feed);

	duties_set_queue(sidecar->duties, queue);
	node_set_queue(sidecar->node, queue);
	sweep_pump(sidecar->sweep);
	pump_grabs(sidecar);
	feed_pump(sidecar->feed);
	finish_pump(sidecar->finish);
	cancels_pump(sidecar->cancels);
	faults_pump(sidecar->faults);
	offers_pump(sidecar->offers);
	arm_slots_timer(sidecar);
	look_at_drain(sidecar);
}

/* Why nothing new is run; NULL: all is well. */
static const char *
trouble(const Sidecar *sidecar)
{
	if (sidecar->is_draining)
		return "stopping";
	if (!pg_is_up(node_pg(sidecar->node)))
		return "no database";
	if (node_refusal(sidecar->node) != NULL)
		return node_refusal(sidecar->node);
	return node_may_start(sidecar->node) == 0 ? "no word from the database" : NULL;
}

static void
on_health(void *arg, HealthState *state)
{
	Sidecar    *sidecar = arg;

	state->trouble = trouble(sidecar);
	state->incarnation = node_incarnation(sidecar->node);
	state->is_leader = node_is_leader(sidecar->node);
	state->running = running(sidecar);
}

static void
on_watchdog(void *arg)
{
	Sidecar    *sidecar = arg;

	sdnotify_watchdog();
	loop_timer_start(sidecar->watchdog, sdnotify_watchdog_us());
}

static void
on_drain_end(void *arg)
{
	Sidecar    *sidecar = arg;

	if (sidecar->is_ending)
		return;
	log_line(TWT_LOG_WARN, "drain",
			 "%d tasks are still running: they are ended and follow their stuck rule",
			 running(sidecar));
	sidecar->is_ending = true;
	execute_end(sidecar->execute);
	node_end(sidecar->node, stop_loop, sidecar);
}

void
sidecar_drain(Sidecar *sidecar)
{
	if (sidecar->is_draining)
	{
		log_line(TWT_LOG_WARN, "drain", "told twice: stopping at once");
		loop_stop(sidecar->loop);
		return;
	}
	sidecar->is_draining = true;
	log_line(TWT_LOG_INFO, "drain", "stopping: %d tasks are running",
			 running(sidecar));
	sdnotify_stopping();
	if (sidecar->health != NULL)
		health_stop_listening(sidecar->health);
	feed_stop(sidecar->feed);
	grab_stop(sidecar->grab);
	sweep_stop(sidecar->sweep);
	duties_stop(sidecar->duties);
	execute_drain(sidecar->execute);
	loop_timer_start(sidecar->drain_end, sidecar->config->drain_us);
	loop_want_turn(sidecar->loop);
}

static void
open_tables(Sidecar *sidecar)
{
	int			look_ahead = sidecar->config->look_ahead;

	sidecar->ntables = sidecar->config->nbuckets;
	sidecar->tables = palloc(sidecar->ntables * sizeof(Table *));
	sidecar->buckets = palloc(sidecar->ntables * sizeof(Bucket));
	for (int i = 0; i < sidecar->ntables; i++)
	{
		Bucket	   *bucket = &sidecar->buckets[i];

		bucket->sidecar = sidecar;
		bucket->limit = limit_new(sidecar->config->buckets[i], 0, sidecar->slots_of_node);
		sidecar->tables[i] = table_new(look_ahead / sidecar->ntables,
									   Max(look_ahead / sidecar->ntables / TYPE_SHARE, 1),
									   resolve_type, bucket);
	}
}

static void
open_handlers(Sidecar *sidecar)
{
	Config	   *config = sidecar->config;

	sidecar->nhandlers = config->nhandlers;
	sidecar->handlers = palloc(config->nhandlers * sizeof(Handler *));
	for (int i = 0; i < config->nhandlers; i++)
	{
		sidecar->handlers[i] = handler_new(config->handlers[i], sidecar->policies,
										   sidecar->slots_of_node);
		execute_add_handler(sidecar->execute, sidecar->handlers[i]);
	}
}

static int64
slots_clock(void *arg)
{
	return loop_now_us(arg);
}

Sidecar *
sidecar_open(Loop *loop, Config *config)
{
	static const NodeEvents node_events = {on_begin, on_gone, on_leader, on_clock,
	on_config, on_look, on_cancel, on_triggers, on_slots};
	static const FeedEvents feed_events = {on_trigger, on_sweep, on_due, on_node_gone};
	static const GrabEvents grab_events = {next_entry, any_ready, on_task, on_refused, on_doubt,
	on_connected};
	Sidecar    *sidecar = palloc0(sizeof(Sidecar));

	leftovers_kill_orphans(loop);
	sidecar->loop = loop;
	sidecar->config = config;
	sidecar->first_config = config;
	sidecar->all_limits = limits_new(slots_clock, loop);
	sidecar->slots_of_node = limit_new_root(sidecar->all_limits, "node", config->concurrency);
	sidecar->limits = type_limits_new(sidecar->slots_of_node);
	sidecar->slots_timer = loop_timer_new(loop, on_slots_time, sidecar);
	open_tables(sidecar);
	sidecar->node = node_open(loop, config, &node_events, sidecar);
	sidecar->policies = policies_open(loop, config, sidecar->node);
	sidecar->all_tables = tables_open(loop, sidecar->policies, sidecar->tables, sidecar->ntables);
	sidecar->limit_reader = limit_reader_open(sidecar->policies, sidecar->node, sidecar->limits,
											  on_doubt, sidecar);
	sidecar->offers = offers_open(loop, config, sidecar->node, sidecar->all_limits,
								  sidecar->limits);
	offers_on_unknown(sidecar->offers, limit_reader_miss, sidecar->limit_reader);
	sidecar->finish = finish_open(loop, config, sidecar->node);
	sidecar->execute = execute_open(&(RunnerParts)
/**INDENT** Error@492: Unbalanced parens */
									{
		.loop = loop,
			.config = config,
			.node = sidecar->node,
			.finish = sidecar->finish,
			.offers = sidecar->offers
/**INDENT** Warning@498: Extra ) */
	});
	open_handlers(sidecar);
	sidecar->grab = grab_open(loop, config, sidecar->node, &grab_events, sidecar);
	sidecar->sweep = sweep_open(loop, config, sidecar->node, sidecar->policies,
								sidecar->tables);
	policies_on(sidecar->policies, POLICIES_CHANGED, on_policies, sidecar);
	sidecar->duties = duties_open(loop, config, sidecar->node, on_revived, sidecar);
	sidecar->cancels = cancels_open(loop, sidecar->node, execute_cancel, sidecar->execute);
	sidecar->faults = faults_open(loop, config, sidecar->node);
	sidecar->feed = feed_open(loop, config, &feed_events, sidecar);
	sidecar->health = health_open(loop, config->listen, config->node, on_health, sidecar);
	sidecar->drain_end = loop_timer_new(loop, on_drain_end, sidecar);
	sidecar->watchdog = loop_timer_new(loop, on_watchdog, sidecar);
	if (sdnotify_watchdog_us() > 0)
		loop_timer_start(sidecar->watchdog, 0);
	loop_on_turn(loop, on_turn, sidecar);
	return sidecar;
}

void
sidecar_reload(Sidecar *sidecar, Config *config)
{
	Config	   *old = sidecar->config;

	const char *option = config_needs_restart(old, config);

	if (option != NULL)
	{
		log_line(TWT_LOG_WARN, "config",
				 "not reloaded: a change of \"%s\" needs a restart", option);
		config_free(config);
		return;
	}

	sidecar->config = config;
	limit_set_max(sidecar->slots_of_node, config->concurrency);
	for (int i = 0; i < sidecar->nhandlers; i++)
		handler_reload(sidecar->handlers[i], config->handlers[i]);
	execute_reload(sidecar->execute);
	faults_look(sidecar->faults);
	policies_set_config(sidecar->policies, config);
	sweep_reload(sidecar->sweep, config);
	log_init(config->log.format, config->log.level, config->node);
	/* Many parts look at the first one to the end; at the others nobody does. */
	if (old != sidecar->first_config)
		config_free(old);
	log_line(TWT_LOG_INFO, "config", "reloaded");
	loop_want_turn(sidecar->loop);
}

static void
free_configs(Sidecar *sidecar)
{
	if (sidecar->config != sidecar->first_config)
		config_free(sidecar->first_config);
	config_free(sidecar->config);
}

/* Whoever has ended holds no slots: the database sees that by itself. */
static void
ignore_freed(void *arg, Limit *limit, int freed, bool is_wanted)
{
}

/* In the reverse order of a task's life. */
void
sidecar_free(Sidecar *sidecar)
{
	loop_off_turn(sidecar->loop, on_turn, sidecar);
	health_close(sidecar->health);
	feed_close(sidecar->feed);
	grab_free(sidecar->grab);
	execute_free(sidecar->execute);
	finish_free(sidecar->finish);
	node_free(sidecar->node);	/* its answers are for the next two */
	offers_free(sidecar->offers);
	limit_reader_free(sidecar->limit_reader);
	policies_free(sidecar->policies);
	tables_free(sidecar->all_tables);
	sweep_free(sidecar->sweep);
	duties_free(sidecar->duties);
	cancels_free(sidecar->cancels);
	faults_free(sidecar->faults);
	for (int i = 0; i < sidecar->ntables; i++)
		table_free(sidecar->tables[i]);
	for (int i = 0; i < sidecar->nhandlers; i++)
		handler_free(sidecar->handlers[i]);
	limits_take_freed(sidecar->all_limits, ignore_freed, NULL);
	type_limits_free(sidecar->limits);
	for (int i = 0; i < sidecar->ntables; i++)
		limit_free(sidecar->buckets[i].limit);
	limit_free(sidecar->slots_of_node);
	limits_free(sidecar->all_limits);
	loop_timer_free(sidecar->slots_timer);
	loop_timer_free(sidecar->drain_end);
	loop_timer_free(sidecar->watchdog);
	pfree(sidecar->tables);
	pfree(sidecar->buckets);
	pfree(sidecar->handlers);
	free_configs(sidecar);
	pfree(sidecar);
}
