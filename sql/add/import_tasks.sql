/* A task of TwTasks, the original in Java, as twtasks-import has read it. */
CREATE TYPE twtasks.imported_task AS (
	id				uuid,
	type			text,
	sub_type		text,
	key				text,
	status			text,
	version			bigint,
	tries			bigint,
	priority		bigint,
	next_event_time	timestamptz,
	state_time		timestamptz,
	created			timestamptz,
	node			text,
	payload			bytea,
	is_json			boolean,
	context			bytea
);

CREATE TABLE twtasks.import (
	name		text NOT NULL,			-- Name of the import: --name of twtasks-import
	started		timestamptz NOT NULL,	-- Time of its first run
	started_by	text NOT NULL,			-- The role that logged in for it
	begun		timestamptz NOT NULL,	-- Time of its last run
	verified	timestamptz,			-- Time at which the last run began that found all of its tasks equal; the import adds no older task that could run; NULL: none
	CONSTRAINT import_pkey PRIMARY KEY (name)
);
COMMENT ON TABLE twtasks.import IS 'Imports of tasks from TwTasks, by twtasks-import';
SELECT pg_catalog.pg_extension_config_dump('twtasks.import', '');

/*
 * Without this table a repeated import would add tasks again that have been
 * done and deleted since.
 */
CREATE TABLE twtasks.imported (
	id			uuid NOT NULL,			-- Id of a task that could run when an import added it, or found it here
	CONSTRAINT imported_pkey PRIMARY KEY (id)
);
COMMENT ON TABLE twtasks.imported IS 'Tasks that no import adds again, even if they are gone';
SELECT pg_catalog.pg_extension_config_dump('twtasks.imported', '');

/*
 * twtasks_internal.check_task(task)
 *
 *		Checks a task of another system as add_task() does, and fills in the bucket
 *		of its policy.  No function of a policy sees it, its type may be unknown, and
 *		it never expires.
 *
 * Returns
 *		the task
 *
 * Errors
 *		as add_task()
 */
CREATE FUNCTION twtasks_internal.check_task(task twtasks.new_task)
RETURNS twtasks.new_task
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_check_task';

/*
 * twtasks_internal.imported_context(context)
 *
 *		The context of a task without the envelope of the original.
 *
 * Errors
 *		22023			it has another envelope
 */
CREATE FUNCTION twtasks_internal.imported_context(context bytea)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	envelope CONSTANT jsonb := convert_from(context, 'UTF8')::jsonb;
BEGIN
	IF envelope = 'null' THEN
		RETURN NULL;
	ELSIF jsonb_typeof(envelope) <> 'object' OR envelope - 'contextMap' <> '{}'
		OR jsonb_typeof(envelope -> 'contextMap') NOT IN ('object', 'null') THEN
		RAISE EXCEPTION 'the context is not an object with contextMap alone' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	RETURN nullif(envelope -> 'contextMap', 'null');
END $$;

/*
 * twtasks_internal.imported_status(status, processing)
 *
 *		The status that a task of the original gets here.
 *
 * Parameters
 *		processing		what becomes of tasks that were PROCESSING: 'error' or 'retry'
 *
 * Errors
 *		22023			there is no such status, or no such word for processing
 */
CREATE FUNCTION twtasks_internal.imported_status(status text, processing text)
RETURNS twtasks.task_status
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF processing IS NULL OR processing NOT IN ('error', 'retry') THEN
		RAISE EXCEPTION 'unrecognized word for tasks that were PROCESSING: "%"', processing
			USING ERRCODE = 'invalid_parameter_value', HINT = 'Use error or retry.';
	ELSIF status IS NULL OR status NOT IN ('NEW', 'WAITING', 'SUBMITTED', 'PROCESSING', 'ERROR', 'DONE', 'FAILED', 'CANCELLED') THEN
		RAISE EXCEPTION 'unrecognized task status: "%"', status USING ERRCODE = 'invalid_parameter_value';
	END IF;
	RETURN CASE status WHEN 'NEW' THEN 'SUBMITTED'
		WHEN 'PROCESSING' THEN CASE processing WHEN 'retry' THEN 'SUBMITTED' ELSE 'ERROR' END
		ELSE status END;
END $$;

/*
 * twtasks_internal.read_imported(given, processing)
 *
 *		The row that a task of the original gets; one that has ended goes to the
 *		history.
 *
 *		The error of a task that was PROCESSING begins as the stuck rule writes it, so
 *		twtasks.unknown_outcomes shows the task.
 *
 * Errors
 *		as check_task(); 22023 for figures and times that do not fit, errors of casts
 *		for data and context
 */
CREATE FUNCTION twtasks_internal.read_imported(given twtasks.imported_task, processing text)
RETURNS twtasks.task
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	task twtasks.task;
	checked twtasks.new_task;
BEGIN
	IF (given.version BETWEEN 0 AND 9223372036853775807 AND given.tries BETWEEN 0 AND 2147483647 AND isfinite(given.next_event_time)
		AND isfinite(given.state_time) AND isfinite(given.created) AND given.priority IS NOT NULL AND given.id IS NOT NULL) IS NOT TRUE THEN
		RAISE EXCEPTION 'version, tries, priority or a time of the task is not valid' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	task.status := twtasks_internal.imported_status(given.status, processing);
	IF given.is_json THEN
		task.data := convert_from(given.payload, 'UTF8')::jsonb;
	ELSE
		task.payload := given.payload;
	END IF;
	checked := twtasks_internal.check_task(twtasks.new_task(
		given.type, task.data, given.sub_type, given.key, given.id, least(greatest(given.priority, 0), 9)::integer,
		context => twtasks_internal.imported_context(given.context), payload => task.payload));
	task.id := given.id;
	task.version := given.version;
	task.next_event_time := CASE WHEN task.status = 'ERROR' THEN 'infinity' ELSE given.next_event_time END;
	task.state_time := given.state_time;
	task.created := given.created;
	task.stuck := 'error';
	task.tries := given.tries;
	task.priority := checked.priority;
	task.queued := task.status = 'SUBMITTED';
	task.type := given.type;
	task.bucket := checked.bucket;
	task.sub_type := given.sub_type;
	task.key := given.key;
	task.context := checked.context;
	task.error := CASE WHEN task.status <> 'ERROR' THEN NULL
		WHEN given.status = 'ERROR' THEN 'it was in ERROR when it was imported'
		ELSE format('the node that ran it is gone: node "%s" of TwTasks ran it when it was imported', given.node) END;
	task.size := coalesce(octet_length(task.data::text), 0) + coalesce(octet_length(task.payload), 0)
		+ coalesce(octet_length(task.context::text), 0);
	RETURN task;
END $$;

/*
 * twtasks_internal.store_imported(task)
 *
 *		Stores a task of the original.  Its id is claimed even if it has no key, since
 *		the original also lets callers give ids.
 *
 * Writes		twtasks.task, twtasks.finished_task, twtasks.unique_key
 * Wakes		a sidecar of the bucket
 */
CREATE FUNCTION twtasks_internal.store_imported(task twtasks.task)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	INSERT INTO twtasks.unique_key (task_id, key) VALUES (task.id, task.key);
	IF task.status IN ('DONE', 'FAILED', 'CANCELLED') THEN
		INSERT INTO twtasks.finished_task
			(id, version, state_time, created, status, tries, priority, type, sub_type, bucket, key, data, payload, context, added_by)
		VALUES (task.id, task.version, task.state_time, task.created, task.status, task.tries, task.priority, task.type,
				task.sub_type, task.bucket, task.key, task.data, task.payload, task.context, twtasks_internal.actor());
		RETURN;
	END IF;
	INSERT INTO twtasks.task
		(id, version, next_event_time, state_time, created, status, stuck, tries, size, priority, queued, type, bucket,
		 sub_type, key, error, data, payload, context, added_by)
	VALUES (task.id, task.version, task.next_event_time, task.state_time, task.created, task.status, task.stuck, task.tries,
			task.size, task.priority, task.queued, task.type, task.bucket, task.sub_type, task.key, task.error,
			task.data, task.payload, task.context, twtasks_internal.actor());
	IF task.status IN ('WAITING', 'SUBMITTED') THEN
		PERFORM twtasks_internal.queue_trigger(task.id, task.version, task.bucket, task.type, task.priority, task.size,
			CASE task.status WHEN 'WAITING' THEN task.next_event_time END);
	END IF;
END $$;

/*
 * twtasks_internal.import_task(given, processing, verified, dry_run)
 *
 *		Stores a task of the original, unless it is here, was here, or does not fit.
 *
 * Parameters
 *		verified		as in twtasks.import
 *
 * Returns
 *		as import_tasks()
 *
 * Writes		as store_imported(); twtasks.imported
 */
CREATE FUNCTION twtasks_internal.import_task(
	given twtasks.imported_task, processing text, verified timestamptz, dry_run boolean,
	OUT status text, OUT result text, OUT reason text)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	task twtasks.task;
	claim twtasks.unique_key;
	detail text;
	may_run boolean;
BEGIN
	-- No write is in this block, so its subtransaction gets no number.
	BEGIN
		task := twtasks_internal.read_imported(given, processing);
		status := task.status;
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS reason = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
		reason := reason || coalesce(': ' || nullif(detail, ''), '');
		result := 'refused';
		RETURN;
	END;
	may_run := task.status NOT IN ('DONE', 'FAILED', 'CANCELLED');
	SELECT k.* INTO claim FROM twtasks.unique_key k WHERE k.task_id = task.id OR k.key = task.key
	ORDER BY k.task_id = task.id DESC LIMIT 1;
	IF NOT FOUND THEN
		-- History that is added again does not run.
		result := CASE WHEN may_run AND (task.created <= verified OR EXISTS (SELECT FROM twtasks.imported i WHERE i.id = task.id))
			THEN 'gone' ELSE 'added' END;
		IF result = 'added' AND NOT dry_run THEN
			PERFORM twtasks_internal.store_imported(task);
			INSERT INTO twtasks.imported (id) SELECT task.id WHERE may_run;
		END IF;
	ELSIF claim.task_id <> task.id THEN
		result := 'refused';
		reason := format('its key "%s" belongs to task %s here', task.key, claim.task_id);
	ELSIF claim.key IS DISTINCT FROM task.key THEN
		result := 'refused';
		reason := format('its id belongs to a task with key "%s" here', claim.key);
	ELSE
		result := 'present';
		IF may_run AND NOT dry_run THEN
			INSERT INTO twtasks.imported (id) VALUES (task.id) ON CONFLICT ON CONSTRAINT imported_pkey DO NOTHING;
		END IF;
	END IF;
END $$;

/*
 * twtasks.begin_import(name, days)
 *
 *		Begins an import of tasks from TwTasks, or goes on with it, and makes the
 *		partitions of the history that it needs.  For twtasks-import.
 *
 *		Only superusers and members of twtasks_owner may call the functions of
 *		imports, unless they grant them to others.
 *
 * Parameters
 *		name		of the import
 *		days		how many days of ended tasks are imported
 *
 * Returns
 *		whether an earlier run has found all of its tasks equal.  From then on an older
 *		task that is not here may have been done and deleted, and is not added again
 *
 * Errors
 *		22004			name is NULL
 *		22023			name is empty, or days is negative or more than the setting
 *						twtasks.keep_finished
 *		55P03			others hold locks on the history: call again
 *
 * Writes		twtasks.import
 * Locks		twtasks.finished_task exclusively, if a partition is made
 */
CREATE FUNCTION twtasks.begin_import(name text, days integer)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '1s'
SET timezone = 'UTC'
AS $$
DECLARE
	today CONSTANT date := clock_timestamp()::date;
	keep CONSTANT interval := twtasks_internal.keep_finished();
BEGIN
	IF name IS NULL OR days IS NULL THEN
		RAISE EXCEPTION 'name and days must not be null' USING ERRCODE = 'null_value_not_allowed';
	ELSIF name = '' THEN
		RAISE EXCEPTION 'invalid name of an import: ""' USING ERRCODE = 'invalid_parameter_value';
	ELSIF days < 0 OR days > extract(epoch FROM keep) / 86400 THEN
		RAISE EXCEPTION 'cannot import % days of history', days
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('Finished tasks are kept for %s: the setting twtasks.keep_finished.', keep);
	END IF;
	INSERT INTO twtasks.import (name, started, started_by, begun)
	VALUES (begin_import.name, clock_timestamp(), twtasks_internal.actor(), clock_timestamp())
	ON CONFLICT ON CONSTRAINT import_pkey DO UPDATE SET begun = excluded.begun;
	PERFORM twtasks_internal.make_days(ARRAY(SELECT today - n FROM generate_series(days, 0, -1) n));
	RETURN (SELECT i.verified IS NOT NULL FROM twtasks.import i WHERE i.name = begin_import.name);
END $$;

/*
 * twtasks_internal.imported_tasks(tasks)
 *
 *		The tasks of an array of objects, in its order.
 *
 * Errors
 *		22023			it is no array, or an element is no object
 */
CREATE FUNCTION twtasks_internal.imported_tasks(tasks jsonb)
RETURNS SETOF twtasks.imported_task
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	kind text := jsonb_typeof(tasks);
	place bigint;
BEGIN
	IF kind <> 'array' THEN
		RAISE EXCEPTION 'tasks must be an array of objects, not %', kind USING ERRCODE = 'invalid_parameter_value';
	END IF;
	SELECT e.place, jsonb_typeof(e.task) INTO place, kind
	FROM jsonb_array_elements(tasks) WITH ORDINALITY e(task, place) WHERE jsonb_typeof(e.task) <> 'object' LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'element % of tasks must be an object, not %', place, kind USING ERRCODE = 'invalid_parameter_value';
	END IF;
	RETURN QUERY SELECT p.* FROM jsonb_populate_recordset(NULL::twtasks.imported_task, tasks) p;
END $$;

/*
 * twtasks.import_tasks(name, tasks, processing, dry_run)
 *
 *		Stores tasks of TwTasks with their ids, keys, versions, tries and times.  A
 *		task that is here already stays as it is, so a repeated call does no harm.
 *		For twtasks-import; the caller commits.
 *
 *		Triggers are queued as by add_tasks().  Policies of a type give the bucket
 *		alone; no task gets a time to expire.
 *
 * Parameters
 *		name		as begin_import() had it
 *		tasks		an array of objects with the attributes of twtasks.imported_task
 *		processing	what becomes of tasks that were PROCESSING: 'error' puts them into
 *					twtasks.unknown_outcomes, 'retry' lets them run again
 *		dry_run		stores nothing
 *
 * Returns
 *		one row per task, in the order given
 *		id
 *		status		its status here
 *		result		'added', 'present' (it is here), 'refused' (it does not fit), or
 *					'gone' (it may have run here: an import has added it, or this
 *					import was found complete after it was created)
 *		reason		why it was refused
 *
 * Errors
 *		22004		name or tasks is NULL
 *		22023		tasks is no array of objects, or processing is not valid
 *		23505		another session adds one of the tasks now
 *		55000		the import was not begun
 *
 * Writes		twtasks.task, twtasks.finished_task, twtasks.unique_key,
 *				twtasks.imported
 * Locks		row locks only
 * Wakes		after commit one sidecar per bucket, or a sweep
 */
CREATE FUNCTION twtasks.import_tasks(
	name text, tasks jsonb, processing text DEFAULT 'error', dry_run boolean DEFAULT false,
	OUT id uuid, OUT status text, OUT result text, OUT reason text)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
AS $$
DECLARE
	given twtasks.imported_task;
	verified timestamptz;
BEGIN
	IF name IS NULL OR tasks IS NULL THEN
		RAISE EXCEPTION 'name and tasks must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	PERFORM twtasks_internal.imported_status('DONE', processing);
	SELECT i.verified INTO verified FROM twtasks.import i WHERE i.name = import_tasks.name;
	IF NOT FOUND AND dry_run IS NOT TRUE THEN
		RAISE EXCEPTION 'import "%" was not begun', name
			USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Call twtasks.begin_import() first.';
	END IF;
	FOR given IN SELECT p.* FROM twtasks_internal.imported_tasks(tasks) p LOOP
		id := given.id;
		SELECT i.status, i.result, i.reason INTO status, result, reason
		FROM twtasks_internal.import_task(given, processing, verified, coalesce(dry_run, false)) i;
		RETURN NEXT;
	END LOOP;
END $$;

/*
 * twtasks.end_import(name)
 *
 *		Notes that all tasks of an import were found equal.  For twtasks-import.
 *
 * Errors
 *		55000			the import was not begun
 *
 * Writes		twtasks.import
 */
CREATE FUNCTION twtasks.end_import(name text)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	UPDATE twtasks.import i SET verified = i.begun WHERE i.name = end_import.name;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'import "%" was not begun', name USING ERRCODE = 'object_not_in_prerequisite_state';
	END IF;
END $$;
