--
-- Odd arguments to every function of ours, those of the extensions too, called by the
-- owner and by each role: no crash of the server, no internal error, and an end.  Each
-- call is undone.
--
-- Some calls are the same in each run; more are random, for some seconds, or for
-- TWT_TEST_SECONDS.  TWT_TEST_SEED, a number that a failure names, repeats them.
--
BEGIN;
\ir ../lib/tasks.sql
\ir ../lib/events.sql
\ir ../lib/kinds.sql
\set seed `echo "${TWT_TEST_SEED:-$(date +%s)}"`
\set seconds `echo "${TWT_TEST_SECONDS:-2}"`
\set ECHO errors
SET LOCAL client_min_messages = error;
SET LOCAL lock_timeout = '500ms';
SET LOCAL statement_timeout = '1min';
SET LOCAL twtasks.function_timeout = '500ms';

-- Functions that are left out.
CREATE TEMPORARY TABLE left_out (name text, reason text);
INSERT INTO left_out VALUES
	('twtasks_internal.next_triggers', 'waits as long as an argument says'),
	('twtasks.wait_for_task', 'does too'),
	('twtasks.wait_until_idle', 'does too'),
	('twtasks_internal.make_marker', 'writes a file that no rollback takes back'),
	('twtasks.adopt', 'calls it'),
	('twtasks_internal.start_node', 'may call it');

CREATE TEMPORARY TABLE subject AS
SELECT p.oid, format('%I.%I', n.nspname, p.proname) AS name, p.oid::regprocedure::text AS signature, p.prokind = 'p' AS is_procedure,
	CASE WHEN p.prokind = 'p' THEN coalesce(p.proallargtypes, p.proargtypes::oid[]) ELSE p.proargtypes::oid[] END AS args
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname IN ('twtasks', 'twtasks_internal') AND p.prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype)
  AND p.prokind IN ('f', 'p') AND format('%I.%I', n.nspname, p.proname) NOT IN (SELECT name FROM left_out);

-- Something to work on.
CREATE SCHEMA app;
CREATE FUNCTION app.handler(task twtasks.task_input) RETURNS void LANGUAGE sql AS '';
CREATE FUNCTION app.intercept(task twtasks.new_task) RETURNS twtasks.new_task LANGUAGE sql SET search_path = pg_catalog, pg_temp AS 'SELECT task';
SELECT pg_temp.task_in(s, pg_temp.id(n::integer)) FROM unnest(enum_range(NULL::twtasks.task_status)) WITH ORDINALITY x(s, n) \g /dev/null
SELECT twtasks.add_task('T', '{"a": 1}', key => 'k'), twtasks.add_task('T|a', bucket => 'a') \g /dev/null

-- Expressions for values of a type, the ordinary ones first.
CREATE FUNCTION pg_temp.values_of(type regtype, depth integer DEFAULT 0) RETURNS text[]
LANGUAGE plpgsql
AS $$
DECLARE
	t pg_type := (SELECT x FROM pg_type x WHERE x.oid = type);
	inner_values text[];
	found text[];
BEGIN
	IF t.typcategory = 'A' THEN
		inner_values := pg_temp.values_of(t.typelem, depth + 1);
		found := ARRAY[
			format('ARRAY[%s]', inner_values[1]), format('ARRAY[%s, %s]', inner_values[1], inner_values[2]), '''{}''', 'ARRAY[NULL]',
			format('ARRAY[%s, NULL, %s]', inner_values[1], inner_values[3]), format('ARRAY[ARRAY[%s], ARRAY[%s]]', inner_values[1], inner_values[2]),
			format('array_fill(%s::%s, ARRAY[2], ARRAY[-5])', inner_values[1], t.typelem::regtype), format('array_fill(%s::%s, ARRAY[300])', inner_values[2], t.typelem::regtype),
			format('array_fill(%s::%s, ARRAY[2, 1, 2])', inner_values[3], t.typelem::regtype)];
	ELSIF t.typtype = 'e' THEN
		found := ARRAY(SELECT quote_literal(enumlabel) FROM pg_enum WHERE enumtypid = type ORDER BY enumsortorder);
		found := found || found[1];
	ELSIF t.typtype = 'c' THEN
		found := ARRAY(SELECT 'ROW(' || string_agg((SELECT v[1 + (n + attnum) % cardinality(v)] FROM pg_temp.values_of(atttypid, depth + 1) v), ', ' ORDER BY attnum) || ')'
			FROM generate_series(0, 4) n, pg_attribute WHERE attrelid = t.typrelid AND attnum > 0 AND NOT attisdropped GROUP BY n ORDER BY n) ||
			(SELECT 'ROW(' || string_agg('NULL', ',') || ')' FROM pg_attribute WHERE attrelid = t.typrelid AND attnum > 0 AND NOT attisdropped);
	ELSE
		found := CASE t.typname
			WHEN 'int2' THEN ARRAY['1', '0', '-1', '32767', '-32768', '5']
			WHEN 'int4' THEN ARRAY['1', '0', '-1', '2147483647', '-2147483648', '100']
			WHEN 'int8' THEN ARRAY['1', '0', '-1', '9223372036854775807', '-9223372036854775808', 'pg_temp.node()', '100']
			WHEN 'text' THEN ARRAY['''T''', '''''', '''T|a''', '''*''', '''default''', '''app.handler''', '''app.intercept''', '''done''', '''error''', '''-1''', '''infinity''',
				'''{}''', '''* * * * *''', '''0 0 30 2 *''', '''Nowhere/X''', '''Europe/Tallinn''', '''%s%n%d''', 'E''\x01\n''', 'repeat(''x'', 100000)', 'repeat(''a|'', 80)', '''a.b.c.d''', '''"''', '''"a""b"."c d"''', '''app."Handler; --"''']
			WHEN 'name' THEN ARRAY['current_user', '''''', '''nobody at all''', '''twtasks_worker''']
			WHEN 'jsonb' THEN ARRAY['''{}''', '''[]''', '''null''', '''1e100000''', '''"x"''', '''[{"type": "T"}, {}, null, 1, []]''', '''[{"type": "T", "priority": 1e30, "task_id": "z", "run_after": "infinity"}]''',
				'''{"max_tries": 1e30, "delay": "-1s", "multiplier": 0}''', '''{"stages": [{"tries": 3, "delay": "1s"}, {}]}''', '''{"function": "app.intercept"}''', '''{"function": "app.\"x"}''', '''{"type": [], "data": {"a": null}, "key": 1}''', '''[{"type": "T"}, {"type": "T", "key": {}}]''', '''{"stages": [{"tries": "3", "delay": 1}]}''',
				'(repeat(''['', 1000) || repeat('']'', 1000))::jsonb', '(''"'' || repeat(''y'', 300000) || ''"'')::jsonb']
			WHEN 'uuid' THEN ARRAY['pg_temp.id(2)', 'pg_temp.id(3)', '''00000000-0000-0000-0000-000000000000''', '''ffffffff-ffff-ffff-ffff-ffffffffffff''']
			WHEN 'tid' THEN ARRAY['''(0,1)''', '''(0,0)''', '''(4294967295,65535)''', '''(9999999,1)''']
			WHEN 'timestamptz' THEN ARRAY['now()', '''infinity''', '''-infinity''', '''4713-01-01 BC''', '''294276-12-31 23:59:59.999999+00''']
			WHEN 'date' THEN ARRAY['current_date', '''infinity''', '''-infinity''', '''4713-01-01 BC''', '''5874897-12-31''']
			WHEN 'interval' THEN ARRAY['''5 s''', '''0''', '''-1 day''', '''178000000 years''', '''-178000000 years''', '''2147483647 days''', '''1 us''', '''1 mon''']
			WHEN 'bytea' THEN ARRAY['''\x7b7d''::bytea', '''''::bytea', '''\xff00''::bytea', 'decode(repeat(''00'', 100000), ''hex'')']
			WHEN 'bool' THEN ARRAY['true', 'false']
			WHEN 'float4' THEN ARRAY['1', '''NaN''', '''infinity''', '-1', '1e30']
			WHEN 'float8' THEN ARRAY['1', '''NaN''', '''infinity''', '-1', '1e300']
			WHEN 'numeric' THEN ARRAY['1', '''NaN''', '-1', '1e300']
			WHEN 'regtype' THEN ARRAY['''text''', '0', '999999', '''twtasks.task_input''', '''twtasks.new_task''', '''record''']
			WHEN 'regrole' THEN ARRAY['current_user', '0', '999999', '''twtasks_worker''']
			WHEN 'regclass' THEN ARRAY['''twtasks.task''', '0', '999999']
			WHEN 'oid' THEN ARRAY['1259', '0', '999999']
			WHEN 'any' THEN ARRAY['''x''::text', 'NULL::text', '1', 'ROW(1, 2)', 'ARRAY[NULL]::text[]', 'NULL::twtasks.task_input']
			WHEN 'record' THEN ARRAY['ROW(1)', 'ROW()', 'ROW(NULL::text, NULL::jsonb)', 'NULL::record', '(SELECT t FROM twtasks.task t LIMIT 1)']
			ELSE ARRAY['NULL', 'NULL', 'NULL']
		END;
		IF t.typname IN ('any', 'record') THEN
			RETURN found;
		END IF;
	END IF;
	-- At three places, so that random arguments often are null.
	RETURN ARRAY(SELECT format('(%s)::%s', v, type) FROM unnest(found || CASE WHEN depth = 0 THEN ARRAY['NULL', 'NULL'] ELSE ARRAY['NULL'] END) WITH ORDINALITY x(v, n) ORDER BY n);
END $$;
CREATE TEMPORARY TABLE odd AS
SELECT type, pg_temp.values_of(type) AS literals FROM (SELECT DISTINCT unnest(args)::regtype AS type FROM subject) x;

-- Calls the function with the literals of these numbers, counted round; an
-- internal error or the end of patience, or NULL.
CREATE FUNCTION pg_temp.call(s subject, numbers integer[], role name DEFAULT current_user) RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
	given text := coalesce((SELECT string_agg(o.literals[1 + numbers[n] % cardinality(o.literals)], ', ' ORDER BY n)
		FROM unnest(s.args) WITH ORDINALITY a(type, n) JOIN odd o ON o.type = a.type), '');
	statement text := format(CASE WHEN s.is_procedure THEN 'CALL %s(%s)' ELSE 'SELECT %s(%s)' END, s.name, given);
BEGIN
	EXECUTE format('SET LOCAL ROLE %I', role);
	EXECUTE statement;
	RAISE SQLSTATE 'P0099';
EXCEPTION
	WHEN assert_failure OR query_canceled OR OTHERS THEN
		IF SQLSTATE LIKE 'XX%' OR SQLERRM LIKE 'cache lookup failed%' OR SQLERRM LIKE 'invalid memory%' OR SQLERRM LIKE '%statement timeout' THEN
			RETURN format('%s by %s: %s: %s', SQLSTATE, role, SQLERRM, left(statement, 2000));
		END IF;
		RETURN NULL;
END $$;

-- The first internal error of calls that are the same in each run, or NULL.
CREATE FUNCTION pg_temp.first_error(signature text) RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
	s subject := (SELECT x FROM subject x WHERE x.signature = first_error.signature);
	n integer := cardinality(s.args);
	said text;
BEGIN
	FOR i IN 0 .. CASE WHEN n = 0 THEN 0 ELSE 5 END LOOP
		said := pg_temp.call(s, array_fill(i, ARRAY[n]));
		EXIT WHEN said IS NOT NULL;
	END LOOP;
	-- Ordinary values, but for one that is null: the last.
	FOR i IN 1 .. n LOOP
		EXIT WHEN said IS NOT NULL;
		said := pg_temp.call(s, ARRAY(SELECT CASE WHEN j = i THEN cardinality(o.literals) - 1 ELSE 0 END
			FROM unnest(s.args) WITH ORDINALITY a(type, j) JOIN odd o ON o.type = a.type ORDER BY j));
	END LOOP;
	RETURN coalesce(said, pg_temp.call(s, ARRAY(SELECT cardinality(o.literals) - 1
		FROM unnest(s.args) WITH ORDINALITY a(type, j) JOIN odd o ON o.type = a.type ORDER BY j)));
END $$;

-- The first of random calls by this role, for so long.  It may take each function that it can
-- execute; what a call raises takes back SET LOCAL.
CREATE FUNCTION pg_temp.first_random_error(seconds float8, role name) RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
	until timestamptz := clock_timestamp() + make_interval(secs => seconds);
	subjects subject[] := ARRAY(SELECT x FROM subject x
		WHERE args <> '{}' AND has_function_privilege(first_random_error.role, x.oid, 'EXECUTE') ORDER BY signature COLLATE "C");
	s subject;
	said text;
BEGIN
	WHILE clock_timestamp() < until AND said IS NULL LOOP
		s := subjects[1 + floor(random() * cardinality(subjects))];
		said := pg_temp.call(s, ARRAY(SELECT floor(random() * 1000)::integer FROM unnest(s.args)), role);
	END LOOP;
	RETURN said;
END $$;

CREATE ROLE app_stranger;
CREATE TEMPORARY TABLE caller AS
SELECT rolname AS role FROM pg_roles WHERE rolname IN ('app_stranger', 'twtasks_owner') OR
	rolname ~ '^twtasks_' AND EXISTS (SELECT FROM subject WHERE has_function_privilege(rolname, subject.oid, 'EXECUTE'))
UNION SELECT current_user;
GRANT SELECT ON odd, subject TO PUBLIC;

-- A value that is not SQL would keep each call with it from being made.
CREATE FUNCTION pg_temp.is_sql(value text) RETURNS boolean
LANGUAGE plpgsql
AS $$
BEGIN
	EXECUTE 'SELECT ' || value;
	RETURN true;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE <> '42601';
END $$;

SELECT plan((SELECT count(*)::integer FROM subject) + (SELECT count(*)::integer FROM caller) + 1);
SELECT is((SELECT string_agg(left(value, 100), chr(10)) FROM odd, unnest(literals) value WHERE NOT pg_temp.is_sql(value)), NULL, 'each value is SQL');
SELECT format('SELECT is(pg_temp.first_error(%L), NULL, %L)', signature, signature) FROM subject ORDER BY signature COLLATE "C" \gexec
SELECT setseed(:seed % 1000000 / 1000000.0) \g /dev/null
SELECT format('SELECT is(pg_temp.first_random_error(%s::float8 / %s, %L), NULL, %L)', :seconds, count(*) OVER (), role, 'random calls by ' || role || ': TWT_TEST_SEED=' || :seed)
FROM caller ORDER BY role \gexec

SELECT * FROM finish();
ROLLBACK;
