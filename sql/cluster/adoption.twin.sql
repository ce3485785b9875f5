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

/*
 * twtasks_internal.plain_address(address)
 *
 *		The address as it is recorded: names of hosts in lower case, without a dot at their end.
 */
CREATE FUNCTION twtasks_internal.plain_address(address text)
RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	-- The directory of a Unix socket stays as it is.
	SELECT CASE WHEN address ~ '^[/@]' THEN address
		ELSE coalesce((SELECT lower(rtrim(m[1], '.') COLLATE "C") || m[2] FROM regexp_match(address, '^(.*?)(:[0-9]+/.*)$') m), address) END
$$;

/*
 * twtasks_internal.works_here()
 *
 *		Whether a sidecar works here that came by a recorded address.
 */
CREATE FUNCTION twtasks_internal.works_here()
RETURNS boolean
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT EXISTS (
		SELECT FROM twtasks.node n
		JOIN twtasks_internal.session s ON s.number = twtasks_internal.node_lock(n.incarnation)
		JOIN twtasks_internal.address a ON a.address = s.address
		WHERE n.ended IS NULL AND twtasks_internal.holder_of(s.number) IS NOT NULL)
$$;

-- instead of twtasks_internal.tell_addresses:
CREATE FUNCTION twtasks_internal.tell_addresses(addresses text[])
RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
	-- No library owns this name, also where one is loaded for other databases.
	SELECT set_config('twtasks_session.addresses',
					  (SELECT array_agg(twtasks_internal.plain_address(a.address) ORDER BY a.n)
					   FROM unnest(addresses[1:100]) WITH ORDINALITY a(address, n))::text, false)
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
	added CONSTANT text[] := CASE WHEN address IS NULL THEN twtasks_internal.told_addresses()
								  ELSE ARRAY[twtasks_internal.plain_address(address)] END;
BEGIN
	DELETE FROM twtasks_internal.address a WHERE forget;
	INSERT INTO twtasks_internal.address AS a (address)
	SELECT DISTINCT u.new FROM unnest(added) u(new)
	WHERE u.new IS NOT NULL AND NOT EXISTS (SELECT FROM twtasks_internal.address o WHERE o.address = u.new)
	ON CONFLICT ON CONSTRAINT address_pkey DO NOTHING;
	DELETE FROM twtasks.refused_node r
	WHERE r.refusal ^@ 'it was adopted at ' AND (forget OR substring(r.refusal FROM 'not at "(.*)"$') = ANY (added));
END $$;

-- instead of twtasks_internal.copy_fault:
CREATE FUNCTION twtasks_internal.copy_fault(environment text, hold boolean)
RETURNS text
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	-- A copy has all that the original's rows say.  So only a sidecar that works here
	-- shows that this is no copy, and not in another environment than the recorded one.
	SELECT coalesce(twtasks_internal.adoption_fault(),
		CASE WHEN NOT twtasks_internal.works_here() THEN
			CASE WHEN EXISTS (SELECT FROM twtasks_internal.address) THEN 'no sidecar works here that came by a recorded address'
				 ELSE 'no sidecar has told its address yet, so this may be a copy' END END,
		(SELECT format('its environment was "%s"', a.environment) FROM twtasks.adoption a
		 WHERE a.ended IS NULL AND copy_fault.hold IS DISTINCT FROM false
		   AND a.environment IS NOT NULL AND a.environment IS DISTINCT FROM copy_fault.environment))
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
