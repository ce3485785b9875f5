SELECT CASE WHEN NOT a.is_first THEN 'wrong_status' END AS problem,
	CASE WHEN a.is_first THEN json_build_object('key', $1::text, 'state', 'acknowledged')
		 ELSE json_build_object('detail', 'Somebody has acknowledged it before.') END::text AS body
FROM (SELECT twtasks.acknowledge_incident($1::text, $2::text) AS is_first OFFSET 0) a
