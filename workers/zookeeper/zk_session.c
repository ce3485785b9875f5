/*-------------------------------------------------------------------------
 *
 * zk_session.c
 *		One session with ZooKeeper on the event loop.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <sys/time.h>

#include "base/log.h"
#include "workers/zookeeper/zk_session.h"

/* A step that failed is tried again after this delay. */
#define AGAIN_US SECONDS_TO_US(1)

struct ZkSession
{
	Loop	   *loop;
	zhandle_t  *handle;
	LoopIo	   *io;				/* NULL: no connection now */
	LoopTimer  *timer;			/* the timeout that the library asked for */
	LoopFn		on_turn;
	void	   *arg;
};

static void
on_log(const char *message)
{
	log_line(TWT_LOG_DEBUG, "zookeeper", "%s", message);
}

/*
 * Does nothing: the owner must not act inside the library, and calls
 * zk_state() later.
 */
static void
ignore_event(zhandle_t * handle, int type, int state, const char *path, void *arg)
{
}

/*
 * The library closes and opens its socket at will, and a new socket may have
 * the number of the old one.  So nothing is watched while the library runs.
 */
static void
unwatch(ZkSession *session)
{
	if (session->io != NULL)
		loop_io_free(session->io);
	session->io = NULL;
}

static void
on_ready(void *arg, int ready)
{
	ZkSession  *session = arg;
	int			events = 0;

	if (ready & LOOP_READ)
		events |= ZOOKEEPER_READ;
	if (ready & LOOP_WRITE)
		events |= ZOOKEEPER_WRITE;
	unwatch(session);
	(void) zookeeper_process(session->handle, events);
	zk_flush(session);
	session->on_turn(session->arg);
}

static void
on_timeout(void *arg)
{
	on_ready(arg, 0);
}

static void
watch(ZkSession *session, int fd, int interest)
{
	int			want = 0;

	if (interest & ZOOKEEPER_READ)
		want |= LOOP_READ;
	if (interest & ZOOKEEPER_WRITE)
		want |= LOOP_WRITE;
	if (fd < 0 || want == 0)
		return;
	session->io = loop_io_new(session->loop, fd, on_ready, session);
	loop_io_want(session->io, want);
}

void
zk_flush(ZkSession *session)
{
	struct timeval timeout = {0};
	int			fd = -1;
	int			interest = 0;
	int			rc;
	int64		delay_us;

	unwatch(session);
	rc = zookeeper_interest(session->handle, &fd, &interest, &timeout);
	delay_us = SECONDS_TO_US((int64) timeout.tv_sec) + timeout.tv_usec;
	if (rc == ZOK)
		watch(session, fd, interest);
	else
		delay_us = Max(delay_us, AGAIN_US);
	loop_timer_start(session->timer, delay_us);
}

ZkSession *
zk_open(Loop *loop, const char *addresses, int timeout_ms, LoopFn on_turn, void *arg)
{
	ZkSession  *session;
	zhandle_t  *handle;

	zoo_set_debug_level(ZOO_LOG_LEVEL_WARN);
	handle = zookeeper_init2(addresses, ignore_event, timeout_ms, NULL, NULL, 0, on_log);
	if (handle == NULL)
		return NULL;
	session = palloc0(sizeof(ZkSession));
	session->loop = loop;
	session->handle = handle;
	session->on_turn = on_turn;
	session->arg = arg;
	session->timer = loop_timer_new(loop, on_timeout, session);
	zk_flush(session);
	return session;
}

void
zk_close(ZkSession *session)
{
	unwatch(session);
	loop_timer_free(session->timer);
	(void) zookeeper_close(session->handle);
	loop_defer_free(session->loop, session);
}

zhandle_t *
zk_handle(const ZkSession *session)
{
	return session->handle;
}

int
zk_add_digest(const ZkSession *session, const char *digest)
{
	return zoo_add_auth(session->handle, "digest", digest, (int) strlen(digest), NULL, NULL);
}

ZkState
zk_state(const ZkSession *session)
{
	if (is_unrecoverable(session->handle) != ZOK)
		return ZK_OVER;
	return zoo_state(session->handle) == ZOO_CONNECTED_STATE ? ZK_CONNECTED : ZK_AWAY;
}

int64
zk_timeout_us(const ZkSession *session)
{
	return MS_TO_US(zoo_recv_timeout(session->handle));
}
