/*
 * twtasks_internal.lock_settings(kind, name)
 *
 *		Lets nobody else change settings of that kind until the end of the transaction,
 *		nor add one; but of schedules only that one, since others must run.  Readers do
 *		not wait.
 *
 * Errors
 *		22023			no such kind
 *
 * Locks		a table; of schedules a row
 */
CREATE FUNCTION twtasks_internal.lock_settings(kind text, name text)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	CASE kind
		WHEN 'type' THEN LOCK TABLE twtasks.type_policy IN SHARE ROW EXCLUSIVE MODE;
		WHEN 'bucket' THEN LOCK TABLE twtasks.bucket_policy IN SHARE ROW EXCLUSIVE MODE;
		WHEN 'limit' THEN LOCK TABLE twtasks.limit_rule IN SHARE ROW EXCLUSIVE MODE;
		WHEN 'schedule' THEN PERFORM FROM twtasks.schedule s WHERE s.name = lock_settings.name FOR UPDATE;
		WHEN 'paused type', 'paused bucket' THEN LOCK TABLE twtasks.pause IN SHARE ROW EXCLUSIVE MODE;
		ELSE
			RAISE EXCEPTION 'unrecognized kind: %', coalesce('"' || twtasks_internal.shown(kind) || '"', 'NULL')
				USING ERRCODE = 'invalid_parameter_value',
					HINT = 'Kinds are type, bucket, limit, schedule, paused type and paused bucket.';
	END CASE;
END $$;

/*
 * twtasks.lock_setting(kind, name, seen, scope, reason)
 *
 *		Locks a setting until the end of the transaction, and says whether it is still
 *		as its caller has seen it.  A call that changes it in the same transaction then
 *		overwrites no change of others.
 *
 * Parameters
 *		kind			type: a policy; bucket, limit, schedule; paused type, paused bucket:
 *						the pause of one
 *		name			its pattern or name
 *		seen			its time of change, as this function or the view of it returned it;
 *						NULL: there was none
 *		scope			of a limit
 *		reason			for twtasks.policy_audit, for all changes of settings in this
 *						transaction; NULL: as before
 *
 * Returns
 *		is_unchanged	whether its time of change is seen
 *		changed_at		that time: changed_at of policies, buckets and limits, since of a
 *						pause, and for a schedule the last entry in twtasks.schedule_audit,
 *						or the year 1970 if no entry is kept; NULL: there is no such setting
 *
 * Errors
 *		22023			no such kind, or a limit without scope
 *
 * Locks		the table of the setting, against changes; of a schedule its row
 * Example		SELECT * FROM twtasks.lock_setting('limit', 'PAYOUT', '2026-11-26 12:00:00.123456+00', 'cluster', 'the bank asks for it');
 */
CREATE FUNCTION twtasks.lock_setting(
	kind text, name text, seen timestamptz, scope twtasks.limit_scope DEFAULT NULL, reason text DEFAULT NULL,
	OUT is_unchanged boolean, OUT changed_at timestamptz)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM twtasks_internal.lock_settings(kind, name);
	IF kind = 'limit' AND scope IS NULL THEN
		RAISE EXCEPTION 'scope must not be null' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	changed_at := CASE kind
		WHEN 'type' THEN (SELECT t.changed_at FROM twtasks.type_policy t WHERE t.pattern = name)
		WHEN 'bucket' THEN (SELECT b.changed_at FROM twtasks.bucket_policy b WHERE b.name = lock_setting.name)
		WHEN 'limit' THEN (SELECT l.changed_at FROM twtasks.limit_rule l WHERE l.pattern = name AND l.scope = lock_setting.scope)
		WHEN 'schedule' THEN (SELECT coalesce((SELECT max(a.at) FROM twtasks.schedule_audit a WHERE a.name = s.name), 'epoch')
							  FROM twtasks.schedule s WHERE s.name = lock_setting.name)
		ELSE (SELECT p.since FROM twtasks.pause p WHERE p.name = lock_setting.name AND kind = 'paused ' || p.kind) END;
	is_unchanged := changed_at IS NOT DISTINCT FROM seen;
	IF reason IS NOT NULL THEN
		PERFORM set_config('twtasks.reason', reason, true);
	END IF;
END $$;
