/*
 * twtasks_internal.config_changed()
 *
 *		Tells of a changed table of the configuration, at the commit of the
 *		change: sidecars by NOTIFY twtasks_config, the caches of other sessions by
 *		an invalidation of the table.  For statement triggers on such tables.
 *
 * Errors
 *		39P01			it is not called by a trigger
 *
 * Wakes		every sidecar, to read the configuration again
 */
CREATE FUNCTION twtasks_internal.config_changed()
RETURNS trigger
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_config_changed';

/*
 * What is to be done with the tasks of a type.  A column that is NULL leaves
 * its option to the next shorter pattern that fits, in the end to the
 * configuration of the sidecar.
 */
CREATE TABLE twtasks.type_policy (
	pattern			text COLLATE "C" NOT NULL,
	bucket			text COLLATE "C",
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
	changed_at		timestamptz NOT NULL,
	changed_by		text NOT NULL,
	CONSTRAINT type_policy_pkey PRIMARY KEY (pattern)
);
COMMENT ON TABLE twtasks.type_policy IS 'Policies of task types, as configure_type() set them';
COMMENT ON COLUMN twtasks.type_policy.pattern IS 'A type, or the beginning of types and a *';
COMMENT ON COLUMN twtasks.type_policy.bucket IS 'Where a task goes that is added without a bucket';
COMMENT ON COLUMN twtasks.type_policy.priority IS 'Of a task that is added without one';
COMMENT ON COLUMN twtasks.type_policy.timeout IS 'Deadline of a task, counted from its grab';
COMMENT ON COLUMN twtasks.type_policy.queue_time IS 'How long it may be SUBMITTED before it counts as stuck in the queue';
COMMENT ON COLUMN twtasks.type_policy.expires_after IS 'After so long it is no longer started, unless it was added with a time of its own';
COMMENT ON COLUMN twtasks.type_policy.stuck IS 'What becomes of it when its node is gone or its deadline passed unseen';
COMMENT ON COLUMN twtasks.type_policy.stuck_function IS 'The function that is asked first';
COMMENT ON COLUMN twtasks.type_policy.when_done IS 'What is kept of it when it is DONE';
COMMENT ON COLUMN twtasks.type_policy.nodes IS 'Names of the nodes that run it, or their beginnings and a *';
COMMENT ON COLUMN twtasks.type_policy.intercept IS 'The function that may change or refuse a task when it is added';
COMMENT ON COLUMN twtasks.type_policy.retry IS 'When a task that failed is tried again';
COMMENT ON COLUMN twtasks.type_policy.retry_function IS 'The function that is asked instead';
COMMENT ON COLUMN twtasks.type_policy.reset_tries IS 'Whether tries start anew when a task succeeds and is repeated';
COMMENT ON COLUMN twtasks.type_policy.aging IS 'After so long in the queue a task rises by one priority; 0: never';
COMMENT ON COLUMN twtasks.type_policy.changed_at IS 'When it was configured last';
COMMENT ON COLUMN twtasks.type_policy.changed_by IS 'By whom: the role that logged in';

CREATE TRIGGER config_changed
	AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON twtasks.type_policy
	FOR EACH STATEMENT EXECUTE FUNCTION twtasks_internal.config_changed();

/* The bucket "default" needs no row: one here would clash with a restore. */
CREATE TABLE twtasks.bucket_policy (
	name			text COLLATE "C" NOT NULL,
	description		text,
	concurrency		integer,
	changed_at		timestamptz NOT NULL,
	changed_by		text NOT NULL,
	CONSTRAINT bucket_policy_pkey PRIMARY KEY (name)
);
COMMENT ON TABLE twtasks.bucket_policy IS 'Buckets that tasks can be added to, besides "default"';
COMMENT ON COLUMN twtasks.bucket_policy.name IS 'As add_task() and the buckets of a sidecar name it';
COMMENT ON COLUMN twtasks.bucket_policy.description IS 'What it is for, in words';
COMMENT ON COLUMN twtasks.bucket_policy.concurrency IS 'So many of its tasks run at once on each node; NULL: no limit';
COMMENT ON COLUMN twtasks.bucket_policy.changed_at IS 'When it was configured last';
COMMENT ON COLUMN twtasks.bucket_policy.changed_by IS 'By whom: the role that logged in';

CREATE TRIGGER config_changed
	AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON twtasks.bucket_policy
	FOR EACH STATEMENT EXECUTE FUNCTION twtasks_internal.config_changed();

/* Apart from the policies: what is paused stays so when they change. */
CREATE TABLE twtasks.pause (
	kind			text NOT NULL,
	name			text COLLATE "C" NOT NULL,
	since			timestamptz NOT NULL,
	paused_by		text NOT NULL,
	reason			text,
	CONSTRAINT pause_pkey PRIMARY KEY (kind, name)
);
COMMENT ON TABLE twtasks.pause IS 'Types and buckets of which nothing new is grabbed';
COMMENT ON COLUMN twtasks.pause.kind IS 'type or bucket';
COMMENT ON COLUMN twtasks.pause.name IS 'A type, the beginning of types and a *, or a bucket';
COMMENT ON COLUMN twtasks.pause.since IS 'When it was paused';
COMMENT ON COLUMN twtasks.pause.paused_by IS 'By whom: the role that logged in';
COMMENT ON COLUMN twtasks.pause.reason IS 'Why, in the words of who did it';

CREATE TRIGGER config_changed
	AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON twtasks.pause
	FOR EACH STATEMENT EXECUTE FUNCTION twtasks_internal.config_changed();

SELECT pg_catalog.pg_extension_config_dump('twtasks.pause', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.type_policy', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.bucket_policy', '');
