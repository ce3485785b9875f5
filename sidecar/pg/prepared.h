/*-------------------------------------------------------------------------
 *
 * prepared.h
 *		The statements that a session has prepared.
 *
 *		from: pg.h (pg_send)
 *
 * A statement is prepared when it is first sent, in the same transaction.  The
 * server forgets all prepared statements with the session.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_PREPARED_H
#define TWT_PREPARED_H

#include "pg/statement.h"
#include "pg/wire.h"

#define PREPARED_MAX 64

/* All zeros: none. */
typedef struct Prepared
{
	const PgStatement *each[PREPARED_MAX];
	int			n;
} Prepared;

/*
 * Sends the statement and a Sync.  is_preparing: the first result is that of
 * the preparation.  A failure shows when the connection is read.
 */
extern void prepared_send(Prepared *prepared, PGconn *conn, const PgStatement *statement,
						  const WireParams *params, bool *is_preparing);

/* The preparation of the statement failed. */
extern void prepared_forget(Prepared *prepared, const PgStatement *statement);

#endif							/* TWT_PREPARED_H */
