/*-------------------------------------------------------------------------
 *
 * calls_of.c
 *		Calls of a sidecar with random parameters, on both sides.
 *
 * Statements come from the sidecar's own list.  So do the parameters of a finish; the others
 * are as sidecar/grab, sidecar/queue and sidecar/node add them.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "calls/calls.h"
#include "calls_of.h"
#include "chance.h"
#include "common/trigger.h"
#include "config/config.h"
#include "finish/finish_item.h"
#include "node/policies.h"
#include "sides.h"
#include "tables.h"
#include "world.h"

#define TASKS_MOST 5
#define PAST_CALLS 8

/* A grab or a finish, which a sidecar may ask about later. */
typedef struct PastCall
{
	int64		incarnation;
	int64		token;
	int			n;
	int			rows[TASKS_MOST];
	int64		versions[TASKS_MOST];
} PastCall;

static PastCall grabs[PAST_CALLS];
static PastCall finishes[PAST_CALLS];
static int	ngrabs;
static int	nfinishes;
static int64 last_token;

void
calls_begin(void)
{
	ngrabs = nfinishes = 0;
	last_token = 0;
}

/* ---- chosen tasks ---- */

static bool
has_row(const PastCall *call, int row)
{
	for (int i = 0; i < call->n; i++)
		if (call->rows[i] == row)
			return true;
	return false;
}

/* Mostly tasks of that status, in the order of their ids as the sidecar sorts them. */
static void
choose_rows(PastCall *call, Status status)
{
	int64		most = chance_between(1, TASKS_MOST);

	for (int tries = 0; tries < 40 && call->n < most && model_count() > 0; tries++)
	{
		int			number = (int) chance_between(0, model_count() - 1);
		const Row  *row = model_row(number);

		if (has_row(call, number) || (row->status != status && !chance_happens(30)))
			continue;
		call->rows[call->n] = number;
		call->versions[call->n++] = row->version - chance_happens(40) + chance_happens(40);
	}
}

static int
compare_numbers(const void *a, const void *b)
{
	return memcmp(model_row(*(const int *) a)->id, model_row(*(const int *) b)->id, 16);
}

static PastCall *
choose_tasks(PastCall *calls, int *ncalls, int64 incarnation, Status status)
{
	PastCall   *call = &calls[(*ncalls)++ % PAST_CALLS];
	PastCall	chosen = {.incarnation = incarnation, .token = ++last_token};

	choose_rows(&chosen, status);
	*call = chosen;
	qsort(call->rows, call->n, sizeof(int), compare_numbers);
	for (int i = 0; i < call->n; i++)
		for (int k = 0; k < call->n; k++)
			if (chosen.rows[k] == call->rows[i])
				call->versions[i] = chosen.versions[k];
	return call;
}

/* NULL: there was none. */
static const PastCall *
any_past(const PastCall *calls, int ncalls)
{
	return ncalls == 0 ? NULL : &calls[chance_between(0, Min(ncalls, PAST_CALLS) - 1)];
}

static void
add_ids(const PastCall *past, WireParams *params)
{
	wire_add_array(params, WIRE_UUID, past->n);
	for (int i = 0; i < past->n; i++)
		wire_uuid(params, model_row(past->rows[i])->id);
	wire_add_array(params, WIRE_INT8, past->n);
	for (int i = 0; i < past->n; i++)
		wire_int8(params, past->versions[i]);
}

static ServerCall
begin(const PgStatement *statement)
{
	ServerCall	call = {.statement = statement};

	wire_init(&call.params);
	return call;
}

/* ---- nodes ---- */

static void
add_names(WireParams *params, const char *const *names, int n)
{
	wire_add_array(params, WIRE_TEXT, n);
	for (int i = 0; i < n; i++)
		wire_text(params, names[i]);
}

int64
calls_start_node(int session)
{
	ServerCall	call = begin(&call_start_node);
	int64		incarnation = 1;

	wire_add_text(&call.params, "node");
	wire_add_int8(&call.params, chance_happens(500) ? 30000 : chance_between(5000, 12000));
	wire_add_text(&call.params, NULL);
	add_names(&call.params, model_buckets, MODEL_BUCKETS);
	add_names(&call.params, model_types, MODEL_TYPES);
	sides_call(session, &call);
	while (nodes_find(incarnation + 1) != NULL)
		incarnation++;
	return incarnation;
}

bool
calls_tick(int session, int64 incarnation)
{
	ServerCall	call = begin(&call_tick);

	wire_add_int8(&call.params, incarnation);
	wire_add_int8(&call.params, chance_between(1000, 6000));
	wire_add_text(&call.params, NULL);
	sides_call(session, &call);
	return nodes_live(incarnation);
}

static void
call_of_node(int session, int64 incarnation, const PgStatement *statement)
{
	ServerCall	call = begin(statement);

	wire_add_int8(&call.params, incarnation);
	sides_call(session, &call);
}

void
calls_end_node(int session, int64 incarnation)
{
	call_of_node(session, incarnation, &call_end_node);
}

void
calls_take_cancels(int session, int64 incarnation)
{
	call_of_node(session, incarnation, &call_take_cancels);
}

/* ---- grabs ---- */

static void
add_policies(const PastCall *past, WireParams *params)
{
	static const char *const rules[] = {"retry", "error", "fail", "ignore"};
	int			n = chance_happens(300) ? 1 : past->n;

	wire_add_array(params, WIRE_INT8, n);
	for (int i = 0; i < n; i++)
		wire_int8(params, chance_between(1000, 20000));
	wire_add_array(params, WIRE_TEXT, n);
	for (int i = 0; i < n; i++)
		wire_text(params, rules[chance_between(0, lengthof(rules) - 1)]);
	wire_add_array(params, WIRE_TEXT, n);
	for (int i = 0; i < n; i++)
		wire_text(params, model_types[model_row(past->rows[i])->type]);
	add_names(params, model_buckets, chance_happens(800) ? MODEL_BUCKETS : 1);
}

static void
add_places(int n, WireParams *params)
{
	static const RowPlace unknown;

	wire_add_array(params, WIRE_TID, n);
	for (int i = 0; i < n; i++)
		wire_place(params, &unknown);
}

void
calls_grab(int session, int64 incarnation)
{
	const PastCall *past = choose_tasks(grabs, &ngrabs, incarnation, ROW_SUBMITTED);
	ServerCall	call = begin(chance_happens(800) ? &call_grab : &call_grab_bare);

	if (past->n == 0)
		return;
	add_ids(past, &call.params);
	wire_add_int8(&call.params, incarnation);
	wire_add_int8(&call.params, past->token);
	add_policies(past, &call.params);
	add_places(past->n, &call.params);
	sides_call(session, &call);
}

static void
resolve(int session, const PastCall *past, const PgStatement *statement)
{
	ServerCall	call = begin(statement);

	if (past == NULL || past->n == 0)
		return;
	add_ids(past, &call.params);
	wire_add_int8(&call.params, past->incarnation);
	wire_add_int8(&call.params, past->token);
	sides_call(session, &call);
}

void
calls_resolve_grab(int session, int64 incarnation)
{
	const PastCall *past = any_past(grabs, ngrabs);

	/* The lost call may never have come. */
	if (chance_happens(300))
		past = choose_tasks(grabs, &ngrabs, incarnation, ROW_SUBMITTED);
	resolve(session, past, chance_happens(800) ? &call_resolve_grab : &call_resolve_grab_bare);
}

/* ---- finishes ---- */

static const char *
id_of(const Row *row)
{
	static char text[37];

	trigger_id_text(row->id, text);
	return text;
}

static void
fill_item(FinishItem *item, const PastCall *past, int i, Policy *policy, Judgement *judgement)
{
	static const TaskResult results[] = {
		TASK_DONE, TASK_DONE, TASK_DELETE, TASK_RETRY, TASK_RETRY, TASK_REPEAT, TASK_ERROR, TASK_ACCEPTED, TASK_CANCELLED,
		TASK_RELEASE
	};
	const Row  *row = model_row(past->rows[i]);

	memset(item, 0, sizeof(*item));
	memcpy(item->id, row->id, sizeof(item->id));
	item->version = past->versions[i];
	item->grab = chance_happens(30) ? row->token + 1 : row->token;
	item->result = results[chance_between(0, lengthof(results) - 1)];
	item->delay_ms = chance_happens(400) ? 0 : chance_between(1, 15000);
	if (chance_happens(500) && (item->result == TASK_RETRY || item->result == TASK_REPEAT))
		item->delay_ms = -1;
	judgement->task.policy = policy;
	if (item->delay_ms < 0 || chance_happens(300))
		item->judgement = judgement;
	world_tell("%s v" INT64_FORMAT " ends: %s, delay " INT64_FORMAT " ms, %s", id_of(row), item->version,
			   task_result_name(item->result), item->delay_ms, item->judgement == NULL ? "as it is" : policy->retry);
}

/* The options of a handler, as sidecar/node/policies.c writes them. */
static char *
retry_json(void)
{
	return psprintf("{\"delay\": \"" INT64_FORMAT "us\", \"multiplier\": 2, \"max_delay\": \"" INT64_FORMAT "us\", "
					"\"max_tries\": %d, \"jitter\": %.17g}",
					MS_TO_US(chance_between(1, 2000)), MS_TO_US(chance_between(2000, 8000)),
					(int) chance_between(1, 5), chance_happens(500) ? 0 : 0.1);
}

void
calls_finish(int session, int64 incarnation)
{
	const PastCall *past = choose_tasks(finishes, &nfinishes, incarnation, ROW_PROCESSING);
	ServerCall	call = begin(&call_finish);
	FinishItem	items[TASKS_MOST];
	FinishItem *pointers[TASKS_MOST];
	Judgement	judgements[TASKS_MOST];
	Policy		policy = {0};

	if (past->n == 0)
		return;
	policy.retry = retry_json();
	for (int i = 0; i < past->n; i++)
	{
		fill_item(&items[i], past, i, &policy, &judgements[i]);
		pointers[i] = &items[i];
	}
	finish_items_add_ids(pointers, past->n, &call.params);
	finish_items_add_outcomes(pointers, past->n, &call.params);
	wire_add_int8(&call.params, incarnation);
	wire_add_int8(&call.params, past->token);
	finish_items_add_grabs(pointers, past->n, &call.params);
	finish_items_add_retries(pointers, past->n, &call.params);
	wire_add_bool(&call.params, false);
	finish_items_add_json(pointers, past->n, &call.params);
	sides_call(session, &call);
	pfree(policy.retry);
}

void
calls_resolve_finish(int session, int64 incarnation)
{
	resolve(session, any_past(finishes, nfinishes), &call_resolve_finish);
}

/* ---- looks and duties ---- */

void
calls_sweep(int session, int64 incarnation)
{
	ServerCall	call = begin(&call_sweep);
	int			shares = (int) chance_between(1, 3);
	int			nafter = model_count() > 0 && chance_happens(300) ? 1 : 0;

	wire_add_text(&call.params, model_buckets[chance_between(0, MODEL_BUCKETS - 1)]);
	wire_add_int4(&call.params, (int) chance_between(1, 8));
	add_names(&call.params, model_types, chance_happens(700) ? 0 : (int) chance_between(1, MODEL_TYPES - 1));
	wire_add_int4(&call.params, (int) chance_between(0, shares - 1));
	wire_add_int4(&call.params, shares);
	wire_add_int4(&call.params, (int) chance_between(1, 20));
	wire_add_array(&call.params, WIRE_UUID, nafter);
	for (int i = 0; i < nafter; i++)
		wire_uuid(&call.params, model_row((int) chance_between(0, model_count() - 1))->id);
	sides_call(session, &call);
}

void
calls_policies(int session, int64 incarnation)
{
	ServerCall	call = begin(&call_policies);

	wire_add_text(&call.params, "node");
	sides_call(session, &call);
}

void
calls_promote(int session, int64 incarnation)
{
	ServerCall	call = begin(&call_promote);

	sides_call(session, &call);
}

void
calls_expire(int session, int64 incarnation)
{
	ServerCall	call = begin(&call_expire);

	sides_call(session, &call);
}

void
calls_schedules(int session, int64 incarnation)
{
	ServerCall	call = begin(&call_schedules);

	sides_call(session, &call);
}

void
calls_recover(int session, int64 incarnation)
{
	ServerCall	call = begin(&call_recover);

	wire_add_bool(&call.params, chance_happens(500));
	sides_call(session, &call);
}
