/*-------------------------------------------------------------------------
 *
 * people.c
 *		What people do with tasks of the model: they cancel them, and let them run again.
 *
 * As sql/run/request_cancel.sql and sql/operate document it.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "acts.h"
#include "faults.h"
#include "judge.h"
#include "tables.h"
#include "world.h"

/* A grab may have come since the request. */
bool
tables_is_to_cancel(const Row *row)
{
	return row->cancel >= 0 && (row->status == ROW_PROCESSING || row->status == ROW_SUBMITTED) &&
		(row->version == row->cancel || row->version == row->cancel + 1);
}

/* Tasks that nobody runs end at once; the sidecar of another task is asked. */
static void
cancel_row(Row *row)
{
	bool		is_anybodys = row->status == ROW_PROCESSING && row->queued && nodes_live(row->incarnation);

	/* A SQL handler may have locked a SUBMITTED one. */
	if (is_anybodys || locks_hold(row))
	{
		row->cancel = row->version;
		judge_cancel(row);
		server_notify(CHANNEL_CANCELS, "");
	}
	else
		tables_move(row, ROW_CANCELLED, 0, 0);
	tables_commit(true);
}

/* Only a SUBMITTED task is cancelled while it is locked.  The person waits, but not for ever. */
static void
try_to_cancel(void *arg)
{
	Row		   *row = arg;

	if (row->status >= ROW_ERROR || !faults_last() || !server_is_up())
		return;
	if (locks_hold(row) && row->status != ROW_SUBMITTED)
		(void) world_after(locks_end_us(row) - world_now_us(), try_to_cancel, row);
	else
		cancel_row(row);
}

void
model_cancel(int number)
{
	Row		   *row = tables_row(number);

	if (row->status >= ROW_ERROR)
		return;
	act_tell("a person wants to cancel task %d v" INT64_FORMAT, row->number, row->version);
	if (locks_hold(row))
		try_to_cancel(row);
	else
		cancel_row(row);
}

void
model_cancel_any(void)
{
	if (model_count() > 0)
		model_cancel((int) world_between(0, model_count() - 1));
}

void
model_resume(int number)
{
	Row		   *row = tables_row(number);

	if (row->status != ROW_ERROR)
		return;
	tables_move(row, ROW_WAITING, row->incarnation, row->token);
	row->tries = 0;
	row->next_us = model_clock_us();
	if (model_has_expired(row))
		row->expires_us = 0;
	judge_wait(row);
	tables_commit(true);
	tables_trigger(row, row->next_us);
}

void
model_resume_errors(void)
{
	for (int i = 0; i < model_count(); i++)
		if (model_row(i)->status == ROW_ERROR && world_happens(500) && !locks_hold(model_row(i)))
			model_resume(i);
}
