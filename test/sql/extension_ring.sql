--
-- A trigger is published only for a table that is there: when the extension
-- is dropped in the transaction that added, nothing is.
--
SET client_min_messages = warning;
SELECT current_database() AS home \gset
CREATE DATABASE regress_twtasks_extension;
\c regress_twtasks_extension
SET client_min_messages = warning;
CREATE EXTENSION twtasks;
SELECT result FROM twtasks.add_task('KEPT');
BEGIN;
SELECT result FROM twtasks.add_task('LOST');
DROP EXTENSION twtasks;
COMMIT;
CREATE EXTENSION twtasks;
-- The queue outlives the extension: so does the trigger of the first task,
-- which wins nothing.
CALL twtasks_internal.next_triggers('{default}', 10, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) \gset
\echo :types
SELECT count(*) FROM twtasks_internal.grab_tasks(:'ids', :'versions', twtasks_internal.start_node('test'), 1,
	array_fill(1000, ARRAY[cardinality(:'ids'::uuid[])]),
	array_fill('error'::twtasks.stuck_rule, ARRAY[cardinality(:'ids'::uuid[])]));
\c :home
DROP DATABASE regress_twtasks_extension;
