--
-- Results that come too late: which functions hear of them, what they hear, and
-- what a function that fails changes.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(28);

CREATE ROLE regress_late;
CREATE TABLE heard (place serial, as_role name, id uuid, version bigint, result text, message text, outcome jsonb);
GRANT INSERT, SELECT ON heard TO regress_late;
GRANT USAGE ON SEQUENCE heard_place_seq TO regress_late;
GRANT USAGE ON SCHEMA twtasks TO regress_late;
GRANT CREATE, USAGE ON SCHEMA twtasks_internal TO regress_late;

-- The schema's owner alone makes objects in it, as CREATE EXTENSION does.
CREATE FUNCTION pg_temp.make_late(name text, body text, result text DEFAULT 'void') RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE FUNCTION twtasks_internal.%I(late twtasks.late_result[]) RETURNS %s LANGUAGE plpgsql
		SECURITY DEFINER SET search_path = public, pg_temp AS %L', name, result, body);
	EXECUTE format('ALTER FUNCTION twtasks_internal.%I OWNER TO regress_late', name);
	EXECUTE format('REVOKE ALL ON FUNCTION twtasks_internal.%I FROM PUBLIC', name);
	EXECUTE format('GRANT EXECUTE ON FUNCTION twtasks_internal.%I TO twtasks_owner', name);
	IF to_regrole('twtasks_caller') IS NOT NULL THEN		-- the SQL edition has it
		EXECUTE format('GRANT EXECUTE ON FUNCTION twtasks_internal.%I TO twtasks_caller', name);
	END IF;
END $$;
CREATE FUNCTION pg_temp.heard() RETURNS text LANGUAGE sql
AS $$ SELECT string_agg(format('%s %s %s', right(id::text, 2), version, result), ', ' ORDER BY place) FROM heard $$;
CREATE FUNCTION pg_temp.finish_all(ids integer[], versions bigint[], results text[], raises boolean DEFAULT false, grabs bigint[] DEFAULT NULL) RETURNS text
LANGUAGE sql
AS $$
	SELECT string_agg(right(f.id::text, 2) || ' ' || f.status, ', ' ORDER BY f.id)
	FROM twtasks_internal.finish_tasks((SELECT array_agg(pg_temp.id(i) ORDER BY n) FROM unnest(ids) WITH ORDINALITY u(i, n)),
		versions, results, '{0}', '{why}', pg_temp.node(), pg_temp.token(), raises => raises, grabs => grabs,
		outcomes => '{"{\"a\": 1}"}') f
$$;

-- Nobody listens.
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(n)) FROM generate_series(1, 9) n \g /dev/null
SELECT is(pg_temp.finish_all('{1}', '{7}', '{done}'), NULL, 'a late result without a function changes nothing');

SELECT pg_temp.make_late('late_b', $$BEGIN
	INSERT INTO heard (as_role, id, version, result, message, outcome) SELECT current_user, l.* FROM unnest(late) l;
END$$);

-- Results that are late, and results that are not.
SELECT is(pg_temp.finish_all('{1,2}', '{1}', '{done,retry}'), '01 DONE, 02 WAITING', 'results in time are taken');
SELECT is(pg_temp.heard(), NULL, 'no function hears of results in time');
SELECT is(pg_temp.finish_all('{1,3,2,4}', '{1}', '{done,done,error,retry}'), '03 DONE, 04 WAITING', 'late results do not stop the others');
SELECT is(pg_temp.heard(), '01 1 done, 02 1 error', 'a function hears of all late results, in their order');
SELECT is((SELECT jsonb_agg(DISTINCT jsonb_build_array(as_role, message, outcome)) FROM heard), '[["regress_late", "why", {"a": 1}]]'::jsonb,
	'a function runs as its owner, and gets message and outcome');
TRUNCATE heard;
SELECT is(pg_temp.finish_all('{1,2,3}', '{1}', '{release,accepted,cancelled}'), NULL, 'results that say nothing of the work are refused too');
SELECT is(pg_temp.heard(), NULL, 'no function hears of those');
SELECT is(pg_temp.finish_all('{1,2,3,4}', '{1}', '{delete,done,retry,repeat}'), NULL, 'a call that is sent again finishes nothing');
SELECT is(pg_temp.heard(), '01 1 delete, 02 1 done, 03 1 retry, 04 1 repeat', 'a function hears of a call that is sent again');
TRUNCATE heard;
SELECT is(pg_temp.finish_all('{98}', '{1}', '{done}'), NULL, 'a task that never was cannot be finished');
SELECT is(pg_temp.heard(), '98 1 done', 'a function must know its tasks itself');
TRUNCATE heard;

-- Two tries of one task in one call.
UPDATE twtasks.task SET next_event_time = created, deadline = created, stuck = 'retry' WHERE id = pg_temp.id(5);
SELECT twtasks_internal.recover_tasks() \g /dev/null
SELECT pg_temp.grab(pg_temp.id(5)) AS again \gset
SELECT is(pg_temp.finish_all('{5,5}', ARRAY[1, :again]::bigint[], '{done,retry}'), '05 WAITING', 'the later try is finished');
SELECT is(pg_temp.heard(), '05 1 done', 'the earlier try is late');
TRUNCATE heard;
SELECT is(pg_temp.finish_all('{6,7}', '{1}', '{accepted,done}'), '06 PROCESSING, 07 DONE', 'a task may be handed on');
SELECT is(pg_temp.finish_all('{6,7,8}', '{1}', '{accepted,error,done}') || ': ' || pg_temp.heard(), '06 PROCESSING, 08 DONE: 07 1 error', 'a task that is handed on is not late');
TRUNCATE heard;

-- The callers that report late results.
SET LOCAL ROLE twtasks_web;
SELECT result || ' ' || status AS answer FROM twtasks.finish_task(pg_temp.id(8), 1, 'error', 'no', outcome => '{"b": 2}') \gset
RESET ROLE;
SELECT is(:'answer'::text, 'wrong_version DONE', 'finish_task() says that a result is late');
SELECT is((SELECT jsonb_build_array(as_role, id, version, result, message, outcome) FROM heard),
	jsonb_build_array('regress_late', pg_temp.id(8), 1, 'error', 'no', '{"b": 2}'::jsonb), 'a function hears of late results of finish_task()');
TRUNCATE heard;
SELECT is(pg_temp.finish_all('{8}', '{1}', '{done}', raises => true), NULL, 'a handler in the database, whose work is undone, may be late');
SELECT is(pg_temp.heard(), NULL, 'no function hears of work that is undone');

-- With a function of on_end that fails for one task, and comes to a deadlock for another.
CREATE FUNCTION public.on_late_end(tasks twtasks.ended_task[]) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF EXISTS (SELECT FROM unnest(tasks) t WHERE t.id = '00000000-0000-0000-0000-000000000011') THEN
		RAISE EXCEPTION 'no';
	ELSIF EXISTS (SELECT FROM unnest(tasks) t WHERE t.id = '00000000-0000-0000-0000-000000000012') THEN
		RAISE EXCEPTION 'no' USING ERRCODE = 'deadlock_detected';
	END IF;
END $$;
SELECT twtasks.configure_type('TEST', on_end => 'public.on_late_end') \g /dev/null
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(n)) FROM generate_series(10, 12) n \g /dev/null
SET client_min_messages = error;
SELECT is(pg_temp.finish_all('{10,8,11,12}', '{1}', '{done}') || ': ' || pg_temp.heard(), '10 DONE, 11 ERROR, 12 PROCESSING: 08 1 done', 'a task whose function of on_end fails is not late, nor one that is to be finished again');
RESET client_min_messages;
TRUNCATE heard;
SELECT twtasks.drop_type_policy('TEST') \g /dev/null

-- A cancel that was asked for.
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(13)) \g /dev/null
SELECT twtasks.request_cancel(pg_temp.id(13), 1, 'test') \g /dev/null
SELECT is(pg_temp.finish_all('{8,13}', '{1}', '{error}') || ': ' || pg_temp.heard(), '13 CANCELLED: 08 1 error', 'a task that is cancelled meanwhile is not late');
TRUNCATE heard;

-- Functions that fail.
SELECT pg_temp.make_late('late_a', $$BEGIN
	INSERT INTO heard (result) VALUES ('half'); RAISE EXCEPTION 'no' USING ERRCODE = 'P0042';
END$$);
SELECT pg_temp.make_late('late_wrong', 'BEGIN RETURN 1; END', 'integer');
SET client_min_messages = error;
SELECT is(pg_temp.finish_all('{8,9}', '{1}', '{error,retry}'), '09 WAITING', 'a function that fails stops no task');
SELECT is(pg_temp.heard(), '08 1 error', 'a function that fails leaves nothing behind, and does not stop others');
TRUNCATE heard;
\if :is_sql
SELECT skip('the SQL edition limits no time of a function', 2);
\else
SELECT pg_temp.make_late('late_aa', 'BEGIN LOOP PERFORM 1; END LOOP; END');
SET LOCAL twtasks.function_timeout = '50ms';
SELECT is(pg_temp.finish_all('{8}', '{1}', '{error}') IS NULL, true, 'a function that takes too long is ended');
SELECT is(pg_temp.heard(), '08 1 error', 'it does not stop others');
\endif
RESET client_min_messages;

SELECT is((SELECT count(*) FROM pg_proc p WHERE p.pronamespace = 'twtasks_internal'::regnamespace AND p.prorettype = 'void'::regtype
		   AND p.proargtypes[0] = 'twtasks.late_result[]'::regtype AND p.proowner = 'twtasks_owner'::regrole), 1::bigint, 'the product itself has one, which keeps them as attempts');
SET LOCAL ROLE twtasks_worker;
SELECT throws_ok($$SELECT twtasks_internal.tell_late('{}', '{}', '{}', '{}', '{}')$$, '42501', NULL, 'a sidecar cannot tell functions by itself');
RESET ROLE;

SELECT * FROM finish();
ROLLBACK;
