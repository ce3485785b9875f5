/*-------------------------------------------------------------------------
 *
 * finish.c
 *		Reports the outcomes of tasks to the database.
 *
 *		from: execute.c, sql_batch.c			to: finish_session.c
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "finish/failures.h"
#include "finish/finish.h"
#include "finish/finish_session.h"
#include "metrics/metrics.h"
#include "base/policy.h"

/* Three times what the session has under way. */
#define BEHIND 3000
#define POSTPONED_MAX (10 * BEHIND)

struct Finish
{
	Loop	   *loop;
	FinishSession *plain;
	FinishSession *asking;		/* for outcomes that a policy function judges */
	FinishSession *lost;		/* for outcomes whose answer was lost */
	Failures   *failures;
	FinishUnfit unfit;
	void	   *unfit_arg;
	Metrics    *metrics;		/* NULL: nobody counts */
	bool		said_full;		/* said that the postponed outcomes are too
								 * many */
};

/* The part of a message that may be logged; the caller frees it. */
static char *
loggable(const char *message, int nlogged)
{
	if (message == NULL)
		return pstrdup("no message");
	return nlogged == 0 ? pstrdup(message) : pnstrdup(message, nlogged);
}

static void
log_error(const Task *task, const char *message)
{
	log_task(TWT_LOG_ERROR, "finish", task, "given up after try %d: %s",
			 task->tries, message);
}

static void
log_cancelled(const Task *task, const char *message)
{
	log_task(TWT_LOG_INFO, "finish", task, "cancelled: %s", message);
}

/*
 * The task runs again, or a function of on_end has moved it on: functions of kinds do
 * so with each attempt that fails.
 */
static void
log_moved(const Finish *finish, const Task *task, const char *status, int64 delay_ms, const char *message)
{
	bool		runs = strcmp(status, "WAITING") == 0 || strcmp(status, "SUBMITTED") == 0;
	char	   *next = runs ? psprintf("next one in %.3f s", delay_ms / 1000.0) :
		psprintf("its function for on_end made it %s", status);

	failures_note(finish->failures, task, next, message);
	pfree(next);
}

/* status NULL: the answer with the database's decision was lost. */
static void
log_judged(const Finish *finish, const FinishItem *item, const char *status, int64 delay_ms, const char *message)
{
	const Task *task = &item->judgement->task;

	if (status == NULL)
		log_task(TWT_LOG_WARN, "finish", task, "try %d failed, the answer to its finish was lost: %s",
				 task->tries, message);
	else if (strcmp(status, "ERROR") == 0)
		log_error(task, message);
	else if (strcmp(status, "CANCELLED") == 0)
		log_cancelled(task, message);
	else if (item->result == TASK_REPEAT)
		log_task(TWT_LOG_DEBUG, "finish", task, "repeat");
	else
		log_moved(finish, task, status, delay_ms, message);
}

static void
on_judged(void *arg, const FinishItem *item, const char *status, int64 delay_ms)
{
	char	   *message = loggable(item->message, item->judgement->nlogged);

	log_judged(arg, item, status, delay_ms, message);
	pfree(message);
}

/* Logs an outcome that leaves nothing to decide. */
static void
log_outcome(Finish *finish, const Task *task, const Verdict *verdict)
{
	char	   *message;

	if (verdict->result == TASK_DONE && !log_wants(TWT_LOG_DEBUG))
		return;
	message = loggable(verdict->message, verdict->nlogged);
	if (verdict->result == TASK_CANCELLED)
		log_cancelled(task, message);
	else if (verdict->result == TASK_RELEASE && verdict->delay_us > 0 && verdict->message != NULL)
		finish->unfit(finish->unfit_arg, task, message);
	else
		log_task(TWT_LOG_DEBUG, "finish", task, "%s", task_result_name(verdict->result));
	pfree(message);
}

static void
on_given_up(void *arg, FinishItem *item)
{
	Finish	   *finish = arg;

	finish_session_add(item->token == 0 ? finish->plain : finish->lost, item);
	loop_want_turn(finish->loop);
}

static void
on_answered(void *arg, int64 us)
{
	metrics_statement(((Finish *) arg)->metrics, STATEMENT_FINISH, us);
}

static const FinishEvents events = {on_judged, on_given_up, on_answered};

Finish *
finish_open(Loop *loop, const Config *config, Node *node)
{
	Finish	   *finish = palloc0(sizeof(Finish));

	finish->loop = loop;
	finish->failures = failures_open(loop);
	finish->lost = finish_session_open(loop, config, node, FINISH_LOST, "lost finish");
	finish->asking = finish_session_open(loop, config, node, FINISH_ASKING, "policy");
	finish->plain = finish_session_open(loop, config, node, FINISH_PLAIN, "finish");
	finish_session_listen(finish->asking, &events, finish);
	finish_session_listen(finish->plain, &events, finish);
	finish_session_listen(finish->lost, &events, finish);
	return finish;
}

void
finish_on_unfit(Finish *finish, FinishUnfit unfit, void *arg)
{
	finish->unfit = unfit;
	finish->unfit_arg = arg;
}

void
finish_measure(Finish *finish, Metrics *metrics)
{
	finish->metrics = metrics;
}

void
finish_add(Finish *finish, const Task *task, const Verdict *verdict)
{
	FinishItem *item = finish_item_new(task, verdict, loop_now_us(finish->loop));

	if (item->judgement == NULL)
		log_outcome(finish, task, verdict);
	finish_session_add(item->result == TASK_RETRY && task->policy->max_tries == 0 ?
					   finish->asking : finish->plain, item);
}

void
finish_expect(Finish *finish)
{
	finish_session_expect(finish->plain);
}

static int
postponed(const Finish *finish)
{
	return finish_session_postponed(finish->plain) + finish_session_postponed(finish->lost);
}

/* Says it once, until all of them are stored. */
static void
warn_if_full(Finish *finish)
{
	int			n = postponed(finish);

	if (n >= POSTPONED_MAX && !finish->said_full)
		log_line(TWT_LOG_WARN, "finish",
				 "the database refused %d outcomes: no task is grabbed until it stores some", n);
	finish->said_full = n >= POSTPONED_MAX || (finish->said_full && n > 0);
}

void
finish_pump(Finish *finish)
{
	finish_session_pump(finish->asking);
	finish_session_pump(finish->plain);
	finish_session_pump(finish->lost);
	warn_if_full(finish);
}

int
finish_pending(const Finish *finish)
{
	return finish_session_pending(finish->asking) + finish_session_pending(finish->plain) +
		finish_session_pending(finish->lost);
}

bool
finish_is_behind(const Finish *finish)
{
	int			nplain = finish_pending(finish) - finish_session_pending(finish->asking);

	return postponed(finish) >= POSTPONED_MAX || nplain - postponed(finish) >= BEHIND;
}

void
finish_gone(Finish *finish)
{
	finish_session_gone(finish->asking);
	finish_session_gone(finish->plain);
	finish_session_gone(finish->lost);
}

void
finish_free(Finish *finish)
{
	finish_session_free(finish->asking);
	finish_session_free(finish->plain);
	finish_session_free(finish->lost);
	failures_free(finish->failures);
	pfree(finish);
}
