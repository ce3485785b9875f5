CREATE VIEW twtasks.type_policies AS
	SELECT p.pattern, p.bucket, p.priority, p.timeout, p.queue_time, p.expires_after,
		   p.stuck, p.stuck_function, p.when_done,
		   p.retry, p.retry_function, p.reset_tries,
		   p.changed_at, p.changed_by
	FROM twtasks.type_policy p;
COMMENT ON VIEW twtasks.type_policies IS 'Policies of types, one row per pattern; policy_of() takes them together for a type';

CREATE VIEW twtasks.buckets AS
	SELECT b.name, b.description, b.changed_at, b.changed_by
	FROM twtasks.bucket_policy b
	UNION ALL
	SELECT 'default', NULL, NULL, NULL
	WHERE NOT EXISTS (SELECT FROM twtasks.bucket_policy b
					  WHERE b.name OPERATOR(pg_catalog.=) 'default');
COMMENT ON VIEW twtasks.buckets IS 'Buckets that tasks can be added to';
