/*
 * twtasks.configure_stream(name, type, batch, bucket, priority)
 *
 *		Makes a stream of ordered events, or changes it.  Head tasks that live keep
 *		what they have.  The policy of the type gets an on_end function, so other
 *		tasks of that type should not exist.
 *
 * Parameters
 *		name		1 to 250 bytes, no control characters
 *		type		of the head tasks, whose handlers get {"stream": ..., "object": ...,
 *					"events": [{"id": ..., "prev": ..., "event": ...}]}
 *		batch		most events in one head task: 1 to 10,000.  A head has at most 1 MB,
 *					unless a single event is larger
 *		bucket		of the head tasks; NULL: of the type's policy, as it is now, else
 *					'default'
 *		priority	of the head tasks, 0 (urgent) to 9; NULL: of the type's policy
 *
 * Errors
 *		22004		name, type or batch is NULL
 *		22023		a value is not valid, or the bucket is not configured
 *		55000		the type has another on_end function
 *
 * Writes		twtasks.event_stream, twtasks.type_policy, twtasks.policy_audit
 * Locks		row locks
 * Wakes		every sidecar, to read the configuration again
 * Example		SELECT twtasks.configure_stream('works', 'WORK_EVENTS', batch => 100);
 */
CREATE FUNCTION twtasks.configure_stream(
	name text,
	type text,
	batch integer DEFAULT 1,
	bucket text DEFAULT NULL,
	priority integer DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	hook CONSTANT text := 'twtasks_internal.end_events';
	policy record;
BEGIN
	IF name IS NULL OR type IS NULL OR batch IS NULL THEN
		RAISE EXCEPTION 'name, type and batch must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	IF octet_length(name) NOT BETWEEN 1 AND 250 OR name ~ '[[:cntrl:]]' THEN
		RAISE EXCEPTION 'invalid name of a stream: "%"', twtasks_internal.shown(name)
			USING ERRCODE = 'invalid_parameter_value', HINT = 'A name has 1 to 250 bytes and no control characters.';
	END IF;
	IF type !~ '^[A-Za-z0-9_.:|/-]{1,120}$' THEN
		RAISE EXCEPTION 'invalid type: "%"', twtasks_internal.shown(type)
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'A type has 1 to 120 letters (A to Z), digits and characters of "_.:|/-".';
	END IF;
	IF batch NOT BETWEEN 1 AND 10000 THEN
		RAISE EXCEPTION 'batch must be between 1 and 10000, not %', batch USING ERRCODE = 'invalid_parameter_value';
	END IF;
	IF priority NOT BETWEEN 0 AND 9 THEN
		RAISE EXCEPTION 'priority must be between 0 and 9, not %', priority
			USING ERRCODE = 'invalid_parameter_value', HINT = '0 is the most urgent, 5 the default.';
	END IF;
	PERFORM twtasks_internal.check_bucket(bucket);
	SELECT p.* INTO policy FROM twtasks.policy_of(type) p;
	IF policy.on_end <> ALL (ARRAY[hook, 'none']) THEN
		RAISE EXCEPTION 'type "%" has another on_end function: %', type, policy.on_end
			USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Give the stream a type of its own.';
	END IF;
	PERFORM twtasks.configure_type(type, on_end => hook);
	INSERT INTO twtasks.event_stream AS s (name, type, batch, bucket, priority, changed_at, changed_by)
	VALUES (name, type, batch, coalesce(bucket, policy.bucket, 'default'), priority,
			clock_timestamp(), twtasks_internal.author())
	ON CONFLICT ON CONSTRAINT event_stream_pkey DO UPDATE SET
		type = EXCLUDED.type, batch = EXCLUDED.batch, bucket = EXCLUDED.bucket, priority = EXCLUDED.priority,
		changed_at = EXCLUDED.changed_at, changed_by = EXCLUDED.changed_by;
END $$;

/*
 * twtasks_internal.stream_of(type)
 *
 *		Returns a stream whose head tasks are of that type, or were and live.
 */
CREATE FUNCTION twtasks_internal.stream_of(type text)
RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT coalesce(
		(SELECT s.name FROM twtasks.event_stream s WHERE s.type = stream_of.type LIMIT 1),
		(SELECT o.stream FROM twtasks.event_object o JOIN twtasks.task t ON t.id = o.head
		 WHERE t.type = stream_of.type LIMIT 1))
$$;

/*
 * twtasks_internal.keep_stream_policy()
 *
 *		Refuses changes of the policies on which streams of a type rely.  Without its
 *		on_end function, anybody could add tasks that pass for heads.  A head that
 *		expired would take its events with it.
 *
 * Errors
 *		55000			the policy is a stream's
 */
CREATE FUNCTION twtasks_internal.keep_stream_policy()
RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	kept CONSTANT text[] := '{on_end,expires_after}';
	stream text;
BEGIN
	IF TG_OP = 'DELETE' OR OLD.pattern <> NEW.pattern
		OR EXISTS (SELECT FROM unnest(kept) o WHERE OLD.options->o IS DISTINCT FROM NEW.options->o) THEN
		stream := CASE WHEN OLD.options->>'on_end' = 'twtasks_internal.end_events' THEN twtasks_internal.stream_of(OLD.pattern) END;
	END IF;
	IF stream IS NOT NULL THEN
		RAISE EXCEPTION 'the policies on_end and expires_after of type "%" belong to stream "%"', OLD.pattern, stream
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'Give the stream another type with twtasks.configure_stream(). Other options of the type can be changed.';
	END IF;
	RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END $$;
CREATE TRIGGER keep_stream_policy BEFORE UPDATE OR DELETE ON twtasks.type_policy
	FOR EACH ROW EXECUTE FUNCTION twtasks_internal.keep_stream_policy();
ALTER TRIGGER keep_stream_policy ON twtasks.type_policy DEPENDS ON EXTENSION twtasks_events;

/*
 * twtasks_internal.keep_head_ended()
 *
 *		Refuses to reopen a head task: its object has gone on, and would have two live
 *		heads.
 *
 * Errors
 *		55000			the task was a head
 */
CREATE FUNCTION twtasks_internal.keep_head_ended()
RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	head twtasks.task;
BEGIN
	-- It is live again already, in this transaction.
	SELECT t.* INTO head FROM twtasks.task t WHERE t.id = NEW.task_id;
	IF (twtasks.policy_of(head.type)).on_end = 'twtasks_internal.end_events' THEN
		RAISE EXCEPTION 'head task of object "%" cannot be reopened', head.sub_type
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'The object has gone on to its next events.',
				HINT = 'Add the events of the task again with twtasks.add_event(). To reopen many tasks, name types that belong to no stream.';
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER keep_head_ended BEFORE INSERT ON twtasks.audit
	FOR EACH ROW WHEN (NEW.action = 'reopen' AND twtasks_internal.is_new_entry(NEW.id))
	EXECUTE FUNCTION twtasks_internal.keep_head_ended();
ALTER TRIGGER keep_head_ended ON twtasks.audit DEPENDS ON EXTENSION twtasks_events;
