/*-------------------------------------------------------------------------
 *
 * duties.c
 *		Periodic work that one node does for all nodes.
 *
 * Each duty is a row of the table below.  Duties that read much share a
 * connection of their own, open only while one runs, so that due tasks do not
 * wait behind them.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "node/duties.h"
#include "calls/calls.h"

typedef enum DutyId
{
	DUTY_PROMOTE,
	DUTY_SCHEDULES,
	DUTY_RECOVER,
	DUTY_RECOVER_ALL,
	DUTY_OTHERS,
	DUTY_EXPIRE,
	DUTY_PARTITIONS,
	DUTY_CLEAN,
	DUTY_SLOTS,
	DUTY_VACUUM,
	DUTY_MONITOR,
	DUTY_COUNT
} DutyId;

typedef enum DutyState
{
	DUTY_IDLE,
	DUTY_UNDER_WAY,
	DUTY_AGAIN					/* became due again while under way */
} DutyState;

typedef struct Duty
{
	Duties	   *duties;
	DutyId		id;
	DutyState	state;
	LoopTimer  *timer;
	int64		next_us;		/* loop time of the timer */
	int64		asked_us;
	bool		has_reason;		/* due by a reason, not by its period */
	bool		is_slow;		/* lost its last session, perhaps by its own
								 * fault */
	int64		rest_us;		/* until the next run by the leader, by the
								 * last answer; 0: a period, or longer */
} Duty;

typedef enum DutyTrait
{
	BY_ANYONE = 1,				/* any node does it when it has a reason */
	WHEN_WORK = 2,				/* periodic only while there is work */
	WHEN_DUE = 4,				/* handles tasks that have become due */
	READS_MUCH = 8
} DutyTrait;

typedef struct DutyKind
{
	const PgStatement *statement;
	int64		period_us;		/* between two runs by the leader */
	int			traits;			/* DutyTraits */

	/*
	 * Returns the microseconds until the next run.  -1 or no function: a
	 * period.
	 */
	int64		(*answer) (Duty *duty, const PGresult *result);
} DutyKind;

struct Duties
{
	Loop	   *loop;
	Node	   *node;
	Pg		   *pg;				/* for duties that read much */
	LoopFn		on_revived;
	void	   *arg;
	Metrics    *metrics;		/* NULL: nobody counts */
	LoopFn		on_judged;		/* NULL: nobody asks */
	void	   *judged_arg;
	QueueKind	queue;
	bool		is_stopped;
	bool		has_work;		/* as far as we know */
	char		cleaned[NAMEDATALEN];	/* the history last cleaned */
	Duty		each[DUTY_COUNT];
};

/* A duty takes at most one part in SHARE_OF_TIME of the time, */
#define SHARE_OF_TIME 100

/* but it never waits for more than this many of its periods. */
#define PERIODS_MAX 6

/* Schedules are due at whole minutes. */
#define MINUTE_US SECONDS_TO_US(60)
#define LONGEST_US SECONDS_TO_US(86400)
#define CLEAN_PAUSE_US MS_TO_US(50)

/* A wait for the history's lock holds up finishes: at most so rare a part of the time. */
#define SHARE_OF_LOCK 20
#define LOCK_PAUSE_US SECONDS_TO_US(5)
#define LOST_AGAIN_US SECONDS_TO_US(1)

/* Duties that read much are rare, and only one node does each of them. */
#define REST_US SECONDS_TO_US(1)

/* They may read tables of any size, and nobody waits for them. */
#define READS_US SECONDS_TO_US(60)

/* A duty that takes no longer is not slow any more. */
#define QUICK_US SECONDS_TO_US(1)
#define WATCHFUL_PERIOD_US SECONDS_TO_US(3)

static void arm_with_reason(Duty *duty, int64 delay_us);

static int64
next_ms(const PGresult *result, int column)
{
	if (PQgetisnull(result, 0, column))
		return -1;
	return MS_TO_US(wire_get_int(result, 0, column));
}

static int64
on_promoted(Duty *duty, const PGresult *result)
{
	return next_ms(result, PROMOTE_NEXT_MS);
}

static int64
on_scheduled(Duty *duty, const PGresult *result)
{
	int64		missed = wire_get_int(result, 0, SCHEDULES_MISSED);
	int64		failed = wire_get_int(result, 0, SCHEDULES_FAILED);

	if (missed > 0)
		log_line(TWT_LOG_WARN, "schedule", INT64_FORMAT
				 " schedules skipped their missed runs, as configured", missed);
	if (failed > 0)
		log_line(TWT_LOG_ERROR, "schedule", INT64_FORMAT
				 " schedules could not run: see problem in twtasks.schedules", failed);
	return next_ms(result, SCHEDULES_NEXT_MS);
}

static int64
on_recovered(Duty *duty, const PGresult *result)
{
	int64		retried = wire_get_int(result, 0, RECOVER_RETRIED);
	int64		errors = wire_get_int(result, 0, RECOVER_ERRORS);
	int64		failed = wire_get_int(result, 0, RECOVER_FAILED);

	metrics_unknown(duty->duties->metrics, STUCK_RETRY, retried);
	metrics_unknown(duty->duties->metrics, STUCK_ERROR, errors);
	metrics_unknown(duty->duties->metrics, STUCK_FAIL, failed);
	if (retried + errors + failed > 0)
		log_line(TWT_LOG_WARN, "recover",
				 "tasks without a node or past their deadline: "
				 INT64_FORMAT " run again, " INT64_FORMAT " in ERROR, "
				 INT64_FORMAT " FAILED", retried, errors, failed);
	if (retried > 0)
		duty->duties->on_revived(duty->duties->arg);
	return next_ms(result, RECOVER_NEXT_MS);
}

/*
 * Arms the quick DUTY_RECOVER for a gone node that the look at all tasks has
 * seen.
 */
static int64
on_recovered_all(Duty *duty, const PGresult *result)
{
	int64		next = on_recovered(duty, result);

	if (next > 0)
		arm_with_reason(&duty->duties->each[DUTY_RECOVER], next);
	return next == 0 ? 0 : -1;
}

/* Only the leader calls again without a question. */
static int64
on_others_done(Duty *duty, const PGresult *result)
{
	int64		next = next_ms(result, 0);

	return next > 0 && !node_is_leader(duty->duties->node) ? -1 : next;
}

static int64
on_expired(Duty *duty, const PGresult *result)
{
	int64		expired = wire_get_int(result, 0, 0);

	if (expired > 0)
		log_line(TWT_LOG_WARN, "expire", INT64_FORMAT
				 " tasks expired before they were started", expired);
	return expired > 0 ? 0 : -1;
}

/* NULL: others hold locks on the history.  The database has said whom it waits for. */
static int64
on_partitions(Duty *duty, const PGresult *result)
{
	if (!PQgetisnull(result, 0, 0))
		return -1;
	return Max((loop_now_us(duty->duties->loop) - duty->asked_us) * SHARE_OF_LOCK, LOCK_PAUSE_US);
}

static int64
on_cleaned(Duty *duty, const PGresult *result)
{
	const char *name;

	if (PQgetisnull(result, 0, 0))
		return -1;
	name = PQgetvalue(result, 0, 0);
	if (strcmp(name, duty->duties->cleaned) != 0)
		log_line(TWT_LOG_INFO, "clean", "dropping old history: %s", name);
	strlcpy(duty->duties->cleaned, name, sizeof(duty->duties->cleaned));
	/* leave the disk to other work for as long as this took */
	return Max(loop_now_us(duty->duties->loop) - duty->asked_us, CLEAN_PAUSE_US);
}

/* The database has measured the vacuum alone, without the wait behind other duties. */
static int64
on_vacuumed(Duty *duty, const PGresult *result)
{
	duty->rest_us = next_ms(result, 0);
	return -1;
}

static void
on_judged(void *arg, PgOutcome outcome, PGresult *result)
{
	const Duties *duties = arg;

	(void) result;
	if (outcome == PG_DONE && !duties->is_stopped && duties->on_judged != NULL)
		duties->on_judged(duties->judged_arg);
}

static int64
on_monitored(Duty *duty, const PGresult *result)
{
	if (wire_get_bool(result, 0, MONITOR_IS_NEWS))
		log_line(TWT_LOG_WARN, "monitor", INT64_FORMAT " tasks in ERROR, " INT64_FORMAT
				 " stuck, some of them new: see twtasks.error_tasks, twtasks.stuck_tasks",
				 wire_get_int(result, 0, MONITOR_ERRORS),
				 wire_get_int(result, 0, MONITOR_STUCK));
	pg_expect_wait(duty->duties->pg, READS_US);
	pg_send(duty->duties->pg, &call_judge, NULL, on_judged, duty->duties);
	return -1;
}

static const DutyKind kinds[DUTY_COUNT] = {
	[DUTY_PROMOTE] = {&call_promote, SECONDS_TO_US(10), BY_ANYONE | WHEN_WORK | WHEN_DUE, on_promoted},
	[DUTY_SCHEDULES] = {&call_schedules, SECONDS_TO_US(10), BY_ANYONE | WHEN_WORK | WHEN_DUE, on_scheduled},
	[DUTY_RECOVER] = {&call_recover, SECONDS_TO_US(10), BY_ANYONE | WHEN_WORK | WHEN_DUE, on_recovered},
	[DUTY_RECOVER_ALL] = {&call_recover, SECONDS_TO_US(10), WHEN_WORK | READS_MUCH, on_recovered_all},
	[DUTY_OTHERS] = {&call_duties, SECONDS_TO_US(60), BY_ANYONE, on_others_done},
	[DUTY_EXPIRE] = {&call_expire, SECONDS_TO_US(30), WHEN_WORK | WHEN_DUE | READS_MUCH, on_expired},
	[DUTY_PARTITIONS] = {&call_partitions, SECONDS_TO_US(3600), READS_MUCH, on_partitions},
	[DUTY_CLEAN] = {&call_clean, SECONDS_TO_US(600), READS_MUCH, on_cleaned},
	[DUTY_SLOTS] = {&call_clean_slots, SECONDS_TO_US(600), WHEN_WORK | READS_MUCH, NULL},
	[DUTY_VACUUM] = {&call_vacuum, SECONDS_TO_US(10), WHEN_WORK | READS_MUCH, on_vacuumed},
	[DUTY_MONITOR] = {&call_monitor, SECONDS_TO_US(60), READS_MUCH, on_monitored},
};

static bool
has_trait(const Duty *duty, DutyTrait trait)
{
	return (kinds[duty->id].traits & trait) != 0;
}

static bool
is_ours(const Duty *duty)
{
	return has_trait(duty, BY_ANYONE) || node_is_leader(duty->duties->node);
}

static void
arm(Duty *duty, int64 delay_us)
{
	int64		at = loop_now_us(duty->duties->loop) + delay_us;

	if (loop_timer_active(duty->timer) && duty->next_us <= at)
		return;
	duty->next_us = at;
	loop_timer_start(duty->timer, delay_us);
}

static void
arm_with_reason(Duty *duty, int64 delay_us)
{
	duty->has_reason = true;
	arm(duty, Min(delay_us, LONGEST_US));
}

static int64
period(const Duty *duty)
{
	if (duty->id == DUTY_RECOVER && duty->duties->queue == QUEUE_NOTIFY)
		return WATCHFUL_PERIOD_US;
	return kinds[duty->id].period_us;
}

/*
 * The time until the leader does the duty again.  A slow answer does not delay
 * the recovery of gone nodes: it may just have waited behind other duties.
 */
static int64
rest_after(const Duty *duty, int64 took)
{
	int64		period_us = period(duty);

	if (duty->rest_us > 0)
		return duty->rest_us;
	/* others count on the minute of the monitor */
	if (duty->id == DUTY_RECOVER || duty->id == DUTY_MONITOR)
		return period_us;
	return Max(period_us, Min(took * SHARE_OF_TIME, period_us * PERIODS_MAX));
}

static void
on_answer(void *arg, PgOutcome outcome, PGresult *result)
{
	Duty	   *duty = arg;
	Duties	   *duties = duty->duties;
	int64		took = loop_now_us(duties->loop) - duty->asked_us;
	bool		is_wanted = duty->state == DUTY_AGAIN;
	int64		next = -1;

	duty->state = DUTY_IDLE;
	if (outcome != PG_DONE)
		duty->rest_us = 0;
	duty->is_slow = outcome == PG_LOST || (duty->is_slow && took > QUICK_US);
	if (duties->is_stopped)
		return;
	if (outcome == PG_LOST)
		next = LOST_AGAIN_US;
	else if (outcome == PG_DONE && PQntuples(result) == 1 && kinds[duty->id].answer != NULL)
		next = kinds[duty->id].answer(duty, result);
	if (is_wanted)
		next = 0;
	if (next >= 0)
		arm_with_reason(duty, next);
	if (node_is_leader(duties->node))
		arm(duty, rest_after(duty, took));
}

/*
 * The control session is given up before its lease is over.  A duty that takes
 * longer, say since it calls slow functions, would never end there.
 */
static Pg *
session_of(const Duty *duty)
{
	if (!has_trait(duty, READS_MUCH) && !duty->is_slow)
		return node_pg(duty->duties->node);
	pg_expect_wait(duty->duties->pg, READS_US);
	return duty->duties->pg;
}

static void
do_duty(void *arg)
{
	Duty	   *duty = arg;
	Duties	   *duties = duty->duties;
	WireParams	params;

	if (duties->is_stopped || !pg_is_up(node_pg(duties->node)) || !is_ours(duty))
		return;
	if (duty->state != DUTY_IDLE)
	{
		duty->state = DUTY_AGAIN;
		return;
	}
	if (!duty->has_reason && has_trait(duty, WHEN_WORK) && !duties->has_work)
	{
		arm(duty, period(duty));
		return;
	}
	duty->has_reason = false;
	duty->state = DUTY_UNDER_WAY;
	duty->asked_us = loop_now_us(duties->loop);
	wire_init(&params);
	if (kinds[duty->id].statement == &call_recover)
		wire_add_bool(&params, duty->id == DUTY_RECOVER_ALL);
	pg_send(session_of(duty), kinds[duty->id].statement, &params, on_answer, duty);
}

Duties *
duties_open(Loop *loop, const Config *config, Node *node, LoopFn on_revived, void *arg)
{
	Duties	   *duties = palloc0(sizeof(Duties));

	duties->loop = loop;
	duties->node = node;
	duties->pg = pg_new(loop, config->postgres, "duties", NULL, NULL);
	pg_rest_after(duties->pg, REST_US);
	duties->on_revived = on_revived;
	duties->arg = arg;
	duties->has_work = true;
	for (int i = 0; i < DUTY_COUNT; i++)
	{
		Duty	   *duty = &duties->each[i];

		duty->duties = duties;
		duty->id = i;
		duty->timer = loop_timer_new(loop, do_duty, duty);
	}
	return duties;
}

void
duties_measure(Duties *duties, Metrics *metrics)
{
	duties->metrics = metrics;
}

void
duties_on_judged(Duties *duties, LoopFn fn, void *arg)
{
	duties->on_judged = fn;
	duties->judged_arg = arg;
}

void
duties_due_at(Duties *duties, int64 unix_us)
{
	int64		now_us = task_clock_us(node_clock(duties->node));

	arm_with_reason(&duties->each[DUTY_PROMOTE], Max(0, unix_us - now_us));
	if (unix_us <= now_us)
		arm_with_reason(&duties->each[DUTY_OTHERS], 0);
	/* The queue tells the earliest time alone: a schedule may be next. */
	if (unix_us % MINUTE_US != 0)
		unix_us = (Min(Max(unix_us, now_us), now_us + LONGEST_US) / MINUTE_US + 1) * MINUTE_US;
	arm_with_reason(&duties->each[DUTY_SCHEDULES], Max(0, unix_us - now_us));
}

void
duties_node_gone(Duties *duties)
{
	arm_with_reason(&duties->each[DUTY_RECOVER], 0);
}

void
duties_begin(Duties *duties)
{
	for (int i = 0; i < DUTY_COUNT; i++)
		if (is_ours(&duties->each[i]))
			arm_with_reason(&duties->each[i], 0);
}

void
duties_look(Duties *duties, bool has_work, int64 next_us)
{
	duties->has_work = has_work;
	if (next_us < 0)
		return;
	for (int i = 0; i < DUTY_COUNT; i++)
		if (has_trait(&duties->each[i], WHEN_DUE) && is_ours(&duties->each[i]))
			arm_with_reason(&duties->each[i], next_us);
}

void
duties_set_queue(Duties *duties, QueueKind queue)
{
	duties->queue = queue;
}

void
duties_stop(Duties *duties)
{
	duties->is_stopped = true;
	for (int i = 0; i < DUTY_COUNT; i++)
		loop_timer_stop(duties->each[i].timer);
}

void
duties_free(Duties *duties)
{
	duties->is_stopped = true;
	pg_close(duties->pg);
	for (int i = 0; i < DUTY_COUNT; i++)
		loop_timer_free(duties->each[i].timer);
	pfree(duties);
}
