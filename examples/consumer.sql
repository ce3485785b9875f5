-- A consumer of ordered events, as a SQL handler: it skips what it has, and waits
-- at a gap.  See docs/events.md.
CREATE TABLE seen (
	stream text,
	object text,
	last bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (stream, object)
);
CREATE TABLE history (id bigint PRIMARY KEY, stream text, object text, event jsonb);

-- Put your work here.  It is committed together with the new last id.
CREATE FUNCTION take_event(stream text, object text, id bigint, event jsonb) RETURNS void
LANGUAGE sql
BEGIN ATOMIC
	INSERT INTO history (id, stream, object, event) VALUES (id, stream, object, event);
END;

CREATE FUNCTION consume(task twtasks.task_input) RETURNS twtasks.task_result
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
	-- Two streams may have objects of the same name, each with a chain of its own.
	of_stream CONSTANT text := task.data ->> 'stream';
	of_object CONSTANT text := task.data ->> 'object';
	known bigint;
	e record;
BEGIN
	INSERT INTO seen (stream, object) VALUES (of_stream, of_object) ON CONFLICT DO NOTHING;
	SELECT last INTO known FROM seen WHERE stream = of_stream AND object = of_object FOR UPDATE;
	FOR e IN SELECT * FROM jsonb_to_recordset(task.data -> 'events')
			 AS x(id bigint, prev bigint, skipped bigint, event jsonb) ORDER BY id LOOP
		CONTINUE WHEN e.id <= known;		-- sent again
		IF coalesce(e.skipped, e.prev) > known THEN
			-- The task is retried, and then the earlier event may be there.
			RAISE EXCEPTION 'an event before % is missing', e.id;
		END IF;
		PERFORM take_event(of_stream, of_object, e.id, e.event);
		known := e.id;
	END LOOP;
	UPDATE seen SET last = known WHERE stream = of_stream AND object = of_object;
	RETURN ROW('done', NULL, NULL)::twtasks.task_result;
END $$;
