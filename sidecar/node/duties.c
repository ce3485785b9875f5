/*-------------------------------------------------------------------------
 *
 * duties.c
 *		What nodes do for all: due tasks, schedules, gone nodes, history, figures.
 *
 *		from: node.c
 *		to: sql/queue/promote_tasks.sql, sql/schedule/run_schedules.sql, sql/cluster/recover_tasks.sql,
 *			sql/base/partitions.sql, sql/watch/monitor.sql
 *
 * Each duty is a row of a table: its statement, how often the leader does it,
 * and what its answer says about when to do it again.  Those that read much
 * have a connection of their own, open while they are under way: what is due does
 * not wait behind them.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "node/duties.h"
#include "node/task_clock.h"
#include "pg/calls.h"

typedef enum DutyId
{
	DUTY_PROMOTE,
	DUTY_SCHEDULES,
	DUTY_RECOVER,
	DUTY_RECOVER_ALL,
	DUTY_EXPIRE,
	DUTY_PARTITIONS,
	DUTY_CLEAN,
	DUTY_SLOTS,
	DUTY_MONITOR,
	DUTY_COUNT
} DutyId;

typedef struct Duty
{
	Duties	   *duties;
	DutyId		id;
	LoopTimer  *timer;
	int64		next_us;		/* loop time of the timer */
	int64		asked_us;
	bool		is_under_way;
	bool		has_reason;		/* not only its period is over */
	bool		again;			/* a reason came while it was under way */
} Duty;

typedef struct DutyKind
{
	const PgStatement *statement;
	int64		period_us;		/* between two times by the leader */
	bool		anyone;			/* also done by others when they see a reason */
	bool		when_work;		/* its period counts only while there is work */
	bool		when_due;		/* takes what is due by its time */
	bool		reads_much;

	/* microseconds until the next time; -1: nothing is known */
	int64		(*answer) (Duty *duty, const PGresult *result);
} DutyKind;

struct Duties
{
	Loop	   *loop;
	Node	   *node;
	Pg		   *pg;				/* of those that read much */
	LoopFn		on_revived;
	void	   *arg;
	bool		is_stopped;
	bool		watchful;
	bool		has_work;		/* as far as we know */
	char		cleaned[NAMEDATALEN];	/* the history that was cleaned last */
	Duty		each[DUTY_COUNT];
};

/* A duty may take so much of the time. */
#define SHARE_OF_TIME 100

/* No duty waits for longer than so many of its periods. */
#define PERIODS_MAX 6

/* What is due at a whole minute may be a schedule; other times are not. */
#define MINUTE_US SECONDS_TO_US(60)
#define CLEAN_PAUSE_US MS_TO_US(50)
#define LOST_AGAIN_US SECONDS_TO_US(1)

/* They are rare, and each of them is for one node of the cluster. */
#define REST_US SECONDS_TO_US(1)
#define WATCHFUL_PERIOD_US SECONDS_TO_US(3)

static int64
next_ms(const PGresult *result, int column)
{
	if (wire_null(result, 0, column))
		return -1;
	return MS_TO_US(wire_get_int8(result, 0, column));
}

static int64
on_promoted(Duty *duty, const PGresult *result)
{
	return next_ms(result, PROMOTE_NEXT_MS);
}

static int64
on_scheduled(Duty *duty, const PGresult *result)
{
	int64		missed = wire_get_int8(result, 0, SCHEDULES_MISSED);
	int64		failed = wire_get_int8(result, 0, SCHEDULES_FAILED);

	if (missed > 0)
		log_line(TWT_LOG_WARN, "schedule", INT64_FORMAT
				 " schedules left out what they had missed, as is their rule", missed);
	if (failed > 0)
		log_line(TWT_LOG_ERROR, "schedule", INT64_FORMAT
				 " schedules could not run: see problem in twtasks.schedules", failed);
	return next_ms(result, SCHEDULES_NEXT_MS);
}

static int64
on_recovered(Duty *duty, const PGresult *result)
{
	int64		retried = wire_get_int8(result, 0, RECOVER_RETRIED);
	int64		errors = wire_get_int8(result, 0, RECOVER_ERRORS);
	int64		failed = wire_get_int8(result, 0, RECOVER_FAILED);

	if (retried + errors + failed > 0)
		log_line(TWT_LOG_WARN, "recover",
				 "tasks without a node or past their deadline: "
				 INT64_FORMAT " run again, " INT64_FORMAT " in ERROR, "
				 INT64_FORMAT " FAILED", retried, errors, failed);
	if (retried > 0)
		duty->duties->on_revived(duty->duties->arg);
	return next_ms(result, RECOVER_NEXT_MS);
}

static void arm_with_reason(Duty *duty, int64 delay_us);

/* A gone node that it has seen is the other look's. */
static int64
on_recovered_all(Duty *duty, const PGresult *result)
{
	int64		next = on_recovered(duty, result);

	if (next > 0)
		arm_with_reason(&duty->duties->each[DUTY_RECOVER], next);
	return next == 0 ? 0 : -1;
}

static int64
on_expired(Duty *duty, const PGresult *result)
{
	int64		expired = wire_get_int8(result, 0, 0);

	if (expired > 0)
		log_line(TWT_LOG_WARN, "expire", INT64_FORMAT
				 " tasks expired before they were started", expired);
	return expired > 0 ? 0 : -1;
}

static int64
on_partitioned(Duty *duty, const PGresult *result)
{
	return -1;
}

static int64
on_cleaned(Duty *duty, const PGresult *result)
{
	const char *name;

	if (wire_null(result, 0, 0))
		return -1;
	name = PQgetvalue(result, 0, 0);
	if (strcmp(name, duty->duties->cleaned) != 0)
		log_line(TWT_LOG_INFO, "clean", "dropping old history: %s", name);
	strlcpy(duty->duties->cleaned, name, sizeof(duty->duties->cleaned));
	/* for as long as it took, others have the disk */
	return Max(loop_now_us(duty->duties->loop) - duty->asked_us, CLEAN_PAUSE_US);
}

static int64
on_slots_cleaned(Duty *duty, const PGresult *result)
{
	return -1;
}

static int64
on_monitored(Duty *duty, const PGresult *result)
{
	if (wire_get_bool(result, 0, MONITOR_IS_NEWS))
		log_line(TWT_LOG_WARN, "monitor", INT64_FORMAT " tasks in ERROR, " INT64_FORMAT
				 " stuck, some of them new: see twtasks.error_tasks, twtasks.stuck_tasks",
				 wire_get_int8(result, 0, MONITOR_ERRORS),
				 wire_get_int8(result, 0, MONITOR_STUCK));
	return -1;
}

static const DutyKind kinds[DUTY_COUNT] = {
	[DUTY_PROMOTE] = {&call_promote, SECONDS_TO_US(10), true, true, true, false, on_promoted},
	[DUTY_SCHEDULES] = {&call_schedules, SECONDS_TO_US(10), true, true, true, false, on_scheduled},
	[DUTY_RECOVER] = {&call_recover, SECONDS_TO_US(10), true, true, true, false, on_recovered},
	[DUTY_RECOVER_ALL] = {&call_recover, SECONDS_TO_US(10), false, true, false, true, on_recovered_all},
	[DUTY_EXPIRE] = {&call_expire, SECONDS_TO_US(30), false, true, true, true, on_expired},
	[DUTY_PARTITIONS] = {&call_partitions, SECONDS_TO_US(3600), false, false, false, true, on_partitioned},
	[DUTY_CLEAN] = {&call_clean, SECONDS_TO_US(600), false, false, false, true, on_cleaned},
	[DUTY_SLOTS] = {&call_clean_slots, SECONDS_TO_US(600), false, true, false, true, on_slots_cleaned},
	[DUTY_MONITOR] = {&call_monitor, SECONDS_TO_US(60), false, false, false, true, on_monitored},
};

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
	arm(duty, delay_us);
}

static int64
period(const Duty *duty)
{
	if (duty->id == DUTY_RECOVER && duty->duties->watchful)
		return WATCHFUL_PERIOD_US;
	return kinds[duty->id].period_us;
}

/*
 * Until the leader does it again.  An answer may have been slow only because
 * it was behind others, on a connection that duties share, and gone nodes must
 * not wait for that.
 */
static int64
rest_after(const Duty *duty, int64 took)
{
	int64		period_us = period(duty);

	if (duty->id == DUTY_RECOVER)
		return period_us;
	return Max(period_us, Min(took * SHARE_OF_TIME, period_us * PERIODS_MAX));
}

static void
on_answer(void *arg, PgOutcome outcome, PGresult *result)
{
	Duty	   *duty = arg;
	Duties	   *duties = duty->duties;
	int64		took = loop_now_us(duties->loop) - duty->asked_us;
	int64		next = -1;

	duty->is_under_way = false;
	if (duties->is_stopped)
		return;
	if (outcome == PG_DONE && PQntuples(result) == 1)
		next = kinds[duty->id].answer(duty, result);
	else if (outcome == PG_LOST)
		next = LOST_AGAIN_US;
	if (duty->again)
		next = 0;
	duty->again = false;
	if (next >= 0)
		arm_with_reason(duty, Min(next, SECONDS_TO_US(86400)));
	if (node_is_leader(duties->node))
		arm(duty, rest_after(duty, took));
}

static void
do_duty(void *arg)
{
	Duty	   *duty = arg;
	Duties	   *duties = duty->duties;
	WireParams	params;

	if (duties->is_stopped || !pg_is_up(node_pg(duties->node)) ||
		!(kinds[duty->id].anyone || node_is_leader(duties->node)))
		return;
	if (duty->is_under_way)
	{
		duty->again = true;
		return;
	}
	if (!duty->has_reason && kinds[duty->id].when_work && !duties->has_work)
	{
		arm(duty, period(duty));
		return;
	}
	duty->has_reason = false;
	duty->is_under_way = true;
	duty->asked_us = loop_now_us(duties->loop);
	wire_init(&params);
	if (kinds[duty->id].statement == &call_recover)
		wire_add_bool(&params, duty->id == DUTY_RECOVER_ALL);
	pg_send(kinds[duty->id].reads_much ? duties->pg : node_pg(duties->node),
			kinds[duty->id].statement, &params, on_answer, duty);
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
duties_due_at(Duties *duties, int64 unix_us)
{
	int64		delay_us = Max(0, unix_us - task_clock_us());

	arm_with_reason(&duties->each[DUTY_PROMOTE], delay_us);
	if (unix_us % MINUTE_US == 0)
		arm_with_reason(&duties->each[DUTY_SCHEDULES], delay_us);
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
		if (kinds[i].anyone || node_is_leader(duties->node))
			arm_with_reason(&duties->each[i], 0);
}

void
duties_look(Duties *duties, bool has_work, int64 next_us)
{
	duties->has_work = has_work;
	if (next_us < 0)
		return;
	for (int i = 0; i < DUTY_COUNT; i++)
		if (kinds[i].when_due && (kinds[i].anyone || node_is_leader(duties->node)))
			arm_with_reason(&duties->each[i], Min(next_us, SECONDS_TO_US(86400)));
}

void
duties_set_watchful(Duties *duties, bool watchful)
{
	duties->watchful = watchful;
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
