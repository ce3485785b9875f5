/* A row of list_tasks(): a task, or the end of a page. */
CREATE TYPE twtasks.listed_task AS (
	id				uuid,
	version			bigint,
	type			text,
	sub_type		text,
	bucket			text,
	priority		smallint,
	status			twtasks.task_status,
	created			timestamptz,
	state_time		timestamptz,
	next_event_time	timestamptz,
	deadline		timestamptz,
	expires			timestamptz,
	tries			integer,
	key				text,
	error			text,
	incarnation		bigint,
	node			text,
	planned			timestamptz,
	added_by		text,
	message			text,
	cursor			text,
	looked_at		bigint,
	looked_back_to	timestamptz,
	is_complete		boolean
);

/*
 * twtasks_internal.list_filter(given)
 *
 *		The filter of a call of list_tasks(), without the parameters that it
 *		lacks.
 *
 * Errors
 *		22023			a parameter is not valid
 */
CREATE FUNCTION twtasks_internal.list_filter(given record)
RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
AS $$
BEGIN
	IF given.max_tasks IS NULL OR given.max_tasks NOT BETWEEN 1 AND 10000 THEN
		RAISE EXCEPTION 'max_tasks must be between 1 and 10000, not %', coalesce(given.max_tasks::text, 'NULL')
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'The cursor of the last row leads to the next page.';
	ELSIF given.budget IS NULL OR given.budget NOT BETWEEN 1 AND 1000000 THEN
		RAISE EXCEPTION 'budget must be between 1 and 1000000, not %', coalesce(given.budget::text, 'NULL')
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'The cursor of the last row goes on where the budget ended.';
	END IF;
	RETURN jsonb_strip_nulls(jsonb_build_object(
		'status', given.status, 'type', given.type, 'bucket', given.bucket, 'priority', given.priority,
		'key', given.key, 'key_prefix', given.key_prefix, 'sub_type', given.sub_type, 'node', given.node,
		'error', given.error, 'added_by', given.added_by, 'since', given.since, 'until', given.until))
		|| CASE WHEN given.data IS NULL THEN '{}' ELSE jsonb_build_object('data', given.data) END;
END $$;

/*
 * twtasks_internal.list_condition(filter)
 *
 *		The condition in SQL that a row r of a walk must meet.  $1 is the data that tasks must
 *		contain: a failed statement is in the log of the server, with its text.
 */
CREATE FUNCTION twtasks_internal.list_condition(filter jsonb)
RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT coalesce(string_agg(format(c.condition, filter ->> c.name), ' AND '), 'true')
	FROM (VALUES
		('type', CASE WHEN right(filter ->> 'type', 1) = '*'
					  THEN 'starts_with(r.type, left(%L, -1))' ELSE 'r.type = %L' END),
		('bucket', 'r.bucket = %L'),
		('priority', 'r.priority = %L::smallint'),
		('key', 'r.key = %L'),
		('key_prefix', 'starts_with(r.key, %L)'),
		('sub_type', 'r.sub_type = %L'),
		('node', 'r.incarnation IN (SELECT n.incarnation FROM twtasks.node n WHERE n.name = %L)'),
		('error', 'position(lower(%L) IN lower(r.error)) > 0'),
		('added_by', 'r.added_by = %L'),
		('since', 'r.state_time >= %L::timestamptz'),
		('until', 'r.state_time < %L::timestamptz'),
		('status', 'to_jsonb(r.status) <@ %L::jsonb'),
		('data', 'r.data @> $1')) c(name, condition)
	WHERE filter ? c.name
$$;

/*
 * twtasks_internal.list_branch(live, filter, condition, budget)
 *
 *		A query for the rows of live or finished tasks, for a walk.  It has an order of
 *		its own, since a union of queries with conditions does not pass on its order.
 */
CREATE FUNCTION twtasks_internal.list_branch(live boolean, filter jsonb, condition text, budget integer)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('(SELECT t.id, t.version, t.type, t.sub_type, t.bucket, t.priority, t.status, t.created, t.state_time, %s,'
				  ' t.tries, t.key, t.error, t.incarnation, %s, t.added_by, %s AS data, %s AS message FROM twtasks.%s t'
				  ' WHERE %s ORDER BY t.id DESC LIMIT %s)',
				  CASE WHEN live THEN 't.next_event_time, t.deadline, t.expires'
					   ELSE 'NULL::timestamptz AS next_event_time, NULL::timestamptz AS deadline, NULL::timestamptz AS expires' END,
				  CASE WHEN live THEN 't.planned' ELSE 'NULL::timestamptz AS planned' END,
				  CASE WHEN filter ? 'data' THEN 't.data' ELSE 'NULL::jsonb' END,
				  CASE WHEN live THEN 'NULL::text' ELSE 't.message' END,
				  CASE WHEN live THEN 'task' ELSE 'finished_task' END, condition, budget)
$$;

/*
 * twtasks_internal.list_history_days(filter)
 *
 *		The condition on state_time that rules out whole partitions of the history.
 *		It has the bounds of partitions, since rows that an exact condition leaves out
 *		within a partition would not count for the budget.
 */
CREATE FUNCTION twtasks_internal.list_history_days(filter jsonb)
RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
AS $$
	SELECT coalesce(' AND t.state_time >= ' || quote_literal(d.first) || '::timestamptz', '')
		|| coalesce(' AND t.state_time < ' || quote_literal(d.past) || '::timestamptz', '')
	FROM (SELECT max(p.first) FILTER (WHERE p.first <= (filter ->> 'since')::timestamptz) AS first,
				 min(p.past) FILTER (WHERE p.past >= (filter ->> 'until')::timestamptz) AS past
		  FROM twtasks_internal.history_parts() p) d
$$;

/*
 * twtasks_internal.list_queue(filter)
 *
 *		The places in the index of the queue that have the tasks of the filter, as
 *		conditions: its type in at most 5 buckets, each with its priorities.
 *
 * Returns
 *		NULL: there are more buckets, or the filter asks for other tasks than the
 *		SUBMITTED ones of one type
 */
CREATE FUNCTION twtasks_internal.list_queue(filter jsonb)
RETURNS text[]
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off
AS $$
	WITH RECURSIVE b(bucket) AS (
		(SELECT t.bucket FROM twtasks.task t WHERE t.queued ORDER BY t.bucket LIMIT 1)
		UNION ALL
		SELECT (SELECT t.bucket FROM twtasks.task t WHERE t.queued AND t.bucket > b.bucket ORDER BY t.bucket LIMIT 1)
		FROM b WHERE b.bucket IS NOT NULL),
	place(bucket) AS (
		SELECT filter ->> 'bucket' WHERE filter ? 'bucket'
		UNION ALL
		SELECT f.bucket FROM (SELECT b.bucket FROM b WHERE NOT filter ? 'bucket' LIMIT 7) f WHERE f.bucket IS NOT NULL)
	SELECT array_agg(format('t.queued AND t.bucket = %L AND t.type = %L AND t.priority = %s::smallint',
							p.bucket, filter ->> 'type', n))
	FROM place p, generate_series(0, 9) n
	WHERE filter -> 'status' = '["SUBMITTED"]' AND right(filter ->> 'type', 1) <> '*'
	  AND n = coalesce((filter ->> 'priority')::integer, n)
	HAVING count(DISTINCT p.bucket) <= 5
$$;

/*
 * twtasks_internal.list_few(filter, budget)
 *
 *		A query for the ids of few tasks, by an index, among which are all that the
 *		filter asks for: by the unique keys, or by the index of times.
 *
 * Returns
 *		NULL: no such index has the filter, or there are more than budget tasks
 */
CREATE FUNCTION twtasks_internal.list_few(filter jsonb, budget integer)
RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
SET jit = off
AS $$
DECLARE
	beginning CONSTANT text := coalesce(filter ->> 'key', nullif(filter ->> 'key_prefix', ''));
	ids text;
	found bigint;
BEGIN
	IF beginning IS NOT NULL THEN
		-- The planner finds the bounds of a beginning that is a constant, in any encoding.
		ids := format('SELECT u.task_id FROM twtasks.unique_key u WHERE '
					  || CASE WHEN filter ? 'key' THEN 'u.key = %L' ELSE 'starts_with(u.key, %L)' END, beginning);
	ELSIF filter -> 'status' <@ '["WAITING", "ERROR", "HELD"]' THEN
		ids := 'SELECT t.id FROM twtasks.task t WHERE NOT t.queued AND t.next_event_time '
			|| CASE WHEN NOT filter -> 'status' @> '"WAITING"' THEN '>= ''infinity'''
					WHEN filter -> 'status' <@ '["WAITING"]' THEN '< ''infinity''' ELSE '<= ''infinity''' END;
	ELSE
		RETURN NULL;
	END IF;
	EXECUTE format('SELECT count(*) FROM (%s LIMIT %s) x', ids, budget::bigint + 1) INTO found;
	RETURN CASE WHEN found <= budget THEN ids END;
END $$;

/*
 * twtasks_internal.list_source(filter, budget, past)
 *
 *		The query of a walk: its rows from large ids to small ones.
 *
 * Parameters
 *		past			begin with smaller ids; NULL: with the largest
 */
CREATE FUNCTION twtasks_internal.list_source(filter jsonb, budget integer, past uuid)
RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	few CONSTANT text := twtasks_internal.list_few(filter, budget);
	live CONSTANT boolean := coalesce(filter -> 'status' ?| '{WAITING,SUBMITTED,PROCESSING,ERROR,HELD}', true);
	finished CONSTANT boolean := coalesce(filter -> 'status' ?| '{DONE,FAILED,CANCELLED}', true);
	beyond CONSTANT text := coalesce(' AND t.id < ' || quote_literal(past) || '::uuid', '');
	conditions text[] := '{true}';
	source text;
BEGIN
	IF few IS NOT NULL THEN
		conditions := ARRAY['t.id = ANY (ARRAY(SELECT f.id FROM few f))'];
	ELSE
		conditions := coalesce(twtasks_internal.list_queue(filter), '{true}');
	END IF;
	IF live THEN
		SELECT string_agg(twtasks_internal.list_branch(true, filter, c || beyond, budget), ' UNION ALL ')
		INTO source FROM unnest(conditions) c;
	END IF;
	IF finished THEN
		source := concat_ws(' UNION ALL ', source, twtasks_internal.list_branch(false, filter,
			conditions[1] || beyond || twtasks_internal.list_history_days(filter), budget));
	END IF;
	RETURN coalesce('WITH few(id) AS MATERIALIZED (' || few || ') ', '')
		|| format('SELECT u.* FROM (%s) u ORDER BY u.id DESC LIMIT %s',
				  coalesce(source, twtasks_internal.list_branch(true, filter, 'false', budget)), budget);
END $$;

/*
 * twtasks_internal.list_page(filter, after, max_tasks, budget, may_see)
 *
 *		A page of tasks that match a filter of list_filter().
 *
 * Parameters
 *		after, max_tasks, budget
 *						as in list_tasks()
 *		may_see			a condition in SQL on the type of a row r; other tasks do not match
 *
 * Returns, errors: as list_tasks()
 */
CREATE FUNCTION twtasks_internal.list_page(filter jsonb, after text, max_tasks integer, budget integer, may_see text)
RETURNS SETOF twtasks.listed_task
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET max_parallel_workers_per_gather = 0
SET jit = off
AS $$
DECLARE
	seal CONSTANT text := md5(filter::text);
	found record;
	listed twtasks.listed_task;
	page twtasks.listed_task;
BEGIN
	IF after IS NOT NULL AND after !~ ('^[0-9a-f]{32}' || seal || '$') THEN
		RAISE EXCEPTION 'after is not a cursor of this filter'
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Give the cursor of the last row together with the filter of that call, or neither.';
	END IF;
	page.looked_at := 0;
	page.is_complete := true;
	FOR found IN EXECUTE format(
		'SELECT r.*, %1$s AS matches, (SELECT n.name FROM twtasks.node n WHERE n.incarnation = r.incarnation) AS node'
		' FROM (SELECT s.*, row_number() OVER w AS n, lead(s.id) OVER w IS NULL AS is_last FROM (%2$s) s'
		' WINDOW w AS (ORDER BY s.id DESC)) r WHERE (%1$s) OR r.is_last LIMIT %3$s',
		format('CASE WHEN %s THEN %s ELSE false END', may_see, twtasks_internal.list_condition(filter)),
		twtasks_internal.list_source(filter, budget, left(after, 32)::uuid), max_tasks)
		USING filter -> 'data'
	LOOP
		IF found.matches THEN
			listed := (found.id, found.version, found.type, found.sub_type, found.bucket, found.priority, found.status,
				found.created, found.state_time, found.next_event_time, found.deadline, found.expires, found.tries,
				found.key, found.error, found.incarnation, found.node, found.planned, found.added_by, found.message,
				NULL, NULL, NULL, NULL);
			RETURN NEXT listed;
		END IF;
		page.looked_at := found.n;
		page.looked_back_to := found.created;
		page.is_complete := found.is_last AND found.n < budget;
		page.cursor := CASE WHEN NOT page.is_complete THEN replace(found.id::text, '-', '') || seal END;
	END LOOP;
	RETURN NEXT page;
END $$;

/*
 * twtasks_internal.list_tasks_as_owner(given record)
 *
 *		The work of list_tasks(), with its caller noted.  The row has a column for
 *		each parameter.
 *
 * Returns, errors: as list_tasks()
 */
CREATE FUNCTION twtasks_internal.list_tasks_as_owner(given record)
RETURNS SETOF twtasks.listed_task
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF given.data IS NOT NULL
		AND NOT has_column_privilege(twtasks_internal.caller(), 'twtasks.task', 'data', 'SELECT') THEN
		RAISE EXCEPTION 'permission denied to search in the data of tasks'
			USING ERRCODE = 'insufficient_privilege',
				DETAIL = 'An answer would tell what tasks carry.',
				HINT = 'Search by key, sub_type or error, or by request_search() as a role that may read payloads.';
	END IF;
	RETURN QUERY SELECT p.* FROM twtasks_internal.list_page(
		twtasks_internal.list_filter(given), given.after, given.max_tasks, given.budget, 'true') p;
END $$;

/*
 * twtasks.list_tasks(...)
 *
 *		A page of the tasks that match a filter, live and finished, from large ids to
 *		small ones: newest first, unless callers gave the ids.  It looks at a bounded
 *		number of tasks, and its last row says how far it looked.
 *
 *		These filters lead to the tasks by an index: a key or the beginning of keys,
 *		the SUBMITTED tasks of one type, and WAITING, ERROR or HELD if at most budget
 *		tasks are.  All others look at one task after the other.
 *
 * Parameters
 *		status		NULL, here and below: any
 *		type		a type, or the beginning of types and a *
 *		bucket, priority, sub_type
 *		key			the task with that key
 *		key_prefix	tasks whose key begins so
 *		node		name of the node that grabbed or finished them; a node is known for
 *					some days after its end
 *		error		this text is in their error, in upper or lower case
 *		added_by	the role that added them
 *		since		they entered their status then or later
 *		until		they entered their status before then
 *		data		their data contain this, as by @>
 *		after		the cursor of the page before; NULL: the first page
 *		max_tasks	at most this many, 1 to 10000
 *		budget		look at this many tasks at most, 1 to 1000000
 *
 * Returns
 *		id ... message	of a task, as in twtasks.tasks
 *		node			the node that grabbed or finished it, by its name
 *
 *		The last row is not a task.  Its id is NULL, and only there these columns
 *		have values:
 *		cursor			where the next page goes on; NULL: there are no more tasks
 *		looked_at		how many tasks this call looked at
 *		looked_back_to	when the last of these tasks was added
 *		is_complete		false: there may be more
 *
 * Errors
 *		22023			max_tasks or budget is out of range, or after is a cursor of another
 *						filter
 *		42501			data is given, and the caller may not read the column "data" of
 *						twtasks.task
 *
 * Locks		none
 * Example		SELECT * FROM twtasks.list_tasks('{FAILED}', 'PAYOUT|*', error => 'timeout');
 */
CREATE FUNCTION twtasks.list_tasks(
	status twtasks.task_status[] DEFAULT NULL,
	type text DEFAULT NULL,
	bucket text DEFAULT NULL,
	priority integer DEFAULT NULL,
	key text DEFAULT NULL,
	key_prefix text DEFAULT NULL,
	sub_type text DEFAULT NULL,
	node text DEFAULT NULL,
	error text DEFAULT NULL,
	added_by text DEFAULT NULL,
	since timestamptz DEFAULT NULL,
	until timestamptz DEFAULT NULL,
	data jsonb DEFAULT NULL,
	after text DEFAULT NULL,
	max_tasks integer DEFAULT 50,
	budget integer DEFAULT 20000)
RETURNS SETOF twtasks.listed_task
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_as_owner';
