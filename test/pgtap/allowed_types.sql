--
-- Roles that may add tasks of a type: nothing changes while no row says so, and
-- then only members may, in whichever way a task is added; who added a task is
-- kept with it.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(38);
SELECT twtasks.is_enabled() \g /dev/null
CREATE ROLE regress_mailer IN ROLE twtasks_producer;
CREATE ROLE regress_payments;
CREATE ROLE regress_payer IN ROLE twtasks_producer, regress_payments;
CREATE ROLE regress_clerk IN ROLE twtasks_operator, twtasks_producer;
GRANT regress_mailer, regress_payer, regress_clerk TO CURRENT_USER;
CREATE SCHEMA app;
GRANT USAGE ON SCHEMA app TO PUBLIC;
CREATE FUNCTION app.pay() RETURNS text LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT (twtasks.add_task('PAYOUT|EUR')).result $$;
ALTER FUNCTION app.pay() OWNER TO regress_payer;

-- Runs a statement as a role; returns 'added', or the SQLSTATE.
CREATE FUNCTION pg_temp.tried(role name, statement text) RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
	came text;
BEGIN
	EXECUTE format('SET LOCAL ROLE %I', role);
	BEGIN
		EXECUTE statement INTO came;
	EXCEPTION WHEN OTHERS THEN
		came := SQLSTATE;
	END;
	RESET ROLE;
	RETURN came;
END $$;
CREATE TEMPORARY TABLE ways (n integer, statement text);
INSERT INTO ways VALUES
	(1, $$SELECT result FROM twtasks.add_task('PAYOUT|EUR')$$),
	(2, $$SELECT result FROM twtasks.add_task('PAYOUT|EUR', task_id => gen_random_uuid())$$),
	(3, $$SELECT result FROM twtasks.add_tasks(ARRAY[ROW('PAYOUT|EUR', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::twtasks.new_task])$$),
	(4, $$SELECT result FROM twtasks.add_tasks('PAYOUT|EUR', ARRAY['{}']::jsonb[])$$),
	(5, $$SELECT result FROM twtasks.add_tasks('[{"type": "EMAIL"}, {"type": "PAYOUT|EUR"}]'::jsonb) OFFSET 1$$);
CREATE FUNCTION pg_temp.all_ways(role name) RETURNS text
LANGUAGE sql
AS $$ SELECT string_agg(pg_temp.tried(role, statement), ' ' ORDER BY n) FROM ways $$;

-- Nothing is restricted.
SELECT is(pg_temp.all_ways('regress_mailer'), 'added added added added added', 'without a row any producer may add any type');
SELECT is((SELECT array_agg(DISTINCT added_by) FROM twtasks.tasks), '{regress_mailer}', 'who added is kept with the task, whatever the way');

-- It is.
SELECT is(twtasks.allow_type('PAYOUT|*', 'regress_payments'), true, 'a type is allowed for a role');
SELECT is(twtasks.allow_type('PAYOUT|*', 'regress_payments'), false, 'once');
SELECT is((SELECT jsonb_agg(to_jsonb(a) - 'changed_at') FROM twtasks.allowed_types a), jsonb_build_array(jsonb_build_object('pattern', 'PAYOUT|*', 'role', 'regress_payments', 'changed_by', session_user)), 'a view shows it');
SELECT is(pg_temp.all_ways('regress_mailer'), '42501 42501 42501 42501 42501', 'others may not add it, in no way');
SELECT is(pg_temp.all_ways('regress_payer'), 'added added added added added', 'a member may');
SELECT is(pg_temp.tried('regress_mailer', $$SELECT result FROM twtasks.add_task('EMAIL')$$), 'added', 'other types are free');
SELECT is(pg_temp.tried('regress_mailer', $$SELECT result FROM twtasks.add_task('PAYOUT')$$), 'added', 'so is one that does not fit');
SELECT is((SELECT result FROM twtasks.add_task('PAYOUT|EUR')), 'added', 'a superuser may');
SELECT is(pg_temp.tried('regress_mailer', 'SELECT app.pay()'), 'added', 'a function adds as its owner');
SELECT is((SELECT added_by FROM twtasks.tasks ORDER BY created DESC LIMIT 1), 'regress_payer', 'which is kept');
SET LOCAL ROLE regress_mailer;
SELECT throws_ok($$SELECT twtasks.add_task('PAYOUT|EUR')$$, '42501', 'permission denied to add tasks of type "PAYOUT|EUR"', 'the message names the type');
DO $$
DECLARE
	hint text;
BEGIN
	PERFORM twtasks.add_task('PAYOUT|EUR');
EXCEPTION WHEN insufficient_privilege THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	PERFORM set_config('test.hint', hint, true);
END $$;
RESET ROLE;
SELECT is(current_setting('test.hint'), 'An administrator can say: SELECT twtasks.allow_type(''PAYOUT|*'', ''regress_mailer'').', 'the hint has what to type');

-- The most special pattern counts.
SELECT is(twtasks.allow_type('PAYOUT|EUR', 'regress_mailer'), true, 'a more special pattern');
SELECT is(pg_temp.tried('regress_mailer', $$SELECT result FROM twtasks.add_task('PAYOUT|EUR')$$), 'added', 'lets its role in');
SELECT is(pg_temp.tried('regress_payer', $$SELECT result FROM twtasks.add_task('PAYOUT|EUR')$$), '42501', 'and no other');
SELECT is(twtasks.allow_type('PAYOUT|EUR', 'regress_payments'), true, 'of one pattern several roles');
SELECT is(pg_temp.tried('regress_payer', $$SELECT result FROM twtasks.add_task('PAYOUT|EUR')$$), 'added', 'may');
SELECT is(twtasks.disallow_type('PAYOUT|EUR', 'regress_mailer'), true, 'it is taken back');
SELECT is(pg_temp.tried('regress_mailer', $$SELECT result FROM twtasks.add_task('PAYOUT|EUR')$$), '42501', 'and counts at once');
SELECT is(twtasks.disallow_type('PAYOUT|EUR', 'regress_mailer'), false, 'once');

-- Schedules add as who made them.
SELECT is(pg_temp.tried('regress_clerk', $$SELECT result FROM twtasks.schedule('pay', '0 3 * * *', 'PAYOUT|EUR')$$), '42501', 'an operator who may not add it cannot schedule it');
GRANT regress_payments TO regress_clerk;
SELECT is(pg_temp.tried('regress_clerk', $$SELECT result FROM twtasks.schedule('pay', '0 3 * * *', 'PAYOUT|EUR')$$), 'added', 'one who may can');
SELECT is((SELECT result FROM twtasks.run_schedule_now('pay')), 'added', 'it runs');
SELECT is((SELECT added_by FROM twtasks.tasks ORDER BY created DESC LIMIT 1), 'regress_clerk', 'in the name of who made it');
REVOKE regress_payments FROM regress_clerk;
SELECT throws_ok($$SELECT twtasks.run_schedule_now('pay')$$, '42501', NULL, 'not any more when that role may not');
UPDATE twtasks.schedule SET look_at = '2020-01-01', next_run = '2020-01-01';
SELECT is((SELECT failed FROM twtasks_internal.run_schedules()), 1::bigint, 'by the clock neither');
SELECT matches((SELECT problem FROM twtasks.schedules), 'permission denied to add tasks of type "PAYOUT\|EUR"', 'a view says why');

-- Roles that are no more, rollbacks, mistakes.
CREATE ROLE regress_gone;
SELECT is(twtasks.allow_type('EMAIL', 'regress_gone'), true, 'a role without members');
DROP ROLE regress_gone;
SELECT is(pg_temp.tried('regress_mailer', $$SELECT result FROM twtasks.add_task('EMAIL')$$), '42501', 'lets nobody in, also when it is no more');
SELECT is(twtasks.disallow_type('EMAIL', 'regress_gone'), true, 'and can be taken back');
SAVEPOINT s;
SELECT twtasks.allow_type('EMAIL', 'regress_payments') \g /dev/null
SELECT is(pg_temp.tried('regress_mailer', $$SELECT result FROM twtasks.add_task('EMAIL')$$), '42501', 'restricted');
ROLLBACK TO s;
SELECT is(pg_temp.tried('regress_mailer', $$SELECT result FROM twtasks.add_task('EMAIL')$$), 'added', 'and rolled back');
SELECT throws_ok($$SELECT twtasks.allow_type('EMAIL', 'regress_nobody')$$, '42704', 'role "regress_nobody" does not exist', 'a role that does not exist');
SELECT throws_ok($$SELECT twtasks.allow_type('E MAIL', 'regress_payer')$$, '22023', NULL, 'what is no pattern');
SELECT is(pg_temp.tried('regress_clerk', $$SELECT twtasks.allow_type('EMAIL', 'regress_clerk')$$), '42501', 'an operator cannot allow itself a type');

-- Through the history and back.
SELECT id FROM twtasks.tasks WHERE added_by = 'regress_mailer' AND type = 'EMAIL' LIMIT 1 \gset
SELECT twtasks.cancel_task(:'id', 0), twtasks.reopen_task(:'id', 1) \g /dev/null
SELECT is((SELECT added_by FROM twtasks.tasks WHERE id = :'id'), 'regress_mailer', 'a task that is reopened keeps who added it');

SELECT * FROM finish();
ROLLBACK;
