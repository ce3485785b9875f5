/*-------------------------------------------------------------------------
 *
 * misfit.c
 *		Whether the extension in the database fits this program.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <errno.h>

#include "base/log.h"
#include "common/version.h"
#include "pg/misfit.h"

#define TELL_AGAIN_US SECONDS_TO_US(60)

/* Calls are tried again within this time. */
#define FORGET_US SECONDS_TO_US(90)

typedef struct Misfit
{
	const PgStatement *statement;	/* the call that failed last; NULL: none */
	char	   *text;
	int64		seen_us;
	int64		told_us;
} Misfit;

static Misfit last;

static bool
has_field(const PGresult *result, int code, const char *value)
{
	const char *field = PQresultErrorField(result, code);

	return field != NULL && strcmp(field, value) == 0;
}

bool
misfit_is_of_session(const PGresult *result)
{
	return result != NULL && has_field(result, PG_DIAG_SOURCE_FUNCTION, "load_external_function");
}

/*
 * Our own statement names something that is not there, and no function does that
 * the statement calls; or a function of the library does not know its
 * declaration.
 */
bool
misfit_is(const PGresult *result)
{
	const char *state = pg_sqlstate(result);

	if (result == NULL)
		return false;
	if (strncmp(state, "42", 2) == 0 || strncmp(state, "3F", 2) == 0)
		return misfit_is_of_session(result) ||
			(PQresultErrorField(result, PG_DIAG_STATEMENT_POSITION) != NULL &&
			 PQresultErrorField(result, PG_DIAG_CONTEXT) == NULL);
	return has_field(result, PG_DIAG_SOURCE_FILE, "contract.c");
}

/* A new user meets these: no version is to blame. */
static bool
lacks_extension(const PGresult *result)
{
	return strcmp(pg_sqlstate(result), "3F000") == 0;
}

/* Its version may be to blame, too. */
static bool
lacks_further(const PgStatement *statement, const PGresult *result)
{
	const char *state = pg_sqlstate(result);

	return statement->extension != NULL && (strcmp(state, "42P01") == 0 || strcmp(state, "42883") == 0);
}

static bool
lacks_rights(const PGresult *result)
{
	return strcmp(pg_sqlstate(result), "42501") == 0;
}

/* The server looks at rights to functions and tables late, and then tells no position. */
bool
misfit_is_denied(const PGresult *result)
{
	return result != NULL && lacks_rights(result) && has_field(result, PG_DIAG_SOURCE_FUNCTION, "aclcheck_error") &&
		PQresultErrorField(result, PG_DIAG_CONTEXT) == NULL;
}

/* A call as another role may be denied for that role alone. */
static bool
is_denied(const PgStatement *statement, const PGresult *result)
{
	return statement->before == NULL && !statement->caller_logs && misfit_is_denied(result);
}

static const char *
fault(const PGresult *result)
{
	if (lacks_extension(result))
		return "there is no extension twtasks in this database";
	if (lacks_rights(result))
		return "this program's role may not call the extension";
	return "the extension in this database does not fit version " TWT_VERSION " of this program";
}

static const char *
advice(const PGresult *result)
{
	const char *hint = PQresultErrorField(result, PG_DIAG_MESSAGE_HINT);

	if (lacks_extension(result))
		return "Run CREATE EXTENSION twtasks there, load the SQL edition, or correct dbname.";
	if (misfit_is_of_session(result))
		return "Restart the server if shared_preload_libraries has twtasks.";
	return hint != NULL && has_field(result, PG_DIAG_SOURCE_FILE, "contract.c") ? hint :
		"Run ALTER EXTENSION twtasks UPDATE, or load the update of the SQL edition.";
}

/* The role whose rights the login of this program needs. */
static const char *
needed_role(void)
{
	static const char *const roles[][2] = {
		{"twtasksd", "twtasks_worker"},
		{"twtasks-web", "twtasks_web"},
		{"twtasks-kafka", "twtasks_producer"},
	};

	for (size_t i = 0; i < lengthof(roles); i++)
		if (strcmp(program_invocation_short_name, roles[i][0]) == 0)
			return roles[i][1];
	return "twtasks_worker (twtasksd), twtasks_web (twtasks-web) or twtasks_producer (listeners)";
}

/* The whole line (palloc'd). */
static char *
line_of(const PgStatement *statement, const char *login, const PGresult *result)
{
	const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);

	if (text == NULL)
		text = "failed";
	if (lacks_further(statement, result))
		return psprintf("this database has no extension %s, or an older one: %s: %s; "
						"Run CREATE EXTENSION %s there, or ALTER EXTENSION %s UPDATE; with the SQL edition load %s.sql.",
						statement->extension, statement->name, text, statement->extension, statement->extension, statement->extension);
	if (lacks_rights(result))
		return psprintf("%s: %s: %s; GRANT %s TO \"%s\".", fault(result), statement->name, text, needed_role(), login);
	return psprintf("%s: %s: %s; %s", fault(result), statement->name, text, advice(result));
}

bool
misfit_failed(int64 now_us, const PgStatement *statement, const char *login,
			  const PGresult *result)
{
	if (!misfit_is(result) && !is_denied(statement, result))
		return false;
	pfree(last.text);
	last.text = line_of(statement, login, result);
	last.statement = statement;
	last.seen_us = now_us;
	if (last.told_us == 0 || now_us - last.told_us >= TELL_AGAIN_US)
	{
		log_line(TWT_LOG_ERROR, "postgres", "%s", last.text);
		last.told_us = now_us;
	}
	return true;
}

void
misfit_succeeded(const PgStatement *statement)
{
	if (last.statement != statement)
		return;
	log_line(TWT_LOG_INFO, "postgres", "%s: the extension can be called now", statement->name);
	last.statement = NULL;
	last.told_us = 0;
}

const char *
misfit_text(int64 now_us)
{
	return last.statement != NULL && now_us - last.seen_us < FORGET_US ? last.text : NULL;
}
