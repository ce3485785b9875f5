/* Changes of tables, types and signatures since 1.0: see CONTRIBUTING.md. */

/* Sources called 1.0 before its release had these declarations. */
DROP FUNCTION IF EXISTS twtasks.finish_task(uuid, bigint, text, text, interval, jsonb);
DROP FUNCTION IF EXISTS twtasks_internal.finish_tasks(
	uuid[], bigint[], text[], bigint[], text[], bigint, bigint, bigint[], tid[], jsonb[], boolean, boolean, jsonb[]);

/* The library does this now. */
DROP FUNCTION twtasks_internal.finish_others(
	uuid[], bigint[], text[], bigint[], text[], bigint, bigint, bigint[]);
DROP FUNCTION twtasks_internal.queued_types(text);
DROP FUNCTION twtasks_internal.honour_cancels(uuid[], bigint[], text[]);
DROP FUNCTION twtasks_internal.finish_cancelled(uuid[], bigint[], text[], bigint[], bigint, bigint);
DROP FUNCTION twtasks_internal.end_now(uuid[], twtasks.task_status[], text[]);
DROP FUNCTION twtasks_internal.ended_live(twtasks.task);
DROP FUNCTION twtasks_internal.ended_final(twtasks.finished_task);
DROP FUNCTION twtasks_internal.asks_on_end(text);

/*
 * Without preload a session keeps the library that it has loaded, and the library
 * of 1.0 cannot run this SQL.  Sidecars open new sessions when theirs are ended,
 * and ask for the outcome of what was under way.  Other sessions may be at work
 * that is lost then, so an administrator decides.
 */
DO $$
DECLARE
	installed CONSTANT timestamptz := (
		SELECT f.change OPERATOR(pg_catalog.+) '1s'::pg_catalog.interval FROM pg_catalog.pg_config c
		CROSS JOIN LATERAL pg_catalog.pg_stat_file(pg_catalog.concat(c.setting, '/twtasks.so'), true) f
		WHERE c.name OPERATOR(pg_catalog.=) 'PKGLIBDIR');
	others text;
BEGIN
	IF pg_catalog.current_setting('shared_preload_libraries') OPERATOR(pg_catalog.~) 'twtasks' THEN
		RETURN;
	END IF;
	PERFORM pg_catalog.pg_terminate_backend(a.pid)
	FROM pg_catalog.pg_stat_activity a
	WHERE a.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()
	  AND a.backend_start OPERATOR(pg_catalog.<) installed
	  AND a.application_name OPERATOR(pg_catalog.~~) 'twtasksd %';
	SELECT pg_catalog.string_agg(a.pid::text, ', ') INTO others
	FROM pg_catalog.pg_stat_activity a
	WHERE a.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()
	  AND a.backend_start OPERATOR(pg_catalog.<) installed
	  AND a.backend_type OPERATOR(pg_catalog.=) 'client backend'
	  AND a.pid OPERATOR(pg_catalog.<>) pg_catalog.pg_backend_pid()
	  AND a.application_name OPERATOR(pg_catalog.!~~) 'twtasksd %';
	IF others IS NOT NULL THEN
		RAISE WARNING 'sessions may have an older library of twtasks in memory'
			USING DETAIL = pg_catalog.format('They began before the library was installed, and cannot call twtasks any more if they did before: %s.', others),
				HINT = 'Let them connect anew, or end them by pg_terminate_backend().';
	END IF;
END $$;

ALTER TABLE twtasks.message_offset
	ADD COLUMN topic_id text COLLATE "C",
	ADD COLUMN problem text,
	ADD COLUMN problem_since timestamptz,
	ADD COLUMN log_first bigint;

ALTER TABLE twtasks.unique_key ADD COLUMN put_version bigint;

ALTER TABLE twtasks.node ADD COLUMN boot_time timestamptz, ADD COLUMN notes_flow boolean NOT NULL DEFAULT false;
DROP FUNCTION twtasks_internal.living_nodes();

/* A person behind twtasks-web.  The build replaces the function. */
CREATE FUNCTION twtasks_internal.on_behalf_of() RETURNS text LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp AS 'SELECT NULL::text';

/* Before the history, as a finish locks them. */
ALTER TABLE twtasks.cancel_request ADD COLUMN on_behalf_of text;
ALTER TABLE twtasks.cancel_request ALTER COLUMN on_behalf_of SET DEFAULT twtasks_internal.on_behalf_of();

/*
 * Partitions do not belong to the extension: see begin_history().  An administrator
 * may have taken the default one out of it already, for pg_dump, and have dropped it.
 */
DO $$
DECLARE
	part CONSTANT regclass := (SELECT nullif(p.partdefid, 0::oid) FROM pg_catalog.pg_partitioned_table p
							   WHERE p.partrelid OPERATOR(pg_catalog.=) 'twtasks.finished_task'::regclass);
BEGIN
	IF part IS DISTINCT FROM pg_catalog.to_regclass('twtasks.finished_task_default') THEN
		RAISE EXCEPTION 'twtasks.finished_task_default is not the default partition of the history'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = pg_catalog.format('The default partition is %s.', coalesce(part::text, 'missing')),
				HINT = 'Attach the table again, or rename it and detach the other default partition; then update again.';
	ELSIF part IS NULL THEN
		RETURN;
	END IF;
	IF EXISTS (SELECT FROM pg_catalog.pg_depend d
			   WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::regclass
				 AND d.objid OPERATOR(pg_catalog.=) part AND d.deptype OPERATOR(pg_catalog.=) 'e') THEN
		ALTER EXTENSION twtasks DROP TABLE twtasks.finished_task_default;
	END IF;
	ALTER TABLE twtasks.finished_task_default RENAME TO finished_task_other;
	ALTER INDEX IF EXISTS twtasks.finished_task_default_id RENAME TO finished_task_other_id;
END $$;

ALTER TABLE twtasks.finished_task ADD COLUMN started timestamptz, ADD COLUMN outcome jsonb;

/* As in make_partition().  Targets that somebody has set stay, and a whole's are for its partitions to come. */
DO $$
DECLARE
	change text;
BEGIN
	FOR change IN
		SELECT pg_catalog.format('ALTER TABLE %s ', a.attrelid::pg_catalog.regclass)
			OPERATOR(pg_catalog.||) pg_catalog.string_agg(pg_catalog.format('ALTER COLUMN %I SET STATISTICS 10', a.attname), ', ')
		FROM pg_catalog.pg_attribute a
		WHERE a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped AND COALESCE(a.attstattarget, -1) OPERATOR(pg_catalog.<) 0
		  AND (a.attrelid OPERATOR(pg_catalog.=) 'twtasks.unique_key'::pg_catalog.regclass OR EXISTS (
			SELECT FROM pg_catalog.pg_inherits i
			WHERE i.inhrelid OPERATOR(pg_catalog.=) a.attrelid
			  AND i.inhparent OPERATOR(pg_catalog.=) 'twtasks.finished_task'::pg_catalog.regclass))
		GROUP BY a.attrelid
	LOOP
		EXECUTE change;
	END LOOP;
END $$;

/* Tables of the type get the attribute, too. */
ALTER TYPE twtasks.ended_task ADD ATTRIBUTE started timestamptz CASCADE;

/* The row stays: by its age twtasks-web knows that nobody counts any more. */
ALTER TABLE twtasks.monitor_look ADD COLUMN retrying bigint NOT NULL DEFAULT 0, ADD COLUMN dropped_since timestamptz, ADD COLUMN counted_since timestamptz;
ALTER TABLE twtasks.monitor_look ALTER COLUMN retrying DROP DEFAULT;

/* Since when a task could run. */
DROP FUNCTION twtasks_internal.grab_tasks(
	uuid[], bigint[], bigint, bigint, bigint[], twtasks.stuck_rule[], text[], text[], boolean, tid[]);
DROP FUNCTION twtasks_internal.execute_tasks(
	text, name, uuid[], bigint[], bigint, bigint, bigint[], twtasks.stuck_rule[], text[], text[], jsonb, tid[], boolean);

/* An address by which sidecars reach the database. */
DROP FUNCTION twtasks.adopt(text, boolean, text);

/* More filters. */
DROP FUNCTION twtasks.change_tasks(
	text, text, text, text, text, twtasks.task_status[], text, timestamptz, timestamptz, boolean, integer, timestamptz, boolean);
DROP FUNCTION twtasks_internal.find_tasks(
	text, text, text, twtasks.task_status[], text, timestamptz, timestamptz, boolean, integer);
DROP FUNCTION twtasks_internal.check_filter(text, text, twtasks.task_status[], timestamptz, integer);

/* A priority by hand. */
DROP FUNCTION twtasks_internal.change_task(text, uuid, bigint, timestamptz, text);

/* A bound of groups. */
DROP FUNCTION twtasks_internal.count_queued(integer, timestamptz);

/* The audits name the person, too. */
ALTER TABLE twtasks.audit ADD COLUMN on_behalf_of text;
ALTER TABLE twtasks.audit ALTER COLUMN on_behalf_of SET DEFAULT twtasks_internal.on_behalf_of();
ALTER TABLE twtasks.policy_audit ADD COLUMN on_behalf_of text;
ALTER TABLE twtasks.policy_audit ALTER COLUMN on_behalf_of SET DEFAULT twtasks_internal.on_behalf_of();
ALTER TABLE twtasks.policy_audit ADD COLUMN reason text;
ALTER TABLE twtasks.schedule_audit ADD COLUMN on_behalf_of text;
ALTER TABLE twtasks.schedule_audit ALTER COLUMN on_behalf_of SET DEFAULT twtasks_internal.on_behalf_of();
