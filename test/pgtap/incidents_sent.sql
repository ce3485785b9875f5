--
-- Messages about incidents: each one once for each target, in order of its key.
--
BEGIN;
\ir ../lib/tasks.sql
TRUNCATE twtasks.incident, twtasks.incident_sent, twtasks.silence;
SELECT plan(27);

CREATE FUNCTION pg_temp.make(key text, told boolean DEFAULT true, severity text DEFAULT 'page') RETURNS bigint
LANGUAGE sql
AS $$
	INSERT INTO twtasks.incident (key, kind, object, severity, opened, refreshed, count, summary, told)
	VALUES (key, split_part(key, '/', 1), split_part(key, '/', 2), severity, twtasks.clock(), twtasks.clock(), 1, 'Wrong.',
			CASE WHEN told THEN twtasks.clock() END)
	RETURNING id
$$;
-- Messages to be sent, such as 'a open error/X'.
CREATE FUNCTION pg_temp.due(targets text[] DEFAULT '{a}') RETURNS text
LANGUAGE sql
AS $$
	SELECT string_agg(concat_ws(' ', n.target, n.state, nullif(n.repeat, 0), n.key), ', ' ORDER BY n.key, n.target)
	FROM twtasks.next_incidents(targets) n
$$;
-- Notes all that is to be sent; how many that were.
CREATE FUNCTION pg_temp.send(status text DEFAULT 'sent', targets text[] DEFAULT '{a}') RETURNS bigint
LANGUAGE sql
AS $$
	SELECT count(*) FILTER (WHERE twtasks.note_sent(n.incident, n.target, n.state, n.repeat, status, 'answer'))
	FROM twtasks.next_incidents(targets) n
$$;

SELECT is(pg_temp.due(), NULL, 'without an incident nothing is sent');
SELECT pg_temp.make('error/X') AS id \gset
SELECT pg_temp.make('error/Y', false) AS held \gset
SELECT is(pg_temp.due(), 'a open error/X', 'an opening is sent, unless it is held back');
SELECT is(pg_temp.due('{a,b,b}'), 'a open error/X, b open error/X', 'each target gets it');
SELECT is(pg_temp.due('{}'), NULL, 'without a target nothing is sent');

-- A sender that dies before it notes a message leaves it to the next one.
SELECT is(pg_temp.due(), 'a open error/X', 'a message that is not noted is returned again');
SELECT is(pg_temp.send('retry'), 1::bigint, 'a failed attempt is noted');
SELECT is(pg_temp.due(), 'a open error/X', 'a message to be tried again is returned');
SELECT is(pg_temp.send(), 1::bigint, 'its success is noted');
SELECT is(pg_temp.due('{a,b}'), 'b open error/X', 'a message that was sent is not returned again');
SELECT is(twtasks.note_sent(:id, 'a', 'open', 0, 'failed', 'late'), false, 'a second note of the message does nothing');
SELECT is((SELECT string_agg(concat_ws(' ', s.key, s.target, s.state, s.status, s.answer), ', ') FROM twtasks.incident_sent s),
	'error/X a open sent answer', 'the delivery is a row');
SELECT is(twtasks.note_sent(0, 'a', 'open', 0, 'sent'), false, 'an incident that does not exist has no message');

-- A receiver that was away gets all messages of a key in order.
UPDATE twtasks.incident SET repeated = twtasks.clock(), repeats = 2 WHERE id = :id;
SELECT is(pg_temp.due(), 'a refresh 2 error/X', 'a refresh is sent');
UPDATE twtasks.incident SET acknowledged = twtasks.clock() + interval '1 s', acknowledged_by = 'me' WHERE id = :id;
SELECT is(pg_temp.due('{a,b}'), 'a refresh 2 error/X, b open error/X', 'the opening comes before all others');
SELECT is(pg_temp.send(), 1::bigint, 'the refresh goes');
SELECT is(pg_temp.due(), 'a acknowledge error/X', 'the acknowledgement follows');
UPDATE twtasks.incident SET resolved = twtasks.clock() + interval '2 s' WHERE id = :id;
SELECT pg_temp.make('error/X') AS again \gset
SELECT is(pg_temp.due(), 'a acknowledge error/X', 'the end and the next opening wait for it');
SELECT is(pg_temp.send('failed'), 1::bigint, 'a message is given up');
SELECT is(pg_temp.due(), 'a resolve error/X', 'the end follows');
SELECT is(pg_temp.send() || ' ' || pg_temp.due(), '1 a open error/X', 'the next opening follows it');

-- Old messages.
UPDATE twtasks.incident SET resolved = twtasks.clock() - interval '61 min' WHERE id = :id;
SELECT is(pg_temp.due('{b}'), 'b open error/X', 'a new target hears nothing of what ended over an hour ago');
SELECT is((SELECT incident FROM twtasks.next_incidents('{b}')), :again::bigint, 'it hears of what is open');

-- A silence that begins while the opening is under way.
SELECT twtasks.note_sent(:held, 'a', 'open', 0, 'sent') \g /dev/null
UPDATE twtasks.incident SET resolved = twtasks.clock() WHERE id = :held;
SELECT is(pg_temp.due(), 'a open error/X, a resolve error/Y', 'the end of what was sent is sent, although it was silenced');
UPDATE twtasks.incident SET told = NULL WHERE id = :held;
SELECT is(pg_temp.due(), 'a open error/X, a resolve error/Y', '... also if the silence took the note of it back');

-- A deputy sends only while nobody counts.
SELECT twtasks_internal.monitor_tasks() \g /dev/null
SELECT is((SELECT count(*) FROM twtasks.next_incidents('{a}', 100, true)), 0::bigint, 'a deputy gets no message while the leader counts');
UPDATE twtasks.monitor_look SET at = at - interval '151 s';
SELECT is((SELECT count(*) FROM twtasks.next_incidents('{a}', 100, true)), 2::bigint, 'it gets all of them while nobody does');

-- A copy pages nobody.
UPDATE twtasks.adoption SET ended = clock_timestamp();
SELECT is(pg_temp.due(), NULL, 'a copy that is not adopted sends nothing');

SELECT * FROM finish();
ROLLBACK;
