/*
 * For which place this database was adopted.  A copy brings the rows of its
 * original along and so can be told: see src/adoption.h.
 */
CREATE TABLE twtasks.adoption (
	id					uuid NOT NULL DEFAULT pg_catalog.gen_random_uuid(),
	environment			text,
	system_identifier	bigint NOT NULL,
	database			oid NOT NULL,
	timeline			bigint NOT NULL,
	control_file		bigint NOT NULL,
	at					timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
	ended				timestamptz,
	actor				text NOT NULL DEFAULT twtasks.actor(),
	reason				text,
	CONSTRAINT adoption_pkey PRIMARY KEY (id)
);
COMMENT ON TABLE twtasks.adoption IS 'Places for which this database was adopted; tasks are executed where there is exactly one that has not ended, and it is this one';
COMMENT ON COLUMN twtasks.adoption.id IS 'Random: a copy adds its rows to those that are there';
COMMENT ON COLUMN twtasks.adoption.environment IS 'What sidecars must be configured for; NULL: for none';
COMMENT ON COLUMN twtasks.adoption.system_identifier IS 'The cluster, as pg_control_system() tells it';
COMMENT ON COLUMN twtasks.adoption.database IS 'The database''s oid there';
COMMENT ON COLUMN twtasks.adoption.timeline IS 'The timeline it was on';
COMMENT ON COLUMN twtasks.adoption.control_file IS 'Inode of the cluster''s control file';
COMMENT ON COLUMN twtasks.adoption.at IS 'When it was adopted';
COMMENT ON COLUMN twtasks.adoption.ended IS 'When another adoption took its place';
COMMENT ON COLUMN twtasks.adoption.actor IS 'Who did it: the role that logged in';
COMMENT ON COLUMN twtasks.adoption.reason IS 'Why, in the words of who did it';
SELECT pg_catalog.pg_extension_config_dump('twtasks.adoption', '');

/* Always: rows may also come by logical replication. */
CREATE TRIGGER table_changed
	AFTER INSERT OR UPDATE OR DELETE ON twtasks.adoption
	FOR EACH ROW EXECUTE FUNCTION twtasks.table_changed();
ALTER TABLE twtasks.adoption ENABLE ALWAYS TRIGGER table_changed;

/*
 * twtasks.own_place()
 *
 *		Where this is: the cluster, the database, and what tells copies apart.
 *
 * Returns
 *		system_identifier, database, timeline, control_file: as in
 *		twtasks.adoption
 *
 * Errors
 *		25006			on a standby
 */
CREATE FUNCTION twtasks.own_place(
	OUT system_identifier bigint, OUT database oid, OUT timeline bigint, OUT control_file bigint)
RETURNS record
LANGUAGE c VOLATILE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_own_place';

/*
 * twtasks.is_adopted()
 *
 *		Whether tasks may be executed in this database: it is not a copy, or was
 *		adopted as one.
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
 * twtasks.adoption_fault()
 *
 *		Why tasks may not be executed in this database.
 *
 * Returns
 *		text; NULL: they may
 *
 * Locks		none
 */
CREATE FUNCTION twtasks.adoption_fault()
RETURNS text
LANGUAGE c STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_adoption_fault';

/* Here tasks are made, so here they are executed. */
INSERT INTO twtasks.adoption (system_identifier, database, timeline, control_file, reason)
SELECT p.system_identifier, p.database, p.timeline, p.control_file, 'CREATE EXTENSION'
FROM twtasks.own_place() p;

/*
 * twtasks.refusal(environment)
 *
 *		Why a sidecar that is configured for an environment must not execute the
 *		tasks of this database.
 *
 * Parameters
 *		environment		of the sidecar; NULL: it is configured for none
 *
 * Returns
 *		text; NULL: it may
 *
 * Locks		none
 */
CREATE FUNCTION twtasks.refusal(environment text)
RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT coalesce(twtasks.adoption_fault(),
		(SELECT format('it was adopted for environment %s, not %s',
					   coalesce('"' || a.environment || '"', 'none'),
					   coalesce('"' || refusal.environment || '"', 'none'))
		 FROM twtasks.adoption a
		 WHERE a.ended IS NULL AND a.environment IS DISTINCT FROM refusal.environment))
$$;

/*
 * twtasks.follow_promotion()
 *
 *		After a standby was promoted: writes down where the database is now, so
 *		that copies of the new primary can be told from it.
 *
 * Writes		twtasks.adoption
 * Locks		a row
 */
CREATE FUNCTION twtasks.follow_promotion()
RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	WITH old AS (
		UPDATE twtasks.adoption a SET ended = clock_timestamp()
		FROM twtasks.own_place() p
		WHERE a.ended IS NULL AND a.timeline <> p.timeline AND twtasks.is_adopted()
		RETURNING a.environment)
	INSERT INTO twtasks.adoption
		(environment, system_identifier, database, timeline, control_file, reason)
	SELECT o.environment, p.system_identifier, p.database, p.timeline, p.control_file,
		   'a standby was promoted'
	FROM old o, twtasks.own_place() p
$$;

CREATE VIEW twtasks.adoption_state AS
	SELECT twtasks.is_adopted() AS is_adopted, twtasks.adoption_fault() AS fault,
		   a.environment, a.at, a.actor, a.reason
	FROM (VALUES (1)) one
	LEFT JOIN twtasks.adoption a ON a.ended IS NULL AND twtasks.is_adopted();
COMMENT ON VIEW twtasks.adoption_state IS 'Whether tasks are executed in this database, or why not until adopt(); by whom it was adopted, and for which environment';
