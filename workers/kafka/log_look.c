/*-------------------------------------------------------------------------
 *
 * log_look.c
 *		Where the log of a partition begins and ends, without waiting for it.
 *
 * The loop and the thread share a look; the last one to leave frees it.  The
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

#include "workers/kafka/log_look.h"

/* A dead leader may hold up other looks no longer than this. */
#define ANSWER_MS 3000

struct LogLook
{
	atomic_int	users;
	int			fd;				/* readable when there is an answer */
	rd_kafka_t *client;
	char	   *topic;
	int			number;
	int64		young_ms;
	LogEnds		ends;			/* the answer */
	rd_kafka_resp_err_t error;
	LoopIo	   *io;
	LogLookFn	fn;
	void	   *arg;
};

static void
leave(LogLook *look)
{
	if (atomic_fetch_sub(&look->users, 1) > 1)
		return;
	close(look->fd);
	pfree(look->topic);
	pfree(look);
}

static rd_kafka_resp_err_t
ask_young(LogLook *look)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_t *place =
		rd_kafka_topic_partition_list_add(list, look->topic, look->number);
	rd_kafka_resp_err_t error;

	place->offset = look->young_ms;
	error = rd_kafka_offsets_for_times(look->client, list, ANSWER_MS);
	if (error == RD_KAFKA_RESP_ERR_NO_ERROR)
		error = place->err;
	look->ends.young = place->offset;
	rd_kafka_topic_partition_list_destroy(list);
	return error;
}

/* The client keeps one topic of a name, so this handle is the consumer's own. */
static rd_kafka_resp_err_t
ask_partitions(LogLook *look)
{
	rd_kafka_topic_t *topic = rd_kafka_topic_new(look->client, look->topic, NULL);
	const struct rd_kafka_metadata *metadata = NULL;
	rd_kafka_resp_err_t error;

	if (topic == NULL)
		return rd_kafka_last_error();
	error = rd_kafka_metadata(look->client, 0, topic, &metadata, ANSWER_MS);
	rd_kafka_topic_destroy(topic);
	if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
		return error;
	error = metadata->topic_cnt == 1 ? metadata->topics[0].err : RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC;
	if (error == RD_KAFKA_RESP_ERR_NO_ERROR)
		look->ends.partitions = metadata->topics[0].partition_cnt;
	rd_kafka_metadata_destroy(metadata);
	return error;
}

static void *
ask(void *arg)
{
	LogLook    *look = arg;

	look->error = rd_kafka_query_watermark_offsets(look->client, look->topic, look->number,
												   &look->ends.first, &look->ends.end, ANSWER_MS);
	if (look->error == RD_KAFKA_RESP_ERR_NO_ERROR)
		look->error = ask_partitions(look);
	if (look->error == RD_KAFKA_RESP_ERR_NO_ERROR && look->young_ms >= 0)
		look->error = ask_young(look);
	(void) eventfd_write(look->fd, 1);
	leave(look);
	return NULL;
}

static void
on_answer(void *arg, int ready)
{
	LogLook    *look = arg;

	(void) ready;
	if (look->error == RD_KAFKA_RESP_ERR_NO_ERROR)
		look->fn(look->arg, &look->ends, NULL);
	else
		look->fn(look->arg, NULL, rd_kafka_err2str(look->error));
	log_look_cancel(look);
}

/*
 * Starts the thread with all signals blocked: the loop's thread handles them.
 */
static int
start_thread(LogLook *look)
{
	pthread_t	thread;
	sigset_t	all;
	sigset_t	before;
	int			error;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	error = pthread_create(&thread, NULL, ask, look);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error == 0)
		pthread_detach(thread);
	return error;
}

LogLook *
log_look_start(const LogLookFor *what, LogLookFn fn, void *arg)
{
	int			fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	LogLook    *look;
	int			error;

	if (fd < 0)
		return NULL;
	look = palloc0(sizeof(LogLook));
	atomic_init(&look->users, 2);
	look->fd = fd;
	look->client = what->client;
	look->topic = pstrdup(what->topic);
	look->number = what->number;
	look->young_ms = what->young_ms;
	look->fn = fn;
	look->arg = arg;
	error = start_thread(look);
	if (error != 0)
	{
		leave(look);
		leave(look);
		errno = error;
		return NULL;
	}
	look->io = loop_io_new(what->loop, fd, on_answer, look);
	loop_io_want(look->io, LOOP_READ);
	return look;
}

void
log_look_cancel(LogLook *look)
{
	loop_io_free(look->io);
	leave(look);
}
