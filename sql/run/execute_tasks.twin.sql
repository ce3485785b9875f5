-- before:
/*
 * Handlers that are SQL functions, as src/execute has them.  SQL cannot confine a
 * handler as C does: the time of a statement is limited only as a whole, and what the
 * handler sets, prepares or opens in the session stays there.  execute_one() puts the
 * settings back that the sidecar needs, and drops temporary objects.
 */

/* A task that was grabbed, and what became of its handler. */
CREATE TYPE twtasks_internal.execution AS (
	try			twtasks_internal.try,
	type		text,
	tries		integer,
	wait_us		bigint,					-- from when it could run to its grab
	is_finished	boolean,				-- with its handler
	status		twtasks.task_status,	-- if it is finished
	failure		text,					-- NULL: it succeeded
	input		twtasks.task_input,		-- for a handler of batches
	place		tid						-- ... and its row
);

/*
 * twtasks_internal.handler_role(name)
 *
 *		The role that a handler is to run as: checks that the caller may become it.
 */
CREATE FUNCTION twtasks_internal.handler_role(name name)
RETURNS oid
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	caller CONSTANT oid := twtasks_internal.caller();
	role CONSTANT oid := (SELECT r.oid FROM pg_roles r WHERE r.rolname = handler_role.name);
BEGIN
	IF name IS NULL THEN
		RETURN caller;
	ELSIF role IS NULL THEN
		RAISE EXCEPTION 'role "%" of a handler does not exist', name
			USING ERRCODE = 'undefined_object',
				HINT = 'Create it, or correct it in the sidecar''s configuration.';
	ELSIF NOT pg_has_role(caller, role, CASE WHEN current_setting('server_version_num')::integer < 160000 THEN 'MEMBER' ELSE 'SET' END) THEN
		RAISE EXCEPTION 'permission denied to run a handler as role "%"', name
			USING ERRCODE = 'insufficient_privilege',
				HINT = format('GRANT %I TO %I.', name, pg_get_userbyid(caller));
	END IF;
	RETURN role;
END $$;

/*
 * twtasks_internal.check_runs_as(handler, name, role)
 *
 *		Raises an error unless the handler of this name can be called, and runs as the role,
 *		if one is named.
 *
 * Errors
 *		0A000			it runs as another role
 *		42501, 22023	as check_callable()
 */
CREATE FUNCTION twtasks_internal.check_runs_as(handler pg_proc, name text, role name)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF role <> pg_get_userbyid(handler.proowner) THEN
		RAISE EXCEPTION 'handler function "%" does not run as role "%"', name, role
			USING ERRCODE = 'feature_not_supported',
				DETAIL = 'Without our library a handler runs as its owner.',
				HINT = format('Let role "%s" own the function, or leave the option "role" out.', role);
	END IF;
	PERFORM twtasks_internal.check_callable(handler);
END $$;

/*
 * twtasks_internal.grabbed_before(ids, versions, incarnation, token)
 *
 *		The tasks that an earlier call of grab_tasks() with these arguments won, as its
 *		result has them.  Nobody knows since when they could run.
 */
CREATE FUNCTION twtasks_internal.grabbed_before(
	ids uuid[], versions bigint[], incarnation bigint, token bigint,
	OUT id uuid, OUT version bigint, OUT type text, OUT sub_type text, OUT bucket text, OUT priority smallint, OUT tries integer,
	OUT grabbed timestamptz, OUT data jsonb, OUT payload bytea, OUT context jsonb, OUT key text, OUT place tid, OUT runnable timestamptz)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 100
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $$
BEGIN
	RETURN QUERY
	SELECT t.id, t.version, t.type, t.sub_type, t.bucket, t.priority, t.tries, t.state_time, t.data, t.payload, t.context, t.key,
		t.ctid, NULL::timestamptz
	FROM unnest(ids, twtasks_internal.spread(versions, cardinality(ids))) WITH ORDINALITY u(id, version, n)
	JOIN twtasks.task t ON t.id = u.id
	WHERE t.status = 'PROCESSING' AND t.version = u.version + 1
	  AND t.incarnation = grabbed_before.incarnation AND t.token = grabbed_before.token
	  AND EXISTS (SELECT FROM twtasks.node n WHERE n.incarnation = grabbed_before.incarnation AND n.ended IS NULL)
	ORDER BY u.n;
END $$;

/*
 * twtasks_internal.handler_answer(function, result, input, inputs)
 *
 *		Calls a handler that returns the type result, of one task or of an array of them.
 *		Its deferred triggers fire as a role without rights: at the commit they would have
 *		the sidecar's.
 *
 * Parameters
 *		inputs			NULL: the handler takes input
 *
 * Returns
 *		answer			NULL: it returns none
 *		answers			of a handler that answers for each task of an array
 */
CREATE FUNCTION twtasks_internal.handler_answer(
	function text, result regtype, input twtasks.task_input, inputs twtasks.task_input[],
	OUT answer twtasks.task_result, OUT answers twtasks.task_answer[])
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	is_void CONSTANT boolean := result = 'void'::regtype;
BEGIN
	IF inputs IS NULL AND is_void THEN
		PERFORM twtasks_internal.call_void_handler(function, input);
	ELSIF inputs IS NULL THEN
		answer := twtasks_internal.call_handler(function, input);
	ELSIF is_void THEN
		PERFORM twtasks_internal.call_void_batch(function, inputs);
	ELSIF result = 'twtasks.task_result'::regtype THEN
		answer := twtasks_internal.call_batch(function, inputs);
	ELSE
		answers := twtasks_internal.call_batch_for_each(function, inputs);
	END IF;
	PERFORM twtasks_internal.fire_all_deferred(), twtasks_internal.check_calls();
END $$;

/*
 * twtasks_internal.has_temporary()
 *
 *		Whether this session has temporary objects.
 */
CREATE FUNCTION twtasks_internal.has_temporary()
RETURNS boolean
LANGUAGE sql VOLATILE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT pg_my_temp_schema() <> 0
		AND EXISTS (SELECT FROM pg_depend d WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = pg_my_temp_schema())
$$;

/*
 * twtasks_internal.deallocate(kept)
 *
 *		Drops the statements that SQL has prepared in this session, but keeps these.
 */
CREATE FUNCTION twtasks_internal.deallocate(kept text[])
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	name text;
BEGIN
	FOR name IN SELECT s.name FROM pg_prepared_statements s WHERE s.from_sql AND s.name <> ALL (kept) LOOP
		EXECUTE format('DEALLOCATE %I', name);
	END LOOP;
END $$;

/*
 * twtasks_internal.confined_answer(function, result, input, inputs)
 *
 *		Calls a handler, and undoes what it left in the session: settings that have no point
 *		in their names, and temporary objects, unless there were some before.
 *
 * Parameters		as in handler_answer()
 *
 * Returns
 *		answer, answers	as handler_answer()
 *		outcome			of set_outcome()
 *
 * Errors
 *		0A000			another handler calls it
 *		57014			the handler went on after statement_timeout had cancelled it
 */
CREATE FUNCTION twtasks_internal.confined_answer(
	function text, result regtype, input twtasks.task_input, inputs twtasks.task_input[],
	OUT answer twtasks.task_result, OUT answers twtasks.task_answer[], OUT outcome jsonb)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- Everybody may set these, of PostgreSQL 15 to 18.
	names CONSTANT text[] := '{DateStyle,IntervalStyle,TimeZone,application_name,array_nulls,backend_flush_after,backslash_quote,bytea_output,
		check_function_bodies,client_connection_check_interval,client_encoding,client_min_messages,commit_siblings,
		constraint_exclusion,cpu_index_tuple_cost,cpu_operator_cost,cpu_tuple_cost,cursor_tuple_fraction,debug_pretty_print,
		debug_print_parse,debug_print_plan,debug_print_rewritten,default_statistics_target,default_table_access_method,
		default_tablespace,default_text_search_config,default_toast_compression,default_transaction_deferrable,
		default_transaction_isolation,default_transaction_read_only,effective_cache_size,effective_io_concurrency,enable_async_append,
		enable_bitmapscan,enable_gathermerge,enable_hashagg,enable_hashjoin,enable_incremental_sort,enable_indexonlyscan,
		enable_indexscan,enable_material,enable_memoize,enable_mergejoin,enable_nestloop,enable_parallel_append,
		enable_parallel_hash,enable_partition_pruning,enable_partitionwise_aggregate,enable_partitionwise_join,enable_seqscan,
		enable_sort,enable_tidscan,escape_string_warning,exit_on_error,extra_float_digits,force_parallel_mode,from_collapse_limit,
		geqo,geqo_effort,geqo_generations,geqo_pool_size,geqo_seed,geqo_selection_bias,geqo_threshold,gin_fuzzy_search_limit,
		gin_pending_list_limit,hash_mem_multiplier,idle_in_transaction_session_timeout,idle_session_timeout,jit,jit_above_cost,
		jit_expressions,jit_inline_above_cost,jit_optimize_above_cost,jit_tuple_deforming,join_collapse_limit,lc_monetary,
		lc_numeric,lc_time,lock_timeout,log_parameter_max_length_on_error,logical_decoding_work_mem,maintenance_io_concurrency,
		maintenance_work_mem,max_parallel_maintenance_workers,max_parallel_workers,max_parallel_workers_per_gather,
		min_parallel_index_scan_size,min_parallel_table_scan_size,parallel_leader_participation,parallel_setup_cost,
		parallel_tuple_cost,password_encryption,plan_cache_mode,quote_all_identifiers,random_page_cost,recursive_worktable_factor,
		restrict_nonsystem_relation_kind,row_security,search_path,seq_page_cost,standard_conforming_strings,statement_timeout,
		stats_fetch_consistency,synchronize_seqscans,synchronous_commit,tcp_keepalives_count,tcp_keepalives_idle,
		tcp_keepalives_interval,tcp_user_timeout,temp_tablespaces,timezone_abbreviations,trace_notify,trace_sort,
		transform_null_equals,vacuum_cost_delay,vacuum_cost_limit,vacuum_cost_page_dirty,vacuum_cost_page_hit,vacuum_cost_page_miss,
		vacuum_failsafe_age,vacuum_freeze_min_age,vacuum_freeze_table_age,vacuum_multixact_failsafe_age,
		vacuum_multixact_freeze_min_age,vacuum_multixact_freeze_table_age,wal_sender_timeout,wal_skip_threshold,work_mem,xmlbinary,
		xmloption,createrole_self_grant,debug_logical_replication_streaming,debug_parallel_query,enable_distinct_reordering,
		enable_group_by_reordering,enable_presorted_aggregate,enable_self_join_elimination,file_copy_method,icu_validation_level,
		io_combine_limit,scram_iterations,transaction_timeout,vacuum_buffer_usage_limit,vacuum_max_eager_freeze_failure_rate,
		vacuum_truncate}';
	settings CONSTANT text[] := ARRAY(SELECT current_setting(u, true) FROM unnest(names) u);
	context CONSTANT text := coalesce(current_setting('twtasks.context', true), '');
	had_temporary CONSTANT boolean := twtasks_internal.has_temporary();
	prepared CONSTANT text[] := ARRAY(SELECT s.name FROM pg_prepared_statements s WHERE s.from_sql);
	timeout CONSTANT interval := current_setting('statement_timeout');
	called record;
BEGIN
	IF current_setting('twtasks_handler.outcome', true) <> '' THEN
		RAISE EXCEPTION 'a SQL handler cannot run another SQL handler' USING ERRCODE = 'feature_not_supported';
	END IF;
	-- set_outcome() replaces it; tasks that the handler adds carry the context of its own,
	-- but an array of tasks has none.
	PERFORM set_config('twtasks_handler.outcome', 'null', true),
		set_config('twtasks.context', CASE WHEN jsonb_typeof(input.context) = 'object' THEN input.context::text ELSE '' END, true);
	SELECT h.* INTO called FROM twtasks_internal.handler_answer(function, result, input, inputs) h;
	answer := called.answer;
	answers := called.answers;
	outcome := nullif(current_setting('twtasks_handler.outcome'), 'null')::jsonb;
	PERFORM twtasks_internal.check_outcome(outcome);
	-- Also what the handler has set for the session.
	PERFORM set_config('twtasks_handler.outcome', '', false), set_config('twtasks.context', context, true);
	IF settings <> ARRAY(SELECT current_setting(u, true) FROM unnest(names) u) THEN
		PERFORM set_config(u.name, u.value, false) FROM unnest(names, settings) u(name, value) WHERE current_setting(u.name, true) <> u.value;
	END IF;
	PERFORM twtasks_internal.deallocate(prepared);
	IF NOT had_temporary AND twtasks_internal.has_temporary() THEN
		DISCARD TEMP;
	END IF;
	IF timeout > '0' AND clock_timestamp() - statement_timestamp() > timeout THEN
		RAISE EXCEPTION 'canceling statement due to statement timeout' USING ERRCODE = 'query_canceled';
	END IF;
END $$;

/*
 * twtasks_internal.tried(execution, function, task, retry)
 *
 *		Runs the handler of a task, and says how the try ends.
 *
 * Errors		as answered()
 */
CREATE FUNCTION twtasks_internal.tried(execution twtasks_internal.execution, function text, task record, retry jsonb)
RETURNS twtasks_internal.try
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	called record;
BEGIN
	SELECT c.answer, c.outcome INTO called
	FROM twtasks_internal.confined_answer(function, task.returns, twtasks_internal.task_input(task.id, task.version, task.type, task.sub_type,
		task.bucket, task.priority, task.tries, task.grabbed, task.data, task.payload, task.context, task.key), NULL) c;
	RETURN twtasks_internal.answered(execution.try, called.answer, called.outcome, retry, task.place);
END $$;

/*
 * twtasks_internal.execution_of(task)
 *
 *		A grabbed or refused task whose handler has not run.
 *
 * Parameters
 *		task			as execute_one() has it
 */
CREATE FUNCTION twtasks_internal.execution_of(task record)
RETURNS twtasks_internal.execution
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	made twtasks_internal.execution;
BEGIN
	made.try := twtasks_internal.new_try(task.number, task.id, task.version, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, false);
	made.type := task.type;
	made.is_finished := false;
	IF task.version IS NOT NULL THEN
		made.tries := task.tries;
		made.wait_us := CASE WHEN task.runnable IS NOT NULL THEN greatest(extract(epoch FROM task.grabbed - task.runnable) * 1000000, 0) END;
	END IF;
	RETURN made;
END $$;

/*
 * twtasks_internal.execute_one(function, task, retry, incarnation, token)
 *
 *		Runs the handler of a task in a subtransaction.  A function of on_end that fails
 *		must undo the handler's work too, so it runs there.
 *
 * Parameters
 *		task			as grab_tasks() returns it, and its number; won: how many there are; may_call:
 *						whether types have functions of on_end; returns: the type that the
 *						handler returns
 *
 * Errors
 *		40P01, 40001	locks or snapshots of other tasks may have caused them; alone, this task
 *						might succeed
 */
CREATE FUNCTION twtasks_internal.execute_one(function text, task record, retry jsonb, incarnation bigint, token bigint)
RETURNS twtasks_internal.execution
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	made twtasks_internal.execution;
	done twtasks_internal.execution;
	places text;
	n integer;
BEGIN
	made := twtasks_internal.execution_of(task);
	IF task.version IS NULL THEN
		RETURN made;
	END IF;
	done := made;
	done.try := twtasks_internal.tried(made, function, task, retry);
	IF task.may_call AND (SELECT nullif(p.on_end, 'none') FROM twtasks.policy_of(task.type) p) IS NOT NULL THEN
		SELECT count(*), min(e.status) INTO n, done.status
		FROM twtasks_internal.run_ends(ARRAY[done.try], incarnation, token, false, true) e;
		IF n = 0 THEN
			RAISE EXCEPTION 'task was changed by the handler of another task' USING ERRCODE = 'object_not_in_prerequisite_state';
		END IF;
		done.is_finished := true;
	END IF;
	RETURN done;
EXCEPTION WHEN OTHERS OR ASSERT_FAILURE THEN
	IF task.won > 1 AND SQLSTATE IN ('40P01', '40001') THEN
		RAISE;
	END IF;
	GET STACKED DIAGNOSTICS places = PG_EXCEPTION_CONTEXT;
	made.failure := format('%s%s (SQLSTATE %s)', SQLERRM, twtasks_internal.fault_places(places), SQLSTATE);
	RETURN made;
END $$;

/*
 * twtasks_internal.release_session_locks()
 *
 *		Releases the advisory locks that handlers have left in the session, unless the
 *		life of a node is one of them.
 */
CREATE FUNCTION twtasks_internal.release_session_locks()
RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT pg_advisory_unlock_all()
	FROM (SELECT bool_or(l.classid = (twtasks_internal.node_lock(0::bigint) >> 32)::oid) AS is_node FROM pg_locks l
		  WHERE l.pid = pg_backend_pid() AND l.locktype = 'advisory' AND l.granted) s
	WHERE NOT s.is_node
$$;

-- twin: twt_find_handler LANGUAGE plpgsql SECURITY DEFINER
DECLARE
	runs_as oid;
	schema oid;
	handler pg_proc;
	is_batch CONSTANT boolean := find_handler.function LIKE '%' || twtasks_internal.batch_argument();
	name CONSTANT text := replace(find_handler.function, twtasks_internal.batch_argument(), '');
	input CONSTANT regtype := CASE WHEN is_batch THEN 'twtasks.task_input[]' ELSE 'twtasks.task_input' END;
BEGIN
	PERFORM twtasks_internal.require('function', find_handler.function IS NULL);
	runs_as := twtasks_internal.handler_role(find_handler.role);
	SELECT n.oid INTO schema FROM pg_namespace n, parse_ident(name) p
	WHERE cardinality(p) = 2 AND n.nspname = p[1];
	IF NOT has_schema_privilege(runs_as, schema, 'USAGE') THEN
		RAISE EXCEPTION 'permission denied for the schema of handler function "%"', name
			USING ERRCODE = 'insufficient_privilege',
				HINT = format('GRANT USAGE ON SCHEMA %s TO %I.', schema::regnamespace, pg_get_userbyid(runs_as));
	END IF;
	SELECT p.* INTO handler FROM pg_proc p
	WHERE p.oid = twtasks_internal.function_named(name, ARRAY[input]);
	IF NOT FOUND THEN
		RAISE EXCEPTION 'handler function "%" does not exist', name
			USING ERRCODE = 'undefined_function',
				HINT = CASE WHEN twtasks_internal.function_named(name, '{twtasks.task_input}') IS NOT NULL
						THEN 'It takes one task: leave the option "batch" of the handler out.'
					WHEN twtasks_internal.function_named(name, '{twtasks.task_input[]}') IS NOT NULL
						THEN 'It takes an array of tasks: set the option "batch" of the handler.'
					ELSE format('Create it as %s(%s %s), with its schema in the name.', name, CASE WHEN is_batch THEN 'tasks' ELSE 'task' END, input) END;
	ELSIF handler.proretset OR NOT (handler.prorettype IN ('void'::regtype, 'twtasks.task_result'::regtype)
												   OR is_batch AND handler.prorettype = 'twtasks.task_answer[]'::regtype) THEN
		RAISE EXCEPTION 'handler function "%" must return %twtasks.task_result or void', name, CASE WHEN is_batch THEN 'twtasks.task_answer[], ' ELSE '' END
			USING ERRCODE = 'undefined_function';
	ELSIF NOT has_function_privilege(runs_as, handler.oid, 'EXECUTE') THEN
		RAISE EXCEPTION 'permission denied for handler function "%"', name
			USING ERRCODE = 'insufficient_privilege',
				HINT = format('GRANT EXECUTE ON FUNCTION %s(%s) TO %I.', name, input, pg_get_userbyid(runs_as));
	END IF;
	PERFORM twtasks_internal.check_runs_as(handler, name, find_handler.role);
	RETURN handler.oid;
END

-- twin: twt_execute_tasks LANGUAGE plpgsql SECURITY DEFINER
DECLARE
	executions twtasks_internal.execution[] := '{}';
	task record;
	handler record;
	one twtasks_internal.execution;
	given twtasks_internal.execution[] := '{}';
	may_call boolean;
	ends twtasks_internal.ended_try[];
	tries twtasks_internal.try[];
BEGIN
	IF incarnation IS NULL OR token IS NULL THEN
		RAISE EXCEPTION 'incarnation and token must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	SELECT replace(execute_tasks.function, twtasks_internal.batch_argument(), '') AS name, p.prorettype::regtype AS returns,
		p.proargtypes[0] = 'twtasks.task_input[]'::regtype AS is_batch INTO handler
	-- As a condition it would be called for each row of pg_proc.
	FROM twtasks_internal.find_handler(execute_tasks.function, execute_tasks.role) f(handler) JOIN pg_proc p ON p.oid = f.handler;
	may_call := EXISTS (SELECT FROM twtasks.type_policy p WHERE p.options ? 'on_end');
	PERFORM twtasks_internal.require(u.name, u.is_null)
	FROM unnest('{ids,versions,timeouts_ms,stuck,types,buckets}'::text[], ARRAY[ids IS NULL, versions IS NULL, timeouts_ms IS NULL,
			stuck IS NULL, types IS NULL, buckets IS NULL]) WITH ORDINALITY u(name, is_null, n) ORDER BY u.n;
	-- From here on, deferrable triggers on our tables fire with the grab, not with a handler.
	PERFORM twtasks_internal.fire_all_deferred(), twtasks_internal.check_calls();
	FOR task IN
		SELECT g.*, row_number() OVER () AS number, count(g.version) OVER () AS won, may_call, handler.returns AS returns
		FROM (SELECT f.* FROM twtasks_internal.grab_tasks(ids, versions, incarnation, token, timeouts_ms, stuck, types, buckets,
					  true, coalesce(places, '{}')) f WHERE execute_tasks.grabbed IS NOT TRUE
			  UNION ALL
			  SELECT f.* FROM twtasks_internal.grabbed_before(ids, versions, incarnation, token) f WHERE execute_tasks.grabbed) g
	LOOP
		IF NOT handler.is_batch OR task.version IS NULL THEN
			executions := executions || twtasks_internal.execute_one(handler.name, task, retry, incarnation, token);
		ELSE
			one := twtasks_internal.execution_of(task);
			one.input := twtasks_internal.task_input(task.id, task.version, task.type, task.sub_type,
				task.bucket, task.priority, task.tries, task.grabbed, task.data, task.payload, task.context, task.key);
			one.place := task.place;
			given := given || one;
		END IF;
	END LOOP;
	IF cardinality(given) > 0 THEN
		SELECT handler.name AS name, handler.returns AS returns, retry AS retry, incarnation AS incarnation, token AS token,
			may_call AS may_call, cardinality(given) AS won INTO handler;
		executions := executions || twtasks_internal.execute_batch(handler, given);
	END IF;
	tries := ARRAY(SELECT e.try FROM unnest(executions) e WHERE (e.try).version IS NOT NULL AND e.failure IS NULL AND NOT e.is_finished);
	IF cardinality(tries) > 0 THEN
		ends := ARRAY(SELECT e FROM twtasks_internal.run_ends(tries, incarnation, token, false, true) e);
		IF cardinality(ends) <> cardinality(tries) THEN
			RAISE EXCEPTION 'task was changed by the handler of another task' USING ERRCODE = 'object_not_in_prerequisite_state';
		END IF;
	END IF;
	PERFORM twtasks_internal.release_session_locks();
	RETURN QUERY
	SELECT (e.try).id, (e.try).version,
		CASE WHEN (e.try).version IS NULL THEN 'refused' WHEN e.failure IS NOT NULL THEN 'failed' ELSE 'finished' END,
		CASE WHEN (e.try).version IS NULL THEN e.type WHEN e.failure IS NOT NULL THEN e.failure
			WHEN coalesce(e.status, d.status) = 'CANCELLED' THEN 'cancelled' ELSE nullif((e.try).result, 'done') END,
		e.tries, CASE WHEN (e.try).version IS NOT NULL THEN e.type END, e.wait_us
	FROM unnest(executions) e LEFT JOIN unnest(ends) d ON d.number = (e.try).number;
END
