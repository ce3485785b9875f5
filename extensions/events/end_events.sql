/*
 * twtasks_internal.list_ends(ended)
 *
 *		Lists the objects of heads that end, so that start_events() goes on with them.
 *		The entry says which head is DONE: the history may lack it.
 *
 * Errors
 *		40001			another session has locked a table for long; the end is repeated
 *
 * Writes		twtasks.objects_with_events
 */
CREATE FUNCTION twtasks_internal.list_ends(ended twtasks.ended_task[])
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	INSERT INTO twtasks.objects_with_events (stream, object, done)
	SELECT o.stream, o.object, CASE WHEN e.status = 'DONE' THEN e.id END
	FROM unnest(ended) e JOIN twtasks.event_object o ON o.head = e.id
	WHERE e.status <> 'ERROR';
EXCEPTION WHEN lock_not_available OR query_canceled THEN
	RAISE EXCEPTION 'the objects of heads that end could not be listed'
		USING ERRCODE = 'serialization_failure', DETAIL = SQLERRM,
			HINT = 'End the tasks again.';
END $$;

/*
 * twtasks_internal.end_events(ended)
 *
 *		Notes that heads have ended, and starts the next heads of their objects, in
 *		the transaction that ends them.  on_end of all types of streams.
 *
 *		The end of a task must neither wait long nor fail, or it would need a person.
 *		So if a lock is not free soon, or if twtasks.function_timeout is over, the
 *		objects are listed, and start_events() goes on with them.
 *
 *		A head in ERROR still blocks its object.  If a person fails or cancels the
 *		head, the next event says with "skipped" what may never have arrived.
 *
 * Errors
 *		40001			as list_ends()
 *
 * Writes		twtasks.event_object, twtasks.event, twtasks.task,
 *				twtasks.objects_with_events
 * Locks		rows of objects, in the order of their names
 * Wakes		after commit one sidecar per bucket
 */
CREATE FUNCTION twtasks_internal.end_events(ended twtasks.ended_task[])
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off
SET plan_cache_mode = force_generic_plan
SET lock_timeout = '200ms'
AS $$
DECLARE
	freed record;
BEGIN
	-- First all heads together.  If one of their objects is at fault, then one by one.
	FOR attempt IN 1 .. 2 LOOP
		BEGIN
			SELECT array_agg(o.stream) AS streams, array_agg(o.object) AS objects, array_agg(o.done) AS done
			INTO freed FROM (
				SELECT k.stream, k.object, k.done
				FROM (SELECT f.stream, f.object, e.id, e.status = 'DONE' AS done
					  FROM unnest(ended) e
					  CROSS JOIN LATERAL (
						SELECT n.stream, n.object FROM twtasks.event_object n WHERE n.head = e.id OFFSET 0) f
					  WHERE e.status <> 'ERROR' ORDER BY f.stream, f.object) k
				CROSS JOIN LATERAL (
					SELECT FROM twtasks.event_object n
					WHERE n.stream = k.stream AND n.object = k.object AND n.head = k.id FOR UPDATE) l) o;
			-- The subtransaction that locks a row also changes it: else each row takes a MultiXact.
			IF freed.streams IS NOT NULL AND attempt = 1 THEN
				PERFORM twtasks_internal.give_events(freed.streams, freed.objects, freed.done);
			ELSIF freed.streams IS NOT NULL THEN
				PERFORM twtasks_internal.give_each(freed.streams, freed.objects, freed.done,
					array_fill('at fault, or one of the others'::text, ARRAY[cardinality(freed.objects)]));
			END IF;
			RETURN;
		EXCEPTION
			WHEN lock_not_available OR query_canceled THEN
				PERFORM twtasks_internal.list_ends(ended);
				RETURN;
			WHEN OTHERS OR assert_failure THEN
				IF attempt = 2 THEN
					RAISE;
				END IF;
		END;
	END LOOP;
END $$;
