--
-- Limits of types: what configure_limit() takes, what grabs a limit of the whole
-- cluster lets through, when a slot ends, and whose turn it is then.
--
\ir ../lib/tasks.sql
SELECT plan(121);

TRUNCATE twtasks.slot_use, twtasks.limit_rule;
CREATE FUNCTION pg_temp.other() RETURNS bigint LANGUAGE plpgsql
AS $$
BEGIN
	IF coalesce(current_setting('test.other', true), '') = '' THEN
		PERFORM set_config('test.other', twtasks_internal.start_node('other')::text, false);
	END IF;
	RETURN current_setting('test.other')::bigint;
END $$;

-- Adds tasks of a type, and grabs them in one call; what each came to, in order.
CREATE FUNCTION pg_temp.add(type text, n integer DEFAULT 1, priority integer DEFAULT 5) RETURNS uuid[] LANGUAGE sql
AS $$ SELECT array_agg((twtasks.add_task(add.type, priority => add.priority)).task_id) FROM generate_series(1, n) $$;
CREATE FUNCTION pg_temp.try(ids uuid[], node bigint DEFAULT pg_temp.node(), rule twtasks.stuck_rule DEFAULT 'error') RETURNS text[] LANGUAGE sql
AS $$
	SELECT array_agg(CASE WHEN g.id IS NULL THEN 'lost' WHEN g.version IS NOT NULL THEN 'won'
						  ELSE g.type || CASE WHEN g.grabbed IS NULL THEN '' ELSE ' later' END END ORDER BY t.place)
	FROM unnest(ids) WITH ORDINALITY t(id, place)
	LEFT JOIN twtasks_internal.grab_tasks(ids, ARRAY(SELECT pg_temp.version_of(u) FROM unnest(ids) u), node, pg_temp.token(), '{60000}', ARRAY[rule]) g USING (id)
$$;
CREATE FUNCTION pg_temp.won(ids uuid[], node bigint DEFAULT pg_temp.node()) RETURNS integer LANGUAGE sql
AS $$ SELECT cardinality(array_positions(pg_temp.try(ids, node), 'won')) $$;
CREATE FUNCTION pg_temp.used(name text) RETURNS bigint LANGUAGE sql
AS $$ SELECT l.used FROM twtasks.limits l WHERE l.name = used.name $$;
CREATE FUNCTION pg_temp.anew() RETURNS void LANGUAGE sql
AS $$
	DELETE FROM twtasks.limit_rule;
	TRUNCATE twtasks.slot_use, twtasks.task, twtasks.finished_task;
$$;

-- ---- what is counted together ----
SELECT is(twtasks.limit_name(p, t), n, format('type %s is counted right under pattern %s', t, p))
FROM (VALUES ('*', 'A|x', '*'), ('A*', 'AB|x', 'A*'), ('A', 'A', 'A'), ('A', 'A|x|1', 'A'), ('A', 'AB', NULL), ('A|*', 'A', NULL),
	('A|*', 'A|x|1', 'A|x'), ('A|*', 'A|', 'A|'), ('A|x', 'A|x|1', 'A|x'), ('A|x|*', 'A|x|1|2', 'A|x|1'), ('A|x|*', 'A|y|1', NULL)) v(p, t, n);
SELECT throws_ok($$SELECT twtasks.limit_name('A**', 'A')$$, '22023', 'invalid pattern: "A**"', 'a malformed pattern has no limit name');

-- ---- what can be configured ----
SELECT throws_ok($$SELECT twtasks.configure_limit(NULL, 1)$$, '22004', 'pattern must not be null', 'a NULL pattern is refused');
SELECT throws_ok(format('SELECT twtasks.configure_limit(%L, 1)', p), '22023', NULL, 'a malformed pattern is refused: ' || left(p, 10))
FROM unnest(ARRAY['', 'A B', 'A*B', 'A|*|B', repeat('A', 121)]) p;
SELECT throws_ok($$SELECT twtasks.configure_limit('A', 1, NULL)$$, '22004', 'scope must not be null', 'a NULL scope is refused');
SELECT throws_ok($$SELECT twtasks.configure_limit('A', 1, 'galaxy')$$, '22P02', NULL, 'an unknown scope is refused');
SELECT throws_ok($$SELECT twtasks.configure_limit('A', 1, per => NULL)$$, '22004', 'per must not be null', 'a NULL period is refused');
SELECT throws_ok($$SELECT twtasks.configure_limit('A')$$, '22023', 'neither concurrency nor rate is given', 'a limit without concurrency and rate is refused');
SELECT throws_ok($$SELECT twtasks.configure_limit('A', -1)$$, '22023', 'concurrency must be between 0 and 1000000, not -1', 'a negative concurrency is refused');
SELECT throws_ok($$SELECT twtasks.configure_limit('A', 10001, 'cluster')$$, '22023', 'concurrency must be between 0 and 10000, not 10001', 'a concurrency above 10,000 is refused in the cluster');
SELECT throws_ok($$SELECT twtasks.configure_limit('A', 1, stretch => 1)$$, '22023', 'stretch needs concurrency and stretch_priority', 'a stretch needs a priority');
SELECT throws_ok($$SELECT twtasks.configure_limit('A', 1, stretch_priority => 1)$$, '22023', 'stretch needs concurrency and stretch_priority', 'a stretch priority needs a stretch');
SELECT throws_ok($$SELECT twtasks.configure_limit('A', stretch => 1, stretch_priority => 1, rate => 1)$$, '22023', 'stretch needs concurrency and stretch_priority', 'a stretch needs a concurrency');
SELECT throws_ok($$SELECT twtasks.configure_limit('A', 1, stretch => -1, stretch_priority => 1)$$, '22023', NULL, 'a negative stretch is refused');
SELECT throws_ok($$SELECT twtasks.configure_limit('A', 1, stretch => 1, stretch_priority => 10)$$, '22023', 'stretch_priority must be between 0 and 9, not 10', 'a stretch_priority above 9 is refused');
SELECT throws_ok($$SELECT twtasks.configure_limit('A', rate => 0)$$, '22023', 'rate must be between 1 and 1000000, not 0', 'a rate of 0 is refused');
SELECT throws_ok($$SELECT twtasks.configure_limit('A', 1, burst => 2)$$, '22023', 'burst needs rate', 'a burst needs a rate');
SELECT throws_ok($$SELECT twtasks.configure_limit('A', rate => 1, burst => 0)$$, '22023', NULL, 'a burst of 0 is refused');
SELECT throws_ok($$SELECT twtasks.configure_limit('A', rate => 1, per => '0')$$, '22023', NULL, 'a period of 0 is refused');
SELECT throws_ok($$SELECT twtasks.configure_limit('A', rate => 1, per => '367 days')$$, '22023', NULL, 'a period of more than a year is refused');
SELECT is((SELECT count(*) FROM twtasks.limits), 0::bigint, 'a refused limit is not stored');
SELECT twtasks.configure_limit('A|*', 5, 'cluster', stretch => 2, stretch_priority => 1, rate => 100, per => '1 min', burst => 3) \g /dev/null
SELECT twtasks.configure_limit('A|*', 7) \g /dev/null
SELECT twtasks.configure_limit('*', rate => 10) \g /dev/null
SELECT bag_eq($$SELECT to_jsonb(l) - 'changed_at' FROM twtasks.limits l$$, ARRAY[
	jsonb_build_object('pattern', 'A|*', 'scope', 'cluster', 'concurrency', 5, 'stretch', 2, 'stretch_priority', 1, 'rate', 100, 'per', '00:01:00', 'burst', 3,
		'name', NULL, 'used', NULL, 'waiting', NULL, 'changed_by', session_user),
	jsonb_build_object('pattern', 'A|*', 'scope', 'node', 'concurrency', 7, 'stretch', 0, 'stretch_priority', NULL, 'rate', NULL, 'per', NULL, 'burst', NULL,
		'name', NULL, 'used', NULL, 'waiting', NULL, 'changed_by', session_user),
	jsonb_build_object('pattern', '*', 'scope', 'node', 'concurrency', NULL, 'stretch', 0, 'stretch_priority', NULL, 'rate', 10, 'per', '00:00:01', 'burst', 10,
		'name', NULL, 'used', NULL, 'waiting', NULL, 'changed_by', session_user)], 'the view limits shows a row for each scope');
SELECT bag_eq('SELECT to_jsonb(r) FROM twtasks_internal.read_limits() r', ARRAY[
	'{"pattern": "A|*", "is_shared": true, "concurrency": 5, "stretch": 2, "stretch_priority": 1, "rate": 100, "per_us": 60000000, "burst": 3}',
	'{"pattern": "A|*", "is_shared": false, "concurrency": 7, "stretch": 0, "stretch_priority": 0, "rate": 0, "per_us": 0, "burst": 0}',
	'{"pattern": "*", "is_shared": false, "concurrency": -1, "stretch": 0, "stretch_priority": 0, "rate": 10, "per_us": 1000000, "burst": 10}']::jsonb[],
	'a sidecar reads the limits as numbers');
SELECT twtasks.configure_limit('A|*', rate => 1) \g /dev/null
SELECT is((SELECT ARRAY[concurrency, rate] FROM twtasks.limits WHERE pattern = 'A|*' AND scope = 'node'), '{NULL,1}', 'a second call replaces the whole limit');
SELECT is(twtasks.drop_limit('A|*', 'cluster'), true, 'a limit is dropped');
SELECT is((SELECT array_agg(pattern || scope::text ORDER BY pattern) FROM twtasks.limits), '{*node,A|*node}', 'the limit of the other scope stays');
SELECT is(twtasks.drop_limit('A|*'), true, 'the limit of the other scope can be dropped too');
SELECT is(twtasks.drop_limit('A|*'), false, 'a limit cannot be dropped twice');

-- ---- who is let through ----
SELECT pg_temp.anew();
SELECT twtasks.configure_limit('P|*', 2, 'cluster'), twtasks.configure_limit('P', 5, 'cluster'), twtasks.configure_limit('*', 6, 'cluster') \g /dev/null
SELECT is(pg_temp.try(pg_temp.add('P|a', 3) || pg_temp.add('P|b', 2) || pg_temp.add('P|c', 2) || pg_temp.add('Q', 2)),
	'{won,won,P|a,won,won,won,P,won,*}', 'a task needs a slot of each limit, and a refusal names the full one');
SELECT is(ARRAY[pg_temp.used('P|a'), pg_temp.used('P|b'), pg_temp.used('P|c'), pg_temp.used('P'), pg_temp.used('*')], '{2,2,1,5,6}', 'each limit counts the tasks that it covers');
SELECT is(pg_temp.try(ARRAY(SELECT id FROM twtasks.task WHERE status = 'SUBMITTED' ORDER BY id), pg_temp.other()), '{P|a,P,*}', 'another node is refused as well');
SELECT is((SELECT array_agg(id) FROM twtasks.task WHERE version <> 0 AND status = 'SUBMITTED'), NULL, 'a refused task stays as it is');
SELECT is(pg_temp.try(pg_temp.add('P|a')), '{P|a}', 'a refusal names the narrowest full limit');

SELECT pg_temp.anew();
SELECT twtasks.configure_limit('A', 1, 'cluster', stretch => 2, stretch_priority => 1) \g /dev/null
SELECT is(pg_temp.try(pg_temp.add('A', 1, 7) || pg_temp.add('A', 1, 5) || pg_temp.add('A', 1, 5)), '{A,won,A}', 'the most urgent tasks of a call get the slots');
SELECT is(pg_temp.try(pg_temp.add('A', 1, 2)), '{A}', 'only urgent tasks get slots of the stretch');
SELECT is(pg_temp.try(pg_temp.add('A', 1, 1) || pg_temp.add('A', 1, 0) || pg_temp.add('A', 1, 0)), '{A,won,won}', 'two tasks of priority 0 and 1 fit into the stretch');

SELECT pg_temp.anew();
SELECT twtasks.configure_limit('K|*', 1, 'cluster'), twtasks.configure_limit('K|vip', 3, 'cluster') \g /dev/null
SELECT is(pg_temp.try(pg_temp.add('K|x', 2) || pg_temp.add('K|vip', 4) || pg_temp.add('K', 2)), '{won,K|x,won,won,won,K|vip,won,won}', 'a limit for one key replaces the limit for each key');
SELECT is((SELECT array_agg(pattern || ' ' || name || ' ' || used ORDER BY name) FROM twtasks.limits), '{K|vip K|vip 3,K|* K|x 1}', 'the view shows the limit that counts the key');
SELECT twtasks.drop_limit('K|vip') \g /dev/null
SELECT is(pg_temp.try(pg_temp.add('K|vip')), '{K|vip}', 'the limit for each key counts again when the other is dropped');
SELECT twtasks.configure_limit('K|*', 0, 'cluster') \g /dev/null
SELECT is(pg_temp.try(pg_temp.add('K|y')), '{K|y}', 'a limit of 0 lets no task start');
SELECT twtasks.drop_limit('K|*') \g /dev/null
SELECT is(pg_temp.try(pg_temp.add('K|y')), '{won}', 'without a limit all tasks are grabbed');

-- ---- when a slot ends ----
SELECT pg_temp.anew();
SELECT twtasks.configure_limit('E', 1, 'cluster') \g /dev/null
CREATE FUNCTION pg_temp.ends(how text) RETURNS text LANGUAGE plpgsql
AS $$
DECLARE
	one uuid[] := pg_temp.add('E');
	next uuid[] := pg_temp.add('E');
	before text;
	after text;
BEGIN
	PERFORM pg_temp.try(one, rule => 'retry');
	before := pg_temp.try(next);
	EXECUTE format(how, one[1]);
	after := pg_temp.try(next);
	TRUNCATE twtasks.task;
	RETURN before || after;
END $$;
SELECT is(pg_temp.ends(format('SELECT pg_temp.finish(%%L, %L)', r)), '{E}{won}', 'a slot is free when its task ends with ' || r) FROM unnest('{done,delete,retry,repeat,error,release,accepted}'::text[]) r;
SELECT is(pg_temp.ends('UPDATE twtasks.task SET deadline = clock_timestamp() WHERE id = %L; SELECT twtasks_internal.recover_tasks()'), '{E}{won}', 'a slot is free when its task passes its deadline');
SELECT is(pg_temp.ends('UPDATE twtasks.task SET version = version + 1 WHERE id = %L'), '{E}{won}', 'a slot is free when its task has another version');
SELECT is(pg_temp.ends('SELECT pg_temp.finish(%L, ''done'', 77)'), '{E}{E}', 'a refused finish keeps the slot');
SELECT is(pg_temp.ends('SELECT pg_temp.version_of(%L)'), '{E}{E}', 'a slot is not free by itself');
SELECT is(pg_temp.ends('SELECT twtasks_internal.end_node(pg_temp.node()), %L, set_config(''test.node'', '''', false)'), '{E}{won}', 'a slot is free when its node is gone');

-- A slot of a grab that came to nothing is no slot.
SELECT pg_temp.anew();
SELECT twtasks.configure_limit('E', 2, 'cluster') \g /dev/null
SELECT pg_temp.add('E', 4) AS ids \gset
BEGIN;
SELECT is(pg_temp.try((:'ids'::uuid[])[1:2]), '{won,won}', 'a grab may be rolled back');
ROLLBACK;
SELECT is(pg_temp.try((:'ids'::uuid[])[3:4]), '{won,won}', 'the slots of a rolled-back grab are free for others');
SELECT pg_temp.finish(u, 'done') FROM unnest((:'ids'::uuid[])[3:4]) u \g /dev/null
SELECT twtasks.hold_task((:'ids'::uuid[])[1], 0, 'test') \g /dev/null
SELECT is(pg_temp.try((:'ids'::uuid[])[1:1] || (:'ids'::uuid[])[2:2]), '{lost,won}', 'a lost task takes no slot');
SELECT is(pg_temp.used('E'), 1::bigint, 'a lost task does not count');
SELECT is(pg_temp.try((:'ids'::uuid[])[2:2]), '{lost}', 'a running task takes no second slot');
SELECT is(pg_temp.try(pg_temp.add('E')), '{won}', 'a slot is left after the lost tasks');
SELECT is((SELECT cardinality(ids) FROM twtasks.slot_use WHERE name = 'E' AND epoch > 0), 2, 'entries that hold no slot are dropped when room is needed');

-- Nor does one that is lost to another, or to itself, take the other's away.
SELECT pg_temp.anew();
SELECT twtasks.configure_limit('E', 2, 'cluster') \g /dev/null
SELECT is((SELECT count(g.version) FROM (SELECT (pg_temp.add('E'))[1] AS id) t,
	twtasks_internal.grab_tasks(ARRAY[t.id, t.id], '{0,0}', pg_temp.node(), 1, '{60000}', '{error}') g), 1::bigint, 'a task named twice is grabbed once');
SELECT is(pg_temp.used('E'), 1::bigint, 'a task named twice has one slot');
SELECT is(pg_temp.try(pg_temp.add('E', 2)), '{won,E}', 'the slot of a task named twice counts');
SELECT twtasks.configure_limit('F1', 1, 'cluster'), twtasks.configure_limit('F2', 2, 'cluster'), twtasks.configure_limit('G', 2, 'cluster') \g /dev/null
CREATE FUNCTION pg_temp.again(type text) RETURNS text[] LANGUAGE sql
AS $$
	SELECT array_agg(coalesce(g.version::text, g.type) ORDER BY g.type) FROM (SELECT (pg_temp.add(again.type))[1] AS f, (pg_temp.add('G'))[1] AS g) t,
	twtasks_internal.grab_tasks(ARRAY[t.f, t.g, t.f], '{0}', pg_temp.node(), 1, '{60000}', '{error}') g
$$;
SELECT is(pg_temp.again('F2'), '{1,1}', 'a task named again after one of another limit is grabbed once');
SELECT is(pg_temp.again('F1'), '{1,1}', 'a task named again is not refused');
-- A new limit counts what runs.
SELECT pg_temp.anew();
SELECT pg_temp.won(pg_temp.add('N|a', 2) || pg_temp.add('N|b', 1) || pg_temp.add('M', 1)) \g /dev/null
SELECT twtasks.configure_limit('N', 4, 'cluster'), twtasks.configure_limit('N|*', 2, 'cluster') \g /dev/null
SELECT is(ARRAY[pg_temp.used('N'), pg_temp.used('N|a'), pg_temp.used('N|b')], '{3,2,1}', 'a new limit counts the running tasks');
SELECT is(pg_temp.try(pg_temp.add('N|a') || pg_temp.add('N|b') || pg_temp.add('N|c')), '{N|a,won,N}', 'a new limit lets the rest start');
SELECT twtasks.configure_limit('N', 6, 'cluster') \g /dev/null
SELECT is(pg_temp.won(pg_temp.add('N|d', 3)), 2, 'a raised limit lets more tasks start');
SELECT twtasks.configure_limit('N', 1, 'cluster') \g /dev/null
SELECT is(pg_temp.used('N'), 6::bigint, 'a lowered limit ends no task');
SELECT is(pg_temp.won(pg_temp.add('N|e')), 0, 'a lowered limit lets no task start');

-- ---- rates ----
SELECT pg_temp.anew();
SELECT twtasks.configure_limit('R|*', scope => 'cluster', rate => 10, per => '1 h', burst => 3) \g /dev/null
SELECT is(pg_temp.try(pg_temp.add('R|a', 4)), '{won,won,won,"R|a later"}', 'a rate lets a burst start at once, and others later');
SELECT is(pg_temp.try(pg_temp.add('R|b', 2), pg_temp.other()), '{won,won}', 'each key has its own rate');
SELECT is(pg_temp.won(pg_temp.add('R|b', 2)), 1, 'the rate is shared by all nodes');
CREATE FUNCTION pg_temp.pass(name text, t interval) RETURNS void LANGUAGE sql
AS $$ UPDATE twtasks.slot_use u SET used_at = u.used_at - t, epoch = u.epoch + 1 WHERE u.name = pass.name AND u.epoch > 0 $$;
SELECT pg_temp.pass('R|a', '5 min');
SELECT is(pg_temp.won(pg_temp.add('R|a', 2)), 0, 'no task starts before its time');
SELECT is((SELECT round(extract(epoch FROM g.grabbed - clock_timestamp()) / 10) * 10 FROM (SELECT (pg_temp.add('R|a'))[1] AS id) t,
	twtasks_internal.grab_tasks(ARRAY[t.id], '{0}', pg_temp.node(), 1, '{1000}', '{error}') g), 60::numeric, 'a refusal says when the next start is allowed');
SELECT pg_temp.pass('R|a', '61 s');
SELECT is(pg_temp.won(pg_temp.add('R|a', 2)), 1, 'one task may start after each part of the period');
SELECT pg_temp.pass('R|a', '10 h');
SELECT is(pg_temp.won(pg_temp.add('R|a', 5)), 3, 'a long pause allows no more than a burst');
SELECT pg_temp.pass('R|a', '-10 h');
SELECT is(pg_temp.won(pg_temp.add('R|a', 1)), 0, 'a clock that goes back allows no start');
SELECT pg_temp.pass('R|a', '7 min');
SELECT is(pg_temp.won(pg_temp.add('R|a', 2)), 0, 'time passed a second time allows no start');
SELECT is((SELECT count(*) FROM twtasks.task WHERE status = 'PROCESSING' AND type = 'R|a'), 7::bigint, 'seven tasks have started in all');
SELECT pg_temp.pass('R|b', '6 min');
BEGIN;
SELECT is(pg_temp.won(pg_temp.add('R|b', 1)), 1, 'a start may be rolled back');
ROLLBACK;
SELECT is(pg_temp.won(pg_temp.add('R|b', 2)), 1, 'a start that is rolled back is not used up');
SELECT is((SELECT ids FROM twtasks.slot_use WHERE name = 'R|a' AND epoch > 0), '{}', 'a rate alone remembers no tasks');

SELECT twtasks.configure_limit('RC', 100, 'cluster', rate => 10, per => '1 h', burst => 3) \g /dev/null
SELECT is(pg_temp.won(pg_temp.add('RC', 4)), 3, 'a rate counts beside a concurrency');
SELECT pg_temp.pass('RC', '7 min');
SELECT twtasks.configure_limit('RC', 50, 'cluster', rate => 10, per => '1 h', burst => 3) \g /dev/null
SELECT is(pg_temp.won(pg_temp.add('RC', 2)), 1, 'a changed rate keeps the starts that time has brought');

-- ---- whose turn it is ----
SELECT pg_temp.anew();
SELECT twtasks.configure_limit('O', 3, 'cluster') \g /dev/null
CREATE FUNCTION pg_temp.offer(freed integer, wanted boolean, node bigint) RETURNS integer LANGUAGE sql
AS $$ SELECT o.turns FROM twtasks_internal.offer_slots('{O}', ARRAY[freed], ARRAY[wanted], node) o $$;
CREATE FUNCTION pg_temp.queue() RETURNS text LANGUAGE sql
AS $$ SELECT string_agg(CASE w.node WHEN pg_temp.node() THEN 'me' WHEN pg_temp.other() THEN 'other' ELSE 'gone' END, ' ' ORDER BY w.place)
	FROM twtasks.slot_use u, unnest(u.waiting) WITH ORDINALITY w(node, place) WHERE u.name = 'O' AND u.epoch > 0 $$;
SELECT is(pg_temp.offer(2, true, pg_temp.node()), 2, 'a limit that nobody has used belongs to the caller');
SELECT pg_temp.won(pg_temp.add('O', 3)) \g /dev/null
SELECT is(pg_temp.offer(2, true, pg_temp.node()), 2, 'a free slot belongs to the caller if nobody waits');
SELECT pg_temp.won(pg_temp.add('O', 1), pg_temp.other()) \g /dev/null
SELECT is(pg_temp.queue(), 'other', 'a refused node waits');
SELECT pg_temp.won(pg_temp.add('O', 1), pg_temp.other()) \g /dev/null
SELECT is(pg_temp.queue(), 'other', 'a node that is refused twice waits once');
BEGIN;
SET LOCAL synchronous_commit = on;
SELECT is(pg_temp.offer(1, true, pg_temp.node()), 0, 'the first waiting node has its turn');
SELECT is(current_setting('synchronous_commit'), 'on', 'an offer does not change the durability of the transaction');
COMMIT;
SELECT is(pg_temp.queue(), 'me', 'the caller has the next turn');
SELECT pg_temp.won(pg_temp.add('O', 1), pg_temp.other()) \g /dev/null
SELECT is(pg_temp.offer(3, false, pg_temp.other()), 0, 'a node that hands on its turn waits no more');
SELECT is(pg_temp.queue(), 'other', 'a node refused meanwhile keeps its place');
SELECT is(pg_temp.offer(3, false, pg_temp.other()), 3, 'the turn is the caller''s if nobody else waits');
SELECT pg_temp.won(pg_temp.add('O', 1)), pg_temp.won(pg_temp.add('O', 1), pg_temp.other()) \g /dev/null
SELECT is(pg_temp.offer(5, true, pg_temp.other()), 3, 'several slots are shared out among the waiting nodes');
SELECT twtasks_internal.end_node(pg_temp.other()) \g /dev/null
SELECT pg_temp.won(pg_temp.add('O', 1), pg_temp.other()), pg_temp.won(pg_temp.add('O', 1)) \g /dev/null
SELECT is(pg_temp.queue(), 'me', 'a node that has ended gets no refusal');
UPDATE twtasks.slot_use SET waiting = ARRAY[pg_temp.other()] || waiting, epoch = epoch + 1 WHERE name = 'O' AND epoch > 0;
SELECT is(pg_temp.offer(1, true, pg_temp.node()), 1, 'a node that has ended has no turn');
SELECT pg_temp.anew();
SELECT set_config('test.other', '', false), twtasks.configure_limit('O', 2, 'cluster') \g /dev/null
SELECT pg_temp.try(pg_temp.add('O', 2), pg_temp.other(), 'ignore'), pg_temp.won(pg_temp.add('O', 1)) \g /dev/null
SELECT twtasks_internal.recover_tasks() \g /dev/null
SELECT is(pg_temp.queue(), 'me', 'a node waits while another one has the slots');
SELECT twtasks_internal.end_node(pg_temp.other()), twtasks_internal.recover_tasks() \g /dev/null
SELECT is(pg_temp.queue(), NULL, 'it is told of slots of a gone node whose tasks stay PROCESSING');
SELECT is(pg_temp.won(pg_temp.add('O', 2)), 2, 'those slots are free');
SELECT throws_ok($$SELECT twtasks_internal.offer_slots('{O,P}', '{1}', '{t}', 1)$$, '22023', 'arrays must have one length', 'arrays of different lengths are refused');

-- ---- what is forgotten ----
SELECT pg_temp.anew();
SELECT twtasks.configure_limit('F|*', 1, 'cluster', rate => 1, per => '1 h'), twtasks.configure_limit('G', 1, 'cluster') \g /dev/null
SELECT pg_temp.won(pg_temp.add('F|a') || pg_temp.add('F|b') || pg_temp.add('G')) \g /dev/null
SELECT pg_temp.finish(id, 'done') FROM twtasks.task WHERE type IN ('F|a', 'G') \g /dev/null
SELECT is(twtasks_internal.clean_slots('1 min'), 0::bigint, 'limits used lately are not cleaned');
SELECT is(twtasks_internal.clean_slots('0'), 1::bigint, 'limits with held slots or used-up rates are not cleaned');
UPDATE twtasks.slot_use SET used_at = used_at - interval '2 h';
SELECT is(twtasks_internal.clean_slots(), 1::bigint, 'a key that has rested is cleaned');
SELECT is((SELECT array_agg(name || epoch ORDER BY name, epoch) FROM twtasks.slot_use), '{F|b0,F|b2}', 'the keys in use stay');
SELECT twtasks.drop_limit('F|*') \g /dev/null
SELECT is(twtasks_internal.clean_slots(), 1::bigint, 'a key without a configured limit is cleaned');
SELECT pg_temp.anew();

SELECT * FROM finish();
