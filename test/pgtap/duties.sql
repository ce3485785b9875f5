--
-- Duties that other extensions bring: who calls them, as whom, and what one
-- that fails changes.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(13);

SELECT is(twtasks_internal.run_duties(), NULL, 'without a duty there is nothing to call');

CREATE ROLE regress_duty;
GRANT USAGE ON SCHEMA twtasks_internal TO regress_duty;
CREATE TABLE called (duty text, as_role name);
GRANT INSERT ON called TO regress_duty, twtasks_owner;

-- The schema's owner alone makes objects in it, as CREATE EXTENSION does.
CREATE FUNCTION pg_temp.make_duty(name text, body text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE FUNCTION twtasks_internal.%I() RETURNS bigint LANGUAGE plpgsql
		SECURITY DEFINER SET search_path = public, pg_temp AS %L', name, body);
	EXECUTE format('ALTER FUNCTION twtasks_internal.%I() OWNER TO regress_duty', name);
	EXECUTE format('REVOKE ALL ON FUNCTION twtasks_internal.%I() FROM PUBLIC', name);
	EXECUTE format('GRANT EXECUTE ON FUNCTION twtasks_internal.%I() TO twtasks_owner', name);
	IF to_regrole('twtasks_caller') IS NOT NULL THEN		-- the SQL edition has it
		EXECUTE format('GRANT EXECUTE ON FUNCTION twtasks_internal.%I() TO twtasks_caller', name);
	END IF;
END $$;
GRANT CREATE ON SCHEMA twtasks_internal TO regress_duty;

SELECT pg_temp.make_duty('duty_b', 'BEGIN INSERT INTO called VALUES (''b'', current_user); RETURN 5000; END');
SET ROLE twtasks_worker;
SELECT is(twtasks_internal.run_duties(), 5000::bigint, 'a duty says when it wants the next call');
RESET ROLE;
SELECT is((SELECT array_agg(as_role) FROM called), '{regress_duty}'::name[], 'a duty runs as its owner');

-- The library runs it as its owner, and the SQL edition refuses it.
SELECT pg_temp.make_duty('duty_invoker', 'BEGIN INSERT INTO called VALUES (''invoker'', current_user); RETURN NULL; END');
ALTER FUNCTION twtasks_internal.duty_invoker SECURITY INVOKER;
SET client_min_messages = error;
SELECT twtasks_internal.run_duties() \gset ignored_
RESET client_min_messages;
SELECT is((SELECT count(*) FROM called WHERE as_role <> 'regress_duty'), 0::bigint, 'no duty of another role runs as the owner of twtasks');
DROP FUNCTION twtasks_internal.duty_invoker;

SELECT pg_temp.make_duty('duty_c', 'BEGIN INSERT INTO called VALUES (''c'', current_user); RETURN NULL; END');
SELECT is(twtasks_internal.run_duties(), 5000::bigint, 'a duty may leave the time to others');
SELECT pg_temp.make_duty('duty_d', 'BEGIN RETURN -1; END');
SELECT is(twtasks_internal.run_duties(), 0::bigint, 'a time that has passed is now');
DROP FUNCTION twtasks_internal.duty_d;

TRUNCATE called;
SELECT pg_temp.make_duty('duty_a', 'BEGIN INSERT INTO called VALUES (''a'', current_user); PERFORM 1 / 0; RETURN 1; END');
SET client_min_messages = error;
SELECT is(twtasks_internal.run_duties(), 3000::bigint, 'a duty that fails is called again in 3 s');
SELECT is((SELECT array_agg(duty ORDER BY duty) FROM called), '{b,c}', 'it leaves nothing behind, and does not stop others');

TRUNCATE called;
\if :is_sql
SELECT skip('the SQL edition limits no time of a function', 2);
\else
SELECT pg_temp.make_duty('duty_slow', 'BEGIN LOOP PERFORM 1; END LOOP; END');
SET twtasks.function_timeout = '50ms';
SELECT is(twtasks_internal.run_duties(), 3000::bigint, 'a duty that takes too long is ended');
SELECT is((SELECT array_agg(duty ORDER BY duty) FROM called), '{b,c}', 'and does not stop others');
RESET twtasks.function_timeout;
\endif
RESET client_min_messages;
SELECT is((SELECT count(*) FROM pg_proc p WHERE p.proname ^@ 'duty_' AND p.pronamespace = 'twtasks'::regnamespace), 0::bigint,
	'the product itself has no duty of this kind');

TRUNCATE called;
UPDATE twtasks.adoption SET ended = now() WHERE ended IS NULL;
SELECT is(twtasks_internal.run_duties(), NULL, 'a copy that is not adopted calls no duty');
SELECT is((SELECT count(*) FROM called), 0::bigint, 'not one');

SELECT * FROM finish();
ROLLBACK;
