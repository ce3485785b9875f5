-- No function in C trusts a declaration that it does not know: it refuses, and
-- reads no argument that is not there.

BEGIN;
SELECT plan(17);

CREATE FUNCTION pg_temp.answer(statement text) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	RETURN 'none';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;

-- The symbols that SQL names, in both ways.
CREATE VIEW pg_temp.symbol AS
	SELECT DISTINCT p.oid, s.symbol, p.prorettype::regtype AS result, p.prokind
	FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
	JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'twtasks'
	CROSS JOIN LATERAL (VALUES (p.prosrc), (replace(p.prosrc, '_needs_1_1', ''))) s (symbol)
	WHERE p.prolang = (SELECT oid FROM pg_language WHERE lanname = 'c')
	  AND p.prosrc !~ 'twt_as_owner' AND p.prosrc <> 'twt_check_library_needs_1_1';

-- Makes a function with another declaration, and calls it.
CREATE FUNCTION pg_temp.call_wrong(symbol text, arguments text, result text, call text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	state text;
BEGIN
	EXECUTE format('CREATE FUNCTION pg_temp.wrong(%s) RETURNS %s LANGUAGE c AS %L, %L',
				   arguments, result, '$libdir/twtasks', symbol);
	state := pg_temp.answer(format('SELECT * FROM pg_temp.wrong(%s)', call));
	EXECUTE 'DROP FUNCTION pg_temp.wrong';
	RETURN state;
END $$;

SELECT cmp_ok(count(*), '>', 120::bigint, 'functions in C are found') FROM pg_temp.symbol;
SELECT is_empty($$
	SELECT s.symbol, a.arguments, a.result, r.state
	FROM pg_temp.symbol s
	CROSS JOIN LATERAL (VALUES
		('', 'circle', ''),
		('', 'SETOF record', ''),
		('a line', 'circle', 'NULL'),
		('a line, b circle, c point, d lseg, e box, f path, g polygon, h money', 'circle', 'NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL'),
		('OUT a line, OUT b line', 'record', '')) a (arguments, result, call)
	CROSS JOIN LATERAL (SELECT pg_temp.call_wrong(s.symbol, a.arguments, a.result, a.call)) r (state)
	WHERE r.state <> CASE WHEN a.result = 'SETOF record' THEN '42601' ELSE '0A000' END
	$$, 'functions refuse every other declaration');
SELECT is_empty($$
	SELECT s.symbol, r.state FROM pg_temp.symbol s
	CROSS JOIN LATERAL (SELECT pg_temp.answer(format(
		'DO $do$ BEGIN ALTER FUNCTION %s %s; PERFORM %s(%s); RAISE EXCEPTION ''served''; END $do$', s.oid::regprocedure,
		CASE WHEN p.proisstrict THEN 'CALLED ON NULL INPUT' ELSE 'STRICT' END, s.oid::regproc,
		(SELECT string_agg('NULL::' || format_type(t, NULL), ', ') FROM unnest(p.proargtypes) t)))
		FROM pg_proc p WHERE p.oid = s.oid) r (state)
	JOIN pg_proc p ON p.oid = s.oid
	WHERE p.prokind = 'f' AND p.prorettype <> 'trigger'::regtype AND p.provariadic = 0 AND p.proisstrict AND r.state <> '0A000'
	$$, 'functions refuse arguments that may be null where they never were');

SELECT is(pg_temp.call_wrong('twt_as_owner', 'a line', 'text', 'NULL'), 'XX000', 'a function for any declaration finds no work');
SELECT throws_ok($$CREATE FUNCTION pg_temp.wrong() RETURNS text LANGUAGE c AS '$libdir/twtasks', 'checked_twt_add_task'$$,
	'42883', NULL, 'SQL cannot name a function behind its entry');

SELECT lives_ok($$SELECT twtasks.add_task('A')$$, 'a known declaration is served');
CREATE FUNCTION twtasks.wrong(type text) RETURNS text LANGUAGE c AS '$libdir/twtasks', 'twt_add_task_needs_1_1';
SELECT throws_ok($$SELECT twtasks.wrong('A')$$, '0A000',
	format('the library of twtasks %s does not know this function "wrong"', extversion), 'a refusal names the library and the function')
	FROM pg_extension WHERE extname = 'twtasks';
SELECT lives_ok($$SELECT twtasks.add_task('A')$$, 'the known declaration is served beside a wrong one');

-- Work that could not be finished does not start.
SELECT lives_ok($$SELECT twtasks_internal.grab_tasks('{}', '{}', 0, 0, '{}', '{}')$$, 'a known extension may grab');
ALTER EXTENSION twtasks ADD FUNCTION twtasks.wrong(text);
CREATE FUNCTION pg_temp.change() RETURNS void LANGUAGE sql AS '';
SELECT throws_ok($$SELECT twtasks_internal.grab_tasks('{}', '{}', 0, 0, '{}', '{}')$$, '0A000', NULL,
	'nothing is grabbed while another function of the extension is unknown');
SELECT lives_ok($$SELECT twtasks.add_task('A')$$, '... and tasks are added');
ALTER EXTENSION twtasks DROP FUNCTION twtasks.wrong(text);
DROP FUNCTION twtasks.wrong(text);
SELECT lives_ok($$SELECT twtasks_internal.grab_tasks('{}', '{}', 0, 0, '{}', '{}')$$, '... which is seen again');
ALTER EXTENSION twtasks DROP FUNCTION twtasks.is_enabled();
DROP FUNCTION pg_temp.change();
SELECT throws_ok($$SELECT twtasks_internal.grab_tasks('{}', '{}', 0, 0, '{}', '{}')$$, '0A000', NULL,
	'nothing is grabbed while a function of the extension is missing');
ALTER EXTENSION twtasks ADD FUNCTION twtasks.is_enabled();

-- Versions.
SELECT lives_ok($$SELECT twtasks_internal.check_library('1.0')$$, 'SQL of the released version is known');
SELECT throws_ok($$SELECT twtasks_internal.check_library('99.1')$$, '0A000', NULL, 'SQL of a later version is refused');
SELECT throws_ok($$SELECT twtasks_internal.check_library('0.9')$$, '0A000', NULL, 'SQL of an older version is refused');

-- A session forgets what it found right.
ALTER FUNCTION twtasks_internal.check_library(text) CALLED ON NULL INPUT;
SELECT throws_ok($$SELECT twtasks_internal.check_library('1.0')$$, '0A000', NULL, 'a declaration that was served is refused after a change');

SELECT * FROM finish();
ROLLBACK;
