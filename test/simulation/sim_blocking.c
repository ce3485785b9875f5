/*-------------------------------------------------------------------------
 *
 * sim_blocking.c
 *		Calls that block, as threads of a simulated sidecar would make them.
 *
 * It takes the place of lib/base/blocking.c.  The call itself is the product's; chance
 * says how long its thread takes.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/blocking.h"
#include "sim_loop.h"
#include "world.h"

struct Blocking
{
	Loop	   *loop;
	const BlockingCall *call;
	void	   *what;
	Event	   *thread;
};

static void
on_answer(void *arg)
{
	Blocking   *blocking = arg;

	blocking->call->answered(blocking->what);
	blocking->call->release(blocking->what);
	pfree(blocking);
}

static void
on_asked(void *arg)
{
	Blocking   *blocking = arg;

	blocking->thread = NULL;
	blocking->call->ask(blocking->what);
	sim_loop_call(blocking->loop, on_answer, blocking);
}

Blocking *
blocking_start(Loop *loop, const BlockingCall *call, void *what)
{
	Blocking   *blocking = palloc0(sizeof(Blocking));

	blocking->loop = loop;
	blocking->call = call;
	blocking->what = what;
	blocking->thread = world_after(world_between(100, MS_TO_US(50)), on_asked, blocking);
	return blocking;
}

void
blocking_cancel(Blocking *blocking)
{
	if (blocking->thread != NULL)
		world_cancel(blocking->thread);
	sim_loop_forget(blocking->loop, blocking);
	blocking->call->release(blocking->what);
	pfree(blocking);
}
