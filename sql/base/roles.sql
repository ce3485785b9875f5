/*
 * Roles belong to the cluster: a second database, or a restore into the same
 * cluster, finds them there.  Everything belongs to a role that cannot log in,
 * so that our functions have no more rights than our own tables need.
 */
DO $$
DECLARE
	needed text;
BEGIN
	FOREACH needed IN ARRAY ARRAY['twtasks_owner', 'twtasks_producer',
								  'twtasks_worker', 'twtasks_web', 'twtasks_operator',
								  'twtasks_viewer', 'twtasks_payload_viewer', 'twtasks_tester']
	LOOP
		BEGIN
			IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles r
						   WHERE r.rolname OPERATOR(pg_catalog.=) needed) THEN
				EXECUTE pg_catalog.format('CREATE ROLE %I NOLOGIN NOINHERIT', needed);
			END IF;
		EXCEPTION WHEN unique_violation OR duplicate_object THEN
			-- Another database made it at the same time, and we waited for its commit.
		END;
		-- An update leaves roles as their administrator has made them.
		IF pg_catalog.to_regnamespace('twtasks_internal') IS NULL
			AND EXISTS (SELECT FROM pg_catalog.pg_roles r
				   WHERE r.rolname OPERATOR(pg_catalog.=) needed
					 AND (r.rolsuper OR r.rolcreaterole OR r.rolcanlogin)) THEN
			RAISE EXCEPTION 'role "%" exists and can do more than it should', needed
				USING ERRCODE = 'object_not_in_prerequisite_state',
					DETAIL = 'It is a superuser, can create roles or can log in.',
					HINT = 'Drop or rename that role, then create the extension again.';
		END IF;
	END LOOP;
END $$;

/*
 * The owner's members may be wanted, by another database of this cluster or by
 * the database whose dump is being restored.  So they get a warning, no error.
 */
DO $$
DECLARE
	members CONSTANT text := (
		SELECT pg_catalog.string_agg(pg_catalog.format('"%s"', r.rolname), ', ' ORDER BY r.rolname)
		FROM pg_catalog.pg_auth_members m
		JOIN pg_catalog.pg_roles r ON r.oid OPERATOR(pg_catalog.=) m.member
		WHERE m.roleid OPERATOR(pg_catalog.=) 'twtasks_owner'::pg_catalog.regrole
		  AND NOT r.rolsuper);
BEGIN
	IF members IS NOT NULL THEN
		RAISE WARNING 'role "twtasks_owner" has members: %', members
			USING DETAIL = 'In this database, too, they can read payloads and change everything.',
				HINT = 'REVOKE twtasks_owner from them, unless they are wanted.';
	END IF;
END $$;
