--
-- Triggers that others put on our tables see every change, whichever way it is
-- made: pg_repack copies a table by one.  Triggers that a
-- change would pass over are refused.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(26);
-- Nothing is written down of what other tests left.
SELECT twtasks.unset_type_options(pattern, 'when_done') FROM twtasks.type_policies \g /dev/null

-- As pg_repack does it: what happens to rows, in order, to be done to a copy.
CREATE TABLE pg_temp.change (
	n bigint GENERATED ALWAYS AS IDENTITY, relation text, old_row jsonb, new_row jsonb, who name);
CREATE FUNCTION pg_temp.log_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
AS $$
BEGIN
	INSERT INTO pg_temp.change (relation, old_row, new_row, who)
	VALUES (CASE WHEN TG_RELNAME = 'task' THEN 'task' ELSE 'finished_task' END,
			CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) END,
			CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) END, session_user);
	RETURN NULL;
END $$;
CREATE TRIGGER copy AFTER INSERT OR UPDATE OR DELETE ON twtasks.task
	FOR EACH ROW EXECUTE FUNCTION pg_temp.log_change();
CREATE TRIGGER copy AFTER INSERT OR UPDATE OR DELETE ON twtasks.finished_task
	FOR EACH ROW EXECUTE FUNCTION pg_temp.log_change();

-- The result of all changes, for rows that begin and end in this transaction: the
-- old row of each change is the new row of the one before.
CREATE FUNCTION pg_temp.copy_of(name text) RETURNS SETOF jsonb
LANGUAGE sql
AS $$
	SELECT new_row FROM (
		SELECT c.new_row, row_number() OVER (PARTITION BY coalesce(c.new_row, c.old_row)->>'id' ORDER BY c.n DESC) AS last
		FROM pg_temp.change c WHERE c.relation = copy_of.name) x
	WHERE x.last = 1 AND new_row IS NOT NULL
$$;
CREATE FUNCTION pg_temp.breaks() RETURNS bigint
LANGUAGE sql
AS $$
	SELECT count(*) FROM (
		SELECT c.old_row, lag(c.new_row) OVER (PARTITION BY c.relation, coalesce(c.new_row, c.old_row)->>'id' ORDER BY c.n) AS before
		FROM pg_temp.change c) x
	WHERE x.old_row IS DISTINCT FROM x.before
$$;
CREATE FUNCTION pg_temp.check_copies(after text) RETURNS SETOF text
LANGUAGE sql
AS $$
	SELECT set_eq('SELECT to_jsonb(t) FROM twtasks.task t', $x$ SELECT pg_temp.copy_of('task') $x$, 'tasks are copied: ' || after)
	UNION ALL
	SELECT set_eq('SELECT to_jsonb(f) FROM twtasks.finished_task f', $x$ SELECT pg_temp.copy_of('finished_task') $x$, 'history is copied: ' || after)
	UNION ALL
	SELECT is(pg_temp.breaks(), 0::bigint, 'no change is left out: ' || after)
$$;

SELECT twtasks.add_task('ONE', '{"n": 1}'), twtasks.add_task('NAMED', task_id => pg_temp.id(1), key => 'k') \g /dev/null
SELECT count(*) FROM twtasks.add_tasks('MANY', array_fill('{}'::jsonb, ARRAY[300])) \g /dev/null
SELECT pg_temp.check_copies('added');

SELECT count(*) FROM twtasks_internal.grab_tasks(ARRAY(SELECT id FROM twtasks.task), ARRAY(SELECT version FROM twtasks.task),
	pg_temp.node(), 1, ARRAY(SELECT 60000 FROM twtasks.task), ARRAY(SELECT 'error'::twtasks.stuck_rule FROM twtasks.task)) \g /dev/null
SELECT is((SELECT count(*) FROM twtasks.task WHERE status = 'PROCESSING'), 302::bigint, 'all tasks are grabbed');
SELECT pg_temp.check_copies('grabbed');

SELECT count(f) FROM (
	SELECT array_agg(id) AS ids, array_agg(version) AS versions, array_agg(1000::bigint) AS delays, array_agg('said ' || n) AS messages,
		array_agg((ARRAY['done', 'delete', 'retry', 'error'])[n % 4 + 1]) AS results
	FROM (SELECT id, version, row_number() OVER () AS n FROM twtasks.task) t) x,
	twtasks_internal.finish_tasks(ids, versions, results, delays, messages, pg_temp.node(), 2) f \g /dev/null
SELECT pg_temp.check_copies('finished');

SELECT pg_temp.change('resume', id, version), pg_temp.change('cancel', id, version + 1) FROM twtasks.task WHERE status = 'ERROR' LIMIT 3 \g /dev/null
SELECT pg_temp.change('reopen', id, version) FROM twtasks.finished_task WHERE status = 'CANCELLED' LIMIT 2 \g /dev/null
SELECT pg_temp.check_copies('changed by hand');
SELECT is((SELECT array_agg(DISTINCT who) FROM pg_temp.change), ARRAY[session_user], 'triggers know who logged in');

-- A trigger may refuse a change, and may have a condition.
CREATE FUNCTION pg_temp.refuse() RETURNS trigger LANGUAGE plpgsql
AS $$ BEGIN RAISE EXCEPTION 'not this %', NEW.type USING ERRCODE = 'P0042'; END $$;
CREATE TRIGGER refuse AFTER INSERT ON twtasks.task FOR EACH ROW WHEN (NEW.type = 'BAD') EXECUTE FUNCTION pg_temp.refuse();
SELECT throws_ok($$SELECT twtasks.add_task('BAD')$$, 'P0042', 'not this BAD', 'a trigger may refuse a task');
SELECT lives_ok($$SELECT twtasks.add_task('GOOD')$$, 'the condition of a trigger counts');

-- Foreign keys to tasks work.
CREATE TABLE public.regress_job (task uuid REFERENCES twtasks.task ON DELETE CASCADE);
SELECT id AS kept FROM twtasks.task WHERE status = 'SUBMITTED' LIMIT 1 \gset
INSERT INTO public.regress_job VALUES (:'kept');
SELECT pg_temp.grab(:'kept'), pg_temp.finish(:'kept', 'done') \g /dev/null
SELECT is((SELECT count(*) FROM public.regress_job), 0::bigint, 'a foreign key with ON DELETE CASCADE removes its row');
DROP TABLE public.regress_job;

-- Not by a statement of SQL: such triggers could not see it as they must.
CREATE FUNCTION pg_temp.refusal(statement text) RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
	said text;
BEGIN
	EXECUTE statement;
	BEGIN
		PERFORM twtasks.add_task('ANY');
		PERFORM pg_temp.finish(pg_temp.task_in('PROCESSING'), 'done');
		said := 'accepted';
	EXCEPTION WHEN feature_not_supported THEN
		said := SQLERRM;
	END;
	RAISE EXCEPTION USING MESSAGE = said, ERRCODE = 'P0099';
EXCEPTION WHEN SQLSTATE 'P0099' THEN
	RETURN SQLERRM;
END $$;
\if :is_sql
SELECT skip('the SQL edition writes by statements, which fire all of these', 7);
\else
SELECT is(pg_temp.refusal('CREATE TRIGGER x BEFORE UPDATE ON twtasks.task FOR EACH ROW EXECUTE FUNCTION pg_temp.log_change()'),
	'cannot write to table "task": trigger "x" cannot be fired', 'a BEFORE trigger stops the write');
SELECT is(pg_temp.refusal('CREATE TRIGGER x AFTER UPDATE OF status ON twtasks.task FOR EACH ROW EXECUTE FUNCTION pg_temp.log_change()'),
	'cannot write to table "task": trigger "x" cannot be fired', 'a trigger for some columns stops the write');
SELECT is(pg_temp.refusal('CREATE TRIGGER x AFTER INSERT ON twtasks.task EXECUTE FUNCTION pg_temp.log_change()'),
	'cannot write to table "task": trigger "x" cannot be fired', 'a trigger FOR EACH STATEMENT stops the write');
SELECT is(pg_temp.refusal('CREATE TRIGGER x AFTER INSERT ON twtasks.finished_task EXECUTE FUNCTION pg_temp.log_change()'),
	'cannot write to table "finished_task": trigger "x" cannot be fired', 'a statement trigger on the history stops the write');
SELECT is(pg_temp.refusal('CREATE RULE x AS ON INSERT TO twtasks.task DO ALSO NOTIFY x'),
	'cannot write to table "task": it has a rule', 'a rule stops the write');
SELECT is(pg_temp.refusal('ALTER TABLE twtasks.task ADD CONSTRAINT x CHECK (tries < 9)'),
	'cannot write to table "task": it has a check constraint', 'a check constraint stops the write');
SELECT is(pg_temp.refusal('ALTER TABLE twtasks.task ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY'),
	'cannot write to table "task": it has a forced row security', 'forced row security stops the write');
\endif
SELECT is(pg_temp.refusal('CREATE TRIGGER x BEFORE UPDATE ON twtasks.task FOR EACH ROW EXECUTE FUNCTION pg_temp.log_change();
	ALTER TABLE twtasks.task DISABLE TRIGGER x'), 'accepted', 'a disabled trigger does not stop the write');
SELECT is(pg_temp.refusal('CREATE TRIGGER x AFTER TRUNCATE ON twtasks.task EXECUTE FUNCTION pg_temp.log_change()'), 'accepted', 'a TRUNCATE trigger does not stop the write');

SELECT * FROM finish();
ROLLBACK;
