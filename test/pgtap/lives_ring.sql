--
-- Random lives of tasks: life() has each change once, but for those that it says to be
-- not kept, and task_at() knows the state that a task had after each step.
-- TWT_TEST_LIVES says how many lives.
--
\set seed `echo "${TWT_TEST_SEED:-$(date +%s)}"`
\set lives `echo "${TWT_TEST_LIVES:-1000}"`
BEGIN;
\ir ../lib/tasks.sql
TRUNCATE twtasks.task_attempt;
SELECT plan(12);
SELECT twtasks.unset_type_options(pattern, 'when_done') FROM twtasks.type_policies \g /dev/null
SELECT setseed(mod(:seed, 1000000) / 1000000.0), set_config('test.lives', :'lives', false) \g /dev/null

-- The states that the walk has seen, each with the step that led there.
CREATE TEMPORARY TABLE seen (id uuid, version bigint, status twtasks.task_status, tries integer, node text, at timestamptz, step text, due timestamptz, PRIMARY KEY (id, version));
CREATE TEMPORARY TABLE plan (id uuid, version bigint, status twtasks.task_status, step text);

-- A step from a status: each word is as likely as the others.
CREATE FUNCTION pg_temp.step(status twtasks.task_status) RETURNS text
LANGUAGE sql VOLATILE
AS $$
	SELECT w[1 + floor(random() * cardinality(w))::integer]
	FROM (SELECT string_to_array(CASE status
		WHEN 'SUBMITTED' THEN 'grab grab grab grab grab grab grab hold cancel reschedule'
		WHEN 'WAITING' THEN 'promote promote promote promote promote promote hold cancel resume reschedule'
		WHEN 'PROCESSING' THEN 'done done done retry retry retry error error lost lost repeat release delete'
		WHEN 'ERROR' THEN 'resume resume resume fail hold reschedule cancel'
		WHEN 'HELD' THEN 'release_task release_task release_task cancel'
		ELSE 'reopen - - -' END, ' ')) s(w)
$$;

-- All tasks go one step, those with the same step together.
CREATE PROCEDURE pg_temp.walk()
LANGUAGE plpgsql
AS $$
DECLARE
	part record;
BEGIN
	TRUNCATE plan;
	INSERT INTO plan SELECT t.id, t.version, t.status, pg_temp.step(t.status) FROM twtasks.tasks t;
	FOR part IN SELECT p.step, array_agg(p.id ORDER BY p.id) AS ids, array_agg(p.version ORDER BY p.id) AS versions
				FROM plan p WHERE p.step <> '-' GROUP BY p.step
				-- A move to the queue takes all that are due.
				ORDER BY p.step <> 'promote'
	LOOP
		CASE
			WHEN part.step = 'grab' THEN
				PERFORM twtasks_internal.grab_tasks(part.ids, part.versions, pg_temp.node(), pg_temp.token(), '{60000}',
					ARRAY(SELECT ('{error,fail,retry}'::twtasks.stuck_rule[])[1 + floor(random() * 3)::integer] FROM unnest(part.ids)));
			WHEN part.step IN ('done', 'retry', 'error', 'repeat', 'release', 'delete') THEN
				PERFORM twtasks_internal.finish_tasks(part.ids, part.versions, ARRAY[part.step], '{3600000}', ARRAY['the bank is closed'], pg_temp.node(), pg_temp.token());
			WHEN part.step = 'promote' THEN
				UPDATE twtasks.task t SET next_event_time = clock_timestamp() FROM unnest(part.ids) i(id) WHERE t.id = i.id;
				WHILE EXISTS (SELECT FROM twtasks.task t WHERE t.status = 'WAITING' AND t.next_event_time <= clock_timestamp()) LOOP
					PERFORM twtasks_internal.promote_tasks();
				END LOOP;
			WHEN part.step = 'lost' THEN
				UPDATE twtasks.task t SET deadline = t.created FROM unnest(part.ids) i(id) WHERE t.id = i.id;
				WHILE EXISTS (SELECT FROM twtasks.task t WHERE t.status = 'PROCESSING' AND t.deadline <= clock_timestamp()) LOOP
					PERFORM twtasks_internal.recover_tasks();
				END LOOP;
			ELSE
				PERFORM pg_temp.change(CASE part.step WHEN 'release_task' THEN 'release' ELSE part.step END, i.id, i.version)
				FROM unnest(part.ids, part.versions) i(id, version);
		END CASE;
	END LOOP;
	INSERT INTO seen
	SELECT t.id, t.version, t.status, t.tries, CASE t.status WHEN 'PROCESSING' THEN 'test' END, clock_timestamp(),
		   CASE WHEN p.status = 'WAITING' AND t.status = 'SUBMITTED' AND t.version = p.version + 1 THEN 'promote' ELSE p.step END,
		   l.next_event_time
	FROM twtasks.tasks t JOIN plan p USING (id) LEFT JOIN twtasks.task l USING (id) WHERE t.version <> p.version
	UNION ALL
	SELECT p.id, p.version + 1, NULL, NULL, NULL, clock_timestamp(), p.step, NULL FROM plan p WHERE p.step = 'delete';
END $$;

SELECT twtasks_internal.begin_history() \g /dev/null
SELECT twtasks.add_tasks('TEST', array_fill('{}'::jsonb, ARRAY[:lives / 2])),
	twtasks.add_tasks('TEST', array_fill('{}'::jsonb, ARRAY[:lives / 2]), run_after => clock_timestamp() + interval '1 h') \g /dev/null
INSERT INTO seen SELECT t.id, t.version, t.status, t.tries, NULL, clock_timestamp(), 'add', NULL FROM twtasks.tasks t;
SELECT 'CALL pg_temp.walk()' FROM generate_series(1, 10) \gexec
ANALYZE seen;
SELECT diag('TWT_TEST_SEED=' || :seed);
SELECT is((SELECT string_agg(DISTINCT s.step, ' ' ORDER BY s.step) FROM seen s),
	'add cancel delete done error fail grab hold lost promote release release_task reopen repeat reschedule resume retry', 'tasks have gone all ways');

-- ---- life() ----
CREATE TEMPORARY TABLE told AS
	SELECT i.id, l.at, l.event, l.version, l.status FROM (SELECT DISTINCT s.id FROM seen s) i CROSS JOIN LATERAL twtasks.life(i.id) l;
CREATE TEMPORARY TABLE kept AS SELECT DISTINCT s.id FROM seen s EXCEPT SELECT d.id FROM seen d WHERE d.step = 'delete';
ANALYZE told, kept;
SELECT is((SELECT count(*) FROM (SELECT FROM told t WHERE t.version IS NOT NULL GROUP BY t.id, t.version HAVING count(*) > 1) x), 0::bigint, 'no change is told twice');
SELECT is((SELECT string_agg(DISTINCT s.step, ' ') FROM seen s JOIN kept USING (id) LEFT JOIN seen n ON n.id = s.id AND n.version = s.version + 1
		WHERE s.step NOT IN ('promote', 'repeat', 'release') AND NOT (s.step = 'grab' AND n.step IN ('repeat', 'release'))
		  AND NOT EXISTS (SELECT FROM told t WHERE t.id = s.id AND t.version = s.version)),
	NULL, 'each change is told, but for repeats and releases, with their starts, and for moves to the queue');
SELECT is((SELECT count(*) FROM told t LEFT JOIN seen s USING (id, version) WHERE t.version IS NOT NULL AND (s.version IS NULL OR t.status <> s.status)), 0::bigint,
	'no change and no status is invented');
SELECT is((SELECT count(*) FROM told t JOIN kept USING (id) WHERE t.version IS NOT NULL AND t.status IS NULL
		AND EXISTS (SELECT FROM told n WHERE n.id = t.id AND n.version = t.version + 1)), 0::bigint, 'the status is known where the next change is');

-- ---- task_at() ----
CREATE TEMPORARY TABLE was AS
	SELECT s.id, s.at, s.version AS v, a.since, a.is_exact,
		   -- A task that waits counts as SUBMITTED from when it is due.
		   CASE WHEN s.status = 'WAITING' AND s.due <= s.at AND a.version = s.version + 1 THEN concat_ws(' ', s.version + 1, 'SUBMITTED', s.tries)
				ELSE concat_ws(' ', s.version, s.status, s.tries, s.node) END AS seen,
		   concat_ws(' ', a.version, a.status, coalesce(a.tries, s.tries), a.node) AS told, a.tries IS NULL AS is_lacking
	FROM (SELECT x.*, row_number() OVER (PARTITION BY x.id ORDER BY random()) AS n FROM seen x JOIN kept USING (id)) s
	LEFT JOIN LATERAL twtasks.task_at(s.id, s.at) a ON true
	WHERE s.n <= 3;
SELECT is((SELECT string_agg(format('%s at %s: seen %s, told %s', w.id, w.at, w.seen, w.told), E'\n') FROM was w WHERE w.is_exact AND (w.seen <> w.told OR w.since > w.at)),
	NULL, 'an exact state is the one that was seen');
SELECT is((SELECT count(*) FROM was w WHERE w.is_exact IS DISTINCT FROM
			(EXISTS (SELECT FROM told t WHERE t.id = w.id AND t.version = w.v)
			 AND (EXISTS (SELECT FROM told t WHERE t.id = w.id AND t.version = w.v + 1)
				  OR NOT EXISTS (SELECT FROM seen n WHERE n.id = w.id AND n.version > w.v)))), 0::bigint, '... and a state is exact if its change and the next one are told');
SELECT cmp_ok((SELECT count(*) FROM was w WHERE w.is_exact AND NOT w.is_lacking), '>', (SELECT count(*) / 2 FROM was), 'most states are exact');
SELECT is((SELECT count(*) FROM kept k CROSS JOIN LATERAL (SELECT min(s.at) - interval '1 min' FROM seen s) m(at), twtasks.task_at(k.id, m.at)), 0::bigint, 'no task was there before all');
SELECT is((SELECT count(*) FROM seen d CROSS JOIN twtasks.task_at(d.id, d.at) a WHERE d.step = 'delete' AND a.is_exact), 0::bigint, 'a task that is gone without a trace is never exact');
SELECT throws_ok('SELECT * FROM twtasks.task_at(NULL, now())', '22004', NULL, 'no id');
SELECT throws_ok($$SELECT * FROM twtasks.task_at('00000000-0000-0000-0000-000000000001', NULL)$$, '22004', NULL, 'no moment');
SELECT * FROM finish();
ROLLBACK;
