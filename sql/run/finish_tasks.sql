/*
 * twtasks_internal.finish_tasks(ids, versions, results, delays_ms, messages, incarnation, token, grabs, places, retries, ask, raises, outcomes, adds)
 *
 *		Ends tries of tasks: every way of a worker out of PROCESSING.
 *
 * Parameters
 *		ids, versions	as the grab returned them
 *		results			for each: 'done'		DONE, kept in the history
 *								'delete'	finished, no trace kept
 *								'retry'		WAITING for delays_ms, tries counted
 *								'repeat'	WAITING for delays_ms, tries anew
 *								'error'		ERROR: a person must look
 *								'accepted'	stays PROCESSING, with the same version,
 *											until somebody finishes it or its
 *											deadline passes
 *								'release'	SUBMITTED again, or WAITING for delays_ms; the
 *											try does not count
 *								'cancelled'	CANCELLED, if request_cancel() asked for
 *											that; then every result but done and
 *											delete becomes cancelled
 *		delays_ms		retry, repeat and release: 0 or more, NULL as 0; accepted: the
 *						deadline if more than 0, but not after the deadline of the
 *						grab
 *		messages		NULL, or text that is kept with the task; a long text is cut in
 *						the middle
 *		incarnation		the node that finishes; NULL for somebody who finishes an
 *						accepted task
 *		token			a number for this call; NULL where incarnation is
 *		grabs			for each: the token of its grab by that incarnation, or NULL for
 *						any; needed after a grab that was not durable
 *		places			for each: where grab_tasks() left the row, or NULL; saves a
 *						look into the index, and a wrong place does no harm.  NULL or an
 *						empty array: not known
 *		retries			for each: the retry policy of a type that configure_type() gave
 *						none.  Then the policies judge retry, also after a failure, and
 *						repeat, and say how long if the delay is NULL.  NULL: the result
 *						counts as it is
 *		ask				whether to ask functions of policies.  The call asks them before
 *						it locks a row, for about twtasks.function_timeout in all
 *		raises			whether the call fails if a function of on_end fails, or tasks
 *						cannot be added; false: the task becomes ERROR
 *		outcomes		for each: NULL, or the object for functions of on_end.  NULL: none
 *						has one
 *		adds			for each: NULL, or tasks that are added if the task becomes
 *						finished by this call, as by add_tasks(jsonb) and with its
 *						context; with done and delete only.  The caller adds them.
 *						NULL: none has any
 *
 *		An array with one element gives it to all tasks, except ids and places.
 *
 * Returns
 *		id, version, status of the tasks whose finish was accepted.  A task that
 *		became ERROR has those after functions of on_end.  A missing task
 *		was taken over, finished or changed by another: the result came too late
 *		and changed nothing.  Functions of other extensions hear of that.  A task
 *		that is PROCESSING, and not accepted, is left, because functions took
 *		too long before it, or because another transaction claims the key of a
 *		task to add: finish it again within an hour, for which its deadline moves
 *		delay_ms		of a WAITING task
 *
 * Errors
 *		22004			an array other than grabs, places, retries, outcomes and adds is
 *						NULL
 *		22023			the arrays differ in length, a result is not one of the above, an
 *						outcome is not a JSON object, or tasks to add are not a JSON array
 *						or come with another result; then nothing is finished.  Or a
 *						retry policy is not valid
 *		25001			a task has a function for on_end, and the transaction is not READ
 *						COMMITTED
 *		42501			called within a security-restricted operation, such as ANALYZE
 *
 * Writes		twtasks.task, twtasks.finished_task, twtasks.unique_key,
 *				twtasks.cancel_request, twtasks.audit, and what functions of on_end
 *				and for late results write, and what add_tasks() writes
 * Locks		rows: first those with results other than done and delete, then the
 *				others, each in the order given
 * Wakes		a sidecar for released and added tasks at once, for others at their time
 * Example		SELECT * FROM twtasks_internal.finish_tasks(ARRAY[...]::uuid[], '{1}', '{done}', '{0}', '{NULL}', 7, 2);
 */
CREATE FUNCTION twtasks_internal.finish_tasks(
	ids uuid[],
	versions bigint[],
	results text[],
	delays_ms bigint[],
	messages text[],
	incarnation bigint,
	token bigint,
	grabs bigint[] DEFAULT NULL,
	places tid[] DEFAULT NULL,
	retries jsonb[] DEFAULT NULL,
	ask boolean DEFAULT false,
	raises boolean DEFAULT false,
	outcomes jsonb[] DEFAULT NULL,
	adds jsonb[] DEFAULT NULL,
	OUT id uuid,
	OUT version bigint,
	OUT status twtasks.task_status,
	OUT delay_ms bigint)
RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 100
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'twt_finish_tasks';

/*
 * twtasks_internal.resolve_finish(ids, versions, incarnation, token)
 *
 *		Returns the tasks that a lost call of finish_tasks() has finished, after the
 *		same call was sent again.  The end of a session that waits for a synchronous
 *		standby shows what the standby may lack.  A message in the log makes this call
 *		wait for the standby in its place.
 *
 * Parameters
 *		as they were given to finish_tasks()
 *
 * Returns
 *		ids, also of tasks that left no trace, unless this database does not know the
 *		incarnation
 *
 * Locks		none
 */
CREATE FUNCTION twtasks_internal.resolve_finish(
	ids uuid[],
	versions bigint[],
	incarnation bigint,
	token bigint)
RETURNS TABLE (id uuid)
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT pg_logical_emit_message(true, 'twtasks', ''::text);
	SELECT w.id
	FROM unnest(ids, versions) w(id, version)
	LEFT JOIN twtasks.task t ON t.id = w.id
	LEFT JOIN twtasks.finished_task f ON f.id = w.id
	WHERE (t.id IS NULL AND f.id IS NULL
		   AND EXISTS (SELECT FROM twtasks.node n WHERE n.incarnation = resolve_finish.incarnation))
	   OR (t.version >= w.version AND t.token = resolve_finish.token
		   AND (t.incarnation = resolve_finish.incarnation OR t.status = 'PROCESSING'))
	   OR (f.version = w.version + 1 AND f.token = resolve_finish.token
		   AND f.incarnation = resolve_finish.incarnation)
$$;
