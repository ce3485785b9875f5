-- $1 id.  A task that never was has no row.
SELECT json_build_object(
	'status', w.status, 'since', w.since, 'version', w.version::text, 'sentence', w.sentence,
	'reason', w.reason, 'place', w.place, 'place_capped', w.place_capped, 'starts', w.starts,
	'advice', w.advice, 'cancel_requested', NULL)::text AS body
FROM twtasks.why($1::uuid) w
WHERE w.reason <> 'no such task'
