--
-- Nothing runs: twtasks.warnings has the reason, and stuck_tasks.why that of a
-- task.
--
BEGIN;
\ir ../lib/tasks.sql
TRUNCATE twtasks.node, twtasks.refused_node;
DELETE FROM twtasks.type_policy;
DELETE FROM twtasks.limit_rule;
DELETE FROM twtasks.pause;
SELECT plan(87);
SELECT twtasks.is_enabled() \g /dev/null

CREATE FUNCTION pg_temp.warned() RETURNS text
LANGUAGE sql
AS $$ SELECT string_agg(warning || ': ' || detail, '; ' ORDER BY warning, detail) FROM twtasks.warnings WHERE warning <> 'no environment' $$;
CREATE FUNCTION pg_temp.why() RETURNS text
LANGUAGE sql
AS $$ SELECT why FROM twtasks.stuck_tasks WHERE id = pg_temp.id(1) $$;
CREATE FUNCTION pg_temp.is_both(warned text, why text, name text) RETURNS SETOF text
LANGUAGE plpgsql
AS $$
BEGIN
	RETURN NEXT is(pg_temp.warned(), warned, name || ': the warning is as expected');
	RETURN NEXT is(pg_temp.why(), why, name || ': the reason is as expected');
END $$;
SELECT 'nobody grabs it: is there a node with a handler for its type and bucket, and a slot for it?' AS nobody \gset

-- Nobody lives.
SELECT is(pg_temp.warned(), NULL, 'no warning is shown without tasks and nodes');
SELECT twtasks.add_task('PAY|ACME', task_id => pg_temp.id(1), bucket => 'a') \g /dev/null
UPDATE twtasks.task SET next_event_time = '2000-01-01';
SELECT pg_temp.is_both('no node: bucket "a" has tasks, and no node lives that works for it', 'no node lives that works for its bucket: see twtasks.nodes', 'no node');
SELECT twtasks_internal.start_node('other', buckets => '{default,b}') AS other \gset
-- On a slow machine the nodes are soon so old that one of them should lead.
UPDATE twtasks.node SET leads = true WHERE incarnation = :other;
SELECT pg_temp.is_both('no node: bucket "a" has tasks, and no node lives that works for it', 'no node lives that works for its bucket: see twtasks.nodes', 'a node of other buckets');
SELECT is((SELECT buckets FROM twtasks.nodes), '{default,b}', 'the view nodes shows the buckets of a node');
SELECT twtasks_internal.start_node('right', buckets => '{a}') AS "right" \gset
SELECT pg_temp.is_both(NULL, :'nobody', 'a node of its bucket');
UPDATE twtasks.node SET heartbeat = heartbeat - 2 * lease WHERE incarnation = :right;
SELECT pg_temp.is_both('no node: bucket "a" has tasks, and no node lives that works for it', 'no node lives that works for its bucket: see twtasks.nodes', 'a silent node');
UPDATE twtasks.node SET heartbeat = clock_timestamp(), ended = clock_timestamp() WHERE incarnation = :right;
SELECT is(pg_temp.why(), 'no node lives that works for its bucket: see twtasks.nodes', 'a node that has ended is not alive');
SELECT pg_temp.node() \g /dev/null
UPDATE twtasks.node SET leads = incarnation = pg_temp.node(), lease = '1 hour';
SELECT pg_temp.is_both(NULL, :'nobody', 'a node that has not said its buckets');

-- Types that no node of the bucket handles.
UPDATE twtasks.node SET types = '{OTHER,PA,PAY|,PAY|ACME|*}' WHERE incarnation = pg_temp.node();
SELECT pg_temp.is_both('no handler: type "PAY|ACME" has tasks in bucket "a", and no node that lives handles it', 'no node that lives handles its type: see types in twtasks.nodes', 'a type that is not handled');
SELECT twtasks_internal.start_node('elsewhere', buckets => '{b}', types => '{PAY|ACME}') AS elsewhere \gset
SELECT is(pg_temp.why(), 'no node that lives handles its type: see types in twtasks.nodes', 'a node of another bucket does not handle the type');
SELECT is((SELECT types FROM twtasks.nodes WHERE name = 'elsewhere'), '{PAY|ACME}', 'the view nodes shows the types of a node');
UPDATE twtasks.node SET buckets = '{a}', heartbeat = heartbeat - 2 * lease WHERE name = 'elsewhere';
SELECT is(pg_temp.why(), 'no node that lives handles its type: see types in twtasks.nodes', 'a silent node does not handle the type');
UPDATE twtasks.node SET heartbeat = clock_timestamp() WHERE name = 'elsewhere';
SELECT pg_temp.is_both(NULL, :'nobody', 'a node that handles it');
UPDATE twtasks.node SET types = '{PAY|*}' WHERE name = 'elsewhere';
SELECT is(pg_temp.warned(), NULL, 'a pattern of a node''s types handles the type');
DELETE FROM twtasks.node WHERE name = 'elsewhere';
UPDATE twtasks.node SET types = NULL WHERE incarnation = pg_temp.node();

-- Tasks that are due without anybody to promote them.
SELECT twtasks.add_task('LATER', task_id => pg_temp.id(2), bucket => 'b', run_after => clock_timestamp() + interval '1 hour') \g /dev/null
UPDATE twtasks.node SET ended = clock_timestamp();
SELECT is(pg_temp.warned(), 'no node: bucket "a" has tasks, and no node lives that works for it', 'a task that waits for its time needs no node yet');
UPDATE twtasks.task SET next_event_time = clock_timestamp() - interval '2 minutes' WHERE id = pg_temp.id(2);
SELECT matches(pg_temp.warned(), 'bucket "b" has tasks', 'a task that is due needs a node');
DELETE FROM twtasks.task WHERE id = pg_temp.id(2);
UPDATE twtasks.node SET ended = NULL WHERE incarnation = pg_temp.node();

-- Sessions that their node reports, and a node that reports nothing.
UPDATE twtasks.node SET faults = '{"session \"grab\" has not answered \"grab\" for 12 s"}' WHERE incarnation = pg_temp.node();
SELECT matches(pg_temp.warned(), '^silent session: node ".*": session "grab" has not answered "grab" for 12 s$', 'a silent session');
UPDATE twtasks.node SET faults = '{"notify target \"a\": could not send: HTTP 503"}' WHERE incarnation = pg_temp.node();
SELECT matches(pg_temp.warned(), '^target in trouble: node ".*": notify target "a": could not send: HTTP 503$', 'a target that does not take messages');
UPDATE twtasks.node SET faults = '{"traces: HTTP 503"}' WHERE incarnation = pg_temp.node();
SELECT matches(pg_temp.warned(), '^traces in trouble: node ".*": traces: HTTP 503$', 'a receiver that does not take spans');
UPDATE twtasks.node SET faults = '{"listener \"a\", partition 0 of topic \"t\": no right"}' WHERE incarnation = pg_temp.node();
SELECT matches(pg_temp.warned(), '^listener in trouble: node ".*": listener "a", partition 0 of topic "t": no right$', 'a listener in trouble');
UPDATE twtasks.node SET faults = '{"helper \"triggers\": was ended by signal 9 (Killed)"}' WHERE incarnation = pg_temp.node();
SELECT matches(pg_temp.warned(), '^helper in trouble: node ".*": helper "triggers": was ended by signal 9 \(Killed\)$', 'a helper in trouble');
UPDATE twtasks.node SET faults = '{"worker \"PAY\" ends again and again, with its tasks: exited with status 1: boom"}' WHERE incarnation = pg_temp.node();
SELECT matches(pg_temp.warned(), '^worker crashes: node ".*": worker "PAY" ends again and again, with its tasks: exited with status 1: boom$', 'a worker that crashes again and again');
UPDATE twtasks.node SET faults = '{"listener \"a\", partition 0 of topic \"t\": no right"}' WHERE incarnation = pg_temp.node();
SELECT twtasks.reset_listener(l, 't', p, 5, session_user) FROM (VALUES ('a', 0), ('a', 1), ('ab', 0)) v(l, p) \g /dev/null
SELECT is((SELECT string_agg(concat_ws(' ', listener, partition, problem), ', ' ORDER BY listener, partition) FROM twtasks.listeners), 'a 0 no right, a 1, ab 0',
	'its partition has the trouble');
UPDATE twtasks.node SET faults = '{"listener \"a\": no broker"}' WHERE incarnation = pg_temp.node();
SELECT is((SELECT string_agg(concat_ws(' ', listener, partition, problem), ', ' ORDER BY listener, partition) FROM twtasks.listeners), 'a 0 no broker, a 1 no broker, ab 0',
	'or all of its partitions have it');
DELETE FROM twtasks.message_offset;
UPDATE twtasks.node SET faults = '{}', next_tick = clock_timestamp() - interval '11 seconds' WHERE incarnation = pg_temp.node();
SELECT matches(pg_temp.warned(), '^silent node: node ".*" should have ticked at ', 'a silent node');
UPDATE twtasks.node SET next_tick = clock_timestamp() + interval '1 hour' WHERE incarnation = pg_temp.node();

-- Nodes of which none leads.
UPDATE twtasks.node SET leads = false, started = clock_timestamp() - interval '11 seconds' WHERE incarnation = pg_temp.node();
SELECT is(pg_temp.warned(), 'nobody leads: 1 sidecar lives, and does not lead', 'no leader');
UPDATE twtasks.node SET leads = true WHERE incarnation = pg_temp.node();
SELECT is(pg_temp.warned(), NULL, 'a leader');

-- Pauses.
SELECT twtasks.pause_type('PAY|*', 'the bank is down') \g /dev/null
SELECT pg_temp.is_both(format('paused: type "PAY|*", by %s: the bank is down', session_user),
	format('type "PAY|*" is paused by %s (the bank is down): see twtasks.paused', session_user), 'a paused type');
SELECT is((SELECT jsonb_build_array(since = (SELECT since FROM twtasks.paused), hint) FROM twtasks.warnings WHERE warning = 'paused'), '[true, "SELECT twtasks.resume_type(''PAY|*'') lets it go on"]', 'the warning of a pause shows since when, and what to do');
SELECT twtasks.resume_type('PAY|*'), twtasks.pause_type('OTHER'), twtasks.pause_bucket('a') \g /dev/null
SELECT pg_temp.is_both(format('paused: bucket "a", by %1$s; paused: type "OTHER", by %1$s', session_user), format('bucket "a" is paused by %s: see twtasks.paused', session_user), 'a paused bucket');
SELECT twtasks.resume_type('OTHER'), twtasks.resume_bucket('a') \g /dev/null

-- Types that are bound to nodes.
SELECT twtasks.configure_type('PAY|*', nodes => '{far-*,tes}') \g /dev/null
SELECT pg_temp.is_both('nodes missing: types "PAY|*" are bound to nodes of which none lives: far-*, tes', 'its policy names no node that lives: see nodes in twtasks.policy_of()', 'a policy of other nodes');
SELECT twtasks.configure_type('PAY|*', nodes => '{far-*,test}') \g /dev/null
SELECT pg_temp.is_both(NULL, :'nobody', 'a policy that names a living node');

-- Limits.
SELECT twtasks.configure_limit('PAY|*', 0), twtasks.configure_limit('PAY|OTHER', 1) \g /dev/null
SELECT pg_temp.is_both('limit of 0: limit "PAY|*" of scope node lets no task start', 'its limit "PAY|ACME" lets none start: see twtasks.limits', 'a limit of 0');
SELECT twtasks.configure_limit('PAY|ACME', 1) \g /dev/null
SELECT is(pg_temp.why(), :'nobody', 'a limit of 0 is no reason for a key with a limit of its own');
SELECT twtasks.drop_limit('PAY|*'), twtasks.drop_limit('PAY|ACME'), twtasks.configure_limit('PAY', 1, scope => 'cluster') \g /dev/null
SELECT is(pg_temp.why(), :'nobody', 'a limit with room is no reason');
SELECT twtasks.add_task('PAY|X', task_id => pg_temp.id(3)), pg_temp.grab(pg_temp.id(3)) \g /dev/null
SELECT pg_temp.grab(pg_temp.id(3)) \g /dev/null
SELECT pg_temp.is_both(NULL, 'its limit "PAY" is full: see twtasks.limits', 'a full limit');
SELECT twtasks.configure_limit('PAY', rate => 5, per => '1 hour', scope => 'cluster') \g /dev/null
SELECT is(pg_temp.why(), 'its limit "PAY" lets only 5 start in 01:00:00: see twtasks.limits', 'a rate can be the reason');

-- Tasks and schedules held by an adoption.
SELECT twtasks.schedule('nightly', '0 3 * * *', 'NIGHTLY') \g /dev/null
SAVEPOINT adopted;
SELECT twtasks.add_task('BY_HAND', task_id => pg_temp.id(4)), twtasks.hold_task(pg_temp.id(4), 0) \g /dev/null
SELECT is((SELECT count(*) FROM twtasks.warnings WHERE warning = 'held'), 0::bigint, 'a task that is held by hand is no warning');
SELECT held FROM twtasks.adopt(NULL, hold => true, reason => 'restored') \gset
SELECT is((SELECT detail FROM twtasks.warnings WHERE warning = 'held'), format('%1$s of %1$s tasks that adopt() held wait for a person', :held), 'tasks that adopt() held are a warning');
SELECT is((SELECT detail || '; ' || hint FROM twtasks.warnings WHERE warning = 'schedule paused'),
	format('schedule "nightly", by %s: restored; SELECT twtasks.resume_schedule(''nightly'') lets it go on', session_user), 'schedules that adopt() paused are a warning');
SELECT twtasks.adopt(NULL) \g /dev/null
SELECT ok(EXISTS (SELECT FROM twtasks.warnings WHERE warning = 'held'), 'another adoption does not hide the held tasks');
SELECT twtasks.change_tasks('cancel', '*', 'a copy', statuses => '{HELD}'), twtasks.resume_schedule('nightly') \g /dev/null
SELECT is((SELECT count(*) FROM twtasks.warnings WHERE warning = 'held'), 0::bigint, 'the warning ends when the held tasks are released or cancelled');
SELECT is((SELECT count(*) FROM twtasks.warnings WHERE warning = 'schedule paused'), 0::bigint, 'the warning ends when the schedule is resumed');
ROLLBACK TO adopted;

-- Schedules that stand still.
SAVEPOINT schedules;
SELECT twtasks.schedule('nightly', '@daily', 'NIGHT') \g /dev/null
UPDATE twtasks.schedule SET problem = 'no such bucket' WHERE name = 'nightly';
SELECT is(pg_temp.warned(), 'schedule fails: schedule "nightly": no such bucket', 'a schedule that cannot add its task is a warning');
UPDATE twtasks.schedule SET problem = NULL, look_at = twtasks.clock() - interval '59 s' WHERE name = 'nightly';
SELECT is(pg_temp.warned(), NULL, 'a schedule that is due may be late by less than a minute');
UPDATE twtasks.schedule SET look_at = twtasks.clock() - interval '61 s' WHERE name = 'nightly';
SELECT is(pg_temp.warned(), 'schedule late: schedule "nightly" is due, and nobody has added its task', 'a schedule that nobody runs is a warning');
SELECT twtasks.pause_schedule('nightly') \g /dev/null
SELECT ok(pg_temp.warned() ~ '^schedule paused: [^;]*$', 'a paused schedule is not late');
ROLLBACK TO schedules;

-- Duties that stand still.
SAVEPOINT duties;
CREATE FUNCTION twtasks_internal.duty_a() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$ BEGIN ASSERT false, 'out of order'; END $$;
SET client_min_messages = error;
SELECT twtasks_internal.run_duties() \g /dev/null
SELECT is(pg_temp.warned(), 'duty fails: twtasks_internal.duty_a: out of order', 'a duty that fails is a warning');
CREATE OR REPLACE FUNCTION twtasks_internal.duty_a() RETURNS bigint LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS 'SELECT 3000::bigint';
SELECT twtasks_internal.run_duties() \g /dev/null
SELECT is(pg_temp.warned(), NULL, 'the warning ends when the duty is done');
UPDATE twtasks.duty SET called = called - interval '91 s';
SELECT is(pg_temp.warned(), 'duty late: nobody calls twtasks_internal.duty_a any more', 'a duty that nobody calls is a warning');
DROP FUNCTION twtasks_internal.duty_a;
SELECT is(pg_temp.warned(), NULL, 'a duty whose extension is dropped is none');

-- Hints can be called as they stand.
SAVEPOINT hints;
CREATE FUNCTION pg_temp.call_hint(about text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE (SELECT substring(hint FROM 'SELECT twtasks[.][a-z_]+[(][^)]*[)]') FROM twtasks.warnings WHERE warning = about);
	RETURN 'called';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLERRM;
END $$;
SELECT twtasks.configure_limit('NONE', 0, 'cluster'), twtasks.pause_type('NONE') \g /dev/null
SELECT is(pg_temp.call_hint('limit of 0'), 'called', 'the hint of a limit of 0 can be called');
SELECT is(pg_temp.call_hint('paused'), 'called', 'the hint of a pause can be called');
UPDATE twtasks.adoption SET ended = clock_timestamp() WHERE ended IS NULL;
SELECT ok((SELECT hint ~ 'SELECT twtasks[.]adopt[(]''' FROM twtasks.warnings WHERE warning = 'not adopted'), 'the hint to adopt has an argument');
ROLLBACK TO hints;

-- An event trigger of a user keeps the partitions of the history from being made and dropped.
SAVEPOINT history;
CREATE FUNCTION public.refuse_ddl() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN ASSERT false, 'frozen'; END $$;
DELETE FROM twtasks.duty;
SELECT twtasks_internal.make_partitions(1) \g /dev/null
SELECT is_empty('SELECT name FROM twtasks.duty', 'a call that succeeds as before notes nothing');
CREATE TABLE twtasks.finished_task_20200101 PARTITION OF twtasks.finished_task FOR VALUES FROM ('2020-01-01 00:00+00') TO ('2020-01-02 00:00+00');
ALTER TABLE twtasks.finished_task_20200101 OWNER TO twtasks_owner;
UPDATE twtasks.adoption SET marked = '2000-01-01' WHERE ended IS NULL;
CREATE EVENT TRIGGER refuse_ddl ON ddl_command_start EXECUTE FUNCTION public.refuse_ddl();
SELECT is(twtasks_internal.make_partitions(2), 0, 'no partition is made while an event trigger fails');
SELECT ok((SELECT marked > '2000-01-01' FROM twtasks.adoption WHERE ended IS NULL), 'the marker that tells copies is renewed all the same');
SELECT is(twtasks_internal.clean_tasks(), NULL, 'none is dropped either');
SELECT is(replace(pg_temp.warned(), 'public.', ''), 'history fails: clean_tasks: frozen (PL/pgSQL function refuse_ddl() line 1 at ASSERT); '
	'history fails: make_partitions: frozen (PL/pgSQL function refuse_ddl() line 1 at ASSERT)', 'both are warnings that name the function of the event trigger');
ALTER EVENT TRIGGER refuse_ddl DISABLE;
SELECT is(twtasks_internal.make_partitions(2), 1, 'the partition is made when the event trigger is gone');
SELECT is(twtasks_internal.clean_tasks(), 'finished_task_20200101', 'the old one is dropped then');
SELECT is(pg_temp.warned(), NULL, 'the warnings end with their cause');
ROLLBACK TO history;

-- Warnings of other extensions.
CREATE FUNCTION twtasks_internal.warn_a(most integer) RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$ BEGIN ASSERT false, 'out of order'; END $$;
CREATE FUNCTION twtasks_internal.warn_b(most integer) RETURNS jsonb LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$ SELECT jsonb_build_array(jsonb_build_object('warning', 'worn', 'detail', most || ' tyres', 'hint', 'change them')) $$;
CREATE FUNCTION twtasks_internal.warn_c(most integer) RETURNS jsonb LANGUAGE sql SET search_path = pg_catalog, pg_temp AS 'SELECT NULL::jsonb';
SELECT is(pg_temp.warned(), 'warnings missing: function "twtasks_internal.warn_a" failed: out of order; worn: 20 tyres', 'functions of other extensions bring warnings; one that fails stops no other');
SET LOCAL ROLE twtasks_viewer;
SELECT is((SELECT hint FROM twtasks.warnings WHERE warning = 'worn'), 'change them', 'a viewer reads them');
RESET ROLE;
SELECT ok((SELECT count(*) FROM twtasks.warnings WHERE hint IS NULL OR detail IS NULL) = 0, 'each warning says what to do');
ROLLBACK TO duties;

-- A sidecar that is configured for another environment.
SELECT is((SELECT detail FROM twtasks.warnings), 'this database was adopted for no environment', 'a database without an environment is a warning');
UPDATE twtasks.adoption SET environment = 'production' WHERE ended IS NULL;
SELECT is((SELECT count(*) FROM twtasks.warnings), 0::bigint, 'a database with an environment has no warning');
SELECT is(twtasks_internal.start_node('lost', environment => 'test'), NULL, 'a node of another environment is refused');
SELECT is(pg_temp.warned(), 'node refused: node "lost": it was adopted for environment "production", not "test"', 'a refused node is a warning');
SELECT at AS refused FROM twtasks.refused_node \gset
SELECT twtasks_internal.start_node('lost', environment => 'test') \g /dev/null
SELECT is((SELECT at FROM twtasks.refused_node), :'refused', 'a refused node is not written down at each request');
UPDATE twtasks.refused_node SET at = at - interval '31 s';
SELECT twtasks_internal.start_node('lost', environment => 'test') \g /dev/null
SELECT ok((SELECT at > :'refused' AND since = :'refused' FROM twtasks.refused_node), 'a node that still asks is written down again later');
UPDATE twtasks.refused_node SET at = at - interval '61 s';
SELECT is(pg_temp.warned(), NULL, 'the warning ends when the node asks no more');
SELECT twtasks_internal.start_node('lost', environment => 'test'), twtasks_internal.start_node('lost', environment => 'production') \g /dev/null
SELECT is(pg_temp.warned(), NULL, 'the warning ends when the node is corrected');
UPDATE twtasks.adoption SET ended = clock_timestamp();
SELECT twtasks_internal.start_node('lost') \g /dev/null
SELECT is((SELECT count(*) FROM twtasks.refused_node), 0::bigint, 'a copy writes down no refused node');

SELECT * FROM finish();
ROLLBACK;
