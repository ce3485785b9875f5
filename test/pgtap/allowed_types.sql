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
SELECT is((SELECT array_agg(DISTINCT added_by) FROM twtasks.tasks), '{regress_mailer}', 'every way of adding keeps the role that added the task');

-- It is.
SELECT is(twtasks.allow_type('PAYOUT|*', 'regress_payments'), true, 'allow_type() restricts a type to a role');
SELECT is(twtasks.allow_type('PAYOUT|*', 'regress_payments'), false, 'allowing it again changes nothing');
SELECT is((SELECT jsonb_agg(to_jsonb(a) - 'changed_at') FROM twtasks.allowed_types a), jsonb_build_array(jsonb_build_object('pattern', 'PAYOUT|*', 'role', 'regress_payments', 'changed_by', session_user)), 'the view allowed_types shows it');
SELECT is(pg_temp.all_ways('regress_mailer'), '42501 42501 42501 42501 42501', 'another role cannot add the type in any way');
SELECT is(pg_temp.all_ways('regress_payer'), 'added added added added added', 'a member of the role can add it in every way');
SELECT is(pg_temp.tried('regress_mailer', $$SELECT result FROM twtasks.add_task('EMAIL')$$), 'added', 'any producer can add other types');
SELECT is(pg_temp.tried('regress_mailer', $$SELECT result FROM twtasks.add_task('PAYOUT')$$), 'added', 'a type that does not match the pattern is free');
SELECT is((SELECT result FROM twtasks.add_task('PAYOUT|EUR')), 'added', 'a superuser can add the type');
\if :is_sql
SELECT skip('SQL cannot tell the caller of a SECURITY DEFINER function from its owner', 2);
\else
SELECT is(pg_temp.tried('regress_mailer', 'SELECT app.pay()'), 'added', 'a SECURITY DEFINER function adds with the rights of its owner');
SELECT is((SELECT added_by FROM twtasks.tasks ORDER BY created DESC LIMIT 1), 'regress_payer', 'the task keeps the owner of the function');
\endif
SET LOCAL ROLE regress_mailer;
SELECT throws_ok($$SELECT twtasks.add_task('PAYOUT|EUR')$$, '42501', 'permission denied to add tasks of type "PAYOUT|EUR"', 'the error names the type');
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
SELECT is(current_setting('test.hint'), 'An administrator can say: SELECT twtasks.allow_type(''PAYOUT|*'', ''regress_mailer'').', 'the hint contains the call that helps');

-- The most special pattern counts.
SELECT is(twtasks.allow_type('PAYOUT|EUR', 'regress_mailer'), true, 'a more specific pattern can be restricted too');
SELECT is(pg_temp.tried('regress_mailer', $$SELECT result FROM twtasks.add_task('PAYOUT|EUR')$$), 'added', 'the role of the more specific pattern can add the type');
SELECT is(pg_temp.tried('regress_payer', $$SELECT result FROM twtasks.add_task('PAYOUT|EUR')$$), '42501', 'the role of the less specific pattern no longer can');
SELECT is(twtasks.allow_type('PAYOUT|EUR', 'regress_payments'), true, 'a pattern can have several roles');
SELECT is(pg_temp.tried('regress_payer', $$SELECT result FROM twtasks.add_task('PAYOUT|EUR')$$), 'added', 'each of these roles can add the type');
SELECT is(twtasks.disallow_type('PAYOUT|EUR', 'regress_mailer'), true, 'disallow_type() takes a role away');
SELECT is(pg_temp.tried('regress_mailer', $$SELECT result FROM twtasks.add_task('PAYOUT|EUR')$$), '42501', 'the role cannot add the type from then on');
SELECT is(twtasks.disallow_type('PAYOUT|EUR', 'regress_mailer'), false, 'disallowing it again changes nothing');

-- Schedules add as who made them.
SELECT is(pg_temp.tried('regress_clerk', $$SELECT result FROM twtasks.schedule('pay', '0 3 * * *', 'PAYOUT|EUR')$$), '42501', 'an operator cannot schedule a type that it may not add');
GRANT regress_payments TO regress_clerk;
SELECT is(pg_temp.tried('regress_clerk', $$SELECT result FROM twtasks.schedule('pay', '0 3 * * *', 'PAYOUT|EUR')$$), 'added', 'an operator that may add the type can schedule it');
SELECT is((SELECT result FROM twtasks.run_schedule_now('pay')), 'added', 'the schedule adds a task');
SELECT is((SELECT added_by FROM twtasks.tasks ORDER BY created DESC LIMIT 1), 'regress_clerk', 'the task of a schedule keeps the role that made the schedule');
REVOKE regress_payments FROM regress_clerk;
SELECT throws_ok($$SELECT twtasks.run_schedule_now('pay')$$, '42501', NULL, 'a schedule cannot add what its role may no longer add');
UPDATE twtasks.schedule SET look_at = '2020-01-01', next_run = '2020-01-01';
SELECT is((SELECT failed FROM twtasks_internal.run_schedules()), 1::bigint, 'the clock does not let it add the task either');
SELECT matches((SELECT problem FROM twtasks.schedules), 'permission denied to add tasks of type "PAYOUT\|EUR"', 'the view schedules shows the reason');

-- Roles that are no more, rollbacks, mistakes.
CREATE ROLE regress_gone;
SELECT is(twtasks.allow_type('EMAIL', 'regress_gone'), true, 'a type can be restricted to a role without members');
DROP ROLE regress_gone;
SELECT is(pg_temp.tried('regress_mailer', $$SELECT result FROM twtasks.add_task('EMAIL')$$), '42501', 'a dropped role lets nobody in');
SELECT is(twtasks.disallow_type('EMAIL', 'regress_gone'), true, 'a dropped role can be disallowed');
SAVEPOINT s;
SELECT twtasks.allow_type('EMAIL', 'regress_payments') \g /dev/null
SELECT is(pg_temp.tried('regress_mailer', $$SELECT result FROM twtasks.add_task('EMAIL')$$), '42501', 'a restriction counts in its own transaction');
ROLLBACK TO s;
SELECT is(pg_temp.tried('regress_mailer', $$SELECT result FROM twtasks.add_task('EMAIL')$$), 'added', 'a rollback lifts it');
SELECT throws_ok($$SELECT twtasks.allow_type('EMAIL', 'regress_nobody')$$, '42704', 'role "regress_nobody" does not exist', 'a role that does not exist is refused');
SELECT throws_ok($$SELECT twtasks.allow_type('E MAIL', 'regress_payer')$$, '22023', NULL, 'a malformed pattern is refused');
SELECT is(pg_temp.tried('regress_clerk', $$SELECT twtasks.allow_type('EMAIL', 'regress_clerk')$$), '42501', 'an operator cannot allow itself a type');

-- Through the history and back.
SELECT id FROM twtasks.tasks WHERE added_by = 'regress_mailer' AND type = 'EMAIL' LIMIT 1 \gset
SELECT twtasks.cancel_task(:'id', 0), twtasks.reopen_task(:'id', 1) \g /dev/null
SELECT is((SELECT added_by FROM twtasks.tasks WHERE id = :'id'), 'regress_mailer', 'a task that is reopened keeps who added it');

SELECT * FROM finish();
ROLLBACK;
