/*
 * twtasks_internal.check_outcome(outcome)
 *
 *		Raises an error unless the value can be the outcome of a task; NULL passes.
 *
 * Errors
 *		22023			it is no object, or has more than 8,192 bytes
 */
CREATE FUNCTION twtasks_internal.check_outcome(outcome jsonb)
RETURNS void
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_check_outcome';

/*
 * twtasks.set_outcome(outcome)
 *
 *		Sets the outcome of the task that the calling SQL handler runs, for the
 *		function of on_end.  The last call counts.
 *
 * Parameters
 *		outcome			a JSON object of at most 8,192 bytes as text
 *
 * Errors
 *		22004			outcome is NULL
 *		22023			outcome is no object, or too long
 *		55000			the caller is no SQL handler
 *		42501			the handler's role is neither a member of twtasks_producer nor of
 *						twtasks_worker
 *
 * Locks		none
 * Example		SELECT twtasks.set_outcome('{"payment": "p-17", "state": "booked"}');
 */
CREATE FUNCTION twtasks.set_outcome(outcome jsonb)
RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'twt_set_outcome';
