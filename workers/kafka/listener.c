/*-------------------------------------------------------------------------
 *
 * listener.c
 *		Reads topics, and stores their messages as tasks.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "base/map.h"
#include "base/text.h"
#include "workers/kafka/listener.h"
#include "workers/kafka/share.h"
#include "workers/kafka/take.h"

/* The calls under way, and then the departure from the group, have this time. */
#define CLOSE_US SECONDS_TO_US(4)

/* The same trouble of the brokers is logged again after this time. */
#define TELL_AGAIN_US SECONDS_TO_US(60)

/* librdkafka repeats a trouble within this time while it lasts. */
#define TROUBLE_US SECONDS_TO_US(90)

/* A function may quote a whole message, and each living node keeps its troubles. */
#define TROUBLES_MAX 50
#define TROUBLE_BYTES 1000

/* Places that come within this time cost one assignment, which stops all fetches. */
#define GATHER_US MS_TO_US(50)

/* Anybody may notify, so the shares look anew at most once in this time. */
#define RESET_US SECONDS_TO_US(1)

struct Listener
{
	ShareOf		of;
	dlist_head	shares;
	Map		   *by_name;
	rd_kafka_resp_err_t told;	/* the last trouble that is logged */
	int64		told_us;
	char	   *trouble;		/* its text; NULL: none */
	int64		trouble_us;		/* when it came last */
	LoopTimer  *gather;			/* runs while places may come */
	LoopTimer  *reset;			/* runs while shares are to be reset */
	int64		reset_us;		/* when some were reset last */
	LoopFn		on_broken;
	void	   *broken_arg;
	LoopTimer  *timer;			/* runs while it closes */
	LoopFn		on_closed;
	void	   *closed_arg;
};

#define foreach_share(iter, listener) dlist_foreach_modify(iter, &(listener)->shares)
#define share_of(iter) dlist_container(Share, node, (iter).cur)

/* ---- trouble ---- */

static void
break_down(Listener *listener, const char *why)
{
	log_line(TWT_LOG_ERROR, "listener", "%s: %s", listener->of.settings->name, why);
	listener->on_broken(listener->broken_arg);
}

/* Tells the same trouble once a minute, since librdkafka repeats it. */
static void
tell(Listener *listener, rd_kafka_resp_err_t error, const char *why)
{
	int64		now = loop_now_us(listener->of.loop);

	listener->trouble_us = now;
	if (listener->trouble != NULL && error == listener->told && now < listener->told_us + TELL_AGAIN_US)
		return;
	log_line(TWT_LOG_WARN, "listener", "%s: %s", listener->of.settings->name, why);
	listener->told = error;
	listener->told_us = now;
	pfree(listener->trouble);
	listener->trouble = pstrdup(why);
}

/* A message proves that brokers are there, and no more. */
static void
forget_outage(Listener *listener)
{
	if (listener->trouble == NULL || listener->told != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
		return;
	pfree(listener->trouble);
	listener->trouble = NULL;
}

/* Takes the palloc'd text. */
static void
add_trouble(json_t *list, char *text)
{
	if (json_array_size(list) < TROUBLES_MAX)
	{
		char	   *shown = text_quote_line(text, strlen(text), TROUBLE_BYTES);

		json_array_append_new(list, json_string(shown));
		pfree(shown);
	}
	pfree(text);
}

void
listener_add_troubles(Listener *listener, json_t *list)
{
	const char *name = listener->of.settings->name;
	dlist_mutable_iter iter;

	if (pg_is_failing(listener->of.pg))
		add_trouble(list, psprintf("listener \"%s\": no connection to the database", name));
	if (listener->trouble != NULL &&
		loop_now_us(listener->of.loop) < listener->trouble_us + TROUBLE_US)
		add_trouble(list, psprintf("listener \"%s\": %s", name, listener->trouble));
	foreach_share(iter, listener)
	{
		Partition  *partition = share_of(iter)->partition;
		const char *trouble = partition_trouble(partition);

		if (trouble != NULL && map_get(listener->of.problems, share_of(iter)->name) == NULL)
			add_trouble(list, psprintf("listener \"%s\", partition %d of topic \"%s\": %s", name,
									   partition_number(partition), partition_topic(partition), trouble));
	}
}

/* Whether the error of a client is none of a person's business. */
static bool
is_quiet(rd_kafka_resp_err_t error)
{
	return error == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET ||
		error == RD_KAFKA_RESP_ERR__PARTITION_EOF ||
		error == RD_KAFKA_RESP_ERR__TRANSPORT;
}

/* ---- shares ---- */

static Share *
find_share(Listener *listener, const char *topic, int number)
{
	char		name[SHARE_NAME];

	share_name(name, topic, number);
	return map_get(listener->by_name, name);
}

static void
assign(Listener *listener, const rd_kafka_topic_partition_list_t * partitions)
{
	char	   *reason;

	listener->of.is_moved = false;
	if (kafka_assign(listener->of.kafka, partitions, &reason))
		return;
	break_down(listener, reason);
	pfree(reason);
}

/*
 * Fetches the shares that have a position, each from there.  A partition stays
 * paused when it is taken away and given back, so all are resumed; those with
 * many messages pause again.
 */
static void
assign_placed(Listener *listener)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(8);
	dlist_mutable_iter iter;

	foreach_share(iter, listener)
	{
		Partition  *partition = share_of(iter)->partition;

		share_of(iter)->is_paused = false;
		if (partition_position(partition) == PARTITION_NOWHERE)
			continue;
		rd_kafka_topic_partition_list_add(list, partition_topic(partition), partition_number(partition))
			->offset = partition_position(partition);
		partition_fetch(partition);
	}
	assign(listener, list);
	(void) rd_kafka_resume_partitions(kafka_handle(listener->of.kafka), list);
	rd_kafka_topic_partition_list_destroy(list);
}

static void
on_gathered(void *arg)
{
	Listener   *listener = arg;

	if (listener->of.is_moved && !listener->of.is_ending)
		assign_placed(listener);
}

static void
take_shares(Listener *listener, const rd_kafka_topic_partition_list_t * given)
{
	rd_kafka_topic_partition_list_t *none = rd_kafka_topic_partition_list_new(0);

	log_line(TWT_LOG_INFO, "listener", "%s: reads %d partition%s", listener->of.settings->name,
			 given->cnt, given->cnt == 1 ? "" : "s");
	assign(listener, none);
	rd_kafka_topic_partition_list_destroy(none);
	for (int i = 0; i < given->cnt; i++)
	{
		Share	   *share = share_new(&listener->of, given->elems[i].topic, given->elems[i].partition);

		dlist_push_tail(&listener->shares, &share->node);
		map_set(listener->by_name, share->name, share);
	}
}

static void
drop_shares(Listener *listener)
{
	dlist_mutable_iter iter;

	map_clear(listener->by_name);
	foreach_share(iter, listener)
	{
		dlist_delete(iter.cur);
		share_free(share_of(iter));
	}
	listener->of.is_moved = false;
}

/* ---- events ---- */

/*
 * A group may lose us, as when its coordinator is away.  Nobody need have our shares then,
 * so we read on until they are given anew; the database keeps the offsets.
 */
static void
on_rebalance(Listener *listener, rd_kafka_event_t * event)
{
	bool		is_given = rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS;
	bool		is_lost = !is_given && rd_kafka_assignment_lost(kafka_handle(listener->of.kafka));
	char	   *reason;

	if (!is_given)
		log_line(TWT_LOG_INFO, "listener", "%s: %s", listener->of.settings->name,
				 is_lost ? "reads on without its group" : "gives its partitions back");
	if (!is_lost)
		drop_shares(listener);
	if (is_given)
		take_shares(listener, rd_kafka_event_topic_partition_list(event));
	else if (!kafka_rebalance(listener->of.kafka, event, &reason))
	{
		break_down(listener, reason);
		pfree(reason);
	}
	else if (is_lost)
		assign_placed(listener);
}

static void
on_message(Listener *listener, rd_kafka_event_t * event)
{
	const		rd_kafka_message_t *message = rd_kafka_event_message_next(event);
	Share	   *share = message == NULL || message->rkt == NULL ? NULL : find_share(listener, rd_kafka_topic_name(message->rkt), message->partition);

	if (share == NULL)
		return;
	if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR)
	{
		forget_outage(listener);
		partition_push(share->partition, message_new(message));
	}
	else
		share_lose_place(share);
}

/*
 * The end of a log is told as an error.  After any other error, the fetches of a
 * partition have ended, or would go on behind what cannot be read.  A look tells
 * whether the log has the offset at all.
 */
static void
on_error(Listener *listener, rd_kafka_event_t * event)
{
	rd_kafka_topic_partition_t *where = rd_kafka_event_topic_partition(event);
	rd_kafka_resp_err_t error = rd_kafka_event_error(event);
	Share	   *share = where == NULL ? NULL :
		find_share(listener, where->topic, where->partition);

	if (kafka_has_failed(listener->of.kafka))
		break_down(listener, rd_kafka_event_error_string(event));
	else if (!is_quiet(error))
		tell(listener, error, rd_kafka_event_error_string(event));
	if (share != NULL && error == RD_KAFKA_RESP_ERR__PARTITION_EOF)
		partition_reach(share->partition, where->offset);
	else if (share != NULL)
		share_lose_place(share);
	if (where != NULL)
		rd_kafka_topic_partition_destroy(where);
}

static void
on_event(void *arg, rd_kafka_event_t * event)
{
	Listener   *listener = arg;

	switch (rd_kafka_event_type(event))
	{
		case RD_KAFKA_EVENT_FETCH:
			on_message(listener, event);
			break;
		case RD_KAFKA_EVENT_REBALANCE:
			on_rebalance(listener, event);
			break;
		case RD_KAFKA_EVENT_ERROR:
			on_error(listener, event);
			break;
		default:
			break;
	}
	loop_want_turn(listener->of.loop);
}

static void
on_reset(void *arg)
{
	Listener   *listener = arg;
	dlist_mutable_iter iter;

	listener->reset_us = loop_now_us(listener->of.loop);
	foreach_share(iter, listener)
	{
		Share	   *share = share_of(iter);

		if (share->is_to_reset && !listener->of.is_ending)
			share_reset(share);
		share->is_to_reset = false;
	}
}

static void
want_reset(Listener *listener, Share *share)
{
	share->is_to_reset = true;
	if (!loop_timer_active(listener->reset))
		loop_timer_start(listener->reset,
						 Max(listener->reset_us + RESET_US - loop_now_us(listener->of.loop), 0));
}

/* An operator has set the offset of LISTENER/TOPIC/PARTITION. */
static void
on_notify(void *arg, const char *channel, const char *payload)
{
	Listener   *listener = arg;
	dlist_mutable_iter iter;

	(void) channel;
	foreach_share(iter, listener)
	{
		Partition  *partition = share_of(iter)->partition;
		char	   *place = psprintf("%s/%s/%d", listener->of.settings->name,
									 partition_topic(partition), partition_number(partition));

		if (strcmp(place, payload) == 0)
			want_reset(listener, share_of(iter));
		pfree(place);
	}
}

static void
on_session(void *arg, bool is_up)
{
	Listener   *listener = arg;
	dlist_mutable_iter iter;

	if (!is_up)
		return;
	take_set_up(listener->of.pg);
	foreach_share(iter, listener)
		share_hurry(share_of(iter));
}

/* ---- the end ---- */

static void
on_left(void *arg)
{
	Listener   *listener = arg;
	LoopFn		fn = listener->on_closed;

	listener->on_closed = NULL;
	if (fn != NULL)
		fn(listener->closed_arg);
}

static void
leave_group(Listener *listener)
{
	loop_timer_free(listener->timer);
	listener->timer = NULL;
	drop_shares(listener);
	kafka_close(listener->of.kafka, CLOSE_US, on_left, listener);
}

static void
on_late(void *arg)
{
	Listener   *listener = arg;

	log_line(TWT_LOG_WARN, "listener", "%s: ends during a call", listener->of.settings->name);
	leave_group(listener);
}

static void
on_turn(void *arg)
{
	Listener   *listener = arg;
	dlist_mutable_iter iter;

	if (listener->of.is_moved && !loop_timer_active(listener->gather))
		loop_timer_start(listener->gather, GATHER_US);
	if (!listener->of.is_ending)
		shares_look(&listener->of);
	foreach_share(iter, listener)
		share_go_on(share_of(iter));
	if (listener->timer != NULL && pg_in_flight(listener->of.pg) == 0)
		leave_group(listener);
}

void
listener_close(Listener *listener, LoopFn fn, void *arg)
{
	listener->on_closed = fn;
	listener->closed_arg = arg;
	listener->of.is_ending = true;
	listener->timer = loop_timer_new(listener->of.loop, on_late, listener);
	loop_timer_start(listener->timer, CLOSE_US);
	loop_want_turn(listener->of.loop);
}

/* ---- the beginning ---- */

static bool
subscribe(Listener *listener)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(4);
	rd_kafka_resp_err_t error;

	for (char **topic = listener->of.settings->topics; *topic != NULL; topic++)
		rd_kafka_topic_partition_list_add(list, *topic, RD_KAFKA_PARTITION_UA);
	error = rd_kafka_subscribe(kafka_handle(listener->of.kafka), list);
	rd_kafka_topic_partition_list_destroy(list);
	if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
		log_line(TWT_LOG_ERROR, "listener", "%s: could not subscribe: %s",
				 listener->of.settings->name, rd_kafka_err2str(error));
	return error == RD_KAFKA_RESP_ERR_NO_ERROR;
}

static bool
open_consumer(Listener *listener)
{
	char	   *reason;

	listener->of.kafka = kafka_consumer_new(listener->of.loop,
											rd_kafka_conf_dup(listener->of.settings->conf),
											&reason);
	if (listener->of.kafka != NULL)
	{
		kafka_on_event(listener->of.kafka, on_event, listener);
		return subscribe(listener);
	}
	log_line(TWT_LOG_ERROR, "listener", "%s: %s", listener->of.settings->name, reason);
	pfree(reason);
	return false;
}

Listener *
listener_start(Loop *loop, const char *postgres, const ListenerSettings *settings,
			   LoopFn on_broken, void *arg)
{
	Listener   *listener = palloc0(sizeof(Listener));
	char	   *role = psprintf("listener %s", settings->name);

	listener->of.loop = loop;
	listener->of.settings = settings;
	listener->on_broken = on_broken;
	listener->broken_arg = arg;
	listener->by_name = map_new(0);
	listener->gather = loop_timer_new(loop, on_gathered, listener);
	listener->reset = loop_timer_new(loop, on_reset, listener);
	dlist_init(&listener->shares);
	dlist_init(&listener->of.to_look);
	listener->of.problems = map_new(0);
	listener->of.pg = pg_new(loop, postgres, role, on_session, listener);
	pg_on_notify(listener->of.pg, on_notify);
	pfree(role);
	if (!open_consumer(listener))
		return NULL;
	pg_start(listener->of.pg);
	loop_on_turn(loop, on_turn, listener);
	return listener;
}
