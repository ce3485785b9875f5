/*-------------------------------------------------------------------------
 *
 * kafka.c
 *		A client of Kafka on the event loop.
 *
 * librdkafka writes to the eventfd only when its queue was empty.  So a pump
 * runs until the queue is empty, and a pump that stops early goes on in the
 * next turn.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "kafka/kafka.h"

/* Limits the events of one turn, so that other work is not held up. */
#define EVENTS_A_TURN 1000

/*
 * Poll interval: librdkafka expels a consumer that does not poll, even when
 * there is nothing to read.
 */
#define POLL_US SECONDS_TO_US(1)

struct Kafka
{
	rd_kafka_t *handle;
	rd_kafka_queue_t *queue;
	int			fd;				/* non-blocking: a full one must not stop a
								 * thread */
	LoopIo	   *io;
	LoopTimer  *timer;
	KafkaEventFn fn;
	void	   *arg;
};

static void
pump(Kafka *kafka)
{
	rd_kafka_event_t *event;
	int			n = 0;

	while (n < EVENTS_A_TURN && (event = rd_kafka_queue_poll(kafka->queue, 0)) != NULL)
	{
		if (kafka->fn != NULL)
			kafka->fn(kafka->arg, event);
		rd_kafka_event_destroy(event);
		n++;
	}
	loop_timer_start(kafka->timer, n < EVENTS_A_TURN ? POLL_US : 0);
}

static void
on_readable(void *arg, int ready)
{
	Kafka	   *kafka = arg;
	uint64		count;

	(void) ready;
	if (read(kafka->fd, &count, sizeof(count)) == sizeof(count))
		pump(kafka);
}

static void
on_timer(void *arg)
{
	pump(arg);
}

/*
 * Blocks all signals while the library starts its threads: only the loop's
 * thread handles signals.
 */
static rd_kafka_t *
start(rd_kafka_type_t type, rd_kafka_conf_t * conf, char **reason)
{
	char		error[512];
	sigset_t	all;
	sigset_t	before;
	rd_kafka_t *handle;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	handle = rd_kafka_new(type, conf, error, sizeof(error));
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (handle == NULL)
	{
		rd_kafka_conf_destroy(conf);
		*reason = psprintf("could not start a Kafka client: %s", error);
	}
	return handle;
}

static void
watch(Kafka *kafka, Loop *loop)
{
	static const uint64 one = 1;

	kafka->queue = rd_kafka_queue_get_main(kafka->handle);
	kafka->io = loop_io_new(loop, kafka->fd, on_readable, kafka);
	kafka->timer = loop_timer_new(loop, on_timer, kafka);
	loop_io_want(kafka->io, LOOP_READ);
	rd_kafka_queue_io_event_enable(kafka->queue, kafka->fd, &one, sizeof(one));
	loop_timer_start(kafka->timer, 0);
}

Kafka *
kafka_producer_new(Loop *loop, rd_kafka_conf_t * conf, char **reason)
{
	Kafka	   *kafka = palloc0(sizeof(Kafka));

	rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR);
	rd_kafka_conf_set_log_cb(conf, NULL);
	kafka->handle = start(RD_KAFKA_PRODUCER, conf, reason);
	kafka->fd = kafka->handle != NULL ? eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC) : -1;
	if (kafka->fd >= 0)
	{
		watch(kafka, loop);
		return kafka;
	}
	if (kafka->handle != NULL)
	{
		*reason = psprintf("could not make an eventfd: %m");
		rd_kafka_destroy(kafka->handle);
	}
	pfree(kafka);
	return NULL;
}

void
kafka_on_event(Kafka *kafka, KafkaEventFn fn, void *arg)
{
	kafka->fn = fn;
	kafka->arg = arg;
}

rd_kafka_t *
kafka_handle(Kafka *kafka)
{
	return kafka->handle;
}

void
kafka_free(Kafka *kafka)
{
	rd_kafka_queue_io_event_enable(kafka->queue, -1, NULL, 0);
	loop_io_free(kafka->io);
	loop_timer_free(kafka->timer);
	rd_kafka_queue_destroy(kafka->queue);
	rd_kafka_destroy(kafka->handle);
	close(kafka->fd);
	pfree(kafka);
}
