/*
 * move-out.sql -- moves the tasks of a database to another one, which may have the other
 * edition of twtasks: the extension or the SQL edition, of the same version.
 *
 *		umask 077
 *		psql -X -d OLD -f move-out.sql >moved.sql &&
 *		psql -X -d NEW -f moved.sql >moved.log && grep 'All rows have arrived' moved.log
 *
 * The file has all payloads, so nobody else may read it.  Continue only if the status of
 * these commands is 0: of a file that was cut, NEW takes nothing.  Where the cut is behind
 * the last statement, or the connection breaks at the COMMIT, the status is not 0 although
 * all has arrived.  Repeat the second command, then: it says so, or loads.
 *
 * The first command writes all that is kept: tasks, history, keys, policies, schedules and
 * audits.  From then on OLD refuses new tasks and runs none, and it keeps all its rows.
 * The second command takes all or nothing, and compares each table by its number of rows
 * and a sum over their contents.  NEW runs nothing until somebody calls adopt().
 *
 * If NEW is not to be used after all, these two lines make OLD what it was:
 *
 *		DROP FUNCTION twtasks_internal.refuse_moved() CASCADE;
 *		SELECT twtasks.adopt(NULL, hold => false);
 */
\set ON_ERROR_STOP on
\set QUIET on
\pset format unaligned
\pset tuples_only on
\pset pager off
\encoding UTF8
-- Both sides of the move write and read values in the same form.
\set settings 'SET LOCAL search_path = pg_catalog, pg_temp; SET LOCAL timezone = $$UTC$$; SET LOCAL datestyle = $$ISO$$; SET LOCAL intervalstyle = $$postgres$$; SET LOCAL bytea_output = $$hex$$; SET LOCAL extra_float_digits = 3; SET LOCAL lock_timeout = $$30s$$;'
BEGIN ISOLATION LEVEL READ COMMITTED;
:settings
SELECT set_config('role', (SELECT pg_get_userbyid(nspowner) FROM pg_namespace WHERE nspname = 'twtasks_internal'), true) AS ignored \gset

/*
 * Left out: constants, settings, all that an edition has for itself in twtasks_internal,
 * what is true only while a sidecar runs, and tables of others in the schema.
 */
\set tables 'SELECT c.oid, c.oid::regclass AS name, (SELECT string_agg(quote_ident(a.attname), $$, $$ ORDER BY a.attname COLLATE "C") FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = $$$$) AS columns FROM pg_class c WHERE c.relnamespace = $$twtasks$$::regnamespace AND c.relkind IN ($$r$$, $$p$$) AND c.relpersistence = $$p$$ AND NOT c.relispartition AND pg_get_userbyid(c.relowner) = current_user AND c.relname <> ALL ($${transition,setting,cleaning,duty,flow,monitor_look,monitor_metric,monitor_type,refused_node,slot_use,task_progress,test_clock}$$)'

-- A sidecar that runs would come to a deadlock with the other locks.
LOCK TABLE twtasks.node IN EXCLUSIVE MODE;

DO $$
DECLARE
	living CONSTANT text := (SELECT string_agg(n.name, ', ') FROM twtasks.node n
							 WHERE n.ended IS NULL AND n.heartbeat + n.lease > twtasks.clock());
BEGIN
	IF living IS NOT NULL THEN
		RAISE EXCEPTION 'sidecars of this database run: %', living
			USING ERRCODE = 'object_in_use',
				HINT = 'Stop them. One that was killed counts as gone when its lease has ended.';
	ELSIF to_regproc('twtasks_internal.refuse_moved') IS NOT NULL THEN
		RAISE EXCEPTION 'the tasks of this database were moved already'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'To move them again, DROP FUNCTION twtasks_internal.refuse_moved() CASCADE.';
	END IF;
END $$;
SELECT format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', t.name) FROM (:tables) t ORDER BY t.oid \gexec
SELECT clock_timestamp() AS moved \gset
UPDATE twtasks.adoption SET ended = :'moved' WHERE ended IS NULL;
SELECT CASE e.edition WHEN 'sql' THEN 'twtasks_internal.duration(''keep_audit'')' ELSE 'current_setting(''twtasks.keep_audit'')::interval' END AS audits_kept
FROM twtasks.edition() e \gset

-- ---- The head of moved.sql ----

-- psql fails if the file ends before \endif.
SELECT format($head$\set ON_ERROR_STOP on
\if true
\set QUIET on
\encoding UTF8
BEGIN ISOLATION LEVEL READ COMMITTED;
%6$s
SELECT set_config('role', (SELECT pg_get_userbyid(nspowner) FROM pg_namespace WHERE nspname = 'twtasks_internal'), true) AS ignored \gset
DO $$
DECLARE
	name text;
	has_rows boolean;
	audits_kept interval;
BEGIN
	IF (SELECT e.version FROM twtasks.edition() e) <> %1$L THEN
		RAISE EXCEPTION 'this database has another version of twtasks than %1$s'
			USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Update the older one of the two first.';
	ELSIF EXISTS (SELECT FROM twtasks.adoption a WHERE a.ended = %7$L) THEN
		RAISE EXCEPTION 'all rows of this file have arrived before'
			USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'This database runs them when somebody calls twtasks.adopt(environment, hold => false).';
	END IF;
	-- The first cleaning would drop what is older.  Audits are kept for ever by 0.
	PERFORM twtasks_internal.keep_finished();	-- loads the library, which knows its parameters
	EXECUTE CASE (SELECT e.edition FROM twtasks.edition() e)
		WHEN 'sql' THEN $q$SELECT twtasks_internal.duration('keep_audit')$q$
		ELSE $q$SELECT current_setting('twtasks.keep_audit')::interval$q$ END INTO audits_kept;
	IF twtasks_internal.keep_finished() < %3$L OR twtasks_internal.keep_attempts() < %4$L
		OR audits_kept < %5$L AND audits_kept <> '0' OR audits_kept <> '0' AND %5$L::interval = '0' THEN
		RAISE EXCEPTION 'this database keeps its history for a shorter time'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'The other one has keep_finished %3$s, keep_attempts %4$s, keep_audit %5$s.',
				HINT = 'Set at least these times here.';
	END IF;
	FOREACH name IN ARRAY %2$L::text[] LOOP
		IF to_regclass(name) IS NULL THEN
			RAISE EXCEPTION 'table "%%" does not exist', name
				USING ERRCODE = 'undefined_table', HINT = 'Install here what the other database has: twtasks_events and twtasks_kinds, too.';
		END IF;
		EXECUTE format('LOCK TABLE %%s IN ACCESS EXCLUSIVE MODE', name);
		EXECUTE format('SELECT EXISTS (SELECT FROM %%s)', name) INTO has_rows;
		-- A new database has adopted itself.
		IF has_rows AND name <> 'twtasks.adoption' THEN
			RAISE EXCEPTION 'table "%%" has rows', name
				USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Load the tasks into a database where twtasks was just installed.';
		END IF;
	END LOOP;
END $$;
DELETE FROM twtasks.adoption;
-- The rows have their audit with them, and were checked when they were added.
SELECT coalesce(string_agg(format('ALTER TABLE %%s DISABLE TRIGGER %%I;', t.name, t.tgname), ' '), '') AS triggers_off,
	coalesce(string_agg(format('ALTER TABLE %%s ENABLE %%s TRIGGER %%I;', t.name, CASE t.tgenabled WHEN 'A' THEN 'ALWAYS' END, t.tgname), ' '), '') AS triggers_on
FROM (SELECT g.tgrelid::regclass AS name, g.tgname, g.tgenabled
	  FROM pg_trigger g JOIN pg_class c ON c.oid = g.tgrelid JOIN pg_proc p ON p.oid = g.tgfoid
	  WHERE NOT g.tgisinternal AND g.tgparentid = 0 AND c.relkind IN ('r', 'p')
		AND c.relnamespace IN ('twtasks'::regnamespace, 'twtasks_internal'::regnamespace) AND pg_get_userbyid(c.relowner) = current_user
		AND (g.tgenabled = 'O' OR g.tgenabled = 'A' AND p.pronamespace NOT IN ('twtasks'::regnamespace, 'twtasks_internal'::regnamespace))) t \gset
:triggers_off$head$,
	e.version, (SELECT array_agg(t.name::text ORDER BY t.oid) FROM (:tables) t),
	twtasks_internal.keep_finished(), twtasks_internal.keep_attempts(), :audits_kept, :'settings', :'moved')
FROM twtasks.edition() e;
SELECT format('SELECT twtasks_internal.make_partition(%L, %L, %L) AS ignored \gset', c.relname, pg_get_expr(c.relpartbound, c.oid), whole.relname)
FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class whole ON whole.oid = i.inhparent
JOIN (:tables) t ON t.oid = whole.oid
WHERE c.relkind = 'r' ORDER BY c.oid;

-- ---- The rows ----

SELECT s.statement
FROM (:tables) t
CROSS JOIN LATERAL (VALUES
	(1, format('SELECT %L', format('COPY %s (%s) FROM stdin;', t.name, t.columns))),
	(2, format('COPY (SELECT %s FROM %s) TO STDOUT', t.columns, t.name)),
	(3, format('SELECT %L', '\.'))) s(number, statement)
ORDER BY t.oid, s.number \gexec
SELECT format('SELECT format(''SELECT setval(%%L, %%s, %%L) AS ignored \gset'', %L, last_value, is_called) FROM %s', s.oid::regclass, s.oid::regclass)
FROM pg_class s
WHERE s.relkind = 'S' AND s.relnamespace = 'twtasks'::regnamespace AND pg_get_userbyid(s.relowner) = current_user ORDER BY s.oid \gexec
\echo ':triggers_on'

-- ---- The proof: the number of rows, and a sum over their contents ----

SELECT format($f$SELECT format($g$DO $check$
DECLARE
	arrived CONSTANT text := (SELECT concat_ws(' ', count(*), sum(('x' || left(md5(r::text), 15))::bit(60)::bigint)) FROM (SELECT %s FROM %s) r);
BEGIN
	IF arrived <> %%L THEN
		RAISE EXCEPTION 'table "%s" has not arrived as it was'
			USING DETAIL = format('Rows and sum were %%s, and are %%%%s.', arrived);
	END IF;
END $check$;
\echo '%s: %%s rows, as before'$g$, here.found, here.found, here.rows) FROM (
	SELECT count(*) AS rows, concat_ws(' ', count(*), sum(('x' || left(md5(r::text), 15))::bit(60)::bigint)) AS found FROM (SELECT %s FROM %s) r) here$f$,
	t.columns, t.name, t.name, t.name, t.columns, t.name)
FROM (:tables) t ORDER BY t.oid \gexec
\echo 'COMMIT;\n\\endif\n\\echo \'All rows have arrived. This database runs them when somebody calls twtasks.adopt(environment, hold => false).\''

CREATE FUNCTION twtasks_internal.refuse_moved()
RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RAISE EXCEPTION 'the tasks of this database were moved to another one'
		USING ERRCODE = 'object_not_in_prerequisite_state',
			HINT = 'Connect to that database.';
END $$;
-- Of each statement, since one that changes no row may answer from rows that have moved.
SELECT format('CREATE TRIGGER moved BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON %s EXECUTE FUNCTION twtasks_internal.refuse_moved()', t.name)
FROM (:tables) t WHERE t.name::text NOT IN ('twtasks.node', 'twtasks.handled_type') ORDER BY t.oid \gexec
COMMIT;
