--
-- The views: what people and monitors look at.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(37);

SELECT is((SELECT count(*) FROM twtasks.tasks), 0::bigint, 'tasks: the view is empty without tasks');
SELECT is((SELECT count(*) FROM twtasks.stats), 0::bigint, 'stats: the view is empty without tasks');
SELECT pg_temp.task_in(s, pg_temp.id(n::integer)) AS made FROM unnest(enum_range(NULL::twtasks.task_status)) WITH ORDINALITY x(s, n) \g /dev/null

-- tasks: live and finished, without what they carry.
SELECT is((SELECT array_agg(status ORDER BY id) FROM twtasks.tasks), enum_range(NULL::twtasks.task_status), 'tasks: the view shows tasks in each status');
SELECT is((SELECT count(*) FROM twtasks.tasks t JOIN twtasks.task USING (id, version, status, tries, state_time, created)), 5::bigint, 'tasks: the view shows live tasks unchanged');
SELECT is((SELECT count(*) FROM twtasks.tasks t JOIN twtasks.finished_task USING (id, version, status, tries, state_time, created)), 3::bigint, 'tasks: the view shows finished tasks unchanged');
SELECT hasnt_column('twtasks', v, c, format('%s does not show %s', v, c))
FROM unnest('{tasks,error_tasks,stuck_tasks}'::name[]) v, unnest('{data,payload,context}'::name[]) c;

-- tasks: a query reads what it asks for.
CREATE FUNCTION pg_temp.plan_of(condition text) RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
	step text;
	steps text;
BEGIN
	FOR step IN EXECUTE 'EXPLAIN (COSTS OFF) SELECT * FROM twtasks.tasks WHERE ' || condition LOOP
		steps := concat_ws(E'\n', steps, step);
	END LOOP;
	RETURN steps;
END $$;
SELECT unalike(pg_temp.plan_of($$status = 'SUBMITTED' AND type = 'TEST'$$), '%finished_task%', 'tasks: a query for SUBMITTED tasks does not read the history');
SET LOCAL enable_seqscan = off;
SELECT matches(pg_temp.plan_of($$bucket = 'default' AND type = 'TEST'$$), 'task_queued on task t\s+Index Cond: \(\(bucket = ''default''::text\) AND \(type = ''TEST''', 'tasks: a query by bucket and type uses the index of the queue');
SELECT matches(pg_temp.plan_of($$id = twtasks.id_of('stats 1')$$), 'task_pkey on task t\s+Index Cond', 'tasks: a query by key uses the index of ids');
RESET enable_seqscan;
SELECT twtasks.add_task('TEST', key => 'stats 1') \g /dev/null
SELECT is((SELECT key FROM twtasks.tasks WHERE id = twtasks.id_of('stats 1')), 'stats 1', 'id_of: the function finds the task with that key');
SELECT is(twtasks.id_of('stats 2'), NULL, 'id_of: the function returns NULL without such a task');
DELETE FROM twtasks.task WHERE id = twtasks.id_of('stats 1');

-- stats: live tasks counted.
SELECT is((SELECT jsonb_object_agg(status, tasks) FROM twtasks.stats), '{"WAITING": 1, "SUBMITTED": 1, "PROCESSING": 1, "ERROR": 1, "HELD": 1}'::jsonb, 'stats: the view counts tasks by status');
SELECT twtasks.add_task(t, bucket => b) FROM unnest('{A,B}'::text[]) t, unnest('{default,b}'::text[]) b, generate_series(1, 3) \g /dev/null
SELECT is((SELECT jsonb_agg(jsonb_build_array(bucket, type, tasks) ORDER BY bucket, type) FROM twtasks.stats WHERE type IN ('A', 'B')),
	'[["b", "A", 3], ["b", "B", 3], ["default", "A", 3], ["default", "B", 3]]'::jsonb, 'stats: the view counts tasks by bucket and type');
SELECT is((SELECT jsonb_build_array(most_tries, oldest = (SELECT min(state_time) FROM twtasks.task WHERE status = 'PROCESSING')) FROM twtasks.stats WHERE status = 'PROCESSING'),
	'[1, true]'::jsonb, 'stats: the view shows the most tries and the oldest task');

-- error_tasks: what waits for a person.
SELECT is((SELECT jsonb_agg(jsonb_build_array(id = pg_temp.id(4), version, type, error, tries)) FROM twtasks.error_tasks), '[[true, 2, "TEST", "test", 1]]'::jsonb, 'error_tasks: the view shows the task in ERROR');
SELECT is(pg_temp.change('resume', pg_temp.id(4), 2), 'changed', 'error_tasks: the task in ERROR can be resumed');
SELECT is((SELECT count(*) FROM twtasks.error_tasks), 0::bigint, 'error_tasks: the view no longer shows a resumed task');
SELECT pg_temp.grab(id), pg_temp.finish(id, 'error') FROM (
	SELECT id, type, row_number() OVER (PARTITION BY type ORDER BY bucket, id) AS n FROM twtasks.task WHERE type IN ('A', 'B')) x
WHERE n <= CASE type WHEN 'A' THEN 5 ELSE 1 END \g /dev/null
SELECT is((SELECT jsonb_agg(jsonb_build_array(bucket, type, tasks) ORDER BY bucket, type) FROM twtasks.stats WHERE status = 'ERROR'),
	'[["b", "A", 3], ["b", "B", 1], ["default", "A", 2]]'::jsonb, 'stats: the view counts tasks in ERROR by bucket and type');
SELECT is((SELECT jsonb_object_agg(type, n) FROM (SELECT type, count(*) AS n FROM twtasks.error_tasks GROUP BY 1) x), '{"A": 5, "B": 1}'::jsonb, 'error_tasks: the view shows every task in ERROR of each type');

-- stuck_tasks: what should have moved on, and why it may not have.
SELECT is((SELECT count(*) FROM twtasks.stuck_tasks), 0::bigint, 'stuck_tasks: a new task is not stuck');
UPDATE twtasks.task SET next_event_time = next_event_time - interval '29 minutes' WHERE id IN (pg_temp.id(2), pg_temp.id(1));
SELECT is((SELECT count(*) FROM twtasks.stuck_tasks), 0::bigint, 'stuck_tasks: a task within its queue time is not stuck');
UPDATE twtasks.task SET next_event_time = clock_timestamp() - interval '30 s' WHERE id = pg_temp.id(1);
SELECT is((SELECT count(*) FROM twtasks.stuck_tasks), 0::bigint, 'stuck_tasks: a due task is not stuck for a minute');
UPDATE twtasks.task SET next_event_time = clock_timestamp() - interval '61 s' WHERE id = pg_temp.id(1);
UPDATE twtasks.task SET next_event_time = next_event_time - interval '2 minutes' WHERE id = pg_temp.id(2);
UPDATE twtasks.task SET deadline = clock_timestamp() WHERE id = pg_temp.id(3);
SELECT is((SELECT jsonb_agg(jsonb_build_array(status, why) ORDER BY id) FROM twtasks.stuck_tasks),
	'[["WAITING", "it is due and nobody promotes it: is a node running?"],
	  ["SUBMITTED", "nobody grabs it: is there a node with a handler for its type and bucket, and a slot for it?"],
	  ["PROCESSING", "its deadline passed without a result"]]'::jsonb, 'stuck_tasks: each task has its likely reason');
SELECT is((SELECT node FROM twtasks.stuck_tasks WHERE status = 'PROCESSING'), 'test', 'stuck_tasks: the view names the node that runs the task');
SELECT twtasks_internal.end_node(pg_temp.node()) \g /dev/null
SELECT is((SELECT why FROM twtasks.stuck_tasks WHERE status = 'PROCESSING'), 'the node that ran it is gone', 'stuck_tasks: the view says when that node is gone');
UPDATE twtasks.task SET next_event_time = 'infinity', deadline = NULL WHERE status IN ('ERROR', 'HELD');
SELECT is((SELECT count(*) FROM twtasks.stuck_tasks), 3::bigint, 'stuck_tasks: a task that waits for a person is not stuck');

-- nodes.
SELECT is((SELECT jsonb_agg(jsonb_build_array(name, extract(epoch FROM lease), ended IS NOT NULL)) FROM twtasks.nodes WHERE incarnation = pg_temp.node()), '[["test", 30, true]]'::jsonb,
	'nodes: the view shows running nodes, and nodes that ended lately');

-- queue_stats: no rows without shared memory, else one for each bucket in use.
SELECT is((SELECT count(*) FROM twtasks.queue_stats() WHERE bucket IN ('default', 'b')), CASE twtasks.queue_kind() WHEN 'ring' THEN 2 ELSE 0 END::bigint, 'queue_stats: the function has a row for each bucket in use, and none without shared memory');
SELECT is((SELECT count(*) FROM twtasks.queue_stats() WHERE waiting < 0 OR pushed < waiting OR dropped < 0 OR waiters < 0), 0::bigint, 'queue_stats: the figures are consistent');

SELECT * FROM finish();
ROLLBACK;
