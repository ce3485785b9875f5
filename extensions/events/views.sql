CREATE VIEW twtasks.event_streams AS
	SELECT s.name, s.type, s.batch, s.bucket, s.priority, s.changed_at, s.changed_by
	FROM twtasks.event_stream s;
COMMENT ON VIEW twtasks.event_streams IS 'Streams of ordered events; see configure_stream()';

CREATE VIEW twtasks.event_objects AS
	SELECT coalesce(o.stream, q.stream) AS stream, coalesce(o.object, q.object) AS object,
		   coalesce(q.queued, 0) AS queued, q.oldest, o.head, t.status, coalesce(o.problem, t.error) AS problem,
		   coalesce(o.last_id, 0) AS last_id, coalesce(o.sent_id, 0) AS sent_id
	FROM twtasks.event_object o
	FULL JOIN (SELECT e.stream, e.object, count(*) AS queued, min(e.added) AS oldest
			   FROM twtasks.event e GROUP BY e.stream, e.object) q
		ON q.stream = o.stream AND q.object = o.object
	LEFT JOIN twtasks.task t ON t.id = o.head;
COMMENT ON VIEW twtasks.event_objects IS 'Objects with their queued events, their head task, and the ids of the last events given and sent';

CREATE VIEW twtasks.broken_event_objects AS
	SELECT o.stream, o.object, 'events are queued, but the object is not listed and has no live head' AS broken
	FROM twtasks.event_objects o
	WHERE o.queued > 0 AND o.status IS NULL
	  AND NOT EXISTS (SELECT FROM twtasks.objects_with_events w WHERE w.stream = o.stream AND w.object = o.object)
	UNION ALL
	SELECT o.stream, o.object, 'the head task is gone without its end' FROM twtasks.event_objects o
	WHERE o.head IS NOT NULL AND o.status IS NULL
	  AND NOT EXISTS (SELECT FROM twtasks.objects_with_events w WHERE w.stream = o.stream AND w.object = o.object)
	UNION ALL
	SELECT o.stream, o.object, 'the id of the last event is above all ids' FROM twtasks.event_object o
	WHERE o.last_id > (SELECT s.last_value FROM twtasks.event_id_seq s)
	UNION ALL
	SELECT o.stream, o.object, 'more events are sent than given' FROM twtasks.event_object o
	WHERE o.sent_id > o.last_id;
COMMENT ON VIEW twtasks.broken_event_objects IS 'Objects that break an invariant of ordered events; empty, unless tables were changed by hand';
