--
-- change_tasks(): tasks by id, key, node and adder, and a change that does what its
-- preview showed or nothing.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(34);

SELECT twtasks.add_task('A', task_id => pg_temp.id(n), key => 'order ' || n, run_after => now() + n * interval '1 hour') FROM generate_series(1, 12) n \g /dev/null
SELECT twtasks.add_task('B', task_id => pg_temp.id(20), run_after => now() + interval '1 day') \g /dev/null
UPDATE twtasks.task SET added_by = 'anne' WHERE id IN (pg_temp.id(3), pg_temp.id(20));
SELECT twtasks.cancel_task(pg_temp.id(12)) \g /dev/null
SELECT pg_temp.task_in('ERROR', pg_temp.id(30)), pg_temp.task_in('FAILED', pg_temp.id(31)) \g /dev/null

-- Numbers of the tasks and results.
CREATE FUNCTION pg_temp.shown(arguments text) RETURNS text LANGUAGE plpgsql
AS $$ DECLARE shown text; BEGIN
	EXECUTE format('SELECT string_agg(concat_ws('':'', right(id::text, 12)::integer, result, status), '' '' ORDER BY n) FROM (
		SELECT *, row_number() OVER () AS n FROM twtasks.change_tasks(%s)) x', arguments) INTO shown;
	RETURN shown;
END $$;

SELECT is(pg_temp.shown(x.arguments || ', dry_run => true'), x.answer, x.arguments)
FROM (VALUES ($$'cancel', '*', ids => ARRAY[pg_temp.id(2), pg_temp.id(5)]$$, '2:would_change:CANCELLED 5:would_change:CANCELLED'),
	($$'cancel', '*', ids => ARRAY[pg_temp.id(5), pg_temp.id(12), pg_temp.id(30), pg_temp.id(99)]$$, '5:would_change:CANCELLED 12:wrong_status:CANCELLED 30:wrong_status:ERROR 99:not_found'),
	($$'cancel', 'B', ids => ARRAY[pg_temp.id(5), pg_temp.id(20)]$$, '20:would_change:CANCELLED 5:no_match:WAITING'),
	($$'cancel', '*', ids => ARRAY[pg_temp.id(5), pg_temp.id(5)]$$, '5:would_change:CANCELLED'),
	($$'cancel', '*', ids => '{}'$$, NULL),
	($$'cancel', '*', key => 'order 4'$$, '4:would_change:CANCELLED'),
	($$'cancel', '*', key => 'order'$$, NULL),
	($$'cancel', '*', key_prefix => 'order 1'$$, '1:would_change:CANCELLED 10:would_change:CANCELLED 11:would_change:CANCELLED'),
	($$'cancel', '*', key_prefix => 'order 1', key => 'order 11'$$, '11:would_change:CANCELLED'),
	($$'cancel', '*', key_prefix => 'order 1', ids => ARRAY[pg_temp.id(10), pg_temp.id(2)]$$, '10:would_change:CANCELLED 2:no_match:WAITING'),
	($$'cancel', '*', added_by => 'anne'$$, '3:would_change:CANCELLED 20:would_change:CANCELLED'),
	($$'resume', '*', node => 'test'$$, '30:would_change:WAITING'),
	($$'resume', '*', node => 'other'$$, NULL),
	($$'reopen', '*', ids => ARRAY[pg_temp.id(31)]$$, '31:would_change:WAITING'),
	($$'cancel', 'B', expect => 1$$, '20:would_change:CANCELLED')) x(arguments, answer);

-- The number of the preview: another number changes nothing.
SELECT throws_ok($$SELECT * FROM twtasks.change_tasks('hold', 'A', 'test', expect => 10)$$, '40001', 'the filter matches 11 tasks by now, and not 10', 'more tasks than expected are refused');
SELECT throws_ok($$SELECT * FROM twtasks.change_tasks('hold', 'A', 'test', expect => 12)$$, '40001', NULL, 'so are fewer');
SELECT throws_ok($$SELECT * FROM twtasks.change_tasks('hold', 'NONE', 'test', expect => 1)$$, '40001', NULL, 'so are none');
SELECT throws_ok($$SELECT * FROM twtasks.change_tasks('hold', 'A', expect => 10, dry_run => true)$$, '40001', NULL, 'a dry run says so too');
SELECT is((SELECT count(*) FROM twtasks.audit WHERE action = 'hold'), 0::bigint, 'nothing was changed');
SELECT is(pg_temp.shown($$'hold', 'NONE', 'test', expect => 0$$), NULL, 'no task is expected and found');
SELECT is(pg_temp.shown($$'hold', 'A', 'test', expect => 2, key_prefix => 'order 1', max_tasks => 2$$), '1:changed:HELD 10:changed:HELD', 'the expected tasks are changed');

-- The ids of the preview: what became of others is told, and a new task is left alone.
SELECT twtasks.add_task('A', task_id => pg_temp.id(40), key => 'order 13', run_after => now() + interval '1 hour') \g /dev/null
SELECT is(pg_temp.shown($$'hold', 'A', 'test', key_prefix => 'order 1', ids => ARRAY[pg_temp.id(1), pg_temp.id(10), pg_temp.id(11)], expect => 3$$),
	'11:changed:HELD 1:wrong_status:HELD 10:wrong_status:HELD', 'of the tasks of a preview, those that have changed are told');
SELECT is(pg_temp.state(pg_temp.id(40)), 'WAITING 0', 'a task that came after the preview is left alone');

SELECT throws_ok($$SELECT * FROM twtasks.change_tasks('cancel', 'A', 'test', ids => ARRAY[pg_temp.id(2)], expect => 8)$$, '40001', NULL, 'more tasks than the preview had: none of its ids is changed');
SELECT throws_ok($$SELECT * FROM twtasks.change_tasks('cancel', 'A', 'test', ids => ARRAY[pg_temp.id(2)], expect => 8, max_tasks => 1)$$, '40001', NULL, '... however few are asked for at once');
SELECT is(pg_temp.state(pg_temp.id(2)), 'WAITING 0', '... and nothing is');

-- The old declaration's arguments mean what they meant.
SELECT is(pg_temp.shown($$'release', 'A', 'test', NULL, NULL, '{HELD}', NULL, NULL, NULL, true, 1, NULL, true$$), '11:would_change:WAITING', 'arguments by position mean what they meant');
SELECT throws_ok($$SELECT * FROM twtasks.change_tasks('hold', 'A', 'test', ids => ARRAY[pg_temp.id(1), pg_temp.id(2)], max_tasks => 1)$$, '22023', NULL, 'more ids than max_tasks are refused');
SELECT throws_ok($$SELECT * FROM twtasks.change_tasks('reopen', 'A', 'test')$$, '22004', NULL, 'to reopen all of a type needs a time');

-- A dry run is the change itself, taken back.
CREATE SCHEMA theirs;
GRANT USAGE ON SCHEMA theirs TO PUBLIC;
CREATE FUNCTION theirs.refuse(tasks twtasks.ended_task[]) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$ BEGIN RAISE 'no'; END $$;
SELECT twtasks.configure_type('C', on_end => 'theirs.refuse') \g /dev/null
SELECT twtasks.add_task('C', task_id => pg_temp.id(50), run_after => now() + interval '1 hour'), pg_temp.task_in('PROCESSING', pg_temp.id(51)) \g /dev/null
SELECT is(pg_temp.shown($$'cancel', 'C', dry_run => true$$), '50:would_change:ERROR', 'a dry run knows what a function of on_end would refuse');
SELECT is(pg_temp.shown($$'cancel', '*', statuses => '{PROCESSING}', dry_run => true$$), '51:would_request:PROCESSING', 'and which handlers would be asked to stop');
SELECT is((SELECT array_agg(status::text || version ORDER BY id) FROM twtasks.tasks WHERE id IN (pg_temp.id(50), pg_temp.id(51))), '{WAITING0,PROCESSING1}', 'it changes nothing');
SELECT is((SELECT count(*) FROM twtasks.audit WHERE task_id IN (pg_temp.id(50), pg_temp.id(51))) + (SELECT count(*) FROM twtasks.cancel_request), 0::bigint, 'and leaves nothing');

SELECT * FROM finish();
ROLLBACK;
