/* Only the tasks of a preview are changed, so a real call names them. */
WITH asked AS MATERIALIZED (
	SELECT jsonb_strip_nulls(coalesce($2::jsonb, '{}')) AS filter, coalesce($4::boolean, false) AS is_dry, $8::uuid[] AS ids),
fault AS MATERIALIZED (
	SELECT a.*, CASE
		WHEN jsonb_typeof(a.filter) <> 'object' THEN 'The filter must be an object.'
		WHEN a.filter = '{}' AND a.ids IS NULL THEN 'The filter must have a member; type "*" means all.'
		WHEN s.stray IS NOT NULL THEN format('The filter has no member "%s".', left(s.stray, 100))
		WHEN NOT a.is_dry AND coalesce(btrim($3::text), '') = '' THEN 'A change needs a reason.'
		WHEN NOT a.is_dry AND a.ids IS NULL THEN 'A change needs the ids of a preview; dry_run gives them.' END AS detail
	FROM asked a
	CROSS JOIN LATERAL (
		SELECT min(k) AS stray FROM jsonb_object_keys(CASE jsonb_typeof(a.filter) WHEN 'object' THEN a.filter ELSE '{}' END) k
		WHERE k <> ALL ('{type,sub_type,bucket,status,error,since,until,key,key_prefix,node,added_by}'::text[])) s),
outcome AS MATERIALIZED (
	SELECT c.*
	FROM (SELECT f.filter, f.is_dry, f.ids FROM fault f WHERE f.detail IS NULL OFFSET 0) f
	CROSS JOIN LATERAL twtasks.change_tasks(
		action => $1::text, pattern => coalesce(f.filter ->> 'type', '*'), reason => $3::text,
		sub_type => f.filter ->> 'sub_type', bucket => f.filter ->> 'bucket',
		statuses => CASE WHEN f.filter ? 'status' THEN ARRAY(SELECT jsonb_array_elements_text(f.filter -> 'status'))::twtasks.task_status[] END,
		error => f.filter ->> 'error', since => (f.filter ->> 'since')::timestamptz, until => (f.filter ->> 'until')::timestamptz,
		newest_first => coalesce($7::boolean, false), max_tasks => greatest(coalesce($5::int4, 1000), cardinality(f.ids)),
		run_after => $6::timestamptz, dry_run => f.is_dry, ids => f.ids, key => f.filter ->> 'key', key_prefix => f.filter ->> 'key_prefix',
		node => f.filter ->> 'node', added_by => f.filter ->> 'added_by', expect => $9::int8, priority => $10::int4)
		WITH ORDINALITY c(id, type, from_status, result, version, status, n)),
counted AS (
	SELECT json_agg(json_build_object('type', g.type, 'from_status', g.from_status, 'result', g.result, 'status', g.status, 'tasks', g.tasks)
					ORDER BY g.tasks DESC, g.type, g.from_status, g.result) AS groups
	FROM (SELECT o.type, o.from_status, o.result, o.status, count(*) AS tasks FROM outcome o GROUP BY o.type, o.from_status, o.result, o.status) g)
SELECT CASE WHEN f.detail LIKE '%preview%' THEN 'no_version' WHEN f.detail IS NOT NULL THEN 'unprocessable' END AS problem,
	CASE WHEN f.detail IS NOT NULL THEN jsonb_build_object('detail', f.detail)
		 ELSE jsonb_build_object(
			'tasks', o.tasks, 'is_capped', f.ids IS NULL AND o.tasks >= coalesce($5::int4, 1000), 'groups', coalesce(c.groups, '[]'),
			'first', coalesce(o.ids[1:10], '{}')) || CASE WHEN f.is_dry THEN jsonb_build_object('ids', coalesce(o.ids, '{}')) ELSE '{}' END
	END::text AS body
FROM fault f
CROSS JOIN counted c
CROSS JOIN (SELECT count(*) AS tasks, array_agg(q.id ORDER BY q.n) AS ids FROM outcome q) o
