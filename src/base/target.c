/*-------------------------------------------------------------------------
 *
 * target.c
 *		A table that is written to without a statement of SQL.
 *
 * Compare create_edata_for_relation() of PostgreSQL's worker.c, which replays
 * the changes of others in the same way.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "access/genam.h"
#include "access/tupdesc.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/reltrigger.h"

#include "base/fill.h"
#include "base/indexes.h"
#include "base/path.h"
#include "base/target.h"

struct Target
{
	Relation	relation;
	Relation	whole;			/* has the defaults */
	bool		has_triggers;
	bool		may_update;		/* its publications allow it */
	bool		may_delete;
	KnownTable	known;
	Relation	open[INDEXES_MAX];	/* as in known; NULL: not opened yet */
	Fill	   *fill;			/* NULL until a row needs it */
	bool		has_indexes;	/* the executor's indexes are open */
	EState	   *estate;			/* NULL until the executor is needed */
	ResultRelInfo *info;
};

/* A trigger that we can fire, or that our changes would never fire. */
static bool
is_supported(const Trigger *trigger)
{
	if (trigger->tgenabled == TRIGGER_DISABLED ||
		(trigger->tgtype & (TRIGGER_TYPE_INSERT | TRIGGER_TYPE_UPDATE | TRIGGER_TYPE_DELETE)) == 0)
		return true;
	return TRIGGER_FOR_ROW(trigger->tgtype) && TRIGGER_FOR_AFTER(trigger->tgtype) &&
		trigger->tgnattr == 0 &&
		trigger->tgoldtable == NULL && trigger->tgnewtable == NULL;
}

static void
refuse(Relation relation, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot write to table \"%s\": it has a %s",
					RelationGetRelationName(relation), what),
			 errdetail("twtasks writes this table without a statement of SQL."),
			 errhint("Drop the %s. An AFTER trigger FOR EACH ROW is allowed.", what)));
}

void
target_check(Relation relation)
{
	const TriggerDesc *triggers = relation->trigdesc;
	const TupleConstr *constraints = RelationGetDescr(relation)->constr;

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
		if (!is_supported(&triggers->triggers[i]))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot write to table \"%s\": trigger \"%s\" cannot be fired",
							RelationGetRelationName(relation), triggers->triggers[i].tgname),
					 errdetail("twtasks writes this table without a statement of SQL, and fires AFTER triggers FOR EACH ROW, without columns or transition tables."),
					 errhint("Drop or disable the trigger, or change it to such a trigger.")));
	if (relation->rd_rules != NULL)
		refuse(relation, "rule");
	if (constraints != NULL && constraints->num_check > 0)
		refuse(relation, "check constraint");
	if (relation->rd_rel->relforcerowsecurity)
		refuse(relation, "forced row security");
}

static void
prepare(Target *target)
{
	target->estate = CreateExecutorState();
	target->info = makeNode(ResultRelInfo);
	/* Index 0 means no range table, so nobody looks for our columns there. */
	InitResultRelInfo(target->info, target->relation, 0, NULL, 0);
	/* The events of triggers look for their relation here. */
	target->estate->es_opened_result_relations = list_make1(target->info);
}

static void
refuse_index(Relation relation, Oid index)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot write to table \"%s\": constraint \"%s\" is deferrable or excludes",
					RelationGetRelationName(relation), get_rel_name(index)),
			 errdetail("twtasks writes this table without a statement of SQL, and obeys unique constraints that are not deferrable."),
			 errhint("Drop the constraint, or make it UNIQUE NOT DEFERRABLE.")));
}

Target *
target_open(Relation relation, Relation whole, const Shape *shape)
{
	Target	   *target;

	target_check(relation);
	target = palloc0(sizeof(Target));
	target->relation = relation;
	target->whole = whole == NULL ? relation : whole;
	target->has_triggers = relation->trigdesc != NULL;
	known_table(relation, shape, &target->known);
	if (OidIsValid(target->known.refused))
		refuse_index(relation, target->known.refused);
	if (whole != NULL)
	{
		KnownTable	known;

		known_table(whole, shape, &known);
		target->known.map.is_plain &= known.map.is_plain;
	}
	if (target->has_triggers)
	{
		prepare(target);
		AfterTriggerBeginQuery();
	}
	return target;
}

void
target_close(Target *target)
{
	if (target->has_triggers)
	{
		int			pinned = path_pin();

		AfterTriggerEndQuery(target->estate);
		path_unpin(pinned);
	}
	for (int i = 0; i < target->known.nindexes; i++)
		if (target->open[i] != NULL)
			index_close(target->open[i], NoLock);
	if (target->estate != NULL)
	{
		/*
		 * Closes its indexes, and the targets around this one whose triggers
		 * it fired.
		 */
		ExecCloseResultRelations(target->estate);
		ExecResetTupleTable(target->estate->es_tupleTable, false);
		FreeExecutorState(target->estate);
	}
	pfree(target);
}

const ShapeMap *
target_map(const Target *target)
{
	return &target->known.map;
}

/* ---- before a change ---- */

static Fill *
fill_of(Target *target)
{
	if (target->estate == NULL)
		prepare(target);
	if (target->fill == NULL)
		target->fill = fill_open(target->info, target->estate, target->whole, target_map(target));
	return target->fill;
}

void
target_will_insert(Target *target, TupleTableSlot *row)
{
	int			pinned = path_pin();

	fill_insert(fill_of(target), row);
	path_unpin(pinned);
}

void
target_will_update(Target *target, TupleTableSlot *row)
{
	if (!target->may_update)
		CheckCmdReplicaIdentity(target->relation, CMD_UPDATE);
	target->may_update = true;
	if (!target_map(target)->is_plain)
	{
		int			pinned = path_pin();

		fill_update(fill_of(target), row);
		path_unpin(pinned);
	}
}

void
target_will_delete(Target *target)
{
	if (!target->may_delete)
		CheckCmdReplicaIdentity(target->relation, CMD_DELETE);
	target->may_delete = true;
}

/* ---- after it ---- */

static void
write_known(Target *target, TupleTableSlot *row)
{
	for (int i = 0; i < target->known.nindexes; i++)
	{
		if (!index_wants(&target->known.index[i], row))
			continue;
		if (target->open[i] == NULL)
			target->open[i] = index_open(target->known.index[i].oid, RowExclusiveLock);
		index_write(target->open[i], target->relation, row);
	}
}

/*
 * The executor tells an index whether an update changed its columns, and calls
 * functions of expressions.
 */
static void
write_all(Target *target, TupleTableSlot *row, bool is_update, bool only_summarizing)
{
	int			pinned = path_pin();

	if (target->estate == NULL)
		prepare(target);
	if (!target->has_indexes)
		ExecOpenIndices(target->info, false);
	target->has_indexes = true;
	if (target->info->ri_NumIndices > 0)
		twt_insert_index_tuples(target->info, row, target->estate,
								is_update, only_summarizing);
	ResetPerTupleExprContext(target->estate);
	path_unpin(pinned);
}

/* WHEN clauses of triggers are evaluated here, and the triggers at the close. */
void
target_inserted(Target *target, TupleTableSlot *row)
{
	if (target->known.needs_executor)
		write_all(target, row, false, false);
	else
		write_known(target, row);
	if (target->has_triggers)
	{
		int			pinned = path_pin();

		ExecARInsertTriggers(target->estate, target->info, row, NIL, NULL);
		path_unpin(pinned);
	}
}

void
target_updated(Target *target, ItemPointer at, TupleTableSlot *row,
			   bool indexes, bool only_summarizing)
{
	if (indexes)
		write_all(target, row, true, only_summarizing);
	if (target->has_triggers)
	{
		int			pinned = path_pin();

		ExecARUpdateTriggers(target->estate, target->info, NULL, NULL,
							 at, NULL, row, NIL, NULL, false);
		path_unpin(pinned);
	}
}

void
target_deleted(Target *target, ItemPointer at)
{
	if (target->has_triggers)
	{
		int			pinned = path_pin();

		ExecARDeleteTriggers(target->estate, target->info, at, NULL, NULL, false);
		path_unpin(pinned);
	}
}
