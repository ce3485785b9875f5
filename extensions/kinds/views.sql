CREATE VIEW twtasks.kinds AS
	SELECT k.name, k.kind, k.type, k.identifier, k.expires, k.still_needed, k.on_expiry, k.attempts, k.delay,
		   k.retry_function, k.on_fault, k.on_uncertain, k.read_model, k.contract, k.decide, k.readers, k.answerers,
		   k.changed_at, k.changed_by
	FROM twtasks.kind k;
COMMENT ON VIEW twtasks.kinds IS 'Kinds of task; see configure_kind()';

CREATE VIEW twtasks.reactions AS
	SELECT r.kind, r.decision, r.then_kind, r.event_function, r.changed_at, r.changed_by
	FROM twtasks.reaction r;
COMMENT ON VIEW twtasks.reactions IS 'Kinds that outcomes start; see on_outcome()';

CREATE VIEW twtasks.outcomes AS
	SELECT o.kind, o.identifier, o.step, o.attempt, o.task, t.status, o.due, o.started, o.expires,
		   o.decided, o.decision, o.decided_by, o.uncertain, o.fault, o.problem, t.error
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

CREATE VIEW twtasks.broken_outcomes AS
	SELECT o.kind, o.identifier, 'it is undecided, but no step is live and no answer waits' AS broken
	FROM twtasks.outcome o
	WHERE o.decided IS NULL AND o.answer IS NULL AND NOT EXISTS (SELECT FROM twtasks.task t WHERE t.id = o.task)
	UNION ALL
	SELECT o.kind, o.identifier, 'it is decided, but a step is live'
	FROM twtasks.outcome o
	JOIN twtasks.attempt a ON a.kind = o.kind AND a.identifier = o.identifier
	JOIN twtasks.task t ON t.id = a.task
	WHERE o.decided IS NOT NULL
	UNION ALL
	SELECT o.kind, o.identifier, 'its kind is not configured'
	FROM twtasks.outcome o
	WHERE o.decided IS NULL AND NOT EXISTS (SELECT FROM twtasks.kind k WHERE k.name = o.kind);
COMMENT ON VIEW twtasks.broken_outcomes IS 'Identifiers that break an invariant; empty, unless tables were changed by hand';
