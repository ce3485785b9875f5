--
-- twtasks_kinds with many undecided identifiers: start() and the end of a step read
-- their own row alone, also before the first ANALYZE, and twtasks.broken_outcomes reads
-- each row a few times only, so that twtasks.warnings has its rows in time.
--
BEGIN;
\ir ../lib/tasks.sql
\ir ../lib/kinds.sql
SELECT plan(5);
SET max_parallel_workers_per_gather = 0;
SET twtasks.function_timeout = '60 s';		-- a busy machine is no failure
SELECT twtasks.configure_kind('pay', 'idempotent', 'PAY', '{/id}') \g /dev/null
CREATE FUNCTION pg_temp.reads(name text) RETURNS bigint LANGUAGE sql AS $$
	SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables WHERE relid = name::regclass
$$;
SELECT count(twtasks.start('pay', jsonb_build_object('id', n))) FROM generate_series(1, 1000) n \g /dev/null
SELECT cmp_ok(pg_temp.reads('twtasks.outcome'), '<=', 10000::bigint, 'rows of twtasks.outcome that a thousand starts in one statement read');
SAVEPOINT started;
SELECT array_agg((t.id, 2, t.type, NULL, t.bucket, t.key, 1, 'DONE', now(), NULL, NULL, t.data, NULL, '{"decision": "paid"}', NULL)::twtasks.ended_task) AS ended,
	array_agg(t.id) AS ids FROM (SELECT * FROM twtasks.task ORDER BY id DESC LIMIT 100) t \gset
SELECT count(twtasks_internal.end_now(:'ids', '{DONE}', '{NULL}')) \g /dev/null
SELECT pg_temp.reads('twtasks.outcome') AS before \gset
SELECT twtasks_internal.end_steps(:'ended') \g /dev/null
SELECT pg_temp.reads('twtasks.outcome') - :before AS reads, (SELECT count(*) FROM twtasks.outcome WHERE decided IS NOT NULL) AS decided \gset
ROLLBACK TO started;
SELECT cmp_ok(CASE WHEN :decided = 100 THEN :reads END, '<=', 500, '... and a hundred ends of steps');
-- The history of ten times as many.
INSERT INTO twtasks.outcome (started, decided, kind, identifier, step, attempt, event, decision, outcome)
SELECT now(), now(), 'pay', 'old' || n, 'attempt', 1, '{}', 'done', '{}' FROM generate_series(1, 10000) n;
INSERT INTO twtasks.attempt (started, ended, task, number, kind, identifier, step, answer)
SELECT now(), now(), gen_random_uuid(), 1, 'pay', 'old' || n, 'attempt', 'decided' FROM generate_series(1, 10000) n;
ANALYZE twtasks.outcome, twtasks.attempt, twtasks.task;

CREATE TABLE pg_temp.before AS SELECT name, pg_temp.reads(name) AS reads FROM unnest('{twtasks.outcome,twtasks.attempt}'::text[]) name;
SELECT is_empty('SELECT FROM twtasks.broken_outcomes', 'nothing stands still');
SELECT cmp_ok(pg_temp.reads(name) - reads, '<=', most::bigint, format('rows of %s that are read for a thousand undecided identifiers', name))
FROM pg_temp.before JOIN (VALUES ('twtasks.outcome', 4000), ('twtasks.attempt', 100)) m(name, most) USING (name);
SELECT * FROM finish();
ROLLBACK;
