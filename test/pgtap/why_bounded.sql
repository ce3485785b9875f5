--
-- twtasks.why() reads a bounded part of the queue, however long it is.
--
BEGIN;
\ir ../lib/tasks.sql
TRUNCATE twtasks.node;
DELETE FROM twtasks.limit_rule;
DELETE FROM twtasks.pause;
SELECT plan(5);
SELECT twtasks_internal.start_node('any') \g /dev/null
SELECT twtasks.configure_limit('MANY', 10);
SELECT twtasks.configure_bucket('a', concurrency => 10);

INSERT INTO twtasks.task (id, next_event_time, state_time, created, status, queued, type, bucket, priority)
SELECT pg_temp.id(n), now() + interval '1 h', now() - interval '1 min', now(), 'SUBMITTED', true, 'MANY', 'a', 5
FROM generate_series(1, 40000) n;
CREATE FUNCTION pg_temp.reads() RETURNS bigint
LANGUAGE sql
AS $$ SELECT pg_stat_get_xact_tuples_returned('twtasks.task'::regclass)
	+ (SELECT sum(pg_stat_get_xact_tuples_returned(i.indexrelid)) FROM pg_index i WHERE i.indrelid = 'twtasks.task'::regclass) $$;
SELECT pg_temp.reads() AS before \gset
SELECT * FROM twtasks.why(pg_temp.id(40000)) \gset
SELECT pg_temp.reads() - :before AS reads \gset
SELECT is(:place::bigint, 10000::bigint, 'the place is counted up to 10,000');
SELECT ok(:'place_capped'::boolean, 'and there are more');
SELECT matches(:'sentence'::text, '; more than 10,000 tasks of its type are queued before it\.$', 'the sentence says so');
SELECT is(:'reason'::text, 'not taken', 'nobody takes it');
SELECT cmp_ok(:reads::bigint, '<', 25000::bigint, 'it reads a part of the queue');
SELECT * FROM finish();
ROLLBACK;
