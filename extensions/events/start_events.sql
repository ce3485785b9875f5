/*
 * twtasks_internal.list_again(streams, objects, done, problems)
 *
 *		Lists objects again that got no head.
 *
 * Parameters
 *		done			as for give_events()
 *		problems		the reason for each; NULL: it was not tried, and keeps what it has
 *
 * Writes		twtasks.event_object, twtasks.objects_with_events
 */
CREATE FUNCTION twtasks_internal.list_again(streams text[], objects text[], done boolean[], problems text[])
RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	UPDATE twtasks.event_object o
	SET head = NULL, sent_id = CASE WHEN w.done THEN o.last_id ELSE o.sent_id END,
		problem = coalesce(twtasks_internal.cut_message(w.problem), o.problem)
	FROM unnest(list_again.streams, list_again.objects, list_again.done, list_again.problems) w(stream, object, done, problem)
	WHERE o.stream = w.stream AND o.object = w.object;
	INSERT INTO twtasks.objects_with_events (stream, object)
	SELECT w.stream, w.object FROM unnest(list_again.streams, list_again.objects) w(stream, object)
$$;

/*
 * twtasks_internal.give_each(streams, objects, done, problems)
 *
 *		Gives the events of many objects together, as long as they are few events.  If
 *		that fails, gives the events of each object alone, so that an object at fault does
 *		not stop the others.  After half of twtasks.function_timeout the rest is
 *		listed again.
 *
 * Parameters
 *		problems		for each, why it got no head before: such objects come last, and
 *						each is tried alone.  NULL: no object has a problem
 *
 * Returns
 *		given			number of heads
 *		failed			number of objects at fault
 *		untried			number of objects that are left for another call
 *
 * Writes		as give_events() and list_again()
 */
CREATE FUNCTION twtasks_internal.give_each(
	streams text[], objects text[], done boolean[], problems text[],
	OUT given bigint, OUT failed bigint, OUT untried bigint)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	n CONSTANT integer := cardinality(objects);
	until timestamptz;
	together integer := 1;	-- objects of one call
	good integer := n;		-- objects without a problem, which come first
	alone integer := 0;		-- objects up to this one go alone
	i integer := 1;
	last integer;
	tried record;
	bad integer[] := '{}';
	reasons text[] := '{}';
BEGIN
	PERFORM twtasks.is_adopted();	-- A session knows the setting from its first call of the library on.
	until := clock_timestamp() + current_setting('twtasks.function_timeout')::interval / 2;
	IF n > 1 THEN
		together := (SELECT greatest(10000 / max(s.batch), 1) FROM twtasks.event_stream s WHERE s.name = ANY (streams));
	END IF;
	IF problems IS NOT NULL THEN
		good := (SELECT count(*) FROM unnest(problems) p WHERE p IS NULL);
	END IF;
	given := 0;
	WHILE i <= n LOOP
		last := CASE WHEN i > good OR i <= alone THEN i ELSE least(i + together - 1, good) END;
		tried := twtasks_internal.try_call('twtasks_internal.give_events', streams[i:last], objects[i:last], done[i:last]);
		IF tried.state IS NULL THEN
			given := given + tried.result::bigint;
			i := last + 1;
		ELSIF i < last AND tried.state <> '53400' THEN
			alone := last;
		ELSE
			-- Nobody knows which of several took too long: another call tries each alone.
			bad := bad || ARRAY(SELECT generate_series(i, last));
			reasons := reasons || array_fill(tried.error, ARRAY[last - i + 1]);
			i := last + 1;
		END IF;
		EXIT WHEN clock_timestamp() > until;
	END LOOP;
	failed := cardinality(bad);
	untried := n - i + 1;
	IF untried > 0 THEN
		PERFORM twtasks_internal.list_again(streams[i:], objects[i:], done[i:], NULL),
				twtasks_internal.ask_duties(s.bucket) FROM twtasks.event_stream s WHERE s.name = streams[i];
	END IF;
	IF failed > 0 THEN
		PERFORM twtasks_internal.list_again(array_agg(streams[b]), array_agg(objects[b]), array_agg(done[b]), reasons)
		FROM unnest(bad) b;
	END IF;
END $$;

/*
 * twtasks_internal.listed_objects(most)
 *
 *		The next objects of the list, each once, however many entries it has.
 *
 *		They come in the order of their names, round and round.  A look begins after the
 *		last object for which the one before it had room or time, so none that stays on
 *		the list holds up others for ever.
 */
CREATE FUNCTION twtasks_internal.listed_objects(most integer, OUT streams text[], OUT objects text[])
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
	at_stream text;
	at_object text;
BEGIN
	SELECT p.listed_stream, p.listed_object INTO at_stream, at_object FROM twtasks.event_place p;
	SELECT coalesce(array_agg(f.stream), '{}'), coalesce(array_agg(f.object), '{}') INTO streams, objects
	FROM (
		SELECT o.stream, o.object
		FROM (VALUES (1, coalesce(at_stream, ''), coalesce(at_object, '')), (2, '', '')) r(round, stream, object)
		CROSS JOIN LATERAL (
			WITH RECURSIVE listed AS (
				(SELECT w.stream, w.object FROM twtasks.objects_with_events w
				 WHERE (w.stream, w.object) > (r.stream, r.object) ORDER BY w.stream, w.object LIMIT 1)
				UNION ALL
				SELECT n.stream, n.object FROM listed l CROSS JOIN LATERAL (
					SELECT w.stream, w.object FROM twtasks.objects_with_events w
					WHERE (w.stream, w.object) > (l.stream, l.object) ORDER BY w.stream, w.object LIMIT 1) n
				WHERE r.round = 1 OR (l.stream, l.object) < (at_stream, at_object))
			SELECT l.stream, l.object FROM listed l) o
		WHERE r.round = 1 OR (o.stream, o.object) <= (at_stream, at_object)
		LIMIT most) f;
END $$;

/*
 * twtasks_internal.lock_objects(streams, objects)
 *
 *		Locks objects, in that order, and makes the rows of new ones.
 *
 * Returns
 *		the objects that nobody else has locked
 *
 * Writes		twtasks.event_object
 * Locks		rows of objects; skips those that others have locked
 */
CREATE FUNCTION twtasks_internal.lock_objects(INOUT streams text[], INOUT objects text[])
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
	-- Planning takes longer than these statements do.  Their plans are kept, and subqueries
	-- look up single rows, so that a plan of an empty table suits a large one.
	INSERT INTO twtasks.event_object (stream, object)
	SELECT l.stream, l.object FROM unnest(streams, objects) l(stream, object)
	WHERE (SELECT o.stream FROM twtasks.event_object o WHERE o.stream = l.stream AND o.object = l.object) IS NULL
	ORDER BY l.stream, l.object
	ON CONFLICT ON CONSTRAINT event_object_pkey DO NOTHING;
	SELECT array_agg(k.stream), array_agg(k.object) INTO streams, objects
	FROM unnest(streams, objects) l(stream, object)
	CROSS JOIN LATERAL (
		SELECT n.stream, n.object FROM twtasks.event_object n
		WHERE n.stream = l.stream AND n.object = l.object FOR UPDATE SKIP LOCKED) k;
END $$;

/*
 * twtasks_internal.head_is_done(stream, object, head)
 *
 *		Whether a head that lives no more is DONE.  Its row in the history may have been
 *		deleted, or was never written; then an entry of the list says so.
 */
CREATE FUNCTION twtasks_internal.head_is_done(stream text, object text, head uuid)
RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT coalesce((SELECT f.status = 'DONE' FROM twtasks.finished_task f WHERE f.id = head_is_done.head LIMIT 1), false)
		OR EXISTS (SELECT FROM twtasks.objects_with_events w
				   WHERE w.stream = head_is_done.stream AND w.object = head_is_done.object AND w.done = head_is_done.head)
$$;

/*
 * twtasks_internal.start_events(most)
 *
 *		Starts heads for listed objects that have none.  The entries of an object that
 *		somebody else has locked stay.
 *
 * Parameters
 *		most			at most this many objects in one call, and ten times as many entries
 *
 * Returns
 *		given			number of heads
 *		more			whether there is more to do now
 *
 * Errors
 *		25001			the transaction is not READ COMMITTED
 *
 * Writes		twtasks.objects_with_events, twtasks.event_object, twtasks.event,
 *				twtasks.task
 * Locks		rows of objects; skips those that others have locked
 * Wakes		after commit one sidecar per bucket
 */
CREATE FUNCTION twtasks_internal.start_events(most integer DEFAULT 1000, OUT given bigint, OUT more boolean)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
	listed record;
	locked record;
	entries tid[];
	ready record;
	failed bigint := 0;
	untried bigint := 0;
BEGIN
	given := 0;
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE EXCEPTION 'events can be started in READ COMMITTED only'
			USING ERRCODE = 'active_sql_transaction',
				DETAIL = 'Each statement must see what others have committed before it.';
	END IF;
	SELECT l.streams, l.objects INTO listed FROM twtasks_internal.listed_objects(most) l;
	SELECT l.streams, l.objects INTO locked FROM twtasks_internal.lock_objects(listed.streams, listed.objects) l;
	-- The events of these entries are seen below: each statement sees what those before it saw.
	entries := ARRAY(
		SELECT w.place_in_table FROM unnest(locked.streams, locked.objects) k(stream, object)
		CROSS JOIN LATERAL (
			SELECT n.ctid AS place_in_table FROM twtasks.objects_with_events n
			WHERE n.stream = k.stream AND n.object = k.object OFFSET 0) w
		LIMIT 10 * most);

	-- Only a later statement sees the head and the events of who had the lock before.
	-- Objects at fault come last, since one of them may take all the time.
	SELECT coalesce(array_agg(r.stream), '{}') AS streams, array_agg(r.object) AS objects,
		   array_agg(r.head IS NOT NULL AND twtasks_internal.head_is_done(r.stream, r.object, r.head)) AS done,
		   array_agg(r.problem) AS problems
	INTO ready
	FROM (SELECT o.stream, o.object, o.head, o.problem
		  FROM unnest(locked.streams, locked.objects) WITH ORDINALITY l(stream, object, n)
		  CROSS JOIN LATERAL (
			SELECT n.stream, n.object, n.head, n.problem FROM twtasks.event_object n
			WHERE n.stream = l.stream AND n.object = l.object OFFSET 0) o
		  WHERE (SELECT t.id FROM twtasks.task t WHERE t.id = o.head) IS NULL
		  ORDER BY o.problem IS NOT NULL, l.n) r;
	-- Nobody else removes these rows, since the objects are locked.
	DELETE FROM twtasks.objects_with_events w WHERE w.ctid = ANY (entries);
	more := FOUND AND (cardinality(listed.objects) = most OR cardinality(entries) = 10 * most);
	IF ready.streams <> '{}' THEN
		SELECT g.given, g.failed, g.untried INTO given, failed, untried
		FROM twtasks_internal.give_each(ready.streams, ready.objects, ready.done, ready.problems) g;
	END IF;
	PERFORM CASE
		WHEN untried > 0 THEN twtasks_internal.go_on_after(ready.streams[tried], ready.objects[tried])
		WHEN cardinality(entries) = 10 * most THEN twtasks_internal.go_on_after(listed.streams[1], listed.objects[1])
		WHEN cardinality(listed.objects) = most THEN twtasks_internal.go_on_after(listed.streams[most], listed.objects[most]) END
	FROM (SELECT cardinality(ready.objects) - untried AS tried) t;
	-- Objects at fault are listed again; they alone are no reason to hurry.
	more := (more OR untried > 0) AND (failed = 0 OR given > 0);
END $$;

/*
 * twtasks_internal.look_at_objects(most)
 *
 *		Lists objects with queued events that have no live head, in case they are not
 *		listed.  There are none, unless somebody has changed a table by hand.  A look
 *		at all objects begins once a minute, and goes on where the last call ended.
 *		Does nothing while another open transaction looks, or calls go_on_after().
 *
 * Parameters
 *		most			at most this many objects in one call
 *
 * Writes		twtasks.objects_with_events, twtasks.event_place
 * Locks		row of twtasks.event_place; skips it if others have locked it
 */
CREATE FUNCTION twtasks_internal.look_at_objects(most integer DEFAULT 1000)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off
AS $$
DECLARE
	moment CONSTANT timestamptz := twtasks.clock();
	here twtasks.event_place;
	seen record;
BEGIN
	SELECT p.* INTO here FROM twtasks.event_place p;
	IF here.at_stream IS NULL AND here.looked BETWEEN moment - interval '1 minute' AND moment OR here.only_row IS NULL THEN
		RETURN;
	END IF;
	-- An open transaction may hold the row, and no object should wait for it.
	SELECT p.* INTO here FROM twtasks.event_place p FOR UPDATE SKIP LOCKED;
	IF NOT FOUND THEN
		RETURN;
	END IF;
	-- One step from object to object, however many events each has.
	WITH RECURSIVE queued AS (
		(SELECT e.stream, e.object FROM twtasks.event e
		 WHERE (e.stream, e.object) > (coalesce(here.at_stream, ''), coalesce(here.at_object, ''))
		 ORDER BY e.stream, e.object LIMIT 1)
		UNION ALL
		SELECT n.stream, n.object FROM queued q
		CROSS JOIN LATERAL (
			SELECT e.stream, e.object FROM twtasks.event e
			WHERE (e.stream, e.object) > (q.stream, q.object)
			ORDER BY e.stream, e.object LIMIT 1) n),
	part AS (SELECT q.stream, q.object FROM queued q LIMIT most),
	listed AS (
		INSERT INTO twtasks.objects_with_events (stream, object)
		SELECT p.stream, p.object FROM part p
		WHERE (SELECT t.id FROM twtasks.event_object o JOIN twtasks.task t ON t.id = o.head
			   WHERE o.stream = p.stream AND o.object = p.object) IS NULL
		  AND (SELECT w.stream FROM twtasks.objects_with_events w
			   WHERE w.stream = p.stream AND w.object = p.object LIMIT 1) IS NULL)
	SELECT count(*) AS objects,
		   (array_agg(p.stream ORDER BY p.stream DESC, p.object DESC))[1] AS stream,
		   (array_agg(p.object ORDER BY p.stream DESC, p.object DESC))[1] AS object
	INTO seen FROM part p;
	UPDATE twtasks.event_place p
	SET looked = CASE WHEN here.at_stream IS NULL THEN moment ELSE p.looked END,
		at_stream = CASE WHEN seen.objects = most THEN seen.stream END,
		at_object = CASE WHEN seen.objects = most THEN seen.object END;
END $$;

/*
 * twtasks_internal.duty_start_events()
 *
 *		The duty of this extension: starts events, and looks at all objects.  See
 *		run_duties().
 *
 * Returns
 *		milliseconds until the next call
 *
 * Writes		as start_events() and look_at_objects()
 */
CREATE FUNCTION twtasks_internal.duty_start_events()
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM twtasks_internal.look_at_objects();
	RETURN CASE WHEN (SELECT s.more FROM twtasks_internal.start_events() s) THEN 0 ELSE 3000 END;
END $$;
