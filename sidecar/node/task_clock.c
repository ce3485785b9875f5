/*-------------------------------------------------------------------------
 *
 * task_clock.c
 *		The database's clock, by which tasks are due.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <time.h>

#include "base/log.h"
#include "node/task_clock.h"

#define WARN_AGAIN_US SECONDS_TO_US(3600)

struct TaskClock
{
	Loop	   *loop;
	bool		is_told;
	int64		ahead_us;		/* offset from the loop's clock */
	int64		warned_of_us;	/* the shift that was logged last */
	int64		warned_us;		/* when, by the loop's clock */
};

TaskClock *
task_clock_new(Loop *loop)
{
	TaskClock  *clock = palloc0(sizeof(TaskClock));

	clock->loop = loop;
	return clock;
}

void
task_clock_free(TaskClock *clock)
{
	pfree(clock);
}

static int64
machine_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return SECONDS_TO_US(now.tv_sec) + now.tv_nsec / 1000;
}

int64
task_clock_tell(TaskClock *clock, int64 unix_us)
{
	int64		step_us = clock->is_told ? unix_us - task_clock_us(clock) : 0;

	clock->ahead_us = unix_us - loop_now_us(clock->loop);
	clock->is_told = true;
	return step_us;
}

int64
task_clock_us(const TaskClock *clock)
{
	return clock->is_told ? loop_now_us(clock->loop) + clock->ahead_us : machine_us();
}

void
task_clock_warn(TaskClock *clock, int64 shift_us)
{
	int64		now_us = loop_now_us(clock->loop);

	if (shift_us != 0 && (shift_us != clock->warned_of_us || now_us - clock->warned_us >= WARN_AGAIN_US))
	{
		log_line(TWT_LOG_WARN, "clock", "shifted by " INT64_FORMAT
				 " ms for a test; SELECT twtasks.set_clock(NULL) sets it right", shift_us / 1000);
		clock->warned_us = now_us;
	}
	clock->warned_of_us = shift_us;
}
