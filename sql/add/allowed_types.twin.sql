-- before:
/*
 * twtasks_internal.check_allowed_for(type, role)
 *
 *		Raises an error unless the role may add tasks of the type.  A dropped role has no
 *		members and is a member of none.
 *
 * Errors
 *		42501			it may not
 */
CREATE FUNCTION twtasks_internal.check_allowed_for(type text, role text)
RETURNS void
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	best CONSTANT text := (
		SELECT a.pattern FROM twtasks.allowed_type a
		WHERE twtasks_internal.fits(a.pattern, check_allowed_for.type) IS NOT NULL
		ORDER BY twtasks_internal.fits(a.pattern, check_allowed_for.type) DESC LIMIT 1);
BEGIN
	IF best IS NOT NULL AND NOT EXISTS (
		SELECT FROM twtasks.allowed_type a
		JOIN pg_roles r ON r.rolname = check_allowed_for.role
		LEFT JOIN pg_roles g ON g.rolname = a.role
		WHERE a.pattern = best
		  AND CASE WHEN g.oid IS NULL THEN r.rolsuper ELSE pg_has_role(r.oid, g.oid, 'USAGE') END) THEN
		RAISE EXCEPTION 'permission denied to add tasks of type "%"', type
			USING ERRCODE = 'insufficient_privilege',
				DETAIL = format('Pattern "%s" is allowed for roles of which "%s" is no member.', best, role),
				HINT = format('An administrator can say: SELECT twtasks.allow_type(%L, %L).', best, role);
	END IF;
END $$;

-- twin: twt_check_allowed LANGUAGE sql SECURITY DEFINER
	SELECT twtasks_internal.check_allowed_for(check_allowed.type, pg_get_userbyid(twtasks_internal.caller()))
