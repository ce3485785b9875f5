/*
 * twtasks_internal.imported_row(id, since)
 *
 *		A task as a row of the live tasks, even if it has ended.
 *
 * Parameters
 *		since		it has not ended before
 *
 * Returns
 *		NULLs: it is not here
 */
CREATE FUNCTION twtasks_internal.imported_row(id uuid, since timestamptz)
RETURNS twtasks.task
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	task twtasks.task;
	ended twtasks.finished_task;
BEGIN
	SELECT t.* INTO task FROM twtasks.task t WHERE t.id = imported_row.id;
	IF FOUND THEN
		RETURN task;
	END IF;
	SELECT f.* INTO ended FROM twtasks.finished_task f WHERE f.id = imported_row.id AND f.state_time >= since;
	task.id := ended.id;
	task.version := ended.version;
	task.state_time := ended.state_time;
	task.created := ended.created;
	task.status := ended.status;
	task.tries := ended.tries;
	task.priority := ended.priority;
	task.type := ended.type;
	task.sub_type := ended.sub_type;
	task.bucket := ended.bucket;
	task.key := ended.key;
	task.error := ended.error;
	task.data := ended.data;
	task.payload := ended.payload;
	task.context := ended.context;
	RETURN task;
END $$;

/*
 * twtasks_internal.digest(task)
 *
 *		A hash of all of a task that an import keeps.
 */
CREATE FUNCTION twtasks_internal.digest(task twtasks.task)
RETURNS bytea
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
AS $$
BEGIN
	RETURN sha256(convert_to(jsonb_build_array(
		task.id, task.version, task.status, task.tries, task.priority, task.type, task.sub_type, task.bucket, task.key, task.error,
		task.state_time, task.created, CASE WHEN task.status IN ('WAITING', 'SUBMITTED', 'ERROR') THEN task.next_event_time END,
		task.data, encode(sha256(task.payload), 'hex'), task.context)::text, 'UTF8'));
END $$;

/*
 * twtasks_internal.is_same_task(wanted, found)
 *
 *		Whether two versions of a task agree in all that no version may change.  The
 *		policy of a type may have cleared the data of a task that is DONE.
 */
CREATE FUNCTION twtasks_internal.is_same_task(wanted twtasks.task, found twtasks.task)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN ROW(found.type, found.sub_type, found.key, found.created, found.context)
		IS NOT DISTINCT FROM ROW(wanted.type, wanted.sub_type, wanted.key, wanted.created, wanted.context)
		AND (ROW(found.data, found.payload) IS NOT DISTINCT FROM ROW(wanted.data, wanted.payload)
			 OR found.status = 'DONE' AND found.data IS NULL AND found.payload IS NULL);
END $$;

/*
 * twtasks.compare_import(tasks, processing)
 *
 *		Compares tasks of TwTasks with what is here.  For twtasks-import.
 *
 * Parameters
 *		tasks, processing	as in import_tasks()
 *
 * Returns
 *		one row per task, in the order given
 *		id
 *		status		the status that it should have here
 *		result		'same', 'moved' (it has a later version here, and is the same task: its
 *					type, sub_type, key, created and context are equal, and its data too,
 *					unless it is DONE without any), 'missing',
 *					'gone' (it is missing, and an import has added it), 'differs', or 'refused' (it does not fit, or another task here
 *					has its key)
 *		source		a hash of the task as it should be
 *		target		a hash of the task as it is here; NULL: it is not here
 *
 * Errors
 *		22004			tasks is NULL
 *		22023			tasks is no array of objects, or processing is not valid
 */
CREATE FUNCTION twtasks.compare_import(
	tasks jsonb, processing text DEFAULT 'error',
	OUT id uuid, OUT status text, OUT result text, OUT source bytea, OUT target bytea)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
-- Else the server plans the look at all days of the history anew for each task.
SET plan_cache_mode = 'force_generic_plan'
AS $$
DECLARE
	given twtasks.imported_task;
	wanted twtasks.task;
	found twtasks.task;
BEGIN
	IF tasks IS NULL THEN
		RAISE EXCEPTION 'tasks must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	PERFORM twtasks_internal.imported_status('DONE', processing);
	FOR given IN SELECT p.* FROM twtasks_internal.imported_tasks(tasks) p LOOP
		id := given.id;
		BEGIN
			wanted := twtasks_internal.read_imported(given, processing);
			found := twtasks_internal.imported_row(given.id, given.state_time);
			status := wanted.status;
			source := twtasks_internal.digest(wanted);
			target := CASE WHEN found.id IS NOT NULL THEN twtasks_internal.digest(found) END;
			result := CASE WHEN target IS NULL THEN 'missing' WHEN target = source THEN 'same'
						   WHEN found.version > wanted.version AND twtasks_internal.is_same_task(wanted, found) THEN 'moved'
						   ELSE 'differs' END;
			IF result = 'missing' AND EXISTS (SELECT FROM twtasks.unique_key k WHERE k.key = wanted.key AND k.task_id <> wanted.id) THEN
				result := 'refused';
			ELSIF result = 'missing' AND EXISTS (SELECT FROM twtasks.imported i WHERE i.id = wanted.id)
				AND wanted.status NOT IN ('DONE', 'FAILED', 'CANCELLED') THEN
				result := 'gone';
			END IF;
		EXCEPTION WHEN data_exception OR program_limit_exceeded OR insufficient_privilege THEN
			result := 'refused';
			SELECT NULL, NULL, NULL INTO status, source, target;
		END;
		RETURN NEXT;
	END LOOP;
END $$;
