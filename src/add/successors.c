/*-------------------------------------------------------------------------
 *
 * successors.c
 *		Tasks that a handler adds by its reply.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/value.h"
#include "parser/parse_func.h"
#include "utils/guc.h"

#include "add/add_json.h"
#include "add/batch.h"
#include "add/context.h"
#include "add/successors.h"
#include "base/caller.h"

static void
check_role(Oid role)
{
	Oid			types[] = {JSONBOID};
	Oid			add_tasks = LookupFuncName(list_make2(makeString(pstrdup("twtasks")),
													  makeString(pstrdup("add_tasks"))),
										   1, types, false);

	if (!twt_may_execute(add_tasks, role))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for role \"%s\" to add tasks",
						GetUserNameFromId(role, false)),
				 errhint("GRANT twtasks_producer TO the role as which the sidecar connects.")));
}

/* Reads and checks one reply's tasks, which inherit the context of its task. */
static void
check_part(const Successors *successors, Batch *part, const char *role)
{
	int			level = NewGUCNestLevel();

	batch_enter(part);
	context_enter(successors->context, !successors->has_context);
	json_unpack(successors->tasks, part->tasks, &part->number);
	batch_check(part, role);
	batch_leave(part);
	AtEOXact_GUC(true, level);
}

static const char *
adding_role(void)
{
	return GetUserNameFromId(caller_role(), false);
}

Batch *
successors_check(const Successors *all, int n, int patience_ms)
{
	Batch	   *batch = palloc0(sizeof(Batch));
	int			count = 0;

	check_role(caller_role());
	for (int i = 0; i < n; i++)
		count += json_count(all[i].tasks);
	batch_make(batch, count);
	batch->call = "\"add\"";
	batch->is_given = true;
	batch->patience_ms = patience_ms;
	count = 0;
	for (int i = 0; i < n; i++)
	{
		Batch		part = *batch;

		part.tasks += count;
		part.n = json_count(all[i].tasks);
		check_part(&all[i], &part, adding_role());
		count += part.n;
	}
	return batch;
}

void
successors_store(Batch *batch)
{
	batch_enter(batch);
	batch_store(batch, adding_role());
	batch_leave(batch);
}
