/*-------------------------------------------------------------------------
 *
 * acts.c
 *		The acts of a run: faults, and what people do.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <stdarg.h>

#include "acts.h"
#include "world.h"

static Acts *acts;
static int	last;				/* the number of the last place */
static int	last_lock;

void
acts_begin(Acts *of_run)
{
	acts = of_run;
	last = 0;
	last_lock = ACTS_LOCKS - 1;
}

/* The habits have the first place. */
int
acts_next(void)
{
	last += ACTS_AT_ONCE;
	if (last + ACTS_AT_ONCE > ACTS_MOST)
		world_fail("more than %d acts", ACTS_MOST);
	return last;
}

int
acts_next_lock(void)
{
	if (++last_lock >= ACTS_END)
		world_fail("more than %d transactions lock rows", ACTS_END - ACTS_LOCKS);
	return last_lock;
}

bool
act_begin(int number)
{
	world_enter(number);
	acts->done[number] |= !acts->left_out[number];
	return !acts->left_out[number];
}

void
act_end(void)
{
	world_leave();
}

void
act_tell(const char *fmt,...)
{
	char		line[200];
	va_list		args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	world_tell("%s", line);
	if (acts != NULL && acts->are_listed)
		printf("%12.6f %s\n", world_now_us() / 1e6, line);
}

bool
acts_happens(Habit habit, int permille)
{
	acts->done[habit] |= !acts->left_out[habit];
	return world_happens(permille) && !acts->left_out[habit];
}
