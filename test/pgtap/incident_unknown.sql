--
-- The incident "unknown" sees every type, however many tasks of others were lost, and each
-- type's ends by itself.
--
BEGIN;
\ir ../lib/tasks.sql
\ir ../lib/incidents.sql
TRUNCATE twtasks.task_attempt;
SELECT twtasks_internal.begin_history('task_attempt') \g /dev/null
SELECT plan(7);

CREATE FUNCTION pg_temp.lose(first integer, past integer, type text) RETURNS void
LANGUAGE sql
AS $$
	INSERT INTO twtasks.task (id, version, next_event_time, state_time, created, status, queued, type, error)
	SELECT pg_temp.id(n), 3, 'infinity', now() - interval '1 min', now(), 'ERROR', false, type, 'the node that ran it is gone' FROM generate_series(first, past - 1) n
$$;
CREATE FUNCTION pg_temp.unknown() RETURNS text
LANGUAGE sql
AS $$ SELECT string_agg(f.summary, ', ' ORDER BY f.object) FROM twtasks_internal.counted_incidents(twtasks.clock()) f WHERE f.kind = 'unknown' $$;

SELECT pg_temp.lose(1, 10002, 'MANY') \g /dev/null
SELECT is(pg_temp.unknown(), 'at least 10000 tasks of type "MANY" have an unknown outcome', 'of one type 10,000 are counted');
SELECT pg_temp.lose(20001, 20002, 'NEW') \g /dev/null
SELECT is(pg_temp.unknown(), 'at least 5000 tasks of type "MANY" have an unknown outcome, 1 task of type "NEW" has an unknown outcome', 'a new type is seen behind them');
SELECT twtasks_internal.judge_incidents() \g /dev/null
SELECT is((SELECT string_agg(key || ' ' || state, ', ' ORDER BY key) FROM twtasks.incidents WHERE kind = 'unknown'), 'unknown/MANY open, unknown/NEW open', '... and has an incident');
DELETE FROM twtasks.task WHERE type = 'NEW';
SELECT twtasks_internal.judge_incidents() \g /dev/null
SELECT is((SELECT string_agg(key || ' ' || state, ', ' ORDER BY key) FROM twtasks.incidents WHERE kind = 'unknown'), 'unknown/MANY open, unknown/NEW resolved', 'it ends when it is decided, although the other one has too many');

-- Tasks whose later try ended are no part of a share.
INSERT INTO twtasks.task_attempt (task_id, version, try, ended, result, error)
SELECT pg_temp.id(n), 2, 1, now(), 'error', 'refused' FROM generate_series(1, 9999) n;
SELECT is(pg_temp.unknown(), '2 tasks of type "MANY" have an unknown outcome', 'errors that are old hide none');
INSERT INTO twtasks.task_attempt (task_id, version, try, ended, result, error)
SELECT pg_temp.id(n), 2, 1, now(), 'error', 'refused' FROM generate_series(10000, 10001) n;
SELECT is(pg_temp.unknown(), NULL, '... and open none');

-- More types than are counted.
DELETE FROM twtasks.task;
SELECT pg_temp.lose(100000 + 2 * n, 100000 + 2 * n + 2, 'TYPE|' || n) FROM generate_series(1, 10001) n \g /dev/null
SELECT is((SELECT format('%s %s', count(*), sum(count)) FROM twtasks_internal.counted_incidents(twtasks.clock()) WHERE kind = 'unknown'), '10001 10001', 'each of 10,001 types is seen, by one task');
SELECT * FROM finish();
ROLLBACK;
