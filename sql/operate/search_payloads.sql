/*
 * twtasks_internal.readable_types()
 *
 *		A condition in SQL on the type of a row r: whether the role that called may read
 *		payloads of that type.  A search tests a task after the other, for which
 *		may_read_payload() is too slow.
 */
CREATE FUNCTION twtasks_internal.readable_types()
RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT coalesce('CASE ' || string_agg(
		format(CASE WHEN right(f.pattern, 1) = '*' THEN 'WHEN starts_with(r.type, left(%L, -1)) THEN %L::boolean' ELSE 'WHEN r.type = %L THEN %L::boolean' END,
			   f.pattern, f.may_read), ' ' ORDER BY right(f.pattern, 1) = '*', length(f.pattern) DESC) || ' ELSE false END', 'false')
	FROM (SELECT p.pattern, coalesce(bool_or(pg_has_role(twtasks_internal.caller(), r.oid, 'USAGE')), false) AS may_read
		  FROM twtasks.payload_reader p LEFT JOIN pg_roles r ON r.rolname = p.role GROUP BY p.pattern) f
$$;

/*
 * twtasks_internal.may_search(type)
 *
 *		Whether the role that called may read payloads of that type; of a pattern, or NULL: of
 *		any type.
 */
CREATE FUNCTION twtasks_internal.may_search(type text)
RETURNS boolean
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN right(may_search.type, 1) <> '*' THEN twtasks_internal.may_read_payload(may_search.type)
				ELSE EXISTS (SELECT FROM twtasks.payload_reader p JOIN pg_roles r ON r.rolname = p.role
							 WHERE pg_has_role(twtasks_internal.caller(), r.oid, 'USAGE')) END
$$;

/*
 * twtasks.request_search(data, reason, ...)
 *
 *		Asks to search in the data of tasks, live and finished.  A search tells what tasks
 *		carry, so twtasks.payload_read has a row for each call, with its parameters, also if
 *		the role may read no payload there.  Commit, then call search_payloads().
 *
 * Parameters
 *		data		what the data of a task must contain, as by @>
 *		reason		for the audit
 *		the others	as in list_tasks(); each page is a request of its own
 *
 * Returns
 *		the number of the request, for search_payloads()
 *
 * Errors
 *		22004			data or reason is NULL
 *		22023			reason is empty, or max_tasks or budget is out of range
 *
 * Writes		twtasks.payload_read
 * Locks		none
 * Example		SELECT twtasks.request_search('{"order": 42}', 'customer asks', type => 'PAYOUT|*') AS read \gset
 */
CREATE FUNCTION twtasks.request_search(
	data jsonb,
	reason text,
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
	after text DEFAULT NULL,
	max_tasks integer DEFAULT 50,
	budget integer DEFAULT 20000)
RETURNS bigint
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_as_owner';

/*
 * twtasks_internal.request_search_as_owner(given record)
 *
 *		The work of request_search(), with its caller noted.  The row has a column for
 *		each parameter.
 *
 * Writes		twtasks.payload_read
 */
CREATE FUNCTION twtasks_internal.request_search_as_owner(given record)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	number bigint;
BEGIN
	IF given.data IS NULL THEN
		RAISE EXCEPTION 'data must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	PERFORM twtasks_internal.check_reason(given.reason);
	PERFORM twtasks_internal.keep_request();
	INSERT INTO twtasks.payload_read AS p (role, type, reason, was_denied, search)
	VALUES (pg_get_userbyid(twtasks_internal.caller()), given.type, given.reason, NOT twtasks_internal.may_search(given.type),
			jsonb_build_object('filter', twtasks_internal.list_filter(given), 'after', given.after,
							   'max_tasks', given.max_tasks, 'budget', given.budget))
	RETURNING p.id INTO number;
	RETURN number;
END $$;

/*
 * twtasks.search_payloads(read)
 *
 *		The page for which request_search() was called before, by the same role, in a
 *		transaction that was committed within the last minute.  Tasks whose payload the
 *		role may not read do not match.
 *
 * Parameters
 *		read			the result of request_search()
 *
 * Returns
 *		as list_tasks()
 *
 * Errors
 *		22023			after is a cursor of another filter
 *		42501			the role may read no payload there: see allow_payload(); or another
 *						role asked
 *		55000			nobody asked, or not within the last minute, or in the transaction
 *						that is still open
 *
 * Locks		none
 * Example		SELECT * FROM twtasks.search_payloads(:read);
 */
CREATE FUNCTION twtasks.search_payloads(read bigint)
RETURNS SETOF twtasks.listed_task
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_as_owner';

/*
 * twtasks_internal.search_payloads_as_owner(given record)
 *
 *		The work of search_payloads(), with its caller noted.  The row has a column for each
 *		parameter.
 */
CREATE FUNCTION twtasks_internal.search_payloads_as_owner(given record)
RETURNS SETOF twtasks.listed_task
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	asked CONSTANT twtasks.payload_read := twtasks_internal.asked_payload(given.read, true);
BEGIN
	IF asked.was_denied OR NOT twtasks_internal.may_search(asked.type) THEN
		RAISE EXCEPTION 'permission denied to search in the data of tasks'
			USING ERRCODE = 'insufficient_privilege',
				HINT = format('An administrator can say: SELECT twtasks.allow_payload(%L, %L).', coalesce(asked.type, '*'), asked.role);
	END IF;
	RETURN QUERY SELECT p.* FROM twtasks_internal.list_page(
		asked.search -> 'filter', asked.search ->> 'after', (asked.search ->> 'max_tasks')::integer,
		(asked.search ->> 'budget')::integer, twtasks_internal.readable_types()) p;
END $$;
