--
-- Rights on what the extensions on top of twtasks bring: everything belongs to
-- twtasks_owner, and only what is named here is granted.
--
BEGIN;
CREATE TEMPORARY TABLE before AS SELECT tableoid AS class, oid AS id FROM pg_proc UNION ALL SELECT tableoid, oid FROM pg_class;
\ir ../lib/events.sql
\ir ../lib/kinds.sql
SELECT plan(8);

CREATE VIEW pg_temp.function AS
	SELECT p.* FROM pg_proc p
	WHERE (p.tableoid, p.oid) NOT IN (SELECT class, id FROM before) AND p.pronamespace <> pg_my_temp_schema()
	  -- In the SQL edition twtasks_nobody calls functions for decide by a function of its own.
	  AND NOT (p.proname = 'decide_as_nobody' AND pg_get_userbyid(p.proowner) = 'twtasks_nobody' AND p.proacl::text = '{twtasks_nobody=X/twtasks_nobody,twtasks_owner=X/twtasks_nobody}');
CREATE VIEW pg_temp.relation AS
	SELECT c.* FROM pg_class c
	WHERE (c.tableoid, c.oid) NOT IN (SELECT class, id FROM before) AND c.relkind IN ('r', 'v', 'S') AND c.relnamespace <> pg_my_temp_schema();

SELECT is_empty($$SELECT proname FROM pg_temp.function WHERE proowner <> 'twtasks_owner'::regrole$$, 'every function belongs to twtasks_owner');
SELECT is_empty($$SELECT relname FROM pg_temp.relation WHERE relowner <> 'twtasks_owner'::regrole$$, 'so does every table');
SELECT is_empty($$SELECT proname FROM pg_temp.function WHERE NOT coalesce(proconfig::text ~ 'search_path=[^"]*pg_catalog, pg_temp', false) AND prosrc <> 'twt_as_owner_needs_1_1'$$,
	'every function fixes its search_path');
SELECT set_eq($$SELECT f.proname::text, coalesce(r.rolname, 'PUBLIC')::text
	FROM pg_temp.function f CROSS JOIN LATERAL aclexplode(f.proacl) a LEFT JOIN pg_roles r ON r.oid = a.grantee
	WHERE a.grantee <> 'twtasks_owner'::regrole$$,
	$$VALUES ('add_event', 'twtasks_producer'), ('configure_stream', 'twtasks_operator'),
		('still_outcomes', 'twtasks_worker'), ('still_outcomes', 'twtasks_operator'), ('still_outcomes', 'twtasks_viewer'),
		('list_event_objects', 'twtasks_worker'), ('list_event_objects', 'twtasks_operator'), ('list_event_objects', 'twtasks_viewer'),
		('why_still', 'twtasks_worker'), ('why_still', 'twtasks_operator'), ('why_still', 'twtasks_viewer'), ('start', 'twtasks_producer'),
		('configure_kind', 'twtasks_operator'), ('unset_kind_options', 'twtasks_operator'), ('on_outcome', 'twtasks_operator'), ('decide_by_hand', 'twtasks_operator'), ('close_anomalies', 'twtasks_operator'),
		('forget_outcomes', 'twtasks_operator'), ('read_to_do', 'PUBLIC'), ('answer_to_do', 'PUBLIC')$$,
	'only these functions are granted');
SELECT is_empty($$SELECT proname FROM pg_temp.function WHERE proacl IS NULL$$, 'no function has the grants of a new one');
SELECT set_eq($$SELECT DISTINCT r.relname::text, a.privilege_type
	FROM pg_temp.relation r CROSS JOIN LATERAL aclexplode(r.relacl) a WHERE a.grantee <> 'twtasks_owner'::regrole AND r.relowner <> a.grantee$$,
	$$SELECT v, 'SELECT' FROM unnest('{event_streams,event_objects,broken_event_objects,kinds,reactions,outcomes,attempts,anomalies,broken_outcomes,kind_machines}'::text[]) v$$,
	'only views are granted, to be read');
SELECT is_empty($$SELECT relname FROM pg_temp.relation r CROSS JOIN LATERAL aclexplode(r.relacl) a WHERE a.grantee = 0$$, 'nothing is granted to PUBLIC');
SELECT is((SELECT concat(rolsuper, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication, rolbypassrls, (SELECT count(*) FROM pg_auth_members WHERE member = r.oid))
	FROM pg_roles r WHERE rolname = 'twtasks_nobody'), 'ffffff0', 'twtasks_nobody may do nothing');
SELECT * FROM finish();
ROLLBACK;
