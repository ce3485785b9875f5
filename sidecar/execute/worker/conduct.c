/*-------------------------------------------------------------------------
 *
 * conduct.c
 *		How the program of a worker process behaves.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "base/output.h"
#include "execute/worker/conduct.h"

struct Conduct
{
	const WorkerSetup *setup;
	Resident   *resident;
	bool		is_ready;		/* the process accepted its hello */
	bool		has_replied;	/* with a word on a task: it works */
	bool		has_ignored;	/* a line, and logged it */
	bool		has_broken;		/* the protocol */
	char	   *quote;			/* its faulty line, for the tasks only; or
								 * NULL */
};

Conduct *
conduct_new(const WorkerSetup *setup, Resident *resident)
{
	Conduct    *conduct = palloc0(sizeof(Conduct));

	conduct->setup = setup;
	conduct->resident = resident;
	return conduct;
}

void
conduct_free(Conduct *conduct)
{
	pfree(conduct->quote);
	pfree(conduct);
}

/* ---- the start of a process ---- */

void
conduct_begin(Conduct *conduct)
{
	conduct->is_ready = conduct->has_replied = conduct->has_ignored = conduct->has_broken = false;
}

void
conduct_not_started(Conduct *conduct, const SpawnFailure *failure)
{
	resident_set_trouble(conduct->resident, failure->is_temporary ? TROUBLE_SHORTAGE : TROUBLE_UNFIT,
						 pstrdup(failure->message));
}

void
conduct_is_slow(Conduct *conduct)
{
	if (resident_trouble(conduct->resident, false) == NULL)
		resident_set_trouble(conduct->resident, TROUBLE_UNFIT, pstrdup("worker has not read its first line yet"));
}

void
conduct_is_running(Conduct *conduct)
{
	resident_set_trouble(conduct->resident, TROUBLE_NONE, NULL);
}

/* ---- its lines ---- */

void
conduct_ready(Conduct *conduct)
{
	conduct->is_ready = true;
	if (resident_state(conduct->resident) == RESIDENT_STARTING)
		resident_running(conduct->resident);
}

void
conduct_refused(Conduct *conduct, const char *message)
{
	char	   *reason;

	if (conduct->has_replied && !conduct->is_ready)
	{
		conduct_ignore(conduct, "it has an error but no task");
		return;
	}
	reason = psprintf("refused its settings: %s", message);
	log_line(TWT_LOG_ERROR, "worker", "%s[%d]: worker %s", conduct->setup->config->argv[0],
			 resident_pid(conduct->resident), reason);
	if (!conduct->is_ready)
	{
		resident_set_trouble(conduct->resident, TROUBLE_UNFIT, psprintf("worker %s", reason));
		resident_end(conduct->resident, reason);
	}
	pfree(reason);
}

void
conduct_ignore(Conduct *conduct, const char *why)
{
	if (!conduct->has_ignored)
		log_line(TWT_LOG_WARN, "worker", "%s[%d]: ignores a line that is not a reply: %s",
				 conduct->setup->config->argv[0], resident_pid(conduct->resident), why);
	conduct->has_ignored = true;
}

void
conduct_fault(Conduct *conduct, const char *what, char *quote)
{
	const HandlerConfig *config = conduct->setup->config;
	char	   *reason = psprintf("broke the protocol: %s", what);

	metrics_handler(conduct->setup->metrics, config->index, HANDLER_PROTOCOL_ERRORS);
	log_line(TWT_LOG_WARN, "worker", "%s[%d]: worker %s", config->argv[0], resident_pid(conduct->resident), reason);
	pfree(conduct->quote);
	conduct->quote = quote;
	conduct->has_broken = true;
	resident_end(conduct->resident, reason);
	pfree(reason);
}

bool
conduct_has_broken(const Conduct *conduct)
{
	return conduct->has_broken;
}

void
conduct_replied(Conduct *conduct)
{
	conduct->has_replied = true;
}

void
conduct_did_work(Conduct *conduct)
{
	resident_was_useful(conduct->resident);
	crashes_clear(conduct->setup->crashes);
}

/* ---- its end ---- */

/* Returns the length without the quote. */
static int
append_end(const Conduct *conduct, const ResidentEnd *end, StringInfo out)
{
	int			nlogged;

	appendStringInfo(out, "worker %s", end->reason != NULL ? end->reason : end->how);
	nlogged = out->len;
	if (conduct->quote != NULL)
		appendStringInfo(out, ": \"%s\"", conduct->quote);
	return nlogged;
}

int
conduct_describe_end(const Conduct *conduct, const ResidentEnd *end, StringInfo out)
{
	int			nlogged = append_end(conduct, end, out);

	resident_add_words(conduct->resident, out);
	return nlogged;
}

/* A program that ends at once has seen no task, so its words may be told. */
static void
judge_start(Conduct *conduct, const ResidentEnd *end)
{
	StringInfoData message;
	int			len;
	const char *last = resident_last_words(conduct->resident, &len);

	if (resident_is_to_end(conduct->resident) || !resident_is_young(conduct->resident) ||
		conduct->is_ready || conduct->has_replied)
		return;
	initStringInfo(&message);
	(void) append_end(conduct, end, &message);
	if (len > 0)
	{
		appendStringInfoString(&message, ": ");
		output_escape(&message, last, len, SIZE_MAX);
	}
	resident_set_trouble(conduct->resident, TROUBLE_UNFIT, message.data);
}

/* The process had tasks, and nobody ended it. */
static void
note_crash(Conduct *conduct, const char *how)
{
	int			len;
	const char *last = resident_last_words(conduct->resident, &len);
	char	   *what = psprintf("%s%s%.*s", how, len > 0 ? ": " : "", len, last);

	crashes_add(conduct->setup->crashes, what, loop_now_us(conduct->setup->loop));
	pfree(what);
}

void
conduct_end(Conduct *conduct, const ResidentEnd *end, bool has_begun)
{
	if (end->failure != NULL)
		conduct_not_started(conduct, end->failure);
	else if (!has_begun)
		judge_start(conduct, end);
	else if (end->reason == NULL)
		note_crash(conduct, end->how);
	pfree(conduct->quote);
	conduct->quote = NULL;
}
