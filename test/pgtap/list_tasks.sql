--
-- list_tasks(): each filter finds its tasks, pages meet without gap, and a call
-- looks at no more tasks than its budget, whatever the filter.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(43);
SELECT twtasks_internal.make_partitions(1) \g /dev/null

-- Tasks 1 to 3000 live, 3001 to 9000 finished; their ids interleave.
INSERT INTO twtasks.task (id, next_event_time, state_time, created, status, queued, type, priority, bucket, key, sub_type, error, data, added_by)
SELECT pg_temp.id(n * 3), CASE WHEN n % 100 = 0 THEN 'infinity'::timestamptz ELSE now() + interval '1 hour' END,
	now() - n * interval '1 ms', now() - n * interval '1 ms',
	CASE WHEN n % 100 = 0 THEN 'ERROR' WHEN n % 2 = 0 THEN 'WAITING' ELSE 'SUBMITTED' END::twtasks.task_status,
	n % 2 = 1, 'LIVE|' || n % 10, n % 3, CASE WHEN n % 7 = 0 THEN 'b' ELSE 'a' END, 'key ' || n, 's' || n % 4,
	CASE WHEN n % 100 = 0 THEN 'Timeout after ' || n END, jsonb_build_object('n', n), 'anne'
FROM generate_series(1, 3000) n;
INSERT INTO twtasks.unique_key (task_id, key) SELECT t.id, t.key FROM twtasks.task t;
INSERT INTO twtasks.finished_task (id, version, state_time, created, status, tries, priority, type, bucket, error)
SELECT pg_temp.id(n * 3 + 1), 2, now() - (n % 3 - 1) * interval '1 day', now(), CASE WHEN n % 500 = 0 THEN 'FAILED' ELSE 'DONE' END::twtasks.task_status,
	1, 5, 'OLD|' || n % 10, 'a', CASE WHEN n % 500 = 0 THEN 'refused' END
FROM generate_series(1, 6000) n;
ANALYZE twtasks.task, twtasks.finished_task, twtasks.unique_key;

-- Numbers of the tasks of a page, and 'more' if there may be more.
CREATE FUNCTION pg_temp.listed(filter text, OUT ids bigint, OUT first integer, OUT looked bigint, OUT complete boolean) LANGUAGE plpgsql
AS $$ BEGIN
	EXECUTE format('SELECT count(id), max(right(id::text, 12)::integer), max(looked_at), bool_and(is_complete) FROM twtasks.list_tasks(%s)', filter)
	INTO ids, first, looked, complete;
END $$;

SELECT is(pg_temp.listed(x.filter)::text, x.answer, 'list_tasks(' || x.filter || ')')
FROM (VALUES ('', '(50,18001,50,f)'),
	('max_tasks => 10000', '(9000,18001,9000,t)'),
	('budget => 100, type => ''NONE''', '(0,,100,f)'),
	('''{ERROR}''', '(30,9000,30,t)'),
	('''{ERROR}'', error => ''timeout after 3000''', '(1,9000,30,t)'),
	('''{ERROR,HELD}'', budget => 10', '(1,9000,10,f)'),
	('''{WAITING}'', ''LIVE|2''', '(50,8976,245,f)'),
	('''{WAITING,ERROR}'', ''LIVE|0'', max_tasks => 1000', '(300,9000,1500,t)'),
	('''{SUBMITTED}'', ''LIVE|7'', max_tasks => 1000', '(300,8991,300,t)'),
	('''{SUBMITTED}'', ''LIVE|7'', ''b''', '(43,8841,43,t)'),
	('''{SUBMITTED}'', ''LIVE|7'', ''b'', 1', '(15,8841,15,t)'),
	('''{FAILED}''', '(12,18001,6000,t)'),
	('''{FAILED}'', until => date_trunc(''day'', now(), ''UTC'') + interval ''86399 s'', since => date_trunc(''day'', now(), ''UTC''), max_tasks => 10000', '(4,16501,2000,t)'),
	('''{DONE}'', ''OLD|1'', max_tasks => 100, budget => 1000000', '(100,17974,1000,f)'),
	('key => ''key 7''', '(1,21,1,t)'),
	('key => ''key 7'', type => ''OTHER''', '(0,,1,t)'),
	('key => ''none''', '(0,,0,t)'),
	('key_prefix => ''key 299''', '(11,8997,11,t)'),
	('key_prefix => ''key'', budget => 100', '(0,,100,f)'),
	('sub_type => ''s3'', budget => 9000, max_tasks => 10000', '(750,8997,9000,f)'),
	('type => ''LIVE|*'', max_tasks => 10000', '(3000,9000,9000,t)'),
	('added_by => ''anne'', bucket => ''b'', max_tasks => 10000', '(428,8988,9000,t)'),
	('node => ''nobody''', '(0,,9000,t)'),
	('data => ''{"n": 17}''', '(1,51,9000,t)'),
	('status => ''{}''', '(0,,0,t)')) x(filter, answer);

-- Pages: each task once, in order, and a cursor belongs to its filter.
CREATE FUNCTION pg_temp.pages(filter text, OUT ids text[], OUT calls integer) LANGUAGE plpgsql
AS $$
DECLARE page record; cursor text;
BEGIN
	calls := 0;
	LOOP
		EXECUTE format('SELECT array_agg(id::text) FILTER (WHERE id IS NOT NULL) AS ids, max(cursor) AS cursor FROM twtasks.list_tasks(%s, after => %L)', filter, cursor) INTO page;
		ids := ids || page.ids;
		calls := calls + 1;
		cursor := page.cursor;
		EXIT WHEN cursor IS NULL OR calls > 1000;
	END LOOP;
END $$;
SELECT is(p.ids, ARRAY(SELECT t.id::text FROM twtasks.tasks t WHERE (x.type IS NULL OR t.type = x.type) AND (x.status IS NULL OR t.status = ANY (x.status)) ORDER BY t.id DESC),
	format('pages of %s have each task once, newest first', x.filter))
FROM (VALUES ('max_tasks => 700', NULL, NULL::twtasks.task_status[]),
	('type => ''LIVE|3'', budget => 130, max_tasks => 7', 'LIVE|3', NULL),
	('''{SUBMITTED}'', ''LIVE|7'', max_tasks => 100', 'LIVE|7', '{SUBMITTED}'),
	('''{ERROR}'', max_tasks => 4', NULL, '{ERROR}'),
	('''{ERROR,WAITING}'', ''LIVE|2'', budget => 1400, max_tasks => 100', 'LIVE|2', '{ERROR,WAITING}'),
	('''{DONE,FAILED}'', ''OLD|4'', budget => 1000', 'OLD|4', '{DONE,FAILED}')) x(filter, type, status)
CROSS JOIN LATERAL pg_temp.pages(x.filter) p;
SELECT cursor AS cursor FROM twtasks.list_tasks(type => 'LIVE|3') WHERE id IS NULL \gset
SELECT throws_ok(format($$SELECT * FROM twtasks.list_tasks(type => 'LIVE|4', after => %L)$$, :'cursor'), '22023', NULL, 'a cursor of another filter is refused');
SELECT throws_ok($$SELECT * FROM twtasks.list_tasks(after => 'x')$$, '22023', NULL, 'a wrong cursor is refused');
SELECT throws_ok($$SELECT * FROM twtasks.list_tasks(budget => 1000001)$$, '22023', NULL, 'a budget above a million is refused');
SELECT throws_ok($$SELECT * FROM twtasks.list_tasks(max_tasks => 0)$$, '22023', NULL, 'a page of no task is refused');

-- The last row says how far the call looked.
SELECT is((SELECT l.looked_back_to FROM twtasks.list_tasks('{SUBMITTED}', 'NONE', budget => 100) l), NULL, 'a call that looked at no task looked back to no time');
SELECT is((SELECT l.looked_back_to FROM twtasks.list_tasks('{WAITING,SUBMITTED,ERROR}', 'NONE', budget => 100) l), now() - interval '2.901 s', 'the last row says how far back the call looked');

-- Rows that a call reads: those it looked at, in each walk.
CREATE FUNCTION pg_temp.rows_read() RETURNS bigint LANGUAGE sql
AS $$ SELECT sum(seq_tup_read + idx_tup_fetch)::bigint FROM pg_stat_xact_user_tables WHERE schemaname = 'twtasks' AND relname ~ 'task' $$;
CREATE FUNCTION pg_temp.reads(filter text) RETURNS bigint LANGUAGE plpgsql
AS $$ DECLARE before CONSTANT bigint := pg_temp.rows_read(); BEGIN
	EXECUTE format('SELECT FROM twtasks.list_tasks(%s)', filter);
	RETURN pg_temp.rows_read() - before;
END $$;
SELECT cmp_ok(pg_temp.reads('max_tasks => 20'), '<', 40::bigint, 'the newest tasks are read, and no others');
SELECT cmp_ok(pg_temp.reads('type => ''NONE'', budget => 500'), '<', 520::bigint, 'a filter without an index reads its budget');
SELECT cmp_ok(pg_temp.reads('''{SUBMITTED}'', ''LIVE|7'', max_tasks => 20'), '<', 60::bigint, 'the queue''s index leads to a type');
SELECT cmp_ok(pg_temp.reads('key => ''key 7'''), '<', 5::bigint, 'a key leads to its task');

-- Data are for roles that may read them.
SET LOCAL ROLE twtasks_viewer;
SELECT is((SELECT count(id) FROM twtasks.list_tasks('{ERROR}')), 30::bigint, 'a viewer may list tasks');
SELECT throws_ok($$SELECT * FROM twtasks.list_tasks(data => '{"n": 17}')$$, '42501', NULL, 'a viewer may not search in data');
RESET ROLE;

SELECT * FROM finish();
ROLLBACK;
