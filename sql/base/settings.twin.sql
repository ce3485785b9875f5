-- before:
/*
 * Settings of this database.  Anybody could SET a parameter whose name no library
 * owns, so that a parameter of the server would protect nothing: it counts only in
 * sessions of members of twtasks_owner.
 */
CREATE TABLE twtasks.setting (
	name	text COLLATE "C" NOT NULL,	-- As the parameter of the extension, without "twtasks."
	value	text NOT NULL,				-- As the parameter's
	standard text NOT NULL,				-- Its value unless somebody changes it
	CONSTRAINT setting_pkey PRIMARY KEY (name)
);
COMMENT ON TABLE twtasks.setting IS 'Settings of this database, named as the parameters of the extension without "twtasks."';
INSERT INTO twtasks.setting AS o (name, value, standard)
SELECT s.name, s.value, s.value FROM (VALUES
	('enabled', 'on'), ('max_payload', '16MB'), ('keep_finished', '30d'), ('keep_audit', '400d'),
	('keep_attempts', '14d'), ('testing', 'off'), ('refuse_unknown_types', 'off'), ('function_timeout', '1s')) s(name, value)
ON CONFLICT (name) DO UPDATE	-- an update keeps what somebody has set
SET standard = EXCLUDED.standard, value = CASE WHEN o.value = o.standard THEN EXCLUDED.value ELSE o.value END;

/*
 * twtasks_internal.setting(name)
 *
 *		The value of a setting.  A value of the session counts if its user is a member
 *		of twtasks_owner; otherwise the table decides.
 */
CREATE FUNCTION twtasks_internal.setting(name text)
RETURNS text
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	own CONSTANT text := current_setting('twtasks.' || name, true);
BEGIN
	-- Null would be asked for the owner, too.
	IF coalesce(own, '') <> '' AND pg_has_role(session_user, twtasks_internal.owner(), 'MEMBER') THEN
		RETURN own;
	END IF;
	RETURN (SELECT s.value FROM twtasks.setting s WHERE s.name = setting.name);
END $$;

/*
 * twtasks_internal.settings(name)
 *
 *		setting() as a row for queries of functions of the owner, which run often.
 */
CREATE FUNCTION twtasks_internal.settings(name text)
RETURNS SETOF text
LANGUAGE sql STABLE PARALLEL SAFE ROWS 1
-- Without a search_path and SETOF, so that the planner inlines it.
AS $$
	SELECT CASE WHEN pg_catalog.current_setting(pg_catalog.concat('twtasks.', settings.name), true) OPERATOR(pg_catalog.<>) ''
		THEN twtasks_internal.setting(settings.name)
		ELSE (SELECT s.value FROM twtasks.setting s WHERE s.name OPERATOR(pg_catalog.=) settings.name) END
$$;

/*
 * twtasks_internal.duration(name)
 *
 *		The value of a setting that is a time.  A number alone means minutes, or
 *		milliseconds for function_timeout.
 */
CREATE FUNCTION twtasks_internal.duration(name text)
RETURNS interval
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	value CONSTANT text := twtasks_internal.setting(name);
BEGIN
	RETURN value || CASE WHEN value ~ '^[0-9]+$' THEN CASE name WHEN 'function_timeout' THEN 'ms' ELSE 'min' END ELSE '' END;
END $$;

-- twin: twt_is_enabled LANGUAGE plpgsql SECURITY DEFINER
BEGIN
	RETURN twtasks_internal.setting('enabled')::boolean;
END

-- twin: twt_keep_finished_interval LANGUAGE plpgsql SECURITY DEFINER
BEGIN
	RETURN twtasks_internal.duration('keep_finished');
END

-- twin: twt_keep_attempts_interval LANGUAGE plpgsql SECURITY DEFINER
BEGIN
	RETURN twtasks_internal.duration('keep_attempts');
END

-- twin: twt_queue_kind LANGUAGE sql INLINE
	SELECT 'notify'
