/*-------------------------------------------------------------------------
 *
 * blocking.c
 *		A call that blocks, on a thread of its own.
 *
 * The loop and the thread share a call; the last one to leave frees it.  The
 * thread writes its answer before it signals, and the loop reads only after
 * the signal.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/blocking.h"

struct Blocking
{
	atomic_int	users;
	int			fd;				/* readable when there is an answer */
	LoopIo	   *io;
	const BlockingCall *call;
	void	   *what;
};

static void
leave(Blocking *blocking)
{
	if (atomic_fetch_sub(&blocking->users, 1) > 1)
		return;
	close(blocking->fd);
	blocking->call->release(blocking->what);
	pfree(blocking);
}

static void *
run(void *arg)
{
	Blocking   *blocking = arg;

	blocking->call->ask(blocking->what);
	(void) eventfd_write(blocking->fd, 1);
	leave(blocking);
	return NULL;
}

static void
on_answer(void *arg, int ready)
{
	Blocking   *blocking = arg;

	(void) ready;
	blocking->call->answered(blocking->what);
	blocking_cancel(blocking);
}

/* Starts the thread with all signals blocked: the loop's thread handles them. */
static int
start_thread(Blocking *blocking)
{
	pthread_t	thread;
	sigset_t	all;
	sigset_t	before;
	int			error;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	error = pthread_create(&thread, NULL, run, blocking);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error == 0)
		pthread_detach(thread);
	return error;
}

Blocking *
blocking_start(Loop *loop, const BlockingCall *call, void *what)
{
	Blocking   *blocking = palloc0(sizeof(Blocking));
	int			error;

	atomic_init(&blocking->users, 2);
	blocking->call = call;
	blocking->what = what;
	blocking->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	error = blocking->fd < 0 ? errno : start_thread(blocking);
	if (error != 0)
	{
		leave(blocking);
		leave(blocking);
		errno = error;
		return NULL;
	}
	blocking->io = loop_io_new(loop, blocking->fd, on_answer, blocking);
	loop_io_want(blocking->io, LOOP_READ);
	return blocking;
}

void
blocking_cancel(Blocking *blocking)
{
	loop_io_free(blocking->io);
	leave(blocking);
}
