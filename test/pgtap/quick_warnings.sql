--
-- Warnings of the extensions, and the figures of the first page, read a bounded number
-- of rows, whatever waits.
--
BEGIN;
\ir ../lib/tasks.sql
\ir ../lib/events.sql
\ir ../lib/kinds.sql
SELECT plan(14);

-- Rows of a table that were read since the last call.
CREATE TEMPORARY TABLE read_before AS SELECT r.oid AS relation, 0::bigint AS rows
FROM unnest('{twtasks.task,twtasks.outcome,twtasks.event}'::regclass[]) r(oid);
CREATE FUNCTION pg_temp.rows_read(relation regclass) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	before bigint := b.rows FROM read_before b WHERE b.relation = rows_read.relation;
	now_read bigint := seq_tup_read + coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables WHERE relid = rows_read.relation;
BEGIN
	UPDATE read_before b SET rows = now_read WHERE b.relation = rows_read.relation;
	RETURN now_read - before;
END $$;

SELECT twtasks.configure_stream('works', 'WORKS', batch => 10), twtasks.configure_kind('find', 'pessimistic', 'FIND', 'find-{/n}') \g /dev/null
SELECT twtasks.start('find', jsonb_build_object('n', n)) FROM generate_series(0, 1) n \g /dev/null
SELECT twtasks.decide_by_hand('find', 'find-0', '{"decision": "found"}', 'seen') \g /dev/null
ANALYZE twtasks.task, twtasks.outcome, twtasks.event;
INSERT INTO twtasks.task (id, next_event_time, state_time, created, status, queued, type)
SELECT pg_temp.id(n), now() + n * interval '1 s', now(), now(), 'WAITING', false, 'LATER' FROM generate_series(1, 60000) n;
INSERT INTO twtasks.outcome (started, kind, identifier, step, event, answer)
SELECT now() + n * interval '1 ms', 'find', 'find-' || n, 'find', '{}', '{}' FROM generate_series(2, 30000) n;
INSERT INTO twtasks.task (id, next_event_time, state_time, created, status, queued, type, error)
SELECT pg_temp.id(100000 + n), 'infinity', now(), now(), 'ERROR', false, 'LATER', 'timeout' FROM generate_series(1, 30000) n;
INSERT INTO twtasks.event (added, size, stream, object, event) SELECT now() - interval '1 h', 1, 'works', 'o' || n % 100, '1' FROM generate_series(1, 60000) n;
INSERT INTO twtasks.objects_with_events (stream, object) VALUES ('works', 'o99');
SELECT pg_temp.rows_read(b.relation) FROM read_before b \g /dev/null

-- Steps of others that were given up hide those of a kind.
CREATE FUNCTION pg_temp.details() RETURNS text LANGUAGE sql AS $$ SELECT string_agg(w ->> 'detail', '|') FROM jsonb_array_elements(twtasks_internal.warn_of_kinds(10)) w $$;
CREATE FUNCTION pg_temp.cut() RETURNS text LANGUAGE sql
AS $$ SELECT 'kind "find": more than 1999 are undecided, beside more than 1999 tasks in ERROR or HELD, so others may stand still' $$;
SELECT is(pg_temp.details(), pg_temp.cut(), 'kinds: nothing that was read stands still');
SELECT cmp_ok(pg_temp.rows_read('twtasks.task'), '<', 9000::bigint, '... for which a part of the tasks is read');
SELECT cmp_ok(pg_temp.rows_read('twtasks.outcome'), '<', 5000::bigint, '... and a part of the undecided identifiers');
ANALYZE twtasks.task, twtasks.outcome, twtasks.attempt;
SELECT is(pg_temp.details(), pg_temp.cut(), '... nor for a planner that knows how few identifiers are decided');
SELECT cmp_ok(pg_temp.rows_read('twtasks.outcome'), '<', 5000::bigint, '... which reads no more of them');
SELECT pg_temp.rows_read('twtasks.task') \g /dev/null
UPDATE twtasks.outcome SET answer = NULL WHERE identifier = 'find-2';
SELECT alike(twtasks_internal.warn_of_kinds(10) -> 0 ->> 'detail', 'kind "find": 1 or more of its identifiers, such as "find-2": %', 'kinds: there may be more among those that are not looked at');
SELECT pg_temp.rows_read('twtasks.outcome') \g /dev/null
SELECT is((SELECT count(*) FROM twtasks_internal.still_objects(5000) WHERE object = 'o99'), 1::bigint, 'events: an object behind many others stands still');
SELECT cmp_ok(pg_temp.rows_read('twtasks.event'), '<', 21000::bigint, '... for which a part of the events is read');
SELECT pg_temp.rows_read('twtasks.task') \g /dev/null
SELECT is((SELECT count(*) FROM twtasks.type_loads(worst_first => true)), 1::bigint, 'loads of types, before any count');
SELECT is((SELECT sum(added) FROM twtasks.recent_minutes()), 2::numeric, '... and minutes with the only tasks whose ids tell their time');
SELECT cmp_ok(pg_temp.rows_read('twtasks.task'), '<=', 2000::bigint, '... read the newest tasks only');

-- Tasks of unknown outcome: all are read once, and of each type a share again.
UPDATE twtasks.task SET error = 'the node that ran it is gone' WHERE status = 'ERROR';
INSERT INTO twtasks.task (id, next_event_time, state_time, created, status, queued, type, error)
VALUES (pg_temp.id(200000), 'infinity', now(), now(), 'ERROR', false, 'OTHER', 'the node that ran it is gone');
SELECT pg_temp.rows_read('twtasks.task') \g /dev/null
SELECT is((SELECT array_agg(c.object || ': ' || c.summary ORDER BY c.object) FROM twtasks_internal.counted_incidents(now()) c WHERE c.kind = 'unknown'),
	'{"LATER: at least 5000 tasks of type \"LATER\" have an unknown outcome","OTHER: 1 task of type \"OTHER\" has an unknown outcome"}',
	'incidents: many tasks of unknown outcome hide no other type');
SELECT cmp_ok(pg_temp.rows_read('twtasks.task'), '<', 36000::bigint, '... of 30,001, and a part of them is looked at');
DELETE FROM twtasks.task WHERE status = 'ERROR' AND id > pg_temp.id(100010);
SELECT pg_temp.rows_read('twtasks.task') \g /dev/null
SELECT is((SELECT array_agg(c.object || ': ' || c.count) FROM twtasks_internal.counted_incidents(now()) c WHERE c.kind = 'unknown'), '{"LATER: 10"}', '... and some, which hide none');
SELECT * FROM finish();
ROLLBACK;
