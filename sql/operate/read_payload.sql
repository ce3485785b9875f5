/*
 * Roles that may read payloads of certain types.  Roles stand here by name, since a
 * dump may be restored where their oids differ.  A dropped role reads nothing.
 */
CREATE TABLE twtasks.payload_reader (
	pattern		text COLLATE "C" NOT NULL,	-- A type, or the beginning of types and a *; the most special match counts
	role		text COLLATE "C" NOT NULL,	-- A role that may read payloads of such tasks, as may its members
	changed_at	timestamptz NOT NULL,		-- Time of allow_payload()
	changed_by	text NOT NULL,				-- The role that logged in and called it
	CONSTRAINT payload_reader_pkey PRIMARY KEY (pattern, role)
);
COMMENT ON TABLE twtasks.payload_reader IS 'Roles that may read payloads of certain types, as set by allow_payload(); nobody else may';
SELECT pg_catalog.pg_extension_config_dump('twtasks.payload_reader', '');

CREATE TRIGGER audit_policy
	AFTER INSERT OR UPDATE OR DELETE ON twtasks.payload_reader
	FOR EACH ROW EXECUTE FUNCTION twtasks_internal.audit_policy('payload');

CREATE TABLE twtasks.payload_read (
	id				bigint GENERATED ALWAYS AS IDENTITY,									-- For read_payload()
	at				timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),				-- When it was asked for
	actor			text NOT NULL DEFAULT twtasks_internal.actor(),							-- The role that logged in
	role			text NOT NULL,															-- The role that called, which may be one of SET ROLE
	on_behalf_of	text DEFAULT twtasks_internal.on_behalf_of(),							-- The person for whom twtasks-web asked; NULL: the actor asked
	application		text NOT NULL DEFAULT pg_catalog.current_setting('application_name'),	-- application_name of the session
	task_id			uuid,																	-- The task; NULL: a search
	version			bigint,																	-- Its version; NULL: there was no such task, or a search
	type			text COLLATE "C",														-- Its type, or the one of a search; NULL: there was no such task, or a search in all types
	reason			text NOT NULL,															-- In the words of who asked
	was_denied		boolean NOT NULL,														-- The role may not read payloads of that type
	asked_in		xid8 NOT NULL DEFAULT pg_catalog.pg_current_xact_id(),					-- The transaction of request_payload()
	search			jsonb,																	-- The parameters of request_search(); NULL: a read of one task
	CONSTRAINT payload_read_pkey PRIMARY KEY (id),
	CONSTRAINT payload_read_search_check CHECK ((task_id IS NULL) = (search IS NOT NULL))
);
CREATE INDEX payload_read_task_id ON twtasks.payload_read (task_id);
COMMENT ON TABLE twtasks.payload_read IS 'Reads of payloads by request_payload() and searches by request_search(), also those that were denied; only twtasks_owner sees what was searched for';
SELECT pg_catalog.pg_extension_config_dump('twtasks.payload_read', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.payload_read_id_seq', '');

CREATE TYPE twtasks.task_payload AS (
	task_id		uuid,
	version		bigint,
	type		text,
	data		jsonb,
	payload		bytea,
	context		jsonb,
	outcome		jsonb);
COMMENT ON TYPE twtasks.task_payload IS 'What a task was given and what its handler gave, as read_payload() returns it';

/*
 * twtasks.allow_payload(pattern, role)
 *
 *		Lets a role and its members read payloads of tasks of the types that match.
 *		The role must be a member of twtasks_payload_viewer, too, which may call
 *		request_payload() and read_payload().  If several patterns match a type, only the
 *		most special one counts.
 *
 *		Only superusers and members of twtasks_owner may call this function, unless
 *		they grant it to others.
 *
 * Parameters
 *		pattern		a type, or the beginning of types and a *; *: all types
 *		role		the role that calls request_payload(), or one of which it is a member
 *
 * Returns
 *		false: it was allowed before
 *
 * Errors
 *		22004			pattern or role is NULL
 *		22023			pattern is not valid
 *		42704			there is no such role
 *
 * Writes		twtasks.payload_reader, twtasks.policy_audit
 * Locks		none
 * Example		SELECT twtasks.allow_payload('PAYOUT|*', 'payments');
 */
CREATE FUNCTION twtasks.allow_payload(pattern text, role name)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM twtasks_internal.check_allowing(pattern, role);
	INSERT INTO twtasks.payload_reader (pattern, role, changed_at, changed_by)
	VALUES (allow_payload.pattern, allow_payload.role, clock_timestamp(), twtasks_internal.actor())
	ON CONFLICT ON CONSTRAINT payload_reader_pkey DO NOTHING;
	RETURN FOUND;
END $$;

/*
 * twtasks.disallow_payload(pattern, role)
 *
 *		Takes allow_payload() back.  A pattern goes with its last role; then the next
 *		pattern that matches decides on its types.
 *
 * Returns
 *		false: it was not allowed
 *
 * Writes		twtasks.payload_reader, twtasks.policy_audit
 * Locks		none
 */
CREATE FUNCTION twtasks.disallow_payload(pattern text, role name)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	DELETE FROM twtasks.payload_reader p
	WHERE p.pattern = disallow_payload.pattern AND p.role = disallow_payload.role;
	RETURN FOUND;
END $$;

/*
 * twtasks_internal.may_read_payload(type)
 *
 *		Whether the role that called may read payloads of that type.
 */
CREATE FUNCTION twtasks_internal.may_read_payload(type text)
RETURNS boolean
LANGUAGE sql STABLE STRICT PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT coalesce(bool_or(pg_has_role(twtasks_internal.caller(), r.oid, 'USAGE')), false)
	FROM (SELECT p.role, rank() OVER (ORDER BY twtasks_internal.fits(p.pattern, may_read_payload.type) DESC) AS place
		  FROM twtasks.payload_reader p
		  WHERE twtasks_internal.fits(p.pattern, may_read_payload.type) IS NOT NULL) f
	JOIN pg_roles r ON r.rolname = f.role
	WHERE f.place = 1
$$;

/*
 * twtasks_internal.keep_request()
 *
 *		Lets the commit wait for the disk, since a crash of the server must not take a
 *		request back.
 */
CREATE FUNCTION twtasks_internal.keep_request()
RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT set_config('synchronous_commit', 'local', true) WHERE current_setting('synchronous_commit') = 'off'
$$;

/*
 * twtasks.request_payload(id, reason)
 *
 *		Asks to read the payload of a task, live or finished.  twtasks.payload_read has
 *		a row for each call, also if the payload may not be read or the task does not
 *		exist.  Commit, then call read_payload(): nobody can read and then take the row
 *		back, but by a crash of the server after SET synchronous_commit = off.
 *
 * Parameters
 *		reason			for the audit
 *
 * Returns
 *		the number of the read, for read_payload()
 *
 * Errors
 *		22004			id or reason is NULL
 *		22023			reason is empty
 *
 * Writes		twtasks.payload_read
 * Locks		none
 * Example		SELECT twtasks.request_payload('0193b0a0-0000-7000-8000-000000000001', 'customer asks') AS read \gset
 */
CREATE FUNCTION twtasks.request_payload(id uuid, reason text)
RETURNS bigint
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_as_owner';

/*
 * twtasks_internal.request_payload_as_owner(given record)
 *
 *		The work of request_payload(), with its caller noted.  The row has a column for
 *		each parameter.
 *
 * Writes		twtasks.payload_read
 */
CREATE FUNCTION twtasks_internal.request_payload_as_owner(given record)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	number bigint;
BEGIN
	IF given.id IS NULL THEN
		RAISE EXCEPTION 'id must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	PERFORM twtasks_internal.check_reason(given.reason);
	PERFORM twtasks_internal.keep_request();
	INSERT INTO twtasks.payload_read AS p (role, task_id, version, type, reason, was_denied)
	SELECT pg_get_userbyid(twtasks_internal.caller()), given.id, t.version, t.type, given.reason,
		   coalesce(NOT twtasks_internal.may_read_payload(t.type), false)
	FROM (VALUES (1)) one
	LEFT JOIN twtasks.tasks t ON t.id = given.id
	ORDER BY t.state_time DESC LIMIT 1
	RETURNING p.id INTO number;
	RETURN number;
END $$;

/*
 * twtasks_internal.asked_payload(read, is_search)
 *
 *		The row of a request that its caller made, and that may be answered now.
 *
 * Errors
 *		42501			another role or person asked
 *		55000			nobody asked, or not within the last minute, or in the transaction
 *						that is still open
 */
CREATE FUNCTION twtasks_internal.asked_payload(read bigint, is_search boolean)
RETURNS twtasks.payload_read
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	asked twtasks.payload_read;
BEGIN
	SELECT p.* INTO asked FROM twtasks.payload_read p
	WHERE p.id = asked_payload.read AND p.at > (SELECT clock_timestamp()) - interval '1 minute'
	  AND (p.search IS NOT NULL) = is_search
	  AND p.asked_in IS DISTINCT FROM pg_current_xact_id_if_assigned();
	IF NOT FOUND THEN
		RAISE EXCEPTION 'nobody asked for this payload within the last minute'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = CASE WHEN is_search
							THEN 'Call twtasks.request_search(), commit, then twtasks.search_payloads() with its result.'
							ELSE 'Call twtasks.request_payload(id, reason), commit, then twtasks.read_payload() with its result.' END;
	ELSIF (asked.actor, asked.role, coalesce(asked.on_behalf_of, ''))
		<> (twtasks_internal.actor(), pg_get_userbyid(twtasks_internal.caller()), coalesce(twtasks_internal.on_behalf_of(), '')) THEN
		RAISE EXCEPTION 'another role or person asked for this payload'
			USING ERRCODE = 'insufficient_privilege';
	END IF;
	RETURN asked;
END $$;

/*
 * twtasks.read_payload(read)
 *
 *		The payload of a task for which request_payload() was called before, by the same
 *		role, in a transaction that was committed within the last minute.
 *
 * Parameters
 *		read			the result of request_payload()
 *
 * Returns
 *		task_id, version, type		of the task as it is now
 *		data, payload, context		as they were given to add_task()
 *		outcome						as its handler gave it; NULL: none, or the task has not ended
 *
 * Errors
 *		42501			the role may not read payloads of that type: see
 *						allow_payload(); or another role asked
 *		42704			there is no such task
 *		55000			nobody asked, or not within the last minute, or in the transaction
 *						that is still open
 *
 * Locks		none
 * Example		SELECT * FROM twtasks.read_payload(:read);
 */
CREATE FUNCTION twtasks.read_payload(read bigint)
RETURNS twtasks.task_payload
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_as_owner';

/*
 * twtasks_internal.read_payload_as_owner(given record)
 *
 *		The work of read_payload(), with its caller noted.  The row has a column for each
 *		parameter.
 */
CREATE FUNCTION twtasks_internal.read_payload_as_owner(given record)
RETURNS twtasks.task_payload
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	asked CONSTANT twtasks.payload_read := twtasks_internal.asked_payload(given.read, false);
	found_task twtasks.task_payload;
BEGIN
	IF asked.was_denied OR NOT twtasks_internal.may_read_payload(asked.type) THEN
		RAISE EXCEPTION 'permission denied to read payloads of type "%"', twtasks_internal.shown(asked.type)
			USING ERRCODE = 'insufficient_privilege',
				HINT = format('An administrator can say: SELECT twtasks.allow_payload(%L, %L).', asked.type, asked.role);
	END IF;
	SELECT t.id, t.version, t.type, t.data, t.payload, t.context, t.outcome INTO found_task
	FROM (SELECT l.id, l.version, l.type, l.data, l.payload, l.context, NULL::jsonb AS outcome, l.state_time FROM twtasks.task l
		  UNION ALL
		  SELECT f.id, f.version, f.type, f.data, f.payload, f.context, f.outcome, f.state_time FROM twtasks.finished_task f) t
	WHERE t.id = asked.task_id AND t.type = asked.type
	ORDER BY t.state_time DESC LIMIT 1;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'task "%" does not exist', asked.task_id
			USING ERRCODE = 'undefined_object';
	END IF;
	RETURN found_task;
END $$;
