--
-- Rights on what the extensions on top of twtasks bring: everything belongs to
-- twtasks_owner, and only what is named here is granted.
--
BEGIN;
SELECT (twtasks.edition()).edition = 'sql' AS is_sql \gset
CREATE TEMPORARY TABLE before AS SELECT tableoid AS class, oid AS id FROM pg_proc UNION ALL SELECT tableoid, oid FROM pg_class UNION ALL SELECT tableoid, oid FROM pg_type;
\ir ../lib/events.sql
\ir ../lib/kinds.sql
SELECT plan(CASE WHEN :'is_sql' THEN 8 ELSE 12 END);

CREATE VIEW pg_temp.function AS
	SELECT p.* FROM pg_proc p
	WHERE (p.tableoid, p.oid) NOT IN (SELECT class, id FROM before) AND p.pronamespace <> pg_my_temp_schema()
	  -- In the SQL edition twtasks_nobody calls functions for decide by a function of its own.
	  AND NOT (p.proname = 'decide_as_nobody' AND pg_get_userbyid(p.proowner) = 'twtasks_nobody' AND p.proacl::text = '{twtasks_nobody=X/twtasks_nobody,twtasks_owner=X/twtasks_nobody}');
CREATE VIEW pg_temp.relation AS
	SELECT c.* FROM pg_class c
	WHERE (c.tableoid, c.oid) NOT IN (SELECT class, id FROM before) AND c.relkind NOT IN ('i', 'I', 'c', 't') AND c.relnamespace <> pg_my_temp_schema();

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
\if :is_sql
\else
SELECT concat_ws(E'\n',
	set_eq($$SELECT f.proname::text FROM pg_temp.function f WHERE NOT EXISTS (SELECT FROM aclexplode(f.proacl) a WHERE a.grantee <> f.proowner)$$,
		'{add_event_as_owner,check_event,clock_id,duty_start_events,end_events,give_each,give_events,go_on_after,head_is_done,keep_head_ended,keep_ids_new,keep_stream_policy,list_again,list_ends,
			listed_objects,lock_objects,look_at_objects,raise_ids,raise_ids_when_adopted,start_events,still_objects,stream_of,warn_events,
		act,add_step,answer_of,answer_to_do_as_owner,answers_of,check_identifier,check_kind_functions,check_kind_names,check_kind_options,check_may_see,check_started_event,configure_kind_as_owner,decide,
			decide_alone,duty_follow_answers,end_item,end_step,end_steps,expiry_of,fill_template,follow,follow_again,go_on,go_on_by_hand,go_on_in_error,identifier_of,is_decision,is_in_vain,is_over,
			is_same_action,keep_answer,keep_kind,keep_outcome,keep_step_ended,keep_step_once,keep_step_policy,kind_named,kind_to_start,late_results_of_steps,leave,leave_step,let_see,lock_item,
			look_again_at,looked,note_anomaly,noted,on_outcome_as_owner,options_of,pause_after,put_step,read_model_of,read_to_do_as_owner,said_of,settle,spend,start_as_owner,start_kind,
			start_reaction,start_reactions,stop_search,template_values,time_of,told_in_time,verdict_of,wait_for_starts,wait_of,warn_of_kinds,warn_of_template,with_options,without_options}'::text[],
		'each other function is known, and only its owner may call it'),
	set_eq($$SELECT r.relname::text FROM pg_temp.relation r WHERE NOT EXISTS (SELECT FROM aclexplode(r.relacl) a WHERE a.grantee <> r.relowner)$$,
		'{event_id_seq,event_seq_seq,objects_with_events_entry_seq,event,event_object,event_place,event_stream,objects_with_events,anomaly,attempt,item_role,kind,kind_rule,outcome,reaction}'::text[],
		'each other table and each sequence is known, and only its owner may read it'),
	set_eq($$SELECT t.typname::text FROM pg_type t WHERE (t.tableoid, t.oid) NOT IN (SELECT class, id FROM before) AND t.typnamespace <> pg_my_temp_schema()
		AND (typtype NOT IN ('b', 'c') OR typelem = 0 AND NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = t.typrelid AND c.relkind <> 'c')) AND typacl IS NULL$$,
		'{task_kind}'::text[], 'each type is known, and has the rights of a new type'),
	set_eq($$SELECT classid::regclass::text FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid AND d.refclassid = 'pg_extension'::regclass
		WHERE d.deptype = 'e' AND e.extname IN ('twtasks_events', 'twtasks_kinds')$$, '{pg_proc,pg_class,pg_type}'::text[], 'there are no languages, operators, casts or objects of other kinds'));
\endif
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
