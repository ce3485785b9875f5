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
	aging			interval
);

/*
 * The next shorter pattern that matches decides on an option that a row does not
 * set, and in the end the configuration of the sidecar.
 */
CREATE TABLE twtasks.type_policy (
	pattern			text COLLATE "C" NOT NULL,
	options			jsonb NOT NULL,
	changed_at		timestamptz NOT NULL,
	changed_by		text NOT NULL,
	CONSTRAINT type_policy_pkey PRIMARY KEY (pattern)
);
COMMENT ON TABLE twtasks.type_policy IS 'Policies of task types, as configure_type() set them; the view type_policies has them in columns';
COMMENT ON COLUMN twtasks.type_policy.pattern IS 'A type, or the beginning of types and a *';
COMMENT ON COLUMN twtasks.type_policy.options IS 'The options that are set, by name';
COMMENT ON COLUMN twtasks.type_policy.changed_at IS 'When it was configured last';
COMMENT ON COLUMN twtasks.type_policy.changed_by IS 'By whom: the role that logged in';

CREATE VIEW twtasks.type_policies AS
	SELECT p.pattern, o.*, p.changed_at, p.changed_by
	FROM twtasks.type_policy p
	CROSS JOIN LATERAL pg_catalog.jsonb_populate_record(NULL::twtasks.policy, p.options) o;
COMMENT ON VIEW twtasks.type_policies IS 'Policies of types, one row per pattern; policy_of() takes them together for a type';

CREATE TRIGGER config_changed
	AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON twtasks.type_policy
	FOR EACH STATEMENT EXECUTE FUNCTION twtasks_internal.config_changed();

/* The bucket "default" needs no row, which would clash with that of a restore. */
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

/* Pauses are apart from the policies, so a change of policies ends no pause. */
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
