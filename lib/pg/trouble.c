/*-------------------------------------------------------------------------
 *
 * trouble.c
 *		The log of failures of a connection and of its calls.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "base/sdnotify.h"
#include "pg/statement.h"
#include "pg/trouble.h"

#define TELL_AGAIN_US SECONDS_TO_US(60)

/*
 * libpq's messages may have several lines; the first one says what happened.
 */
static char *
first_line(const char *text)
{
	return pnstrdup(text, strcspn(text, "\n"));
}

/*
 * The remedy if the server will refuse us again for the same reason; NULL: it may
 * not.  While it connects, libpq gives no SQLSTATE, but "FATAL:  28P01: ..." in
 * any language.
 */
static const char *
remedy(const char *why)
{
	static const struct
	{
		const char *state;		/* a SQLSTATE, or the beginning of many */
		const char *remedy;
	}			known[] = {
		{"28P01", ": correct its password, or set it by ALTER ROLE"},
		{"28", ": correct the user, or let it in by pg_hba.conf"},
		{"3D", ": correct dbname, or run CREATE DATABASE"},
		{"42501", ": GRANT CONNECT ON DATABASE, or the right that it names"},
		{"42", ""},
	};
	const char *state = strstr(why, ":  ");

	for (size_t i = 0; state != NULL && i < lengthof(known); i++)
		if (strncmp(state + 3, known[i].state, strlen(known[i].state)) == 0)
			return known[i].remedy;
	return NULL;
}

void
trouble_down(Trouble *trouble, int64 now_us, const char *why, TroubleState state)
{
	const char *mend = remedy(why);
	char	   *line;

	if (mend != NULL)
		state = TROUBLE_NEEDS_PERSON;
	if (trouble->state == state && now_us - trouble->told_us < TELL_AGAIN_US)
		return;
	line = first_line(why);
	log_line(state == TROUBLE_NEEDS_PERSON ? TWT_LOG_ERROR : TWT_LOG_WARN, "postgres", "%s: %s; %s%s",
			 trouble->role, line,
			 state == TROUBLE_NEEDS_PERSON ? "somebody must mend this" : "will connect again",
			 mend == NULL ? "" : mend);
	sdnotify_status("%s: %s", trouble->role, line);
	trouble->state = state;
	trouble->told_us = now_us;
	pfree(line);
}

void
trouble_over(Trouble *trouble)
{
	if (trouble->state == NO_TROUBLE)
		return;
	log_line(TWT_LOG_INFO, "postgres", "%s: connected", trouble->role);
	sdnotify_status("%s: connected", trouble->role);
	trouble->state = NO_TROUBLE;
}

static bool
was_told(Trouble *trouble, int64 now_us, const char *statement, const char *state)
{
	if (trouble->statement == statement && strcmp(trouble->sqlstate, state) == 0 &&
		now_us - trouble->failed_us < TELL_AGAIN_US)
		return true;
	trouble->statement = statement;
	snprintf(trouble->sqlstate, sizeof(trouble->sqlstate), "%s", state);
	trouble->failed_us = now_us;
	return false;
}

void
trouble_failed(Trouble *trouble, int64 now_us, const char *statement, const PGresult *result)
{
	const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	const char *hint = PQresultErrorField(result, PG_DIAG_MESSAGE_HINT);

	if (was_told(trouble, now_us, statement, pg_sqlstate(result)))
		return;
	log_line(TWT_LOG_ERROR, "postgres", "%s: %s (SQLSTATE %s)%s%s",
			 statement, text == NULL ? "failed" : text, pg_sqlstate(result),
			 hint == NULL ? "" : "; ", hint == NULL ? "" : hint);
}
