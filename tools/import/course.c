/*-------------------------------------------------------------------------
 *
 * course.c
 *		The course of an import: check all tasks, add them, compare them.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "tools/ctl_end.h"
#include "tools/ctl_show.h"
#include "tools/import/course.h"
#include "tools/import/report.h"
#include "tools/import/tally.h"

/* A batch goes to the target when its JSON has so many bytes, or the page ends. */
#define BATCH_BYTES 4000000

/* One reading of the source. */
typedef struct Pass
{
	Source	   *source;
	Target	   *target;
	const CourseOptions *options;
	TargetCall	call;
	bool		is_verified;	/* see import_tasks() */
	int64		refused;		/* by import_tasks(), which stored the others */
	Tallies    *tallies;
	PGresult   *page;
	StringInfoData batch;		/* a JSON array, not yet closed */
	int			rows[500];		/* rows of the page that are in the batch */
	int			nrows;
} Pass;

static Tally *
tally_of(const Pass *pass, int row)
{
	const char *status = show_value(pass->page, row, "status");
	const char *type = show_value(pass->page, row, "type");

	return tallies_of(pass->tallies, status ? status : "", type ? type : "");
}

static void
refuse(const Pass *pass, int row, const char *reason)
{
	tally_of(pass, row)->refused++;
	if (pass->call == TARGET_CHECK)
		report_task("refused", pass->page, row, reason);
}

static bool
is_clamped(const Pass *pass, int row)
{
	int64		priority = strtoll(show_value(pass->page, row, "priority"), NULL, 10);

	return priority < 0 || priority > 9;
}

/* ---- What the target said of one task ---- */

static void
take_verdict(const Pass *pass, const PGresult *answer, int i)
{
	int			row = pass->rows[i];
	const char *result = show_value(answer, i, "result");
	Tally	   *tally = tally_of(pass, row);

	if (strcmp(result, "refused") == 0)
	{
		refuse(pass, row, show_value(answer, i, "reason"));
		return;
	}
	tally->clamped += is_clamped(pass, row);
	if (strcmp(result, "added") == 0)
		tally->added++;
	else if (strcmp(result, "gone") == 0)
		tally->gone++;
	else
		tally->present++;
}

/* Adds a hash, as the server writes bytea, to a sum. */
static void
add_hash(unsigned char *sum, const char *text)
{
	size_t		len;
	unsigned char *hash = PQunescapeBytea((const unsigned char *) text, &len);

	for (size_t i = 0; hash != NULL && i < len && i < HASH_BYTES; i++)
		sum[i] ^= hash[i];
	PQfreemem(hash);
}

static void
take_comparison(const Pass *pass, const PGresult *answer, int i)
{
	const char *result = show_value(answer, i, "result");
	Proof	   *proof;

	if (strcmp(result, "refused") == 0)
	{
		refuse(pass, pass->rows[i], NULL);
		return;
	}
	proof = tallies_proof(pass->tallies, show_value(answer, i, "status"));
	if (strcmp(result, "moved") == 0)
		proof->moved++;
	else if (strcmp(result, "gone") == 0 || (strcmp(result, "missing") == 0 && pass->is_verified))
	{
		report_task("gone", pass->page, pass->rows[i], NULL);
		proof->gone++;
	}
	else
	{
		add_hash(proof->source, show_value(answer, i, "source"));
		if (show_value(answer, i, "target") != NULL)
			add_hash(proof->target, show_value(answer, i, "target"));
		if (strcmp(result, "same") == 0)
		{
			proof->same++;
			return;
		}
		report_task(result, pass->page, pass->rows[i], NULL);
		if (strcmp(result, "missing") == 0)
			proof->missing++;
		else
			proof->differs++;
	}
}

/* ---- One reading ---- */

static void
flush_batch(Pass *pass)
{
	PGresult   *answer;

	if (pass->nrows == 0)
		return;
	appendStringInfoChar(&pass->batch, ']');
	answer = target_give(pass->target, pass->call, pass->batch.data);
	if (PQntuples(answer) != pass->nrows)
		ctl_fail(CTL_REFUSED, "the target answered for %d tasks, not %d", PQntuples(answer), pass->nrows);
	for (int i = 0; i < pass->nrows; i++)
		if (pass->call == TARGET_COMPARE)
			take_comparison(pass, answer, i);
		else
			take_verdict(pass, answer, i);
	PQclear(answer);
	resetStringInfo(&pass->batch);
	pass->nrows = 0;
}

static void
give_task(Pass *pass, int row)
{
	const char *fault;

	tally_of(pass, row)->tasks++;
	appendStringInfoChar(&pass->batch, pass->nrows == 0 ? '[' : ',');
	fault = task_json(&pass->batch, pass->page, row, &pass->options->json);
	if (fault != NULL)
	{
		/* the separator */
		pass->batch.data[--pass->batch.len] = '\0';
		refuse(pass, row, fault);
		return;
	}
	pass->rows[pass->nrows++] = row;
	if (pass->batch.len >= BATCH_BYTES)
		flush_batch(pass);
}

/* Reads the whole source; the counts are the caller's. */
static Tallies *
read_all(Pass *pass, TargetCall call)
{
	pass->call = call;
	pass->tallies = tallies_new();
	initStringInfo(&pass->batch);
	source_rewind(pass->source);
	while ((pass->page = source_next(pass->source)) != NULL)
	{
		Assert(PQntuples(pass->page) <= (int) lengthof(pass->rows));
		for (int row = 0; row < PQntuples(pass->page); row++)
			give_task(pass, row);
		flush_batch(pass);
		PQclear(pass->page);
	}
	pfree(pass->batch.data);
	return pass->tallies;
}

/* ---- The course ---- */

/* The types of tasks that may run here, as a JSON array (palloc'd). */
static char *
live_types(const Tallies *tallies)
{
	StringInfoData types;
	int			n;
	Tally	  **all = tallies_all(tallies, &n);

	initStringInfo(&types);
	for (int i = 0; i < n; i++)
	{
		if (strcmp(all[i]->status, "DONE") == 0 || strcmp(all[i]->status, "FAILED") == 0 ||
			strcmp(all[i]->status, "CANCELLED") == 0)
			continue;
		appendStringInfoChar(&types, types.len == 0 ? '[' : ',');
		show_json_text(&types, all[i]->type);
	}
	appendStringInfoString(&types, types.len == 0 ? "[]" : "]");
	pfree(all);
	return types.data;
}

/* Returns false if the import must not begin. */
static bool
check_all(Pass *pass)
{
	Tallies    *tallies = read_all(pass, TARGET_CHECK);
	int64		refused = tallies_sum(tallies, NULL).refused;
	char	   *types = live_types(tallies);

	if (refused > 0 || pass->options->dry_run)
		report_tallies(tallies);
	tallies_free(tallies);
	if (refused > 0 && !pass->options->skips_misfits)
	{
		fflush(stdout);
		fprintf(stderr, "twtasks-import: " INT64_FORMAT " tasks do not fit%s\n"
				"hint: correct them in the source, or leave them there with --skip-misfits\n",
				refused, pass->options->dry_run ? "" : ", so none was imported");
		return false;
	}
	if (!pass->options->dry_run && !pass->options->while_handled)
		target_refuse_handled(pass->target, types);
	pfree(types);
	return true;
}

static bool
compare_all(Pass *pass)
{
	Tallies    *tallies = read_all(pass, TARGET_COMPARE);
	PGresult   *counts = source_count(pass->source);
	bool		is_right = report_proofs(tallies, counts) &&
		tallies_sum(tallies, NULL).refused == pass->refused;

	PQclear(counts);
	tallies_free(tallies);
	return is_right;
}

int
course_run(Source *source, Target *target, const CourseOptions *options)
{
	Pass		pass = {.source = source, .target = target, .options = options};
	Tallies    *added;

	if (!options->dry_run)
		source_watch(source, options->watch_us);
	if (!check_all(&pass))
		return CTL_REFUSED;
	if (options->dry_run)
		return CTL_DONE;
	pass.is_verified = target_begin(target, options->ended_days);
	added = read_all(&pass, TARGET_ADD);
	report_tallies(added);
	pass.refused = tallies_sum(added, NULL).refused;
	tallies_free(added);
	if (pass.refused > 0 && !options->skips_misfits)
		ctl_fail(CTL_REFUSED, INT64_FORMAT " tasks that fitted do not fit any more\nhint: repeat the import", pass.refused);
	if (!compare_all(&pass))
	{
		fflush(stdout);
		fputs("twtasks-import: the target does not have what the source has; see above\n"
			  "hint: the source may have changed: stop all nodes of TwTasks, and repeat the import;"
			  " a task that is gone was done and deleted here, or left out before\n", stderr);
		return CTL_REFUSED;
	}
	target_end(target);
	return CTL_DONE;
}
