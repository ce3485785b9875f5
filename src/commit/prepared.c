/*-------------------------------------------------------------------------
 *
 * prepared.c
 *		COMMIT PREPARED wakes sidecars.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "tcop/utility.h"

#include "base/settings.h"
#include "commit/commit.h"
#include "commit/prepared.h"
#include "queue/queue.h"

static ProcessUtility_hook_type next_utility_hook = NULL;

static uint32
hash_of(const TransactionStmt *statement)
{
	return hash_bytes((const unsigned char *) statement->gid, strlen(statement->gid));
}

/* Nothing here fails: the transaction is committed. */
static void
after_prepared(const TransactionStmt *statement)
{
	bool		had_triggers = queue_take_prepared(hash_of(statement));

	if (statement->kind == TRANS_STMT_COMMIT_PREPARED && had_triggers && twt_enabled)
		queue_ask_all();
}

static void
utility_hook(PlannedStmt *planned, const char *text, bool read_only_tree,
			 ProcessUtilityContext context, ParamListInfo params,
			 QueryEnvironment *environment, DestReceiver *dest, QueryCompletion *qc)
{
	const TransactionStmt *statement = (const TransactionStmt *) planned->utilityStmt;
	bool		is_end = false;

	if (IsA(statement, TransactionStmt))
	{
		is_end = statement->kind == TRANS_STMT_COMMIT_PREPARED ||
			statement->kind == TRANS_STMT_ROLLBACK_PREPARED;
		if (statement->kind == TRANS_STMT_PREPARE && commit_has_triggers())
			queue_note_prepared(hash_of(statement));
	}
	if (next_utility_hook != NULL)
		next_utility_hook(planned, text, read_only_tree, context, params,
						  environment, dest, qc);
	else
		standard_ProcessUtility(planned, text, read_only_tree, context, params,
								environment, dest, qc);
	if (is_end)
		after_prepared(statement);
}

void
prepared_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	next_utility_hook = ProcessUtility_hook;
	ProcessUtility_hook = utility_hook;
}
