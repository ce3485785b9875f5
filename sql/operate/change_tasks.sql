/*
 * twtasks_internal.changeable(action)
 *
 *		The default statuses for change_tasks(): those from which an operator
 *		may take the action.  ERROR and HELD, which wait for a person's
 *		decision, count only for actions meant for them.
 *
 * Returns
 *		twtasks.task_status[]; NULL if there is no such action
 */
CREATE FUNCTION twtasks_internal.changeable(action text)
RETURNS twtasks.task_status[]
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE changeable.action
		WHEN 'resume' THEN '{ERROR}'
		WHEN 'prioritize' THEN '{WAITING,SUBMITTED}'
		WHEN 'cancel' THEN '{WAITING,SUBMITTED}'
		WHEN 'hold' THEN '{WAITING,SUBMITTED}'
		WHEN 'reopen' THEN '{FAILED}'
		ELSE array_agg(DISTINCT x.from_status)
	END::twtasks.task_status[]
	FROM twtasks.transition x WHERE x.action = changeable.action AND x.actor = 'operator'
	HAVING count(*) > 0
$$;

/*
 * twtasks_internal.may_change(action, status)
 *
 *		Whether an operator may take the action, or ask for it, in that status.
 */
CREATE FUNCTION twtasks_internal.may_change(action text, status twtasks.task_status)
RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT EXISTS (
		SELECT FROM twtasks.transition x
		WHERE x.action = may_change.action AND x.actor = 'operator'
		  AND x.from_status = may_change.status)
		OR (may_change.action = 'cancel' AND may_change.status = 'PROCESSING')
$$;

/*
 * twtasks_internal.check_filter(action, pattern, statuses, since, max_tasks, by_id)
 *
 *		Checks the arguments of change_tasks().
 *
 * Errors
 *		22004			pattern is NULL, or since is NULL to reopen tasks that are not named
 *		22023			no such action, an action not possible in a status, or max_tasks
 *						out of range
 */
CREATE FUNCTION twtasks_internal.check_filter(
	action text, pattern text, statuses twtasks.task_status[], since timestamptz, max_tasks integer, by_id boolean)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	wrong text;
BEGIN
	IF twtasks_internal.changeable(action) IS NULL THEN
		RAISE EXCEPTION 'unrecognized action: %', coalesce('"' || action || '"', 'NULL')
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Actions are resume, reschedule, prioritize, cancel, fail, confirm, hold, release and reopen.';
	ELSIF pattern IS NULL THEN
		RAISE EXCEPTION 'pattern must not be null'
			USING ERRCODE = 'null_value_not_allowed',
				HINT = 'Name a type, or the beginning of types and a *; "*" means all.';
	ELSIF max_tasks IS NULL OR max_tasks NOT BETWEEN 1 AND 10000 THEN
		RAISE EXCEPTION 'max_tasks must be between 1 and 10000, not %', coalesce(max_tasks::text, 'NULL')
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Call again until no task comes back.';
	ELSIF action = 'reopen' AND since IS NULL AND NOT by_id THEN
		RAISE EXCEPTION 'since must not be null to reopen tasks'
			USING ERRCODE = 'null_value_not_allowed',
				HINT = 'Give the time from which on the tasks became FAILED: the history is long.';
	END IF;
	SELECT s INTO wrong FROM unnest(statuses) s
	WHERE s IS NULL OR NOT twtasks_internal.may_change(check_filter.action, s);
	IF FOUND THEN
		RAISE EXCEPTION 'cannot % tasks in status %', action, coalesce(wrong, 'NULL')
			USING ERRCODE = 'invalid_parameter_value',
				HINT = format('It can be done in status %s.', (
					SELECT string_agg(s::text, ', ') FROM unnest(enum_range(NULL::twtasks.task_status)) s
					WHERE twtasks_internal.may_change(check_filter.action, s)));
	END IF;
END $$;

/*
 * twtasks_internal.named_tasks(action, ids, key, key_prefix)
 *
 *		The ids of the tasks that have one of the ids, that key, and a key that begins
 *		so, as far as these are given.  Without ids, confirm has only tasks of
 *		twtasks.unknown_outcomes.
 *
 * Returns
 *		NULL: none of them is given
 */
CREATE FUNCTION twtasks_internal.named_tasks(action text, ids uuid[], key text, key_prefix text)
RETURNS uuid[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	named uuid[] := ids;
BEGIN
	IF num_nonnulls(key, key_prefix) > 0 THEN
		-- The planner finds the bounds of a beginning that is a constant, in any encoding.
		EXECUTE format('SELECT array_agg(u.task_id) FROM twtasks.unique_key u WHERE %s AND %s',
					   coalesce('u.key = ' || quote_literal(named_tasks.key), 'true'),
					   coalesce('starts_with(u.key, ' || quote_literal(key_prefix) || ')', 'true')) INTO named;
		named := ARRAY(SELECT n FROM unnest(named) n WHERE named_tasks.ids IS NULL OR n = ANY (named_tasks.ids));
	END IF;
	IF action = 'confirm' AND ids IS NULL THEN
		named := ARRAY(SELECT u.id FROM twtasks.unknown_outcomes u WHERE named IS NULL
					   UNION ALL
					   SELECT u.id FROM twtasks.unknown_outcomes u WHERE u.id = ANY (named));
	END IF;
	RETURN named;
END $$;

/*
 * twtasks_internal.find_tasks(pattern, sub_type, bucket, statuses, error, since, until, newest_first, max_tasks, ids, node, added_by)
 *
 *		Tasks, live or finished, that match a filter.
 *
 * Parameters
 *		as change_tasks(); statuses must not be NULL
 *
 * Returns
 *		id, version, type, status; in order
 */
CREATE FUNCTION twtasks_internal.find_tasks(
	pattern text,
	sub_type text,
	bucket text,
	statuses twtasks.task_status[],
	error text,
	since timestamptz,
	until timestamptz,
	newest_first boolean,
	max_tasks integer,
	ids uuid[],
	node text,
	added_by text)
RETURNS TABLE (id uuid, version bigint, type text, status twtasks.task_status)
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
	-- ERROR and HELD have an index, and may be few among many tasks; times rule out days of the history
	WITH candidate AS (
		SELECT t.id, t.version, t.type, t.sub_type, t.bucket, t.status, t.error, t.state_time, t.incarnation, t.added_by
		FROM twtasks.task t
		WHERE NOT t.queued AND t.next_event_time = 'infinity'
		  AND find_tasks.statuses && '{ERROR,HELD}' AND find_tasks.ids IS NULL
		UNION ALL
		SELECT t.id, t.version, t.type, t.sub_type, t.bucket, t.status, t.error, t.state_time, t.incarnation, t.added_by
		FROM twtasks.task t
		WHERE (t.queued OR t.next_event_time < 'infinity')
		  AND find_tasks.statuses && '{WAITING,SUBMITTED,PROCESSING}' AND find_tasks.ids IS NULL
		UNION ALL
		SELECT f.id, f.version, f.type, f.sub_type, f.bucket, f.status, f.error, f.state_time, f.incarnation, f.added_by
		FROM twtasks.finished_task f
		WHERE find_tasks.statuses && '{DONE,FAILED,CANCELLED}' AND find_tasks.ids IS NULL
		  AND f.state_time >= coalesce(find_tasks.since, '-infinity') AND f.state_time < coalesce(find_tasks.until, 'infinity')
		UNION ALL
		SELECT t.id, t.version, t.type, t.sub_type, t.bucket, t.status, t.error, t.state_time, t.incarnation, t.added_by
		FROM (SELECT DISTINCT n.id FROM unnest(find_tasks.ids) n(id)) n JOIN twtasks.tasks t ON t.id = n.id)
	SELECT c.id, c.version, c.type, c.status
	FROM candidate c
	WHERE c.status = ANY (find_tasks.statuses)
	  AND twtasks_internal.fits(find_tasks.pattern, c.type) IS NOT NULL
	  AND (find_tasks.sub_type IS NULL OR c.sub_type = find_tasks.sub_type)
	  AND (find_tasks.bucket IS NULL OR c.bucket = find_tasks.bucket)
	  AND (find_tasks.error IS NULL OR position(lower(find_tasks.error) IN lower(c.error)) > 0)
	  AND (find_tasks.since IS NULL OR c.state_time >= find_tasks.since)
	  AND (find_tasks.until IS NULL OR c.state_time < find_tasks.until)
	  AND (find_tasks.node IS NULL
		   OR c.incarnation IN (SELECT n.incarnation FROM twtasks.node n WHERE n.name = find_tasks.node))
	  AND (find_tasks.added_by IS NULL OR c.added_by = find_tasks.added_by)
	ORDER BY CASE WHEN newest_first THEN c.state_time END DESC,
			 CASE WHEN NOT newest_first THEN c.state_time END, c.id
	LIMIT max_tasks
$$;

/*
 * twtasks_internal.lock_unless_busy(id)
 *
 *		Locks a task, live or finished, unless another session has locked it.  A
 *		caller that changes many tasks must not wait for one, nor in a circle.
 *
 * Returns
 *		false if another session has locked it; true also if there is no such task
 *
 * Locks		a row; does not wait
 */
CREATE FUNCTION twtasks_internal.lock_unless_busy(id uuid)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM FROM twtasks.task t WHERE t.id = lock_unless_busy.id FOR UPDATE SKIP LOCKED;
	IF FOUND THEN
		RETURN true;
	END IF;
	PERFORM FROM twtasks.finished_task f WHERE f.id = lock_unless_busy.id FOR UPDATE SKIP LOCKED;
	RETURN FOUND OR NOT EXISTS (
		SELECT FROM twtasks.task t WHERE t.id = lock_unless_busy.id
		UNION ALL
		SELECT FROM twtasks.finished_task f WHERE f.id = lock_unless_busy.id);
END $$;

/*
 * twtasks_internal.check_orders(action, reason, run_after, max_tasks, ids, priority)
 *
 *		Checks the other arguments of change_tasks().
 *
 * Errors
 *		22004			reason, run_after or priority is missing
 *		22023			run_after is infinite, priority is out of range, or there are more
 *						ids than max_tasks
 */
CREATE FUNCTION twtasks_internal.check_orders(
	action text, reason text, run_after timestamptz, max_tasks integer, ids uuid[], priority integer)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF reason IS NULL THEN
		RAISE EXCEPTION 'reason must not be null'
			USING ERRCODE = 'null_value_not_allowed',
				HINT = 'It is kept in twtasks.audit with each task.';
	ELSIF action = 'reschedule' AND run_after IS NULL THEN
		RAISE EXCEPTION 'run_after must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF cardinality(ids) > max_tasks THEN
		RAISE EXCEPTION 'ids must be at most max_tasks, not % of %', cardinality(ids), max_tasks
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Raise max_tasks, up to 10000, or name fewer tasks.';
	END IF;
	IF action = 'prioritize' THEN
		PERFORM twtasks_internal.check_priority(priority);
	END IF;
	PERFORM twtasks_internal.check_change('00000000-0000-0000-0000-000000000000', run_after);
END $$;

/*
 * twtasks_internal.refuse_count(tasks, expect)
 *
 *		Raises the error of a preview that is not true any more.
 *
 * Errors
 *		40001			always
 */
CREATE FUNCTION twtasks_internal.refuse_count(tasks bigint, expect bigint)
RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RAISE EXCEPTION 'the filter matches % % by now, and not %', tasks, twtasks_internal.plural(tasks, 'task', 'tasks'), expect
		USING ERRCODE = 'serialization_failure',
			DETAIL = 'Nothing was changed.',
			HINT = 'Look at them again by dry_run => true, and expect what it shows.';
END $$;

/*
 * twtasks_internal.left_tasks(ids, seen, statuses)
 *
 *		The rows of change_tasks() for ids that its filter did not find.
 *
 * Parameters
 *		seen			ids that it found
 */
CREATE FUNCTION twtasks_internal.left_tasks(ids uuid[], seen uuid[], statuses twtasks.task_status[])
RETURNS TABLE (id uuid, type text, from_status twtasks.task_status,
			   result text, version bigint, status twtasks.task_status)
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
	SELECT l.id, t.type, t.status,
		   CASE WHEN t.id IS NULL THEN 'not_found' WHEN t.status = ANY (statuses) THEN 'no_match' ELSE 'wrong_status' END,
		   t.version, t.status
	FROM (SELECT unnest(ids) EXCEPT SELECT unnest(seen)) l(id)
	LEFT JOIN twtasks.tasks t ON t.id = l.id
	ORDER BY l.id
$$;

/*
 * twtasks.change_tasks(action, pattern, ...)
 *
 *		Makes the same change to all tasks that match a filter, and reports the outcome
 *		for each task.
 *
 * Parameters
 *		action		'resume', 'reschedule', 'prioritize', 'cancel', 'fail', 'confirm', 'hold',
 *					'release' or 'reopen'
 *		pattern		a type, or the beginning of types and a *; '*' means all
 *		reason		for the audit
 *		sub_type	NULL: any
 *		bucket		NULL: any
 *		statuses	NULL: the usual ones of the action: ERROR to resume or fail,
 *					WAITING to reschedule, WAITING and SUBMITTED to prioritize, cancel or hold,
 *					HELD to release, FAILED to reopen, ERROR and HELD to confirm, but
 *					without ids only tasks of twtasks.unknown_outcomes
 *		error		only tasks with this text in their error, in upper or lower case
 *		since		only tasks that entered their status then or later
 *		until		only tasks that entered their status before then
 *		newest_first	the order: by the time of entering the status
 *		max_tasks	at most this many, 1 to 10000; call again until no row comes back
 *		run_after	for reschedule, release and reopen
 *		dry_run		makes the changes and takes them back: reports what would be done
 *		ids			only these tasks, at most max_tasks.  An id that the filter does
 *					not find comes back last, with the reason as its result
 *		key			only the task with that key
 *		key_prefix	only tasks whose key begins so
 *		node		only tasks that the node of that name grabbed or finished last
 *		added_by	only tasks that this role added
 *		expect		the number of tasks that the dry run showed: if another number
 *					matches by now, nothing is done.  The ids of the dry run go further:
 *					no other task is changed, and only a larger number than expect is
 *					refused
 *		priority	for prioritize: 0 (urgent) to 9
 *
 * Returns
 *		id, type		of each task, in order
 *		from_status		its status when it was found
 *		result			'changed'; in a dry run 'would_change'
 *						'requested'	its handler was asked to stop: request_cancel(); in a dry
 *									run 'would_request'
 *						'unchanged'	it has that priority already
 *						'busy'		another session is changing it
 *						'wrong_version', 'wrong_status', 'not_found'	another
 *									session changed it before us
 *						'no_match'	an id whose task the rest of the filter rules out
 *		version, status	of the task now; in a dry run, as they would be
 *
 * Errors
 *		22004			pattern is NULL; reason, unless it is a dry run; run_after to
 *						reschedule; priority to prioritize; since to reopen, without ids
 *						or keys
 *		22023			an argument is not valid
 *		23505			as reopen_task()
 *		40001			another number of tasks than expect matches the filter by now; with
 *						ids, a larger one
 *
 * Writes		twtasks.task, twtasks.finished_task, twtasks.audit
 * Locks		rows; does not wait
 * Wakes		sidecars of the tasks' buckets
 * Example		SELECT * FROM twtasks.change_tasks('resume', 'PAYOUT', 'the bank is back', error => 'timeout', dry_run => true);
 */
CREATE FUNCTION twtasks.change_tasks(
	action text,
	pattern text,
	reason text DEFAULT NULL,
	sub_type text DEFAULT NULL,
	bucket text DEFAULT NULL,
	statuses twtasks.task_status[] DEFAULT NULL,
	error text DEFAULT NULL,
	since timestamptz DEFAULT NULL,
	until timestamptz DEFAULT NULL,
	newest_first boolean DEFAULT false,
	max_tasks integer DEFAULT 100,
	run_after timestamptz DEFAULT NULL,
	dry_run boolean DEFAULT false,
	ids uuid[] DEFAULT NULL,
	key text DEFAULT NULL,
	key_prefix text DEFAULT NULL,
	node text DEFAULT NULL,
	added_by text DEFAULT NULL,
	expect bigint DEFAULT NULL,
	priority integer DEFAULT NULL)
RETURNS TABLE (id uuid, type text, from_status twtasks.task_status,
			   result text, version bigint, status twtasks.task_status)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER ROWS 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	wanted CONSTANT twtasks.task_status[] := coalesce(statuses, twtasks_internal.changeable(action));
	named CONSTANT uuid[] := twtasks_internal.named_tasks(action, ids, key, key_prefix);
	seen uuid[] := '{}';
	found record;
	changed twtasks.change_result;
	tried jsonb;
BEGIN
	IF dry_run IS NOT FALSE THEN
		BEGIN
			tried := (SELECT jsonb_agg(to_jsonb(c)) FROM twtasks.change_tasks(
				action, pattern, coalesce(reason, 'a dry run'), sub_type, bucket, statuses, error, since, until, newest_first,
				max_tasks, run_after, false, ids, key, key_prefix, node, added_by, expect, priority) c);
			RAISE EXCEPTION 'this change was for a test' USING ERRCODE = 'TWT00';
		EXCEPTION WHEN SQLSTATE 'TWT00' THEN
			NULL;
		END;
		RETURN QUERY SELECT c.id, c.type, c.from_status,
			CASE c.result WHEN 'changed' THEN 'would_change' WHEN 'requested' THEN 'would_request' ELSE c.result END,
			c.version, c.status
		FROM jsonb_to_recordset(tried) c(id uuid, type text, from_status twtasks.task_status, result text, version bigint, status twtasks.task_status);
		RETURN;
	END IF;
	PERFORM twtasks_internal.check_filter(action, pattern, statuses, since, max_tasks, named IS NOT NULL);
	PERFORM twtasks_internal.check_orders(action, reason, run_after, max_tasks, ids, priority);
	-- Without since, the whole history would be read for tasks to reopen.
	IF ids IS NOT NULL AND expect IS NOT NULL AND (action <> 'reopen' OR num_nonnulls(since, key, key_prefix) > 0) THEN
		PERFORM twtasks_internal.refuse_count(count(f.id), expect)
		FROM twtasks_internal.find_tasks(
			pattern, sub_type, bucket, wanted, error, since, until, false,
			CASE WHEN expect > max_tasks THEN least(expect, 10000)::integer + 1 ELSE max_tasks END,
			twtasks_internal.named_tasks(action, NULL::uuid[], key, key_prefix), node, added_by) f
		HAVING count(f.id) > expect;
	END IF;
	FOR found IN
		SELECT f.id, f.version, f.type, f.status, count(f.id) OVER () AS tasks
		FROM (SELECT) one LEFT JOIN twtasks_internal.find_tasks(
			pattern, sub_type, bucket, wanted, error, since, until, coalesce(newest_first, false), max_tasks,
			named, node, added_by) WITH ORDINALITY f(id, version, type, status, n) ON true
		ORDER BY f.n
	LOOP
		IF expect <> found.tasks AND ids IS NULL THEN
			PERFORM twtasks_internal.refuse_count(found.tasks, expect);
		END IF;
		CONTINUE WHEN found.id IS NULL;
		IF NOT twtasks_internal.lock_unless_busy(found.id) THEN
			changed := ('busy', found.version, found.status);
		ELSE
			changed := twtasks_internal.change_task(action, found.id, found.version, run_after, reason, priority);
		END IF;
		seen := seen || found.id;
		id := found.id;
		type := found.type;
		from_status := found.status;
		result := changed.result;
		version := changed.version;
		status := changed.status;
		RETURN NEXT;
	END LOOP;
	RETURN QUERY SELECT l.* FROM twtasks_internal.left_tasks(ids, seen, wanted) l;
END $$;
