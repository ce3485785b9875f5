--
-- Rules that all objects of twtasks, twtasks_events and twtasks_kinds keep.  They are
-- read from the catalog, so an object that is new is checked without a line here.
--
BEGIN;
\ir ../lib/tasks.sql
\ir ../lib/events.sql
\ir ../lib/kinds.sql

CREATE TEMPORARY TABLE home AS SELECT oid FROM pg_namespace WHERE nspname IN ('twtasks', 'twtasks_internal');
CREATE TEMPORARY TABLE known AS
SELECT oid FROM home UNION ALL SELECT oid FROM pg_namespace WHERE nspname IN ('pg_catalog', 'pg_toast');
CREATE TEMPORARY VIEW function AS
SELECT p.*, p.oid::regprocedure::text AS signature, l.lanname AS language
FROM pg_proc p JOIN home h ON h.oid = p.pronamespace JOIN pg_language l ON l.oid = p.prolang;
CREATE TEMPORARY VIEW relation AS
SELECT c.*, c.oid::regclass::text AS name FROM pg_class c JOIN home h ON h.oid = c.relnamespace;

\if :is_sql
SELECT plan(17);
\else
SELECT plan(24);
\endif

-- ---- Functions ----
SELECT cmp_ok((SELECT count(*) FROM pg_temp.function), '>', 400::bigint, 'the rules see the functions of all three');
SELECT is_empty($$SELECT signature FROM pg_temp.function WHERE prosecdef AND NOT 'search_path=pg_catalog, pg_temp' = ANY (coalesce(proconfig, '{}'))$$,
	'a function with its owner''s rights looks into pg_catalog first, and into pg_temp last');
SELECT is_empty($$SELECT signature FROM pg_temp.function f, pg_roles r WHERE r.oid = f.proowner
	AND (r.rolname !~ '^twtasks_' OR r.rolsuper OR r.rolcanlogin OR r.rolcreaterole OR r.rolbypassrls)$$,
	'functions belong to roles of twtasks that cannot log in, and are not superusers');
SELECT set_eq($$SELECT signature FROM pg_temp.function f WHERE EXISTS (
		SELECT FROM aclexplode(coalesce(f.proacl, acldefault('f', f.proowner))) a WHERE a.grantee = 0)$$,
	'{"twtasks.read_to_do(text,text)","twtasks.answer_to_do(text,text,jsonb)"}'::text[],
	'PUBLIC calls only what asks each kind for its roles');
SELECT is_empty($$SELECT signature FROM pg_temp.function WHERE language NOT IN ('c', 'sql', 'plpgsql') OR language = 'c' AND probin <> '$libdir/twtasks'$$,
	'functions are in SQL, PL/pgSQL or C of our library');
CREATE TEMPORARY VIEW pseudo AS
SELECT f.*, t.typname FROM pg_temp.function f, unnest(f.proargtypes::oid[] || coalesce(f.proallargtypes, '{}') || f.prorettype) a(type)
JOIN pg_type t ON t.oid = a.type AND t.typtype = 'p' AND t.typname NOT IN ('void', 'trigger', 'record', '_record');
SELECT is_empty($$SELECT signature, typname FROM pg_temp.pseudo WHERE typname NOT LIKE 'any%'$$, 'no function takes or gives "internal", or any such type');
SELECT is_empty($$SELECT p.signature, a.grantee::regrole FROM pg_temp.pseudo p CROSS JOIN LATERAL aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a WHERE a.grantee <> p.proowner$$,
	'no role calls a function that takes values of any type');
SELECT is_empty($$SELECT signature FROM pg_temp.function WHERE proleakproof OR prokind NOT IN ('f', 'p')$$,
	'no function is LEAKPROOF, an aggregate or a window function');

-- ---- What would change the meaning of other people's statements, or run while they are dumped ----
SELECT is_empty($$
	SELECT 'operator', o.oid::regoperator::text FROM pg_operator o JOIN home h ON h.oid = o.oprnamespace
	UNION ALL SELECT 'cast', c.castsource::regtype || ' to ' || c.casttarget::regtype FROM pg_cast c
	WHERE c.castfunc IN (SELECT oid FROM pg_temp.function)
	   OR EXISTS (SELECT FROM pg_type t JOIN home h ON h.oid = t.typnamespace WHERE t.oid IN (c.castsource, c.casttarget))
	UNION ALL SELECT 'operator class', c.opcname FROM pg_opclass c JOIN home h ON h.oid = c.opcnamespace
	UNION ALL SELECT 'collation', c.collname FROM pg_collation c JOIN home h ON h.oid = c.collnamespace
	UNION ALL SELECT 'conversion', c.conname FROM pg_conversion c JOIN home h ON h.oid = c.connamespace
	UNION ALL SELECT 'event trigger', e.evtname FROM pg_event_trigger e WHERE e.evtfoid IN (SELECT oid FROM pg_temp.function)$$,
	'there are no operators, casts, collations or event triggers');
SELECT is_empty($$SELECT t.oid::regtype::text FROM pg_type t JOIN home h ON h.oid = t.typnamespace
	WHERE t.typtype NOT IN ('c', 'e') AND NOT (t.typtype = 'b' AND t.typelem <> 0 AND t.typinput = 'array_in'::regproc)$$,
	'no type has functions of its own for input or output');

-- ---- Tables and views ----
SELECT is_empty($$SELECT r.name, r.relkind FROM pg_temp.relation r WHERE r.relowner <> 'twtasks_owner'::regrole$$, 'twtasks_owner owns each table, view and sequence');
SELECT is_empty($$SELECT r.name, a.* FROM pg_temp.relation r CROSS JOIN LATERAL aclexplode(r.relacl) a
	WHERE a.grantee <> r.relowner AND (a.grantee = 0 OR a.privilege_type <> 'SELECT' OR a.is_grantable)$$,
	'roles are granted to read relations and nothing else, and PUBLIC is granted nothing');
SELECT is_empty($$SELECT r.name, c.attname, a.* FROM pg_temp.relation r JOIN pg_attribute c ON c.attrelid = r.oid CROSS JOIN LATERAL aclexplode(c.attacl) a
	WHERE a.grantee = 0 OR a.privilege_type <> 'SELECT' OR a.is_grantable$$, '... and so it is with their columns');
SELECT is_empty($$SELECT r.name, t.tgname FROM pg_temp.relation r JOIN pg_trigger t ON t.tgrelid = r.oid
	WHERE NOT t.tgisinternal AND t.tgfoid NOT IN (SELECT oid FROM pg_temp.function)$$, 'each trigger calls a function of twtasks');
SELECT is_empty($$SELECT r.name, w.rulename FROM pg_temp.relation r JOIN pg_rewrite w ON w.ev_class = r.oid WHERE r.relkind <> 'v'
	UNION ALL SELECT r.name, p.polname FROM pg_temp.relation r JOIN pg_policy p ON p.polrelid = r.oid
	UNION ALL SELECT r.name, 'row security' FROM pg_temp.relation r WHERE r.relrowsecurity
	UNION ALL SELECT r.name, 'expression' FROM pg_temp.relation r JOIN pg_index i ON i.indexrelid = r.oid WHERE i.indexprs IS NOT NULL$$,
	'tables have no rules, no row security and no indexes of expressions');

-- Views, defaults, constraints, indexes and triggers: by what they call and name.
CREATE TEMPORARY VIEW used AS
SELECT pg_describe_object(d.classid, d.objid, d.objsubid) AS what, pg_describe_object(d.refclassid, d.refobjid, 0) AS uses,
	coalesce(p.pronamespace, o.oprnamespace, t.typnamespace, c.relnamespace, l.collnamespace) AS namespace
FROM pg_depend d
LEFT JOIN pg_rewrite w ON d.classid = 'pg_rewrite'::regclass AND w.oid = d.objid
LEFT JOIN pg_attrdef a ON d.classid = 'pg_attrdef'::regclass AND a.oid = d.objid
LEFT JOIN pg_constraint k ON d.classid = 'pg_constraint'::regclass AND k.oid = d.objid
LEFT JOIN pg_trigger g ON d.classid = 'pg_trigger'::regclass AND g.oid = d.objid
JOIN pg_temp.relation r ON r.oid = CASE d.classid WHEN 'pg_class'::regclass THEN d.objid ELSE coalesce(w.ev_class, a.adrelid, k.conrelid, g.tgrelid) END
LEFT JOIN pg_proc p ON d.refclassid = 'pg_proc'::regclass AND p.oid = d.refobjid
LEFT JOIN pg_operator o ON d.refclassid = 'pg_operator'::regclass AND o.oid = d.refobjid
LEFT JOIN pg_type t ON d.refclassid = 'pg_type'::regclass AND t.oid = d.refobjid
LEFT JOIN pg_class c ON d.refclassid = 'pg_class'::regclass AND c.oid = d.refobjid
LEFT JOIN pg_collation l ON d.refclassid = 'pg_collation'::regclass AND l.oid = d.refobjid;
SELECT cmp_ok((SELECT count(*) FROM pg_temp.used WHERE namespace IS NOT NULL), '>', 100::bigint, 'the catalog says what relations use');
SELECT is_empty($$SELECT what, uses FROM pg_temp.used WHERE namespace IS NOT NULL AND namespace NOT IN (SELECT oid FROM known)$$,
	'relations use nothing but pg_catalog and the schemas of twtasks');

\if :is_sql
\else
-- ---- What the control files say ----
SELECT is_empty($$SELECT name, version FROM pg_available_extension_versions WHERE name ~ '^twtasks(_|$)'
	AND (trusted OR NOT superuser OR relocatable OR schema IS DISTINCT FROM 'twtasks')$$,
	'only a superuser installs any version of an extension of twtasks, always into the schema twtasks');

-- A condition of a dump runs with the rights of the role that dumps.
SELECT is_empty($$SELECT e.extname, c.condition FROM pg_extension e, unnest(e.extcondition) c(condition) WHERE e.extname ~ '^twtasks(_|$)' AND c.condition <> ''
	AND (c.condition ~ '[a-z_0-9"]\s*\(' AND c.condition !~ '^WHERE EXISTS \(SELECT FROM pg_catalog\.pg_roles r WHERE r\.oid OPERATOR\(pg_catalog\.=\) role\)$')$$,
	'a dump calls no function for the rows of its tables');

-- ---- Settings: a session changes nothing that others execute ----
SELECT twtasks.is_enabled() \g /dev/null
SELECT set_eq($$SELECT name FROM pg_settings WHERE name LIKE 'twtasks.%' AND context = 'user'$$, '{twtasks.context,twtasks.on_behalf_of,twtasks.reason}'::text[],
	'every role sets only what goes with its own calls');
SELECT cmp_ok((SELECT count(*) FROM pg_settings WHERE name LIKE 'twtasks.%'), '>=', 11::bigint, 'there are other settings');
CREATE FUNCTION pg_temp.caught(statement text) RETURNS text LANGUAGE plpgsql
AS $$ BEGIN EXECUTE statement; RETURN 'ok'; EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE; END $$;
CREATE ROLE regress_setter IN ROLE twtasks_producer, twtasks_worker, twtasks_web, twtasks_operator, twtasks_viewer, twtasks_payload_viewer, twtasks_tester;
CREATE TEMPORARY TABLE setting AS SELECT name, setting AS value FROM pg_settings WHERE name LIKE 'twtasks.%' AND context <> 'user';
GRANT SELECT ON setting TO regress_setter;
SET LOCAL ROLE regress_setter;
SELECT is_empty($$SELECT name FROM setting WHERE pg_temp.caught(format('SET LOCAL %s = %L', name, value)) NOT IN ('42501', '55P02')$$,
	'a role with all grants of twtasks sets none of them for its session');
SELECT is_empty($$SELECT name FROM setting WHERE pg_temp.caught(format('ALTER ROLE CURRENT_USER SET %s = %L', name, value)) NOT IN ('42501', '55P02')$$,
	'... nor for its sessions to come');
SELECT is(pg_temp.caught('SET LOCAL twtasks.unknown = 1'), '42602', 'no session adds a setting with our prefix');
RESET ROLE;
\endif

SELECT * FROM finish();
ROLLBACK;
