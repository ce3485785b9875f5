ALTER SEQUENCE twtasks.event_id_seq OWNER TO twtasks_owner;

GRANT EXECUTE ON FUNCTION twtasks.add_event TO twtasks_producer;
GRANT EXECUTE ON FUNCTION twtasks.configure_stream TO twtasks_operator;
GRANT EXECUTE ON FUNCTION twtasks.list_event_objects TO twtasks_worker, twtasks_operator, twtasks_viewer;
GRANT EXECUTE ON FUNCTION twtasks_internal.why_still TO twtasks_worker, twtasks_operator, twtasks_viewer;
GRANT SELECT ON twtasks.event_streams, twtasks.event_objects, twtasks.broken_event_objects
	TO twtasks_worker, twtasks_operator, twtasks_viewer;
