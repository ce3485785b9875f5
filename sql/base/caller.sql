/*
 * twtasks_internal.caller()
 *
 *		The role that called the function which now runs as our owner.  The
 *		current user, if no caller is noted.
 */
CREATE FUNCTION twtasks_internal.caller()
RETURNS oid
LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'twt_caller';

/*
 * twtasks_internal.actor()
 *
 *		The role that logged in; audits name it as the actor.  A SECURITY
 *		DEFINER function that it calls acts in its name.
 *
 * Errors
 *		42501			within a security-restricted operation, such as ANALYZE, where
 *						nobody asked for the call
 */
CREATE FUNCTION twtasks_internal.actor()
RETURNS text
LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'twt_actor';

/*
 * twtasks_internal.owner()
 *
 *		The name of the role that owns all of twtasks: twtasks_owner, or the only role
 *		where there are no others.
 */
CREATE FUNCTION twtasks_internal.owner()
RETURNS name
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT pg_get_userbyid(n.nspowner) FROM pg_namespace n WHERE n.nspname = 'twtasks_internal' $$;

/*
 * twtasks_internal.on_behalf_of()
 *
 *		The person for whom a member of twtasks_web acts: the setting
 *		twtasks.on_behalf_of, for audits.
 *
 * Returns
 *		NULL: the actor acts for itself
 *
 * Errors
 *		42501			the setting is set, and the actor is no member of twtasks_web, or of
 *						the only role where there are no others
 */
CREATE FUNCTION twtasks_internal.on_behalf_of()
RETURNS text
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	person CONSTANT text := nullif(current_setting('twtasks.on_behalf_of', true), '');
BEGIN
	IF person IS NOT NULL AND NOT (CASE WHEN twtasks_internal.owner() <> 'twtasks_owner' THEN pg_has_role(session_user, twtasks_internal.owner(), 'MEMBER')
		ELSE pg_has_role(session_user, 'twtasks_web', 'MEMBER') END) THEN
		RAISE EXCEPTION 'permission denied to act on behalf of others'
			USING ERRCODE = 'insufficient_privilege',
				DETAIL = format('Role "%s" is no member of "twtasks_web".', session_user),
				HINT = 'RESET twtasks.on_behalf_of.';
	END IF;
	RETURN person;
END $$;

/*
 * twtasks_internal.plural(n, one, many)
 *
 *		The words of a sentence that has a count: these for one thing, or those for
 *		several or none.
 */
CREATE FUNCTION twtasks_internal.plural(n numeric, one text, many text)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT CASE WHEN n = 1 THEN one ELSE many END $$;

/*
 * twtasks_internal.author()
 *
 *		The name by which others know the author of a change: on_behalf_of(), else
 *		actor().
 *
 * Errors
 *		42501			as both
 */
CREATE FUNCTION twtasks_internal.author()
RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$ SELECT coalesce(twtasks_internal.on_behalf_of(), twtasks_internal.actor()) $$;
