/*-------------------------------------------------------------------------
 *
 * tasks.c
 *		The model's tasks: grabbed, finished, promoted, recovered.
 *
 * As the functions of sql/run, sql/queue and sql/cluster document it.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "calls/calls.h"
#include "judge.h"
#include "tables.h"
#include "values.h"
#include "world.h"

/* Then promote_tasks() looks again at a row that it has skipped. */
#define LOCKED_US MS_TO_US(500)

static const char *const rule_names[] = {"retry", "error", "fail", "ignore"};

/* ---- grab ---- */

void
tasks_put_place(PGresult *result, int row, int column, const Row *task)
{
	char		place[6] = {0, 0, 0, (char) (task->number >> 8), (char) task->number, 1};

	result_bytes(result, row, column, place, sizeof(place));
}

static void
put_data(PGresult *result, int at, const Row *row)
{
	char	   *data = palloc(row->padding + 16);
	int			len = row->padding == 0 ? sprintf(data, "\1{}") :
		sprintf(data, "\1{\"a\":\"%0*d\"}", row->padding, 0);

	result_bytes(result, at, GRAB_DATA, data, len);
	pfree(data);
}

static void
put_task(PGresult *result, int at, const Row *row, bool is_bare)
{
	for (int i = 0; i <= GRAB_RUNNABLE; i++)
		result_null(result, at, i);
	result_bytes(result, at, GRAB_ID, row->id, sizeof(row->id));
	result_int(result, at, GRAB_VERSION, row->version);
	result_text(result, at, GRAB_TYPE, model_types[row->type]);
	result_text(result, at, GRAB_BUCKET, model_buckets[row->bucket]);
	result_int(result, at, GRAB_PRIORITY, row->priority);
	result_int(result, at, GRAB_TRIES, row->tries);
	result_time(result, at, GRAB_GRABBED, row->grabbed_us);
	if (!is_bare)
		put_data(result, at, row);
}

static Rule
read_rule(const Elements *rules, int i)
{
	for (int rule = 0; rule < (int) lengthof(rule_names); rule++)
		if (element_is_text(rules, i, rule_names[rule]))
			return rule;
	world_fail("a grab has no stuck rule");
}

static bool
can_be_grabbed(const Row *row, const ServerCall *call, int i, int64 version)
{
	Elements	types;
	Elements	buckets;

	if (row == NULL || row->status != ROW_SUBMITTED || row->version != version || model_is_paused(row))
		return false;
	param_array(call, 6, &types);
	param_array(call, 7, &buckets);
	return !model_has_expired(row) && (types.n == 0 || element_is_text(&types, i, model_types[row->type])) &&
		(buckets.n == 0 || elements_have_text(&buckets, model_buckets[row->bucket]));
}

/* The answer names the limit, and has no version. */
static void
put_refusal(PGresult *result, int at, const Row *row, const char *limit, int64 again_ms)
{
	for (int i = 0; i <= GRAB_RUNNABLE; i++)
		result_null(result, at, i);
	result_bytes(result, at, GRAB_ID, row->id, sizeof(row->id));
	result_text(result, at, GRAB_TYPE, limit);
	if (again_ms == 0)
		return;
	result_int(result, at, GRAB_TRIES, again_ms);
	result_time(result, at, GRAB_GRABBED, model_clock_us() + MS_TO_US(again_ms));
}

PGresult *
tasks_grab(const ServerCall *call)
{
	PGresult   *result = result_new(GRAB_RUNNABLE + 1);
	int64		incarnation = param_int(call, 2);
	bool		durable = false;
	int			n = 0;
	Elements	ids;
	Elements	versions;
	Elements	timeouts;
	Elements	rules;

	param_array(call, 0, &ids);
	param_array(call, 1, &versions);
	param_array(call, 4, &timeouts);
	param_array(call, 5, &rules);
	for (int i = 0; i < ids.n && nodes_may_grab(incarnation); i++)
	{
		Row		   *row = model_find(ids.values[i]);
		const char *limit;
		int64		again_ms;

		if (row != NULL)
			limits_note_ask(row->type, incarnation);
		if (!can_be_grabbed(row, call, i, element_int(&versions, i)))
			continue;
		limit = limits_refuse(row->type, incarnation, &again_ms);
		if (limit != NULL)
		{
			world_count(REACHED_REFUSED);
			put_refusal(result, n++, row, limit, again_ms);
			continue;
		}
		if (locks_hold(row))
			continue;
		tables_touch(row);
		row->status = ROW_PROCESSING;
		row->version++;
		row->tries++;
		row->grabbed_us = model_clock_us();
		row->deadline_us = row->grabbed_us + MS_TO_US(element_int(&timeouts, i));
		row->incarnation = incarnation;
		row->token = param_int(call, 3);
		row->rule = read_rule(&rules, i);
		durable |= row->rule != RULE_RETRY || limits_cover(row->type);
		world_tell("task %d v" INT64_FORMAT " is grabbed by incarnation " INT64_FORMAT, row->number, row->version,
				   incarnation);
		limits_take(row->type);
		judge_grab(row, call->sent_us);
		put_task(result, n, row, call->statement == &call_grab_bare);
		result_time(result, n, GRAB_RUNNABLE, row->runnable_us);
		tasks_put_place(result, n++, GRAB_PLACE, row);
	}
	tables_commit(durable);
	return result;
}

static bool
is_grabbed(const Row *row, int64 version, const ServerCall *call)
{
	return row != NULL && row->status == ROW_PROCESSING && row->version == version + 1 &&
		row->incarnation == param_int(call, 2) && row->token == param_int(call, 3);
}

PGresult *
tasks_still_grabbed(const ServerCall *call)
{
	PGresult   *result = result_new(GRAB_RUNNABLE + 1);
	Elements	ids;
	Elements	versions;

	param_array(call, 0, &ids);
	param_array(call, 1, &versions);
	for (int i = 0; i < ids.n; i++)
		if (is_grabbed(model_find(ids.values[i]), element_int(&versions, i), call))
			put_task(result, PQntuples(result), model_find(ids.values[i]), true);
	return result;
}

static bool
is_to_fence(const Row *row, int64 version, const ServerCall *call)
{
	return row != NULL && row->status == ROW_SUBMITTED && row->version == version && nodes_is_known(param_int(call, 2));
}

const Row *
tasks_to_fence(const ServerCall *call, int i)
{
	Elements	ids;
	Elements	versions;
	const Row  *row;

	param_array(call, 0, &ids);
	param_array(call, 1, &versions);
	row = model_find(ids.values[i]);
	return is_to_fence(row, element_int(&versions, i), call) ? row : NULL;
}

PGresult *
tasks_resolve_grab(const ServerCall *call)
{
	PGresult   *result = result_new(GRAB_RUNNABLE + 1);
	int			n = 0;
	Elements	ids;
	Elements	versions;

	param_array(call, 0, &ids);
	param_array(call, 1, &versions);
	for (int i = 0; i < ids.n; i++)
	{
		Row		   *row = model_find(ids.values[i]);
		int64		version = element_int(&versions, i);

		if (is_to_fence(row, version, call))
		{
			tables_touch(row);
			row->version++;
			tables_trigger(row, -1);
		}
		else if (is_grabbed(row, version, call))
			put_task(result, n++, row, call->statement == &call_resolve_grab_bare);
	}
	tables_commit(true);
	return result;
}

/* ---- finish ---- */

/* The figure behind a name in the retry policy, which the sidecar writes. */
static double
policy_figure(const Elements *retries, int i, const char *name)
{
	int			len;
	const char *json = element(retries, i, &len);
	char	   *text = pnstrdup(json, len);
	const char *at = strstr(text, name);
	double		figure;

	if (at == NULL)
		world_fail("a retry policy lacks %s: %s", name, text);
	figure = strtod(at + strlen(name), NULL);
	pfree(text);
	return figure;
}

/* A try has failed, or the task repeats.  -1: the tries are over. */
static int64
retry_us(const Row *row, const Elements *retries, int i, bool is_repeat)
{
	int			len;
	int64		delay_us;

	if (retries->n == 0 || element(retries, i, &len) == NULL)
		return 0;
	if (!is_repeat && row->tries >= policy_figure(retries, i, "\"max_tries\": "))
		return -1;
	delay_us = policy_figure(retries, i, "\"delay\": \"");
	delay_us = Min(is_repeat ? delay_us : delay_us << Min(row->tries - 1, 6),
				   policy_figure(retries, i, "\"max_delay\": \""));
	return delay_us - server_jitter(row->id, delay_us, delay_us * policy_figure(retries, i, "\"jitter\": "));
}

static bool
may_finish(const Row *row, int64 version, int64 incarnation, const Elements *grabs, int i)
{
	int			len;

	if (row == NULL || row->status != ROW_PROCESSING || row->version != version ||
		(row->incarnation != 0 && row->incarnation != incarnation))
		return false;
	return grabs->n == 0 || element(grabs, i, &len) == NULL || row->token == 0 ||
		row->token == element_int(grabs, i);
}

const Row *
tasks_to_finish(const ServerCall *call, int i, bool ends)
{
	Elements	ids;
	Elements	versions;
	Elements	results;
	Elements	grabs;
	const Row  *row;

	param_array(call, 0, &ids);
	param_array(call, 1, &versions);
	param_array(call, 2, &results);
	param_array(call, 7, &grabs);
	row = model_find(ids.values[i]);
	return may_finish(row, element_int(&versions, i), param_int(call, 5), &grabs, i) &&
		(element_is_text(&results, i, "done") || element_is_text(&results, i, "delete")) == ends ? row : NULL;
}

static void
accept(Row *row, int64 delay_us)
{
	tables_touch(row);
	row->queued = false;
	if (delay_us > 0)
		row->deadline_us = Min(row->deadline_us, model_clock_us() + delay_us);
	row->next_us = row->deadline_us;
	row->incarnation = 0;
}

static void
wait(Row *row, int64 delay_us, int64 incarnation, int64 token)
{
	tables_move(row, ROW_WAITING, incarnation, token);
	row->next_us = model_clock_us() + delay_us;
	judge_wait(row);
	tables_trigger(row, row->next_us);
}

/* The finish moves the task, by the word of its result. */
static void
apply(Row *row, const char *result, int64 delay_us, int64 incarnation, int64 token)
{
	if (strcmp(result, "done") == 0)
		tables_move(row, ROW_DONE, incarnation, token);
	else if (strcmp(result, "delete") == 0)
		tables_move(row, ROW_DELETED, incarnation, token);
	else if (strcmp(result, "cancelled") == 0)
		tables_move(row, ROW_CANCELLED, incarnation, token);
	else if (strcmp(result, "error") == 0)
		tables_move(row, ROW_ERROR, incarnation, token);
	else if (strcmp(result, "accepted") == 0)
	{
		accept(row, delay_us);
		row->token = token;
	}
	else if (strcmp(result, "release") == 0 && delay_us == 0)
	{
		row->runnable_us = row->queued ? Min(Max(row->runnable_us, row->created_us), model_clock_us()) : model_clock_us();
		tables_move(row, ROW_SUBMITTED, incarnation, token);
		row->queued = true;
		row->tries--;
		tables_trigger(row, -1);
	}
	else
	{
		row->tries = strcmp(result, "repeat") == 0 ? 0 : row->tries - (strcmp(result, "release") == 0);
		wait(row, delay_us, incarnation, token);
	}
}

/* The word of the result that counts; NULL: the database refuses it. */
static const char *
judge_word(const Row *row, const Elements *results, int i)
{
	static const char *const words[] = {"done", "delete", "retry", "repeat", "error", "accepted", "cancelled", "release"};
	const char *word = NULL;
	bool		is_cancelled = tables_is_to_cancel(row);

	for (int k = 0; k < (int) lengthof(words); k++)
		if (element_is_text(results, i, words[k]))
			word = words[k];
	if (word == NULL)
		world_fail("a finish has an unknown result");
	if (strcmp(word, "done") == 0 || strcmp(word, "delete") == 0)
		return word;
	if (is_cancelled)
		return "cancelled";
	return strcmp(word, "cancelled") == 0 ? NULL : word;
}

static void
finish_one(Row *row, const ServerCall *call, int i, PGresult *result)
{
	int			at = PQntuples(result);
	Elements	results;
	Elements	delays;
	Elements	retries;
	const char *word;
	int64		delay_us;
	int			len;
	bool		has_delay;

	param_array(call, 2, &results);
	param_array(call, 3, &delays);
	param_array(call, 9, &retries);
	word = judge_word(row, &results, i);
	if (word == NULL)
		return;
	has_delay = element(&delays, i, &len) != NULL;
	delay_us = has_delay ? MS_TO_US(element_int(&delays, i)) : 0;
	if (strcmp(word, "retry") == 0 || strcmp(word, "repeat") == 0)
	{
		int64		judged_us = retry_us(row, &retries, i, word[2] == 'p');

		if (judged_us < 0)
			word = "error";
		else if (!has_delay)
			delay_us = judged_us;
	}
	judge_accept(row, word, delay_us);
	limits_note_free(row->type, row->incarnation);
	apply(row, word, delay_us, param_int(call, 5), param_int(call, 6));
	result_bytes(result, at, FINISH_ID, row->id, sizeof(row->id));
	if (row->status == ROW_DONE || row->status == ROW_DELETED)
		result_null(result, at, FINISH_STATUS);
	else
		result_text(result, at, FINISH_STATUS, model_status_name(row->status));
	if (row->status == ROW_WAITING)
		result_int(result, at, FINISH_DELAY_MS, delay_us / 1000);
	else
		result_null(result, at, FINISH_DELAY_MS);
}

PGresult *
tasks_finish(const ServerCall *call)
{
	PGresult   *result = result_new(FINISH_DELAY_MS + 1);
	Elements	ids;
	Elements	versions;
	Elements	grabs;

	param_array(call, 0, &ids);
	param_array(call, 1, &versions);
	param_array(call, 7, &grabs);
	for (int i = 0; i < ids.n; i++)
	{
		Row		   *row = model_find(ids.values[i]);

		if (may_finish(row, element_int(&versions, i), param_int(call, 5), &grabs, i))
			finish_one(row, call, i, result);
	}
	tables_commit(true);
	return result;
}

static bool
has_finished(const Row *row, int64 version, int64 incarnation, int64 token)
{
	if (row == NULL || row->status == ROW_DELETED)
		return true;
	if (row->status <= ROW_ERROR)
		return row->version >= version && row->token == token &&
			(row->incarnation == incarnation || row->status == ROW_PROCESSING);
	return row->version == version + 1 && row->token == token && row->incarnation == incarnation;
}

PGresult *
tasks_resolve_finish(const ServerCall *call)
{
	PGresult   *result = result_new(1);
	int			n = 0;
	Elements	ids;
	Elements	versions;

	param_array(call, 0, &ids);
	param_array(call, 1, &versions);
	for (int i = 0; i < ids.n; i++)
		if (has_finished(model_find(ids.values[i]), element_int(&versions, i), param_int(call, 2), param_int(call, 3)))
			result_bytes(result, n++, 0, ids.values[i], 16);
	return result;
}

/* ---- duties ---- */

PGresult *
tasks_promote(void)
{
	PGresult   *result = result_new(3);
	int64		now_us = model_clock_us();
	int64		next_us = -1;
	int			n = 0;

	for (int i = 0; i < model_count(); i++)
	{
		Row		   *row = tables_row(i);

		if (row->status != ROW_WAITING)
			continue;
		if (row->next_us > now_us || locks_hold(row))
		{
			int64		again_us = row->next_us > now_us ? row->next_us : now_us + LOCKED_US;

			next_us = next_us < 0 ? again_us : Min(next_us, again_us);
			continue;
		}
		judge_promote(row);
		tables_touch(row);
		row->status = ROW_SUBMITTED;
		row->version++;
		row->queued = true;
		row->runnable_us = row->next_us;
		tables_trigger(row, -1);
		n++;
	}
	result_int(result, 0, PROMOTE_PROMOTED, n);
	if (next_us < 0)
		result_null(result, 0, PROMOTE_NEXT_MS);
	else
		result_int(result, 0, PROMOTE_NEXT_MS, (next_us - now_us + 999) / 1000);
	tables_commit(false);
	return result;
}

PGresult *
tasks_expire(void)
{
	PGresult   *result = result_new(1);
	int			n = 0;

	for (int i = 0; i < model_count(); i++)
	{
		Row		   *row = tables_row(i);

		if (row->status > ROW_SUBMITTED || !model_has_expired(row) || locks_hold(row))
			continue;
		judge_expire(row);
		tables_move(row, ROW_FAILED, 0, 0);
		n++;
	}
	result_int(result, 0, 0, n);
	tables_commit(true);
	return result;
}

static void
apply_rule(Row *row, int64 *counts)
{
	judge_take_over(row);
	if (tables_is_to_cancel(row))
		tables_move(row, ROW_CANCELLED, 0, 0);
	else if (row->rule == RULE_RETRY)
	{
		tables_move(row, ROW_SUBMITTED, row->incarnation, row->token);
		row->queued = true;
		row->runnable_us = model_clock_us();
		tables_trigger(row, -1);
		counts[RECOVER_RETRIED]++;
	}
	else
	{
		tables_move(row, row->rule == RULE_FAIL ? ROW_FAILED : ROW_ERROR, row->incarnation,
					row->rule == RULE_FAIL ? 0 : row->token);
		counts[row->rule == RULE_FAIL ? RECOVER_FAILED : RECOVER_ERRORS]++;
	}
}

PGresult *
tasks_recover(const ServerCall *call)
{
	PGresult   *result = result_new(4);
	bool		whole_table = param_bool(call, 0);
	int64		next_ms = nodes_find_gone();
	int64		counts[RECOVER_NEXT_MS] = {0};
	int			freed[MODEL_TYPES] = {0};

	for (int i = 0; i < model_count(); i++)
	{
		Row		   *row = tables_row(i);
		bool		is_orphan = row->queued && row->incarnation != 0 && !nodes_live(row->incarnation);
		bool		is_late = row->queued ? whole_table && row->deadline_us <= model_clock_us() :
			row->next_us <= model_clock_us();

		if (row->status != ROW_PROCESSING)
			continue;
		freed[row->type] += is_orphan;
		if (row->rule == RULE_IGNORE || !(is_orphan || is_late))
			continue;
		if (is_orphan)
			nodes_find(row->incarnation)->has_orphan = true;
		if (locks_hold(row))
		{
			if (is_orphan)
				judge_pass_over(row);
			continue;
		}
		if (row->queued && !is_orphan)
			judge_overdue(row);
		freed[row->type] += !is_orphan;
		apply_rule(row, counts);
	}
	nodes_forget();
	for (int i = 0; i < RECOVER_NEXT_MS; i++)
		result_int(result, 0, i, counts[i]);
	if (next_ms < 0)
		result_null(result, 0, RECOVER_NEXT_MS);
	else
		result_int(result, 0, RECOVER_NEXT_MS, next_ms);
	tables_commit(true);
	limits_offer_types(freed);
	return result;
}

PGresult *
tasks_take_cancels(const ServerCall *call)
{
	PGresult   *result = result_new(4);

	for (int i = 0; i < model_count(); i++)
	{
		Row		   *row = tables_row(i);
		int			at = PQntuples(result);

		if (!tables_is_to_cancel(row))
			continue;
		if ((row->status == ROW_SUBMITTED || !row->queued) && !locks_hold(row))
		{
			tables_move(row, ROW_CANCELLED, 0, 0);
			continue;
		}
		if (row->status != ROW_SUBMITTED && row->incarnation != param_int(call, 0))
			continue;
		result_bytes(result, at, CANCELS_ID, row->id, 16);
		result_int(result, at, CANCELS_VERSION, row->version);
		result_bool(result, at, CANCELS_IS_OURS, row->status == ROW_PROCESSING);
		result_text(result, at, CANCELS_WHY, "cancelled");
	}
	tables_commit(true);
	return result;
}
