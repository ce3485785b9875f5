-- before:
/*
 * twtasks_internal.tell(bucket, triggers)
 *
 *		Sends triggers of a bucket at the commit, as src/commit/commit.c does: a line for
 *		each.  Too many of them for one notification say that the table is to be swept.
 *
 * Wakes		after commit all sidecars of the bucket
 */
CREATE FUNCTION twtasks_internal.tell(bucket text, triggers text)
RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT pg_notify('twtasks', tell.bucket || chr(10) || CASE WHEN octet_length(triggers) < 7800 THEN triggers ELSE 'sweep' END)
	WHERE twtasks.is_enabled()
$$;

/*
 * twtasks_internal.trigger_line(id, version, priority, size, due, type)
 *
 *		A trigger as a line of a notification: see trigger_encode().
 */
CREATE FUNCTION twtasks_internal.trigger_line(id uuid, version bigint, priority integer, size integer, due timestamptz, type text)
RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT concat_ws(' ', id, version, priority, size,
		CASE WHEN due > clock_timestamp() THEN least(extract(epoch FROM due) * 1000000, 9223372036854775807)::bigint ELSE 0 END, type)
$$;

-- twin: twt_queue_trigger LANGUAGE plpgsql
BEGIN
	-- Its callers count the calls, so its result must not be null.
	PERFORM twtasks_internal.tell(bucket, twtasks_internal.trigger_line(id, version, priority, size, due, type));
END
