SELECT twtasks.request_search($1::jsonb, $2, status => $3::text[]::twtasks.task_status[], type => $4, bucket => $5, sub_type => $6,
	since => $7::timestamptz, until => $8::timestamptz, after => $9, max_tasks => coalesce($10::integer, 50),
	budget => coalesce($11::integer, 20000))::text AS first
