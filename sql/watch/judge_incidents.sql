/*
 * twtasks_internal.note_incidents(seen, kinds, moment)
 *
 *		Opens, refreshes and resolves incidents.  An incident that opened twice in the
 *		last hour before is damped: it needs 15 quiet minutes to be resolved.  A row that
 *		another transaction has locked stays as it is until the next call.
 *
 * Parameters
 *		seen			rows of find_incidents() as a JSON array.  A kind keeps at most 200
 *						incidents: first those that are open, then those with the
 *						highest count
 *		kinds			the kinds that were looked for; NULL: all.  An incident of another
 *						kind is not resolved
 *
 * Writes		twtasks.incident
 * Locks		rows
 */
CREATE FUNCTION twtasks_internal.note_incidents(seen jsonb, kinds text[], moment timestamptz)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
BEGIN
	WITH judged AS (
		SELECT f.key, f.kind, f.object, f.count, f.summary, f.detail, f.hint,
			   CASE WHEN f.count >= r.page_from THEN 'page' ELSE r.severity END AS severity,
			   o.id AS known, row_number() OVER (PARTITION BY f.kind ORDER BY o.id IS NULL, f.count DESC, f.object) AS place
		FROM jsonb_to_recordset(seen)
			f(key text COLLATE "C", kind text, object text, count bigint, summary text, detail text, hint text)
		CROSS JOIN LATERAL (
			SELECT * FROM twtasks_internal.incident_rules() n WHERE n.kind IN (f.kind, 'warning')
			ORDER BY n.kind = f.kind DESC LIMIT 1) r
		LEFT JOIN twtasks.incident o ON o.key = f.key AND o.resolved IS NULL
		WHERE r.severity IS NOT NULL),
	free AS MATERIALIZED (
		SELECT o.id FROM twtasks.incident o WHERE o.id IN (SELECT j.known FROM judged j)
		FOR NO KEY UPDATE SKIP LOCKED),
	kept AS (
		UPDATE twtasks.incident i
		SET refreshed = moment, count = j.count, summary = left(j.summary, 500),
			detail = left(j.detail, 1000), hint = left(j.hint, 1000),
			severity = CASE WHEN i.severity = 'page' THEN 'page' ELSE j.severity END
		FROM judged j WHERE i.id = j.known AND j.place <= 200 AND i.id IN (SELECT f.id FROM free f))
	INSERT INTO twtasks.incident (key, kind, object, severity, opened, refreshed, count, summary, detail, hint, is_damped)
	SELECT j.key, j.kind, j.object, j.severity, moment, moment, j.count,
		   left(j.summary, 500), left(j.detail, 1000), left(j.hint, 1000),
		   (SELECT count(*) >= 2 FROM twtasks.incident p
			WHERE p.key = j.key AND p.resolved > moment - interval '1 hour'
			  AND p.opened > moment - interval '1 hour')
	FROM judged j
	WHERE j.place <= 200 AND j.known IS NULL
	ON CONFLICT DO NOTHING;

	UPDATE twtasks.incident u SET resolved = moment
	WHERE u.id = ANY (ARRAY(
		SELECT i.id FROM twtasks.incident i
		WHERE i.resolved IS NULL AND i.kind <> 'more' AND i.refreshed < moment
		-- a locked one was seen, and not refreshed
		  AND i.key <> ALL (ARRAY(SELECT f.key FROM jsonb_to_recordset(seen) f(key text COLLATE "C")))
		  AND (kinds IS NULL OR i.kind = ANY (kinds))
		  AND i.refreshed <= moment
		- CASE WHEN i.is_damped THEN interval '15 min'
			   ELSE coalesce((SELECT r.gone FROM twtasks_internal.incident_rules() r WHERE r.kind = i.kind), '2 min') END
		-- a count that stopped early does not show that none is left
		  AND (i.kind <> 'error' OR NOT EXISTS (SELECT FROM twtasks.monitor_type m
												WHERE m.status IN ('ERROR', 'HELD') AND m.capped))
		FOR NO KEY UPDATE SKIP LOCKED));
END $$;

/*
 * twtasks_internal.tell_incidents(moment)
 *
 *		Decides which incidents are sent from now on: open ones that are not silenced,
 *		at most 20 in 10 minutes.  One incident of kind more stands for the rest.  An
 *		incident is sent again after 6 hours, with ten times the count, or when it
 *		becomes a page; once acknowledged, only when it becomes a page.
 *
 * Writes		twtasks.incident
 * Locks		rows
 */
CREATE FUNCTION twtasks_internal.tell_incidents(moment timestamptz)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
DECLARE
	room CONSTANT bigint := (
		SELECT 20 - count(*) FROM twtasks.incident i
		WHERE (i.resolved IS NULL OR i.resolved > moment - interval '10 min')
		  AND i.told > moment - interval '10 min' AND i.kind <> 'more');
	held_back bigint;
	worst text;
	more text;
BEGIN
	UPDATE twtasks.incident i SET told = moment, told_count = i.count, told_severity = i.severity
	WHERE i.id = ANY (ARRAY(
		SELECT n.id FROM twtasks.incident n
		WHERE n.resolved IS NULL AND n.told IS NULL AND n.refreshed = moment AND n.kind <> 'more'
		  AND twtasks_internal.silenced_until(n.kind, n.object) IS NULL
		ORDER BY n.severity, n.opened, n.id LIMIT greatest(room, 0)
		FOR NO KEY UPDATE SKIP LOCKED));

	SELECT count(*), min(n.severity) INTO held_back, worst FROM twtasks.incident n
	WHERE n.resolved IS NULL AND n.told IS NULL AND n.kind <> 'more'
	  AND twtasks_internal.silenced_until(n.kind, n.object) IS NULL;
	more := format(twtasks_internal.plural(held_back, 'and %s more incident', 'and %s more incidents'), held_back);
	UPDATE twtasks.incident i
	SET refreshed = CASE WHEN held_back > 0 THEN moment ELSE i.refreshed END,
		resolved = CASE WHEN held_back = 0 THEN moment END,
		count = greatest(held_back, 1), severity = least(i.severity, worst),
		summary = CASE WHEN held_back > 0 THEN more ELSE i.summary END
	WHERE i.id = (SELECT m.id FROM twtasks.incident m
				  WHERE m.kind = 'more' AND m.resolved IS NULL FOR NO KEY UPDATE SKIP LOCKED);
	INSERT INTO twtasks.incident (key, kind, object, severity, opened, refreshed, count, summary, detail, hint, told, told_count, told_severity)
	SELECT 'more/', 'more', '', worst, moment, moment, held_back, more,
		   'at most 20 are sent in 10 minutes', 'SELECT * FROM twtasks.incidents WHERE state = ''open'' shows them',
		   moment, held_back, worst
	WHERE held_back > 0 AND NOT EXISTS (SELECT FROM twtasks.incident m WHERE m.kind = 'more' AND m.resolved IS NULL)
	ON CONFLICT DO NOTHING;

	UPDATE twtasks.incident u
	SET repeated = moment, repeats = u.repeats + 1, told_count = u.count, told_severity = u.severity
	WHERE u.id = ANY (ARRAY(
		SELECT i.id FROM twtasks.incident i
		WHERE i.resolved IS NULL AND i.told < moment AND i.refreshed = moment
		  AND (i.severity < i.told_severity
			   OR i.acknowledged IS NULL
				  AND (i.count >= 10 * greatest(i.told_count, 1) OR greatest(i.told, i.repeated) <= moment - interval '6 hours'))
		  AND twtasks_internal.silenced_until(i.kind, i.object) IS NULL
		FOR NO KEY UPDATE SKIP LOCKED));
END $$;

/*
 * twtasks_internal.clean_incidents(moment)
 *
 *		Deletes incidents that ended over 400 days ago, with their messages, and silences
 *		that did, at most 1000 of each.
 *
 * Writes		twtasks.incident, twtasks.incident_sent, twtasks.silence
 */
CREATE FUNCTION twtasks_internal.clean_incidents(moment timestamptz)
RETURNS void
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	WITH gone AS (
		DELETE FROM twtasks.incident i
		WHERE i.id = ANY (ARRAY(SELECT o.id FROM twtasks.incident o
								WHERE o.resolved < clean_incidents.moment - interval '400 days' ORDER BY o.resolved LIMIT 1000
								FOR UPDATE SKIP LOCKED))
		RETURNING i.id)
	DELETE FROM twtasks.incident_sent s USING gone g WHERE s.incident = g.id;
	DELETE FROM twtasks.silence s
	WHERE s.id = ANY (ARRAY(SELECT o.id FROM twtasks.silence o WHERE o.until < clean_incidents.moment - interval '400 days' LIMIT 1000
							FOR UPDATE SKIP LOCKED))
$$;

/*
 * twtasks_internal.judge_now(moment)
 *
 *		The work of judge_incidents().
 *
 * Writes		twtasks.incident, twtasks.incident_sent, twtasks.silence
 */
CREATE FUNCTION twtasks_internal.judge_now(moment timestamptz)
RETURNS void
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '1s'
AS $$
BEGIN
	PERFORM twtasks_internal.note_incidents(
		(SELECT coalesce(jsonb_agg(f), '[]') FROM twtasks_internal.find_incidents(moment) f), NULL, moment);
	PERFORM twtasks_internal.tell_incidents(moment);
	PERFORM twtasks_internal.clean_incidents(moment);
END $$;

/*
 * twtasks_internal.judge_incidents()
 *
 *		Opens, refreshes and resolves incidents by what is wrong now, and decides which
 *		of them are sent: see next_incidents().  The leader calls the function once a
 *		minute, right after monitor_tasks().  It does nothing
 *		while another session judges, or if this database is a copy and not adopted.
 *
 *		An error is a warning, also in twtasks.warnings, and does not harm the count.
 *
 * Returns
 *		how many incidents are open
 *
 * Writes		twtasks.incident, twtasks.incident_sent, twtasks.silence, twtasks.duty
 * Locks		the lock of incidents, if it is free; rows
 */
CREATE FUNCTION twtasks_internal.judge_incidents()
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	judged record;
BEGIN
	IF twtasks.is_adopted() AND twtasks_internal.try_lock(hashtextextended('twtasks.incident', 0)) THEN
		judged := twtasks_internal.try_call_without_limit('twtasks_internal.judge_now', twtasks.clock());
		IF judged.state IS NOT NULL THEN
			RAISE WARNING 'incidents could not be judged: %', judged.error USING ERRCODE = judged.state;
		END IF;
		IF judged.state IS NOT NULL OR EXISTS (SELECT FROM twtasks.duty d WHERE d.name = 'judge_incidents' AND d.problem IS NOT NULL) THEN
			PERFORM twtasks_internal.note_duty('judge_incidents', judged.error);
		END IF;
	END IF;
	RETURN (SELECT count(*) FROM twtasks.incident i WHERE i.resolved IS NULL);
END $$;
