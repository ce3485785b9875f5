/*-------------------------------------------------------------------------
 *
 * failures.c
 *		The log of tries that failed and after which the task goes on.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "base/map.h"
#include "finish/failures.h"

#define WINDOW_US SECONDS_TO_US(1)

/* A type with a line in this window. */
typedef struct Failed
{
	char	   *type;
	int			more;			/* failures after that line */
} Failed;

struct Failures
{
	Map		   *by_type;
	LoopTimer  *timer;			/* the end of the window */
};

static void
end_window(void *arg)
{
	Failures   *failures = arg;
	uint64		place = 0;
	Failed	   *failed;

	while ((failed = map_next(failures->by_type, &place)) != NULL)
	{
		if (failed->more > 0)
			log_line(TWT_LOG_WARN, "finish", "%d more tries of type \"%s\" failed within a second",
					 failed->more, failed->type);
		pfree(failed->type);
		pfree(failed);
	}
	map_clear(failures->by_type);
}

Failures *
failures_open(Loop *loop)
{
	Failures   *failures = palloc0(sizeof(Failures));

	failures->by_type = map_new(0);
	failures->timer = loop_timer_new(loop, end_window, failures);
	return failures;
}

void
failures_free(Failures *failures)
{
	end_window(failures);
	map_free(failures->by_type);
	loop_timer_free(failures->timer);
	pfree(failures);
}

void
failures_note(Failures *failures, const Task *task, const char *next, const char *message)
{
	Failed	   *failed = map_get(failures->by_type, task->type);

	if (failed != NULL)
	{
		failed->more++;
		return;
	}
	log_task(TWT_LOG_WARN, "finish", task, "try %d failed, %s: %s", task->tries, next, message);
	failed = palloc0(sizeof(Failed));
	failed->type = pstrdup(task->type);
	map_set(failures->by_type, failed->type, failed);
	if (!loop_timer_active(failures->timer))
		loop_timer_start(failures->timer, WINDOW_US);
}
