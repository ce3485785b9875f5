-- A task that ends between two parts of the view may be in both: the later one counts.
-- A report of progress does not change the version, so there is no ETag beside one.
SELECT (SELECT to_json(r) FROM (
		SELECT t.id, t.version::text, t.type, t.sub_type, t.bucket, t.priority, t.status, t.created, t.state_time,
			nullif(t.next_event_time, 'infinity') AS next_event_time, nullif(t.deadline, 'infinity') AS deadline, nullif(t.expires, 'infinity') AS expires,
			t.tries, t.key, t.error, n.name AS node, t.incarnation::text, nullif(t.planned, 'infinity') AS planned,
			coalesce(t.planned = 'infinity', false) AS was_error, t.added_by, t.message, t.started,
			EXISTS (SELECT FROM twtasks.unknown_outcomes u WHERE u.id = t.id) AS unknown_outcome, twtasks.trace_id(t.id) AS trace_id,
			CASE WHEN p.id IS NOT NULL THEN json_build_object('percent', p.percent, 'note', p.note, 'at', p.at) END AS progress) r)::text AS body,
	CASE WHEN p.id IS NULL THEN t.version::text END AS etag
FROM twtasks.tasks t LEFT JOIN twtasks.nodes n ON n.incarnation = t.incarnation LEFT JOIN twtasks.progress p ON p.id = t.id AND t.status = 'PROCESSING'
WHERE t.id = $1::uuid ORDER BY t.state_time DESC, t.version DESC LIMIT 1
