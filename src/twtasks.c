/*-------------------------------------------------------------------------
 *
 * twtasks.c
 *		Loading: each module is initialized, once per process.
 *
 *-------------------------------------------------------------------------
 */
#include "twtasks.h"

#include "fmgr.h"

#include "adoption.h"
#include "allowed.h"
#include "clock.h"
#include "commit.h"
#include "common/version.h"
#include "policy.h"
#include "queue.h"
#include "settings.h"
#include "slots.h"

TWT_MODULE_MAGIC("twtasks", TWT_VERSION);

extern PGDLLEXPORT void _PG_init(void);

void
_PG_init(void)
{
	settings_init();
	queue_init();
	commit_init();
	policy_init();
	adoption_init();
	allowed_init();
	clock_init();
	slots_init();
}
