# History.pm -- random histories of tasks as scripts for psql, which print the answer of
# each step and the tables after it, without what differs from run to run: ids and
# microseconds.  Two editions of twtasks must print the same.

package TwTasks::History;

use strict;
use warnings FATAL => 'all';

my @types   = qw(A B B|1 C);
my @keys    = qw(k1 k2 k3);
my @results = qw(done done done retry retry error repeat release delete);

sub one_of
{
	return $_[ rand @_ ];
}

# maybe(CHANCE, VALUE) -- ', VALUE' in so many of a hundred cases
sub maybe
{
	my ($chance, $text) = @_;

	return rand(100) < $chance ? ", $text" : '';
}

# Functions that scripts call, once for a session.
sub prelude
{
	return <<'SQL';
\set ON_ERROR_ROLLBACK on
\set QUIET on
\set VERBOSITY terse
\pset tuples_only on
\pset format unaligned
SET client_min_messages = error;
SELECT twtasks_internal.start_node('history', lease => '10 days') AS node \gset
CREATE FUNCTION pg_temp.id_of(n integer) RETURNS uuid LANGUAGE sql AS $$
	SELECT coalesce((SELECT t.id FROM twtasks.task t WHERE (t.data ->> 'n')::integer = n ORDER BY t.id LIMIT 1),
		(SELECT f.id FROM twtasks.finished_task f WHERE (f.data ->> 'n')::integer = n ORDER BY f.id LIMIT 1)) $$;
CREATE FUNCTION pg_temp.own_id(n integer) RETURNS uuid LANGUAGE sql AS $$ SELECT ('00000000-0000-0000-0000-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION pg_temp.minutes(t timestamptz) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN isfinite(t) THEN round(extract(epoch FROM t - current_setting('test.base')::timestamptz) / 60)::text ELSE t::text END $$;
CREATE FUNCTION pg_temp.named(n text, prefix text, rest jsonb) RETURNS text LANGUAGE sql AS $$ SELECT concat_ws(' ', prefix, n, rest) $$;
CREATE SCHEMA history;
GRANT USAGE ON SCHEMA history TO PUBLIC;
CREATE FUNCTION history.handle(task twtasks.task_input) RETURNS twtasks.task_result LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	n CONSTANT integer := task.data ->> 'n';
	answer twtasks.task_result;
BEGIN
	PERFORM twtasks.add_task(task.type, jsonb_build_object('n', 1000 + n)) WHERE n < 1000 AND n % 3 = 0;
	PERFORM twtasks.set_outcome(jsonb_build_object('try', task.tries)) WHERE n % 4 > 0;
	answer.result := (ARRAY['done', 'done', 'retry', 'done', 'repeat', 'error', NULL, 'delete', 'accepted', 'done', 'cancelled', 'never'])[1 + n % 12];
	answer.delay := CASE n % 4 WHEN 0 THEN interval '20 min' END;
	answer.message := CASE n % 5 WHEN 0 THEN 'said' END;
	PERFORM 1 / ((n % 12 - 2) * (n % 12 - 4));
	RETURN answer;
END $$;
CREATE VIEW pg_temp.state AS
	SELECT 'task' AS what, coalesce(t.data ->> 'n', '-') AS n, jsonb_strip_nulls(jsonb_build_object('type', t.type, 'status', t.status, 'version', t.version,
		'tries', t.tries, 'priority', t.priority, 'queued', t.queued, 'bucket', t.bucket, 'key', t.key, 'sub_type', t.sub_type,
		'error', t.error, 'stuck', t.stuck, 'context', t.context, 'next', pg_temp.minutes(t.next_event_time), 'state_time', pg_temp.minutes(t.state_time),
		'expires', pg_temp.minutes(t.expires), 'deadline', pg_temp.minutes(t.deadline), 'planned', pg_temp.minutes(t.planned),
		'token', t.token, 'grabbed', t.incarnation IS NOT NULL, 'by', t.added_by)) AS facts
	FROM twtasks.task t
	UNION ALL
	SELECT 'finished', coalesce(f.data ->> 'n', '-'), jsonb_strip_nulls(jsonb_build_object('type', f.type, 'status', f.status, 'version', f.version,
		'tries', f.tries, 'priority', f.priority, 'bucket', f.bucket, 'key', f.key, 'error', f.error, 'message', f.message, 'outcome', f.outcome,
		'context', f.context, 'state_time', pg_temp.minutes(f.state_time), 'started', pg_temp.minutes(f.started), 'token', f.token, 'by', f.incarnation IS NOT NULL))
	FROM twtasks.finished_task f
	UNION ALL
	SELECT 'key', coalesce(t.data ->> 'n', f.data ->> 'n', '-'), jsonb_strip_nulls(jsonb_build_object('key', k.key, 'put', k.put_version))
	FROM twtasks.unique_key k LEFT JOIN twtasks.task t ON t.id = k.task_id LEFT JOIN twtasks.finished_task f ON f.id = k.task_id
	UNION ALL
	SELECT 'attempt', coalesce(t.data ->> 'n', f.data ->> 'n', '-'), jsonb_strip_nulls(jsonb_build_object('version', a.version, 'try', a.try,
		'result', a.result, 'error', a.error, 'next', pg_temp.minutes(a.next), 'ended', pg_temp.minutes(a.ended), 'started', pg_temp.minutes(a.started)))
	FROM twtasks.task_attempt a LEFT JOIN twtasks.task t ON t.id = a.task_id LEFT JOIN twtasks.finished_task f ON f.id = a.task_id
	UNION ALL
	SELECT 'audit', coalesce(t.data ->> 'n', f.data ->> 'n', '-'), jsonb_strip_nulls(jsonb_build_object('action', u.action, 'from', u.from_version, 'to', u.to_version,
		'was', u.from_status, 'is', u.to_status, 'reason', u.reason))
	FROM twtasks.audit u LEFT JOIN twtasks.task t ON t.id = u.task_id LEFT JOIN twtasks.finished_task f ON f.id = u.task_id;
SQL
}

# ---- Steps, each a statement ----

my $n;    # number of the last task

sub arguments
{
	my ($self) = @_;

	$n++;
	return sprintf('data => \'{"n": %d}\'', $n)
	  . maybe(15, sprintf 'priority => %d', one_of(-1, 0, 3, 9, 10))
	  . maybe(10, 'sub_type => ' . one_of('\'s\'', 'repeat(\'x\', 251)'))
	  . maybe(15, 'run_after => ' . one_of('twtasks.clock() + \'1 h\'', 'twtasks.clock() - interval \'1 h\'', '\'infinity\''))
	  . maybe(10, 'bucket => ' . one_of('\'default\'', '\'side\'', '\'none\'', '\'b b\''))
	  . maybe(10, 'expires => twtasks.clock() + ' . one_of('\'30 min\'', '\'-1 min\''))
	  . maybe(10, 'context => ' . one_of('\'{"trace": 1}\'', '\'7\''));
}

sub add
{
	my $type = one_of(@types, rand(10) < 1 ? 'b d' : ());

	return "SELECT a.result, a.version FROM twtasks.add_task('$type', " . arguments()
	  . maybe(25, sprintf 'key => \'%s\'', one_of(@keys, ''))
	  . maybe(15, sprintf 'task_id => pg_temp.own_id(%d)', rand 3) . ') a';
}

sub put
{
	return sprintf('SELECT a.result, a.version FROM twtasks.put_task(\'%s\', \'%s\', key_rule => \'%s\', %s) a',
		one_of(@types), one_of(@keys), one_of(qw(replace replace live replace_data kept never)), arguments());
}

sub add_many
{
	my @tasks = map {
		$n++;
		my $key = rand(3) < 1 ? sprintf ', "key": "%s"', one_of(@keys) : '';
		sprintf '{"type": "%s", "data": {"n": %d}%s}', one_of(@types), $n, $key
	} 0 .. rand 4;

	return sprintf 'SELECT a.result, a.version FROM twtasks.add_tasks(\'[%s]\'::jsonb) a', join ', ', @tasks;
}

sub configure
{
	my $pattern = one_of('*', 'A', 'B*', 'B|1');

	return "SELECT twtasks.configure_type('$pattern'"
	  . maybe(30, sprintf 'priority => %d', rand 10)
	  . maybe(20, sprintf 'bucket => \'%s\'', one_of('default', 'side', 'none'))
	  . maybe(20, sprintf 'queue_time => \'%d min\'', 10 + rand 50)
	  . maybe(20, sprintf 'expires_after => \'%d min\'', 10 + rand 50)
	  . maybe(20, sprintf 'when_done => \'%s\'', one_of(qw(keep clear delete)))
	  . maybe(20, sprintf 'retry => \'{"delays": ["10min", "20min"]}\'')
	  . maybe(20, sprintf 'stuck => \'%s\'', one_of(qw(error retry fail)))
	  . maybe(10, 'reset_tries => false') . ')';
}

sub change
{
	my $task = 'pg_temp.id_of(' . int(1 + rand($n || 1)) . ')';
	my $what = one_of(
		"hold_task($task, reason => 'r')", "release_task($task)", "cancel_task($task)", "fail_task($task, reason => 'f')",
		"confirm_task($task)", "resume_task($task)", "reopen_task($task)",
		sprintf('prioritize_task(%s, priority => %d)', $task, rand 11),
		"reschedule_task($task, run_after => twtasks.clock() + '20 min')");

	return "SELECT c.result, c.version, c.status FROM twtasks.$what c";
}

sub pause
{
	return one_of('SELECT twtasks.pause_type(\'A\', \'p\')', 'SELECT twtasks.resume_type(\'A\')',
		'SELECT twtasks.pause_bucket(\'side\')', 'SELECT twtasks.resume_bucket(\'side\')');
}

my $token = 0;

# The tasks of a status as arrays of ids and versions.
sub chosen
{
	my ($status) = @_;
	my $most = 1 + int rand 4;

	return "(SELECT array_agg(t.id ORDER BY t.n) AS ids, array_agg(t.version ORDER BY t.n) AS versions FROM
		(SELECT t.id, t.version, (t.data ->> 'n')::integer AS n FROM twtasks.task t WHERE t.status = '$status' ORDER BY 3 LIMIT $most) t) c";
}

sub grab
{
	$token++;
	return 'SELECT g.data ->> \'n\', g.version, g.type, g.tries, g.key, g.context FROM ' . chosen('SUBMITTED')
	  . ", twtasks_internal.grab_tasks(c.ids, c.versions, :node, $token, '{600000}', ARRAY['"
	  . one_of(qw(error retry fail)) . '\']::twtasks.stuck_rule[]'
	  . maybe(20, 'buckets => \'{default}\'') . ') g WHERE c.ids IS NOT NULL ORDER BY (g.data ->> \'n\')::integer';
}

# Some of the tasks that a SQL handler runs fail.
sub execute
{
	$token++;
	return 'SELECT g.version, g.result, g.message, g.tries, g.type, g.wait_us IS NULL FROM ' . chosen('SUBMITTED')
	  . ", twtasks_internal.execute_tasks('history.handle', NULL, c.ids, c.versions, :node, $token, '{600000}', '{error}'"
	  . maybe(30, 'retry => \'{"delays": ["30min"]}\'')
	  . maybe(20, 'buckets => \'{default}\'')
	  . ') g WHERE c.ids IS NOT NULL ORDER BY 1, 2, 3, 4, 5';
}

sub finish
{
	my $result = one_of(@results);

	$token++;
	return 'SELECT g.version, g.status, round(g.delay_ms / 1000.0) FROM ' . chosen('PROCESSING')
	  . ", twtasks_internal.finish_tasks(c.ids, c.versions, '{$result}', '{" . one_of(0, 1200000) . "}', "
	  . one_of('\'{said}\'', '\'{NULL}\'') . ", :node, $token"
	  . maybe(30, 'retries => ARRAY[\'{"delays": ["30min"]}\'::jsonb]')
	  . maybe(20, 'outcomes => ARRAY[\'{"paid": true}\'::jsonb]')
	  . ') g WHERE c.ids IS NOT NULL ORDER BY g.version, g.status';
}

sub pass
{
	return one_of(
		'SELECT twtasks.advance_clock(\'10 min\') IS NULL', 'SELECT twtasks.advance_clock(\'1 h\') IS NULL',
		'SELECT p.promoted FROM twtasks_internal.promote_tasks() p', 'SELECT twtasks_internal.expire_tasks()',
		'SELECT r.retried, r.errors, r.failed FROM twtasks_internal.recover_tasks() r');
}

# Each as often as it stands here.
my @all = (
	((\&add) x 6), ((\&put) x 4), ((\&add_many) x 2), ((\&configure) x 2), ((\&change) x 5), \&pause,
	((\&grab) x 6), ((\&finish) x 6), ((\&execute) x 5), ((\&pass) x 3));

# The script of a history of so many steps.
sub script
{
	my ($class, $number, $length) = @_;
	my $text = "\\qecho ==== $number\nBEGIN;\nSET LOCAL twtasks.testing = on;\n"
	  . "SELECT set_config('test.base', clock_timestamp()::text, true) \\g /dev/null\nSELECT twtasks.configure_bucket('side') \\g /dev/null\n";

	$n = 0;
	for my $step (1 .. $length)
	{
		my $statement = one_of(@all)->();

		$statement =~ s/\s+/ /g;
		$text .= "\\qecho -- $step: " . ($statement =~ tr{':}{" }r) . "\n$statement;\n\\if :ERROR\n\\qecho :SQLSTATE :LAST_ERROR_MESSAGE\n\\endif\n";
		$text .= "SELECT concat_ws(' ', s.what, s.n, s.facts) FROM pg_temp.state s ORDER BY 1;\n";
	}
	return "${text}ROLLBACK;\n";
}

1;
