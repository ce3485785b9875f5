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
	changed_by		text NOT NULL,				-- Role that logged in and made the last change, or the person for whom twtasks-web did
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

/* The bucket "default" needs no row, which would clash with the row of a restore. */
CREATE TABLE twtasks.bucket_policy (
	name			text COLLATE "C" NOT NULL,	-- Name in add_task() and in the buckets of a sidecar
	description		text,						-- Purpose of the bucket, in words
	concurrency		integer,					-- Tasks that may run at once on each node; NULL: no limit
	changed_at		timestamptz NOT NULL,		-- Time of the last change
	changed_by		text NOT NULL,				-- Role that logged in and made the last change, or the person for whom twtasks-web did
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
	paused_by		text NOT NULL,				-- Role that logged in and paused it, or the person for whom twtasks-web did
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
