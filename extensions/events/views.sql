CREATE VIEW twtasks.event_streams AS
	SELECT s.name, s.type, s.batch, s.bucket, s.priority, s.changed_at, s.changed_by
	FROM twtasks.event_stream s;
COMMENT ON VIEW twtasks.event_streams IS 'Streams of ordered events; see configure_stream()';

/*
 * twtasks_internal.why_still(problem, oldest, status, error, since, due, deadline)
 *
 *		The reason why an object stands still, at the latest a minute after it began to.
 *
 * Parameters
 *		problem			why no head could be added
 *		oldest			time of the first queued event; NULL: no event is queued
 *		status, error, since, due, deadline		of the live head task, its state_time and
 *						next_event_time; status NULL: there is none
 *
 * Returns
 *		text; NULL: it goes on.  For a head that is retried soon, the last error
 */
CREATE FUNCTION twtasks_internal.why_still(
	problem text, oldest timestamptz,
	status twtasks.task_status, error text, since timestamptz, due timestamptz, deadline timestamptz)
RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT coalesce(problem, CASE
		WHEN status IS NULL THEN
			CASE WHEN oldest < moment.ago THEN 'no head task was added for its events' END
		WHEN status = 'ERROR' THEN coalesce(error, 'its head task is in ERROR')
		WHEN status = 'HELD' THEN 'its head task is held'
		WHEN status = 'WAITING' AND due > moment.soon THEN
			concat_ws('; ', error, format('its head task waits until %s', date_trunc('second', due)))
		WHEN CASE status WHEN 'WAITING' THEN due WHEN 'SUBMITTED' THEN since END < moment.ago THEN
			concat_ws('; ', error, 'no sidecar has taken its head task')
		WHEN status = 'PROCESSING' AND deadline < moment.ago THEN 'its head task is past its deadline'
		ELSE error END)
	FROM (SELECT twtasks.clock() - interval '1 min' AS ago, twtasks.clock() + interval '1 min' AS soon) moment
$$;

CREATE VIEW twtasks.event_objects AS
	SELECT coalesce(o.stream, q.stream) AS stream, coalesce(o.object, q.object) AS object,
		   coalesce(q.queued, 0) AS queued, q.oldest, o.head, t.status,
		   -- Most objects rest: for them the call would take longer than all the rest.
		   CASE WHEN coalesce(o.problem, t.status::text) IS NOT NULL OR q.oldest IS NOT NULL
				THEN twtasks_internal.why_still(o.problem, q.oldest, t.status, t.error, t.state_time, t.next_event_time, t.deadline)
		   END AS problem,
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

/*
 * twtasks_internal.still_objects(most)
 *
 *		Objects that stand still, and since when: those with a problem, those whose
 *		head waits for a person or a sidecar, and those whose queued events have no
 *		head, among the listed objects and the objects of the first 20,000 events.
 *
 * Parameters
 *		most			about so many objects at most
 */
CREATE FUNCTION twtasks_internal.still_objects(
	most integer, OUT stream text, OUT object text, OUT since timestamptz, OUT problem text)
RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE ROWS 100
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
	WITH moment AS (SELECT twtasks.clock() - interval '1 min' AS ago),
	-- Some of these heads go on.
	heads AS (
		SELECT o.stream, o.object, o.problem, t.status, t.error, t.state_time, t.next_event_time, t.deadline
		FROM twtasks.event_object o JOIN twtasks.task t ON t.id = o.head, moment m
		WHERE o.head IS NOT NULL
		  AND (t.status IN ('ERROR', 'HELD', 'WAITING') OR t.error IS NOT NULL OR t.deadline < m.ago
			   OR t.status = 'SUBMITTED' AND t.state_time < m.ago)
		LIMIT still_objects.most),
	old AS (
		SELECT q.stream, q.object, q.oldest, o.problem
		FROM (SELECT e.stream, e.object, min(e.added) AS oldest
			  FROM (SELECT v.stream, v.object, v.added FROM twtasks.event v ORDER BY v.stream, v.object, v.seq LIMIT 20000) e, moment m
			  WHERE e.added < m.ago GROUP BY e.stream, e.object
			  UNION ALL
			  SELECT l.stream, l.object, f.added
			  FROM (SELECT DISTINCT w.stream, w.object FROM twtasks.objects_with_events w ORDER BY w.stream, w.object LIMIT still_objects.most) l
			  CROSS JOIN LATERAL (SELECT v.added FROM twtasks.event v
				WHERE v.stream = l.stream AND v.object = l.object ORDER BY v.seq LIMIT 1) f, moment m
			  WHERE f.added < m.ago) q
		LEFT JOIN twtasks.event_object o ON o.stream = q.stream AND o.object = q.object
		WHERE NOT EXISTS (SELECT FROM twtasks.task t WHERE t.id = o.head)
		LIMIT still_objects.most),
	faulty AS (
		SELECT o.stream, o.object, o.problem FROM twtasks.event_object o WHERE o.problem IS NOT NULL LIMIT still_objects.most),
	found AS (
		SELECT h.stream, h.object, h.state_time AS since,
			   twtasks_internal.why_still(h.problem, NULL, h.status, h.error, h.state_time, h.next_event_time, h.deadline) AS problem
		FROM heads h
		UNION ALL
		SELECT o.stream, o.object, o.oldest, twtasks_internal.why_still(o.problem, o.oldest, NULL, NULL, NULL, NULL, NULL) FROM old o
		UNION ALL
		SELECT f.stream, f.object, NULL, f.problem FROM faulty f)
	SELECT DISTINCT ON (f.stream, f.object) f.stream, f.object, f.since, f.problem
	FROM found f WHERE f.problem IS NOT NULL ORDER BY f.stream, f.object, f.since
$$;

/*
 * twtasks.list_event_objects(stream, state, after, max_objects)
 *
 *		A page of the objects of a stream, in the order of their names.  Quick beside
 *		any number of objects and events, which twtasks.event_objects reads all.
 *
 * Parameters
 *		state			blocked: objects that stand still, of the first 5,000 that are found;
 *						queued: objects with events that no head carries; NULL: all
 *		after			only objects whose names are behind this one; NULL: all
 *		max_objects		at most this many, 1 to 1000
 *
 * Returns
 *		object, head, status, problem, last_id, sent_id		as in twtasks.event_objects
 *		queued			events that no head carries, up to 1000
 *		queued_capped	true: there are more
 *		oldest			time at which the first of them was added
 *
 * Errors
 *		22004			stream is NULL
 *		22023			there is no such state, or max_objects is out of range
 *
 * Locks		none
 * Example		SELECT * FROM twtasks.list_event_objects('balances', 'blocked');
 */
CREATE FUNCTION twtasks.list_event_objects(
	stream text, state text DEFAULT NULL, after text DEFAULT NULL, max_objects integer DEFAULT 50,
	OUT object text, OUT queued bigint, OUT queued_capped boolean, OUT oldest timestamptz, OUT head uuid, OUT status twtasks.task_status,
	OUT problem text, OUT last_id bigint, OUT sent_id bigint)
RETURNS SETOF record
LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER ROWS 50
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off
AS $$
BEGIN
	IF list_event_objects.stream IS NULL THEN
		RAISE EXCEPTION 'stream must not be null' USING ERRCODE = 'null_value_not_allowed';
	ELSIF state NOT IN ('blocked', 'queued') THEN
		RAISE EXCEPTION 'state must be blocked or queued, not "%"', state USING ERRCODE = 'invalid_parameter_value';
	ELSIF max_objects IS NULL OR max_objects NOT BETWEEN 1 AND 1000 THEN
		RAISE EXCEPTION 'max_objects must be between 1 and 1000, not %', coalesce(max_objects::text, 'NULL')
			USING ERRCODE = 'invalid_parameter_value', HINT = 'Give the last object as "after" for the next ones.';
	END IF;
	RETURN QUERY
	WITH RECURSIVE waiting(object) AS (
		(SELECT e.object FROM twtasks.event e
		 WHERE e.stream = list_event_objects.stream AND e.object > coalesce(after, '') AND state IS DISTINCT FROM 'blocked' ORDER BY e.object LIMIT 1)
		UNION ALL
		SELECT (SELECT e.object FROM twtasks.event e WHERE e.stream = list_event_objects.stream AND e.object > w.object ORDER BY e.object LIMIT 1)
		FROM waiting w WHERE w.object IS NOT NULL),
	named AS (
		(SELECT w.object FROM waiting w WHERE w.object IS NOT NULL LIMIT max_objects)
		UNION
		(SELECT o.object FROM twtasks.event_object o
		 WHERE o.stream = list_event_objects.stream AND o.object > coalesce(after, '') AND state IS NULL ORDER BY o.object LIMIT max_objects)
		UNION
		(SELECT s.object FROM twtasks_internal.still_objects(CASE WHEN state = 'blocked' THEN 5000 ELSE 0 END) s
		 WHERE s.stream = list_event_objects.stream AND s.object > coalesce(after, ''))
		ORDER BY 1 LIMIT max_objects)
	SELECT n.object, least(q.n, 1000), q.n > 1000, f.added, o.head, t.status,
		   twtasks_internal.why_still(o.problem, f.added, t.status, t.error, t.state_time, t.next_event_time, t.deadline),
		   coalesce(o.last_id, 0), coalesce(o.sent_id, 0)
	FROM named n
	LEFT JOIN twtasks.event_object o ON o.stream = list_event_objects.stream AND o.object = n.object
	LEFT JOIN twtasks.task t ON t.id = o.head
	CROSS JOIN LATERAL (SELECT count(*) AS n FROM (
		SELECT FROM twtasks.event e WHERE e.stream = list_event_objects.stream AND e.object = n.object LIMIT 1001) c) q
	LEFT JOIN LATERAL (SELECT e.added FROM twtasks.event e
		WHERE e.stream = list_event_objects.stream AND e.object = n.object ORDER BY e.seq LIMIT 1) f ON true
	ORDER BY n.object;
END $$;

/*
 * twtasks_internal.warn_events(most)
 *
 *		The warnings of this extension: see brought_warnings().
 */
CREATE FUNCTION twtasks_internal.warn_events(most integer)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT jsonb_agg(w) FROM (
		(SELECT 'events stand still' AS warning, min(o.since) AS since,
				format(twtasks_internal.plural(count(*), 'stream "%s": %s object, "%s": %s', 'stream "%s": %s objects, such as "%s": %s'), o.stream,
					   count(*) || CASE WHEN count(*) < 5000 THEN '' ELSE ' or more' END,
					   min(o.object), (array_agg(o.problem ORDER BY o.object))[1]) AS detail,
				'do what the problem asks for; twtasks.event_objects has the problem of each object' AS hint
		 FROM twtasks_internal.still_objects(5000) o
		 GROUP BY o.stream ORDER BY o.stream LIMIT warn_events.most)
		UNION ALL
		(SELECT 'stream without its policy', s.changed_at,
				format('type "%s" of stream "%s" has lost its on_end function', s.type, s.name),
				'call twtasks.configure_stream() for it again; until then anybody can add tasks that pass for its heads'
		 FROM twtasks.event_stream s
		 WHERE (twtasks.policy_of(s.type)).on_end IS DISTINCT FROM 'twtasks_internal.end_events'
		 ORDER BY s.name LIMIT warn_events.most)) w
$$;
