/*-------------------------------------------------------------------------
 *
 * batch.c
 *		Many tasks, checked and stored together.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "miscadmin.h"

#include "add/add_order.h"
#include "add/allowed.h"
#include "add/batch.h"
#include "add/check.h"
#include "base/caller.h"

static void
name_task(void *arg)
{
	Batch	   *batch = arg;

	if (batch->number > 0)
		errcontext("task %d of %s", batch->number, batch->call);
}

void
batch_enter(Batch *batch)
{
	batch->context = (ErrorContextCallback)
	{
		error_context_stack, name_task, batch
	};
	error_context_stack = &batch->context;
}

void
batch_leave(Batch *batch)
{
	error_context_stack = batch->context.previous;
}

static void *
make_array(Size element, int n)
{
	return MemoryContextAllocHuge(CurrentMemoryContext, element * Max(n, 1));
}

void
batch_make(Batch *batch, int n)
{
	batch->tasks = make_array(sizeof(NewTask), n);
	batch->n = n;
}

void
batch_check(Batch *batch, const char *role)
{
	store_check();				/* before we read policies */
	for (int i = 0; i < batch->n; i++)
	{
		batch->number = i + 1;
		CHECK_FOR_INTERRUPTS();
		batch->tasks[i].has_limit = batch->patience_ms > 0;
		check_new_task(&batch->tasks[i]);
		allowed_check_add(batch->tasks[i].type, role, !batch->is_given && caller_is_owner());
	}
	batch->number = 0;
}

AddedTask *
batch_store(Batch *batch, const char *role)
{
	AddedTask  *results = make_array(sizeof(AddedTask), batch->n);
	Store	   *store = store_begin(role, batch->patience_ms);
	int		   *order = add_order(batch->tasks, batch->n);

	for (int i = 0; i < batch->n; i++)
	{
		batch->number = order[i] + 1;
		CHECK_FOR_INTERRUPTS();
		store_task(store, &batch->tasks[order[i]], &results[order[i]]);
	}
	batch->number = 0;
	store_end(store);
	return results;
}
