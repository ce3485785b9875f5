-- One row for each name that streams watch, but none for a task that is in the history as before.  A row that differs from the
-- one before is a change.  Figures that change with each task would tell of a change all the time, so the first page counts as
-- changed every ten seconds too.
WITH live AS MATERIALIZED (
	SELECT t.id, t.version FROM twtasks.tasks t
	WHERE t.id = ANY ($1::uuid[]) AND t.status IN ('WAITING', 'SUBMITTED', 'PROCESSING', 'ERROR', 'HELD'))
SELECT 'overview' AS name, concat_ws(' ',
	floor(extract(epoch FROM twtasks.clock()) / 10),
	(SELECT m.at FROM twtasks.monitor m),
	(SELECT max(f.at) FROM twtasks.flow f),
	(SELECT concat_ws(' ', count(*), max(i.id), max(i.refreshed)) FROM twtasks.incident i WHERE i.resolved IS NULL),
	(SELECT max(p.id) FROM twtasks.policy_audit p),
	(SELECT max(s.id) FROM twtasks.schedule_audit s),
	(SELECT string_agg(concat_ws(' ', n.incarnation, n.leads), ' ' ORDER BY n.incarnation)
		FROM twtasks.nodes n WHERE n.ended IS NULL AND n.heartbeat > (SELECT clock_timestamp()) - n.lease)) AS state,
	'' AS place
UNION ALL
SELECT l.id::text, l.version::text, 'live' FROM live l
UNION ALL
SELECT t.id::text, max(t.version)::text, 'history' FROM twtasks.tasks t
WHERE t.id = ANY (ARRAY(SELECT unnest($1::uuid[]) EXCEPT SELECT unnest($2::uuid[]) EXCEPT SELECT l.id FROM live l))
  AND t.status IN ('DONE', 'FAILED', 'CANCELLED')
GROUP BY t.id
