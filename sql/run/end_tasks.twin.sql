-- before:
/* One try of a task, and how it ends: src/finish/finish_call.h says what the fields mean. */
CREATE TYPE twtasks_internal.try AS (
	number		integer,				-- its place in the arguments
	id			uuid,
	version		bigint,
	"grab"		bigint,					-- NULL: any
	result		text,					-- as in finish_tasks(), or later, fault or ended
	delay_ms	bigint,
	message		text,
	retry		jsonb,					-- NULL: finish_tasks() does not judge it
	outcome		jsonb,
	adds		jsonb,
	status		twtasks.task_status,	-- if the try is ended, or cancelled on request
	what		text,					-- result of its attempt, if its end does not tell it
	is_locked	boolean,				-- its row
	why			text,					-- if there is a request to cancel: its reason
	facts		jsonb					-- and the task before
);

/* A row of task_attempt that is to be written. */
CREATE TYPE twtasks_internal.attempt AS (
	id			uuid,
	version		bigint,
	try			integer,
	runnable	timestamptz,
	started		timestamptz,
	incarnation	bigint,
	result		text,
	error		text,
	next		timestamptz
);

/* A try that has ended. */
CREATE TYPE twtasks_internal.ended_try AS (
	number		integer,
	id			uuid,
	version		bigint,
	status		twtasks.task_status,
	delay_ms	bigint,
	on_end		text,					-- the function that hears of it; NULL: none
	task		twtasks.ended_task,		-- its argument
	adds		jsonb,					-- tasks to add
	context		jsonb					-- the task's, if there are tasks to add
);

/*
 * twtasks_internal.new_try(...)
 *
 *		A try with these fields, and no request to cancel it.
 */
CREATE FUNCTION twtasks_internal.new_try(
	number bigint, id uuid, version bigint, "grab" bigint, result text, delay_ms bigint, message text, retry jsonb, outcome jsonb, adds jsonb,
	status twtasks.task_status, what text, is_locked boolean)
RETURNS twtasks_internal.try
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
	made twtasks_internal.try;
BEGIN
	made.number := number;
	made.id := id;
	made.version := version;
	made."grab" := "grab";
	made.result := result;
	made.delay_ms := delay_ms;
	made.message := message;
	made.retry := retry;
	made.outcome := outcome;
	made.adds := adds;
	made.status := status;
	made.what := what;
	made.is_locked := is_locked;
	RETURN made;
END $$;

/*
 * twtasks_internal.new_ended_try(...)
 *
 *		A try that has ended, with these fields.
 */
CREATE FUNCTION twtasks_internal.new_ended_try(
	number integer, id uuid, version bigint, status twtasks.task_status, delay_ms bigint, on_end text, task twtasks.ended_task, adds jsonb,
	context jsonb)
RETURNS twtasks_internal.ended_try
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
	made twtasks_internal.ended_try;
BEGIN
	made.number := number;
	made.id := id;
	made.version := version;
	made.status := status;
	made.delay_ms := delay_ms;
	made.on_end := on_end;
	made.task := task;
	made.adds := adds;
	made.context := context;
	RETURN made;
END $$;

/*
 * twtasks_internal.require(name, is_null)
 *
 *		Raises an error for an argument that is NULL.
 */
CREATE FUNCTION twtasks_internal.require(name text, is_null boolean)
RETURNS void
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF is_null THEN
		RAISE EXCEPTION '% must not be null', name USING ERRCODE = 'null_value_not_allowed';
	END IF;
END $$;

/*
 * twtasks_internal.tries_by_hand(ids, statuses, reasons, has_attempts)
 *
 *		The tries of end_tasks() and end_now().
 *
 * Parameters
 *		has_attempts	whether a status may have the result of its attempt behind a space
 */
CREATE FUNCTION twtasks_internal.tries_by_hand(ids uuid[], statuses text[], reasons text[], has_attempts boolean)
RETURNS twtasks_internal.try[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	n CONSTANT integer := cardinality(ids);
BEGIN
	PERFORM twtasks_internal.require('ids', ids IS NULL);
	PERFORM twtasks_internal.require('statuses', statuses IS NULL);
	statuses := twtasks_internal.spread(statuses, n);
	PERFORM twtasks_internal.require('reasons', reasons IS NULL);
	reasons := twtasks_internal.spread(reasons, n);
	RETURN ARRAY(
		SELECT twtasks_internal.new_try(u.n, u.id, NULL, NULL,
				   CASE s.status WHEN 'ERROR' THEN 'fault' WHEN 'DONE' THEN CASE WHEN has_attempts THEN 'done' ELSE 'ended' END ELSE 'ended' END,
				   NULL, u.reason, NULL, NULL, NULL, s.status::twtasks.task_status,
				   substr(u.status, nullif(strpos(u.status, ' '), 0) + 1), true)
		FROM unnest(ids, statuses, reasons) WITH ORDINALITY u(id, status, reason, n)
		CROSS JOIN LATERAL split_part(u.status, ' ', 1) s(status)
		WHERE u.id IS NOT NULL AND u.status IS NOT NULL ORDER BY u.n);
END $$;

-- twin: twt_end_now LANGUAGE plpgsql
BEGIN
	PERFORM twtasks_internal.end_tries(twtasks_internal.tries_by_hand(ids, statuses::text[], reasons, false), NULL, NULL, true, false);
END

-- twin: twt_end_tasks LANGUAGE plpgsql
BEGIN
	RETURN QUERY SELECT e.id, e.version, e.status
	FROM twtasks_internal.run_ends(twtasks_internal.tries_by_hand(ids, statuses, reasons, true), NULL, NULL, true, false) e;
END
