SELECT json_build_object('id', s.id::text)::text AS body, 'silences/' || s.id AS location
FROM (SELECT twtasks.silence(coalesce($1::text, '*'), $2::text, $3::timestamptz, $4::text) AS id OFFSET 0) s
