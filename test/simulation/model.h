/*-------------------------------------------------------------------------
 *
 * model.h
 *		What the functions of the extension do, on tables in memory.
 *
 * The model knows the functions that a sidecar calls.  It names any other call, and
 * refuses it as an older extension would.  It has no functions that policies name.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SIM_MODEL_H
#define SIM_MODEL_H

#include "server.h"

#define MODEL_ADDED 400			/* by applications */
#define MODEL_FLOOD 150			/* by a flood of urgent tasks */
#define MODEL_TASKS 750			/* schedules add the others */
#define MODEL_SCHEDULES 3
#define MODEL_TYPES 3
#define MODEL_BUCKETS 2
#define MODEL_SIZE 4			/* bytes of the data of each task: {} */

/* A schedule gives its tasks a context, too. */
#define MODEL_SCHEDULED_SIZE 66

extern const char *const model_types[MODEL_TYPES];
extern const char *const model_buckets[MODEL_BUCKETS];

typedef enum Status
{
	ROW_WAITING,
	ROW_SUBMITTED,
	ROW_PROCESSING,
	ROW_ERROR,					/* this and those below: nobody works on it */
	ROW_DONE,
	ROW_FAILED,
	ROW_CANCELLED,
	ROW_DELETED
} Status;

typedef enum Rule
{
	RULE_RETRY,
	RULE_ERROR,
	RULE_FAIL,
	RULE_IGNORE
} Rule;

/* A row of the table of tasks. */
typedef struct Row
{
	int			number;
	uint8		id[16];
	int64		version;
	Status		status;
	int			type;
	int			bucket;
	int			priority;
	int			tries;
	bool		queued;
	int64		next_us;		/* by the database's clock, as those below */
	int64		runnable_us;	/* SUBMITTED since then */
	int64		created_us;
	int64		expires_us;		/* 0: never */
	int64		deadline_us;
	int64		grabbed_us;
	int64		incarnation;	/* 0: none */
	int64		token;			/* 0: none */
	Rule		rule;
	int			padding;		/* bytes of its data beside {} */
	int64		cancel;			/* version that a person wants to cancel; -1:
								 * none */
	bool		is_scheduled;	/* a schedule has added it */
	int			size;			/* as triggers have it */
} Row;

/* is_ring: triggers come through shared memory, else by notifications. */
extern void model_begin(bool is_ring);

/*
 * Executes a call of the session at this moment.  NULL without a state: the session
 * waits for triggers.
 */
extern PGresult *model_call(Session *session, const ServerCall *call, const char **state) MUSTCHECK;

/* Undoes what was not durable. */
extern void model_crash(void);

/* The database's clock. */
extern int64 model_clock_us(void);
extern void model_set_clock(int64 by_us);

/* How far it is behind the latest time that it ever had. */
extern int64 model_behind_us(void);

/* ---- applications and people ---- */

/* False: there is no room for another task of an application. */
extern bool model_add_task(void);

/* The same for a flood, whose tasks are of that type and bucket, and mostly urgent. */
extern bool model_add_to_flood(int type, int bucket);
extern void model_cancel(int number);
extern void model_cancel_any(void);

/*
 * A transaction locks some rows for that time; or a row of the next grab of several,
 * whose session then ends; or all such transactions end.
 */
extern void model_lock_tasks(int64 us);
extern void model_lock_at_grab(int64 us);
extern void model_unlock_tasks(void);

/* Lets a task in ERROR run again. */
extern void model_resume(int number);
extern void model_resume_errors(void);

/* Pauses it, or ends its pause. */
extern void model_pause_type(int type);
extern void model_pause_bucket(int bucket);
extern void model_pause_any(void);
extern void model_resume_types(void);

/* At the begin: types whose tasks rise. */
extern void model_choose_agings(void);

/* -1: its policy does not say. */
extern void model_set_aging(int type, int64 us);
extern void model_change_any_aging(void);

/* After so long a task rises by one priority; 0: never. */
extern int64 model_aging_us(int type);

/* The shortest of all; 0: no task rises. */
extern int64 model_shortest_aging_us(void);

/* At the begin: limits of the cluster, and of each node for the whole run. */
extern void model_choose_limits(void);

/* Rates of both kinds, for the whole run. */
extern void model_choose_rates(void);

/* A limit of the cluster is set, changed or dropped; and in the end none is 0. */
extern void model_change_limit(void);
extern void model_open_limits(void);

/* A schedule's rule for occurrences that nobody added in time. */
typedef enum Missed
{
	MISSED_SKIP,
	MISSED_ONCE,
	MISSED_ALL,
	MISSED_COUNT
} Missed;

typedef struct ScheduleTerms
{
	int64		period_us;
	Missed		missed;
	int			missed_limit;
	int			type;
	int			bucket;
	int			priority;
	int64		expires_us;		/* after the occurrence; 0: never */
} ScheduleTerms;

/* At the begin: schedules for the whole run. */
extern void model_choose_schedules(void);
extern void model_add_schedule(int number, const ScheduleTerms *terms);

/* NULL: there is none. */
extern const ScheduleTerms *model_schedule(int number);
extern bool model_has_schedules(void);

/* By the database's clock; -1: it is paused. */
extern int64 model_schedule_next_us(int number);
extern void model_pause_schedule(int number, bool is_paused);
extern void model_pause_any_schedule(void);
extern void model_pause_schedules(bool is_paused);

/* Triggers are lost and doubled, in so many of a thousand cases. */
extern void model_disturb_triggers(int lost, int doubled);

/* ---- for the checks ---- */

extern int	model_count(void);

/* It may not start any more. */
extern bool model_has_expired(const Row *row);
extern const Row *model_row(int number);

/* NULL: no task has that id. */
extern Row *model_find(const void *id);

/* A period may have that many starts, and a burst at once. */
typedef struct ModelRate
{
	int			starts;			/* 0: any number */
	int64		period_us;
	int			burst;
} ModelRate;

typedef struct ModelLimit
{
	const char *name;
	int			most;			/* in the cluster; -1: any number */
	int			of_node;		/* on each node */
	int64		since_us;		/* by the world's clock; of most */
	ModelRate	rate;			/* in the cluster, for the whole run */
	ModelRate	rate_of_node;
} ModelLimit;

/* False: that limit, of so many, does not cover the type. */
extern bool model_limit(int limit, int type, ModelLimit *found);
extern int	model_limits(void);
extern const char *model_status_name(Status status);

#endif							/* SIM_MODEL_H */
