/*
 * twtasks.configure_schedule(name, cron, type, data, ...)
 *
 *		As schedule(), but an existing schedule keeps what the call leaves out, or
 *		gives as NULL.  Its tasks are added as the calling role from then on.
 *
 * Parameters
 *		name ... reason	as for schedule(); a new schedule needs cron and type
 *
 * Returns
 *		as schedule()
 *
 * Errors
 *		as schedule(); 22023 also if another type would get the data, payload or context
 *
 * Writes		twtasks.schedule, twtasks.schedule_audit
 * Locks		row lock; waits for a change of the same schedule
 * Wakes		after commit one sidecar of the bucket
 * Example		SELECT * FROM twtasks.configure_schedule('nightly', '0 3 * * *');
 */
CREATE FUNCTION twtasks.configure_schedule(
	name text,
	cron text DEFAULT NULL,
	type text DEFAULT NULL,
	data jsonb DEFAULT NULL,
	time_zone text DEFAULT NULL,
	missed text DEFAULT NULL,
	missed_limit integer DEFAULT NULL,
	sub_type text DEFAULT NULL,
	priority integer DEFAULT NULL,
	bucket text DEFAULT NULL,
	expires_after interval DEFAULT NULL,
	context jsonb DEFAULT NULL,
	payload bytea DEFAULT NULL,
	reason text DEFAULT NULL,
	OUT result text,
	OUT next_run timestamptz)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	old twtasks.schedule;
BEGIN
	SELECT s.* INTO old FROM twtasks.schedule s WHERE s.name = configure_schedule.name FOR UPDATE;
	-- The readers of another type's payloads may not read these.
	IF type <> old.type AND num_nonnulls(old.data, old.payload, old.context) > 0 THEN
		RAISE EXCEPTION 'schedule "%" has data of type "%"', name, old.type
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Replace the whole schedule by twtasks.schedule().';
	END IF;
	SELECT n.result, n.next_run INTO result, next_run FROM twtasks.schedule(
		name, coalesce(cron, old.cron), coalesce(type, old.type), coalesce(data, old.data),
		coalesce(time_zone, old.time_zone, 'UTC'), coalesce(missed, old.missed, 'once'),
		coalesce(missed_limit, old.missed_limit, 100), coalesce(sub_type, old.sub_type),
		coalesce(priority, old.priority), coalesce(bucket, old.bucket), coalesce(expires_after, old.expires_after),
		coalesce(context, old.context), coalesce(payload, old.payload), reason) n;
END $$;
