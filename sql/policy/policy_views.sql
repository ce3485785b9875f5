CREATE VIEW twtasks.buckets AS
	SELECT b.name, b.description, b.concurrency, p.since IS NOT NULL AS paused, p.since AS paused_since,
		   p.paused_by, p.reason AS pause_reason, b.changed_at, b.changed_by
	FROM (SELECT c.name, c.description, c.concurrency, c.changed_at, c.changed_by
		  FROM twtasks.bucket_policy c
		  UNION ALL
		  SELECT 'default', NULL, NULL, NULL, NULL
		  WHERE NOT EXISTS (SELECT FROM twtasks.bucket_policy d
							WHERE d.name OPERATOR(pg_catalog.=) 'default')) b
	LEFT JOIN twtasks.pause p ON p.kind OPERATOR(pg_catalog.=) 'bucket'
		AND p.name OPERATOR(pg_catalog.=) b.name;
COMMENT ON VIEW twtasks.buckets IS 'Buckets that tasks can be added to';

CREATE VIEW twtasks.paused AS
	SELECT p.kind, p.name, p.since, p.paused_by, p.reason
	FROM twtasks.pause p;
COMMENT ON VIEW twtasks.paused IS 'Types and buckets whose tasks do not start, and the roles that paused them';
