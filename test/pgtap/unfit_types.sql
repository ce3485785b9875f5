--
-- unfit_types(): the types in the queue that no pattern fits, as fits() has it, by few
-- reads of the index.
--
BEGIN;
\ir ../lib/tasks.sql
TRUNCATE twtasks.node;
SELECT plan(9);

CREATE FUNCTION pg_temp.fill(types text[], bucket text) RETURNS void LANGUAGE sql
AS $$
	INSERT INTO twtasks.task (id, next_event_time, state_time, created, status, queued, type, bucket)
	SELECT gen_random_uuid(), now() + interval '1 h', now(), now(), 'SUBMITTED', true, t, bucket FROM unnest(types) t
$$;
CREATE FUNCTION pg_temp.rows_read() RETURNS bigint LANGUAGE sql
AS $$ SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relid = 'twtasks.task'::regclass $$;

-- All words of up to 3 letters, and all pairs of patterns of up to 2. 
CREATE TEMPORARY TABLE letter AS
	SELECT chr(n) AS c FROM unnest('{97,98}'::integer[]) n
	UNION ALL SELECT convert_from('\xc3bf', 'UTF8') WHERE getdatabaseencoding() = 'UTF8';
CREATE TEMPORARY TABLE word AS
	SELECT '' AS w UNION ALL SELECT a.c FROM letter a UNION ALL SELECT a.c || b.c FROM letter a, letter b
	UNION ALL SELECT a.c || b.c || c.c FROM letter a, letter b, letter c;
CREATE TEMPORARY TABLE pattern AS
	SELECT w || s AS p FROM word, unnest('{*,""}'::text[]) s WHERE length(w) <= 2 AND w || s <> '';
SELECT pg_temp.fill(array_agg(w), 'a') FROM word WHERE w <> '' \g /dev/null
SELECT pg_temp.fill('{OTHER}', 'b') \g /dev/null
SELECT is((SELECT array_agg(t) FROM twtasks_internal.unfit_types('a', '{}', 1000) t), (SELECT array_agg(w ORDER BY w COLLATE "C") FROM word WHERE w <> ''),
		  'no pattern fits none, and the types come in order');
SELECT is_empty($$
	SELECT p.p, q.p, f.types, n.types FROM pattern p JOIN pattern q ON q.p >= p.p
	CROSS JOIN LATERAL (SELECT array_agg(t) AS types FROM twtasks_internal.unfit_types('a', ARRAY[p.p, q.p], 1000) t) f
	CROSS JOIN LATERAL (SELECT array_agg(w ORDER BY w COLLATE "C") AS types FROM word
						WHERE w <> '' AND twtasks_internal.fits(p.p, w) IS NULL AND twtasks_internal.fits(q.p, w) IS NULL) n
	WHERE f.types IS DISTINCT FROM n.types$$, 'two patterns leave what neither of them fits');
SELECT is((SELECT array_agg(t) FROM twtasks_internal.unfit_types('a', '{a*}', 2) t), '{b,ba}'::text[], 'at most so many are found');
SELECT is_empty($$SELECT t FROM twtasks_internal.unfit_types('a', '{a*}', 0) t$$, 'none, if none is wanted');
SELECT is((SELECT array_agg(t) FROM twtasks_internal.unfit_types('b', '{a*,NULL,""}', 10) t), '{OTHER}'::text[], 'of one bucket; NULL and nothing fit none');

-- Thousands of types behind a beginning are passed over.
SELECT pg_temp.fill(ARRAY(SELECT 'MANY|' || n FROM generate_series(1, 5000) n), 'b') \g /dev/null
SELECT pg_temp.rows_read() AS before \gset
SELECT is((SELECT array_agg(t) FROM twtasks_internal.unfit_types('b', '{MANY|*}', 10) t), '{OTHER}'::text[], 'a beginning fits thousands of types');
SELECT cmp_ok(pg_temp.rows_read() - :before, '<', 10::bigint, '... of which few are read');

-- The warning: by all nodes that work for the bucket.
INSERT INTO twtasks.node (name, started, heartbeat, lease, buckets, types) SELECT n, now(), now(), '1 h', b, t FROM (VALUES
	('one', '{b}'::text[], '{MANY|1*}'::text[]), ('two', '{b}', '{MANY*}'), ('three', '{a}', NULL)) v(n, b, t);
SELECT results_eq('SELECT bucket, type FROM twtasks_internal.unhandled_types(20)', $$VALUES ('b', 'OTHER')$$, 'types that no node of their bucket handles');
UPDATE twtasks.node SET ended = now() WHERE name = 'two';
SELECT is((SELECT count(*) FROM twtasks_internal.unhandled_types(20)), 20::bigint, 'nodes that are gone handle none');
SELECT * FROM finish();
ROLLBACK;
