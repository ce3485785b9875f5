/* Changes of tables, types and signatures since 1.0: see CONTRIBUTING.md. */
DROP FUNCTION twtasks_internal.list_again(text[], text[], text);
DROP FUNCTION twtasks_internal.give_each(text[], text[], boolean[]);

ALTER TABLE twtasks.event_place
	ADD COLUMN listed_stream text COLLATE "C",
	ADD COLUMN listed_object text COLLATE "C";
ALTER TABLE twtasks.objects_with_events
	ADD COLUMN done uuid,
	DROP CONSTRAINT objects_with_events_pkey,
	ADD CONSTRAINT objects_with_events_pkey PRIMARY KEY (stream, object, entry);
