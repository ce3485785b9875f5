--
-- The state machine: its table, every row of it done once, and everything
-- that is not in it refused.
--
\getenv directory PG_ABS_SRCDIR
\set ECHO none
\i :directory/lib/tasks.sql
-- One statement below finishes tasks and looks for them: it knows the first partition.
SELECT twtasks_internal.begin_history() \g /dev/null
\set ECHO all

-- The table itself: a changed rule shows here.
SELECT action, from_status AS "from", to_status AS "to", actor, guard, timer
FROM twtasks.transition
ORDER BY from_status NULLS FIRST, action, to_status;

CREATE SCHEMA regress_state;
CREATE FUNCTION regress_state.refuses(tasks twtasks.ended_task[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ BEGIN RAISE EXCEPTION 'not now'; END $$;
GRANT USAGE ON SCHEMA regress_state TO PUBLIC;
SET client_min_messages = error;

-- Does one transition to one new task.
CREATE FUNCTION pg_temp.act(action text, task uuid) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
	CASE
		WHEN action = 'grab' THEN
			PERFORM pg_temp.grab(task);
		WHEN action = 'accept' THEN
			PERFORM pg_temp.finish(task, 'accepted');
		WHEN action = 'cancel' THEN
			PERFORM twtasks.request_cancel(task, pg_temp.version_of(task), 'test');
			PERFORM pg_temp.finish(task, 'cancelled');
		WHEN action IN ('done', 'delete', 'retry', 'repeat', 'error') THEN
			PERFORM pg_temp.finish(task, action);
		WHEN action = 'promote' THEN
			UPDATE twtasks.task SET next_event_time = created - interval '1 s' WHERE id = act.task;
			PERFORM twtasks_internal.promote_tasks();
		WHEN action = 'expire' THEN
			UPDATE twtasks.task SET expires = created - interval '1 s' WHERE id = act.task;
			PERFORM twtasks_internal.expire_tasks();
		WHEN action = 'on_end' THEN
			PERFORM twtasks.configure_type('TEST', on_end => 'regress_state.refuses');
			CASE split_part(pg_temp.state(task), ' ', 1)
				WHEN 'PROCESSING' THEN PERFORM pg_temp.finish(task, 'done');
				WHEN 'ERROR' THEN PERFORM pg_temp.change('fail', task, pg_temp.version_of(task));
				ELSE PERFORM pg_temp.change('cancel', task, pg_temp.version_of(task));
			END CASE;
			PERFORM twtasks.drop_type_policy('TEST');
		WHEN action = 'stuck' THEN
			UPDATE twtasks.task SET deadline = created - interval '1 s' WHERE id = act.task;
			PERFORM twtasks_internal.recover_tasks();
	END CASE;
END $$;

-- A new task whose outcome nobody knows.
CREATE FUNCTION pg_temp.lost_in(status twtasks.task_status) RETURNS uuid
LANGUAGE plpgsql
AS $$
DECLARE
	task CONSTANT uuid := pg_temp.task_in('PROCESSING');
BEGIN
	PERFORM pg_temp.act('stuck', task);
	IF status = 'HELD' THEN
		PERFORM pg_temp.change('hold', task, pg_temp.version_of(task));
	END IF;
	RETURN task;
END $$;

CREATE FUNCTION pg_temp.exercise(t twtasks.transition)
RETURNS TABLE (reached text, version_rises_by bigint, tries integer, kept_in text, timer text)
LANGUAGE plpgsql
AS $$
DECLARE
	task uuid := gen_random_uuid();
	before bigint := 0;
BEGIN
	IF t.action = 'add' THEN
		task := pg_temp.task_in(t.to_status);
	ELSE
		task := pg_temp.task_in(t.from_status, rule =>
			CASE t.to_status WHEN 'SUBMITTED' THEN 'retry' WHEN 'FAILED' THEN 'fail'
							 ELSE 'error' END::twtasks.stuck_rule);
		IF t.action = 'release' AND t.to_status = 'ERROR' THEN
			task := pg_temp.task_in('ERROR');
			PERFORM pg_temp.change('hold', task, pg_temp.version_of(task));
		ELSIF t.action = 'confirm' THEN
			task := pg_temp.lost_in(t.from_status);
		END IF;
		before := pg_temp.version_of(task);
		IF t.actor = 'operator' THEN
			PERFORM pg_temp.change(t.action, task, before);
		ELSIF t.action = 'release' THEN
			PERFORM pg_temp.finish(task, 'release', delay_ms => CASE t.to_status WHEN 'WAITING' THEN 60000 ELSE 0 END);
		ELSE
			PERFORM pg_temp.act(t.action, task);
		END IF;
	END IF;
	SELECT x.status, x.version - before, x.tries, x.place,
		   CASE WHEN x.next_event_time = 'infinity' THEN 'never'
				WHEN x.next_event_time = x.deadline THEN 'deadline'
				ELSE 'in ' || round(extract(epoch FROM x.next_event_time - x.state_time) / 60) || ' min' END
	INTO reached, version_rises_by, tries, kept_in, timer
	FROM (SELECT l.id, l.status, l.version, l.tries, 'task' AS place, l.next_event_time, l.deadline, l.state_time
		  FROM twtasks.task l
		  UNION ALL
		  SELECT f.id, f.status, f.version, f.tries, 'finished_task', NULL, NULL, NULL
		  FROM twtasks.finished_task f) x
	WHERE x.id = task;
	kept_in := coalesce(kept_in, 'nowhere');
	RETURN NEXT;
END $$;

-- Every row once: where the task ends, that its version rises by 1 ("accept"
-- keeps it, "add" starts at 0, "delete" leaves nothing), how many tries count,
-- and where next_event_time stands.
SELECT t.action, t.from_status AS "from", t.to_status AS "to",
	   e.reached, e.version_rises_by AS "rises by", e.tries, e.kept_in AS "kept in", e.timer
FROM twtasks.transition t CROSS JOIN LATERAL pg_temp.exercise(t) e
ORDER BY t.from_status NULLS FIRST, t.action, t.to_status;

-- Every change by an operator was written down, with both ends.
SELECT action, from_status AS "from", to_status AS "to",
	   to_version - from_version AS "rises by", reason, actor = session_user AS "actor is me"
FROM twtasks.audit
WHERE EXISTS (SELECT FROM twtasks.transition t
			  WHERE (t.action, t.from_status, t.to_status) = (audit.action, audit.from_status, audit.to_status))
GROUP BY 1, 2, 3, 4, 5, 6
ORDER BY from_status, action, to_status;

-- An operator's actions in each status.  "." is wrong_status: nothing changed, and
-- the audit has no row; "requested" changes nothing yet, but the audit has a row.
CREATE FUNCTION pg_temp.attempt(action text, status twtasks.task_status) RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
	task uuid := CASE WHEN action = 'confirm' AND status IN ('ERROR', 'HELD') THEN pg_temp.lost_in(status) ELSE pg_temp.task_in(status) END;
	before text := pg_temp.state(task);
	audits bigint := (SELECT count(*) FROM twtasks.audit);
	result text := pg_temp.change(action, task, pg_temp.version_of(task));
BEGIN
	IF result = 'changed' OR result = 'requested' AND pg_temp.state(task) = before THEN
		RETURN result;
	ELSIF pg_temp.state(task) <> before OR (SELECT count(*) FROM twtasks.audit) <> audits THEN
		RETURN result || ', but changed it';
	END IF;
	RETURN CASE result WHEN 'wrong_status' THEN '.' ELSE result END;
END $$;

CREATE TEMPORARY TABLE attempted AS
SELECT a.action, s.status, pg_temp.attempt(a.action, s.status) AS result
FROM unnest('{resume,reschedule,prioritize,cancel,fail,confirm,hold,release,reopen}'::text[]) WITH ORDINALITY a(action, n)
CROSS JOIN unnest(enum_range(NULL::twtasks.task_status)) s(status);

SELECT action,
	   max(result) FILTER (WHERE status = 'WAITING') AS waiting,
	   max(result) FILTER (WHERE status = 'SUBMITTED') AS submitted,
	   max(result) FILTER (WHERE status = 'PROCESSING') AS processing,
	   max(result) FILTER (WHERE status = 'ERROR') AS error,
	   max(result) FILTER (WHERE status = 'HELD') AS held,
	   max(result) FILTER (WHERE status = 'DONE') AS done,
	   max(result) FILTER (WHERE status = 'FAILED') AS failed,
	   max(result) FILTER (WHERE status = 'CANCELLED') AS cancelled
FROM attempted GROUP BY action ORDER BY action;

-- Pairs in which the functions and the table do not agree: none.
SELECT a.action, a.status, a.result
FROM attempted a
WHERE (a.result = 'changed') <> EXISTS (
	SELECT FROM twtasks.transition t
	WHERE t.actor = 'operator' AND t.action = a.action AND t.from_status = a.status);

-- With a wrong version no operator's change happens in any status, and the
-- answer names the version there is.
SELECT DISTINCT r.result, r.version - pg_temp.version_of(x.task) AS "off by", r.status = x.status AS "status told"
FROM (SELECT s.status, pg_temp.task_in(s.status) AS task
	  FROM unnest(enum_range(NULL::twtasks.task_status)) s(status)) x
CROSS JOIN unnest('{-1,1}'::bigint[]) wrong(by)
CROSS JOIN LATERAL (
	SELECT * FROM twtasks.resume_task(x.task, pg_temp.version_of(x.task) + wrong.by)
	UNION ALL SELECT * FROM twtasks.reschedule_task(x.task, pg_temp.version_of(x.task) + wrong.by, now())
	UNION ALL SELECT * FROM twtasks.prioritize_task(x.task, pg_temp.version_of(x.task) + wrong.by, 1)
	UNION ALL SELECT * FROM twtasks.cancel_task(x.task, pg_temp.version_of(x.task) + wrong.by)
	UNION ALL SELECT * FROM twtasks.fail_task(x.task, pg_temp.version_of(x.task) + wrong.by)
	UNION ALL SELECT * FROM twtasks.confirm_task(x.task, pg_temp.version_of(x.task) + wrong.by)
	UNION ALL SELECT * FROM twtasks.hold_task(x.task, pg_temp.version_of(x.task) + wrong.by)
	UNION ALL SELECT * FROM twtasks.release_task(x.task, pg_temp.version_of(x.task) + wrong.by)
	UNION ALL SELECT * FROM twtasks.reopen_task(x.task, pg_temp.version_of(x.task) + wrong.by)) r;

SELECT r.* FROM (VALUES ('00000000-0000-0000-0000-00000000ffff'::uuid)) x(task)
CROSS JOIN LATERAL (
	SELECT * FROM twtasks.resume_task(x.task, 0)
	UNION SELECT * FROM twtasks.reschedule_task(x.task, 0, now())
	UNION SELECT * FROM twtasks.prioritize_task(x.task, 0, 1)
	UNION SELECT * FROM twtasks.cancel_task(x.task, 0)
	UNION SELECT * FROM twtasks.fail_task(x.task, 0)
	UNION SELECT * FROM twtasks.confirm_task(x.task, 0)
	UNION SELECT * FROM twtasks.hold_task(x.task, 0)
	UNION SELECT * FROM twtasks.release_task(x.task, 0)
	UNION SELECT * FROM twtasks.reopen_task(x.task, 0)) r;

-- A worker's actions in each status, with the right version, an older (stale) one
-- or a future one.  Only the right version counts, and only in the status of the
-- table.
CREATE FUNCTION pg_temp.work(action text, status twtasks.task_status, off_by bigint) RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
	task uuid := pg_temp.task_in(status);
	before text := pg_temp.state(task);
	named bigint := pg_temp.version_of(task) + off_by;
	won boolean;
BEGIN
	IF action = 'grab' THEN
		won := pg_temp.grab(task, named) IS NOT NULL;
	ELSE
		won := pg_temp.finish(task, CASE action WHEN 'accept' THEN 'accepted' ELSE action END, named) IS NOT NULL;
	END IF;
	IF NOT won AND pg_temp.state(task) <> before THEN
		RETURN 'refused, but changed it';
	END IF;
	RETURN CASE WHEN won THEN 'yes' ELSE '.' END;
END $$;

CREATE TEMPORARY TABLE worked AS
SELECT a.action, s.status, v.off_by, pg_temp.work(a.action, s.status, v.off_by) AS result
FROM unnest('{grab,done,delete,retry,repeat,error,accept,release}'::text[]) a(action)
CROSS JOIN unnest(enum_range(NULL::twtasks.task_status)) s(status)
CROSS JOIN (VALUES (-1), (0), (1)) v(off_by);

SELECT action,
	   max(result) FILTER (WHERE status = 'WAITING') AS waiting,
	   max(result) FILTER (WHERE status = 'SUBMITTED') AS submitted,
	   max(result) FILTER (WHERE status = 'PROCESSING') AS processing,
	   max(result) FILTER (WHERE status = 'ERROR') AS error,
	   max(result) FILTER (WHERE status = 'HELD') AS held,
	   max(result) FILTER (WHERE status = 'DONE') AS done,
	   max(result) FILTER (WHERE status = 'FAILED') AS failed,
	   max(result) FILTER (WHERE status = 'CANCELLED') AS cancelled
FROM worked WHERE off_by = 0 GROUP BY action ORDER BY action;

SELECT off_by, result, count(*) FROM worked WHERE off_by <> 0 GROUP BY 1, 2 ORDER BY 1, 2;

SELECT w.action, w.status, w.result
FROM worked w
WHERE w.off_by = 0 AND (w.result = 'yes') <> EXISTS (
	SELECT FROM twtasks.transition t
	WHERE t.actor = 'worker' AND t.action = w.action AND t.from_status = w.status);

-- The leader's duties touch only the status of the table, even if the times
-- of all live tasks say that something is due.
TRUNCATE twtasks.task;
CREATE TEMPORARY TABLE led AS
SELECT a.action, s.status, pg_temp.task_in(s.status) AS task
FROM unnest('{promote,expire,stuck}'::text[]) a(action)
CROSS JOIN unnest(enum_range('WAITING'::twtasks.task_status, 'HELD'::twtasks.task_status)) s(status);

CREATE FUNCTION pg_temp.lead(duty text) RETURNS TABLE (status twtasks.task_status, became text)
LANGUAGE plpgsql
AS $$
DECLARE
	past CONSTANT timestamptz := clock_timestamp() - interval '1 s';
BEGIN
	UPDATE twtasks.task t
	SET next_event_time = CASE WHEN duty = 'expire' THEN t.next_event_time ELSE past END,
		deadline = CASE WHEN duty = 'stuck' THEN past ELSE t.deadline END,
		expires = CASE WHEN duty = 'expire' THEN past END
	FROM led l WHERE t.id = l.task AND l.action = duty;
	CASE duty
		WHEN 'promote' THEN PERFORM twtasks_internal.promote_tasks();
		WHEN 'expire' THEN PERFORM twtasks_internal.expire_tasks();
		WHEN 'stuck' THEN PERFORM twtasks_internal.recover_tasks();
	END CASE;
	RETURN QUERY SELECT l.status, pg_temp.state(l.task) FROM led l WHERE l.action = duty;
	DELETE FROM twtasks.task t USING led l WHERE t.id = l.task AND l.action = duty;
END $$;

SELECT * FROM pg_temp.lead('promote') ORDER BY status;
SELECT * FROM pg_temp.lead('expire') ORDER BY status;
SELECT * FROM pg_temp.lead('stuck') ORDER BY status;

DROP SCHEMA regress_state CASCADE;
