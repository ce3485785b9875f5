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
 * twtasks_internal.tell_addresses(addresses)
 *
 *		A sidecar tells by which addresses it reaches this database, for start_node() in
 *		the same session.  The library recognizes copies by their files, so addresses do
 *		not count with it.  Without files, a copy of a whole server shows by its address
 *		alone.
 *
 * Parameters
 *		addresses		as host:port/database: first the session's, then all servers'
 *						in the sidecar's configuration
 */
CREATE FUNCTION twtasks_internal.tell_addresses(addresses text[])
RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
$$;

/*
 * twtasks_internal.address_fault()
 *
 *		The reason why a sidecar that reaches the database by the address of this session
 *		must not execute its tasks.
 *
 * Returns
 *		text; NULL: there is none
 */
CREATE FUNCTION twtasks_internal.address_fault()
RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT NULL::text
$$;

/*
 * twtasks_internal.note_addresses(address, forget)
 *
 *		Records addresses by which sidecars reach this database, where they count.
 *
 * Parameters
 *		address			the address; NULL: what tell_addresses() was told
 *		forget			whether the addresses that were recorded are another database's
 */
CREATE FUNCTION twtasks_internal.note_addresses(address text, forget boolean)
RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
$$;

/*
 * twtasks_internal.copy_fault(environment, hold)
 *
 *		The reason why adopt() takes this database for a copy, and holds its tasks.
 *
 * Parameters
 *		environment		as given to adopt()
 *		hold			... and this
 *
 * Returns
 *		text; NULL: it is no copy
 */
CREATE FUNCTION twtasks_internal.copy_fault(environment text, hold boolean)
RETURNS text
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT twtasks_internal.adoption_fault()
$$;

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
	SELECT coalesce(twtasks_internal.adoption_fault(), twtasks_internal.address_fault(),
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
		   OR a.marked < (SELECT clock_timestamp()) - interval '1 hour')
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
