/*
 * twtasks_internal.pause(kind, name, reason)
 *
 *		Pauses a type or a bucket: from the commit on neither SQL nor a sidecar grabs
 *		its tasks.  Tasks that were grabbed before go on, also the rest of a batch of
 *		a SQL handler.
 *
 * Returns
 *		false if it was paused already; then nothing changes
 *
 * Writes		twtasks.pause, twtasks.policy_audit
 * Locks		row lock
 * Wakes		every sidecar, to read the configuration again
 */
CREATE FUNCTION twtasks_internal.pause(kind text, name text, reason text)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	INSERT INTO twtasks.pause (kind, name, since, paused_by, reason)
	VALUES (pause.kind, pause.name, clock_timestamp(), twtasks_internal.author(), pause.reason)
	ON CONFLICT DO NOTHING;
	RETURN FOUND;
END $$;

/*
 * twtasks_internal.resume(kind, name)
 *
 *		Ends a pause of a type or a bucket.
 *
 * Returns
 *		false if it was not paused
 *
 * Writes		twtasks.pause, twtasks.policy_audit
 * Locks		row lock
 * Wakes		every sidecar, to read the configuration again and to look for tasks
 */
CREATE FUNCTION twtasks_internal.resume(kind text, name text)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	DELETE FROM twtasks.pause p WHERE p.kind = resume.kind AND p.name = resume.name;
	RETURN FOUND;
END $$;

/*
 * twtasks.pause_type(pattern, reason)
 *
 *		Starts no task of a type, or of all types that begin so, until resume_type().
 *		Options of other patterns do not matter.  Tasks that were grabbed before go
 *		on.  Tasks can be added, and wait.
 *
 * Errors
 *		22004, 22023	pattern is NULL, or not valid
 *
 * Returns, writes, locks, wakes: as pause()
 * Example		SELECT twtasks.pause_type('PAYOUT|*', 'the bank is down');
 */
CREATE FUNCTION twtasks.pause_type(pattern text, reason text DEFAULT NULL)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM twtasks_internal.check_pattern(pattern);
	RETURN twtasks_internal.pause('type', pattern, reason);
END $$;

/*
 * twtasks.resume_type(pattern)
 *
 *		Ends pause_type() of the same pattern.
 *
 * Returns, writes, locks, wakes: as resume()
 */
CREATE FUNCTION twtasks.resume_type(pattern text)
RETURNS boolean
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT twtasks_internal.resume('type', pattern) $$;

/*
 * twtasks.pause_bucket(name, reason)
 *
 *		Starts no task in a bucket until resume_bucket().
 *
 * Errors
 *		22004			name is NULL
 *		22023			the bucket is not configured
 *
 * Returns, writes, locks, wakes: as pause()
 */
CREATE FUNCTION twtasks.pause_bucket(name text, reason text DEFAULT NULL)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF name IS NULL THEN
		RAISE EXCEPTION 'name must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	PERFORM twtasks_internal.check_bucket(name);
	RETURN twtasks_internal.pause('bucket', name, reason);
END $$;

/*
 * twtasks.resume_bucket(name)
 *
 *		Ends pause_bucket().
 *
 * Returns, writes, locks, wakes: as resume()
 */
CREATE FUNCTION twtasks.resume_bucket(name text)
RETURNS boolean
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT twtasks_internal.resume('bucket', name) $$;

/*
 * twtasks.is_paused(type, bucket)
 *
 *		Returns whether tasks of that type in that bucket are paused.
 *
 * Locks		none
 */
CREATE FUNCTION twtasks.is_paused(type text, bucket text DEFAULT 'default')
RETURNS boolean
LANGUAGE c STABLE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_is_paused';
