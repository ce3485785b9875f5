/*-------------------------------------------------------------------------
 *
 * prepared.c
 *		The statements that a session has prepared.
 *
 *		from: pg.c
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "pg/prepared.h"

static bool
is_prepared(const Prepared *prepared, const PgStatement *statement)
{
	for (int i = 0; i < prepared->n; i++)
		if (prepared->each[i] == statement)
			return true;
	return false;
}

void
prepared_forget(Prepared *prepared, const PgStatement *statement)
{
	for (int i = 0; i < prepared->n; i++)
		if (prepared->each[i] == statement)
			prepared->each[i] = prepared->each[--prepared->n];
}

void
prepared_send(Prepared *prepared, PGconn *conn, const PgStatement *statement,
			  const WireParams *params, bool *is_preparing)
{
	const char *values[WIRE_MAX_PARAMS];
	int			lengths[WIRE_MAX_PARAMS];
	int			formats[WIRE_MAX_PARAMS];

	for (int i = 0; i < params->n; i++)
	{
		values[i] = params->nulls[i] ? NULL : params->values[i].data;
		lengths[i] = params->values[i].len;
		formats[i] = 1;
	}
	if (!is_prepared(prepared, statement))
	{
		Assert(prepared->n < PREPARED_MAX);
		if (!PQsendPrepare(conn, statement->name, statement->sql, 0, NULL))
			return;
		prepared->each[prepared->n++] = statement;
		*is_preparing = true;
	}
	if (PQsendQueryPrepared(conn, statement->name, params->n, values, lengths, formats, 1))
		(void) PQpipelineSync(conn);
}
