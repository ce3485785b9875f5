/*
 * twtasks.task_at(id, moment, ended)
 *
 *		The state of a task at a moment of the past, by the events of life().  A task that
 *		waits counts as SUBMITTED from when it is due, since its move to the queue has no
 *		time of its own.
 *
 * Parameters
 *		ended			as for life()
 *
 * Returns
 *		version, status	at that moment; status NULL: not known
 *		tries			grabs until then; NULL: not known
 *		since			time of the change that made this version
 *		node			of a task that was PROCESSING: name of the sidecar
 *		is_exact		false: something changed between since and the next event that is
 *						kept, perhaps before the moment.  See life() for what is not kept
 *
 *		No row: the task did not exist then, or nothing is kept of that time.
 *
 * Errors
 *		22004			id or moment is NULL
 *
 * Locks		none
 * Example		SELECT * FROM twtasks.task_at(twtasks.id_of('order 4711'), now() - interval '1 h');
 */
CREATE FUNCTION twtasks.task_at(
	id uuid, moment timestamptz, ended timestamptz DEFAULT NULL, OUT version bigint, OUT status twtasks.task_status,
	OUT tries integer, OUT since timestamptz, OUT node text, OUT is_exact boolean)
RETURNS SETOF record
LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER ROWS 1
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF task_at.id IS NULL THEN
		RAISE EXCEPTION 'id must not be null' USING ERRCODE = 'null_value_not_allowed';
	ELSIF task_at.moment IS NULL THEN
		RAISE EXCEPTION 'moment must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	RETURN QUERY
	WITH change AS MATERIALIZED (
		SELECT e.* FROM twtasks_internal.life_events(task_at.id, task_at.ended) e WHERE e.version IS NOT NULL),
	last AS (SELECT c.* FROM change c WHERE c.at <= task_at.moment ORDER BY c.version DESC LIMIT 1)
	SELECT l.version, l.status,
		   -- Known from an event without a gap behind it.
		   (SELECT t.tries FROM change t
			WHERE t.tries IS NOT NULL AND t.version <= l.version
			  AND (SELECT count(DISTINCT b.version) FROM change b WHERE b.version BETWEEN t.version AND l.version) = l.version - t.version + 1
			ORDER BY t.version DESC LIMIT 1),
		   l.at, CASE l.status WHEN 'PROCESSING' THEN l.node END,
		   coalesce((SELECT min(n.version) FROM change n WHERE n.version > l.version) = l.version + 1,
					-- Its add is known as long as the task itself, with its last version.
					EXISTS (SELECT FROM change a WHERE a.event = 'add'))
	FROM last l;
END $$;
