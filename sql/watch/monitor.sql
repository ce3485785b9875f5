/* Not in dumps. */
CREATE TABLE twtasks.monitor_look (
	one					boolean NOT NULL DEFAULT true,	-- True: there is one row
	at					timestamptz NOT NULL,			-- Time of the count
	waiting				bigint NOT NULL,				-- Tasks that are WAITING
	submitted			bigint NOT NULL,				-- Tasks that are SUBMITTED
	processing			bigint NOT NULL,				-- Tasks that are PROCESSING
	errors				bigint NOT NULL,				-- Tasks in ERROR
	held				bigint NOT NULL,				-- Tasks that are HELD
	capped				boolean NOT NULL,				-- There may be more: see count_tasks()
	oldest_submitted	timestamptz,					-- state_time of the oldest SUBMITTED task
	newest_error		timestamptz,					-- state_time of the newest task in ERROR
	stuck				bigint NOT NULL,				-- Tasks that should have moved on, as in find_stuck()
	newest_stuck		timestamptz,					-- Last time at which a stuck task should have moved on
	finished_estimate	bigint NOT NULL,				-- Rows of the history, as the planner estimates them
	dropped				bigint NOT NULL,				-- Triggers that found their queue full, since the server's start
	nodes				bigint NOT NULL,				-- Sidecars that live
	retrying			bigint NOT NULL,				-- WAITING or SUBMITTED tasks that have been tried already
	dropped_since		timestamptz,					-- Time of the first look at dropped since it began anew, which it also does after a crash
	counted_since		timestamptz,					-- Time of the first count without a gap of more than 90 seconds after it
	CONSTRAINT monitor_look_pkey PRIMARY KEY (one),
	CONSTRAINT monitor_look_one_check CHECK (one)
);
COMMENT ON TABLE twtasks.monitor_look IS 'The last count of the leading sidecar; one row at most';

/* Not in dumps. */
CREATE TABLE twtasks.monitor_type (
	at					timestamptz NOT NULL,			-- Time of the count
	bucket				text COLLATE "C" NOT NULL,		-- Bucket of the tasks
	type				text COLLATE "C" NOT NULL,		-- Their type
	status				twtasks.task_status NOT NULL,	-- Their status
	tasks				bigint NOT NULL,				-- Their number
	capped				boolean NOT NULL,				-- There may be more: see count_tasks()
	oldest				timestamptz,					-- state_time of the oldest
	retrying			bigint NOT NULL,				-- How many of them, if WAITING or SUBMITTED, have been tried already
	error				text,							-- The newest error of these, at most 200 characters
	CONSTRAINT monitor_type_pkey PRIMARY KEY (bucket, type, status)
);
COMMENT ON TABLE twtasks.monitor_type IS 'The last count of the leading sidecar by bucket, type and status';

/* There are fewer of these than types, and each scrape reads them.  Not in dumps. */
CREATE TABLE twtasks.monitor_metric (
	name				text NOT NULL,					-- Name of the metric, as metrics_of_tasks() has it
	labels				jsonb NOT NULL,					-- Its labels
	value				double precision				-- Its value
);
/* Rows have no key, and logical replication must tell which were deleted. */
ALTER TABLE twtasks.monitor_metric REPLICA IDENTITY FULL;
COMMENT ON TABLE twtasks.monitor_metric IS 'The figures of monitor_type for twtasks.metrics(), made by the same count';

CREATE VIEW twtasks.monitor AS
	SELECT m.at, twtasks.clock() - m.at AS age, m.waiting, m.submitted, m.processing,
		   m.errors, m.held, m.capped, m.oldest_submitted, m.newest_error, m.stuck,
		   m.newest_stuck, m.finished_estimate, m.dropped, m.nodes, m.retrying
	FROM twtasks.monitor_look m;
COMMENT ON VIEW twtasks.monitor IS 'The last count of the leading sidecar, about once a minute; an age of minutes means that nobody leads';

/*
 * twtasks_internal.count_retried(cap, in_queue)
 *
 *		Counts tasks that have been tried and will be tried again.  Reads the tasks that
 *		count_tasks() reads with that cap, and of each the error.
 *
 * Parameters
 *		in_queue		whether to count tasks in the queue, too
 *
 * Returns
 *		tasks			their number
 *		newest			the one that entered its status last
 */
CREATE FUNCTION twtasks_internal.count_retried(
	cap integer, in_queue boolean,
	OUT bucket text, OUT type text, OUT status twtasks.task_status, OUT tasks bigint, OUT newest uuid)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 100
SET search_path = pg_catalog, pg_temp
SET enable_sort = off
SET jit = off
AS $$
	SELECT r.bucket, r.type, r.status, count(*), (array_agg(r.id ORDER BY r.state_time DESC))[1]
	FROM (SELECT w.id, w.bucket, w.type, w.status, w.state_time
		  FROM (SELECT t.* FROM twtasks.task t
				WHERE NOT t.queued AND t.next_event_time < 'infinity'
				ORDER BY t.next_event_time LIMIT count_retried.cap) w
		  WHERE w.status = 'WAITING' AND w.tries > 0
		  UNION ALL
		  SELECT q.id, q.bucket, q.type, q.status, q.state_time
		  FROM twtasks_internal.late_queued(count_retried.cap, 'infinity', count_retried.cap) q
		  WHERE count_retried.in_queue AND q.status = 'SUBMITTED' AND q.tries > 0) r
	GROUP BY r.bucket, r.type, r.status
$$;

/*
 * twtasks_internal.note_retried(cap, in_queue)
 *
 *		Stores in twtasks.monitor_type what count_retried() counts.
 *
 * Returns
 *		how many tasks it counted
 *
 * Writes		twtasks.monitor_type
 */
CREATE FUNCTION twtasks_internal.note_retried(cap integer, in_queue boolean)
RETURNS bigint
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	WITH noted AS (
		UPDATE twtasks.monitor_type m
		SET retrying = r.tasks, error = left(t.error, 200)
		FROM twtasks_internal.count_retried(note_retried.cap, note_retried.in_queue) r LEFT JOIN twtasks.task t ON t.id = r.newest
		WHERE m.bucket = r.bucket AND m.type = r.type AND m.status = r.status
		RETURNING m.retrying)
	SELECT coalesce(sum(n.retrying), 0)::bigint FROM noted n
$$;

/*
 * twtasks_internal.monitor_tasks()
 *
 *		Counts as count_tasks() and find_stuck() do, and stores the figures in
 *		twtasks.monitor and twtasks.monitor_type.  If more tasks are HELD than these functions count, it reads
 *		all of them to find tasks in ERROR.  Also stores what metrics() says of tasks.
 *
 * Returns
 *		errors, stuck	numbers of tasks in ERROR and of stuck tasks; 0 if this database
 *						is a copy and not adopted
 *		is_news			whether there are new ones since the last call
 *
 * Writes		twtasks.monitor_look, twtasks.monitor_type, twtasks.monitor_metric
 * Locks		twtasks.monitor_look against another count: no count is replaced by one that
 *				began before it
 */
CREATE FUNCTION twtasks_internal.monitor_tasks(OUT errors bigint, OUT stuck bigint, OUT is_news boolean)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
DECLARE
	cap CONSTANT integer := 10000;
	moment timestamptz;
	before twtasks.monitor_look;
	look twtasks.monitor_look;
	in_queue boolean;
BEGIN
	errors := 0;
	stuck := 0;
	is_news := false;
	IF NOT twtasks.is_adopted() THEN
		RETURN;
	END IF;
	LOCK TABLE twtasks.monitor_look IN SHARE UPDATE EXCLUSIVE MODE;
	moment := twtasks.clock();
	SELECT m.* INTO before FROM twtasks.monitor_look m;
	DELETE FROM twtasks.monitor_type;
	WITH counted AS MATERIALIZED (
		SELECT q.bucket, q.type, q.status, q.tasks, q.capped, q.oldest, q.most_tries, q.newest, q.late, q.newest_late
		FROM twtasks_internal.count_queued(cap, moment) q
		UNION ALL
		SELECT n.bucket, n.type, n.status, n.tasks, n.capped, n.oldest, n.most_tries, n.newest, 0, NULL
		FROM twtasks_internal.count_not_queued(cap) n),
	noted AS (
		INSERT INTO twtasks.monitor_type (at, bucket, type, status, tasks, capped, oldest, retrying)
		SELECT moment, c.bucket, c.type, c.status, sum(c.tasks), bool_or(c.capped), min(c.oldest), 0
		FROM counted c GROUP BY c.bucket, c.type, c.status
		ON CONFLICT DO NOTHING)
	SELECT coalesce(sum(c.tasks) FILTER (WHERE c.status = 'WAITING'), 0),
		   coalesce(sum(c.tasks) FILTER (WHERE c.status = 'SUBMITTED'), 0),
		   coalesce(sum(c.tasks) FILTER (WHERE c.status = 'PROCESSING'), 0),
		   coalesce(sum(c.tasks) FILTER (WHERE c.status = 'ERROR'), 0),
		   coalesce(sum(c.tasks) FILTER (WHERE c.status = 'HELD'), 0),
		   coalesce(bool_or(c.capped), false),
		   min(c.oldest) FILTER (WHERE c.status = 'SUBMITTED'),
		   max(c.newest) FILTER (WHERE c.status = 'ERROR'),
		   coalesce(sum(c.late), 0), max(c.newest_late),
		   coalesce(bool_or(c.status = 'SUBMITTED' AND c.most_tries > 0), false)
	INTO look.waiting, look.submitted, look.processing, look.errors, look.held,
		 look.capped, look.oldest_submitted, look.newest_error, look.stuck, look.newest_stuck, in_queue
	FROM counted c;
	look.retrying := twtasks_internal.note_retried(cap, in_queue);
	DELETE FROM twtasks.monitor_metric;
	INSERT INTO twtasks.monitor_metric (name, labels, value)
	SELECT m.name, m.labels, m.value FROM twtasks_internal.metrics_of_tasks() m;
	IF look.held > 0 AND look.held + look.errors >= cap THEN
		SELECT e.tasks, e.newest INTO look.errors, look.newest_error FROM twtasks_internal.count_errors(cap) e;
	END IF;
	SELECT look.stuck + count(*), greatest(look.newest_stuck, max(l.next_event_time))
	INTO look.stuck, look.newest_stuck
	FROM twtasks_internal.late_not_queued(cap, moment) l;
	look.counted_since := CASE WHEN before.at > moment - interval '90 s' THEN before.counted_since END;
	SELECT coalesce(sum(q.dropped), 0) INTO look.dropped FROM twtasks.queue_stats() q;
	look.dropped_since := CASE WHEN look.dropped >= before.dropped THEN before.dropped_since ELSE moment END;
	SELECT count(*) INTO look.nodes FROM twtasks.node n
	WHERE n.ended IS NULL AND n.heartbeat > (SELECT clock_timestamp()) - n.lease;
	SELECT coalesce(sum(CASE WHEN c.reltuples < 0 THEN pg_stat_get_live_tuples(c.oid)
							 ELSE c.reltuples END), 0)
	INTO look.finished_estimate
	FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
	WHERE i.inhparent = 'twtasks.finished_task'::regclass;
	look.one := true;
	look.at := moment;
	DELETE FROM twtasks.monitor_look;
	INSERT INTO twtasks.monitor_look
		(one, at, waiting, submitted, processing, errors, held, capped, oldest_submitted, newest_error,
		 stuck, newest_stuck, finished_estimate, dropped, nodes, retrying, dropped_since, counted_since)
	SELECT look.one, look.at, look.waiting, look.submitted, look.processing, look.errors, look.held, look.capped,
		   look.oldest_submitted, look.newest_error, look.stuck, look.newest_stuck, look.finished_estimate,
		   look.dropped, look.nodes, look.retrying, look.dropped_since, coalesce(look.counted_since, moment)
	ON CONFLICT DO NOTHING;

	errors := look.errors;
	stuck := look.stuck;
	is_news := look.errors > coalesce(before.errors, 0)
		OR look.stuck > coalesce(before.stuck, 0)
		OR look.newest_error > coalesce(before.newest_error, '-infinity')
		OR look.newest_stuck > coalesce(before.newest_stuck, '-infinity');
	is_news := coalesce(is_news, false);
END $$;
