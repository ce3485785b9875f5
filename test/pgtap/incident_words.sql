--
-- Words of functions, programs and other extensions may quote a task.  No incident
-- has them, and each says where they are.
--
BEGIN;
\ir ../lib/tasks.sql
\ir ../lib/incidents.sql
TRUNCATE twtasks.duty;
SELECT plan(4);

UPDATE twtasks.node SET faults = ARRAY[
	'handlers[0]: exited with status 1: canary', 'listener "in", partition 0 of topic "t": offset 5: canary',
	'listeners: canary', 'traces: HTTP 503', 'worker "MAIL" ends again and again, with its tasks: canary'];
SELECT twtasks.schedule('night: "1"', '0 3 * * *', 'A'), twtasks.schedule('nightly', '0 3 * * *', 'A') \g /dev/null
UPDATE twtasks.schedule SET problem = E'function f() failed:\n"canary": canary';
CREATE FUNCTION public.regress_duty() RETURNS void LANGUAGE sql AS '';
INSERT INTO twtasks.duty (name, called, problem, failed_since)
SELECT d, clock_timestamp(), 'canary', clock_timestamp() FROM unnest('{public.regress_duty,make_partitions,clean_tasks}'::text[]) d;
INSERT INTO twtasks.message_offset (listener, topic, partition, next_offset, role, moved, problem, problem_since)
VALUES ('in', 't', 0, 5, current_user, now(), 'canary', now());
CREATE FUNCTION twtasks_internal.warn_regress(most integer) RETURNS jsonb LANGUAGE sql
AS $$ SELECT jsonb_build_array(jsonb_build_object('warning', 'regress', 'detail', 'thing "x": canary', 'hint', 'look at regress')) $$;
CREATE FUNCTION twtasks_internal.warn_regress_failing(most integer) RETURNS jsonb LANGUAGE plpgsql
AS $$ BEGIN RAISE EXCEPTION 'canary'; END $$;
SELECT twtasks_internal.monitor_tasks() \g /dev/null
INSERT INTO twtasks.monitor_type (at, bucket, type, status, tasks, capped, retrying, error)
SELECT m.at, 'default', 'PAY', 'WAITING', 20, false, 20, 'canary' FROM twtasks.monitor_look m;
INSERT INTO twtasks.monitor_type (at, bucket, type, status, tasks, capped, oldest, retrying, error)
SELECT m.at, 'default', 'PAY', 'ERROR', 20, false, m.at, 0, 'canary' FROM twtasks.monitor_look m;

SELECT ok((SELECT count(*) > 10 FROM twtasks.warnings w WHERE w.detail ~ 'canary'), 'the warnings have the words');
SELECT twtasks_internal.judge_incidents() \g /dev/null
SELECT is((SELECT string_agg(i.summary, E'\n' ORDER BY i.summary COLLATE "C") FROM twtasks.incidents i WHERE i.kind <> 'nobody leads'), $$20 tasks of type "PAY" are in ERROR
broken handler: node "test": handlers[0]
duty fails: public.regress_duty
history fails: clean_tasks
history fails: make_partitions
listener in trouble: node "test": listener "in", partition 0 of topic "t"
listener stands still: listener "in", partition 0 of topic "t", at offset 5
regress: thing "x"
schedule fails: schedule "night: "1""
schedule fails: schedule "nightly"
tasks fail and are retried: 20 tasks of type "PAY" fail and are retried
traces in trouble: node "test": traces: HTTP 503
warnings missing: function "twtasks_internal.warn_regress_failing" failed
worker crashes: node "test": worker "MAIL" ends again and again$$, 'each incident says where to look');
SELECT is((SELECT string_agg(i::text, ', ') FROM twtasks.incident i WHERE i::text ~ 'canary'), NULL, 'no incident has the words');
SELECT is((SELECT string_agg(n::text, ', ') FROM twtasks.next_incidents('{a}') n WHERE n::text ~ 'canary'), NULL, 'no message has them either');

SELECT * FROM finish();
ROLLBACK;
