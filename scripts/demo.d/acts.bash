# shellcheck shell=bash
#
# acts.bash -- the acts of the demo, one for each promise.  Sourced by
# scripts/demo, whose functions it uses.

demo=			# the directory of the processes' files

play()
{
	act_commit
	act_rollback
	act_retry
	act_urgent
	act_slow_type
	act_killed
	act_sql
}

act_commit()
{
	local ran

	act 1 'A committed task runs'
	shown demo_app "BEGIN;
SELECT twtasks.add_task('GREET', '{\"name\": \"Ada\"}', key => 'ada');
COMMIT;" >/dev/null
	ran=$(wait_for "EXISTS (SELECT FROM twtasks.tasks WHERE key = 'ada' AND status = 'DONE')")
	fact "$(see "SELECT status || ', try ' || tries || ', ' || $(ms 'state_time - created') ||
		' after it was added' FROM twtasks.tasks WHERE key = 'ada'")"
	fact "its handler got $(cut -d ' ' -f 2- "$demo/greetings" 2>/dev/null || echo nothing)"
	verdict 'it ran after the commit, once' "$ran"
}

act_rollback()
{
	local kept ran

	act 2 'A task never runs if its transaction or savepoint was rolled back'
	shown demo_app "BEGIN;
SELECT twtasks.add_task('GREET', key => 'outer');
SAVEPOINT here;
SELECT twtasks.add_task('GREET', key => 'behind the savepoint');
ROLLBACK TO here;
COMMIT;
BEGIN;
SELECT twtasks.add_task('GREET', key => 'rolled back');
ROLLBACK;
SELECT twtasks.add_task('GREET', key => 'the last');" >/dev/null
	wait_for "(SELECT count(*) = 2 FROM twtasks.tasks
		WHERE key IN ('outer', 'the last') AND status = 'DONE')" >/dev/null
	kept=$(see "SELECT string_agg(key, ', ' ORDER BY created) FROM twtasks.tasks WHERE key <> 'ada'")
	ran=$(wc -l <"$demo/greetings")
	fact "tasks in the table: $kept; greetings written so far: $ran"
	verdict 'only committed tasks exist' \
		"$(see "SELECT $ran = 3 AND '$kept' = 'outer, the last'")"
}

act_retry()
{
	local given_up

	act 3 'A failing task is retried, then waits in ERROR until a person resumes it'
	shown demo_app "SELECT twtasks.add_task('PAY', '{\"amount\": 100}', key => 'payment');" >/dev/null
	given_up=$(wait_for "EXISTS (SELECT FROM twtasks.error_tasks WHERE key = 'payment')")
	fact "$(see "SELECT status || ' after ' || tries || ' tries: ' || error
		FROM twtasks.tasks WHERE key = 'payment'")"
	fact 'now the bank opens, and the operator decides:'
	touch "$demo/bank-is-open"
	fact "$(shown demo_operator "SELECT r.result, r.status
FROM twtasks.error_tasks e, twtasks.resume_task(e.id, e.version, 'bank is open') r;")"
	wait_for "EXISTS (SELECT FROM twtasks.tasks WHERE key = 'payment' AND status = 'DONE')" >/dev/null
	fact "$(see "SELECT t.status || ' at try ' || t.tries || '; audit: ' || a.actor || ', ' || a.action || ', ' || a.reason
		FROM twtasks.tasks t JOIN twtasks.audit a ON a.task_id = t.id WHERE t.key = 'payment'")"
	verdict 'it was tried 3 times, kept its reason in ERROR, and ran after it was resumed' "$(see "SELECT '$given_up'::boolean AND
		status = 'DONE' AND tries = 1 FROM twtasks.tasks WHERE key = 'payment'")"
}

act_urgent()
{
	local before

	act 4 'An urgent task overtakes a backlog'
	shown demo_app "SELECT count(twtasks.add_task('PRINT')) FROM generate_series(1, 100);
SELECT twtasks.add_task('PRINT', priority => 0, key => 'urgent');" >/dev/null
	wait_for "EXISTS (SELECT FROM twtasks.tasks WHERE key = 'urgent' AND status = 'DONE')" >/dev/null
	before=$(see "SELECT count(*) FROM twtasks.tasks t, twtasks.tasks u WHERE t.type = 'PRINT'
		AND u.key = 'urgent' AND u.status = 'DONE' AND t.key IS NULL AND t.status = 'DONE'
		AND t.state_time BETWEEN u.created AND u.state_time")
	fact "there is one printer; of the 100 older tasks, $before ran before the urgent one"
	verdict 'the urgent task ran before the rest of the backlog' \
		"$(see "SELECT $before < 20 AND status = 'DONE' FROM twtasks.tasks WHERE key = 'urgent'")"
	see "SELECT count(twtasks.cancel_task(id, version, 'shown')) FROM twtasks.tasks
		WHERE type = 'PRINT' AND status = 'SUBMITTED'" >/dev/null
}

# ten_fast -- adds ten tasks, waits, prints how long the slowest took in ms
ten_fast()
{
	local since

	since=$(see 'SELECT clock_timestamp()')
	shown demo_app "SELECT count(twtasks.add_task('FAST')) FROM generate_series(1, 10);" >/dev/null
	wait_for "(SELECT count(*) = 10 FROM twtasks.tasks
		WHERE type = 'FAST' AND status = 'DONE' AND created > '$since')" >/dev/null
	see "SELECT coalesce(round(extract(epoch FROM max(state_time - created) FILTER (WHERE status = 'DONE')) * 1000), 99999)
		FROM twtasks.tasks WHERE type = 'FAST' AND created > '$since'"
}

act_slow_type()
{
	local alone behind waiting

	act 5 'A slow type with a long backlog does not hold up a fast one'
	alone=$(ten_fast)
	fact "without a backlog, the last of the ten was done after $alone ms"
	shown demo_app "SELECT count(twtasks.add_task('SLOW')) FROM generate_series(1, 10000);" >/dev/null
	wait_for "(SELECT count(*) = 4 FROM twtasks.tasks WHERE type = 'SLOW' AND status = 'PROCESSING')" >/dev/null
	fact "$(see "SELECT count(*) || ' of them run at once, a second each' FROM twtasks.tasks
		WHERE type = 'SLOW' AND status = 'PROCESSING'")"
	behind=99999
	# a machine may be busy at any one time
	for _ in 1 2 3 4 5; do
		behind=$(ten_fast)
		[ "$behind" -ge 1000 ] || break
	done
	waiting=$(see "SELECT count(*) FROM twtasks.tasks WHERE type = 'SLOW' AND status = 'SUBMITTED'")
	fact "with $waiting slow tasks waiting, the last of the ten was done after $behind ms"
	verdict 'the fast type took less than a second beside half an hour of slow work' \
		"$(see "SELECT $behind < 1000 AND $waiting > 9000")"
	fact 'the operator cancels the remaining slow tasks:'
	fact "$(shown demo_operator "SELECT r.result, count(*)
FROM twtasks.tasks t, twtasks.cancel_task(t.id, t.version, 'the demo goes on') r
WHERE t.type = 'SLOW' AND t.status = 'SUBMITTED' GROUP BY 1;")"
}

act_killed()
{
	local killed

	act 6 'The tasks of a killed sidecar are taken over in seconds'
	shown demo_app "SELECT count(twtasks.add_task('REPORT')) FROM generate_series(1, 5);  -- stuck: retry
SELECT twtasks.add_task('PAYOUT');                                      -- stuck: error" >/dev/null
	wait_for "(SELECT count(*) = 6 FROM twtasks.tasks
		WHERE type IN ('REPORT', 'PAYOUT') AND status = 'PROCESSING')" >/dev/null
	start_sidecar b
	fact "$(see "SELECT 'running on sidecar ' || n.name || ': ' || count(*)
		FROM twtasks.tasks t JOIN twtasks.nodes n USING (incarnation)
		WHERE t.status = 'PROCESSING' AND t.type IN ('REPORT', 'PAYOUT') GROUP BY n.name")"
	killed=$(see 'SELECT clock_timestamp()')
	fact "kill -9 $(cat "$demo/a.pid")"
	end_process KILL a
	wait_for "NOT EXISTS (SELECT FROM twtasks.tasks
		WHERE type IN ('REPORT', 'PAYOUT') AND status NOT IN ('DONE', 'ERROR'))" >/dev/null
	fact "$(see "SELECT count(*) || ' of type ' || t.type || ' are ' || t.status || ', the last after ' ||
		round(extract(epoch FROM max(t.state_time) - '$killed'), 1) || ' s' ||
		coalesce(', on sidecar ' || min(n.name) FILTER (WHERE t.status = 'DONE'), '') || coalesce(': ' || min(t.error), '')
		FROM twtasks.tasks t LEFT JOIN twtasks.nodes n USING (incarnation)
		WHERE t.type IN ('REPORT', 'PAYOUT') GROUP BY t.type, t.status ORDER BY t.type DESC")"
	verdict 'REPORT, which may run twice, ran again; PAYOUT waits for a person' \
		"$(see "SELECT count(*) FILTER (WHERE type = 'REPORT' AND status = 'DONE' AND tries = 2) = 5
			AND count(*) FILTER (WHERE type = 'PAYOUT' AND status = 'ERROR' AND tries = 1) = 1
			AND max(state_time) < timestamptz '$killed' + interval '25 seconds'
			FROM twtasks.tasks WHERE type IN ('REPORT', 'PAYOUT')")"
}

act_sql()
{
	act 7 'A SQL handler: its effects and its finish are one transaction'
	shown demo_app "SELECT count(twtasks.add_task('TRANSFER', '{\"from\": \"ada\", \"to\": \"bob\", \"amount\": 1}'))
FROM generate_series(1, 3000);" >/dev/null
	wait_for "(SELECT count(*) >= 300 FROM twtasks.tasks WHERE type = 'TRANSFER' AND status = 'DONE')" >/dev/null
	fact "kill -9 $(cat "$demo/b.pid")"
	end_process KILL b
	fact "$(see "SELECT count(*) FILTER (WHERE status = 'DONE') || ' done, ' ||
		count(*) FILTER (WHERE status <> 'DONE') || ' to do'
		FROM twtasks.tasks WHERE type = 'TRANSFER'"); the sidecar is started again"
	start_sidecar b
	wait_for "NOT EXISTS (SELECT FROM twtasks.tasks WHERE type = 'TRANSFER' AND status <> 'DONE')" >/dev/null
	fact "$(see "SELECT count(*) FILTER (WHERE status = 'DONE') || ' done; bookings: ' ||
		(SELECT count(*) || ', of different tasks: ' || count(DISTINCT task_id) FROM bank.booking) ||
		'; ada has ' || (SELECT balance FROM bank.account WHERE name = 'ada') ||
		', bob ' || (SELECT balance FROM bank.account WHERE name = 'bob')
		FROM twtasks.tasks WHERE type = 'TRANSFER'")"
	verdict 'each transfer took effect exactly once' \
		"$(see "SELECT (SELECT count(*) FROM bank.booking) = 3000
			AND (SELECT count(DISTINCT task_id) FROM bank.booking) = 3000
			AND (SELECT balance FROM bank.account WHERE name = 'bob') = 3000
			AND count(*) FILTER (WHERE status = 'DONE') = 3000
			FROM twtasks.tasks WHERE type = 'TRANSFER'")"
}

# Throughput: from the first add to the last finish.  Latency: tasks added one
# by one; from the time of the commit, which the server takes before it flushes
# its log, to the time when the worker has read the task from its pipe.
figures()
{
	local i

	act '' 'Measured here, with fsync on and whatever else this machine does'
	for ((i = 0; i < 20; i++)); do
		echo "SELECT count(twtasks.add_task('NOTHING', sub_type => 'many')) FROM generate_series(1, 1000);"
	done | psql -XAtq -U demo_app -d demo >/dev/null
	wait_for "NOT EXISTS (SELECT FROM twtasks.tasks WHERE sub_type = 'many' AND status <> 'DONE')" >/dev/null
	for ((i = 0; i < 200; i++)); do
		echo "INSERT INTO sample SELECT task_id, pg_current_xact_id()::xid
			FROM twtasks.add_task('NOTHING', sub_type => 'single');
			SELECT pg_sleep(0.005);"
	done | psql -XAtq -U demo_app -d demo >/dev/null
	wait_for "NOT EXISTS (SELECT FROM twtasks.tasks WHERE sub_type = 'single' AND status <> 'DONE')" >/dev/null
	fact "$(see "SELECT 'through one worker process, from the first add to the last finish: ' ||
		round(count(*) / extract(epoch FROM max(state_time) - min(created))) || ' tasks per second (' ||
		count(*) || ' tasks)'
		FROM twtasks.tasks WHERE sub_type = 'many' AND status = 'DONE'")"
	fact "$(see "SELECT 'from commit to start in the worker: p50 ' || round(p[1]::numeric, 2) || ' ms, p99 ' ||
		round(p[2]::numeric, 2) || ' ms (' || n || ' tasks, one by one)'
		FROM (SELECT percentile_disc('{0.5, 0.99}'::float8[]) WITHIN GROUP (ORDER BY took) AS p, count(*) AS n
			FROM (SELECT (t.message::float8 - extract(epoch FROM pg_xact_commit_timestamp(s.xid))::float8) * 1000 AS took
				FROM sample s JOIN twtasks.tasks t ON t.id = s.task_id) each_one) x")"
}
