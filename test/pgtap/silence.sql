--
-- Steering of incidents: acknowledged, silenced, and the silence of all sidecars.
--
BEGIN;
\ir ../lib/tasks.sql
\ir ../lib/incidents.sql
SELECT plan(38);

-- Time passes; the open incidents with their state.
CREATE FUNCTION pg_temp.look(by interval DEFAULT '1 min') RETURNS text
LANGUAGE plpgsql
AS $$
BEGIN
	PERFORM pg_temp.judge_after(by);
	RETURN (SELECT string_agg(concat_ws(' ', i.key, i.state, CASE WHEN i.silenced_until IS NOT NULL THEN 'silenced' END), ', ' ORDER BY i.key)
			FROM twtasks.incidents i WHERE i.state <> 'resolved');
END $$;
-- The messages that are due; they are noted as sent.
CREATE FUNCTION pg_temp.send() RETURNS text
LANGUAGE sql
AS $$
	SELECT string_agg(concat_ws(' ', n.state, n.key), ', ' ORDER BY n.key)
	FROM twtasks.next_incidents('{a}') n
	WHERE twtasks.note_sent(n.incident, n.target, n.state, n.repeat, 'sent')
$$;
CREATE FUNCTION pg_temp.fail(n integer, type text) RETURNS void
LANGUAGE sql
AS $$
	INSERT INTO twtasks.task (id, next_event_time, state_time, created, status, queued, type)
	SELECT pg_temp.id(n), 'infinity', twtasks.clock(), twtasks.clock(), 'ERROR', false, type
$$;

-- A silence that was there first.
SELECT twtasks.silence('error', 'PAYOUT|*', twtasks.clock() + interval '1 hour', 'bank maintenance') AS id \gset
SELECT pg_temp.fail(1, 'PAYOUT|ACME'), pg_temp.fail(2, 'PAYOUT'), pg_temp.fail(3, 'MAIL') \g /dev/null
SELECT is(pg_temp.look(), 'error/MAIL open, error/PAYOUT open, error/PAYOUT|ACME open silenced', 'a silenced incident opens, and the view says so');
SELECT is(pg_temp.send(), 'open error/MAIL, open error/PAYOUT', 'it is not sent');
SELECT is(pg_temp.look('58 min'), 'error/MAIL open, error/PAYOUT open, error/PAYOUT|ACME open silenced', 'the silence lasts');
SELECT is(pg_temp.send(), NULL, 'nothing is sent meanwhile');
SELECT is(pg_temp.look('2 min'), 'error/MAIL open, error/PAYOUT open, error/PAYOUT|ACME open', 'the silence ends');
SELECT is(pg_temp.send(), 'open error/PAYOUT|ACME', 'then an incident that is open is sent');

-- A silence that comes later.
SELECT twtasks.silence('*', 'PAYOUT*', twtasks.clock() + interval '10 hours', 'more of it') AS id2 \gset
SELECT pg_temp.look('7 hours') \g /dev/null
SELECT is(pg_temp.send(), 'refresh error/MAIL', 'a silenced incident is not sent again');
DELETE FROM twtasks.task WHERE type = 'PAYOUT|ACME';
SELECT is(pg_temp.look() || '; ' || pg_temp.send(), 'error/MAIL open, error/PAYOUT open silenced; resolve error/PAYOUT|ACME', 'the end of an incident that was sent is sent');
SELECT pg_temp.fail(4, 'SMS') \g /dev/null
SELECT is(pg_temp.look() ~ 'error/SMS open', true, 'an incident opens');
SELECT twtasks.silence('error', 'SMS', twtasks.clock() + interval '1 hour', 'before it was sent') AS id3 \gset
SELECT is(pg_temp.send(), NULL, 'a silence keeps back an opening that nobody has heard of');
DELETE FROM twtasks.task WHERE type = 'SMS';
SELECT is(pg_temp.look() || '; ' || coalesce(pg_temp.send(), ''), 'error/MAIL open, error/PAYOUT open silenced; ', 'its end is not sent either');
SELECT is(twtasks.unsilence(:id2, 'done early'), true, 'a silence is ended by hand');
SELECT is(twtasks.unsilence(:id2, 'done early'), false, 'it ends once');
SELECT is(pg_temp.look() || '; ' || pg_temp.send(), 'error/MAIL open, error/PAYOUT open; refresh error/PAYOUT', 'then a refresh that was due is sent');

-- Acknowledged.
SELECT is(twtasks.acknowledge_incident('error/MAIL', 'I look'), true, 'an incident is acknowledged');
SELECT is(twtasks.acknowledge_incident('error/MAIL', 'I look'), false, 'it is acknowledged once');
SELECT is((SELECT concat_ws(' ', state, acknowledged_by = session_user) FROM twtasks.incidents WHERE key = 'error/MAIL'), 'acknowledged t', 'the view shows who did');
SELECT is(pg_temp.send(), 'acknowledge error/MAIL', 'its targets hear of it');

-- The audit.
SELECT is((SELECT string_agg(concat_ws(' ', kind, name, after ->> 'reason'), '; ' ORDER BY id) FROM twtasks.policy_audit WHERE actor = session_user),
	'silence error/PAYOUT|* bank maintenance; silence */PAYOUT* more of it; silence error/SMS before it was sent; silence */PAYOUT* done early; incident error/MAIL I look', 'the audit has all of it, with reasons');

-- Wrong arguments.
SELECT throws_ok($$SELECT twtasks.acknowledge_incident(NULL, 'x')$$, '22004', 'key must not be null');
SELECT throws_ok($$SELECT twtasks.acknowledge_incident('error/MAIL', NULL)$$, '22004', 'reason must not be null or empty');
SELECT throws_ok($$SELECT twtasks.acknowledge_incident('error/MAIL', ' ')$$, '22023', 'reason must not be null or empty');
SELECT throws_ok($$SELECT twtasks.acknowledge_incident('error/SMS', 'x')$$, '42704', 'no incident "error/SMS" is open');
SELECT throws_ok($$SELECT twtasks.silence('error', NULL, now(), 'x')$$, '22004', 'pattern must not be null');
SELECT throws_ok($$SELECT twtasks.silence('e*', '*', now() + interval '1 h', 'x')$$, '22023', 'invalid kind: "e*"');
SELECT throws_ok($$SELECT twtasks.silence('*', '*x', now() + interval '1 h', 'x')$$, '22023', 'invalid pattern: "*x"');
SELECT throws_like($$SELECT twtasks.silence('*', '*', now() - interval '1 h', 'x')$$, 'until must be a time within the next year, not %');
SELECT throws_like($$SELECT twtasks.silence('*', '*', 'infinity', 'x')$$, 'until must be a time within the next year, not infinity');
SELECT throws_ok($$SELECT twtasks.unsilence(0, 'x')$$, '42704', 'there is no silence 0');

-- Nobody counts.
DELETE FROM twtasks.task;
SELECT pg_temp.look() \g /dev/null
SELECT pg_temp.send() \g /dev/null
SELECT is(twtasks.judge_silence(), false, 'the leader has counted');
SELECT twtasks.advance_clock('151 s') \g /dev/null
SELECT is(twtasks.judge_silence(), true, 'nobody has counted for 150 seconds');
SELECT is(twtasks.judge_silence() || ' ' || pg_temp.send(), 'true open silent/', 'it is one incident, and is sent');
SELECT is(pg_temp.look(), NULL, 'a leader that counts ends it');
SELECT is(pg_temp.send(), 'resolve silent/', 'its end is sent');
TRUNCATE twtasks.monitor_look;
SELECT is(twtasks.judge_silence(), false, 'where no sidecar ever counted, none is missing');

-- A judge that fails.
ALTER TABLE twtasks.incident ADD CONSTRAINT broken CHECK (kind <> 'error') NOT VALID;
SELECT pg_temp.fail(1, 'MAIL') \g /dev/null
SET LOCAL client_min_messages = error;
SELECT pg_temp.look() \g /dev/null
RESET client_min_messages;
SELECT is((SELECT concat_ws(' ', m.errors, w.warning) FROM twtasks.monitor m, twtasks.warnings w WHERE w.warning = 'incidents fail'), '1 incidents fail', 'a judge that fails is a warning, and the count is kept');
SELECT is(twtasks_internal.is_well(), false, 'a judge that fails stops the heartbeat');
ALTER TABLE twtasks.incident DROP CONSTRAINT broken;
UPDATE twtasks.duty SET called = called - interval '1 min' WHERE name = 'judge_incidents';
SELECT pg_temp.look() \g /dev/null
SELECT is((SELECT count(*) FROM twtasks.warnings w WHERE w.warning = 'incidents fail'), 0::bigint, 'its success ends the warning');

SELECT * FROM finish();
ROLLBACK;
