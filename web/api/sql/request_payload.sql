SELECT twtasks.request_payload($1::uuid, $2::text)::text AS first
