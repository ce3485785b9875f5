/*
 * Grabs that hold slots of cluster-wide limits.
 *
 * A slot is a task that is PROCESSING with the version that its grab gave it,
 * under an incarnation that has not ended.  A grab drops all other entries
 * when it needs the room.  So nobody gives a slot back: it ends together with
 * its grab, by finish, by the stuck rule or by a crash.
 *
 * A grab adds its tasks in its own transaction.  It locks the row without
 * waiting, and reads in one snapshot the row and the tasks that the row names.
 *
 * A name has two rows.  The one with epoch 0 stands for the name and makes sure
 * that there is only one other.  We find the other one by the highest epoch,
 * which every change raises.  So a change costs the same however many versions
 * of the row an old snapshot keeps.
 */
CREATE TABLE twtasks.slot_use (
	name			text COLLATE "C" NOT NULL,		-- Name of the limit: a pattern, or one key of a pattern
	epoch			bigint NOT NULL,				-- 0: stands for the name; otherwise raised by every change
	used_at			timestamptz NOT NULL,			-- Time of the last change, up to which tokens were counted
	ids				uuid[] NOT NULL DEFAULT '{}',	-- Tasks that were grabbed
	versions		bigint[] NOT NULL DEFAULT '{}',	-- Version that the grab gave each task
	incarnations	bigint[] NOT NULL DEFAULT '{}',	-- Incarnation that grabbed each task
	waiting			bigint[] NOT NULL DEFAULT '{}',	-- Incarnations that were refused, in this order; told when a slot is free
	tokens			double precision,				-- Starts that the rate had left at that time; NULL: all
	CONSTRAINT slot_use_pkey PRIMARY KEY (name, epoch)
) WITH (toast_tuple_target = 8160, autovacuum_vacuum_scale_factor = 0.02,
		autovacuum_vacuum_threshold = 1000);
COMMENT ON TABLE twtasks.slot_use IS 'Grabs that hold, or held, slots of cluster-wide limits';

/*
 * twtasks_internal.live_slots(ids, versions, incarnations)
 *
 *		Counts the grabs that still hold a slot: PROCESSING with that version,
 *		under an incarnation that has not ended.
 *
 * Returns
 *		bigint
 *
 * Locks		none
 */
CREATE FUNCTION twtasks_internal.live_slots(ids uuid[], versions bigint[], incarnations bigint[])
RETURNS bigint
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off
AS $$
	SELECT count(DISTINCT t.id)
	FROM unnest(ids, versions, incarnations) u(id, version, incarnation)
	JOIN twtasks.task t ON t.id = u.id
	JOIN twtasks.node n ON n.incarnation = u.incarnation
	WHERE t.version = u.version AND t.status = 'PROCESSING'
	  AND t.incarnation = u.incarnation AND n.ended IS NULL
$$;

/*
 * twtasks_internal.make_slots(name)
 *
 *		Makes the rows of a limit's name, unless they exist.
 *
 * Writes		twtasks.slot_use
 * Locks		waits for a session that makes or drops them
 */
CREATE FUNCTION twtasks_internal.make_slots(name text)
RETURNS void
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	WITH made AS (
		INSERT INTO twtasks.slot_use (name, epoch, used_at)
		VALUES (make_slots.name, 0, twtasks.clock())
		ON CONFLICT DO NOTHING RETURNING slot_use.name)
	INSERT INTO twtasks.slot_use (name, epoch, used_at)
	SELECT m.name, 1, twtasks.clock() FROM made m
$$;

/*
 * twtasks_internal.count_slots(pattern)
 *
 *		Counts the tasks that run already under a new limit.
 *
 * Writes		twtasks.slot_use
 * Locks		rows.  A grab that has not committed yet is not counted, nor later
 */
CREATE FUNCTION twtasks_internal.count_slots(pattern text)
RETURNS void
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	limited text;
BEGIN
	FOR limited IN
		SELECT DISTINCT twtasks.limit_name(pattern, t.type) AS name
		FROM twtasks.task t
		WHERE t.status = 'PROCESSING' AND t.incarnation IS NOT NULL
		  AND twtasks.limit_name(pattern, t.type) IS NOT NULL
		ORDER BY name
	LOOP
		PERFORM twtasks_internal.make_slots(limited);
		PERFORM FROM twtasks.slot_use u WHERE u.name = limited AND u.epoch > 0 FOR UPDATE;
		UPDATE twtasks.slot_use u
		-- used_at stays: up to then the starts of a rate were counted
		SET epoch = u.epoch + 1,
			ids = r.ids, versions = r.versions, incarnations = r.incarnations
		FROM (SELECT array_agg(t.id ORDER BY t.id) AS ids,
					 array_agg(t.version ORDER BY t.id) AS versions,
					 array_agg(t.incarnation ORDER BY t.id) AS incarnations
			  FROM twtasks.task t
			  WHERE t.status = 'PROCESSING' AND t.incarnation IS NOT NULL
				AND twtasks.limit_name(pattern, t.type) = limited) r
		WHERE u.name = limited AND u.epoch > 0 AND r.ids IS NOT NULL;
	END LOOP;
END $$;

/*
 * twtasks_internal.offer_slots(names, freed, wanted, incarnation)
 *
 *		Offers freed slots of cluster-wide limits to the nodes that were refused,
 *		in the order of their refusals.  Call it when tasks under such a limit
 *		have ended, or were not grabbed after all.  An offer is a hint: the node
 *		that is told asks for the slot like any other.
 *
 * Parameters
 *		names			names of limits, as grab_tasks() returns them
 *		freed			number of slots, for each name
 *		wanted			whether the caller itself waits for a slot, for each name
 *		incarnation		the caller; NULL: a caller that cannot call again
 *
 * Returns
 *		name, turns		how many of the slots are for the caller, for each name; NULL:
 *						another session uses the limit at this moment, call again
 *
 * Errors
 *		22023			the arrays differ in length
 *
 * Writes		twtasks.slot_use.  A crash that undoes it costs time and no slot, so a
 *				caller with nothing else to commit need not wait for the disk
 * Locks		rows, waiting for none
 * Wakes		the nodes whose turn it is: NOTIFY twtasks_slots, with the incarnation,
 *				the number of slots and the name
 */
CREATE FUNCTION twtasks_internal.offer_slots(
	names text[], freed integer[], wanted boolean[], incarnation bigint,
	OUT name text, OUT turns integer)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER ROWS 10
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $$
BEGIN
	IF cardinality(names) <> cardinality(freed) OR cardinality(names) <> cardinality(wanted) THEN
		RAISE EXCEPTION 'arrays must have one length'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	FOR i IN 1 .. cardinality(names) LOOP
		name := names[i];
		turns := twtasks_internal.offer_slot(names[i], freed[i], wanted[i], incarnation);
		RETURN NEXT;
	END LOOP;
END $$;

/*
 * twtasks_internal.offer_slot(name, freed, wanted, incarnation)
 *
 *		offer_slots() for one limit.
 *
 * Returns
 *		turns
 */
CREATE FUNCTION twtasks_internal.offer_slot(name text, freed integer, wanted boolean, incarnation bigint)
RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	held twtasks.slot_use;
	queue bigint[];
	told integer;
	share integer;
	own integer := 0;
	is_busy boolean;
BEGIN
	SELECT u.* INTO held FROM twtasks.slot_use u
	WHERE u.name = offer_slot.name AND u.epoch > 0
	ORDER BY u.epoch DESC LIMIT 1;
	IF held.waiting <@ ARRAY[incarnation] IS NOT FALSE THEN
		RETURN freed;
	END IF;
	PERFORM FROM twtasks.slot_use u WHERE u.name = held.name AND u.epoch = held.epoch
	FOR NO KEY UPDATE SKIP LOCKED;
	is_busy := NOT FOUND;
	IF is_busy AND incarnation IS NOT NULL THEN
		RETURN NULL;
	END IF;

	-- A caller that waits stands where it was refused, or at the end.  A caller
	-- that does not may have a refusal on its way to it, and keeps its place.
	queue := ARRAY(SELECT w.node FROM unnest(held.waiting) WITH ORDINALITY w(node, place)
				   JOIN twtasks.node n ON n.incarnation = w.node
				   WHERE n.ended IS NULL AND (wanted OR w.node IS DISTINCT FROM incarnation)
				   ORDER BY w.place);
	IF wanted AND incarnation <> ALL (queue) THEN
		queue := queue || incarnation;
	END IF;
	told := least(freed, cardinality(queue));
	IF told = 0 THEN
		own := freed;
	END IF;
	FOR i IN 1 .. told LOOP
		share := (freed + cardinality(queue) - i) / cardinality(queue);
		IF queue[i] = incarnation THEN
			own := share;
		ELSE
			PERFORM pg_notify('twtasks_slots', queue[i] || ' ' || share || ' ' || name);
		END IF;
	END LOOP;
	-- The nodes told stay in a busy row, and are told once more.
	IF is_busy THEN
		RETURN own;
	END IF;
	UPDATE twtasks.slot_use u
	SET epoch = u.epoch + 1,
		waiting = CASE WHEN NOT wanted AND incarnation = ANY (held.waiting)
				  THEN incarnation || queue[told + 1 :] ELSE queue[told + 1 :] END
	WHERE u.name = held.name AND u.epoch = held.epoch;
	RETURN own;
END $$;

/*
 * twtasks_internal.offer_types(types)
 *
 *		offer_slots() for tasks of these types that their node did not end.  The
 *		rows stay locked to the end of the transaction, and grabs find them busy,
 *		so call it last.
 *
 * Writes		twtasks.slot_use
 * Locks		rows, waiting for none
 * Wakes		as offer_slots()
 */
CREATE FUNCTION twtasks_internal.offer_types(types text[])
RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT twtasks_internal.offer_slot(f.name, f.freed, false, NULL::bigint)
	FROM (SELECT l.name, count(*)::integer AS freed
		  FROM unnest(types) t(type)
		  CROSS JOIN LATERAL (SELECT DISTINCT twtasks.limit_name(r.pattern, t.type) AS name
							  FROM twtasks.limit_rule r
							  WHERE r.scope = 'cluster' AND r.concurrency IS NOT NULL) l
		  WHERE l.name IS NOT NULL
		  GROUP BY l.name ORDER BY l.name) f
$$;

/*
 * twtasks_internal.clean_slots(unused)
 *
 *		Deletes the rows of cluster-wide limits, mostly of single keys, that were
 *		not used for a while or are not configured any more.
 *
 * Parameters
 *		unused			time without use; a limit with a rate also stays until its
 *						whole burst is allowed again
 *
 * Returns
 *		number of limits deleted
 *
 * Writes		twtasks.slot_use
 * Locks		rows, waiting for none
 */
CREATE FUNCTION twtasks_internal.clean_slots(unused interval DEFAULT '1 hour')
RETURNS bigint
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	cleaned bigint;
BEGIN
	-- Nobody makes a name while its rows go away.
	IF NOT twtasks_internal.try_lock(twtasks_internal.slots_lock()) THEN
		RETURN 0;
	END IF;
	-- Lock a row only if it has not changed since it was found: a grab may hold
	-- slots that this snapshot does not show.
	WITH idle AS MATERIALIZED (
		SELECT u.name, u.epoch
		FROM twtasks.slot_use u
		LEFT JOIN LATERAL (
			SELECT max(coalesce(r.per * (r.burst::double precision / r.rate), '0')) AS rest, count(*) AS rules
			FROM twtasks.limit_rule r
			WHERE r.scope = 'cluster' AND twtasks.limit_name(r.pattern, u.name) = u.name) r ON true
		WHERE u.epoch > 0
		  AND (r.rules = 0
			   OR u.used_at < (SELECT twtasks.clock()) - greatest(unused, r.rest)
			   AND twtasks_internal.live_slots(u.ids, u.versions, u.incarnations) = 0)),
	unchanged AS (
		SELECT u.name, u.epoch
		FROM twtasks.slot_use u JOIN idle i USING (name, epoch)
		FOR UPDATE OF u SKIP LOCKED),
	gone AS (
		DELETE FROM twtasks.slot_use u USING unchanged i
		WHERE u.name = i.name AND u.epoch = i.epoch
		RETURNING u.name),
	forgotten AS (
		DELETE FROM twtasks.slot_use u USING gone g
		WHERE u.name = g.name AND u.epoch = 0
		RETURNING 1)
	SELECT count(*) INTO cleaned FROM forgotten;
	RETURN cleaned;
END $$;

CREATE VIEW twtasks.limits AS
	SELECT r.pattern, r.scope, r.concurrency, r.stretch,
		   CASE WHEN r.stretch OPERATOR(pg_catalog.>) 0 THEN r.stretch_priority END AS stretch_priority,
		   r.rate, r.per, r.burst, u.name, u.used, u.waiting, r.changed_at, r.changed_by
	FROM twtasks.limit_rule r
	LEFT JOIN LATERAL (
		SELECT s.name, pg_catalog.cardinality(s.waiting) AS waiting,
			   (SELECT count(DISTINCT t.id)
				FROM ROWS FROM (pg_catalog.unnest(s.ids), pg_catalog.unnest(s.versions),
								pg_catalog.unnest(s.incarnations)) h(id, version, incarnation)
				JOIN twtasks.task t ON t.id OPERATOR(pg_catalog.=) h.id
				JOIN twtasks.node n ON n.incarnation OPERATOR(pg_catalog.=) h.incarnation
				WHERE t.version OPERATOR(pg_catalog.=) h.version
				  AND t.status OPERATOR(pg_catalog.=) 'PROCESSING'
				  AND t.incarnation OPERATOR(pg_catalog.=) h.incarnation
				  AND n.ended IS NULL) AS used
		FROM twtasks.slot_use s
		WHERE r.scope OPERATOR(pg_catalog.=) 'cluster' AND s.epoch OPERATOR(pg_catalog.>) 0
		  AND twtasks.limit_name(r.pattern, s.name) OPERATOR(pg_catalog.=) s.name
		  AND (pg_catalog.right(r.pattern, 2) OPERATOR(pg_catalog.<>) '|*'
			   OR NOT EXISTS (SELECT FROM twtasks.limit_rule o
							  WHERE o.pattern OPERATOR(pg_catalog.=) s.name
								AND o.scope OPERATOR(pg_catalog.=) r.scope))) u ON true;
COMMENT ON VIEW twtasks.limits IS 'Limits of types, one row for each name that they count in the whole cluster; the counts of node limits are not known here';
