--
-- Retry policies: what is refused and with which words; and what a function of
-- a policy answers, or does not.
--
\getenv directory PG_ABS_SRCDIR
\set ECHO none
\i :directory/lib/tasks.sql
\set ECHO all
\set SHOW_CONTEXT never
\pset tuples_only on
\pset format unaligned

CREATE FUNCTION pg_temp.refused(retry jsonb) RETURNS text
LANGUAGE plpgsql
AS $$
BEGIN
	PERFORM twtasks.configure_type('RETRY', retry => retry);
	RETURN 'not refused';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ': ' || SQLERRM;
END $$;

-- Whole policies, and chains of them.
SELECT pg_temp.refused('1');
SELECT pg_temp.refused('null');
SELECT pg_temp.refused('"never"');
SELECT pg_temp.refused('[]');
SELECT pg_temp.refused('["none"]');
SELECT pg_temp.refused('[[{}]]');
SELECT pg_temp.refused(jsonb_agg('{}'::jsonb)) FROM generate_series(1, 17);
SELECT pg_temp.refused(jsonb_agg('{}'::jsonb)) FROM generate_series(1, 16);

-- Back-off.
SELECT pg_temp.refused('{"tries": 3}');
SELECT pg_temp.refused('{"delay": "soon"}');
SELECT pg_temp.refused('{"delay": "1 fortnight"}');
SELECT pg_temp.refused('{"delay": 5}');
SELECT pg_temp.refused('{"delay": "5"}');
SELECT pg_temp.refused('{"delay": null}');
-- PostgreSQL 17 and later read this as an interval.
SELECT substr(pg_temp.refused('{"max_delay": "infinity"}'), 1, 5);
SELECT pg_temp.refused('{"delay": "-1s"}');
SELECT pg_temp.refused('{"delay": "31d", "max_delay": "31d"}');
SELECT pg_temp.refused('{"delay": "3h"}');
SELECT pg_temp.refused('{"max_delay": "1s"}');
SELECT pg_temp.refused('{"multiplier": 0.5}');
SELECT pg_temp.refused('{"multiplier": "2"}');
SELECT pg_temp.refused('{"multiplier": null}');
SELECT pg_temp.refused('{"max_tries": 0}');
SELECT pg_temp.refused('{"max_tries": 2.5}');
SELECT pg_temp.refused('{"max_tries": 1000001}');
SELECT pg_temp.refused('{"jitter": 1.1}');
SELECT pg_temp.refused('{"jitter": -1e-9}');

-- Lists.
SELECT pg_temp.refused('{"delays": []}');
SELECT pg_temp.refused('{"delays": "1s"}');
SELECT pg_temp.refused('{"delays": ["1s", "later"]}');
SELECT pg_temp.refused('{"delays": ["1s", "31d"]}');
SELECT pg_temp.refused('{"delays": ["1s"], "max_tries": 3}');
SELECT pg_temp.refused(jsonb_build_object('delays', jsonb_agg('1s'::text))) FROM generate_series(1, 101);
SELECT pg_temp.refused('{"delays": ["1s", {}]}');
SELECT pg_temp.refused('{"delays": [null]}');

-- As sidecars read them.
SELECT twtasks_internal.retry_in_ms('"none"');
SELECT twtasks_internal.retry_in_ms('{}');
SELECT twtasks_internal.retry_in_ms('{"delay": "1.5s", "multiplier": 1.5, "max_delay": "30d", "max_tries": 1, "jitter": 1}');
SELECT twtasks_internal.retry_in_ms('[{"delays": ["0", "250ms", "1h"]}, {"delay": "0"}]');

-- As sidecars count: the same plans, and the same answers, as in their tests.
SELECT array_agg(twtasks_internal.retry_delay(p.plan, n) ORDER BY n) AS delays
FROM (VALUES (1, '[]'::jsonb),
	(2, '[{"delays_ms": [5, 70, 0], "jitter": 0}]'),
	(3, '[{"delay_ms": 1000, "multiplier": 3, "max_delay_ms": 20000, "max_tries": 3, "jitter": 0}, {"delays_ms": [5, 70, 0], "jitter": 0},
		  {"delay_ms": 1000, "multiplier": 3, "max_delay_ms": 20000, "max_tries": 1, "jitter": 0}, {"delay_ms": 1000, "multiplier": 3, "max_delay_ms": 20000, "max_tries": 5, "jitter": 0}]'),
	(4, '[{"delay_ms": 0, "multiplier": 100, "max_delay_ms": 1, "max_tries": 3, "jitter": 0}]'),
	(5, '[{"delay_ms": 7, "multiplier": 1, "max_delay_ms": 8, "max_tries": 1000000, "jitter": 0}]')) p(number, plan), generate_series(0, 11) n
GROUP BY p.number ORDER BY p.number;
SELECT twtasks_internal.retry_delay('[{"delay_ms": 1, "multiplier": 1e300, "max_delay_ms": 9223372036854775, "max_tries": 1000000, "jitter": 0}]', 999999) AS longest;
SELECT bool_and(twtasks_internal.retry_delay('[{"delays_ms": [1000], "jitter": 0.5}]', 1) BETWEEN 500 AND 1000) AS chance FROM generate_series(1, 1000);

-- As psql shows it.
SELECT twtasks.configure_type('RETRY', retry => '{"max_trie": 3}');

-- Functions: what is refused.
CREATE SCHEMA regress_retry;
CREATE FUNCTION regress_retry.right(task twtasks.task_input, error text) RETURNS timestamptz
LANGUAGE plpgsql SET search_path = regress_retry, pg_temp
AS $$
BEGIN
	CASE error
		WHEN 'no more' THEN RETURN NULL;
		WHEN 'error' THEN RAISE EXCEPTION 'no answer for try %', task.tries;
		WHEN 'for ever' THEN LOOP END LOOP;
		WHEN 'infinity', '-infinity' THEN RETURN error;
		WHEN 'past' THEN RETURN '2000-01-01';
		WHEN 'who' THEN RAISE EXCEPTION 'asked as %', current_user;
		WHEN 'escape' THEN SET LOCAL ROLE twtasks_owner;
		ELSE
	END CASE;
	RETURN clock_timestamp() + interval '1 min' * task.tries;
END $$;
CREATE FUNCTION regress_retry.loose(task twtasks.task_input, error text) RETURNS timestamptz LANGUAGE sql AS 'SELECT now()';
CREATE FUNCTION regress_retry.half(task twtasks.task_input, error text) RETURNS timestamptz LANGUAGE sql SET search_path = pg_catalog AS 'SELECT now()';
CREATE FUNCTION regress_retry.other(task twtasks.task_input, error text) RETURNS interval LANGUAGE sql SET search_path = pg_catalog, pg_temp AS 'SELECT ''1s''::interval';
CREATE FUNCTION regress_retry.many(task twtasks.task_input, error text) RETURNS SETOF timestamptz LANGUAGE sql SET search_path = pg_catalog, pg_temp AS 'SELECT now()';
SELECT twtasks.configure_type('RETRY', retry_function => 'right');
SELECT twtasks.configure_type('RETRY', retry_function => 'regress_retry.wrong');
SELECT twtasks.configure_type('RETRY', retry_function => 'nowhere.right');
SELECT twtasks.configure_type('RETRY', retry_function => 'regress_retry.loose');
SELECT twtasks.configure_type('RETRY', retry_function => 'regress_retry.half');
SELECT twtasks.configure_type('RETRY', retry_function => 'regress_retry.other');
SELECT twtasks.configure_type('RETRY', retry_function => 'regress_retry.many');
SELECT twtasks.configure_type('RETRY', retry_function => '');
SELECT twtasks.configure_type('RETRY', retry_function => 'a.b.c.d');
SELECT twtasks.configure_type('RETRY', retry_function => 'none');
CREATE ROLE regress_retry_operator IN ROLE twtasks_operator;
REVOKE EXECUTE ON FUNCTION regress_retry.right FROM PUBLIC;
SET SESSION AUTHORIZATION regress_retry_operator;
SELECT twtasks.configure_type('RETRY', retry_function => 'regress_retry.right');
SELECT twtasks.configure_type('RETRY', stuck_function => 'regress_retry.right');
SELECT twtasks.configure_type('RETRY', intercept => 'regress_retry.right');
SELECT twtasks.configure_type('RETRY', retry_function => 'none', stuck_function => 'none', intercept => 'none', timeout => '1s');
-- Nor when the planner is told to use workers, which do not know who calls.
SELECT name AS parallel FROM pg_settings
WHERE name IN ('force_parallel_mode', 'debug_parallel_query') \gset
SET :parallel = on;
DISCARD PLANS;
SELECT twtasks.configure_type('RETRY', retry_function => 'regress_retry.right');
SELECT twtasks.configure_type('RETRY', stuck_function => 'regress_retry.right');
SELECT twtasks.configure_type('RETRY', intercept => 'regress_retry.right');
RESET :parallel;
RESET SESSION AUTHORIZATION;
GRANT twtasks_owner TO regress_retry_operator;
SET SESSION AUTHORIZATION regress_retry_operator;
SELECT twtasks.configure_type('RETRY', retry_function => 'regress_retry.right');
RESET SESSION AUTHORIZATION;

-- What it says.
CREATE ROLE regress_retry_owner;
GRANT USAGE ON SCHEMA regress_retry, twtasks TO regress_retry_owner;
ALTER FUNCTION regress_retry.right OWNER TO regress_retry_owner;
SELECT twtasks.configure_type('TEST', retry_function => 'regress_retry.right');
CREATE FUNCTION pg_temp.ask(error text, expected bigint DEFAULT 1) RETURNS text
LANGUAGE sql
AS $$
	SELECT concat_ws(' ', answer, round(delay_ms / 1000.0))
	FROM twtasks_internal.ask_retry(ARRAY[pg_temp.id(1)], ARRAY[expected], ARRAY[error])
$$;
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(1)) IS NOT NULL AS made;
SELECT pg_temp.ask('whatever');
SELECT pg_temp.ask(NULL);
ALTER FUNCTION regress_retry.right STRICT;
SELECT pg_temp.ask(NULL);
SELECT pg_temp.ask('past');
SELECT pg_temp.ask('no more');
SELECT pg_temp.ask('-infinity');
SELECT pg_temp.ask('infinity');
SELECT pg_temp.ask('error');
SELECT pg_temp.ask('who');
SELECT pg_temp.ask('escape');
SET twtasks.function_timeout = '100ms';
SELECT pg_temp.ask('for ever');
RESET twtasks.function_timeout;
-- A time that is not the function's own ends the statement.
SET statement_timeout = '100ms';
SELECT pg_temp.ask('for ever');
RESET statement_timeout;
-- The session is as it was.
SELECT current_user = session_user, current_setting('search_path');
SELECT pg_temp.ask('whatever');

-- Not for a task that has changed, nor for one that never was.
SELECT pg_temp.ask('whatever', 0);
SELECT count(*) FROM twtasks_internal.ask_retry(ARRAY[pg_temp.id(2), NULL], '{1,1}', '{x,x}');

-- Dropped, or made anew with another result.
DROP FUNCTION regress_retry.right;
SELECT pg_temp.ask('whatever');
CREATE FUNCTION regress_retry.right(task twtasks.task_input, error text) RETURNS text LANGUAGE sql AS 'SELECT ''now''';
SELECT pg_temp.ask('whatever');
DROP SCHEMA regress_retry CASCADE;
SELECT pg_temp.ask('whatever');
SELECT twtasks.configure_type('TEST', retry_function => 'none');
SELECT pg_temp.ask('whatever');

SELECT count(twtasks.drop_type_policy(pattern)) FROM twtasks.type_policies;
DROP OWNED BY regress_retry_owner;
DROP ROLE regress_retry_owner, regress_retry_operator;
