--
-- Rules of the executor that our writes without a statement obey, or refuse by
-- name: docs/decisions/without-statements.md has all of them.
--
BEGIN;
\ir ../lib/tasks.sql
\ir ../lib/statements.sql
SELECT plan(41);
SELECT twtasks.unset_type_options(pattern, 'when_done') FROM twtasks.type_policies \g /dev/null
SELECT twtasks_internal.make_partitions(1) \g /dev/null
SET LOCAL client_min_messages = error;	-- wal_level

CREATE FUNCTION pg_temp.add_after(change text) RETURNS text LANGUAGE sql
AS $$ SELECT pg_temp.said(change || '; SELECT twtasks.add_task(''A'', sub_type => ''x'')') $$;
CREATE FUNCTION pg_temp.grab_after(change text) RETURNS text LANGUAGE sql
AS $$ SELECT pg_temp.said('SELECT pg_temp.task_in(''SUBMITTED''); ' || change || '; SELECT pg_temp.grab((SELECT id FROM twtasks.task))') $$;
CREATE FUNCTION pg_temp.finish_after(change text) RETURNS text LANGUAGE sql
AS $$ SELECT pg_temp.said('SELECT pg_temp.task_in(''PROCESSING''); ' || change || '; SELECT pg_temp.finish((SELECT id FROM twtasks.task), ''done'')') $$;

-- ---- Constraints that are checked later, or exclude ----
SELECT is(pg_temp.add_after('ALTER TABLE twtasks.task ADD CONSTRAINT once UNIQUE (sub_type) DEFERRABLE'),
	'0A000 cannot write to table "task": constraint "once" is deferrable or excludes', 'a deferrable unique constraint stops an add');
SELECT is(pg_temp.add_after('ALTER TABLE twtasks.task ADD CONSTRAINT once UNIQUE (sub_type) DEFERRABLE INITIALLY DEFERRED'),
	'0A000 cannot write to table "task": constraint "once" is deferrable or excludes', 'so does one that is deferred');
SELECT is(pg_temp.add_after('ALTER TABLE twtasks.task ADD CONSTRAINT apart EXCLUDE USING btree (sub_type WITH =)'),
	'0A000 cannot write to table "task": constraint "apart" is deferrable or excludes', 'so does an exclusion constraint');
SELECT is(pg_temp.grab_after('ALTER TABLE twtasks.task ADD CONSTRAINT apart EXCLUDE USING btree (sub_type WITH =)'),
	'0A000 cannot write to table "task": constraint "apart" is deferrable or excludes', 'it stops a grab');
SELECT is(pg_temp.finish_after('ALTER TABLE twtasks.finished_task ADD CONSTRAINT once UNIQUE (id, state_time) DEFERRABLE'),
	format('0A000 cannot write to table "finished_task_%s": constraint "finished_task_%s_id_state_time_key" is deferrable or excludes',
		to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD'), to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD')), 'one on the history stops a finish');
SELECT is(pg_temp.add_after('ALTER TABLE twtasks.task ADD CONSTRAINT once UNIQUE (sub_type)'), 'ok', 'a plain unique constraint does not');
SELECT is(pg_temp.said('ALTER TABLE twtasks.task ADD CONSTRAINT once UNIQUE (sub_type); SELECT twtasks.add_task(''A'', sub_type => ''x''), twtasks.add_task(''A'', sub_type => ''x'')'),
	'23505 duplicate key value violates unique constraint "once"', 'it is obeyed');

-- ---- Publications ----
SELECT is(pg_temp.grab_after('CREATE PUBLICATION p FOR TABLE twtasks.task'), 'ok', 'a published table is grabbed from');
SELECT is(pg_temp.finish_after('CREATE PUBLICATION p FOR TABLE twtasks.task'), 'ok', 'and finished');
SELECT is(pg_temp.grab_after('CREATE PUBLICATION p FOR TABLE twtasks.task; ALTER TABLE twtasks.task REPLICA IDENTITY NOTHING'),
	'55000 cannot update table "task" because it does not have a replica identity and publishes updates', 'without an identity a grab fails, as UPDATE does');
SELECT is(pg_temp.finish_after('CREATE PUBLICATION p FOR TABLE twtasks.task; ALTER TABLE twtasks.task REPLICA IDENTITY NOTHING'),
	'55000 cannot delete from table "task" because it does not have a replica identity and publishes deletes', 'a finish fails, as DELETE does');
SELECT is(pg_temp.add_after('CREATE PUBLICATION p FOR TABLE twtasks.task; ALTER TABLE twtasks.task REPLICA IDENTITY NOTHING'), 'ok', 'an add does not, as INSERT');
SELECT is(pg_temp.grab_after('CREATE PUBLICATION p FOR TABLE twtasks.task WITH (publish = ''insert, delete''); ALTER TABLE twtasks.task REPLICA IDENTITY NOTHING'),
	'ok', 'a publication without updates does not stop a grab');
SELECT is(pg_temp.grab_after('CREATE PUBLICATION p FOR TABLE twtasks.task; ALTER TABLE twtasks.task REPLICA IDENTITY FULL'), 'ok', 'all columns are an identity');
SELECT is(pg_temp.grab_after('CREATE PUBLICATION p FOR TABLE twtasks.task; CREATE UNIQUE INDEX other ON twtasks.task (id, version); ALTER TABLE twtasks.task REPLICA IDENTITY USING INDEX other'),
	'ok', 'so are those of another index');
SELECT is(pg_temp.grab_after('CREATE PUBLICATION p FOR TABLE twtasks.task WHERE (priority > 3)'),
	'42P10 cannot update table "task"', 'a row filter beyond the identity stops a grab, as UPDATE');
SELECT is(pg_temp.finish_after('CREATE PUBLICATION p FOR TABLE twtasks.task WHERE (priority > 3)'),
	'42P10 cannot delete from table "task"', 'and a finish, as DELETE');
SELECT is(pg_temp.grab_after('CREATE PUBLICATION p FOR TABLE twtasks.task WHERE (id <> pg_catalog.uuid_in(''00000000-0000-0000-0000-000000000000''))'), 'ok', 'one on the identity does not');
SELECT is(pg_temp.grab_after('CREATE PUBLICATION p FOR TABLE twtasks.task (version, type)'),
	'42P10 cannot update table "task"', 'a list of columns without the identity stops a grab, as UPDATE');
SELECT is(pg_temp.grab_after('CREATE PUBLICATION p FOR TABLE twtasks.task (id, type)'), 'ok', 'one with the identity does not');
SELECT is(pg_temp.said('UPDATE twtasks.task SET tries = 1; CREATE PUBLICATION p FOR TABLE twtasks.task WHERE (priority > 3); SELECT pg_temp.task_in(''SUBMITTED''); UPDATE twtasks.task SET tries = 1'),
	'42P10 cannot update table "task"', 'UPDATE says the same');

-- ---- Others ----
SELECT is(pg_temp.add_after('ALTER TABLE twtasks.task ADD CONSTRAINT x CHECK (tries < 9)'), '0A000 cannot write to table "task": it has a check constraint', 'a check constraint stops an add');
SELECT is(pg_temp.grab_after('CREATE RULE x AS ON UPDATE TO twtasks.task DO ALSO NOTIFY x'), '0A000 cannot write to table "task": it has a rule', 'a rule stops a grab');
SELECT is(pg_temp.add_after('ALTER TABLE twtasks.task ENABLE ROW LEVEL SECURITY'), 'ok', 'row security does not bind the owner');
SELECT is(pg_temp.add_after('ALTER TABLE twtasks.task ALTER data SET COMPRESSION pglz, ALTER payload SET STORAGE EXTERNAL'), 'ok', 'storage of columns is free');
SELECT is(pg_temp.said('ALTER TABLE twtasks.task SET UNLOGGED; SELECT pg_temp.task_in(''DONE'')'), 'ok', 'so is a table without WAL');
SELECT is(pg_temp.said('CREATE TABLE pg_temp.child () INHERITS (twtasks.task); SELECT pg_temp.task_in(''DONE'')'), 'ok', 'a child of the table is not written');
SELECT is(pg_temp.said('SET LOCAL transaction_read_only = on; SELECT twtasks.add_task(''A'')'), '25006 cannot execute twtasks.add_task() in a read-only transaction', 'a read-only transaction adds nothing');
SELECT is(pg_temp.said('SELECT pg_temp.node(); SET LOCAL transaction_read_only = on; SELECT pg_temp.grab(pg_temp.id(1), 0)'), '25006 cannot execute twtasks_internal.grab_tasks() in a read-only transaction', 'it grabs nothing');
SELECT is(pg_temp.said('ALTER TABLE twtasks.finished_task DETACH PARTITION twtasks.finished_task_other;
	DO $d$ DECLARE p text; BEGIN FOR p IN SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = ''twtasks.finished_task''::regclass LOOP
	EXECUTE ''ALTER TABLE twtasks.finished_task DETACH PARTITION '' || p; END LOOP; END $d$; SELECT pg_temp.task_in(''DONE'')'),
	'23514 no partition of relation "finished_task" found for row', 'a row without a part is refused');
CREATE TABLE public.regress_job (task uuid REFERENCES twtasks.task);
SELECT is(pg_temp.said('INSERT INTO public.regress_job SELECT pg_temp.task_in(''PROCESSING''); SELECT pg_temp.finish((SELECT id FROM twtasks.task), ''done'')'),
	'23503 update or delete on table "task" violates foreign key constraint "regress_job_task_fkey" on table "regress_job"', 'a foreign key holds its task');
DROP TABLE public.regress_job;
CREATE TABLE public.regress_kind (name text COLLATE "C" PRIMARY KEY);
GRANT SELECT, UPDATE ON public.regress_kind TO twtasks_owner;
SELECT is(pg_temp.add_after('TRUNCATE twtasks.task; ALTER TABLE twtasks.task ADD CONSTRAINT known FOREIGN KEY (type) REFERENCES public.regress_kind'),
	'23503 insert or update on table "task" violates foreign key constraint "known"', 'a foreign key of a task is obeyed');
SELECT is(pg_temp.said('TRUNCATE twtasks.task; ALTER TABLE twtasks.task ADD CONSTRAINT known FOREIGN KEY (type) REFERENCES public.regress_kind DEFERRABLE INITIALLY DEFERRED;
	SELECT twtasks.add_task(''A''); SET CONSTRAINTS ALL IMMEDIATE'),
	'23503 insert or update on table "task" violates foreign key constraint "known"', 'so is a deferred one, at the end');
SELECT is(pg_temp.said('TRUNCATE twtasks.task; ALTER TABLE twtasks.task ADD CONSTRAINT known FOREIGN KEY (type) REFERENCES public.regress_kind;
	SET LOCAL session_replication_role = replica; SELECT twtasks.add_task(''A'')'), 'ok', 'session_replication_role turns triggers off');
DROP TABLE public.regress_kind;
SELECT is(pg_temp.finish_after(format('DROP TABLE twtasks.finished_task_%s; CREATE TABLE twtasks.deep PARTITION OF twtasks.finished_task FOR VALUES FROM (%L) TO (%L) PARTITION BY LIST (type)',
		to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD'), date_trunc('day', now(), 'UTC'), date_trunc('day', now(), 'UTC') + interval '24 hours')),
	'0A000 partition "deep" of the history is not a plain table', 'a part that has parts stops a finish');

-- ---- What needs no care ----
CREATE FUNCTION pg_temp.whole_life(after text) RETURNS text LANGUAGE sql
AS $$ SELECT pg_temp.said(after || '; SELECT pg_temp.task_in(''DONE''), pg_temp.task_in(''ERROR''), twtasks.reopen_task(pg_temp.task_in(''FAILED''))') $$;
SELECT is(pg_temp.whole_life(format('CREATE TYPE public.regress_row AS (%s); ALTER TABLE twtasks.task OF public.regress_row', (
		SELECT string_agg(format('%I %s %s', attname, format_type(atttypid, atttypmod), CASE WHEN attcollation = '"C"'::regcollation THEN 'COLLATE "C"' END), ', ' ORDER BY attnum)
		FROM pg_attribute WHERE attrelid = 'twtasks.task'::regclass AND attnum > 0 AND NOT attisdropped))),
	'ok', 'a typed table is a table');
CREATE FUNCTION public.regress_refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$;
CREATE FUNCTION public.regress_refuse_ddl() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$;
SELECT is(pg_temp.whole_life('CREATE TRIGGER refuse AFTER UPDATE ON twtasks.finished_task FOR EACH ROW EXECUTE FUNCTION public.regress_refuse()'),
	'ok', 'no row of the history is updated, so none moves to another part');
SELECT is(pg_temp.whole_life('SET LOCAL allow_system_table_mods = on; UPDATE pg_index SET indcheckxmin = true WHERE indrelid = ''twtasks.task''::regclass'),
	'ok', 'an index that older plans must not use has all rows');
SELECT is(pg_temp.whole_life('CREATE EVENT TRIGGER refuse ON ddl_command_start EXECUTE FUNCTION public.regress_refuse_ddl()'),
	'ok', 'no event trigger fires');
CREATE TEMPORARY TABLE counted AS SELECT * FROM pg_stat_xact_all_tables WHERE schemaname = 'twtasks';
SELECT pg_temp.task_in('DONE') \g /dev/null
SELECT is((SELECT concat_ws(' ', s.n_tup_ins - c.n_tup_ins, s.n_tup_upd - c.n_tup_upd, s.n_tup_del - c.n_tup_del)
		   FROM pg_stat_xact_all_tables s JOIN counted c USING (relid) WHERE s.relid = 'twtasks.task'::regclass), '1 1 1', 'the counters of a table have an add, a grab and a finish');
SELECT is((SELECT sum(s.n_tup_ins - c.n_tup_ins) FROM pg_stat_xact_all_tables s JOIN counted c USING (relid) WHERE s.relname ~ '^finished_task_'), 1::numeric, 'the counters of its part of the history too');

SELECT * FROM finish();
ROLLBACK;
