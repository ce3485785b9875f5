/*-------------------------------------------------------------------------
 *
 * calls.h
 *		All SQL that the sidecar sends, but for lib, and the columns that come back.
 *
 * The sidecar calls functions of the extension and touches no table.  The
 * texts are constants; everything that varies is a parameter.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CALLS_H
#define TWT_CALLS_H

#include "config/config.h"
#include "pg/statement.h"
#include "pg/wire.h"

/* types: once per connection, before the first next_triggers */
extern const PgStatement call_take_types;

/* buckets, max_triggers, wait_ms */
extern const PgStatement call_next_triggers;
enum
{
	TRIGGERS_ID,
	TRIGGERS_VERSION,
	TRIGGERS_TYPE,
	TRIGGERS_PRIORITY,
	TRIGGERS_SIZE,
	TRIGGERS_BUCKET,
	TRIGGERS_DUE,				/* microseconds since 1970, or null */
	TRIGGERS_SWEEP,
	TRIGGERS_NODE_GONE
};

extern const PgStatement call_queue_kind;
extern const PgStatement call_listen;
extern const PgStatement call_late_commits; /* buckets */
extern const PgStatement call_listen_cancels;
extern const PgStatement call_listen_config;
extern const PgStatement call_listen_slots;

/* ids, versions, incarnation, token, timeouts_ms, stuck, types, buckets, places */
extern const PgStatement call_grab;
extern const PgStatement call_grab_bare;	/* data, payload, context: NULL */

/* ids, versions, incarnation, token */
extern const PgStatement call_resolve_grab;
extern const PgStatement call_resolve_grab_bare;
enum
{
	GRAB_ID,
	GRAB_VERSION,				/* null: refused by a limit of the cluster */
	GRAB_TYPE,					/* the limit's name, if refused */
	GRAB_SUB_TYPE,
	GRAB_BUCKET,
	GRAB_PRIORITY,
	GRAB_TRIES,					/* for a refusal: milliseconds until the next
								 * question, or null */
	GRAB_GRABBED,				/* a time; for a refusal: when to ask again */
	GRAB_DATA,					/* jsonb */
	GRAB_PAYLOAD,
	GRAB_CONTEXT,				/* jsonb */
	GRAB_KEY,
	GRAB_PLACE,					/* null: not known */
	GRAB_RUNNABLE				/* a time, or null */
};

/* -> the limits of the database */
extern const PgStatement call_read_limits;
enum
{
	LIMITS_PATTERN,
	LIMITS_IS_SHARED,
	LIMITS_CONCURRENCY,			/* -1: none */
	LIMITS_STRETCH,
	LIMITS_STRETCH_PRIORITY,
	LIMITS_RATE,				/* 0: none */
	LIMITS_PER_US,
	LIMITS_BURST
};

/* names, freed, wanted (t or f), incarnation */
extern const PgStatement call_offer_slots;
enum
{
	OFFER_NAME,
	OFFER_TURNS					/* null: ask again */
};

extern const PgStatement call_clean_slots;

/* function, role, ids, versions, incarnation, token, timeouts_ms, stuck, types,
 * buckets, retry, places, grabbed */
extern const PgStatement call_execute;
enum
{
	EXECUTE_ID,
	EXECUTE_VERSION,
	EXECUTE_RESULT,
	EXECUTE_MESSAGE,
	EXECUTE_TRIES,
	EXECUTE_TYPE,
	EXECUTE_WAIT_US				/* null: not known */
};

/* a statement_timeout, as text */
extern const PgStatement call_set_timeout;

/* incarnation */
extern const PgStatement call_take_cancels;
enum
{
	CANCELS_ID,
	CANCELS_VERSION,
	CANCELS_IS_OURS,
	CANCELS_WHY
};

/* pid */
extern const PgStatement call_cancel_backend;
extern const PgStatement call_terminate_backend;

/* ids, versions, results, delays_ms, messages, incarnation, token, grabs,
 * places, retries (JSON, or null), ask */
extern const PgStatement call_finish;

/* ids, versions, incarnation, token -> ids only */
extern const PgStatement call_resolve_finish;
enum
{
	FINISH_ID,
	FINISH_STATUS,				/* null: DONE */
	FINISH_DELAY_MS
};

/* bucket, per_type, skip, share, shares, most */
extern const PgStatement call_sweep;
enum
{
	SWEEP_ID,
	SWEEP_VERSION,
	SWEEP_TYPE,
	SWEEP_PRIORITY,
	SWEEP_SIZE,
	SWEEP_PLACE
};

/* node -> the rows of twtasks_internal.read_policies() */
extern const PgStatement call_policies;
enum
{
	POLICIES_KIND,
	POLICIES_NAME,
	POLICIES_TIMEOUT_MS,
	POLICIES_STUCK,
	POLICIES_ASKS_STUCK,
	POLICIES_AGING_MS,
	POLICIES_MAX_TRIES,			/* 0: a function decides; null: not set */
	POLICIES_RUNS_HERE,			/* and it is not paused */
	POLICIES_CONCURRENCY		/* a bucket's */
};

/*
 * Add the buckets of the configuration, or the types of its handlers, as one
 * parameter.
 */
extern void calls_add_buckets(WireParams *params, const Config *config);
extern void calls_add_types(WireParams *params, const Config *config);

/* addresses */
extern const PgStatement call_tell_addresses;

/* name, lease_ms, environment, buckets, types */
extern const PgStatement call_start_node;
enum
{
	START_INCARNATION,			/* null: refused */
	START_REFUSAL				/* why */
};

/*
 * The handler's function as execute_tasks() takes it, with its argument if that is an
 * array; palloc'd.  NULL: it has no function.
 */
extern char *calls_function(const HandlerConfig *handler);

/*
 * Adds two parameters: the functions of all handlers, and their roles.  A
 * handler without one has a null.
 */
extern void calls_add_functions(WireParams *params, const Config *config);

/* functions, roles -> those that cannot be called */
extern const PgStatement call_check_handlers;
enum
{
	HANDLERS_PLACE,				/* in the arrays, from 1 */
	HANDLERS_FAULT
};

/* incarnation, faults */
extern const PgStatement call_note_faults;

/* incarnation, again_ms, claim -> alive, is_held, is_leader, place, nodes, clock, ahead_us */
extern const PgStatement call_tick;
enum
{
	TICK_ALIVE,
	TICK_IS_HELD,
	TICK_IS_LEADER,
	TICK_PLACE,
	TICK_NODES,
	TICK_CLOCK,					/* a time */
	TICK_AHEAD_US,
	TICK_HAS_WORK,
	TICK_NEXT_MS,
	TICK_LOOK_MS
};

/* incarnation */
extern const PgStatement call_end_node;

/* -> promoted, next_ms */
extern const PgStatement call_promote;

/* -> next_ms */
extern const PgStatement call_duties;
enum
{
	PROMOTE_PROMOTED,
	PROMOTE_NEXT_MS
};

/* whole_table -> retried, errors, failed, next_ms */
extern const PgStatement call_recover;
enum
{
	RECOVER_RETRIED,
	RECOVER_ERRORS,
	RECOVER_FAILED,
	RECOVER_NEXT_MS
};

/* -> added, missed, failed, next_ms */
extern const PgStatement call_schedules;
enum
{
	SCHEDULES_ADDED,
	SCHEDULES_MISSED,
	SCHEDULES_FAILED,
	SCHEDULES_NEXT_MS
};

/* incarnation, at (us since 1970), length_ms, buckets, types, counts, waits, runs */
extern const PgStatement call_note_flow;

/* ids, versions, percents, notes -> reports in the database */
extern const PgStatement call_note_progress;

extern const PgStatement call_expire;
extern const PgStatement call_partitions;
extern const PgStatement call_clean;
extern const PgStatement call_vacuum;	/* -> next_ms */

/* -> errors, stuck, is_news */
extern const PgStatement call_monitor;
enum
{
	MONITOR_ERRORS,
	MONITOR_STUCK,
	MONITOR_IS_NEWS
};

/* -> how many incidents are open */
extern const PgStatement call_judge;

#endif							/* TWT_CALLS_H */
