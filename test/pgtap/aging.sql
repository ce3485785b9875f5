--
-- Tasks that wait rise: what a policy may say about it, and in which order a
-- sweep finds them.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(32);

-- ---- the option ----
SELECT is((SELECT aging FROM twtasks.policy_of('A')), NULL, 'no type has aging by default');
SELECT throws_ok($$SELECT twtasks.configure_type('A', aging => '99 ms')$$, '22023', 'aging must be between 00:00:00.1 and 30 days, not 00:00:00.099', 'an aging that is too short is refused');
SELECT throws_ok($$SELECT twtasks.configure_type('A', aging => '31 d')$$, '22023', NULL, 'an aging that is too long is refused');
SELECT throws_ok($$SELECT twtasks.configure_type('A', aging => '-1 s')$$, '22023', NULL, 'a negative aging is refused');
SELECT lives_ok($$SELECT twtasks.configure_type('*', aging => '10 min')$$, 'all types can have aging');
SELECT lives_ok($$SELECT twtasks.configure_type('A|*', aging => '1 min')$$, 'some types can have an aging of their own');
SELECT lives_ok($$SELECT twtasks.configure_type('A|NOT', aging => '0')$$, 'some types can be free of aging');
SELECT is((SELECT array_agg(extract(epoch FROM p.aging)::integer ORDER BY t) FROM unnest('{A,A|B,A|NOT}'::text[]) t, twtasks.policy_of(t) p), '{600,60,0}'::integer[],
	'the most special pattern decides the aging');
SELECT is((SELECT jsonb_object_agg(name, aging_ms) FROM twtasks_internal.read_policies('node') WHERE kind = 'policy'), '{"*": 600000, "A|*": 60000, "A|NOT": 0}', 'sidecars read the aging');
SELECT is((SELECT aging FROM twtasks.type_policies WHERE pattern = 'A|*'), '1 min'::interval, 'the view shows the aging');
SELECT is(twtasks.unset_type_options('A|*', 'aging'), true, 'the aging can be unset');
SELECT is((SELECT aging FROM twtasks.policy_of('A|B')), '10 min'::interval, 'a less special pattern decides an unset aging');
SELECT twtasks.drop_type_policy('*'), twtasks.drop_type_policy('A|NOT') \g /dev/null

-- ---- the sweep ----
-- Adds one that has waited for so many minutes.
CREATE FUNCTION pg_temp.waiting(n integer, type text, priority integer, minutes numeric) RETURNS uuid LANGUAGE plpgsql
AS $$
BEGIN
	PERFORM twtasks.add_task(type, task_id => pg_temp.id(n), priority => priority);
	UPDATE twtasks.task SET state_time = state_time - minutes * interval '1 min' WHERE id = pg_temp.id(n);
	RETURN pg_temp.id(n);
END $$;
CREATE FUNCTION pg_temp.swept(type text, per_type integer DEFAULT 100, share integer DEFAULT 0, shares integer DEFAULT 1) RETURNS text LANGUAGE sql
AS $$
	SELECT coalesce(string_agg(right(s.id::text, 2)::integer || ':' || s.priority, ' ' ORDER BY n), 'none')
	FROM twtasks_internal.sweep_tasks('default', per_type, '{}', share, shares) WITH ORDINALITY s(id, version, type, priority, size, place, n)
	WHERE s.type = swept.type
$$;
SELECT pg_temp.waiting(1, 'A', 9, 25), pg_temp.waiting(2, 'A', 5, 0), pg_temp.waiting(3, 'A', 8, 49), pg_temp.waiting(4, 'A', 4, 9),
	pg_temp.waiting(5, 'A', 0, 1), pg_temp.waiting(6, 'A', 9, 10000), pg_temp.waiting(7, 'A', 1, 10000), pg_temp.waiting(8, 'A', 9, 0) \g /dev/null
SELECT is(pg_temp.swept('A'), '5:0 7:1 4:4 2:5 3:8 1:9 6:9 8:9', 'tasks without aging come by priority, then in order of arrival');
SELECT twtasks.configure_type('A', aging => '10 min') \g /dev/null
SELECT is(pg_temp.swept('A'), '5:0 7:1 3:4 4:4 2:5 1:7 6:1 8:9', 'tasks with aging come by risen priority, a later one of a priority after the first');
SELECT is(pg_temp.grab(pg_temp.id(1)), 1::bigint, 'the first task of that priority is grabbed');
SELECT is(pg_temp.swept('A'), '5:0 6:1 7:1 3:4 4:4 2:5 8:9', 'the later task is found then, after those added as urgent');
SELECT is(pg_temp.swept('A', 2), '5:0 6:1', 'a sweep finds the most urgent, and no more than asked');
SELECT is((SELECT array_agg(priority ORDER BY id) FROM twtasks.task WHERE type = 'A'), '{9,5,8,4,0,9,1,9}'::smallint[], 'the stored priorities stay');
SELECT twtasks.configure_type('A', aging => '1 min') \g /dev/null
SELECT is(pg_temp.swept('A'), '5:0 6:1 7:1 3:1 4:1 2:5 8:9', 'another aging counts at once');
SELECT pg_temp.waiting(20, 'B', 9, 60), pg_temp.waiting(21, 'B', 8, 0) \g /dev/null
SELECT is(pg_temp.swept('B'), '21:8 20:9', 'tasks of other types keep their priority');
SELECT is((SELECT count(*) FROM twtasks_internal.sweep_tasks('default', 0)), 0::bigint, 'a sweep for no task finds none');
SELECT twtasks.configure_type('A', aging => '10 min') \g /dev/null

-- Aging lets a sweep find no task that it would not find without.
UPDATE twtasks.task SET expires = clock_timestamp() WHERE id = pg_temp.id(3);
SELECT is(pg_temp.swept('A'), '5:0 6:1 7:1 4:4 2:5 8:9', 'a sweep finds no expired task');
SELECT twtasks.pause_type('A') \g /dev/null
SELECT is(pg_temp.swept('A'), 'none', 'a sweep finds no paused task');
SELECT twtasks.resume_type('A') \g /dev/null
SELECT twtasks.add_task('MANY', priority => n % 10) FROM generate_series(1, 500) n \g /dev/null
SELECT twtasks.configure_type('MANY', aging => '1 s') \g /dev/null
SELECT bag_eq($$SELECT id FROM generate_series(0, 2) share, twtasks_internal.sweep_tasks('default', 1000, '{}', share, 3) s WHERE s.type = 'MANY'$$,
	$$SELECT id FROM twtasks.task WHERE type = 'MANY'$$, 'each task is in exactly one share');

-- A backlog that is larger than what a sweep brings hides no old task.
SELECT pg_temp.waiting(30, 'MANY', 9, 1) \g /dev/null
SELECT is((SELECT count(*) FROM twtasks_internal.sweep_tasks('default', 60) WHERE id = pg_temp.id(30)), 1::bigint, 'an old task is found behind many that are more urgent');
SELECT twtasks.unset_type_options('MANY', 'aging') \g /dev/null
SELECT is((SELECT count(*) FROM twtasks_internal.sweep_tasks('default', 60) WHERE id = pg_temp.id(30)), 0::bigint, 'an old task is not found without aging');

-- ---- the slots of a cluster ----
SELECT twtasks.configure_limit('L', concurrency => 1, scope => 'cluster') \g /dev/null
SELECT pg_temp.waiting(40, 'L', 9, 60), pg_temp.waiting(41, 'L', 5, 0) \g /dev/null
CREATE FUNCTION pg_temp.winner() RETURNS uuid LANGUAGE sql
AS $$ SELECT id FROM twtasks_internal.grab_tasks(ARRAY[pg_temp.id(41), pg_temp.id(40)], '{0,0}', pg_temp.node(), pg_temp.token(), '{60000,60000}', '{error,error}') WHERE version IS NOT NULL $$;
SAVEPOINT before;
SELECT is(pg_temp.winner(), pg_temp.id(41), 'the more urgent task gets the only slot');
ROLLBACK TO before;
SELECT twtasks.configure_type('L', aging => '10 min') \g /dev/null
SELECT is(pg_temp.winner(), pg_temp.id(40), 'the task that waited for long gets the only slot');
SELECT is((SELECT version IS NULL FROM twtasks_internal.grab_tasks(ARRAY[pg_temp.id(41)], '{0}', pg_temp.node(), pg_temp.token(), '{60000}', '{error}')), true, 'the other task is refused');

-- An aged task has the slots that are kept for the urgent.
SELECT twtasks.configure_limit('S', concurrency => 1, stretch => 1, stretch_priority => 1, scope => 'cluster') \g /dev/null
SELECT pg_temp.waiting(50, 'S', 0, 0), pg_temp.waiting(51, 'S', 5, 25) \g /dev/null
SELECT is(pg_temp.grab(pg_temp.id(50)), 1::bigint, 'the usual slot is taken');
SAVEPOINT full_but_for_urgent;
SELECT twtasks.configure_type('S', aging => '10 min') \g /dev/null
SELECT is(pg_temp.grab(pg_temp.id(51)), NULL, 'a task that counts as priority 3 gets no slot of the urgent');
ROLLBACK TO full_but_for_urgent;
SELECT twtasks.configure_type('S', aging => '5 min') \g /dev/null
SELECT is(pg_temp.grab(pg_temp.id(51)), 1::bigint, 'a task that counts as priority 1 gets a slot of the urgent');

SELECT * FROM finish();
ROLLBACK;
