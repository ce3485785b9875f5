--
-- A task that was not added, because an intercept gave it a key that another task
-- has, does not count as added.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(11);

CREATE FUNCTION public.regress_same_key(task twtasks.new_task) RETURNS twtasks.new_task LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	task.key := 'same';
	RETURN task;
END $$;
SELECT twtasks.configure_type(t, intercept => 'public.regress_same_key') FROM unnest('{DAILY,CORRUPTED_KAFKA_MESSAGE}'::text[]) t \g /dev/null
SELECT is((twtasks.add_task('OTHER', key => 'same')).result, 'added', 'another task has the key');

-- ---- schedules ----
SELECT twtasks.schedule('daily', '0 3 * * *', 'DAILY') \g /dev/null
UPDATE twtasks.schedule SET next_run = date_trunc('day', now()) - interval '21 h', look_at = date_trunc('day', now()) - interval '21 h' WHERE name = 'daily';
SELECT is((SELECT concat_ws(' ', added, failed) FROM twtasks_internal.run_schedules()), '0 1', 'the schedule fails');
SELECT is((SELECT problem FROM twtasks.schedules WHERE name = 'daily'), 'task of schedule "daily" was not added, since another task has its key', 'the view says why');
SELECT is((SELECT next_run FROM twtasks.schedule WHERE name = 'daily'), date_trunc('day', now()) - interval '21 h', 'the occurrence is still due');
SELECT is_empty('SELECT FROM twtasks.schedule_run', 'and does not pass for one that has run');
SELECT is((twtasks.run_schedule_now('daily')).result, 'already_exists', 'a person learns it from the answer');
SELECT is((SELECT last_run FROM twtasks.schedule WHERE name = 'daily'), NULL, 'and the schedule has not run');
DELETE FROM twtasks.unique_key WHERE key = 'same';
UPDATE twtasks.schedule SET look_at = next_run WHERE name = 'daily';
SELECT is((SELECT concat_ws(' ', added, failed) FROM twtasks_internal.run_schedules()), '1 0', 'when the key is free, the occurrence is made up for');

-- ---- corrupt messages ----
CREATE FUNCTION pg_temp.take(from_offset bigint) RETURNS bigint LANGUAGE sql AS $$
	SELECT twtasks.take_messages('l', 't', 0, from_offset, from_offset + 1, type => 'X', corrupt => 'task',
		messages => ARRAY[ROW('t', 0, from_offset, now(), NULL, '\xff', NULL)::twtasks.message])
$$;
SELECT throws_like('SELECT pg_temp.take(0)', '%invalid byte sequence%', 'a message whose task was not added is not skipped');
SELECT is_empty('SELECT FROM twtasks.message_offset', 'the listener does not go on');
SELECT twtasks.drop_type_policy('CORRUPTED_KAFKA_MESSAGE') \g /dev/null
SELECT is(pg_temp.take(0), 1::bigint, 'when the task was added, the listener goes on');
SELECT * FROM finish();
ROLLBACK;
