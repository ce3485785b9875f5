/*-------------------------------------------------------------------------
 *
 * sweeps.c
 *		Looks at the model's table for tasks that can run.
 *
 * As sql/queue/sweep_tasks.sql documents it: the first ones of each type by priority, or
 * by the priority to which they have risen.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "calls/calls.h"
#include "common/hashfn.h"
#include "common/trigger.h"
#include "tables.h"
#include "values.h"
#include "world.h"

static int
compare_rows(const void *a, const void *b)
{
	const Row  *one = *(const Row *const *) a;
	const Row  *two = *(const Row *const *) b;

	if (one->type != two->type)
		return one->type - two->type;
	return one->priority != two->priority ? one->priority - two->priority : memcmp(one->id, two->id, 16);
}

/* Whether an earlier look has returned the row, or one behind it: rows that rise have no such order. */
static bool
is_behind(const Row *row, const Elements *after)
{
	if (model_aging_us(row->type) > 0)
		return false;
	for (int i = 0; i < after->n; i++)
	{
		const Row  *mark = model_find(after->values[i]);

		if (mark != NULL && mark->status <= ROW_ERROR && mark->type == row->type && compare_rows(&mark, &row) >= 0)
			return true;
	}
	return false;
}

static int
collect_rows(const ServerCall *call, const Row **rows)
{
	int			n = 0;
	int64		shares = param_int(call, 4);
	Elements	skip;
	Elements	after;

	param_array(call, 2, &skip);
	param_array(call, 6, &after);
	for (int i = 0; i < model_count(); i++)
	{
		const Row  *row = model_row(i);

		if (row->status == ROW_SUBMITTED && param_is_text(call, 0, model_buckets[row->bucket]) &&
			!elements_have_text(&skip, model_types[row->type]) && !is_behind(row, &after) && !model_is_paused(row) &&
			!model_has_expired(row) &&
			(shares <= 1 || llabs((int32) hash_bytes(row->id, 16)) % shares == param_int(call, 3)))
			rows[n++] = row;
	}
	return n;
}

/* ---- rows that rise ---- */

static int
risen(const Row *row)
{
	int64		aging_us = model_aging_us(row->type);
	int64		waited_us = model_clock_us() - row->runnable_us;

	if (aging_us == 0 || row->priority <= TRIGGER_RISEN || waited_us < aging_us)
		return row->priority;
	return (int) Max(row->priority - waited_us / aging_us, TRIGGER_RISEN);
}

static bool
goes_before(const Row *one, const Row *other)
{
	return risen(one) != risen(other) ? risen(one) < risen(other) : one->runnable_us < other->runnable_us;
}

/* Rows of one type and priority, whose first one is the next of them. */
typedef struct Line
{
	const Row **rows;
	int			n;
} Line;

static Line *
first_line(Line *lines)
{
	Line	   *first = NULL;

	for (int i = 0; i < TRIGGER_PRIORITIES; i++)
		if (lines[i].n > 0 && (first == NULL || goes_before(*lines[i].rows, *first->rows)))
			first = &lines[i];
	return first;
}

/* Merges the lines of one type; a row stays behind those before it in its line. */
static void
merge_lines(const Row **rows, int n)
{
	const Row  *copy[MODEL_TASKS];
	Line		lines[TRIGGER_PRIORITIES] = {0};

	memcpy(copy, rows, n * sizeof(Row *));
	for (int i = 0; i < n; i++)
	{
		Line	   *line = &lines[copy[i]->priority];

		if (line->n++ == 0)
			line->rows = &copy[i];
	}
	for (int i = 0; i < n; i++)
	{
		Line	   *line = first_line(lines);

		rows[i] = *line->rows++;
		line->n--;
	}
}

static void
sort_rows(const Row **rows, int n)
{
	int			end;

	qsort(rows, n, sizeof(Row *), compare_rows);
	for (int i = 0; i < n; i = end)
	{
		for (end = i + 1; end < n && rows[end]->type == rows[i]->type;)
			end++;
		if (model_aging_us(rows[i]->type) > 0)
			merge_lines(rows + i, end - i);
	}
}

/* ---- the look ---- */

PGresult *
tasks_sweep(const ServerCall *call)
{
	PGresult   *result = result_new(SWEEP_PLACE + 1);
	const Row  *rows[MODEL_TASKS];
	int			n = collect_rows(call, rows);
	int			of_type = 0;

	sort_rows(rows, n);
	for (int i = 0; i < n; i++)
	{
		int			at = PQntuples(result);

		of_type = i > 0 && rows[i - 1]->type == rows[i]->type ? of_type + 1 : 1;
		if (of_type > param_int(call, 1) || (of_type > 1 && at >= param_int(call, 5)))
			continue;
		result_bytes(result, at, SWEEP_ID, rows[i]->id, 16);
		result_int(result, at, SWEEP_VERSION, rows[i]->version);
		result_text(result, at, SWEEP_TYPE, model_types[rows[i]->type]);
		result_int(result, at, SWEEP_PRIORITY, risen(rows[i]));
		result_int(result, at, SWEEP_SIZE, rows[i]->size);
		tasks_put_place(result, at, SWEEP_PLACE, rows[i]);
	}
	return result;
}
