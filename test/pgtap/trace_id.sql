--
-- trace_id(): a viewer learns the trace of a task, live or finished, and nothing else of
-- its context.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(4);

SELECT twtasks.add_task('A', task_id => pg_temp.id(1), context => '{"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "request_id": "CANARY"}'),
	twtasks.add_task('A', task_id => pg_temp.id(2), context => '{"traceparent": "CANARY"}'),
	twtasks.add_task('A', task_id => pg_temp.id(3), context => '{"traceparent": {"secret": "4bf92f3577b34da6a3ce929d0e0e4736"}}'),
	twtasks.add_task('A', task_id => pg_temp.id(4), context => '{"traceparent": "00-00000000000000000000000000000000-00f067aa0ba902b7-01"}'),
	twtasks.add_task('A', task_id => pg_temp.id(5)) \g /dev/null
SET LOCAL ROLE twtasks_viewer;
SELECT is(twtasks.trace_id(pg_temp.id(1)), '4bf92f3577b34da6a3ce929d0e0e4736', 'the trace of a task');
SELECT is((SELECT string_agg(twtasks.trace_id(pg_temp.id(n)), ' ') FROM generate_series(2, 6) n), NULL, 'nothing that is not a trace');
RESET ROLE;
SELECT twtasks.cancel_task(pg_temp.id(1), 0, 'a test') \g /dev/null
SELECT is(twtasks.trace_id(pg_temp.id(1)), '4bf92f3577b34da6a3ce929d0e0e4736', 'the trace of a task that ended');
SET LOCAL ROLE twtasks_producer;
SELECT throws_ok($$SELECT twtasks.trace_id('00000000-0000-0000-0000-000000000001')$$, '42501', NULL, 'a producer may not ask');
RESET ROLE;
SELECT * FROM finish();
ROLLBACK;
