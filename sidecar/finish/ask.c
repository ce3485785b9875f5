/*-------------------------------------------------------------------------
 *
 * ask.c
 *		Asks the functions of policies what becomes of tasks that failed.
 *
 *		from: outcome.c			to: sql/policy/retry.sql, outcome.c
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "finish/ask.h"
#include "node/policy.h"
#include "pg/calls.h"
#include "slots/slots.h"

#define BATCH_MAX 50

/* What was not sent for so long is decided without the function. */
#define PATIENCE_US SECONDS_TO_US(10)

/* A function that takes the server down is not asked a third time. */
#define LOSSES_MAX 2

typedef struct Question
{
	dlist_node	node;
	Task		task;
	Verdict		verdict;
	int64		since_us;
	int			losses;			/* connections that were lost over it */
} Question;

struct Ask
{
	Loop	   *loop;
	Pg		   *pg;
	AskFn		fn;
	void	   *arg;
	LoopTimer  *patience;		/* of the first that waits */
	dlist_head	waiting;		/* in order of arrival */
	dlist_head	sent;			/* one statement at a time */
	int			npending;
};

static void
free_question(Ask *ask, Question *question)
{
	dlist_delete(&question->node);
	ask->npending--;
	if (question->task.has_shared_slot)
		slots_free_shared(question->task.slot);
	pfree(question->task.type);
	policy_unref(question->task.policy);
	if (question->verdict.message != NULL)
		pfree(unconstify(char *, question->verdict.message));
	pfree(question);
}

static void
answer(Ask *ask, Question *question, AskAnswer answer, int64 delay_us)
{
	ask->fn(ask->arg, &question->task, &question->verdict, answer, delay_us);
	question->task.has_shared_slot = false; /* finish has it */
	free_question(ask, question);
}

static void
answer_all(Ask *ask, dlist_head *questions)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, questions)
		answer(ask, dlist_container(Question, node, iter.cur), ASK_POLICY, 0);
}

static void
watch_patience(Ask *ask)
{
	const Question *first;

	loop_timer_stop(ask->patience);
	if (dlist_is_empty(&ask->waiting))
		return;
	first = dlist_head_element(Question, node, &ask->waiting);
	loop_timer_start(ask->patience,
					 first->since_us + PATIENCE_US - loop_now_us(ask->loop));
}

void
ask_add(Ask *ask, const Task *task, const Verdict *verdict)
{
	Question   *question = palloc0(sizeof(Question));

	memcpy(question->task.id, task->id, TASK_ID_BYTES);
	memcpy(question->task.id_text, task->id_text, sizeof(task->id_text));
	question->task.version = task->version;
	question->task.token = task->token;
	question->task.type = pstrdup(task->type);
	question->task.tries = task->tries;
	question->task.policy = policy_ref(task->policy);
	question->task.slot = task->slot;
	question->task.has_shared_slot = task->has_shared_slot;
	question->verdict = *verdict;
	if (verdict->message != NULL)
		question->verdict.message = pstrdup(verdict->message);
	question->since_us = loop_now_us(ask->loop);
	dlist_push_tail(&ask->waiting, &question->node);
	ask->npending++;
	pg_start(ask->pg);
	watch_patience(ask);
}

/* Those that come within a second of each other end together. */
static void
on_patience_over(void *arg)
{
	Ask		   *ask = arg;
	int64		until = loop_now_us(ask->loop) - PATIENCE_US + SECONDS_TO_US(1);
	int			n = 0;

	while (!dlist_is_empty(&ask->waiting) &&
		   dlist_head_element(Question, node, &ask->waiting)->since_us <= until)
	{
		answer(ask, dlist_head_element(Question, node, &ask->waiting), ASK_POLICY, 0);
		n++;
	}
	watch_patience(ask);
	if (n > 0)
		log_line(TWT_LOG_WARN, "policy",
				 "functions of policies did not answer in time: their figures decide on %d tasks", n);
}

static Question *
find_sent(Ask *ask, const uint8 *id)
{
	dlist_iter	iter;

	dlist_foreach(iter, &ask->sent)
	{
		Question   *question = dlist_container(Question, node, iter.cur);

		if (memcmp(question->task.id, id, TASK_ID_BYTES) == 0)
			return question;
	}
	return NULL;
}

/* At its place by age: the first that waits is the oldest. */
static void
wait_again(Ask *ask, Question *question)
{
	dlist_iter	iter;

	dlist_delete(&question->node);
	dlist_foreach(iter, &ask->waiting)
	{
		if (dlist_container(Question, node, iter.cur)->since_us > question->since_us)
			break;
	}
	dlist_insert_before(iter.cur, &question->node);
	watch_patience(ask);
}

static AskAnswer
read_answer(const PGresult *result, int row)
{
	const char *text = PQgetvalue(result, row, ASK_ANSWER);

	if (strcmp(text, "retry") == 0 && !wire_null(result, row, ASK_DELAY_MS))
		return ASK_RETRY;
	return strcmp(text, "error") == 0 ? ASK_ERROR : ASK_POLICY;
}

static void
read_answers(Ask *ask, const PGresult *result)
{
	for (int i = 0; i < PQntuples(result); i++)
	{
		Question   *question = find_sent(ask, wire_get_uuid(result, i, ASK_ID));
		AskAnswer	said = read_answer(result, i);
		int64		ms = said == ASK_RETRY ? wire_get_int8(result, i, ASK_DELAY_MS) : 0;

		if (question == NULL)
			continue;
		if (strcmp(PQgetvalue(result, i, ASK_ANSWER), "later") == 0)
			wait_again(ask, question);
		else
			answer(ask, question, said, MS_TO_US(Min(ms, PG_INT64_MAX / 1000)));
	}
}

/* The connection was lost. */
static void
put_back(Ask *ask)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &ask->sent)
	{
		Question   *question = dlist_container(Question, node, iter.cur);

		if (++question->losses >= LOSSES_MAX)
			answer(ask, question, ASK_POLICY, 0);
		else
			wait_again(ask, question);
	}
}

/* A task that is missing in the answer is not ours: its finish will tell. */
static void
on_answers(void *arg, PgOutcome outcome, PGresult *result)
{
	Ask		   *ask = arg;

	if (outcome == PG_LOST)
		put_back(ask);
	else if (outcome == PG_DONE)
		read_answers(ask, result);
	answer_all(ask, &ask->sent);
	loop_want_turn(ask->loop);
}

static void
take_batch(Ask *ask, int *n)
{
	for (*n = 0; *n < BATCH_MAX && !dlist_is_empty(&ask->waiting); (*n)++)
		dlist_push_tail(&ask->sent, dlist_pop_head_node(&ask->waiting));
	watch_patience(ask);
}

static void
send_batch(Ask *ask)
{
	int			n;
	dlist_iter	iter;
	WireParams	params;

	take_batch(ask, &n);
	wire_init(&params);
	wire_add_uuid_array(&params, n);
	dlist_foreach(iter, &ask->sent)
		wire_uuid(&params, dlist_container(Question, node, iter.cur)->task.id);
	wire_add_int8_array(&params, n);
	dlist_foreach(iter, &ask->sent)
		wire_int8(&params, dlist_container(Question, node, iter.cur)->task.version);
	wire_add_text_array(&params, n);
	dlist_foreach(iter, &ask->sent)
		wire_text(&params, dlist_container(Question, node, iter.cur)->verdict.message);
	pg_send(ask->pg, &call_ask_retry, &params, on_answers, ask);
}

void
ask_pump(Ask *ask)
{
	if (!dlist_is_empty(&ask->waiting) && dlist_is_empty(&ask->sent) &&
		pg_is_up(ask->pg))
		send_batch(ask);
}

static void
on_state(void *arg, bool is_up)
{
	if (is_up)
		loop_want_turn(((Ask *) arg)->loop);
}

Ask *
ask_open(Loop *loop, const Config *config, AskFn fn, void *arg)
{
	Ask		   *ask = palloc0(sizeof(Ask));

	ask->loop = loop;
	ask->fn = fn;
	ask->arg = arg;
	dlist_init(&ask->waiting);
	dlist_init(&ask->sent);
	ask->patience = loop_timer_new(loop, on_patience_over, ask);
	ask->pg = pg_new(loop, config->postgres, "policy", on_state, ask);
	pg_rest_after(ask->pg, PG_REST_US);
	return ask;
}

int
ask_pending(const Ask *ask)
{
	return ask->npending;
}

static void
forget(Ask *ask, dlist_head *questions)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, questions)
		free_question(ask, dlist_container(Question, node, iter.cur));
}

void
ask_forget(Ask *ask)
{
	forget(ask, &ask->waiting);
	forget(ask, &ask->sent);
	loop_timer_stop(ask->patience);
	pg_reset(ask->pg, "the incarnation is gone");
}

void
ask_free(Ask *ask)
{
	forget(ask, &ask->waiting);
	forget(ask, &ask->sent);
	pg_close(ask->pg);
	loop_timer_free(ask->patience);
	pfree(ask);
}
