-- twin: twt_give_events LANGUAGE plpgsql
DECLARE
	-- A head this large takes a small part of twtasks.function_timeout, and so do all of
	-- a call.  An event that is larger goes alone.
	most_of_all CONSTANT integer := 4194304;
	most integer := 1048576;
	heads record;
	added record;
	given integer := 0;
BEGIN
	IF EXISTS (SELECT FROM unnest(streams, objects, done) w(stream, object, done) WHERE num_nulls(w.stream, w.object, w.done) > 0) THEN
		RAISE EXCEPTION 'streams, objects and done must have as many elements, and no nulls'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	PERFORM twtasks_internal.keep_ids_new();
	-- A grab may be lost in a crash.  An event that was sent must keep its id.
	PERFORM set_config('synchronous_commit', 'on', true)
	WHERE current_setting('synchronous_commit') IN ('off', 'local');
	most := least(most, pg_size_bytes(twtasks_internal.setting('max_payload')) - 100);
	WITH wanted AS (
		SELECT w.n, o.stream, o.object, w.done, o.last_id, CASE WHEN w.done THEN o.last_id ELSE o.sent_id END AS sent_id,
			   s.type, s.batch, s.bucket, s.priority
		FROM unnest(streams, objects, done) WITH ORDINALITY w(stream, object, done, n)
		CROSS JOIN LATERAL (
			SELECT n.last_id, n.sent_id, n.stream, n.object FROM twtasks.event_object n
			WHERE n.stream = w.stream AND n.object = w.object OFFSET 0) o
		JOIN twtasks.event_stream s ON s.name = w.stream),
	picked AS (
		SELECT p.n, p.place_in_table, p.all_so_far - p.total < most_of_all AS fits
		FROM (SELECT w.n, q.place_in_table, q.total,
					 sum(q.size) OVER (ORDER BY w.n, q.total ROWS UNBOUNDED PRECEDING) AS all_so_far
			  FROM wanted w
			  CROSS JOIN LATERAL (
				SELECT c.place_in_table, c.size, sum(c.size) OVER (ORDER BY c.seq ROWS UNBOUNDED PRECEDING) AS total
				FROM (SELECT e.seq, e.size + 120 AS size, e.ctid AS place_in_table FROM twtasks.event e
					  WHERE e.stream = w.stream AND e.object = w.object
					  ORDER BY e.seq LIMIT w.batch) c) q
			  WHERE q.total <= most - 6 * octet_length(w.stream || w.object) OR q.total = q.size) p),
	taken AS (
		-- Nobody else moves these rows, since the object is locked.
		DELETE FROM twtasks.event e
		WHERE e.ctid = ANY (ARRAY(SELECT p.place_in_table FROM picked p WHERE p.fits))
		RETURNING e.stream, e.object, e.seq, e.event),
	numbered AS (
		SELECT t.*, nextval('twtasks.event_id_seq') AS id
		FROM (SELECT a.* FROM taken a ORDER BY a.stream, a.object, a.seq OFFSET 0) t),
	chained AS (
		SELECT n.stream, n.object, n.id, n.event, lag(n.id) OVER (PARTITION BY n.stream, n.object ORDER BY n.id) AS prev
		FROM numbered n),
	made AS (
		SELECT w.stream, w.object, w.done, w.last_id AS before, min(c.id) AS first_id, max(c.id) AS last_id,
			   twtasks.new_task(w.type, jsonb_build_object('stream', w.stream, 'object', w.object, 'events', jsonb_agg(
					jsonb_build_object('id', c.id, 'prev', coalesce(c.prev, w.last_id), 'event', c.event)
					|| CASE WHEN c.prev IS NULL AND w.sent_id < w.last_id
							THEN jsonb_build_object('skipped', w.sent_id) ELSE '{}' END
					ORDER BY c.id)),
				w.object, priority => w.priority, bucket => w.bucket) AS task
		FROM wanted w LEFT JOIN chained c ON c.stream = w.stream AND c.object = w.object
		GROUP BY w.stream, w.object, w.done, w.last_id, w.sent_id, w.type, w.bucket, w.priority)
	SELECT array_agg(m.stream ORDER BY m.stream, m.object) AS streams,
		   array_agg(m.object ORDER BY m.stream, m.object) AS objects,
		   array_agg(m.done ORDER BY m.stream, m.object) AS done,
		   array_agg(m.last_id ORDER BY m.stream, m.object) AS last_ids,
		   max(m.before) FILTER (WHERE m.first_id <= m.before) AS above,
		   (SELECT array_agg(DISTINCT p.n) FROM picked p WHERE NOT p.fits) AS too_many,
		   coalesce(array_agg(m.task ORDER BY m.stream, m.object) FILTER (WHERE m.last_id IS NOT NULL), '{}') AS tasks
	INTO heads FROM made m;
	IF heads.above IS NOT NULL THEN
		PERFORM twtasks_internal.raise_ids(heads.above);
		RAISE EXCEPTION 'ids of events were behind those that objects have' USING ERRCODE = 'serialization_failure';
	END IF;
	SELECT array_agg(a.task_id ORDER BY a.ordinality) AS ids, count(*) FILTER (WHERE a.result = 'added') AS n INTO added
	FROM twtasks.add_tasks(heads.tasks) WITH ORDINALITY a;
	IF added.n <> cardinality(heads.tasks) THEN
		RAISE EXCEPTION 'a head task was not added' USING ERRCODE = 'object_not_in_prerequisite_state',
			HINT = 'Look at the intercept functions of its type: twtasks.policy_of().';
	END IF;
	-- One at a time: a join might read the whole table, by a plan from when it was empty.
	FOR i IN 1 .. coalesce(cardinality(heads.objects), 0) LOOP
		given := given + (heads.last_ids[i] IS NOT NULL)::integer;
		UPDATE twtasks.event_object o
		SET head = CASE WHEN heads.last_ids[i] IS NOT NULL THEN added.ids[given] END,
			last_id = coalesce(heads.last_ids[i], o.last_id), problem = NULL,
			sent_id = CASE WHEN heads.done[i] THEN o.last_id ELSE o.sent_id END
		WHERE o.stream = heads.streams[i] AND o.object = heads.objects[i];
	END LOOP;
	IF heads.too_many IS NOT NULL THEN
		INSERT INTO twtasks.objects_with_events (stream, object)
		SELECT streams[n], objects[n] FROM unnest(heads.too_many) n;
		-- The first of them is never the first of the call.
		PERFORM twtasks_internal.go_on_after(streams[heads.too_many[1] - 1], objects[heads.too_many[1] - 1]);
		PERFORM twtasks_internal.ask_duties(s.bucket) FROM twtasks.event_stream s WHERE s.name = streams[heads.too_many[1]];
	END IF;
	RETURN given;
END

-- after:
-- begin: in each update
SELECT twtasks_internal.make_try_call('text[]', 'text[]', 'boolean[]');
-- end: in each update
