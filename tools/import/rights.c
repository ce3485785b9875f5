/*-------------------------------------------------------------------------
 *
 * rights.c
 *		The rights that an import needs in a database.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "tools/ctl_end.h"
#include "tools/ctl_show.h"
#include "tools/import/rights.h"

void
rights_check(Session *session, const char *place, const char *sql, const char *const *value)
{
	PGresult   *rows = session_ask(session, sql, value ? 1 : 0, value);
	StringInfoData grants;

	initStringInfo(&grants);
	for (int i = 0; i < PQntuples(rows); i++)
		appendStringInfo(&grants, "%s%s", i == 0 ? "" : ", ", show_text(rows, i, "lacks"));
	if (grants.len > 0)
		ctl_fail(CTL_REFUSED, "the role lacks rights in the %s: %s\n"
				 "hint: grant them to it; docs/migrating.md has all rights that an import needs", place, grants.data);
	pfree(grants.data);
	PQclear(rows);
}
