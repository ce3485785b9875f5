SELECT CASE WHEN NOT s.is_ended THEN 'wrong_status' END AS problem,
	CASE WHEN s.is_ended THEN json_build_object('id', $1::text, 'ended', true)
		 ELSE json_build_object('detail', 'The silence has ended before.') END::text AS body
FROM (SELECT twtasks.unsilence($1::int8, $2::text) AS is_ended OFFSET 0) s
