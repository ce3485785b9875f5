/*-------------------------------------------------------------------------
 *
 * given_line.c
 *		The next line for a worker process, made of tasks that wait.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "execute/worker/given_line.h"
#include "protocol/worker_input.h"

/* A batch that is longer gets no more tasks. */
#define BATCH_BYTES (1024 * 1024)

/* Each failed try leaves a quarter of the batch. */
#define SHRINK_BITS 2

static Task *
first_of(dlist_head *waiting)
{
	return dlist_head_element(Task, node, waiting);
}

/* How many tasks a batch with this one may have. */
static int
most_with(const HandlerConfig *config, const Task *task)
{
	int			nfailed = Max(task->tries - 1, 0);

	if (nfailed > 0 && task->tries >= task->max_tries && task->max_tries > 0)
		return 1;
	return Max(config->batch >> Min(nfailed * SHRINK_BITS, 30), 1);
}

static void
make_batch(StringInfo out, const HandlerConfig *config, dlist_head *waiting,
		   dlist_head *tasks, int64 start_by_us)
{
	int			begins = out->len;
	int			most = config->batch;
	int			count = 0;

	do
	{
		Task	   *task = first_of(waiting);

		most = Min(most, most_with(config, task));
		if (count > 0 && count >= most)
			break;
		worker_input_add_to_batch(out, task, start_by_us, count == 0);
		dlist_delete(&task->node);
		dlist_push_tail(tasks, &task->node);
		count++;
	} while (!dlist_is_empty(waiting) && count < most && out->len - begins < BATCH_BYTES);
	worker_input_end_batch(out);
}

void
given_line_make(StringInfo out, const HandlerConfig *config, dlist_head *waiting,
				dlist_head *tasks, int64 start_by_us)
{
	if (config->batch > 0)
	{
		make_batch(out, config, waiting, tasks, start_by_us);
		return;
	}
	worker_input_add_task(out, first_of(waiting), start_by_us);
	dlist_push_tail(tasks, dlist_pop_head_node(waiting));
}
