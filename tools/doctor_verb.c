/*-------------------------------------------------------------------------
 *
 * doctor_verb.c
 *		Checks of an installation.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "tools/ctl_show.h"
#include "tools/doctor_checks.h"
#include "tools/doctor_verb.h"

#define RED "\033[31;1m"
#define YELLOW "\033[33m"
#define GREEN "\033[32m"
#define PLAIN "\033[0m"

/* A transaction is old after this, unless the caller says otherwise. */
#define OLD "1h"

typedef struct Visit
{
	const Ctl  *ctl;
	StringInfoData json;
	int			nfindings;
	bool		is_wrong;
} Visit;

static const char *
color_of(const char *finding)
{
	return strcmp(finding, "OK") == 0 ? GREEN : strcmp(finding, "WARN") == 0 ? YELLOW : RED;
}

static void
add_json(Visit *visit, const char *const texts[4])
{
	static const char *const names[4] = {"check", "finding", "sentence", "command"};

	appendStringInfoString(&visit->json, visit->nfindings ? ",\n {" : "[{");
	for (int i = 0; i < 4; i++)
	{
		appendStringInfo(&visit->json, "%s\"%s\": ", i ? ", " : "", names[i]);
		if (texts[i] != NULL)
			show_json_text(&visit->json, texts[i]);
		else
			appendStringInfoString(&visit->json, "null");
	}
	appendStringInfoChar(&visit->json, '}');
}

/* The check, the finding, the sentence and the command, which may be NULL. */
static void
tell(Visit *visit, const char *const texts[4])
{
	bool		has_color = visit->ctl->has_color;

	if (visit->ctl->is_json)
		add_json(visit, texts);
	else
	{
		printf("%s%-4s%s  %s: %s\n", has_color ? color_of(texts[1]) : "", texts[1], has_color ? PLAIN : "", texts[0], texts[2]);
		if (texts[3] != NULL)
			printf("      try: %s\n", texts[3]);
	}
	visit->nfindings++;
	if (strcmp(texts[1], "OK") != 0)
		visit->is_wrong = true;
}

static void
tell_rows(Visit *visit, const Check *check, const PGresult *rows)
{
	for (int row = 0; row < PQntuples(rows); row++)
	{
		char	   *sentence = show_text(rows, row, "sentence");
		char	   *command = show_text(rows, row, "command");
		const char *const texts[4] = {check->name, show_word(rows, row, "finding"), sentence, command};

		tell(visit, texts);
		pfree(sentence);
		pfree(command);
	}
}

static void
tell_failure(Visit *visit, const Check *check, const PGresult *refusal)
{
	char	   *why = show_refusal(refusal);
	const char *const texts[4] = {check->name, "WARN", why, "ask as a superuser, or as a member of twtasks_viewer"};

	tell(visit, texts);
	pfree(why);
}

static void
look(Visit *visit, const Check *check)
{
	const char *old = ctl_get(visit->ctl, "old");
	const char *const fine[4] = {check->name, "OK", check->fine, NULL};
	PGresult   *rows;

	old = old ? old : OLD;
	rows = session_try(visit->ctl->session, check->sql, strstr(check->sql, "$1") != NULL ? 1 : 0, &old);
	if (PQresultStatus(rows) != PGRES_TUPLES_OK)
		tell_failure(visit, check, rows);
	else if (PQntuples(rows) > 0)
		tell_rows(visit, check, rows);
	else
		tell(visit, fine);
	PQclear(rows);
}

static bool
is_sql(Visit *visit)
{
	PGresult   *rows = session_try(visit->ctl->session, doctor_is_sql, 0, NULL);
	bool		is = PQntuples(rows) > 0;

	PQclear(rows);
	return is;
}

int
doctor_run(Ctl *ctl)
{
	static const char *const none[] = {NULL};
	Visit		visit = {.ctl = ctl};

	/* ends here without the extension, or without a right to look */
	PQclear(ctl_ask(ctl, "SELECT a.is_adopted FROM twtasks.adoption_state a", none));
	initStringInfo(&visit.json);
	if (is_sql(&visit))
		look(&visit, &doctor_edition_check);
	for (const Check *check = doctor_checks; check->name; check++)
		look(&visit, check);
	appendStringInfoChar(&visit.json, ']');
	if (ctl->is_json)
		show_document(&visit.json);
	return visit.is_wrong ? CTL_WRONG : CTL_DONE;
}
