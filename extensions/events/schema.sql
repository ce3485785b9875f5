/*
 * Ordered events: the events of an object are sent one after the other, each
 * with its id and the id of the event before it.
 *
 * A live head task is an object's ownership: it carries the next events of the
 * object, and no other task does.  Its end makes the next head, in the same
 * transaction.  So crashes, retries and take-overs are as for any task, and a
 * resend is identical.
 *
 *		invariant	an object with queued events is listed, or has a live head
 *		list		whoever looks at an object removes entries that it has read, and looks at the
 *					queue after that.  Adds do not look at the list, so they wait for nobody
 *		lock		whoever changes the chain of an object holds the lock of its row, and
 *					looks at head and queue in a later statement
 *
 * test/models/heads.pml shows that this suffices, and what breaks it.
 */
CREATE TABLE twtasks.event_stream (
	name		text COLLATE "C" NOT NULL,	-- Names the stream in add_event()
	type		text COLLATE "C" NOT NULL,	-- Type of its head tasks
	batch		integer NOT NULL,			-- Most events in one head task
	bucket		text COLLATE "C" NOT NULL,	-- Bucket of its head tasks
	priority	integer,					-- Priority of its head tasks; NULL: of their type's policy
	changed_at	timestamptz NOT NULL,		-- Time of the last change
	changed_by	text NOT NULL,				-- Role that logged in and made the last change, or the person for whom twtasks-web did
	CONSTRAINT event_stream_pkey PRIMARY KEY (name)
);
COMMENT ON TABLE twtasks.event_stream IS 'Streams of ordered events, as configure_stream() set them';

CREATE TABLE twtasks.event_object (
	last_id		bigint NOT NULL DEFAULT 0,	-- Id of the last event that was given to a head; 0: none
	sent_id		bigint NOT NULL DEFAULT 0,	-- Id of the last event of a head that is DONE; 0: none
	head		uuid,						-- The head task; NULL: none lives
	stream		text COLLATE "C" NOT NULL,	-- The stream
	object		text COLLATE "C" NOT NULL,	-- Names the object in add_event()
	problem		text,						-- Reason why no head could be added; NULL: none
	CONSTRAINT event_object_pkey PRIMARY KEY (stream, object)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
CREATE INDEX event_object_head ON twtasks.event_object (head) WHERE head IS NOT NULL;
CREATE INDEX event_object_problem ON twtasks.event_object (stream, object) WHERE problem IS NOT NULL;
COMMENT ON TABLE twtasks.event_object IS 'Objects that had events: their chains of ids, and their live head tasks';

CREATE TABLE twtasks.event (
	seq			bigint GENERATED ALWAYS AS IDENTITY,	-- Order in the queue
	added		timestamptz NOT NULL,					-- Time of add_event()
	size		integer NOT NULL,						-- Bytes of the event as text
	stream		text COLLATE "C" NOT NULL,				-- The stream
	object		text COLLATE "C" NOT NULL,				-- The object
	event		jsonb NOT NULL,							-- The event
	CONSTRAINT event_pkey PRIMARY KEY (stream, object, seq)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
COMMENT ON TABLE twtasks.event IS 'The queue: events that no head task carries yet';

CREATE TABLE twtasks.objects_with_events (
	entry		bigint GENERATED ALWAYS AS IDENTITY,	-- Tells apart the entries of an object
	stream		text COLLATE "C" NOT NULL,				-- The stream
	object		text COLLATE "C" NOT NULL,				-- The object
	done		uuid,									-- Head that is DONE, and whose end is not noted in event_object; NULL: none
	CONSTRAINT objects_with_events_pkey PRIMARY KEY (stream, object, entry)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
COMMENT ON TABLE twtasks.objects_with_events IS 'Objects that start_events() must look at, with an entry for each add_event()';

/* Ids of events of all streams.  They are given in the order of sending. */
CREATE SEQUENCE twtasks.event_id_seq;

/* See raise_ids(): another place may have an older state of the sequence. */
CREATE TABLE twtasks.event_place (
	only_row			boolean NOT NULL DEFAULT true,		-- There is one row
	system_identifier	bigint NOT NULL,					-- The cluster that gave the last ids
	database			oid NOT NULL,						-- ... the database's oid in that cluster
	timeline			bigint NOT NULL,					-- ... and the cluster's timeline
	looked				timestamptz NOT NULL,				-- Time at which the last look at all objects began
	at_stream			text COLLATE "C",					-- Stream of the last object that this look has seen; NULL: the look is over
	at_object			text COLLATE "C",					-- ... and that object
	listed_stream		text COLLATE "C",					-- Stream of the object after which the next look at the list begins; NULL: at the first
	listed_object		text COLLATE "C",					-- ... and that object
	CONSTRAINT event_place_pkey PRIMARY KEY (only_row),
	CONSTRAINT event_place_only_row CHECK (only_row)
);
COMMENT ON TABLE twtasks.event_place IS 'Where the last ids of events were given, and when all objects were looked at';

SELECT pg_catalog.pg_extension_config_dump('twtasks.event_stream', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.event_object', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.event', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.event_seq_seq', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.objects_with_events', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.objects_with_events_entry_seq', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.event_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.event_place', '');
