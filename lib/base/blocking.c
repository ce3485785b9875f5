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

/* ---- threads ---- */

/*
 * One thread without a call stays, for the next one.  So a call can be made while
 * handlers have taken all processes that this user, or the container, may have.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_handed = PTHREAD_COND_INITIALIZER;
static bool is_idle;			/* a thread waits for a call */
static Blocking *handed;		/* the call, until a thread takes it */

/* Returns NULL if another thread waits. */
static Blocking *
wait_for_call(void)
{
	Blocking   *blocking = NULL;

	pthread_mutex_lock(&lock);
	if (!is_idle)
	{
		is_idle = true;
		while (handed == NULL)
			pthread_cond_wait(&is_handed, &lock);
		blocking = handed;
		handed = NULL;
	}
	pthread_mutex_unlock(&lock);
	return blocking;
}

/* Returns false if no thread waits. */
static bool
hand_over(Blocking *blocking)
{
	bool		is_taken;

	pthread_mutex_lock(&lock);
	is_taken = is_idle;
	if (is_taken)
	{
		is_idle = false;
		handed = blocking;
		pthread_cond_signal(&is_handed);
	}
	pthread_mutex_unlock(&lock);
	return is_taken;
}

static void *
run(void *arg)
{
	for (Blocking *blocking = arg; blocking != NULL; blocking = wait_for_call())
	{
		blocking->call->ask(blocking->what);
		(void) eventfd_write(blocking->fd, 1);
		leave(blocking);
	}
	return NULL;
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

/* ---- calls ---- */

static void
on_answer(void *arg, int ready)
{
	Blocking   *blocking = arg;

	(void) ready;
	blocking->call->answered(blocking->what);
	blocking_cancel(blocking);
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
	error = blocking->fd < 0 ? errno : 0;
	if (error == 0 && !hand_over(blocking))
		error = start_thread(blocking);
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
