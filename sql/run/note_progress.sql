/*
 * Reports of handlers about tasks that run.  A finish does not touch them: a report
 * counts only while its task runs in that version, and note_progress() and
 * clean_tasks() delete the others.  Not in dumps.
 */
CREATE TABLE twtasks.task_progress (
	task_id			uuid NOT NULL,				-- The task
	version			bigint NOT NULL,			-- The version of its grab
	at				timestamptz NOT NULL,		-- Time of the report
	percent			integer NOT NULL,			-- 0 to 100
	note			text,						-- In the words of the handler, at most 200 characters
	CONSTRAINT task_progress_pkey PRIMARY KEY (task_id)
);
COMMENT ON TABLE twtasks.task_progress IS 'Reports of handlers about tasks that run; see the view progress';

CREATE VIEW twtasks.progress AS
	SELECT p.task_id AS id, p.percent, p.note, p.at
	FROM twtasks.task_progress p JOIN twtasks.task t ON t.id = p.task_id
	WHERE t.version = p.version AND t.status = 'PROCESSING';
COMMENT ON VIEW twtasks.progress IS 'Progress of running tasks, as their handlers reported it last';

/*
 * twtasks_internal.forget_progress()
 *
 *		Deletes reports of tasks that do not run any more.
 *
 * Returns
 *		the number of reports that are left
 *
 * Writes		twtasks.task_progress
 * Locks		rows; skips those that others have locked
 */
CREATE FUNCTION twtasks_internal.forget_progress()
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	DELETE FROM twtasks.task_progress d
	WHERE d.task_id = ANY (ARRAY(
		SELECT p.task_id FROM twtasks.task_progress p
		WHERE NOT EXISTS (SELECT FROM twtasks.progress r WHERE r.id = p.task_id)
		FOR UPDATE OF p SKIP LOCKED LIMIT 1000));
	RETURN (SELECT count(*) FROM twtasks.task_progress);
END $$;

/*
 * twtasks_internal.note_progress(ids, versions, percents, notes)
 *
 *		Notes how far tasks are.  A report about a task that does not run in that version
 *		is dropped.
 *
 * Parameters
 *		ids, versions	of the tasks, as the grab returned them; each id once
 *		percents		0 to 100
 *		notes			for people, or NULL; longer ones are cut to 200 characters
 *
 * Returns
 *		the number of reports in the database: call again until it is 0, since a finish
 *		deletes none
 *
 * Errors
 *		22023			the arrays differ in length, or have more than 10,000 elements
 *		55P03			another transaction has locked the table for more than a second
 *
 * Writes		twtasks.task_progress
 */
CREATE FUNCTION twtasks_internal.note_progress(
	ids uuid[],
	versions bigint[],
	percents bigint[],
	notes text[])
RETURNS bigint
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '1s'
AS $$
DECLARE
	moment CONSTANT timestamptz := twtasks.clock();
BEGIN
	IF cardinality(ids) > 10000 OR cardinality(versions) <> cardinality(ids)
		OR cardinality(percents) <> cardinality(ids) OR cardinality(notes) <> cardinality(ids) THEN
		RAISE EXCEPTION 'arrays for % reports do not match', cardinality(ids)
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	INSERT INTO twtasks.task_progress AS p (task_id, version, at, percent, note)
	SELECT n.id, n.version, moment, least(greatest(n.percent, 0), 100)::integer, left(n.note, 200)
	FROM unnest(ids, versions, percents, notes) n(id, version, percent, note)
	JOIN twtasks.task t ON t.id = n.id AND t.version = n.version AND t.status = 'PROCESSING'
	ORDER BY n.id
	ON CONFLICT (task_id) DO UPDATE
	SET version = excluded.version, at = excluded.at, percent = excluded.percent, note = excluded.note;
	RETURN twtasks_internal.forget_progress();
END $$;
