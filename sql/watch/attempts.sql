/*
 * The error of an attempt stands once in the table while it stays the same.  Days
 * are dropped whole, so each day has its own.
 */
CREATE VIEW twtasks.task_attempts AS
	SELECT a.task_id, a.version, a.try, a.runnable, a.started, a.ended, a.node, a.result,
		   coalesce(a.error, (SELECT b.error FROM twtasks.task_attempt b
							  WHERE b.task_id = a.task_id AND b.version < a.version
								AND b.error IS NOT NULL AND b.result <> 'late'
							  ORDER BY b.version DESC LIMIT 1)) AS error,
		   a.next, a.incarnation
	FROM twtasks.task_attempt a
	UNION ALL
	SELECT f.id, f.version - 1, f.tries, NULL, f.started, f.state_time, n.name, 'done',
		   NULL, NULL, f.incarnation
	FROM twtasks.finished_task f LEFT JOIN twtasks.node n ON n.incarnation = f.incarnation
	WHERE f.status = 'DONE'
	  -- Neither: a person has ended it, and no try did.
	  AND num_nonnulls(f.started, f.incarnation) > 0;
COMMENT ON VIEW twtasks.task_attempts IS 'Tries that did not succeed, with their errors, and the last one of each task that is DONE by it; order by version';

/*
 * twtasks_internal.note_attempts(ids, result, error, next)
 *
 *		Writes an attempt for each of these live tasks, before the caller changes
 *		them.
 *
 * Parameters
 *		result			as in twtasks.task_attempt
 *		error			the reason
 *		next			when the try ended, and from when the next one may start
 *
 *		A failure to write is a warning.
 *
 * Writes		twtasks.task_attempt
 */
CREATE FUNCTION twtasks_internal.note_attempts(ids uuid[], result text, error text, next timestamptz)
RETURNS void
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_note_attempts';

/*
 * twtasks_internal.late_attempts(late)
 *
 *		Notes late results of tries that another has ended, since their nodes were gone
 *		or their deadlines had passed: the handler may have done its work after all.
 *		Called by tell_late().  A result that comes again, as after a lost connection,
 *		is noted once.
 *
 * Writes		twtasks.task_attempt
 * Locks		rows, without waiting
 */
CREATE FUNCTION twtasks_internal.late_attempts(late twtasks.late_result[])
RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '1s'
SET enable_seqscan = off
SET jit = off
AS $$
	INSERT INTO twtasks.task_attempt
		(task_id, version, try, runnable, started, ended, incarnation, result, error, next, node)
	SELECT DISTINCT ON (a.task_id, a.version) a.task_id, a.version, a.try, a.runnable, a.started, twtasks.clock(),
		   a.incarnation, 'late', l.result || coalesce(': ' || l.message, ''), NULL::timestamptz, a.node
	FROM unnest(late) l
	CROSS JOIN LATERAL (SELECT o.* FROM twtasks.task_attempt o
						WHERE o.task_id = l.id AND o.version = l.version FOR NO KEY UPDATE SKIP LOCKED) a
	WHERE (a.result IN ('unknown', 'failed') OR a.result = 'cancelled' AND l.result IN ('done', 'delete'))
	  AND NOT EXISTS (SELECT FROM twtasks.task_attempt b
					  WHERE b.task_id = a.task_id AND b.version = a.version AND b.result = 'late')
	  AND twtasks_internal.keep_attempts() > interval '0'
$$;
