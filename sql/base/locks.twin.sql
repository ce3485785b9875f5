-- before:
/*
 * Any session may take an advisory lock.  So what lasts for a transaction is a lock
 * of a row here, which nobody but the owner can touch.  The life of a session has no
 * such row: who takes that lock from a node delays a take-over until its lease
 * ends, and no longer.
 */
CREATE TABLE twtasks_internal.lock (
	number	bigint NOT NULL,	-- As node_lock() and slots_lock() have it
	CONSTRAINT lock_pkey PRIMARY KEY (number)
);
COMMENT ON TABLE twtasks_internal.lock IS 'Locks for the rest of a transaction: see try_lock()';
INSERT INTO twtasks_internal.lock (number) VALUES (x'74776e6f00000000'::bigint), (x'7477736c00000000'::bigint);

-- twin: twt_lock_session LANGUAGE plpgsql
BEGIN
	PERFORM pg_advisory_lock(lock);
END

-- twin: twt_try_lock LANGUAGE plpgsql SECURITY DEFINER
BEGIN
	IF EXISTS (SELECT FROM twtasks_internal.lock l WHERE l.number = lock) THEN
		PERFORM FROM twtasks_internal.lock l WHERE l.number = lock FOR UPDATE SKIP LOCKED;
		RETURN FOUND;
	ELSIF shared THEN
		RETURN pg_try_advisory_xact_lock_shared(lock);
	END IF;
	RETURN pg_try_advisory_xact_lock(lock);
END

-- twin: twt_session_holds LANGUAGE sql
	SELECT EXISTS (
		SELECT FROM pg_locks l
		WHERE l.pid = pg_backend_pid() AND l.locktype = 'advisory' AND l.granted AND l.mode = 'ExclusiveLock'
		  AND l.objsubid = 1 AND l.classid = (lock >> 32)::oid AND l.objid = (lock & x'ffffffff'::bigint)::oid)

-- twin: twt_session_is_idle LANGUAGE sql
	-- A transaction holds the lock of its own virtual id.
	SELECT NOT EXISTS (
		SELECT FROM pg_locks l
		JOIN pg_locks v ON v.pid = l.pid AND v.locktype = 'virtualxid' AND v.mode = 'ExclusiveLock'
		WHERE l.locktype = 'advisory' AND l.granted AND l.mode = 'ExclusiveLock'
		  AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
		  AND l.objsubid = 1 AND l.classid = (lock >> 32)::oid AND l.objid = (lock & x'ffffffff'::bigint)::oid)

-- twin: twt_slots_lock LANGUAGE sql INLINE
	SELECT x'7477736c00000000'::bigint
