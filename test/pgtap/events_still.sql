--
-- twtasks_events: every state in which an object stands still shows in its problem
-- and in twtasks.warnings, at the latest after a minute.
--
BEGIN;
\ir ../lib/tasks.sql
\ir ../lib/events.sql
SELECT plan(37);
SELECT twtasks.configure_stream('works', 'WORKS'), twtasks.configure_stream('posts', 'POSTS') \g /dev/null

CREATE FUNCTION pg_temp.problem() RETURNS text LANGUAGE sql AS $$ SELECT problem FROM twtasks.event_objects WHERE object = 'o' $$;
CREATE FUNCTION pg_temp.warning() RETURNS text LANGUAGE sql AS $$ SELECT detail FROM twtasks.warnings WHERE warning = 'events stand still' AND detail LIKE 'stream "works"%' $$;
CREATE FUNCTION pg_temp.shows(expected text, how text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN NEXT matches(pg_temp.problem(), expected, 'the object shows: ' || how);
	RETURN NEXT is(pg_temp.warning(), 'stream "works": 1 object, "o": ' || pg_temp.problem(), 'so do the warnings: ' || how);
END $$;
CREATE FUNCTION pg_temp.goes_on(how text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT is(concat_ws('; ', pg_temp.problem(), pg_temp.warning()), '', how);
$$;
CREATE FUNCTION pg_temp.head() RETURNS twtasks.task LANGUAGE sql AS $$ SELECT t FROM twtasks.task t JOIN twtasks.event_object o ON o.head = t.id WHERE o.object = 'o' $$;
CREATE FUNCTION pg_temp.change(how text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	head CONSTANT twtasks.task := pg_temp.head();
BEGIN
	RETURN (CASE how
		WHEN 'hold' THEN twtasks.hold_task(head.id)
		WHEN 'release' THEN twtasks.release_task(head.id)
		WHEN 'resume' THEN twtasks.resume_task(head.id)
		WHEN 'far' THEN twtasks.reschedule_task(head.id, run_after => now() + interval '1 day')
		WHEN 'cancel' THEN twtasks.cancel_task(head.id) END).result;
END $$;

-- ---- without a head ----
SELECT twtasks.add_event('works', 'o', '"a"'), twtasks.add_event('posts', 'p', '1') \g /dev/null
SELECT pg_temp.goes_on('a new event is no problem');
UPDATE twtasks.event SET added = added - interval '61 s' WHERE object = 'o';
SELECT pg_temp.shows('no head task was added for its events', 'an event that nobody takes from the list');
DELETE FROM twtasks.objects_with_events WHERE object = 'o';
SELECT pg_temp.shows('no head task was added for its events', 'an object that is not listed');
CREATE FUNCTION public.regress_refuse(task twtasks.new_task) RETURNS twtasks.new_task LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ BEGIN RAISE EXCEPTION 'not today'; END $$;
SELECT twtasks.configure_type('WORKS', intercept => 'public.regress_refuse') \g /dev/null
SELECT twtasks.add_event('works', 'o', '"b"') \g /dev/null
SELECT twtasks_internal.start_events() \g /dev/null
SELECT pg_temp.shows('not today', 'a head that cannot be added');
SELECT twtasks.configure_type('WORKS', intercept => 'none') \g /dev/null
UPDATE twtasks.adoption SET ended = now() WHERE ended IS NULL;
SELECT twtasks_internal.start_events() \g /dev/null
SELECT pg_temp.shows('copy that was not adopted', 'a copy that is not adopted');
SELECT twtasks.adopt(NULL, hold => false) \g /dev/null
SELECT twtasks_internal.start_events() \g /dev/null
SELECT pg_temp.goes_on('a head is no problem');

-- ---- with a head ----
UPDATE twtasks.task SET state_time = state_time - interval '61 s' WHERE sub_type = 'o';
SELECT pg_temp.shows('no sidecar has taken its head task', 'a head that nobody grabs');
SELECT is(pg_temp.change('hold'), 'changed', 'a person holds the head');
SELECT pg_temp.shows('its head task is held', 'a head that is held');
SELECT pg_temp.change('release') \g /dev/null
SELECT pg_temp.goes_on('a head that is released is no problem');
SELECT pg_temp.change('far') \g /dev/null
SELECT pg_temp.shows('its head task waits until ', 'a head that is put off');
UPDATE twtasks.task SET next_event_time = now() - interval '61 s' WHERE sub_type = 'o';
SELECT pg_temp.shows('no sidecar has taken its head task', 'a head that is due and not promoted');
SELECT pg_temp.change('resume') \g /dev/null
SELECT pg_temp.grab((pg_temp.head()).id) \g /dev/null
SELECT pg_temp.goes_on('a head that runs is no problem');
UPDATE twtasks.task SET deadline = now() - interval '61 s' WHERE sub_type = 'o';
SELECT pg_temp.shows('its head task is past its deadline', 'a head that runs too long');
UPDATE twtasks.task SET deadline = now() + interval '61 s' WHERE sub_type = 'o';
SELECT pg_temp.finish((pg_temp.head()).id, 'retry', message => 'try later', delay_ms => 3600000) \g /dev/null
SELECT pg_temp.shows('^try later; its head task waits until ', 'a head with a long back-off');
SELECT twtasks.add_event('works', 'o', '"c"') \g /dev/null
SELECT pg_temp.change('cancel') \g /dev/null
SELECT pg_temp.grab((pg_temp.head()).id) \g /dev/null
SELECT pg_temp.finish((pg_temp.head()).id, 'error', message => 'broken') \g /dev/null
SELECT pg_temp.shows('^broken$', 'a head in ERROR');
UPDATE twtasks.task SET error = NULL WHERE sub_type = 'o';
SELECT pg_temp.shows('its head task is in ERROR', 'a head in ERROR without a reason');
DELETE FROM twtasks.task WHERE sub_type = 'o';
UPDATE twtasks.event SET added = now() - interval '61 s' WHERE object = 'o';
SELECT pg_temp.shows('no head task was added for its events', 'a head that somebody has deleted');

-- ---- the stream itself ----
SELECT twtasks_internal.start_events() \g /dev/null
ALTER TABLE twtasks.type_policy DISABLE TRIGGER keep_stream_policy;
SELECT twtasks.configure_type('WORKS', on_end => 'none') \g /dev/null
SELECT is((SELECT detail FROM twtasks.warnings WHERE warning = 'stream without its policy'), 'type "WORKS" of stream "works" has lost its on_end function', 'a stream that is not protected shows');
ALTER TABLE twtasks.type_policy ENABLE TRIGGER keep_stream_policy;
SELECT twtasks.configure_stream('works', 'WORKS') \g /dev/null
SELECT is((SELECT count(*) FROM twtasks.warnings WHERE warning = 'stream without its policy'), 0::bigint, 'configure_stream() sets it right');
SELECT twtasks.add_event('works', 'o', '"c"') \g /dev/null
UPDATE twtasks.event SET added = now() - interval '61 s' WHERE object = 'o';
DELETE FROM twtasks.event_stream WHERE name = 'works';
DELETE FROM twtasks.task WHERE sub_type = 'o';
SELECT twtasks_internal.start_events() \g /dev/null
SELECT pg_temp.shows('no head task was added for its events', 'a stream that somebody has deleted');

-- ---- who reads ----
SET ROLE twtasks_viewer;
SELECT lives_ok('SELECT * FROM twtasks.event_objects', 'a viewer reads the problems');
SELECT lives_ok('SELECT * FROM twtasks.warnings', 'and the warnings');
RESET ROLE;
SELECT * FROM finish();
ROLLBACK;
