/*-------------------------------------------------------------------------
 *
 * worker_replies.c
 *		The lines of a worker process, and the conclusions from them.
 *
 *		from: helper_output.h		to: worker_tasks.h, worker_process_private.h
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "base/text.h"
#include "execute/worker/worker_process.h"
#include "execute/worker/worker_process_private.h"

/* The most bytes quoted from a line that is not a reply. */
#define QUOTE_MAX 200

/*
 * Takes the quote, which may be NULL.  It may have data of a task, so it goes to the
 * tasks but not to the log.
 */
static void
take_fault(WorkerProcess *process, const char *what, char *quote)
{
	char	   *reason;

	if (!worker_process_is_up(process))
	{
		pfree(quote);
		return;
	}
	reason = psprintf("worker broke the protocol: %s", what);
	log_line(TWT_LOG_WARN, "worker", "%s[%d]: %s",
			 process->setup->config->argv[0], spawn_pid(process->child), reason);
	process->quote = quote;
	worker_process_end(process, reason);
	pfree(reason);
}

/*
 * A worker may refuse reloaded settings.  Then its old settings stay.  A task that
 * the worker has read may have begun: then the error may concern the task.
 */
static void
refuse_hello(WorkerProcess *process, const char *message)
{
	char	   *reason = psprintf("worker refused its settings: %s", message);

	log_line(TWT_LOG_ERROR, "worker", "%s[%d]: %s", process->setup->config->argv[0],
			 spawn_pid(process->child), reason);
	if (!process->is_ready)
	{
		process->has_refused = true;
		helper_start_set_trouble(&process->start, TROUBLE_UNFIT, pstrdup(reason));
		worker_process_end(process, reason);
	}
	pfree(reason);
}

static void
take_ready(WorkerProcess *process)
{
	process->is_ready = true;
	if (process->state == WORKER_STARTING)
		worker_process_begin_tasks(process);
}

/* Such a line may stand for a task that now waits until its deadline. */
static void
ignore_line(WorkerProcess *process, const char *why)
{
	if (!process->has_ignored)
		log_line(TWT_LOG_WARN, "worker", "%s[%d]: ignores a line that is not a reply: %s",
				 process->setup->config->argv[0], spawn_pid(process->child), why);
	process->has_ignored = true;
}

static void
take_reply(WorkerProcess *process, const WorkerReply *reply)
{
	WorkerTasksReply what = worker_tasks_reply(&process->tasks, reply);

	process->has_replied |= what != WORKER_REPLY_STRAY;
	switch (what)
	{
		case WORKER_REPLY_STRAY:
			ignore_line(process, "it names a task that is not in flight");
			break;
		case WORKER_REPLY_BEGUN:
			break;
		case WORKER_REPLY_FINISHED:
			process->start.is_useful = true;
			worker_process_watch_stops(process);
			worker_process_retire_idle(process);
			break;
	}
}

static void
take_word(WorkerProcess *process, const WorkerReply *reply)
{
	if (!worker_process_is_up(process))
		worker_tasks_last_reply(&process->tasks, reply);
	else if (reply->word == WORKER_READY)
		take_ready(process);
	else if (reply->word == WORKER_REFUSED && (process->is_ready || !process->has_replied))
		refuse_hello(process, reply->message);
	else if (reply->word == WORKER_REFUSED || reply->word == WORKER_STRANGE)
		ignore_line(process, reply->word == WORKER_STRANGE ? reply->message : "it has an error but no task");
	else
		take_reply(process, reply);
}

static void
on_line(void *arg, const char *line, size_t len)
{
	WorkerReply reply;
	char	   *error = worker_protocol_decode(line, len, &reply);

	if (error == NULL)
		take_word(arg, &reply);
	else
		take_fault(arg, error, text_quote_line(line, len, QUOTE_MAX));
	pfree(error);
	worker_protocol_clear(&reply);
}

static void
on_long_line(void *arg, const char *head)
{
	WorkerReply reply;

	if (worker_protocol_decode_long(head, &reply))
		take_word(arg, &reply);
	else
		take_fault(arg, "line is longer than 1 MB", NULL);
	worker_protocol_clear(&reply);
}

const HelperOutputEvents worker_replies = {on_line, on_long_line, worker_process_expect_exit};
