--
-- Policies in the database: what configure_type() takes, what it comes to for a
-- type, and what add_task() makes of it.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(85);

-- Returns the options that are set for a type, as JSON.
CREATE FUNCTION pg_temp.policy(type text) RETURNS jsonb LANGUAGE sql
AS $$ SELECT jsonb_strip_nulls(to_jsonb(p)) FROM twtasks.policy_of(type) p $$;

-- ---- what it comes to ----
SELECT is(pg_temp.policy('PAY'), '{"patterns": []}', 'a type has no options when nothing is configured');
SELECT twtasks.configure_type('*', priority => 7, timeout => '1min') \g /dev/null
SELECT twtasks.configure_type('PAY|*', timeout => '30s', stuck => 'retry') \g /dev/null
SELECT twtasks.configure_type('PAY|CARD', stuck => 'fail') \g /dev/null
SELECT is(pg_temp.policy('PAY|CARD'), '{"patterns": ["PAY|CARD", "PAY|*", "*"], "priority": 7, "timeout": "00:00:30", "stuck": "fail"}',
	'each option is that of the most special pattern that sets it');
SELECT is(pg_temp.policy('PAY|BANK'), '{"patterns": ["PAY|*", "*"], "priority": 7, "timeout": "00:00:30", "stuck": "retry"}', 'a longer beginning is more special');
SELECT is(pg_temp.policy('PAY'), '{"patterns": ["*"], "priority": 7, "timeout": "00:01:00"}', 'a pattern matches only its whole beginning');
SELECT is(pg_temp.policy('pay|CARD'), '{"patterns": ["*"], "priority": 7, "timeout": "00:01:00"}', 'a pattern matches only in the same case');
SELECT twtasks.configure_type('PAY|CARD*', stuck => 'ignore') \g /dev/null
SELECT is(pg_temp.policy('PAY|CARD')->>'stuck', 'fail', 'the type itself is more special than a beginning of its length');

-- ---- changed and taken away ----
SELECT twtasks.configure_type('PAY|CARD', queue_time => '1min') \g /dev/null
SELECT is(pg_temp.policy('PAY|CARD') - 'patterns', '{"priority": 7, "timeout": "00:00:30", "stuck": "fail", "queue_time": "00:01:00"}', 'an option that is not named stays');
SELECT twtasks.configure_type('PAY|CARD', stuck => 'error') \g /dev/null
SELECT is(pg_temp.policy('PAY|CARD')->>'stuck', 'error', 'an option that is named is changed');
SELECT is(twtasks.unset_type_options('PAY|CARD', 'stuck'), true, 'an option can be unset');
SELECT is(pg_temp.policy('PAY|CARD')->>'stuck', 'ignore', 'a less special pattern decides an unset option');
SELECT is(twtasks.unset_type_options('PAY|CARD', 'queue_time', 'timeout'), true, 'several options can be unset, whether set or not');
SELECT is(pg_temp.policy('PAY|CARD')->'patterns', '["PAY|CARD*", "PAY|*", "*"]', 'a pattern without options is gone');
SELECT is(twtasks.unset_type_options('PAY|CARD', 'stuck'), false, 'an option of a missing pattern cannot be unset');
SELECT is(twtasks.drop_type_policy('PAY|*'), true, 'a pattern can be dropped');
SELECT is(twtasks.drop_type_policy('PAY|*'), false, 'a pattern cannot be dropped twice');
SELECT is((SELECT array_agg(pattern || ' ' || changed_by ORDER BY pattern) FROM twtasks.type_policies), ARRAY['* ' || session_user, 'PAY|CARD* ' || session_user],
	'the view shows what is left, and who changed it');

-- ---- refused ----
SELECT throws_ok($$SELECT twtasks.configure_type(NULL, timeout => '1s')$$, '22004', 'pattern must not be null', 'a NULL pattern is refused');
SELECT throws_ok(format('SELECT twtasks.configure_type(%L, timeout => ''1s'')', p), '22023', NULL, 'a malformed pattern is refused')
FROM unnest(ARRAY['', 'A B', 'A*B', '**', E'A\nB', 'A%', repeat('A', 121), repeat('A', 121) || '*']) p;
SELECT lives_ok(format('SELECT twtasks.configure_type(%L, timeout => ''1s'')', p), format('the pattern %s is accepted', left(p, 20)))
FROM unnest(ARRAY['A', 'A*', 'aZ09_.:|/-', repeat('A', 120), repeat('A', 120) || '*']) p;
SELECT throws_ok($$SELECT twtasks.configure_type('A')$$, '22023', 'no option is given for "A"', 'a call without an option is refused');
SELECT throws_ok($$SELECT twtasks.configure_type('A', priority => 10)$$, '22023', 'priority must be between 0 and 9, not 10', 'a priority above 9 is refused');
SELECT throws_ok($$SELECT twtasks.configure_type('A', priority => -1)$$, '22023', NULL, 'a negative priority is refused');
SELECT throws_ok($$SELECT twtasks.configure_type('A', bucket => 'none')$$, '22023', 'bucket "none" is not configured', 'a bucket that does not exist is refused');
SELECT throws_ok($$SELECT twtasks.configure_type('A', timeout => '9ms')$$, '22023', NULL, 'a timeout that is too short is refused');
SELECT throws_ok($$SELECT twtasks.configure_type('A', timeout => '31d')$$, '22023', NULL, 'a timeout that is too long is refused');
SELECT throws_ok($$SELECT twtasks.configure_type('A', queue_time => '0')$$, '22023', NULL, 'a queue_time that is too short is refused');
SELECT throws_ok($$SELECT twtasks.configure_type('A', expires_after => '-1s')$$, '22023', NULL, 'a negative expires_after is refused');
SELECT throws_ok($$SELECT twtasks.configure_type('A', stuck => 'later')$$, '22P02', NULL, 'an unknown stuck rule is refused');
SELECT throws_ok($$SELECT twtasks.unset_type_options('A', 'pattern')$$, '22023', 'unrecognized option: "pattern"', 'the pattern is no option that can be unset');
SELECT throws_ok($$SELECT twtasks.unset_type_options('A', NULL)$$, '22023', 'unrecognized option: NULL', 'NULL is no option that can be unset');
SELECT throws_ok($$SELECT twtasks.unset_type_options('A', E'a\nb' || repeat('c', 100))$$, '22023', 'unrecognized option: "a?b' || repeat('c', 61) || '"', 'an unknown option is quoted on one line');
SELECT throws_ok($$SELECT twtasks.configure_bucket(NULL)$$, '22004', 'name must not be null', 'a NULL bucket is refused');
SELECT throws_ok(format('SELECT twtasks.configure_bucket(%L)', b), '22023', NULL, 'a malformed bucket is refused')
FROM unnest(ARRAY['', 'a.b', 'a b', E'a\nb', repeat('b', 49)]) b;
SELECT throws_ok(format('SELECT twtasks.configure_bucket(%L, concurrency => %s)', 'pictures', n), '22023',
	format('concurrency must be between 0 and 1000000, not %s', n), 'a concurrency out of range is refused')
FROM unnest('{-1,1000001}'::integer[]) n;
SELECT throws_ok($$SELECT twtasks.add_task('A', bucket => repeat('b', 49))$$, '22023', 'invalid bucket: "' || repeat('b', 49) || '"', 'a bucket that is too long is invalid for a task, too');
SELECT throws_ok($$SELECT twtasks.unset_bucket_options('default', 'name')$$, '22023', 'unrecognized option: "name"', 'the name of a bucket is no option that can be unset');
SELECT throws_ok($$SELECT twtasks.unset_bucket_options('default', NULL)$$, '22023', 'unrecognized option: NULL', 'NULL is no option of a bucket that can be unset');

-- ---- buckets ----
SELECT is((SELECT array_agg(name) FROM twtasks.buckets WHERE name IN ('default', 'pictures')), '{default}', 'the bucket "default" exists from the start');
SELECT twtasks.configure_bucket('pictures', 'large') \g /dev/null
SELECT twtasks.configure_bucket('pictures') \g /dev/null
SELECT is((SELECT description FROM twtasks.buckets WHERE name = 'pictures'), 'large', 'a bucket keeps its description');
SELECT twtasks.configure_bucket('default', 'all the rest') \g /dev/null
SELECT is((SELECT array_agg(description) FROM twtasks.buckets WHERE name = 'default'), '{all the rest}', 'the default bucket may have a description');
SELECT is((SELECT array_agg(concurrency) FROM twtasks.buckets WHERE name IN ('default', 'pictures')), '{NULL,NULL}', 'a bucket has no limit by itself');
SELECT twtasks.configure_bucket(b, concurrency => 4) FROM unnest('{default,pictures}'::text[]) b \g /dev/null
SELECT twtasks.configure_bucket('pictures', 'very large') \g /dev/null
SELECT is((SELECT array_agg(concat_ws(' ', description, concurrency) ORDER BY name) FROM twtasks.buckets WHERE name IN ('default', 'pictures')),
	'{all the rest 4,very large 4}', 'a bucket keeps its limit');
SELECT is((SELECT jsonb_object_agg(name, concurrency) FROM twtasks_internal.read_policies('node-1') WHERE kind = 'bucket' AND name IN ('default', 'pictures')),
	'{"default": 4, "pictures": 4}', 'sidecars read the limits of buckets');
SELECT twtasks.configure_bucket('pictures', concurrency => 0) \g /dev/null
SELECT is(twtasks.unset_bucket_options('default', 'concurrency'), true, 'the limit of a bucket can be unset');
SELECT is((SELECT array_agg(concat_ws(' ', description, concurrency) ORDER BY name) FROM twtasks.buckets WHERE name IN ('default', 'pictures')),
	'{all the rest,very large 0}', 'a limit of 0 is kept');
SELECT is(twtasks.unset_bucket_options('pictures', 'concurrency', 'description'), true, 'several options of a bucket can be unset');
SELECT is((SELECT array_agg(concat_ws(' ', description, concurrency) ORDER BY name) FROM twtasks.buckets WHERE name IN ('default', 'pictures')),
	'{all the rest,""}', 'a bucket without options stays');
SELECT is(twtasks.unset_bucket_options('nowhere', 'concurrency'), false, 'no option of a missing bucket can be unset');

-- ---- what add_task() makes of it ----
SELECT twtasks.drop_type_policy(pattern) FROM twtasks.type_policies \g /dev/null
SELECT twtasks.configure_type('PAY|*', bucket => 'pictures', priority => 2, queue_time => '1min', expires_after => '1h') \g /dev/null
CREATE FUNCTION pg_temp.added(id uuid) RETURNS text LANGUAGE sql
AS $$ SELECT concat_ws(' ', bucket, priority, round(extract(epoch FROM next_event_time - state_time)), round(extract(epoch FROM expires - created)))
	  FROM twtasks.task t WHERE t.id = added.id $$;
SELECT is(pg_temp.added(task_id), 'default 5 1800', 'a task of a type without a policy gets the defaults') FROM twtasks.add_task('MAIL');
SELECT is(pg_temp.added(task_id), 'pictures 2 60 3600', 'a task of a type with a policy gets its options') FROM twtasks.add_task('PAY|CARD');
SELECT is(pg_temp.added(task_id), 'default 9 60 7200', 'the caller''s values come before the policy''s')
FROM twtasks.add_task('PAY|CARD', bucket => 'default', priority => 9, expires => clock_timestamp() + interval '2h');
SELECT is(pg_temp.added(task_id), 'pictures 2 60 3600', 'a NULL of the caller leaves the value to the policy') FROM twtasks.add_task('PAY|CARD', bucket => NULL, priority => NULL, expires => NULL);
SELECT is(array_agg(pg_temp.added(task_id)), '{pictures 2 60 3600,default 5 1800}', 'each task of a batch gets the options of its type') FROM twtasks.add_tasks('[{"type": "PAY|CARD"}, {"type": "MAIL"}]'::jsonb);
SELECT is(pg_temp.added(task_id), 'pictures 2 86400 90000', 'a task for later expires later')
FROM twtasks.add_task('PAY|CARD', run_after => clock_timestamp() + interval '1 d');
SELECT matches(pg_temp.added(task_id), '^pictures 2 \d+$', 'a task for the end of time never expires')
FROM twtasks.add_task('PAY|CARD', run_after => '294276-12-31 23:30+00');

-- ---- at once, and only when it is committed ----
SAVEPOINT s;
SELECT twtasks.configure_type('PAY|CARD', priority => 3) \g /dev/null
SELECT is(pg_temp.added(task_id), 'pictures 3 60 3600', 'a change counts from the next statement on') FROM twtasks.add_task('PAY|CARD');
ROLLBACK TO s;
SELECT is(pg_temp.added(task_id), 'pictures 2 60 3600', 'a change that was rolled back does not count') FROM twtasks.add_task('PAY|CARD');
SELECT twtasks.drop_type_policy('PAY|*') \g /dev/null
SELECT is(pg_temp.added(task_id), 'default 5 1800', 'a policy that was dropped does not count') FROM twtasks.add_task('PAY|CARD');

-- ---- an option is one row of the type twtasks.policy ----
CREATE FUNCTION pg_temp.options(function regproc, modes text, beside text) RETURNS text[] LANGUAGE sql
AS $$ SELECT array_agg(a.name ORDER BY a.n) FROM pg_proc p,
		unnest(p.proargnames, coalesce(p.proargmodes, array_fill('i'::"char", ARRAY[p.pronargs::integer]))) WITH ORDINALITY a(name, mode, n)
	  WHERE p.oid = function AND a.mode = modes::"char" AND a.name <> beside $$;
CREATE FUNCTION pg_temp.columns(relation regclass, beside text[]) RETURNS text[] LANGUAGE sql
AS $$ SELECT array_agg(a.attname::text ORDER BY a.attnum) FROM pg_attribute a
	  WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped AND a.attname <> ALL (beside) $$;
SELECT is(pg_temp.options('twtasks.configure_type', 'i', 'pattern'), pg_temp.columns('twtasks.policy', '{}'), 'configure_type() has a parameter for each option');
SELECT is(pg_temp.options('twtasks.policy_of', 'o', 'patterns'), pg_temp.columns('twtasks.policy', '{}'), 'policy_of() has a column for each option');
SELECT is(pg_temp.columns('twtasks.type_policies', '{pattern,changed_at,changed_by}'), pg_temp.columns('twtasks.policy', '{}'), 'the view type_policies has a column for each option');
SET LOCAL intervalstyle = 'sql_standard';
SELECT twtasks.configure_type('STYLE', timeout => '1 day 00:00:01.5') \g /dev/null
SET LOCAL intervalstyle = 'iso_8601';
SELECT is((twtasks.policy_of('STYLE')).timeout, interval '1 day 00:00:01.5', 'a duration is the same in each interval style');
RESET intervalstyle;

-- ---- other ways into the queue ----
SELECT twtasks.configure_type('TEST', queue_time => '1min') \g /dev/null
CREATE FUNCTION pg_temp.late_in(id uuid) RETURNS numeric LANGUAGE sql
AS $$ SELECT round(extract(epoch FROM next_event_time - state_time)) FROM twtasks.task t WHERE t.id = late_in.id $$;
SELECT pg_temp.task_in('WAITING', pg_temp.id(1)), pg_temp.task_in('WAITING', pg_temp.id(2)) \g /dev/null
SELECT twtasks.resume_task(pg_temp.id(1), 0), twtasks.reschedule_task(pg_temp.id(2), 0, '2000-01-01') \g /dev/null
SELECT twtasks_internal.promote_tasks() \g /dev/null
SELECT is(pg_temp.late_in(pg_temp.id(1)), 60::numeric, 'a resumed task gets the queue_time of its policy');
SELECT is(pg_temp.late_in(pg_temp.id(2)), 60::numeric, 'a promoted task gets the queue_time of its policy');

-- ---- as sidecars read them: what all patterns come to for what one fits ----
DELETE FROM twtasks.type_policy;
SELECT twtasks.configure_type(pattern, nodes => nodes) FROM (VALUES
	('N|A', '{node-1}'::text[]), ('N|B', '{node-2}'), ('N|C', '{other,node-*}'), ('N|D', '{node-11,node}'),
	('N|E*', '{*}'), ('N|E|F', '{node-2}'), ('N|G*', '{node-2}'), ('N|G|H', '{node-1}')) v(pattern, nodes) \g /dev/null
SELECT is((SELECT array_agg(name ORDER BY name) FROM twtasks_internal.read_policies('node-1') WHERE kind = 'policy' AND NOT runs_here), '{N|B,N|D,N|E|F,N|G*}'::text[], 'a node reads which types it does not run');
DELETE FROM twtasks.type_policy;
CREATE SCHEMA app;
GRANT USAGE ON SCHEMA app TO PUBLIC;
CREATE FUNCTION app.retry(task twtasks.task_input, error text) RETURNS timestamptz LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS 'SELECT now()';
CREATE FUNCTION app.stuck(task twtasks.task_input) RETURNS twtasks.stuck_rule LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$SELECT 'retry'::twtasks.stuck_rule$$;
SELECT twtasks.configure_type('*', retry => '{"delays": ["1s", "2s"]}', timeout => '1min', aging => '10min', stuck => 'ignore', stuck_function => 'app.stuck') \g /dev/null
SELECT twtasks.configure_type('A*', retry_function => 'app.retry', timeout => '2s') \g /dev/null
SELECT twtasks.configure_type('A|B*', retry_function => 'none', stuck_function => 'none', aging => '0', nodes => '{node-2}') \g /dev/null
SELECT twtasks.configure_type('A|B|C', retry => '"none"', stuck => 'retry') \g /dev/null
SELECT is((SELECT jsonb_object_agg(name, jsonb_build_array(timeout_ms, stuck, asks_stuck, aging_ms, max_tries, runs_here)) FROM twtasks_internal.read_policies('node-1') WHERE kind = 'policy'),
	'{"*": [60000, "ignore", true, 600000, 3, true], "A*": [2000, "ignore", true, 600000, 0, true], "A|B*": [2000, "ignore", false, 0, 3, false], "A|B|C": [2000, "retry", false, 0, 1, false]}',
	'a sidecar reads each option of the most special pattern');
DELETE FROM twtasks.type_policy;
SELECT twtasks.configure_type('B', timeout => '1min') \g /dev/null
SELECT is((SELECT jsonb_agg(jsonb_build_array(timeout_ms, stuck, asks_stuck, aging_ms, max_tries, runs_here)) FROM twtasks_internal.read_policies('node-1') WHERE kind = 'policy'),
	'[[60000, null, false, 0, null, true]]', 'a sidecar reads options that no pattern sets as unset');
SELECT twtasks.pause_type('B*'), twtasks.pause_type('C'), twtasks.configure_type('C*', timeout => '1s'), twtasks.pause_bucket('default') \g /dev/null
SELECT is((SELECT jsonb_object_agg(name, jsonb_build_array(timeout_ms, runs_here)) FROM twtasks_internal.read_policies('node-1') WHERE kind = 'policy'),
	'{"B": [60000, false], "B*": [null, false], "C*": [1000, true], "C": [1000, false]}', 'a sidecar reads paused types, whatever more special patterns say');
SELECT is((SELECT jsonb_object_agg(name, runs_here) FROM twtasks_internal.read_policies('node-1') WHERE kind = 'bucket' AND name IN ('default', 'pictures')),
	'{"default": false, "pictures": true}', 'a sidecar reads which buckets are paused');

SELECT * FROM finish();
ROLLBACK;
