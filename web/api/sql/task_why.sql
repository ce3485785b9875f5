SELECT json_build_object('status', w.status, 'since', w.since, 'version', w.version::text, 'sentence', w.sentence, 'reason', w.reason, 'place', w.place,
	'place_capped', w.place_capped, 'starts', nullif(w.starts, 'infinity'), 'advice', w.advice,
	'cancel_requested', (SELECT json_build_object('requested', c.requested, 'actor', c.actor, 'reason', c.reason)
		FROM twtasks.cancel_requests c WHERE c.id = $1::uuid LIMIT 1))::text AS body
FROM twtasks.why($1::uuid) w WHERE w.reason <> 'no such task'
