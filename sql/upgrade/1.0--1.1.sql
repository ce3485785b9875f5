/* Changes of tables, types and signatures since 1.0: see CONTRIBUTING.md. */

ALTER TABLE twtasks.message_offset
	ADD COLUMN topic_id text COLLATE "C",
	ADD COLUMN problem text,
	ADD COLUMN problem_since timestamptz,
	ADD COLUMN log_first bigint;
