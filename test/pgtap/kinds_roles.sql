--
-- Rights to read and answer items belong to a role, whatever its name becomes, and
-- not to its name.
--
BEGIN;
\ir ../lib/tasks.sql
\ir ../lib/kinds.sql
SELECT plan(21);

CREATE FUNCTION public.regress_decide(read_model jsonb, data jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$ SELECT '{"decision": "yes"}'::jsonb $$;
CREATE ROLE regress_clerk;
CREATE ROLE regress_boss;
CREATE ROLE regress_member;
GRANT regress_boss TO regress_member;
GRANT USAGE ON SCHEMA twtasks TO PUBLIC;
SELECT twtasks.configure_kind('item', 'to_do', 'ITEM', '{/n}', decide => 'public.regress_decide', readers => '{regress_clerk,regress_boss,regress_clerk}', answerers => '{regress_boss}'),
	twtasks.configure_kind('other', 'to_do', 'OTHER', '{/n}', decide => 'public.regress_decide', readers => '{regress_boss}') \g /dev/null
SELECT twtasks.start('item', jsonb_build_object('n', n)) FROM generate_series(1, 3) n \g /dev/null
CREATE FUNCTION pg_temp.roles(wanted text) RETURNS text LANGUAGE sql AS $$ SELECT concat_ws(' ', k.readers, k.answerers) FROM twtasks.kinds k WHERE k.name = wanted $$;
-- The SQLSTATE of a read and an answer by the role.
CREATE FUNCTION pg_temp.may(role text, item text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	told text := '';
	statement text;
BEGIN
	FOREACH statement IN ARRAY ARRAY['SELECT count(*) FROM twtasks.read_to_do(''item'')', format('SELECT result FROM twtasks.answer_to_do(''item'', %L, ''{}'')', item)] LOOP
		EXECUTE format('SET LOCAL ROLE %I', role);
		BEGIN
			EXECUTE statement;
			told := told || 'yes ';
		EXCEPTION WHEN OTHERS THEN
			told := told || SQLSTATE || ' ';
		END;
		RESET ROLE;
	END LOOP;
	RETURN rtrim(told);
END $$;

SELECT is(pg_temp.roles('item'), '{regress_boss,regress_clerk} {regress_boss}', 'the kind shows its roles');
SELECT is(pg_temp.may('regress_clerk', '1'), 'yes 42501', 'a reader reads');
SELECT is(pg_temp.may('regress_boss', '1'), 'yes yes', 'an answerer answers');
SELECT is(pg_temp.may('regress_member', '2'), 'yes yes', '... and so does a member');

-- ---- another name ----
ALTER ROLE regress_boss RENAME TO regress_chief;
CREATE ROLE regress_boss;
SELECT is(pg_temp.may('regress_chief', '3'), 'yes yes', 'the right follows a role that is renamed');
SELECT is(pg_temp.may('regress_boss', '3'), '42501 42501', 'a new role of the old name has none');
SELECT is(pg_temp.may('regress_member', '3'), 'yes yes', 'members of the role keep theirs');
SELECT is(pg_temp.roles('item'), '{regress_chief,regress_clerk} {regress_chief}', 'the kind shows the new name');

-- ---- a role that is gone ----
DROP ROLE regress_clerk;
CREATE ROLE regress_clerk;
SELECT is(pg_temp.may('regress_clerk', '3'), '42501 42501', 'a role made anew has no right');
SELECT matches(pg_temp.roles('item'), '^{"unknown [(]OID=[0-9]+[)]",regress_chief} {regress_chief}$', 'the kind shows that a role is gone');
CREATE FUNCTION pg_temp.gone() RETURNS SETOF text LANGUAGE sql AS $$ SELECT w.detail || '; ' || w.hint FROM twtasks.warnings w WHERE w.warning = 'role is gone' $$;
SELECT matches((SELECT string_agg(g, '|') FROM pg_temp.gone() g), '^kind "item": 1 role that may read its items was dropped: OID [0-9]+; name all readers by configure_kind[(]''item'', readers => ''{...}''[)], or none: unset_kind_options[(]''item'', ''readers''[)]$', 'the warnings say so, with what to do');
CREATE FUNCTION pg_temp.dumped() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	condition CONSTANT text := (SELECT c.condition FROM pg_extension e, unnest(e.extconfig, e.extcondition) c(id, condition)
								WHERE e.extname = 'twtasks_kinds' AND c.id = 'twtasks.item_role'::regclass);
	n bigint;
BEGIN
	EXECUTE concat('SELECT count(*) FROM twtasks.item_role ', condition) INTO n;
	RETURN n;
END $$;
SELECT is(pg_temp.dumped(), CASE WHEN :'is_edition' THEN 4 ELSE 3 END::bigint, 'a dump has the other roles only, but of the SQL edition all rows');

-- ---- changes ----
SELECT lives_ok($$SELECT twtasks.configure_kind('item', expires => '1 day')$$, 'another option changes');
SELECT is((SELECT count(*) FROM twtasks.item_role i WHERE EXISTS (SELECT FROM pg_roles r WHERE r.oid = i.role)), 3::bigint, '... and the roles stay');
SELECT lives_ok($$SELECT twtasks.configure_kind('item', readers => '{regress_clerk}')$$, 'readers are given anew');
SELECT is(pg_temp.roles('item'), '{regress_clerk} {regress_chief}', '... in place of those before');
SELECT is_empty('SELECT pg_temp.gone()', '... and the warning is gone');
SELECT ok(twtasks.unset_kind_options('item', 'answerers'), 'answerers are removed');
SELECT is(pg_temp.may('regress_chief', '3') || ', ' || pg_temp.may('regress_clerk', '3'), '42501 42501, yes 42501', '... and nobody answers');
SELECT throws_ok($$SELECT twtasks.configure_kind('item', answerers => '{regress_none}')$$, '42704', NULL, 'roles exist');
SELECT is(pg_temp.roles('other'), '{regress_chief}', 'the other kind keeps its roles');
SELECT * FROM finish();
ROLLBACK;
