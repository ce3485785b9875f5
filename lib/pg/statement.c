/*-------------------------------------------------------------------------
 *
 * statement.c
 *		One SQL statement of the sidecar, and its outcome.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "pg/statement.h"

const char *
pg_sqlstate(const PGresult *result)
{
	const char *state = result == NULL ? NULL :
		PQresultErrorField(result, PG_DIAG_SQLSTATE);

	return state == NULL ? "" : state;
}

bool
pg_begins_copy(const PGresult *result)
{
	ExecStatusType status = PQresultStatus(result);

	return status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH;
}
