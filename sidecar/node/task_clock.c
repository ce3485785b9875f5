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

static int64 ahead_us;			/* offset from the machine's monotonic clock */
static bool is_told;

static int64
read_us(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return SECONDS_TO_US(now.tv_sec) + now.tv_nsec / 1000;
}

int64
task_clock_tell(int64 unix_us)
{
	int64		step_us = is_told ? unix_us - task_clock_us() : 0;

	ahead_us = unix_us - read_us(CLOCK_BOOTTIME);
	is_told = true;
	return step_us;
}

int64
task_clock_us(void)
{
	return is_told ? read_us(CLOCK_BOOTTIME) + ahead_us : read_us(CLOCK_REALTIME);
}

void
task_clock_warn(int64 now_us, int64 shift_us)
{
	static int64 warned_of_us;
	static int64 warned_us;

	if (shift_us != 0 && (shift_us != warned_of_us || now_us - warned_us >= WARN_AGAIN_US))
	{
		log_line(TWT_LOG_WARN, "clock", "shifted by " INT64_FORMAT
				 " ms for a test; SELECT twtasks.set_clock(NULL) sets it right", shift_us / 1000);
		warned_us = now_us;
	}
	warned_of_us = shift_us;
}
