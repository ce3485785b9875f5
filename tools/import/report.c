/*-------------------------------------------------------------------------
 *
 * report.c
 *		Reports of an import.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/text.h"
#include "tools/ctl_show.h"
#include "tools/import/report.h"

/* Longest text that is shown. */
#define SHOWN_MAX 300

static void
print_safe(const char *before, const char *text)
{
	char	   *safe = text_quote_line(text, strlen(text), SHOWN_MAX);

	printf("%s%s", before, safe);
	pfree(safe);
}

static void
print_column(const PGresult *page, int row, const char *column)
{
	const char *text = show_value(page, row, column);

	print_safe(" ", text ? text : "");
}

void
report_task(const char *word, const PGresult *page, int row, const char *reason)
{
	printf("%s", word);
	print_column(page, row, "id");
	print_column(page, row, "status");
	print_column(page, row, "type");
	if (reason != NULL)
		print_safe(": ", reason);
	putchar('\n');
}

void
report_tallies(const Tallies *tallies)
{
	int			n;
	Tally	  **all = tallies_all(tallies, &n);
	Tally		sum = tallies_sum(tallies, NULL);

	printf("%-12s %10s %10s %10s %10s  %s\n", "status", "tasks", "new", "here", "refused", "type");
	for (int i = 0; i < n; i++)
	{
		printf("%-12s " "%10" INT64_MODIFIER "d %10" INT64_MODIFIER "d %10" INT64_MODIFIER "d %10" INT64_MODIFIER "d",
			   all[i]->status, all[i]->tasks, all[i]->added, all[i]->present, all[i]->refused);
		print_safe("  ", all[i]->type);
		putchar('\n');
	}
	if (sum.clamped > 0)
		printf(INT64_FORMAT " tasks have a priority that is not within 0 to 9, and get the nearest\n", sum.clamped);
	if (sum.gone > 0)
		printf(INT64_FORMAT " tasks are gone, or were left out before; they are not added\n", sum.gone);
	pfree(all);
}

static void
print_hash(const unsigned char *hash)
{
	for (int i = 0; i < HASH_BYTES; i++)
		printf("%02x", hash[i]);
}

/* Whether what the target has of this status is what it should have. */
static bool
print_proof(const Proof *proof)
{
	bool		is_right = proof->missing == 0 && proof->gone == 0 && proof->differs == 0 &&
		memcmp(proof->source, proof->target, HASH_BYTES) == 0;

	printf("%-12s %10" INT64_MODIFIER "d %10" INT64_MODIFIER "d %10" INT64_MODIFIER "d  ", proof->status,
		   proof->same + proof->moved + proof->gone + proof->missing + proof->differs,
		   proof->same, proof->moved + proof->gone);
	print_hash(proof->source);
	if (!is_right)
	{
		fputs(" <> ", stdout);
		print_hash(proof->target);
	}
	putchar('\n');
	return is_right;
}

/* Whether each status was read as often as the source has it now. */
static bool
compare_counts(const Tallies *tallies, const PGresult *counts)
{
	bool		is_right = true;
	int64		counted = 0;

	for (int i = 0; i < PQntuples(counts); i++)
	{
		const char *status = show_value(counts, i, "status");
		int64		now = strtoll(show_value(counts, i, "tasks"), NULL, 10);
		Tally		sum = tallies_sum(tallies, status);

		counted += now;
		if (sum.tasks == now)
			continue;
		printf("of status %s " INT64_FORMAT " tasks were read, and the source has " INT64_FORMAT "\n",
			   status, sum.tasks, now);
		is_right = false;
	}
	return is_right && counted == tallies_sum(tallies, NULL).tasks;
}

bool
report_proofs(const Tallies *tallies, const PGresult *counts)
{
	int			n;
	Proof	  **all = tallies_proofs(tallies, &n);
	bool		is_right = true;

	printf("%-12s %10s %10s %10s  %s\n", "status here", "tasks", "same", "went on", "hash of what is the same");
	for (int i = 0; i < n; i++)
		is_right = print_proof(all[i]) && is_right;
	pfree(all);
	return compare_counts(tallies, counts) && is_right;
}
