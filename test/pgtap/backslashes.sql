--
-- Each public function answers as usual where standard_conforming_strings is off, as
-- applications of long ago set it for their databases: a backslash in a literal then
-- means something else.
--
BEGIN;
SET LOCAL standard_conforming_strings = off;
SET LOCAL escape_string_warning = off;
SET LOCAL client_min_messages = error;
\ir ../lib/tasks.sql
\ir ../lib/events.sql
\ir ../lib/kinds.sql
SET LOCAL twtasks.testing = on;
CREATE SCHEMA app;
GRANT USAGE ON SCHEMA app TO PUBLIC;
CREATE FUNCTION app.run(task twtasks.task_input) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM twtasks.set_outcome('{"found": false}');
END $$;
CREATE FUNCTION app.decide(read_model jsonb, data jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$ SELECT data $$;

-- In this order: a call, the function, and the answer.
CREATE TEMPORARY TABLE call (n integer GENERATED ALWAYS AS IDENTITY, function text, call text, answer text);
INSERT INTO call (function, call, answer) VALUES
	('is_enabled', 'twtasks.is_enabled()', 'true'),
	('is_adopted', 'twtasks.is_adopted()', 'true'),
	('queue_kind', $$twtasks.queue_kind() IN ('ring', 'notify')$$, 'true'),
	('queue_stats', '(SELECT count(*) >= 0 FROM twtasks.queue_stats())', 'true'),
	('clock', 'twtasks.clock() IS NULL', 'false'),
	('edition', $$(twtasks.edition()).version IS NULL$$, 'false'),
	('set_clock', $$twtasks.set_clock(clock_timestamp() + interval '1 d') > clock_timestamp() + interval '1 h'$$, 'true'),
	('advance_clock', $$twtasks.advance_clock('1 h') > clock_timestamp() + interval '1 d'$$, 'true'),
	-- types, buckets and limits
	('configure_bucket', $$twtasks.configure_bucket('a', 'a \\back', 5)$$, ''),
	('unset_bucket_options', $$twtasks.unset_bucket_options('a', 'concurrency')$$, 'true'),
	('pause_bucket', $$twtasks.pause_bucket('a', 'x\\')$$, 'true'),
	('resume_bucket', $$twtasks.resume_bucket('a')$$, 'true'),
	('drop_bucket', $$twtasks.drop_bucket('b')$$, 'true'),
	('configure_type', $$twtasks.configure_type('EMAIL|*', priority => 3, timeout => '1 min')$$, ''),
	('policy_of', $$(SELECT p.patterns FROM twtasks.policy_of('EMAIL|a') p)$$, '{EMAIL|*}'),
	('unset_type_options', $$twtasks.unset_type_options('EMAIL|*', 'timeout')$$, 'true'),
	('drop_type_policy', $$twtasks.drop_type_policy('EMAIL|*')$$, 'true'),
	('pause_type', $$twtasks.pause_type('EMAIL|*')$$, 'true'),
	('is_paused', $$twtasks.is_paused('EMAIL|a')$$, 'true'),
	('resume_type', $$twtasks.resume_type('EMAIL|*')$$, 'true'),
	('configure_limit', $$twtasks.configure_limit('PAY|*', 5, 'cluster')$$, ''),
	('limit_name', $$twtasks.limit_name('PAY|*', 'PAY|a|b')$$, 'PAY|a'),
	('lock_setting', $$(twtasks.lock_setting('limit', 'c:\\new', NULL, 'node', 'c:\\new')).is_unchanged$$, 'true'),
	('drop_limit', $$twtasks.drop_limit('PAY|*')$$, 'true'),
	('allow_type', $$twtasks.allow_type('EMAIL|*', 'twtasks_producer')$$, 'true'),
	('disallow_type', $$twtasks.disallow_type('EMAIL|*', 'twtasks_producer')$$, 'true'),
	-- tasks
	('add_task', $$(twtasks.add_task('T|a', '{"a": "\\u0041"}', key => 'k', task_id => pg_temp.id(1))).result$$, 'added'),
	('add_tasks', $$(SELECT string_agg(t.result, ' ') FROM twtasks.add_tasks('T', ARRAY['1', '2']::jsonb[]) t)$$, 'added added'),
	('add_tasks', $$(SELECT string_agg(t.result, ' ') FROM twtasks.add_tasks('[{"type": "T", "key": "k"}]'::jsonb) t)$$, 'already_exists'),
	('add_tasks', $$(SELECT string_agg(t.result, ' ') FROM twtasks.add_tasks(ARRAY[ROW('T', '1', NULL, 'l', NULL, NULL, NULL, NULL, NULL, NULL, NULL)]::twtasks.new_task[]) t)$$, 'added'),
	('id_of', $$twtasks.id_of('k') = pg_temp.id(1)$$, 'true'),
	('hold_task', $$(twtasks.hold_task(pg_temp.id(1))).result$$, 'changed'),
	('prioritize_task', $$(twtasks.prioritize_task(pg_temp.id(1), priority => 3)).result$$, 'changed'),
	('release_task', $$(twtasks.release_task(pg_temp.id(1), run_after => 'tomorrow')).result$$, 'changed'),
	('reschedule_task', $$(twtasks.reschedule_task(pg_temp.id(1), NULL, 'yesterday')).result$$, 'changed'),
	('resume_task', $$(twtasks.resume_task(pg_temp.id(1))).result$$, 'changed'),
	('request_cancel', $$(twtasks.request_cancel(pg_temp.id(1))).result$$, 'changed'),
	('reopen_task', $$(twtasks.reopen_task(pg_temp.id(1), NULL, 'tomorrow')).result$$, 'changed'),
	('confirm_task', $$(twtasks.confirm_task(pg_temp.id(1), NULL, 'c:\\new')).result$$, 'wrong_status'),
	('fail_task', $$(twtasks.fail_task(pg_temp.id(1), NULL, 'c:\\new')).result$$, 'wrong_status'),
	('cancel_task', $$(twtasks.cancel_task(pg_temp.id(1))).result$$, 'changed'),
	('finish_task', $$(twtasks.finish_task(pg_temp.id(1), 1)).result$$, 'wrong_version'),
	('set_outcome', $$twtasks.set_outcome('1')$$, '55000'),
	('change_tasks', $$(SELECT string_agg(c.result, ' ') FROM twtasks.change_tasks('hold', 'T*', 'why') c)$$, 'changed changed changed'),
	('count_tasks', $$(SELECT sum(tasks) FROM twtasks.count_tasks())$$, '3'),
	('list_tasks', $$(SELECT count(id) FROM twtasks.list_tasks(type => 'T*', error => '\\', data => '{}', sub_type => NULL))$$, '0'),
	('list_tasks', $$(SELECT string_agg(key, ' ') FROM twtasks.list_tasks(key_prefix => 'k'))$$, 'k'),
	('list_unknown', $$(SELECT tasks FROM twtasks.list_unknown('c:\\*'))$$, '0'),
	('put_task', $$(twtasks.put_task('T', 'c:\\new', '{"a": "\\u0041"}')).result$$, 'added'),
	('prioritize_task', $$(twtasks.prioritize_task(twtasks.id_of('c:\\new'), NULL, 3, 'c:\\new')).result$$, 'changed'),
	('metrics', $$(SELECT count(*) > 0 FROM twtasks.metrics())$$, 'true'),
	('metrics_text', $$twtasks.metrics_text() ~ 'HELP twtasks_'$$, 'true'),
	('why', $$(SELECT sentence IS NOT NULL FROM twtasks.why(pg_temp.id(1)))$$, 'true'),
	('what_if_limit', $$(SELECT sentence IS NOT NULL FROM twtasks.what_if_limit('c:\\new', 1))$$, '42704'),
	('life', $$(SELECT count(*) > 0 FROM twtasks.life(pg_temp.id(1)))$$, 'true'),
	('trace_id', $$coalesce(twtasks.trace_id(pg_temp.id(1)), 'none')$$, 'none'),
	('task_at', $$(SELECT count(*) FROM twtasks.task_at(pg_temp.id(1), 'infinity'))$$, '1'),
	('compare_attempts', $$(SELECT count(*) FROM twtasks.compare_attempts(pg_temp.id(99), 1, 1))$$, '42704'),
	('compare_data', $$(SELECT path[1] FROM twtasks.compare_data('{"c:\\\\new": 1}', '{}'))$$, 'c:\\new'),
	('acknowledge_incident', $$twtasks.acknowledge_incident('none', 'c:\\new')$$, '42704'),
	('silence', $$twtasks.silence('*', '*', twtasks.clock() + interval '1 hour', 'c:\\new') > 0$$, 'true'),
	('unsilence', $$twtasks.unsilence((SELECT max(id) FROM twtasks.silence), 'c:\\new')$$, 'true'),
	('judge_silence', $$twtasks.judge_silence() IS NOT NULL$$, 'true'),
	('next_incidents', $$(SELECT count(*) FROM twtasks.next_incidents('{a}')) >= 0$$, 'true'),
	('note_sent', $$twtasks.note_sent(0, 'a', 'open', 0, 'sent', chr(92))$$, 'false'),
	('error_groups', $$(SELECT count(*) FROM twtasks.error_groups())$$, '0'),
	('type_loads', $$(SELECT count(*) FROM twtasks.type_loads('c:\\new'))$$, '0'),
	('recent_minutes', $$(SELECT count(*) FROM twtasks.recent_minutes('c:\\new') WHERE started > 0)$$, '0'),
	('find_stuck', $$(SELECT count(*) FROM twtasks.find_stuck())$$, '0'),
	('blockers', $$(SELECT count(*) >= 0 FROM twtasks.blockers())$$, 'true'),
	('allow_payload', $$twtasks.allow_payload('T*', 'twtasks_viewer')$$, 'true'),
	('request_payload', $$twtasks.request_payload(pg_temp.id(1), 'c:\\new') > 0$$, 'true'),
	('read_payload', $$(twtasks.read_payload((SELECT max(id) FROM twtasks.payload_read))).type$$, '55000'),
	('request_search', $$twtasks.request_search('{"a": "c:\\\\new"}', 'c:\\new') > 0$$, 'true'),
	('search_payloads', $$(SELECT count(*) FROM twtasks.search_payloads((SELECT max(id) FROM twtasks.payload_read)))$$, '55000'),
	('disallow_payload', $$twtasks.disallow_payload('T*', 'twtasks_viewer')$$, 'true'),
	('begin_import', $$twtasks.begin_import('c:\\new', 0)$$, 'false'),
	('import_tasks', $$(SELECT reason FROM twtasks.import_tasks('c:\\new', '[{"type": "c:\\\\new"}]'))$$, 'version, tries, priority or a time of the task is not valid'),
	('compare_import', $$(SELECT result FROM twtasks.compare_import('[{"type": "c:\\\\new"}]'))$$, 'refused'),
	('end_import', $$twtasks.end_import('c:\\new')$$, ''),
	('reset_tasks', $$twtasks.reset_tasks() > 0$$, 'true'),
	-- schedules
	('cron_next', $$twtasks.cron_next('*/5 * * * *', '2024-01-01 00:01+00') = '2024-01-01 00:05+00'$$, 'true'),
	('cron_preview', $$(SELECT count(*) FROM twtasks.cron_preview('@daily', n => 2))$$, '2'),
	('schedule', $$(twtasks.schedule('nightly: sums', '30 2 * * *', 'SUM', time_zone => 'Europe/Berlin')).result$$, 'added'),
	('pause_schedule', $$twtasks.pause_schedule('nightly: sums')$$, 'paused'),
	('resume_schedule', $$twtasks.resume_schedule('nightly: sums')$$, 'resumed'),
	('run_schedule_now', $$(twtasks.run_schedule_now('nightly: sums')).result$$, 'added'),
	('configure_schedule', $$(twtasks.configure_schedule('nightly: sums', reason => 'c:\\new')).result$$, 'unchanged'),
	('unschedule', $$twtasks.unschedule('nightly: sums')$$, 'removed'),
	-- messages
	('bytes_as_text', $$twtasks.bytes_as_text(decode('ff00', 'hex')) = chr(92) || 'xff00'$$, 'true'),
	('bytes_as_text', $$twtasks.bytes_as_text(convert_to(chr(92) || 'xff', 'UTF8')) = chr(92) || 'x5c786666'$$, 'true'),
	('bytes_as_text', $$twtasks.bytes_as_text(convert_to('.xff', 'UTF8'))$$, '.xff'),
	('kafka_message', $$(twtasks.kafka_message('k', '\\')).value = convert_to(chr(92), 'UTF8')$$, 'true'),
	('new_task', $$(twtasks.new_task('T', key => '\\')).key = chr(92)$$, 'true'),
	('message', $$(twtasks.message('\\', 0, 1)).topic = chr(92)$$, 'true'),
	('send_to_kafka', $$(SELECT count(*) FROM twtasks.send_to_kafka('out', ARRAY[twtasks.kafka_message('k', 'v')]))$$, '1'),
	('begin_partition', $$twtasks.begin_partition('l', 'topic', 0, 1, 5, 0)$$, '5'),
	('place_partition', $$(SELECT next_offset FROM twtasks.place_partition('l', 'topic', 0, 1, 5, 0, 'AAAA'))$$, '5'),
	('take_messages', $$twtasks.take_messages('l', 'topic', 0, 5, 6, messages => ARRAY[ROW('topic', 0, 5, now(), NULL, '"\\\\\\\\"'::bytea, '{"h": "v"}')]::twtasks.message[], type => 'M', key => 'position', headers => '{*}')$$, '6'),
	('take_corrupted', $$twtasks.take_corrupted('l', 'topic', 0, ROW('topic', 0, 6, now(), decode('5c', 'hex'), NULL, '{}')::twtasks.message, '22P02', 'bad')$$, '7'),
	('take_corrupted', $$(SELECT context ->> 'key' = chr(92) || 'x5c' FROM twtasks.task WHERE type = 'CORRUPTED_KAFKA_MESSAGE')$$, 'true'),
	('stop_partition', $$twtasks.stop_partition('l', 'topic', 0, 7, 0, 'gone')$$, 'gone'),
	('forget_address', $$twtasks.forget_address('c:\\new', 'c:\\new')$$, 'false'),
	('reset_listener', $$twtasks.reset_listener('l', 'topic', 0, 3)$$, '7'),
	-- events and kinds
	('configure_stream', $$twtasks.configure_stream('s', 'S', batch => 2)$$, ''),
	('add_event', $$twtasks.add_event('s', 'o', '{"a": "\\\\"}', ARRAY['1']::jsonb[])$$, ''),
	('list_event_objects', $$(SELECT count(*) FROM twtasks.list_event_objects('c:\\new'))$$, '0'),
	('add_event', $$(SELECT given FROM twtasks_internal.start_events())$$, '1'),
	('configure_kind', $$twtasks.configure_kind('pay', 'pessimistic', 'PAY', 'p-{/a}-{/b~1c}', delay => '1 ms')$$, ''),
	('configure_kind', $$twtasks.configure_kind('pay', 'pessimistic', 'PAY', 'p-{a')$$, '22023'),
	('configure_kind', $$twtasks.configure_kind('item', 'to_do', 'ITEM', 'i-{/a}', decide => 'app.decide')$$, ''),
	('unset_kind_options', $$twtasks.unset_kind_options('item', 'expires')$$, 'true'),
	('on_outcome', $$twtasks.on_outcome('pay', 'paid', 'item')$$, ''),
	('start', $$twtasks.start('pay', '{"a": 1, "b/c": 2}')$$, 'started'),
	('start', $$(SELECT identifier FROM twtasks.outcomes)$$, 'p-1-2'),
	('run_inline', $$(SELECT string_agg(result, ' ') FROM twtasks.run_inline('app.run', 'PAY', 1))$$, 'finished'),
	('decide_by_hand', $$twtasks.decide_by_hand('pay', 'p-1-2', '{"decision": "paid", "a": 1}', 'told')$$, 'true'),
	('close_anomalies', $$twtasks.close_anomalies('pay', 'p-1-2', 'none')$$, '0'),
	('start', $$twtasks.start('item', '{"a": 1}')$$, 'started'),
	('read_to_do', $$(SELECT string_agg(identifier, ' ') FROM twtasks.read_to_do('item'))$$, 'i-1'),
	('answer_to_do', $$(twtasks.answer_to_do('item', 'i-1', '{"decision": "yes"}')).result$$, 'decided'),
	('forget_outcomes', $$twtasks.forget_outcomes('item', '1 h')$$, '0'),
	-- waiting, which sees what is committed only
	('wait_for_task', $$twtasks.wait_for_task(pg_temp.id(7), timeout => '1 ms')$$, 'P0002'),
	('wait_until_idle', $$twtasks.wait_until_idle('NONE*', '1 s')$$, '');

-- Functions that are left out, each with its reason.
CREATE TEMPORARY TABLE left_out (function text, reason text);
INSERT INTO left_out VALUES ('adopt', 'writes a file that no rollback takes back');

-- The answer as text, or the error's SQLSTATE.
CREATE FUNCTION pg_temp.answer(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	EXECUTE 'SELECT (' || call || ')::text' INTO answer;
	RETURN answer;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;

SELECT plan(2 + (SELECT count(*) FROM call)::integer);
SELECT is(current_setting('standard_conforming_strings'), 'off', 'a backslash in a literal escapes');
SELECT is(pg_temp.answer(c.call), c.answer, c.function || '() answers as usual: ' || c.call) FROM (SELECT * FROM call ORDER BY n) c;
SELECT set_eq($$SELECT function FROM call UNION SELECT function FROM left_out$$,
	$$SELECT proname::text FROM pg_proc WHERE pronamespace = 'twtasks'::regnamespace$$, 'each public function is called');
SELECT * FROM finish();
ROLLBACK;
