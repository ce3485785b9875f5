/*
 * Roles that may add tasks of certain types; src/add/allowed.h has the rule.
 * Roles stand here by name, since a dump may be restored where their oids
 * differ.  A dropped role lets nobody in.
 */
CREATE TABLE twtasks.allowed_type (
	pattern		text COLLATE "C" NOT NULL,	-- A type, or the beginning of types and a *; the most special match counts
	role		text COLLATE "C" NOT NULL,	-- A role that may add such tasks, as may its members
	changed_at	timestamptz NOT NULL,		-- Time of allow_type()
	changed_by	text NOT NULL,				-- The role that logged in and called it
	CONSTRAINT allowed_type_pkey PRIMARY KEY (pattern, role)
);
COMMENT ON TABLE twtasks.allowed_type IS 'Roles that may add tasks of certain types, as set by allow_type(); any producer may add tasks of other types';
SELECT pg_catalog.pg_extension_config_dump('twtasks.allowed_type', '');

/* Always: rows may also come by logical replication. */
CREATE TRIGGER table_changed
	AFTER INSERT OR UPDATE OR DELETE ON twtasks.allowed_type
	FOR EACH ROW EXECUTE FUNCTION twtasks_internal.table_changed();
ALTER TABLE twtasks.allowed_type ENABLE ALWAYS TRIGGER table_changed;

/*
 * twtasks_internal.check_allowing(pattern, role)
 *
 *		Raises an error unless a role may be allowed types by that pattern.
 *
 * Errors
 *		22004			pattern or role is NULL
 *		22023			pattern is not valid
 *		42704			there is no such role
 */
CREATE FUNCTION twtasks_internal.check_allowing(pattern text, role name)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM twtasks_internal.check_pattern(pattern);
	IF role IS NULL THEN
		RAISE EXCEPTION 'role must not be null' USING ERRCODE = 'null_value_not_allowed';
	ELSIF to_regrole(quote_ident(role)) IS NULL THEN
		RAISE EXCEPTION 'role "%" does not exist', role USING ERRCODE = 'undefined_object';
	END IF;
END $$;

/*
 * twtasks.allow_type(pattern, role)
 *
 *		Lets a role and its members add tasks of the types that match.  As soon
 *		as a pattern has one role, only its roles and superusers may add such
 *		tasks.  A schedule adds tasks as the role that made it.
 *
 *		Only superusers and members of twtasks_owner may call this function,
 *		unless they grant it to others.
 *
 * Parameters
 *		pattern		a type, or the beginning of types and a *; of several that match
 *					a type only the most special one counts
 *		role		the role that calls add_task(), or one of which it is a member
 *
 * Returns
 *		false: it was allowed before
 *
 * Errors
 *		22004			pattern or role is NULL
 *		22023			pattern is not valid
 *		42704			there is no such role
 *
 * Writes		twtasks.allowed_type, twtasks.policy_audit
 * Locks		none
 * Example		SELECT twtasks.allow_type('PAYOUT|*', 'payments');
 */
CREATE FUNCTION twtasks.allow_type(pattern text, role name)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM twtasks_internal.check_allowing(pattern, role);
	INSERT INTO twtasks.allowed_type (pattern, role, changed_at, changed_by)
	VALUES (allow_type.pattern, allow_type.role, clock_timestamp(), twtasks_internal.actor())
	ON CONFLICT ON CONSTRAINT allowed_type_pkey DO NOTHING;
	RETURN FOUND;
END $$;

/*
 * twtasks.disallow_type(pattern, role)
 *
 *		Takes allow_type() back.  A pattern goes with its last role.  Then the
 *		next pattern that matches decides on its types; without one, any
 *		producer may add them.  To let nobody add them, allow them to a role
 *		without members first.
 *
 * Returns
 *		false: it was not allowed
 *
 * Writes		twtasks.allowed_type, twtasks.policy_audit
 * Locks		none
 */
CREATE FUNCTION twtasks.disallow_type(pattern text, role name)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	DELETE FROM twtasks.allowed_type a
	WHERE a.pattern = disallow_type.pattern AND a.role = disallow_type.role;
	RETURN FOUND;
END $$;

/*
 * twtasks_internal.check_allowed(type)
 *
 *		Raises an error unless the caller may add tasks of that type.
 *
 * Errors
 *		42501			the caller is no member of a role that may
 */
CREATE FUNCTION twtasks_internal.check_allowed(type text)
RETURNS void
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_check_allowed';

CREATE VIEW twtasks.allowed_types AS
	SELECT a.pattern, a.role, a.changed_at, a.changed_by FROM twtasks.allowed_type a;
COMMENT ON VIEW twtasks.allowed_types IS 'Roles that may add tasks of certain types; see allow_type()';
