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

-- Tries in all, and the delay in ms after each: NULL when they are used up.
CREATE TEMPORARY TABLE plans (name text PRIMARY KEY, retry jsonb);
INSERT INTO plans VALUES
	('none', '"none"'),
	('default', '{"jitter": 0}'),
	('constant', '{"delay": "7ms", "multiplier": 1, "max_delay": "8ms", "max_tries": 1000000, "jitter": 0}'),
	('no delay', '{"delay": "0s", "multiplier": 100, "max_delay": "1ms", "max_tries": 3, "jitter": 0}'),
	('never any delay', '{"delay": "0s", "multiplier": 100, "max_tries": 1000000, "jitter": 0}'),
	('once', '{"max_tries": 1}'),
	('list', '{"delays": ["5ms", "70ms", "0s"]}'),
	('longest', '{"delay": "1us", "multiplier": 100, "max_delay": "30d", "max_tries": 1000000, "jitter": 0}'),
	('chain', '[{"delay": "1s", "multiplier": 3, "max_delay": "20s", "max_tries": 3, "jitter": 0}, {"delays": ["5ms", "70ms", "0s"]},
		{"delay": "1s", "max_tries": 1}, {"delay": "1s", "multiplier": 3, "max_delay": "20s", "max_tries": 5, "jitter": 0}]');
SELECT count(twtasks.configure_type('PLAN|' || replace(name, ' ', '-'), retry => retry)) FROM plans;
SELECT name, o.max_tries AS tries,
	(SELECT array_agg(twtasks_internal.retry_delay(retry, n) ORDER BY n) FROM generate_series(1, 11) n) AS delays
FROM plans, twtasks_internal.type_options('PLAN|' || replace(name, ' ', '-')) o ORDER BY name COLLATE "C";
SELECT n, twtasks_internal.retry_delay('{"jitter": 0}', n) AS by_default, twtasks_internal.retry_delay('{"delays": ["5ms"]}', n) AS by_list
FROM unnest('{-2147483648,0,11,12,19,20,21,2147483647}'::integer[]) n ORDER BY n;
SELECT name, twtasks_internal.retry_delay(retry, 999999) AS late FROM plans WHERE retry->>'max_tries' = '1000000' ORDER BY name COLLATE "C";
-- A repeat waits as for a first retry, even if there is none.
SELECT twtasks_internal.retry_delay('{"delay": "7s", "jitter": 0, "max_tries": 1}', 0) AS repeat, twtasks_internal.retry_delay('{"delay": "7s", "jitter": 0, "max_tries": 1}', 1) AS retry;
-- The random part is at most the jitter, and none for a list that has none.
SELECT jitter, bool_and(d BETWEEN 5000 * (1 - jitter) - 1 AND 5000) AS within, min(d) < 5000 - 4000 * jitter AS far, max(d) > 5000 - 1000 * jitter AS near
FROM (SELECT jitter, twtasks_internal.retry_delay(CASE WHEN jitter = 0.1 THEN '{}' ELSE jsonb_build_object('jitter', jitter) END, 1 + 0 * n) AS d
	  FROM unnest('{0.1,0.5,1}'::float8[]) jitter, generate_series(1, 1000) n) x
GROUP BY jitter ORDER BY jitter;
SELECT min(twtasks_internal.retry_delay('{"delays": ["1s"], "jitter": 0.5}', 1)) BETWEEN 500 AND 600 AS list_with,
	min(twtasks_internal.retry_delay('{"delays": ["1s"]}', 1)) = 1000 AS list_without FROM generate_series(1, 1000);
-- Never absurd, whatever configure_type() takes.
SELECT count(*), min(twtasks_internal.retry_delay(p.retry, n)) >= 0 AS not_negative,
	bool_and(twtasks_internal.retry_delay(p.retry, n) <= extract(epoch FROM longest) * 1000) AS not_too_long
FROM unnest('{0s,1us,5s,30d}'::interval[]) delay, unnest('{0s,1us,2h,30d}'::interval[]) longest,
	unnest('{1,1.5,100}'::float8[]) multiplier, unnest('{0,0.1,1}'::float8[]) jitter, unnest('{-1,1,2,63,5000,999999}'::integer[]) n,
	LATERAL (SELECT jsonb_build_object('delay', delay, 'max_delay', longest, 'multiplier', multiplier, 'jitter', jitter, 'max_tries', 1000000)) p(retry)
WHERE delay <= longest;

-- JSON that configure_type() never stored.
CREATE FUNCTION pg_temp.delay(retry jsonb) RETURNS text
LANGUAGE plpgsql
AS $$
BEGIN
	RETURN twtasks_internal.retry_delay(retry, 1);
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ': ' || SQLERRM;
END $$;
SELECT r, pg_temp.delay(r) FROM unnest(ARRAY['"never"', '5', '[]', '[5]', '["none"]', '[[{}]]', '{"delay": 5}', '{"delay": "soon"}',
	'{"jitter": "1"}', '{"max_tries": []}', '{"delays": "1s"}', '{"delays": [1]}', '{"delays": {"a": "1s"}}', '{"delays": ["-1s"]}', '{"max_tries": 0}', '{"max_tries": 1e10}']::jsonb[]) r;

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

-- The function's answer decides.
CREATE ROLE regress_retry_owner;
GRANT USAGE ON SCHEMA regress_retry, twtasks TO regress_retry_owner;
ALTER FUNCTION regress_retry.right OWNER TO regress_retry_owner;
SELECT twtasks.configure_type('TEST', retry_function => 'regress_retry.right', retry => '{"delays": ["7h"]}');
CREATE FUNCTION pg_temp.ask(error text, expected bigint DEFAULT 1, ask boolean DEFAULT true) RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
	said text := 'nothing';
BEGIN
	SELECT concat_ws(' ', CASE status WHEN 'WAITING' THEN 'retry' ELSE lower(status::text) END, coalesce(round(delay_ms / 1000.0), 0)) INTO said
	FROM twtasks_internal.finish_tasks(ARRAY[pg_temp.id(1)], ARRAY[expected], '{retry}', '{NULL}', ARRAY[error], pg_temp.node(), 9,
		retries => '{"{}"}', ask => ask);
	RAISE SQLSTATE 'UNDO1';
EXCEPTION WHEN SQLSTATE 'UNDO1' THEN
	RETURN said;
END $$;
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

-- Not for a task that has changed.
SELECT pg_temp.ask('error', 0);

-- Not to be asked.
SELECT pg_temp.ask('whatever', ask => false);
SELECT pg_temp.ask('whatever', ask => NULL);

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
