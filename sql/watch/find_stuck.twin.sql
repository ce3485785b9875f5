-- twin: twt_late_queued LANGUAGE sql
	WITH late AS MATERIALIZED (
		SELECT s.*, row_number() OVER (PARTITION BY s.bucket, s.type, s.priority ORDER BY s.id) AS place
		FROM twtasks_internal.sample_queue(cap, cap) s
		WHERE s.id IS NOT NULL AND s.due < moment),
	-- The largest share of each group with which all stay within cap; at least 1.
	shared AS (
		SELECT greatest(1, max(p.place) FILTER (WHERE p.upto <= cap)) AS share
		FROM (SELECT l.place, sum(count(*)) OVER (ORDER BY l.place) AS upto FROM late l GROUP BY l.place) p)
	SELECT l.id, l.version, l.type, l.sub_type, l.bucket, l.priority, l.status, l.created, l.state_time, l.tries, l.incarnation, l.due, l.place
	FROM late l WHERE l.place <= least(max_each, (SELECT s.share FROM shared s))
