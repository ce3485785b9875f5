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
