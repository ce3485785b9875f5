-- before:
/* A task that may be stored: what the caller gave, and what its policy adds. */
CREATE TYPE twtasks_internal.checked_task AS (
	type		text,
	data		jsonb,
	sub_type	text,
	key			text,
	task_id		uuid,
	priority	integer,
	run_after	timestamptz,
	bucket		text,
	expires		timestamptz,
	context		jsonb,
	payload		bytea,
	key_rule	text,
	size		integer,
	queue_time	interval
);

/*
 * twtasks_internal.new_id(at)
 *
 *		An id in order of time, as src/common/task_id.c makes it: UUID version 7, with
 *		the microseconds in its third part.
 */
CREATE FUNCTION twtasks_internal.new_id(at timestamptz)
RETURNS uuid
LANGUAGE plpgsql VOLATILE STRICT PARALLEL SAFE
AS $$
DECLARE
	us CONSTANT bigint := extract(epoch FROM at) OPERATOR(pg_catalog.*) 1000000;
BEGIN
	RETURN pg_catalog.concat(pg_catalog.lpad(pg_catalog.to_hex(us OPERATOR(pg_catalog./) 1000), 12, '0'), '7',
		pg_catalog.lpad(pg_catalog.to_hex(us OPERATOR(pg_catalog.%) 1000 OPERATOR(pg_catalog.*) 4096 OPERATOR(pg_catalog./) 1000), 3, '0'),
		pg_catalog.substr(pg_catalog.replace(pg_catalog.gen_random_uuid()::text, '-', ''), 17));
END $$;

/*
 * twtasks_internal.session_context(context)
 *
 *		The context of a task that this session adds: what twtasks.context says, and
 *		the task's own, which wins.
 *
 * Errors
 *		22023			the setting is no JSON object
 */
CREATE FUNCTION twtasks_internal.session_context(context jsonb)
RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	setting CONSTANT text := nullif(current_setting('twtasks.context', true), '');
BEGIN
	IF setting IS NULL OR jsonb_typeof(context) <> 'object' THEN
		RETURN context;
	ELSIF setting !~ '^[[:space:]]*[{]' THEN
		RAISE invalid_text_representation;
	END IF;
	RETURN setting::jsonb || coalesce(context, '{}');
EXCEPTION WHEN invalid_text_representation THEN
	RAISE EXCEPTION 'invalid value for parameter "twtasks.context": "%"', twtasks_internal.shown(setting)
		USING ERRCODE = 'invalid_parameter_value',
			DETAIL = 'The value must be a JSON object.',
			HINT = 'Write {"request_id": "...", "traceparent": "..."}, or nothing.';
END $$;

/*
 * twtasks_internal.check_type(type)
 *
 *		Raises an error unless it is the type of a task that may be added.
 */
CREATE FUNCTION twtasks_internal.check_type(type text)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF type IS NULL THEN
		RAISE EXCEPTION 'type must not be null' USING ERRCODE = 'null_value_not_allowed';
	ELSIF type !~ '^[A-Za-z0-9_.:|/-]{1,120}$' THEN
		RAISE EXCEPTION 'invalid type: "%"', twtasks_internal.shown(type)
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'A type has 1 to 120 letters (A to Z), digits and characters of "_.:|/-".',
				HINT = 'Put what varies from task to task into sub_type or data, but the key of a limit into the type, '
					   'in these characters: a number, or a hash.';
	END IF;
END $$;

/*
 * twtasks_internal.check_known_type(type)
 *
 *		Raises an error if unknown types are refused, and this is one.
 *
 * Errors
 *		42704			it is
 */
CREATE FUNCTION twtasks_internal.check_known_type(type text)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF twtasks_internal.setting('refuse_unknown_types')::boolean AND NOT twtasks_internal.is_known_type(type) THEN
		RAISE EXCEPTION 'unrecognized type: "%"', twtasks_internal.shown(type)
			USING ERRCODE = 'undefined_object',
				DETAIL = 'No sidecar has handled it in the last 30 days, and no policy names it.',
				HINT = coalesce('Perhaps you meant "' || twtasks_internal.nearest_type(type) || '".',
					'Start a sidecar that handles it, or announce it with twtasks.configure_type().');
	END IF;
END $$;

/* Sessions in which a function of intercept runs: a row that its transaction removes again. */
CREATE UNLOGGED TABLE twtasks_internal.intercepting (
	pid		integer NOT NULL,	-- Id of the server process
	CONSTRAINT intercepting_pkey PRIMARY KEY (pid)
);
COMMENT ON TABLE twtasks_internal.intercepting IS 'Sessions in which a function of intercept runs';

/*
 * twtasks_internal.intercepted(task, function, is_own)
 *
 *		The task that the function of a policy makes of a task.  An extension goes on from
 *		its tasks by what it has added, so there only sub_type, priority, bucket, and more
 *		of the context are free.
 *
 * Parameters
 *		is_own			whether the type is an extension's
 *
 * Errors
 *		P0001			the function refuses the task
 *		55000			it changes what it must not
 */
CREATE FUNCTION twtasks_internal.intercepted(task twtasks.new_task, function text, is_own boolean)
RETURNS twtasks.new_task
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	made twtasks.new_task;
	changed text;
BEGIN
	-- The function's own tasks do not come here again.
	IF EXISTS (SELECT FROM twtasks_internal.intercepting i WHERE i.pid = pg_backend_pid()) THEN
		RETURN task;
	END IF;
	INSERT INTO twtasks_internal.intercepting (pid) VALUES (pg_backend_pid());
	made := twtasks_internal.call_intercept(function, task);
	DELETE FROM twtasks_internal.intercepting i WHERE i.pid = pg_backend_pid();
	-- PL/pgSQL has a row of NULLs for a row that is NULL.
	IF made IS NULL THEN
		RAISE EXCEPTION 'task of type "%" was refused by function "%"', task.type, function
			USING ERRCODE = 'raise_exception';
	END IF;
	IF is_own THEN
		SELECT k INTO changed FROM unnest('{type,data,key,task_id,run_after,expires,payload}'::text[]) k
		WHERE to_jsonb(task) -> k IS DISTINCT FROM to_jsonb(made) -> k LIMIT 1;
		IF NOT FOUND AND NOT coalesce(made.context @> task.context, task.context IS NULL) THEN
			changed := 'context';
		END IF;
		IF changed IS NOT NULL THEN
			RAISE EXCEPTION 'function "%" for intercept must not change % of a task of type "%"', function, changed, task.type
				USING ERRCODE = 'object_not_in_prerequisite_state',
					DETAIL = 'An extension adds the tasks of this type, and goes on by what it has added.',
					HINT = 'Let the function return the task as it is, or with another sub_type, priority or bucket, or with more in its context.';
		END IF;
	END IF;
	RETURN made;
END $$;

/*
 * twtasks_internal.is_printable(value)
 *
 *		Whether the value has no control characters, which could forge lines of logs.
 */
CREATE FUNCTION twtasks_internal.is_printable(value text)
RETURNS boolean
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
-- Without a search_path, so that the planner inlines it.
AS $$
	SELECT value OPERATOR(pg_catalog.!~) ('[' OPERATOR(pg_catalog.||) pg_catalog.chr(1) OPERATOR(pg_catalog.||) '-' OPERATOR(pg_catalog.||) pg_catalog.chr(31)
		OPERATOR(pg_catalog.||) pg_catalog.chr(127) OPERATOR(pg_catalog.||) ']')
$$;

/*
 * twtasks_internal.check_fields(task)
 *
 *		Raises an error unless all but the type is valid.
 */
CREATE FUNCTION twtasks_internal.check_fields(task twtasks_internal.checked_task)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	wrong CONSTANT text := CASE WHEN NOT isfinite(task.run_after) THEN 'run_after' WHEN NOT isfinite(task.expires) THEN 'expires' END;
	most bigint;
BEGIN
	IF task.bucket !~ '^[A-Za-z0-9_-]{1,48}$' THEN
		RAISE EXCEPTION 'invalid bucket: "%"', twtasks_internal.shown(task.bucket)
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'A bucket has 1 to 48 letters (A to Z), digits and characters of "_-".';
	ELSIF task.bucket <> 'default' AND NOT EXISTS (SELECT FROM twtasks.bucket_policy b WHERE b.name = task.bucket) THEN
		RAISE EXCEPTION 'bucket "%" is not configured', task.bucket
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'No sidecar would run the task.',
				HINT = 'Choose a bucket of twtasks.buckets, or create it with twtasks.configure_bucket().';
	ELSIF length(task.sub_type) > 250 OR NOT twtasks_internal.is_printable(task.sub_type) THEN
		RAISE EXCEPTION 'invalid sub_type'
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'A sub_type has at most 250 characters and no control characters.';
	ELSIF octet_length(task.key) NOT BETWEEN 1 AND 1000 OR NOT twtasks_internal.is_printable(task.key) THEN
		RAISE EXCEPTION 'invalid key'
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'A key has 1 to 1000 bytes and no control characters.',
				HINT = 'For a longer key use a hash of it.';
	ELSIF task.key_rule <> 'kept' AND (task.key IS NULL OR task.task_id IS NOT NULL) THEN
		RAISE EXCEPTION '%', CASE WHEN task.key IS NULL THEN 'key must not be null with this key_rule' ELSE 'task_id cannot be given with this key_rule' END
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'The rules live, replace and replace_data are about a key, and each new task has a new id.';
	ELSIF task.priority NOT BETWEEN 0 AND 9 THEN
		RAISE EXCEPTION 'priority must be between 0 and 9, not %', task.priority
			USING ERRCODE = 'invalid_parameter_value',
				HINT = '0 is the most urgent, 5 the default.';
	ELSIF wrong IS NOT NULL THEN
		RAISE EXCEPTION '% must be a finite time', wrong
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Leave it out, or use NULL, for no limit.';
	END IF;
	most := pg_size_bytes(twtasks_internal.setting('max_payload'));
	IF task.size > most THEN
		RAISE EXCEPTION 'task of % bytes is too large', task.size
			USING ERRCODE = 'program_limit_exceeded',
				DETAIL = format('The setting twtasks.max_payload allows %s bytes for data, payload and context together, with all digits of their numbers.', most),
				HINT = 'Store large content elsewhere and add a task that names it.';
	END IF;
END $$;

/*
 * twtasks_internal.with_policy(task, key_rule, policy)
 *
 *		The task with what its policy adds, checked.  A time of expiry counts from
 *		run_after: a task for tomorrow must not expire before.
 */
CREATE FUNCTION twtasks_internal.with_policy(task twtasks.new_task, key_rule text, policy record)
RETURNS twtasks_internal.checked_task
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	made twtasks_internal.checked_task;
BEGIN
	made.type := task.type;
	made.data := task.data;
	made.sub_type := task.sub_type;
	made.key := task.key;
	made.task_id := task.task_id;
	made.priority := coalesce(task.priority, policy.priority, 5);
	made.run_after := task.run_after;
	made.bucket := coalesce(task.bucket, policy.bucket, 'default');
	made.expires := task.expires;
	made.context := task.context;
	made.payload := task.payload;
	made.key_rule := key_rule;
	made.queue_time := coalesce(policy.queue_time, '30 minutes');
	made.size := coalesce(octet_length(task.data::text), 0) + coalesce(octet_length(task.payload), 0) + coalesce(octet_length(task.context::text), 0);
	IF task.expires IS NULL AND policy.expires_after > '0' AND NOT coalesce(policy.on_end ^@ 'twtasks_internal.', false) THEN
		-- a time beyond all times is none
		made.expires := CASE WHEN coalesce(task.run_after, '-infinity') < '290000-01-01'
			THEN greatest(twtasks.clock(), task.run_after) + policy.expires_after END;
	END IF;
	PERFORM twtasks_internal.check_fields(made);
	RETURN made;
END $$;

/*
 * twtasks_internal.checked(task, key_rule, role, by_extension)
 *
 *		The task as it may be stored.  A wrong argument would later be a task that nobody
 *		can run.
 *
 * Parameters
 *		by_extension	whether an extension adds it, which has checked the rights: see
 *						add_own_task()
 *
 * Errors
 *		as add_task()
 */
CREATE FUNCTION twtasks_internal.checked(task twtasks.new_task, key_rule text, role text, by_extension boolean DEFAULT false)
RETURNS twtasks_internal.checked_task
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	policy record;
	own text;
	made twtasks_internal.checked_task;
BEGIN
	PERFORM twtasks_internal.check_type(task.type);
	task.context := twtasks_internal.session_context(task.context);
	policy := twtasks.policy_of(task.type);
	own := CASE WHEN policy.on_end ^@ 'twtasks_internal.' THEN policy.on_end END;
	IF policy.intercept <> 'none' THEN
		task := twtasks_internal.intercepted(task, policy.intercept, own IS NOT NULL);
		PERFORM twtasks_internal.check_type(task.type);
		policy := twtasks.policy_of(task.type);
		own := CASE WHEN policy.on_end ^@ 'twtasks_internal.' THEN policy.on_end END;
	END IF;
	PERFORM twtasks_internal.check_known_type(task.type);
	made := twtasks_internal.with_policy(task, key_rule, policy);
	IF own IS NULL THEN
		PERFORM twtasks_internal.check_allowed_for(task.type, role);
	ELSIF NOT by_extension THEN
		RAISE EXCEPTION 'permission denied to add tasks of type "%" by hand', task.type
			USING ERRCODE = 'insufficient_privilege',
				DETAIL = format('An extension adds these tasks, and its function "%s" hears of their ends.', own),
				HINT = 'Use the extension''s function, such as twtasks.add_event() or twtasks.start().';
	END IF;
	RETURN made;
END $$;

/*
 * twtasks_internal.is_plain()
 *
 *		Whether a task with a valid type, and a valid key or none, needs no other check: there
 *		are no policies, no allowed types, and no settings other than the standard.
 */
CREATE FUNCTION twtasks_internal.is_plain()
RETURNS SETOF boolean
LANGUAGE sql STABLE PARALLEL SAFE ROWS 1
-- Without a search_path and SETOF, so that the planner inlines it.
AS $$
	SELECT pg_catalog.concat(pg_catalog.current_setting('twtasks.context', true), pg_catalog.current_setting('twtasks.testing', true),
			pg_catalog.current_setting('twtasks.enabled', true), pg_catalog.current_setting('twtasks.max_payload', true),
			pg_catalog.current_setting('twtasks.refuse_unknown_types', true)) OPERATOR(pg_catalog.=) ''
		AND NOT EXISTS (SELECT FROM twtasks.type_policy) AND NOT EXISTS (SELECT FROM twtasks.allowed_type)
		AND NOT EXISTS (SELECT FROM twtasks.setting s WHERE s.value OPERATOR(pg_catalog.<>) s.standard)
$$;

/*
 * twtasks_internal.check_key_rule(key_rule)
 *
 *		Raises an error unless it is one of the rules of put_task().
 */
CREATE FUNCTION twtasks_internal.check_key_rule(key_rule text)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF key_rule <> ALL ('{kept,live,replace,replace_data}') THEN
		RAISE EXCEPTION 'unrecognized key_rule: "%"', twtasks_internal.shown(key_rule)
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Rules are kept, live, replace and replace_data.';
	END IF;
END $$;

-- twin: twt_add_task LANGUAGE plpgsql SECURITY DEFINER
DECLARE
	now CONSTANT timestamptz := clock_timestamp();
	-- as new_id() makes it
	id CONSTANT uuid := overlay(lpad(to_hex((date_part('epoch', now) * 1000000)::bigint * 512 / 125), 15, '0') PLACING '7' FROM 13 FOR 0)
		|| substr(gen_random_uuid()::text, 20);
	size CONSTANT integer := coalesce(octet_length(data::text), 0) + coalesce(octet_length(payload), 0) + coalesce(octet_length(context::text), 0);
	role text;
	added twtasks.added_task;
	task twtasks.new_task;
BEGIN
	-- Most tasks have a type and data, and perhaps a key, and all that the others need would take ten times as long.
	-- PL/pgSQL prepares each expression again in each transaction, so there are few, with few calls.
	<<plain>>
	BEGIN
		EXIT plain WHEN num_nonnulls(task_id, sub_type, bucket, expires) > 0 OR type ~ '^[A-Za-z0-9_.:|/-]{1,120}$' IS NOT TRUE
			OR size >= 1000000 OR coalesce(priority, 5) NOT BETWEEN 0 AND 9 OR NOT coalesce(isfinite(run_after), true);
		IF key IS NOT NULL THEN
			INSERT INTO twtasks.unique_key (task_id, key)
			SELECT id, key FROM twtasks_internal.is_plain() p(is_plain)
			WHERE p.is_plain AND octet_length(key) BETWEEN 1 AND 1000 AND twtasks_internal.is_printable(key)
			ON CONFLICT DO NOTHING;
			EXIT plain WHEN NOT FOUND;
		END IF;
		-- as store_task() does
		INSERT INTO twtasks.task AS t (id, created, state_time, next_event_time, status, queued, size, priority, added_by,
			type, key, data, payload, context)
		SELECT id, now, now, CASE WHEN run_after > now THEN run_after ELSE now + interval '30 minutes' END,
			CASE WHEN run_after > now THEN 'WAITING' ELSE 'SUBMITTED' END::twtasks.task_status, (run_after > now) IS NOT TRUE,
			size, coalesce(priority, 5), coalesce(nullif(current_setting('role'), 'none'), session_user),
			type, key, data, payload, context
		FROM twtasks_internal.is_plain() p(is_plain) WHERE p.is_plain OR key IS NOT NULL
		RETURNING t.id, 0::bigint, 'added' INTO added.task_id, added.version, added.result;
		EXIT plain WHEN NOT FOUND;
		-- as tell() does
		IF run_after > now OR current_setting('twtasks_news.b' || md5('default'), true) <> '' THEN
			PERFORM twtasks_internal.tell('default', twtasks_internal.trigger_line(id, 0, coalesce(priority, 5), size, run_after, type))
			WHERE current_setting('twtasks_news.b' || md5('default'), true) IS DISTINCT FROM 'sweep';
		ELSIF set_config('twtasks_news.b' || md5('default'), concat(id, ' 0 ', coalesce(priority, 5), ' ', size, ' 0 ', type), true) <> '' THEN
			INSERT INTO twtasks_internal.news (bucket, setting) VALUES ('default', 'twtasks_news.b' || md5('default'));
		END IF;
		RETURN added;
	END plain;
	role := pg_get_userbyid(twtasks_internal.caller());
	task := twtasks.new_task(type, data, sub_type, key, task_id, priority, run_after, bucket, expires, context, payload);
	RETURN twtasks_internal.store_task(twtasks_internal.checked(task, 'kept', role), role);
END

-- twin: twt_put_task LANGUAGE plpgsql SECURITY DEFINER
DECLARE
	role CONSTANT text := pg_get_userbyid(twtasks_internal.caller());
	task CONSTANT twtasks.new_task := twtasks.new_task(type, data, sub_type, key, NULL, priority, run_after, bucket, expires, context, payload);
BEGIN
	IF key IS NULL OR key_rule IS NULL THEN
		RAISE EXCEPTION '% must not be null', CASE WHEN key IS NULL THEN 'key' ELSE 'key_rule' END
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	PERFORM twtasks_internal.check_key_rule(key_rule);
	RETURN twtasks_internal.store_task(twtasks_internal.checked(task, key_rule, role), role);
END

-- twin: twt_add_task_as LANGUAGE plpgsql
BEGIN
	RETURN twtasks_internal.store_task(twtasks_internal.checked(task, 'kept', role), role);
END
