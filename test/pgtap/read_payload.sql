--
-- Payloads are read by request_payload() and read_payload() alone, and searched by
-- request_search() and search_payloads(): by the roles that may read those of the type,
-- and with a row for each request.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(45);
CREATE ROLE regress_support IN ROLE twtasks_payload_viewer;
CREATE ROLE regress_payments;
CREATE ROLE regress_treasurer IN ROLE twtasks_payload_viewer, regress_payments;
CREATE ROLE regress_web LOGIN NOINHERIT IN ROLE twtasks_web, regress_support;
GRANT regress_support, regress_treasurer TO CURRENT_USER;
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

-- Asks, and reads as if the request had been committed.
CREATE FUNCTION pg_temp.read(role name, task_id uuid) RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
	number constant text := pg_temp.tried(role, format('SELECT twtasks.request_payload(%L, ''a test'')', task_id));
BEGIN
	UPDATE twtasks.payload_read SET asked_in = '3' WHERE id = number::bigint;
	RETURN pg_temp.tried(role, format('SELECT concat_ws('' '', type, data, encode(payload, ''hex''), context, outcome) FROM twtasks.read_payload(%s)', number));
END $$;
SELECT twtasks.add_task('PAYOUT|EUR', '{"iban": "DE1", "amount": 1.10}', task_id => pg_temp.id(1), context => '{"request": "r"}') \g /dev/null
SELECT twtasks.add_task('MAIL', NULL, payload => '\x00ff', task_id => pg_temp.id(2)) \g /dev/null
SELECT pg_temp.task_in('DONE', pg_temp.id(3)) \g /dev/null
UPDATE twtasks.finished_task SET type = 'PAYOUT|EUR', data = '{"iban": "DE3"}', outcome = '{"fee": 0.10}' WHERE id = pg_temp.id(3);

SELECT is(pg_temp.read('regress_support', pg_temp.id(1)), '42501', 'nobody may read payloads before somebody is allowed to');
SELECT is((SELECT count(*) FROM twtasks.payload_read WHERE was_denied AND task_id = pg_temp.id(1)), 1::bigint, 'a denied request has a row');
SELECT is(twtasks.allow_payload('*', 'regress_support'), true, 'allow_payload() allows a role');
SELECT is(twtasks.allow_payload('*', 'regress_support'), false, 'allowing it again changes nothing');
SELECT is(pg_temp.read('regress_support', pg_temp.id(1)), 'PAYOUT|EUR {"iban": "DE1", "amount": 1.10} {"request": "r"}', 'an allowed role reads data and context');
SELECT is(pg_temp.read('regress_support', pg_temp.id(2)), 'MAIL 00ff', 'it reads a payload byte for byte');
SELECT is(pg_temp.read('regress_support', pg_temp.id(3)), 'PAYOUT|EUR {"iban": "DE3"} {"fee": 0.10}', 'it reads payload and outcome of a finished task');
SELECT is(twtasks.allow_payload('PAYOUT|*', 'regress_payments'), true, 'a more special pattern is allowed to another role');
SELECT is(pg_temp.read('regress_support', pg_temp.id(1)), '42501', 'then only the more special pattern counts for its types');
SELECT is(pg_temp.read('regress_support', pg_temp.id(3)), '42501', '... also for outcomes');
SELECT is(pg_temp.read('regress_support', pg_temp.id(2)), 'MAIL 00ff', 'other types stay readable');
SELECT is(pg_temp.read('regress_treasurer', pg_temp.id(1)), 'PAYOUT|EUR {"iban": "DE1", "amount": 1.10} {"request": "r"}', 'a member of the allowed role reads');
SELECT is(pg_temp.read('regress_treasurer', pg_temp.id(2)), '42501', 'it reads no other types');
SELECT is((SELECT array_agg(a.name || ' ' || (a.after ->> 'role') ORDER BY a.id) FROM twtasks.policy_audit a WHERE a.kind = 'payload'),
	'{* regress_support,PAYOUT|* regress_payments}', 'the audit has who was allowed');

-- Refused calls.
SELECT is(pg_temp.tried('twtasks_viewer', format('SELECT twtasks.request_payload(%L, ''x'')', pg_temp.id(1))), '42501', 'a viewer may not ask');
SELECT is(pg_temp.tried('twtasks_operator', format('SELECT twtasks.request_payload(%L, ''x'')', pg_temp.id(1))), '42501', 'an operator may not ask');
SELECT is(pg_temp.tried('regress_support', 'SELECT twtasks.allow_payload(''*'', ''regress_support'')'), '42501', 'a reader allows itself nothing');
SELECT throws_ok($$SELECT twtasks.request_payload(NULL, 'x')$$, '22004', NULL, 'a request names a task');
SELECT throws_ok($$SELECT twtasks.request_payload(pg_temp.id(1), ' ')$$, '22023', NULL, 'a request has a reason');
SELECT throws_ok($$SELECT twtasks.request_payload(pg_temp.id(1), NULL)$$, '22004', NULL, 'a request has a reason that is not NULL');
SELECT throws_ok($$SELECT twtasks.allow_payload('*', 'regress_no_role')$$, '42704', NULL, 'a role that does not exist is refused');
SELECT throws_ok($$SELECT twtasks.allow_payload('a*b', 'regress_support')$$, '22023', NULL, 'an invalid pattern is refused');
SELECT is(pg_temp.read('regress_support', pg_temp.id(9)), '42704', 'a task that does not exist is refused');
SELECT is((SELECT concat(p.type, p.was_denied) FROM twtasks.payload_read p WHERE p.task_id = pg_temp.id(9)), 'f', 'and has a row');
SELECT is(pg_temp.tried('regress_support', 'SELECT twtasks.read_payload(NULL)'), '55000', 'no number reads nothing');

-- Searches.
CREATE FUNCTION pg_temp.search(role name, data jsonb, more text DEFAULT '') RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
	number constant text := pg_temp.tried(role, format('SELECT twtasks.request_search(%L, ''a test''%s)', data, more));
BEGIN
	UPDATE twtasks.payload_read SET asked_in = '3' WHERE id = number::bigint;
	RETURN pg_temp.tried(role, format('SELECT concat_ws('' '', string_agg(right(s.id::text, 1), '','' ORDER BY s.id), bool_or(s.is_complete))'
		' FROM twtasks.search_payloads(%s) s', number));
END $$;
SELECT twtasks.add_task('MAIL', '{"iban": "DE1"}', task_id => pg_temp.id(4)) \g /dev/null
SELECT is(pg_temp.search('regress_support', '{"iban": "DE1"}'), '4 t', 'a search finds tasks of the types that the role may read');
SELECT is(pg_temp.search('regress_treasurer', '{"iban": "DE1"}'), '1 t', '... and no others');
SELECT is(pg_temp.search('regress_treasurer', '{}'), '1,3 t', '... live and finished');
SELECT is(pg_temp.search('regress_treasurer', '{}', ', type => ''MAIL'''), '42501', 'a type that the role may not read is refused');
SELECT is((SELECT concat_ws(' ', p.type, p.was_denied, p.search -> 'filter') FROM twtasks.payload_read p ORDER BY p.id DESC LIMIT 1),
	'MAIL t {"data": {}, "type": "MAIL"}', 'and the search has a row, as have those that are allowed');
SELECT is(pg_temp.search('regress_treasurer', '{}', ', type => ''PAYOUT|*'', max_tasks => 1'), '3 f', 'a page of a search');
SELECT is(pg_temp.tried('twtasks_viewer', 'SELECT twtasks.request_search(''{}'', ''x'')'), '42501', 'a viewer may not search');
SELECT is(pg_temp.tried('twtasks_viewer', 'SELECT count(search) FROM twtasks.payload_read'), '42501', 'nor see what was searched for');
SELECT is(pg_temp.tried('regress_support', 'SELECT twtasks.request_search(''{}'', '' '')'), '22023', 'a search has a reason');
SELECT is(pg_temp.tried('regress_support', 'SELECT twtasks.request_search(NULL, ''x'')'), '22004', 'a search names data');
SELECT twtasks.request_search('{}', 'a test') AS read \gset
UPDATE twtasks.payload_read SET asked_in = '3', role = 'regress_support' WHERE id = :read;
SELECT is(pg_temp.tried('regress_support', 'SELECT twtasks.read_payload(' || :read || ')'), '55000', 'the request of a search reads no payload');

-- The request must be committed, recent and one's own.
SELECT twtasks.request_payload(pg_temp.id(2), 'a test') AS read \gset
SELECT is(pg_temp.tried('regress_support', 'SELECT twtasks.read_payload(' || :read || ')'), '55000', 'a request that is not committed gives nothing');
UPDATE twtasks.payload_read SET asked_in = '3' WHERE id = :read;
SELECT is(pg_temp.tried('regress_support', 'SELECT twtasks.read_payload(' || :read || ')'), '42501', 'a request of another role gives nothing');
UPDATE twtasks.payload_read SET role = 'regress_support', on_behalf_of = 'anne' WHERE id = :read;
SELECT is(pg_temp.tried('regress_support', 'SELECT twtasks.read_payload(' || :read || ')'), '42501', 'a request of another person gives nothing');
UPDATE twtasks.payload_read SET on_behalf_of = NULL WHERE id = :read;
SELECT is(pg_temp.tried('regress_support', 'SELECT (twtasks.read_payload(' || :read || ')).type'), 'MAIL', 'one''s own request gives the payload');
UPDATE twtasks.payload_read SET at = at - interval '61 s' WHERE id = :read;
SELECT is(pg_temp.tried('regress_support', 'SELECT twtasks.read_payload(' || :read || ')'), '55000', 'an old request gives nothing');
SELECT is(twtasks.disallow_payload('*', 'regress_support'), true, 'disallow_payload() takes the right back');
SELECT is(twtasks.disallow_payload('*', 'regress_support'), false, 'there is nothing to take back');
UPDATE twtasks.payload_read SET at = clock_timestamp() WHERE id = :read;
SELECT is(pg_temp.tried('regress_support', 'SELECT twtasks.read_payload(' || :read || ')'), '42501', 'a right that was taken back since counts');

-- A person behind a program.
SET LOCAL twtasks.on_behalf_of = 'anne@bank.example';
SELECT twtasks.pause_type('MAIL', 'a test') \g /dev/null
RESET twtasks.on_behalf_of;
SELECT is((SELECT a.on_behalf_of FROM twtasks.policy_audit a WHERE a.kind = 'pause' ORDER BY a.id DESC LIMIT 1), 'anne@bank.example', 'audits name the person behind a program');

SELECT * FROM finish();
ROLLBACK;
