-- before:
/* The version of this SQL, as pg_extension has it for the extension. */
CREATE TABLE twtasks_internal.installed (
	version	text NOT NULL,															-- Version of the SQL
	build	text NOT NULL,															-- Hash of the file that brought it, which an update must know
	at		timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),				-- Time of the installation or update
	CONSTRAINT installed_pkey PRIMARY KEY (version)
);
COMMENT ON TABLE twtasks_internal.installed IS 'Version of the SQL edition in this database; one row';
INSERT INTO twtasks_internal.installed (version, build) VALUES ('@version@', '@build@');

/* The extensions on top of it, which pg_extension does not have either. */
CREATE TABLE twtasks_internal.installed_extension (
	name	text NOT NULL,															-- Name of the extension
	version	text NOT NULL,															-- Version of its SQL
	build	text NOT NULL,															-- Hash of the file that brought it, which an update must know
	at		timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),				-- Time of the installation or update
	CONSTRAINT installed_extension_pkey PRIMARY KEY (name)
);
COMMENT ON TABLE twtasks_internal.installed_extension IS 'Extensions on top of the SQL edition in this database, with their versions';

-- instead of twtasks.edition:
CREATE FUNCTION twtasks.edition(OUT edition text, OUT version text, OUT extensions jsonb)
RETURNS record
LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT 'sql', i.version, (SELECT coalesce(jsonb_object_agg(o.name, o.version), '{}') FROM twtasks_internal.installed_extension o)
	FROM twtasks_internal.installed i
$$;
