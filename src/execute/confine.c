/*-------------------------------------------------------------------------
 *
 * confine.c
 *		A SQL handler leaves its session as it found it.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/objectaccess.h"
#include "catalog/objectaddress.h"
#include "commands/sequence.h"
#include "commands/trigger.h"
#include "common/pg_prng.h"
#include "fmgr.h"
#include "nodes/parsenodes.h"
#include "tcop/utility.h"
#include "utils/fmgrprotos.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/portal.h"
#include "utils/syscache.h"

#include "execute/confine.h"
#include "node/node.h"

static ProcessUtility_hook_type next_utility_hook = NULL;
static object_access_hook_type next_access_hook = NULL;

/*
 * The handler that runs now; level is its transaction nesting, 0: none runs.
 */
static int	level = 0;
static bool had_cursors;
static bool set_constraints;	/* since the flag was cleared */
static List *created;			/* ObjectAddress of each object that it made */
static MemoryContext created_context;

/*
 * Returns words for a statement whose effect would outlive the task; else
 * NULL.
 */
static const char *
refused_statement(const Node *statement)
{
	switch (nodeTag(statement))
	{
		case T_PrepareStmt:
			return "PREPARE";
		case T_DeallocateStmt:
			return "DEALLOCATE";
		case T_DiscardStmt:
			return "DISCARD";
		case T_ListenStmt:
			return "LISTEN";
		case T_UnlistenStmt:
			return "UNLISTEN";
		case T_LoadStmt:
			return "LOAD";
		case T_DeclareCursorStmt:
			if (((const DeclareCursorStmt *) statement)->options & CURSOR_OPT_HOLD)
				return "DECLARE CURSOR ... WITH HOLD";
			return NULL;
		default:
			return NULL;
	}
}

static void
utility_hook(PlannedStmt *statement, const char *text, bool read_only_tree,
			 ProcessUtilityContext context, ParamListInfo params,
			 QueryEnvironment *environment, DestReceiver *dest, QueryCompletion *qc)
{
	const char *refused = level == 0 ? NULL : refused_statement(statement->utilityStmt);

	if (refused != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot execute %s in a SQL handler", refused),
				 errdetail("Its effect would outlive the task in the session, which other tasks share.")));
	if (IsA(statement->utilityStmt, ConstraintsSetStmt))
		set_constraints = true;
	if (next_utility_hook != NULL)
		next_utility_hook(statement, text, read_only_tree, context, params,
						  environment, dest, qc);
	else
		standard_ProcessUtility(statement, text, read_only_tree, context, params,
								environment, dest, qc);
}

/*
 * Notes each object that the handler makes.  Only the end of the handler shows
 * which of these objects are temporary.
 */
static void
access_hook(ObjectAccessType access, Oid class_id, Oid object_id, int sub_id, void *arg)
{
	if (next_access_hook != NULL)
		next_access_hook(access, class_id, object_id, sub_id, arg);
	if (level > 0 && access == OAT_POST_CREATE && sub_id == 0)
	{
		MemoryContext old;
		ObjectAddress *address;

		if (created_context == NULL)
			created_context = AllocSetContextCreate(TopMemoryContext, "twtasks handler",
													ALLOCSET_SMALL_SIZES);
		old = MemoryContextSwitchTo(created_context);
		address = palloc(sizeof(ObjectAddress));
		ObjectAddressSet(*address, class_id, object_id);
		created = lappend(created, address);
		MemoryContextSwitchTo(old);
	}
}

/*
 * Forgets the state that no abort undoes.  Transaction callbacks call this
 * too, so nothing here fails.
 */
static void
forget_handler(void)
{
	level = 0;
	created = NIL;
	if (created_context != NULL)
		MemoryContextReset(created_context);
	if (!node_is_session())
		LockReleaseSession(USER_LOCKMETHOD);
	ResetSequenceCaches();		/* the answers of currval() and lastval() */
	DirectFunctionCall1(setseed,
						Float8GetDatum(2 * pg_prng_double(&pg_global_prng_state) - 1));
}

static void
on_subtransaction(SubXactEvent event, SubTransactionId id, SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB && level > 0 &&
		GetCurrentTransactionNestLevel() <= level)
		forget_handler();
}

static void
on_transaction(XactEvent event, void *arg)
{
	if (level > 0 && (event == XACT_EVENT_ABORT || event == XACT_EVENT_PARALLEL_ABORT))
		forget_handler();
}

/* Installed only in sessions that run handlers. */
static void
install_hooks(void)
{
	static bool is_installed = false;

	if (is_installed)
		return;
	is_installed = true;
	next_utility_hook = ProcessUtility_hook;
	ProcessUtility_hook = utility_hook;
	next_access_hook = object_access_hook;
	object_access_hook = access_hook;
	RegisterXactCallback(on_transaction, NULL);
	RegisterSubXactCallback(on_subtransaction, NULL);
}

/* The server's function leaves its scan open when it has found a cursor. */
static bool
has_cursors(void)
{
	bool		result = !ThereAreNoReadyPortals();

	AtEOSubXact_HashTables(false, GetCurrentTransactionNestLevel());
	return result;
}

/*
 * Deferred triggers would fire at commit, as the session's role.  They fire
 * here instead, until none of them has deferred another.  The transaction's
 * constraints stay immediate: the server has no way back.
 */
static void
fire_deferred(void)
{
	ConstraintsSetStmt *all = makeNode(ConstraintsSetStmt);

	all->deferred = false;
	do
	{
		set_constraints = false;
		AfterTriggerSetState(all);
	} while (set_constraints);
}

void
confine_begin(void)
{
	install_hooks();
	if (level > 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a SQL handler cannot run another SQL handler")));
	had_cursors = has_cursors();
	level = GetCurrentTransactionNestLevel();
	fire_deferred();
}

static bool
is_temporary(const ObjectAddress *address)
{
	HeapTuple	tuple;
	bool		is_null;
	Datum		schema;
	bool		result;

	if (!is_objectclass_supported(address->classId) ||
		get_object_attnum_namespace(address->classId) == InvalidAttrNumber ||
		get_object_catcache_oid(address->classId) < 0)
		return false;
	tuple = SearchSysCache1(get_object_catcache_oid(address->classId),
							ObjectIdGetDatum(address->objectId));
	if (!HeapTupleIsValid(tuple))
		return false;			/* dropped already */
	schema = SysCacheGetAttr(get_object_catcache_oid(address->classId), tuple,
							 get_object_attnum_namespace(address->classId), &is_null);
	result = !is_null && isTempOrTempToastNamespace(DatumGetObjectId(schema));
	ReleaseSysCache(tuple);
	return result;
}

static void
drop_temporary(void)
{
	ObjectAddresses *objects = new_object_addresses();
	ListCell   *cell;

	CommandCounterIncrement();
	foreach(cell, created)
		if (is_temporary(lfirst(cell)))
			add_exact_object_address(lfirst(cell), objects);
	performMultipleDeletions(objects, DROP_CASCADE,
							 PERFORM_DELETION_INTERNAL | PERFORM_DELETION_QUIETLY);
	free_object_addresses(objects);
	CommandCounterIncrement();
}

void
confine_end(void)
{
	fire_deferred();
	if (!had_cursors && has_cursors())
		PortalHashTableDeleteAll();
	if (created != NIL)
		drop_temporary();
	forget_handler();
}
