--
-- twtasks_kinds: searches and undos that fail for ever, and times that no clock
-- knows.  Each comes to an end, or to a pause, that people see.
--
BEGIN;
\ir ../lib/tasks.sql
\ir ../lib/kinds.sql
SET twtasks.testing = on;
SET client_min_messages = error;
SELECT plan(54);

SELECT twtasks.configure_kind('find', 'pessimistic', 'FIND', 'find-{/n}', delay => '10ms') \g /dev/null
SELECT twtasks.configure_kind('many', 'pessimistic', 'MANY', 'many-{/n}', delay => '10ms', attempts => 12) \g /dev/null
SELECT twtasks.configure_kind('once', 'pessimistic', 'ONCE', 'once-{/n}', delay => '10ms', attempts => 1) \g /dev/null
SELECT twtasks.configure_kind('soon', 'pessimistic', 'SOON', 'soon-{/n}', delay => '10ms', expires => '1 h') \g /dev/null
SELECT twtasks.configure_kind('book', 'optimistic', 'BOOK', 'book-{/n}', delay => '1s') \g /dev/null
SELECT twtasks.configure_kind('seat', 'optimistic', 'SEAT', 'seat-{/n}', delay => '1s', attempts => 3) \g /dev/null

-- Ends the step under way, whose handler said so; the row of its identifier.
CREATE FUNCTION pg_temp.say(wanted text, outcome jsonb, result text DEFAULT 'done') RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	task CONSTANT uuid := (SELECT o.task FROM twtasks.outcome o WHERE o.identifier = wanted);
BEGIN
	UPDATE twtasks.task t SET queued = true, status = 'SUBMITTED' WHERE t.id = task AND t.status = 'WAITING';
	PERFORM twtasks_internal.finish_tasks(ARRAY[task], ARRAY[pg_temp.grab(task)], ARRAY[result], '{0}', '{broken}',
		pg_temp.node(), pg_temp.token(), outcomes => ARRAY[outcome]);
END $$;
CREATE FUNCTION pg_temp.is_at(wanted text) RETURNS text LANGUAGE sql AS $$
	SELECT concat_ws(' ', coalesce('= ' || o.decision, o.step || o.attempt), CASE WHEN o.status IN ('WAITING', 'SUBMITTED') THEN 'live' ELSE o.status::text END, ': ' || o.problem)
	FROM twtasks.outcomes o WHERE o.identifier = wanted $$;
CREATE FUNCTION pg_temp.after(wanted text, step text, outcome jsonb, times integer, result text DEFAULT 'done') RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM twtasks.start(split_part(wanted, '-', 1), jsonb_build_object('n', split_part(wanted, '-', 2)));
	PERFORM pg_temp.say(wanted, '{}') WHERE step IN ('look', 'undo');
	PERFORM pg_temp.say(wanted, '{"look": "completed", "decision": "booked"}') WHERE step = 'undo';
	FOR i IN 1 .. times LOOP
		PERFORM pg_temp.say(wanted, outcome, result);
	END LOOP;
	RETURN pg_temp.is_at(wanted);
END $$;
-- The rows that people see about an identifier.
CREATE FUNCTION pg_temp.told(wanted text) RETURNS text LANGUAGE sql AS $$
	SELECT concat_ws('; ', (SELECT string_agg(b.broken, ', ') FROM twtasks.broken_outcomes b WHERE b.identifier = wanted AND b.hint <> ''),
		(SELECT count(*) || ' warnings' FROM twtasks.warnings w WHERE w.detail ~ ('"' || wanted || '"') AND w.hint <> '')) $$;

-- ---- searches ----
SELECT is(pg_temp.after('once-1', 'find', '{}', 9, 'error'), 'find10 live', 'a search that fails nine times goes on, although there may be one action');
SELECT is(pg_temp.told('once-1'), 'step "find" has failed 9 times in a row: broken; 1 warnings', '... and people are told');
SELECT pg_temp.say('once-1', '{}', 'error');
SELECT is(pg_temp.is_at('once-1'), 'find11 ERROR : step "find" has failed 10 times in a row, at last: broken', 'the tenth failure in a row ends the search');
SELECT is(pg_temp.told('once-1'), 'step "find" is ERROR: step "find" has failed 10 times in a row, at last: broken; 1 warnings', '... and people are told');
SELECT is(pg_temp.after('once-2', 'find', '{"found": "perhaps"}', 10), 'find11 ERROR : step "find" has failed 10 times in a row, at last: broken', '... also if the handler gave no answer that is known');
SELECT is(pg_temp.after('once-3', 'find', '{"fault": "closed"}', 10), 'find11 ERROR : step "find" has failed 10 times in a row, at last: closed', '... or a fault');
SELECT is(pg_temp.after('many-1', 'find', '{}', 11, 'error'), 'find12 live', 'a search may fail as often as the action may be attempted');
SELECT pg_temp.say('many-1', '{}', 'error');
SELECT matches(pg_temp.is_at('many-1'), '^find13 ERROR : ', '... and no more');
SELECT is(pg_temp.after('soon-1', 'find', '{}', 11, 'error'), 'find12 live', 'a search goes on until the action expires');
UPDATE twtasks.outcome SET expires = twtasks.clock() WHERE identifier = 'soon-1';
SELECT pg_temp.say('soon-1', '{}', 'error');
SELECT matches(pg_temp.is_at('soon-1'), '^find13 ERROR : ', '... and no longer');
SELECT is(pg_temp.after('find-1', 'find', '{}', 2, 'error'), 'find3 live', 'a search without a limit goes on');
SELECT is(pg_temp.told('find-1'), '0 warnings', '... and two failures are no news');
SELECT pg_temp.say('find-1', '{}', 'error') FROM generate_series(1, 10) \g /dev/null
SELECT is(pg_temp.told('find-1'), 'step "find" has failed 12 times in a row: broken; 1 warnings', '... but later people are told');
SELECT cmp_ok((SELECT due FROM twtasks.outcome WHERE identifier = 'find-1'), '>', twtasks.clock() + interval '15 s', '... with growing pauses');
SELECT pg_temp.say('find-1', '{"found": false}');
SELECT is(pg_temp.told('find-1'), '0 warnings', 'a search that succeeds is no news');

-- Ways on for a person.
SELECT is((twtasks.resume_task((SELECT task FROM twtasks.outcomes WHERE identifier = 'once-1'), NULL, 'x')).status, 'WAITING', 'a person may search again');
SELECT pg_temp.say('once-1', '{"decision": "paid"}');
SELECT is(pg_temp.is_at('once-1'), '= paid', '... and the search may find it');
SELECT twtasks.fail_task((SELECT task FROM twtasks.outcomes WHERE identifier = 'once-2'), NULL, 'x') \g /dev/null
SELECT is(pg_temp.is_at('once-2'), 'find12 live', 'a person may give it up, and a last search follows');
SELECT pg_temp.say('once-2', '{"found": false}');
SELECT is(pg_temp.is_at('once-2'), '= failed', '... before the decision');
SELECT ok(twtasks.decide_by_hand('once', 'once-3', '{"decision": "paid"}', 'x'), 'a person may decide');
SELECT is((SELECT count(*) FROM twtasks.task WHERE type = 'ONCE'), 0::bigint, '... and no step is left');

-- ---- looks ----
SELECT is(pg_temp.after('seat-1', 'look', '{}', 10, 'error'), 'look11 ERROR : step "look" has failed 10 times in a row, at last: broken', 'a look ends as a search does');
SELECT is(pg_temp.told('seat-1'), 'step "look" is ERROR: step "look" has failed 10 times in a row, at last: broken; 1 warnings', '... and people are told');

-- ---- undos ----
SELECT is(pg_temp.after('book-1', 'undo', '{}', 4, 'error'), 'undo5 live', 'an undo that fails four times goes on');
SELECT pg_temp.say('book-1', '{}', 'error');
SELECT is(pg_temp.is_at('book-1'), '= booked', 'a handler that cannot undo does not hold back what was booked');
SELECT is((SELECT what || ': ' || step FROM twtasks.anomalies WHERE identifier = 'book-1'), 'its first step could not be removed: undo', 'a person learns that the first step may still be there');
SELECT is(pg_temp.told('book-1'), '1 warnings', '... by a warning too');
SELECT is(pg_temp.after('book-2', 'undo', '{"fault": "unknown step"}', 5), '= booked', '... also if the handler says so by a fault');
SELECT is((SELECT count(*) FROM twtasks.attempts WHERE identifier = 'book-2' AND step = 'undo'), 5::bigint, '... after five undos');
SELECT is(twtasks.close_anomalies('book', 'book-1', 'seen'), 1::bigint, 'a person closes it');
SELECT is(pg_temp.told('book-1'), '0 warnings', '... and the warning ends');
SELECT is(pg_temp.after('book-3', 'look', jsonb_build_object('look', 'blocked', 'until', twtasks.clock() + interval '1 h'), 1), 'undo1 live', 'an undo before a wait');
SELECT pg_temp.say('book-3', '{}', 'error') FROM generate_series(1, 5);
SELECT is(pg_temp.is_at('book-3'), 'look6 live', '... does not hold it back either');
SELECT is((SELECT date_trunc('minute', due - twtasks.clock() + interval '30 s') FROM twtasks.outcome WHERE identifier = 'book-3'), interval '1 h', '... and the look comes when the other step expires');

-- ---- times ----
SELECT is(twtasks_internal.looked(jsonb_build_object('look', look, 'until', until)), says, format('%s until %s', look, until))
FROM (VALUES
	('blocked', 'Mars/Phobos', 'unknown'), ('blocked', '2026-01-01 00:00 Mars/Phobos', 'unknown'), ('blocked', '2026-01-01 00:00+99:99', 'unknown'),
	('blocked', 'infinity', 'unknown'), ('blocked', '-infinity', 'unknown'), ('blocked', 'NaN', 'unknown'), ('blocked', '300000-01-01', 'unknown'),
	('blocked', '5000-01-01 BC', 'unknown'), ('blocked', '', 'unknown'), ('blocked', '200000-01-01', 'blocked'), ('blocked', '0001-01-01', 'blocked'),
	('completed', 'Mars/Phobos', 'unknown'), ('completed', 'infinity', 'unknown'), ('completed', '0001-01-01', 'completed'), ('completed', '200000-01-01', 'blocked')) t(look, until, says);
SELECT matches(pg_temp.after('seat-2', 'look', '{"look": "blocked", "until": "2026-01-01 00:00 Mars/Phobos"}', 10), '^look11 ERROR : step "look" has failed 10 times', 'a look that says a time that is none ends as one that fails');
-- Seconds until the next look, for the n-th time.
CREATE FUNCTION pg_temp.wait(wanted text, until text) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_temp.say(wanted, jsonb_build_object('look', 'blocked', 'until', until)), pg_temp.say(wanted, '{}');
	RETURN (SELECT round(extract(epoch FROM o.due - twtasks.clock())) FROM twtasks.outcome o WHERE o.identifier = wanted AND o.step = 'look');
END $$;
SELECT pg_temp.after('book-4', 'look', '{}', 0), pg_temp.after('book-5', 'look', '{}', 0) \g /dev/null
SELECT ok((SELECT bool_and(w BETWEEN 0.9 * power(2, n - 1) - 0.6 AND power(2, n - 1) + 0.5) FROM (SELECT n, pg_temp.wait('book-4', '2000-01-01') AS w FROM generate_series(1, 5) n) x),
	'looks at a past time come with growing pauses');
SELECT is(pg_temp.wait('book-5', '200000-01-01'), 86400, 'a look at a far time comes within a day');
SELECT pg_temp.after('book-6', 'look', '{"look": "none"}', 1) \g /dev/null
SELECT is(pg_temp.is_at('book-6'), 'first2 live', 'a first step that is gone is made again');
SELECT pg_temp.say('book-6', '{}'), pg_temp.say('book-6', '{"look": "none"}') FROM generate_series(1, 4) \g /dev/null
SELECT cmp_ok((SELECT due FROM twtasks.outcome WHERE identifier = 'book-6'), '>', twtasks.clock() + interval '6 s', '... with growing pauses');
SELECT * FROM finish();
ROLLBACK;
