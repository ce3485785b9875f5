/*-------------------------------------------------------------------------
 *
 * outcome.c
 *		From what a handler answered to what the database is told.
 *
 *		from: execute.c, execute_sql.c			to: finish.c
 *
 *-------------------------------------------------------------------------
 */
#include "port.h"

#include <unistd.h>

#include "common/pg_prng.h"

#include "log.h"
#include "outcome.h"
#include "policy.h"
#include "retry.h"

static double
random_part(void)
{
	static pg_prng_state state;
	static bool seeded = false;

	if (!seeded && !pg_prng_strong_seed(&state))
		pg_prng_seed(&state, (uint64) getpid());
	seeded = true;
	return pg_prng_double(&state);
}

/* A failure, or a retry that a handler asked for, within the policy. */
static TaskResult
judge_retry(const Task *task, const Verdict *verdict, int64 *delay_us)
{
	bool		by_policy = verdict->result == TASK_FAILURE ||
		verdict->delay_us == TASK_DELAY_BY_POLICY;

	if (!retry_delay(&task->policy->retry, task->tries, random_part(), delay_us))
		return TASK_ERROR;
	if (!by_policy)
		*delay_us = verdict->delay_us;
	return TASK_RETRY;
}

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

void
outcome_report(Finish *finish, const Task *task, const Verdict *verdict)
{
	TaskResult	result = verdict->result;
	int64		delay_us = verdict->delay_us;

	if (result == TASK_FAILURE || result == TASK_RETRY)
		result = judge_retry(task, verdict, &delay_us);
	else if (result == TASK_REPEAT && delay_us == TASK_DELAY_BY_POLICY)
		delay_us = task->policy->retry.delay_us;
	log_outcome(task, result, delay_us, verdict->message);
	finish_add(finish, task, result, delay_us, verdict->message);
}
