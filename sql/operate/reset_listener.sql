CREATE VIEW twtasks.listeners AS
	SELECT o.listener, o.topic, o.partition, o.next_offset, o.role, o.moved,
		   coalesce(o.problem, t.trouble) AS problem, o.problem_since
	FROM twtasks.message_offset o
	-- the text of a sidecar that lives, for the partition or for the whole listener
	LEFT JOIN LATERAL (
		SELECT min(pg_catalog.substr(f.fault, pg_catalog.length(p.prefix) + 1)) AS trouble
		FROM twtasks.node n
		CROSS JOIN LATERAL pg_catalog.unnest(n.faults) f(fault)
		JOIN LATERAL (VALUES (pg_catalog.format('listener "%s", partition %s of topic "%s": ', o.listener, o.partition, o.topic)),
							 (pg_catalog.format('listener "%s": ', o.listener))) p(prefix)
			ON pg_catalog.starts_with(f.fault, p.prefix)
		WHERE n.ended IS NULL AND n.heartbeat > (SELECT pg_catalog.clock_timestamp()) - n.lease) t ON true;
COMMENT ON VIEW twtasks.listeners IS 'Where listeners stand in the partitions of their topics; see take_messages()';

/*
 * twtasks.reset_listener(listener, topic, partition, offset, role, reason)
 *
 *		Sets by hand where a listener goes on in a partition: further on, to skip
 *		messages, or further back, to take messages again.  A listener that runs
 *		goes there at once.  Behind a pooler of transactions it hears nothing of the
 *		offset: it goes there with its next messages, and from a standstill in up to half
 *		a minute.
 *
 *		A message that is taken again gives a second task, unless a task
 *		with its key is kept.
 *
 * Parameters
 *		offset		of the next message; NULL: forget the partition, so that the
 *					listener begins anew.  Stop it first, or it goes on where it is
 *		role		the role to which the listener belongs in this partition; NULL: as
 *					before
 *		reason		for the audit
 *
 * Returns
 *		where the listener stood; NULL: it had taken nothing
 *
 * Errors
 *		22004		listener, topic or partition is NULL, or role for a new partition
 *		22023		a name, the partition or the offset is not valid
 *		42704		there is no such role
 *
 * Writes		twtasks.message_offset, twtasks.policy_audit
 * Locks		row lock; waits for take_messages() of this partition
 * Wakes		the listener, by NOTIFY twtasks_listener
 * Example		SELECT twtasks.reset_listener('billing', 'invoices', 0, 18, reason => '17 is broken');
 */
CREATE FUNCTION twtasks.reset_listener(
	listener text,
	topic text,
	partition integer,
	"offset" bigint,
	role name DEFAULT NULL,
	reason text DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	old twtasks.message_offset;
	keeper text;
BEGIN
	PERFORM twtasks_internal.check_place(reset_listener.listener, reset_listener.topic, reset_listener.partition);
	SELECT o.* INTO old FROM twtasks.message_offset o
	WHERE o.listener = reset_listener.listener AND o.topic = reset_listener.topic
	  AND o.partition = reset_listener.partition
	FOR UPDATE;
	keeper := coalesce(reset_listener.role, old.role);
	IF reset_listener."offset" < 0 THEN
		RAISE EXCEPTION 'invalid offset: %', reset_listener."offset"
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF to_regrole(quote_ident(reset_listener.role)) IS NULL AND reset_listener.role IS NOT NULL THEN
		RAISE EXCEPTION 'role "%" does not exist', reset_listener.role USING ERRCODE = 'undefined_object';
	ELSIF keeper IS NULL AND reset_listener."offset" IS NOT NULL THEN
		RAISE EXCEPTION 'role must not be null for a new partition'
			USING ERRCODE = 'null_value_not_allowed',
				HINT = 'Name the role with which the listener connects.';
	END IF;
	IF reset_listener."offset" IS NULL THEN
		DELETE FROM twtasks.message_offset o
		WHERE o.listener = old.listener AND o.topic = old.topic AND o.partition = old.partition;
	ELSE
		INSERT INTO twtasks.message_offset AS o (listener, topic, partition, next_offset, role, moved)
		VALUES (reset_listener.listener, reset_listener.topic, reset_listener.partition,
				reset_listener."offset", keeper, clock_timestamp())
		ON CONFLICT ON CONSTRAINT message_offset_pkey DO UPDATE
		SET next_offset = EXCLUDED.next_offset, role = EXCLUDED.role, moved = EXCLUDED.moved,
			topic_id = NULL, problem = NULL, problem_since = NULL, log_first = NULL;
	END IF;
	INSERT INTO twtasks.policy_audit (at, actor, kind, name, before, after, reason)
	SELECT clock_timestamp(), twtasks_internal.actor(), 'listener',
		   concat_ws('/', reset_listener.listener, reset_listener.topic, reset_listener.partition),
		   CASE WHEN old.next_offset IS NOT NULL
				THEN jsonb_build_object('next_offset', old.next_offset, 'role', old.role) END,
		   CASE WHEN reset_listener."offset" IS NOT NULL
				THEN jsonb_strip_nulls(jsonb_build_object('next_offset', reset_listener."offset",
														  'role', keeper, 'reason', reason)) END,
		   reason
	WHERE num_nulls(old.next_offset, reset_listener."offset") < 2;
	PERFORM pg_notify('twtasks_listener',
					  concat_ws('/', reset_listener.listener, reset_listener.topic, reset_listener.partition));
	RETURN old.next_offset;
END $$;
