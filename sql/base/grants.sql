/*
 * PUBLIC has no rights.  Each role may call what its work needs.  Only the
 * owner may touch a table, so nobody else can attach a trigger or a rule.
 *
 *		producer	adds tasks
 *		worker		what a sidecar calls
 *		web			takes results of tasks that were handed on
 *		operator	changes tasks by hand, and looks at them
 *		viewer		looks at tasks, but not at their data
 *		payload_viewer	reads payloads, where allow_payload() lets it
 *		tester		runs them in tests, where twtasks.testing is on
 */
ALTER SCHEMA twtasks OWNER TO twtasks_owner;
REVOKE ALL ON SCHEMA twtasks FROM PUBLIC;
GRANT USAGE ON SCHEMA twtasks
	TO twtasks_producer, twtasks_worker, twtasks_web, twtasks_operator, twtasks_viewer, twtasks_payload_viewer,
	twtasks_tester;
REVOKE ALL ON SCHEMA twtasks_internal FROM PUBLIC;
GRANT USAGE ON SCHEMA twtasks_internal TO twtasks_worker;

GRANT EXECUTE ON FUNCTION
	twtasks.add_task, twtasks.put_task, twtasks.add_tasks(twtasks.new_task[]), twtasks.add_tasks(jsonb),
	twtasks.add_tasks(text, jsonb[], integer, timestamptz, text, timestamptz, jsonb),
	twtasks.take_messages, twtasks.take_corrupted, twtasks.begin_partition, twtasks.place_partition,
	twtasks.stop_partition, twtasks.new_task, twtasks.message, twtasks.kafka_message,
	twtasks.bytes_as_text, twtasks.send_to_kafka
	TO twtasks_producer;

GRANT EXECUTE ON FUNCTION
	twtasks.is_paused, twtasks.is_enabled, twtasks.is_adopted, twtasks.queue_kind,
	twtasks.queue_stats, twtasks.cron_next, twtasks.cron_preview
	TO twtasks_producer, twtasks_worker, twtasks_operator, twtasks_viewer, twtasks_tester;

GRANT EXECUTE ON FUNCTION twtasks.edition
	TO twtasks_producer, twtasks_worker, twtasks_web, twtasks_operator, twtasks_viewer, twtasks_payload_viewer, twtasks_tester;
GRANT EXECUTE ON FUNCTION twtasks.clock
	TO twtasks_producer, twtasks_worker, twtasks_web, twtasks_operator, twtasks_viewer, twtasks_tester;
GRANT EXECUTE ON FUNCTION twtasks.finish_task TO twtasks_worker, twtasks_web;
GRANT EXECUTE ON FUNCTION twtasks.set_outcome TO twtasks_producer, twtasks_worker;

-- Views call these with the rights of the role that reads.
GRANT EXECUTE ON FUNCTION twtasks_internal.adoption_fault, twtasks_internal.is_testing, twtasks_internal.recorded_addresses
	TO twtasks_worker, twtasks_operator, twtasks_viewer;

GRANT EXECUTE ON FUNCTION twtasks.why, twtasks.what_if_limit TO twtasks_worker, twtasks_operator, twtasks_viewer;

GRANT EXECUTE ON PROCEDURE twtasks_internal.next_triggers, twtasks_internal.vacuum_tasks TO twtasks_worker;
GRANT EXECUTE ON FUNCTION
	twtasks_internal.grab_tasks, twtasks_internal.resolve_grab, twtasks_internal.execute_tasks,
	twtasks_internal.find_handler, twtasks_internal.check_handlers, twtasks_internal.note_faults,
	twtasks_internal.finish_tasks, twtasks_internal.resolve_finish,
	twtasks_internal.sweep_tasks, twtasks_internal.expire_tasks, twtasks_internal.promote_tasks,
	twtasks_internal.recover_tasks, twtasks_internal.run_duties, twtasks_internal.take_types, twtasks_internal.take_cancels,
	twtasks_internal.tell_addresses, twtasks_internal.start_node, twtasks_internal.refusal, twtasks_internal.heartbeat,
	twtasks_internal.tick, twtasks_internal.end_node, twtasks_internal.make_partitions,
	twtasks_internal.clean_tasks, twtasks_internal.read_policies,
	twtasks_internal.run_schedules, twtasks_internal.read_limits, twtasks_internal.offer_slots,
	twtasks_internal.clean_slots, twtasks_internal.monitor_tasks, twtasks_internal.note_flow,
	twtasks_internal.note_progress, twtasks_internal.late_commits
	TO twtasks_worker;

GRANT EXECUTE ON FUNCTION
	twtasks.resume_task, twtasks.reschedule_task, twtasks.prioritize_task, twtasks.cancel_task, twtasks.fail_task, twtasks.confirm_task,
	twtasks.hold_task, twtasks.release_task, twtasks.request_cancel, twtasks.reopen_task,
	twtasks.change_tasks, twtasks.adopt, twtasks.forget_address, twtasks.reset_listener,
	twtasks.configure_type, twtasks.unset_type_options, twtasks.drop_type_policy,
	twtasks.configure_bucket, twtasks.unset_bucket_options, twtasks.drop_bucket,
	twtasks.pause_type, twtasks.resume_type, twtasks.pause_bucket, twtasks.resume_bucket,
	twtasks.configure_limit, twtasks.drop_limit,
	twtasks.schedule, twtasks.configure_schedule, twtasks.unschedule, twtasks.pause_schedule, twtasks.resume_schedule,
	twtasks.run_schedule_now, twtasks.lock_setting
	TO twtasks_operator;

GRANT EXECUTE ON FUNCTION
	twtasks.run_inline, twtasks.set_clock, twtasks.advance_clock, twtasks.reset_tasks,
	twtasks.wait_for_task, twtasks.wait_until_idle
	TO twtasks_tester;

GRANT EXECUTE ON FUNCTION twtasks.policy_of, twtasks.limit_name, twtasks.count_tasks(integer), twtasks.count_tasks(integer, integer), twtasks.find_stuck,
	twtasks.blockers, twtasks.id_of, twtasks.list_tasks, twtasks.list_unknown, twtasks.error_groups, twtasks.type_loads, twtasks.recent_minutes
	TO twtasks_worker, twtasks_operator, twtasks_viewer;
GRANT EXECUTE ON FUNCTION twtasks.metrics TO twtasks_worker, twtasks_operator, twtasks_viewer;
GRANT EXECUTE ON FUNCTION twtasks.metrics_text TO twtasks_web, twtasks_worker, twtasks_operator, twtasks_viewer;

GRANT SELECT ON twtasks.tasks, twtasks.task_attempts, twtasks.unknown_outcomes, twtasks.error_tasks, twtasks.stuck_tasks, twtasks.stats,
	twtasks.monitor, twtasks.monitor_type, twtasks.nodes, twtasks.transition, twtasks.adoption_state, twtasks.addresses, twtasks.warnings,
	twtasks.type_policies, twtasks.buckets, twtasks.paused, twtasks.allowed_types, twtasks.limits, twtasks.schedules,
	twtasks.schedule_runs, twtasks.cancel_requests, twtasks.listeners, twtasks.progress
	TO twtasks_worker, twtasks_operator, twtasks_viewer;
GRANT SELECT ON twtasks.own_tasks TO twtasks_producer;
GRANT EXECUTE ON FUNCTION twtasks.life, twtasks.task_at, twtasks.trace_id, twtasks.compare_attempts TO twtasks_operator, twtasks_viewer;
GRANT EXECUTE ON FUNCTION twtasks.compare_data TO twtasks_operator, twtasks_viewer, twtasks_payload_viewer;
GRANT SELECT ON twtasks.audit, twtasks.task_history, twtasks.schedule_audit, twtasks.policy_audit, twtasks.flow
	TO twtasks_operator, twtasks_viewer;

GRANT EXECUTE ON FUNCTION twtasks_internal.judge_incidents, twtasks_internal.is_well TO twtasks_worker;
GRANT EXECUTE ON FUNCTION twtasks.next_incidents, twtasks.note_sent TO twtasks_web, twtasks_worker;
GRANT EXECUTE ON FUNCTION twtasks.acknowledge_incident, twtasks.silence, twtasks.unsilence TO twtasks_operator;
GRANT EXECUTE ON FUNCTION twtasks.judge_silence TO twtasks_web, twtasks_worker;
GRANT EXECUTE ON FUNCTION twtasks_internal.silenced_until TO twtasks_worker, twtasks_operator, twtasks_viewer;
GRANT SELECT ON twtasks.incidents, twtasks.incident, twtasks.incident_sent, twtasks.silence
	TO twtasks_worker, twtasks_operator, twtasks_viewer;

GRANT EXECUTE ON FUNCTION twtasks.request_payload, twtasks.read_payload, twtasks.request_search, twtasks.search_payloads
	TO twtasks_payload_viewer;
GRANT SELECT ON twtasks.payload_reader TO twtasks_operator, twtasks_viewer;
-- A search has what it looked for, as tasks may carry it.
GRANT SELECT (id, at, actor, role, on_behalf_of, application, task_id, version, type, reason, was_denied, asked_in)
	ON twtasks.payload_read TO twtasks_operator, twtasks_viewer;
