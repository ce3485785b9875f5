/*
 * twtasks_internal.check_reason(reason)
 *
 *		Raises an error unless there is a reason.
 */
CREATE FUNCTION twtasks_internal.check_reason(reason text)
RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF coalesce(btrim(reason), '') = '' THEN
		RAISE EXCEPTION 'reason must not be null or empty'
			USING ERRCODE = CASE WHEN reason IS NULL THEN 'null_value_not_allowed' ELSE 'invalid_parameter_value' END,
				HINT = 'The audit keeps it for those who ask later.';
	END IF;
END $$;

/*
 * twtasks.acknowledge_incident(key, reason)
 *
 *		Says that somebody takes an open incident on: it is not sent again, unless it
 *		becomes a page.  Its targets hear of it.
 *
 * Parameters
 *		key				as in twtasks.incidents
 *		reason			for the audit
 *
 * Returns
 *		false if somebody did so before; then nothing changes
 *
 * Errors
 *		22004			key or reason is NULL
 *		22023			reason is empty
 *		42704			no incident of that key is open
 *
 * Writes		twtasks.incident, twtasks.policy_audit
 * Locks		row lock
 * Example		SELECT twtasks.acknowledge_incident('error/PAYOUT', 'the bank mends it');
 */
CREATE FUNCTION twtasks.acknowledge_incident(key text, reason text)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	known twtasks.incident;
BEGIN
	IF key IS NULL THEN
		RAISE EXCEPTION 'key must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	PERFORM twtasks_internal.check_reason(reason);
	SELECT i.* INTO known FROM twtasks.incident i
	WHERE i.key = acknowledge_incident.key AND i.resolved IS NULL FOR UPDATE;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'no incident "%" is open', twtasks_internal.shown(key)
			USING ERRCODE = 'undefined_object',
				HINT = 'SELECT * FROM twtasks.incidents WHERE state <> ''resolved'' shows those that are.';
	ELSIF known.acknowledged IS NOT NULL THEN
		RETURN false;
	END IF;
	UPDATE twtasks.incident i SET acknowledged = twtasks.clock(), acknowledged_by = twtasks_internal.author()
	WHERE i.id = known.id;
	INSERT INTO twtasks.policy_audit (at, actor, kind, name, before, after, reason)
	VALUES (clock_timestamp(), twtasks_internal.actor(), 'incident', key, '{"state": "open"}',
			jsonb_build_object('state', 'acknowledged', 'id', known.id, 'reason', reason), reason);
	RETURN true;
END $$;

/*
 * twtasks.silence(kind, pattern, until, reason)
 *
 *		Keeps incidents from being sent until a time, as for planned work.  They open
 *		and end in twtasks.incidents as ever.  An incident that is open when the silence
 *		ends is sent then.  The end of an incident that was sent is sent, too.
 *
 * Parameters
 *		kind			of the incidents; *: all
 *		pattern			their object, or its beginning and a *; *: all
 *		until			a time to come, at most a year ahead
 *		reason			for the audit
 *
 * Returns
 *		the id of the silence, for unsilence()
 *
 * Errors
 *		22004			an argument is NULL
 *		22023			an argument is not valid
 *
 * Writes		twtasks.silence, twtasks.incident, twtasks.policy_audit
 * Locks		row locks
 * Example		SELECT twtasks.silence('*', 'PAYOUT|*', now() + interval '2 hours', 'bank maintenance');
 */
CREATE FUNCTION twtasks.silence(kind text, pattern text, until timestamptz, reason text)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	made bigint;
BEGIN
	IF num_nulls(kind, pattern, until) > 0 THEN
		RAISE EXCEPTION '% must not be null', CASE WHEN kind IS NULL THEN 'kind' WHEN pattern IS NULL THEN 'pattern' ELSE 'until' END
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF kind !~ '^([^*]{1,100}|[*])$' THEN
		RAISE EXCEPTION 'invalid kind: "%"', twtasks_internal.shown(kind)
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Name a kind of twtasks.incidents, such as error, or * for all.';
	ELSIF pattern !~ '^[^*]*[*]?$' THEN
		RAISE EXCEPTION 'invalid pattern: "%"', twtasks_internal.shown(pattern)
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Name an object, the beginning of objects and a *, or * for all.';
	ELSIF until <= twtasks.clock() OR until > twtasks.clock() + interval '1 year' THEN
		RAISE EXCEPTION 'until must be a time within the next year, not %', until
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	PERFORM twtasks_internal.check_reason(reason);
	INSERT INTO twtasks.silence (kind, pattern, until, reason, actor, at)
	VALUES (kind, pattern, until, reason, twtasks_internal.author(), twtasks.clock())
	RETURNING id INTO made;
	INSERT INTO twtasks.policy_audit (at, actor, kind, name, before, after, reason)
	VALUES (clock_timestamp(), twtasks_internal.actor(), 'silence', kind || '/' || pattern, NULL,
			jsonb_build_object('id', made, 'until', until, 'reason', reason), reason);
	-- Openings that nobody has heard of are not sent any more.
	UPDATE twtasks.incident i SET told = NULL
	WHERE i.resolved IS NULL AND i.told IS NOT NULL
	  AND twtasks_internal.silenced_until(i.kind, i.object) IS NOT NULL
	  AND NOT EXISTS (SELECT FROM twtasks.incident_sent s WHERE s.incident = i.id);
	RETURN made;
END $$;

/*
 * twtasks.unsilence(id, reason)
 *
 *		Ends a silence now.
 *
 * Parameters
 *		id				as in twtasks.silence
 *		reason			for the audit
 *
 * Returns
 *		false if it has ended before
 *
 * Errors
 *		22004			id or reason is NULL
 *		22023			reason is empty
 *		42704			there is no such silence
 *
 * Writes		twtasks.silence, twtasks.policy_audit
 * Locks		row lock
 */
CREATE FUNCTION twtasks.unsilence(id bigint, reason text)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	known twtasks.silence;
	moment CONSTANT timestamptz := twtasks.clock();
BEGIN
	IF id IS NULL THEN
		RAISE EXCEPTION 'id must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	PERFORM twtasks_internal.check_reason(reason);
	SELECT s.* INTO known FROM twtasks.silence s WHERE s.id = unsilence.id FOR UPDATE;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'there is no silence %', id
			USING ERRCODE = 'undefined_object',
				HINT = 'SELECT * FROM twtasks.silence shows all.';
	ELSIF known.until <= moment THEN
		RETURN false;
	END IF;
	UPDATE twtasks.silence s SET until = moment WHERE s.id = known.id;
	INSERT INTO twtasks.policy_audit (at, actor, kind, name, before, after, reason)
	VALUES (clock_timestamp(), twtasks_internal.actor(), 'silence', known.kind || '/' || known.pattern,
			jsonb_build_object('id', known.id, 'until', known.until),
			jsonb_build_object('id', known.id, 'until', moment, 'reason', reason), reason);
	RETURN true;
END $$;

/*
 * twtasks.judge_silence()
 *
 *		Opens the incident silent, a page, if the leader has not counted for 150
 *		seconds, and resolves it if it has.  No leader can tell that, so twtasks-web
 *		calls this every 15 seconds, and sends messages meanwhile.  Nobody else judges
 *		then, so other incidents stay as they are.
 *
 * Returns
 *		whether it is open; false also if no sidecar ever counted here, or if this
 *		database is a copy and not adopted
 *
 * Writes		twtasks.incident
 * Locks		the lock of incidents, if it is free; a row
 */
CREATE FUNCTION twtasks.judge_silence()
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '1s'
AS $$
DECLARE
	moment CONSTANT timestamptz := twtasks.clock();
	silence CONSTANT jsonb := (
		SELECT jsonb_agg(jsonb_build_object(
			'key', 'silent/', 'kind', 'silent', 'object', '', 'count', 1,
			'summary', format('no sidecar has counted tasks since %s', m.at),
			'detail', (SELECT format(twtasks_internal.plural(count(*), '%s sidecar lives', '%s sidecars live'), count(*))
					   FROM twtasks_internal.living_nodes()),
			'hint', 'start a sidecar, or read the logs of those that run: nothing else is judged until one leads'))
		FROM twtasks.monitor_look m WHERE m.at < moment - interval '150 s');
	is_open CONSTANT boolean := EXISTS (SELECT FROM twtasks.incident i WHERE i.kind = 'silent' AND i.resolved IS NULL);
BEGIN
	IF NOT twtasks.is_adopted() THEN
		RETURN false;
	ELSIF (silence IS NOT NULL OR is_open) AND twtasks_internal.try_lock(hashtextextended('twtasks.incident', 0)) THEN
		PERFORM twtasks_internal.note_incidents(coalesce(silence, '[]'), '{silent}', moment);
		PERFORM twtasks_internal.tell_incidents(moment);
	END IF;
	RETURN silence IS NOT NULL;
END $$;
