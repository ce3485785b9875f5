/*
 * twtasks_internal.end_tasks(ids, statuses, reasons)
 *
 *		Ends live tasks that no worker finishes, and calls the functions of on_end.
 *		The caller holds locks on the rows.
 *
 * Parameters
 *		statuses		for each: FAILED, CANCELLED, DONE or ERROR; behind a space the result of
 *						its attempt, as of twtasks.task_attempt, which otherwise a running
 *						task gets by its status
 *		reasons			for each: why, or NULL; of a task that is DONE, its message
 *
 *		An array with one element gives it to all tasks, except ids.
 *
 * Returns
 *		id, version, status of the ended tasks; ERROR also when a function failed, and
 *		another status if a function has moved a task on that became ERROR.  A
 *		missing task is unchanged, because functions took too long before it or
 *		could not get their locks: end it again
 *
 * Errors
 *		22004			an array is NULL
 *		22023			the arrays differ in length
 *		25001			a task has a function for on_end, and the transaction is not READ
 *						COMMITTED
 *
 * Writes		twtasks.task, twtasks.finished_task, and what functions of on_end write
 */
CREATE FUNCTION twtasks_internal.end_tasks(
	ids uuid[],
	statuses text[],
	reasons text[],
	OUT id uuid,
	OUT version bigint,
	OUT status twtasks.task_status)
RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 100
AS 'MODULE_PATHNAME', 'twt_end_tasks';

/*
 * twtasks_internal.end_now(ids, statuses, reasons)
 *
 *		Does the work of end_tasks(), but calls no function of on_end.
 *
 * Parameters
 *		statuses		for each: FAILED, CANCELLED, DONE or ERROR
 *
 * Errors		22004 and 22023, as end_tasks()
 *
 * Writes		twtasks.task, twtasks.finished_task
 */
CREATE FUNCTION twtasks_internal.end_now(ids uuid[], statuses twtasks.task_status[], reasons text[])
RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_end_now';
