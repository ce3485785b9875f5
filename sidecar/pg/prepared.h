/*-------------------------------------------------------------------------
 *
 * prepared.h
 *		The statements that a session has prepared.
 *
 *		from: pg.h (pg_send)
 *
 * A statement is prepared when it is sent for the first time, in the same
 * transaction.  The server forgets all of them with the session.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_PREPARED_H
#define TWT_PREPARED_H

#include "pg/pg.h"

#define PREPARED_MAX 64

/* Zeros: none. */
typedef struct Prepared
{
	const PgStatement *each[PREPARED_MAX];
	int			n;
} Prepared;

/*
 * Sends the statement, and a Sync.  is_preparing: its first result is that of
 * its preparation.  A failure shows when the connection is read.
 */
extern void prepared_send(Prepared *prepared, PGconn *conn, const PgStatement *statement,
						  const WireParams *params, bool *is_preparing);

/* Its preparation failed. */
extern void prepared_forget(Prepared *prepared, const PgStatement *statement);

#endif							/* TWT_PREPARED_H */
