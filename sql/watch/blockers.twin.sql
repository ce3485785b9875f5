-- before:
/*
 * twtasks_internal.queued_type_from(bucket, type)
 *
 *		The first type of which the bucket has tasks in the queue, from that one on; NULL:
 *		there is none.
 */
CREATE FUNCTION twtasks_internal.queued_type_from(bucket text, type text)
RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
	SELECT t.type FROM twtasks.task t
	WHERE t.bucket = queued_type_from.bucket AND t.queued AND t.type >= queued_type_from.type
	ORDER BY t.type LIMIT 1
$$;

-- twin: twt_unfit_types LANGUAGE plpgsql
DECLARE
	-- The beginnings, without those that begin with another one: they have no type in common.
	beginnings text[];
	beginning text;
	kind text;
	wanted bigint := most;
BEGIN
	SELECT coalesce(array_agg(b.b), '{}') INTO beginnings
	FROM (SELECT DISTINCT left(p, -1) AS b FROM unnest(patterns) p WHERE right(p, 1) = '*') b
	WHERE NOT EXISTS (SELECT FROM unnest(patterns) o WHERE right(o, 1) = '*' AND left(o, -1) <> b.b AND b.b ^@ left(o, -1));
	IF '' = ANY (beginnings) THEN
		RETURN;
	END IF;
	kind := twtasks_internal.queued_type_from(bucket, '');
	WHILE kind IS NOT NULL AND wanted > 0 LOOP
		SELECT b INTO beginning FROM unnest(beginnings) b WHERE kind ^@ b;
		IF beginning IS NOT NULL THEN
			-- One step passes over all types that begin so.
			kind := twtasks_internal.queued_type_from(bucket, concat(left(beginning, -1), chr(ascii(right(beginning, 1)) + 1)));
		ELSE
			IF kind <> ALL (array_remove(patterns, NULL)) THEN
				RETURN NEXT kind;
				wanted := wanted - 1;
			END IF;
			kind := twtasks_internal.next_queued_type(bucket, kind);
		END IF;
	END LOOP;
END
