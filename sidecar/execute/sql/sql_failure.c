/*-------------------------------------------------------------------------
 *
 * sql_failure.c
 *		Why a SQL handler failed, from the server's answer.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "common/places.h"
#include "execute/sql/sql_failure.h"
#include "pg/pg.h"

/* A library of 1.0 takes the argument of a function of an array for a part of its name. */
static const char refused_name[] = "DeconstructQualifiedName";

/* The SQL edition refuses a handler there; the words beside it may be translated. */
static const char refusing_function[] = "twtasks_internal.find_handler(text,name)";

char *
sql_failure_text(const PGresult *result)
{
	const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	const char *hint = PQresultErrorField(result, PG_DIAG_MESSAGE_HINT);
	char		places[PLACES_BYTES];

	places_name(PQresultErrorField(result, PG_DIAG_CONTEXT), places);
	return psprintf("%s%s (SQLSTATE %s)%s%s", text == NULL ? "failed" : text, places, pg_sqlstate(result),
					hint == NULL ? "" : ": ", hint == NULL ? "" : hint);
}

bool
sql_failure_is_unfit(const PGresult *result)
{
	const char *function = PQresultErrorField(result, PG_DIAG_SOURCE_FUNCTION);
	const char *context = PQresultErrorField(result, PG_DIAG_CONTEXT);

	return (function != NULL && (strcmp(function, "twt_find_handler") == 0 ||
								 strcmp(function, "handler_role") == 0 ||
								 strcmp(function, refused_name) == 0)) ||
		(context != NULL && strstr(context, refusing_function) != NULL);
}
