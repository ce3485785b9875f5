--
-- A session that reads the indexes of twtasks.task for its first add may execute
-- functions of their conditions: with the pinned search_path, not the caller's.
--
CREATE FUNCTION public.regress_looks() RETURNS text
LANGUAGE plpgsql IMMUTABLE
AS $$
BEGIN
	PERFORM pg_catalog.set_config('regress.path', pg_catalog.current_setting('search_path'), false);
	RETURN 'looks';
END $$;
CREATE INDEX regress_condition ON twtasks.task (sub_type) WHERE sub_type = public.regress_looks();
\c -
SET search_path = public;
SELECT result FROM twtasks.add_task('INDEXED', sub_type => 'looks');
SELECT current_setting('regress.path');
SHOW search_path;
DELETE FROM twtasks.task WHERE type = 'INDEXED';
DROP INDEX twtasks.regress_condition;
DROP FUNCTION public.regress_looks();
