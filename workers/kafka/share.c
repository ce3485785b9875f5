/*-------------------------------------------------------------------------
 *
 * share.c
 *		One partition that the group gave to this listener.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <time.h>

#include "base/chance.h"
#include "base/log.h"
#include "workers/kafka/log_look.h"
#include "workers/kafka/share.h"
#include "workers/kafka/take.h"

/* Limits the threads. */
#define LOOKS_MAX 16

/*
 * Classes of errors.  Errors of the server, its load and its locks may strike any
 * message; errors of content belong to the message, as in take_singly().
 */
#define CLASSES_OF_SERVER "084053555758"
#define CLASSES_OF_CONTENT "222354P0"

static void on_place(void *arg, PgOutcome outcome, PGresult *result);

void
share_name(char *name, const char *topic, int number)
{
	snprintf(name, SHARE_NAME, "\"%s\" [%d]", topic, number);
}

/* ---- trouble ---- */

/* Tells a person once.  Takes the palloc'd text. */
static void
tell(Share *share, LogLevel level, char *text)
{
	if (partition_is_news(share->partition, text))
		log_line(level, "listener", "%s: %s: %s", share->of->settings->name, share->name, text);
	pfree(text);
}

static void
fail(Share *share)
{
	loop_timer_start(share->timer, chance_delay(partition_fail(share->partition)));
}

/* A lost connection is logged with the connection. */
static void
fail_call(Share *share, PgOutcome outcome, const PGresult *result, const char *what)
{
	const char *why = outcome == PG_LOST ? NULL : PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);

	if (why != NULL)
		tell(share, TWT_LOG_ERROR, psprintf("could not store the %s offset " INT64_FORMAT ": %s (%s)", what,
											partition_offset(share->partition), why, pg_sqlstate(result)));
	fail(share);
}

/* Whether the state is in one of the classes, each of two letters. */
static bool
is_in(const char *state, const char *classes)
{
	for (; *classes != '\0'; classes += 2)
		if (strncmp(state, classes, 2) == 0)
			return true;
	return false;
}

/* A problem outlives its share: a rebalance does not repeat it. */
typedef struct Problem
{
	char	   *name;			/* name of the share */
	char	   *text;
} Problem;

static void
forget_problem(Share *share)
{
	Problem    *problem = map_get(share->of->problems, share->name);

	if (problem == NULL)
		return;
	map_remove(share->of->problems, share->name);
	pfree(problem->name);
	pfree(problem->text);
	pfree(problem);
}

static bool
is_new_problem(Share *share, const char *text)
{
	Problem    *problem = map_get(share->of->problems, share->name);

	if (problem != NULL && strcmp(problem->text, text) == 0)
		return false;
	forget_problem(share);
	problem = palloc(sizeof(Problem));
	problem->name = pstrdup(share->name);
	problem->text = pstrdup(text);
	map_set(share->of->problems, problem->name, problem);
	return true;
}

/* The database keeps the problem until a person sets the offset. */
static void
stand_still(Share *share, int64 offset, const char *problem)
{
	char	   *text = psprintf("nothing is read from offset " INT64_FORMAT " on: %s; see reset_listener()",
								offset, problem);

	if (is_new_problem(share, text))
		tell(share, TWT_LOG_ERROR, pstrdup(text));
	pfree(text);
	partition_forget(share->partition);
	fail(share);
}

/* ---- calls ---- */

static TakeCall
make_call(Share *share, PgResultFn fn)
{
	TakeCall	call = {
		.pg = share->of->pg,
		.listener = share->of->settings,
		.partition = share->partition,
		.fn = fn,
		.arg = share
	};

	return call;
}

static bool
can_call(const Share *share)
{
	return !share->of->is_ending && pg_is_up(share->of->pg);
}

/* Asks where the listener stands. */
static void
send_place(Share *share, const LogEnds *ends)
{
	TakeCall	call = make_call(share, on_place);
	int64		start = partition_found(share->partition, ends, share->of->settings->start);

	if (can_call(share))
		take_place(&call, ends, start);
	else
		fail(share);
}

static void
on_stopped(void *arg, PgOutcome outcome, PGresult *result)
{
	Share	   *share = arg;

	if (outcome != PG_DONE)
		fail_call(share, outcome, result, "problem at");
	else if (take_problem(result) != NULL)
		stand_still(share, partition_offset(share->partition), take_problem(result));
	else
		fail(share);
}

/* Without its messages, going on would skip some of them unseen when the log grows. */
static void
send_stop(Share *share, PartitionPlace found, const LogEnds *ends)
{
	TakeCall	call = make_call(share, on_stopped);
	int64		offset = partition_offset(share->partition);
	char	   *problem = found == PARTITION_LACKS_MESSAGES ?
		psprintf("messages from offset " INT64_FORMAT " to " INT64_FORMAT
				 " were deleted from the topic before they were read", offset, ends->first - 1) :
		psprintf("the topic ends at offset " INT64_FORMAT
				 " now: it was deleted and made anew, or has lost messages", ends->end);

	if (can_call(share))
		take_stop(&call, offset, ends, problem);
	else
		fail(share);
	pfree(problem);
}

/* Tools that show the lag read the offsets of the group. */
static void
store_for_tools(Share *share)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);

	rd_kafka_topic_partition_list_add(list, partition_topic(share->partition),
									  partition_number(share->partition))->offset =
		partition_offset(share->partition);
	(void) rd_kafka_offsets_store(kafka_handle(share->of->kafka), list);
	rd_kafka_topic_partition_list_destroy(list);
}

static void
succeed(Share *share, int64 offset)
{
	if (partition_succeed(share->partition))
		log_line(TWT_LOG_INFO, "listener", "%s: %s: goes on at offset " INT64_FORMAT,
				 share->of->settings->name, share->name, offset);
}

/*
 * The trouble of a partition whose messages are all taken is over.  Otherwise it may
 * belong to the next message, and ends when that is taken.
 */
static void
place(Share *share, int64 offset)
{
	LogEnds		ends;
	PartitionPlace found = partition_place(share->partition, offset, &ends);

	if (offset == ends.end)
		succeed(share, offset);
	switch (found)
	{
		case PARTITION_GOES_ON:
			store_for_tools(share);
			break;
		case PARTITION_SEEKS:
			share->of->is_moved = true;
			break;
		case PARTITION_LACKS_MESSAGES:
		case PARTITION_IS_BEYOND:
			send_stop(share, found, &ends);
			break;
		case PARTITION_DOUBTS:
			fail(share);
			break;
	}
	loop_want_turn(share->of->loop);
}

static void
on_place(void *arg, PgOutcome outcome, PGresult *result)
{
	if (outcome == PG_DONE && take_problem(result) != NULL)
		stand_still(arg, take_answer(result), take_problem(result));
	else if (outcome == PG_DONE)
	{
		forget_problem(arg);
		place(arg, take_answer(result));
	}
	else
		fail_call(arg, outcome, result, "messages from");
}

static void
take_as_told(Share *share, const PGresult *result)
{
	if (take_answer(result) > partition_offset(share->partition))
		succeed(share, take_answer(result));
	place(share, take_answer(result));
}

static void
on_corrupted(void *arg, PgOutcome outcome, PGresult *result)
{
	if (outcome == PG_DONE)
		take_as_told(arg, result);
	else
		fail_call(arg, outcome, result, "message at");
}

/*
 * The rule for messages that fail has been obeyed inside of the call.  Errors that
 * come with the commit, such as errors of deferred constraints, are only seen here.
 */
static void
handle_refusal(Share *share, const PGresult *result)
{
	const char *state = pg_sqlstate(result);
	TakeCall	call = make_call(share, on_corrupted);
	Run			run;

	partition_suspect(share->partition, &run);
	if (run.n > 1 && !is_in(state, CLASSES_OF_SERVER))
	{
		partition_again(share->partition);
		loop_want_turn(share->of->loop);
	}
	else if (run.n == 1 && is_in(state, CLASSES_OF_CONTENT) && can_call(share) &&
			 strcmp(share->of->settings->corrupt, "task") == 0)
		take_corrupted(&call, &run, result);
	else
		fail_call(share, PG_FAILED, result, run.n == 1 ? "message at" : "messages from");
}

static void
on_taken(void *arg, PgOutcome outcome, PGresult *result)
{
	if (outcome == PG_DONE)
		take_as_told(arg, result);
	else if (outcome == PG_FAILED && result != NULL)
		handle_refusal(arg, result);
	else
		fail_call(arg, outcome, result, "messages from");
}

/* ---- looks ---- */

static void
end_look(Share *share)
{
	share->look = NULL;
	share->of->nlooks--;
	loop_want_turn(share->of->loop);
}

/* A failed look heals by itself as a rule, so it is a warning. */
static void
on_look(void *arg, const LogEnds *ends, const char *error)
{
	Share	   *share = arg;

	end_look(share);
	if (ends == NULL)
	{
		tell(share, TWT_LOG_WARN, psprintf("could not ask for its offsets: %s", error));
		fail(share);
		return;
	}
	send_place(share, ends);
}

static void
start_look(Share *share)
{
	ShareOf    *of = share->of;
	LogLookFor	what = {
		.loop = of->loop,
		.client = kafka_handle(of->kafka),
		.topic = partition_topic(share->partition),
		.number = partition_number(share->partition),
		.young_ms = -1
	};

	if (of->settings->start == PARTITION_YOUNG)
		what.young_ms = (int64) time(NULL) * 1000 - of->settings->age_ms;
	share->look = log_look_start(&what, on_look, share);
	if (share->look == NULL)
		fail(share);
	else
		of->nlooks++;
}

void
shares_look(ShareOf *of)
{
	while (of->nlooks < LOOKS_MAX && !dlist_is_empty(&of->to_look))
	{
		Share	   *share = dlist_head_element(Share, look_node, &of->to_look);

		dlist_delete(&share->look_node);
		share->is_to_look = false;
		start_look(share);
	}
}

static void
want_look(Share *share)
{
	dlist_push_tail(&share->of->to_look, &share->look_node);
	share->is_to_look = true;
	loop_want_turn(share->of->loop);
}

static void
on_timer(void *arg)
{
	Share	   *share = arg;

	if (share->of->is_ending)
		return;
	partition_look(share->partition);
	want_look(share);
}

void
share_hurry(Share *share)
{
	if (partition_state(share->partition) == PARTITION_WAITING)
		loop_timer_start(share->timer, 0);
}

static void
forget_look(Share *share)
{
	if (share->is_to_look)
		dlist_delete(&share->look_node);
	share->is_to_look = false;
	if (share->look == NULL)
		return;
	log_look_cancel(share->look);
	end_look(share);
}

/*
 * The place is asked for over the same session, so the answer comes after the end
 * of a call under way.
 */
void
share_lose_place(Share *share)
{
	forget_look(share);
	pg_forget(share->of->pg, share);
	partition_lose(share->partition);
	share->of->is_moved = true;
	fail(share);
}

void
share_reset(Share *share)
{
	partition_forget(share->partition);
	share_lose_place(share);
	loop_timer_start(share->timer, 0);
}

/* ---- the messages ---- */

static void
send_run(Share *share)
{
	TakeCall	call = make_call(share, on_taken);
	Run			run;

	if (!can_call(share) ||
		!partition_take(share->partition, &run))
		return;
	if (run.n > 0)
		take_run(&call, &run);
	else
		take_none(&call, run.from_offset, run.to_offset);
}

static void
pause_if_full(Share *share)
{
	bool		is_full = partition_is_full(share->partition, share->is_paused);
	rd_kafka_topic_partition_list_t *list;

	if (is_full == share->is_paused)
		return;
	share->is_paused = is_full;
	list = rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(list, partition_topic(share->partition),
									  partition_number(share->partition));
	if (is_full)
		rd_kafka_pause_partitions(kafka_handle(share->of->kafka), list);
	else
		rd_kafka_resume_partitions(kafka_handle(share->of->kafka), list);
	rd_kafka_topic_partition_list_destroy(list);
}

void
share_go_on(Share *share)
{
	send_run(share);
	pause_if_full(share);
}

/* ---- the whole ---- */

Share *
share_new(ShareOf *of, const char *topic, int number)
{
	Share	   *share = palloc0(sizeof(Share));
	char		name[SHARE_NAME];

	share_name(name, topic, number);
	share->name = pstrdup(name);
	share->of = of;
	share->partition = partition_new(topic, number);
	share->timer = loop_timer_new(of->loop, on_timer, share);
	want_look(share);
	return share;
}

void
share_free(Share *share)
{
	forget_look(share);
	pg_forget(share->of->pg, share);
	loop_timer_free(share->timer);
	partition_free(share->partition);
	pfree(share->name);
	loop_defer_free(share->of->loop, share);
}
