/*
 * twtasks_internal.check_bucket(name)
 *
 *		Raises an error unless the bucket is configured; NULL passes.
 *
 * Errors
 *		22023			the bucket is not configured
 */
CREATE FUNCTION twtasks_internal.check_bucket(name text)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF name <> 'default'
		AND NOT EXISTS (SELECT FROM twtasks.bucket_policy b WHERE b.name = check_bucket.name) THEN
		RAISE EXCEPTION 'bucket "%" is not configured', twtasks_internal.shown(name)
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Choose one of twtasks.buckets, or make it by twtasks.configure_bucket().';
	END IF;
END $$;

/*
 * twtasks.configure_bucket(name, description, concurrency)
 *
 *		Creates or changes a bucket that tasks can be added to.  Sidecars work for
 *		the bucket if their configuration names it.  The bucket "default" always
 *		exists.
 *
 * Parameters
 *		name			1 to 48 letters, digits, _ -
 *		description		what the bucket is for; NULL: unchanged
 *		concurrency		tasks of the bucket that may run at once on each node; 0: no
 *						task starts; NULL: unchanged.  unset_bucket_options() removes
 *						the limit
 *
 * Errors
 *		22004			name is NULL
 *		22023			name or concurrency is not valid
 *
 * Writes		twtasks.bucket_policy, twtasks.policy_audit
 * Locks		row lock
 * Wakes		every sidecar, to read the configuration again
 * Example		SELECT twtasks.configure_bucket('pictures', 'machines with a large memory', concurrency => 4);
 */
CREATE FUNCTION twtasks.configure_bucket(
	name text,
	description text DEFAULT NULL,
	concurrency integer DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF configure_bucket.name IS NULL THEN
		RAISE EXCEPTION 'name must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	IF configure_bucket.name !~ '^[A-Za-z0-9_-]{1,48}$' THEN
		RAISE EXCEPTION 'invalid bucket: "%"', twtasks_internal.shown(configure_bucket.name)
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'A bucket has 1 to 48 letters (A to Z), digits and characters of "_-".';
	END IF;
	IF configure_bucket.concurrency NOT BETWEEN 0 AND 1000000 THEN
		RAISE EXCEPTION 'concurrency must be between 0 and 1000000, not %', configure_bucket.concurrency
			USING ERRCODE = 'invalid_parameter_value',
				HINT = '0 lets no task start; twtasks.unset_bucket_options() takes a limit away.';
	END IF;
	INSERT INTO twtasks.bucket_policy AS b (name, description, concurrency, changed_at, changed_by)
	VALUES (configure_bucket.name, configure_bucket.description, configure_bucket.concurrency,
			clock_timestamp(), twtasks_internal.author())
	ON CONFLICT ON CONSTRAINT bucket_policy_pkey DO UPDATE SET
		description = coalesce(EXCLUDED.description, b.description),
		concurrency = coalesce(EXCLUDED.concurrency, b.concurrency),
		changed_at = EXCLUDED.changed_at,
		changed_by = EXCLUDED.changed_by;
END $$;

/*
 * twtasks.unset_bucket_options(name, options)
 *
 *		Removes the description or the limit of a bucket.
 *
 * Parameters
 *		options			description, concurrency
 *
 * Returns
 *		false if the bucket is not configured
 *
 * Errors
 *		22023			a name does not name an option, or is NULL
 *
 * Writes		twtasks.bucket_policy, twtasks.policy_audit
 * Locks		row lock
 * Wakes		every sidecar, to read the configuration again
 * Example		SELECT twtasks.unset_bucket_options('pictures', 'concurrency');
 */
CREATE FUNCTION twtasks.unset_bucket_options(name text, VARIADIC options text[])
RETURNS boolean
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM twtasks_internal.check_options(options, '{description,concurrency}'::text[]);
	UPDATE twtasks.bucket_policy b SET
		description = CASE WHEN 'description' <> ALL (options) THEN b.description END,
		concurrency = CASE WHEN 'concurrency' <> ALL (options) THEN b.concurrency END,
		changed_at = clock_timestamp(),
		changed_by = twtasks_internal.author()
	WHERE b.name = unset_bucket_options.name;
	RETURN FOUND;
END $$;

/*
 * twtasks.drop_bucket(name)
 *
 *		Drops a bucket: tasks can no longer be added to it.
 *
 * Returns
 *		false if the bucket is not configured
 *
 * Errors
 *		22023			the bucket is "default"
 *		55000			live tasks are in the bucket, or a policy or a schedule names it
 *
 * Writes		twtasks.bucket_policy, twtasks.pause, twtasks.policy_audit
 * Locks		row lock; a task that another transaction is adding stays in the
 *				bucket
 * Wakes		every sidecar, to read the configuration again
 */
CREATE FUNCTION twtasks.drop_bucket(name text)
RETURNS boolean
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	user_of_it text;
BEGIN
	IF name = 'default' THEN
		RAISE EXCEPTION 'cannot drop bucket "default"'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	SELECT p.pattern INTO user_of_it FROM twtasks.type_policies p
	WHERE p.bucket = drop_bucket.name ORDER BY p.pattern LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'bucket "%" is that of a policy', name
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = format('Tasks of pattern "%s" are added to it.', user_of_it),
				HINT = 'Choose another bucket there by twtasks.configure_type(), or unset it by twtasks.unset_type_options().';
	END IF;
	SELECT s.name INTO user_of_it FROM twtasks.schedule s
	WHERE s.bucket = drop_bucket.name ORDER BY s.name LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'bucket "%" is that of a schedule', name
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = format('Schedule "%s" adds tasks to it.', user_of_it),
				HINT = 'Choose another bucket there by twtasks.schedule(), or remove it by twtasks.unschedule().';
	END IF;
	IF EXISTS (SELECT FROM twtasks.task t WHERE t.bucket = drop_bucket.name) THEN
		RAISE EXCEPTION 'bucket "%" has live tasks', name
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'See twtasks.stats for them: let them run, or cancel them.';
	END IF;
	DELETE FROM twtasks.pause p WHERE p.kind = 'bucket' AND p.name = drop_bucket.name;
	DELETE FROM twtasks.bucket_policy b WHERE b.name = drop_bucket.name;
	RETURN FOUND;
END $$;
