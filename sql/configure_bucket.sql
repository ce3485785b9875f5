/*
 * twtasks.check_bucket(name)
 *
 *		Refuses a bucket that is not configured; NULL is none.
 *
 * Errors
 *		22023			it is not configured
 */
CREATE FUNCTION twtasks.check_bucket(name text)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF name <> 'default'
		AND NOT EXISTS (SELECT FROM twtasks.bucket_policy b WHERE b.name = check_bucket.name) THEN
		RAISE EXCEPTION 'bucket "%" is not configured', left(regexp_replace(name, '[[:cntrl:]]', '?', 'g'), 64)
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Choose one of twtasks.buckets, or make it by twtasks.configure_bucket().';
	END IF;
END $$;

/*
 * twtasks.configure_bucket(name, description)
 *
 *		Makes a bucket that tasks can be added to.  Sidecars work for it when their
 *		configuration names it.  The bucket "default" is always there.
 *
 * Parameters
 *		name			1 to 48 letters, digits, _ -
 *		description		what it is for; NULL: as it was
 *
 * Errors
 *		22004			name is NULL
 *		22023			name is not valid
 *
 * Writes		twtasks.bucket_policy
 * Locks		row lock
 * Wakes		every sidecar, to read the configuration again
 * Example		SELECT twtasks.configure_bucket('pictures', 'machines with a large memory');
 */
CREATE FUNCTION twtasks.configure_bucket(name text, description text DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
	IF configure_bucket.name IS NULL THEN
		RAISE EXCEPTION 'name must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	IF configure_bucket.name !~ '^[A-Za-z0-9_-]{1,48}$' THEN
		RAISE EXCEPTION 'invalid bucket: "%"', left(regexp_replace(configure_bucket.name, '[[:cntrl:]]', '?', 'g'), 64)
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'A bucket has 1 to 48 letters (A to Z), digits and characters of "_-".';
	END IF;
	INSERT INTO twtasks.bucket_policy AS b (name, description, changed_at, changed_by)
	VALUES (configure_bucket.name, configure_bucket.description, clock_timestamp(), session_user)
	ON CONFLICT (name) DO UPDATE SET
		description = coalesce(EXCLUDED.description, b.description),
		changed_at = EXCLUDED.changed_at,
		changed_by = EXCLUDED.changed_by;
END $$;
