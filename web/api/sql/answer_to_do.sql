SELECT CASE WHEN a.result <> 'decided' THEN 'wrong_status' END AS problem,
	CASE WHEN a.result = 'decided' THEN jsonb_build_object('result', a.result, 'outcome', a.outcome)
		 ELSE jsonb_build_object('detail', 'The item is no longer open; this answer changed nothing.', 'outcome', a.outcome) END::text AS body
FROM twtasks.answer_to_do($1::text, $2::text, $3::jsonb) a
