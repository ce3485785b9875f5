/*-------------------------------------------------------------------------
 *
 * path.c
 *		The search_path of code that we let run.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "catalog/namespace.h"
#include "utils/guc.h"

#include "base/path.h"

#define PINNED_PATH "pg_catalog, pg_temp"

int
path_pin(void)
{
	int			level;

	if (strcmp(namespace_search_path, PINNED_PATH) == 0)
		return 0;
	level = NewGUCNestLevel();
	(void) set_config_option("search_path", PINNED_PATH, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	return level;
}

void
path_unpin(int pinned)
{
	if (pinned > 0)
		AtEOXact_GUC(true, pinned);
}
