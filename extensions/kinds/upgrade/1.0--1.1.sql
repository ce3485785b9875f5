/* Changes of tables, types and signatures since 1.0: see CONTRIBUTING.md. */
DROP FUNCTION twtasks_internal.check_kind_names(record);
DROP FUNCTION twtasks_internal.check_kind_options(record);
DROP FUNCTION twtasks_internal.start_kind(twtasks.kind, jsonb);
DROP FUNCTION twtasks_internal.retire_step(twtasks.outcome);
DROP FUNCTION twtasks_internal.has_undecided(text);

/*
 * ADD COLUMN with a default fails if a table of a user has a column of this row
 * type; so it is added without one, and filled.
 */
DO $$
BEGIN
	ALTER TABLE twtasks.outcome ADD COLUMN chain integer NOT NULL DEFAULT 0;
EXCEPTION WHEN feature_not_supported THEN
	ALTER TABLE twtasks.outcome ADD COLUMN chain integer;
	UPDATE twtasks.outcome SET chain = 0;
	ALTER TABLE twtasks.outcome ALTER COLUMN chain SET NOT NULL, ALTER COLUMN chain SET DEFAULT 0;
END $$;

/* Rights by name become rights of the roles. */
CREATE TABLE twtasks.item_role (
	kind			text COLLATE "C" NOT NULL,
	may				text NOT NULL,
	role			regrole NOT NULL,
	CONSTRAINT item_role_pkey PRIMARY KEY (kind, may, role)
);
INSERT INTO twtasks.item_role
SELECT DISTINCT k.name, r.may, pg_catalog.to_regrole(pg_catalog.quote_ident(r.role))
FROM twtasks.kind k
CROSS JOIN LATERAL (SELECT 'read', pg_catalog.unnest(k.readers) UNION ALL SELECT 'answer', pg_catalog.unnest(k.answerers)) r(may, role)
WHERE pg_catalog.to_regrole(pg_catalog.quote_ident(r.role)) IS NOT NULL;
CREATE OR REPLACE VIEW twtasks.kinds AS
	SELECT k.name, k.kind, k.type, k.identifier, k.expires, k.still_needed, k.on_expiry, k.attempts, k.delay,
		   k.retry_function, k.on_fault, k.on_uncertain, k.read_model, k.contract, k.decide,
		   NULL::text[] AS readers, NULL::text[] AS answerers, k.changed_at, k.changed_by
	FROM twtasks.kind k;
ALTER TABLE twtasks.kind DROP COLUMN readers, DROP COLUMN answerers;
DROP FUNCTION twtasks_internal.check_may_see(twtasks.kind, text[], text);
