/*-------------------------------------------------------------------------
 *
 * outcome.c
 *		From what a handler answered to what the database is told.
 *
 *		from: execute.c, execute_sql.c			to: finish.c
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/chance.h"
#include "base/log.h"
#include "finish/ask.h"
#include "finish/outcome.h"
#include "finish/retry.h"
#include "node/policy.h"

struct Outcome
{
	Finish	   *finish;
	Ask		   *ask;
	Loop	   *loop;
	char	   *said;			/* of a handler that is not there */
	int64		said_us;
};

static void
log_outcome(const Task *task, TaskResult result, int64 delay_us,
			const char *message)
{
	if (message == NULL)
		message = "no message";
	if (result == TASK_ERROR)
		log_task(TWT_LOG_ERROR, "finish", task, "given up after try %d: %s",
				 task->tries, message);
	else if (result == TASK_RETRY)
		log_task(TWT_LOG_WARN, "finish", task,
				 "try %d failed, next one in %.3f s: %s",
				 task->tries, delay_us / 1000000.0, message);
	else if (result == TASK_CANCELLED)
		log_task(TWT_LOG_INFO, "finish", task, "cancelled: %s", message);
	else
		log_task(TWT_LOG_DEBUG, "finish", task, "%s", task_result_name(result));
}

/* One line a minute, however many tasks wait for it. */
static void
log_unfit(Outcome *outcome, const Task *task, const char *message)
{
	int64		now_us = loop_now_us(outcome->loop);

	if (outcome->said != NULL && strcmp(outcome->said, message) == 0 &&
		now_us - outcome->said_us < SECONDS_TO_US(60))
		return;
	log_task(TWT_LOG_ERROR, "handler", task,
			 "cannot be started, its tasks wait and no try is counted: %s", message);
	pfree(outcome->said);
	outcome->said = pstrdup(message);
	outcome->said_us = now_us;
}

static void
finish(Outcome *outcome, const Task *task, const Verdict *verdict,
	   TaskResult result, int64 delay_us)
{
	char	   *beginning = verdict->nlogged == 0 ? NULL :
		pnstrdup(verdict->message, verdict->nlogged);

	if (result == TASK_RELEASE && delay_us > 0 && verdict->message != NULL)
		log_unfit(outcome, task, verdict->message);
	else
		log_outcome(task, result, delay_us, beginning ? beginning : verdict->message);
	pfree(beginning);
	finish_add(outcome->finish, task, result, delay_us, verdict->message);
}

static bool
has_own_delay(const Verdict *verdict)
{
	return verdict->result != TASK_FAILURE &&
		verdict->delay_us != TASK_DELAY_BY_POLICY;
}

/*
 * A failure, or a retry that a handler asked for, within the policy.  So is a
 * repeat where tries do not start anew.
 */
static void
judge_by_figures(Outcome *outcome, const Task *task, const Verdict *verdict)
{
	int64		delay_us;

	if (!retry_plan_delay(task->policy->retry, task->tries, chance(), &delay_us))
		finish(outcome, task, verdict, TASK_ERROR, 0);
	else
		finish(outcome, task, verdict, TASK_RETRY,
			   has_own_delay(verdict) ? verdict->delay_us : delay_us);
}

/* A success of which there is to be another; it waits as before a first retry. */
static void
judge_repeat(Outcome *outcome, const Task *task, const Verdict *verdict)
{
	int64		delay_us = 0;

	if (!task->policy->resets_tries)
		judge_by_figures(outcome, task, verdict);
	else if (has_own_delay(verdict))
		finish(outcome, task, verdict, TASK_REPEAT, verdict->delay_us);
	else
		finish(outcome, task, verdict, TASK_REPEAT,
			   retry_plan_delay(task->policy->retry, 1, 0, &delay_us) ? delay_us : 0);
}

static void
on_answer(void *arg, const Task *task, const Verdict *verdict,
		  AskAnswer answer, int64 delay_us)
{
	if (answer == ASK_POLICY)
		judge_by_figures(arg, task, verdict);
	else if (answer == ASK_ERROR)
		finish(arg, task, verdict, TASK_ERROR, 0);
	else
		finish(arg, task, verdict, TASK_RETRY,
			   has_own_delay(verdict) ? verdict->delay_us : delay_us);
}

void
outcome_report(Outcome *outcome, const Task *task, const Verdict *verdict)
{
	bool		is_failure = verdict->result == TASK_FAILURE ||
		verdict->result == TASK_RETRY;

	if (is_failure && task->policy->asks_retry)
		ask_add(outcome->ask, task, verdict);
	else if (is_failure)
		judge_by_figures(outcome, task, verdict);
	else if (verdict->result == TASK_REPEAT)
		judge_repeat(outcome, task, verdict);
	else
		finish(outcome, task, verdict, verdict->result, verdict->delay_us);
}

Outcome *
outcome_open(Loop *loop, const Config *config, Finish *finish)
{
	Outcome    *outcome = palloc0(sizeof(Outcome));

	outcome->finish = finish;
	outcome->loop = loop;
	outcome->ask = ask_open(loop, config, on_answer, outcome);
	return outcome;
}

void
outcome_free(Outcome *outcome)
{
	ask_free(outcome->ask);
	pfree(outcome->said);
	pfree(outcome);
}

void
outcome_pump(Outcome *outcome)
{
	ask_pump(outcome->ask);
}

int
outcome_pending(const Outcome *outcome)
{
	return ask_pending(outcome->ask);
}

void
outcome_forget(Outcome *outcome)
{
	ask_forget(outcome->ask);
}
