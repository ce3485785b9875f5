GRANT EXECUTE ON FUNCTION twtasks.start TO twtasks_producer;
GRANT EXECUTE ON FUNCTION twtasks.configure_kind, twtasks.unset_kind_options, twtasks.on_outcome, twtasks.decide_by_hand, twtasks.close_anomalies,
	twtasks.forget_outcomes
	TO twtasks_operator;
GRANT EXECUTE ON FUNCTION twtasks_internal.still_outcomes TO twtasks_worker, twtasks_operator, twtasks_viewer;
/* Each kind names the roles that may. */
GRANT EXECUTE ON FUNCTION twtasks.read_to_do, twtasks.answer_to_do TO PUBLIC;
GRANT SELECT ON twtasks.kinds, twtasks.reactions, twtasks.outcomes, twtasks.attempts, twtasks.anomalies, twtasks.broken_outcomes,
	twtasks.kind_machines
	TO twtasks_worker, twtasks_operator, twtasks_viewer;
