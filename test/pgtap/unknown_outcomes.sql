--
-- unknown_outcomes: tasks whose handler may have done its work and nobody reported it,
-- by each stuck rule, until a person has decided.
--
BEGIN;
\ir ../lib/tasks.sql
TRUNCATE twtasks.task_attempt;
SELECT plan(41);

CREATE FUNCTION pg_temp.lose(n integer, rule twtasks.stuck_rule DEFAULT 'error') RETURNS void
LANGUAGE sql
AS $$
	SELECT pg_temp.task_in('PROCESSING', pg_temp.id(n), rule);
	UPDATE twtasks.task SET deadline = created WHERE id = pg_temp.id(n);
	SELECT twtasks_internal.recover_tasks();
$$;
CREATE FUNCTION pg_temp.unknown() RETURNS text
LANGUAGE sql
AS $$ SELECT string_agg(right(id::text, 2) || ' ' || status, ', ' ORDER BY id) FROM twtasks.unknown_outcomes $$;
-- Runs what the view says; with the given reason.
CREATE FUNCTION pg_temp.type(statement text, reason text) RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
	answer text;
BEGIN
	EXECUTE format('SELECT result || '' '' || status FROM (%s) r', replace(statement, '...', reason)) INTO answer;
	RETURN answer;
END $$;

-- ---- Each rule ----
SELECT pg_temp.lose(1, 'error'), pg_temp.lose(2, 'fail'), pg_temp.lose(3, 'retry'), pg_temp.lose(4, 'ignore') \g /dev/null
SELECT is(pg_temp.unknown(), '01 ERROR', 'rule error: a person must decide; not for fail, retry and ignore');
SELECT is((SELECT string_agg(pg_temp.state(pg_temp.id(n)), ', ' ORDER BY n) FROM generate_series(1, 4) n), 'ERROR 2, FAILED 2, SUBMITTED 2, PROCESSING 1',
	'... which have decided, run again, or wait for the report');
SELECT is((SELECT format('%s %s %s %s %s %s %s', version, type, bucket, tries, node, why, lost_at = state_time) FROM twtasks.unknown_outcomes JOIN twtasks.tasks USING (id, version, type, bucket, tries)),
	'2 TEST default 1 test its deadline passed without a result t', 'the row says which node had it, since when, and why');
SELECT pg_temp.task_in('ERROR', pg_temp.id(5)) \g /dev/null
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(6)) \g /dev/null
SELECT pg_temp.finish(pg_temp.id(6), 'accepted', delay_ms => 60000) \g /dev/null
UPDATE twtasks.task SET next_event_time = created, deadline = created WHERE id = pg_temp.id(6);
SELECT twtasks_internal.recover_tasks() \g /dev/null
SELECT is(pg_temp.unknown(), '01 ERROR, 06 ERROR', 'a task that was handed on and not reported is unknown, a failure is not');
SELECT twtasks_internal.start_node('lost') AS lost \gset
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(7)) \g /dev/null
UPDATE twtasks.task SET incarnation = :lost WHERE id = pg_temp.id(7);
UPDATE twtasks.node SET ended = clock_timestamp() WHERE incarnation = :lost;
SELECT twtasks_internal.recover_tasks() \g /dev/null
SELECT is((SELECT node || ': ' || why FROM twtasks.unknown_outcomes WHERE id = pg_temp.id(7)), 'lost: the node that ran it is gone', 'a node that is gone');

-- ---- A late result ----
SELECT pg_temp.finish(pg_temp.id(1), 'done', 1, message => 'paid') \g /dev/null
SELECT is((SELECT late_result || ' ' || (late_at >= lost_at) FROM twtasks.unknown_outcomes WHERE id = pg_temp.id(1)), 'done: paid true', 'a late result stands beside it');
SELECT is((SELECT count(late_result) FROM twtasks.unknown_outcomes WHERE id <> pg_temp.id(1)), 0::bigint, '... and beside no other');

-- ---- Decisions ----
SELECT is((SELECT pg_temp.type(if_done, 'it is paid') FROM twtasks.unknown_outcomes WHERE id = pg_temp.id(1)), 'changed DONE', 'if_done ends a task');
SELECT is((SELECT pg_temp.type(if_not_done, 'not paid') FROM twtasks.unknown_outcomes WHERE id = pg_temp.id(6)), 'changed WAITING', 'if_not_done runs it again');
SELECT is((SELECT string_agg(reason, ', ' ORDER BY reason) FROM twtasks.audit WHERE task_id IN (pg_temp.id(1), pg_temp.id(6))), 'it is paid, not paid', '... with a reason in the audit');
SELECT is(pg_temp.unknown(), '07 ERROR', 'tasks that were decided are gone from the view');
SELECT if_done AS old FROM twtasks.unknown_outcomes WHERE id = pg_temp.id(7) \gset
SELECT pg_temp.change('hold', pg_temp.id(7), 2), pg_temp.change('hold', pg_temp.id(3), 2) \g /dev/null
SELECT is(pg_temp.unknown(), '07 HELD', 'to hold it decides nothing; a held one that runs again afterwards is not unknown');
SELECT is(pg_temp.type(:'old', 'too late'), 'wrong_version HELD', 'a statement of before finds another version');
SELECT pg_temp.change('release', pg_temp.id(7), 3) \g /dev/null
SELECT is(pg_temp.unknown(), '07 ERROR', '... nor does the end of the hold');
SELECT pg_temp.change('hold', pg_temp.id(7), 4) \g /dev/null
SELECT is((SELECT pg_temp.type(if_not_done, 'not paid') FROM twtasks.unknown_outcomes), 'changed WAITING', 'if_not_done runs a held one again');
SELECT pg_temp.lose(8), pg_temp.change('hold', pg_temp.id(8), 2) \g /dev/null
SELECT is((SELECT pg_temp.type(if_done, 'it is paid') FROM twtasks.unknown_outcomes), 'changed DONE', 'if_done ends a held one');

-- ---- Later tries ----
UPDATE twtasks.task SET next_event_time = clock_timestamp() WHERE id = pg_temp.id(6);
SELECT twtasks_internal.promote_tasks() \g /dev/null
SELECT pg_temp.grab(pg_temp.id(6)), pg_temp.finish(pg_temp.id(6), 'error') \g /dev/null
SELECT is((SELECT status || ': ' || error FROM twtasks.tasks WHERE id = pg_temp.id(6)), 'ERROR: its deadline passed without a result', 'an error without words keeps the old ones');
SELECT is(pg_temp.unknown(), NULL, '... and is known all the same');

-- ---- What else could hide one ----
CREATE SCHEMA app;
GRANT USAGE ON SCHEMA app TO PUBLIC;
CREATE FUNCTION app.refuses(tasks twtasks.ended_task[]) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ BEGIN RAISE EXCEPTION 'not in the books'; END $$;
SELECT twtasks.configure_type('TEST', on_end => 'app.refuses') \g /dev/null
SELECT pg_temp.lose(11), pg_temp.lose(12, 'fail') \g /dev/null
SELECT is(pg_temp.unknown(), '11 ERROR, 12 ERROR', 'a function of on_end that fails hides none');
SELECT is((SELECT why FROM twtasks.unknown_outcomes WHERE id = pg_temp.id(12)),
	'its deadline passed without a result; it became FAILED, but function "app.refuses" for on_end failed: not in the books (SQLSTATE P0001)', '... and both reasons are there');
SELECT twtasks.unset_type_options('TEST', 'on_end') \g /dev/null
TRUNCATE twtasks.task_attempt;
DELETE FROM twtasks.task WHERE id = pg_temp.id(6);
SELECT is(pg_temp.unknown(), '11 ERROR, 12 ERROR', 'attempts that are no longer kept hide none');
SELECT is((SELECT count(*) FROM twtasks.unknown_outcomes u JOIN twtasks.tasks t USING (id) WHERE u.lost_at = t.state_time AND u.node IS NULL), 2::bigint, '... but nobody knows the node then');

-- ---- Confirmed ----
CREATE TABLE app.heard (task twtasks.ended_task);
CREATE FUNCTION app.hears(tasks twtasks.ended_task[]) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ INSERT INTO app.heard SELECT t FROM unnest(tasks) t $$;
GRANT INSERT ON app.heard TO PUBLIC;
SELECT is((SELECT concat_ws(' ', t.status, t.version, t.message, coalesce(t.error, '-')) FROM twtasks.tasks t WHERE t.id = pg_temp.id(1)), 'DONE 3 it is paid -',
	'a confirmed task is DONE, and the reason is its message');
SELECT is((SELECT string_agg(result, ' ' ORDER BY result) FROM twtasks.task_attempts WHERE task_id IN (pg_temp.id(1), pg_temp.id(8))), NULL, '... by no try');
SELECT is((SELECT concat_ws(' ', action, from_status, to_status, from_version, to_version, reason) FROM twtasks.audit WHERE task_id = pg_temp.id(1)),
	'confirm ERROR DONE 2 3 it is paid', '... and in the audit');
SELECT pg_temp.task_in('ERROR', pg_temp.id(20)), pg_temp.task_in('HELD', pg_temp.id(21)) \g /dev/null
SELECT is(ARRAY[pg_temp.change('confirm', pg_temp.id(20), 2), pg_temp.change('confirm', pg_temp.id(21), 1)], '{wrong_status,wrong_status}', 'a task whose outcome is known is not confirmed');
SELECT is((SELECT count(*) FROM twtasks.change_tasks('confirm', 'TEST', 'all', ids => ARRAY[pg_temp.id(20), pg_temp.id(21)]) WHERE result <> 'wrong_status'), 0::bigint, '... nor among many');
SELECT pg_temp.lose(22) \g /dev/null
SELECT results_eq($$SELECT right(id::text, 2), result FROM twtasks.change_tasks('confirm', 'TEST', max_tasks => 3, dry_run => true)$$,
	$$VALUES ('11', 'would_change'), ('12', 'would_change'), ('22', 'would_change')$$, '... and without ids they are left out');
SELECT throws_ok($$SELECT * FROM twtasks.change_tasks('confirm', 'TEST', 'test', ids => ARRAY[pg_temp.id(22)], expect => 2)$$, '40001', 'the filter matches 3 tasks by now, and not 2',
	'... also where the preview is counted again');
SELECT twtasks.configure_type('TEST', on_end => 'app.hears', when_done => 'delete') \g /dev/null
UPDATE twtasks.task SET data = '{"iban": 1}' WHERE id = pg_temp.id(22);
SELECT is(pg_temp.change('confirm', pg_temp.id(22), 2), 'changed', 'a function of on_end');
SELECT is((SELECT concat_ws(' ', (h.task).status, (h.task).message, coalesce((h.task).error, '-')) FROM app.heard h), 'DONE test -', '... hears of it');
SELECT is((SELECT f.data FROM twtasks.finished_task f WHERE f.id = pg_temp.id(22)), NULL, 'when_done clears its data');
SELECT is((SELECT f.status::text FROM twtasks.finished_task f WHERE f.id = pg_temp.id(22)), 'DONE', '... and a row stays, even where none should');
SELECT pg_temp.lose(23) \g /dev/null
SELECT twtasks.configure_type('TEST', on_end => 'app.refuses') \g /dev/null
SELECT is(pg_temp.change('confirm', pg_temp.id(23), 2) || ' ' || pg_temp.state(pg_temp.id(23)), 'changed ERROR 3', 'what a function refuses stays in ERROR');
SELECT is((SELECT why FROM twtasks.unknown_outcomes WHERE id = pg_temp.id(23)),
	'its deadline passed without a result; it became DONE, but function "app.refuses" for on_end failed: not in the books (SQLSTATE P0001)', '... and unknown');
SELECT pg_temp.change('hold', pg_temp.id(23), 3), pg_temp.change('confirm', pg_temp.id(23), 4) \g /dev/null
SELECT is(pg_temp.state(pg_temp.id(23)) || ' ' || (SELECT if_done FROM twtasks.unknown_outcomes WHERE id = pg_temp.id(23)),
	format('ERROR 5 SELECT * FROM twtasks.confirm_task(%L, 5, ''...'')', pg_temp.id(23)), '... also if it refuses again, from HELD');
SELECT is(pg_temp.change('fail', pg_temp.id(23), 5) || ' ' || pg_temp.state(pg_temp.id(23)), 'changed ERROR 6', '... or refuses to give it up');
SELECT twtasks.drop_type_policy('TEST') \g /dev/null
SELECT is((SELECT pg_temp.type(if_done, 'it is booked') FROM twtasks.unknown_outcomes WHERE id = pg_temp.id(23)), 'changed DONE', '... until its confirmation is taken');
SELECT is((SELECT concat_ws(' ', t.version, t.message, coalesce(t.error, '-')) FROM twtasks.tasks t WHERE t.id = pg_temp.id(23)), '7 it is booked -', '... whose reason is its message');

-- ---- Rights ----
SET LOCAL ROLE twtasks_viewer;
SELECT count(*) AS seen FROM twtasks.unknown_outcomes \gset
RESET ROLE;
SELECT is(:seen, 2, 'a viewer reads it');

-- ---- Plan ----
CREATE FUNCTION pg_temp.plan() RETURNS SETOF text
LANGUAGE plpgsql
AS $$ BEGIN RETURN QUERY EXECUTE 'EXPLAIN SELECT * FROM twtasks.unknown_outcomes'; END $$;
SET LOCAL enable_seqscan = off;
SELECT ok(EXISTS (SELECT FROM pg_temp.plan() p WHERE p ~ 'task_timed'), 'it reads no task that waits or is queued');

SELECT finish();
ROLLBACK;
