CREATE TABLE twtasks.policy_audit (
	id				bigint GENERATED ALWAYS AS IDENTITY,	-- Ascends with the changes of one object
	at				timestamptz NOT NULL,					-- Time of the change
	actor			text NOT NULL,							-- The role that logged in
	kind			text NOT NULL,							-- type, bucket, limit, pause, allowed, payload, listener, address, incident, silence
	name			text COLLATE "C" NOT NULL,				-- The pattern, the bucket, the listener with topic and partition, the key of the incident, the address, or kind and pattern of the silence
	before			jsonb,									-- Settings before; NULL: it did not exist
	after			jsonb,									-- Settings now; NULL: it was removed
	on_behalf_of	text DEFAULT twtasks_internal.on_behalf_of(),	-- The person for whom twtasks-web acted; NULL: the actor acted
	reason			text,									-- In the actor's words: of the call, or of the setting twtasks.reason
	CONSTRAINT policy_audit_pkey PRIMARY KEY (id)
);
CREATE INDEX policy_audit_name ON twtasks.policy_audit (name);
COMMENT ON TABLE twtasks.policy_audit IS 'Changes of policies, buckets, limits, pauses, allowed types, readers of payloads, offsets of listeners and addresses; acknowledged incidents and silences';

SELECT pg_catalog.pg_extension_config_dump('twtasks.policy_audit', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.policy_audit_id_seq', '');

/*
 * twtasks_internal.audit_policy()
 *
 *		Writes a change of a row of the configuration to the audit, unless only its
 *		time and its author change.  Row triggers call it with the kind as argument.
 *
 *		A restore adds rows too, together with their audit.  So only new rows that
 *		our functions add, as the owner, are written.
 *
 * Errors
 *		42501			within a security-restricted operation, as actor()
 *
 * Writes		twtasks.policy_audit
 */
CREATE FUNCTION twtasks_internal.audit_policy()
RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET intervalstyle = 'postgres'
AS $$
DECLARE
	changed CONSTANT jsonb := coalesce(to_jsonb(NEW), to_jsonb(OLD));
	left_out CONSTANT text[] := '{pattern,name,changed_at,changed_by,since,paused_by}';
	before CONSTANT jsonb := jsonb_strip_nulls(coalesce(to_jsonb(OLD) -> 'options', to_jsonb(OLD) - left_out));
	after CONSTANT jsonb := jsonb_strip_nulls(coalesce(to_jsonb(NEW) -> 'options', to_jsonb(NEW) - left_out));
BEGIN
	-- A restore may become the owner by SET SESSION AUTHORIZATION.  Where one role has all, that tells nothing.
	IF before IS DISTINCT FROM after
		AND (TG_OP <> 'INSERT' OR current_user = twtasks_internal.owner() AND session_user <> twtasks_internal.owner()
			 OR twtasks_internal.owner() <> 'twtasks_owner') THEN
		INSERT INTO twtasks.policy_audit (at, actor, kind, name, before, after, reason)
		VALUES (clock_timestamp(), twtasks_internal.actor(), TG_ARGV[0],
				coalesce(changed ->> 'pattern', changed ->> 'name'), before, after,
				coalesce(to_jsonb(NEW) ->> 'reason', nullif(current_setting('twtasks.reason', true), '')));
	END IF;
	RETURN NULL;
END $$;

CREATE TRIGGER audit_policy
	AFTER INSERT OR UPDATE OR DELETE ON twtasks.type_policy
	FOR EACH ROW EXECUTE FUNCTION twtasks_internal.audit_policy('type');
CREATE TRIGGER audit_policy
	AFTER INSERT OR UPDATE OR DELETE ON twtasks.bucket_policy
	FOR EACH ROW EXECUTE FUNCTION twtasks_internal.audit_policy('bucket');
CREATE TRIGGER audit_policy
	AFTER INSERT OR UPDATE OR DELETE ON twtasks.limit_rule
	FOR EACH ROW EXECUTE FUNCTION twtasks_internal.audit_policy('limit');
CREATE TRIGGER audit_policy
	AFTER INSERT OR UPDATE OR DELETE ON twtasks.pause
	FOR EACH ROW EXECUTE FUNCTION twtasks_internal.audit_policy('pause');
CREATE TRIGGER audit_policy
	AFTER INSERT OR UPDATE OR DELETE ON twtasks.allowed_type
	FOR EACH ROW EXECUTE FUNCTION twtasks_internal.audit_policy('allowed');
