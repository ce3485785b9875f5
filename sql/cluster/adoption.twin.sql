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

-- twin: twt_is_adopted_here LANGUAGE sql SECURITY DEFINER
	SELECT twtasks_internal.adoption_fault() IS NULL

-- twin: twt_adoption_fault LANGUAGE sql SECURITY DEFINER
	SELECT CASE
		WHEN pg_is_in_recovery() THEN 'the server is a standby'
		WHEN count(*) = 0 THEN 'it was never adopted'
		WHEN count(*) > 1 THEN 'it was restored from a dump'
		WHEN max(a.system_identifier) <> (SELECT s.system_identifier FROM pg_control_system() s) THEN 'it came from another cluster'
		WHEN max(a.database) <> (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()) THEN 'it is a copy of another database' END
	FROM twtasks.adoption a WHERE a.ended IS NULL
