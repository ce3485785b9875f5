--
-- error_groups(): errors that differ in numbers, ids and names are one group, and a
-- call reads a bounded number of tasks.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(37);

SELECT is(twtasks_internal.error_shape(x.error), x.shape, coalesce(x.error, 'NULL'))
FROM (VALUES ('timeout after 30 s calling https://bank.example/pay/4711', 'timeout after # s calling https://bank.example/pay/#'),
	('task 01a1f85d-bc20-7ca3-a25e-5df99ce4a320 is gone', 'task # is gone'),
	('refused at 2024-01-31 10:11:12.5+00 by 10.0.0.17:5432', 'refused at #-#-# #+# by #'),
	('no route to fe80:0:0:0:1:2:3:4', 'no route to #'),
	('commit 4f1c9a02 at 0xDEADBEEF', 'commit # at #'),
	('the facade effaced added 12345678', 'the facade effaced added #'),
	('key "order 17" of ''anne'' exists', 'key "<text>" of ''<text>'' exists'),
	('it can''t, and won''t', 'it can''t, and won''t'),
	('no mailbox anne.smith+x@mail.example.org, sorry', 'no mailbox <address>, sorry'),
	('1,234.50 EUR', '# EUR'),
	('he said "now', 'he said "now'), ('''a'' or ''b''', '''<text>'' or ''<text>'''),
	('mail to a@, not @b', 'mail to a@, not @b'),
	('01A1F85D-BC20-7CA3-A25E-5DF99CE4A3201', '##'), ('01a1f85d-bc20-7ca3-a25e', '#-bc#-#ca#-a#e'),
	('1:2:3:45678 ::ffff:1 at 10:11', '# # at #'), ('fe80::1:2', '#'),
	('a1b2c3d4_ xa1b2c3d4 0x 0xg', 'a#b#c#d#_ xa#b#c#d# #x #xg'), ('1. 2, 3:', '#. #, #:'),
	(repeat('x', 498) || '1234', repeat('x', 498) || '#'),
	('', ''), (NULL, NULL)) x(error, shape);
-- Characters of several bytes are letters, and are never cut.
SELECT is(twtasks_internal.error_shape(replace(x.error, 'ZZ', y.letter)), replace(x.shape, 'ZZ', y.letter), x.error)
FROM (VALUES ('''ZZ'' at 12ZZ ''s''s ZZ@ZZ.org', '''<text>'' at #ZZ ''s''s <address>'), (repeat('ZZ', 501), repeat('ZZ', 500))) x(error, shape)
CROSS JOIN (SELECT convert_from(CASE getdatabaseencoding() WHEN 'UTF8' THEN '\xc3a9' ELSE 'qq' END::bytea, getdatabaseencoding())) y(letter);

-- Tasks in ERROR, and others that are not counted.
CREATE FUNCTION pg_temp.fill(first integer, tasks integer, status twtasks.task_status, type text, error text) RETURNS void LANGUAGE sql
AS $$
	INSERT INTO twtasks.task (id, next_event_time, state_time, created, status, queued, type, error)
	SELECT pg_temp.id(first + n), CASE WHEN status = 'WAITING' THEN now() ELSE 'infinity' END, now() + n * interval '1 ms', now(), status, false, type,
		replace(error, '?', n::text)
	FROM generate_series(1, tasks) n
$$;
SELECT pg_temp.fill(0, 30, 'ERROR', 'A|1', 'timeout after ? s'), pg_temp.fill(100, 20, 'ERROR', 'A|2', 'timeout after 1? s'), pg_temp.fill(200, 5, 'ERROR', 'B', 'refused'),
	pg_temp.fill(300, 1, 'ERROR', 'B', NULL), pg_temp.fill(400, 50, 'HELD', 'A|1', 'timeout after ? s'), pg_temp.fill(500, 50, 'WAITING', 'A|1', 'timeout after ? s') \g /dev/null
SELECT results_eq('SELECT shape, tasks, capped, types, first_seen - now(), last_seen - now(), example, example_error FROM twtasks.error_groups()',
	$$VALUES ('timeout after # s', 50::bigint, false, '{A|1,A|2}'::text[], interval '1 ms', interval '30 ms', pg_temp.id(30), 'timeout after 30 s'),
		('refused', 5, false, '{B}', interval '1 ms', interval '5 ms', pg_temp.id(205), 'refused'),
		('', 1, false, '{B}', interval '1 ms', interval '1 ms', pg_temp.id(301), NULL)$$, 'the groups of all tasks, the largest first');
SELECT is((SELECT string_agg(tasks::text, ' ') FROM twtasks.error_groups('A|2')), '20', 'a type has its groups');
SELECT is((SELECT string_agg(tasks::text, ' ') FROM twtasks.error_groups('A|*')), '50', 'so have the types of a pattern');
SELECT is((SELECT string_agg(tasks::text, ' ') FROM twtasks.error_groups(max_groups => 1)), '50', 'the groups are at most max_groups');
SELECT throws_ok('SELECT * FROM twtasks.error_groups(NULL)', '22004', NULL, 'a pattern of NULL is refused');
SELECT throws_ok('SELECT * FROM twtasks.error_groups(max_groups => 0)', '22023', NULL, 'no group is refused');

-- When they came.
CREATE FUNCTION pg_temp.steps(wanted text) RETURNS text LANGUAGE sql
AS $$
	SELECT concat_ws(' ', g.step, cardinality(g.counts), (SELECT string_agg(concat_ws(':', c.n, c.tasks), ' ' ORDER BY c.n) FROM unnest(g.counts) WITH ORDINALITY c(tasks, n) WHERE c.tasks > 0))
	FROM twtasks.error_groups() g WHERE g.shape = wanted
$$;
SELECT is(pg_temp.steps('refused'), '00:01:00 60 60:5', 'a group of this hour is counted by minutes, the last one ends now');
UPDATE twtasks.task SET state_time = now() - interval '330 s' WHERE id = pg_temp.id(201);
SELECT is(pg_temp.steps('refused'), '00:01:00 60 55:1 60:4', '... each task in its minute');
UPDATE twtasks.task SET state_time = now() - interval '330 min' WHERE id = pg_temp.id(201);
SELECT is(pg_temp.steps('refused'), '01:00:00 48 43:1 48:4', 'an older group is counted by hours');
UPDATE twtasks.task SET state_time = now() - interval '9 days' WHERE id = pg_temp.id(201);
SELECT is(pg_temp.steps('refused'), '01:00:00 48 48:4', '... of two days');

-- Many tasks.
SELECT pg_temp.fill(1000, 25000, 'ERROR', 'MANY', 'failed with ?') \g /dev/null
SELECT is((SELECT sum(tasks) FROM twtasks.error_groups()), 20000::numeric, 'at most 20,000 tasks are read');
SELECT is((SELECT bool_and(capped) FROM twtasks.error_groups()), true, '... which the groups say');
SET LOCAL ROLE twtasks_viewer;
SELECT is((SELECT count(*) > 0 FROM twtasks.error_groups()), true, 'a viewer may ask');
RESET ROLE;

SELECT * FROM finish();
ROLLBACK;
