/*-------------------------------------------------------------------------
 *
 * sidecar.c
 *		The parts of the sidecar put together, from start to orderly end.
 *
 * A turn of the loop collects events.  At its end on_turn() acts on them in the order
 * of a task's life: it requests sweeps, grabs tasks, and stores outcomes.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "api/health.h"
#include "base/log.h"
#include "base/sdnotify.h"
#include "check/faults.h"
#include "execute/execute.h"
#include "finish/finish.h"
#include "grab/grab.h"
#include "listen/listeners.h"
#include "node/duties.h"
#include "node/policies.h"
#include "notify/notify.h"
#include "observed.h"
#include "queue/feed.h"
#include "queue/sweep.h"
#include "served.h"
#include "sidecar.h"
#include "slots/limit_reader.h"
#include "slots/offers.h"
#include "table/tables.h"
#include "zookeeper/election.h"

/* Time for the outcomes of tasks that the end of the drain gives back. */
#define REPORT_US SECONDS_TO_US(2)

typedef enum SidecarState
{
	SIDECAR_RUNNING,
	SIDECAR_DRAINING,			/* starts nothing new */
	SIDECAR_REPORTING,			/* sends the last outcomes of the drain */
	SIDECAR_ENDING				/* tells that the node ends, and waits for it */
} SidecarState;

struct Sidecar
{
	SidecarState state;
	Loop	   *loop;
	Config	   *config;
	Config	   *first_config;	/* kept to the end, for parts that use it */
	const char *config_trouble; /* why the file is not in force; NULL: it is */

	/* 1 add, in a process of its own */
	Listeners  *listeners;

	/* 3 queue */
	Feed	   *feed;
	Sweep	   *sweep;

	/* 4 table, and the slots that are booked before a grab */
	Served	   *served;
	Tables	   *tables;
	LimitReader *limit_reader;
	Offers	   *offers;

	/* 5 grab */
	Grab	   *grab;
	LostGrabs  *lost;

	/* 6 execute */
	Execute    *execute;
	Cancels    *cancels;
	Faults	   *faults;

	/* 7 finish */
	Finish	   *finish;

	/* the node */
	Node	   *node;
	Election   *election;		/* NULL: the database chooses the leader */
	Policies   *policies;
	Duties	   *duties;
	Observed   *observed;
	Notify	   *notify;			/* in a process of its own */
	Health	   *health;			/* NULL: not configured */
	LoopTimer  *drain_end;
};

static int
running(const Sidecar *sidecar)
{
	return grab_under_way(sidecar->grab) + execute_running(sidecar->execute);
}

/* ---- events from the database, in the order of the steps ---- */

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
on_begin(void *arg)
{
	Sidecar    *sidecar = arg;

	sweep_want_all(sidecar->sweep);
	duties_begin(sidecar->duties);
	cancels_want(sidecar->cancels);
	faults_look(sidecar->faults);
	sdnotify_ready();
}

/* The incarnation is gone: its running tasks no longer belong to this node. */
static void
on_gone(void *arg)
{
	Sidecar    *sidecar = arg;

	grab_forget(sidecar->grab);
	lost_grabs_forget(sidecar->lost);
	finish_gone(sidecar->finish);
	execute_gone(sidecar->execute);
	listeners_gone(sidecar->listeners);
}

static bool
is_idle(void *arg)
{
	Sidecar    *sidecar = arg;

	return running(sidecar) == 0 && finish_pending(sidecar->finish) == 0;
}

static void
on_leader(void *arg, bool is_leader)
{
	if (is_leader)
		duties_begin(((Sidecar *) arg)->duties);
}

/* Looks for the tasks of the grabs that found nothing. */
static void
on_return(void *arg)
{
	sweep_want_all(((Sidecar *) arg)->sweep);
}

static void
on_clock(void *arg)
{
	duties_begin(((Sidecar *) arg)->duties);
}

static void
on_config(void *arg)
{
	policies_read(((Sidecar *) arg)->policies);
}

static void
on_look(void *arg, bool has_work, int64 next_us)
{
	Sidecar    *sidecar = arg;

	sweep_set_idle(sidecar->sweep, !has_work);
	duties_look(sidecar->duties, has_work, next_us);
	faults_tick(sidecar->faults, pg_silent());
}

/* ---- the end of a turn ---- */

static void
on_left(void *arg)
{
	loop_stop(((Sidecar *) arg)->loop);
}

static void
on_ended(void *arg)
{
	election_end(((Sidecar *) arg)->election, on_left, arg);
}

static void
end(Sidecar *sidecar)
{
	sidecar->state = SIDECAR_ENDING;
	observed_end(sidecar->observed);
	node_end(sidecar->node, on_ended, sidecar);
}

/* The drain ends when no task runs, all is reported, and the helpers have ended. */
static void
look_at_drain(Sidecar *sidecar)
{
	if ((sidecar->state == SIDECAR_DRAINING || sidecar->state == SIDECAR_REPORTING) &&
		is_idle(sidecar) && listeners_are_down(sidecar->listeners) && notify_is_down(sidecar->notify) &&
		feed_is_idle(sidecar->feed) && tracer_end(observed_tracer(sidecar->observed)))
		end(sidecar);
}

/* A grab sends the policies along, so it waits until they are read. */
static void
pump_grabs(Sidecar *sidecar)
{
	if (!policies_are_read(sidecar->policies))
		return;
	grab_pump(sidecar->grab);
	execute_pump(sidecar->execute);
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
	served_pump(sidecar->served);
	listeners_pump(sidecar->listeners);
	notify_pump(sidecar->notify);
	look_at_drain(sidecar);
}

/* ---- health ---- */

static void
on_health(void *arg, HealthState *state)
{
	Sidecar    *sidecar = arg;

	state->broken = faults_text(sidecar->faults);
	state->config = sidecar->config_trouble;
	state->trouble = sidecar->state != SIDECAR_RUNNING ? "stopping" : observed_trouble(sidecar->observed);
	state->listeners = listeners_first_trouble(sidecar->listeners);
	state->helpers = faults_of_helpers(sidecar->faults);
	if (state->trouble == NULL && faults_are_all(sidecar->faults))
		state->trouble = state->broken;
	state->incarnation = node_incarnation(sidecar->node);
	state->is_leader = node_is_leader(sidecar->node);
	state->running = running(sidecar);
}

static const char *
why_not_notify(void *arg)
{
	return node_is_leader(((Sidecar *) arg)->node) ? NULL : "this node does not lead";
}

/* ---- open, reload, drain, free ---- */

static void
on_drain_end(void *arg)
{
	Sidecar    *sidecar = arg;

	if (sidecar->state == SIDECAR_REPORTING)
		end(sidecar);
	if (sidecar->state == SIDECAR_ENDING)
		return;
	if (running(sidecar) > 0)
		log_line(TWT_LOG_WARN, "drain",
				 "%d tasks are still running: they are ended and follow their stuck rule", running(sidecar));
	execute_end(sidecar->execute);
	sidecar->state = SIDECAR_REPORTING;
	loop_timer_start(sidecar->drain_end, finish_pending(sidecar->finish) + grab_under_way(sidecar->grab) > 0 ? REPORT_US : 0);
}

void
sidecar_drain(Sidecar *sidecar)
{
	if (sidecar->state != SIDECAR_RUNNING)
	{
		log_line(TWT_LOG_WARN, "drain", "told twice: stopping at once");
		loop_stop(sidecar->loop);
		return;
	}
	sidecar->state = SIDECAR_DRAINING;
	log_line(TWT_LOG_INFO, "drain", "stopping: %d tasks are running", running(sidecar));
	sdnotify_stopping();
	if (sidecar->health != NULL)
		health_stop_listening(sidecar->health);
	listeners_stop(sidecar->listeners);
	notify_stop(sidecar->notify);
	feed_stop(sidecar->feed);
	grab_stop(sidecar->grab);
	sweep_stop(sidecar->sweep);
	duties_stop(sidecar->duties);
	execute_drain(sidecar->execute);
	loop_timer_start(sidecar->drain_end, sidecar->config->drain_us);
	loop_want_turn(sidecar->loop);
}

/* Opens the slots and limits that the steps share. */
static void
open_limits(Sidecar *sidecar)
{
	sidecar->limit_reader = limit_reader_open(sidecar->policies, sidecar->node,
											  served_type_limits(sidecar->served),
											  sweep_want_all, sidecar->sweep);
	sidecar->offers = offers_open(sidecar->loop, sidecar->config, sidecar->node,
								  served_all_limits(sidecar->served),
								  served_type_limits(sidecar->served));
	offers_on_unknown(sidecar->offers, limit_reader_miss, sidecar->limit_reader);
}

static void
open_execute(Sidecar *sidecar)
{
	RunnerParts parts = {
		.loop = sidecar->loop,
		.config = sidecar->config,
		.node = sidecar->node, .clock = node_clock(sidecar->node),
		.finish = sidecar->finish,
		.offers = sidecar->offers,
		.metrics = observed_metrics(sidecar->observed),
		.progress = observed_progress(sidecar->observed),
		.spans = tracer_spans(observed_tracer(sidecar->observed)),
		.lost = sidecar->lost
	};

	sidecar->execute = execute_open(&parts);
	served_add_handlers(sidecar->served, sidecar->policies, sidecar->execute);
	sidecar->cancels = cancels_open(sidecar->loop, sidecar->node, execute_cancel, sidecar->execute);
}

static void
open_grab(Sidecar *sidecar)
{
	GrabParts	parts = {
		.loop = sidecar->loop,
		.config = sidecar->config,
		.node = sidecar->node,
		.offers = sidecar->offers,
		.execute = sidecar->execute,
		.finish = sidecar->finish,
		.lost = sidecar->lost,
		.metrics = observed_metrics(sidecar->observed),
		.next = served_next,
		.is_ready = served_is_ready,
		.source = sidecar->served,
		.on_doubt = sweep_want_all,
		.doubt_arg = sidecar->sweep
	};

	sidecar->grab = grab_open(&parts);
}

/* Each step is opened after the steps that it passes tasks to. */
static void
open_steps(Sidecar *sidecar)
{
	Loop	   *loop = sidecar->loop;
	Config	   *config = sidecar->config;
	Table	  **tables = served_tables(sidecar->served);
	FeedTargets targets;

	sidecar->tables = tables_open(loop, sidecar->policies, tables, config->nbuckets);
	sidecar->sweep = sweep_open(loop, config, sidecar->node, sidecar->policies, tables);
	open_limits(sidecar);
	sidecar->finish = finish_open(loop, config, sidecar->node);
	finish_measure(sidecar->finish, observed_metrics(sidecar->observed));
	sidecar->lost = lost_grabs_open(loop, config, sidecar->node, sidecar->finish);
	open_execute(sidecar);
	open_grab(sidecar);
	policies_on(sidecar->policies, POLICIES_CHANGED, sweep_want_all, sidecar->sweep);
	sidecar->duties = duties_open(loop, config, sidecar->node, sweep_want_all, sidecar->sweep);
	duties_measure(sidecar->duties, observed_metrics(sidecar->observed));
	sidecar->faults = faults_open(loop, config, sidecar->node, execute_trouble, sidecar->execute);
	finish_on_unfit(sidecar->finish, faults_note, sidecar->faults);
	targets = (FeedTargets)
	{
		sidecar->tables, sidecar->sweep, sidecar->duties, sidecar->node
	};
	sidecar->feed = feed_open(loop, config, &targets);
}

Sidecar *
sidecar_open(Loop *loop, Config *config)
{
	static const NodeEvents node_events = {on_begin, on_gone, is_idle, on_leader, on_return, on_clock,
	on_config, on_look, on_cancel, on_triggers, on_slots};
	Sidecar    *sidecar = palloc0(sizeof(Sidecar));
	NotifyOwner owner = {.why_not = why_not_notify, .arg = sidecar};

	sidecar->loop = loop;
	sidecar->config = sidecar->first_config = config;
	sidecar->served = served_open(loop, config);
	sidecar->node = node_open(loop, config, &node_events, sidecar);
	sidecar->election = election_open(loop, config, sidecar->node);
	sidecar->policies = policies_open(loop, config, sidecar->node);
	sidecar->observed = observed_open(loop, config, sidecar->node, sidecar->served);
	served_set_metrics(sidecar->served, observed_metrics(sidecar->observed));
	open_steps(sidecar);
	sidecar->listeners = listeners_open(loop, config, sidecar->node);
	faults_watch(sidecar->faults, listeners_add_troubles, sidecar->listeners);
	faults_watch(sidecar->faults, election_add_trouble, sidecar->election);
	faults_watch(sidecar->faults, feed_add_troubles, sidecar->feed);
	faults_watch(sidecar->faults, execute_add_crashes, sidecar->execute);
	owner.pg = node_pg(sidecar->node);
	sidecar->notify = notify_open(loop, &config->notify, &owner);
	faults_watch(sidecar->faults, notify_add_troubles, sidecar->notify);
	faults_watch(sidecar->faults, tracer_add_troubles, observed_tracer(sidecar->observed));
	duties_on_judged(sidecar->duties, notify_judged, sidecar->notify);
	sidecar->health = health_open(loop, config->listen, config->node, on_health, sidecar);
	health_on_metrics(sidecar->health, observed_write, sidecar->observed);
	sidecar->drain_end = loop_timer_new(loop, on_drain_end, sidecar);
	sdnotify_watch_open(loop);
	loop_on_turn(loop, on_turn, sidecar);
	return sidecar;
}

void
sidecar_reload(Sidecar *sidecar, Config *config)
{
	Config	   *old = sidecar->config;

	sidecar->config = config;
	served_reload(sidecar->served, config);
	execute_reload(sidecar->execute);
	faults_look(sidecar->faults);
	policies_set_config(sidecar->policies, config);
	sweep_reload(sidecar->sweep, config);
	listeners_reload(sidecar->listeners, config);
	election_reload(sidecar->election, config);
	feed_reload(sidecar->feed, config);
	notify_reload(sidecar->notify, &config->notify);
	tracer_reload(observed_tracer(sidecar->observed), config);
	if (old != sidecar->first_config)
		options_free(&config_section, old);
	loop_want_turn(sidecar->loop);
}

void
sidecar_note_config(Sidecar *sidecar, const char *trouble)
{
	sidecar->config_trouble = trouble;
	faults_note_config(sidecar->faults, trouble);
}

/* Closes the source of tasks first, then the steps, then the parts that they share. */
void
sidecar_free(Sidecar *sidecar)
{
	loop_off_turn(sidecar->loop, on_turn, sidecar);
	health_close(sidecar->health);
	listeners_free(sidecar->listeners);
	feed_close(sidecar->feed);
	grab_free(sidecar->grab);
	execute_free(sidecar->execute);
	lost_grabs_free(sidecar->lost);
	finish_free(sidecar->finish);
	election_free(sidecar->election);
	node_free(sidecar->node);	/* its pending answers go to the next three */
	notify_free(sidecar->notify);
	offers_free(sidecar->offers);
	limit_reader_free(sidecar->limit_reader);
	policies_free(sidecar->policies);
	tables_free(sidecar->tables);
	sweep_free(sidecar->sweep);
	duties_free(sidecar->duties);
	cancels_free(sidecar->cancels);
	faults_free(sidecar->faults);
	observed_free(sidecar->observed);
	served_free(sidecar->served);
	loop_timer_free(sidecar->drain_end);
	sdnotify_watch_close();
	if (sidecar->config != sidecar->first_config)
		options_free(&config_section, sidecar->first_config);
	options_free(&config_section, sidecar->config);
	pfree(sidecar);
}
