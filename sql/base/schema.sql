/*
 * Live rows and finished rows live apart: the live table stays as small as
 * the work that is left, and history is dropped by whole days.
 *
 * No index names status, version, deadline or any other column that a grab
 * changes, so a grab is always a heap-only update; fillfactor leaves it room
 * on its own page.  What the indexes need to know of the status is in
 * "queued", which a grab does not change either.  Columns of fixed width that
 * are never null come first: they are found without looking at the others.
 */
CREATE TABLE twtasks.task (
	id				uuid NOT NULL,									-- Given by the caller, or generated in order of time (UUIDv7 layout)
	version			bigint NOT NULL DEFAULT 0,						-- From 0; every change of status adds 1 and names the version it expects
	next_event_time	timestamptz NOT NULL,							-- WAITING: when it runs; SUBMITTED, PROCESSING: since when it counts as stuck in the queue; accepted: its deadline; ERROR, HELD: infinity
	state_time		timestamptz NOT NULL,							-- Time of the last change of status
	created			timestamptz NOT NULL,							-- Time of add_task(), not of the commit
	status			twtasks.task_status NOT NULL,					-- WAITING, SUBMITTED, PROCESSING, ERROR or HELD
	stuck			twtasks.stuck_rule NOT NULL DEFAULT 'error',	-- What becomes of it when whoever grabbed it is gone or its deadline passed
	tries			integer NOT NULL DEFAULT 0,						-- Grabs so far; a repeat starts anew
	size			integer NOT NULL DEFAULT 0,						-- Bytes of data, payload and context when it was added, with all digits of their numbers
	priority		smallint NOT NULL DEFAULT 5,					-- 0 (urgent) to 9
	queued			boolean NOT NULL,								-- True while SUBMITTED, or PROCESSING and not accepted: the part of the status that indexes see
	type			text COLLATE "C" NOT NULL,						-- Names the handler
	bucket			text COLLATE "C" NOT NULL DEFAULT 'default',	-- The shard: sidecars work for named buckets
	deadline		timestamptz,									-- PROCESSING: when the stuck rule applies, whoever runs it
	expires			timestamptz,									-- Not started after this time: it becomes FAILED; NULL: never
	incarnation		bigint,											-- The start of a sidecar that grabbed it last
	token			bigint,											-- Which grab of that incarnation; tells whether a grab of unknown outcome was won
	sub_type		text,											-- For people and handlers; twtasks does not look at it
	key				text COLLATE "C",								-- The caller's unique key
	error			text,											-- Why the last try failed, at most 8,192 characters
	data			jsonb,											-- What the handler gets, when there is no payload
	payload			bytea,											-- What the handler gets, byte for byte
	context			jsonb,											-- Request id, traceparent and the like, carried from add to handler
	planned			timestamptz,									-- HELD: when it was to run; infinity: it was in ERROR; NULL: at once
	added_by		text COLLATE "C",								-- The role that added it, by the name that it had
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
 * History, by day of finish.  Day partitions are made ahead by
 * make_partitions(); the default partition makes sure that a finish never
 * fails for want of one.
 */
CREATE TABLE twtasks.finished_task (
	id				uuid NOT NULL,					-- As in twtasks.task
	version			bigint NOT NULL,				-- The version of the final status
	state_time		timestamptz NOT NULL,			-- Time of the finish
	created			timestamptz NOT NULL,			-- Time of add_task()
	incarnation		bigint,							-- Who finished it; NULL: a person
	token			bigint,							-- Which finish of that incarnation; tells whether a finish of unknown outcome was accepted
	status			twtasks.task_status NOT NULL,	-- DONE, FAILED or CANCELLED
	tries			integer NOT NULL,				-- Grabs in all, since the last repeat
	priority		smallint NOT NULL,				-- As in twtasks.task
	type			text COLLATE "C" NOT NULL,		-- As in twtasks.task
	sub_type		text,							-- As in twtasks.task
	bucket			text COLLATE "C" NOT NULL,		-- As in twtasks.task
	key				text COLLATE "C",				-- As in twtasks.task
	error			text,							-- FAILED, CANCELLED: why, or else the last failure; DONE: NULL
	data			jsonb,							-- As in twtasks.task
	payload			bytea,							-- As in twtasks.task
	context			jsonb,							-- As in twtasks.task
	added_by		text COLLATE "C",				-- As in twtasks.task
	message			text							-- DONE: what its handler said, at most 8,192 characters
) PARTITION BY RANGE (state_time);

/*
 * Logical replication names a row that is deleted by all of its columns: a
 * unique index would cost each finish, and history is deleted by whole days.
 */
ALTER TABLE twtasks.finished_task REPLICA IDENTITY FULL;

/*
 * Each partition has an index of its own and the whole has none: with one, a
 * restored partition would get a second index when it is attached.
 */
CREATE TABLE twtasks.finished_task_default
	PARTITION OF twtasks.finished_task DEFAULT;
ALTER TABLE twtasks.finished_task_default REPLICA IDENTITY FULL;
CREATE INDEX finished_task_default_id ON twtasks.finished_task_default (id);

COMMENT ON TABLE twtasks.finished_task IS 'History: DONE, FAILED and CANCELLED tasks, one partition per day (UTC) of finish';

/* Keys and ids that callers chose, for as long as the task is kept. */
CREATE TABLE twtasks.unique_key (
	task_id			uuid NOT NULL,		-- The task
	key				text COLLATE "C",	-- Its key; NULL when only the id was given
	CONSTRAINT unique_key_pkey PRIMARY KEY (task_id),
	CONSTRAINT unique_key_key UNIQUE (key)
);
COMMENT ON TABLE twtasks.unique_key IS 'Ids and keys given by callers: a second add finds the first here, live or finished';

/* One row per start of a sidecar. */
CREATE TABLE twtasks.node (
	incarnation		bigint GENERATED ALWAYS AS IDENTITY,	-- Never reused: a restarted sidecar gets a new one
	name			text NOT NULL,							-- For people; decides nothing
	started			timestamptz NOT NULL,					-- Time of start_node()
	heartbeat		timestamptz NOT NULL,					-- Time of the last heartbeat
	lease			interval NOT NULL,						-- Silence after which it counts as gone even while its session lives
	missing_since	timestamptz,							-- When its session was first seen gone
	ended			timestamptz,							-- When it ended or was declared gone: from then on it changes nothing
	leads			boolean NOT NULL DEFAULT false,			-- Whether it does the duties that one node does for all; counts while it lives
	silent_since	timestamptz,							-- When its heartbeat was first seen late
	buckets			text[],									-- For which it works; NULL: not known
	types			text[],									-- Types that it handles, or beginnings of types and a *; NULL: not known
	next_tick		timestamptz,							-- When it said it would tick again: a leader that does not is followed by another
	faults			text[] NOT NULL DEFAULT '{}',			-- Handlers that it cannot start, each with what to do
	CONSTRAINT node_pkey PRIMARY KEY (incarnation)
);
COMMENT ON TABLE twtasks.node IS 'Starts of sidecars; tasks of one that has ended follow their stuck rule';

/*
 * Types stay known while their sidecars are away, so that an outage does not
 * become one of the producers; see twtasks.refuse_unknown_types.
 */
CREATE TABLE twtasks.handled_type (
	pattern			text COLLATE "C" NOT NULL,	-- A type, or the beginning of types and a *
	started			timestamptz NOT NULL,		-- When a sidecar that handles it started last, give or take a day
	CONSTRAINT handled_type_pkey PRIMARY KEY (pattern)
);
COMMENT ON TABLE twtasks.handled_type IS 'Types that sidecars of this database have handled in the last 30 days';

/* For twtasks.warnings: who is refused asks again every few seconds. */
CREATE TABLE twtasks.refused_node (
	name			text NOT NULL,			-- Of the node
	refusal			text NOT NULL,			-- Why
	since			timestamptz NOT NULL,	-- When it was refused first
	at				timestamptz NOT NULL,	-- When it was refused last, within half a minute
	CONSTRAINT refused_node_pkey PRIMARY KEY (name)
);
COMMENT ON TABLE twtasks.refused_node IS 'Sidecars that are configured for another environment and were refused lately';

/* Running tasks that an operator wants cancelled; see request_cancel(). */
CREATE TABLE twtasks.cancel_request (
	task_id			uuid NOT NULL,															-- The task
	version			bigint NOT NULL,														-- The version that the operator looked at
	created			timestamptz NOT NULL,													-- When the task was added: another one may get the id of one that was deleted
	requested		timestamptz NOT NULL,													-- When
	actor			text NOT NULL DEFAULT twtasks_internal.actor(),							-- Who: the role that logged in
	role			text NOT NULL DEFAULT
		CASE pg_catalog.current_setting('role') WHEN 'none' THEN session_user
			ELSE pg_catalog.current_setting('role') END,									-- As whom: the role that was set with SET ROLE, else the actor
	application		text NOT NULL DEFAULT pg_catalog.current_setting('application_name'),	-- With what: application_name of the session
	reason			text,																	-- Why, in the words of who did it
	CONSTRAINT cancel_request_pkey PRIMARY KEY (task_id)
);
COMMENT ON TABLE twtasks.cancel_request IS 'Wishes to cancel a running task; goes with the task, or a while after it has ended otherwise';

/* Without these marks a dump would hold the extension but no task. */
SELECT pg_catalog.pg_extension_config_dump('twtasks.task', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.finished_task', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.finished_task_default', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.unique_key', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.node', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.handled_type', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.node_incarnation_seq', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.cancel_request', '');
