-- before:
/*
 * A copy of a whole server has the rows, the identifier and the oids of its original, and
 * SQL cannot look at files.  The address by which sidecars reach the database differs,
 * and a failover keeps it.
 */
CREATE TABLE twtasks_internal.address (
	address	text COLLATE "C" NOT NULL,												-- host:port/database, as the sidecars have it
	at		timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),				-- Time at which it was recorded
	actor	text NOT NULL DEFAULT twtasks_internal.actor(),							-- The role that logged in: a sidecar's, or the caller of adopt()
	CONSTRAINT address_pkey PRIMARY KEY (address)
);
COMMENT ON TABLE twtasks_internal.address IS 'Addresses by which sidecars may execute the tasks of this database; none: the next sidecar''s';

/*
 * twtasks_internal.told_addresses()
 *
 *		The addresses of the last tell_addresses() in this session; NULL: none, as with
 *		older sidecars.
 */
CREATE FUNCTION twtasks_internal.told_addresses()
RETURNS text[]
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT nullif(current_setting('twtasks_session.addresses', true), '')::text[]
$$;

-- instead of twtasks_internal.tell_addresses:
CREATE FUNCTION twtasks_internal.tell_addresses(addresses text[])
RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
	-- No library owns this name, also where one is loaded for other databases.
	SELECT set_config('twtasks_session.addresses', addresses::text, false)
$$;

-- instead of twtasks_internal.address_fault:
CREATE FUNCTION twtasks_internal.address_fault()
RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT format('it was adopted at "%s"%s, not at "%s"', min(a.address),
				  CASE WHEN count(*) > 1 THEN format(' and %s more addresses', count(*) - 1) END,
				  (twtasks_internal.told_addresses())[1])
	FROM twtasks_internal.address a
	HAVING bool_and(a.address <> (twtasks_internal.told_addresses())[1])
$$;

-- instead of twtasks_internal.note_addresses:
CREATE FUNCTION twtasks_internal.note_addresses(address text, forget boolean)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- A sidecar that comes by a recorded address vouches for the others of its
	-- configuration, where it finds the server after a failover.
	added CONSTANT text[] := CASE WHEN address IS NULL THEN twtasks_internal.told_addresses() ELSE ARRAY[address] END;
BEGIN
	DELETE FROM twtasks_internal.address a WHERE forget;
	INSERT INTO twtasks_internal.address AS a (address)
	SELECT DISTINCT u.new FROM unnest(added) u(new)
	WHERE u.new IS NOT NULL AND NOT EXISTS (SELECT FROM twtasks_internal.address o WHERE o.address = u.new)
	ON CONFLICT ON CONSTRAINT address_pkey DO NOTHING;
	DELETE FROM twtasks.refused_node r
	WHERE r.refusal ^@ 'it was adopted at ' AND (forget OR substring(r.refusal FROM 'not at "(.*)"$') = ANY (added));
END $$;

-- instead of twtasks_internal.seems_copied:
CREATE FUNCTION twtasks_internal.seems_copied()
RETURNS boolean
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	-- Sidecars that work here show that this is no copy, but a server with another name too.
	SELECT NOT twtasks.is_adopted()
		OR EXISTS (SELECT FROM twtasks.refused_node r
				   WHERE r.refusal ^@ 'it was adopted at ' AND r.at > (SELECT clock_timestamp()) - interval '10 minutes')
		   AND NOT EXISTS (SELECT FROM twtasks.node n
						   WHERE n.ended IS NULL AND twtasks_internal.holder_of(twtasks_internal.node_lock(n.incarnation)) IS NOT NULL)
$$;

-- twin: twt_own_place LANGUAGE plpgsql
BEGIN
	IF pg_is_in_recovery() THEN
		RAISE EXCEPTION 'a standby cannot be adopted'
			USING ERRCODE = 'read_only_sql_transaction',
				HINT = 'Promote it first.';
	END IF;
	SELECT s.system_identifier, d.oid, c.timeline_id, 0, 0, 0
	INTO system_identifier, database, timeline, control_file, directory, machine
	FROM pg_control_system() s, pg_control_checkpoint() c, pg_database d WHERE d.datname = current_database();
END

-- twin: twt_make_marker LANGUAGE sql
	-- SQL cannot make a file.
	SELECT gen_random_uuid(), 0::bigint, 0::bigint

-- twin: twt_is_adopted_here LANGUAGE plpgsql SECURITY DEFINER
BEGIN
	-- PL/pgSQL keeps the plans of what each grab asks.
	RETURN twtasks_internal.adoption_fault() IS NULL;
END

-- twin: twt_adoption_fault LANGUAGE plpgsql SECURITY DEFINER
BEGIN
	RETURN (
		SELECT CASE
			WHEN pg_is_in_recovery() THEN 'the server is a standby'
			WHEN count(*) = 0 THEN 'it was never adopted'
			WHEN count(*) > 1 THEN 'it was restored from a dump'
			WHEN max(a.system_identifier) <> (SELECT s.system_identifier FROM pg_control_system() s) THEN 'it came from another cluster'
			WHEN max(a.database) <> (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()) THEN 'it is a copy of another database' END
		FROM twtasks.adoption a WHERE a.ended IS NULL);
END
