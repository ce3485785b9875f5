/*
 * The build puts this block at the head of each upgrade script.
 *
 * An update changes every view and most tables.  Transactions at work lock them in
 * other orders, so an update that took one lock after the other could deadlock with
 * them.  We take all locks before the first change, and give them back when one of
 * them cannot be had soon: no other session waits for us longer than a moment, or than
 * deadlock_timeout in the way of a vacuum.
 *
 * LOCK TABLE would lock the catalogs that a view reads too, so a view is locked by a
 * change of its owner to the same owner.
 */
DO $$
DECLARE
	before CONSTANT text := pg_catalog.current_setting('lock_timeout');
	patience CONSTANT text := pg_catalog.concat((
		SELECT s.setting::pg_catalog.int4 OPERATOR(pg_catalog.+) 200 FROM pg_catalog.pg_settings s
		WHERE s.name OPERATOR(pg_catalog.=) 'deadlock_timeout'), 'ms');
	last CONSTANT timestamptz := pg_catalog.clock_timestamp() OPERATOR(pg_catalog.+) '1min'::pg_catalog.interval;
	locks CONSTANT text[] := (
		SELECT pg_catalog.array_agg(CASE
				WHEN c.relkind OPERATOR(pg_catalog.=) 'v' THEN
					pg_catalog.format('ALTER VIEW %I.%I OWNER TO %I', n.nspname, c.relname, pg_catalog.pg_get_userbyid(c.relowner))
				ELSE pg_catalog.format('LOCK TABLE %I.%I IN ACCESS EXCLUSIVE MODE', n.nspname, c.relname) END
			ORDER BY c.relkind DESC, c.oid)
		FROM pg_catalog.pg_class c
		JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
		WHERE n.nspname OPERATOR(pg_catalog.=) ANY (ARRAY['twtasks', 'twtasks_internal']::pg_catalog.name[])
		  AND c.relowner OPERATOR(pg_catalog.=) n.nspowner AND NOT c.relispartition
		  AND c.relkind OPERATOR(pg_catalog.=) ANY ('{v,r,p}'));
	statement text;
	holders text;
BEGIN
	LOOP
		/*
		 * The server ends an autovacuum that stands in the way of a lock only after
		 * deadlock_timeout.  We wait so long for the one lock that was not to be had,
		 * while we hold no other.  Readers are not worth that: others would queue up
		 * behind us.  An autovacuum has no user; the type of a backend is for superusers
		 * and the like.
		 */
		BEGIN
			IF statement IS NOT NULL AND EXISTS (
				SELECT FROM pg_catalog.pg_locks l
				JOIN pg_catalog.pg_stat_activity a ON a.pid OPERATOR(pg_catalog.=) l.pid
				JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) l.relation
				WHERE a.usesysid IS NULL AND a.datid OPERATOR(pg_catalog.=) l.database
				  AND a.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()
				  AND c.relnamespace::pg_catalog.regnamespace::pg_catalog.text OPERATOR(pg_catalog.=) 'twtasks')
			THEN
				PERFORM pg_catalog.set_config('lock_timeout', patience, true);
				EXECUTE statement;
				RAISE EXCEPTION USING ERRCODE = 'TWTLK';
			END IF;
		EXCEPTION WHEN SQLSTATE 'TWTLK' OR lock_not_available OR deadlock_detected THEN
			NULL;
		END;
		BEGIN
			PERFORM pg_catalog.set_config('lock_timeout', '10ms', true);
			FOREACH statement IN ARRAY locks LOOP
				EXECUTE statement;
			END LOOP;
			PERFORM pg_catalog.set_config('lock_timeout', before, true);
			EXIT;
		EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
			IF pg_catalog.clock_timestamp() OPERATOR(pg_catalog.>) last THEN
				SELECT pg_catalog.string_agg(h.holder, ', ' ORDER BY h.began) INTO holders
				FROM (
					SELECT CASE WHEN l.pid IS NULL THEN pg_catalog.format('prepared transaction "%s"', p.gid)
							ELSE pg_catalog.format('session %s', l.pid) END AS holder,
						COALESCE(p.prepared, a.xact_start) AS began
					FROM pg_catalog.pg_locks l
					JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) l.relation
					LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid OPERATOR(pg_catalog.=) l.pid
					LEFT JOIN pg_catalog.pg_locks own
						ON l.pid IS NULL AND own.pid IS NULL AND own.locktype OPERATOR(pg_catalog.=) 'transactionid'
						AND own.virtualtransaction OPERATOR(pg_catalog.=) l.virtualtransaction
						AND own.mode OPERATOR(pg_catalog.=) 'ExclusiveLock'
					LEFT JOIN pg_catalog.pg_prepared_xacts p ON p.transaction OPERATOR(pg_catalog.=) own.transactionid
					WHERE l.granted AND l.locktype OPERATOR(pg_catalog.=) 'relation'
					  AND l.database OPERATOR(pg_catalog.=) (
						SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database())
					  AND c.relnamespace OPERATOR(pg_catalog.=) ANY (ARRAY['twtasks', 'twtasks_internal']::pg_catalog.regnamespace[]::pg_catalog.oid[])
					  AND l.pid IS DISTINCT FROM pg_catalog.pg_backend_pid()
					GROUP BY 1, 2 ORDER BY 2 LIMIT 20
				) h;
				RAISE EXCEPTION 'could not lock the tables and views of twtasks within a minute'
					USING ERRCODE = 'lock_not_available',
						DETAIL = pg_catalog.format('The last try ended at: %s. Locks on them are held by: %s.',
							statement, COALESCE(holders, 'nobody any more')),
						HINT = 'End those of them that stand for long (COMMIT PREPARED, ROLLBACK PREPARED, or pg_terminate_backend()), then update again.';
			END IF;
		END;
		PERFORM pg_catalog.pg_sleep(0.02);
	END LOOP;
END $$;

