--
-- Nodes: who lives, who is gone, and what becomes of the tasks of the gone.
--
-- Each statement is its own transaction, as those of a sidecar are: advisory
-- locks that a transaction holds would look like the node's own.  A session
-- that ended is played by giving up the lock that it would have lost.
--
\ir ../lib/tasks.sql
TRUNCATE twtasks.node;
SELECT plan(77);

CREATE FUNCTION pg_temp.session_ends(node bigint) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
	others CONSTANT bigint[] := ARRAY(SELECT n.incarnation FROM twtasks.node n WHERE n.incarnation <> node AND twtasks_internal.session_holds(twtasks_internal.node_lock(n.incarnation)));
BEGIN
	PERFORM pg_advisory_unlock_all();
	PERFORM twtasks_internal.lock_session(twtasks_internal.node_lock(o)) FROM unnest(others) o;
END $$;

-- A task that a node runs, under a rule.
CREATE FUNCTION pg_temp.run(n integer, node bigint, rule twtasks.stuck_rule, timeout_ms bigint DEFAULT 60000) RETURNS bigint
LANGUAGE plpgsql
AS $$
BEGIN
	PERFORM twtasks.add_task('RUN', task_id => pg_temp.id(n), key => 'run ' || n);
	RETURN (SELECT version FROM twtasks_internal.grab_tasks(ARRAY[pg_temp.id(n)], '{0}', node, 1, ARRAY[timeout_ms], ARRAY[rule]));
END $$;

CREATE FUNCTION pg_temp.ended(node bigint) RETURNS boolean
LANGUAGE sql
AS $$ SELECT ended IS NOT NULL FROM twtasks.node WHERE incarnation = ended.node $$;

-- Starting.
SELECT twtasks_internal.start_node('one') AS one \gset
SELECT twtasks_internal.start_node('two', '5 minutes') AS two \gset
SELECT cmp_ok(:two, '>', :one, 'every start has a higher incarnation');
SELECT pg_temp.run(20, :one, 'retry') \g /dev/null
SELECT twtasks_internal.start_node('one') AS again \gset
SELECT cmp_ok(:again, '>', :two, 'a start under the same name has a higher incarnation too');
SELECT is((SELECT jsonb_agg(to_jsonb(r) - 'next_ms') FROM twtasks_internal.recover_tasks() r), '[{"retried": 0, "errors": 0, "failed": 0}]'::jsonb, 'a start ends no other node of its name');
SELECT is((SELECT (status, version, incarnation)::text FROM twtasks.task WHERE id = pg_temp.id(20)), format('(PROCESSING,1,%s)', :one), 'a start takes over no task of another node of its name');
SELECT is((SELECT status FROM twtasks_internal.finish_tasks(ARRAY[pg_temp.id(20)], '{1}', '{done}', '{0}', '{NULL}', :one, 1)), 'DONE'::twtasks.task_status, 'the older node can finish its task');
TRUNCATE twtasks.task, twtasks.finished_task, twtasks.unique_key;
SELECT is((SELECT jsonb_agg(jsonb_build_array(name, extract(epoch FROM lease), started <= heartbeat, missing_since, ended) ORDER BY incarnation) FROM twtasks.node),
	'[["one", 30, true, null, null], ["two", 300, true, null, null], ["one", 30, true, null, null]]'::jsonb, 'a start stores the node and its lease');
SELECT ok(twtasks_internal.session_holds(twtasks_internal.node_lock(:one)), 'the node''s session holds the lock of the node');
SELECT is(twtasks_internal.start_node(NULL), NULL, 'a node needs a name');

-- Heartbeats.
SELECT heartbeat AS before FROM twtasks.node WHERE incarnation = :one \gset
SELECT ok(twtasks_internal.heartbeat(:one), 'a living node may go on');
SELECT ok((SELECT heartbeat > :'before' FROM twtasks.node WHERE incarnation = :one), 'a heartbeat stores its time');
SELECT ok(NOT twtasks_internal.heartbeat(0), 'a node that never existed may not go on');

-- Ticks: who leads, and who is the how manieth.
SELECT is((SELECT to_jsonb(t) - '{clock,has_work,next_ms,look_ms}'::text[] FROM twtasks_internal.tick(:one) t), '{"alive": true, "is_held": true, "ahead_us": 0, "is_leader": true, "place": 0, "nodes": 3}'::jsonb, 'the first node to ask leads');
SELECT is((SELECT to_jsonb(t) - '{clock,has_work,next_ms,look_ms}'::text[] FROM twtasks_internal.tick(:again) t), '{"alive": true, "is_held": true, "ahead_us": 0, "is_leader": false, "place": 2, "nodes": 3}'::jsonb, 'nodes have places in the order of their incarnations');
SELECT is((SELECT array_agg(incarnation) FROM twtasks.node WHERE leads), ARRAY[:one]::bigint[], 'exactly one node leads');
UPDATE twtasks.node SET heartbeat = heartbeat - interval '1 hour' WHERE incarnation = :one;
SELECT ok((SELECT is_leader FROM twtasks_internal.tick(:again)), 'the next node leads when the leader is silent beyond its lease');
SELECT ok(NOT (SELECT is_leader FROM twtasks_internal.tick(:one)), 'the silent leader learns that it no longer leads');
UPDATE twtasks.node SET heartbeat = heartbeat + interval '1 hour' WHERE incarnation = :again;
SELECT ok((SELECT is_leader FROM twtasks_internal.tick(:one)), 'the next node leads when the leader''s heartbeat is of the future');
SELECT ok(NOT (SELECT is_leader FROM twtasks_internal.tick(:again)), 'the former leader with the heartbeat of the future leads no longer');

-- A follower is told when to look again.
SELECT ok((SELECT look_ms FROM twtasks_internal.tick(:one, 300000)) IS NULL, 'the leader need not watch another leader');
SELECT ok((SELECT look_ms BETWEEN 200000 AND 301500 FROM twtasks_internal.tick(:again)), 'followers look again a while after the leader should have ticked');
UPDATE twtasks.node SET next_tick = clock_timestamp() - interval '2 seconds' WHERE incarnation = :one;
SELECT ok((SELECT NOT is_leader AND look_ms < 0 FROM twtasks_internal.tick(:again)), 'a late leader whose session works still leads');
SELECT is((SELECT jsonb_build_array(is_leader, look_ms) FROM twtasks_internal.tick(:one)), '[true, null]'::jsonb, 'the late leader ticks as the leader');

-- Ending in order: its tasks follow their rules without delay.
SELECT pg_temp.run(1, :two, 'retry'), pg_temp.run(2, :two, 'error'), pg_temp.run(3, :two, 'fail'), pg_temp.run(4, :two, 'ignore'), pg_temp.run(5, :one, 'retry') \g /dev/null
SELECT twtasks_internal.end_node(:two) \g /dev/null
SELECT ok(pg_temp.ended(:two), 'a node can end');
SELECT ok(NOT twtasks_internal.heartbeat(:two), 'a node that has ended does not come back');
SELECT is((SELECT to_jsonb(t) - '{clock,has_work,next_ms,look_ms}'::text[] FROM twtasks_internal.tick(:two) t), '{"alive": false, "is_held": false, "ahead_us": 0, "is_leader": false, "place": 1, "nodes": 2}'::jsonb, 'a node that has ended neither leads nor counts');
SELECT ended AS ended FROM twtasks.node WHERE incarnation = :two \gset
SELECT twtasks_internal.end_node(:two) \g /dev/null
SELECT is((SELECT ended FROM twtasks.node WHERE incarnation = :two), :'ended', 'ending a node twice changes nothing');
SELECT is((SELECT to_jsonb(r) FROM twtasks_internal.recover_tasks() r), '{"retried": 1, "errors": 1, "failed": 1, "next_ms": null}'::jsonb, 'tasks of an ended node follow their stuck rules');
SELECT is(ARRAY(SELECT pg_temp.state(pg_temp.id(n)) FROM generate_series(1, 5) n),
	'{SUBMITTED 2,ERROR 2,FAILED 2,PROCESSING 1,PROCESSING 1}'::text[], 'retry, error and fail act; ignore does nothing; tasks of other nodes go on');
SELECT is((SELECT jsonb_agg(DISTINCT error) FROM twtasks.tasks WHERE version = 2), '["the node that ran it is gone"]'::jsonb, 'recovered tasks keep the reason');
SELECT is((SELECT jsonb_agg(jsonb_build_array(queued, tries, deadline, next_event_time = 'infinity') ORDER BY id) FROM twtasks.task WHERE version = 2),
	'[[true, 1, null, false], [false, 1, null, true]]'::jsonb, 'the tries count, and no deadline is left');
SELECT is((SELECT count(*) FROM twtasks.unique_key WHERE task_id = pg_temp.id(3)), 1::bigint, 'a failed task keeps its key');
SELECT is((SELECT count(*) FROM twtasks_internal.sweep_tasks('default', 10) WHERE id = pg_temp.id(1)), 1::bigint, 'a sweep finds the retried task');
SELECT is((SELECT to_jsonb(r) FROM twtasks_internal.recover_tasks() r), '{"retried": 0, "errors": 0, "failed": 0, "next_ms": null}'::jsonb, 'a second look finds nothing');

-- A node is not missing while its session lives, not even to that session.
SELECT is((SELECT next_ms FROM twtasks_internal.recover_tasks(true, 10, '0')), NULL, 'no next look is planned after the recovery');
SELECT is((SELECT count(*) FROM twtasks.node WHERE ended IS NULL AND missing_since IS NULL), 2::bigint, 'no node is missing');

-- Its session ends: missing at first, gone after the grace.
SELECT pg_temp.session_ends(:one) \g /dev/null
SELECT is((SELECT to_jsonb(r) || jsonb_build_object('next_ms', r.next_ms BETWEEN 300010 AND 320000) FROM twtasks_internal.recover_tasks(true, 10, '5 minutes') r),
	'{"retried": 0, "errors": 0, "failed": 0, "next_ms": true}'::jsonb,
	'a node first seen without a session is looked at again after the grace');
SELECT ok((SELECT missing_since IS NOT NULL AND ended IS NULL FROM twtasks.node WHERE incarnation = :one), 'the node without a session is missing');
SELECT ok((SELECT next_ms BETWEEN 1 AND 300010 FROM twtasks_internal.recover_tasks(true, 10, '5 minutes')), 'a missing node is looked at again when the grace is over');
SELECT ok(NOT pg_temp.ended(:one), 'a missing node is not gone within the grace');

-- It comes back in time, in another session.
SELECT ok(twtasks_internal.heartbeat(:one), 'a new session can take over the incarnation');
SELECT ok((SELECT missing_since IS NULL FROM twtasks.node WHERE incarnation = :one) AND twtasks_internal.session_holds(twtasks_internal.node_lock(:one)), 'a node with a new session is not missing');
SELECT is((SELECT next_ms FROM twtasks_internal.recover_tasks(true, 10, '0')), NULL, 'a node with a new session is not looked for');
SELECT is(pg_temp.state(pg_temp.id(5)), 'PROCESSING 1', 'the node kept its task all the time');

-- It does not come back.
SELECT pg_temp.session_ends(:one) \g /dev/null
SELECT next_ms FROM twtasks_internal.recover_tasks(true, 10, '1 minute') \g /dev/null
UPDATE twtasks.node SET missing_since = missing_since - interval '2 minutes' WHERE incarnation = :one;
SELECT is((SELECT retried FROM twtasks_internal.recover_tasks(true, 10, '1 minute')), 1::bigint, 'after the grace the task of a missing node is retried');
SELECT ok(pg_temp.ended(:one), 'after the grace a missing node is gone');
SELECT ok(NOT twtasks_internal.heartbeat(:one), 'the heartbeat of a node that is gone is refused');
SELECT is((SELECT count(*) FROM twtasks_internal.finish_tasks(ARRAY[pg_temp.id(5)], '{1}', '{done}', '{0}', '{NULL}', :one, 2)), 0::bigint, 'a late result of a node that is gone is refused');
SELECT is((SELECT count(*) FROM twtasks_internal.grab_tasks(ARRAY[pg_temp.id(5)], '{2}', :one, 3, '{1000}', '{error}')), 0::bigint, 'a node that is gone gets no task');

-- Silent for longer than its lease, although its session lives: gone.
UPDATE twtasks.node SET lease = '1 hour' WHERE incarnation = :again;
SELECT pg_temp.run(6, :again, 'error') \g /dev/null
UPDATE twtasks.node SET heartbeat = heartbeat - interval '32 minutes' WHERE incarnation = :again;
SELECT is((SELECT (errors, next_ms BETWEEN 1500000 AND 1800010)::text FROM twtasks_internal.recover_tasks()), '(0,t)', 'a node silent within its lease is looked at again when the lease is over');
UPDATE twtasks.node SET heartbeat = heartbeat - interval '26 minutes', silent_since = silent_since - interval '26 minutes' WHERE incarnation = :again;
SELECT is((SELECT errors FROM twtasks_internal.recover_tasks()), 0::bigint, 'a node silent within its lease is not gone');
UPDATE twtasks.node SET heartbeat = heartbeat - interval '4 minutes', silent_since = silent_since - interval '4 minutes' WHERE incarnation = :again;
SELECT is((SELECT errors FROM twtasks_internal.recover_tasks()), 1::bigint, 'the task of a node silent beyond its lease is recovered');
SELECT ok(NOT twtasks_internal.heartbeat(:again), 'a node silent beyond its lease must start anew');

-- All of a sudden much time has passed: a clock was put forward, or the server
-- stood still.  A living node has half of its lease to tick.
SELECT twtasks_internal.start_node('forward', '1 hour') AS forward \gset
SELECT pg_temp.run(7, :forward, 'error') \g /dev/null
UPDATE twtasks.node SET heartbeat = heartbeat - interval '1 day' WHERE incarnation = :forward;
SELECT is((SELECT (errors, next_ms BETWEEN 1500000 AND 1800010)::text FROM twtasks_internal.recover_tasks()), '(0,t)', 'a node silent for a day at once is looked at again after half of its lease');
UPDATE twtasks.node SET silent_since = silent_since - interval '32 minutes' WHERE incarnation = :forward;
SELECT ok(twtasks_internal.heartbeat(:forward), 'a node silent for a day may go on when it ticks');
SELECT is((SELECT (errors, next_ms)::text FROM twtasks_internal.recover_tasks()), '(0,)', 'a node that ticked again is not looked for');
UPDATE twtasks.node SET heartbeat = heartbeat - interval '1 day' WHERE incarnation = :forward;
SELECT is((SELECT errors FROM twtasks_internal.recover_tasks()), 0::bigint, 'a second silence begins from the start');
UPDATE twtasks.node SET silent_since = silent_since - interval '32 minutes' WHERE incarnation = :forward;
SELECT is((SELECT errors FROM twtasks_internal.recover_tasks()), 1::bigint, 'the task of a node that does not tick is recovered');

-- The clock was put back: a node that is silent is noticed all the same.
SELECT twtasks_internal.start_node('back') AS back \gset
SELECT pg_temp.run(8, :back, 'error') \g /dev/null
UPDATE twtasks.node SET heartbeat = heartbeat + interval '1 hour', missing_since = clock_timestamp() + interval '1 hour' WHERE incarnation = :back;
SELECT is((SELECT errors FROM twtasks_internal.recover_tasks()), 0::bigint, 'a node with a heartbeat of the future is not gone');
SELECT ok((SELECT heartbeat < clock_timestamp() AND missing_since IS NULL FROM twtasks.node WHERE incarnation = :back), 'a heartbeat of the future counts as one of now');
SELECT twtasks_internal.end_node(:back), twtasks_internal.recover_tasks() \g /dev/null

-- If two nodes are missing, the one whose patience ends first sets the next look.
SELECT twtasks_internal.start_node('early') AS early \gset
SELECT twtasks_internal.start_node('late') AS late \gset
SELECT pg_temp.session_ends(:early), pg_temp.session_ends(:late) \g /dev/null
UPDATE twtasks.node SET missing_since = clock_timestamp() - interval '9 minutes' WHERE incarnation = :early;
SELECT cmp_ok((SELECT next_ms FROM twtasks_internal.recover_tasks(true, 10, '10 minutes')), '<=', 60010::bigint, 'the next look is at the earlier of two times');
SELECT cmp_ok((SELECT next_ms FROM twtasks_internal.recover_tasks(true, 10, '10 minutes')), '<=', 60010::bigint, 'the next look stays at the earlier of two times');
SELECT twtasks_internal.end_node(:early), twtasks_internal.end_node(:late) \g /dev/null

-- Deadlines of living nodes.
TRUNCATE twtasks.task, twtasks.finished_task, twtasks.unique_key;
SELECT twtasks_internal.start_node('three') AS three \gset
SELECT pg_temp.run(1, :three, 'retry', 0), pg_temp.run(2, :three, 'error', 0), pg_temp.run(3, :three, 'fail', 0), pg_temp.run(4, :three, 'ignore', 0), pg_temp.run(5, :three, 'retry') \g /dev/null
SELECT is((SELECT to_jsonb(r) - 'next_ms' FROM twtasks_internal.recover_tasks(false) r), '{"retried": 0, "errors": 0, "failed": 0}'::jsonb, 'a look that does not read the whole table finds no passed deadline');
SELECT is((SELECT to_jsonb(r) - 'next_ms' FROM twtasks_internal.recover_tasks() r), '{"retried": 1, "errors": 1, "failed": 1}'::jsonb, 'tasks past their deadline follow their stuck rules');
SELECT is(ARRAY(SELECT pg_temp.state(pg_temp.id(n)) FROM generate_series(1, 5) n),
	'{SUBMITTED 2,ERROR 2,FAILED 2,PROCESSING 1,PROCESSING 1}'::text[], 'ignore does nothing, and a task in time goes on');
SELECT is((SELECT jsonb_agg(DISTINCT error) FROM twtasks.tasks WHERE version = 2), '["its deadline passed without a result"]'::jsonb, 'tasks past their deadline keep the reason');
SELECT is((SELECT count(*) FROM twtasks_internal.finish_tasks(ARRAY(SELECT pg_temp.id(n) FROM generate_series(1, 3) n), '{1,1,1}', '{done,done,done}', '{0,0,0}', '{NULL,NULL,NULL}', :three, 2)),
	0::bigint, 'late results of recovered tasks are refused');
SELECT is((SELECT count(*) FROM twtasks_internal.finish_tasks(ARRAY[pg_temp.id(4), pg_temp.id(5)], '{1,1}', '{done,done}', '{0,0}', '{NULL,NULL}', :three, 2)),
	2::bigint, 'results of the other tasks are accepted');

-- Accepted tasks are nobody's: the end of the node is nothing to them, their
-- deadline is.
SELECT pg_temp.run(11, :three, 'retry', 60000), pg_temp.run(12, :three, 'retry', 0), pg_temp.run(13, :three, 'ignore', 0) \g /dev/null
SELECT count(*) FROM twtasks_internal.finish_tasks(ARRAY(SELECT pg_temp.id(n) FROM generate_series(11, 13) n), '{1,1,1}', '{accepted,accepted,accepted}',
	'{0,0,0}', '{NULL,NULL,NULL}', :three, 2) \g /dev/null
SELECT is((SELECT retried FROM twtasks_internal.recover_tasks(false)), 1::bigint, 'an accepted task past its deadline is found without reading the whole table');
SELECT twtasks_internal.end_node(:three) \g /dev/null
SELECT is((SELECT retried FROM twtasks_internal.recover_tasks()), 0::bigint, 'accepted tasks stay when their node ends');
SELECT is(ARRAY(SELECT pg_temp.state(pg_temp.id(n)) FROM generate_series(11, 13) n), '{PROCESSING 1,SUBMITTED 2,PROCESSING 1}'::text[], 'each accepted task has the right status');
SELECT ok((SELECT queued FROM twtasks.task WHERE id = pg_temp.id(12)), 'the retried task is queued again');
SELECT is((SELECT version FROM twtasks_internal.finish_tasks(ARRAY[pg_temp.id(11)], '{1}', '{done}', '{0}', '{NULL}', NULL, NULL)), 2::bigint, 'the accepted task can still be finished');

-- A batch at a time, and word that there is more.
TRUNCATE twtasks.task, twtasks.finished_task, twtasks.unique_key;
SELECT twtasks_internal.start_node('four') AS four \gset
SELECT pg_temp.run(n, :four, 'retry') FROM generate_series(1, 5) n \g /dev/null
SELECT twtasks_internal.end_node(:four) \g /dev/null
SELECT results_eq('SELECT r.retried, r.next_ms FROM generate_series(1, 3) n CROSS JOIN LATERAL twtasks_internal.recover_tasks(n > 0, 2) r',
	'VALUES (2::bigint, 0::bigint), (2, 0), (1, NULL)', 'orphaned tasks are recovered two at a time, with word that there are more');

-- Nodes that ended are forgotten after a minute, once no task is theirs.
TRUNCATE twtasks.task, twtasks.unique_key;
SELECT twtasks_internal.start_node('five') AS five \gset
SELECT pg_temp.run(1, :five, 'ignore') \g /dev/null
SELECT twtasks_internal.end_node(:five) \g /dev/null
SELECT count(*) FROM twtasks_internal.recover_tasks() \g /dev/null
SELECT ok((SELECT count(*) > 1 FROM twtasks.node), 'a node that has just ended is kept');
UPDATE twtasks.node SET ended = ended - interval '2 minutes';
SELECT count(*) FROM twtasks_internal.recover_tasks() \g /dev/null
SELECT is((SELECT array_agg(name) FROM twtasks.node), NULL::text[], 'a node that ended earlier is forgotten, but for one with an ignored task');
SELECT pg_temp.finish(pg_temp.id(1), 'done') \g /dev/null
SELECT count(*) FROM twtasks_internal.recover_tasks() \g /dev/null
SELECT is((SELECT count(*) FROM twtasks.node WHERE name = 'five'), 0::bigint, 'a node is forgotten when its ignored task has ended');
SELECT cmp_ok(twtasks_internal.start_node('six'), '>', :five::bigint, 'the incarnation of a forgotten node is not used again');

SELECT * FROM finish();
