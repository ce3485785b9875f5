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
	state_time		timestamptz NOT NULL,							-- Time of the last change of status; SUBMITTED: since when it can run
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
 * History, by day of finish.  make_partitions() makes partitions ahead.
 * Without one, a finish uses the default partition.  CREATE EXTENSION makes no
 * partition: see begin_history().
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
	message			text,							-- DONE: the message of its handler, at most 8,192 characters
	started			timestamptz,					-- Time of the last grab, if the task was running when it ended; else NULL
	outcome			jsonb							-- Given by its handler besides the result; NULL: nothing, or not kept, as its data
) PARTITION BY RANGE (state_time);

/*
 * Logical replication identifies a deleted row by all of its columns.  A unique
 * index would slow down each finish, and whole days are deleted at once.
 */
ALTER TABLE twtasks.finished_task REPLICA IDENTITY FULL;

COMMENT ON TABLE twtasks.finished_task IS 'History: DONE, FAILED and CANCELLED tasks, partitions by day (UTC) of finish';

/*
 * A try that succeeded has no row: its times are in the history.  Partitions are
 * made and dropped as the history's.  Each has an index on (task_id,
 * version).
 */
CREATE TABLE twtasks.task_attempt (
	task_id			uuid NOT NULL,			-- The task
	version			bigint NOT NULL,		-- The version of the grab; expired: the last version before the end
	try				integer NOT NULL,		-- As tries of the task; expired: the try that would have been next
	runnable		timestamptz,			-- From when it could have started; NULL: not known
	started			timestamptz,			-- Time of the grab; NULL: it was not grabbed
	ended			timestamptz NOT NULL,	-- Time of its end; late: when the result came
	incarnation		bigint,					-- The incarnation that had grabbed it; NULL: none, or it had handed the task on
	result			text NOT NULL,			-- retry, error, failed, cancelled, unknown, expired, late
	error			text,					-- The reason; NULL: the same as of the attempt before; late: the result that was refused
	next			timestamptz,			-- From when the next try could start; NULL: there is none
	node			text					-- Name of the incarnation
) PARTITION BY RANGE (ended);
ALTER TABLE twtasks.task_attempt REPLICA IDENTITY FULL;
COMMENT ON TABLE twtasks.task_attempt IS 'Attempts that did not succeed, partitions by day (UTC) of their end; see the view task_attempts';

CREATE TABLE twtasks.unique_key (
	task_id			uuid NOT NULL,		-- The task
	key				text COLLATE "C",	-- Its key; NULL: only the id was given
	put_version		bigint,				-- The version that the last put_task() gave the task; -1: it may have started, unseen; NULL: add_task() added it
	CONSTRAINT unique_key_pkey PRIMARY KEY (task_id),
	CONSTRAINT unique_key_key UNIQUE (key)
);
/* It grows with the history: see make_partition().  An update keeps targets that somebody has set, so it does not run this. */
DO $$
BEGIN
	ALTER TABLE twtasks.unique_key ALTER COLUMN task_id SET STATISTICS 10, ALTER COLUMN key SET STATISTICS 10,
		ALTER COLUMN put_version SET STATISTICS 10;
END $$;
COMMENT ON TABLE twtasks.unique_key IS 'Ids and keys given by callers, for as long as the task is kept: a second add finds the first here';

CREATE TABLE twtasks.node (
	incarnation		bigint GENERATED ALWAYS AS IDENTITY,	-- Never reused, nor given by another database: see new_incarnation()
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
	faults			text[] NOT NULL DEFAULT '{}',			-- Its faults, each with advice: handlers that it cannot start, a silent session, helpers and listeners in trouble, a file that is not reloaded
	boot_time		timestamptz,							-- boot_time() at the last heartbeat or look; with another one its times tell nothing; NULL: not known
	notes_flow		boolean NOT NULL DEFAULT false,			-- Whether it adds to twtasks.flow; false in its first minute, and for sidecars of version 1.0
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
	on_behalf_of	text DEFAULT twtasks_internal.on_behalf_of(),							-- The person for whom twtasks-web acted; NULL: the actor acted
	CONSTRAINT cancel_request_pkey PRIMARY KEY (task_id)
);
COMMENT ON TABLE twtasks.cancel_request IS 'Requests to cancel a running task, by request_cancel(); a request goes with its task';

/* Without these marks a dump would hold the extension but no task. */
SELECT pg_catalog.pg_extension_config_dump('twtasks.task', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.finished_task', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.task_attempt', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.unique_key', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.node', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.handled_type', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.node_incarnation_seq', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.cancel_request', '');
