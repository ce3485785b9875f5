--
-- The extension comes and goes: with tasks added in the same transaction, and
-- where others were first with its names.
--
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SELECT current_database() AS home \gset
CREATE DATABASE regress_twtasks_extension;
\c regress_twtasks_extension
SET client_min_messages = warning;

-- Created and used in one transaction.
BEGIN;
CREATE EXTENSION twtasks;
SELECT version, result FROM twtasks.add_task('A');
COMMIT;
SELECT count(*) FROM twtasks.task;

-- Dropped after an add, and that rolled back: all is as it was.
BEGIN;
SELECT version, result FROM twtasks.add_task('B');
DROP EXTENSION twtasks;
ROLLBACK;
SELECT type FROM twtasks.task;
BEGIN;
SELECT version, result FROM twtasks.add_task('B');
DROP EXTENSION twtasks;
SELECT 1 / 0;
COMMIT;
SELECT type FROM twtasks.task;

-- Dropped after an add, and that committed: the server lives on, and so does
-- this session.
BEGIN;
SELECT version, result FROM twtasks.add_task('B');
DROP EXTENSION twtasks;
COMMIT;
SELECT to_regclass('twtasks.task') IS NULL AS gone;

-- Created, used and dropped in one transaction; in a savepoint as well.
BEGIN;
CREATE EXTENSION twtasks;
SELECT version, result FROM twtasks.add_task('C');
DROP EXTENSION twtasks;
COMMIT;
BEGIN;
SAVEPOINT s;
CREATE EXTENSION twtasks;
SELECT version, result FROM twtasks.add_task('C');
ROLLBACK TO s;
COMMIT;
SELECT to_regclass('twtasks.task') IS NULL AS gone;

-- Created anew in the same session, whose prepared statements were for the
-- tables before.
CREATE EXTENSION twtasks;
SELECT version, result FROM twtasks.add_task('D', key => 'k');
SELECT version, result FROM twtasks.add_task('D', key => 'k');
SELECT type, key FROM twtasks.task;

-- Day partitions that were made meanwhile go with it.
SELECT twtasks_internal.make_partitions(2) AS made;
DROP EXTENSION twtasks;
SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace('twtasks');

-- Only a superuser installs it, only into its own schema, and it stays there.
CREATE ROLE regress_twtasks_user;
GRANT CREATE ON DATABASE regress_twtasks_extension TO regress_twtasks_user;
SET ROLE regress_twtasks_user;
CREATE EXTENSION twtasks;
RESET ROLE;
CREATE SCHEMA elsewhere;
CREATE EXTENSION twtasks SCHEMA elsewhere;
CREATE EXTENSION twtasks;
ALTER EXTENSION twtasks SET SCHEMA elsewhere;
DROP EXTENSION twtasks;

-- Roles of its names that can do more than they should are not taken over.
ALTER ROLE twtasks_viewer LOGIN;
CREATE EXTENSION twtasks;
ALTER ROLE twtasks_viewer NOLOGIN;
ALTER ROLE twtasks_owner CREATEROLE;
CREATE EXTENSION twtasks;
ALTER ROLE twtasks_owner NOCREATEROLE;

-- An object that was in the schema first gains nothing, even if it fits a call
-- better than ours: the installation is refused, or no call ever reaches it.
CREATE FUNCTION pg_temp.install_over(hostile text) RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
	result text := 'safe';
	node bigint;
	id uuid;
BEGIN
	SET LOCAL ROLE regress_twtasks_user;
	CREATE SCHEMA twtasks;
	EXECUTE hostile;
	RESET ROLE;
	BEGIN
		CREATE EXTENSION twtasks;
	EXCEPTION WHEN OTHERS THEN
		DROP SCHEMA twtasks CASCADE;
		DROP SCHEMA IF EXISTS twtasks_internal CASCADE;
		RETURN result;
	END;
	BEGIN
		node := twtasks_internal.start_node('test');
		PERFORM twtasks_internal.tick(node);
		PERFORM twtasks_internal.recover_tasks(), twtasks_internal.promote_tasks(), twtasks_internal.expire_tasks();
		SELECT task_id INTO id FROM twtasks.add_task('A', key => 'k');
		PERFORM twtasks_internal.sweep_tasks('default', 10);
		PERFORM twtasks_internal.grab_tasks(ARRAY[id], '{0}', node, 1, '{1000}', '{error}');
		PERFORM twtasks_internal.finish_tasks(ARRAY[id], '{1}', '{retry}', '{0}', '{NULL}', node, 2);
		PERFORM twtasks.resume_task(id, 2);
	EXCEPTION WHEN OTHERS THEN
		result := SQLERRM;
	END;
	DROP EXTENSION twtasks;
	DROP SCHEMA twtasks CASCADE;
	RETURN result;
END $$;
DROP SCHEMA twtasks;
CREATE FUNCTION ran() RETURNS bigint LANGUAGE plpgsql
AS $$ BEGIN RAISE EXCEPTION 'hostile code ran as %', current_user; END $$;
SELECT pg_temp.install_over('CREATE TABLE twtasks.task (id uuid)');
SELECT pg_temp.install_over('CREATE VIEW twtasks.stats AS SELECT 1 AS x');
SELECT pg_temp.install_over('CREATE FUNCTION twtasks.is_enabled() RETURNS boolean LANGUAGE sql AS ''SELECT public.ran() > 0''');
SELECT pg_temp.install_over('CREATE SCHEMA twtasks_internal;
	CREATE FUNCTION twtasks_internal.node_lock(integer) RETURNS bigint LANGUAGE sql AS ''SELECT public.ran()''');
SELECT pg_temp.install_over('CREATE FUNCTION twtasks.hostile(uuid, uuid) RETURNS boolean LANGUAGE sql AS ''SELECT public.ran() > 0'';
	CREATE OPERATOR twtasks.= (LEFTARG = uuid, RIGHTARG = uuid, FUNCTION = twtasks.hostile)');
SELECT pg_temp.install_over('SELECT 1');
-- Messages to the installing superuser.
SET ROLE regress_twtasks_user;
CREATE SCHEMA twtasks;
RESET ROLE;
CREATE EXTENSION twtasks;
ALTER SCHEMA twtasks OWNER TO twtasks_owner;
CREATE TABLE twtasks.leftover ();
CREATE EXTENSION twtasks;
DROP TABLE twtasks.leftover;
CREATE SCHEMA twtasks_internal AUTHORIZATION twtasks_owner;
CREATE EXTENSION twtasks;
DROP SCHEMA twtasks_internal;
-- A right to create objects there would survive, whoever gave it.
GRANT CREATE ON SCHEMA twtasks TO regress_twtasks_user;
CREATE EXTENSION twtasks;
REVOKE CREATE ON SCHEMA twtasks FROM regress_twtasks_user;
GRANT ALL ON SCHEMA twtasks TO PUBLIC;
CREATE EXTENSION twtasks;
DROP SCHEMA twtasks;
ALTER DEFAULT PRIVILEGES GRANT CREATE ON SCHEMAS TO regress_twtasks_user;
CREATE EXTENSION twtasks;
ALTER DEFAULT PRIVILEGES REVOKE CREATE ON SCHEMAS FROM regress_twtasks_user;
ALTER DEFAULT PRIVILEGES FOR ROLE twtasks_owner GRANT CREATE ON SCHEMAS TO regress_twtasks_user;
CREATE EXTENSION twtasks;
ALTER DEFAULT PRIVILEGES FOR ROLE twtasks_owner REVOKE CREATE ON SCHEMAS FROM regress_twtasks_user;
-- Members of the owner may be meant; so it is said.
GRANT twtasks_owner TO regress_twtasks_user;
CREATE EXTENSION twtasks;
REVOKE twtasks_owner FROM regress_twtasks_user;
-- Created anew over what it left: the schema, with the rights of its roles.
DROP EXTENSION twtasks;
CREATE EXTENSION twtasks;
DROP EXTENSION twtasks;
-- An empty schema of the owner's, as a restored dump has it, is welcome.
CREATE EXTENSION twtasks;
SELECT result FROM twtasks.add_task('A');

-- And if somebody had that right: no function whose types are nearer to those
-- of constants in our calls is called.
CREATE FUNCTION pg_temp.reached(hostile text) RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
	node bigint;
	id uuid;
BEGIN
	DISCARD PLANS;
	EXECUTE format('CREATE FUNCTION twtasks_internal.%s LANGUAGE sql AS ''SELECT public.ran()''', hostile);
	node := twtasks_internal.start_node('test');
	PERFORM twtasks_internal.tick(node);
	PERFORM twtasks.configure_type('T', timeout => '1 min', retry => '{"max_tries": 2}'), twtasks.configure_bucket('b');
	PERFORM twtasks.configure_limit('T', rate => 1, per => '1 min');
	PERFORM twtasks.schedule('s', '* * * * *', 'T'), twtasks.run_schedule_now('s'), twtasks.unschedule('s');
	SELECT task_id INTO id FROM twtasks.add_task('T', key => 'k', run_after => clock_timestamp() + interval '1 hour');
	PERFORM twtasks.resume_task(id, 0);
	PERFORM twtasks_internal.grab_tasks(ARRAY[id], '{1}', node, 1, '{60000}', '{error}');
	PERFORM twtasks_internal.resolve_grab(ARRAY[id], '{1}', node, 2);
	PERFORM twtasks.request_cancel(id, 2);
	PERFORM twtasks_internal.finish_tasks(ARRAY[id], '{2}', '{retry}', '{0}', '{NULL}', node, 2);
	PERFORM twtasks.hold_task(id, 3), twtasks.release_task(id, 4), twtasks.cancel_task(id, 5), twtasks.reopen_task(id, 6);
	PERFORM twtasks.change_tasks('cancel', 'T', 'test');
	UPDATE twtasks.task t SET next_event_time = '-infinity' WHERE t.status = 'WAITING';
	PERFORM twtasks_internal.promote_tasks(), twtasks_internal.recover_tasks();
	RAISE EXCEPTION 'not reached' USING ERRCODE = 'P0099';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLERRM;
END $$;
SELECT hostile, pg_temp.reached(hostile) FROM unnest(ARRAY[
	'queue_trigger(uuid, integer, text, text, smallint, integer, timestamptz) RETURNS bigint',
	'node_lock(integer) RETURNS bigint',
	'check_duration(text, interval, text, text) RETURNS bigint',
	'change_task(text, uuid, bigint, text, text) RETURNS bigint',
	'check_change(uuid, integer, timestamptz) RETURNS bigint',
	'audit_schedule(text, text, text, jsonb, text) RETURNS bigint',
	'add_occurrence(twtasks.schedule, text) RETURNS bigint']) WITH ORDINALITY x(hostile, n) ORDER BY n;

-- Removed as docs/operations.md says: functions of others that take our types
-- keep the extension, or live on with these types.
CREATE FUNCTION effects(task twtasks.task_input) RETURNS twtasks.task_result LANGUAGE sql
AS $$ SELECT ('done', NULL, task.type)::twtasks.task_result $$;
CREATE FUNCTION look(task twtasks.new_task) RETURNS twtasks.new_task LANGUAGE sql SET search_path = pg_catalog, pg_temp AS 'SELECT task';
CREATE FUNCTION stuck(task twtasks.task_input) RETURNS twtasks.stuck_rule LANGUAGE sql AS 'SELECT ''retry''::twtasks.stuck_rule';
CREATE FUNCTION take(message twtasks.message) RETURNS twtasks.new_task LANGUAGE sql AS 'SELECT NULL::twtasks.new_task';
CREATE FUNCTION ended(tasks twtasks.ended_task[]) RETURNS void LANGUAGE sql AS '';
CREATE FUNCTION paid(tasks twtasks.task_input[]) RETURNS twtasks.task_answer[] LANGUAGE sql AS 'SELECT NULL::twtasks.task_answer[]';
CREATE FUNCTION late(results twtasks.late_result[]) RETURNS void LANGUAGE sql AS '';
DROP EXTENSION twtasks;
ALTER EXTENSION twtasks DROP TYPE twtasks.task_input;
ALTER EXTENSION twtasks DROP TYPE twtasks.task_result;
ALTER EXTENSION twtasks DROP TYPE twtasks.task_answer;
ALTER EXTENSION twtasks DROP TYPE twtasks.new_task;
ALTER EXTENSION twtasks DROP TYPE twtasks.message;
ALTER EXTENSION twtasks DROP TYPE twtasks.stuck_rule;
ALTER EXTENSION twtasks DROP TYPE twtasks.ended_task;
ALTER EXTENSION twtasks DROP TYPE twtasks.task_status;
ALTER EXTENSION twtasks DROP TYPE twtasks.late_result;
DROP EXTENSION twtasks;
SELECT (effects(jsonb_populate_record(NULL::twtasks.task_input, '{"type": "T"}'))).*;
SELECT (look(jsonb_populate_record(NULL::twtasks.new_task, '{"type": "T"}'))).type;
SELECT count(*) FROM pg_class WHERE relnamespace = 'twtasks'::regnamespace AND relkind <> 'c';
SELECT count(*) FROM pg_proc WHERE pronamespace = 'twtasks'::regnamespace;
SELECT to_regnamespace('twtasks_internal') IS NULL AS gone;
REASSIGN OWNED BY twtasks_owner TO CURRENT_USER;
DROP OWNED BY twtasks_producer, twtasks_worker, twtasks_web, twtasks_operator, twtasks_viewer, twtasks_payload_viewer, twtasks_tester, twtasks_owner;
SELECT count(*) FROM pg_shdepend d JOIN pg_roles r ON d.refclassid = 'pg_authid'::regclass AND d.refobjid = r.oid
WHERE r.rolname ~ '^twtasks_' AND d.dbid = (SELECT oid FROM pg_database WHERE datname = current_database());

\c :home
DROP DATABASE regress_twtasks_extension;
DROP ROLE regress_twtasks_user;
