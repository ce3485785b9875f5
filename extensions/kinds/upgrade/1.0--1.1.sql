/* Changes of tables, types and signatures since 1.0: see CONTRIBUTING.md. */
DROP FUNCTION twtasks_internal.check_kind_names(record);
DROP FUNCTION twtasks_internal.check_kind_options(record);
DROP FUNCTION twtasks_internal.start_kind(twtasks.kind, jsonb);
ALTER TABLE twtasks.outcome ADD COLUMN chain integer NOT NULL DEFAULT 0;
