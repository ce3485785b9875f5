\echo Use "CREATE EXTENSION twtasks" to load this file. \quit

-- sql/base/roles.sql
/*
 * Roles belong to the cluster: a second database, or a restore into the same
 * cluster, finds them there.  Everything belongs to a role that cannot log in,
 * so that our functions have no more rights than our own tables need.
 */
DO $$
DECLARE
	needed text;
BEGIN
	FOREACH needed IN ARRAY ARRAY['twtasks_owner', 'twtasks_producer',
								  'twtasks_worker', 'twtasks_web', 'twtasks_operator',
								  'twtasks_viewer', 'twtasks_tester']
	LOOP
		IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles r
					   WHERE r.rolname OPERATOR(pg_catalog.=) needed) THEN
			EXECUTE pg_catalog.format('CREATE ROLE %I NOLOGIN NOINHERIT', needed);
		ELSIF EXISTS (SELECT FROM pg_catalog.pg_roles r
					  WHERE r.rolname OPERATOR(pg_catalog.=) needed
						AND (r.rolsuper OR r.rolcreaterole OR r.rolcanlogin)) THEN
			RAISE EXCEPTION 'role "%" exists and can do more than it should', needed
				USING ERRCODE = 'object_not_in_prerequisite_state',
					DETAIL = 'It is a superuser, can create roles or can log in.',
					HINT = 'Drop or rename that role, then create the extension again.';
		END IF;
	END LOOP;
END $$;

/*
 * The owner's members may be wanted, by another database of this cluster or by
 * the database whose dump is being restored.  So they get a warning, no error.
 */
DO $$
DECLARE
	members CONSTANT text := (
		SELECT pg_catalog.string_agg(pg_catalog.format('"%s"', r.rolname), ', ' ORDER BY r.rolname)
		FROM pg_catalog.pg_auth_members m
		JOIN pg_catalog.pg_roles r ON r.oid OPERATOR(pg_catalog.=) m.member
		WHERE m.roleid OPERATOR(pg_catalog.=) 'twtasks_owner'::pg_catalog.regrole
		  AND NOT r.rolsuper);
BEGIN
	IF members IS NOT NULL THEN
		RAISE WARNING 'role "twtasks_owner" has members: %', members
			USING DETAIL = 'In this database, too, they can read payloads and change everything.',
				HINT = 'REVOKE twtasks_owner from them, unless they are wanted.';
	END IF;
END $$;

/*
 * The schema twtasks holds the product: tables, views, types, and the functions
 * for applications and people.  This one holds the functions that sidecars and
 * the extension itself call.  It comes and goes with the extension, so
 * CREATE EXTENSION fails if such a schema exists.
 */
CREATE SCHEMA twtasks_internal AUTHORIZATION twtasks_owner;

/*
 * The maker of an older schema could have put functions into it that match our
 * calls better than our own, or may still do so.
 */
DO $$
DECLARE
	home CONSTANT oid := (SELECT n.oid FROM pg_catalog.pg_namespace n
						  WHERE n.nspname OPERATOR(pg_catalog.=) 'twtasks');
	keeper text;
	creator text;
	theirs text;
BEGIN
	SELECT r.rolname INTO keeper
	FROM pg_catalog.pg_namespace n
	JOIN pg_catalog.pg_roles r ON r.oid OPERATOR(pg_catalog.=) n.nspowner
	WHERE n.oid OPERATOR(pg_catalog.=) home
	  AND NOT r.rolsuper AND r.rolname OPERATOR(pg_catalog.<>) 'twtasks_owner';
	IF keeper IS NOT NULL THEN
		RAISE EXCEPTION 'schema "twtasks" exists and belongs to role "%"', keeper
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'Drop it, then create the extension again.';
	END IF;
	SELECT CASE a.grantee WHEN 0::pg_catalog.oid THEN 'PUBLIC' ELSE pg_catalog.pg_get_userbyid(a.grantee) END,
		   n.nspname
	INTO creator, theirs
	FROM pg_catalog.pg_namespace n
	CROSS JOIN LATERAL pg_catalog.aclexplode(n.nspacl) a
	WHERE n.nspname OPERATOR(pg_catalog.=) ANY (ARRAY['twtasks', 'twtasks_internal']::pg_catalog.name[])
	  AND a.privilege_type OPERATOR(pg_catalog.=) 'CREATE'
	  AND a.grantee OPERATOR(pg_catalog.<>) n.nspowner;
	IF creator IS NOT NULL THEN
		RAISE EXCEPTION 'role "%" may create objects in schema "%"', creator, theirs
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'A function that matches our calls better than our own would run with the rights of twtasks.',
				HINT = pg_catalog.format('REVOKE CREATE ON SCHEMA %I from it, or the default privilege that gives it, then create the extension again.', theirs);
	END IF;
	IF EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.relnamespace OPERATOR(pg_catalog.=) home)
		OR EXISTS (SELECT FROM pg_catalog.pg_proc p WHERE p.pronamespace OPERATOR(pg_catalog.=) home)
		OR EXISTS (SELECT FROM pg_catalog.pg_type t WHERE t.typnamespace OPERATOR(pg_catalog.=) home)
		OR EXISTS (SELECT FROM pg_catalog.pg_operator o WHERE o.oprnamespace OPERATOR(pg_catalog.=) home)
	THEN
		RAISE EXCEPTION 'schema "twtasks" is not empty'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'Move or drop what is in it, then create the extension again.';
	END IF;
END $$;

-- sql/base/types.sql
/* Live: WAITING .. HELD, in twtasks.task.  Final: the rest, in
 * twtasks.finished_task. */
CREATE TYPE twtasks.task_status AS ENUM
	('WAITING', 'SUBMITTED', 'PROCESSING', 'ERROR', 'HELD',
	 'DONE', 'FAILED', 'CANCELLED');

/* The fate of a task whose sidecar is gone or whose deadline passed. */
CREATE TYPE twtasks.stuck_rule AS ENUM ('error', 'retry', 'fail', 'ignore');

/* When the stuck rule applies to a task whose sidecar is gone: as soon as that is
 * known, or at the task's deadline, by which its handler has ended. */
CREATE TYPE twtasks.takeover_rule AS ENUM ('gone', 'deadline');

/* The part of a DONE task that is kept: all, all but its data, nothing. */
CREATE TYPE twtasks.done_rule AS ENUM ('keep', 'clear', 'delete');

CREATE TYPE twtasks.added_task AS (
	task_id		uuid,
	version		bigint,
	result		text
);

/* One element of add_tasks(): the parameters of add_task(). */
CREATE TYPE twtasks.new_task AS (
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
	payload		bytea
);

/* A message of send_to_kafka(): NULL is Kafka's null.  headers is an object of texts. */
CREATE TYPE twtasks.kafka_message AS (
	key			bytea,
	value		bytea,
	headers		jsonb
);

/* A message that a listener takes: headers is an object of texts or nulls; of
 * headers with one name the last is there. */
CREATE TYPE twtasks.message AS (
	topic		text,
	partition	integer,
	"offset"	bigint,
	"time"		timestamptz,
	key			bytea,
	value		bytea,
	headers		jsonb
);

/* The outcome of an operator's change: 'changed', 'requested' (the handler was
 * asked to stop), or why nothing changed. */
CREATE TYPE twtasks.change_result AS (
	result		text,
	version		bigint,
	status		twtasks.task_status
);

/* A grabbed task: the result of grab_tasks(), and the argument of a SQL handler. */
CREATE TYPE twtasks.task_input AS (
	id			uuid,
	version		bigint,
	type		text,
	sub_type	text,
	bucket		text,
	priority	smallint,
	tries		integer,
	grabbed		timestamptz,
	data		jsonb,
	payload		bytea,
	context		jsonb,
	key			text
);

/* A task that has ended: the argument of on_end functions.  Each attribute is the
 * column of that name in twtasks.tasks, data and context as they were added, and
 * outcome what its handler gave besides the result. */
CREATE TYPE twtasks.ended_task AS (
	id			uuid,
	version		bigint,
	type		text,
	sub_type	text,
	bucket		text,
	key			text,
	tries		integer,
	status		twtasks.task_status,
	state_time	timestamptz,
	error		text,
	message		text,
	data		jsonb,
	context		jsonb,
	outcome		jsonb
);

/* A result that came too late: what the worker gave to finish_tasks().  See
 * tell_late(). */
CREATE TYPE twtasks.late_result AS (
	id			uuid,
	version		bigint,
	result		text,
	message		text,
	outcome		jsonb
);

/* The answer of a SQL handler; result is as in the worker protocol. */
CREATE TYPE twtasks.task_result AS (
	result		text,
	delay		interval,
	message		text
);

/*
 * twtasks_internal.cut_message(message)
 *
 *		Cuts a handler's message to 8,192 characters.  The beginning stays, and
 *		the end, where the reason stands.
 *
 * Returns
 *		text; NULL for NULL
 */
CREATE FUNCTION twtasks_internal.cut_message(message text)
RETURNS text
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_cut_message';

/*
 * twtasks_internal.shown(value)
 *
 *		The beginning of a foreign value on one line, to be quoted in a message.
 */
CREATE FUNCTION twtasks_internal.shown(value text)
RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT regexp_replace(left(value, 64), '[[:cntrl:]]', '?', 'g')
$$;
COMMENT ON FUNCTION twtasks_internal.cut_message IS 'Cuts a handler''s message to 8,192 characters.  The beginning stays, and the end, where the reason stands.';
COMMENT ON FUNCTION twtasks_internal.shown IS 'The beginning of a foreign value on one line, to be quoted in a message. / CREATE FUNCTION twtasks_internal.shown(value text)';

-- sql/base/caller.sql
/*
 * twtasks_internal.caller()
 *
 *		The role that called the function which now runs as our owner.  The
 *		current user, if no caller is noted.
 */
CREATE FUNCTION twtasks_internal.caller()
RETURNS oid
LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'twt_caller';

/*
 * twtasks_internal.actor()
 *
 *		The role that logged in; audits name it as the actor.  A SECURITY
 *		DEFINER function that it calls acts in its name.
 *
 * Errors
 *		42501			within a security-restricted operation, such as ANALYZE, where
 *						nobody asked for the call
 */
CREATE FUNCTION twtasks_internal.actor()
RETURNS text
LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'twt_actor';
COMMENT ON FUNCTION twtasks_internal.caller IS 'The role that called the function which now runs as our owner.  The current user, if no caller is noted. / CREATE FUNCTION twtasks_internal.caller()';
COMMENT ON FUNCTION twtasks_internal.actor IS 'The role that logged in; audits name it as the actor.  A SECURITY DEFINER function that it calls acts in its name.';

-- sql/base/locks.sql
/*
 * twtasks_internal.lock_session(lock)
 *
 *		Takes one of our locks, and waits for it.
 *
 * Locks		the named one, until the session ends
 */
CREATE FUNCTION twtasks_internal.lock_session(lock bigint)
RETURNS void
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_lock_session';

/*
 * twtasks_internal.try_lock(lock, shared)
 *
 *		Takes one of our locks, unless another session has it.
 *
 * Returns
 *		whether it was taken
 *
 * Locks		the named one, for the rest of the transaction; does not wait
 */
CREATE FUNCTION twtasks_internal.try_lock(lock bigint, shared boolean DEFAULT false)
RETURNS boolean
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_try_lock';

/*
 * twtasks_internal.session_holds(lock)
 *
 *		Whether this session holds the lock. try_lock() would take a session's
 *		own lock again, as if it were free.
 */
CREATE FUNCTION twtasks_internal.session_holds(lock bigint)
RETURNS boolean
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_session_holds';

/*
 * twtasks_internal.session_is_idle(lock)
 *
 *		Whether the session that holds the lock is in no transaction, and so
 *		waits for its client.  The lock must not be our own.
 *
 * Returns
 *		boolean; true when nobody holds it
 */
CREATE FUNCTION twtasks_internal.session_is_idle(lock bigint)
RETURNS boolean
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_session_is_idle';

/*
 * twtasks_internal.node_lock(incarnation)
 *
 *		The number of the lock that a node's session holds. 0, which is no node,
 *		stands for the lock of a session that becomes the leader.
 *
 * Returns
 *		bigint: 'twno' in the upper half
 */
CREATE FUNCTION twtasks_internal.node_lock(incarnation bigint)
RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT (x'74776e6f'::bigint << 32) | (incarnation & x'ffffffff'::bigint) $$;

/*
 * twtasks_internal.slots_lock()
 *
 *		The number of the lock that a session holds while it makes or drops
 *		names of limits.
 */
CREATE FUNCTION twtasks_internal.slots_lock()
RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_slots_lock';
COMMENT ON FUNCTION twtasks_internal.lock_session IS 'Takes one of our locks, and waits for it.';
COMMENT ON FUNCTION twtasks_internal.try_lock IS 'Takes one of our locks, unless another session has it.';
COMMENT ON FUNCTION twtasks_internal.session_holds IS 'Whether this session holds the lock. try_lock() would take a session''s own lock again, as if it were free. / CREATE FUNCTION twtasks_internal.session_holds(lock bigint)';
COMMENT ON FUNCTION twtasks_internal.session_is_idle IS 'Whether the session that holds the lock is in no transaction, and so waits for its client.  The lock must not be our own.';
COMMENT ON FUNCTION twtasks_internal.node_lock IS 'The number of the lock that a node''s session holds. 0, which is no node, stands for the lock of a session that becomes the leader.';
COMMENT ON FUNCTION twtasks_internal.slots_lock IS 'The number of the lock that a session holds while it makes or drops names of limits. / CREATE FUNCTION twtasks_internal.slots_lock()';

-- sql/base/schema.sql
/*
 * Live and finished tasks have tables of their own: the live table stays as
 * small as the work that is left, and history is dropped by whole days.
 *
 * No index names a column that a grab changes, so a grab is a heap-only update;
 * fillfactor leaves it room on its own page.  The indexes know the status by
 * "queued", which a grab does not change.  Columns of fixed width that are never
 * null come first, since the server finds them without looking at the others.
 */
CREATE TABLE twtasks.task (
	id				uuid NOT NULL,									-- Given by the caller, or generated in order of time (UUIDv7 layout)
	version			bigint NOT NULL DEFAULT 0,						-- From 0; every change of status adds 1 and names the version it expects
	next_event_time	timestamptz NOT NULL,							-- WAITING: when it runs; in the queue: from when it counts as stuck; accepted: its deadline; ERROR, HELD: infinity
	state_time		timestamptz NOT NULL,							-- Time of the last change of status
	created			timestamptz NOT NULL,							-- Time of add_task(), not of the commit
	status			twtasks.task_status NOT NULL,					-- WAITING, SUBMITTED, PROCESSING, ERROR or HELD
	stuck			twtasks.stuck_rule NOT NULL DEFAULT 'error',	-- Its fate when its sidecar is gone or its deadline passed
	tries			integer NOT NULL DEFAULT 0,						-- Grabs so far; a repeat starts from 0
	size			integer NOT NULL DEFAULT 0,						-- Bytes of data, payload and context when added, with all digits of their numbers
	priority		smallint NOT NULL DEFAULT 5,					-- 0 (urgent) to 9
	queued			boolean NOT NULL,								-- True while SUBMITTED, or PROCESSING and not accepted
	type			text COLLATE "C" NOT NULL,						-- Names the handler
	bucket			text COLLATE "C" NOT NULL DEFAULT 'default',	-- The shard; a sidecar works for named buckets
	deadline		timestamptz,									-- PROCESSING: when the stuck rule applies, even if its sidecar lives
	expires			timestamptz,									-- If not started by then, it becomes FAILED; NULL: never
	incarnation		bigint,											-- The incarnation of the sidecar that grabbed it last
	token			bigint,											-- Number of the grab, to learn whether a grab of unknown outcome was won
	sub_type		text,											-- For people and handlers; twtasks ignores it
	key				text COLLATE "C",								-- The caller's unique key
	error			text,											-- The reason why the last try failed, at most 8,192 characters
	data			jsonb,											-- Given to the handler, if there is no payload
	payload			bytea,											-- Given to the handler, byte for byte
	context			jsonb,											-- Request id, traceparent and the like, carried from add to handler
	planned			timestamptz,									-- HELD: its time to run before; infinity: it was in ERROR; NULL: at once
	added_by		text COLLATE "C",								-- The role that added it, by its name at that time
	CONSTRAINT task_pkey PRIMARY KEY (id)
) WITH (fillfactor = 45, toast_tuple_target = 256,
		autovacuum_vacuum_scale_factor = 0.02,
		autovacuum_vacuum_threshold = 5000,
		autovacuum_vacuum_insert_scale_factor = 0.2,
		autovacuum_analyze_scale_factor = 0.1,
		autovacuum_analyze_threshold = 5000);

CREATE INDEX task_queued ON twtasks.task (bucket, type, priority, id) WHERE queued;
CREATE INDEX task_timed ON twtasks.task (next_event_time) WHERE NOT queued;
CREATE INDEX task_expires ON twtasks.task (expires) WHERE expires IS NOT NULL;

COMMENT ON TABLE twtasks.task IS 'Tasks that may still run: WAITING, SUBMITTED, PROCESSING, ERROR, HELD';

/*
 * History, by day of finish.  make_partitions() makes day partitions ahead.
 * Without one, a finish uses the default partition.
 */
CREATE TABLE twtasks.finished_task (
	id				uuid NOT NULL,					-- As in twtasks.task
	version			bigint NOT NULL,				-- The version of the final status
	state_time		timestamptz NOT NULL,			-- Time of the finish
	created			timestamptz NOT NULL,			-- Time of add_task()
	incarnation		bigint,							-- The incarnation that finished it; NULL: a person did
	token			bigint,							-- Number of the finish, to learn whether a finish of unknown outcome was accepted
	status			twtasks.task_status NOT NULL,	-- DONE, FAILED or CANCELLED
	tries			integer NOT NULL,				-- Grabs since the last repeat
	priority		smallint NOT NULL,				-- As in twtasks.task
	type			text COLLATE "C" NOT NULL,		-- As in twtasks.task
	sub_type		text,							-- As in twtasks.task
	bucket			text COLLATE "C" NOT NULL,		-- As in twtasks.task
	key				text COLLATE "C",				-- As in twtasks.task
	error			text,							-- FAILED, CANCELLED: the reason, else the last failure; DONE: NULL
	data			jsonb,							-- As in twtasks.task
	payload			bytea,							-- As in twtasks.task
	context			jsonb,							-- As in twtasks.task
	added_by		text COLLATE "C",				-- As in twtasks.task
	message			text							-- DONE: the message of its handler, at most 8,192 characters
) PARTITION BY RANGE (state_time);

/*
 * Logical replication identifies a deleted row by all of its columns.  A unique
 * index would slow down each finish, and whole days are deleted at once.
 */
ALTER TABLE twtasks.finished_task REPLICA IDENTITY FULL;

/*
 * Only the partitions have an index.  If the whole had one, a restored
 * partition would get a second index when it is attached.
 */
CREATE TABLE twtasks.finished_task_default
	PARTITION OF twtasks.finished_task DEFAULT;
ALTER TABLE twtasks.finished_task_default REPLICA IDENTITY FULL;
CREATE INDEX finished_task_default_id ON twtasks.finished_task_default (id);

COMMENT ON TABLE twtasks.finished_task IS 'History: DONE, FAILED and CANCELLED tasks, one partition per day (UTC) of finish';

CREATE TABLE twtasks.unique_key (
	task_id			uuid NOT NULL,		-- The task
	key				text COLLATE "C",	-- Its key; NULL: only the id was given
	CONSTRAINT unique_key_pkey PRIMARY KEY (task_id),
	CONSTRAINT unique_key_key UNIQUE (key)
);
COMMENT ON TABLE twtasks.unique_key IS 'Ids and keys given by callers, for as long as the task is kept: a second add finds the first here';

CREATE TABLE twtasks.node (
	incarnation		bigint GENERATED ALWAYS AS IDENTITY,	-- Never reused; each start of a sidecar gets a new one
	name			text NOT NULL,							-- For people; decides nothing
	started			timestamptz NOT NULL,					-- Time of start_node()
	heartbeat		timestamptz NOT NULL,					-- Time of the last heartbeat
	lease			interval NOT NULL,						-- Silence after which it counts as gone although its session lives
	missing_since	timestamptz,							-- Time at which its session was first found gone
	ended			timestamptz,							-- Time at which it ended or was declared gone; it changes nothing afterwards
	leads			boolean NOT NULL DEFAULT false,			-- Whether it is the leader; counts while it lives
	silent_since	timestamptz,							-- Time at which its heartbeat was first found late
	buckets			text[],									-- Buckets that it works for; NULL: not known
	types			text[],									-- Types that it handles, or beginnings of types and a *; NULL: not known
	next_tick		timestamptz,							-- Announced time of its next tick; another node replaces a leader that misses it
	faults			text[] NOT NULL DEFAULT '{}',			-- Handlers that it cannot start, each with advice
	CONSTRAINT node_pkey PRIMARY KEY (incarnation)
);
COMMENT ON TABLE twtasks.node IS 'Starts of sidecars; tasks of an ended one follow their stuck rules';

/*
 * Types stay known while their sidecars are away, so that an outage of sidecars
 * does not stop producers; see twtasks.refuse_unknown_types.
 */
CREATE TABLE twtasks.handled_type (
	pattern			text COLLATE "C" NOT NULL,	-- A type, or the beginning of types and a *
	started			timestamptz NOT NULL,		-- Last start of a sidecar that handles it, to within a day
	CONSTRAINT handled_type_pkey PRIMARY KEY (pattern)
);
COMMENT ON TABLE twtasks.handled_type IS 'Types that sidecars of this database have handled in the last 30 days';

CREATE TABLE twtasks.refused_node (
	name			text NOT NULL,			-- Name of the node
	refusal			text NOT NULL,			-- Why
	since			timestamptz NOT NULL,	-- Time of the first refusal
	at				timestamptz NOT NULL,	-- Time of the last refusal, to within half a minute
	CONSTRAINT refused_node_pkey PRIMARY KEY (name)
);
COMMENT ON TABLE twtasks.refused_node IS 'Sidecars for another environment that were refused lately; they ask again every few seconds';

CREATE TABLE twtasks.cancel_request (
	task_id			uuid NOT NULL,															-- The task
	version			bigint NOT NULL,														-- The version that the operator saw
	created			timestamptz NOT NULL,													-- Creation of the task, since a deleted task's id may be used again
	requested		timestamptz NOT NULL,													-- When
	actor			text NOT NULL DEFAULT twtasks_internal.actor(),							-- The role that logged in
	role			text NOT NULL DEFAULT
		CASE pg_catalog.current_setting('role') WHEN 'none' THEN session_user
			ELSE pg_catalog.current_setting('role') END,									-- The role of SET ROLE, else the actor
	application		text NOT NULL DEFAULT pg_catalog.current_setting('application_name'),	-- application_name of the session
	reason			text,																	-- In the actor's words
	CONSTRAINT cancel_request_pkey PRIMARY KEY (task_id)
);
COMMENT ON TABLE twtasks.cancel_request IS 'Requests to cancel a running task, by request_cancel(); a request goes with its task';

/* Without these marks a dump would hold the extension but no task. */
SELECT pg_catalog.pg_extension_config_dump('twtasks.task', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.finished_task', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.finished_task_default', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.unique_key', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.node', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.handled_type', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.node_incarnation_seq', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.cancel_request', '');
COMMENT ON COLUMN twtasks.task.id IS 'Given by the caller, or generated in order of time (UUIDv7 layout)';
COMMENT ON COLUMN twtasks.task.version IS 'From 0; every change of status adds 1 and names the version it expects';
COMMENT ON COLUMN twtasks.task.next_event_time IS 'WAITING: when it runs; in the queue: from when it counts as stuck; accepted: its deadline; ERROR, HELD: infinity';
COMMENT ON COLUMN twtasks.task.state_time IS 'Time of the last change of status';
COMMENT ON COLUMN twtasks.task.created IS 'Time of add_task(), not of the commit';
COMMENT ON COLUMN twtasks.task.status IS 'WAITING, SUBMITTED, PROCESSING, ERROR or HELD';
COMMENT ON COLUMN twtasks.task.stuck IS 'Its fate when its sidecar is gone or its deadline passed';
COMMENT ON COLUMN twtasks.task.tries IS 'Grabs so far; a repeat starts from 0';
COMMENT ON COLUMN twtasks.task.size IS 'Bytes of data, payload and context when added, with all digits of their numbers';
COMMENT ON COLUMN twtasks.task.priority IS '0 (urgent) to 9';
COMMENT ON COLUMN twtasks.task.queued IS 'True while SUBMITTED, or PROCESSING and not accepted';
COMMENT ON COLUMN twtasks.task.type IS 'Names the handler';
COMMENT ON COLUMN twtasks.task.bucket IS 'The shard; a sidecar works for named buckets';
COMMENT ON COLUMN twtasks.task.deadline IS 'PROCESSING: when the stuck rule applies, even if its sidecar lives';
COMMENT ON COLUMN twtasks.task.expires IS 'If not started by then, it becomes FAILED; NULL: never';
COMMENT ON COLUMN twtasks.task.incarnation IS 'The incarnation of the sidecar that grabbed it last';
COMMENT ON COLUMN twtasks.task.token IS 'Number of the grab, to learn whether a grab of unknown outcome was won';
COMMENT ON COLUMN twtasks.task.sub_type IS 'For people and handlers; twtasks ignores it';
COMMENT ON COLUMN twtasks.task.key IS 'The caller''s unique key';
COMMENT ON COLUMN twtasks.task.error IS 'The reason why the last try failed, at most 8,192 characters';
COMMENT ON COLUMN twtasks.task.data IS 'Given to the handler, if there is no payload';
COMMENT ON COLUMN twtasks.task.payload IS 'Given to the handler, byte for byte';
COMMENT ON COLUMN twtasks.task.context IS 'Request id, traceparent and the like, carried from add to handler';
COMMENT ON COLUMN twtasks.task.planned IS 'HELD: its time to run before; infinity: it was in ERROR; NULL: at once';
COMMENT ON COLUMN twtasks.task.added_by IS 'The role that added it, by its name at that time';
COMMENT ON COLUMN twtasks.finished_task.id IS 'As in twtasks.task';
COMMENT ON COLUMN twtasks.finished_task.version IS 'The version of the final status';
COMMENT ON COLUMN twtasks.finished_task.state_time IS 'Time of the finish';
COMMENT ON COLUMN twtasks.finished_task.created IS 'Time of add_task()';
COMMENT ON COLUMN twtasks.finished_task.incarnation IS 'The incarnation that finished it; NULL: a person did';
COMMENT ON COLUMN twtasks.finished_task.token IS 'Number of the finish, to learn whether a finish of unknown outcome was accepted';
COMMENT ON COLUMN twtasks.finished_task.status IS 'DONE, FAILED or CANCELLED';
COMMENT ON COLUMN twtasks.finished_task.tries IS 'Grabs since the last repeat';
COMMENT ON COLUMN twtasks.finished_task.priority IS 'As in twtasks.task';
COMMENT ON COLUMN twtasks.finished_task.type IS 'As in twtasks.task';
COMMENT ON COLUMN twtasks.finished_task.sub_type IS 'As in twtasks.task';
COMMENT ON COLUMN twtasks.finished_task.bucket IS 'As in twtasks.task';
COMMENT ON COLUMN twtasks.finished_task.key IS 'As in twtasks.task';
COMMENT ON COLUMN twtasks.finished_task.error IS 'FAILED, CANCELLED: the reason, else the last failure; DONE: NULL';
COMMENT ON COLUMN twtasks.finished_task.data IS 'As in twtasks.task';
COMMENT ON COLUMN twtasks.finished_task.payload IS 'As in twtasks.task';
COMMENT ON COLUMN twtasks.finished_task.context IS 'As in twtasks.task';
COMMENT ON COLUMN twtasks.finished_task.added_by IS 'As in twtasks.task';
COMMENT ON COLUMN twtasks.finished_task.message IS 'DONE: the message of its handler, at most 8,192 characters';
COMMENT ON COLUMN twtasks.unique_key.task_id IS 'The task';
COMMENT ON COLUMN twtasks.unique_key.key IS 'Its key; NULL: only the id was given';
COMMENT ON COLUMN twtasks.node.incarnation IS 'Never reused; each start of a sidecar gets a new one';
COMMENT ON COLUMN twtasks.node.name IS 'For people; decides nothing';
COMMENT ON COLUMN twtasks.node.started IS 'Time of start_node()';
COMMENT ON COLUMN twtasks.node.heartbeat IS 'Time of the last heartbeat';
COMMENT ON COLUMN twtasks.node.lease IS 'Silence after which it counts as gone although its session lives';
COMMENT ON COLUMN twtasks.node.missing_since IS 'Time at which its session was first found gone';
COMMENT ON COLUMN twtasks.node.ended IS 'Time at which it ended or was declared gone; it changes nothing afterwards';
COMMENT ON COLUMN twtasks.node.leads IS 'Whether it is the leader; counts while it lives';
COMMENT ON COLUMN twtasks.node.silent_since IS 'Time at which its heartbeat was first found late';
COMMENT ON COLUMN twtasks.node.buckets IS 'Buckets that it works for; NULL: not known';
COMMENT ON COLUMN twtasks.node.types IS 'Types that it handles, or beginnings of types and a *; NULL: not known';
COMMENT ON COLUMN twtasks.node.next_tick IS 'Announced time of its next tick; another node replaces a leader that misses it';
COMMENT ON COLUMN twtasks.node.faults IS 'Handlers that it cannot start, each with advice';
COMMENT ON COLUMN twtasks.handled_type.pattern IS 'A type, or the beginning of types and a *';
COMMENT ON COLUMN twtasks.handled_type.started IS 'Last start of a sidecar that handles it, to within a day';
COMMENT ON COLUMN twtasks.refused_node.name IS 'Name of the node';
COMMENT ON COLUMN twtasks.refused_node.refusal IS 'Why';
COMMENT ON COLUMN twtasks.refused_node.since IS 'Time of the first refusal';
COMMENT ON COLUMN twtasks.refused_node.at IS 'Time of the last refusal, to within half a minute';
COMMENT ON COLUMN twtasks.cancel_request.task_id IS 'The task';
COMMENT ON COLUMN twtasks.cancel_request.version IS 'The version that the operator saw';
COMMENT ON COLUMN twtasks.cancel_request.created IS 'Creation of the task, since a deleted task''s id may be used again';
COMMENT ON COLUMN twtasks.cancel_request.requested IS 'When';
COMMENT ON COLUMN twtasks.cancel_request.actor IS 'The role that logged in';
COMMENT ON COLUMN twtasks.cancel_request.role IS 'The role of SET ROLE, else the actor';
COMMENT ON COLUMN twtasks.cancel_request.application IS 'application_name of the session';
COMMENT ON COLUMN twtasks.cancel_request.reason IS 'In the actor''s words';

-- sql/operate/audit.sql
CREATE TABLE twtasks.audit (
	id				bigint GENERATED ALWAYS AS IDENTITY,									-- Ascends with the changes of one task
	at				timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),				-- When
	actor			text NOT NULL DEFAULT twtasks_internal.actor(),							-- The role that logged in
	role			text NOT NULL DEFAULT
		CASE pg_catalog.current_setting('role') WHEN 'none' THEN session_user
			ELSE pg_catalog.current_setting('role') END,									-- The role of SET ROLE, else the actor
	application		text NOT NULL DEFAULT pg_catalog.current_setting('application_name'),	-- application_name of the session
	action			text NOT NULL,															-- resume, reschedule, cancel, request_cancel, fail, hold, release, reopen, adopt
	task_id			uuid NOT NULL,															-- The task
	from_version	bigint NOT NULL,														-- Version before
	to_version		bigint NOT NULL,														-- Version after
	from_status		twtasks.task_status NOT NULL,											-- Status before
	to_status		twtasks.task_status NOT NULL,											-- Status after
	reason			text,																	-- In the actor's words
	before			jsonb NOT NULL DEFAULT '{}',											-- Changed facts, as they were
	after			jsonb NOT NULL DEFAULT '{}',											-- Changed facts, as they became
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
		'status', task.status, 'version', task.version, 'tries', task.tries,
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
		'status', task.status, 'version', task.version, 'tries', task.tries,
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
COMMENT ON COLUMN twtasks.audit.id IS 'Ascends with the changes of one task';
COMMENT ON COLUMN twtasks.audit.at IS 'When';
COMMENT ON COLUMN twtasks.audit.actor IS 'The role that logged in';
COMMENT ON COLUMN twtasks.audit.role IS 'The role of SET ROLE, else the actor';
COMMENT ON COLUMN twtasks.audit.application IS 'application_name of the session';
COMMENT ON COLUMN twtasks.audit.action IS 'resume, reschedule, cancel, request_cancel, fail, hold, release, reopen, adopt';
COMMENT ON COLUMN twtasks.audit.task_id IS 'The task';
COMMENT ON COLUMN twtasks.audit.from_version IS 'Version before';
COMMENT ON COLUMN twtasks.audit.to_version IS 'Version after';
COMMENT ON COLUMN twtasks.audit.from_status IS 'Status before';
COMMENT ON COLUMN twtasks.audit.to_status IS 'Status after';
COMMENT ON COLUMN twtasks.audit.reason IS 'In the actor''s words';
COMMENT ON COLUMN twtasks.audit.before IS 'Changed facts, as they were';
COMMENT ON COLUMN twtasks.audit.after IS 'Changed facts, as they became';
COMMENT ON FUNCTION twtasks_internal.facts IS 'The facts of a task that a change by hand may change, for the audit. NULLs are left out. / CREATE FUNCTION twtasks_internal.facts(task twtasks.task)';
COMMENT ON FUNCTION twtasks_internal.finished_facts IS 'As facts(), for a finished task. / CREATE FUNCTION twtasks_internal.finished_facts(task twtasks.finished_task)';
COMMENT ON FUNCTION twtasks_internal.only_in IS 'The members of one object that the other lacks, or has with another value. / CREATE FUNCTION twtasks_internal.only_in(one jsonb, other jsonb)';
COMMENT ON FUNCTION twtasks_internal.write_audit IS 'Records a change of a task by hand, in the caller''s transaction.';

-- sql/base/state_machine.sql
/*
 * The life of a task as rows.  change_task() takes its rules from here, a
 * test prints them, and the picture in the docs is drawn from them.  So a
 * changed rule shows in all three.
 *
 * DONE, FAILED and CANCELLED move the task to the history, except that
 * "delete" leaves no row.  Every action but "accept" adds 1 to the version.
 */
CREATE TABLE twtasks.transition (
	action			text NOT NULL,					-- Name of the change
	from_status		twtasks.task_status,			-- Status before; NULL: no task yet
	to_status		twtasks.task_status NOT NULL,	-- Status after
	actor			text NOT NULL,					-- producer, worker, leader, operator or policy
	guard			text NOT NULL,					-- Condition besides status and version
	timer			text NOT NULL,					-- Meaning of next_event_time afterwards
	CONSTRAINT transition_key UNIQUE NULLS NOT DISTINCT (action, from_status, to_status)
);
COMMENT ON TABLE twtasks.transition IS 'The state machine: every way a task changes its status';

INSERT INTO twtasks.transition (action, from_status, to_status, actor, guard, timer) VALUES
	('add',			NULL,			'SUBMITTED',	'producer',	'run_after is null or past',			'counts as late in the queue'),
	('add',			NULL,			'WAITING',		'producer',	'run_after is in the future',			'runs'),
	('promote',		'WAITING',		'SUBMITTED',	'leader',	'its time has come',					'counts as late in the queue'),
	('grab',		'SUBMITTED',	'PROCESSING',	'worker',	'not expired, twtasks.enabled',			'unchanged'),
	('done',		'PROCESSING',	'DONE',			'worker',	'-',									'-'),
	('delete',		'PROCESSING',	'DONE',			'worker',	'nothing is kept',						'-'),
	('retry',		'PROCESSING',	'WAITING',		'worker',	'tries are left',						'runs'),
	('repeat',		'PROCESSING',	'WAITING',		'worker',	'tries start anew',						'runs'),
	('error',		'PROCESSING',	'ERROR',		'worker',	'tries are used up or handler gave up',	'never'),
	('accept',		'PROCESSING',	'PROCESSING',	'worker',	'version stays: the one to finish with','deadline'),
	('release',		'PROCESSING',	'SUBMITTED',	'worker',	'its handler never started',			'counts as late in the queue'),
	('release',		'PROCESSING',	'WAITING',		'worker',	'its handler cannot be started',		'runs'),
	('cancel',		'PROCESSING',	'CANCELLED',	'worker',	'request_cancel() asked for it',		'-'),
	('expire',		'WAITING',		'FAILED',		'leader',	'expires is past',						'-'),
	('expire',		'SUBMITTED',	'FAILED',		'leader',	'expires is past',						'-'),
	('stuck',		'PROCESSING',	'SUBMITTED',	'leader',	'worker gone or deadline past, rule retry',	'counts as late in the queue'),
	('stuck',		'PROCESSING',	'ERROR',		'leader',	'worker gone or deadline past, rule error',	'never'),
	('stuck',		'PROCESSING',	'FAILED',		'leader',	'worker gone or deadline past, rule fail',	'-'),
	('resume',		'WAITING',		'SUBMITTED',	'operator',	'-',									'counts as late in the queue'),
	('resume',		'ERROR',		'WAITING',		'operator',	'tries start anew',						'runs'),
	('reschedule',	'WAITING',		'WAITING',		'operator',	'-',									'runs'),
	('cancel',		'WAITING',		'CANCELLED',	'operator',	'-',									'-'),
	('cancel',		'SUBMITTED',	'CANCELLED',	'operator',	'-',									'-'),
	('cancel',		'HELD',			'CANCELLED',	'operator',	'-',									'-'),
	('fail',		'ERROR',		'FAILED',		'operator',	'-',									'-'),
	('hold',		'WAITING',		'HELD',			'operator',	'-',									'never'),
	('hold',		'SUBMITTED',	'HELD',			'operator',	'-',									'never'),
	('hold',		'ERROR',		'HELD',			'operator',	'-',									'never'),
	('release',		'HELD',			'WAITING',		'operator',	'tries start anew',						'runs'),
	('release',		'HELD',			'ERROR',		'operator',	'held in ERROR, and no run_after given',	'never'),
	('reopen',		'FAILED',		'WAITING',		'operator',	'tries start anew',						'runs'),
	('reopen',		'CANCELLED',	'WAITING',		'operator',	'tries start anew',						'runs'),
	('on_end',		'WAITING',		'ERROR',		'policy',	'it was to end',						'never'),
	('on_end',		'SUBMITTED',	'ERROR',		'policy',	'it was to end',						'never'),
	('on_end',		'PROCESSING',	'ERROR',		'policy',	'it was to end',						'never'),
	('on_end',		'ERROR',		'ERROR',		'policy',	'it was to end',						'never'),
	('on_end',		'HELD',			'ERROR',		'policy',	'it was to end',						'never');
COMMENT ON COLUMN twtasks.transition.action IS 'Name of the change';
COMMENT ON COLUMN twtasks.transition.from_status IS 'Status before; NULL: no task yet';
COMMENT ON COLUMN twtasks.transition.to_status IS 'Status after';
COMMENT ON COLUMN twtasks.transition.actor IS 'producer, worker, leader, operator or policy';
COMMENT ON COLUMN twtasks.transition.guard IS 'Condition besides status and version';
COMMENT ON COLUMN twtasks.transition.timer IS 'Meaning of next_event_time afterwards';

-- sql/base/settings.sql
/*
 * twtasks.is_enabled()
 *
 *		Whether tasks may be grabbed: the setting twtasks.enabled.
 *
 * Returns
 *		boolean
 *
 * Locks		none
 */
CREATE FUNCTION twtasks.is_enabled()
RETURNS boolean
LANGUAGE c STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_is_enabled';

/*
 * twtasks_internal.keep_finished()
 *
 *		How long finished tasks are kept: the setting twtasks.keep_finished.
 */
CREATE FUNCTION twtasks_internal.keep_finished()
RETURNS interval
LANGUAGE c STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_keep_finished_interval';

/*
 * twtasks.queue_kind()
 *
 *		How triggers leave this server: 'ring' when twtasks was preloaded
 *		(shared_preload_libraries), else 'notify'.
 *
 * Returns
 *		text
 *
 * Locks		none
 */
CREATE FUNCTION twtasks.queue_kind()
RETURNS text
LANGUAGE c STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_queue_kind';
COMMENT ON FUNCTION twtasks.is_enabled IS 'Whether tasks may be grabbed: the setting twtasks.enabled.';
COMMENT ON FUNCTION twtasks_internal.keep_finished IS 'How long finished tasks are kept: the setting twtasks.keep_finished. / CREATE FUNCTION twtasks_internal.keep_finished()';
COMMENT ON FUNCTION twtasks.queue_kind IS 'How triggers leave this server: ''ring'' when twtasks was preloaded (shared_preload_libraries), else ''notify''.';

-- sql/base/table_changed.sql
/*
 * twtasks_internal.table_changed()
 *
 *		Makes all sessions read a table again whose content they cache, after
 *		the commit.  A trigger function.
 *
 * Errors
 *		39P01			not called by a trigger
 */
CREATE FUNCTION twtasks_internal.table_changed()
RETURNS trigger
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_table_changed';
COMMENT ON FUNCTION twtasks_internal.table_changed IS 'Makes all sessions read a table again whose content they cache, after the commit.  A trigger function.';

-- sql/cluster/adoption.sql
/*
 * Places for which this database was adopted.  A copy has the rows of its
 * original, which shows that it is a copy: see src/node/adoption.h.
 */
CREATE TABLE twtasks.adoption (
	id					uuid NOT NULL DEFAULT pg_catalog.gen_random_uuid(),					-- Random, so that rows of a copy are added to the rows that are there
	environment			text,																-- Environment in the configuration of the sidecars; NULL: none
	system_identifier	bigint NOT NULL,													-- The cluster's, of pg_control_system()
	database			oid NOT NULL,														-- The database's oid in that cluster
	timeline			bigint NOT NULL,													-- The cluster's timeline
	control_file		bigint NOT NULL,													-- Inode of pg_control
	directory			bigint NOT NULL,													-- Hash of the data directory's path
	machine				bigint NOT NULL,													-- Hash of /etc/machine-id; 0: there is none
	cookie				uuid NOT NULL,														-- Part of the first name of the marker, a file in the data directory
	inode				bigint NOT NULL,													-- Inode of the marker
	birth				bigint NOT NULL,													-- Birth time of the marker; 0: the file system has none
	ended				timestamptz,														-- Time at which another adoption replaced it
	at					timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),			-- Time of the adoption
	started				timestamptz NOT NULL DEFAULT pg_catalog.pg_postmaster_start_time(),	-- Start of the server that made the marker
	marked				timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),			-- Time at which the marker was made
	held				bigint NOT NULL DEFAULT 0,											-- Number of tasks held by this and earlier adoptions
	actor				text NOT NULL DEFAULT twtasks_internal.actor(),						-- The role that logged in
	reason				text,																-- In the actor's words
	CONSTRAINT adoption_pkey PRIMARY KEY (id)
);
COMMENT ON TABLE twtasks.adoption IS 'Places for which this database was adopted; tasks are executed if exactly one has not ended, and it is this place';
SELECT pg_catalog.pg_extension_config_dump('twtasks.adoption', '');

/* Always: rows may also come by logical replication. */
CREATE TRIGGER table_changed
	AFTER INSERT OR UPDATE OR DELETE ON twtasks.adoption
	FOR EACH ROW EXECUTE FUNCTION twtasks_internal.table_changed();
ALTER TABLE twtasks.adoption ENABLE ALWAYS TRIGGER table_changed;

/*
 * twtasks_internal.own_place()
 *
 *		The place of this database: its cluster, its oid, and the facts that
 *		tell copies apart.
 *
 * Returns
 *		the columns of twtasks.adoption
 *
 * Errors
 *		25006			on a standby
 */
CREATE FUNCTION twtasks_internal.own_place(
	OUT system_identifier bigint, OUT database oid, OUT timeline bigint, OUT control_file bigint,
	OUT directory bigint, OUT machine bigint)
RETURNS record
LANGUAGE c VOLATILE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_own_place';

/*
 * twtasks_internal.make_marker()
 *
 *		Makes a new marker in the data directory: see src/node/marker.h.  The
 *		marker counts as soon as a row of twtasks.adoption that names it is
 *		committed.  The caller has locked that row.
 *
 * Returns
 *		the columns of twtasks.adoption
 *
 * Errors
 *		58xxx			the file could not be made
 *
 * Writes		a file
 */
CREATE FUNCTION twtasks_internal.make_marker(OUT cookie uuid, OUT inode bigint, OUT birth bigint)
RETURNS record
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_make_marker';

/*
 * twtasks.is_adopted()
 *
 *		Whether tasks may be executed in this database: it is not a copy, or the
 *		copy was adopted.
 *
 * Returns
 *		boolean
 *
 * Locks		none
 */
CREATE FUNCTION twtasks.is_adopted()
RETURNS boolean
LANGUAGE c STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_is_adopted_here';

/*
 * twtasks_internal.adoption_fault()
 *
 *		The reason why tasks may not be executed in this database.
 *
 * Returns
 *		text; NULL: they may be executed
 *
 * Locks		none
 */
CREATE FUNCTION twtasks_internal.adoption_fault()
RETURNS text
LANGUAGE c STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_adoption_fault';

/*
 * twtasks_internal.write_adoption(environment, held, reason)
 *
 *		Records the place of this database, with a new marker.
 *
 * Writes		twtasks.adoption, a file
 */
CREATE FUNCTION twtasks_internal.write_adoption(environment text, held bigint, reason text)
RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	INSERT INTO twtasks.adoption (environment, held, reason, system_identifier, database, timeline,
		control_file, directory, machine, cookie, inode, birth)
	SELECT write_adoption.environment, write_adoption.held, write_adoption.reason, p.*, m.*
	FROM twtasks_internal.own_place() p, twtasks_internal.make_marker() m
$$;

/* CREATE EXTENSION adopts the database for this place. */
SELECT twtasks_internal.write_adoption(NULL, 0, 'CREATE EXTENSION');

/*
 * twtasks_internal.refusal(environment)
 *
 *		The reason why a sidecar must not execute the tasks of this database.
 *
 * Parameters
 *		environment		in the sidecar's configuration; NULL: none
 *
 * Returns
 *		text; NULL: it may execute them
 *
 * Locks		none
 */
CREATE FUNCTION twtasks_internal.refusal(environment text)
RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT coalesce(twtasks_internal.adoption_fault(),
		(SELECT format('it was adopted for environment %s, not %s',
					   coalesce('"' || a.environment || '"', 'none'),
					   coalesce('"' || refusal.environment || '"', 'none'))
		 FROM twtasks.adoption a
		 WHERE a.ended IS NULL AND a.environment IS DISTINCT FROM refusal.environment))
$$;

/*
 * twtasks_internal.renew_marker()
 *
 *		Makes another marker and records the current place, after each start of
 *		the server and every hour.  After the promotion of a standby this is a
 *		new row.
 *
 * Writes		twtasks.adoption, a file
 * Locks		a row
 */
CREATE FUNCTION twtasks_internal.renew_marker()
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	old twtasks.adoption;
	place record;
BEGIN
	place := twtasks_internal.own_place();
	SELECT a.* INTO old FROM twtasks.adoption a
	WHERE a.ended IS NULL AND twtasks.is_adopted()
	  AND (a.timeline <> place.timeline OR a.started <> pg_postmaster_start_time()
		   OR a.marked < clock_timestamp() - interval '1 hour')
	FOR UPDATE;
	IF NOT FOUND THEN
		RETURN;
	ELSIF old.timeline <> place.timeline THEN
		UPDATE twtasks.adoption a SET ended = clock_timestamp() WHERE a.id = old.id;
		PERFORM twtasks_internal.write_adoption(old.environment, old.held, 'a standby was promoted');
	ELSE
		UPDATE twtasks.adoption a
		SET directory = place.directory, machine = place.machine, cookie = m.cookie, inode = m.inode,
			birth = m.birth, started = pg_postmaster_start_time(), marked = clock_timestamp()
		FROM twtasks_internal.make_marker() m WHERE a.id = old.id;
	END IF;
END $$;

CREATE VIEW twtasks.adoption_state AS
	SELECT twtasks.is_adopted() AS is_adopted, twtasks_internal.adoption_fault() AS fault,
		   a.environment, a.at, a.actor, a.reason
	FROM (VALUES (1)) one
	LEFT JOIN twtasks.adoption a ON a.ended IS NULL AND twtasks.is_adopted();
COMMENT ON VIEW twtasks.adoption_state IS 'Whether tasks are executed in this database, or why adopt() is needed first; the adopting role and the environment';
COMMENT ON COLUMN twtasks.adoption.id IS 'Random, so that rows of a copy are added to the rows that are there';
COMMENT ON COLUMN twtasks.adoption.environment IS 'Environment in the configuration of the sidecars; NULL: none';
COMMENT ON COLUMN twtasks.adoption.system_identifier IS 'The cluster''s, of pg_control_system()';
COMMENT ON COLUMN twtasks.adoption.database IS 'The database''s oid in that cluster';
COMMENT ON COLUMN twtasks.adoption.timeline IS 'The cluster''s timeline';
COMMENT ON COLUMN twtasks.adoption.control_file IS 'Inode of pg_control';
COMMENT ON COLUMN twtasks.adoption.directory IS 'Hash of the data directory''s path';
COMMENT ON COLUMN twtasks.adoption.machine IS 'Hash of /etc/machine-id; 0: there is none';
COMMENT ON COLUMN twtasks.adoption.cookie IS 'Part of the first name of the marker, a file in the data directory';
COMMENT ON COLUMN twtasks.adoption.inode IS 'Inode of the marker';
COMMENT ON COLUMN twtasks.adoption.birth IS 'Birth time of the marker; 0: the file system has none';
COMMENT ON COLUMN twtasks.adoption.ended IS 'Time at which another adoption replaced it';
COMMENT ON COLUMN twtasks.adoption.at IS 'Time of the adoption';
COMMENT ON COLUMN twtasks.adoption.started IS 'Start of the server that made the marker';
COMMENT ON COLUMN twtasks.adoption.marked IS 'Time at which the marker was made';
COMMENT ON COLUMN twtasks.adoption.held IS 'Number of tasks held by this and earlier adoptions';
COMMENT ON COLUMN twtasks.adoption.actor IS 'The role that logged in';
COMMENT ON COLUMN twtasks.adoption.reason IS 'In the actor''s words';
COMMENT ON FUNCTION twtasks_internal.own_place IS 'The place of this database: its cluster, its oid, and the facts that tell copies apart.';
COMMENT ON FUNCTION twtasks_internal.make_marker IS 'Makes a new marker in the data directory: see src/node/marker.h.  The marker counts as soon as a row of twtasks.adoption that names it is committed.  The caller has locked that row.';
COMMENT ON FUNCTION twtasks.is_adopted IS 'Whether tasks may be executed in this database: it is not a copy, or the copy was adopted.';
COMMENT ON FUNCTION twtasks_internal.adoption_fault IS 'The reason why tasks may not be executed in this database.';
COMMENT ON FUNCTION twtasks_internal.write_adoption IS 'Records the place of this database, with a new marker.';
COMMENT ON FUNCTION twtasks_internal.refusal IS 'The reason why a sidecar must not execute the tasks of this database.';
COMMENT ON FUNCTION twtasks_internal.renew_marker IS 'Makes another marker and records the current place, after each start of the server and every hour.  After the promotion of a standby this is a new row.';

-- sql/base/clock.sql
/* How far a test has shifted the engine's clock. */
CREATE TABLE twtasks.test_clock (
	ahead_us	bigint NOT NULL,		-- Microseconds ahead of the server's clock
	at			timestamptz NOT NULL,	-- When it was shifted, by the server's clock
	actor		text NOT NULL			-- The role that shifted it
);
ALTER TABLE twtasks.test_clock REPLICA IDENTITY FULL;
COMMENT ON TABLE twtasks.test_clock IS 'How far a test has shifted the engine''s clock; counts only where twtasks.testing is on; one row at most';

CREATE TRIGGER table_changed
	AFTER INSERT OR UPDATE OR DELETE ON twtasks.test_clock
	FOR EACH ROW EXECUTE FUNCTION twtasks_internal.table_changed();

/*
 * twtasks.clock()
 *
 *		The engine's current time: the server's clock, unless a test has shifted
 *		it by set_clock().
 *
 * Returns
 *		timestamptz
 *
 * Locks		none
 */
CREATE FUNCTION twtasks.clock()
RETURNS timestamptz
LANGUAGE c VOLATILE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_clock';

/*
 * twtasks_internal.clock_ahead()
 *
 *		How far twtasks.clock() is ahead of the server's clock.
 *
 * Returns
 *		microseconds; 0 where twtasks.testing is off
 */
CREATE FUNCTION twtasks_internal.clock_ahead()
RETURNS bigint
LANGUAGE c STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_clock_ahead';

/*
 * twtasks_internal.is_testing()
 *
 *		Whether functions for tests may be used: the setting twtasks.testing.
 *
 * Returns
 *		boolean
 *
 * Locks		none
 */
CREATE FUNCTION twtasks_internal.is_testing()
RETURNS boolean
LANGUAGE c STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_is_testing';
COMMENT ON COLUMN twtasks.test_clock.ahead_us IS 'Microseconds ahead of the server''s clock';
COMMENT ON COLUMN twtasks.test_clock.at IS 'When it was shifted, by the server''s clock';
COMMENT ON COLUMN twtasks.test_clock.actor IS 'The role that shifted it';
COMMENT ON FUNCTION twtasks.clock IS 'The engine''s current time: the server''s clock, unless a test has shifted it by set_clock().';
COMMENT ON FUNCTION twtasks_internal.clock_ahead IS 'How far twtasks.clock() is ahead of the server''s clock.';
COMMENT ON FUNCTION twtasks_internal.is_testing IS 'Whether functions for tests may be used: the setting twtasks.testing.';

-- sql/policy/policies.sql
/*
 * twtasks_internal.config_changed()
 *
 *		Announces a change of a table of the configuration at its commit: to sidecars
 *		by NOTIFY twtasks_config, to the caches of sessions by an invalidation of
 *		the table.  A statement trigger on each such table calls it.
 *
 * Errors
 *		39P01			no trigger calls the function
 *
 * Wakes		every sidecar, to read the configuration again
 */
CREATE FUNCTION twtasks_internal.config_changed()
RETURNS trigger
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_config_changed';

/*
 * The options of a policy.  configure_type_as_owner() checks each option, and
 * configure_type() describes it.  The parameters of configure_type() and the
 * columns of policy_of() have the same names in the same order.  All other code
 * finds an option by its name.
 */
CREATE TYPE twtasks.policy AS (
	bucket			text,
	priority		smallint,
	timeout			interval,
	queue_time		interval,
	expires_after	interval,
	stuck			twtasks.stuck_rule,
	stuck_function	text,
	when_done		twtasks.done_rule,
	nodes			text[],
	intercept		text,
	retry			jsonb,
	retry_function	text,
	reset_tries		boolean,
	aging			interval,
	on_end			text,
	takeover		twtasks.takeover_rule
);

/*
 * The next shorter pattern that matches decides on an option that a row does not
 * set, and in the end the configuration of the sidecar.
 */
CREATE TABLE twtasks.type_policy (
	pattern			text COLLATE "C" NOT NULL,	-- A type, or the beginning of types and a *
	options			jsonb NOT NULL,				-- Options that are set, by name
	changed_at		timestamptz NOT NULL,		-- Time of the last change
	changed_by		text NOT NULL,				-- Role that logged in and made the last change
	CONSTRAINT type_policy_pkey PRIMARY KEY (pattern)
);
COMMENT ON TABLE twtasks.type_policy IS 'Policies of task types, as configure_type() set them; the view type_policies has them in columns';

CREATE VIEW twtasks.type_policies AS
	SELECT p.pattern, o.*, p.changed_at, p.changed_by
	FROM twtasks.type_policy p
	CROSS JOIN LATERAL pg_catalog.jsonb_populate_record(NULL::twtasks.policy, p.options) o;
COMMENT ON VIEW twtasks.type_policies IS 'Policies of types, one row per pattern; policy_of() merges them for a type';

CREATE TRIGGER config_changed
	AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON twtasks.type_policy
	FOR EACH STATEMENT EXECUTE FUNCTION twtasks_internal.config_changed();

/* The bucket "default" needs no row, which would clash with that of a restore. */
CREATE TABLE twtasks.bucket_policy (
	name			text COLLATE "C" NOT NULL,	-- Name in add_task() and in the buckets of a sidecar
	description		text,						-- Purpose of the bucket, in words
	concurrency		integer,					-- Tasks that may run at once on each node; NULL: no limit
	changed_at		timestamptz NOT NULL,		-- Time of the last change
	changed_by		text NOT NULL,				-- Role that logged in and made the last change
	CONSTRAINT bucket_policy_pkey PRIMARY KEY (name)
);
COMMENT ON TABLE twtasks.bucket_policy IS 'Buckets that tasks can be added to, besides "default"';

CREATE TRIGGER config_changed
	AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON twtasks.bucket_policy
	FOR EACH STATEMENT EXECUTE FUNCTION twtasks_internal.config_changed();

/* Pauses are apart from the policies, so a change of policies ends no pause. */
CREATE TABLE twtasks.pause (
	kind			text NOT NULL,				-- type or bucket
	name			text COLLATE "C" NOT NULL,	-- A type, the beginning of types and a *, or a bucket
	since			timestamptz NOT NULL,		-- Start of the pause
	paused_by		text NOT NULL,				-- Role that logged in and paused it
	reason			text,						-- Reason that this role gave
	CONSTRAINT pause_pkey PRIMARY KEY (kind, name)
);
COMMENT ON TABLE twtasks.pause IS 'Types and buckets whose tasks no node grabs';

CREATE TRIGGER config_changed
	AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON twtasks.pause
	FOR EACH STATEMENT EXECUTE FUNCTION twtasks_internal.config_changed();

SELECT pg_catalog.pg_extension_config_dump('twtasks.pause', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.type_policy', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.bucket_policy', '');
COMMENT ON FUNCTION twtasks_internal.config_changed IS 'Announces a change of a table of the configuration at its commit: to sidecars by NOTIFY twtasks_config, to the caches of sessions by an invalidation of the table.  A statement trigger on each such table calls it.';
COMMENT ON COLUMN twtasks.type_policy.pattern IS 'A type, or the beginning of types and a *';
COMMENT ON COLUMN twtasks.type_policy.options IS 'Options that are set, by name';
COMMENT ON COLUMN twtasks.type_policy.changed_at IS 'Time of the last change';
COMMENT ON COLUMN twtasks.type_policy.changed_by IS 'Role that logged in and made the last change';
COMMENT ON COLUMN twtasks.bucket_policy.name IS 'Name in add_task() and in the buckets of a sidecar';
COMMENT ON COLUMN twtasks.bucket_policy.description IS 'Purpose of the bucket, in words';
COMMENT ON COLUMN twtasks.bucket_policy.concurrency IS 'Tasks that may run at once on each node; NULL: no limit';
COMMENT ON COLUMN twtasks.bucket_policy.changed_at IS 'Time of the last change';
COMMENT ON COLUMN twtasks.bucket_policy.changed_by IS 'Role that logged in and made the last change';
COMMENT ON COLUMN twtasks.pause.kind IS 'type or bucket';
COMMENT ON COLUMN twtasks.pause.name IS 'A type, the beginning of types and a *, or a bucket';
COMMENT ON COLUMN twtasks.pause.since IS 'Start of the pause';
COMMENT ON COLUMN twtasks.pause.paused_by IS 'Role that logged in and paused it';
COMMENT ON COLUMN twtasks.pause.reason IS 'Reason that this role gave';

-- sql/policy/configure_bucket.sql
/*
 * twtasks_internal.check_bucket(name)
 *
 *		Raises an error unless the bucket is configured; NULL passes.
 *
 * Errors
 *		22023			the bucket is not configured
 */
CREATE FUNCTION twtasks_internal.check_bucket(name text)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF name <> 'default'
		AND NOT EXISTS (SELECT FROM twtasks.bucket_policy b WHERE b.name = check_bucket.name) THEN
		RAISE EXCEPTION 'bucket "%" is not configured', twtasks_internal.shown(name)
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Choose one of twtasks.buckets, or make it by twtasks.configure_bucket().';
	END IF;
END $$;

/*
 * twtasks.configure_bucket(name, description, concurrency)
 *
 *		Creates or changes a bucket that tasks can be added to.  Sidecars work for
 *		the bucket if their configuration names it.  The bucket "default" always
 *		exists.
 *
 * Parameters
 *		name			1 to 48 letters, digits, _ -
 *		description		what the bucket is for; NULL: unchanged
 *		concurrency		tasks of the bucket that may run at once on each node; 0: no
 *						task starts; NULL: unchanged.  unset_bucket_options() removes
 *						the limit
 *
 * Errors
 *		22004			name is NULL
 *		22023			name or concurrency is not valid
 *
 * Writes		twtasks.bucket_policy, twtasks.policy_audit
 * Locks		row lock
 * Wakes		every sidecar, to read the configuration again
 * Example		SELECT twtasks.configure_bucket('pictures', 'machines with a large memory', concurrency => 4);
 */
CREATE FUNCTION twtasks.configure_bucket(
	name text,
	description text DEFAULT NULL,
	concurrency integer DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
	IF configure_bucket.name IS NULL THEN
		RAISE EXCEPTION 'name must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	IF configure_bucket.name !~ '^[A-Za-z0-9_-]{1,48}$' THEN
		RAISE EXCEPTION 'invalid bucket: "%"', twtasks_internal.shown(configure_bucket.name)
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'A bucket has 1 to 48 letters (A to Z), digits and characters of "_-".';
	END IF;
	IF configure_bucket.concurrency NOT BETWEEN 0 AND 1000000 THEN
		RAISE EXCEPTION 'concurrency must be between 0 and 1000000, not %', configure_bucket.concurrency
			USING ERRCODE = 'invalid_parameter_value',
				HINT = '0 lets no task start; twtasks.unset_bucket_options() takes a limit away.';
	END IF;
	INSERT INTO twtasks.bucket_policy AS b (name, description, concurrency, changed_at, changed_by)
	VALUES (configure_bucket.name, configure_bucket.description, configure_bucket.concurrency,
			clock_timestamp(), twtasks_internal.actor())
	ON CONFLICT (name) DO UPDATE SET
		description = coalesce(EXCLUDED.description, b.description),
		concurrency = coalesce(EXCLUDED.concurrency, b.concurrency),
		changed_at = EXCLUDED.changed_at,
		changed_by = EXCLUDED.changed_by;
END $$;

/*
 * twtasks.unset_bucket_options(name, options)
 *
 *		Removes the description or the limit of a bucket.
 *
 * Parameters
 *		options			description, concurrency
 *
 * Returns
 *		false if the bucket is not configured
 *
 * Errors
 *		22023			a name is not that of an option, or NULL
 *
 * Writes		twtasks.bucket_policy, twtasks.policy_audit
 * Locks		row lock
 * Wakes		every sidecar, to read the configuration again
 * Example		SELECT twtasks.unset_bucket_options('pictures', 'concurrency');
 */
CREATE FUNCTION twtasks.unset_bucket_options(name text, VARIADIC options text[])
RETURNS boolean
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM twtasks_internal.check_options(options, '{description,concurrency}'::text[]);
	UPDATE twtasks.bucket_policy b SET
		description = CASE WHEN 'description' <> ALL (options) THEN b.description END,
		concurrency = CASE WHEN 'concurrency' <> ALL (options) THEN b.concurrency END,
		changed_at = clock_timestamp(),
		changed_by = twtasks_internal.actor()
	WHERE b.name = unset_bucket_options.name;
	RETURN FOUND;
END $$;

/*
 * twtasks.drop_bucket(name)
 *
 *		Drops a bucket: tasks can no longer be added to it.
 *
 * Returns
 *		false if the bucket is not configured
 *
 * Errors
 *		22023			the bucket is "default"
 *		55000			live tasks are in the bucket, or a policy or a schedule names it
 *
 * Writes		twtasks.bucket_policy, twtasks.pause, twtasks.policy_audit
 * Locks		row lock; a task that another transaction is adding stays in the
 *				bucket
 * Wakes		every sidecar, to read the configuration again
 */
CREATE FUNCTION twtasks.drop_bucket(name text)
RETURNS boolean
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	user_of_it text;
BEGIN
	IF name = 'default' THEN
		RAISE EXCEPTION 'cannot drop bucket "default"'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	SELECT p.pattern INTO user_of_it FROM twtasks.type_policies p
	WHERE p.bucket = drop_bucket.name ORDER BY p.pattern LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'bucket "%" is that of a policy', name
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = format('Tasks of pattern "%s" are added to it.', user_of_it),
				HINT = 'Choose another bucket there by twtasks.configure_type(), or unset it by twtasks.unset_type_options().';
	END IF;
	SELECT s.name INTO user_of_it FROM twtasks.schedule s
	WHERE s.bucket = drop_bucket.name ORDER BY s.name LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'bucket "%" is that of a schedule', name
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = format('Schedule "%s" adds tasks to it.', user_of_it),
				HINT = 'Choose another bucket there by twtasks.schedule(), or remove it by twtasks.unschedule().';
	END IF;
	IF EXISTS (SELECT FROM twtasks.task t WHERE t.bucket = drop_bucket.name) THEN
		RAISE EXCEPTION 'bucket "%" has live tasks', name
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'See twtasks.stats for them: let them run, or cancel them.';
	END IF;
	DELETE FROM twtasks.pause p WHERE p.kind = 'bucket' AND p.name = drop_bucket.name;
	DELETE FROM twtasks.bucket_policy b WHERE b.name = drop_bucket.name;
	RETURN FOUND;
END $$;
COMMENT ON FUNCTION twtasks_internal.check_bucket IS 'Raises an error unless the bucket is configured; NULL passes.';
COMMENT ON FUNCTION twtasks.configure_bucket IS 'Creates or changes a bucket that tasks can be added to.  Sidecars work for the bucket if their configuration names it.  The bucket "default" always exists.';
COMMENT ON FUNCTION twtasks.unset_bucket_options IS 'Removes the description or the limit of a bucket.';
COMMENT ON FUNCTION twtasks.drop_bucket IS 'Drops a bucket: tasks can no longer be added to it.';

-- sql/policy/pause.sql
/*
 * twtasks_internal.pause(kind, name, reason)
 *
 *		Pauses a type or a bucket: from the commit on neither SQL nor a sidecar grabs
 *		its tasks.  Tasks that were grabbed before go on, also the rest of a batch of
 *		a SQL handler.
 *
 * Returns
 *		false if it was paused already; then nothing changes
 *
 * Writes		twtasks.pause, twtasks.policy_audit
 * Locks		row lock
 * Wakes		every sidecar, to read the configuration again
 */
CREATE FUNCTION twtasks_internal.pause(kind text, name text, reason text)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	INSERT INTO twtasks.pause (kind, name, since, paused_by, reason)
	VALUES (pause.kind, pause.name, clock_timestamp(), twtasks_internal.actor(), pause.reason)
	ON CONFLICT DO NOTHING;
	RETURN FOUND;
END $$;

/*
 * twtasks_internal.resume(kind, name)
 *
 *		Ends a pause of a type or a bucket.
 *
 * Returns
 *		false if it was not paused
 *
 * Writes		twtasks.pause, twtasks.policy_audit
 * Locks		row lock
 * Wakes		every sidecar, to read the configuration again and to look for tasks
 */
CREATE FUNCTION twtasks_internal.resume(kind text, name text)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	DELETE FROM twtasks.pause p WHERE p.kind = resume.kind AND p.name = resume.name;
	RETURN FOUND;
END $$;

/*
 * twtasks.pause_type(pattern, reason)
 *
 *		Starts no task of a type, or of all types that begin so, until resume_type().
 *		Options of other patterns do not matter.  Tasks that were grabbed before go
 *		on.  Tasks can be added, and wait.
 *
 * Errors
 *		22004, 22023	pattern is NULL, or not valid
 *
 * Returns, writes, locks, wakes: as pause()
 * Example		SELECT twtasks.pause_type('PAYOUT|*', 'the bank is down');
 */
CREATE FUNCTION twtasks.pause_type(pattern text, reason text DEFAULT NULL)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM twtasks_internal.check_pattern(pattern);
	RETURN twtasks_internal.pause('type', pattern, reason);
END $$;

/*
 * twtasks.resume_type(pattern)
 *
 *		Ends pause_type() of the same pattern.
 *
 * Returns, writes, locks, wakes: as resume()
 */
CREATE FUNCTION twtasks.resume_type(pattern text)
RETURNS boolean
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT twtasks_internal.resume('type', pattern) $$;

/*
 * twtasks.pause_bucket(name, reason)
 *
 *		Starts no task in a bucket until resume_bucket().
 *
 * Errors
 *		22004			name is NULL
 *		22023			the bucket is not configured
 *
 * Returns, writes, locks, wakes: as pause()
 */
CREATE FUNCTION twtasks.pause_bucket(name text, reason text DEFAULT NULL)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF name IS NULL THEN
		RAISE EXCEPTION 'name must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	PERFORM twtasks_internal.check_bucket(name);
	RETURN twtasks_internal.pause('bucket', name, reason);
END $$;

/*
 * twtasks.resume_bucket(name)
 *
 *		Ends pause_bucket().
 *
 * Returns, writes, locks, wakes: as resume()
 */
CREATE FUNCTION twtasks.resume_bucket(name text)
RETURNS boolean
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT twtasks_internal.resume('bucket', name) $$;

/*
 * twtasks.is_paused(type, bucket)
 *
 *		Returns whether tasks of that type in that bucket are paused.
 *
 * Locks		none
 */
CREATE FUNCTION twtasks.is_paused(type text, bucket text DEFAULT 'default')
RETURNS boolean
LANGUAGE c STABLE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_is_paused';
COMMENT ON FUNCTION twtasks_internal.pause IS 'Pauses a type or a bucket: from the commit on neither SQL nor a sidecar grabs its tasks.  Tasks that were grabbed before go on, also the rest of a batch of a SQL handler.';
COMMENT ON FUNCTION twtasks_internal.resume IS 'Ends a pause of a type or a bucket.';
COMMENT ON FUNCTION twtasks.pause_type IS 'Starts no task of a type, or of all types that begin so, until resume_type(). Options of other patterns do not matter.  Tasks that were grabbed before go on.  Tasks can be added, and wait.';
COMMENT ON FUNCTION twtasks.resume_type IS 'Ends pause_type() of the same pattern.';
COMMENT ON FUNCTION twtasks.pause_bucket IS 'Starts no task in a bucket until resume_bucket().';
COMMENT ON FUNCTION twtasks.resume_bucket IS 'Ends pause_bucket().';
COMMENT ON FUNCTION twtasks.is_paused IS 'Returns whether tasks of that type in that bucket are paused.';

-- sql/policy/retry.sql
/*
 * twtasks_internal.check_retry(retry)
 *
 *		Raises an error unless the retry policy is one that configure_type() takes.
 *
 * Errors
 *		22023			the policy is not valid
 */
CREATE FUNCTION twtasks_internal.check_retry(retry jsonb)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	how_to CONSTANT text := 'Write "none", {"delay": "5s", "multiplier": 2, "max_delay": "2h", "max_tries": 20, "jitter": 0.1}, {"delays": ["1s", "1min"]}, or a list of the latter two.';
	stage jsonb;
BEGIN
	IF retry IS NULL OR retry = '"none"' THEN
		RETURN;
	END IF;
	IF jsonb_typeof(retry) = 'array' AND jsonb_array_length(retry) NOT BETWEEN 1 AND 16 THEN
		RAISE EXCEPTION 'a chain of retry policies must have 1 to 16 of them, not %', jsonb_array_length(retry)
			USING ERRCODE = 'invalid_parameter_value', HINT = how_to;
	END IF;
	FOR stage IN SELECT s FROM jsonb_array_elements(
		CASE jsonb_typeof(retry) WHEN 'array' THEN retry ELSE jsonb_build_array(retry) END) s
	LOOP
		IF jsonb_typeof(stage) <> 'object' THEN
			RAISE EXCEPTION 'invalid retry policy: %', left(stage::text, 64)
				USING ERRCODE = 'invalid_parameter_value', HINT = how_to;
		END IF;
		PERFORM twtasks_internal.check_retry_stage(stage, how_to);
	END LOOP;
END $$;

/*
 * twtasks_internal.check_retry_stage(stage, how_to)
 *
 *		Raises an error, with that hint, unless the object is a valid retry policy.
 *
 * Errors
 *		22023			the policy is not valid
 */
CREATE FUNCTION twtasks_internal.check_retry_stage(stage jsonb, how_to text)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	known CONSTANT text[] := CASE WHEN stage ? 'delays' THEN '{delays,jitter}'
								  ELSE '{delay,multiplier,max_delay,max_tries,jitter}' END;
	stray text;
BEGIN
	SELECT k INTO stray FROM jsonb_object_keys(stage) k WHERE k <> ALL (known) LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'unrecognized name in retry policy: "%"', twtasks_internal.shown(stray)
			USING ERRCODE = 'invalid_parameter_value', HINT = how_to;
	END IF;
	IF stage ? 'delays' AND (jsonb_typeof(stage->'delays') <> 'array'
							 OR jsonb_array_length(stage->'delays') NOT BETWEEN 1 AND 100) THEN
		RAISE EXCEPTION 'delays must be a list of 1 to 100 durations'
			USING ERRCODE = 'invalid_parameter_value', HINT = how_to;
	END IF;
	PERFORM twtasks_internal.check_duration(d.name, twtasks_internal.parse_duration(d.name, d.value), '0'::interval, '30 d'::interval)
	FROM (SELECT 'each of delays', e FROM jsonb_array_elements(stage->'delays') e
		  UNION ALL SELECT k, stage->k FROM unnest('{delay,max_delay}'::text[]) k
		  WHERE stage ? k) d(name, value);
	PERFORM twtasks_internal.check_number(stage, 'multiplier', 1, 100),
			twtasks_internal.check_number(stage, 'max_tries', 1, 1000000),
			twtasks_internal.check_number(stage, 'jitter', 0, 1);
	IF (stage->>'max_tries')::numeric % 1 <> 0 THEN
		RAISE EXCEPTION 'max_tries must be a whole number, not %', stage->>'max_tries'
			USING ERRCODE = 'invalid_parameter_value', HINT = how_to;
	END IF;
	IF coalesce((stage->>'delay')::interval, '5s') > coalesce((stage->>'max_delay')::interval, '2h') THEN
		RAISE EXCEPTION 'delay must not be longer than max_delay'
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Without a value delay is 5s and max_delay is 2h.';
	END IF;
END $$;

/*
 * twtasks_internal.parse_duration(name, value)
 *
 *		Returns the duration that a text in JSON names.
 *
 * Errors
 *		22023			value is not a duration with a unit
 */
CREATE FUNCTION twtasks_internal.parse_duration(name text, value jsonb)
RETURNS interval
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF jsonb_typeof(value) = 'string' AND value #>> '{}' ~ '[a-z:]|^0$' THEN
		RETURN (value #>> '{}')::interval;
	END IF;
	RAISE invalid_datetime_format;
EXCEPTION WHEN invalid_datetime_format OR datetime_field_overflow OR interval_field_overflow THEN
	RAISE EXCEPTION '% must be a duration, not %', name, left(value::text, 64)
		USING ERRCODE = 'invalid_parameter_value',
			HINT = 'Write a duration such as "30s", "10min" or "2h".';
END $$;

/*
 * twtasks_internal.check_number(stage, name, smallest, largest)
 *
 *		Raises an error if an object has that member, and the member is not a number
 *		or is out of range.
 *
 * Errors
 *		22023			the member is not valid
 */
CREATE FUNCTION twtasks_internal.check_number(stage jsonb, name text, smallest integer, largest integer)
RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF stage ? name AND (jsonb_typeof(stage->name) <> 'number'
						 OR (stage->>name)::numeric NOT BETWEEN smallest AND check_number.largest) THEN
		RAISE EXCEPTION '% must be a number from % to %, not %', name, smallest, check_number.largest, left((stage->name)::text, 64)
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
END $$;

/*
 * twtasks_internal.retry_delay(retry, tries)
 *
 *		Returns when a task that was tried so often is tried again.  finish_tasks()
 *		calls the same C function.
 *
 * Parameters
 *		retry			as configure_type() takes it
 *
 * Returns
 *		milliseconds; NULL: no more tries
 *
 * Errors
 *		22023			retry is not valid
 */
CREATE FUNCTION twtasks_internal.retry_delay(retry jsonb, tries integer)
RETURNS bigint
LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'twt_retry_delay';
COMMENT ON FUNCTION twtasks_internal.check_retry IS 'Raises an error unless the retry policy is one that configure_type() takes.';
COMMENT ON FUNCTION twtasks_internal.check_retry_stage IS 'Raises an error, with that hint, unless the object is a valid retry policy.';
COMMENT ON FUNCTION twtasks_internal.parse_duration IS 'Returns the duration that a text in JSON names.';
COMMENT ON FUNCTION twtasks_internal.check_number IS 'Raises an error if an object has that member, and the member is not a number or is out of range.';
COMMENT ON FUNCTION twtasks_internal.retry_delay IS 'Returns when a task that was tried so often is tried again.  finish_tasks() calls the same C function.';

-- sql/policy/user_function.sql
/*
 * twtasks_internal.check_function(purpose text, function text, args regtype[], result regtype)
 *
 *		Raises an error unless the function can be called for the purpose: it has
 *		these types, and the caller may name it.  NULL passes.
 *
 * Errors
 *		42883			no function of that name has the right signature
 *		22004			purpose, args or result is NULL
 *		42501			the caller may not execute the function
 *		22023			the function does not fix its search_path
 */
CREATE FUNCTION twtasks_internal.check_function(purpose text, function text, args regtype[], result regtype)
RETURNS void
LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'twt_check_function_of';

/*
 * twtasks_internal.call_function(purpose, function, result, as_role, args)
 *
 *		Calls the function that a user named: the one that takes just the types of
 *		the arguments, which may be NULL.  It runs with the rights of its owner, or of
 *		as_role.  It has no time limit of its own.
 *
 * Parameters
 *		purpose			for messages
 *		function		name with its schema
 *		result			type that the function must return
 *		as_role			role with whose rights it runs, without writing; NULL: its owner
 *		args			at least one; a literal needs a cast
 *
 * Returns
 *		the result as text; NULL: the function returned NULL, or is STRICT and an
 *		argument is NULL
 *
 * Errors
 *		42883			no function of that name has the right signature
 *		22004			purpose, function or result is NULL
 *		25006			as_role is given and the function writes
 *		22023			as_role is given and the function is SECURITY DEFINER; all errors
 *						of the function
 */
CREATE FUNCTION twtasks_internal.call_function(purpose text, function text, result regtype, as_role regrole, VARIADIC args "any")
RETURNS text
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_call_function';
COMMENT ON FUNCTION twtasks_internal.check_function(purpose text, function text, args regtype[], result regtype) IS 'Raises an error unless the function can be called for the purpose: it has these types, and the caller may name it.  NULL passes.';
COMMENT ON FUNCTION twtasks_internal.call_function IS 'Calls the function that a user named: the one that takes just the types of the arguments, which may be NULL.  It runs with the rights of its owner, or of as_role.  It has no time limit of its own.';

-- sql/policy/configure_type.sql
/*
 * twtasks_internal.check_pattern(pattern)
 *
 *		Raises an error unless the pattern is a type, or the beginning of types and
 *		a *.
 *
 * Errors
 *		22004			pattern is NULL
 *		22023			pattern is not valid
 */
CREATE FUNCTION twtasks_internal.check_pattern(pattern text)
RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF pattern IS NULL THEN
		RAISE EXCEPTION 'pattern must not be null'
			USING ERRCODE = 'null_value_not_allowed',
				HINT = 'Name a type, such as SEND_EMAIL, the beginning of types, such as EMAIL|*, or * for all.';
	END IF;
	IF pattern !~ '^([A-Za-z0-9_.:|/-]{1,120}|[A-Za-z0-9_.:|/-]{0,120}\*)$' THEN
		RAISE EXCEPTION 'invalid pattern: "%"', twtasks_internal.shown(pattern)
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'A pattern is a type, or the beginning of types and a *; a type has 1 to 120 letters (A to Z), digits and characters of "_.:|/-".',
				HINT = 'Write SEND_EMAIL for one type, EMAIL|* for all that begin so, * for all.';
	END IF;
END $$;

/*
 * twtasks_internal.check_duration(name, value, shortest, longest)
 *
 *		Raises an error if a duration is out of range.
 *
 * Errors
 *		22023			value is too short or too long
 */
CREATE FUNCTION twtasks_internal.check_duration(name text, value interval, shortest interval, longest interval)
RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF value < shortest OR value > longest THEN
		RAISE EXCEPTION '% must be between % and %, not %', name, shortest, longest, value
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Write a duration such as 30s, 10min or 2h.';
	END IF;
END $$;

/*
 * twtasks_internal.check_function(option text, function text)
 *
 *		Raises an error unless the function can be the value of that option of
 *		configure_type(); NULL and 'none' pass.
 *
 * Errors
 *		42883			no function of that name has the right signature
 *		42501			the caller may not execute the function
 *		22023			the function does not fix its search_path
 */
CREATE FUNCTION twtasks_internal.check_function(option text, function text)
RETURNS void
LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'twt_check_function';

/*
 * twtasks_internal.check_may_name(functions)
 *
 *		Raises an error if the caller names a function and may not see all that tasks
 *		carry, because the function sees it.  NULL and 'none' pass.
 *
 * Errors
 *		42501			the caller is neither a superuser nor the owner of the
 *						database nor a member of twtasks_owner
 */
CREATE FUNCTION twtasks_internal.check_may_name(VARIADIC functions text[])
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF EXISTS (SELECT FROM unnest(functions) f WHERE f <> 'none')
		AND NOT pg_has_role(twtasks_internal.caller(), 'twtasks_owner', 'USAGE')
		AND NOT (SELECT pg_has_role(twtasks_internal.caller(), d.datdba, 'USAGE')
				 FROM pg_database d WHERE d.datname = current_database()) THEN
		RAISE EXCEPTION 'permission denied to name a function in a policy'
			USING ERRCODE = 'insufficient_privilege',
				DETAIL = 'It sees all that tasks carry, and may change it.',
				HINT = 'A superuser, the owner of the database and members of twtasks_owner may.';
	END IF;
END $$;

/*
 * twtasks.configure_type(pattern, ...)
 *
 *		Sets policies of a type, or of all types that begin so.  Every sidecar and
 *		every session follows them from the commit on.  A running task keeps the
 *		deadline and the stuck rule of its grab.
 *
 *		Several patterns may match a type.  Each option comes from the most special
 *		pattern that sets it: the type itself, else the longest beginning.  The
 *		configuration of the sidecar decides on options that no pattern sets.
 *
 * Parameters
 *		pattern			a type, or the beginning of types and a *; * alone: all
 *		bucket			for tasks that are added without one; must be configured
 *		priority		for tasks that are added without one: 0 (urgent) to 9
 *		timeout			deadline of a task from its grab, 10ms to 30d
 *		queue_time		after so long in SUBMITTED a task counts as stuck in the queue;
 *						1s to 1 year, without a policy 30min
 *		expires_after	a task that was added without expires no longer starts so long
 *						after it was added, or after its run_after; 1ms to 100 years
 *		stuck			the rule for a task whose node is gone, or whose deadline passed
 *						unseen: retry, error, fail or ignore
 *		stuck_function	a function (twtasks.task_input) that returns the rule for that
 *						task.  If the function fails or returns NULL, the task's own
 *						rule decides, with error instead of ignore.  'none': no function
 *		nodes			names of the nodes that run the type, each in full or as a
 *						beginning and a *; other nodes do not start such tasks
 *		intercept		a function (twtasks.new_task) that returns the task to be added
 *						in place of the given one, or raises an error.  Values that
 *						add_task() was not given are NULL.  'none': no function
 *		when_done		the part of a DONE task that is kept: keep, all; clear, all but
 *						data and payload; delete, nothing, and its key is free
 *		retry			when a failed task is tried again: "none", never; {"delay": "5s",
 *						"multiplier": 2, "max_delay": "2h", "max_tries": 20, "jitter":
 *						0.1}, with growing delays, where these figures are the defaults;
 *						{"delays": ["1s", "1min"]}, after these delays; or a list of
 *						such objects, one after the other
 *		retry_function	a function (twtasks.task_input, error text) that returns the
 *						time of the next try, or NULL for no more tries.  It decides in
 *						place of retry, which decides if the function fails.  'none': no
 *						function
 *		reset_tries		whether tries start again from 0 when a handler answers
 *						"repeat", as without a policy; if not, repeats end with the tries
 *		aging			a task that waits for a slot rises by one priority each such
 *						time, but not above 1, so tasks of priority 0 go first; 100ms to
 *						30d.  0, as without a policy: tasks do not rise
 *		on_end			a function (twtasks.ended_task[]) that returns nothing, called in
 *						the transaction in which tasks become DONE, FAILED, CANCELLED or
 *						ERROR.  If the function fails, the task becomes ERROR instead.
 *						'none': no function
 *		takeover		when the stuck rule applies to a task whose node is gone: gone, as
 *						without a policy, at once; deadline, when the timeout and the
 *						grace of its handler are over, since a node that is only cut off
 *						lets the handler run until then
 *
 *		A function runs with the rights of its owner and must fix its search_path.
 *		The function sees all that tasks carry, so a caller who names one must be
 *		allowed to see that as well.  An option that is NULL or left out stays
 *		unchanged; unset_type_options() removes one.
 *
 * Errors
 *		22004			pattern is NULL
 *		22023			a value is not valid, no option is given, the bucket is not
 *						configured, or the function does not fix its search_path
 *		42883			there is no such function
 *		42501			the caller may not execute the function, or may not name
 *						functions: a superuser, the owner of the database and
 *						members of twtasks_owner may; or the call is within a
 *						security-restricted operation, such as ANALYZE
 *
 * Writes		twtasks.type_policy, twtasks.policy_audit
 * Locks		row lock
 * Wakes		every sidecar, to read the configuration again
 * Example		SELECT twtasks.configure_type('EMAIL|*', timeout => '30s', stuck => 'retry');
 */
CREATE FUNCTION twtasks.configure_type(
	pattern text,
	bucket text DEFAULT NULL,
	priority integer DEFAULT NULL,
	timeout interval DEFAULT NULL,
	queue_time interval DEFAULT NULL,
	expires_after interval DEFAULT NULL,
	stuck twtasks.stuck_rule DEFAULT NULL,
	stuck_function text DEFAULT NULL,
	when_done twtasks.done_rule DEFAULT NULL,
	nodes text[] DEFAULT NULL,
	intercept text DEFAULT NULL,
	retry jsonb DEFAULT NULL,
	retry_function text DEFAULT NULL,
	reset_tries boolean DEFAULT NULL,
	aging interval DEFAULT NULL,
	on_end text DEFAULT NULL,
	takeover twtasks.takeover_rule DEFAULT NULL)
RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_as_owner';

/*
 * twtasks_internal.configure_type_as_owner(given)
 *
 *		Does the work of configure_type(), whose parameters are the columns of the
 *		row.
 *
 * Writes		twtasks.type_policy, twtasks.policy_audit
 */
CREATE FUNCTION twtasks_internal.configure_type_as_owner(given record)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET intervalstyle = 'postgres'
AS $$
DECLARE
	wanted CONSTANT jsonb := (SELECT jsonb_object_agg(o.key, o.value) FROM jsonb_each(to_jsonb(given) - 'pattern') o
							  WHERE o.value <> 'null');
BEGIN
	PERFORM twtasks_internal.check_pattern(given.pattern);
	PERFORM twtasks_internal.check_retry(given.retry);
	IF wanted IS NULL THEN
		RAISE EXCEPTION 'no option is given for "%"', given.pattern
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Name at least one, such as timeout => ''30s''.';
	END IF;
	IF given.priority NOT BETWEEN 0 AND 9 THEN
		RAISE EXCEPTION 'priority must be between 0 and 9, not %', given.priority
			USING ERRCODE = 'invalid_parameter_value',
				HINT = '0 is the most urgent, 5 the default.';
	END IF;
	PERFORM twtasks_internal.check_bucket(given.bucket),
			twtasks_internal.check_duration('timeout', given.timeout, '10 ms'::interval, '30 d'::interval),
			twtasks_internal.check_duration('queue_time', given.queue_time, '1 s'::interval, '1 year'::interval),
			twtasks_internal.check_duration('expires_after', given.expires_after, '1 ms'::interval, '100 years'::interval),
			twtasks_internal.check_duration('aging', nullif(given.aging, '0'::interval), '100 ms'::interval, '30 d'::interval),
			twtasks_internal.check_may_name(given.retry_function, given.stuck_function, given.intercept, given.on_end),
			twtasks_internal.check_function('retry_function', given.retry_function),
			twtasks_internal.check_function('stuck_function', given.stuck_function),
			twtasks_internal.check_function('intercept', given.intercept),
			twtasks_internal.check_function('on_end', given.on_end);
	IF cardinality(given.nodes) = 0
		OR EXISTS (SELECT FROM unnest(given.nodes) n WHERE (n ~ '^[^[:cntrl:]]{1,128}$') IS NOT TRUE) THEN
		RAISE EXCEPTION 'invalid names of nodes'
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Write a list of names as the sidecars have them, or beginnings of such and a *: ''{payouts-1,pictures-*}''.';
	END IF;
	INSERT INTO twtasks.type_policy AS p (pattern, options, changed_at, changed_by)
	VALUES (given.pattern, wanted, clock_timestamp(), twtasks_internal.actor())
	ON CONFLICT (pattern) DO UPDATE SET
		options = p.options || EXCLUDED.options,
		changed_at = EXCLUDED.changed_at,
		changed_by = EXCLUDED.changed_by;
END $$;

/*
 * twtasks_internal.check_options(options, known)
 *
 *		Raises an error unless all names are names of options.
 *
 * Errors
 *		22023			one of the options is not known, or NULL
 */
CREATE FUNCTION twtasks_internal.check_options(options text[], known text[])
RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	stray text;
BEGIN
	SELECT o INTO stray FROM unnest(options) o WHERE (o = ANY (known)) IS NOT TRUE LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'unrecognized option: %', coalesce('"' || twtasks_internal.shown(stray) || '"', 'NULL')
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Options are ' || array_to_string(known, ', ') || '.';
	END IF;
END $$;

/*
 * twtasks.unset_type_options(pattern, options)
 *
 *		Removes options of a pattern.  Less special patterns, or the configuration of
 *		the sidecar, decide on them again.
 *
 * Parameters
 *		pattern			as it was configured
 *		options			names of parameters of configure_type()
 *
 * Returns
 *		false if the pattern is not configured
 *
 * Errors
 *		22023			a name is not that of an option
 *
 * Writes		twtasks.type_policy, twtasks.policy_audit
 * Locks		row lock
 * Wakes		every sidecar, to read the configuration again
 * Example		SELECT twtasks.unset_type_options('EMAIL|*', 'timeout', 'stuck');
 */
CREATE FUNCTION twtasks.unset_type_options(pattern text, VARIADIC options text[])
RETURNS boolean
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	kept jsonb;
BEGIN
	PERFORM twtasks_internal.check_options(options, ARRAY(
		SELECT a.attname::text FROM pg_attribute a
		WHERE a.attrelid = 'twtasks.policy'::regclass AND NOT a.attisdropped ORDER BY a.attnum));
	SELECT p.options - unset_type_options.options INTO kept FROM twtasks.type_policy p
	WHERE p.pattern = unset_type_options.pattern FOR UPDATE;
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	IF kept = '{}' THEN
		DELETE FROM twtasks.type_policy p WHERE p.pattern = unset_type_options.pattern;
	ELSE
		UPDATE twtasks.type_policy p
		SET options = kept, changed_at = clock_timestamp(), changed_by = twtasks_internal.actor()
		WHERE p.pattern = unset_type_options.pattern;
	END IF;
	RETURN true;
END $$;

/*
 * twtasks.drop_type_policy(pattern)
 *
 *		Removes all options of a pattern.
 *
 * Returns
 *		false if the pattern is not configured
 *
 * Writes		twtasks.type_policy, twtasks.policy_audit
 * Locks		row lock
 * Wakes		every sidecar, to read the configuration again
 */
CREATE FUNCTION twtasks.drop_type_policy(pattern text)
RETURNS boolean
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	DELETE FROM twtasks.type_policy p WHERE p.pattern = drop_type_policy.pattern;
	RETURN FOUND;
END $$;
COMMENT ON FUNCTION twtasks_internal.check_pattern IS 'Raises an error unless the pattern is a type, or the beginning of types and a *.';
COMMENT ON FUNCTION twtasks_internal.check_duration IS 'Raises an error if a duration is out of range.';
COMMENT ON FUNCTION twtasks_internal.check_function(option text, function text) IS 'Raises an error unless the function can be the value of that option of configure_type(); NULL and ''none'' pass.';
COMMENT ON FUNCTION twtasks_internal.check_may_name IS 'Raises an error if the caller names a function and may not see all that tasks carry, because the function sees it.  NULL and ''none'' pass.';
COMMENT ON FUNCTION twtasks.configure_type IS 'Sets policies of a type, or of all types that begin so.  Every sidecar and every session follows them from the commit on.  A running task keeps the deadline and the stuck rule of its grab.';
COMMENT ON FUNCTION twtasks_internal.configure_type_as_owner IS 'Does the work of configure_type(), whose parameters are the columns of the row.';
COMMENT ON FUNCTION twtasks_internal.check_options IS 'Raises an error unless all names are names of options.';
COMMENT ON FUNCTION twtasks.unset_type_options IS 'Removes options of a pattern.  Less special patterns, or the configuration of the sidecar, decide on them again.';
COMMENT ON FUNCTION twtasks.drop_type_policy IS 'Removes all options of a pattern.';

-- sql/policy/policy_of.sql
/*
 * twtasks_internal.fits(pattern, type)
 *
 *		Returns how well the pattern matches that type.
 *
 * Returns
 *		NULL: not at all; else a number, which grows with the length of the
 *		beginning and is greatest for the type itself
 */
CREATE FUNCTION twtasks_internal.fits(pattern text, type text)
RETURNS integer
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_fits';

/*
 * twtasks.policy_of(type)
 *
 *		Returns the options of a type, merged from all patterns that match.
 *
 * Returns
 *		patterns		patterns that match, the most special first
 *		the others		as in configure_type(); NULL: the configuration of the sidecar
 *						decides
 *
 * Locks		none
 * Example		SELECT * FROM twtasks.policy_of('EMAIL|WELCOME');
 */
CREATE FUNCTION twtasks.policy_of(
	type text,
	OUT patterns text[],
	OUT bucket text,
	OUT priority smallint,
	OUT timeout interval,
	OUT queue_time interval,
	OUT expires_after interval,
	OUT stuck twtasks.stuck_rule,
	OUT stuck_function text,
	OUT when_done twtasks.done_rule,
	OUT nodes text[],
	OUT intercept text,
	OUT retry jsonb,
	OUT retry_function text,
	OUT reset_tries boolean,
	OUT aging interval,
	OUT on_end text,
	OUT takeover twtasks.takeover_rule)
RETURNS record
LANGUAGE sql STABLE STRICT PARALLEL SAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
	WITH fitting AS (
		SELECT p.pattern, p.options, twtasks_internal.fits(p.pattern, policy_of.type) AS fit FROM twtasks.type_policy p
		WHERE twtasks_internal.fits(p.pattern, policy_of.type) IS NOT NULL)
	SELECT ARRAY(SELECT f.pattern FROM fitting f ORDER BY f.fit DESC), o.*
	-- the last of several values for a name stays
	FROM jsonb_populate_record(NULL::twtasks.policy, (
			SELECT jsonb_object_agg(e.key, e.value ORDER BY f.fit)
			FROM fitting f CROSS JOIN LATERAL jsonb_each(f.options) e)) o
$$;

/*
 * twtasks_internal.queue_time(type)
 *
 *		Returns how long a task of that type may be SUBMITTED before it counts as
 *		stuck in the queue.
 */
CREATE FUNCTION twtasks_internal.queue_time(type text)
RETURNS interval
LANGUAGE c STABLE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_queue_time';

/*
 * twtasks_internal.may_still_run(type, deadline)
 *
 *		Whether a task of that type may still run although its node is gone: by the
 *		policy's takeover it may until its deadline.
 */
CREATE FUNCTION twtasks_internal.may_still_run(type text, deadline timestamptz)
RETURNS boolean
LANGUAGE c STABLE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_may_still_run';

/*
 * twtasks_internal.type_options(type)
 *
 *		Returns the part of policy_of() that sidecars need, from this session's cache.
 *
 * Returns
 *		timeout_ms, stuck	NULL: not set
 *		asks_stuck		whether there is a stuck_function
 *		nodes			patterns of the nodes that run the type; NULL: all nodes do
 *		aging_ms		0: tasks do not rise
 *		max_tries		in all; 0: a function decides; NULL: not set
 */
CREATE FUNCTION twtasks_internal.type_options(
	type text,
	OUT timeout_ms bigint,
	OUT stuck text,
	OUT asks_stuck boolean,
	OUT nodes text[],
	OUT aging_ms bigint,
	OUT max_tries integer)
RETURNS record
LANGUAGE c STABLE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_type_options';

/*
 * twtasks_internal.read_policies(node)
 *
 *		Returns all policies and buckets, as the sidecar of that name reads them.
 *
 * Returns
 *		kind			'policy' or 'bucket'
 *		name			a pattern that has a policy or is paused, or a bucket.  A
 *						policy merges all patterns that fit whatever this one fits
 *		timeout_ms, stuck, asks_stuck, aging_ms, max_tries
 *						as type_options() has them
 *		runs_here		whether the node starts such tasks: the policy lets it, and
 *						nothing is paused
 *		concurrency		as in configure_bucket()
 */
CREATE FUNCTION twtasks_internal.read_policies(node text)
RETURNS TABLE (kind text, name text, timeout_ms bigint, stuck text, asks_stuck boolean,
			   aging_ms bigint, max_tries integer, runs_here boolean, concurrency integer)
LANGUAGE sql STABLE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT 'policy', p.pattern, o.timeout_ms, o.stuck, o.asks_stuck, o.aging_ms, o.max_tries,
		   (o.nodes IS NULL OR EXISTS (SELECT FROM unnest(o.nodes) u WHERE twtasks_internal.fits(u, read_policies.node) IS NOT NULL))
		   AND NOT EXISTS (SELECT FROM twtasks.pause q WHERE q.kind = 'type' AND twtasks_internal.fits(q.name, p.pattern) IS NOT NULL),
		   NULL
	FROM (SELECT t.pattern FROM twtasks.type_policy t UNION SELECT q.name FROM twtasks.pause q WHERE q.kind = 'type') p
	CROSS JOIN LATERAL twtasks_internal.type_options(p.pattern) o
	UNION ALL
	SELECT 'bucket', b.name, NULL, NULL, NULL, NULL, NULL, NOT b.paused, b.concurrency
	FROM twtasks.buckets b
$$;
COMMENT ON FUNCTION twtasks_internal.fits IS 'Returns how well the pattern matches that type.';
COMMENT ON FUNCTION twtasks.policy_of IS 'Returns the options of a type, merged from all patterns that match.';
COMMENT ON FUNCTION twtasks_internal.queue_time IS 'Returns how long a task of that type may be SUBMITTED before it counts as stuck in the queue. / CREATE FUNCTION twtasks_internal.queue_time(type text)';
COMMENT ON FUNCTION twtasks_internal.may_still_run IS 'Whether a task of that type may still run although its node is gone: by the policy''s takeover it may until its deadline. / CREATE FUNCTION twtasks_internal.may_still_run(type text, deadline timestamptz)';
COMMENT ON FUNCTION twtasks_internal.type_options IS 'Returns the part of policy_of() that sidecars need, from this session''s cache.';
COMMENT ON FUNCTION twtasks_internal.read_policies IS 'Returns all policies and buckets, as the sidecar of that name reads them.';

-- sql/policy/limits.sql
/* A limit counts on each node for itself, or on all together. */
CREATE TYPE twtasks.limit_scope AS ENUM ('node', 'cluster');

/*
 * How many tasks may run at once, and how often one may start.
 * src/common/limit_pattern.h says which types a pattern covers.
 */
CREATE TABLE twtasks.limit_rule (
	pattern				text COLLATE "C" NOT NULL,		-- A type and all below it, the beginning of types with *, or a type with |* for each key
	scope				twtasks.limit_scope NOT NULL,	-- Whether the limit counts on each node for itself or in the whole cluster
	concurrency			integer,						-- Tasks that may run at once; NULL: no limit
	stretch				integer NOT NULL,				-- Extra slots for urgent tasks
	stretch_priority	smallint NOT NULL,				-- Tasks up to this priority are urgent
	rate				integer,						-- Tasks that may start per period; NULL: no limit
	per					interval,						-- Period of the rate
	burst				integer,						-- Tasks that may start at once after a quiet time
	changed_at			timestamptz NOT NULL,			-- Time of the last change
	changed_by			text NOT NULL,					-- Role that logged in and made the last change
	CONSTRAINT limit_rule_pkey PRIMARY KEY (pattern, scope)
);
COMMENT ON TABLE twtasks.limit_rule IS 'Limits of types, as configure_limit() set them';

CREATE TRIGGER config_changed
	AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON twtasks.limit_rule
	FOR EACH STATEMENT EXECUTE FUNCTION twtasks_internal.config_changed();

SELECT pg_catalog.pg_extension_config_dump('twtasks.limit_rule', '');

/*
 * twtasks.limit_name(pattern, type)
 *
 *		Returns the name under which a pattern counts a type: the pattern itself, or
 *		the type's key if the pattern counts each key for itself.
 *
 * Returns
 *		text; NULL: the pattern does not cover the type
 *
 * Errors
 *		22023			pattern is not valid
 *
 * Example		SELECT twtasks.limit_name('PAYOUT|*', 'PAYOUT|ACME|EUR');   -- PAYOUT|ACME
 */
CREATE FUNCTION twtasks.limit_name(pattern text, type text)
RETURNS text
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_limit_name';

/*
 * twtasks_internal.check_limit(...)
 *
 *		Raises an error unless the figures of a limit are valid.
 *
 * Parameters
 *		as configure_limit()
 *
 * Errors
 *		22023			a value is not valid, or values do not go together
 */
CREATE FUNCTION twtasks_internal.check_limit(
	concurrency integer, scope twtasks.limit_scope, stretch integer,
	stretch_priority integer, rate integer, per interval, burst integer)
RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	most CONSTANT integer := CASE scope WHEN 'cluster' THEN 10000 ELSE 1000000 END;
BEGIN
	IF concurrency IS NULL AND rate IS NULL THEN
		RAISE EXCEPTION 'neither concurrency nor rate is given'
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Say how many may run at once, or how many may start per period; drop_limit() takes a limit away.';
	END IF;
	IF concurrency NOT BETWEEN 0 AND most THEN
		RAISE EXCEPTION 'concurrency must be between 0 and %, not %', most, concurrency
			USING ERRCODE = 'invalid_parameter_value',
				HINT = '0 lets no task start.';
	END IF;
	IF (stretch IS NULL) <> (stretch_priority IS NULL) OR stretch IS NOT NULL AND concurrency IS NULL THEN
		RAISE EXCEPTION 'stretch needs concurrency and stretch_priority'
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Such as concurrency => 10, stretch => 2, stretch_priority => 1: two more for tasks of priority 0 and 1.';
	END IF;
	IF stretch NOT BETWEEN 0 AND most THEN
		RAISE EXCEPTION 'stretch must be between 0 and %, not %', most, stretch
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	IF stretch_priority NOT BETWEEN 0 AND 9 THEN
		RAISE EXCEPTION 'stretch_priority must be between 0 and 9, not %', stretch_priority
			USING ERRCODE = 'invalid_parameter_value',
				HINT = '0 is the most urgent.';
	END IF;
	IF rate NOT BETWEEN 1 AND 1000000 THEN
		RAISE EXCEPTION 'rate must be between 1 and 1000000, not %', rate
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Use concurrency => 0 to let no task start.';
	END IF;
	IF rate IS NULL AND burst IS NOT NULL THEN
		RAISE EXCEPTION 'burst needs rate'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	IF burst NOT BETWEEN 1 AND 1000000 THEN
		RAISE EXCEPTION 'burst must be between 1 and 1000000, not %', burst
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	PERFORM twtasks_internal.check_duration('per', per, '1 ms'::interval, '366 d'::interval);
END $$;

/*
 * twtasks.configure_limit(pattern, ...)
 *
 *		Sets how many tasks may run at once, and how often one may start.  A task
 *		starts when all limits that cover its type have room for it.  Every sidecar
 *		obeys the limit from the commit on; running tasks go on.
 *
 * Parameters
 *		pattern			types that are counted together:
 *						EXECUTE_PAYOUT		that type and all types below it, which
 *											begin with EXECUTE_PAYOUT|
 *						EXECUTE_PAYOUT|*	each key for itself: EXECUTE_PAYOUT|ACME
 *											and all below it
 *						EXECUTE_PAYOUT|ACME	one key, in place of the limit for each
 *						EXECUTE_*			all types that begin so
 *						*					all types
 *		concurrency		tasks that may run at once; 0: no task starts
 *		scope			node: counted on each node for itself; cluster: on all
 *						together.  A pattern may have a limit of each
 *		stretch			extra slots for urgent tasks
 *		stretch_priority	tasks of this priority or a more urgent one are urgent
 *		rate			tasks that may start in each period
 *		per				the period, 1ms to 366d
 *		burst			tasks that may start at once after a quiet time; NULL: rate.
 *						No stretch of time has more starts than one burst and the
 *						rate's share of that time
 *
 *		The call defines the whole limit: what it leaves out is not limited.
 *
 * Errors
 *		22004			pattern, scope or per is NULL
 *		22023			pattern or another value is not valid
 *
 * Writes		twtasks.limit_rule, twtasks.slot_use, twtasks.policy_audit
 * Locks		row lock.  A cluster-wide concurrency reads the whole live table, to
 *				count the tasks that run already
 * Wakes		every sidecar, to read the configuration again
 * Example		SELECT twtasks.configure_limit('EXECUTE_PAYOUT|*', 5, scope => 'cluster', rate => 100, per => '1 minute');
 */
CREATE FUNCTION twtasks.configure_limit(
	pattern text,
	concurrency integer DEFAULT NULL,
	scope twtasks.limit_scope DEFAULT 'node',
	stretch integer DEFAULT NULL,
	stretch_priority integer DEFAULT NULL,
	rate integer DEFAULT NULL,
	per interval DEFAULT '1 second',
	burst integer DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
	PERFORM twtasks_internal.check_pattern(configure_limit.pattern);
	IF configure_limit.scope IS NULL OR configure_limit.per IS NULL THEN
		RAISE EXCEPTION '% must not be null', CASE WHEN configure_limit.scope IS NULL THEN 'scope' ELSE 'per' END
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	PERFORM twtasks_internal.check_limit(concurrency, configure_limit.scope, stretch, stretch_priority,
								rate, per, burst);
	INSERT INTO twtasks.limit_rule
		(pattern, scope, concurrency, stretch, stretch_priority, rate, per, burst,
		 changed_at, changed_by)
	VALUES (configure_limit.pattern, configure_limit.scope, concurrency, coalesce(stretch, 0),
			coalesce(stretch_priority, 0), rate, CASE WHEN rate IS NOT NULL THEN per END,
			CASE WHEN rate IS NOT NULL THEN coalesce(burst, rate) END,
			clock_timestamp(), twtasks_internal.actor())
	ON CONFLICT (pattern, scope) DO UPDATE SET
		concurrency = EXCLUDED.concurrency, stretch = EXCLUDED.stretch,
		stretch_priority = EXCLUDED.stretch_priority, rate = EXCLUDED.rate,
		per = EXCLUDED.per, burst = EXCLUDED.burst,
		changed_at = EXCLUDED.changed_at, changed_by = EXCLUDED.changed_by;
	IF configure_limit.scope = 'cluster' AND concurrency IS NOT NULL THEN
		PERFORM twtasks_internal.count_slots(configure_limit.pattern);
	END IF;
END $$;

/*
 * twtasks.drop_limit(pattern, scope)
 *
 *		Removes a limit.
 *
 * Parameters
 *		scope			NULL: the limits of both scopes
 *
 * Returns
 *		whether there was a limit
 *
 * Writes		twtasks.limit_rule, twtasks.policy_audit
 * Locks		row lock
 * Wakes		every sidecar, to read the configuration again
 */
CREATE FUNCTION twtasks.drop_limit(pattern text, scope twtasks.limit_scope DEFAULT NULL)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	DELETE FROM twtasks.limit_rule r
	WHERE r.pattern = drop_limit.pattern
	  AND (drop_limit.scope IS NULL OR r.scope = drop_limit.scope);
	RETURN FOUND;
END $$;

/*
 * twtasks_internal.read_limits()
 *
 *		Returns all limits, as a sidecar reads them.
 *
 * Returns
 *		the figures of configure_limit(), with the period in microseconds; -1 or 0:
 *		not limited
 *
 * Locks		none
 */
CREATE FUNCTION twtasks_internal.read_limits()
RETURNS TABLE (pattern text, is_shared boolean, concurrency integer, stretch integer,
			   stretch_priority integer, rate integer, per_us bigint, burst integer)
LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT r.pattern, r.scope = 'cluster', coalesce(r.concurrency, -1), r.stretch,
		   r.stretch_priority, coalesce(r.rate, 0),
		   coalesce(extract(epoch FROM r.per) * 1000000, 0)::bigint, coalesce(r.burst, 0)
	FROM twtasks.limit_rule r
$$;
COMMENT ON COLUMN twtasks.limit_rule.pattern IS 'A type and all below it, the beginning of types with *, or a type with |* for each key';
COMMENT ON COLUMN twtasks.limit_rule.scope IS 'Whether the limit counts on each node for itself or in the whole cluster';
COMMENT ON COLUMN twtasks.limit_rule.concurrency IS 'Tasks that may run at once; NULL: no limit';
COMMENT ON COLUMN twtasks.limit_rule.stretch IS 'Extra slots for urgent tasks';
COMMENT ON COLUMN twtasks.limit_rule.stretch_priority IS 'Tasks up to this priority are urgent';
COMMENT ON COLUMN twtasks.limit_rule.rate IS 'Tasks that may start per period; NULL: no limit';
COMMENT ON COLUMN twtasks.limit_rule.per IS 'Period of the rate';
COMMENT ON COLUMN twtasks.limit_rule.burst IS 'Tasks that may start at once after a quiet time';
COMMENT ON COLUMN twtasks.limit_rule.changed_at IS 'Time of the last change';
COMMENT ON COLUMN twtasks.limit_rule.changed_by IS 'Role that logged in and made the last change';
COMMENT ON FUNCTION twtasks.limit_name IS 'Returns the name under which a pattern counts a type: the pattern itself, or the type''s key if the pattern counts each key for itself.';
COMMENT ON FUNCTION twtasks_internal.check_limit IS 'Raises an error unless the figures of a limit are valid.';
COMMENT ON FUNCTION twtasks.configure_limit IS 'Sets how many tasks may run at once, and how often one may start.  A task starts when all limits that cover its type have room for it.  Every sidecar obeys the limit from the commit on; running tasks go on.';
COMMENT ON FUNCTION twtasks.drop_limit IS 'Removes a limit.';
COMMENT ON FUNCTION twtasks_internal.read_limits IS 'Returns all limits, as a sidecar reads them.';

-- sql/add/allowed_types.sql
/*
 * Roles that may add tasks of certain types; src/add/allowed.h has the rule.
 * Roles stand here by name, since a dump may be restored where their oids
 * differ.  A dropped role lets nobody in.
 */
CREATE TABLE twtasks.allowed_type (
	pattern		text COLLATE "C" NOT NULL,	-- A type, or the beginning of types and a *; the most special match counts
	role		text COLLATE "C" NOT NULL,	-- A role that may add such tasks, as may its members
	changed_at	timestamptz NOT NULL,		-- Time of allow_type()
	changed_by	text NOT NULL,				-- The role that logged in and called it
	CONSTRAINT allowed_type_pkey PRIMARY KEY (pattern, role)
);
COMMENT ON TABLE twtasks.allowed_type IS 'Roles that may add tasks of certain types, as set by allow_type(); any producer may add tasks of other types';
SELECT pg_catalog.pg_extension_config_dump('twtasks.allowed_type', '');

/* Always: rows may also come by logical replication. */
CREATE TRIGGER table_changed
	AFTER INSERT OR UPDATE OR DELETE ON twtasks.allowed_type
	FOR EACH ROW EXECUTE FUNCTION twtasks_internal.table_changed();
ALTER TABLE twtasks.allowed_type ENABLE ALWAYS TRIGGER table_changed;

/*
 * twtasks.allow_type(pattern, role)
 *
 *		Lets a role and its members add tasks of the types that match.  As soon
 *		as a pattern has one role, only its roles and superusers may add such
 *		tasks.  A schedule adds tasks as the role that made it.
 *
 *		Only superusers and members of twtasks_owner may call this function,
 *		unless they grant it to others.
 *
 * Parameters
 *		pattern		a type, or the beginning of types and a *; of several that match
 *					a type only the most special one counts
 *		role		the role that calls add_task(), or one of which it is a member
 *
 * Returns
 *		false: it was allowed before
 *
 * Errors
 *		22004			pattern or role is NULL
 *		22023			pattern is not valid
 *		42704			there is no such role
 *
 * Writes		twtasks.allowed_type, twtasks.policy_audit
 * Locks		none
 * Example		SELECT twtasks.allow_type('PAYOUT|*', 'payments');
 */
CREATE FUNCTION twtasks.allow_type(pattern text, role name)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM twtasks_internal.check_pattern(pattern);
	IF role IS NULL THEN
		RAISE EXCEPTION 'role must not be null' USING ERRCODE = 'null_value_not_allowed';
	ELSIF to_regrole(quote_ident(role)) IS NULL THEN
		RAISE EXCEPTION 'role "%" does not exist', role USING ERRCODE = 'undefined_object';
	END IF;
	INSERT INTO twtasks.allowed_type (pattern, role, changed_at, changed_by)
	VALUES (allow_type.pattern, allow_type.role, clock_timestamp(), twtasks_internal.actor())
	ON CONFLICT ON CONSTRAINT allowed_type_pkey DO NOTHING;
	RETURN FOUND;
END $$;

/*
 * twtasks.disallow_type(pattern, role)
 *
 *		Takes allow_type() back.  A pattern goes with its last role.  Then the
 *		next pattern that matches decides on its types; without one, any
 *		producer may add them.  To let nobody add them, allow them to a role
 *		without members first.
 *
 * Returns
 *		false: it was not allowed
 *
 * Writes		twtasks.allowed_type, twtasks.policy_audit
 * Locks		none
 */
CREATE FUNCTION twtasks.disallow_type(pattern text, role name)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	DELETE FROM twtasks.allowed_type a
	WHERE a.pattern = disallow_type.pattern AND a.role = disallow_type.role;
	RETURN FOUND;
END $$;

/*
 * twtasks_internal.check_allowed(type)
 *
 *		Raises an error unless the caller may add tasks of that type.
 *
 * Errors
 *		42501			the caller is no member of a role that may
 */
CREATE FUNCTION twtasks_internal.check_allowed(type text)
RETURNS void
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_check_allowed';

CREATE VIEW twtasks.allowed_types AS
	SELECT a.pattern, a.role, a.changed_at, a.changed_by FROM twtasks.allowed_type a;
COMMENT ON VIEW twtasks.allowed_types IS 'Roles that may add tasks of certain types; see allow_type()';
COMMENT ON COLUMN twtasks.allowed_type.pattern IS 'A type, or the beginning of types and a *; the most special match counts';
COMMENT ON COLUMN twtasks.allowed_type.role IS 'A role that may add such tasks, as may its members';
COMMENT ON COLUMN twtasks.allowed_type.changed_at IS 'Time of allow_type()';
COMMENT ON COLUMN twtasks.allowed_type.changed_by IS 'The role that logged in and called it';
COMMENT ON FUNCTION twtasks.allow_type IS 'Lets a role and its members add tasks of the types that match.  As soon as a pattern has one role, only its roles and superusers may add such tasks.  A schedule adds tasks as the role that made it.';
COMMENT ON FUNCTION twtasks.disallow_type IS 'Takes allow_type() back.  A pattern goes with its last role.  Then the next pattern that matches decides on its types; without one, any producer may add them.  To let nobody add them, allow them to a role without members first.';
COMMENT ON FUNCTION twtasks_internal.check_allowed IS 'Raises an error unless the caller may add tasks of that type.';

-- sql/policy/policy_audit.sql
CREATE TABLE twtasks.policy_audit (
	id				bigint GENERATED ALWAYS AS IDENTITY,	-- Ascends with the changes of one object
	at				timestamptz NOT NULL,					-- Time of the change
	actor			text NOT NULL,							-- The role that logged in
	kind			text NOT NULL,							-- type, bucket, limit, pause, allowed, listener
	name			text COLLATE "C" NOT NULL,				-- The pattern, the bucket, or the listener with topic and partition
	before			jsonb,									-- Settings before; NULL: it did not exist
	after			jsonb,									-- Settings now; NULL: it was removed
	CONSTRAINT policy_audit_pkey PRIMARY KEY (id)
);
CREATE INDEX policy_audit_name ON twtasks.policy_audit (name);
COMMENT ON TABLE twtasks.policy_audit IS 'Changes of policies, buckets, limits, pauses, allowed types and offsets of listeners';

SELECT pg_catalog.pg_extension_config_dump('twtasks.policy_audit', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.policy_audit_id_seq', '');

/*
 * twtasks_internal.audit_policy()
 *
 *		Writes a change of a row of the configuration to the audit, unless only its
 *		time and its author change.  Row triggers call it with the kind as argument.
 *
 *		A restore adds rows too, together with their audit.  So only new rows that
 *		our functions add, as the owner, are written.
 *
 * Errors
 *		42501			within a security-restricted operation, as actor()
 *
 * Writes		twtasks.policy_audit
 */
CREATE FUNCTION twtasks_internal.audit_policy()
RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET intervalstyle = 'postgres'
AS $$
DECLARE
	changed CONSTANT jsonb := coalesce(to_jsonb(NEW), to_jsonb(OLD));
	left_out CONSTANT text[] := '{pattern,name,changed_at,changed_by,since,paused_by}';
	before CONSTANT jsonb := jsonb_strip_nulls(coalesce(to_jsonb(OLD) -> 'options', to_jsonb(OLD) - left_out));
	after CONSTANT jsonb := jsonb_strip_nulls(coalesce(to_jsonb(NEW) -> 'options', to_jsonb(NEW) - left_out));
BEGIN
	-- a restore may become the owner by SET SESSION AUTHORIZATION
	IF before IS DISTINCT FROM after
		AND (TG_OP <> 'INSERT' OR current_user = 'twtasks_owner' AND session_user <> 'twtasks_owner') THEN
		INSERT INTO twtasks.policy_audit (at, actor, kind, name, before, after)
		VALUES (clock_timestamp(), twtasks_internal.actor(), TG_ARGV[0],
				coalesce(changed ->> 'pattern', changed ->> 'name'), before, after);
	END IF;
	RETURN NULL;
END $$;

CREATE TRIGGER audit_policy
	AFTER INSERT OR UPDATE OR DELETE ON twtasks.type_policy
	FOR EACH ROW EXECUTE FUNCTION twtasks_internal.audit_policy('type');
CREATE TRIGGER audit_policy
	AFTER INSERT OR UPDATE OR DELETE ON twtasks.bucket_policy
	FOR EACH ROW EXECUTE FUNCTION twtasks_internal.audit_policy('bucket');
CREATE TRIGGER audit_policy
	AFTER INSERT OR UPDATE OR DELETE ON twtasks.limit_rule
	FOR EACH ROW EXECUTE FUNCTION twtasks_internal.audit_policy('limit');
CREATE TRIGGER audit_policy
	AFTER INSERT OR UPDATE OR DELETE ON twtasks.pause
	FOR EACH ROW EXECUTE FUNCTION twtasks_internal.audit_policy('pause');
CREATE TRIGGER audit_policy
	AFTER INSERT OR UPDATE OR DELETE ON twtasks.allowed_type
	FOR EACH ROW EXECUTE FUNCTION twtasks_internal.audit_policy('allowed');
COMMENT ON COLUMN twtasks.policy_audit.id IS 'Ascends with the changes of one object';
COMMENT ON COLUMN twtasks.policy_audit.at IS 'Time of the change';
COMMENT ON COLUMN twtasks.policy_audit.actor IS 'The role that logged in';
COMMENT ON COLUMN twtasks.policy_audit.kind IS 'type, bucket, limit, pause, allowed, listener';
COMMENT ON COLUMN twtasks.policy_audit.name IS 'The pattern, the bucket, or the listener with topic and partition';
COMMENT ON COLUMN twtasks.policy_audit.before IS 'Settings before; NULL: it did not exist';
COMMENT ON COLUMN twtasks.policy_audit.after IS 'Settings now; NULL: it was removed';
COMMENT ON FUNCTION twtasks_internal.audit_policy IS 'Writes a change of a row of the configuration to the audit, unless only its time and its author change.  Row triggers call it with the kind as argument.';

-- sql/run/slots.sql
/*
 * Grabs that hold slots of cluster-wide limits.
 *
 * A slot is a task that is PROCESSING with the version that its grab gave it,
 * under an incarnation that has not ended.  A grab drops all other entries
 * when it needs the room.  So nobody gives a slot back: it ends together with
 * its grab, by finish, by the stuck rule or by a crash.
 *
 * A grab adds its tasks in its own transaction.  It locks the row without
 * waiting, and reads in one snapshot the row and the tasks that the row names.
 *
 * A name has two rows.  The one with epoch 0 stands for the name and makes sure
 * that there is only one other.  We find the other one by the highest epoch,
 * which every change raises.  So a change costs the same however many versions
 * of the row an old snapshot keeps.
 */
CREATE TABLE twtasks.slot_use (
	name			text COLLATE "C" NOT NULL,		-- Name of the limit: a pattern, or one key of a pattern
	epoch			bigint NOT NULL,				-- 0: stands for the name; otherwise raised by every change
	used_at			timestamptz NOT NULL,			-- Time of the last change, up to which tokens were counted
	ids				uuid[] NOT NULL DEFAULT '{}',	-- Tasks that were grabbed
	versions		bigint[] NOT NULL DEFAULT '{}',	-- Version that the grab gave each task
	incarnations	bigint[] NOT NULL DEFAULT '{}',	-- Incarnation that grabbed each task
	waiting			bigint[] NOT NULL DEFAULT '{}',	-- Incarnations that were refused, in this order; told when a slot is free
	tokens			double precision,				-- Starts that the rate had left at that time; NULL: all
	CONSTRAINT slot_use_pkey PRIMARY KEY (name, epoch)
) WITH (toast_tuple_target = 8160, autovacuum_vacuum_scale_factor = 0.02,
		autovacuum_vacuum_threshold = 1000);
COMMENT ON TABLE twtasks.slot_use IS 'Grabs that hold, or held, slots of cluster-wide limits';

/*
 * twtasks_internal.live_slots(ids, versions, incarnations)
 *
 *		Counts the grabs that still hold a slot: PROCESSING with that version,
 *		under an incarnation that has not ended.
 *
 * Returns
 *		bigint
 *
 * Locks		none
 */
CREATE FUNCTION twtasks_internal.live_slots(ids uuid[], versions bigint[], incarnations bigint[])
RETURNS bigint
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
	SELECT count(DISTINCT t.id)
	FROM unnest(ids, versions, incarnations) u(id, version, incarnation)
	JOIN twtasks.task t ON t.id = u.id
	JOIN twtasks.node n ON n.incarnation = u.incarnation
	WHERE t.version = u.version AND t.status = 'PROCESSING'
	  AND t.incarnation = u.incarnation AND n.ended IS NULL
$$;

/*
 * twtasks_internal.make_slots(name)
 *
 *		Makes the rows of a limit's name, unless they exist.
 *
 * Writes		twtasks.slot_use
 * Locks		waits for a session that makes or drops them
 */
CREATE FUNCTION twtasks_internal.make_slots(name text)
RETURNS void
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	WITH made AS (
		INSERT INTO twtasks.slot_use (name, epoch, used_at)
		VALUES (make_slots.name, 0, twtasks.clock())
		ON CONFLICT DO NOTHING RETURNING slot_use.name)
	INSERT INTO twtasks.slot_use (name, epoch, used_at)
	SELECT m.name, 1, twtasks.clock() FROM made m
$$;

/*
 * twtasks_internal.count_slots(pattern)
 *
 *		Counts the tasks that run already under a new limit.
 *
 * Writes		twtasks.slot_use
 * Locks		rows.  A grab that has not committed yet is not counted, nor later
 */
CREATE FUNCTION twtasks_internal.count_slots(pattern text)
RETURNS void
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	limited text;
BEGIN
	FOR limited IN
		SELECT DISTINCT twtasks.limit_name(pattern, t.type) AS name
		FROM twtasks.task t
		WHERE t.status = 'PROCESSING' AND t.incarnation IS NOT NULL
		  AND twtasks.limit_name(pattern, t.type) IS NOT NULL
		ORDER BY name
	LOOP
		PERFORM twtasks_internal.make_slots(limited);
		PERFORM FROM twtasks.slot_use u WHERE u.name = limited AND u.epoch > 0 FOR UPDATE;
		UPDATE twtasks.slot_use u
		-- used_at stays: up to then the starts of a rate were counted
		SET epoch = u.epoch + 1,
			ids = r.ids, versions = r.versions, incarnations = r.incarnations
		FROM (SELECT array_agg(t.id ORDER BY t.id) AS ids,
					 array_agg(t.version ORDER BY t.id) AS versions,
					 array_agg(t.incarnation ORDER BY t.id) AS incarnations
			  FROM twtasks.task t
			  WHERE t.status = 'PROCESSING' AND t.incarnation IS NOT NULL
				AND twtasks.limit_name(pattern, t.type) = limited) r
		WHERE u.name = limited AND u.epoch > 0 AND r.ids IS NOT NULL;
	END LOOP;
END $$;

/*
 * twtasks_internal.offer_slots(names, freed, wanted, incarnation)
 *
 *		Offers freed slots of cluster-wide limits to the nodes that were refused,
 *		in the order of their refusals.  Call it when tasks under such a limit
 *		have ended, or were not grabbed after all.  An offer is a hint: the node
 *		that is told asks for the slot like any other.
 *
 * Parameters
 *		names			names of limits, as grab_tasks() returns them
 *		freed			number of slots, for each name
 *		wanted			whether the caller itself waits for a slot, for each name
 *		incarnation		the caller; NULL: a caller that cannot call again
 *
 * Returns
 *		name, turns		how many of the slots are for the caller, for each name; NULL:
 *						another session uses the limit at this moment, call again
 *
 * Errors
 *		22023			the arrays differ in length
 *
 * Writes		twtasks.slot_use.  A crash that undoes it costs time and no slot, so a
 *				caller with nothing else to commit need not wait for the disk
 * Locks		rows, waiting for none
 * Wakes		the nodes whose turn it is: NOTIFY twtasks_slots, with the incarnation,
 *				the number of slots and the name
 */
CREATE FUNCTION twtasks_internal.offer_slots(
	names text[], freed integer[], wanted boolean[], incarnation bigint,
	OUT name text, OUT turns integer)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER ROWS 10
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
BEGIN
	IF cardinality(names) <> cardinality(freed) OR cardinality(names) <> cardinality(wanted) THEN
		RAISE EXCEPTION 'arrays must have one length'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	FOR i IN 1 .. cardinality(names) LOOP
		name := names[i];
		turns := twtasks_internal.offer_slot(names[i], freed[i], wanted[i], incarnation);
		RETURN NEXT;
	END LOOP;
END $$;

/*
 * twtasks_internal.offer_slot(name, freed, wanted, incarnation)
 *
 *		offer_slots() for one limit.
 *
 * Returns
 *		turns
 */
CREATE FUNCTION twtasks_internal.offer_slot(name text, freed integer, wanted boolean, incarnation bigint)
RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
	held twtasks.slot_use;
	queue bigint[];
	told integer;
	share integer;
	own integer := 0;
	is_busy boolean;
BEGIN
	SELECT u.* INTO held FROM twtasks.slot_use u
	WHERE u.name = offer_slot.name AND u.epoch > 0
	ORDER BY u.epoch DESC LIMIT 1;
	IF held.waiting <@ ARRAY[incarnation] IS NOT FALSE THEN
		RETURN freed;
	END IF;
	PERFORM FROM twtasks.slot_use u WHERE u.name = held.name AND u.epoch = held.epoch
	FOR NO KEY UPDATE SKIP LOCKED;
	is_busy := NOT FOUND;
	IF is_busy AND incarnation IS NOT NULL THEN
		RETURN NULL;
	END IF;

	-- A caller that waits stands where it was refused, or at the end.  A caller
	-- that does not may have a refusal on its way to it, and keeps its place.
	queue := ARRAY(SELECT w.node FROM unnest(held.waiting) WITH ORDINALITY w(node, place)
				   JOIN twtasks.node n ON n.incarnation = w.node
				   WHERE n.ended IS NULL AND (wanted OR w.node IS DISTINCT FROM incarnation)
				   ORDER BY w.place);
	IF wanted AND incarnation <> ALL (queue) THEN
		queue := queue || incarnation;
	END IF;
	told := least(freed, cardinality(queue));
	IF told = 0 THEN
		own := freed;
	END IF;
	FOR i IN 1 .. told LOOP
		share := (freed + cardinality(queue) - i) / cardinality(queue);
		IF queue[i] = incarnation THEN
			own := share;
		ELSE
			PERFORM pg_notify('twtasks_slots', queue[i] || ' ' || share || ' ' || name);
		END IF;
	END LOOP;
	-- The nodes told stay in a busy row, and are told once more.
	IF is_busy THEN
		RETURN own;
	END IF;
	UPDATE twtasks.slot_use u
	SET epoch = u.epoch + 1,
		waiting = CASE WHEN NOT wanted AND incarnation = ANY (held.waiting)
				  THEN incarnation || queue[told + 1 :] ELSE queue[told + 1 :] END
	WHERE u.name = held.name AND u.epoch = held.epoch;
	RETURN own;
END $$;

/*
 * twtasks_internal.offer_types(types)
 *
 *		offer_slots() for tasks of these types that their node did not end.  The
 *		rows stay locked to the end of the transaction, and grabs find them busy,
 *		so call it last.
 *
 * Writes		twtasks.slot_use
 * Locks		rows, waiting for none
 * Wakes		as offer_slots()
 */
CREATE FUNCTION twtasks_internal.offer_types(types text[])
RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT twtasks_internal.offer_slot(f.name, f.freed, false, NULL::bigint)
	FROM (SELECT l.name, count(*)::integer AS freed
		  FROM unnest(types) t(type)
		  CROSS JOIN LATERAL (SELECT DISTINCT twtasks.limit_name(r.pattern, t.type) AS name
							  FROM twtasks.limit_rule r
							  WHERE r.scope = 'cluster' AND r.concurrency IS NOT NULL) l
		  WHERE l.name IS NOT NULL
		  GROUP BY l.name ORDER BY l.name) f
$$;

/*
 * twtasks_internal.clean_slots(unused)
 *
 *		Deletes the rows of cluster-wide limits, mostly of single keys, that were
 *		not used for a while or are not configured any more.
 *
 * Parameters
 *		unused			time without use; a limit with a rate also stays until its
 *						whole burst is allowed again
 *
 * Returns
 *		number of limits deleted
 *
 * Writes		twtasks.slot_use
 * Locks		rows, waiting for none
 */
CREATE FUNCTION twtasks_internal.clean_slots(unused interval DEFAULT '1 hour')
RETURNS bigint
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	cleaned bigint;
BEGIN
	-- Nobody makes a name while its rows go away.
	IF NOT twtasks_internal.try_lock(twtasks_internal.slots_lock()) THEN
		RETURN 0;
	END IF;
	-- Lock a row only if it has not changed since it was found: a grab may hold
	-- slots that this snapshot does not show.
	WITH idle AS MATERIALIZED (
		SELECT u.name, u.epoch
		FROM twtasks.slot_use u
		LEFT JOIN LATERAL (
			SELECT max(coalesce(r.per * (r.burst::double precision / r.rate), '0')) AS rest, count(*) AS rules
			FROM twtasks.limit_rule r
			WHERE r.scope = 'cluster' AND twtasks.limit_name(r.pattern, u.name) = u.name) r ON true
		WHERE u.epoch > 0
		  AND (r.rules = 0
			   OR u.used_at < twtasks.clock() - greatest(unused, r.rest)
			   AND twtasks_internal.live_slots(u.ids, u.versions, u.incarnations) = 0)),
	unchanged AS (
		SELECT u.name, u.epoch
		FROM twtasks.slot_use u JOIN idle i USING (name, epoch)
		FOR UPDATE OF u SKIP LOCKED),
	gone AS (
		DELETE FROM twtasks.slot_use u USING unchanged i
		WHERE u.name = i.name AND u.epoch = i.epoch
		RETURNING u.name),
	forgotten AS (
		DELETE FROM twtasks.slot_use u USING gone g
		WHERE u.name = g.name AND u.epoch = 0
		RETURNING 1)
	SELECT count(*) INTO cleaned FROM forgotten;
	RETURN cleaned;
END $$;

CREATE VIEW twtasks.limits AS
	SELECT r.pattern, r.scope, r.concurrency, r.stretch,
		   CASE WHEN r.stretch OPERATOR(pg_catalog.>) 0 THEN r.stretch_priority END AS stretch_priority,
		   r.rate, r.per, r.burst, u.name, u.used, u.waiting, r.changed_at, r.changed_by
	FROM twtasks.limit_rule r
	LEFT JOIN LATERAL (
		SELECT s.name, pg_catalog.cardinality(s.waiting) AS waiting,
			   (SELECT count(DISTINCT t.id)
				FROM ROWS FROM (pg_catalog.unnest(s.ids), pg_catalog.unnest(s.versions),
								pg_catalog.unnest(s.incarnations)) h(id, version, incarnation)
				JOIN twtasks.task t ON t.id OPERATOR(pg_catalog.=) h.id
				JOIN twtasks.node n ON n.incarnation OPERATOR(pg_catalog.=) h.incarnation
				WHERE t.version OPERATOR(pg_catalog.=) h.version
				  AND t.status OPERATOR(pg_catalog.=) 'PROCESSING'
				  AND t.incarnation OPERATOR(pg_catalog.=) h.incarnation
				  AND n.ended IS NULL) AS used
		FROM twtasks.slot_use s
		WHERE r.scope OPERATOR(pg_catalog.=) 'cluster' AND s.epoch OPERATOR(pg_catalog.>) 0
		  AND twtasks.limit_name(r.pattern, s.name) OPERATOR(pg_catalog.=) s.name
		  AND (pg_catalog.right(r.pattern, 2) OPERATOR(pg_catalog.<>) '|*'
			   OR NOT EXISTS (SELECT FROM twtasks.limit_rule o
							  WHERE o.pattern OPERATOR(pg_catalog.=) s.name
								AND o.scope OPERATOR(pg_catalog.=) r.scope))) u ON true;
COMMENT ON VIEW twtasks.limits IS 'Limits of types, one row for each name that they count in the whole cluster; the counts of node limits are not known here';
COMMENT ON COLUMN twtasks.slot_use.name IS 'Name of the limit: a pattern, or one key of a pattern';
COMMENT ON COLUMN twtasks.slot_use.epoch IS '0: stands for the name; otherwise raised by every change';
COMMENT ON COLUMN twtasks.slot_use.used_at IS 'Time of the last change, up to which tokens were counted';
COMMENT ON COLUMN twtasks.slot_use.ids IS 'Tasks that were grabbed';
COMMENT ON COLUMN twtasks.slot_use.versions IS 'Version that the grab gave each task';
COMMENT ON COLUMN twtasks.slot_use.incarnations IS 'Incarnation that grabbed each task';
COMMENT ON COLUMN twtasks.slot_use.waiting IS 'Incarnations that were refused, in this order; told when a slot is free';
COMMENT ON COLUMN twtasks.slot_use.tokens IS 'Starts that the rate had left at that time; NULL: all';
COMMENT ON FUNCTION twtasks_internal.live_slots IS 'Counts the grabs that still hold a slot: PROCESSING with that version, under an incarnation that has not ended.';
COMMENT ON FUNCTION twtasks_internal.make_slots IS 'Makes the rows of a limit''s name, unless they exist.';
COMMENT ON FUNCTION twtasks_internal.count_slots IS 'Counts the tasks that run already under a new limit.';
COMMENT ON FUNCTION twtasks_internal.offer_slots IS 'Offers freed slots of cluster-wide limits to the nodes that were refused, in the order of their refusals.  Call it when tasks under such a limit have ended, or were not grabbed after all.  An offer is a hint: the node that is told asks for the slot like any other.';
COMMENT ON FUNCTION twtasks_internal.offer_slot IS 'offer_slots() for one limit.';
COMMENT ON FUNCTION twtasks_internal.offer_types IS 'offer_slots() for tasks of these types that their node did not end.  The rows stay locked to the end of the transaction, and grabs find them busy, so call it last.';
COMMENT ON FUNCTION twtasks_internal.clean_slots IS 'Deletes the rows of cluster-wide limits, mostly of single keys, that were not used for a while or are not configured any more.';

-- sql/schedule/cron.sql
/*
 * twtasks.cron_next(expr, after, tz)
 *
 *		The next time at which a cron expression is due.
 *
 *		A clock that is put forward skips a time: an expression that names an
 *		hour in the gap is due after the gap.  A clock that is put back shows a
 *		time twice: an expression that names hours is due the first time.  An
 *		expression for every hour (*, 0-23) follows the clock each time.
 *
 * Parameters
 *		expr			minute, hour, day of month, month, day of week; each a list
 *						of values, ranges (1-5), * and steps (0-30/10); names
 *						such as jan and mon; or @yearly, @monthly, @weekly, @daily,
 *						@hourly.  If neither day field begins with *, one of
 *						the two is enough
 *		after			the result is later than this
 *		tz				a name of pg_timezone_names
 *
 * Returns
 *		timestamptz; NULL: never (30 February)
 *
 * Errors
 *		22004			a parameter is NULL
 *		22023			expr, after or tz is not valid; the message names the field
 *
 * Locks		none
 * Example		SELECT twtasks.cron_next('30 2 * * mon-fri', now(), 'Europe/Berlin');
 */
CREATE FUNCTION twtasks.cron_next(
	expr text,
	after timestamptz DEFAULT pg_catalog.clock_timestamp(),
	tz text DEFAULT 'UTC')
RETURNS timestamptz
LANGUAGE c STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_cron_next';

/*
 * twtasks.cron_preview(expr, after, tz, n)
 *
 *		The next n times of a cron expression, to check it before use.
 *
 * Parameters
 *		expr, after, tz	as cron_next()
 *		n				at most this many, 1 to 10000
 *
 * Returns
 *		occurrence		time at which it is due
 *		local_time		the same in that time zone
 *
 * Errors
 *		22004			a parameter is NULL
 *		22023			a parameter is not valid
 *
 * Locks		none
 * Example		SELECT * FROM twtasks.cron_preview('0 9 * * mon', now(), 'Asia/Tokyo', 5);
 */
CREATE FUNCTION twtasks.cron_preview(
	expr text,
	after timestamptz DEFAULT pg_catalog.clock_timestamp(),
	tz text DEFAULT 'UTC',
	n integer DEFAULT 10,
	OUT occurrence timestamptz,
	OUT local_time timestamp)
RETURNS SETOF record
LANGUAGE c STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_cron_preview';

/*
 * twtasks_internal.cron_last(expr, after, until, tz, n)
 *
 *		The last n times later than "after" and not later than "until".
 *
 * Parameters
 *		expr, tz, n		as cron_preview()
 *
 * Returns
 *		timestamptz[], ascending
 *
 * Errors
 *		22004			a parameter is NULL
 *		22023			a parameter is not valid
 */
CREATE FUNCTION twtasks_internal.cron_last(
	expr text, after timestamptz, until timestamptz, tz text, n integer)
RETURNS timestamptz[]
LANGUAGE c STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_cron_last';
COMMENT ON FUNCTION twtasks.cron_next IS 'The next time at which a cron expression is due.';
COMMENT ON FUNCTION twtasks.cron_preview IS 'The next n times of a cron expression, to check it before use.';
COMMENT ON FUNCTION twtasks_internal.cron_last IS 'The last n times later than "after" and not later than "until".';

-- sql/add/add_task.sql
/*
 * twtasks.add_task(type, data, ...)
 *
 *		Stores a task in the caller's transaction and lets it run after commit.
 *
 * Parameters
 *		type		names the handler: 1 to 120 letters, digits or _ . : | / -
 *		data		what the handler gets, as JSON
 *		sub_type	for people; at most 250 characters
 *		key			a second task with this key is not added while the first is
 *					kept, live or finished; 1 to 1000 bytes
 *		task_id		the caller's own id, unique like a key; NULL: a new one, in
 *					order of time
 *		priority	0 (urgent) to 9; NULL: of its policy, else 5
 *		run_after	NULL or past: at once; future: WAITING until then
 *		bucket		the shard whose sidecars run it; NULL: of its policy, else
 *					'default'
 *		expires		not started after this time: it becomes FAILED; NULL: of its
 *					policy, else never
 *		context		carried to the handler: request id, traceparent, ...
 *		payload		bytes that the handler gets in place of data
 *
 * Returns
 *		task_id		the id; of the first task if it already exists
 *		version		its version; 0 for a new one
 *		result		'added', or 'already_exists' (not an error)
 *
 * Errors
 *		22004		type is NULL
 *		22023		type, sub_type, key, priority, bucket or a time is not valid
 *		23505		the id exists already with another key
 *		42704		twtasks.refuse_unknown_types is on, and the type is not known
 *		54000		data, payload and context exceed twtasks.max_payload
 *		25006		read-only transaction, or a standby
 *		42501		the calling role may not add this type (see allow_type()), the type
 *					is an extension's, or the call is within a security-restricted
 *					operation, such as ANALYZE
 *
 * Writes		twtasks.task, twtasks.unique_key (with a key or an id)
 * Locks		row locks only; a duplicate waits for the other transaction
 * Wakes		after commit one sidecar of the bucket
 * Example		SELECT * FROM twtasks.add_task('SEND_EMAIL', '{"to": 7}');
 */
CREATE FUNCTION twtasks.add_task(
	type text,
	data jsonb DEFAULT NULL,
	sub_type text DEFAULT NULL,
	key text DEFAULT NULL,
	task_id uuid DEFAULT NULL,
	priority integer DEFAULT NULL,
	run_after timestamptz DEFAULT NULL,
	bucket text DEFAULT NULL,
	expires timestamptz DEFAULT NULL,
	context jsonb DEFAULT NULL,
	payload bytea DEFAULT NULL)
RETURNS twtasks.added_task
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_add_task';

/*
 * twtasks_internal.add_task_as(role, task)
 *
 *		Adds a task as add_task() does, in the name of a role: for schedules.  The
 *		role may have been dropped since.
 *
 * Returns, errors, locks, wakes: as add_task()
 */
CREATE FUNCTION twtasks_internal.add_task_as(role text, task twtasks.new_task)
RETURNS twtasks.added_task
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_add_task_as';
COMMENT ON FUNCTION twtasks.add_task IS 'Stores a task in the caller''s transaction and lets it run after commit.';
COMMENT ON FUNCTION twtasks_internal.add_task_as IS 'Adds a task as add_task() does, in the name of a role: for schedules.  The role may have been dropped since.';

-- sql/add/add_tasks.sql
/*
 * twtasks.add_tasks(tasks twtasks.new_task[])
 *
 *		Stores many tasks in one statement.
 *
 * Parameters
 *		tasks		rows with the parameters of add_task()
 *
 * Returns
 *		one row per task, in the order given, as add_task() does
 *
 * Errors
 *		as add_task(), with the number of the row in the context; nothing is
 *		stored then
 *
 * Writes		twtasks.task, twtasks.unique_key
 * Locks		row locks only
 * Wakes		after commit one sidecar per bucket; above 1,024 tasks in one
 *				transaction a sweep of the bucket finds them instead
 */
CREATE FUNCTION twtasks.add_tasks(tasks twtasks.new_task[])
RETURNS SETOF twtasks.added_task
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE ROWS 100
AS 'MODULE_PATHNAME', 'twt_add_tasks';

/*
 * twtasks.add_tasks(type text, data jsonb[], priority integer, run_after timestamptz, bucket text, expires timestamptz, context jsonb)
 *
 *		Stores a task of one type for each element of data.
 *
 * Parameters
 *		type		of all
 *		data		what each handler gets; an element may be NULL.  An empty array
 *					adds nothing, and nothing else is checked
 *		priority	of all; this and what follows is as in add_task()
 *		run_after
 *		bucket
 *		expires
 *		context
 *
 * Returns
 *		one row per task, in the order given, as add_task() does
 *
 * Errors
 *		22004		data is NULL; other errors as add_task().  Nothing is stored then
 *
 * Writes		twtasks.task
 * Locks		row locks only
 * Wakes		as add_tasks(twtasks.new_task[])
 * Example		SELECT count(*) FROM twtasks.add_tasks('SEND_EMAIL', ARRAY['{"to": 7}', '{"to": 8}']::jsonb[]);
 */
CREATE FUNCTION twtasks.add_tasks(
	type text,
	data jsonb[],
	priority integer DEFAULT NULL,
	run_after timestamptz DEFAULT NULL,
	bucket text DEFAULT NULL,
	expires timestamptz DEFAULT NULL,
	context jsonb DEFAULT NULL)
RETURNS SETOF twtasks.added_task
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 100
AS 'MODULE_PATHNAME', 'twt_add_tasks_of_type';

/*
 * twtasks.add_tasks(tasks jsonb)
 *
 *		Stores many tasks given as a JSON array of objects.
 *
 * Parameters
 *		tasks		[{"type": "SEND_EMAIL", "data": {...}, "key": "..."}, ...];
 *					the names are the parameters of add_task()
 *
 * Returns
 *		one row per task, in the order given, as add_task() does
 *
 * Errors
 *		22023		not an array of objects, or an object has another name in it;
 *					otherwise those of add_task()
 *
 * Writes		twtasks.task, twtasks.unique_key
 * Locks		row locks only
 * Wakes		as add_tasks(twtasks.new_task[])
 * Example		SELECT count(*) FROM twtasks.add_tasks('[{"type": "A"}, {"type": "B"}]'::jsonb);
 */
CREATE FUNCTION twtasks.add_tasks(tasks jsonb)
RETURNS SETOF twtasks.added_task
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE ROWS 100
AS 'MODULE_PATHNAME', 'twt_add_tasks_json';
COMMENT ON FUNCTION twtasks.add_tasks(tasks twtasks.new_task[]) IS 'Stores many tasks in one statement.';
COMMENT ON FUNCTION twtasks.add_tasks(type text, data jsonb[], priority integer, run_after timestamptz, bucket text, expires timestamptz, context jsonb) IS 'Stores a task of one type for each element of data.';
COMMENT ON FUNCTION twtasks.add_tasks(tasks jsonb) IS 'Stores many tasks given as a JSON array of objects.';

-- sql/add/message_tasks.sql
/*
 * twtasks_internal.call_message(function, message)
 *
 *		The task that a listener's function makes of a message.  The function runs as
 *		its owner, for at most twtasks.function_timeout.
 *
 * Returns
 *		the task; NULL: the function ignores the message
 *
 * Errors
 *		42883		no function of that name has the right signature
 *		53400		the function took too long
 *		those of the function
 */
CREATE FUNCTION twtasks_internal.call_message(function text, message twtasks.message)
RETURNS twtasks.new_task
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_call_message';

/*
 * twtasks_internal.check_rule(rule)
 *
 *		Refuses a rule that makes no tasks of messages.
 *
 * Parameters
 *		rule		type or function, value, key, headers and corrupt of take_messages()
 *
 * Errors
 *		22023		a value is not valid
 *		42883, 42501, 22023		as check_function()
 */
CREATE FUNCTION twtasks_internal.check_rule(rule jsonb)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	type CONSTANT text := rule ->> 'type';
	key CONSTANT text := rule ->> 'key';
BEGIN
	IF num_nulls(type, rule ->> 'function') <> 1 THEN
		RAISE EXCEPTION 'either type or function must be given'
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF type !~ '^[A-Za-z0-9_.:|/-]{1,120}$' THEN
		RAISE EXCEPTION 'invalid type: "%"', twtasks_internal.shown(type)
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'A type has 1 to 120 letters (A to Z), digits and characters of "_.:|/-".';
	ELSIF (rule ->> 'value' IN ('json', 'bytes')) IS NOT TRUE THEN
		RAISE EXCEPTION 'value must be "json" or "bytes"' USING ERRCODE = 'invalid_parameter_value';
	ELSIF (rule ->> 'corrupt' IN ('retry', 'task')) IS NOT TRUE THEN
		RAISE EXCEPTION 'corrupt must be "retry" or "task"' USING ERRCODE = 'invalid_parameter_value';
	ELSIF key !~ '^(position|header:.+|json:/.*)$' OR key ~ '^json:' AND rule ->> 'value' = 'bytes' THEN
		RAISE EXCEPTION 'invalid key: "%"', twtasks_internal.shown(key)
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Write "position", "header:NAME", or "json:/path" if the values are JSON.';
	END IF;
	PERFORM twtasks_internal.check_function('take_messages', rule ->> 'function');
END $$;

/*
 * twtasks_internal.missing_key(wanted)
 *
 *		Fails, where an expression finds no key.
 *
 * Parameters
 *		wanted		key of take_messages()
 *
 * Errors
 *		22004		always
 */
CREATE FUNCTION twtasks_internal.missing_key(wanted text)
RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RAISE EXCEPTION 'message has no key at "%"', wanted
		USING ERRCODE = 'null_value_not_allowed';
END $$;

/*
 * twtasks_internal.message_tasks(messages, rule)
 *
 *		The tasks that messages of one partition give, in the order of the messages.
 *		Headers that trace a request go to the context always.
 *
 * Parameters
 *		rule		as check_rule(), with the listener
 *
 * Errors
 *		22xxx		a value is no UTF-8 or no JSON, or a message has no key
 *		as call_message()
 */
CREATE FUNCTION twtasks_internal.message_tasks(messages twtasks.message[], rule jsonb)
RETURNS twtasks.new_task[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	type CONSTANT text := rule ->> 'type';
	is_json CONSTANT boolean := rule ->> 'value' = 'json';
	names CONSTANT text[] := ARRAY(SELECT jsonb_array_elements_text(nullif(rule -> 'headers', 'null')))
		|| '{traceparent,tracestate}'::text[];
	wants_all CONSTANT boolean := '*' = ANY (names);
	wanted CONSTANT text := rule ->> 'key';
	place CONSTANT text := concat_ws('/', rule ->> 'listener', messages[1].topic, messages[1].partition, '');
	header CONSTANT text := substring(wanted FROM '^header:(.*)$');
	pointer CONSTANT text[] := (ARRAY(SELECT replace(replace(p, '~1', '/'), '~0', '~')
									  FROM string_to_table(substring(wanted FROM '^json:(.*)$'), '/') p))[2:];
BEGIN
	IF rule ->> 'function' IS NOT NULL THEN
		RETURN ARRAY(SELECT c.task
					 FROM (SELECT twtasks_internal.call_message(rule ->> 'function', m) AS task
						   FROM unnest(messages) m) c
					 WHERE NOT c.task IS NULL);
	END IF;
	RETURN ARRAY(
		SELECT ROW(type, v.data, NULL,
				   CASE WHEN wanted IS NOT NULL THEN coalesce(
						CASE WHEN wanted = 'position' THEN place || m."offset"
							 WHEN header IS NOT NULL THEN m.headers ->> header
							 WHEN jsonb_typeof(v.data #> pointer) NOT IN ('object', 'array') THEN v.data #>> pointer
						END, twtasks_internal.missing_key(wanted)) END,
				   NULL, NULL, NULL, NULL, NULL,
				   CASE WHEN wants_all THEN nullif(m.headers, '{}')
						WHEN m.headers ?| names THEN (SELECT jsonb_object_agg(n, m.headers -> n)
													  FROM unnest(names) n WHERE m.headers ? n) END,
				   CASE WHEN NOT is_json THEN m.value END)::twtasks.new_task
		FROM unnest(messages) m
		-- OFFSET 0: parsed once
		CROSS JOIN LATERAL (SELECT CASE WHEN is_json THEN convert_from(m.value, 'UTF8')::jsonb END AS data OFFSET 0) v);
END $$;

/*
 * twtasks_internal.add_corrupted(message, rule, state, error)
 *
 *		Adds a task of type CORRUPTED_KAFKA_MESSAGE in place of the task that a
 *		message should have given.  Its payload is the message's value, and its
 *		context says where the message is from and why it is corrupt.  A task that
 *		would be too large is added without value, key and headers.
 *
 * Errors
 *		as add_task()
 *
 * Writes		twtasks.task
 * Wakes		as add_task()
 */
CREATE FUNCTION twtasks_internal.add_corrupted(message twtasks.message, rule jsonb, state text, error text)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	origin CONSTANT jsonb := jsonb_build_object(
		'listener', rule -> 'listener', 'topic', message.topic, 'partition', message.partition,
		'offset', message."offset", 'time', message."time", 'bytes', octet_length(message.value),
		'sqlstate', state, 'error', twtasks_internal.cut_message(error));
BEGIN
	BEGIN
		PERFORM twtasks.add_task('CORRUPTED_KAFKA_MESSAGE', payload => message.value,
			context => origin || jsonb_build_object('key', '\x' || encode(message.key, 'hex'),
													'headers', message.headers));
	EXCEPTION WHEN program_limit_exceeded THEN
		PERFORM twtasks.add_task('CORRUPTED_KAFKA_MESSAGE', context => origin);
	END;
END $$;

/*
 * twtasks_internal.take_singly(messages, rule)
 *
 *		Adds the tasks of each message in a subtransaction of its own, after one of
 *		the messages failed.  With corrupt = 'task' a message whose error is about
 *		its content becomes a task of its own.
 *
 * Returns
 *		the offset of the message that failed, if messages before it were taken; NULL:
 *		all were taken
 *
 * Errors
 *		that of the first message.  The detail has its place, and why it could not
 *		become a task of its own
 *
 * Writes		as add_tasks()
 */
CREATE FUNCTION twtasks_internal.take_singly(messages twtasks.message[], rule jsonb)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	message twtasks.message;
	state text;
	error text;
	detail text;
	hint text;
BEGIN
	FOREACH message IN ARRAY messages LOOP
		BEGIN
			PERFORM twtasks.add_tasks(twtasks_internal.message_tasks(ARRAY[message], rule));
			CONTINUE;
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, error = MESSAGE_TEXT,
				detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
		END;
		-- the classes of data, of constraints, of limits, and of RAISE
		IF rule ->> 'corrupt' = 'task' AND state ~ '^(22|23|54|P0)' THEN
			BEGIN
				PERFORM twtasks_internal.add_corrupted(message, rule, state, error);
				CONTINUE;
			EXCEPTION WHEN OTHERS THEN
				hint := concat_ws(' ', nullif(hint, ''),
								  format('A task CORRUPTED_KAFKA_MESSAGE cannot be added: %s.', SQLERRM));
			END;
		END IF;
		IF message."offset" > messages[1]."offset" THEN
			RETURN message."offset";
		END IF;
		RAISE EXCEPTION USING ERRCODE = state, MESSAGE = error,
			DETAIL = concat_ws(' ', format('The message is at offset %s of partition %s of topic "%s".',
										   message."offset", message.partition, message.topic),
							   nullif(detail, ''), nullif(hint, ''));
	END LOOP;
	RETURN NULL;
END $$;

/*
 * twtasks_internal.take_run(messages, rule)
 *
 *		Adds the tasks that messages give, all at once if none of them fails.
 *
 * Returns, errors, writes: as take_singly()
 */
CREATE FUNCTION twtasks_internal.take_run(messages twtasks.message[], rule jsonb)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	BEGIN
		PERFORM twtasks.add_tasks(twtasks_internal.message_tasks(messages, rule));
		RETURN NULL;
	EXCEPTION WHEN OTHERS THEN
		-- One of them failed, which take_singly() finds.
	END;
	RETURN twtasks_internal.take_singly(messages, rule);
END $$;
COMMENT ON FUNCTION twtasks_internal.call_message IS 'The task that a listener''s function makes of a message.  The function runs as its owner, for at most twtasks.function_timeout.';
COMMENT ON FUNCTION twtasks_internal.check_rule IS 'Refuses a rule that makes no tasks of messages.';
COMMENT ON FUNCTION twtasks_internal.missing_key IS 'Fails, where an expression finds no key.';
COMMENT ON FUNCTION twtasks_internal.message_tasks IS 'The tasks that messages of one partition give, in the order of the messages. Headers that trace a request go to the context always.';
COMMENT ON FUNCTION twtasks_internal.add_corrupted IS 'Adds a task of type CORRUPTED_KAFKA_MESSAGE in place of the task that a message should have given.  Its payload is the message''s value, and its context says where the message is from and why it is corrupt.  A task that would be too large is added without value, key and headers.';
COMMENT ON FUNCTION twtasks_internal.take_singly IS 'Adds the tasks of each message in a subtransaction of its own, after one of the messages failed.  With corrupt = ''task'' a message whose error is about its content becomes a task of its own.';
COMMENT ON FUNCTION twtasks_internal.take_run IS 'Adds the tasks that messages give, all at once if none of them fails.';

-- sql/add/take_messages.sql
/*
 * Where a consumer of a topic goes on: it moves in the transaction that stores
 * the tasks, so a message is neither lost nor taken twice.
 */
CREATE TABLE twtasks.message_offset (
	listener	text COLLATE "C" NOT NULL,	-- The consumer's name for itself; several may read one topic
	topic		text COLLATE "C" NOT NULL,	-- Name of the topic
	partition	integer NOT NULL,			-- Number of the partition
	next_offset	bigint NOT NULL,			-- The first message that was not taken
	role		text COLLATE "C" NOT NULL,	-- The role that took the first messages; its members may go on and add partitions, and those of twtasks_owner
	moved		timestamptz NOT NULL,		-- Time of the last move
	partitions	integer,					-- How many the topic had when the listener began here; NULL: nobody told
	CONSTRAINT message_offset_pkey PRIMARY KEY (listener, topic, partition)
);
COMMENT ON TABLE twtasks.message_offset IS 'Progress of the consumers that call take_messages(), by partition';
SELECT pg_catalog.pg_extension_config_dump('twtasks.message_offset', '');

/*
 * twtasks_internal.check_place(listener, topic, partition)
 *
 *		Refuses names and numbers that cannot be those of a listener's partition.
 *
 * Errors
 *		22004		a parameter is NULL
 *		22023		a name or the partition is not valid
 */
CREATE FUNCTION twtasks_internal.check_place(listener text, topic text, partition integer)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF num_nulls(listener, topic, partition) > 0 THEN
		RAISE EXCEPTION '% must not be null',
				CASE WHEN listener IS NULL THEN 'listener' WHEN topic IS NULL THEN 'topic' ELSE 'partition' END
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF listener !~ '^[^[:cntrl:]]+$' OR octet_length(listener) > 250 THEN
		RAISE EXCEPTION 'invalid name of a listener: "%"', twtasks_internal.shown(listener)
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'A name has 1 to 250 bytes and no control characters.';
	ELSIF topic !~ '^[a-zA-Z0-9._-]+$' OR octet_length(topic) > 249 THEN
		RAISE EXCEPTION 'invalid name of a topic: "%"', twtasks_internal.shown(topic)
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'A topic has letters, digits and . _ -, at most 249 of them.';
	ELSIF partition < 0 THEN
		RAISE EXCEPTION 'invalid partition: %', partition
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'A partition is at least 0.';
	END IF;
END $$;

/*
 * twtasks_internal.check_run(topic, partition, from_offset, to_offset, messages)
 *
 *		Refuses other parameters of take_messages() that are not valid.
 *
 * Errors
 *		22004, 22023	as take_messages()
 */
CREATE FUNCTION twtasks_internal.check_run(
	topic text, partition integer, from_offset bigint, to_offset bigint, messages twtasks.message[])
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	stray bigint;
BEGIN
	IF from_offset IS NULL OR to_offset IS NULL THEN
		RAISE EXCEPTION 'from_offset and to_offset must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF from_offset < 0 OR to_offset < from_offset THEN
		RAISE EXCEPTION 'invalid range of messages: offsets % to %', from_offset, to_offset
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Offsets begin at 0, and to_offset is not below from_offset.';
	END IF;
	SELECT min(m.n) INTO stray
	FROM (SELECT row_number() OVER () AS n, u.topic, u.partition, u."offset",
				 lag(u."offset", 1, from_offset - 1) OVER () AS before
		  FROM unnest(messages) u) m
	WHERE (m.topic = check_run.topic AND m.partition = check_run.partition
		   AND m."offset" > m.before AND m."offset" < to_offset) IS NOT TRUE;
	IF stray IS NOT NULL THEN
		RAISE EXCEPTION 'message % is not of this run of messages', stray
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('Its topic, partition and offset are %s, %s and %s.',
								coalesce(messages[stray].topic, 'null'),
								coalesce(messages[stray].partition::text, 'null'),
								coalesce(messages[stray]."offset"::text, 'null')),
				HINT = 'Offsets ascend from from_offset and stay below to_offset.';
	END IF;
END $$;

/*
 * twtasks_internal.check_keeper(listener, keeper)
 *
 *		Refuses a caller that is no member of the listener's role.  Superusers and
 *		members of twtasks_owner may go on even if that role was dropped.
 *
 * Errors
 *		42501		the listener belongs to another role
 */
CREATE FUNCTION twtasks_internal.check_keeper(listener text, keeper text)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	caller CONSTANT oid := twtasks_internal.caller();
	owner CONSTANT oid := to_regrole(quote_ident(keeper));
BEGIN
	IF pg_has_role(caller, owner, 'MEMBER') IS NOT TRUE
		AND NOT pg_has_role(caller, 'twtasks_owner', 'MEMBER') THEN
		RAISE EXCEPTION 'listener "%" belongs to role "%"%', listener, keeper,
				CASE WHEN owner IS NULL THEN ', which no longer exists' ELSE '' END
			USING ERRCODE = 'insufficient_privilege',
				HINT = 'An operator may give it to another role: twtasks.reset_listener().';
	END IF;
END $$;

/*
 * twtasks_internal.check_newcomer(listener, topic, partition)
 *
 *		Refuses a caller that would add a partition to the listener of another role.
 *		A listener whose partitions belong to several roles is a listener of each.
 *
 * Errors
 *		42501		as check_keeper()
 *
 * Locks		advisory lock of the listener if the partition is new, until the end of
 *				the transaction: two roles do not both come first
 */
CREATE FUNCTION twtasks_internal.check_newcomer(listener text, topic text, partition integer)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	caller CONSTANT oid := twtasks_internal.caller();
	keeper text;
BEGIN
	IF EXISTS (SELECT FROM twtasks.message_offset o
			   WHERE o.listener = check_newcomer.listener AND o.topic = check_newcomer.topic
				 AND o.partition = check_newcomer.partition) THEN
		RETURN;
	END IF;
	PERFORM pg_advisory_xact_lock(hashtextextended('twtasks.message_offset/' || listener, 0));
	SELECT o.role INTO keeper FROM twtasks.message_offset o
	WHERE o.listener = check_newcomer.listener
	ORDER BY pg_has_role(caller, to_regrole(quote_ident(o.role)), 'MEMBER') IS TRUE DESC
	LIMIT 1;
	IF FOUND THEN
		PERFORM twtasks_internal.check_keeper(listener, keeper);
	END IF;
END $$;

/*
 * twtasks_internal.move_offset(listener, topic, partition, from_offset, to_offset)
 *
 *		Moves the offset that take_messages() names, unless it stands elsewhere.
 *
 * Returns
 *		is_moved, and where the offset stands now
 *
 * Errors
 *		42501		the listener belongs to another role
 *
 * Writes		twtasks.message_offset
 * Locks		row lock of the partition; as check_newcomer()
 */
CREATE FUNCTION twtasks_internal.move_offset(
	listener text, topic text, partition integer, from_offset bigint, to_offset bigint,
	OUT is_moved boolean, OUT next_offset bigint)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
	keeper text;
BEGIN
	PERFORM twtasks_internal.check_newcomer(move_offset.listener, move_offset.topic, move_offset.partition);
	INSERT INTO twtasks.message_offset (listener, topic, partition, next_offset, role, moved)
	VALUES (move_offset.listener, move_offset.topic, move_offset.partition, to_offset,
			pg_get_userbyid(twtasks_internal.caller()), clock_timestamp())
	ON CONFLICT DO NOTHING;
	IF FOUND THEN
		is_moved := true;
		next_offset := to_offset;
		RETURN;
	END IF;
	SELECT o.role INTO STRICT keeper FROM twtasks.message_offset o
	WHERE o.listener = move_offset.listener AND o.topic = move_offset.topic
	  AND o.partition = move_offset.partition;
	PERFORM twtasks_internal.check_keeper(move_offset.listener, keeper);
	UPDATE twtasks.message_offset o SET next_offset = to_offset, moved = clock_timestamp()
	WHERE o.listener = move_offset.listener AND o.topic = move_offset.topic
	  AND o.partition = move_offset.partition AND o.next_offset = from_offset;
	is_moved := FOUND;
	SELECT o.next_offset INTO next_offset FROM twtasks.message_offset o
	WHERE o.listener = move_offset.listener AND o.topic = move_offset.topic
	  AND o.partition = move_offset.partition;
END $$;

/*
 * twtasks.take_messages(listener, topic, partition, from_offset, to_offset, tasks, ...)
 *
 *		Stores the tasks of a run of messages and moves the listener's offset
 *		past them, both or neither.  Two consumers that believe that they own
 *		the same partition do no harm: one of them finds the offset elsewhere,
 *		and stores nothing.
 *
 *		The caller gives tasks, or messages and a rule that makes tasks of them: a
 *		type, or a function (twtasks.message) returns twtasks.new_task.  The function
 *		runs with the rights of its owner and must fix its search_path.  The changes
 *		that the function makes in the database happen once for each message, as the
 *		tasks do.
 *
 * Parameters
 *		listener	name of the consumer, 1 to 250 bytes
 *		topic		1 to 249 bytes
 *		partition	from 0
 *		from_offset	of the first message.  The first call for a partition may name
 *					any offset
 *		to_offset	of the last message, plus 1; not below from_offset
 *		tasks		rows with the parameters of add_task(), in the order of the
 *					messages; a message may give none or several, and an empty array
 *					only moves the offset
 *		messages	in place of tasks, in the order of their offsets
 *		type		each message gives a task of this type
 *		function	in place of type, with its schema in the name: returns the task of
 *					a message, or NULL to ignore the message.  It has
 *					twtasks.function_timeout for each message
 *		value		with type: json, the value is the task's data; bytes, its payload
 *		key			with type: the task's key is that of the header, header:NAME; or in
 *					the value, json:/path (a JSON pointer); or position, the listener,
 *					topic, partition and offset with slashes between them.  NULL: the
 *					task has no key
 *		headers		with type: names of headers that go to the task's context, besides
 *					traceparent and tracestate; *: all
 *		corrupt		when a message gives no task because of its content (SQLSTATE 22xxx,
 *					23xxx, 54xxx or P0xxx): retry, as after any other error; task, it
 *					becomes a task CORRUPTED_KAFKA_MESSAGE, whose payload is the value,
 *					and whose context says where it is from and what the error was
 *
 * Returns
 *		where the listener must go on: to_offset.  An offset between: the message
 *		there failed, and those before it were taken.  Any other offset: the partition
 *		did not stand at from_offset, and this call did nothing
 *
 * Errors
 *		22004		a parameter is NULL
 *		22023		a name, the partition, an offset, a message or the rule is not
 *					valid
 *		42501		the listener belongs to another role, or the caller may not execute
 *					the function
 *		42883		there is no such function
 *		55000		this database is a copy and not adopted
 *		as add_tasks() and the function, with the message in the detail; nothing is
 *		stored then, and the offset stays
 *
 * Writes		twtasks.message_offset, twtasks.task, twtasks.unique_key
 * Locks		row lock of the partition, until the end of the transaction; for a new
 *				partition, an advisory lock of the listener too
 * Wakes		as add_tasks(twtasks.new_task[])
 * Example		SELECT twtasks.take_messages('billing', 'invoices', 0, 17, 18, ARRAY[ROW('BILL', '{"no": 4}', NULL, 'invoices-0-17', NULL, NULL, NULL, NULL, NULL, NULL, NULL)::twtasks.new_task]);
 */
CREATE FUNCTION twtasks.take_messages(
	listener text,
	topic text,
	partition integer,
	from_offset bigint,
	to_offset bigint,
	tasks twtasks.new_task[] DEFAULT NULL,
	messages twtasks.message[] DEFAULT NULL,
	type text DEFAULT NULL,
	function text DEFAULT NULL,
	value text DEFAULT 'json',
	key text DEFAULT NULL,
	headers text[] DEFAULT NULL,
	corrupt text DEFAULT 'retry')
RETURNS bigint
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_as_owner';

/*
 * twtasks_internal.take_messages_as_owner(given record)
 *
 *		The work of take_messages(), with its caller noted.  The row has a column
 *		for each parameter.
 *
 * Returns, errors, writes: as take_messages()
 */
CREATE FUNCTION twtasks_internal.take_messages_as_owner(given record)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	rule CONSTANT jsonb := jsonb_build_object('listener', given.listener, 'type', given.type,
		'function', given.function, 'value', given.value, 'key', given.key,
		'headers', given.headers, 'corrupt', given.corrupt);
	moved record;
	failed bigint;
BEGIN
	IF NOT twtasks.is_adopted() THEN
		RAISE EXCEPTION 'this database takes no messages: it is a copy that was not adopted'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'The messages are for the original.',
				HINT = 'If this database takes its place, see twtasks.adopt().';
	ELSIF num_nulls(given.tasks, given.messages) <> 1 THEN
		RAISE EXCEPTION 'either tasks or messages must be given'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	PERFORM twtasks_internal.check_place(given.listener, given.topic, given.partition),
			twtasks_internal.check_run(given.topic, given.partition, given.from_offset, given.to_offset, given.messages);
	IF given.messages IS NOT NULL THEN
		PERFORM twtasks_internal.check_rule(rule);
	END IF;
	moved := twtasks_internal.move_offset(given.listener, given.topic, given.partition, given.from_offset, given.to_offset);
	IF NOT moved.is_moved THEN
		RETURN moved.next_offset;
	ELSIF given.messages IS NULL THEN
		PERFORM twtasks.add_tasks(given.tasks);
		RETURN given.to_offset;
	END IF;
	failed := twtasks_internal.take_run(given.messages, rule);
	UPDATE twtasks.message_offset o SET next_offset = failed
	WHERE o.listener = given.listener AND o.topic = given.topic AND o.partition = given.partition
	  AND failed IS NOT NULL;
	RETURN coalesce(failed, given.to_offset);
END $$;

/*
 * twtasks.begin_partition(listener, topic, partition, partitions, start, first)
 *
 *		Where a listener goes on in a partition.  A listener without an offset there
 *		begins, and its offset is stored.  It begins at start where the topic
 *		had the partition when the listener met the topic.  A partition that the topic
 *		got later begins at first, so no message there is skipped.
 *
 * Parameters
 *		listener	as take_messages()
 *		topic		as take_messages()
 *		partition	as take_messages()
 *		partitions	how many the topic has now
 *		start		where the listener begins in a topic that it meets
 *		first		offset of the first message that the topic still has
 *
 * Returns
 *		the offset to go on with
 *
 * Errors
 *		22004		a parameter is NULL
 *		22023		partitions is not above the partition
 *		as take_messages()
 *
 * Writes		twtasks.message_offset
 * Locks		row lock of the partition, until the end of the transaction
 * Example		SELECT twtasks.begin_partition('billing', 'invoices', 1, partitions => 2, start => 17, first => 0);
 */
CREATE FUNCTION twtasks.begin_partition(
	listener text, topic text, partition integer, partitions integer, start bigint, first bigint)
RETURNS bigint
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_as_owner';

/*
 * twtasks_internal.begin_partition_as_owner(given record)
 *
 *		The work of begin_partition(), with its caller noted.  A topic's partitions
 *		are numbered as they are added, so the least count that was stored tells which
 *		came later.  Two consumers may begin in either order.
 */
CREATE FUNCTION twtasks_internal.begin_partition_as_owner(given record)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	known CONSTANT integer := (SELECT min(o.partitions) FROM twtasks.message_offset o
							   WHERE o.listener = given.listener AND o.topic = given.topic);
	begins CONSTANT bigint := CASE WHEN given.partition >= known THEN given.first ELSE given.start END;
	stands bigint;
BEGIN
	IF given.partitions IS NULL OR given.first IS NULL OR given.start IS NULL THEN
		RAISE EXCEPTION 'partitions, start and first must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF given.partitions <= given.partition THEN
		RAISE EXCEPTION 'invalid number of partitions: %', given.partitions
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('The partition is %s.', given.partition),
				HINT = 'Partitions are numbered from 0.';
	END IF;
	stands := twtasks.take_messages(given.listener, given.topic, given.partition, begins, begins,
									'{}'::twtasks.new_task[]);
	UPDATE twtasks.message_offset o SET partitions = given.partitions
	WHERE o.listener = given.listener AND o.topic = given.topic AND o.partition = given.partition
	  AND o.partitions IS NULL;
	RETURN stands;
END $$;
COMMENT ON COLUMN twtasks.message_offset.listener IS 'The consumer''s name for itself; several may read one topic';
COMMENT ON COLUMN twtasks.message_offset.topic IS 'Name of the topic';
COMMENT ON COLUMN twtasks.message_offset.partition IS 'Number of the partition';
COMMENT ON COLUMN twtasks.message_offset.next_offset IS 'The first message that was not taken';
COMMENT ON COLUMN twtasks.message_offset.role IS 'The role that took the first messages; its members may go on and add partitions, and those of twtasks_owner';
COMMENT ON COLUMN twtasks.message_offset.moved IS 'Time of the last move';
COMMENT ON COLUMN twtasks.message_offset.partitions IS 'How many the topic had when the listener began here; NULL: nobody told';
COMMENT ON FUNCTION twtasks_internal.check_place IS 'Refuses names and numbers that cannot be those of a listener''s partition.';
COMMENT ON FUNCTION twtasks_internal.check_run IS 'Refuses other parameters of take_messages() that are not valid.';
COMMENT ON FUNCTION twtasks_internal.check_keeper IS 'Refuses a caller that is no member of the listener''s role.  Superusers and members of twtasks_owner may go on even if that role was dropped.';
COMMENT ON FUNCTION twtasks_internal.check_newcomer IS 'Refuses a caller that would add a partition to the listener of another role. A listener whose partitions belong to several roles is a listener of each.';
COMMENT ON FUNCTION twtasks_internal.move_offset IS 'Moves the offset that take_messages() names, unless it stands elsewhere.';
COMMENT ON FUNCTION twtasks.take_messages IS 'Stores the tasks of a run of messages and moves the listener''s offset past them, both or neither.  Two consumers that believe that they own the same partition do no harm: one of them finds the offset elsewhere, and stores nothing.';
COMMENT ON FUNCTION twtasks_internal.take_messages_as_owner(given record) IS 'The work of take_messages(), with its caller noted.  The row has a column for each parameter.';
COMMENT ON FUNCTION twtasks.begin_partition IS 'Where a listener goes on in a partition.  A listener without an offset there begins, and its offset is stored.  It begins at start where the topic had the partition when the listener met the topic.  A partition that the topic got later begins at first, so no message there is skipped.';
COMMENT ON FUNCTION twtasks_internal.begin_partition_as_owner(given record) IS 'The work of begin_partition(), with its caller noted.  A topic''s partitions are numbered as they are added, so the least count that was stored tells which came later.  Two consumers may begin in either order. / CREATE FUNCTION twtasks_internal.begin_partition_as_owner(given record)';

-- sql/add/send_to_kafka.sql
/*
 * twtasks.kafka_message(key text, value text, headers jsonb)
 *
 *		Makes a message of texts, in UTF-8.
 *
 * Parameters
 *		key			messages with equal keys go to one partition; NULL: to any
 *		value		NULL: a tombstone
 *		headers		an object of texts; NULL: none
 *
 * Returns
 *		the message
 * Example		SELECT twtasks.kafka_message('account-7', '{"balance": 12}');
 */
CREATE FUNCTION twtasks.kafka_message(key text, value text, headers jsonb DEFAULT NULL)
RETURNS twtasks.kafka_message
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT convert_to(key, 'UTF8'), convert_to(value, 'UTF8'), headers
$$;

/*
 * twtasks.send_to_kafka(topic text, messages twtasks.kafka_message[])
 *
 *		Adds tasks that send the messages to Kafka after the caller's commit; a
 *		rollback sends nothing.  Each message arrives at least once, with a header
 *		twtasks-id that is the same each time it arrives.
 *
 *		A task has as many messages as fit into 8,000,000 bytes, a longer message has
 *		a task of its own.  Messages of one task keep their order.  The tasks are of
 *		the type SendToKafka, with the topic as their sub_type; a sidecar needs a
 *		handler of the kind kafka for them.
 *
 * Parameters
 *		topic		the name: 1 to 249 letters, digits or . _ -
 *		messages	none: nothing is added
 *
 * Returns
 *		one row per task, as add_task() does
 *
 * Errors
 *		22004		topic, messages or one of them is NULL
 *		22023		topic is not valid, or headers of a message are no object
 *		54000		a message exceeds twtasks.max_payload
 *					otherwise those of add_task(); nothing is stored then
 *
 * Writes		twtasks.task
 * Locks		row locks only
 * Wakes		as add_tasks(twtasks.new_task[])
 * Example		SELECT twtasks.send_to_kafka('payments', ARRAY[twtasks.kafka_message('k', 'v')]);
 */
CREATE FUNCTION twtasks.send_to_kafka(topic text, messages twtasks.kafka_message[])
RETURNS SETOF twtasks.added_task
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 1
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	most constant integer := 8000000;
	part bytea;
	parts bytea[] := '{}';
	size bigint := 0;
BEGIN
	IF topic IS NULL OR messages IS NULL OR array_position(messages, NULL) IS NOT NULL THEN
		RAISE EXCEPTION USING ERRCODE = 'null_value_not_allowed',
			MESSAGE = 'topic and messages must not be null';
	ELSIF topic !~ '^[A-Za-z0-9._-]{1,249}$' OR topic IN ('.', '..') THEN
		RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
			MESSAGE = format('invalid topic "%s"', left(topic, 64)),
			DETAIL = 'A topic has 1 to 249 letters, digits or . _ - characters.';
	ELSIF EXISTS (SELECT FROM unnest(messages) m WHERE jsonb_typeof(m.headers) <> 'object') THEN
		RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
			MESSAGE = 'headers of a message must be an object';
	END IF;

	-- Its format stands in workers/kafka/kafka_batch.h.
	FOR part IN
		SELECT int4send(coalesce(octet_length(m.key), -1)) || coalesce(m.key, '') ||
			int4send(coalesce(octet_length(m.value), -1)) || coalesce(m.value, '') ||
			coalesce(h.bytes, int4send(0))
		FROM unnest(messages) WITH ORDINALITY m (key, value, headers, n)
		CROSS JOIN LATERAL (
			SELECT int4send(count(*)::integer) || string_agg(
				int4send(octet_length(b.name)) || b.name ||
				int4send(coalesce(octet_length(b.value), -1)) || coalesce(b.value, ''), '') AS bytes
			FROM jsonb_each_text(m.headers) e,
				LATERAL (SELECT convert_to(e.key, 'UTF8') AS name, convert_to(e.value, 'UTF8') AS value) b
		) h
		ORDER BY m.n
	LOOP
		IF size > 0 AND size + octet_length(part) > most THEN
			RETURN NEXT twtasks.add_task('SendToKafka', sub_type => topic,
				payload => (SELECT string_agg(p.part, '' ORDER BY p.n)
							FROM unnest(parts) WITH ORDINALITY p (part, n)));
			parts := '{}';
			size := 0;
		END IF;
		parts := parts || part;
		size := size + octet_length(part);
	END LOOP;
	IF size > 0 THEN
		RETURN NEXT twtasks.add_task('SendToKafka', sub_type => topic,
			payload => (SELECT string_agg(p.part, '' ORDER BY p.n)
						FROM unnest(parts) WITH ORDINALITY p (part, n)));
	END IF;
END $$;

COMMENT ON FUNCTION twtasks.kafka_message(key text, value text, headers jsonb) IS 'Makes a message of texts, in UTF-8.';
COMMENT ON FUNCTION twtasks.send_to_kafka(topic text, messages twtasks.kafka_message[]) IS 'Adds tasks that send the messages to Kafka after the caller''s commit; a rollback sends nothing.  Each message arrives at least once, with a header twtasks-id that is the same each time it arrives.';

-- sql/queue/queue_trigger.sql
/*
 * twtasks_internal.queue_trigger(id, version, bucket, type, priority, size, due)
 *
 *		Remembers a trigger and queues it when the current transaction commits.
 *		For functions of this extension; a trigger is only a hint.
 *
 * Parameters
 *		due			its time to run; NULL: now
 *
 * Wakes		after commit one sidecar of the bucket
 */
CREATE FUNCTION twtasks_internal.queue_trigger(
	id uuid, version bigint, bucket text, type text,
	priority smallint, size integer, due timestamptz)
RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_queue_trigger';
COMMENT ON FUNCTION twtasks_internal.queue_trigger IS 'Remembers a trigger and queues it when the current transaction commits. For functions of this extension; a trigger is only a hint.';

-- sql/queue/next_triggers.sql
/*
 * twtasks_internal.take_types(types)
 *
 *		From now on next_triggers() returns triggers of these types in this
 *		session.  Triggers of other types go to sessions that handle them, and
 *		if none does, to any session.  By default a session handles all types.
 *
 * Parameters
 *		types			types, or beginnings of types and a *
 *
 * Locks		none
 */
CREATE FUNCTION twtasks_internal.take_types(types text[])
RETURNS void
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_take_types';

/*
 * twtasks_internal.lacks_queue(bucket)
 *
 *		Whether the bucket has no queue in shared memory, since other buckets
 *		use all twtasks.queues.
 */
CREATE FUNCTION twtasks_internal.lacks_queue(bucket text)
RETURNS boolean
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_lacks_queue';

/*
 * twtasks_internal.next_triggers(buckets, max_triggers, wait_ms, ...)
 *
 *		Takes triggers from the shared-memory queues, and waits for the first
 *		one.  The call holds no snapshot while it waits, so it never holds back
 *		vacuum.
 *
 * Parameters
 *		buckets			buckets to take from.  A bucket without a queue, since all
 *						twtasks.queues are in use, is skipped: LISTEN twtasks
 *						brings its triggers
 *		max_triggers	at most this many, 1 to 10000
 *		wait_ms			longest wait for the first, 0 to 600000
 *
 * Returns
 *		ids, versions, types, priorities, sizes, bucket_numbers
 *						one element per trigger; bucket_numbers has positions in
 *						buckets, from 1
 *		due				the earliest time to run among WAITING tasks added since the
 *						last call; NULL: none
 *		sweep			buckets whose queue lost triggers: sweep the table
 *		node_gone		the session of some node ended: call recover_tasks()
 *
 * Errors
 *		22004, 22023	a parameter is NULL or out of range
 *		25001			the call is inside a transaction block
 *		55000			twtasks was not preloaded: LISTEN twtasks instead
 *
 * Locks		none while waiting
 * Example		CALL twtasks_internal.next_triggers('{default}', 100, 30000,
 *					NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
 */
CREATE PROCEDURE twtasks_internal.next_triggers(
	buckets text[],
	max_triggers integer,
	wait_ms integer,
	OUT ids uuid[],
	OUT versions bigint[],
	OUT types text[],
	OUT priorities smallint[],
	OUT sizes integer[],
	OUT bucket_numbers integer[],
	OUT due timestamptz,
	OUT sweep text[],
	OUT node_gone boolean)
LANGUAGE c
AS 'MODULE_PATHNAME', 'twt_next_triggers';
COMMENT ON FUNCTION twtasks_internal.take_types IS 'From now on next_triggers() returns triggers of these types in this session.  Triggers of other types go to sessions that handle them, and if none does, to any session.  By default a session handles all types.';
COMMENT ON FUNCTION twtasks_internal.lacks_queue IS 'Whether the bucket has no queue in shared memory, since other buckets use all twtasks.queues. / CREATE FUNCTION twtasks_internal.lacks_queue(bucket text)';
COMMENT ON PROCEDURE twtasks_internal.next_triggers IS 'Takes triggers from the shared-memory queues, and waits for the first one.  The call holds no snapshot while it waits, so it never holds back vacuum.';

-- sql/run/grab_tasks.sql
/*
 * twtasks_internal.grab_tasks(ids, versions, incarnation, token, timeouts_ms, stuck, types, buckets, durable, places)
 *
 *		SUBMITTED -> PROCESSING, for the named tasks that still have the named
 *		version.  The caller executes the tasks returned, once the call has
 *		committed.
 *
 * Parameters
 *		ids, versions	the triggers, in any order
 *		incarnation		of start_node()
 *		token			a number that the caller uses for one grab only; it names the
 *						grab for resolve_grab()
 *		timeouts_ms		time after which the stuck rule applies, for each task
 *		stuck			that rule, for each task
 *		types			type that each task must have, since a trigger may be forged;
 *						an empty array: any
 *		buckets			a task must be in one of them; an empty array: any
 *		durable			false: do not wait for the disk if the stuck rule of all tasks
 *						won is 'retry', whatever else the transaction holds.  A crash
 *						of the server may then undo the grab: the task is grabbed
 *						again, with the same version and another token.  Name the
 *						token in finish_tasks(), and change nothing else in the
 *						transaction
 *		places			location of each row as sweep_tasks() returned it, or NULL; a
 *						wrong one does no harm; an empty array: not known
 *
 *		versions, timeouts_ms, stuck and types may have one element that stands
 *		for all.
 *
 * Returns
 *		version, place	of the tasks won, as finish_tasks() takes them
 *		no row for a task that another session has grabbed, locked, changed or
 *		deleted
 *		no row at all while twtasks.enabled is off, if the incarnation has ended, or
 *		if this database is a copy and not adopted
 *
 *		A task that a cluster-wide limit refused comes back with a NULL version.
 *		Its type is the name of that limit, and grabbed says when to ask again;
 *		NULL: when offer_slots() tells
 *
 * Errors
 *		22023			the arrays differ in length, or a timeout is negative
 *		23502			a stuck rule is NULL
 *
 * Writes		twtasks.task, twtasks.slot_use
 * Locks		rows; waits for none
 * Example		SELECT * FROM twtasks_internal.grab_tasks(ARRAY[...]::uuid[], '{0}', 7, 1, '{60000}', '{error}');
 */
CREATE FUNCTION twtasks_internal.grab_tasks(
	ids uuid[],
	versions bigint[],
	incarnation bigint,
	token bigint,
	timeouts_ms bigint[],
	stuck twtasks.stuck_rule[],
	types text[] DEFAULT '{}',
	buckets text[] DEFAULT '{}',
	durable boolean DEFAULT true,
	places tid[] DEFAULT '{}',
	OUT id uuid,
	OUT version bigint,
	OUT type text,
	OUT sub_type text,
	OUT bucket text,
	OUT priority smallint,
	OUT tries integer,
	OUT grabbed timestamptz,
	OUT data jsonb,
	OUT payload bytea,
	OUT context jsonb,
	OUT key text,
	OUT place tid)
RETURNS SETOF record
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER ROWS 100
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'twt_grab_tasks';
COMMENT ON FUNCTION twtasks_internal.grab_tasks IS 'SUBMITTED -> PROCESSING, for the named tasks that still have the named version.  The caller executes the tasks returned, once the call has committed.';

-- sql/run/resolve_grab.sql
/*
 * twtasks_internal.resolve_grab(ids, versions, incarnation, token)
 *
 *		Finds the tasks that a grab has won, when its answer was lost.  The other
 *		tasks get a new version, so that the lost call cannot grab them should the
 *		server still execute it.
 *
 * Parameters
 *		as they were given to grab_tasks()
 *
 * Returns
 *		the tasks won, as grab_tasks() returns them
 *
 * Writes		twtasks.task
 * Locks		rows, in the order given; waits for the lost call if it still runs
 * Wakes		one sidecar of the bucket for each task with a new version
 */
CREATE FUNCTION twtasks_internal.resolve_grab(
	ids uuid[],
	versions bigint[],
	incarnation bigint,
	token bigint)
RETURNS SETOF twtasks.task_input
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER ROWS 100
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
	fenced bigint;
BEGIN
	WITH f AS (
		UPDATE twtasks.task t SET version = t.version + 1
		FROM (SELECT u.*, l.place FROM unnest(ids, versions) u(id, version)
			  CROSS JOIN LATERAL (SELECT s.ctid AS place FROM twtasks.task s
								  WHERE s.id = u.id OFFSET 0) l) w
		WHERE t.ctid = w.place AND t.version = w.version AND t.status = 'SUBMITTED'
		RETURNING t.*)
	SELECT count(twtasks_internal.queue_trigger(f.id, f.version, f.bucket, f.type,
									   f.priority, f.size, NULL::timestamptz))
	INTO fenced FROM f;
	RETURN QUERY
	SELECT t.id, t.version, t.type, t.sub_type, t.bucket, t.priority, t.tries,
		   t.state_time, t.data, t.payload, t.context, t.key
	FROM unnest(ids, versions) w(id, version)
	JOIN twtasks.task t ON t.id = w.id
	WHERE t.version = w.version + 1
	  AND t.status = 'PROCESSING'
	  AND t.incarnation = resolve_grab.incarnation
	  AND t.token = resolve_grab.token;
END $$;
COMMENT ON FUNCTION twtasks_internal.resolve_grab IS 'Finds the tasks that a grab has won, when its answer was lost.  The other tasks get a new version, so that the lost call cannot grab them should the server still execute it.';

-- sql/run/execute_tasks.sql
/*
 * twtasks_internal.execute_tasks(function, role, ids, versions, incarnation, token, ...)
 *
 *		Grabs tasks, runs a SQL function for each, and finishes those that
 *		succeeded, all in one transaction.  So the function's effects in this
 *		database happen exactly once.  Each function runs in its own
 *		subtransaction; if it fails, only its own effects are undone.
 *
 *		Call it in a session other than that of start_node(), where advisory
 *		locks that a function takes in the session would stay.
 *
 * Parameters
 *		function		takes (twtasks.task_input), returns twtasks.task_result or
 *						void, which means done
 *		role			runs the function; NULL: the role that calls
 *		ids ... buckets, places	as in grab_tasks()
 *		retry			retry policy for types that have none, as for configure_type()
 *		grabbed			true: the same call of grab_tasks(), in a transaction of its own,
 *						has won the tasks.  Tasks under a cluster-wide limit need this:
 *						otherwise nobody could take its slots until this one ends
 *
 * Returns
 *		id, version		of each task that was won or refused
 *		result			'finished'
 *						'failed'		still PROCESSING: finish it as retry or error
 *						'refused'		by a cluster-wide limit; version is NULL
 *		message			the failure with its SQLSTATE, or the name of the limit
 *		tries, type		of the task
 *
 * Errors
 *		42501			the calling role may not SET ROLE role, or role may not execute
 *						the function, or the call is within a security-restricted
 *						operation, such as ANALYZE
 *		42883			no function of that name with that signature
 *		42704			no such role
 *		40P01, 40001	of the function, if several tasks were won: nothing was done, and
 *						each task may succeed in a call of its own
 *
 * Writes		twtasks.task, twtasks.finished_task and what the function writes
 * Locks		rows, in order of id, until the whole batch commits
 */
CREATE FUNCTION twtasks_internal.execute_tasks(
	function text,
	role name,
	ids uuid[],
	versions bigint[],
	incarnation bigint,
	token bigint,
	timeouts_ms bigint[],
	stuck twtasks.stuck_rule[],
	types text[] DEFAULT '{}',
	buckets text[] DEFAULT '{}',
	retry jsonb DEFAULT NULL,
	places tid[] DEFAULT NULL,
	grabbed boolean DEFAULT false,
	OUT id uuid,
	OUT version bigint,
	OUT result text,
	OUT message text,
	OUT tries integer,
	OUT type text)
RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 100
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'twt_execute_tasks';

/*
 * twtasks_internal.find_handler(function, role)
 *
 *		Finds a SQL handler, and checks its signature and that the caller may
 *		run it as role.
 *
 * Returns
 *		its oid
 *
 * Errors
 *		42883, 42704, 42501	as execute_tasks()
 */
CREATE FUNCTION twtasks_internal.find_handler(function text, role name)
RETURNS oid
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_find_handler';

/*
 * twtasks_internal.check_handlers(functions, roles)
 *
 *		Finds the SQL handlers among these that find_handler() refuses.  Calls
 *		none.
 *
 * Parameters
 *		functions		skips NULL
 *		roles			one for each
 *
 * Returns
 *		place			in the arrays, from 1
 *		fault			the reason, and what to type
 *
 * Locks		none
 */
CREATE FUNCTION twtasks_internal.check_handlers(
	functions text[], roles text[], OUT place integer, OUT fault text)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	handler record;
	hint text;
BEGIN
	FOR handler IN
		SELECT h.function, h.role, h.n::integer
		FROM unnest(functions, roles) WITH ORDINALITY h(function, role, n)
		WHERE h.function IS NOT NULL ORDER BY h.n
	LOOP
		BEGIN
			PERFORM twtasks_internal.find_handler(handler.function, handler.role::name);
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS fault = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
			place := handler.n;
			fault := format('%s (SQLSTATE %s)', fault, SQLSTATE) || coalesce(': ' || nullif(hint, ''), '');
			RETURN NEXT;
		END;
	END LOOP;
END $$;
COMMENT ON FUNCTION twtasks_internal.execute_tasks IS 'Grabs tasks, runs a SQL function for each, and finishes those that succeeded, all in one transaction.  So the function''s effects in this database happen exactly once.  Each function runs in its own subtransaction; if it fails, only its own effects are undone.';
COMMENT ON FUNCTION twtasks_internal.find_handler IS 'Finds a SQL handler, and checks its signature and that the caller may run it as role.';
COMMENT ON FUNCTION twtasks_internal.check_handlers IS 'Finds the SQL handlers among these that find_handler() refuses.  Calls none.';

-- sql/run/end_tasks.sql
/*
 * twtasks_internal.asks_on_end(type)
 *
 *		Whether a policy of that type names a function for on_end.
 */
CREATE FUNCTION twtasks_internal.asks_on_end(type text)
RETURNS boolean
LANGUAGE c STABLE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_asks_on_end';

/*
 * twtasks_internal.ended_live(task)
 *
 *		A task in ERROR, as functions of on_end get it.
 */
CREATE FUNCTION twtasks_internal.ended_live(task twtasks.task)
RETURNS twtasks.ended_task
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT (task.id, task.version, task.type, task.sub_type, task.bucket, task.key, task.tries, task.status,
			task.state_time, task.error, NULL, task.data, task.context, NULL)::twtasks.ended_task
$$;

/*
 * twtasks_internal.ended_final(task)
 *
 *		A task of the history, as functions of on_end get it.
 */
CREATE FUNCTION twtasks_internal.ended_final(task twtasks.finished_task)
RETURNS twtasks.ended_task
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT (task.id, task.version, task.type, task.sub_type, task.bucket, task.key, task.tries, task.status,
			task.state_time, task.error, task.message, task.data, task.context, NULL)::twtasks.ended_task
$$;

/*
 * twtasks_internal.end_now(ids, statuses, reasons)
 *
 *		Does the work of end_tasks(), but calls no function of on_end.
 *
 * Returns
 *		ended			for these functions; NULL: none wants it
 *		others			as end_tasks()
 *
 * Writes		twtasks.task, twtasks.finished_task
 */
CREATE FUNCTION twtasks_internal.end_now(
	ids uuid[],
	statuses twtasks.task_status[],
	reasons text[],
	OUT id uuid,
	OUT version bigint,
	OUT status twtasks.task_status,
	OUT ended twtasks.ended_task)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 100
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
	moment CONSTANT timestamptz := twtasks.clock();
	n CONSTANT integer := cardinality(ids);
BEGIN
	-- one element stands for all
	IF n > 1 AND cardinality(statuses) = 1 THEN statuses := array_fill(statuses[1], ARRAY[n]); END IF;
	IF n > 1 AND cardinality(reasons) = 1 THEN reasons := array_fill(reasons[1], ARRAY[n]); END IF;

	RETURN QUERY
	WITH stopped AS (
		UPDATE twtasks.task t
		SET status = 'ERROR', version = t.version + 1, queued = false, state_time = moment,
			next_event_time = 'infinity', deadline = NULL, planned = NULL, error = u.reason
		FROM unnest(ids, statuses, reasons) u(id, status, reason)
		WHERE t.id = u.id AND u.status = 'ERROR'
		RETURNING t.*)
	SELECT s.id, s.version, s.status,
		   CASE WHEN twtasks_internal.asks_on_end(s.type) THEN twtasks_internal.ended_live(s) END
	FROM stopped s;

	RETURN QUERY
	WITH gone AS (
		DELETE FROM twtasks.task t
		USING unnest(ids, statuses, reasons) u(id, status, reason)
		WHERE t.id = u.id AND u.status <> 'ERROR'
		RETURNING t.*, u.status AS final, u.reason),
	kept AS (
		INSERT INTO twtasks.finished_task AS f
			(id, version, state_time, created, incarnation, status, tries, priority,
			 type, sub_type, bucket, key, error, data, payload, context, added_by)
		SELECT g.id, g.version + 1, moment, g.created, CASE g.status WHEN 'PROCESSING' THEN g.incarnation END,
			   g.final, g.tries, g.priority, g.type, g.sub_type, g.bucket, g.key, g.reason, g.data,
			   g.payload, g.context, g.added_by
		FROM gone g
		RETURNING f.id, f.version, f.status,
				  CASE WHEN twtasks_internal.asks_on_end(f.type) THEN twtasks_internal.ended_final(f) END AS ended)
	SELECT k.id, k.version, k.status, k.ended FROM kept k;
END $$;

/*
 * twtasks_internal.end_tasks(ids, statuses, reasons)
 *
 *		Ends live tasks that no worker finishes, and calls the functions of on_end.
 *		The caller holds locks on the rows.
 *
 * Parameters
 *		statuses		for each: FAILED, CANCELLED or ERROR
 *		reasons			for each: why, or NULL
 *
 *		An array with one element gives it to all tasks, except ids.
 *
 * Returns
 *		id, version, status of the ended tasks; ERROR also when a function failed.  A
 *		missing task is unchanged, because functions took too long before it or
 *		could not get their locks: end it again
 *
 * Errors
 *		22004			an array is NULL
 *		22023			the arrays differ in length
 *		25001			a task has a function for on_end, and the transaction is not READ
 *						COMMITTED
 *
 * Writes		twtasks.task, twtasks.finished_task, and what functions of on_end write
 */
CREATE FUNCTION twtasks_internal.end_tasks(
	ids uuid[],
	statuses text[],
	reasons text[],
	OUT id uuid,
	OUT version bigint,
	OUT status twtasks.task_status)
RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 100
AS 'MODULE_PATHNAME', 'twt_end_tasks';
COMMENT ON FUNCTION twtasks_internal.asks_on_end IS 'Whether a policy of that type names a function for on_end. / CREATE FUNCTION twtasks_internal.asks_on_end(type text)';
COMMENT ON FUNCTION twtasks_internal.ended_live IS 'A task in ERROR, as functions of on_end get it. / CREATE FUNCTION twtasks_internal.ended_live(task twtasks.task)';
COMMENT ON FUNCTION twtasks_internal.ended_final IS 'A task of the history, as functions of on_end get it. / CREATE FUNCTION twtasks_internal.ended_final(task twtasks.finished_task)';
COMMENT ON FUNCTION twtasks_internal.end_now IS 'Does the work of end_tasks(), but calls no function of on_end.';
COMMENT ON FUNCTION twtasks_internal.end_tasks IS 'Ends live tasks that no worker finishes, and calls the functions of on_end. The caller holds locks on the rows.';

-- sql/run/set_outcome.sql
/*
 * twtasks_internal.check_outcome(outcome)
 *
 *		Raises an error unless the value can be the outcome of a task; NULL passes.
 *
 * Errors
 *		22023			it is no object, or has more than 8,192 bytes
 */
CREATE FUNCTION twtasks_internal.check_outcome(outcome jsonb)
RETURNS void
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_check_outcome';

/*
 * twtasks.set_outcome(outcome)
 *
 *		Sets the outcome of the task that the calling SQL handler runs, for the
 *		function of on_end.  The last call counts.
 *
 * Parameters
 *		outcome			a JSON object of at most 8,192 bytes as text
 *
 * Errors
 *		22004			outcome is NULL
 *		22023			outcome is no object, or too long
 *		55000			the caller is no SQL handler
 *		42501			the handler's role is neither a member of twtasks_producer nor of
 *						twtasks_worker
 *
 * Locks		none
 * Example		SELECT twtasks.set_outcome('{"payment": "p-17", "state": "booked"}');
 */
CREATE FUNCTION twtasks.set_outcome(outcome jsonb)
RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'twt_set_outcome';
COMMENT ON FUNCTION twtasks_internal.check_outcome IS 'Raises an error unless the value can be the outcome of a task; NULL passes.';
COMMENT ON FUNCTION twtasks.set_outcome IS 'Sets the outcome of the task that the calling SQL handler runs, for the function of on_end.  The last call counts.';

-- sql/run/request_cancel.sql
/* Requests that still apply to their tasks.  A request names the version that
 * its operator saw; a grab or the stuck rule may have added 1 since. */
CREATE VIEW twtasks.cancel_requests AS
	SELECT t.id, t.version, t.type, t.status, c.requested, c.actor, c.role, c.application, c.reason,
		   t.incarnation, t.queued,
		   pg_catalog.format('cancelled by %s%s', c.actor, ': ' || c.reason) AS why
	FROM twtasks.cancel_request c
	JOIN twtasks.task t ON t.id = c.task_id AND t.created = c.created
	WHERE t.status IN ('PROCESSING', 'SUBMITTED') AND t.version - c.version BETWEEN 0 AND 1;
COMMENT ON VIEW twtasks.cancel_requests IS 'Running tasks with a request to cancel them';

/*
 * twtasks.request_cancel(id, version, reason)
 *
 *		Cancels a task even when it runs.  A task that nobody runs (not started,
 *		accepted, or its node is gone) becomes CANCELLED at once, but not before
 *		its deadline if its policy's takeover says so.  Otherwise the request is
 *		stored, and the sidecar that runs the task is told.  A process gets TERM
 *		and a worker a message; a statement or HTTP request is cancelled.  Then the task becomes CANCELLED, unless its handler reports
 *		done first.  Effects of the handler until then remain.
 *
 * Returns
 *		result			'changed'		it is CANCELLED
 *						'requested'		it runs, and was asked to stop
 *						'not_found', 'wrong_version', 'wrong_status' (ERROR, or
 *						finished)		as change_task()
 *		version, status	of the task now
 *
 * Errors
 *		22004			id is NULL
 *
 * Writes		twtasks.task, twtasks.finished_task, twtasks.cancel_request,
 *				twtasks.audit
 * Locks		row lock; does not wait for a SQL handler that runs the task
 * Wakes		all sidecars, by NOTIFY
 * Example		SELECT * FROM twtasks.request_cancel('...', 1, 'wrong file');
 */
CREATE FUNCTION twtasks.request_cancel(id uuid, version bigint DEFAULT NULL, reason text DEFAULT NULL)
RETURNS twtasks.change_result
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
	task twtasks.task;
	is_ours boolean;
BEGIN
	SELECT t.* INTO task FROM twtasks.task t WHERE t.id = request_cancel.id
	FOR UPDATE SKIP LOCKED;
	is_ours := FOUND;
	IF NOT is_ours THEN
		SELECT t.* INTO task FROM twtasks.task t WHERE t.id = request_cancel.id;
		-- a SQL handler's transaction may have changed the task and not ended
		IF task.status <> 'SUBMITTED' THEN
			SELECT t.* INTO task FROM twtasks.task t WHERE t.id = request_cancel.id FOR UPDATE;
			is_ours := FOUND;
		END IF;
	END IF;
	IF task.id IS NULL OR task.version <> request_cancel.version
		OR NOT (task.status = 'PROCESSING' OR task.status = 'SUBMITTED' AND NOT is_ours) THEN
		RETURN twtasks_internal.change_task('cancel', id, version, NULL::timestamptz, reason);
	END IF;

	INSERT INTO twtasks.cancel_request AS c (task_id, version, created, requested, reason)
	VALUES (task.id, task.version, task.created, clock_timestamp(), request_cancel.reason)
	ON CONFLICT (task_id) DO UPDATE
	SET version = excluded.version, created = excluded.created,
		requested = excluded.requested, actor = excluded.actor, role = excluded.role,
		application = excluded.application, reason = excluded.reason;
	IF NOT task.queued AND is_ours
		OR task.status = 'PROCESSING' AND NOT EXISTS (
			SELECT FROM twtasks.node n
			WHERE n.incarnation = task.incarnation AND n.ended IS NULL)
		   AND twtasks_internal.may_still_run(task.type, task.deadline) IS NOT TRUE THEN
		RETURN (SELECT ('changed', f.version, f.status)::twtasks.change_result
				FROM twtasks_internal.cancel_now(ARRAY[task.id], ARRAY[task.version]) f);
	END IF;
	PERFORM twtasks_internal.write_audit('request_cancel', task.id, twtasks_internal.facts(task),
								twtasks_internal.facts(task), request_cancel.reason);
	DELETE FROM twtasks.cancel_request c
	WHERE c.requested < clock_timestamp() - interval '1 minute'
	  AND NOT EXISTS (SELECT FROM twtasks.cancel_requests r WHERE r.id = c.task_id);
	PERFORM pg_notify('twtasks_cancel', task.id::text);
	RETURN ('requested', task.version, task.status)::twtasks.change_result;
END $$;

/*
 * twtasks_internal.take_cancels(incarnation)
 *
 *		A sidecar calls this when it hears of a request_cancel(), and after each
 *		connect.  The call also cancels requested tasks that nobody runs.
 *
 * Parameters
 *		incarnation		of start_node()
 *
 * Returns
 *		id, version		of tasks to stop
 *		is_ours			true: this node has grabbed it; false: it is SUBMITTED and locked,
 *						perhaps by a SQL handler
 *		why				who asked, and the reason
 *
 * Writes		twtasks.task, twtasks.finished_task, twtasks.cancel_request,
 *				twtasks.audit
 * Locks		rows; does not wait
 */
CREATE FUNCTION twtasks_internal.take_cancels(
	incarnation bigint,
	OUT id uuid,
	OUT version bigint,
	OUT is_ours boolean,
	OUT why text)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER ROWS 10
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
	nobodys uuid[];
	versions bigint[];
BEGIN
	IF NOT EXISTS (SELECT FROM twtasks.cancel_request) THEN
		RETURN;
	END IF;
	SELECT array_agg(x.id), array_agg(x.version) INTO nobodys, versions
	FROM (SELECT t.id, t.version FROM twtasks.task t
		  WHERE t.id IN (SELECT c.id FROM twtasks.cancel_requests c
						 WHERE c.status = 'SUBMITTED' OR NOT c.queued)
			AND (t.status = 'SUBMITTED' OR NOT t.queued)
		  ORDER BY t.id FOR UPDATE SKIP LOCKED) x;
	IF nobodys IS NOT NULL THEN
		PERFORM FROM twtasks_internal.cancel_now(nobodys, versions);
	END IF;
	RETURN QUERY
	SELECT c.id, c.version, c.status = 'PROCESSING', c.why FROM twtasks.cancel_requests c
	WHERE c.status = 'SUBMITTED' OR c.incarnation = take_cancels.incarnation;
END $$;

/*
 * twtasks_internal.finish_cancelled(ids, versions, messages, grabs, incarnation, token)
 *
 *		Does the part of finish_tasks() for tasks that end as CANCELLED, if they have
 *		a request to cancel.
 *
 * Parameters
 *		messages		of the handlers; NULL: none
 *		others			as in finish_tasks()
 *
 * Returns
 *		id, version, status of the ended tasks; ended as in finish_others()
 *
 * Writes		twtasks.task, twtasks.finished_task, twtasks.cancel_request,
 *				twtasks.audit
 * Locks		rows
 */
CREATE FUNCTION twtasks_internal.finish_cancelled(
	ids uuid[],
	versions bigint[],
	messages text[],
	grabs bigint[],
	incarnation bigint,
	token bigint,
	OUT id uuid,
	OUT version bigint,
	OUT status twtasks.task_status,
	OUT ended twtasks.ended_task)
RETURNS SETOF record
LANGUAGE sql VOLATILE PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
	WITH gone AS (
		DELETE FROM twtasks.task t
		USING unnest(ids, versions, messages, grabs) u(id, version, message, "grab")
		JOIN twtasks.cancel_requests c ON c.id = u.id
		WHERE t.id = u.id AND t.version = u.version AND c.version = t.version
		  AND t.status = c.status
		  AND (u."grab" IS NULL
			   OR coalesce(t.token, u."grab") = u."grab"
				  AND coalesce(t.incarnation = finish_cancelled.incarnation, true))
		RETURNING t AS task, c.actor, c.role, c.application, c.reason,
				  coalesce(u.message, c.why) AS message),
	freed AS (
		DELETE FROM twtasks.cancel_request r USING gone g WHERE r.task_id = (g.task).id),
	ended AS (
		INSERT INTO twtasks.finished_task AS f
			(id, version, state_time, created, incarnation, token, status, tries, priority,
			 type, sub_type, bucket, key, error, data, payload, context, added_by)
		SELECT t.id, t.version + 1, twtasks.clock(), t.created, finish_cancelled.incarnation,
			   finish_cancelled.token, 'CANCELLED', t.tries, t.priority,
			   t.type, t.sub_type, t.bucket, t.key, twtasks_internal.cut_message(g.message),
			   t.data, t.payload, t.context, t.added_by
		FROM gone g CROSS JOIN LATERAL (SELECT (g.task).*) t
		RETURNING f.id, f.version, f.status, twtasks_internal.finished_facts(f) AS facts,
				  CASE WHEN twtasks_internal.asks_on_end(f.type) THEN twtasks_internal.ended_final(f) END AS ended),
	noted AS (
		INSERT INTO twtasks.audit
			(at, actor, role, application, action, task_id, from_version, to_version,
			 from_status, to_status, reason, before, after)
		SELECT clock_timestamp(), g.actor, g.role, g.application, 'cancel', e.id, e.version - 1,
			   e.version, (g.task).status, e.status, g.reason,
			   twtasks_internal.only_in(twtasks_internal.facts(g.task), e.facts),
			   twtasks_internal.only_in(e.facts, twtasks_internal.facts(g.task))
		FROM gone g JOIN ended e ON e.id = (g.task).id)
	SELECT e.id, e.version, e.status, e.ended FROM ended e
$$;

/*
 * twtasks_internal.cancel_now(ids, versions)
 *
 *		Ends tasks that nobody runs as CANCELLED, if they have a request to cancel.
 *		The caller holds locks on the rows.
 *
 * Returns
 *		id, version, status of the ended tasks; ERROR: a function of on_end failed
 *
 * Writes		as finish_cancelled()
 */
CREATE FUNCTION twtasks_internal.cancel_now(
	ids uuid[], versions bigint[], OUT id uuid, OUT version bigint, OUT status twtasks.task_status)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY
	SELECT f.id, f.version, f.status FROM twtasks_internal.finish_tasks(
		ids, versions, '{cancelled}'::text[], '{NULL}'::bigint[], '{NULL}'::text[], NULL::bigint, NULL::bigint) f;
END $$;

/*
 * twtasks_internal.honour_cancels(ids, versions, results)
 *
 *		The results of a finish, after requests to cancel: a result that does
 *		not end its task becomes 'cancelled'.
 *
 * Returns
 *		the results; 'done', 'delete', 'later' and 'fault' stay as they are
 */
CREATE FUNCTION twtasks_internal.honour_cancels(ids uuid[], versions bigint[], results text[])
RETURNS text[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
BEGIN
	IF NOT EXISTS (SELECT FROM twtasks.cancel_request) THEN
		RETURN results;
	END IF;
	RETURN ARRAY(
		SELECT CASE WHEN u.result NOT IN ('done', 'delete', 'later', 'fault') AND c.id IS NOT NULL
					THEN 'cancelled' ELSE u.result END
		FROM unnest(ids, versions, results) WITH ORDINALITY u(id, version, result, place)
		LEFT JOIN twtasks.cancel_requests c ON c.id = u.id AND c.version = u.version
		ORDER BY u.place);
END $$;

/*
 * twtasks_internal.cancel_orphans(ids)
 *
 *		Ends the tasks with a request to cancel, before the stuck rule is
 *		applied.  The caller holds locks on the rows.
 *
 * Returns
 *		the ids of the remaining tasks
 */
CREATE FUNCTION twtasks_internal.cancel_orphans(ids uuid[])
RETURNS uuid[]
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
DECLARE
	cancelled uuid[];
BEGIN
	IF NOT EXISTS (SELECT FROM twtasks.cancel_request) THEN
		RETURN ids;
	END IF;
	cancelled := ARRAY(
		SELECT f.id FROM twtasks_internal.cancel_now(
			ids, ARRAY(SELECT t.version
					   FROM unnest(ids) WITH ORDINALITY u(id, place)
					   JOIN twtasks.task t ON t.id = u.id ORDER BY u.place)) f);
	RETURN ARRAY(SELECT u FROM unnest(ids) u WHERE u <> ALL (cancelled));
END $$;
COMMENT ON FUNCTION twtasks.request_cancel IS 'Cancels a task even when it runs.  A task that nobody runs (not started, accepted, or its node is gone) becomes CANCELLED at once, but not before its deadline if its policy''s takeover says so.  Otherwise the request is stored, and the sidecar that runs the task is told.  A process gets TERM and a worker a message; a statement or HTTP request is cancelled.  Then the task becomes CANCELLED, unless its handler reports done first.  Effects of the handler until then remain.';
COMMENT ON FUNCTION twtasks_internal.take_cancels IS 'A sidecar calls this when it hears of a request_cancel(), and after each connect.  The call also cancels requested tasks that nobody runs.';
COMMENT ON FUNCTION twtasks_internal.finish_cancelled IS 'Does the part of finish_tasks() for tasks that end as CANCELLED, if they have a request to cancel.';
COMMENT ON FUNCTION twtasks_internal.cancel_now IS 'Ends tasks that nobody runs as CANCELLED, if they have a request to cancel. The caller holds locks on the rows.';
COMMENT ON FUNCTION twtasks_internal.honour_cancels IS 'The results of a finish, after requests to cancel: a result that does not end its task becomes ''cancelled''.';
COMMENT ON FUNCTION twtasks_internal.cancel_orphans IS 'Ends the tasks with a request to cancel, before the stuck rule is applied.  The caller holds locks on the rows.';

-- sql/run/finish_tasks.sql
/*
 * twtasks_internal.finish_tasks(ids, versions, results, delays_ms, messages, incarnation, token, grabs, places, retries, ask, raises, outcomes, adds)
 *
 *		Ends tries of tasks: every way of a worker out of PROCESSING.
 *
 * Parameters
 *		ids, versions	as the grab returned them
 *		results			for each: 'done'		DONE, kept in the history
 *								'delete'	finished, no trace kept
 *								'retry'		WAITING for delays_ms, tries counted
 *								'repeat'	WAITING for delays_ms, tries anew
 *								'error'		ERROR: a person must look
 *								'accepted'	stays PROCESSING, with the same version,
 *											until somebody finishes it or its
 *											deadline passes
 *								'release'	SUBMITTED again, or WAITING for delays_ms; the
 *											try does not count
 *								'cancelled'	CANCELLED, if request_cancel() asked for
 *											that; then every result but done and
 *											delete becomes cancelled
 *		delays_ms		retry, repeat and release: 0 or more, NULL as 0; accepted: the
 *						deadline if more than 0, but not after that of the grab
 *		messages		NULL, or text that is kept with the task; a long text is cut in
 *						the middle
 *		incarnation		the node that finishes; NULL for somebody who finishes an
 *						accepted task
 *		token			a number for this call; NULL where incarnation is
 *		grabs			for each: the token of its grab by that incarnation, or NULL for
 *						any; needed after a grab that was not durable
 *		places			for each: where grab_tasks() left the row, or NULL; saves a
 *						look into the index, and a wrong place does no harm.  NULL or an
 *						empty array: not known
 *		retries			for each: the retry policy of a type that configure_type() gave
 *						none.  Then the policies judge retry, also after a failure, and
 *						repeat, and say how long if the delay is NULL.  NULL: the result
 *						counts as it is
 *		ask				whether to ask functions of policies.  The call asks them before
 *						it locks a row, for about twtasks.function_timeout in all
 *		raises			whether the call fails if a function of on_end fails, or tasks
 *						cannot be added; false: the task becomes ERROR
 *		outcomes		for each: NULL, or the object for functions of on_end.  NULL: none
 *						has one
 *		adds			for each: NULL, or tasks that are added if the task becomes
 *						finished by this call, as by add_tasks(jsonb) and with its
 *						context; with done and delete only.  The caller adds them.
 *						NULL: none has any
 *
 *		An array with one element gives it to all tasks, except ids and places.
 *
 * Returns
 *		id, version, status of the tasks whose finish was accepted.  A missing task
 *		was taken over, finished or changed by another: the result came too late
 *		and changed nothing.  Functions of other extensions hear of that.  A task
 *		that is PROCESSING, and not accepted, is left, because functions took
 *		too long before it, or because another transaction claims the key of a
 *		task to add: finish it again within an hour, for which its deadline moves
 *		delay_ms		of a WAITING task
 *
 * Errors
 *		22004			an array other than grabs, places and retries is NULL
 *		22023			the arrays differ in length, or a result is not one of
 *						the above, an outcome is no object, or tasks to add are no array or
 *						come with another result; then nothing is finished.  Or a retry
 *						policy is not valid
 *		25001			a task has a function for on_end, and the transaction is not READ
 *						COMMITTED
 *		42501			called within a security-restricted operation, such as ANALYZE
 *
 * Writes		twtasks.task, twtasks.finished_task, twtasks.unique_key, and what
 *				functions of on_end and for late results write, and what
 *				add_tasks() writes
 * Locks		rows, in the order given
 * Wakes		a sidecar for released and added tasks at once, for others at their time
 * Example		SELECT * FROM twtasks_internal.finish_tasks(ARRAY[...]::uuid[], '{1}', '{done}', '{0}', '{NULL}', 7, 2);
 */
CREATE FUNCTION twtasks_internal.finish_tasks(
	ids uuid[],
	versions bigint[],
	results text[],
	delays_ms bigint[],
	messages text[],
	incarnation bigint,
	token bigint,
	grabs bigint[] DEFAULT NULL,
	places tid[] DEFAULT NULL,
	retries jsonb[] DEFAULT NULL,
	ask boolean DEFAULT false,
	raises boolean DEFAULT false,
	outcomes jsonb[] DEFAULT NULL,
	adds jsonb[] DEFAULT NULL,
	OUT id uuid,
	OUT version bigint,
	OUT status twtasks.task_status,
	OUT delay_ms bigint)
RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 100
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'twt_finish_tasks';

/*
 * twtasks_internal.finish_others(...)
 *
 *		Does the part of finish_tasks() for all results but 'done' and 'delete'.
 *
 * Parameters
 *		results			also 'later', which leaves the task as it is but for its deadline:
 *						that moves to an hour from now, if it was earlier, since the
 *						handler has ended; and 'fault', an error that
 *						no request to cancel stops
 *		others			as in finish_tasks()
 *
 * Returns
 *		ended			for functions of on_end; NULL: none wants it
 *		others			as finish_tasks()
 *
 * Writes		as finish_tasks()
 * Locks		rows, in the order given
 */
CREATE FUNCTION twtasks_internal.finish_others(
	ids uuid[],
	versions bigint[],
	results text[],
	delays_ms bigint[],
	messages text[],
	incarnation bigint,
	token bigint,
	grabs bigint[],
	OUT id uuid,
	OUT version bigint,
	OUT status twtasks.task_status,
	OUT delay_ms bigint,
	OUT ended twtasks.ended_task)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 100
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
	started CONSTANT timestamptz := twtasks.clock();
	-- beyond this a delay would leave the range of timestamps
	longest CONSTANT bigint := 100 * 365 * 86400000::bigint;
	n CONSTANT integer := cardinality(ids);
	places tid[];
BEGIN
	-- one element stands for all
	IF n > 1 AND cardinality(versions) = 1 THEN versions := array_fill(versions[1], ARRAY[n]); END IF;
	IF n > 1 AND cardinality(results) = 1 THEN results := array_fill(results[1], ARRAY[n]); END IF;
	IF n > 1 AND cardinality(delays_ms) = 1 THEN delays_ms := array_fill(delays_ms[1], ARRAY[n]); END IF;
	IF n > 1 AND cardinality(messages) = 1 THEN messages := array_fill(messages[1], ARRAY[n]); END IF;
	IF n > 1 AND cardinality(grabs) = 1 THEN grabs := array_fill(grabs[1], ARRAY[n]); END IF;

	-- A statement that has waited for a lock does not see the new row.  A later
	-- snapshot does, so the changes are statements of their own.
	places := ARRAY(
		SELECT (SELECT t.ctid FROM twtasks.task t
				WHERE t.id = u.id AND t.version = u.version
				  AND (t.status = 'PROCESSING' OR t.status = 'SUBMITTED' AND u.result = 'fault')
				  AND (u."grab" IS NULL
					   OR coalesce(t.token, u."grab") = u."grab"
						  AND coalesce(t.incarnation = finish_others.incarnation, true))
				  AND u.result NOT IN ('done', 'delete')
				FOR UPDATE)
		FROM unnest(ids, versions, results, grabs) WITH ORDINALITY
			 u(id, version, result, "grab", place)
		ORDER BY u.place);
	results := twtasks_internal.honour_cancels(ids, versions, results);
	IF 'cancelled' = ANY (results) THEN
		RETURN QUERY
		SELECT f.id, f.version, f.status, NULL::bigint, f.ended FROM (SELECT array_agg(u.id), array_agg(u.version), array_agg(u.message),
								array_agg(u."grab")
						 FROM unnest(ids, versions, results, messages, grabs)
							  u(id, version, result, message, "grab")
						 WHERE u.result = 'cancelled') w(ids, versions, messages, grabs),
			twtasks_internal.finish_cancelled(w.ids, w.versions, w.messages, w.grabs,
									 finish_others.incarnation, finish_others.token) f;
	END IF;

	RETURN QUERY
	UPDATE twtasks.task t SET deadline = greatest(t.deadline, started + interval '1 hour')
	FROM unnest(places, results) u(place, result)
	WHERE t.ctid = u.place AND u.result = 'later'
	RETURNING t.id, t.version, 'PROCESSING'::twtasks.task_status, NULL::bigint, NULL::twtasks.ended_task;

	RETURN QUERY
	WITH changed AS (
		UPDATE twtasks.task t
		SET status = CASE w.result WHEN 'error' THEN 'ERROR'
								   WHEN 'fault' THEN 'ERROR'
								   WHEN 'accepted' THEN 'PROCESSING'
								   WHEN 'release' THEN CASE WHEN w.until IS NULL THEN 'SUBMITTED' ELSE 'WAITING' END
								   ELSE 'WAITING' END::twtasks.task_status,
			version = t.version + CASE w.result WHEN 'accepted' THEN 0 ELSE 1 END,
			queued = w.result = 'release' AND w.until IS NULL,
			state_time = started,
			next_event_time = CASE w.result
				WHEN 'error' THEN 'infinity'
				WHEN 'fault' THEN 'infinity'
				WHEN 'accepted' THEN least(t.deadline, w.until)
				WHEN 'release' THEN coalesce(w.until, t.next_event_time)
				ELSE w.due END,
			tries = CASE w.result WHEN 'repeat' THEN 0
								  WHEN 'release' THEN t.tries - 1
								  ELSE t.tries END,
			deadline = CASE w.result WHEN 'accepted' THEN least(t.deadline, w.until) END,
			incarnation = CASE w.result WHEN 'accepted' THEN NULL
										ELSE finish_others.incarnation END,
			token = finish_others.token,
			error = CASE w.result WHEN 'repeat' THEN NULL
								  ELSE coalesce(twtasks_internal.cut_message(w.message), t.error) END
		FROM (SELECT u.place, u.result, u.message, d.due, CASE WHEN u.delay_ms > 0 THEN d.due END AS until
			  FROM unnest(places, results, delays_ms, messages) u(place, result, delay_ms, message),
				  LATERAL (SELECT started + least(greatest(u.delay_ms, 0), longest)
							 * interval '1 millisecond') d(due)) w
		WHERE t.ctid = w.place AND w.result NOT IN ('done', 'delete', 'cancelled', 'later')
		RETURNING t.*),
	queued AS (
		SELECT c.*, twtasks_internal.queue_trigger(c.id, c.version, c.bucket, c.type, c.priority, c.size,
					CASE c.status WHEN 'WAITING' THEN c.next_event_time END)
		FROM changed c WHERE c.status IN ('WAITING', 'SUBMITTED'))
	SELECT c.id, c.version, c.status, NULL::bigint,
		   CASE WHEN c.status = 'ERROR' AND twtasks_internal.asks_on_end(c.type) THEN twtasks_internal.ended_live(c) END
	FROM changed c WHERE c.status IN ('ERROR', 'PROCESSING')
	UNION ALL
	SELECT q.id, q.version, q.status,
		   CASE q.status WHEN 'WAITING' THEN (extract(epoch FROM q.next_event_time - started) * 1000)::bigint END,
		   NULL
	FROM queued q;
END $$;

/*
 * twtasks_internal.resolve_finish(ids, versions, incarnation, token)
 *
 *		Returns the tasks that a lost call of finish_tasks() has finished, after the
 *		same call was sent again.
 *
 * Parameters
 *		as they were given to finish_tasks()
 *
 * Returns
 *		ids, also of tasks that left no trace
 *
 * Locks		none
 */
CREATE FUNCTION twtasks_internal.resolve_finish(
	ids uuid[],
	versions bigint[],
	incarnation bigint,
	token bigint)
RETURNS TABLE (id uuid)
LANGUAGE sql STABLE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT w.id
	FROM unnest(ids, versions) w(id, version)
	LEFT JOIN twtasks.task t ON t.id = w.id
	LEFT JOIN twtasks.finished_task f ON f.id = w.id
	WHERE (t.id IS NULL AND f.id IS NULL)
	   OR (t.version >= w.version AND t.token = resolve_finish.token
		   AND (t.incarnation = resolve_finish.incarnation OR t.status = 'PROCESSING'))
	   OR (f.version = w.version + 1 AND f.token = resolve_finish.token
		   AND f.incarnation = resolve_finish.incarnation)
$$;
COMMENT ON FUNCTION twtasks_internal.finish_tasks IS 'Ends tries of tasks: every way of a worker out of PROCESSING.';
COMMENT ON FUNCTION twtasks_internal.finish_others IS 'Does the part of finish_tasks() for all results but ''done'' and ''delete''.';
COMMENT ON FUNCTION twtasks_internal.resolve_finish IS 'Returns the tasks that a lost call of finish_tasks() has finished, after the same call was sent again.';

-- sql/run/tell_late.sql
/*
 * twtasks_internal.call_late(name, late)
 *
 *		Calls a function for late results as its owner, for at most
 *		twtasks.function_timeout.
 *
 * Errors
 *		42883			there is no such function (twtasks.late_result[]) returns void
 *		53400			the function took too long; all errors of the function
 */
CREATE FUNCTION twtasks_internal.call_late(name text, late twtasks.late_result[])
RETURNS void
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_call_late';

/*
 * twtasks_internal.tell_late(ids, versions, results, messages, outcomes)
 *
 *		Calls the functions of other extensions that hear of late results: each
 *		function of this schema whose name begins with late_ and whose parameter is
 *		twtasks.late_result[].  Such a function comes with CREATE EXTENSION and goes
 *		with DROP EXTENSION.  finish_tasks() calls this for the results that it
 *		refuses, in its transaction, after it has finished the others.
 *
 *		A late result is a claim.  Everybody who may finish tasks can make it, for
 *		any id and version, also for a task that never was.  After a lost connection
 *		a sidecar sends its call again, so results that were taken the first time, and
 *		late ones, come here once more.
 *
 *		Results that say nothing about the work are left out: release, accepted and
 *		cancelled.  A function that fails leaves nothing behind, logs a warning, and
 *		stops neither the others nor the finish.
 *
 * Parameters
 *		as they were given to finish_tasks(); outcomes and messages may be NULL
 *
 * Writes		what the functions write
 */
CREATE FUNCTION twtasks_internal.tell_late(
	ids uuid[],
	versions bigint[],
	results text[],
	messages text[],
	outcomes jsonb[])
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	late CONSTANT twtasks.late_result[] := ARRAY(
		SELECT (u.id, u.version, u.result, twtasks_internal.cut_message(u.message), u.outcome)::twtasks.late_result
		FROM unnest(ids, versions, results, messages, outcomes)
			 WITH ORDINALITY u(id, version, result, message, outcome, place)
		WHERE u.result IN ('done', 'delete', 'retry', 'repeat', 'error')
		ORDER BY u.place);
	name text;
BEGIN
	IF cardinality(late) = 0 THEN
		RETURN;
	END IF;
	FOR name IN
		SELECT 'twtasks_internal.' || quote_ident(p.proname) FROM pg_proc p
		WHERE p.proname ^@ 'late_' AND p.pronamespace = 'twtasks_internal'::regnamespace
		  AND p.pronargs = 1 AND p.proargtypes[0] = 'twtasks.late_result[]'::regtype
		ORDER BY p.proname
	LOOP
		BEGIN
			PERFORM twtasks_internal.call_late(name, late);
		EXCEPTION WHEN OTHERS THEN
			RAISE WARNING 'function "%" for late results failed: %', name, SQLERRM
				USING ERRCODE = SQLSTATE,
					DETAIL = format('%s results are lost for it; the first is of task %s, version %s.',
									cardinality(late), (late[1]).id, (late[1]).version);
		END;
	END LOOP;
END $$;
COMMENT ON FUNCTION twtasks_internal.call_late IS 'Calls a function for late results as its owner, for at most twtasks.function_timeout.';
COMMENT ON FUNCTION twtasks_internal.tell_late IS 'Calls the functions of other extensions that hear of late results: each function of this schema whose name begins with late_ and whose parameter is twtasks.late_result[].  Such a function comes with CREATE EXTENSION and goes with DROP EXTENSION.  finish_tasks() calls this for the results that it refuses, in its transaction, after it has finished the others.';

-- sql/queue/sweep_tasks.sql
/*
 * twtasks_internal.sweep_tasks(bucket, per_type, skip, share, shares, most, after)
 *
 *		Reads SUBMITTED tasks from the table itself, in case triggers were lost.
 *		Changes nothing.
 *
 * Parameters
 *		bucket			bucket to read
 *		per_type		at most this many of each type, the most urgent first
 *		skip			types to leave out, since the caller has plenty of their tasks
 *		share, shares	the part of the ids that this sidecar reads, among several
 *						sidecars; 0 and 1: all
 *		most			after this many in all, only one of each further type
 *		after			last tasks of their types that an earlier call returned: their
 *						types are read from there, unless the task is gone or the
 *						type's tasks rise as they wait
 *
 * Returns
 *		priority		the priority to which aging has raised the task
 *		place			location of the row, for grab_tasks()
 *		no row for a NULL argument, or if this database is a copy and not adopted
 *
 * Locks		none
 */
CREATE FUNCTION twtasks_internal.sweep_tasks(
	bucket text,
	per_type integer,
	skip text[] DEFAULT '{}',
	share integer DEFAULT 0,
	shares integer DEFAULT 1,
	most integer DEFAULT 2147483647,
	after uuid[] DEFAULT '{}',
	OUT id uuid,
	OUT version bigint,
	OUT type text,
	OUT priority smallint,
	OUT size integer,
	OUT place tid)
RETURNS SETOF record
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER ROWS 1000
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'twt_sweep_tasks';

/*
 * twtasks_internal.expire_tasks(batch)
 *
 *		Makes tasks FAILED that have not started in time: SUBMITTED tasks, and
 *		WAITING tasks, whose time to run may be far away.
 *
 * Parameters
 *		batch			at most this many in one call
 *
 * Returns
 *		number of tasks; 0 if this database is a copy and not adopted
 *
 * Writes		as end_tasks()
 * Locks		rows; skips rows that others have locked
 */
CREATE FUNCTION twtasks_internal.expire_tasks(batch integer DEFAULT 1000)
RETURNS bigint
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	moment CONSTANT timestamptz := twtasks.clock();
	late uuid[];
BEGIN
	late := ARRAY(
		SELECT t.id FROM twtasks.task t
		WHERE t.expires <= moment AND t.status IN ('SUBMITTED', 'WAITING') AND twtasks.is_adopted()
		LIMIT batch FOR UPDATE SKIP LOCKED);
	RETURN (SELECT count(*) FROM twtasks_internal.end_tasks(late, '{FAILED}'::text[],
															'{expired before it was started}'::text[]));
END $$;
COMMENT ON FUNCTION twtasks_internal.sweep_tasks IS 'Reads SUBMITTED tasks from the table itself, in case triggers were lost. Changes nothing.';
COMMENT ON FUNCTION twtasks_internal.expire_tasks IS 'Makes tasks FAILED that have not started in time: SUBMITTED tasks, and WAITING tasks, whose time to run may be far away.';

-- sql/queue/promote_tasks.sql
/*
 * twtasks_internal.promote_tasks(batch)
 *
 *		Makes WAITING tasks whose time has come SUBMITTED.
 *
 * Parameters
 *		batch			at most this many in one call
 *
 * Returns
 *		promoted		number of tasks
 *		next_ms			milliseconds until the next task is due; 0: more are due now;
 *						NULL: none waits, or this database is a copy and not adopted
 *
 * Writes		twtasks.task
 * Locks		rows, the earliest first; skips rows that others have locked
 * Wakes		sidecars of the tasks' buckets
 */
CREATE FUNCTION twtasks_internal.promote_tasks(
	batch integer DEFAULT 1000,
	OUT promoted bigint,
	OUT next_ms bigint)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
DECLARE
	started CONSTANT timestamptz := twtasks.clock();
BEGIN
	promoted := 0;
	IF NOT twtasks.is_adopted() THEN
		RETURN;
	END IF;
	WITH due AS (
		SELECT t.id, t.version FROM twtasks.task t
		WHERE NOT t.queued AND t.status = 'WAITING' AND t.next_event_time <= started
		ORDER BY t.next_event_time
		LIMIT batch FOR UPDATE SKIP LOCKED),
	changed AS (
		UPDATE twtasks.task t
		SET status = 'SUBMITTED', version = t.version + 1, queued = true,
			state_time = started, next_event_time = started + twtasks_internal.queue_time(t.type)
		FROM due d
		WHERE t.id = d.id AND t.version = d.version AND t.status = 'WAITING'
		RETURNING t.*)
	SELECT count(twtasks_internal.queue_trigger(c.id, c.version, c.bucket, c.type,
									   c.priority, c.size, NULL::timestamptz))
	INTO promoted FROM changed c;

	-- A task that is due and was skipped is locked: do not try it again at once.
	SELECT least(
		(SELECT CASE WHEN promoted < batch THEN least(500, batch * 500) ELSE 0 END
		 FROM twtasks.task t
		 WHERE NOT t.queued AND t.status = 'WAITING' AND t.next_event_time <= started
		 LIMIT 1),
		(SELECT greatest(0, ceil(extract(epoch FROM t.next_event_time - twtasks.clock()) * 1000))
		 FROM twtasks.task t
		 WHERE NOT t.queued AND t.status = 'WAITING'
		   AND t.next_event_time > started AND t.next_event_time < 'infinity'
		 ORDER BY t.next_event_time LIMIT 1))
	INTO next_ms;
END $$;
COMMENT ON FUNCTION twtasks_internal.promote_tasks IS 'Makes WAITING tasks whose time has come SUBMITTED.';

-- sql/cluster/nodes.sql
/*
 * twtasks_internal.start_node(name, lease, environment, buckets, types)
 *
 *		A sidecar starts: gives it an incarnation, and ties the incarnation's
 *		life to this session.
 *
 * Parameters
 *		name			for people
 *		lease			silence after which it counts as gone although its session
 *						lives (a frozen process, a cut network)
 *		environment		in the sidecar's configuration
 *		buckets			buckets that it works for; NULL: not known
 *		types			types that it handles, or beginnings of types and a *; NULL:
 *						not known
 *
 * Returns
 *		the incarnation, never used before; NULL: the sidecar must not execute
 *		tasks here, see refusal()
 *
 * Writes		twtasks.node, twtasks.handled_type, twtasks.refused_node,
 *				twtasks.adoption, a file (see renew_marker())
 * Locks		the node's lock, until the session ends
 */
CREATE FUNCTION twtasks_internal.start_node(
	name text, lease interval DEFAULT '30 seconds', environment text DEFAULT NULL,
	buckets text[] DEFAULT NULL, types text[] DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	started bigint;
BEGIN
	IF name IS NULL OR lease IS NULL THEN
		RETURN NULL;
	END IF;
	IF twtasks_internal.refusal(environment) IS NOT NULL THEN
		PERFORM twtasks_internal.note_refusal(name, twtasks_internal.refusal(environment));
		RETURN NULL;
	END IF;
	DELETE FROM twtasks.refused_node r WHERE r.name = start_node.name;
	PERFORM twtasks_internal.renew_marker();
	INSERT INTO twtasks.node (name, started, heartbeat, lease, buckets, types)
	VALUES (start_node.name, clock_timestamp(), clock_timestamp(), start_node.lease,
			start_node.buckets, start_node.types)
	RETURNING incarnation INTO started;
	PERFORM twtasks_internal.note_types(types);
	PERFORM twtasks_internal.heartbeat(started);
	RETURN started;
END $$;

/*
 * twtasks_internal.note_refusal(name, refusal)
 *
 *		Lets twtasks.warnings show a refused sidecar.  Does nothing in a copy
 *		that was not adopted, where all are refused.
 *
 * Writes		twtasks.refused_node, at most every half minute
 * Locks		row lock
 */
CREATE FUNCTION twtasks_internal.note_refusal(name text, refusal text)
RETURNS void
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	moment CONSTANT timestamptz := clock_timestamp();
BEGIN
	IF NOT twtasks.is_adopted()
		OR EXISTS (SELECT FROM twtasks.refused_node r
				   WHERE r.name = note_refusal.name AND r.refusal = note_refusal.refusal
					 AND r.at BETWEEN moment - interval '30 s' AND moment) THEN
		RETURN;
	END IF;
	DELETE FROM twtasks.refused_node r WHERE r.at < moment - interval '1 day';
	INSERT INTO twtasks.refused_node AS r (name, refusal, since, at)
	VALUES (note_refusal.name, note_refusal.refusal, moment, moment)
	ON CONFLICT ON CONSTRAINT refused_node_pkey DO UPDATE
	SET refusal = EXCLUDED.refusal, at = EXCLUDED.at;
END $$;

/*
 * twtasks_internal.note_types(types)
 *
 *		Remembers the types that sidecars handle, and forgets types that no
 *		sidecar has handled for 30 days.
 *
 * Writes		twtasks.handled_type
 * Locks		row locks, in order of the names
 */
CREATE FUNCTION twtasks_internal.note_types(types text[])
RETURNS void
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	moment CONSTANT timestamptz := clock_timestamp();
BEGIN
	INSERT INTO twtasks.handled_type AS h (pattern, started)
	SELECT DISTINCT p.pattern COLLATE "C", moment FROM unnest(types) p(pattern)
	WHERE p.pattern IS NOT NULL ORDER BY 1
	ON CONFLICT ON CONSTRAINT handled_type_pkey DO UPDATE
	SET started = EXCLUDED.started WHERE h.started < moment - interval '1 day';
	DELETE FROM twtasks.handled_type h
	WHERE h.pattern IN (
		SELECT o.pattern FROM twtasks.handled_type o
		WHERE o.started < moment - interval '30 days'
		  AND NOT EXISTS (SELECT FROM twtasks.node n
						  WHERE n.ended IS NULL AND o.pattern = ANY (n.types))
		FOR UPDATE SKIP LOCKED);
END $$;

/*
 * twtasks_internal.note_faults(incarnation, faults)
 *
 *		Lets twtasks.warnings show the handlers that a node cannot start.
 *
 * Writes		twtasks.node, if the faults have changed
 * Locks		row lock
 */
CREATE FUNCTION twtasks_internal.note_faults(incarnation bigint, faults text[])
RETURNS void
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
	UPDATE twtasks.node n SET faults = note_faults.faults
	WHERE n.incarnation = note_faults.incarnation AND n.ended IS NULL
	  AND n.faults IS DISTINCT FROM note_faults.faults
$$;

/*
 * twtasks_internal.watch_session()
 *
 *		Tells the sidecars that wait in next_triggers() when this session ends.
 */
CREATE FUNCTION twtasks_internal.watch_session()
RETURNS void
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_watch_session';

/*
 * twtasks_internal.heartbeat(incarnation, again_ms)
 *
 *		Says that the sidecar lives.  After a lost connection, the new session
 *		takes the incarnation over by this call.
 *
 * Parameters
 *		incarnation		of start_node()
 *		again_ms		milliseconds until the next heartbeat
 *
 * Returns
 *		false: the node was declared gone, or this database is a copy and not
 *		adopted.  Its tasks belong to others: it must stop them and start anew
 *
 * Writes		twtasks.node
 * Locks		the node's lock, until the session ends; waits briefly (200 ms) for it,
 *				since a dead session that the server has not noticed may hold it
 */
CREATE FUNCTION twtasks_internal.heartbeat(incarnation bigint, again_ms bigint DEFAULT 6000)
RETURNS boolean
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '200ms'
AS $$
DECLARE
	lock_id CONSTANT bigint := twtasks_internal.node_lock(heartbeat.incarnation);
BEGIN
	UPDATE twtasks.node n
	SET heartbeat = clock_timestamp(), missing_since = NULL, silent_since = NULL,
		next_tick = clock_timestamp() + again_ms * interval '1 millisecond'
	WHERE n.incarnation = heartbeat.incarnation AND n.ended IS NULL AND twtasks.is_adopted();
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	IF NOT twtasks_internal.session_holds(lock_id) THEN
		BEGIN
			PERFORM twtasks_internal.lock_session(lock_id);
			PERFORM twtasks_internal.watch_session();
		EXCEPTION WHEN lock_not_available THEN
			NULL;
		END;
	END IF;
	RETURN true;
END $$;

/*
 * twtasks_internal.end_node(incarnation)
 *
 *		The sidecar ends in order: the next recover_tasks() applies the stuck
 *		rule to the tasks that it left, without delay.
 *
 * Writes		twtasks.node
 * Locks		row lock
 */
CREATE FUNCTION twtasks_internal.end_node(incarnation bigint)
RETURNS void
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
	UPDATE twtasks.node n SET ended = clock_timestamp()
	WHERE n.incarnation = end_node.incarnation AND n.ended IS NULL
$$;

/*
 * twtasks_internal.overdue_at(next_tick)
 *
 *		The time from which a leader with that next_tick is late.  A tick that
 *		failed is repeated after a second.
 */
CREATE FUNCTION twtasks_internal.overdue_at(next_tick timestamptz)
RETURNS timestamptz
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT next_tick + interval '1.5 seconds' $$;

/*
 * twtasks_internal.try_to_lead(incarnation, claim)
 *
 *		Makes a living node the leader, unless another leader lives and ticks in
 *		time.  A leader that is late keeps its place while its session is at
 *		work, as in a long duty.
 *
 * Parameters
 *		claim			the word of a judge outside of the database: true takes the
 *						mark from whichever node has it, false gives it up; NULL:
 *						no judge
 *
 * Returns
 *		whether it leads now
 *
 * Writes		twtasks.node
 * Locks		node_lock(0) for the rest of the transaction; does not wait
 */
CREATE FUNCTION twtasks_internal.try_to_lead(incarnation bigint, claim boolean DEFAULT NULL)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	other record;
	leads boolean;
BEGIN
	SELECT n.leads INTO leads FROM twtasks.node n
	WHERE n.incarnation = try_to_lead.incarnation;
	IF leads AND NOT claim THEN
		UPDATE twtasks.node n SET leads = false WHERE n.incarnation = try_to_lead.incarnation;
		RETURN false;
	END IF;
	IF leads OR NOT claim OR NOT twtasks_internal.try_lock(twtasks_internal.node_lock(0::bigint)) THEN
		RETURN leads;
	END IF;
	FOR other IN
		SELECT n.incarnation, n.next_tick FROM twtasks.node n
		WHERE n.leads AND n.ended IS NULL AND claim IS NULL
		  -- a heartbeat in the future is from before the clock was put back
		  AND n.heartbeat BETWEEN clock_timestamp() - n.lease AND clock_timestamp() + n.lease / 2
	LOOP
		-- shared: others may be asking the same at this moment
		IF twtasks_internal.session_holds(twtasks_internal.node_lock(other.incarnation))
			OR NOT twtasks_internal.try_lock(twtasks_internal.node_lock(other.incarnation), shared => true) THEN
			CONTINUE WHEN twtasks_internal.overdue_at(other.next_tick) < clock_timestamp()
				AND NOT twtasks_internal.session_holds(twtasks_internal.node_lock(other.incarnation))
				AND twtasks_internal.session_is_idle(twtasks_internal.node_lock(other.incarnation));
			RETURN false;
		END IF;
	END LOOP;
	UPDATE twtasks.node n SET leads = n.incarnation = try_to_lead.incarnation
	WHERE n.leads OR n.incarnation = try_to_lead.incarnation;
	RETURN true;
END $$;

/*
 * twtasks_internal.tick(incarnation, again_ms, claim)
 *
 *		A sidecar calls this every few seconds: it gives its heartbeat, and
 *		learns who leads and how many nodes share the work.
 *
 *		The marked leader leads as long as its session lives and it ticks in
 *		time.  Then the next node that asks leads.  Version and status guard all
 *		duties, so two leaders cost work and nothing else.
 *
 * Parameters
 *		incarnation		of start_node()
 *		again_ms		milliseconds until the caller's next tick
 *		claim			as try_to_lead() has it
 *
 * Returns
 *		alive			as heartbeat()
 *		is_held			false while another session still holds the incarnation:
 *						call again within a second or two
 *		is_leader		whether it does the leader's duties
 *		place, nodes	this node's number, from 0, among so many living nodes
 *		clock			the database's clock, by which tasks are due
 *		ahead_us		how far a test has shifted that clock
 *		has_work		whether a task is SUBMITTED or PROCESSING; if not, there is
 *						nothing to sweep, recover or expire
 *		next_ms			milliseconds until a task or schedule is due; NULL: none waits
 *		look_ms			milliseconds until another node, which leads, is late unless it
 *						ticks: tick again then; NULL: no other node leads
 *
 * Writes		twtasks.node
 * Locks		row lock; the node's lock, until the session ends
 */
CREATE FUNCTION twtasks_internal.tick(
	incarnation bigint,
	again_ms bigint DEFAULT 6000,
	claim boolean DEFAULT NULL,
	OUT alive boolean,
	OUT is_held boolean,
	OUT is_leader boolean,
	OUT place integer,
	OUT nodes integer,
	OUT clock timestamptz,
	OUT ahead_us bigint,
	OUT has_work boolean,
	OUT next_ms bigint,
	OUT look_ms bigint)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $$
BEGIN
	alive := twtasks_internal.heartbeat(incarnation, again_ms);
	is_held := alive AND twtasks_internal.session_holds(twtasks_internal.node_lock(incarnation));
	is_leader := alive AND twtasks_internal.try_to_lead(incarnation, claim);
	SELECT count(*) FILTER (WHERE n.incarnation < tick.incarnation), count(*),
		   ceil(extract(epoch FROM max(twtasks_internal.overdue_at(n.next_tick))
						FILTER (WHERE n.leads AND n.incarnation <> tick.incarnation)
						- clock_timestamp()) * 1000)
	INTO place, nodes, look_ms
	FROM twtasks.node n WHERE n.ended IS NULL;
	clock := twtasks.clock();
	ahead_us := twtasks_internal.clock_ahead();
	has_work := EXISTS (SELECT FROM twtasks.task t WHERE t.bucket >= '' AND t.queued);
	next_ms := ceil(extract(epoch FROM least(
		(SELECT t.next_event_time FROM twtasks.task t
		 WHERE NOT t.queued AND t.next_event_time < 'infinity'
		   AND (t.status = 'WAITING' OR t.status = 'PROCESSING' AND t.stuck <> 'ignore')
		 ORDER BY t.next_event_time LIMIT 1),
		(SELECT t.expires FROM twtasks.task t
		 WHERE t.expires IS NOT NULL AND t.status IN ('SUBMITTED', 'WAITING')
		 ORDER BY t.expires LIMIT 1),
		(SELECT min(s.look_at) FROM twtasks.schedule s WHERE s.look_at < 'infinity'))
		- clock) * 1000);
	IF next_ms < 0 THEN
		next_ms := 0;
	END IF;
END $$;
COMMENT ON FUNCTION twtasks_internal.start_node IS 'A sidecar starts: gives it an incarnation, and ties the incarnation''s life to this session.';
COMMENT ON FUNCTION twtasks_internal.note_refusal IS 'Lets twtasks.warnings show a refused sidecar.  Does nothing in a copy that was not adopted, where all are refused.';
COMMENT ON FUNCTION twtasks_internal.note_types IS 'Remembers the types that sidecars handle, and forgets types that no sidecar has handled for 30 days.';
COMMENT ON FUNCTION twtasks_internal.note_faults IS 'Lets twtasks.warnings show the handlers that a node cannot start.';
COMMENT ON FUNCTION twtasks_internal.watch_session IS 'Tells the sidecars that wait in next_triggers() when this session ends. / CREATE FUNCTION twtasks_internal.watch_session()';
COMMENT ON FUNCTION twtasks_internal.heartbeat IS 'Says that the sidecar lives.  After a lost connection, the new session takes the incarnation over by this call.';
COMMENT ON FUNCTION twtasks_internal.end_node IS 'The sidecar ends in order: the next recover_tasks() applies the stuck rule to the tasks that it left, without delay.';
COMMENT ON FUNCTION twtasks_internal.overdue_at IS 'The time from which a leader with that next_tick is late.  A tick that failed is repeated after a second. / CREATE FUNCTION twtasks_internal.overdue_at(next_tick timestamptz)';
COMMENT ON FUNCTION twtasks_internal.try_to_lead IS 'Makes a living node the leader, unless another leader lives and ticks in time.  A leader that is late keeps its place while its session is at work, as in a long duty.';
COMMENT ON FUNCTION twtasks_internal.tick IS 'A sidecar calls this every few seconds: it gives its heartbeat, and learns who leads and how many nodes share the work.';

-- sql/cluster/recover_tasks.sql
/*
 * twtasks_internal.find_gone_nodes(grace)
 *
 *		Marks nodes as ended that are provably gone.  Either their session has
 *		ended and no other one replaced it within the grace period, or they were
 *		silent for longer than their lease.
 *
 *		If the clock is put forward or the server stops for a while, all nodes
 *		look silent.  So a silent node has another half of its lease, from when
 *		its silence was first seen: a living node ticks twice in that time.
 *
 * Returns
 *		milliseconds until the next look, if a session is missing or a heartbeat
 *		late; NULL: there is no reason to look
 *
 * Writes		twtasks.node, unless a heartbeat or an end has come in between or is
 *				about to come
 * Locks		changed rows, without waiting; the lock of a node without a session,
 *				shared, for the rest of the transaction
 */
CREATE FUNCTION twtasks_internal.find_gone_nodes(grace interval)
RETURNS bigint
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	moment CONSTANT timestamptz := clock_timestamp();
	node twtasks.node;
	seen timestamptz;
	gone_at timestamptz;
	look_again timestamptz;
BEGIN
	FOR node IN
		SELECT n.* FROM twtasks.node n WHERE n.ended IS NULL ORDER BY n.incarnation
	LOOP
		seen := node.heartbeat;
		gone_at := NULL;
		IF node.heartbeat > moment + node.lease / 2 THEN
			-- The clock was put back: the silence counts from now on.
			node.heartbeat := moment;
			node.missing_since := NULL;
		END IF;
		IF node.missing_since IS NULL
			AND NOT twtasks_internal.session_holds(twtasks_internal.node_lock(node.incarnation))
			AND twtasks_internal.try_lock(twtasks_internal.node_lock(node.incarnation), shared => true) THEN
			node.missing_since := moment;
		END IF;
		IF node.heartbeat < moment - node.lease / 2 THEN
			node.silent_since := coalesce(node.silent_since, moment);
			gone_at := greatest(node.heartbeat + node.lease, node.silent_since + node.lease / 2);
		END IF;
		gone_at := least(gone_at, node.missing_since + grace);
		IF gone_at < moment THEN
			node.ended := moment;
		ELSE
			look_again := least(look_again, gone_at);
		END IF;
		UPDATE twtasks.node n
		SET heartbeat = node.heartbeat, missing_since = node.missing_since,
			silent_since = node.silent_since, ended = node.ended
		WHERE n.incarnation = (
			SELECT m.incarnation FROM twtasks.node m
			WHERE m.incarnation = node.incarnation AND m.heartbeat = seen AND m.ended IS NULL
			  AND (m.heartbeat, m.missing_since, m.silent_since, m.ended)
				  IS DISTINCT FROM (node.heartbeat, node.missing_since, node.silent_since, node.ended)
			FOR UPDATE SKIP LOCKED);
	END LOOP;
	RETURN extract(epoch FROM look_again - moment) * 1000 + 10;
END $$;

/*
 * twtasks_internal.call_stuck(function, task)
 *
 *		Calls the function of a policy with the rights of its owner, for at most
 *		twtasks.function_timeout.
 *
 * Returns
 *		answered		false: the call failed, with a warning
 *		rule			the rule for the task; NULL: the task's own
 */
CREATE FUNCTION twtasks_internal.call_stuck(
	function text, task twtasks.task_input,
	OUT answered boolean, OUT rule twtasks.stuck_rule)
RETURNS record
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_call_stuck';

/*
 * twtasks_internal.ask_stuck(ids)
 *
 *		Lets the functions of policies decide on stuck tasks: their answer
 *		becomes the task's stuck rule.  The caller holds locks on the rows.
 *
 * Returns
 *		the ids of tasks that were not asked about, since time had run out
 *
 * Writes		twtasks.task
 */
CREATE FUNCTION twtasks_internal.ask_stuck(ids uuid[])
RETURNS uuid[]
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $$
DECLARE
	until CONSTANT timestamptz := clock_timestamp() + current_setting('twtasks.function_timeout')::interval;
	asked record;
	said record;
	left_out uuid[] := '{}';
	any_asked boolean := false;
BEGIN
	IF NOT EXISTS (SELECT FROM twtasks.type_policies p WHERE p.stuck_function <> 'none') THEN
		RETURN left_out;
	END IF;
	FOR asked IN
		SELECT (t.id, t.version, t.type, t.sub_type, t.bucket, t.priority, t.tries,
				t.state_time, t.data, t.payload, t.context, t.key)::twtasks.task_input AS task,
			   (twtasks.policy_of(t.type)).stuck_function AS function
		FROM twtasks.task t
		WHERE t.id = ANY (ids) AND t.status = 'PROCESSING'
	LOOP
		CONTINUE WHEN coalesce(asked.function, 'none') = 'none';
		IF any_asked AND clock_timestamp() >= until THEN
			left_out := left_out || (asked.task).id;
			CONTINUE;
		END IF;
		any_asked := true;
		said := twtasks_internal.call_stuck(asked.function, asked.task);
		UPDATE twtasks.task t SET stuck = said.rule
		WHERE t.id = (asked.task).id AND said.rule <> t.stuck;
	END LOOP;
	RETURN left_out;
END $$;

/*
 * twtasks_internal.apply_stuck_rule(ids, reason)
 *
 *		Applies the stuck rules of PROCESSING tasks, or the answers of their
 *		policies' functions.  Tasks with a request to cancel become CANCELLED.
 *		The caller holds locks on the rows.
 *
 * Returns
 *		retried, errors, failed		numbers of tasks
 *		later			number of tasks that are left for another call, since functions
 *						took too long
 *		freed			for offer_types(): the types of the tasks that ended or moved
 *
 * Writes		twtasks.task, twtasks.finished_task
 * Wakes		sidecars of retried tasks' buckets
 */
CREATE FUNCTION twtasks_internal.apply_stuck_rule(
	ids uuid[],
	reason text,
	OUT retried bigint,
	OUT errors bigint,
	OUT failed bigint,
	OUT later bigint,
	OUT freed text[])
RETURNS record
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
DECLARE
	moment CONSTANT timestamptz := twtasks.clock();
	left_out uuid[];
	ends uuid[];
	statuses text[];
	held uuid[];
	types text[];
BEGIN
	IF EXISTS (SELECT FROM twtasks.limit_rule r WHERE r.scope = 'cluster') THEN
		SELECT array_agg(t.id), array_agg(t.type) INTO held, types
		FROM twtasks.task t WHERE t.id = ANY (ids) AND t.status = 'PROCESSING';
	END IF;
	ids := twtasks_internal.cancel_orphans(ids);
	left_out := twtasks_internal.ask_stuck(ids);
	later := cardinality(left_out);
	freed := ARRAY(SELECT u.type FROM unnest(held, types) u(id, type) WHERE u.id <> ALL (left_out));
	WITH changed AS (
		UPDATE twtasks.task t
		SET status = 'SUBMITTED', version = t.version + 1, queued = true, state_time = moment,
			next_event_time = moment + twtasks_internal.queue_time(t.type),
			deadline = NULL, error = reason
		WHERE t.id = ANY (ids) AND t.id <> ALL (left_out)
		  AND t.status = 'PROCESSING' AND t.stuck = 'retry'
		RETURNING t.*)
	SELECT count(twtasks_internal.queue_trigger(c.id, c.version, c.bucket, c.type, c.priority, c.size, NULL::timestamptz))
	INTO retried FROM changed c;

	SELECT array_agg(t.id), array_agg(CASE t.stuck WHEN 'fail' THEN 'FAILED' ELSE 'ERROR' END)
	INTO ends, statuses
	FROM twtasks.task t
	WHERE t.id = ANY (ids) AND t.id <> ALL (left_out)
	  AND t.status = 'PROCESSING' AND t.stuck IN ('error', 'fail');
	SELECT count(*) FILTER (WHERE e.status = 'ERROR'), count(*) FILTER (WHERE e.status = 'FAILED')
	INTO errors, failed
	FROM twtasks_internal.end_tasks(coalesce(ends, '{}'), coalesce(statuses, '{}'), ARRAY[reason]) e;
	later := later + coalesce(cardinality(ends), 0) - errors - failed;
END $$;

/*
 * twtasks_internal.recover_tasks(whole_table, batch, grace)
 *
 *		Applies the stuck rule to PROCESSING tasks that nobody works on: tasks
 *		of gone nodes, and tasks past their deadline.  A task of a gone node that
 *		may still run, by its policy's takeover, is left until its deadline.
 *
 * Parameters
 *		whole_table		look also for tasks of living nodes past their deadline, and for
 *						tasks of forgotten nodes, which reads all queued tasks;
 *						accepted tasks are always looked for
 *		batch			at most this many tasks of each kind in one call
 *		grace			how long a node may be without a session
 *
 * Returns
 *		retried, errors, failed		numbers of tasks; 0 if this database is a copy and
 *						not adopted
 *		next_ms			milliseconds until the next call; NULL: there is no reason
 *
 * Writes		twtasks.node, twtasks.task, twtasks.finished_task, twtasks.slot_use
 * Locks		rows; skips rows that others have locked
 * Wakes		sidecars of retried tasks' buckets; as offer_slots()
 */
CREATE FUNCTION twtasks_internal.recover_tasks(
	whole_table boolean DEFAULT true,
	batch integer DEFAULT 1000,
	grace interval DEFAULT '3 seconds',
	OUT retried bigint,
	OUT errors bigint,
	OUT failed bigint,
	OUT next_ms bigint)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	moment CONSTANT timestamptz := twtasks.clock();
	gone bigint[];
	orphans uuid[];
	overdue uuid[];
	holders bigint[];
	wait_ms bigint;
	late uuid[];
	later bigint;
	freed text[];
	done record;
BEGIN
	retried := 0;
	errors := 0;
	failed := 0;
	IF NOT twtasks.is_adopted() THEN
		RETURN;
	END IF;
	next_ms := twtasks_internal.find_gone_nodes(grace);
	gone := ARRAY(SELECT n.incarnation FROM twtasks.node n WHERE n.ended IS NOT NULL);
	IF whole_table OR cardinality(gone) > 0 THEN
		-- Reads all queued tasks, once.  An accepted task, which is not queued, has no
		-- node.  A grab whose transaction outlasts its node shows once the node is
		-- forgotten.
		SELECT array_agg(l.id) FILTER (WHERE l.is_orphan AND l.may_still_run IS NOT TRUE),
			   array_agg(l.id) FILTER (WHERE l.deadline <= moment),
			   array_agg(DISTINCT l.incarnation) FILTER (WHERE l.is_orphan),
			   (extract(epoch FROM min(l.deadline) FILTER (WHERE l.may_still_run) - moment) * 1000)::bigint + 10
		INTO orphans, overdue, holders, wait_ms
		FROM (
			SELECT s.*, s.is_orphan AND twtasks_internal.may_still_run(s.type, s.deadline) AS may_still_run
			FROM (
				SELECT t.id, t.type, t.deadline, t.incarnation,
					   t.incarnation = ANY (gone)
					   OR (whole_table AND t.incarnation IS NOT NULL AND n.incarnation IS NULL) AS is_orphan
				FROM twtasks.task t LEFT JOIN twtasks.node n ON n.incarnation = t.incarnation
				WHERE t.queued AND t.status = 'PROCESSING' AND t.stuck <> 'ignore') s
			WHERE s.is_orphan OR (whole_table AND s.deadline <= moment)
			OFFSET 0) l;
		next_ms := least(next_ms, wait_ms);
		DELETE FROM twtasks.node n
		WHERE n.incarnation = ANY (gone) AND n.ended < clock_timestamp() - interval '1 minute'
		  AND n.incarnation <> ALL (coalesce(holders, '{}'));
		orphans := ARRAY(
			SELECT t.id FROM twtasks.task t
			WHERE t.id = ANY (orphans) AND t.queued AND t.status = 'PROCESSING'
			  AND t.incarnation = ANY (holders) AND t.stuck <> 'ignore'
			LIMIT batch FOR UPDATE SKIP LOCKED);
	END IF;
	SELECT * INTO done FROM twtasks_internal.apply_stuck_rule(orphans, 'the node that ran it is gone');
	retried := coalesce(done.retried, 0);
	errors := coalesce(done.errors, 0);
	failed := coalesce(done.failed, 0);
	later := coalesce(done.later, 0);
	freed := done.freed;

	late := ARRAY(
		SELECT t.id FROM twtasks.task t
		WHERE NOT t.queued AND t.status = 'PROCESSING' AND t.next_event_time <= moment
		  AND t.stuck <> 'ignore'
		LIMIT batch FOR UPDATE SKIP LOCKED);
	IF whole_table THEN
		late := late || ARRAY(
			SELECT t.id FROM twtasks.task t
			WHERE t.id = ANY (overdue) AND t.queued AND t.status = 'PROCESSING'
			  AND t.deadline <= moment AND t.stuck <> 'ignore'
			LIMIT batch FOR UPDATE SKIP LOCKED);
	END IF;
	SELECT * INTO done FROM twtasks_internal.apply_stuck_rule(late, 'its deadline passed without a result');
	retried := retried + coalesce(done.retried, 0);
	errors := errors + coalesce(done.errors, 0);
	failed := failed + coalesce(done.failed, 0);
	IF cardinality(orphans) >= batch OR cardinality(late) >= batch
		OR later + coalesce(done.later, 0) > 0 THEN
		next_ms := 0;
	END IF;
	-- Nodes that wait for the slots are told at commit.
	PERFORM twtasks_internal.offer_types(freed || done.freed);
END $$;
COMMENT ON FUNCTION twtasks_internal.find_gone_nodes IS 'Marks nodes as ended that are provably gone.  Either their session has ended and no other one replaced it within the grace period, or they were silent for longer than their lease.';
COMMENT ON FUNCTION twtasks_internal.call_stuck IS 'Calls the function of a policy with the rights of its owner, for at most twtasks.function_timeout.';
COMMENT ON FUNCTION twtasks_internal.ask_stuck IS 'Lets the functions of policies decide on stuck tasks: their answer becomes the task''s stuck rule.  The caller holds locks on the rows.';
COMMENT ON FUNCTION twtasks_internal.apply_stuck_rule IS 'Applies the stuck rules of PROCESSING tasks, or the answers of their policies'' functions.  Tasks with a request to cancel become CANCELLED. The caller holds locks on the rows.';
COMMENT ON FUNCTION twtasks_internal.recover_tasks IS 'Applies the stuck rule to PROCESSING tasks that nobody works on: tasks of gone nodes, and tasks past their deadline.  A task of a gone node that may still run, by its policy''s takeover, is left until its deadline.';

-- sql/cluster/run_duties.sql
/*
 * twtasks_internal.call_duty(name)
 *
 *		Calls a duty as its owner, for at most twtasks.function_timeout.
 *
 * Returns
 *		the duty's answer
 *
 * Errors
 *		42883			there is no such function without parameters that returns bigint
 *		53400			the function took too long; all errors of the function
 */
CREATE FUNCTION twtasks_internal.call_duty(name text)
RETURNS bigint
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_call_duty';

/*
 * twtasks_internal.run_duties()
 *
 *		Calls the duties that other extensions bring: each function of this schema
 *		whose name begins with duty_.  A duty has no parameters.  It returns the
 *		milliseconds until it wants the next call, 0 for at once.  A duty comes with
 *		CREATE EXTENSION and goes with DROP EXTENSION.
 *
 *		The leader calls the function at least once a minute.  After ask_duties() any
 *		node calls it at once, so two calls may run at the same time.  A duty that
 *		fails logs a warning, does not stop others, and is called again in 3 s.
 *
 * Returns
 *		next_ms			milliseconds until the next call; NULL: there is no duty, or this
 *						database is a copy and not adopted
 */
CREATE FUNCTION twtasks_internal.run_duties(OUT next_ms bigint)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	name text;
	wanted bigint;
BEGIN
	IF NOT twtasks.is_adopted() THEN
		RETURN;
	END IF;
	FOR name IN
		SELECT 'twtasks_internal.' || quote_ident(p.proname) FROM pg_proc p
		WHERE p.proname >= 'duty_' AND p.proname < 'duty`' AND p.pronamespace = 'twtasks_internal'::regnamespace
		ORDER BY p.proname
	LOOP
		BEGIN
			wanted := twtasks_internal.call_duty(name);
			next_ms := least(next_ms, CASE WHEN wanted < 0 THEN 0 ELSE wanted END);
		EXCEPTION WHEN OTHERS THEN
			RAISE WARNING 'duty "%" failed: %', name, SQLERRM USING ERRCODE = SQLSTATE;
			next_ms := least(next_ms, 3000);
		END;
	END LOOP;
END $$;

/*
 * twtasks_internal.ask_duties(bucket)
 *
 *		Asks a sidecar of the bucket for run_duties(), after the commit of the current
 *		transaction.  The question is a hint, and may be lost.
 *
 * Wakes		after commit one sidecar of the bucket
 */
CREATE FUNCTION twtasks_internal.ask_duties(bucket text)
RETURNS void
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	-- A trigger whose time has passed names no task: see duties_due_at() of the sidecar.
	SELECT twtasks_internal.queue_trigger('00000000-0000-0000-0000-000000000000', 0, bucket,
		'DUTY', 0::smallint, 0, '2000-01-01 00:00:01+00')
$$;
COMMENT ON FUNCTION twtasks_internal.call_duty IS 'Calls a duty as its owner, for at most twtasks.function_timeout.';
COMMENT ON FUNCTION twtasks_internal.run_duties IS 'Calls the duties that other extensions bring: each function of this schema whose name begins with duty_.  A duty has no parameters.  It returns the milliseconds until it wants the next call, 0 for at once.  A duty comes with CREATE EXTENSION and goes with DROP EXTENSION.';
COMMENT ON FUNCTION twtasks_internal.ask_duties IS 'Asks a sidecar of the bucket for run_duties(), after the commit of the current transaction.  The question is a hint, and may be lost.';

-- sql/base/partitions.sql
/*
 * twtasks_internal.make_partitions(days_ahead)
 *
 *		Makes the day partitions of the history, from today on.  The leader
 *		calls this every hour, so it also renews the marker that tells copies
 *		apart (renew_marker()).
 *
 * Parameters
 *		days_ahead		how many days after today, 0 to 366
 *
 * Returns
 *		how many were made
 *
 * Errors
 *		22023			days_ahead out of range
 *
 * Writes		twtasks.adoption, a file
 * Locks		twtasks.finished_task exclusively, for a moment and only when a
 *				partition is made; gives up after lock_timeout (1 s); call again
 */
CREATE FUNCTION twtasks_internal.make_partitions(days_ahead integer DEFAULT 7)
RETURNS integer
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '1s'
SET timezone = 'UTC'
AS $$
DECLARE
	first CONSTANT date := clock_timestamp()::date;
	day date;
	name text;
	made integer := 0;
BEGIN
	IF days_ahead NOT BETWEEN 0 AND 366 THEN
		RAISE EXCEPTION 'days_ahead must be between 0 and 366, not %', days_ahead
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	PERFORM twtasks_internal.renew_marker();
	FOR day IN SELECT first + n FROM generate_series(0, days_ahead) n LOOP
		name := 'finished_task_' || to_char(day, 'YYYYMMDD');
		CONTINUE WHEN to_regclass('twtasks.' || name) IS NOT NULL;
		-- In the order of a finish, which locks the whole and then its part.  So no
		-- finish is on its way to a part that is no longer the right one.
		LOCK TABLE ONLY twtasks.finished_task IN ACCESS EXCLUSIVE MODE;
		LOCK TABLE twtasks.finished_task_default IN ACCESS EXCLUSIVE MODE;
		-- Rows in the default partition stay there until they are cleaned.
		CONTINUE WHEN EXISTS (SELECT FROM twtasks.finished_task_default f
							  WHERE f.state_time >= day AND f.state_time < day + 1);
		EXECUTE format('CREATE TABLE twtasks.%I PARTITION OF twtasks.finished_task '
					   'FOR VALUES FROM (%L) TO (%L)', name, day, day + 1);
		EXECUTE format('ALTER TABLE twtasks.%I REPLICA IDENTITY FULL', name);
		EXECUTE format('CREATE INDEX %I ON twtasks.%I (id)', name || '_id', name);
		made := made + 1;
	END LOOP;
	RETURN made;
EXCEPTION WHEN lock_not_available OR duplicate_table THEN
	RETURN 0;
END $$;

/* How far the keys of a day have been freed.  Not in dumps, since it only saves work. */
CREATE TABLE twtasks.cleaning (
	day				date NOT NULL,	-- Day of the partition
	past			uuid NOT NULL,	-- Keys of tasks with smaller ids are free
	CONSTRAINT cleaning_pkey PRIMARY KEY (day)
);
COMMENT ON TABLE twtasks.cleaning IS 'How far the unique keys of days to be dropped have been freed';

/*
 * twtasks_internal.free_old_keys(day)
 *
 *		Frees the unique keys of the tasks of one partition, a batch in each
 *		call.  Dropping a partition blocks every finish, so the keys go first.
 *		No call takes longer than a node may be silent.
 *
 * Returns
 *		whether there is more to do
 *
 * Writes		twtasks.unique_key, twtasks.cleaning
 * Locks		rows
 */
CREATE FUNCTION twtasks_internal.free_old_keys(day date)
RETURNS boolean
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
	batch CONSTANT integer := 20000;
	begins CONSTANT timestamptz := free_old_keys.day;
	ends CONSTANT timestamptz := free_old_keys.day + 1;
	freed_to uuid;
	ids uuid[];
BEGIN
	SELECT c.past INTO freed_to FROM twtasks.cleaning c WHERE c.day = free_old_keys.day;
	IF EXISTS (SELECT FROM twtasks.unique_key) THEN
		ids := ARRAY(SELECT f.id FROM twtasks.finished_task f
					 WHERE f.state_time >= begins AND f.state_time < ends
					   AND f.id >= coalesce(freed_to, '00000000-0000-0000-0000-000000000000')
					 ORDER BY f.id LIMIT batch);
		DELETE FROM twtasks.unique_key k WHERE k.task_id = ANY (ids);
	END IF;
	IF coalesce(cardinality(ids), 0) < batch THEN
		DELETE FROM twtasks.cleaning c WHERE c.day = free_old_keys.day;
		RETURN false;
	END IF;
	INSERT INTO twtasks.cleaning (day, past) VALUES (free_old_keys.day, ids[batch])
	ON CONFLICT (day) DO UPDATE SET past = excluded.past;
	RETURN true;
END $$;

/*
 * twtasks_internal.clean_default(old)
 *
 *		Deletes old tasks of the default partition and their keys, a batch in
 *		each call.
 *
 * Parameters
 *		old				delete tasks that finished before this time
 *
 * Returns
 *		whether there is more to do
 *
 * Writes		twtasks.finished_task, twtasks.unique_key
 * Locks		rows
 */
CREATE FUNCTION twtasks_internal.clean_default(old timestamptz)
RETURNS boolean
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	batch CONSTANT integer := 20000;
	deleted bigint;
BEGIN
	WITH gone AS (
		DELETE FROM twtasks.finished_task_default f
		WHERE f.ctid = ANY (ARRAY(SELECT d.ctid FROM twtasks.finished_task_default d
								  WHERE d.state_time < old LIMIT batch))
		RETURNING f.id),
	freed AS (
		DELETE FROM twtasks.unique_key k USING gone g WHERE k.task_id = g.id)
	SELECT count(*) INTO deleted FROM gone;
	RETURN deleted = batch;
END $$;

/*
 * twtasks_internal.clean_older(keep)
 *
 *		Drops history older than keep with its unique keys, one day partition in
 *		each call, the oldest first.
 *
 *		Only members of twtasks_owner may call this: a sidecar must not drop
 *		history younger than twtasks.keep_finished.
 *
 * Parameters
 *		keep			NULL: as clean_tasks()
 *
 * Returns
 *		the name of the partition that was dropped, or cleaned in part.  Call again
 *		until NULL: nothing is due, or this database is a copy and not adopted
 *
 * Errors
 *		22023			keep is negative
 *
 * Writes		twtasks.finished_task, twtasks.unique_key, twtasks.cleaning
 * Locks		twtasks.finished_task exclusively, for the moment of the drop; gives
 *				up after lock_timeout (1 s); call again
 */
CREATE FUNCTION twtasks_internal.clean_older(keep interval)
RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '1s'
SET timezone = 'UTC'
AS $$
DECLARE
	old CONSTANT timestamptz := twtasks.clock() - coalesce(keep, twtasks_internal.keep_finished());
	name text;
BEGIN
	IF keep < interval '0' THEN
		RAISE EXCEPTION 'keep must not be negative'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	SELECT c.relname INTO name
	FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
	WHERE i.inhparent = 'twtasks.finished_task'::regclass
	  AND c.relname ~ '^finished_task_[0-9]{8}$'
	  AND to_date(right(c.relname, 8), 'YYYYMMDD') + 1 <= old
	ORDER BY c.relname LIMIT 1;
	IF NOT twtasks.is_adopted() THEN
		RETURN NULL;
	ELSIF name IS NULL THEN
		RETURN CASE WHEN twtasks_internal.clean_default(old) THEN 'finished_task_default' END;
	ELSIF twtasks_internal.free_old_keys(to_date(right(name, 8), 'YYYYMMDD')) THEN
		RETURN name;
	END IF;
	LOCK TABLE ONLY twtasks.finished_task IN ACCESS EXCLUSIVE MODE;
	-- Another leader may have dropped it while we waited.
	IF to_regclass('twtasks.' || name) IS NOT NULL THEN
		EXECUTE format('DROP TABLE twtasks.%I', name);
	END IF;
	RETURN name;
EXCEPTION WHEN lock_not_available THEN
	RETURN NULL;
END $$;

/*
 * twtasks_internal.clean_tasks()
 *
 *		Drops history older than the setting twtasks.keep_finished, with its
 *		unique keys, one day partition in each call, the oldest first.
 *
 * Returns
 *		the name of the partition that was dropped, or cleaned in part.  Call again
 *		until NULL: nothing is due, or this database is a copy and not adopted
 *
 * Writes		twtasks.finished_task, twtasks.unique_key, twtasks.cleaning
 * Locks		as clean_older()
 */
CREATE FUNCTION twtasks_internal.clean_tasks()
RETURNS text
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT twtasks_internal.clean_older(NULL::interval) $$;
COMMENT ON FUNCTION twtasks_internal.make_partitions IS 'Makes the day partitions of the history, from today on.  The leader calls this every hour, so it also renews the marker that tells copies apart (renew_marker()).';
COMMENT ON COLUMN twtasks.cleaning.day IS 'Day of the partition';
COMMENT ON COLUMN twtasks.cleaning.past IS 'Keys of tasks with smaller ids are free';
COMMENT ON FUNCTION twtasks_internal.free_old_keys IS 'Frees the unique keys of the tasks of one partition, a batch in each call.  Dropping a partition blocks every finish, so the keys go first. No call takes longer than a node may be silent.';
COMMENT ON FUNCTION twtasks_internal.clean_default IS 'Deletes old tasks of the default partition and their keys, a batch in each call.';
COMMENT ON FUNCTION twtasks_internal.clean_older IS 'Drops history older than keep with its unique keys, one day partition in each call, the oldest first.';
COMMENT ON FUNCTION twtasks_internal.clean_tasks IS 'Drops history older than the setting twtasks.keep_finished, with its unique keys, one day partition in each call, the oldest first.';

-- sql/operate/change_task.sql
/*
 * twtasks_internal.check_change(id, run_after)
 *
 *		Checks the arguments of a change by hand.
 *
 * Errors
 *		22004			id is NULL
 *		22023			run_after is infinite
 */
CREATE FUNCTION twtasks_internal.check_change(id uuid, run_after timestamptz)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF id IS NULL THEN
		RAISE EXCEPTION 'id must not be null'
			USING ERRCODE = 'null_value_not_allowed',
				HINT = 'Read it from twtasks.tasks; the version there says which state you decided on.';
	END IF;
	IF NOT isfinite(run_after) THEN
		RAISE EXCEPTION 'run_after must be a finite time'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
END $$;

/*
 * twtasks_internal.end_by_hand(task, status, reason)
 *
 *		Moves a live task to the history.  The caller holds the lock on its row.
 *
 * Returns
 *		status			the status of the task now; ERROR: a function of on_end failed
 *		became			facts() of the task
 *
 * Writes		as end_tasks()
 */
CREATE FUNCTION twtasks_internal.end_by_hand(
	task twtasks.task, INOUT status twtasks.task_status, reason text, OUT became jsonb)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	SELECT e.status INTO STRICT status
	FROM twtasks_internal.end_tasks(ARRAY[task.id], ARRAY[status::text], ARRAY[coalesce(task.error, reason)]) e;
	became := coalesce((SELECT twtasks_internal.finished_facts(f) FROM twtasks.finished_task f
						WHERE f.id = task.id AND f.version = task.version + 1),
					   (SELECT twtasks_internal.facts(t) FROM twtasks.task t WHERE t.id = task.id));
END $$;

/*
 * twtasks_internal.move_by_hand(task, status, run_after)
 *
 *		Gives a live task another status, and queues a trigger if the task may
 *		run then.  The caller holds the lock on its row.
 *
 *		A held task remembers its time to run, or that it was in ERROR; release
 *		returns it to that.
 *
 *		To resume a task, or to name a time for it, is a decision to run it: an
 *		expires that would come first is cleared.  To release a task at its old
 *		time is no such decision.
 *
 * Returns
 *		facts() of the task
 *
 * Writes		twtasks.task
 * Wakes		a sidecar of the bucket
 */
CREATE FUNCTION twtasks_internal.move_by_hand(
	task twtasks.task, status twtasks.task_status, run_after timestamptz)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	moment CONSTANT timestamptz := twtasks.clock();
	runs_at CONSTANT timestamptz := coalesce(run_after, nullif(task.planned, 'infinity'), moment);
	moved twtasks.task;
BEGIN
	UPDATE twtasks.task t
	SET status = move_by_hand.status, version = t.version + 1, state_time = moment,
		queued = move_by_hand.status = 'SUBMITTED',
		tries = CASE WHEN task.status IN ('ERROR', 'HELD') AND move_by_hand.status = 'WAITING'
					 THEN 0 ELSE t.tries END,
		next_event_time = CASE move_by_hand.status
			WHEN 'SUBMITTED' THEN moment + twtasks_internal.queue_time(t.type)
			WHEN 'WAITING' THEN runs_at
			ELSE 'infinity' END,
		planned = CASE WHEN move_by_hand.status = 'HELD' AND task.status IN ('WAITING', 'ERROR')
					   THEN t.next_event_time END,
		expires = CASE WHEN move_by_hand.status NOT IN ('WAITING', 'SUBMITTED')
							OR t.expires > greatest(run_after, moment)
							OR (task.status = 'HELD' AND run_after IS NULL)
					   THEN t.expires END
	WHERE t.id = task.id
	RETURNING t.* INTO moved;
	IF moved.status IN ('SUBMITTED', 'WAITING') THEN
		PERFORM twtasks_internal.queue_trigger(moved.id, moved.version, moved.bucket, moved.type,
			moved.priority, moved.size, CASE moved.status WHEN 'WAITING' THEN runs_at END);
	END IF;
	RETURN twtasks_internal.facts(moved);
END $$;

/*
 * twtasks_internal.change_task(action, id, version, run_after, reason)
 *
 *		Makes a change by hand and records it in twtasks.audit, if the state
 *		machine (twtasks.transition) allows an operator that action in the
 *		task's status.
 *
 *		A change that is not made is an answer and not an error, since others
 *		work on the same tasks.
 *
 * Parameters
 *		version			the version that you saw: if the task has changed since, nothing
 *						is done; NULL: any version
 *		reason			for the audit
 *
 * Returns
 *		result			'changed'
 *						'requested'			its handler was asked to stop: request_cancel()
 *						'not_found'			no such task, live or in the history
 *						'wrong_version'		the task has changed since you looked: look again
 *						'wrong_status'		the action is not possible in its status
 *		version, status	of the task now
 *
 * Errors
 *		22004			id is NULL
 *		22023			run_after is infinite
 *
 * Writes		twtasks.task, twtasks.finished_task, twtasks.audit
 * Locks		row lock; waits for a grab or finish of the same task
 * Wakes		a sidecar of the bucket
 */
CREATE FUNCTION twtasks_internal.change_task(
	action text,
	id uuid,
	version bigint,
	run_after timestamptz,
	reason text)
RETURNS twtasks.change_result
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
	task twtasks.task;
	target twtasks.task_status;
	became jsonb;
BEGIN
	PERFORM twtasks_internal.check_change(change_task.id, run_after);
	SELECT t.* INTO task FROM twtasks.task t WHERE t.id = change_task.id FOR UPDATE;
	IF NOT FOUND THEN
		RETURN twtasks_internal.change_finished(change_task.action, change_task.id, change_task.version,
									   run_after, reason);
	ELSIF task.version <> change_task.version THEN
		RETURN ('wrong_version', task.version, task.status)::twtasks.change_result;
	ELSIF change_task.action = 'cancel' AND task.status = 'PROCESSING' THEN
		RETURN twtasks.request_cancel(task.id, task.version, reason);
	END IF;
	SELECT x.to_status INTO target FROM twtasks.transition x
	WHERE x.action = change_task.action AND x.actor = 'operator' AND x.from_status = task.status
	  AND (x.action <> 'release' OR (x.to_status = 'ERROR')
			= (run_after IS NULL AND task.planned IS NOT DISTINCT FROM 'infinity'));
	IF NOT FOUND THEN
		RETURN ('wrong_status', task.version, task.status)::twtasks.change_result;
	END IF;
	IF target IN ('FAILED', 'CANCELLED') THEN
		SELECT e.status, e.became INTO target, became FROM twtasks_internal.end_by_hand(task, target, reason) e;
	ELSE
		became := twtasks_internal.move_by_hand(task, target, run_after);
	END IF;
	PERFORM twtasks_internal.write_audit(change_task.action, task.id, twtasks_internal.facts(task), became, reason);
	RETURN ('changed', task.version + 1, target)::twtasks.change_result;
END $$;

/*
 * twtasks.resume_task(id, version, reason)
 *
 *		Lets a task in ERROR or WAITING run now.  The tries of a task in ERROR
 *		start from 0.  A past expires is cleared.
 *
 * Returns, errors, locks, wakes: as change_task()
 * Example		SELECT * FROM twtasks.resume_task('...', reason => 'the bank is back');
 */
CREATE FUNCTION twtasks.resume_task(id uuid, version bigint DEFAULT NULL, reason text DEFAULT NULL)
RETURNS twtasks.change_result
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT * FROM twtasks_internal.change_task('resume', id, version, NULL::timestamptz, reason) $$;

/*
 * twtasks.reschedule_task(id, version, run_after, reason)
 *
 *		Gives a WAITING task another time to run; a past time means now.  An
 *		expires that is not later is cleared.
 *
 * Errors
 *		22004			id or run_after is NULL
 *		22023			run_after is infinite
 *
 * Returns, locks, wakes: as change_task()
 */
CREATE FUNCTION twtasks.reschedule_task(
	id uuid, version bigint DEFAULT NULL, run_after timestamptz DEFAULT NULL, reason text DEFAULT NULL)
RETURNS twtasks.change_result
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF run_after IS NULL THEN
		RAISE EXCEPTION 'run_after must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	RETURN twtasks_internal.change_task('reschedule', id, version, run_after, reason);
END $$;

/*
 * twtasks.cancel_task(id, version, reason)
 *
 *		Cancels a task that has not started: CANCELLED.  The handler of a
 *		running task is asked to stop, as by request_cancel().
 *
 * Returns, errors, locks: as change_task()
 */
CREATE FUNCTION twtasks.cancel_task(id uuid, version bigint DEFAULT NULL, reason text DEFAULT NULL)
RETURNS twtasks.change_result
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT * FROM twtasks_internal.change_task('cancel', id, version, NULL::timestamptz, reason) $$;

/*
 * twtasks.fail_task(id, version, reason)
 *
 *		Gives up a task in ERROR for good: FAILED.
 *
 * Returns, errors, locks: as change_task()
 */
CREATE FUNCTION twtasks.fail_task(id uuid, version bigint DEFAULT NULL, reason text DEFAULT NULL)
RETURNS twtasks.change_result
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT * FROM twtasks_internal.change_task('fail', id, version, NULL::timestamptz, reason) $$;

/*
 * twtasks.hold_task(id, version, reason)
 *
 *		Keeps a task from running until release_task(): HELD.  The task
 *		remembers its time to run.
 *
 * Returns, errors, locks: as change_task()
 */
CREATE FUNCTION twtasks.hold_task(id uuid, version bigint DEFAULT NULL, reason text DEFAULT NULL)
RETURNS twtasks.change_result
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT * FROM twtasks_internal.change_task('hold', id, version, NULL::timestamptz, reason) $$;

/*
 * twtasks.release_task(id, version, run_after, reason)
 *
 *		Lets a HELD task run at run_after, else at its old time, which may be
 *		now; its tries start from 0.  Without run_after, a task held in ERROR
 *		returns to ERROR, and a past expires still applies.  With run_after,
 *		which may be now(), a past expires is cleared.
 *
 * Returns, errors, locks, wakes: as change_task()
 */
CREATE FUNCTION twtasks.release_task(
	id uuid, version bigint DEFAULT NULL, run_after timestamptz DEFAULT NULL, reason text DEFAULT NULL)
RETURNS twtasks.change_result
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT * FROM twtasks_internal.change_task('release', id, version, run_after, reason) $$;
COMMENT ON FUNCTION twtasks_internal.check_change IS 'Checks the arguments of a change by hand.';
COMMENT ON FUNCTION twtasks_internal.end_by_hand IS 'Moves a live task to the history.  The caller holds the lock on its row.';
COMMENT ON FUNCTION twtasks_internal.move_by_hand IS 'Gives a live task another status, and queues a trigger if the task may run then.  The caller holds the lock on its row.';
COMMENT ON FUNCTION twtasks_internal.change_task IS 'Makes a change by hand and records it in twtasks.audit, if the state machine (twtasks.transition) allows an operator that action in the task''s status.';
COMMENT ON FUNCTION twtasks.resume_task IS 'Lets a task in ERROR or WAITING run now.  The tries of a task in ERROR start from 0.  A past expires is cleared.';
COMMENT ON FUNCTION twtasks.reschedule_task IS 'Gives a WAITING task another time to run; a past time means now.  An expires that is not later is cleared.';
COMMENT ON FUNCTION twtasks.cancel_task IS 'Cancels a task that has not started: CANCELLED.  The handler of a running task is asked to stop, as by request_cancel().';
COMMENT ON FUNCTION twtasks.fail_task IS 'Gives up a task in ERROR for good: FAILED.';
COMMENT ON FUNCTION twtasks.hold_task IS 'Keeps a task from running until release_task(): HELD.  The task remembers its time to run.';
COMMENT ON FUNCTION twtasks.release_task IS 'Lets a HELD task run at run_after, else at its old time, which may be now; its tries start from 0.  Without run_after, a task held in ERROR returns to ERROR, and a past expires still applies.  With run_after, which may be now(), a past expires is cleared.';

-- sql/operate/reset_listener.sql
CREATE VIEW twtasks.listeners AS
	SELECT o.listener, o.topic, o.partition, o.next_offset, o.role, o.moved
	FROM twtasks.message_offset o;
COMMENT ON VIEW twtasks.listeners IS 'Where listeners stand in the partitions of their topics; see take_messages()';

/*
 * twtasks.reset_listener(listener, topic, partition, offset, role, reason)
 *
 *		Sets by hand where a listener goes on in a partition: further on, to skip
 *		messages, or further back, to take messages again.  A listener that runs
 *		goes there with its next messages.
 *
 *		A message that is taken again gives a second task, unless its key is that of
 *		a task that is kept.
 *
 * Parameters
 *		offset		of the next message; NULL: forget the partition, so that the
 *					listener begins anew.  Stop it first, or it goes on where it is
 *		role		the role to which the listener belongs in this partition; NULL: as
 *					before
 *		reason		for the audit
 *
 * Returns
 *		where the listener stood; NULL: it had taken nothing
 *
 * Errors
 *		22004		listener, topic or partition is NULL, or role for a new partition
 *		22023		a name, the partition or the offset is not valid
 *		42704		there is no such role
 *
 * Writes		twtasks.message_offset, twtasks.policy_audit
 * Locks		row lock; waits for take_messages() of this partition
 * Example		SELECT twtasks.reset_listener('billing', 'invoices', 0, 18, reason => '17 is broken');
 */
CREATE FUNCTION twtasks.reset_listener(
	listener text,
	topic text,
	partition integer,
	"offset" bigint,
	role name DEFAULT NULL,
	reason text DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
	old twtasks.message_offset;
	keeper text;
BEGIN
	PERFORM twtasks_internal.check_place(reset_listener.listener, reset_listener.topic, reset_listener.partition);
	SELECT o.* INTO old FROM twtasks.message_offset o
	WHERE o.listener = reset_listener.listener AND o.topic = reset_listener.topic
	  AND o.partition = reset_listener.partition
	FOR UPDATE;
	keeper := coalesce(reset_listener.role, old.role);
	IF reset_listener."offset" < 0 THEN
		RAISE EXCEPTION 'invalid offset: %', reset_listener."offset"
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF to_regrole(quote_ident(reset_listener.role)) IS NULL AND reset_listener.role IS NOT NULL THEN
		RAISE EXCEPTION 'role "%" does not exist', reset_listener.role USING ERRCODE = 'undefined_object';
	ELSIF keeper IS NULL AND reset_listener."offset" IS NOT NULL THEN
		RAISE EXCEPTION 'role must not be null for a new partition'
			USING ERRCODE = 'null_value_not_allowed',
				HINT = 'Name the role with which the listener connects.';
	END IF;
	IF reset_listener."offset" IS NULL THEN
		DELETE FROM twtasks.message_offset o
		WHERE o.listener = old.listener AND o.topic = old.topic AND o.partition = old.partition;
	ELSE
		INSERT INTO twtasks.message_offset AS o (listener, topic, partition, next_offset, role, moved)
		VALUES (reset_listener.listener, reset_listener.topic, reset_listener.partition,
				reset_listener."offset", keeper, clock_timestamp())
		ON CONFLICT (listener, topic, partition) DO UPDATE
		SET next_offset = EXCLUDED.next_offset, role = EXCLUDED.role, moved = EXCLUDED.moved;
	END IF;
	INSERT INTO twtasks.policy_audit (at, actor, kind, name, before, after)
	SELECT clock_timestamp(), twtasks_internal.actor(), 'listener',
		   concat_ws('/', reset_listener.listener, reset_listener.topic, reset_listener.partition),
		   CASE WHEN old.next_offset IS NOT NULL
				THEN jsonb_build_object('next_offset', old.next_offset, 'role', old.role) END,
		   CASE WHEN reset_listener."offset" IS NOT NULL
				THEN jsonb_strip_nulls(jsonb_build_object('next_offset', reset_listener."offset",
														  'role', keeper, 'reason', reason)) END
	WHERE num_nulls(old.next_offset, reset_listener."offset") < 2;
	RETURN old.next_offset;
END $$;
COMMENT ON FUNCTION twtasks.reset_listener IS 'Sets by hand where a listener goes on in a partition: further on, to skip messages, or further back, to take messages again.  A listener that runs goes there with its next messages.';

-- sql/schedule/schedules.sql
/*
 * A session that adds an occurrence locks the schedule's row, and moves the row
 * on to the next occurrence in the same transaction.  So none is added twice.
 */
CREATE TABLE twtasks.schedule (
	name			text COLLATE "C" NOT NULL,		-- Given by its maker
	cron			text NOT NULL,					-- A cron expression
	time_zone		text NOT NULL,					-- Time zone of the cron expression
	missed			text NOT NULL,					-- Rule for occurrences that were not added in time: skip, once or all
	missed_limit	integer NOT NULL,				-- all: at most this many, the last ones
	is_paused		boolean NOT NULL DEFAULT false,	-- Adds nothing until resume_schedule()
	look_at			timestamptz NOT NULL,			-- Time of the next look: next_run, or later after a failure; infinity: never
	next_run		timestamptz,					-- The next occurrence; NULL: none, or it is paused
	last_run		timestamptz,					-- The occurrence added last, or the time of run_schedule_now()
	last_task		uuid,							-- The task added last
	last_missed		timestamptz,					-- The last occurrence left out
	problem			text,							-- The reason why the due occurrence cannot be added; NULL: it can
	type			text COLLATE "C" NOT NULL,		-- Type of its tasks
	sub_type		text,							-- As in twtasks.task
	bucket			text COLLATE "C",				-- As in twtasks.task; NULL: of the type's policy
	priority		smallint,						-- As in twtasks.task; NULL: of the type's policy
	expires_after	interval,						-- From the occurrence to the task's expires; NULL: of the type's policy
	data			jsonb,							-- As in twtasks.task
	payload			bytea,							-- As in twtasks.task
	context			jsonb,							-- As in twtasks.task; name and occurrence are added to it
	role			text NOT NULL,					-- Its maker, which adds its tasks
	CONSTRAINT schedule_pkey PRIMARY KEY (name)
);
CREATE INDEX schedule_look_at ON twtasks.schedule (look_at);

COMMENT ON TABLE twtasks.schedule IS 'Schedules, which add tasks by the clock';

/* Only run_schedules() writes here.  Anybody could take a unique key. */
CREATE TABLE twtasks.schedule_run (
	name			text COLLATE "C" NOT NULL,	-- The schedule, which may have been removed since
	occurrence		timestamptz NOT NULL,		-- Time at which it was due
	added			timestamptz NOT NULL,		-- Time at which its task was added
	task_id			uuid NOT NULL,				-- Its task
	CONSTRAINT schedule_run_pkey PRIMARY KEY (name, occurrence)
);
CREATE INDEX schedule_run_added ON twtasks.schedule_run (added);
COMMENT ON TABLE twtasks.schedule_run IS 'Added occurrences, kept as long as finished tasks, so that none is added twice';

CREATE TABLE twtasks.schedule_audit (
	id				bigint GENERATED ALWAYS AS IDENTITY,	-- Ascends with the changes of one schedule
	at				timestamptz NOT NULL,					-- When
	actor			text NOT NULL,							-- The role that logged in
	action			text NOT NULL,							-- schedule, unschedule, pause, resume, run now
	name			text COLLATE "C" NOT NULL,				-- The schedule
	before			jsonb,									-- Before the change; "carries" is a hash of data, payload and context
	after			jsonb,									-- After the change; the task, for run now
	reason			text,									-- In the actor's words
	CONSTRAINT schedule_audit_pkey PRIMARY KEY (id)
);
CREATE INDEX schedule_audit_name ON twtasks.schedule_audit (name);
COMMENT ON TABLE twtasks.schedule_audit IS 'Changes of schedules';

SELECT pg_catalog.pg_extension_config_dump('twtasks.schedule', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.schedule_run', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.schedule_audit', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.schedule_audit_id_seq', '');

CREATE VIEW twtasks.schedules AS
	SELECT s.name, s.cron, s.time_zone, s.missed, s.missed_limit,
		   s.type, s.sub_type, s.bucket, s.priority, s.expires_after,
		   s.is_paused, s.next_run, s.problem, s.last_missed,
		   s.last_run, s.last_task, t.status AS last_status,
		   t.state_time AS last_state_time, t.error AS last_error
	FROM twtasks.schedule s
	LEFT JOIN LATERAL (
		SELECT l.status, l.state_time, l.error FROM twtasks.task l WHERE l.id = s.last_task
		UNION ALL
		SELECT f.status, f.state_time, f.error FROM twtasks.finished_task f WHERE f.id = s.last_task
		LIMIT 1) t ON true;
COMMENT ON VIEW twtasks.schedules IS 'Schedules: next run, last run and its outcome';

CREATE VIEW twtasks.schedule_runs AS
	SELECT r.name, r.occurrence, r.added, r.task_id, t.status, t.state_time, t.error
	FROM twtasks.schedule_run r
	LEFT JOIN LATERAL (
		SELECT l.status, l.state_time, l.error FROM twtasks.task l WHERE l.id = r.task_id
		UNION ALL
		SELECT f.status, f.state_time, f.error FROM twtasks.finished_task f WHERE f.id = r.task_id
		LIMIT 1) t ON true;
COMMENT ON VIEW twtasks.schedule_runs IS 'Added occurrences of schedules, and their outcome';

/*
 * twtasks_internal.describe_schedule(name)
 *
 *		The settings of a schedule, for the audit.  A hash stands for data,
 *		payload and context, which a reader of the audit may not see.
 *
 * Returns
 *		jsonb; NULL: no schedule has that name
 */
CREATE FUNCTION twtasks_internal.describe_schedule(name text)
RETURNS jsonb
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET intervalstyle = 'postgres'
AS $$
	SELECT to_jsonb(d) FROM (
		SELECT s.cron, s.time_zone, s.missed, s.missed_limit, s.is_paused, s.type, s.sub_type,
			   s.bucket, s.priority, s.expires_after, s.role,
			   encode(sha256(convert_to(jsonb_build_array(s.data, s.context)::text, 'UTF8')
							 || coalesce(sha256(s.payload), '')), 'hex') AS carries
		FROM twtasks.schedule s WHERE s.name = describe_schedule.name) d
$$;

/*
 * twtasks_internal.audit_schedule(action, name, before, after, reason)
 *
 *		Records what the session has just done to a schedule.
 *
 * Parameters
 *		before, after	describe_schedule()
 *
 * Writes		twtasks.schedule_audit
 */
CREATE FUNCTION twtasks_internal.audit_schedule(action text, name text, before jsonb, after jsonb, reason text)
RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	INSERT INTO twtasks.schedule_audit (at, actor, action, name, before, after, reason)
	VALUES (clock_timestamp(), twtasks_internal.actor(), audit_schedule.action, audit_schedule.name,
			audit_schedule.before, audit_schedule.after, audit_schedule.reason)
$$;

/*
 * twtasks_internal.start_schedule(name, anew)
 *
 *		Sets the time at which a changed schedule is looked at.
 *
 * Parameters
 *		anew			true: its next occurrence is the first from now on
 *
 * Returns
 *		its next run; NULL: it is paused
 *
 * Writes		twtasks.schedule
 * Wakes		after commit one sidecar of the bucket
 */
CREATE FUNCTION twtasks_internal.start_schedule(name text, anew boolean)
RETURNS timestamptz
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	started twtasks.schedule;
BEGIN
	SELECT s.* INTO started FROM twtasks.schedule s WHERE s.name = start_schedule.name;
	IF started.is_paused THEN
		started.next_run := NULL;
	ELSIF anew THEN
		started.next_run := twtasks.cron_next(started.cron, twtasks.clock(), started.time_zone);
	END IF;
	UPDATE twtasks.schedule s
	SET problem = NULL, next_run = started.next_run, look_at = coalesce(started.next_run, 'infinity')
	WHERE s.name = start_schedule.name;
	IF started.next_run IS NOT NULL THEN
		-- There is no such task: only the time counts.
		PERFORM twtasks_internal.queue_trigger(gen_random_uuid(), 0::bigint,
			coalesce(started.bucket, (twtasks.policy_of(started.type)).bucket, 'default'),
			started.type, 0::smallint, 0, started.next_run);
	END IF;
	RETURN started.next_run;
END $$;

/*
 * twtasks_internal.check_schedule(...)
 *
 *		Refuses arguments that schedule() must not store. add_task() itself is
 *		asked about type, bucket and priority.
 *
 * Errors
 *		22004, 22023, 42501, 54000	as schedule()
 */
CREATE FUNCTION twtasks_internal.check_schedule(schedule twtasks.schedule, priority integer)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	missing CONSTANT text := CASE
		WHEN schedule.name IS NULL THEN 'name' WHEN schedule.cron IS NULL THEN 'cron'
		WHEN schedule.time_zone IS NULL THEN 'time_zone' WHEN schedule.missed IS NULL THEN 'missed'
		WHEN schedule.missed_limit IS NULL THEN 'missed_limit' END;
BEGIN
	IF missing IS NOT NULL THEN
		RAISE EXCEPTION '% must not be null', missing
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF schedule.name !~ '^\S' OR schedule.name ~ '[[:cntrl:]]' OR length(schedule.name) > 200 THEN
		RAISE EXCEPTION 'invalid name of a schedule'
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'A name has 1 to 200 characters, does not begin with a space, and has no control characters.';
	ELSIF schedule.missed NOT IN ('skip', 'once', 'all') THEN
		RAISE EXCEPTION 'missed must be skip, once or all, not "%"', twtasks_internal.shown(schedule.missed)
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF schedule.missed_limit NOT BETWEEN 1 AND 1000 THEN
		RAISE EXCEPTION 'missed_limit must be between 1 and 1000, not %', schedule.missed_limit
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF schedule.expires_after <= interval '0' THEN
		RAISE EXCEPTION 'expires_after must be greater than zero'
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF jsonb_typeof(schedule.context) <> 'object' THEN
		RAISE EXCEPTION 'context must be a JSON object'
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'The name of the schedule and the occurrence are added to it.';
	ELSIF twtasks.cron_next(schedule.cron, twtasks.clock(), schedule.time_zone) IS NULL THEN
		RAISE EXCEPTION 'cron expression "%" names no time', schedule.cron
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Its month has no such day.';
	END IF;
	BEGIN
		PERFORM twtasks_internal.add_task_as(schedule.role, (
			schedule.type, schedule.data, schedule.sub_type, NULL, NULL, check_schedule.priority,
			NULL, schedule.bucket, twtasks.clock() + schedule.expires_after,
			schedule.context, schedule.payload)::twtasks.new_task);
		RAISE EXCEPTION 'this task was for a test' USING ERRCODE = 'TWT00';
	EXCEPTION WHEN SQLSTATE 'TWT00' THEN
		NULL;
	END;
END $$;

/*
 * twtasks.schedule(name, cron, type, data, ...)
 *
 *		Makes the schedule of that name, or replaces it; a schedule adds tasks
 *		by the clock.  A new cron expression or time zone counts from now on.
 *		If neither changes, the next occurrence stays, even a missed one.  A
 *		paused schedule stays paused.
 *
 *		Each occurrence is added once.  The task's context gives its handler the
 *		name ("schedule") and the occurrence ("scheduled_for").
 *
 * Parameters
 *		name			1 to 200 characters
 *		cron			as for cron_next()
 *		type, data		of the tasks, as for add_task(); so are sub_type, priority,
 *						bucket, context and payload
 *		time_zone		of cron: a name of pg_timezone_names
 *		missed			rule for occurrences that no sidecar added in time, that
 *						is, within a minute: 'skip' leaves them out, 'once' runs
 *						the last one, 'all' runs the last missed_limit ones
 *		missed_limit	1 to 1000
 *		expires_after	a task that has not started this long after its occurrence
 *						becomes FAILED
 *		context			a JSON object
 *		reason			for the audit
 *
 * Returns
 *		result			'added', 'changed' or 'unchanged'
 *		next_run		its next run; NULL: it is paused
 *
 * Errors
 *		22004			a required parameter is NULL
 *		22023			a parameter is not valid, or cron names no time
 *		54000			data, payload and context exceed twtasks.max_payload
 *		42501			the calling role may not add this type: see allow_type()
 *
 * Writes		twtasks.schedule, twtasks.schedule_audit
 * Locks		row lock; waits for a change of the same schedule
 * Wakes		after commit one sidecar of the bucket
 * Example		SELECT * FROM twtasks.schedule('nightly', '30 2 * * *', 'SETTLE',
 *					time_zone => 'Europe/Berlin');
 */
CREATE FUNCTION twtasks.schedule(
	name text,
	cron text,
	type text,
	data jsonb DEFAULT NULL,
	time_zone text DEFAULT 'UTC',
	missed text DEFAULT 'once',
	missed_limit integer DEFAULT 100,
	sub_type text DEFAULT NULL,
	priority integer DEFAULT NULL,
	bucket text DEFAULT NULL,
	expires_after interval DEFAULT NULL,
	context jsonb DEFAULT NULL,
	payload bytea DEFAULT NULL,
	reason text DEFAULT NULL,
	OUT result text,
	OUT next_run timestamptz)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
	wanted twtasks.schedule;
	old twtasks.schedule;
	before jsonb;
	after jsonb;
BEGIN
	wanted.name := schedule.name;
	wanted.cron := schedule.cron;
	wanted.time_zone := schedule.time_zone;
	wanted.missed := schedule.missed;
	wanted.missed_limit := schedule.missed_limit;
	wanted.type := schedule.type;
	wanted.sub_type := schedule.sub_type;
	wanted.bucket := schedule.bucket;
	wanted.expires_after := schedule.expires_after;
	wanted.data := schedule.data;
	wanted.payload := schedule.payload;
	wanted.context := schedule.context;
	wanted.role := CASE current_setting('role') WHEN 'none' THEN session_user ELSE current_setting('role') END;
	PERFORM twtasks_internal.check_schedule(wanted, schedule.priority);
	wanted.priority := schedule.priority;
	wanted.is_paused := false;
	wanted.look_at := 'infinity';

	LOOP
		INSERT INTO twtasks.schedule SELECT wanted.* ON CONFLICT (name) DO NOTHING;
		IF FOUND THEN
			result := 'added';
			next_run := twtasks_internal.start_schedule(wanted.name, true);
			PERFORM twtasks_internal.audit_schedule('schedule', wanted.name, NULL::jsonb,
				twtasks_internal.describe_schedule(wanted.name), schedule.reason);
			RETURN;
		END IF;
		SELECT s.* INTO old FROM twtasks.schedule s WHERE s.name = wanted.name FOR UPDATE;
		EXIT WHEN FOUND;		-- else it was removed in between
	END LOOP;
	before := twtasks_internal.describe_schedule(wanted.name);
	UPDATE twtasks.schedule s
	SET cron = wanted.cron, time_zone = wanted.time_zone, missed = wanted.missed,
		missed_limit = wanted.missed_limit, type = wanted.type, sub_type = wanted.sub_type,
		bucket = wanted.bucket, priority = wanted.priority, expires_after = wanted.expires_after,
		data = wanted.data, payload = wanted.payload, context = wanted.context, role = wanted.role
	WHERE s.name = wanted.name;
	after := twtasks_internal.describe_schedule(wanted.name);
	result := CASE WHEN before = after THEN 'unchanged' ELSE 'changed' END;
	next_run := twtasks_internal.start_schedule(wanted.name,
		(old.cron, old.time_zone) <> (wanted.cron, wanted.time_zone));
	IF result = 'changed' THEN
		PERFORM twtasks_internal.audit_schedule('schedule', wanted.name, before, after, schedule.reason);
	END IF;
END $$;

/*
 * twtasks.unschedule(name, reason)
 *
 *		Removes a schedule.  Tasks that it has added stay.
 *
 * Returns
 *		'removed', or 'not_found'
 *
 * Writes		twtasks.schedule, twtasks.schedule_audit
 * Locks		row lock
 */
CREATE FUNCTION twtasks.unschedule(name text, reason text DEFAULT NULL)
RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	before jsonb;
BEGIN
	PERFORM FROM twtasks.schedule s WHERE s.name = unschedule.name FOR UPDATE;
	before := twtasks_internal.describe_schedule(unschedule.name);
	DELETE FROM twtasks.schedule s WHERE s.name = unschedule.name;
	IF NOT FOUND THEN
		RETURN 'not_found';
	END IF;
	PERFORM twtasks_internal.audit_schedule('unschedule', unschedule.name, before, NULL::jsonb, reason);
	RETURN 'removed';
END $$;

/*
 * twtasks_internal.set_schedule_paused(name, paused, reason)
 *
 *		The work of pause_schedule() and resume_schedule().
 */
CREATE FUNCTION twtasks_internal.set_schedule_paused(name text, paused boolean, reason text)
RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	was boolean;
	before jsonb;
BEGIN
	SELECT s.is_paused INTO was FROM twtasks.schedule s
	WHERE s.name = set_schedule_paused.name FOR UPDATE;
	IF was IS NULL OR was = paused THEN
		RETURN CASE WHEN was IS NULL THEN 'not_found' ELSE 'not_changed' END;
	END IF;
	before := twtasks_internal.describe_schedule(set_schedule_paused.name);
	UPDATE twtasks.schedule s SET is_paused = paused WHERE s.name = set_schedule_paused.name;
	PERFORM twtasks_internal.start_schedule(set_schedule_paused.name, true);
	PERFORM twtasks_internal.audit_schedule(CASE WHEN paused THEN 'pause' ELSE 'resume' END,
		set_schedule_paused.name, before,
		twtasks_internal.describe_schedule(set_schedule_paused.name), reason);
	RETURN CASE WHEN paused THEN 'paused' ELSE 'resumed' END;
END $$;

/*
 * twtasks.pause_schedule(name, reason)
 *
 *		Keeps a schedule from adding tasks until resume_schedule().
 *
 * Returns
 *		'paused', 'not_changed' (it was paused before), or 'not_found'
 *
 * Writes		twtasks.schedule, twtasks.schedule_audit
 * Locks		row lock
 */
CREATE FUNCTION twtasks.pause_schedule(name text, reason text DEFAULT NULL)
RETURNS text
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT twtasks_internal.set_schedule_paused(name, true, reason) $$;

/*
 * twtasks.resume_schedule(name, reason)
 *
 *		Lets a paused schedule go on from now.  Occurrences during the pause are
 *		not made up for, whatever its rule for missed ones.
 *
 * Returns
 *		'resumed', 'not_changed' (it was not paused), or 'not_found'
 *
 * Writes		twtasks.schedule, twtasks.schedule_audit
 * Locks		row lock
 * Wakes		after commit one sidecar of the bucket
 */
CREATE FUNCTION twtasks.resume_schedule(name text, reason text DEFAULT NULL)
RETURNS text
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT twtasks_internal.set_schedule_paused(name, false, reason) $$;

/*
 * twtasks.run_schedule_now(name, reason)
 *
 *		Adds a task of a schedule, paused or not, in addition to its
 *		occurrences.
 *
 * Returns
 *		as add_task(); result 'not_found': no such schedule
 *
 * Errors
 *		as add_task()
 *
 * Writes		twtasks.task, twtasks.schedule, twtasks.schedule_audit
 * Locks		row lock
 * Wakes		after commit one sidecar of the bucket
 */
CREATE FUNCTION twtasks.run_schedule_now(name text, reason text DEFAULT NULL)
RETURNS twtasks.added_task
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	schedule twtasks.schedule;
	added twtasks.added_task;
BEGIN
	SELECT s.* INTO schedule FROM twtasks.schedule s
	WHERE s.name = run_schedule_now.name FOR UPDATE;
	IF NOT FOUND THEN
		RETURN (NULL, NULL, 'not_found')::twtasks.added_task;
	END IF;
	added := twtasks_internal.add_occurrence(schedule, NULL::timestamptz);
	PERFORM twtasks_internal.audit_schedule('run now', schedule.name, NULL::jsonb,
		jsonb_build_object('task', added.task_id), reason);
	RETURN added;
END $$;
COMMENT ON COLUMN twtasks.schedule.name IS 'Given by its maker';
COMMENT ON COLUMN twtasks.schedule.cron IS 'A cron expression';
COMMENT ON COLUMN twtasks.schedule.time_zone IS 'Time zone of the cron expression';
COMMENT ON COLUMN twtasks.schedule.missed IS 'Rule for occurrences that were not added in time: skip, once or all';
COMMENT ON COLUMN twtasks.schedule.missed_limit IS 'all: at most this many, the last ones';
COMMENT ON COLUMN twtasks.schedule.is_paused IS 'Adds nothing until resume_schedule()';
COMMENT ON COLUMN twtasks.schedule.look_at IS 'Time of the next look: next_run, or later after a failure; infinity: never';
COMMENT ON COLUMN twtasks.schedule.next_run IS 'The next occurrence; NULL: none, or it is paused';
COMMENT ON COLUMN twtasks.schedule.last_run IS 'The occurrence added last, or the time of run_schedule_now()';
COMMENT ON COLUMN twtasks.schedule.last_task IS 'The task added last';
COMMENT ON COLUMN twtasks.schedule.last_missed IS 'The last occurrence left out';
COMMENT ON COLUMN twtasks.schedule.problem IS 'The reason why the due occurrence cannot be added; NULL: it can';
COMMENT ON COLUMN twtasks.schedule.type IS 'Type of its tasks';
COMMENT ON COLUMN twtasks.schedule.sub_type IS 'As in twtasks.task';
COMMENT ON COLUMN twtasks.schedule.bucket IS 'As in twtasks.task; NULL: of the type''s policy';
COMMENT ON COLUMN twtasks.schedule.priority IS 'As in twtasks.task; NULL: of the type''s policy';
COMMENT ON COLUMN twtasks.schedule.expires_after IS 'From the occurrence to the task''s expires; NULL: of the type''s policy';
COMMENT ON COLUMN twtasks.schedule.data IS 'As in twtasks.task';
COMMENT ON COLUMN twtasks.schedule.payload IS 'As in twtasks.task';
COMMENT ON COLUMN twtasks.schedule.context IS 'As in twtasks.task; name and occurrence are added to it';
COMMENT ON COLUMN twtasks.schedule.role IS 'Its maker, which adds its tasks';
COMMENT ON COLUMN twtasks.schedule_run.name IS 'The schedule, which may have been removed since';
COMMENT ON COLUMN twtasks.schedule_run.occurrence IS 'Time at which it was due';
COMMENT ON COLUMN twtasks.schedule_run.added IS 'Time at which its task was added';
COMMENT ON COLUMN twtasks.schedule_run.task_id IS 'Its task';
COMMENT ON COLUMN twtasks.schedule_audit.id IS 'Ascends with the changes of one schedule';
COMMENT ON COLUMN twtasks.schedule_audit.at IS 'When';
COMMENT ON COLUMN twtasks.schedule_audit.actor IS 'The role that logged in';
COMMENT ON COLUMN twtasks.schedule_audit.action IS 'schedule, unschedule, pause, resume, run now';
COMMENT ON COLUMN twtasks.schedule_audit.name IS 'The schedule';
COMMENT ON COLUMN twtasks.schedule_audit.before IS 'Before the change; "carries" is a hash of data, payload and context';
COMMENT ON COLUMN twtasks.schedule_audit.after IS 'After the change; the task, for run now';
COMMENT ON COLUMN twtasks.schedule_audit.reason IS 'In the actor''s words';
COMMENT ON FUNCTION twtasks_internal.describe_schedule IS 'The settings of a schedule, for the audit.  A hash stands for data, payload and context, which a reader of the audit may not see.';
COMMENT ON FUNCTION twtasks_internal.audit_schedule IS 'Records what the session has just done to a schedule.';
COMMENT ON FUNCTION twtasks_internal.start_schedule IS 'Sets the time at which a changed schedule is looked at.';
COMMENT ON FUNCTION twtasks_internal.check_schedule IS 'Refuses arguments that schedule() must not store. add_task() itself is asked about type, bucket and priority.';
COMMENT ON FUNCTION twtasks.schedule IS 'Makes the schedule of that name, or replaces it; a schedule adds tasks by the clock.  A new cron expression or time zone counts from now on. If neither changes, the next occurrence stays, even a missed one.  A paused schedule stays paused.';
COMMENT ON FUNCTION twtasks.unschedule IS 'Removes a schedule.  Tasks that it has added stay.';
COMMENT ON FUNCTION twtasks_internal.set_schedule_paused IS 'The work of pause_schedule() and resume_schedule(). / CREATE FUNCTION twtasks_internal.set_schedule_paused(name text, paused boolean, reason text)';
COMMENT ON FUNCTION twtasks.pause_schedule IS 'Keeps a schedule from adding tasks until resume_schedule().';
COMMENT ON FUNCTION twtasks.resume_schedule IS 'Lets a paused schedule go on from now.  Occurrences during the pause are not made up for, whatever its rule for missed ones.';
COMMENT ON FUNCTION twtasks.run_schedule_now IS 'Adds a task of a schedule, paused or not, in addition to its occurrences.';

-- sql/schedule/run_schedules.sql
/*
 * twtasks_internal.add_occurrence(schedule, occurrence)
 *
 *		Adds the task of an occurrence, unless it was added before.  A schedule
 *		of that name may have added it and been removed since, or the server's
 *		clock may have been put back.
 *
 * Parameters
 *		occurrence		NULL: an additional task, now
 *
 * Returns
 *		as add_task(); result 'already_exists': it was added before
 *
 * Errors
 *		as add_task()
 *
 * Writes		twtasks.task, twtasks.schedule, twtasks.schedule_run
 * Wakes		after commit one sidecar of the bucket
 */
CREATE FUNCTION twtasks_internal.add_occurrence(schedule twtasks.schedule, occurrence timestamptz)
RETURNS twtasks.added_task
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	run CONSTANT timestamptz := coalesce(occurrence, twtasks.clock());
	added twtasks.added_task;
BEGIN
	IF EXISTS (SELECT FROM twtasks.schedule_run r
			   WHERE r.name = schedule.name AND r.occurrence = add_occurrence.occurrence) THEN
		RETURN (NULL, NULL, 'already_exists')::twtasks.added_task;
	END IF;
	added := twtasks_internal.add_task_as(schedule.role, (
		schedule.type, schedule.data, schedule.sub_type, NULL, NULL, schedule.priority,
		NULL, schedule.bucket, run + schedule.expires_after,
		coalesce(schedule.context, '{}')
			|| jsonb_build_object('schedule', schedule.name, 'scheduled_for',
								  to_char(run AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')),
		schedule.payload)::twtasks.new_task);
	IF occurrence IS NOT NULL THEN
		INSERT INTO twtasks.schedule_run (name, occurrence, added, task_id)
		VALUES (schedule.name, occurrence, twtasks.clock(), added.task_id);
	END IF;
	UPDATE twtasks.schedule s SET last_run = run, last_task = added.task_id
	WHERE s.name = schedule.name;
	RETURN added;
END $$;

/*
 * twtasks_internal.run_schedule(schedule, now, until)
 *
 *		Adds the due occurrences of a schedule whose row is locked, by its rule
 *		for missed ones.  Then moves the schedule on to the next occurrence.
 *
 * Parameters
 *		until			at this time stop adding; the next occurrence is still due
 *
 * Returns
 *		added			number of tasks
 *		has_missed		whether occurrences were left out
 *
 * Errors
 *		as add_task() and cron_next()
 *
 * Writes		twtasks.task, twtasks.schedule, twtasks.schedule_run
 * Wakes		after commit one sidecar of the bucket
 */
CREATE FUNCTION twtasks_internal.run_schedule(
	schedule twtasks.schedule,
	now timestamptz,
	until timestamptz,
	OUT added integer,
	OUT has_missed boolean)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	wanted CONSTANT integer := CASE schedule.missed WHEN 'all' THEN schedule.missed_limit ELSE 1 END;
	before CONSTANT timestamptz := schedule.next_run - interval '1 microsecond';
	-- one more, which shows whether any is left out
	due timestamptz[] := twtasks_internal.cron_last(schedule.cron, before, now, schedule.time_zone, wanted + 1);
	left_out timestamptz;
	following timestamptz := twtasks.cron_next(schedule.cron, greatest(now, before), schedule.time_zone);
	occurrence timestamptz;
BEGIN
	added := 0;
	IF cardinality(due) > wanted THEN
		left_out := due[1];
		due := due[2:];
	END IF;
	IF schedule.missed = 'skip' AND due[1] < now - interval '1 minute' THEN
		left_out := due[1];
		due := '{}';
	END IF;
	FOREACH occurrence IN ARRAY due LOOP
		IF occurrence > due[1] AND clock_timestamp() > until THEN
			following := occurrence;
			EXIT;
		END IF;
		IF (twtasks_internal.add_occurrence(schedule, occurrence)).result = 'added' THEN
			added := added + 1;
		END IF;
	END LOOP;
	UPDATE twtasks.schedule s
	SET next_run = following, look_at = coalesce(following, 'infinity'),
		last_missed = coalesce(left_out, s.last_missed), problem = NULL
	WHERE s.name = schedule.name;
	has_missed := left_out IS NOT NULL;
END $$;

/*
 * twtasks_internal.forget_runs()
 *
 *		Deletes rows of twtasks.schedule_run that are as old as dropped history,
 *		at most a thousand.
 *
 * Writes		twtasks.schedule_run
 * Locks		rows; skips rows that others have locked
 */
CREATE FUNCTION twtasks_internal.forget_runs()
RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	DELETE FROM twtasks.schedule_run r
	WHERE (r.name, r.occurrence) IN (
		SELECT o.name, o.occurrence FROM twtasks.schedule_run o
		WHERE o.added < twtasks.clock() - twtasks_internal.keep_finished()
		ORDER BY o.added LIMIT 1000 FOR UPDATE SKIP LOCKED)
$$;

/*
 * twtasks_internal.run_schedules(batch)
 *
 *		Adds the tasks of all schedules that are due.  Adds none while
 *		twtasks.enabled is off, or if this database is a copy and not adopted:
 *		occurrences due then are missed.
 *
 *		A schedule that cannot run (its bucket is gone, its time zone is no
 *		longer known) does not hold up others. twtasks.schedules shows the
 *		reason, and the next try is half a minute later.  The same applies if
 *		intercepting its task takes longer than twtasks.function_timeout.  When
 *		the call has taken that long in all, the rest waits for the next call.
 *
 * Parameters
 *		batch			at most this many schedules in one call
 *
 * Returns
 *		added			number of tasks
 *		missed			number of schedules with occurrences left out
 *		failed			number of schedules that cannot run, and could before
 *		next_ms			milliseconds until the next one is due; 0: more are due now;
 *						NULL: none waits
 *
 * Writes		twtasks.task, twtasks.schedule, twtasks.schedule_run
 * Locks		rows of schedules, the earliest first; skips rows that others have
 *				locked
 * Wakes		sidecars of the tasks' buckets
 */
CREATE FUNCTION twtasks_internal.run_schedules(
	batch integer DEFAULT 100,
	OUT added bigint,
	OUT missed bigint,
	OUT failed bigint,
	OUT next_ms bigint)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '1s'
AS $$
DECLARE
	started CONSTANT timestamptz := twtasks.clock();
	until CONSTANT timestamptz := clock_timestamp() + current_setting('twtasks.function_timeout')::interval;
	due twtasks.schedule;
	ran record;
	left_over integer := batch;
BEGIN
	added := 0;
	missed := 0;
	failed := 0;
	IF NOT (twtasks.is_enabled() AND twtasks.is_adopted()) THEN
		RETURN;
	END IF;
	FOR due IN
		SELECT s.* FROM twtasks.schedule s
		WHERE s.look_at <= started
		ORDER BY s.look_at
		LIMIT batch FOR UPDATE SKIP LOCKED
	LOOP
		left_over := left_over - 1;
		BEGIN
			ran := twtasks_internal.run_schedule(due, started, until);
			added := added + ran.added;
			missed := missed + ran.has_missed::integer;
		EXCEPTION WHEN OTHERS THEN
			failed := failed + (due.problem IS NULL)::integer;
			UPDATE twtasks.schedule s
			SET problem = twtasks_internal.cut_message(SQLERRM), look_at = started + interval '30 seconds'
			WHERE s.name = due.name;
			-- The next one may take as long, and the node has other duties.
			EXIT WHEN SQLSTATE IN ('55P03', '53400');
		END;
		EXIT WHEN added >= 1000 OR clock_timestamp() > until;
	END LOOP;
	PERFORM twtasks_internal.forget_runs();

	-- A schedule that is due and was skipped is locked: do not try it again at once.
	SELECT least(
		(SELECT CASE WHEN left_over > 0 AND added < 1000 THEN 500 ELSE 0 END
		 FROM twtasks.schedule s WHERE s.look_at <= started LIMIT 1),
		(SELECT greatest(0, ceil(extract(epoch FROM s.look_at - twtasks.clock()) * 1000))
		 FROM twtasks.schedule s
		 WHERE s.look_at > started AND s.look_at < 'infinity'
		 ORDER BY s.look_at LIMIT 1))
	INTO next_ms;
END $$;
COMMENT ON FUNCTION twtasks_internal.add_occurrence IS 'Adds the task of an occurrence, unless it was added before.  A schedule of that name may have added it and been removed since, or the server''s clock may have been put back.';
COMMENT ON FUNCTION twtasks_internal.run_schedule IS 'Adds the due occurrences of a schedule whose row is locked, by its rule for missed ones.  Then moves the schedule on to the next occurrence.';
COMMENT ON FUNCTION twtasks_internal.forget_runs IS 'Deletes rows of twtasks.schedule_run that are as old as dropped history, at most a thousand.';
COMMENT ON FUNCTION twtasks_internal.run_schedules IS 'Adds the tasks of all schedules that are due.  Adds none while twtasks.enabled is off, or if this database is a copy and not adopted: occurrences due then are missed.';

-- sql/operate/reopen_task.sql
/*
 * twtasks_internal.claim_again(task)
 *
 *		Claims the id and key of a finished task again, before the task becomes
 *		live.  Cleaning frees them a moment before it drops the task.
 *
 * Errors
 *		23505			another task has that key or id
 *
 * Writes		twtasks.unique_key
 * Locks		waits for a session that adds a task with that key or id
 */
CREATE FUNCTION twtasks_internal.claim_again(task twtasks.finished_task)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	-- A new row, since cleaning may be about to delete the old one.
	DELETE FROM twtasks.unique_key k WHERE k.task_id = task.id;
	INSERT INTO twtasks.unique_key (task_id, key) VALUES (task.id, task.key)
	ON CONFLICT DO NOTHING;
	IF NOT EXISTS (SELECT FROM twtasks.unique_key k
				   WHERE k.task_id = task.id AND k.key IS NOT DISTINCT FROM task.key) THEN
		RAISE EXCEPTION 'the key of task "%" belongs to another task by now', task.id
			USING ERRCODE = 'unique_violation',
				DETAIL = format('The key is "%s".', task.key);
	END IF;
END $$;

/*
 * twtasks_internal.make_live_again(task, run_after)
 *
 *		Moves a task from the history back to the live tasks: WAITING, with the
 *		same id, key and data.  The caller holds the lock on its row.
 *
 * Returns
 *		facts() of the live task
 *
 * Errors
 *		22023			its bucket is no longer configured
 *		23505			another task has its key or id
 *
 * Writes		twtasks.task, twtasks.finished_task, twtasks.unique_key
 * Wakes		a sidecar of the bucket
 */
CREATE FUNCTION twtasks_internal.make_live_again(task twtasks.finished_task, run_after timestamptz)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	moment CONSTANT timestamptz := twtasks.clock();
	runs_at CONSTANT timestamptz := coalesce(run_after, moment);
	live twtasks.task;
BEGIN
	PERFORM twtasks_internal.check_bucket(task.bucket);
	PERFORM twtasks_internal.claim_again(task);
	DELETE FROM twtasks.finished_task f WHERE f.id = task.id AND f.state_time = task.state_time;
	INSERT INTO twtasks.task AS t
		(id, version, next_event_time, state_time, created, status, queued, size, priority,
		 type, sub_type, bucket, key, error, data, payload, context, added_by)
	VALUES (task.id, task.version + 1, runs_at, moment, task.created, 'WAITING', false,
			coalesce(octet_length(task.data::text), 0) + coalesce(octet_length(task.payload), 0)
			+ coalesce(octet_length(task.context::text), 0),
			task.priority, task.type, task.sub_type, task.bucket, task.key, task.error,
			task.data, task.payload, task.context, task.added_by)
	RETURNING t.* INTO live;
	PERFORM twtasks_internal.queue_trigger(live.id, live.version, live.bucket, live.type,
								  live.priority, live.size, runs_at);
	RETURN twtasks_internal.facts(live);
END $$;

/*
 * twtasks_internal.change_finished(action, id, version, run_after, reason)
 *
 *		Changes a task that is not live, as change_task() does: reopens a task
 *		of the history, or reports why nothing is changed.
 *
 * Returns, errors, locks, wakes: as change_task()
 */
CREATE FUNCTION twtasks_internal.change_finished(
	action text,
	id uuid,
	version bigint,
	run_after timestamptz,
	reason text)
RETURNS twtasks.change_result
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
	task twtasks.finished_task;
	answer twtasks.change_result;
BEGIN
	SELECT f.* INTO task FROM twtasks.finished_task f WHERE f.id = change_finished.id FOR UPDATE;
	IF NOT FOUND THEN
		-- It may have become live again while we waited for its row.
		SELECT 'wrong_version', t.version, t.status INTO answer
		FROM twtasks.task t WHERE t.id = change_finished.id;
		RETURN CASE WHEN FOUND THEN answer
					ELSE ('not_found', NULL, NULL)::twtasks.change_result END;
	ELSIF task.version <> change_finished.version THEN
		RETURN ('wrong_version', task.version, task.status)::twtasks.change_result;
	ELSIF NOT EXISTS (
		SELECT FROM twtasks.transition x
		WHERE x.action = change_finished.action AND x.actor = 'operator'
		  AND x.from_status = task.status) THEN
		RETURN ('wrong_status', task.version, task.status)::twtasks.change_result;
	END IF;
	PERFORM twtasks_internal.write_audit(change_finished.action, task.id, twtasks_internal.finished_facts(task),
								twtasks_internal.make_live_again(task, run_after), reason);
	RETURN ('changed', task.version + 1, 'WAITING')::twtasks.change_result;
END $$;

/*
 * twtasks.reopen_task(id, version, run_after, reason)
 *
 *		Moves a FAILED or CANCELLED task from the history back, to run at
 *		run_after or now.  The id and key stay the same, so a receiver that uses
 *		the id as an idempotency key recognizes the task.  Its tries start from
 *		0, and it no longer expires.
 *
 * Errors
 *		22023			its bucket is no longer configured
 *		23505			its key, freed by cleaning, belongs to another task
 *
 * Returns, other errors, locks, wakes: as change_task()
 * Example		SELECT * FROM twtasks.reopen_task('...', 3, reason => 'the bank rejected it by mistake');
 */
CREATE FUNCTION twtasks.reopen_task(
	id uuid, version bigint DEFAULT NULL, run_after timestamptz DEFAULT NULL, reason text DEFAULT NULL)
RETURNS twtasks.change_result
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT * FROM twtasks_internal.change_task('reopen', id, version, run_after, reason) $$;
COMMENT ON FUNCTION twtasks_internal.claim_again IS 'Claims the id and key of a finished task again, before the task becomes live.  Cleaning frees them a moment before it drops the task.';
COMMENT ON FUNCTION twtasks_internal.make_live_again IS 'Moves a task from the history back to the live tasks: WAITING, with the same id, key and data.  The caller holds the lock on its row.';
COMMENT ON FUNCTION twtasks_internal.change_finished IS 'Changes a task that is not live, as change_task() does: reopens a task of the history, or reports why nothing is changed.';
COMMENT ON FUNCTION twtasks.reopen_task IS 'Moves a FAILED or CANCELLED task from the history back, to run at run_after or now.  The id and key stay the same, so a receiver that uses the id as an idempotency key recognizes the task.  Its tries start from 0, and it no longer expires.';

-- sql/operate/change_tasks.sql
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
 * twtasks_internal.check_filter(action, pattern, statuses, since, max_tasks)
 *
 *		Checks the arguments of change_tasks().
 *
 * Errors
 *		22004			pattern is NULL, or since is NULL to reopen
 *		22023			no such action, an action not possible in a status, or max_tasks
 *						out of range
 */
CREATE FUNCTION twtasks_internal.check_filter(
	action text, pattern text, statuses twtasks.task_status[], since timestamptz, max_tasks integer)
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
				HINT = 'Actions are resume, reschedule, cancel, fail, hold, release and reopen.';
	ELSIF pattern IS NULL THEN
		RAISE EXCEPTION 'pattern must not be null'
			USING ERRCODE = 'null_value_not_allowed',
				HINT = 'Name a type, or the beginning of types and a *; "*" means all.';
	ELSIF max_tasks IS NULL OR max_tasks NOT BETWEEN 1 AND 10000 THEN
		RAISE EXCEPTION 'max_tasks must be between 1 and 10000, not %', coalesce(max_tasks::text, 'NULL')
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Call again until no task comes back.';
	ELSIF action = 'reopen' AND since IS NULL THEN
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
 * twtasks_internal.find_tasks(pattern, sub_type, bucket, statuses, error, since, until, newest_first, max_tasks)
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
	max_tasks integer)
RETURNS TABLE (id uuid, version bigint, type text, status twtasks.task_status)
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	-- ERROR and HELD have an index, and may be few among many tasks
	WITH candidate AS (
		SELECT t.id, t.version, t.type, t.sub_type, t.bucket, t.status, t.error, t.state_time
		FROM twtasks.task t
		WHERE NOT t.queued AND t.next_event_time = 'infinity'
		  AND find_tasks.statuses && '{ERROR,HELD}'
		UNION ALL
		SELECT t.id, t.version, t.type, t.sub_type, t.bucket, t.status, t.error, t.state_time
		FROM twtasks.task t
		WHERE (t.queued OR t.next_event_time < 'infinity')
		  AND find_tasks.statuses && '{WAITING,SUBMITTED,PROCESSING}'
		UNION ALL
		SELECT f.id, f.version, f.type, f.sub_type, f.bucket, f.status, f.error, f.state_time
		FROM twtasks.finished_task f
		WHERE find_tasks.statuses && '{DONE,FAILED,CANCELLED}')
	SELECT c.id, c.version, c.type, c.status
	FROM candidate c
	WHERE c.status = ANY (find_tasks.statuses)
	  AND twtasks_internal.fits(find_tasks.pattern, c.type) IS NOT NULL
	  AND (find_tasks.sub_type IS NULL OR c.sub_type = find_tasks.sub_type)
	  AND (find_tasks.bucket IS NULL OR c.bucket = find_tasks.bucket)
	  AND (find_tasks.error IS NULL OR position(lower(find_tasks.error) IN lower(c.error)) > 0)
	  AND (find_tasks.since IS NULL OR c.state_time >= find_tasks.since)
	  AND (find_tasks.until IS NULL OR c.state_time < find_tasks.until)
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
 * twtasks.change_tasks(action, pattern, ...)
 *
 *		Takes the same action, one of those above, on all tasks that match a
 *		filter, and reports the outcome for each task.
 *
 * Parameters
 *		action		'resume', 'reschedule', 'cancel', 'fail', 'hold', 'release' or
 *					'reopen'
 *		pattern		a type, or the beginning of types and a *; '*' means all
 *		reason		for the audit
 *		sub_type	NULL: any
 *		bucket		NULL: any
 *		statuses	NULL: the usual ones of the action: ERROR to resume or fail,
 *					WAITING to reschedule, WAITING and SUBMITTED to cancel or hold,
 *					HELD to release, FAILED to reopen
 *		error		only tasks with this text in their error, in upper or lower case
 *		since		only tasks that entered their status then or later
 *		until		only tasks that entered their status before then
 *		newest_first	the order: by the time of entering the status
 *		max_tasks	at most this many, 1 to 10000; call again until no row comes back
 *		run_after	for reschedule, release and reopen
 *		dry_run		only reports what would be done
 *
 * Returns
 *		id, type		of each task, in order
 *		from_status		its status when it was found
 *		result			'changed'; in a dry run 'would_change'
 *						'requested'	its handler was asked to stop: request_cancel()
 *						'busy'		another session is changing it
 *						'wrong_version', 'wrong_status', 'not_found'	another
 *									session changed it before us
 *		version, status	of the task now
 *
 * Errors
 *		22004			pattern is NULL; reason, unless it is a dry run; run_after to
 *						reschedule; since to reopen
 *		22023			an argument is not valid
 *		23505			as reopen_task()
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
	dry_run boolean DEFAULT false)
RETURNS TABLE (id uuid, type text, from_status twtasks.task_status,
			   result text, version bigint, status twtasks.task_status)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER ROWS 100
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
	found record;
	changed twtasks.change_result;
BEGIN
	PERFORM twtasks_internal.check_filter(action, pattern, statuses, since, max_tasks);
	IF reason IS NULL AND dry_run IS FALSE THEN
		RAISE EXCEPTION 'reason must not be null'
			USING ERRCODE = 'null_value_not_allowed',
				HINT = 'It is kept in twtasks.audit with each task.';
	ELSIF action = 'reschedule' AND run_after IS NULL THEN
		RAISE EXCEPTION 'run_after must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	PERFORM twtasks_internal.check_change(gen_random_uuid(), run_after);
	FOR found IN
		SELECT * FROM twtasks_internal.find_tasks(
			pattern, sub_type, bucket, coalesce(statuses, twtasks_internal.changeable(action)), error,
			since, until, coalesce(newest_first, false), max_tasks)
	LOOP
		IF dry_run IS NOT FALSE THEN
			changed := ('would_change', found.version, found.status);
		ELSIF NOT twtasks_internal.lock_unless_busy(found.id) THEN
			changed := ('busy', found.version, found.status);
		ELSE
			changed := twtasks_internal.change_task(action, found.id, found.version, run_after, reason);
		END IF;
		id := found.id;
		type := found.type;
		from_status := found.status;
		result := changed.result;
		version := changed.version;
		status := changed.status;
		RETURN NEXT;
	END LOOP;
END $$;
COMMENT ON FUNCTION twtasks_internal.changeable IS 'The default statuses for change_tasks(): those from which an operator may take the action.  ERROR and HELD, which wait for a person''s decision, count only for actions meant for them.';
COMMENT ON FUNCTION twtasks_internal.may_change IS 'Whether an operator may take the action, or ask for it, in that status. / CREATE FUNCTION twtasks_internal.may_change(action text, status twtasks.task_status)';
COMMENT ON FUNCTION twtasks_internal.check_filter IS 'Checks the arguments of change_tasks().';
COMMENT ON FUNCTION twtasks_internal.find_tasks IS 'Tasks, live or finished, that match a filter.';
COMMENT ON FUNCTION twtasks_internal.lock_unless_busy IS 'Locks a task, live or finished, unless another session has locked it.  A caller that changes many tasks must not wait for one, nor in a circle.';
COMMENT ON FUNCTION twtasks.change_tasks IS 'Takes the same action, one of those above, on all tasks that match a filter, and reports the outcome for each task.';

-- sql/cluster/adopt.sql
/*
 * twtasks_internal.hold_copied(reason)
 *
 *		Holds every task that would run by itself: WAITING, SUBMITTED and
 *		PROCESSING become HELD.
 *
 * Returns
 *		the number of tasks
 *
 * Writes		twtasks.task, twtasks.audit
 * Locks		rows
 */
CREATE FUNCTION twtasks_internal.hold_copied(reason text)
RETURNS bigint
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	WITH found AS MATERIALIZED (
		SELECT t.id, t AS task FROM twtasks.task t
		WHERE t.status IN ('WAITING', 'SUBMITTED', 'PROCESSING') FOR UPDATE),
	held AS (
		UPDATE twtasks.task t
		SET status = 'HELD', version = t.version + 1, queued = false,
			state_time = twtasks.clock(), next_event_time = 'infinity', deadline = NULL,
			planned = CASE t.status WHEN 'WAITING' THEN t.next_event_time END
		FROM found f WHERE t.id = f.id
		RETURNING t.id, t AS task)
	SELECT count(twtasks_internal.write_audit('adopt', f.id, twtasks_internal.facts(f.task),
									 twtasks_internal.facts(h.task), hold_copied.reason))
	FROM found f JOIN held h ON h.id = f.id
$$;

/*
 * twtasks.adopt(environment, hold, reason)
 *
 *		Declares that the tasks of this database are to be executed here.
 *		Without this call nothing is executed after a restore, a copy, a
 *		recovery to a point in time or pg_upgrade.  The call also names or
 *		renames an environment.
 *
 *		A copy does not know what its original has done since.  So all tasks of
 *		a copy that would run are held, and all its schedules paused, unless
 *		hold is false.  People release the tasks (release_task(),
 *		change_tasks()) or cancel them.
 *
 * Parameters
 *		environment		only sidecars with this environment in their configuration take
 *						tasks here: 1 to 63 letters, digits, _ or -; NULL: only
 *						sidecars without an environment
 *		hold			NULL: hold them if this is a copy; false: run them, since the
 *						original is known to be gone and nothing was lost
 *		reason			for the record
 *
 * Returns
 *		held			number of tasks held
 *		paused			number of schedules paused
 *
 * Errors
 *		22023			environment is not valid
 *		25006			on a standby
 *
 * Writes		twtasks.adoption, twtasks.task, twtasks.audit, twtasks.schedule,
 *				twtasks.schedule_audit, twtasks.node
 * Locks		twtasks.adoption against another adopt(); the tasks' rows
 * Example		SELECT * FROM twtasks.adopt('staging');
 */
CREATE FUNCTION twtasks.adopt(
	environment text,
	hold boolean DEFAULT NULL,
	reason text DEFAULT NULL,
	OUT held bigint,
	OUT paused bigint)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
	is_copy boolean;
	held_before CONSTANT bigint := coalesce((SELECT max(a.held) FROM twtasks.adoption a WHERE a.ended IS NULL), 0);
BEGIN
	IF adopt.environment !~ '^[A-Za-z0-9_-]{1,63}$' THEN
		RAISE EXCEPTION 'invalid environment: "%"', adopt.environment
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'A name has 1 to 63 letters, digits, _ or -.';
	END IF;
	PERFORM twtasks_internal.own_place();	-- refuses standbys
	LOCK TABLE twtasks.adoption IN SHARE ROW EXCLUSIVE MODE;
	held := 0;
	paused := 0;
	is_copy := NOT twtasks.is_adopted();
	IF coalesce(adopt.hold, is_copy) THEN
		held := twtasks_internal.hold_copied(adopt.reason);
		SELECT count(*) FILTER (WHERE twtasks_internal.set_schedule_paused(s.name, true, adopt.reason) = 'paused')
		INTO paused FROM (SELECT o.name FROM twtasks.schedule o ORDER BY o.name) s;
	END IF;
	UPDATE twtasks.adoption a SET ended = clock_timestamp() WHERE a.ended IS NULL;
	PERFORM twtasks_internal.write_adoption(adopt.environment, held_before + held, adopt.reason);
	-- The nodes in a copy are the original's.
	UPDATE twtasks.node n SET ended = clock_timestamp() WHERE n.ended IS NULL AND is_copy;
END $$;
COMMENT ON FUNCTION twtasks_internal.hold_copied IS 'Holds every task that would run by itself: WAITING, SUBMITTED and PROCESSING become HELD.';
COMMENT ON FUNCTION twtasks.adopt IS 'Declares that the tasks of this database are to be executed here. Without this call nothing is executed after a restore, a copy, a recovery to a point in time or pg_upgrade.  The call also names or renames an environment.';

-- sql/watch/count_tasks.sql
/*
 * twtasks.count_tasks(cap)
 *
 *		Counts live tasks by bucket, type and status.  Reads only a part of the
 *		tasks, so that it is quick however many there are.
 *
 * Parameters
 *		cap				the most tasks that are counted of each bucket, type and priority
 *						in the queue; also of tasks that wait for a time, and of
 *						tasks in ERROR or HELD.  Three times cap is the limit for
 *						the whole queue, and cap the limit for groups of bucket,
 *						type and priority.  NULL: count all, which reads the whole
 *						live table
 *
 * Returns
 *		bucket, type, status
 *		tasks			their number
 *		capped			true: there may be more, also in other statuses
 *		oldest			state_time of the oldest counted task.  The queue is counted
 *						from small ids, which are the oldest unless callers gave
 *						the ids
 *		most_tries		the most tries of a counted task
 *		newest			state_time of the newest counted task
 *
 * Errors
 *		22023			cap is less than 1
 *
 * Locks		none
 * Example		SELECT * FROM twtasks.count_tasks(NULL) WHERE type = 'PAYOUT';
 */
CREATE FUNCTION twtasks.count_tasks(
	cap integer DEFAULT 10000,
	OUT bucket text,
	OUT type text,
	OUT status twtasks.task_status,
	OUT tasks bigint,
	OUT capped boolean,
	OUT oldest timestamptz,
	OUT most_tries integer,
	OUT newest timestamptz)
RETURNS SETOF record
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SECURITY DEFINER ROWS 100
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
	IF cap < 1 THEN
		RAISE EXCEPTION 'cap must be at least 1, not %', cap
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'NULL counts all tasks, however many there are.';
	END IF;
	IF cap IS NULL THEN
		RETURN QUERY
		SELECT t.bucket, t.type, t.status, count(*), false, min(t.state_time), max(t.tries),
			   max(t.state_time)
		FROM twtasks.task t GROUP BY t.bucket, t.type, t.status;
	ELSE
		RETURN QUERY
		SELECT c.bucket, c.type, c.status, sum(c.tasks)::bigint, bool_or(c.capped),
			   min(c.oldest), max(c.most_tries), max(c.newest)
		FROM (SELECT q.bucket, q.type, q.status, q.tasks, q.capped, q.oldest, q.most_tries, q.newest
			  FROM twtasks_internal.count_queued(cap, twtasks.clock()) q
			  UNION ALL
			  SELECT n.* FROM twtasks_internal.count_not_queued(cap) n) c
		GROUP BY c.bucket, c.type, c.status;
	END IF;
END $$;

/*
 * twtasks_internal.count_queued(cap, moment)
 *
 *		As count_tasks(), for tasks in the index of the queue: SUBMITTED, or
 *		PROCESSING and not accepted.  A row for each bucket, type, priority and
 *		status.
 *
 * Returns
 *		as count_tasks(), and
 *		late			number of tasks that should have moved on before that moment
 *		newest_late		the last time at which one of them should have
 */
CREATE FUNCTION twtasks_internal.count_queued(
	cap integer, moment timestamptz,
	OUT bucket text, OUT type text, OUT status twtasks.task_status,
	OUT tasks bigint, OUT capped boolean, OUT oldest timestamptz, OUT most_tries integer,
	OUT newest timestamptz, OUT late bigint, OUT newest_late timestamptz)
RETURNS SETOF record
LANGUAGE c STABLE STRICT PARALLEL SAFE ROWS 100
AS 'MODULE_PATHNAME', 'twt_count_queued';

/*
 * twtasks_internal.count_not_queued(cap)
 *
 *		As count_tasks(), for tasks in the index of times: first those with a
 *		time, then those that wait for a person.
 */
CREATE FUNCTION twtasks_internal.count_not_queued(cap integer)
RETURNS TABLE (bucket text, type text, status twtasks.task_status, tasks bigint,
			   capped boolean, oldest timestamptz, most_tries integer,
			   newest timestamptz)
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET enable_sort = off
AS $$
	SELECT r.bucket, r.type, r.status, count(*), sum(count(*)) OVER () >= cap,
		   min(r.state_time), max(r.tries), max(r.state_time)
	FROM (SELECT t.* FROM twtasks.task t
		  WHERE NOT t.queued AND t.next_event_time < 'infinity'
		  ORDER BY t.next_event_time LIMIT cap) r
	GROUP BY r.bucket, r.type, r.status
	UNION ALL
	SELECT r.bucket, r.type, r.status, count(*), sum(count(*)) OVER () >= cap,
		   min(r.state_time), max(r.tries), max(r.state_time)
	FROM (SELECT t.* FROM twtasks.task t
		  WHERE NOT t.queued AND t.next_event_time >= 'infinity'
		  ORDER BY t.next_event_time LIMIT cap) r
	GROUP BY r.bucket, r.type, r.status
$$;

/*
 * twtasks_internal.count_errors(cap)
 *
 *		Counts tasks in ERROR when many HELD tasks hide them from count_tasks():
 *		both have the same place in the index.  Reads HELD tasks until cap tasks
 *		in ERROR are found, and so all of them if there are fewer.
 *
 * Returns
 *		tasks			their number, at most cap
 *		newest			state_time of the newest
 */
CREATE FUNCTION twtasks_internal.count_errors(cap integer, OUT tasks bigint, OUT newest timestamptz)
RETURNS record
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET enable_sort = off
AS $$
	SELECT count(*), max(r.state_time)
	FROM (SELECT t.state_time FROM twtasks.task t
		  WHERE NOT t.queued AND t.next_event_time >= 'infinity' AND t.status = 'ERROR'
		  ORDER BY t.next_event_time LIMIT cap) r
$$;
COMMENT ON FUNCTION twtasks.count_tasks IS 'Counts live tasks by bucket, type and status.  Reads only a part of the tasks, so that it is quick however many there are.';
COMMENT ON FUNCTION twtasks_internal.count_queued IS 'As count_tasks(), for tasks in the index of the queue: SUBMITTED, or PROCESSING and not accepted.  A row for each bucket, type, priority and status.';
COMMENT ON FUNCTION twtasks_internal.count_not_queued IS 'As count_tasks(), for tasks in the index of times: first those with a time, then those that wait for a person. / CREATE FUNCTION twtasks_internal.count_not_queued(cap integer)';
COMMENT ON FUNCTION twtasks_internal.count_errors IS 'Counts tasks in ERROR when many HELD tasks hide them from count_tasks(): both have the same place in the index.  Reads HELD tasks until cap tasks in ERROR are found, and so all of them if there are fewer.';

-- sql/watch/blockers.sql
/*
 * twtasks_internal.living_nodes()
 *
 *		The nodes that live, as far as the database knows.
 */
CREATE FUNCTION twtasks_internal.living_nodes(
	OUT name text, OUT buckets text[], OUT types text[], OUT faults text[])
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT n.name, n.buckets, n.types, n.faults FROM twtasks.node n
	WHERE n.ended IS NULL AND n.heartbeat > clock_timestamp() - n.lease
$$;

/*
 * twtasks_internal.works_for(bucket)
 *
 *		Whether a living node works for that bucket.  A node with unknown
 *		buckets may work for any.
 */
CREATE FUNCTION twtasks_internal.works_for(bucket text)
RETURNS boolean
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT EXISTS (SELECT FROM twtasks_internal.living_nodes() n WHERE works_for.bucket = ANY (n.buckets) IS NOT FALSE)
$$;

/*
 * twtasks_internal.is_known_type(type)
 *
 *		Whether a sidecar that handles the type has run here within 30 days, or
 *		a policy names the type or its beginning: see
 *		twtasks.refuse_unknown_types.
 */
CREATE FUNCTION twtasks_internal.is_known_type(type text)
RETURNS boolean
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT EXISTS (SELECT FROM twtasks.handled_type h WHERE h.pattern = ANY (p.patterns))
		OR EXISTS (SELECT FROM twtasks.type_policy t
				   WHERE t.pattern = ANY (p.patterns) AND t.pattern <> '*')
	FROM (SELECT array_agg(left(type, n) || '*') || type AS patterns
		  FROM generate_series(0, length(type)) n) p
$$;

/*
 * twtasks_internal.any_lives(names)
 *
 *		Whether a living node matches one of a policy's names of nodes.
 */
CREATE FUNCTION twtasks_internal.any_lives(names text[])
RETURNS boolean
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT EXISTS (SELECT FROM twtasks_internal.living_nodes() n, unnest(names) p(pattern)
				   WHERE twtasks_internal.fits(p.pattern, n.name) IS NOT NULL)
$$;

/*
 * twtasks_internal.why_limited(types)
 *
 *		The limits that may hold up tasks of these types.  A limit that lets no
 *		task start comes first, then a full one, then one with a rate.  Slots in
 *		use are counted once for each name.
 *
 * Returns
 *		type, why		a row for each type that a limit holds up
 */
CREATE FUNCTION twtasks_internal.why_limited(types text[], OUT type text, OUT why text)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 1000
SET search_path = pg_catalog, pg_temp
SET enable_nestloop = off
SET jit = off
AS $$
	WITH cover AS MATERIALIZED (
		SELECT t.type, n.name, l.scope, l.concurrency, l.rate, l.per
		FROM unnest(types) t(type)
		CROSS JOIN twtasks.limit_rule l
		CROSS JOIN LATERAL (SELECT twtasks.limit_name(l.pattern, t.type)) n(name)
		WHERE n.name IS NOT NULL
		  AND (right(l.pattern, 2) <> '|*'
			   OR NOT EXISTS (SELECT FROM twtasks.limit_rule o
							  WHERE o.pattern = n.name AND o.scope = l.scope))),
	taken AS MATERIALIZED (
		SELECT c.name, c.scope, c.concurrency
		FROM (SELECT DISTINCT c.name, c.scope, c.concurrency FROM cover c
			  WHERE c.scope = 'cluster' AND c.concurrency > 0) c
		CROSS JOIN LATERAL (
			SELECT s.* FROM twtasks.slot_use s
			WHERE s.name = c.name AND s.epoch > 0 ORDER BY s.epoch DESC LIMIT 1) u
		WHERE cardinality(u.ids) >= c.concurrency
		  AND twtasks_internal.live_slots(u.ids, u.versions, u.incarnations) >= c.concurrency)
	SELECT DISTINCT ON (c.type) c.type,
		   CASE WHEN c.concurrency = 0
					THEN format('its limit "%s" lets none start: see twtasks.limits', c.name)
				WHEN u.name IS NOT NULL
					THEN format('its limit "%s" is full: see twtasks.limits', c.name)
				ELSE format('its limit "%s" lets only %s start in %s: see twtasks.limits',
							c.name, c.rate, c.per) END
	FROM cover c
	LEFT JOIN taken u USING (name, scope, concurrency)
	WHERE c.concurrency = 0 OR u.name IS NOT NULL OR c.rate IS NOT NULL
	ORDER BY c.type, (c.concurrency = 0) IS TRUE DESC, u.name IS NOT NULL DESC, c.name
$$;

/*
 * twtasks_internal.unhandled(types, buckets)
 *
 *		The pairs in whose bucket nodes work, but none that handles the type.  A
 *		node with unknown buckets or types may work for any.
 */
CREATE FUNCTION twtasks_internal.unhandled(types text[], buckets text[], OUT type text, OUT bucket text)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 100
SET search_path = pg_catalog, pg_temp
SET enable_nestloop = off
SET jit = off
AS $$
	WITH handled AS MATERIALIZED (
		SELECT DISTINCT b.bucket COLLATE "C" AS bucket, p.pattern COLLATE "C" AS pattern
		FROM (SELECT DISTINCT u.bucket FROM unnest(buckets) u(bucket)) b
		JOIN twtasks_internal.living_nodes() n ON b.bucket = ANY (n.buckets) IS NOT FALSE
		CROSS JOIN LATERAL unnest(coalesce(n.types, '{*}')) p(pattern)),
	beginnings AS MATERIALIZED (
		SELECT h.bucket, left(h.pattern, -1) AS text FROM handled h WHERE right(h.pattern, 1) = '*')
	SELECT k.type, k.bucket
	FROM (SELECT unnest(types) AS type, unnest(buckets) AS bucket) k
	WHERE EXISTS (SELECT FROM handled h WHERE h.bucket = k.bucket COLLATE "C")
	  AND NOT EXISTS (SELECT FROM beginnings b
					  WHERE b.bucket = k.bucket COLLATE "C" AND starts_with(k.type, b.text))
	  AND NOT EXISTS (SELECT FROM handled h
					  WHERE h.bucket = k.bucket COLLATE "C" AND h.pattern = k.type COLLATE "C")
$$;

/*
 * twtasks_internal.why_queued(types, buckets)
 *
 *		The likely reasons why tasks of these types in these buckets are
 *		SUBMITTED and not grabbed, as far as the database knows: a node counts
 *		its own limits itself.  For thousands of pairs: each bucket, each list
 *		of nodes and each limit is read once.
 *
 * Returns
 *		type, bucket	the pairs that were given
 *		why				the likely reason
 */
CREATE FUNCTION twtasks_internal.why_queued(
	types text[], buckets text[], OUT type text, OUT bucket text, OUT why text)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL UNSAFE ROWS 1000
SET search_path = pg_catalog, pg_temp
SET enable_nestloop = off
SET jit = off
AS $$
	WITH pair AS MATERIALIZED (
		SELECT k.type, k.bucket, (twtasks_internal.type_options(k.type)).nodes
		FROM (SELECT unnest(types) AS type, unnest(buckets) AS bucket) k),
	place AS MATERIALIZED (
		SELECT b.bucket,
			   CASE WHEN b.bucket <> 'default'
						AND NOT EXISTS (SELECT FROM twtasks.bucket_policy p WHERE p.name = b.bucket)
						THEN 'its bucket was dropped: see twtasks.configure_bucket()'
					WHEN NOT twtasks_internal.works_for(b.bucket)
						THEN 'no node lives that works for its bucket: see twtasks.nodes' END AS why
		FROM (SELECT DISTINCT p.bucket FROM pair p) b),
	gone AS MATERIALIZED (
		SELECT n.nodes FROM (SELECT DISTINCT p.nodes FROM pair p WHERE p.nodes IS NOT NULL) n
		WHERE NOT twtasks_internal.any_lives(n.nodes))
	SELECT p.type, p.bucket,
		   CASE WHEN NOT twtasks.is_adopted() OR NOT twtasks.is_enabled()
					THEN 'nothing is executed in this database: see twtasks.warnings'
				WHEN twtasks.is_paused(p.type, p.bucket)
					THEN (SELECT format('%s "%s" is paused by %s%s: see twtasks.paused',
										z.kind, z.name, z.paused_by, ' (' || z.reason || ')')
						  FROM twtasks.pause z
						  WHERE CASE z.kind WHEN 'bucket' THEN z.name = p.bucket
								ELSE twtasks_internal.fits(z.name, p.type) IS NOT NULL END
						  ORDER BY z.kind, z.name LIMIT 1)
				WHEN b.why IS NOT NULL THEN b.why
				WHEN h.type IS NOT NULL
					THEN 'no node that lives handles its type: see types in twtasks.nodes'
				WHEN g.nodes IS NOT NULL
					THEN 'its policy names no node that lives: see nodes in twtasks.policy_of()'
				ELSE coalesce(l.why, 'nobody grabs it: is there a node with a handler for its type and bucket, and a slot for it?') END
	FROM pair p
	JOIN place b ON b.bucket = p.bucket
	LEFT JOIN gone g ON g.nodes = p.nodes
	LEFT JOIN twtasks_internal.unhandled(types, buckets) h ON h.type = p.type AND h.bucket = p.bucket
	LEFT JOIN twtasks_internal.why_limited(types) l ON l.type = p.type
$$;

/*
 * twtasks_internal.queued_buckets()
 *
 *		Buckets with tasks that could run, found by steps in the index.
 */
CREATE FUNCTION twtasks_internal.queued_buckets()
RETURNS SETOF text
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 10
SET search_path = pg_catalog, pg_temp
SET enable_sort = off
AS $$
	WITH RECURSIVE step AS (
		(SELECT t.bucket FROM twtasks.task t
		 WHERE t.queued ORDER BY t.bucket, t.type, t.priority, t.id LIMIT 1)
		UNION ALL
		SELECT n.bucket FROM step s CROSS JOIN LATERAL (
			SELECT t.bucket FROM twtasks.task t
			WHERE t.queued AND t.bucket > s.bucket
			ORDER BY t.bucket, t.type, t.priority, t.id LIMIT 1) n)
	SELECT s.bucket FROM step s
$$;

/*
 * twtasks_internal.lonely_buckets()
 *
 *		Buckets with tasks that could run or are due, for which no living node
 *		works.
 */
CREATE FUNCTION twtasks_internal.lonely_buckets()
RETURNS SETOF text
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
	WITH late AS (
		SELECT t.bucket, t.status FROM twtasks.task t
		WHERE NOT t.queued AND t.next_event_time < twtasks.clock() - interval '1 minute'
		ORDER BY t.next_event_time LIMIT 100)
	SELECT b.bucket
	FROM (SELECT q.bucket FROM twtasks_internal.queued_buckets() q(bucket)
		  UNION SELECT l.bucket FROM late l WHERE l.status = 'WAITING') b
	WHERE NOT twtasks_internal.works_for(b.bucket)
$$;

/*
 * twtasks_internal.queued_types(bucket)
 *
 *		Types in that bucket with tasks that could run, found by steps in the
 *		index.
 */
CREATE FUNCTION twtasks_internal.queued_types(bucket text)
RETURNS SETOF text
LANGUAGE c STABLE STRICT PARALLEL UNSAFE ROWS 100
AS 'MODULE_PATHNAME', 'twt_queued_types';

/*
 * twtasks_internal.unhandled_types(most)
 *
 *		Types with tasks that could run, in buckets where nodes work but none
 *		handles the type.
 *
 * Parameters
 *		most			at most this many of each bucket
 */
CREATE FUNCTION twtasks_internal.unhandled_types(most integer, OUT bucket text, OUT type text)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT u.bucket, u.type
	FROM (SELECT h.bucket, h.type, row_number() OVER (PARTITION BY h.bucket ORDER BY h.type COLLATE "C") AS n
		  FROM (SELECT array_agg(t.type) AS types, array_agg(b.bucket) AS buckets
				FROM twtasks_internal.queued_buckets() b(bucket)
				CROSS JOIN LATERAL twtasks_internal.queued_types(b.bucket) t(type)) q
		  CROSS JOIN LATERAL twtasks_internal.unhandled(q.types, q.buckets) h) u
	WHERE u.n <= most
$$;

/*
 * twtasks.blockers()
 *
 *		Reasons why tasks do not run, from the configuration and the living
 *		nodes; for twtasks.warnings.
 *
 * Returns
 *		warning, since, detail, hint
 *
 * Locks		none
 */
CREATE FUNCTION twtasks.blockers(
	OUT warning text, OUT since timestamptz, OUT detail text, OUT hint text)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 10 SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT 'no node', NULL::timestamptz,
		   format('bucket "%s" has tasks, and no node lives that works for it', b.bucket),
		   'start a sidecar for it; twtasks.nodes has those that were there'
	FROM twtasks_internal.lonely_buckets() b(bucket)
	UNION ALL
	SELECT 'no handler', NULL,
		   format('type "%s" has tasks in bucket "%s", and no node that lives handles it', u.type, u.bucket),
		   'correct the type where tasks are added, or start a sidecar with a handler for it'
	FROM twtasks_internal.unhandled_types(20) u
	UNION ALL
	SELECT 'broken handler', NULL, format('node "%s": %s', n.name, f.fault),
		   'do what it says; its tasks wait meanwhile, and no try is counted'
	FROM twtasks_internal.living_nodes() n CROSS JOIN LATERAL unnest(n.faults) f(fault)
	UNION ALL
	SELECT 'no queue', NULL,
		   format('%s of the buckets that sidecars work for, such as "%s", have no queue in shared memory: all are in use',
				  count(*), min(b.bucket)),
		   'increase twtasks.queues and restart the server; until then NOTIFY brings their triggers'
	FROM (SELECT DISTINCT unnest(n.buckets) AS bucket FROM twtasks_internal.living_nodes() n) b
	WHERE twtasks_internal.lacks_queue(b.bucket) HAVING count(*) > 0
	UNION ALL
	SELECT 'node refused', r.since, format('node "%s": %s', r.name, r.refusal),
		   'correct environment in the sidecar''s configuration, or see twtasks.adopt()'
	FROM twtasks.refused_node r WHERE r.at > clock_timestamp() - interval '1 minute'
	UNION ALL
	SELECT 'paused', p.since,
		   format('%s "%s", by %s%s', p.kind, p.name, p.paused_by, ': ' || p.reason),
		   format('SELECT twtasks.resume_%s(%L) lets it go on', p.kind, p.name)
	FROM twtasks.pause p
	UNION ALL
	SELECT 'held', a.at, format('%s of %s tasks that adopt() held wait for a person', h.n, a.held),
		   'look at them, then call twtasks.change_tasks() to release or cancel them'
	FROM twtasks.adoption a
	CROSS JOIN LATERAL (
		SELECT count(*) AS n FROM twtasks.task t
		WHERE NOT t.queued AND t.next_event_time = 'infinity' AND t.status = 'HELD'
		  AND EXISTS (SELECT FROM twtasks.audit d
					  WHERE d.task_id = t.id AND d.action = 'adopt' AND d.to_version = t.version)) h
	WHERE a.ended IS NULL AND a.held > 0 AND h.n > 0
	UNION ALL
	SELECT 'schedule paused', p.at, format('schedule "%s", by %s%s', s.name, p.actor, ': ' || p.reason),
		   format('SELECT twtasks.resume_schedule(%L) lets it go on', s.name)
	FROM twtasks.schedule s
	LEFT JOIN LATERAL (
		SELECT a.at, a.actor, a.reason FROM twtasks.schedule_audit a
		WHERE a.name = s.name AND a.action = 'pause' ORDER BY a.id DESC LIMIT 1) p ON true
	WHERE s.is_paused
	UNION ALL
	SELECT 'limit of 0', l.changed_at,
		   format('limit "%s" of scope %s lets %s start', l.pattern, l.scope,
				  CASE l.stretch WHEN 0 THEN 'no task' ELSE 'only urgent tasks' END),
		   'see twtasks.configure_limit() and drop_limit()'
	FROM twtasks.limit_rule l WHERE l.concurrency = 0
	UNION ALL
	SELECT 'nodes missing', p.changed_at,
		   format('types "%s" are bound to nodes of which none lives: %s', p.pattern, array_to_string(p.nodes, ', ')),
		   'start one of them, or change nodes by twtasks.configure_type()'
	FROM twtasks.type_policies p WHERE NOT twtasks_internal.any_lives(p.nodes)
$$;
COMMENT ON FUNCTION twtasks_internal.living_nodes IS 'The nodes that live, as far as the database knows. / CREATE FUNCTION twtasks_internal.living_nodes(';
COMMENT ON FUNCTION twtasks_internal.works_for IS 'Whether a living node works for that bucket.  A node with unknown buckets may work for any. / CREATE FUNCTION twtasks_internal.works_for(bucket text)';
COMMENT ON FUNCTION twtasks_internal.is_known_type IS 'Whether a sidecar that handles the type has run here within 30 days, or a policy names the type or its beginning: see twtasks.refuse_unknown_types. / CREATE FUNCTION twtasks_internal.is_known_type(type text)';
COMMENT ON FUNCTION twtasks_internal.any_lives IS 'Whether a living node matches one of a policy''s names of nodes. / CREATE FUNCTION twtasks_internal.any_lives(names text[])';
COMMENT ON FUNCTION twtasks_internal.why_limited IS 'The limits that may hold up tasks of these types.  A limit that lets no task start comes first, then a full one, then one with a rate.  Slots in use are counted once for each name.';
COMMENT ON FUNCTION twtasks_internal.unhandled IS 'The pairs in whose bucket nodes work, but none that handles the type.  A node with unknown buckets or types may work for any. / CREATE FUNCTION twtasks_internal.unhandled(types text[], buckets text[], OUT type text, OUT bucket text)';
COMMENT ON FUNCTION twtasks_internal.why_queued IS 'The likely reasons why tasks of these types in these buckets are SUBMITTED and not grabbed, as far as the database knows: a node counts its own limits itself.  For thousands of pairs: each bucket, each list of nodes and each limit is read once.';
COMMENT ON FUNCTION twtasks_internal.queued_buckets IS 'Buckets with tasks that could run, found by steps in the index. / CREATE FUNCTION twtasks_internal.queued_buckets()';
COMMENT ON FUNCTION twtasks_internal.lonely_buckets IS 'Buckets with tasks that could run or are due, for which no living node works. / CREATE FUNCTION twtasks_internal.lonely_buckets()';
COMMENT ON FUNCTION twtasks_internal.queued_types IS 'Types in that bucket with tasks that could run, found by steps in the index. / CREATE FUNCTION twtasks_internal.queued_types(bucket text)';
COMMENT ON FUNCTION twtasks_internal.unhandled_types IS 'Types with tasks that could run, in buckets where nodes work but none handles the type.';
COMMENT ON FUNCTION twtasks.blockers IS 'Reasons why tasks do not run, from the configuration and the living nodes; for twtasks.warnings.';

-- sql/watch/find_stuck.sql
/*
 * twtasks.find_stuck(max_each)
 *
 *		Tasks that should have moved on, newest first.  Reads only a part of the
 *		tasks, as count_tasks() does with a cap of max_each, but at least 1000,
 *		and shows at most that many of the queue.  If more are late, each
 *		bucket, type and priority has an equal share, and at least one task.  A
 *		share begins with small ids, which have waited longest unless callers
 *		gave the ids.  Tasks outside the queue begin with the longest due.
 *
 * Parameters
 *		max_each		at most this many of each bucket, type and priority in the queue,
 *						and of each bucket, type and status outside it
 *
 * Returns
 *		id ... tries	of the task
 *		node			PROCESSING: the node that runs it
 *		why				the likely reason
 *		since			time at which it should have moved on
 *
 * Errors
 *		22023			max_each is NULL or less than 1
 *
 * Locks		none
 * Example		SELECT * FROM twtasks.find_stuck(20);
 */
CREATE FUNCTION twtasks.find_stuck(
	max_each integer DEFAULT 10000,
	OUT id uuid,
	OUT version bigint,
	OUT type text,
	OUT sub_type text,
	OUT bucket text,
	OUT priority smallint,
	OUT status twtasks.task_status,
	OUT created timestamptz,
	OUT state_time timestamptz,
	OUT tries integer,
	OUT node text,
	OUT why text,
	OUT since timestamptz)
RETURNS SETOF record
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SECURITY DEFINER ROWS 100
SET search_path = pg_catalog, pg_temp
SET enable_nestloop = off
SET enable_mergejoin = off
SET enable_sort = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
	cap CONSTANT integer := greatest(max_each, 1000);
BEGIN
	IF max_each IS NULL OR max_each < 1 THEN
		RAISE EXCEPTION 'max_each must be at least 1, not %', coalesce(max_each::text, 'NULL')
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	RETURN QUERY
	WITH late AS MATERIALIZED (
		SELECT q.* FROM twtasks_internal.late_queued(cap, twtasks.clock(), max_each) q
		UNION ALL
		SELECT k.* FROM (
			SELECT n.*, row_number() OVER (PARTITION BY n.bucket, n.type, n.status
										   ORDER BY n.next_event_time) AS place
			FROM twtasks_internal.late_not_queued(cap, twtasks.clock()) n) k
		WHERE k.place <= max_each),
	reason AS (
		SELECT w.type, w.bucket, w.why
		FROM (SELECT array_agg(d.type) AS types, array_agg(d.bucket) AS buckets
			  FROM (SELECT DISTINCT l.type, l.bucket FROM late l WHERE l.status = 'SUBMITTED') d) k
		CROSS JOIN LATERAL twtasks_internal.why_queued(k.types, k.buckets) w)
	SELECT l.id, l.version, l.type, l.sub_type, l.bucket, l.priority, l.status,
		   l.created, l.state_time, l.tries, n.name,
		   CASE WHEN l.status = 'SUBMITTED' THEN r.why
				WHEN l.status = 'WAITING' THEN 'it is due and nobody promotes it: is a node running?'
				WHEN n.ended IS NOT NULL OR n.incarnation IS NULL THEN 'the node that ran it is gone'
				ELSE 'its deadline passed without a result' END,
		   l.next_event_time
	FROM late l
	LEFT JOIN reason r ON r.type = l.type AND r.bucket = l.bucket
	LEFT JOIN twtasks.node n ON n.incarnation = l.incarnation AND l.status = 'PROCESSING'
	ORDER BY l.state_time DESC, l.id DESC;
END $$;

/*
 * twtasks_internal.late_queued(cap, moment, max_each)
 *
 *		The rows of the queue for find_stuck(): tasks without payloads, with the
 *		time from which the task is late as next_event_time.  Reads the same
 *		tasks as count_queued() with that cap.
 *
 * Returns
 *		place			number of late tasks of its bucket, type and priority up to
 *						this one
 */
CREATE FUNCTION twtasks_internal.late_queued(
	cap integer, moment timestamptz, max_each integer,
	OUT id uuid, OUT version bigint, OUT type text, OUT sub_type text, OUT bucket text,
	OUT priority smallint, OUT status twtasks.task_status, OUT created timestamptz,
	OUT state_time timestamptz, OUT tries integer, OUT incarnation bigint,
	OUT next_event_time timestamptz, OUT place bigint)
RETURNS SETOF record
LANGUAGE c STABLE STRICT PARALLEL SAFE ROWS 1000
AS 'MODULE_PATHNAME', 'twt_late_queued';

/*
 * twtasks_internal.late_not_queued(cap, moment)
 *
 *		As late_queued(), for tasks in the index of times: the longest due.
 */
CREATE FUNCTION twtasks_internal.late_not_queued(
	cap integer, moment timestamptz,
	OUT id uuid, OUT version bigint, OUT type text, OUT sub_type text, OUT bucket text,
	OUT priority smallint, OUT status twtasks.task_status, OUT created timestamptz,
	OUT state_time timestamptz, OUT tries integer, OUT incarnation bigint,
	OUT next_event_time timestamptz)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 100
SET search_path = pg_catalog, pg_temp
SET enable_sort = off
AS $$
	SELECT r.id, r.version, r.type, r.sub_type, r.bucket, r.priority, r.status, r.created,
		   r.state_time, r.tries, r.incarnation,
		   CASE r.status WHEN 'PROCESSING' THEN coalesce(r.deadline, r.next_event_time)
						 ELSE r.next_event_time END
	FROM (SELECT t.* FROM twtasks.task t
		  WHERE NOT t.queued AND t.next_event_time < moment
		  ORDER BY t.next_event_time LIMIT cap) r
	WHERE CASE r.status WHEN 'WAITING' THEN r.next_event_time < moment - interval '1 minute'
						WHEN 'PROCESSING' THEN coalesce(r.deadline, r.next_event_time) < moment END
$$;
COMMENT ON FUNCTION twtasks.find_stuck IS 'Tasks that should have moved on, newest first.  Reads only a part of the tasks, as count_tasks() does with a cap of max_each, but at least 1000, and shows at most that many of the queue.  If more are late, each bucket, type and priority has an equal share, and at least one task.  A share begins with small ids, which have waited longest unless callers gave the ids.  Tasks outside the queue begin with the longest due.';
COMMENT ON FUNCTION twtasks_internal.late_queued IS 'The rows of the queue for find_stuck(): tasks without payloads, with the time from which the task is late as next_event_time.  Reads the same tasks as count_queued() with that cap.';
COMMENT ON FUNCTION twtasks_internal.late_not_queued IS 'As late_queued(), for tasks in the index of times: the longest due. / CREATE FUNCTION twtasks_internal.late_not_queued(';

-- sql/watch/views.sql
/*
 * Payloads are not in these views, since a role that may see tasks may not
 * see their data.
 *
 * The conditions in twtasks.tasks help the planner: a query for SUBMITTED tasks
 * does not read the history, and one for a bucket and a type uses the index of
 * the queue.
 */
CREATE VIEW twtasks.tasks AS
	SELECT t.id, t.version, t.type, t.sub_type, t.bucket, t.priority, t.status,
		   t.created, t.state_time, t.next_event_time, t.deadline, t.expires,
		   t.tries, t.key, t.error, t.incarnation, t.planned, t.added_by, NULL::text AS message
	FROM twtasks.task t
	WHERE t.queued
	UNION ALL
	SELECT t.id, t.version, t.type, t.sub_type, t.bucket, t.priority, t.status,
		   t.created, t.state_time, t.next_event_time, t.deadline, t.expires,
		   t.tries, t.key, t.error, t.incarnation, t.planned, t.added_by, NULL::text
	FROM twtasks.task t
	WHERE NOT t.queued
	UNION ALL
	SELECT f.id, f.version, f.type, f.sub_type, f.bucket, f.priority, f.status,
		   f.created, f.state_time, NULL, NULL, NULL,
		   f.tries, f.key, f.error, f.incarnation, NULL, f.added_by, f.message
	FROM twtasks.finished_task f
	WHERE f.status IN ('DONE', 'FAILED', 'CANCELLED');
COMMENT ON VIEW twtasks.tasks IS 'All tasks, live and finished, without their data';

/* A view does not change the current user, so these are the caller's roles. */
CREATE VIEW twtasks.own_tasks WITH (security_barrier) AS
	SELECT t.id, t.version, t.type, t.sub_type, t.bucket, t.priority, t.status,
		   t.created, t.state_time, t.next_event_time, t.expires, t.tries, t.key, t.error, t.added_by
	FROM twtasks.tasks t
	WHERE t.added_by = ANY (ARRAY(SELECT r.rolname::text FROM pg_catalog.pg_roles r
								  WHERE pg_catalog.pg_has_role(r.oid, 'USAGE')));
COMMENT ON VIEW twtasks.own_tasks IS 'Tasks added by the caller''s role or a role that it is a member of; ask by id, since other columns have no index';

/*
 * twtasks.id_of(key)
 *
 *		The id of the task that was added with that key, live or finished.  No
 *		index of tasks has their keys: WHERE id = id_of(...) is quick, WHERE key
 *		= ... reads all tasks.
 *
 * Returns
 *		uuid; NULL: no such task is kept
 *
 * Locks		none
 * Example		SELECT * FROM twtasks.tasks WHERE id = twtasks.id_of('order 4711');
 */
CREATE FUNCTION twtasks.id_of(key text)
RETURNS uuid
LANGUAGE sql STABLE STRICT PARALLEL SAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT u.task_id FROM twtasks.unique_key u WHERE u.key = id_of.key $$;

CREATE VIEW twtasks.error_tasks AS
	SELECT t.id, t.version, t.type, t.sub_type, t.bucket, t.priority,
		   t.created, t.state_time, t.tries, t.key, t.error
	FROM twtasks.task t
	WHERE NOT t.queued AND t.next_event_time = 'infinity' AND t.status = 'ERROR';
COMMENT ON VIEW twtasks.error_tasks IS 'Tasks in ERROR, which wait for a person';

CREATE VIEW twtasks.stuck_tasks AS
	SELECT s.id, s.version, s.type, s.sub_type, s.bucket, s.priority, s.status,
		   s.created, s.state_time, s.tries, s.node, s.why, s.since
	FROM twtasks.find_stuck() s;
COMMENT ON VIEW twtasks.stuck_tasks IS 'Tasks that should have moved on, and the likely reason; at most 10,000 of the queue, see find_stuck()';

CREATE VIEW twtasks.stats AS
	SELECT c.bucket, c.type, c.status, c.tasks, c.capped, c.oldest, c.most_tries, c.newest
	FROM twtasks.count_tasks() c;
COMMENT ON VIEW twtasks.stats IS 'Live tasks counted by bucket, type and status; see count_tasks()';

CREATE VIEW twtasks.nodes AS
	SELECT n.incarnation, n.name, n.started, n.heartbeat, n.lease, n.ended, n.buckets, n.types
	FROM twtasks.node n;
COMMENT ON VIEW twtasks.nodes IS 'Sidecars, running and recently ended';

CREATE VIEW twtasks.task_history AS
	SELECT t.id AS task_id, t.created AS at, 'add' AS event, NULL AS actor, NULL AS role,
		   NULL AS application, 0::bigint AS version, NULL::twtasks.task_status AS status,
		   NULL AS reason, NULL::jsonb AS before, NULL::jsonb AS after
	FROM twtasks.tasks t
	UNION ALL
	SELECT a.task_id, a.at, a.action, a.actor, a.role, a.application,
		   a.to_version, a.to_status, a.reason, a.before, a.after
	FROM twtasks.audit a
	UNION ALL
	SELECT t.id, greatest(twtasks.clock(), t.state_time), 'now', NULL, NULL,
		   NULL, t.version, t.status, t.error, NULL, NULL
	FROM twtasks.tasks t;
COMMENT ON VIEW twtasks.task_history IS 'The history of a task: its add, each change by hand, and its present state; order by at';

/*
 * twtasks.queue_stats()
 *
 *		The shared-memory queues of this database.
 *
 * Returns
 *		bucket		bucket of the queue
 *		waiting		triggers in it
 *		pushed		triggers ever pushed
 *		dropped		triggers dropped since it was full; a sweep finds their tasks
 *		waiters		sidecars waiting in next_triggers() now
 *		need_sweep	a sweep was asked for, and no sidecar has begun it
 *
 * Locks		none
 */
CREATE FUNCTION twtasks.queue_stats(
	OUT bucket text, OUT waiting bigint, OUT pushed bigint,
	OUT dropped bigint, OUT waiters integer, OUT need_sweep boolean)
RETURNS SETOF record
LANGUAGE c VOLATILE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_queue_stats';
COMMENT ON FUNCTION twtasks.id_of IS 'The id of the task that was added with that key, live or finished.  No index of tasks has their keys: WHERE id = id_of(...) is quick, WHERE key = ... reads all tasks.';
COMMENT ON FUNCTION twtasks.queue_stats IS 'The shared-memory queues of this database.';

-- sql/watch/monitor.sql
/* Not in dumps. */
CREATE TABLE twtasks.monitor_look (
	one					boolean NOT NULL DEFAULT true,	-- True: there is one row
	at					timestamptz NOT NULL,			-- Time of the count
	waiting				bigint NOT NULL,				-- Tasks that are WAITING
	submitted			bigint NOT NULL,				-- Tasks that are SUBMITTED
	processing			bigint NOT NULL,				-- Tasks that are PROCESSING
	errors				bigint NOT NULL,				-- Tasks in ERROR
	held				bigint NOT NULL,				-- Tasks that are HELD
	capped				boolean NOT NULL,				-- There may be more: see count_tasks()
	oldest_submitted	timestamptz,					-- state_time of the oldest SUBMITTED task
	newest_error		timestamptz,					-- state_time of the newest task in ERROR
	stuck				bigint NOT NULL,				-- Tasks that should have moved on, as in find_stuck()
	newest_stuck		timestamptz,					-- Last time at which a stuck task should have moved on
	finished_estimate	bigint NOT NULL,				-- Rows of the history, as the planner estimates them
	dropped				bigint NOT NULL,				-- Triggers that found their queue full, since the server's start
	nodes				bigint NOT NULL,				-- Sidecars that live
	CONSTRAINT monitor_look_pkey PRIMARY KEY (one),
	CONSTRAINT monitor_look_one_check CHECK (one)
);
COMMENT ON TABLE twtasks.monitor_look IS 'The last count of the leading sidecar; one row at most';

CREATE VIEW twtasks.monitor AS
	SELECT m.at, twtasks.clock() - m.at AS age, m.waiting, m.submitted, m.processing,
		   m.errors, m.held, m.capped, m.oldest_submitted, m.newest_error, m.stuck,
		   m.newest_stuck, m.finished_estimate, m.dropped, m.nodes
	FROM twtasks.monitor_look m;
COMMENT ON VIEW twtasks.monitor IS 'The last count of the leading sidecar, about once a minute; an age of minutes means that nobody leads';

/*
 * twtasks_internal.monitor_tasks()
 *
 *		Counts as count_tasks() and find_stuck() do, and stores the figures in
 *		twtasks.monitor.  If more tasks are HELD than those count, it reads all
 *		of them to find tasks in ERROR.
 *
 * Returns
 *		errors, stuck	numbers of tasks in ERROR and of stuck tasks; 0 if this database
 *						is a copy and not adopted
 *		is_news			whether there are new ones since the last call
 *
 * Writes		twtasks.monitor_look
 * Locks		a row
 */
CREATE FUNCTION twtasks_internal.monitor_tasks(OUT errors bigint, OUT stuck bigint, OUT is_news boolean)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
	cap CONSTANT integer := 10000;
	moment CONSTANT timestamptz := twtasks.clock();
	before twtasks.monitor_look;
	look twtasks.monitor_look;
BEGIN
	errors := 0;
	stuck := 0;
	is_news := false;
	IF NOT twtasks.is_adopted() THEN
		RETURN;
	END IF;
	SELECT m.* INTO before FROM twtasks.monitor_look m;
	SELECT coalesce(sum(c.tasks) FILTER (WHERE c.status = 'WAITING'), 0),
		   coalesce(sum(c.tasks) FILTER (WHERE c.status = 'SUBMITTED'), 0),
		   coalesce(sum(c.tasks) FILTER (WHERE c.status = 'PROCESSING'), 0),
		   coalesce(sum(c.tasks) FILTER (WHERE c.status = 'ERROR'), 0),
		   coalesce(sum(c.tasks) FILTER (WHERE c.status = 'HELD'), 0),
		   coalesce(bool_or(c.capped), false),
		   min(c.oldest) FILTER (WHERE c.status = 'SUBMITTED'),
		   max(c.newest) FILTER (WHERE c.status = 'ERROR'),
		   coalesce(sum(c.late), 0), max(c.newest_late)
	INTO look.waiting, look.submitted, look.processing, look.errors, look.held,
		 look.capped, look.oldest_submitted, look.newest_error, look.stuck, look.newest_stuck
	FROM (SELECT q.status, q.tasks, q.capped, q.oldest, q.newest, q.late, q.newest_late
		  FROM twtasks_internal.count_queued(cap, moment) q
		  UNION ALL
		  SELECT n.status, n.tasks, n.capped, n.oldest, n.newest, 0, NULL
		  FROM twtasks_internal.count_not_queued(cap) n) c;
	IF look.held > 0 AND look.held + look.errors >= cap THEN
		SELECT e.tasks, e.newest INTO look.errors, look.newest_error FROM twtasks_internal.count_errors(cap) e;
	END IF;
	SELECT look.stuck + count(*), greatest(look.newest_stuck, max(l.next_event_time))
	INTO look.stuck, look.newest_stuck
	FROM twtasks_internal.late_not_queued(cap, moment) l;
	SELECT coalesce(sum(q.dropped), 0) INTO look.dropped FROM twtasks.queue_stats() q;
	SELECT count(*) INTO look.nodes FROM twtasks.node n
	WHERE n.ended IS NULL AND n.heartbeat > clock_timestamp() - n.lease;
	SELECT coalesce(sum(CASE WHEN c.reltuples < 0 THEN pg_stat_get_live_tuples(c.oid)
							 ELSE c.reltuples END), 0)
	INTO look.finished_estimate
	FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
	WHERE i.inhparent = 'twtasks.finished_task'::regclass;
	look.one := true;
	look.at := moment;
	DELETE FROM twtasks.monitor_look;
	INSERT INTO twtasks.monitor_look SELECT look.* ON CONFLICT DO NOTHING;

	errors := look.errors;
	stuck := look.stuck;
	is_news := look.errors > coalesce(before.errors, 0)
		OR look.stuck > coalesce(before.stuck, 0)
		OR look.newest_error > coalesce(before.newest_error, '-infinity')
		OR look.newest_stuck > coalesce(before.newest_stuck, '-infinity');
	is_news := coalesce(is_news, false);
END $$;
COMMENT ON COLUMN twtasks.monitor_look.one IS 'True: there is one row';
COMMENT ON COLUMN twtasks.monitor_look.at IS 'Time of the count';
COMMENT ON COLUMN twtasks.monitor_look.waiting IS 'Tasks that are WAITING';
COMMENT ON COLUMN twtasks.monitor_look.submitted IS 'Tasks that are SUBMITTED';
COMMENT ON COLUMN twtasks.monitor_look.processing IS 'Tasks that are PROCESSING';
COMMENT ON COLUMN twtasks.monitor_look.errors IS 'Tasks in ERROR';
COMMENT ON COLUMN twtasks.monitor_look.held IS 'Tasks that are HELD';
COMMENT ON COLUMN twtasks.monitor_look.capped IS 'There may be more: see count_tasks()';
COMMENT ON COLUMN twtasks.monitor_look.oldest_submitted IS 'state_time of the oldest SUBMITTED task';
COMMENT ON COLUMN twtasks.monitor_look.newest_error IS 'state_time of the newest task in ERROR';
COMMENT ON COLUMN twtasks.monitor_look.stuck IS 'Tasks that should have moved on, as in find_stuck()';
COMMENT ON COLUMN twtasks.monitor_look.newest_stuck IS 'Last time at which a stuck task should have moved on';
COMMENT ON COLUMN twtasks.monitor_look.finished_estimate IS 'Rows of the history, as the planner estimates them';
COMMENT ON COLUMN twtasks.monitor_look.dropped IS 'Triggers that found their queue full, since the server''s start';
COMMENT ON COLUMN twtasks.monitor_look.nodes IS 'Sidecars that live';
COMMENT ON FUNCTION twtasks_internal.monitor_tasks IS 'Counts as count_tasks() and find_stuck() do, and stores the figures in twtasks.monitor.  If more tasks are HELD than those count, it reads all of them to find tasks in ERROR.';

-- sql/policy/policy_views.sql
CREATE VIEW twtasks.buckets AS
	SELECT b.name, b.description, b.concurrency, p.since IS NOT NULL AS paused, p.since AS paused_since,
		   p.paused_by, p.reason AS pause_reason, b.changed_at, b.changed_by
	FROM (SELECT c.name, c.description, c.concurrency, c.changed_at, c.changed_by
		  FROM twtasks.bucket_policy c
		  UNION ALL
		  SELECT 'default', NULL, NULL, NULL, NULL
		  WHERE NOT EXISTS (SELECT FROM twtasks.bucket_policy d
							WHERE d.name OPERATOR(pg_catalog.=) 'default')) b
	LEFT JOIN twtasks.pause p ON p.kind OPERATOR(pg_catalog.=) 'bucket'
		AND p.name OPERATOR(pg_catalog.=) b.name;
COMMENT ON VIEW twtasks.buckets IS 'Buckets that tasks can be added to';

CREATE VIEW twtasks.paused AS
	SELECT p.kind, p.name, p.since, p.paused_by, p.reason
	FROM twtasks.pause p;
COMMENT ON VIEW twtasks.paused IS 'Types and buckets whose tasks do not start, and the roles that paused them';

-- sql/run/finish_task.sql
/*
 * twtasks.finish_task(id, version, result, message, delay, outcome, add)
 *
 *		Finishes one task that was handed on: its handler has answered
 *		"accepted", and this call reports the outcome.
 *
 * Parameters
 *		id, version		as the handler received them
 *		result			'done', 'delete', 'retry', 'repeat' or 'error', as in
 *						finish_tasks()
 *		message			text kept with the task, or NULL
 *		delay			for retry and repeat: the wait; NULL: none.  No limit of tries
 *						applies; where the type's policy for retries is "none", both mean
 *						error
 *		outcome			for the function of on_end: a JSON object of at most 8,192 bytes
 *						as text, or NULL
 *		add				for done and delete: tasks to add in the same transaction, as in
 *						add_tasks(jsonb), by the caller; NULL: none.  If one cannot be
 *						added, or the function of on_end fails, the call fails
 *
 * Returns
 *		result			'changed', or why nothing changed: 'not_found',
 *						'wrong_version' (it was grabbed again or finished, or its
 *						deadline has passed), 'wrong_status'
 *		version, status	of the task now
 *
 * Errors
 *		22004			id or version is NULL
 *		22023			result is not one of the above, delay is negative, outcome is
 *						no object or too long, or add is no array or comes with another
 *						result
 *		42501			the caller may not add the tasks, or the call is within a
 *						security-restricted operation, such as ANALYZE
 *		others			as add_tasks(), for the tasks to add
 *
 * Writes		twtasks.task, twtasks.finished_task, twtasks.unique_key
 * Locks		row lock; waits for the handler's own finish
 * Wakes		a sidecar of the bucket at the task's next time
 * Example		SELECT * FROM twtasks.finish_task('...', 1, 'done', add => '[{"type": "SEND_RECEIPT"}]');
 */
CREATE FUNCTION twtasks.finish_task(
	id uuid,
	version bigint,
	result text DEFAULT 'done',
	message text DEFAULT NULL,
	delay interval DEFAULT NULL,
	outcome jsonb DEFAULT NULL,
	add jsonb DEFAULT NULL)
RETURNS twtasks.change_result
LANGUAGE c VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'twt_as_owner';

/*
 * twtasks_internal.finish_task_as_owner(given record)
 *
 *		The work of finish_task(), with its caller noted.  The row has a column for
 *		each parameter.
 *
 * Returns, errors, writes: as finish_task()
 */
CREATE FUNCTION twtasks_internal.finish_task_as_owner(given record)
RETURNS twtasks.change_result
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
	-- longer delays become this one
	longest CONSTANT interval := interval '100 years';
	result text := given.result;
	finished twtasks.change_result;
BEGIN
	IF given.id IS NULL OR given.version IS NULL THEN
		RAISE EXCEPTION '% must not be null', CASE WHEN given.id IS NULL THEN 'id' ELSE 'version' END
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	IF result IS NULL OR result <> ALL ('{done,delete,retry,repeat,error}'::text[]) THEN
		RAISE EXCEPTION 'unrecognized result: %', coalesce('"' || result || '"', 'NULL')
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Results are done, delete, retry, repeat and error.';
	END IF;
	IF given.delay < interval '0' THEN
		RAISE EXCEPTION 'delay must not be negative'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	PERFORM twtasks_internal.check_outcome(given.outcome);
	PERFORM FROM twtasks.task t WHERE t.id = given.id FOR UPDATE;
	-- Types that must not be tried twice say so in their policy.
	IF result IN ('retry', 'repeat')
		AND (SELECT (twtasks.policy_of(t.type)).retry = '"none"' FROM twtasks.task t WHERE t.id = given.id) THEN
		result := 'error';
	END IF;
	SELECT 'changed', f.version, f.status INTO finished
	FROM twtasks_internal.finish_tasks(
		ARRAY[given.id], ARRAY[given.version], ARRAY[result],
		ARRAY[ceil(extract(epoch FROM least(coalesce(given.delay, '0'), longest)) * 1000)::bigint],
		ARRAY[given.message], NULL::bigint, NULL::bigint, outcomes => ARRAY[given.outcome],
		raises => given.add IS NOT NULL, adds => ARRAY[given.add]) f;
	IF FOUND THEN
		RETURN finished;
	END IF;
	RETURN (SELECT (CASE WHEN x.version = given.version
						 THEN 'wrong_status' ELSE 'wrong_version' END,
					x.version, x.status)::twtasks.change_result
			FROM twtasks.tasks x WHERE x.id = given.id
			UNION ALL SELECT ('not_found', NULL, NULL)::twtasks.change_result
			LIMIT 1);
END $$;
COMMENT ON FUNCTION twtasks.finish_task IS 'Finishes one task that was handed on: its handler has answered "accepted", and this call reports the outcome.';
COMMENT ON FUNCTION twtasks_internal.finish_task_as_owner(given record) IS 'The work of finish_task(), with its caller noted.  The row has a column for each parameter.';

-- sql/watch/warnings.sql
/* The first thing to read when nothing runs, or when a test left something on. */
CREATE VIEW twtasks.warnings AS
	SELECT 'not adopted' AS warning, NULL::timestamptz AS since,
		   twtasks_internal.adoption_fault() AS detail,
		   'nothing is executed until SELECT twtasks.adopt(...)' AS hint
	WHERE NOT twtasks.is_adopted()
	UNION ALL
	SELECT 'no environment', s.at, 'this database was adopted for no environment',
		   'not every copy can be told from it; give it a name: SELECT twtasks.adopt(''production''), '
		   'and environment: production in the sidecars'' files'
	FROM twtasks.adoption_state s
	WHERE s.is_adopted AND s.environment IS NULL AND NOT twtasks_internal.is_testing()
	UNION ALL
	SELECT 'switched off', NULL, 'twtasks.enabled is off', 'nothing is executed'
	WHERE NOT twtasks.is_enabled()
	UNION ALL
	SELECT b.warning, b.since, b.detail, b.hint FROM twtasks.blockers() b
	UNION ALL
	SELECT 'clock shifted', c.at,
		   pg_catalog.format('by %s, by %s', pg_catalog.make_interval(secs => c.ahead_us / 1e6), c.actor),
		   'counts where twtasks.testing is on; SELECT twtasks.set_clock(NULL) sets it right'
	FROM twtasks.test_clock c
	UNION ALL
	SELECT 'testing', NULL, 'twtasks.testing is on in this session',
		   'the clock can be shifted, and all tasks removed, by twtasks_tester'
	WHERE twtasks_internal.is_testing()
	UNION ALL
	SELECT 'testing', NULL, pg_catalog.format('twtasks.testing is set for %s', coalesce(
			'role ' || pg_catalog.quote_ident(r.rolname), 'this database')),
		   'ALTER DATABASE or ROLE ... RESET twtasks.testing, if this is production'
	FROM pg_catalog.pg_db_role_setting s
	LEFT JOIN pg_catalog.pg_roles r ON r.oid = s.setrole
	CROSS JOIN LATERAL unnest(s.setconfig) c(setting)
	WHERE s.setdatabase IN (0, (SELECT d.oid FROM pg_catalog.pg_database d
								WHERE d.datname = pg_catalog.current_database()))
	  AND c.setting ~* '^twtasks\.testing=';
COMMENT ON VIEW twtasks.warnings IS 'Reasons why tasks do not run, and settings that must not be on in production; empty when all is well';

-- sql/testing/testing.sql
/*
 * twtasks_internal.check_testing()
 *
 *		Refuses functions for tests where they are switched off.
 *
 * Errors
 *		55000			twtasks.testing is off
 */
CREATE FUNCTION twtasks_internal.check_testing()
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF NOT twtasks_internal.is_testing() THEN
		RAISE EXCEPTION 'functions for tests are switched off'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'The setting twtasks.testing is off.',
				HINT = format('In a database for tests: ALTER DATABASE %I SET twtasks.testing = on, and connect again.',
							  current_database());
	END IF;
END $$;

/*
 * twtasks_internal.do_duties()
 *
 *		Does the leader's duties at once: adds tasks of due schedules, promotes
 *		due tasks, expires tasks, applies stuck rules and runs the duties of other
 *		extensions.
 *
 * Writes		twtasks.task, twtasks.finished_task, twtasks.schedule,
 *				twtasks.schedule_run
 * Wakes		sidecars of the tasks' buckets
 */
CREATE FUNCTION twtasks_internal.do_duties()
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	LOOP
		EXIT WHEN (SELECT coalesce(r.next_ms, 1) > 0 OR r.added + r.missed = 0
				   FROM twtasks_internal.run_schedules(1000) r);
	END LOOP;
	LOOP
		EXIT WHEN (SELECT p.promoted FROM twtasks_internal.promote_tasks(1000) p) < 1000;
	END LOOP;
	LOOP
		EXIT WHEN twtasks_internal.expire_tasks(1000) < 1000;
	END LOOP;
	LOOP
		EXIT WHEN (SELECT r.retried + r.errors + r.failed
				   FROM twtasks_internal.recover_tasks(true, 1000) r) < 1000;
	END LOOP;
	LOOP
		EXIT WHEN (twtasks_internal.run_duties() = 0) IS NOT TRUE;
	END LOOP;
END $$;

/*
 * twtasks.set_clock(at)
 *
 *		Shifts the engine's clock in this database, for a test: it shows the
 *		given time now and goes on from there.  Then everything that is due
 *		happens: schedules, tasks whose time has come, tasks that expire, tasks
 *		past their deadline.
 *
 *		Only sessions with twtasks.testing on use this clock.  Until the commit,
 *		only this transaction uses it.
 *
 * Parameters
 *		at				NULL: the server's time again
 *
 * Returns
 *		the time that the clock shows
 *
 * Errors
 *		55000			twtasks.testing is off
 *		22023			at is infinite
 *
 * Writes		twtasks.test_clock and the tables of what is due
 * Locks		twtasks.test_clock against another set_clock()
 * Wakes		sidecars of the due tasks' buckets
 */
CREATE FUNCTION twtasks.set_clock(at timestamptz)
RETURNS timestamptz
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM twtasks_internal.check_testing();
	IF NOT isfinite(set_clock.at) THEN
		RAISE EXCEPTION 'the clock must show a finite time'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	LOCK TABLE twtasks.test_clock IN SHARE ROW EXCLUSIVE MODE;
	DELETE FROM twtasks.test_clock;
	INSERT INTO twtasks.test_clock (ahead_us, at, actor)
	SELECT (extract(epoch FROM set_clock.at - clock_timestamp()) * 1000000)::bigint,
		   clock_timestamp(), twtasks_internal.actor()
	WHERE set_clock.at IS NOT NULL;
	PERFORM twtasks_internal.do_duties();
	RETURN twtasks.clock();
END $$;

/*
 * twtasks.advance_clock(by)
 *
 *		Lets time pass, for a test: calls set_clock() with a time that much
 *		later.
 *
 * Returns
 *		the time that the clock shows
 *
 * Errors
 *		55000			twtasks.testing is off
 *		22004			by is NULL
 *
 * Writes, locks, wakes: as set_clock()
 * Example		SELECT twtasks.advance_clock('1 hour');
 */
CREATE FUNCTION twtasks.advance_clock(by interval)
RETURNS timestamptz
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF by IS NULL THEN
		RAISE EXCEPTION 'by must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	RETURN twtasks.set_clock(twtasks.clock() + by);
END $$;

/*
 * twtasks.reset_tasks()
 *
 *		Removes all tasks, live and finished, with their keys and audit, and
 *		resets the clock, for the next test.  Schedules stay, and start anew.
 *		Offsets of listeners stay, as the messages do.
 *
 * Returns
 *		number of tasks removed
 *
 * Errors
 *		55000			twtasks.testing is off
 *
 * Writes		twtasks.task, twtasks.finished_task, twtasks.unique_key,
 *				twtasks.audit, twtasks.cancel_request, twtasks.schedule,
 *				twtasks.schedule_run, twtasks.slot_use, twtasks.test_clock
 * Locks		those tables exclusively
 */
CREATE FUNCTION twtasks.reset_tasks()
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	removed bigint;
BEGIN
	PERFORM twtasks_internal.check_testing();
	LOCK TABLE twtasks.task, twtasks.finished_task IN ACCESS EXCLUSIVE MODE;
	SELECT count(*) INTO removed FROM twtasks.tasks;
	TRUNCATE twtasks.task, twtasks.finished_task, twtasks.unique_key, twtasks.audit,
		twtasks.cancel_request, twtasks.schedule_run, twtasks.slot_use;
	DELETE FROM twtasks.test_clock;
	PERFORM twtasks_internal.start_schedule(s.name, true) FROM twtasks.schedule s;
	RETURN removed;
END $$;
COMMENT ON FUNCTION twtasks_internal.check_testing IS 'Refuses functions for tests where they are switched off.';
COMMENT ON FUNCTION twtasks_internal.do_duties IS 'Does the leader''s duties at once: adds tasks of due schedules, promotes due tasks, expires tasks, applies stuck rules and runs the duties of other extensions.';
COMMENT ON FUNCTION twtasks.set_clock IS 'Shifts the engine''s clock in this database, for a test: it shows the given time now and goes on from there.  Then everything that is due happens: schedules, tasks whose time has come, tasks that expire, tasks past their deadline.';
COMMENT ON FUNCTION twtasks.advance_clock IS 'Lets time pass, for a test: calls set_clock() with a time that much later.';
COMMENT ON FUNCTION twtasks.reset_tasks IS 'Removes all tasks, live and finished, with their keys and audit, and resets the clock, for the next test.  Schedules stay, and start anew. Offsets of listeners stay, as the messages do.';

-- sql/testing/wait_for_task.sql
/*
 * twtasks_internal.check_waiting()
 *
 *		Refuses to wait in a transaction that cannot see the changes of others.
 *
 * Errors
 *		25001			the transaction has one snapshot for all its statements
 */
CREATE FUNCTION twtasks_internal.check_waiting()
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE EXCEPTION 'cannot wait for tasks in a transaction with isolation level %',
			current_setting('transaction_isolation')
			USING ERRCODE = 'active_sql_transaction',
				HINT = 'Use READ COMMITTED, which sees what others commit meanwhile.';
	END IF;
END $$;

/*
 * twtasks.wait_for_task(id, statuses, timeout)
 *
 *		Waits until a task reaches one of these statuses.  For tests: the
 *		function reads the table again and again, and keeps its transaction
 *		open.
 *
 * Parameters
 *		timeout			longest wait
 *
 * Returns
 *		the status that the task reached
 *
 * Errors
 *		55000			not in time, or the task has ended in another status
 *		P0002			no such task
 *		25001			the transaction has one snapshot for all its statements
 *
 * Locks		none
 * Example		SELECT twtasks.wait_for_task('...', '{DONE}', '5 s');
 */
CREATE FUNCTION twtasks.wait_for_task(
	id uuid,
	statuses twtasks.task_status[] DEFAULT '{DONE}',
	timeout interval DEFAULT '10 s')
RETURNS twtasks.task_status
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	until CONSTANT timestamptz := clock_timestamp() + timeout;
	task record;
BEGIN
	PERFORM twtasks_internal.check_waiting();
	LOOP
		SELECT t.status, t.version, t.error INTO task
		FROM twtasks.tasks t WHERE t.id = wait_for_task.id;
		IF NOT FOUND THEN
			RAISE EXCEPTION 'task "%" does not exist', wait_for_task.id
				USING ERRCODE = 'no_data_found';
		ELSIF task.status = ANY (statuses) THEN
			RETURN task.status;
		END IF;
		EXIT WHEN clock_timestamp() >= until
			OR task.status IN ('DONE', 'FAILED', 'CANCELLED');
		PERFORM pg_sleep(0.005);
	END LOOP;
	RAISE EXCEPTION 'task "%" did not become %', wait_for_task.id,
		array_to_string(statuses, ' or ')
		USING ERRCODE = 'object_not_in_prerequisite_state',
			DETAIL = format('It is %s at version %s%s.', task.status, task.version, ', with the error: ' || task.error),
			HINT = 'A task runs only after the commit of the transaction that added it.';
END $$;

/*
 * twtasks.wait_until_idle(pattern, timeout)
 *
 *		Waits until no task could run now: none is SUBMITTED or PROCESSING, and
 *		no WAITING task is due.  For tests, as wait_for_task().
 *
 * Parameters
 *		pattern			a type, or the beginning of types and a *
 *		timeout			longest wait
 *
 * Errors
 *		55000			not in time
 *		25001			the transaction has one snapshot for all its statements
 *
 * Locks		none
 */
CREATE FUNCTION twtasks.wait_until_idle(pattern text DEFAULT '*', timeout interval DEFAULT '10 s')
RETURNS void
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	until CONSTANT timestamptz := clock_timestamp() + timeout;
	busy text;
BEGIN
	PERFORM twtasks_internal.check_waiting();
	LOOP
		SELECT string_agg(format('%s of type "%s", %s', x.n, x.type, x.status), '; ') INTO busy
		FROM (SELECT t.type, t.status, count(*) AS n
			  FROM twtasks.task t
			  WHERE twtasks_internal.fits(pattern, t.type) IS NOT NULL
				AND (t.status IN ('SUBMITTED', 'PROCESSING')
					 OR (t.status = 'WAITING' AND t.next_event_time <= twtasks.clock()))
			  GROUP BY 1, 2 ORDER BY 1, 2 LIMIT 10) x;
		IF busy IS NULL THEN
			RETURN;
		END IF;
		EXIT WHEN clock_timestamp() >= until;
		PERFORM pg_sleep(0.005);
	END LOOP;
	RAISE EXCEPTION 'tasks were still to run'
		USING ERRCODE = 'object_not_in_prerequisite_state',
			DETAIL = busy || '.',
			HINT = 'A task runs only after the commit of the transaction that added it.';
END $$;
COMMENT ON FUNCTION twtasks_internal.check_waiting IS 'Refuses to wait in a transaction that cannot see the changes of others.';
COMMENT ON FUNCTION twtasks.wait_for_task IS 'Waits until a task reaches one of these statuses.  For tests: the function reads the table again and again, and keeps its transaction open.';
COMMENT ON FUNCTION twtasks.wait_until_idle IS 'Waits until no task could run now: none is SUBMITTED or PROCESSING, and no WAITING task is due.  For tests, as wait_for_task().';

-- sql/testing/run_inline.sql
/*
 * twtasks_internal.next_inline(pattern)
 *
 *		The next task for run_inline(), as a sidecar would find it: a due task
 *		is promoted first, and paused tasks are skipped.
 *
 * Returns
 *		id, version; no row: no task
 *
 * Writes		twtasks.task
 * Locks		a row
 */
CREATE FUNCTION twtasks_internal.next_inline(pattern text)
RETURNS TABLE (id uuid, version bigint)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
	moment CONSTANT timestamptz := twtasks.clock();
BEGIN
	RETURN QUERY
	WITH next AS MATERIALIZED (
		SELECT t.id, t.version, t.status FROM twtasks.task t
		WHERE twtasks_internal.fits(pattern, t.type) IS NOT NULL
		  AND (t.status = 'SUBMITTED' OR (t.status = 'WAITING' AND t.next_event_time <= moment))
		  AND (t.expires IS NULL OR t.expires > moment)
		  AND NOT twtasks.is_paused(t.type, t.bucket)
		ORDER BY t.priority, t.id LIMIT 1 FOR UPDATE SKIP LOCKED),
	promoted AS (
		UPDATE twtasks.task t
		SET status = 'SUBMITTED', version = t.version + 1, queued = true,
			state_time = moment, next_event_time = moment + twtasks_internal.queue_time(t.type)
		FROM next n WHERE t.id = n.id AND n.status = 'WAITING'
		RETURNING t.id, t.version)
	SELECT p.id, p.version FROM promoted p
	UNION ALL
	SELECT n.id, n.version FROM next n WHERE n.status = 'SUBMITTED';
END $$;

/*
 * twtasks_internal.retry_inline(id, message)
 *
 *		Finishes a failed task as a sidecar does, by the policies of its type.
 *		Without a policy the first retry is after 5 s, the wait doubles each
 *		time up to 2 h, and the task is given up after 20 tries.
 *
 * Writes		twtasks.task
 */
CREATE FUNCTION twtasks_internal.retry_inline(id uuid, message text)
RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT FROM twtasks.task t
	CROSS JOIN LATERAL twtasks_internal.finish_tasks(
		ARRAY[t.id], ARRAY[t.version], '{retry}'::text[], '{NULL}'::bigint[], ARRAY[message],
		NULL::bigint, NULL::bigint, retries => ARRAY['{"jitter": 0}'::jsonb], ask => true) f
	WHERE t.id = retry_inline.id
$$;

/*
 * twtasks.run_inline(function, pattern, max_tasks, role)
 *
 *		Runs tasks in the caller's transaction, as a sidecar with this SQL
 *		handler would.  For tests, which see the effects of the handler before
 *		they roll all of it back.  Tasks added meanwhile run too.  If the
 *		handler fails, its task waits for the next try, by the policies of its
 *		type.
 *
 * Parameters
 *		function		takes (twtasks.task_input), returns twtasks.task_result or
 *						void
 *		pattern			a type, or the beginning of types and a *
 *		max_tasks		at most this many
 *		role			runs the function; NULL: the role that calls
 *
 * Returns
 *		id, type, tries	of each task, in the order in which they ran
 *		result			'finished' or 'failed'
 *		message			the failure with its SQLSTATE
 *		status, version	of the task afterwards; NULL: it was deleted
 *
 * Errors
 *		55000			twtasks.testing or twtasks.enabled is off, or this database is
 *						a copy and not adopted, or a cluster-wide limit is full
 *		42501, 42883	as execute_tasks()
 *
 * Writes		twtasks.task, twtasks.finished_task and what the function writes
 * Locks		rows; skips rows that others have locked
 * Example		SELECT * FROM twtasks.run_inline('app.pay', 'PAYOUT');
 */
CREATE FUNCTION twtasks.run_inline(
	function text,
	pattern text DEFAULT '*',
	max_tasks integer DEFAULT 100,
	role name DEFAULT NULL,
	OUT id uuid,
	OUT type text,
	OUT tries integer,
	OUT result text,
	OUT message text,
	OUT status twtasks.task_status,
	OUT version bigint)
RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 100
AS 'MODULE_PATHNAME', 'twt_as_owner';

/*
 * twtasks_internal.run_inline_as_owner(given)
 *
 *		The work of run_inline(), with its caller noted.  The row has a column
 *		for each parameter.
 *
 * Returns, writes: as run_inline()
 */
CREATE FUNCTION twtasks_internal.run_inline_as_owner(
	given record,
	OUT id uuid,
	OUT type text,
	OUT tries integer,
	OUT result text,
	OUT message text,
	OUT status twtasks.task_status,
	OUT version bigint)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 100
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
	node bigint;
	next record;
	done record;
BEGIN
	PERFORM twtasks_internal.check_testing();
	-- No other session sees this node, since the call deletes it at its end.
	INSERT INTO twtasks.node (name, started, heartbeat, lease)
	VALUES ('run_inline', clock_timestamp(), clock_timestamp(), '1 day')
	RETURNING incarnation INTO node;
	FOR n IN 1 .. given.max_tasks LOOP
		SELECT * INTO next FROM twtasks_internal.next_inline(given.pattern);
		EXIT WHEN NOT FOUND;
		SELECT * INTO done FROM twtasks_internal.execute_tasks(
			given.function, given.role, ARRAY[next.id], ARRAY[next.version], node, n, '{3600000}'::bigint[], '{error}'::twtasks.stuck_rule[]);
		IF NOT FOUND THEN
			RAISE EXCEPTION 'task "%" could not be grabbed', next.id
				USING ERRCODE = 'object_not_in_prerequisite_state',
					HINT = 'Look at twtasks.warnings, and for nodes that its type is bound to at twtasks.policy_of().';
		ELSIF done.result = 'refused' THEN
			RAISE EXCEPTION 'limit "%" does not let task "%" run now', done.message, done.id
				USING ERRCODE = 'object_not_in_prerequisite_state',
					HINT = 'Look at twtasks.limits.';
		ELSIF done.result = 'failed' THEN
			PERFORM twtasks_internal.retry_inline(done.id, done.message);
		END IF;
		id := done.id;
		type := done.type;
		tries := done.tries;
		result := done.result;
		message := done.message;
		SELECT t.status, t.version INTO status, version FROM twtasks.tasks t WHERE t.id = done.id;
		RETURN NEXT;
	END LOOP;
	DELETE FROM twtasks.node n WHERE n.incarnation = node;
END $$;
COMMENT ON FUNCTION twtasks_internal.next_inline IS 'The next task for run_inline(), as a sidecar would find it: a due task is promoted first, and paused tasks are skipped.';
COMMENT ON FUNCTION twtasks_internal.retry_inline IS 'Finishes a failed task as a sidecar does, by the policies of its type. Without a policy the first retry is after 5 s, the wait doubles each time up to 2 h, and the task is given up after 20 tries.';
COMMENT ON FUNCTION twtasks.run_inline IS 'Runs tasks in the caller''s transaction, as a sidecar with this SQL handler would.  For tests, which see the effects of the handler before they roll all of it back.  Tasks added meanwhile run too.  If the handler fails, its task waits for the next try, by the policies of its type.';
COMMENT ON FUNCTION twtasks_internal.run_inline_as_owner IS 'The work of run_inline(), with its caller noted.  The row has a column for each parameter.';

-- sql/base/grants.sql
/*
 * PUBLIC has no rights.  Each role may call what its work needs.  Only the
 * owner may touch a table, so nobody else can attach a trigger or a rule.
 *
 *		producer	adds tasks
 *		worker		what a sidecar calls
 *		web			takes results of tasks that were handed on
 *		operator	changes tasks by hand, and looks at them
 *		viewer		looks at tasks, but not at their data
 *		tester		runs them in tests, where twtasks.testing is on
 */
DO $$
DECLARE
	member record;
BEGIN
	FOR member IN
		SELECT i.type AS kind, i.identity
		FROM pg_catalog.pg_depend d
		JOIN pg_catalog.pg_extension e ON e.oid OPERATOR(pg_catalog.=) d.refobjid
		CROSS JOIN LATERAL pg_catalog.pg_identify_object(d.classid, d.objid, 0) i
		WHERE d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass
		  AND e.extname OPERATOR(pg_catalog.=) 'twtasks'
		  AND d.deptype OPERATOR(pg_catalog.=) 'e'
		  AND i.type OPERATOR(pg_catalog.=) ANY
			  (ARRAY['table', 'view', 'type', 'function', 'procedure'])
		  -- array and row types, members since 17, follow their owner's owner
		  AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend part
						  WHERE part.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_type'::pg_catalog.regclass
							AND d.classid OPERATOR(pg_catalog.=) part.classid
							AND part.objid OPERATOR(pg_catalog.=) d.objid
							AND part.deptype OPERATOR(pg_catalog.=) 'i')
	LOOP
		EXECUTE pg_catalog.format('ALTER %s %s OWNER TO twtasks_owner',
								  member.kind, member.identity);
		IF member.kind OPERATOR(pg_catalog.=) ANY (ARRAY['function', 'procedure']) THEN
			EXECUTE pg_catalog.format('REVOKE ALL ON %s %s FROM PUBLIC',
									  member.kind, member.identity);
		END IF;
	END LOOP;
END $$;

ALTER SCHEMA twtasks OWNER TO twtasks_owner;
REVOKE ALL ON SCHEMA twtasks FROM PUBLIC;
GRANT USAGE ON SCHEMA twtasks
	TO twtasks_producer, twtasks_worker, twtasks_web, twtasks_operator, twtasks_viewer, twtasks_tester;
REVOKE ALL ON SCHEMA twtasks_internal FROM PUBLIC;
GRANT USAGE ON SCHEMA twtasks_internal TO twtasks_worker;

GRANT EXECUTE ON FUNCTION
	twtasks.add_task, twtasks.add_tasks(twtasks.new_task[]), twtasks.add_tasks(jsonb),
	twtasks.add_tasks(text, jsonb[], integer, timestamptz, text, timestamptz, jsonb),
	twtasks.take_messages, twtasks.begin_partition, twtasks.kafka_message, twtasks.send_to_kafka
	TO twtasks_producer;

GRANT EXECUTE ON FUNCTION
	twtasks.is_paused, twtasks.is_enabled, twtasks.is_adopted, twtasks.queue_kind,
	twtasks.queue_stats, twtasks.cron_next, twtasks.cron_preview
	TO twtasks_producer, twtasks_worker, twtasks_operator, twtasks_viewer, twtasks_tester;

GRANT EXECUTE ON FUNCTION twtasks.clock
	TO twtasks_producer, twtasks_worker, twtasks_web, twtasks_operator, twtasks_viewer, twtasks_tester;
GRANT EXECUTE ON FUNCTION twtasks.finish_task TO twtasks_worker, twtasks_web;
GRANT EXECUTE ON FUNCTION twtasks.set_outcome TO twtasks_producer, twtasks_worker;

-- Views call these with the rights of the role that reads.
GRANT EXECUTE ON FUNCTION twtasks_internal.adoption_fault, twtasks_internal.is_testing
	TO twtasks_worker, twtasks_operator, twtasks_viewer;

GRANT EXECUTE ON PROCEDURE twtasks_internal.next_triggers TO twtasks_worker;
GRANT EXECUTE ON FUNCTION
	twtasks_internal.grab_tasks, twtasks_internal.resolve_grab, twtasks_internal.execute_tasks,
	twtasks_internal.find_handler, twtasks_internal.check_handlers, twtasks_internal.note_faults,
	twtasks_internal.finish_tasks, twtasks_internal.resolve_finish,
	twtasks_internal.sweep_tasks, twtasks_internal.expire_tasks, twtasks_internal.promote_tasks,
	twtasks_internal.recover_tasks, twtasks_internal.run_duties, twtasks_internal.take_types, twtasks_internal.take_cancels,
	twtasks_internal.start_node, twtasks_internal.refusal, twtasks_internal.heartbeat,
	twtasks_internal.tick, twtasks_internal.end_node, twtasks_internal.make_partitions,
	twtasks_internal.clean_tasks, twtasks_internal.read_policies,
	twtasks_internal.run_schedules, twtasks_internal.read_limits, twtasks_internal.offer_slots,
	twtasks_internal.clean_slots, twtasks_internal.monitor_tasks
	TO twtasks_worker;

GRANT EXECUTE ON FUNCTION
	twtasks.resume_task, twtasks.reschedule_task, twtasks.cancel_task, twtasks.fail_task,
	twtasks.hold_task, twtasks.release_task, twtasks.request_cancel, twtasks.reopen_task,
	twtasks.change_tasks, twtasks.adopt, twtasks.reset_listener,
	twtasks.configure_type, twtasks.unset_type_options, twtasks.drop_type_policy,
	twtasks.configure_bucket, twtasks.unset_bucket_options, twtasks.drop_bucket,
	twtasks.pause_type, twtasks.resume_type, twtasks.pause_bucket, twtasks.resume_bucket,
	twtasks.configure_limit, twtasks.drop_limit,
	twtasks.schedule, twtasks.unschedule, twtasks.pause_schedule, twtasks.resume_schedule,
	twtasks.run_schedule_now
	TO twtasks_operator;

GRANT EXECUTE ON FUNCTION
	twtasks.run_inline, twtasks.set_clock, twtasks.advance_clock, twtasks.reset_tasks,
	twtasks.wait_for_task, twtasks.wait_until_idle
	TO twtasks_tester;

GRANT EXECUTE ON FUNCTION twtasks.policy_of, twtasks.limit_name, twtasks.count_tasks, twtasks.find_stuck,
	twtasks.blockers, twtasks.id_of
	TO twtasks_worker, twtasks_operator, twtasks_viewer;

GRANT SELECT ON twtasks.tasks, twtasks.error_tasks, twtasks.stuck_tasks, twtasks.stats,
	twtasks.monitor, twtasks.nodes, twtasks.transition, twtasks.adoption_state, twtasks.warnings,
	twtasks.type_policies, twtasks.buckets, twtasks.paused, twtasks.allowed_types, twtasks.limits, twtasks.schedules,
	twtasks.schedule_runs, twtasks.cancel_requests, twtasks.listeners
	TO twtasks_worker, twtasks_operator, twtasks_viewer;
GRANT SELECT ON twtasks.own_tasks TO twtasks_producer;
GRANT SELECT ON twtasks.audit, twtasks.task_history, twtasks.schedule_audit, twtasks.policy_audit
	TO twtasks_operator, twtasks_viewer;
