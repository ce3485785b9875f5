/*
 * twtasks_internal.is_well()
 *
 *		Whether incidents can be judged, and none is open that wakes somebody.  An acknowledged one is still
 *		open; a silenced one does not count.  The sidecar calls the heartbeat's URL
 *		while the answer is true.
 */
CREATE FUNCTION twtasks_internal.is_well()
RETURNS boolean
LANGUAGE sql STABLE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT twtasks.is_adopted()
	   AND NOT EXISTS (SELECT FROM twtasks.duty d WHERE d.name = 'judge_incidents' AND d.problem IS NOT NULL)
	   AND NOT EXISTS (
		SELECT FROM twtasks.incident i
		WHERE i.resolved IS NULL AND i.severity = 'page'
		  AND twtasks_internal.silenced_until(i.kind, i.object) IS NULL)
$$;
