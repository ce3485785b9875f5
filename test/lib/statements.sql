--
-- statements.sql
--		For tests of what a statement meets in tables that somebody has changed.  Needs
--		tasks.sql.
--

-- The message of the error of a statement, with its state, or "ok".  All that it
-- did is undone.
CREATE FUNCTION pg_temp.said(statement text) RETURNS text
LANGUAGE plpgsql
AS $$
BEGIN
	BEGIN
		EXECUTE statement;
		RAISE SQLSTATE 'P0099';
	EXCEPTION WHEN SQLSTATE 'P0099' THEN
		RETURN 'ok';
	END;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;

-- All tasks there are.
CREATE FUNCTION pg_temp.grab_all() RETURNS bigint
LANGUAGE sql
AS $$
	SELECT count(*) FROM twtasks_internal.grab_tasks(ARRAY(SELECT id FROM twtasks.task), ARRAY(SELECT version FROM twtasks.task),
		pg_temp.node(), 1, '{60000}', '{error}')
$$;
CREATE FUNCTION pg_temp.finish_all(result text) RETURNS bigint
LANGUAGE sql
AS $$
	SELECT count(*) FROM twtasks_internal.finish_tasks(ARRAY(SELECT id FROM twtasks.task), ARRAY(SELECT version FROM twtasks.task),
		ARRAY[result], '{0}', '{said}', pg_temp.node(), 2)
$$;
