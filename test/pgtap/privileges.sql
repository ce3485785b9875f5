--
-- Privileges of every role on every function and table, asserted cell by cell.
-- No function of ours can be made to run objects that others have put in its way.
--
BEGIN;
\ir ../lib/tasks.sql
CREATE ROLE regress_nobody;
CREATE FUNCTION pg_temp.caught(statement text) RETURNS text LANGUAGE plpgsql
AS $$ BEGIN EXECUTE statement; RETURN 'ok'; EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE; END $$;

-- The grants, in words.  A new function or table needs a row here.
CREATE TEMPORARY TABLE callers (function text PRIMARY KEY, roles text[]);
INSERT INTO callers
SELECT f, '{producer}'::text[] FROM unnest('{add_task,put_task,add_tasks,take_messages,take_corrupted,begin_partition,place_partition,stop_partition,kafka_message,bytes_as_text,send_to_kafka}'::text[]) f
UNION ALL
SELECT 'clock', '{producer,worker,web,operator,viewer,tester}'::text[]
UNION ALL
SELECT 'edition', '{producer,worker,web,operator,viewer,payload_viewer,tester}'::text[]
UNION ALL
SELECT f, '{worker,operator,viewer}'::text[] FROM unnest('{why,what_if_limit}'::text[]) f
UNION ALL
SELECT f, '{operator,viewer}'::text[] FROM unnest('{life,task_at,trace_id,compare_attempts}'::text[]) f
UNION ALL
SELECT 'compare_data', '{operator,viewer,payload_viewer}'::text[]
UNION ALL
SELECT f, '{}'::text[] FROM unnest('{life_events,life_of_attempts,life_of_task,limit_named,limit_flow,limit_added,limit_load,wide_bounds,narrow_bound,forecast_limit}'::text[]) f
UNION ALL
SELECT f, '{payload_viewer}'::text[] FROM unnest('{request_payload,read_payload,request_search,search_payloads}'::text[]) f
UNION ALL
SELECT f, '{}'::text[] FROM unnest('{allow_payload,disallow_payload,request_payload_as_owner,read_payload_as_owner,request_search_as_owner,search_payloads_as_owner,asked_payload,keep_request,readable_types,may_search,list_page,may_read_payload,on_behalf_of}'::text[]) f
UNION ALL
SELECT f, '{}'::text[] FROM unnest('{plural,check_allowing,brought_functions,advice,shown_time,nodes_for,seen_running,limits_of,raise_limit,full_limits,stops,obstacles,on_one_line,remedy,fate_of,why_running,why_stopped,queue_before,locked_by,why_no_grab,
	why_not_started,why_ended,add_whys}'::text[]) f
UNION ALL
SELECT 'set_outcome', '{producer,worker}'::text[]
UNION ALL
SELECT 'finish_task', '{worker,web}'::text[]
UNION ALL
SELECT f, '{producer,worker,operator,viewer,tester}'::text[] FROM unnest('{is_enabled,is_adopted,is_paused,queue_kind,queue_stats,
	cron_next,cron_preview}'::text[]) f
UNION ALL
SELECT f, '{worker}'::text[] FROM unnest('{next_triggers,grab_tasks,resolve_grab,execute_tasks,find_handler,check_handlers,note_faults,finish_tasks,resolve_finish,sweep_tasks,
	expire_tasks,promote_tasks,recover_tasks,run_duties,tell_addresses,start_node,refusal,heartbeat,tick,end_node,make_partitions,clean_tasks,read_policies,run_schedules,take_types,take_cancels,
	read_limits,offer_slots,clean_slots,monitor_tasks,note_flow,note_progress,late_commits,vacuum_tasks}'::text[]) f
UNION ALL
SELECT f, '{operator}'::text[] FROM unnest('{resume_task,reschedule_task,prioritize_task,cancel_task,fail_task,confirm_task,hold_task,release_task,
	configure_type,unset_type_options,drop_type_policy,configure_bucket,unset_bucket_options,drop_bucket,pause_type,resume_type,pause_bucket,resume_bucket,
	schedule,configure_schedule,unschedule,pause_schedule,resume_schedule,run_schedule_now,request_cancel,reopen_task,
	change_tasks,adopt,forget_address,configure_limit,drop_limit,reset_listener,lock_setting}'::text[]) f
UNION ALL
SELECT f, '{tester}'::text[] FROM unnest('{run_inline,set_clock,advance_clock,reset_tasks,wait_for_task,wait_until_idle}'::text[]) f
UNION ALL
SELECT f, '{worker,operator,viewer}'::text[] FROM unnest('{policy_of,limit_name,count_tasks,find_stuck,blockers,id_of,list_tasks,list_unknown,error_groups,type_loads,recent_minutes,adoption_fault,is_testing,recorded_addresses}'::text[]) f
UNION ALL
SELECT f, '{}'::text[] FROM unnest('{begin_import,check_task,compare_import,digest,end_import,import_task,import_tasks,imported_context,imported_row,imported_status,imported_tasks,is_same_task,read_imported,store_imported,begin_history,make_partition,make_part,history_parts,end_of_part,add_to_history,add_occurrence,add_task_as,add_given_tasks,allow_type,disallow_type,apply_stuck_rule,audit_policy,audit_schedule,change_finished,change_task,check_schedule,clean_default,clean_older,check_outcome,may_still_run,cancel_now,end_now,end_tasks,free_old_keys,cron_last,changeable,check_change,check_priority,check_filter,
	check_testing,check_waiting,claim_again,cut_message,describe_schedule,do_duties,end_by_hand,facts,find_gone_nodes,find_tasks,
	finished_facts,renew_marker,make_marker,write_adoption,address_fault,note_addresses,copy_fault,forget_progress,hold_copied,lock_unless_busy,make_live_again,may_change,move_by_hand,prioritize_by_hand,next_inline,new_incarnation,forget_runs,node_lock,only_in,overdue_at,lock_settings,own_place,remove_address,
	queue_trigger,run_schedule,retry_inline,session_holds,session_is_idle,set_schedule_paused,start_schedule,table_changed,try_to_lead,watch_session,
	check_bucket,check_duration,check_may_name,check_pattern,config_changed,fits,clock_ahead,keep_finished,queue_time,cancel_orphans,write_audit,
	ask_stuck,ask_duties,pause,resume,check_library,call_stuck,call_duty,call_late,tell_late,call_function,check_allowed,check_function,check_number,check_retry,check_retry_stage,parse_duration,retry_delay,type_options,
	count_queued,count_not_queued,count_errors,late_queued,late_not_queued,why_queued,why_limited,living_nodes,works_for,unhandled,is_known_type,lacks_queue,queued_buckets,unfit_types,unhandled_types,note_types,any_lives,count_held,lonely_buckets,note_refusal,
	check_limit,check_options,shown,count_slots,live_slots,make_slots,offer_slot,offer_types,slots_lock,lock_session,try_lock,actor,author,owner,stop_vacuums,caller,configure_type_as_owner,run_inline_as_owner,take_messages_as_owner,take_corrupted_as_owner,begin_partition_as_owner,place_partition_as_owner,stop_partition_as_owner,find_place,note_fewer,check_problem,finish_task_as_owner,
	check_place,check_run,check_takes,check_rule,check_keeper,check_newcomer,move_offset,call_message,missing_key,split_key,message_tasks,add_corrupted,take_singly,take_run}'::text[]) f
UNION ALL
SELECT f, '{worker}'::text[] FROM unnest('{judge_incidents,is_well}'::text[]) f
UNION ALL
SELECT f, '{}'::text[] FROM unnest('{incident_rules,warned_incidents,counted_incidents,still_incidents,named_incidents,find_incidents,note_incidents,tell_incidents,clean_incidents,judge_now,is_silent,check_reason}'::text[]) f
UNION ALL
SELECT f, '{operator}'::text[] FROM unnest('{acknowledge_incident,silence,unsilence}'::text[]) f
UNION ALL
SELECT f, '{worker,web}'::text[] FROM unnest('{judge_silence,next_incidents,note_sent}'::text[]) f
UNION ALL
SELECT 'silenced_until', '{worker,operator,viewer}'::text[]
UNION ALL
SELECT f, '{producer}'::text[] FROM unnest('{new_task,message}'::text[]) f
UNION ALL
SELECT f, '{}'::text[] FROM unnest('{task_input,change_result,late_result}'::text[]) f
UNION ALL
SELECT f, '{}'::text[] FROM unnest('{note_attempts,late_attempts,keep_attempts,clean_attempts,try_call,try_call_without_limit,take_all,time_is_over,run_schedule_as_json,note_duty,note_history,history_users,make_days,brought_warnings,late_work,boot_time,lost_roles,name_default_days,size_of_default,is_new_entry,clean_flow}'::text[]) f;
INSERT INTO callers
SELECT f, '{}'::text[] FROM unnest('{list_filter,list_condition,list_branch,list_history_days,list_queue,list_few,list_source,list_tasks_as_owner,count_retried,note_retried,named_tasks,check_orders,refuse_count,quantile,recent_adds,type_tries,worst_types,type_counts,fullest_limit,left_tasks,error_shape,clean_audit}'::text[]) f;
INSERT INTO callers
SELECT 'metrics', '{worker,operator,viewer}'::text[]
UNION ALL
SELECT 'metrics_text', '{web,worker,operator,viewer}'::text[]
UNION ALL
SELECT f, '{}'::text[] FROM unnest('{known_metrics,metrics_of_tasks,metrics_of_service,metrics_of_rules,metrics_of_storage}'::text[]) f;
CREATE TEMPORARY TABLE readers (relation text PRIMARY KEY, roles text[]);
INSERT INTO readers
SELECT r, '{worker,operator,viewer}'::text[] FROM unnest('{allowed_types,tasks,task_attempts,unknown_outcomes,error_tasks,stuck_tasks,stats,nodes,transition,type_policies,buckets,paused,schedules,schedule_runs,cancel_requests,
	adoption_state,addresses,warnings,limits,monitor,listeners,progress}'::text[]) r
UNION ALL SELECT r, '{worker,operator,viewer}'::text[] FROM unnest('{incidents,incident,incident_sent,silence}'::text[]) r
UNION ALL SELECT 'monitor_type', '{worker,operator,viewer}'
UNION ALL SELECT 'own_tasks', '{producer}'::text[]
UNION ALL SELECT r, '{operator,viewer}'::text[] FROM unnest('{payload_reader,payload_read}'::text[]) r
UNION ALL SELECT r, '{operator,viewer}'::text[] FROM unnest('{audit,task_history,schedule_audit,policy_audit,flow}'::text[]) r
UNION ALL SELECT r, '{}'::text[] FROM unnest('{task,finished_task,task_attempt,finished_task_default,unique_key,node,type_policy,bucket_policy,pause,schedule,schedule_run,cancel_request,
	adoption,allowed_type,test_clock,cleaning,limit_rule,slot_use,monitor_look,monitor_metric,refused_node,handled_type,import,imported,message_offset,duty,task_progress,lost_tasks}'::text[]) r;

CREATE TEMPORARY TABLE who AS
SELECT r AS name, CASE r WHEN 'nobody' THEN 'regress_nobody' ELSE 'twtasks_' || r END AS role
FROM unnest('{producer,worker,web,operator,viewer,payload_viewer,tester,nobody}'::text[]) r;

-- Nobody calls what the SQL edition alone has.
\if :is_sql
INSERT INTO callers SELECT DISTINCT p.proname, '{}'::text[] FROM pg_proc p WHERE p.pronamespace IN ('twtasks'::regnamespace, 'twtasks_internal'::regnamespace)
ON CONFLICT DO NOTHING;
INSERT INTO readers VALUES ('setting', '{}');
SELECT * FROM no_plan();
\else
-- Overloaded are add_tasks, check_function and count_tasks; eight sequences, two schemas.
SELECT plan(((SELECT count(*) FROM callers)::integer + 4 + (SELECT count(*) FROM readers)::integer + 8 + 2) * 8 + 30);
\endif

-- The matrix has a row for each object, and no other: a new one makes this test fail until its row is there.
-- The SQL edition lacks some objects, and has others.
\if :is_sql
\else
SELECT concat_ws(E'\n',
	set_eq($$SELECT proname::text FROM pg_proc WHERE pronamespace IN ('twtasks'::regnamespace, 'twtasks_internal'::regnamespace)$$,
		'SELECT function FROM callers', 'the matrix has each function'),
	set_eq($$SELECT relname::text FROM pg_class WHERE relnamespace IN ('twtasks'::regnamespace, 'twtasks_internal'::regnamespace)
		AND relkind NOT IN ('i', 'I', 'S', 'c') AND relname !~ '^(finished_task|task_attempt)_([0-9]|other$)'$$,
		'SELECT relation FROM readers', 'the matrix has each table and each view'),
	set_eq($$SELECT typname::text FROM pg_type t WHERE typnamespace IN ('twtasks'::regnamespace, 'twtasks_internal'::regnamespace)
		AND (typtype NOT IN ('b', 'c') OR typelem = 0 AND NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = t.typrelid AND c.relkind <> 'c'))$$,
		'{added_task,change_result,done_rule,ended_task,imported_task,kafka_message,late_result,limit_scope,listed_task,message,new_task,policy,stuck_rule,takeover_rule,task_answer,task_input,task_payload,task_result,task_status}'::text[],
		'each type is known'),
	set_eq($$SELECT classid::regclass::text FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid AND d.refclassid = 'pg_extension'::regclass
		WHERE d.deptype = 'e' AND e.extname = 'twtasks'$$, '{pg_proc,pg_class,pg_type,pg_namespace}'::text[], 'there are no languages, operators, casts or objects of other kinds'));
\endif
SELECT is_empty($$SELECT typname FROM pg_type WHERE typnamespace IN ('twtasks'::regnamespace, 'twtasks_internal'::regnamespace) AND typacl IS NOT NULL$$,
	'types have the rights of new types: who sees the schema may name them');
SELECT is_empty($$SELECT relname, a.grantee::regrole FROM pg_class c, aclexplode(c.relacl) a WHERE relnamespace = 'twtasks'::regnamespace AND relispartition AND a.grantee <> relowner$$,
	'no partition has rights of its own');
-- Each cell.
SELECT is(has_function_privilege(w.role, p.oid, 'EXECUTE'), w.name = ANY (c.roles),
	format('%s %s call %s', w.name, CASE WHEN w.name = ANY (c.roles) THEN 'may' ELSE 'may not' END, p.oid::regprocedure))
FROM pg_proc p LEFT JOIN callers c ON c.function = p.proname CROSS JOIN who w
WHERE p.pronamespace IN ('twtasks'::regnamespace, 'twtasks_internal'::regnamespace)
ORDER BY p.proname, p.oid, w.name;
SELECT is(ARRAY(SELECT r FROM unnest('{SELECT,INSERT,UPDATE,DELETE,TRUNCATE,REFERENCES,TRIGGER}'::text[]) r WHERE has_table_privilege(w.role, t.oid, r)
				OR r IN ('SELECT', 'INSERT', 'UPDATE', 'REFERENCES') AND has_any_column_privilege(w.role, t.oid, r)),
	CASE WHEN w.name = ANY (d.roles) THEN '{SELECT}' ELSE '{}' END::text[],
	format('%s may %s %s', w.name, CASE WHEN w.name = ANY (d.roles) THEN 'only read' ELSE 'do nothing with' END, t.relname))
FROM pg_class t LEFT JOIN readers d ON d.relation = t.relname CROSS JOIN who w
WHERE t.relnamespace IN ('twtasks'::regnamespace, 'twtasks_internal'::regnamespace) AND t.relkind NOT IN ('i', 'I', 'S', 'c')
  AND t.relname !~ '^(finished_task|task_attempt)_([0-9]|other$)'
ORDER BY t.relname, w.name;
SELECT ok(NOT has_sequence_privilege(w.role, s.oid, 'USAGE,SELECT,UPDATE'), format('%s may not use %s', w.name, s.relname))
FROM pg_class s CROSS JOIN who w
WHERE s.relnamespace = 'twtasks'::regnamespace AND s.relkind = 'S'
ORDER BY s.relname, w.name;
SELECT is(ARRAY[has_schema_privilege(w.role, 'twtasks', 'USAGE'), has_schema_privilege(w.role, 'twtasks', 'CREATE')],
	ARRAY[w.name <> 'nobody', false], w.name || CASE w.name WHEN 'nobody' THEN ' does not even see' ELSE ' sees' END || ' the schema')
FROM who w ORDER BY w.name;
SELECT is(ARRAY[has_schema_privilege(w.role, 'twtasks_internal', 'USAGE'), has_schema_privilege(w.role, 'twtasks_internal', 'CREATE')],
	ARRAY[w.name = 'worker', false], w.name || CASE w.name WHEN 'worker' THEN ' sees' ELSE ' does not see' END || ' the schema of internals')
FROM who w ORDER BY w.name;
-- \df twtasks.* shows the product: administrators call allow_type(),
-- allow_payload(), their opposites, and what twtasks-import calls.
SELECT bag_eq($$SELECT p.proname::text FROM pg_proc p JOIN callers c ON c.function = p.proname
	WHERE p.pronamespace = 'twtasks'::regnamespace AND c.roles <@ '{worker}'$$,
	'{allow_payload,allow_type,begin_import,compare_import,disallow_payload,disallow_type,end_import,import_tasks}'::text[], 'schema twtasks has no function that only sidecars call');

-- PUBLIC has nothing.
SELECT is((SELECT count(*) FROM pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
		   WHERE p.pronamespace IN ('twtasks'::regnamespace, 'twtasks_internal'::regnamespace) AND a.grantee = 0), 0::bigint, 'PUBLIC may call nothing');
SELECT is((SELECT count(*) FROM pg_class c, aclexplode(c.relacl) a WHERE c.relnamespace IN ('twtasks'::regnamespace, 'twtasks_internal'::regnamespace) AND a.grantee = 0), 0::bigint,
	'PUBLIC may touch no table');
SELECT is((SELECT count(*) FROM pg_namespace n, aclexplode(n.nspacl) a WHERE n.nspname IN ('twtasks', 'twtasks_internal') AND a.grantee = 0), 0::bigint, 'PUBLIC may use neither schema');
SELECT is((SELECT count(*) FROM (SELECT proacl FROM pg_proc WHERE pronamespace IN ('twtasks'::regnamespace, 'twtasks_internal'::regnamespace)
								 UNION ALL SELECT relacl FROM pg_class WHERE relnamespace IN ('twtasks'::regnamespace, 'twtasks_internal'::regnamespace)) x(acl), aclexplode(x.acl) a
		   WHERE a.is_grantable AND a.grantee <> 'twtasks_owner'::regrole), 0::bigint, 'nobody may pass on what was granted');

-- The owner of all is nobody's login and has no rights of its own.
SELECT is((SELECT count(*) FROM pg_class WHERE relnamespace IN ('twtasks'::regnamespace, 'twtasks_internal'::regnamespace) AND relowner <> 'twtasks_owner'::regrole)
	+ (SELECT count(*) FROM pg_proc WHERE pronamespace IN ('twtasks'::regnamespace, 'twtasks_internal'::regnamespace) AND pg_get_userbyid(proowner) NOT IN ('twtasks_owner', 'twtasks_caller', 'twtasks_deferred'))
	+ (SELECT count(*) FROM pg_type WHERE typnamespace IN ('twtasks'::regnamespace, 'twtasks_internal'::regnamespace) AND typowner <> 'twtasks_owner'::regrole)
	+ (SELECT count(*) FROM pg_namespace WHERE nspname IN ('twtasks', 'twtasks_internal') AND nspowner <> 'twtasks_owner'::regrole), 0::bigint, 'twtasks_owner owns everything');
SELECT is((SELECT jsonb_agg(DISTINCT jsonb_build_array(rolsuper, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication, rolbypassrls, rolinherit))
		   FROM pg_roles WHERE rolname ~ '^twtasks_'), '[[false, false, false, false, false, false, false]]'::jsonb, 'no role of ours can do more than it is granted, or log in');
\if :is_sql
SELECT skip('without a superuser the installing role and twtasks_owner are members of others', 2);
\else
SELECT is((SELECT count(*) FROM pg_auth_members WHERE member IN (SELECT oid FROM pg_roles WHERE rolname ~ '^twtasks_')), 0::bigint, 'no role of ours is a member of another');
SELECT is((SELECT count(*) FROM pg_auth_members WHERE roleid = 'twtasks_owner'::regrole), 0::bigint, 'nobody is a member of twtasks_owner');
\endif

-- Functions that run with the owner's rights, and all others that have a body.  Some twins
-- without one are called by functions that have it, or with the caller's own rights.
SELECT is((SELECT count(*) FROM pg_proc WHERE pronamespace IN ('twtasks'::regnamespace, 'twtasks_internal'::regnamespace) AND prosecdef
		   AND NOT 'search_path=pg_catalog, pg_temp' = ANY (coalesce(proconfig, '{}'))), 0::bigint, 'SECURITY DEFINER: the search_path is fixed');
SELECT is((SELECT count(*) FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang WHERE pronamespace IN ('twtasks'::regnamespace, 'twtasks_internal'::regnamespace) AND l.lanname <> 'c' AND NOT (:'is_sql' AND NOT p.prosecdef)
		   AND NOT 'search_path=pg_catalog, pg_temp' = ANY (coalesce(proconfig, '{}'))
		   -- Its names are qualified, so that the planner inlines it.
		   AND p.oid <> 'twtasks_internal.node_lock(bigint)'::regprocedure), 0::bigint, 'every function with a body has a fixed search_path');
SELECT is((SELECT count(*) FROM pg_proc p WHERE pronamespace IN ('twtasks'::regnamespace, 'twtasks_internal'::regnamespace)
		   AND (prorettype = 'internal'::regtype OR 'internal'::regtype::oid = ANY (proargtypes))), 0::bigint, 'no function takes or gives "internal"');
\if :is_sql
SELECT skip('SQL notes no caller, and other functions run with the rights of their caller', 2);
\else
SELECT bag_eq($$SELECT proname::text FROM pg_proc WHERE pronamespace IN ('twtasks'::regnamespace, 'twtasks_internal'::regnamespace) AND NOT prosecdef AND prosrc NOT IN ('twt_as_owner_needs_1_1', 'twt_execute_tasks_needs_1_1', 'twt_finish_tasks_needs_1_1', 'twt_add_task_needs_1_1', 'twt_put_task_needs_1_1', 'twt_add_tasks_needs_1_1', 'twt_add_tasks_of_type_needs_1_1', 'twt_add_tasks_json_needs_1_1')
	AND EXISTS (SELECT FROM aclexplode(proacl) a WHERE a.grantee <> proowner) GROUP BY proname$$,
	'{is_enabled,is_adopted,adoption_fault,recorded_addresses,is_testing,is_paused,clock,edition,queue_kind,queue_stats,take_types,late_commits,next_triggers,vacuum_tasks,cron_next,cron_preview,limit_name,find_handler,check_handlers,new_task,message,kafka_message,bytes_as_text,send_to_kafka,compare_data}'::text[], 'functions that run with the caller''s rights need none');
SELECT bag_eq($$SELECT proname::text FROM pg_proc WHERE pronamespace IN ('twtasks'::regnamespace, 'twtasks_internal'::regnamespace) AND prosrc IN ('twt_as_owner_needs_1_1', 'twt_execute_tasks_needs_1_1', 'twt_finish_tasks_needs_1_1', 'twt_add_task_needs_1_1', 'twt_put_task_needs_1_1', 'twt_add_tasks_needs_1_1', 'twt_add_tasks_of_type_needs_1_1', 'twt_add_tasks_json_needs_1_1')
	AND NOT prosecdef AND provolatile = 'v' AND proparallel = 'u'$$, '{execute_tasks,finish_task,finish_tasks,configure_type,run_inline,take_messages,take_corrupted,begin_partition,place_partition,stop_partition,add_task,put_task,add_tasks,add_tasks,add_tasks,list_tasks,request_payload,read_payload,request_search,search_payloads}'::text[], 'the other functions note who called, and become the owner');
\endif
SELECT is_empty($$SELECT p.oid::regprocedure, q.oid::regprocedure, r.rolname
	FROM pg_proc p
	JOIN pg_namespace s ON s.oid = p.pronamespace AND s.nspname IN ('twtasks', 'twtasks_internal')
	JOIN pg_roles r ON r.rolname ~ '^twtasks_(producer|worker|web|operator|viewer|payload_viewer|tester)$'
		AND has_schema_privilege(r.oid, s.oid, 'USAGE') AND has_function_privilege(r.oid, p.oid, 'EXECUTE')
	JOIN pg_proc q ON p.prosrc ~ format('\m%s\.%s\(', q.pronamespace::regnamespace, q.proname)
		AND q.pronamespace IN ('twtasks'::regnamespace, 'twtasks_internal'::regnamespace) AND q.oid <> p.oid
	WHERE NOT p.prosecdef AND NOT has_function_privilege(r.oid, q.oid, 'EXECUTE')$$, 'a function with the rights of its caller calls none that the caller may not call');
SELECT is((SELECT count(*) FROM pg_trigger g JOIN pg_class c ON c.oid = g.tgrelid WHERE c.relnamespace = 'twtasks'::regnamespace
		   AND g.tgfoid NOT IN ('twtasks_internal.config_changed'::regproc, 'twtasks_internal.table_changed'::regproc, 'twtasks_internal.audit_policy'::regproc, 'twtasks_internal.add_to_history'::regproc))
	+ (SELECT count(*) FROM pg_rewrite w JOIN pg_class c ON c.oid = w.ev_class WHERE c.relnamespace = 'twtasks'::regnamespace AND c.relkind <> 'v')
	+ (SELECT count(*) FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid WHERE c.relnamespace = 'twtasks'::regnamespace)
	+ (SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid WHERE c.relnamespace = 'twtasks'::regnamespace AND i.indexprs IS NOT NULL), 0::bigint,
	'no trigger, rule, policy or expression of others hangs on our tables');

-- The same, tried.
CREATE TEMPORARY TABLE tried AS
SELECT w.role, t.relname, x.statement, format(x.statement, t.oid::regclass) AS text
FROM who w, pg_class t, unnest(ARRAY['INSERT INTO %s DEFAULT VALUES', 'DELETE FROM %s', 'TRUNCATE %s', 'LOCK %s', 'ALTER TABLE %s ADD x int',
	'CREATE INDEX ON %s ((1))', 'CREATE RULE r AS ON INSERT TO %s DO NOTHING', 'DROP TABLE %s', 'CREATE TEMP TABLE x (LIKE %s)']) x(statement)
WHERE t.relnamespace = 'twtasks'::regnamespace AND t.relkind IN ('r', 'p');
CREATE TEMPORARY TABLE outcome (role text, text text, state text);
GRANT ALL ON tried, outcome TO PUBLIC;
DO $$
DECLARE
	t record;
BEGIN
	FOR t IN SELECT * FROM tried LOOP
		EXECUTE format('SET LOCAL ROLE %I', t.role);
		INSERT INTO outcome VALUES (t.role, t.text, pg_temp.caught(t.text));
	END LOOP;
	RESET ROLE;
END $$;
SELECT cmp_ok((SELECT count(*) FROM outcome WHERE state = '42501'), '>', 200::bigint, 'hundreds of attempts on the tables are refused');
SELECT set_eq($$SELECT text FROM outcome WHERE state <> '42501' AND role <> 'regress_nobody'$$,
	ARRAY['CREATE TEMP TABLE x (LIKE twtasks.audit)', 'CREATE TEMP TABLE x (LIKE twtasks.flow)', 'CREATE TEMP TABLE x (LIKE twtasks.incident)', 'CREATE TEMP TABLE x (LIKE twtasks.incident_sent)', 'CREATE TEMP TABLE x (LIKE twtasks.monitor_type)', 'CREATE TEMP TABLE x (LIKE twtasks.payload_reader)', 'CREATE TEMP TABLE x (LIKE twtasks.policy_audit)', 'CREATE TEMP TABLE x (LIKE twtasks.schedule_audit)', 'CREATE TEMP TABLE x (LIKE twtasks.silence)', 'CREATE TEMP TABLE x (LIKE twtasks.transition)'], 'the only attempts that succeed look at readable tables');
SELECT is((SELECT count(*) FROM outcome WHERE state <> '42501' AND role = 'regress_nobody'), 0::bigint, 'every attempt of other roles is refused');
-- (Not preloaded, a session knows the settings from its first call on.)
SELECT twtasks.is_enabled() \g /dev/null
SET LOCAL ROLE twtasks_viewer;
SELECT pg_temp.caught('SELECT data FROM twtasks.task') AS data, pg_temp.caught('SELECT payload FROM twtasks.tasks') AS payload,
	   pg_temp.caught('SELECT * FROM twtasks.tasks, twtasks.error_tasks, twtasks.stuck_tasks, twtasks.stats, twtasks.nodes, twtasks.audit, twtasks.schedules, twtasks.schedule_runs, twtasks.schedule_audit, twtasks.policy_audit') AS views \gset
RESET ROLE;
SELECT is(ARRAY[:'data', :'payload', :'views'], '{42501,42703,ok}'::text[], 'a viewer sees tasks, not what they carry');

-- Objects of others in public and pg_temp, that a call of ours would find if
-- it looked there.  Each raises an error when it is used.
GRANT CREATE ON SCHEMA public TO regress_nobody;
SET LOCAL ROLE regress_nobody;
CREATE FUNCTION public.hostile() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'hostile code ran as %', current_user; END $$;
DO $$
DECLARE
	f text;
	t text;
BEGIN
	FOREACH f IN ARRAY '{clock_timestamp() timestamptz,now() timestamptz,cardinality(anyarray) integer,array_fill(anyelement;integer[]) anyarray,
		isfinite(timestamptz) boolean,left(text;integer) text,abs(bigint) bigint,uuid_hash(uuid) integer,hashtext(text) integer,pg_advisory_lock(bigint) void,
		pg_try_advisory_lock(bigint) boolean,pg_try_advisory_xact_lock(bigint) boolean,jsonb_typeof(jsonb) text,format(text) text,quote_ident(text) text,
		to_regclass(text) regclass,to_char(date;text) text,right(text;integer) text,to_date(text;text) date,ceil(numeric) numeric,sha256(bytea) bytea,
		to_char(timestamp;text) text,array_length(anyarray;integer) integer,regexp_replace(text;text;text;text) text,gen_random_uuid() uuid}'::text[]
	LOOP
		f := replace(f, ';', ', ');
		EXECUTE format('CREATE FUNCTION public.%s RETURNS %s LANGUAGE plpgsql AS ''BEGIN RAISE EXCEPTION ''''hostile code ran as %%'''', current_user; END''',
			substring(f FROM '^.*\)'), substring(f FROM '\S+$'));
	END LOOP;
	FOREACH t IN ARRAY '{uuid,bigint,integer,text,timestamptz,boolean,interval}'::text[] LOOP
		EXECUTE format('CREATE FUNCTION public.hostile(%1$s, %1$s) RETURNS boolean LANGUAGE sql AS ''SELECT public.hostile()''', t);
		FOREACH f IN ARRAY '{=,<>,<,>,<=,>=}'::text[] LOOP
			EXECUTE format('CREATE OPERATOR public.%s (LEFTARG = %s, RIGHTARG = %2$s, FUNCTION = public.hostile)', f, t);
		END LOOP;
	END LOOP;
END $$;
CREATE TABLE public.task AS SELECT public.hostile(1, 1) AS x WHERE false;
CREATE TABLE public.node (x integer);
CREATE TABLE public.unique_key (x integer);
CREATE TYPE public.task_status AS ENUM ('HOSTILE');
RESET ROLE;
CREATE TEMPORARY TABLE pg_inherits (x integer);
CREATE TEMPORARY TABLE pg_class (x integer);
CREATE TEMPORARY TABLE task (x integer);
CREATE DOMAIN pg_temp.uuid AS text;
CREATE DOMAIN pg_temp.timestamptz AS text;

CREATE ROLE regress_worker IN ROLE twtasks_producer, twtasks_worker, twtasks_operator;
CREATE FUNCTION pg_temp.under_attack() RETURNS text
LANGUAGE plpgsql
SET search_path = public, pg_temp, pg_catalog
AS $$
DECLARE
	a twtasks.added_task;
	node bigint;
	id pg_catalog.uuid;
	step text;
	problem text;
BEGIN
	step := 'nodes';
	node := twtasks_internal.start_node('attacked');
	PERFORM twtasks_internal.heartbeat(node);
	PERFORM twtasks_internal.tick(node);
	step := 'add';
	a := twtasks.add_task('A', '{}', key => 'attacked');
	a := twtasks.add_task('A', '{}', key => 'attacked');
	id := a.task_id;
	PERFORM twtasks.add_tasks('[{"type": "B", "task_id": "00000000-0000-0000-0000-000000000001"}]'::pg_catalog.jsonb);
	PERFORM twtasks.add_tasks(ARRAY[('C', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::twtasks.new_task]);
	step := 'sweep';
	PERFORM twtasks_internal.sweep_tasks('default', 10, '{X}', 0, 2);
	PERFORM twtasks_internal.expire_tasks();
	PERFORM twtasks_internal.promote_tasks();
	step := 'grab';
	PERFORM twtasks_internal.grab_tasks(ARRAY[id], '{0}', node, 1, '{60000}', '{error}');
	PERFORM twtasks_internal.resolve_grab(ARRAY[id], '{0}', node, 1);
	step := 'finish';
	PERFORM twtasks_internal.finish_tasks(ARRAY[id], '{1}', '{retry}', '{0}', '{x}', node, 2);
	PERFORM twtasks_internal.resolve_finish(ARRAY[id], '{1}', node, 2);
	step := 'change';
	PERFORM twtasks.reschedule_task(id, 2, '2000-01-01');
	PERFORM twtasks.resume_task(id, 3);
	PERFORM twtasks.hold_task(id, 4);
	PERFORM twtasks.release_task(id, 5);
	PERFORM twtasks.cancel_task(id, 6);
	PERFORM twtasks.fail_task(id, 7);
	step := 'duties';
	PERFORM twtasks_internal.recover_tasks();
	PERFORM twtasks_internal.make_partitions(1);
	PERFORM twtasks_internal.clean_tasks();
	step := 'execute';
	BEGIN
		PERFORM twtasks_internal.execute_tasks('public.none', NULL, '{}', '{}', node, 3, '{}', '{}');
	EXCEPTION WHEN undefined_function THEN
		-- that is the right answer
	END;
	step := 'schedules';
	PERFORM twtasks.schedule('attacked', '@daily', 'S', context => '{"a": 1}', expires_after => '1 hour');
	PERFORM twtasks.schedule('attacked', '@daily', 'T', time_zone => 'Europe/Berlin');
	PERFORM twtasks.run_schedule_now('attacked');
	PERFORM twtasks.pause_schedule('attacked');
	PERFORM twtasks.resume_schedule('attacked');
	PERFORM twtasks_internal.run_schedules();
	PERFORM twtasks.unschedule('attacked');
	SELECT pg_catalog.concat('a schedule did not run: ', s.problem) INTO problem
	FROM twtasks.schedules s WHERE s.problem IS NOT NULL OR s.last_run IS NULL;
	IF FOUND THEN
		RETURN problem;
	END IF;
	step := 'views';
	PERFORM FROM twtasks.tasks;
	PERFORM FROM twtasks.stuck_tasks;
	PERFORM FROM twtasks.error_tasks;
	PERFORM FROM twtasks.stats;
	PERFORM FROM twtasks.schedules;
	PERFORM FROM twtasks.schedule_runs;
	PERFORM twtasks_internal.end_node(node);
	RETURN 'unharmed';
EXCEPTION WHEN OTHERS THEN
	RETURN pg_catalog.concat(step, ': ', SQLERRM);
END $$;
SELECT twtasks.schedule('due', '@daily', 'S', context => '{"a": 1}') \g /dev/null
UPDATE twtasks.schedule SET next_run = '2024-01-01', look_at = '2024-01-01';
SET LOCAL ROLE regress_worker;
SELECT pg_temp.under_attack() AS attacked \gset
RESET ROLE;
SELECT is(:'attacked'::text, 'unharmed', 'every function does its work with hostile objects first in the search_path');
SELECT is(pg_temp.state(task_id), 'CANCELLED 7', 'the task went through all its changes under attack') FROM twtasks.unique_key WHERE key = 'attacked';
SELECT throws_ok($$SELECT 1 WHERE 1 OPERATOR(public.=) 1$$, 'P0001', 'hostile code ran as ' || current_user, 'hostile objects would have been noticed');
SELECT is((SELECT count(*) FROM pg_catalog.pg_class WHERE relnamespace = 'twtasks'::regnamespace AND relname ~ '^finished_task_[0-9]'
		   AND relowner <> 'twtasks_owner'::regrole), 0::bigint, 'partitions made meanwhile belong to the owner');

SELECT * FROM finish();
ROLLBACK;
