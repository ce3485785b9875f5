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
	id				uuid NOT NULL,
	version			bigint NOT NULL DEFAULT 0,
	next_event_time	timestamptz NOT NULL,
	state_time		timestamptz NOT NULL,
	created			timestamptz NOT NULL,
	status			twtasks.task_status NOT NULL,
	stuck			twtasks.stuck_rule NOT NULL DEFAULT 'error',
	tries			integer NOT NULL DEFAULT 0,
	size			integer NOT NULL DEFAULT 0,
	priority		smallint NOT NULL DEFAULT 5,
	queued			boolean NOT NULL,
	type			text COLLATE "C" NOT NULL,
	bucket			text COLLATE "C" NOT NULL DEFAULT 'default',
	deadline		timestamptz,
	expires			timestamptz,
	incarnation		bigint,
	token			bigint,
	sub_type		text,
	key				text COLLATE "C",
	error			text,
	data			jsonb,
	payload			bytea,
	context			jsonb,
	planned			timestamptz,
	added_by		text COLLATE "C",
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
COMMENT ON COLUMN twtasks.task.id IS 'Given by the caller, or generated in order of time (UUIDv7 layout)';
COMMENT ON COLUMN twtasks.task.version IS 'From 0; every change of status adds 1 and names the version it expects';
COMMENT ON COLUMN twtasks.task.next_event_time IS 'WAITING: when it runs; SUBMITTED, PROCESSING: since when it counts as stuck in the queue; accepted: its deadline; ERROR, HELD: infinity';
COMMENT ON COLUMN twtasks.task.state_time IS 'Time of the last change of status';
COMMENT ON COLUMN twtasks.task.created IS 'Time of add_task(), not of the commit';
COMMENT ON COLUMN twtasks.task.status IS 'WAITING, SUBMITTED, PROCESSING, ERROR or HELD';
COMMENT ON COLUMN twtasks.task.stuck IS 'What becomes of it when whoever grabbed it is gone or its deadline passed';
COMMENT ON COLUMN twtasks.task.tries IS 'Grabs so far; a repeat starts anew';
COMMENT ON COLUMN twtasks.task.size IS 'Bytes of data, payload and context when it was added, with all digits of their numbers';
COMMENT ON COLUMN twtasks.task.priority IS '0 (urgent) to 9';
COMMENT ON COLUMN twtasks.task.queued IS 'True while SUBMITTED, or PROCESSING and not accepted: the part of the status that indexes see';
COMMENT ON COLUMN twtasks.task.type IS 'Names the handler';
COMMENT ON COLUMN twtasks.task.bucket IS 'The shard: sidecars work for named buckets';
COMMENT ON COLUMN twtasks.task.deadline IS 'PROCESSING: when the stuck rule applies, whoever runs it';
COMMENT ON COLUMN twtasks.task.expires IS 'Not started after this time: it becomes FAILED; NULL: never';
COMMENT ON COLUMN twtasks.task.incarnation IS 'The start of a sidecar that grabbed it last';
COMMENT ON COLUMN twtasks.task.token IS 'Which grab of that incarnation; tells whether a grab of unknown outcome was won';
COMMENT ON COLUMN twtasks.task.sub_type IS 'For people and handlers; twtasks does not look at it';
COMMENT ON COLUMN twtasks.task.key IS 'The caller''s unique key';
COMMENT ON COLUMN twtasks.task.error IS 'Why the last try failed, at most 8,192 characters';
COMMENT ON COLUMN twtasks.task.data IS 'What the handler gets, when there is no payload';
COMMENT ON COLUMN twtasks.task.payload IS 'What the handler gets, byte for byte';
COMMENT ON COLUMN twtasks.task.context IS 'Request id, traceparent and the like, carried from add to handler';
COMMENT ON COLUMN twtasks.task.planned IS 'HELD: when it was to run; infinity: it was in ERROR; NULL: at once';
COMMENT ON COLUMN twtasks.task.added_by IS 'The role that added it, by the name that it had';

/*
 * History, by day of finish.  Day partitions are made ahead by
 * make_partitions(); the default partition makes sure that a finish never
 * fails for want of one.
 */
CREATE TABLE twtasks.finished_task (
	id				uuid NOT NULL,
	version			bigint NOT NULL,
	state_time		timestamptz NOT NULL,
	created			timestamptz NOT NULL,
	incarnation		bigint,
	token			bigint,
	status			twtasks.task_status NOT NULL,
	tries			integer NOT NULL,
	priority		smallint NOT NULL,
	type			text COLLATE "C" NOT NULL,
	sub_type		text,
	bucket			text COLLATE "C" NOT NULL,
	key				text COLLATE "C",
	error			text,
	data			jsonb,
	payload			bytea,
	context			jsonb,
	added_by		text COLLATE "C",
	message			text
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
COMMENT ON COLUMN twtasks.finished_task.id IS 'As in twtasks.task';
COMMENT ON COLUMN twtasks.finished_task.version IS 'The version of the final status';
COMMENT ON COLUMN twtasks.finished_task.state_time IS 'Time of the finish';
COMMENT ON COLUMN twtasks.finished_task.created IS 'Time of add_task()';
COMMENT ON COLUMN twtasks.finished_task.incarnation IS 'Who finished it; NULL: a person';
COMMENT ON COLUMN twtasks.finished_task.token IS 'Which finish of that incarnation; tells whether a finish of unknown outcome was accepted';
COMMENT ON COLUMN twtasks.finished_task.status IS 'DONE, FAILED or CANCELLED';
COMMENT ON COLUMN twtasks.finished_task.tries IS 'Grabs in all, since the last repeat';
COMMENT ON COLUMN twtasks.finished_task.priority IS 'As in twtasks.task';
COMMENT ON COLUMN twtasks.finished_task.type IS 'As in twtasks.task';
COMMENT ON COLUMN twtasks.finished_task.sub_type IS 'As in twtasks.task';
COMMENT ON COLUMN twtasks.finished_task.bucket IS 'As in twtasks.task';
COMMENT ON COLUMN twtasks.finished_task.key IS 'As in twtasks.task';
COMMENT ON COLUMN twtasks.finished_task.error IS 'FAILED, CANCELLED: why, or else the last failure; DONE: NULL';
COMMENT ON COLUMN twtasks.finished_task.data IS 'As in twtasks.task';
COMMENT ON COLUMN twtasks.finished_task.payload IS 'As in twtasks.task';
COMMENT ON COLUMN twtasks.finished_task.context IS 'As in twtasks.task';
COMMENT ON COLUMN twtasks.finished_task.added_by IS 'As in twtasks.task';
COMMENT ON COLUMN twtasks.finished_task.message IS 'DONE: what its handler said, at most 8,192 characters';

/* Keys and ids that callers chose, for as long as the task is kept. */
CREATE TABLE twtasks.unique_key (
	task_id			uuid NOT NULL,
	key				text COLLATE "C",
	CONSTRAINT unique_key_pkey PRIMARY KEY (task_id),
	CONSTRAINT unique_key_key UNIQUE (key)
);
COMMENT ON TABLE twtasks.unique_key IS 'Ids and keys given by callers: a second add finds the first here, live or finished';
COMMENT ON COLUMN twtasks.unique_key.task_id IS 'The task';
COMMENT ON COLUMN twtasks.unique_key.key IS 'Its key; NULL when only the id was given';

/* One row per start of a sidecar. */
CREATE TABLE twtasks.node (
	incarnation		bigint GENERATED ALWAYS AS IDENTITY,
	name			text NOT NULL,
	started			timestamptz NOT NULL,
	heartbeat		timestamptz NOT NULL,
	lease			interval NOT NULL,
	missing_since	timestamptz,
	ended			timestamptz,
	leads			boolean NOT NULL DEFAULT false,
	silent_since	timestamptz,
	buckets			text[],
	types			text[],
	next_tick		timestamptz,
	faults			text[] NOT NULL DEFAULT '{}',
	CONSTRAINT node_pkey PRIMARY KEY (incarnation)
);
COMMENT ON TABLE twtasks.node IS 'Starts of sidecars; tasks of one that has ended follow their stuck rule';
COMMENT ON COLUMN twtasks.node.incarnation IS 'Never reused: a restarted sidecar gets a new one';
COMMENT ON COLUMN twtasks.node.name IS 'For people; decides nothing';
COMMENT ON COLUMN twtasks.node.started IS 'Time of start_node()';
COMMENT ON COLUMN twtasks.node.heartbeat IS 'Time of the last heartbeat';
COMMENT ON COLUMN twtasks.node.lease IS 'Silence after which it counts as gone even while its session lives';
COMMENT ON COLUMN twtasks.node.missing_since IS 'When its session was first seen gone';
COMMENT ON COLUMN twtasks.node.silent_since IS 'When its heartbeat was first seen late';
COMMENT ON COLUMN twtasks.node.next_tick IS 'When it said it would tick again: a leader that does not is followed by another';
COMMENT ON COLUMN twtasks.node.leads IS 'Whether it does the duties that one node does for all; counts while it lives';
COMMENT ON COLUMN twtasks.node.buckets IS 'For which it works; NULL: not known';
COMMENT ON COLUMN twtasks.node.types IS 'Types that it handles, or beginnings of types and a *; NULL: not known';
COMMENT ON COLUMN twtasks.node.faults IS 'Handlers that it cannot start, each with what to do';
COMMENT ON COLUMN twtasks.node.ended IS 'When it ended or was declared gone: from then on it changes nothing';

/*
 * Types stay known while their sidecars are away, so that an outage does not
 * become one of the producers; see twtasks.refuse_unknown_types.
 */
CREATE TABLE twtasks.handled_type (
	pattern			text COLLATE "C" NOT NULL,
	started			timestamptz NOT NULL,
	CONSTRAINT handled_type_pkey PRIMARY KEY (pattern)
);
COMMENT ON TABLE twtasks.handled_type IS 'Types that sidecars of this database have handled in the last 30 days';
COMMENT ON COLUMN twtasks.handled_type.pattern IS 'A type, or the beginning of types and a *';
COMMENT ON COLUMN twtasks.handled_type.started IS 'When a sidecar that handles it started last, give or take a day';

/* For twtasks.warnings: who is refused asks again every few seconds. */
CREATE TABLE twtasks.refused_node (
	name			text NOT NULL,
	refusal			text NOT NULL,
	since			timestamptz NOT NULL,
	at				timestamptz NOT NULL,
	CONSTRAINT refused_node_pkey PRIMARY KEY (name)
);
COMMENT ON TABLE twtasks.refused_node IS 'Sidecars that are configured for another environment and were refused lately';
COMMENT ON COLUMN twtasks.refused_node.name IS 'Of the node';
COMMENT ON COLUMN twtasks.refused_node.refusal IS 'Why';
COMMENT ON COLUMN twtasks.refused_node.since IS 'When it was refused first';
COMMENT ON COLUMN twtasks.refused_node.at IS 'When it was refused last, within half a minute';

/* Running tasks that an operator wants cancelled; see request_cancel(). */
CREATE TABLE twtasks.cancel_request (
	task_id			uuid NOT NULL,
	version			bigint NOT NULL,
	created			timestamptz NOT NULL,
	requested		timestamptz NOT NULL,
	actor			text NOT NULL DEFAULT twtasks_internal.actor(),
	role			text NOT NULL DEFAULT
		CASE pg_catalog.current_setting('role') WHEN 'none' THEN session_user
			ELSE pg_catalog.current_setting('role') END,
	application		text NOT NULL DEFAULT pg_catalog.current_setting('application_name'),
	reason			text,
	CONSTRAINT cancel_request_pkey PRIMARY KEY (task_id)
);
COMMENT ON TABLE twtasks.cancel_request IS 'Wishes to cancel a running task; goes with the task, or a while after it has ended otherwise';
COMMENT ON COLUMN twtasks.cancel_request.task_id IS 'The task';
COMMENT ON COLUMN twtasks.cancel_request.version IS 'The version that the operator looked at';
COMMENT ON COLUMN twtasks.cancel_request.created IS 'When the task was added: another one may get the id of one that was deleted';
COMMENT ON COLUMN twtasks.cancel_request.requested IS 'When';
COMMENT ON COLUMN twtasks.cancel_request.actor IS 'Who: the role that logged in';
COMMENT ON COLUMN twtasks.cancel_request.role IS 'As whom: the role that was set with SET ROLE, else the actor';
COMMENT ON COLUMN twtasks.cancel_request.application IS 'With what: application_name of the session';
COMMENT ON COLUMN twtasks.cancel_request.reason IS 'Why, in the words of who did it';

/* Without these marks a dump would hold the extension but no task. */
SELECT pg_catalog.pg_extension_config_dump('twtasks.task', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.finished_task', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.finished_task_default', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.unique_key', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.node', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.handled_type', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.node_incarnation_seq', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.cancel_request', '');
