/*-------------------------------------------------------------------------
 *
 * rights.h
 *		The rights that an import needs in a database.
 *
 *		from: import_source.c, target.c
 *
 * The import checks them before it reads anything.  A run of hours shall not end for a
 * right that only its last statement needs, and one message names all missing rights.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_IMPORT_RIGHTS_H
#define TWT_IMPORT_RIGHTS_H

#include "tools/ctl_session.h"

/*
 * Ends the program if the statement has rows.  Each has, in its column "lacks", a right
 * as GRANT takes it.  place is the word for the database; value is the only parameter,
 * or NULL.
 */
extern void rights_check(Session *session, const char *place, const char *sql, const char *const *value);

#endif							/* TWT_IMPORT_RIGHTS_H */
