/*-------------------------------------------------------------------------
 *
 * misfit.h
 *		Whether the extension in the database fits this program.
 *
 * Library, SQL of the extension, and programs are replaced one by one, in any
 * order.  A misfit is a call that the server does not know or does not allow, or
 * that its library refuses.  A person must create or update the extension, grant
 * rights, or restart the server; then the next calls succeed.
 *
 * A session may also hold an older library than new sessions load.  It must be
 * replaced by another one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_MISFIT_H
#define TWT_MISFIT_H

#include "pg/statement.h"

/* Whether a call failed for this reason. */
extern bool misfit_is(const PGresult *result);

/* Whether the role of the session may not call what the statement itself calls. */
extern bool misfit_is_denied(const PGresult *result);

/*
 * Whether a call has just failed for one of both reasons; logs it, once a minute in
 * all sessions.  login: the role that logged in.
 */
extern bool misfit_failed(int64 now_us, const PgStatement *statement, const char *login,
						  const PGresult *result);

/* Whether the session has an older library than the SQL needs. */
extern bool misfit_is_of_session(const PGresult *result);

/* The call succeeded: if it was the misfit, that is over. */
extern void misfit_succeeded(const PgStatement *statement);

/* As pg_misfit(). */
extern const char *misfit_text(int64 now_us);

#endif							/* TWT_MISFIT_H */
