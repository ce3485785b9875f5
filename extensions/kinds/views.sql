CREATE VIEW twtasks.kinds AS
	SELECT k.name, k.kind, k.type, k.identifier, k.expires, k.still_needed, k.on_expiry, k.attempts, k.delay,
		   k.retry_function, k.on_fault, k.on_uncertain, k.read_model, k.contract, k.decide,
		   (SELECT array_agg(pg_get_userbyid(i.role)::text COLLATE pg_catalog."default" ORDER BY i.role::text)
			FROM twtasks.item_role i WHERE i.kind = k.name AND i.may = 'read') AS readers,
		   (SELECT array_agg(pg_get_userbyid(i.role)::text COLLATE pg_catalog."default" ORDER BY i.role::text)
			FROM twtasks.item_role i WHERE i.kind = k.name AND i.may = 'answer') AS answerers,
		   k.changed_at, k.changed_by
	FROM twtasks.kind k;
COMMENT ON VIEW twtasks.kinds IS 'Kinds of task; see configure_kind()';

CREATE VIEW twtasks.reactions AS
	SELECT r.kind, r.decision, r.then_kind, r.event_function, r.changed_at, r.changed_by
	FROM twtasks.reaction r;
COMMENT ON VIEW twtasks.reactions IS 'Kinds that outcomes start; see on_outcome()';

CREATE VIEW twtasks.outcomes AS
	SELECT o.kind, o.identifier, o.step, o.attempt, o.task, t.status, o.due, o.started, o.expires,
		   o.decided, o.decision, o.decided_by, o.uncertain, o.fault,
		   coalesce(o.problem, CASE WHEN t.status = 'ERROR' THEN t.error END) AS problem, t.error
	FROM twtasks.outcome o
	LEFT JOIN twtasks.task t ON t.id = o.task AND o.decided IS NULL;
COMMENT ON VIEW twtasks.outcomes IS 'Identifiers: the step under way with its task, or the decision';

CREATE VIEW twtasks.attempts AS
	SELECT a.kind, a.identifier, a.number, a.step, a.task, a.started, a.expires, a.ended, a.answer, a.fault
	FROM twtasks.attempt a;
COMMENT ON VIEW twtasks.attempts IS 'Steps of identifiers, and how they ended';

CREATE VIEW twtasks.anomalies AS
	SELECT a.seen, a.kind, a.identifier, a.number, a.step, a.task, a.what, a.result,
		   a.outcome->>'decision' AS decision, a.closed, a.closed_by, a.reason
	FROM twtasks.anomaly a;
COMMENT ON VIEW twtasks.anomalies IS 'Results that came after they were given up; a person should compare them with the outcome';

CREATE VIEW twtasks.kind_machines AS
	SELECT r.kind, r.step, r.answer, r.does, r.next FROM twtasks_internal.kind_rule r;
COMMENT ON VIEW twtasks.kind_machines IS 'The machines of all kinds: which answer of a step leads where';

/*
 * twtasks_internal.still_outcomes(most)
 *
 *		Identifiers that do not go on, with the reason and a remedy.  There may be very
 *		many that are undecided, so warnings ask for the oldest ones.
 *
 * Parameters
 *		most			reads at most so many of the oldest undecided identifiers of each
 *						kind, of their tasks in the queue, and of the tasks of all types in
 *						ERROR or HELD and waiting; NULL: all.  A row without an identifier says
 *						that a given up step may be among those that were not read
 */
CREATE FUNCTION twtasks_internal.still_outcomes(
	most bigint, OUT kind text, OUT identifier text, OUT broken text, OUT hint text)
RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER ROWS 100
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off
AS $$
	WITH RECURSIVE named(kind) AS (
		(SELECT o.kind FROM twtasks.outcome o WHERE o.decided IS NULL ORDER BY o.kind LIMIT 1)
		UNION ALL
		SELECT (SELECT o.kind FROM twtasks.outcome o WHERE o.decided IS NULL AND o.kind > n.kind ORDER BY o.kind LIMIT 1)
		FROM named n WHERE n.kind IS NOT NULL),
	oldest AS MATERIALIZED (
		SELECT o.kind, o.identifier, o.step, o.problem, o.repeats, o.spent, o.fault, o.expires, o.answer IS NOT NULL AS has_answer, o.task
		FROM named n
		CROSS JOIN LATERAL (
			SELECT u.* FROM twtasks.outcome u WHERE u.kind = n.kind AND u.decided IS NULL ORDER BY u.started LIMIT still_outcomes.most) o),
	given_up AS (
		SELECT g.id FROM twtasks.task g
		WHERE NOT g.queued AND g.next_event_time = 'infinity' AND g.status IN ('ERROR', 'HELD') LIMIT still_outcomes.most),
	unheard AS MATERIALIZED (
		SELECT k.name FROM twtasks.kind k
		WHERE (SELECT p.on_end FROM twtasks.policy_of(k.type) p) IS DISTINCT FROM 'twtasks_internal.end_steps'),
	-- No index has the types of tasks that are not queued: a step that waits is seen once it is due soon.
	live AS (
		SELECT q.id
		FROM twtasks.kind k CROSS JOIN twtasks_internal.queued_buckets() b(bucket)
		CROSS JOIN LATERAL (SELECT t.id FROM twtasks.task t WHERE t.queued AND t.bucket = b.bucket AND t.type = k.type LIMIT still_outcomes.most) q
		UNION ALL
		SELECT w.id
		FROM (SELECT t.id, t.type FROM twtasks.task t WHERE NOT t.queued ORDER BY t.next_event_time LIMIT still_outcomes.most) w
		WHERE w.type IN (SELECT k.type FROM twtasks.kind k))
	-- OFFSET keeps the planner from beginning with tables that have many more rows.
	(SELECT o.kind, o.identifier,
			CASE WHEN o.decided IS NULL THEN format('what follows step "%s" fails: %s', o.step, o.problem)
				 ELSE 'what its outcome starts fails: ' || o.problem END,
			'do what the problem asks for: the sidecars try again every few seconds'
	 FROM twtasks.outcome o WHERE o.problem IS NOT NULL LIMIT still_outcomes.most)
	UNION ALL
	(SELECT o.kind, o.identifier, format('step "%s" is %s: %s', o.step, t.status, t.error),
			CASE t.status WHEN 'ERROR' THEN 'look at the third party, then resume_task() or fail_task() its task, or decide_by_hand()'
				 ELSE 'a person holds its task, and may release_task() or cancel_task() it' END
	 FROM (SELECT n.id FROM given_up n UNION SELECT y.task FROM oldest y) n
	 CROSS JOIN LATERAL (
		SELECT g.id, g.status, g.error, g.queued, g.next_event_time FROM twtasks.task g WHERE g.id = n.id OFFSET 0) t
	 JOIN twtasks.outcome o ON o.task = t.id
	 WHERE o.decided IS NULL AND o.problem IS NULL AND t.status IN ('ERROR', 'HELD') AND NOT t.queued AND t.next_event_time = 'infinity'
	 LIMIT still_outcomes.most)
	UNION ALL
	SELECT o.kind, o.identifier, r.broken, r.hint
	FROM oldest o
	LEFT JOIN twtasks.task t ON t.id = o.task
	LEFT JOIN twtasks.kind k ON k.name = o.kind
	CROSS JOIN LATERAL (VALUES
		(o.problem IS NULL AND o.repeats >= 3 AND t.status <> 'ERROR',
		 format('step "%s" has failed %s times in a row: %s', o.step, o.repeats, o.fault), 'repair its handler, or decide_by_hand()'),
		(o.problem IS NULL AND o.spent >= 10, format('%s attempts have failed: %s', o.spent, o.fault),
		 'repair its handler, or decide_by_hand(); attempts and expires of configure_kind() limit new identifiers'),
		(o.problem IS NULL AND o.expires < (SELECT twtasks.clock()) - interval '1 hour',
		 format('it has expired, and step "%s" is still under way', o.step),
		 'see why its task does not end, in twtasks.stuck_tasks; or decide_by_hand()'),
		(NOT o.has_answer AND t.id IS NULL, 'it is undecided, but no step is live and no answer waits',
		 'somebody has changed a table by hand; look at the third party, then decide_by_hand()'),
		(t.type <> k.type, 'its step is a task of another type',
		 'somebody has changed a table by hand; look at the third party, then decide_by_hand()'),
		(k.name IS NULL, 'its kind is not configured', 'configure the kind again with configure_kind()')) r(is_so, broken, hint)
	WHERE r.is_so
	  AND (o.repeats >= 3 OR o.spent >= 10 OR t.id IS NULL OR t.type <> k.type OR k.name IS NULL
		   OR o.expires < (SELECT twtasks.clock()) - interval '1 hour')
	UNION ALL
	SELECT h.name, o.identifier, 'nobody hears of the ends of its steps', 'call configure_kind() with the name of its kind'
	FROM unheard h JOIN oldest o ON o.kind = h.name
	UNION ALL
	SELECT o.kind, o.identifier, 'it is decided, but a step is live', 'somebody has changed a table by hand; cancel_task() the step'
	FROM live l
	CROSS JOIN LATERAL (SELECT b.kind, b.identifier FROM twtasks.attempt b WHERE b.task = l.id OFFSET 0) a
	CROSS JOIN LATERAL (
		SELECT d.kind, d.identifier, d.decided FROM twtasks.outcome d
		WHERE d.kind = a.kind AND d.identifier = a.identifier OFFSET 0) o
	WHERE o.decided IS NOT NULL AND NOT EXISTS (SELECT FROM twtasks.outcome u WHERE u.task = l.id AND u.decided IS NULL)
	UNION ALL
	SELECT o.kind, NULL, format('more than %s are undecided, beside more than %s tasks in ERROR or HELD, so others may stand still', still_outcomes.most - 1, still_outcomes.most - 1),
		   'look at twtasks.broken_outcomes, which reads all of them'
	FROM oldest o WHERE (SELECT count(*) FROM given_up) >= still_outcomes.most GROUP BY o.kind HAVING count(*) >= still_outcomes.most
$$;

/* Each row is a reason why an identifier does not go on, or an invariant that is broken. */
CREATE VIEW twtasks.broken_outcomes AS
	SELECT s.kind COLLATE "C" AS kind, s.identifier COLLATE "C" AS identifier, s.broken, s.hint FROM twtasks_internal.still_outcomes(NULL) s;
COMMENT ON VIEW twtasks.broken_outcomes IS 'Identifiers that stand still or break an invariant, with the reason and what to do';

/*
 * twtasks_internal.warn_of_kinds(most)
 *
 *		The oldest identifiers that stand still, open anomalies, and rights of roles
 *		that were dropped, for twtasks.warnings: one for each kind and reason.
 */
CREATE FUNCTION twtasks_internal.warn_of_kinds(most integer)
RETURNS jsonb
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT jsonb_agg(w) FROM (
		(SELECT 'outcomes stand still' AS warning, NULL::timestamptz AS since, b.hint,
				format(CASE WHEN min(b.identifier) IS NULL THEN 'kind "%1$s": %4$s' ELSE 'kind "%s": %s of its identifiers, such as "%s": %s' END, b.kind,
					   count(*) || CASE WHEN sum(count(*)) OVER () >= 2000 OR EXISTS (
							SELECT FROM twtasks.outcome u WHERE u.kind = b.kind AND u.decided IS NULL ORDER BY u.started OFFSET 1999 LIMIT 1)
						THEN ' or more' ELSE '' END,
					   min(b.identifier), b.broken) AS detail
		 FROM twtasks_internal.still_outcomes(2000) b GROUP BY b.kind, b.broken, b.hint
		 ORDER BY count(*) DESC, min(b.identifier) NULLS LAST LIMIT warn_of_kinds.most)
		UNION ALL
		(SELECT 'anomalies', min(a.seen), 'compare them with the outcomes, then close_anomalies(): see twtasks.anomalies',
				format('kind "%s": %s of its identifiers, such as "%s": %s', a.kind, count(DISTINCT a.identifier), min(a.identifier), a.what)
		 FROM twtasks.anomaly a WHERE a.closed IS NULL GROUP BY a.kind, a.what ORDER BY count(*) DESC LIMIT warn_of_kinds.most)
		UNION ALL
		(SELECT 'role is gone', NULL, format('name all %s by configure_kind(%L, %1$s => ''{...}''), or none: unset_kind_options(%2$L, %1$L)', r.who, r.kind),
				format(twtasks_internal.plural(r.n, 'kind "%s": %s role that may %s its items was dropped: OID %s',
											   'kind "%s": %s roles that may %s its items were dropped: OID %s'), r.kind, r.n, r.may, r.oids)
		 FROM (SELECT i.kind, i.may, CASE i.may WHEN 'read' THEN 'readers' ELSE 'answerers' END AS who, count(*) AS n,
					  string_agg(i.role::oid::text, ', ' ORDER BY i.role::oid) AS oids
			   FROM twtasks.item_role i
			   WHERE NOT EXISTS (SELECT FROM pg_roles g WHERE g.oid = i.role) GROUP BY i.kind, i.may) r
		 ORDER BY r.kind, r.may LIMIT warn_of_kinds.most)) w
$$;
