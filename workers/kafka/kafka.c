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

#include "base/program.h"
#include "workers/kafka/kafka.h"

/*
 * librdkafka 2.0 waits for ever for a consumer whose main thread it could not begin.
 * The process ends then, and another one follows.
 */
#define START_S 10

/* Limits the events of one turn, so that other work is not held up. */
#define EVENTS_A_TURN 1000

/*
 * Poll interval: librdkafka expels a consumer that does not poll, even when
 * there is nothing to read.
 */
#define POLL_US SECONDS_TO_US(1)

#define PRODUCER_EVENTS (RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR)
#define CONSUMER_EVENTS (RD_KAFKA_EVENT_FETCH | RD_KAFKA_EVENT_ERROR | \
						 RD_KAFKA_EVENT_REBALANCE | RD_KAFKA_EVENT_OFFSET_COMMIT)

struct Kafka
{
	Loop	   *loop;
	rd_kafka_t *handle;
	rd_kafka_queue_t *queue;
	int			fd;				/* non-blocking: a full one must not stop a
								 * thread */
	LoopIo	   *io;
	LoopTimer  *timer;
	KafkaEventFn fn;
	void	   *arg;
	bool		lacks_thread;
	bool		is_closing;
	LoopFn		on_closed;		/* NULL: not closing, or closed */
	void	   *closed_arg;
	int64		close_by_us;
};

/* A group waits for the answer of a member that leaves, too. */
static void
drop(Kafka *kafka, rd_kafka_event_t * event)
{
	char	   *reason = NULL;

	if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_REBALANCE &&
		!kafka_rebalance(kafka, event, &reason))
		pfree(reason);
}

/* Without the thread of a broker the client never asks that broker again. */
static bool
says_thread_is_missing(rd_kafka_event_t * event)
{
	return rd_kafka_event_type(event) == RD_KAFKA_EVENT_ERROR &&
		rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE;
}

static void
pass_on(Kafka *kafka, rd_kafka_event_t * event)
{
	kafka->lacks_thread |= says_thread_is_missing(event);
	if (kafka->is_closing)
		drop(kafka, event);
	else if (kafka->fn != NULL)
		kafka->fn(kafka->arg, event);
	rd_kafka_event_destroy(event);
}

static bool
is_closed(Kafka *kafka)
{
	return rd_kafka_consumer_closed(kafka->handle) ||
		loop_now_us(kafka->loop) >= kafka->close_by_us;
}

/* The last call may free the client. */
static void
pump(Kafka *kafka)
{
	rd_kafka_event_t *event;
	int64		wait_us = POLL_US;
	int			n = 0;

	while (n < EVENTS_A_TURN && (event = rd_kafka_queue_poll(kafka->queue, 0)) != NULL)
	{
		pass_on(kafka, event);
		n++;
	}
	if (kafka->on_closed != NULL && is_closed(kafka))
	{
		LoopFn		fn = kafka->on_closed;

		loop_timer_stop(kafka->timer);
		kafka->on_closed = NULL;
		fn(kafka->closed_arg);
		return;
	}
	if (kafka->on_closed != NULL)
		wait_us = Min(wait_us, kafka->close_by_us - loop_now_us(kafka->loop));
	loop_timer_start(kafka->timer, n < EVENTS_A_TURN ? wait_us : 0);
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

static void
give_up(int signo)
{
	static const char text[] = "could not start a Kafka client: librdkafka does not come back\n";
	ssize_t		ignored;

	(void) signo;
	ignored = write(STDERR_FILENO, text, sizeof(text) - 1);
	(void) ignored;
	_exit(EXIT_NO_RESOURCES);
}

/*
 * Blocks all other signals while the library starts its threads: only the loop's
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
	sigdelset(&all, SIGALRM);
	signal(SIGALRM, give_up);
	alarm(START_S);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	handle = rd_kafka_new(type, conf, error, sizeof(error));
	alarm(0);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (handle == NULL)
	{
		rd_kafka_conf_destroy(conf);
		*reason = psprintf("could not start a Kafka client: %s", error);
	}
	return handle;
}

/* A consumer's own queue gets what the main queue of a producer gets. */
static rd_kafka_queue_t *
get_queue(rd_kafka_t * handle, rd_kafka_type_t type)
{
	if (type == RD_KAFKA_PRODUCER)
		return rd_kafka_queue_get_main(handle);
	rd_kafka_poll_set_consumer(handle);
	return rd_kafka_queue_get_consumer(handle);
}

static void
watch(Kafka *kafka, rd_kafka_type_t type)
{
	static const uint64 one = 1;

	kafka->queue = get_queue(kafka->handle, type);
	kafka->io = loop_io_new(kafka->loop, kafka->fd, on_readable, kafka);
	kafka->timer = loop_timer_new(kafka->loop, on_timer, kafka);
	loop_io_want(kafka->io, LOOP_READ);
	rd_kafka_queue_io_event_enable(kafka->queue, kafka->fd, &one, sizeof(one));
	loop_timer_start(kafka->timer, 0);
}

static Kafka *
open_client(Loop *loop, rd_kafka_type_t type, rd_kafka_conf_t * conf, char **reason)
{
	Kafka	   *kafka = palloc0(sizeof(Kafka));

	rd_kafka_conf_set_events(conf, type == RD_KAFKA_PRODUCER ? PRODUCER_EVENTS : CONSUMER_EVENTS);
	rd_kafka_conf_set_log_cb(conf, NULL);
	kafka->loop = loop;
	kafka->handle = start(type, conf, reason);
	kafka->fd = kafka->handle != NULL ? eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC) : -1;
	if (kafka->fd >= 0)
	{
		watch(kafka, type);
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

Kafka *
kafka_producer_new(Loop *loop, rd_kafka_conf_t * conf, char **reason)
{
	return open_client(loop, RD_KAFKA_PRODUCER, conf, reason);
}

Kafka *
kafka_consumer_new(Loop *loop, rd_kafka_conf_t * conf, char **reason)
{
	return open_client(loop, RD_KAFKA_CONSUMER, conf, reason);
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

bool
kafka_has_failed(Kafka *kafka)
{
	return kafka->lacks_thread ||
		rd_kafka_fatal_error(kafka->handle, NULL, 0) != RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* ---- rebalances ---- */

static bool
is_cooperative(Kafka *kafka)
{
	const char *protocol = rd_kafka_rebalance_protocol(kafka->handle);

	return protocol != NULL && strcmp(protocol, "COOPERATIVE") == 0;
}

/*
 * After a failure, the client would wait for another answer forever.  A cooperative
 * one refuses this answer, and librdkafka can abort when it is told to give up
 * partitions that it has not taken: such a client is of no more use.
 */
static bool
judge(Kafka *kafka, rd_kafka_error_t * error, char **reason)
{
	if (error == NULL)
		return true;
	*reason = pstrdup(rd_kafka_error_string(error));
	rd_kafka_error_destroy(error);
	if (!is_cooperative(kafka))
		rd_kafka_assign(kafka->handle, NULL);
	return false;
}

/* Returns the error as those calls do that have a text for it. */
static rd_kafka_error_t *
assign_eagerly(Kafka *kafka, const rd_kafka_topic_partition_list_t * partitions)
{
	rd_kafka_resp_err_t error = rd_kafka_assign(kafka->handle, partitions);

	return error == RD_KAFKA_RESP_ERR_NO_ERROR ? NULL :
		rd_kafka_error_new(error, "%s", rd_kafka_err2str(error));
}

bool
kafka_assign(Kafka *kafka, const rd_kafka_topic_partition_list_t * partitions, char **reason)
{
	return judge(kafka, is_cooperative(kafka) ?
				 rd_kafka_incremental_assign(kafka->handle, partitions) :
				 assign_eagerly(kafka, partitions), reason);
}

bool
kafka_unassign(Kafka *kafka, const rd_kafka_topic_partition_list_t * partitions, char **reason)
{
	return judge(kafka, is_cooperative(kafka) ?
				 rd_kafka_incremental_unassign(kafka->handle, partitions) :
				 assign_eagerly(kafka, NULL), reason);
}

bool
kafka_rebalance(Kafka *kafka, rd_kafka_event_t * event, char **reason)
{
	const		rd_kafka_topic_partition_list_t *partitions =
		rd_kafka_event_topic_partition_list(event);

	switch (rd_kafka_event_error(event))
	{
		case RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS:
			return kafka_assign(kafka, partitions, reason);
		case RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS:
			return kafka_unassign(kafka, partitions, reason);
		default:
			return judge(kafka, assign_eagerly(kafka, NULL), reason);
	}
}

/* ---- the end ---- */

void
kafka_close(Kafka *kafka, int64 timeout_us, LoopFn fn, void *arg)
{
	rd_kafka_error_t *error = rd_kafka_consumer_close_queue(kafka->handle, kafka->queue);

	kafka->is_closing = true;
	kafka->on_closed = fn;
	kafka->closed_arg = arg;
	kafka->close_by_us = loop_now_us(kafka->loop) + (error == NULL ? timeout_us : 0);
	if (error != NULL)
		rd_kafka_error_destroy(error);
	loop_timer_start(kafka->timer, 0);
}

/* A plain destroy would wait for the answers of brokers, however long. */
void
kafka_free(Kafka *kafka)
{
	rd_kafka_queue_io_event_enable(kafka->queue, -1, NULL, 0);
	loop_io_free(kafka->io);
	loop_timer_free(kafka->timer);
	rd_kafka_queue_destroy(kafka->queue);
	rd_kafka_destroy_flags(kafka->handle, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
	close(kafka->fd);
	pfree(kafka);
}
