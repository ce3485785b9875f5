-- before:
/*
 * twtasks_internal.new_added_task(task_id, version, result)
 *
 *		An answer with these fields.  Users may add attributes to its type, which a statement
 *		that a session has planned before would miss.  So the functions here return arrays.
 */
CREATE FUNCTION twtasks_internal.new_added_task(task_id uuid, version bigint, result text)
RETURNS twtasks.added_task
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	made twtasks.added_task;
BEGIN
	made.task_id := task_id;
	made.version := version;
	made.result := result;
	RETURN made;
END $$;

/*
 * twtasks_internal.add_plain(tasks, role)
 *
 *		Adds tasks that need no other check than is_plain() and are_plain() have made: in one
 *		statement.
 *
 * Returns
 *		in the order given: as add_task()
 */
CREATE FUNCTION twtasks_internal.add_plain(tasks twtasks.new_task[], role text)
RETURNS twtasks.added_task[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	now CONSTANT timestamptz := clock_timestamp();
	added twtasks.added_task[];
BEGIN
	WITH given AS MATERIALIZED (
		SELECT t.ordinality AS n, twtasks_internal.new_id(now + t.ordinality * interval '1 microsecond') AS id, t.type, t.data, t.payload, t.context,
			   coalesce(t.priority, 5) AS priority, t.run_after, coalesce(t.run_after > now, false) AS waits,
			   coalesce(octet_length(t.data::text), 0) + coalesce(octet_length(t.payload), 0) + coalesce(octet_length(t.context::text), 0) AS size
		FROM unnest(tasks) WITH ORDINALITY t),
	stored AS (
		INSERT INTO twtasks.task (id, created, state_time, next_event_time, status, queued, size, priority, added_by, type, data, payload, context)
		SELECT g.id, now, now, CASE WHEN g.waits THEN g.run_after ELSE now + interval '30 minutes' END,
			CASE WHEN g.waits THEN 'WAITING' ELSE 'SUBMITTED' END::twtasks.task_status, NOT g.waits, g.size, g.priority, role,
			g.type, g.data, g.payload, g.context
		FROM given g ORDER BY g.n),
	told AS MATERIALIZED (
		SELECT twtasks_internal.tell('default', CASE WHEN count(*) > 60 THEN 'sweep'
			ELSE string_agg(twtasks_internal.trigger_line(g.id, 0::bigint, g.priority, g.size, g.run_after, g.type), chr(10)) FILTER (WHERE g.n <= 60) END) FROM given g)
	SELECT array_agg(twtasks_internal.new_added_task(g.id, 0::bigint, 'added') ORDER BY g.n) INTO added
	FROM given g WHERE (SELECT count(*) FROM told) > 0;
	RETURN added;
END $$;

/*
 * twtasks_internal.are_plain(tasks)
 *
 *		Whether each of the tasks has a valid type, and nothing that needs a look elsewhere.
 */
CREATE FUNCTION twtasks_internal.are_plain(tasks twtasks.new_task[])
RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT bool_and(num_nonnulls(t.key, t.task_id, t.sub_type, t.bucket, t.expires) = 0
		AND coalesce(t.type ~ '^[A-Za-z0-9_.:|/-]{1,120}$', false) AND coalesce(t.priority BETWEEN 0 AND 9, true)
		AND coalesce(isfinite(t.run_after), true)
		AND coalesce(octet_length(t.data::text), 0) + coalesce(octet_length(t.payload), 0) + coalesce(octet_length(t.context::text), 0) < 1000000)
	FROM unnest(tasks) t
$$;

/*
 * twtasks_internal.add_all(tasks, rules, by_extension)
 *
 *		Adds tasks: checks them all first, then stores them in the order of their keys and
 *		ids, so that two calls with the same keys do not wait for each other.
 *
 * Parameters
 *		rules			a key_rule for each; NULL: kept
 *		by_extension	as for checked()
 *
 * Returns
 *		in the order given: as add_task()
 */
CREATE FUNCTION twtasks_internal.add_all(tasks twtasks.new_task[], rules text[] DEFAULT NULL, by_extension boolean DEFAULT false)
RETURNS twtasks.added_task[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	role CONSTANT text := pg_get_userbyid(twtasks_internal.caller());
	checked twtasks_internal.checked_task[] := '{}';
	results twtasks.added_task[] := '{}';
	place integer;
BEGIN
	IF cardinality(tasks) = 0 THEN
		RETURN '{}';
	ELSIF rules IS NULL AND (SELECT p FROM twtasks_internal.is_plain() p) AND twtasks_internal.are_plain(tasks) THEN
		RETURN twtasks_internal.add_plain(tasks, role);
	END IF;
	FOR i IN array_lower(tasks, 1) .. array_upper(tasks, 1) LOOP
		place := i - array_lower(tasks, 1) + 1;
		IF tasks[i] IS NOT DISTINCT FROM NULL THEN
			RAISE EXCEPTION 'a task must not be null' USING ERRCODE = 'null_value_not_allowed';
		END IF;
		checked[place] := twtasks_internal.checked(tasks[i], coalesce(rules[place], 'kept'), role, by_extension);
	END LOOP;
	FOR place IN
		SELECT c.ordinality FROM unnest(checked) WITH ORDINALITY c ORDER BY c.key COLLATE "C" NULLS LAST, c.task_id NULLS LAST, c.ordinality
	LOOP
		results[place] := twtasks_internal.store_task(checked[place], role);
	END LOOP;
	RETURN results;
END $$;

/*
 * twtasks_internal.task_of(task)
 *
 *		A task that was given as JSON.
 *
 * Errors
 *		22023			it is no object, or has a name that add_task() does not know
 */
CREATE FUNCTION twtasks_internal.task_of(task jsonb)
RETURNS twtasks.new_task
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	stray text := CASE WHEN jsonb_typeof(task) <> 'object' THEN jsonb_typeof(task) END;
BEGIN
	IF stray IS NULL THEN
		SELECT k INTO stray FROM jsonb_object_keys(task) k
		WHERE k <> ALL ('{type,data,sub_type,key,task_id,priority,run_after,bucket,expires,context,payload,key_rule}') LIMIT 1;
	END IF;
	IF stray IS NOT NULL THEN
		RAISE EXCEPTION 'unrecognized name in tasks: "%"', twtasks_internal.shown(stray)
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Each task is an object whose names are parameters of twtasks.add_task().';
	END IF;
	RETURN twtasks.new_task(task ->> 'type', nullif(task -> 'data', 'null'), task ->> 'sub_type', task ->> 'key', (task ->> 'task_id')::uuid,
		(task ->> 'priority')::integer, (task ->> 'run_after')::timestamptz, task ->> 'bucket', (task ->> 'expires')::timestamptz,
		nullif(task -> 'context', 'null'), (task ->> 'payload')::bytea);
END $$;

-- twin: twt_add_tasks LANGUAGE plpgsql SECURITY DEFINER
DECLARE
	added twtasks.added_task;
BEGIN
	FOREACH added IN ARRAY twtasks_internal.add_all(tasks) LOOP
		RETURN NEXT added;
	END LOOP;
END

-- twin: twt_add_given_tasks LANGUAGE plpgsql
DECLARE
	added twtasks.added_task;
BEGIN
	FOREACH added IN ARRAY twtasks_internal.add_all(tasks) LOOP
		RETURN NEXT added;
	END LOOP;
END

-- twin: twt_add_tasks_of_type LANGUAGE plpgsql SECURITY DEFINER
DECLARE
	added twtasks.added_task;
BEGIN
	IF data IS NULL THEN
		RAISE EXCEPTION 'data must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	FOREACH added IN ARRAY twtasks_internal.add_all(ARRAY(
		SELECT twtasks.new_task(add_tasks.type, d.data, NULL, NULL, NULL, add_tasks.priority, add_tasks.run_after, add_tasks.bucket,
			add_tasks.expires, add_tasks.context)
		FROM unnest(add_tasks.data) WITH ORDINALITY d(data, n) ORDER BY d.n)) LOOP
		RETURN NEXT added;
	END LOOP;
END

-- twin: twt_add_tasks_json LANGUAGE plpgsql SECURITY DEFINER
DECLARE
	rules text[];
	added twtasks.added_task;
BEGIN
	IF jsonb_typeof(tasks) <> 'array' THEN
		RAISE EXCEPTION 'tasks must be a JSON array, not %', jsonb_typeof(tasks)
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Write [{"type": "..."}, ...].';
	END IF;
	rules := ARRAY(SELECT t.task ->> 'key_rule' FROM jsonb_array_elements(tasks) WITH ORDINALITY t(task, n) ORDER BY t.n);
	PERFORM twtasks_internal.check_key_rule(r) FROM unnest(rules) r WHERE r IS NOT NULL;
	IF num_nonnulls(VARIADIC rules) = 0 THEN
		rules := NULL;
	END IF;
	FOREACH added IN ARRAY twtasks_internal.add_all(
		ARRAY(SELECT twtasks_internal.task_of(t.task) FROM jsonb_array_elements(tasks) WITH ORDINALITY t(task, n) ORDER BY t.n), rules) LOOP
		RETURN NEXT added;
	END LOOP;
END
