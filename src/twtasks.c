/*-------------------------------------------------------------------------
 *
 * twtasks.c
 *		Loading: each module is initialized, once per process.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "fmgr.h"
#include "utils/guc.h"

#include "add/allowed.h"
#include "add/context.h"
#include "base/contract.h"
#include "base/indexes.h"
#include "base/settings.h"
#include "commit/commit.h"
#include "commit/prepared.h"
#include "common/version.h"
#include "grab/limit_rules.h"
#include "node/adoption.h"
#include "node/clock.h"
#include "policy/policy.h"
#include "queue/queue.h"

TWT_MODULE_MAGIC("twtasks", TWT_VERSION);

extern PGDLLEXPORT void _PG_init(void);

void
_PG_init(void)
{
	contract_init();
	settings_init();
	context_init();
	queue_init();
	commit_init();
	prepared_init();
	policy_init();
	adoption_init();
	allowed_init();
	clock_init();
	limit_rules_init();
	indexes_init();
	MarkGUCPrefixReserved("twtasks");
}
