SELECT row_to_json(w)::text AS body FROM twtasks.what_if_limit($1::text, $2::int4, $3::twtasks.limit_scope) w
