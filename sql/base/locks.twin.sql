-- before:
/*
 * Any session may take an advisory lock.  So what lasts for a transaction is a lock
 * of a row here, which nobody but the owner can touch.
 */
CREATE TABLE twtasks_internal.lock (
	number	bigint NOT NULL,	-- As try_lock() has it; 0: the right to add a row
	CONSTRAINT lock_pkey PRIMARY KEY (number)
);
COMMENT ON TABLE twtasks_internal.lock IS 'Locks for the rest of a transaction: see try_lock()';
INSERT INTO twtasks_internal.lock (number) VALUES (0), (x'74776e6f00000000'::bigint), (x'7477736c00000000'::bigint);

/*
 * The life of a session has no row that would be unlocked by its end, so it is an advisory
 * lock.  Its number is random, so nobody can have taken the lock before, and it counts
 * only for the backend that is named here.  Another session that takes the lock later
 * changes nothing.
 */
CREATE TABLE twtasks_internal.session (
	number	bigint NOT NULL,	-- As node_lock() has it
	pid		integer NOT NULL,	-- Backend that holds the lock
	key		bigint NOT NULL,	-- Number of the advisory lock
	address	text COLLATE "C",	-- By which a sidecar came, as it told; NULL: it told none
	CONSTRAINT session_pkey PRIMARY KEY (number)
);
COMMENT ON TABLE twtasks_internal.session IS 'Sessions that hold locks: see lock_session()';

/*
 * twtasks_internal.keys_of(pid)
 *
 *		The numbers of advisory locks that a backend holds as lock_session() does.
 */
CREATE FUNCTION twtasks_internal.keys_of(pid integer)
RETURNS SETOF bigint
LANGUAGE sql STABLE PARALLEL RESTRICTED
-- Without a search_path, so that the planner inlines it.
AS $$
	SELECT (l.classid::bigint OPERATOR(pg_catalog.<<) 32) OPERATOR(pg_catalog.|) l.objid::bigint FROM pg_catalog.pg_locks l
	WHERE l.pid OPERATOR(pg_catalog.=) keys_of.pid AND l.locktype OPERATOR(pg_catalog.=) 'advisory' AND l.granted
	  AND l.mode OPERATOR(pg_catalog.=) 'ExclusiveLock' AND l.objsubid OPERATOR(pg_catalog.=) 1::smallint
	  AND l.classid OPERATOR(pg_catalog.=) x'74776e6f'::bigint::oid
	  AND l.database OPERATOR(pg_catalog.=) (
			SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database())
$$;

/*
 * twtasks_internal.holder_of(lock)
 *
 *		The backend that holds the lock of a session; NULL: none.
 */
CREATE FUNCTION twtasks_internal.holder_of(lock bigint)
RETURNS integer
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	-- PL/pgSQL keeps the plan of what each grab asks.
	RETURN (
		SELECT s.pid FROM twtasks_internal.session s
		WHERE s.number = holder_of.lock AND s.key IN (SELECT k FROM twtasks_internal.keys_of(s.pid) k));
END $$;

-- twin: twt_lock_session LANGUAGE plpgsql
DECLARE
	key bigint := (SELECT min(k) FROM twtasks_internal.keys_of(pg_backend_pid()) k);
BEGIN
	WHILE key IS NULL OR NOT pg_try_advisory_lock(key) LOOP
		key := (x'74776e6f'::bigint << 32) | ('x' || left(gen_random_uuid()::text, 8))::bit(32)::bigint;
	END LOOP;
	DELETE FROM twtasks_internal.session s
	WHERE s.number IN (SELECT o.number FROM twtasks_internal.session o
					   WHERE NOT EXISTS (SELECT FROM twtasks.node n WHERE twtasks_internal.node_lock(n.incarnation) = o.number)
					   FOR UPDATE SKIP LOCKED);
	INSERT INTO twtasks_internal.session AS s (number, pid, key, address)
	VALUES (lock, pg_backend_pid(), key, (twtasks_internal.told_addresses())[1])
	ON CONFLICT ON CONSTRAINT session_pkey DO UPDATE
	-- A sidecar whose connection was lost does not tell it again.
	SET pid = EXCLUDED.pid, key = EXCLUDED.key, address = coalesce(EXCLUDED.address, s.address);
END

-- twin: twt_try_lock LANGUAGE plpgsql SECURITY DEFINER
BEGIN
	IF shared THEN
		-- Only the locks of sessions are asked for so.
		RETURN twtasks_internal.holder_of(lock) IS NULL;
	END IF;
	PERFORM FROM twtasks_internal.lock l WHERE l.number = lock FOR UPDATE SKIP LOCKED;
	IF FOUND OR EXISTS (SELECT FROM twtasks_internal.lock l WHERE l.number = lock) THEN
		RETURN FOUND;
	END IF;
	-- Two sessions that insert one row would wait for each other.
	PERFORM FROM twtasks_internal.lock l WHERE l.number = 0 FOR UPDATE SKIP LOCKED;
	IF FOUND THEN
		INSERT INTO twtasks_internal.lock (number) VALUES (lock) ON CONFLICT ON CONSTRAINT lock_pkey DO NOTHING;
	END IF;
	RETURN FOUND;
END

-- twin: twt_session_holds LANGUAGE sql
	SELECT EXISTS (SELECT WHERE twtasks_internal.holder_of(lock) = pg_backend_pid())

-- twin: twt_session_is_idle LANGUAGE sql
	-- A transaction holds the lock of its own virtual id.
	SELECT NOT EXISTS (
		SELECT FROM pg_locks v
		WHERE v.pid = twtasks_internal.holder_of(lock) AND v.locktype = 'virtualxid' AND v.mode = 'ExclusiveLock')

-- twin: twt_slots_lock LANGUAGE sql INLINE
	SELECT x'7477736c00000000'::bigint
