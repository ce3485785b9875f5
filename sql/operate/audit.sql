CREATE TABLE twtasks.audit (
	id				bigint GENERATED ALWAYS AS IDENTITY,									-- Ascends with the changes of one task
	at				timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),				-- When
	actor			text NOT NULL DEFAULT twtasks_internal.actor(),							-- The role that logged in
	role			text NOT NULL DEFAULT
		CASE pg_catalog.current_setting('role') WHEN 'none' THEN session_user
			ELSE pg_catalog.current_setting('role') END,									-- The role of SET ROLE, else the actor
	application		text NOT NULL DEFAULT pg_catalog.current_setting('application_name'),	-- application_name of the session
	action			text NOT NULL,															-- resume, reschedule, prioritize, cancel, request_cancel, fail, confirm, hold, release, reopen, adopt, replace (by put_task(), after a change by hand)
	task_id			uuid NOT NULL,															-- The task
	from_version	bigint NOT NULL,														-- Version before
	to_version		bigint NOT NULL,														-- Version after
	from_status		twtasks.task_status NOT NULL,											-- Status before
	to_status		twtasks.task_status NOT NULL,											-- Status after
	reason			text,																	-- In the actor's words
	before			jsonb NOT NULL DEFAULT '{}',											-- Changed facts, as they were
	after			jsonb NOT NULL DEFAULT '{}',											-- Changed facts, as they became
	on_behalf_of	text DEFAULT twtasks_internal.on_behalf_of(),							-- The person for whom twtasks-web acted; NULL: the actor acted
	CONSTRAINT audit_pkey PRIMARY KEY (id)
);
CREATE INDEX audit_task_id ON twtasks.audit (task_id);
COMMENT ON TABLE twtasks.audit IS 'Changes of tasks made by people and programs, not by the engine';

SELECT pg_catalog.pg_extension_config_dump('twtasks.audit', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.audit_id_seq', '');

/*
 * twtasks_internal.facts(task)
 *
 *		The facts of a task that a change by hand may change, for the audit.
 *		NULLs are left out.
 */
CREATE FUNCTION twtasks_internal.facts(task twtasks.task)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT jsonb_strip_nulls(jsonb_build_object(
		'status', task.status, 'version', task.version, 'tries', task.tries, 'priority', task.priority,
		'next_event_time', task.next_event_time, 'planned', task.planned,
		'deadline', task.deadline, 'expires', task.expires,
		'incarnation', task.incarnation, 'error', task.error))
$$;

/*
 * twtasks_internal.finished_facts(task)
 *
 *		As facts(), for a finished task.
 */
CREATE FUNCTION twtasks_internal.finished_facts(task twtasks.finished_task)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT jsonb_strip_nulls(jsonb_build_object(
		'status', task.status, 'version', task.version, 'tries', task.tries, 'priority', task.priority,
		'incarnation', task.incarnation, 'error', task.error))
$$;

/*
 * twtasks_internal.only_in(one, other)
 *
 *		The members of one object that the other lacks, or has with another
 *		value.
 */
CREATE FUNCTION twtasks_internal.only_in(one jsonb, other jsonb)
RETURNS jsonb
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT coalesce(jsonb_object_agg(e.key, e.value), '{}')
	FROM jsonb_each(one) e WHERE e.value IS DISTINCT FROM other -> e.key
$$;

/*
 * twtasks_internal.is_new_entry(id)
 *
 *		Whether this session makes an entry of the audit now.  A restore copies entries
 *		with their ids, and extensions must not act on them again.
 */
CREATE FUNCTION twtasks_internal.is_new_entry(id bigint)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN id = currval('twtasks.audit_id_seq');
EXCEPTION WHEN object_not_in_prerequisite_state THEN
	RETURN false;	-- the session has made none
END $$;

/*
 * twtasks_internal.write_audit(action, task_id, was, became, reason)
 *
 *		Records a change of a task by hand, in the caller's transaction.
 *
 * Parameters
 *		was, became		facts() before and after
 *
 * Returns
 *		the entry's id
 *
 * Writes		twtasks.audit
 */
CREATE FUNCTION twtasks_internal.write_audit(
	action text, task_id uuid, was jsonb, became jsonb, reason text)
RETURNS bigint
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	INSERT INTO twtasks.audit
		(action, task_id, from_version, to_version, from_status, to_status, reason, before, after)
	VALUES (action, task_id,
			(was ->> 'version')::bigint, (became ->> 'version')::bigint,
			(was ->> 'status')::twtasks.task_status, (became ->> 'status')::twtasks.task_status,
			reason, twtasks_internal.only_in(was, became), twtasks_internal.only_in(became, was))
	RETURNING id
$$;
