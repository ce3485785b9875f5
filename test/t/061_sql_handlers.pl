# 061_sql_handlers.pl -- what a SQL function does in the database happens
# exactly once for each task, also when the sidecar is killed in between; a
# function that fails undoes its own effects and nobody else's.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;

use constant TASKS => 2000;

my $node = TwTasks::Cluster->create('main');

# The role of the sidecar may do none of this itself.
$node->value(<<'SQL');
	CREATE ROLE accountant NOLOGIN;
	GRANT accountant TO sidecar;
	CREATE SCHEMA app;
	CREATE TABLE app.effect (id uuid, version bigint, type text, who text);

	CREATE FUNCTION app.effect(task twtasks.task_input) RETURNS void
	LANGUAGE sql AS $$
		INSERT INTO app.effect VALUES (task.id, task.version, task.type, current_user)
	$$;

	CREATE FUNCTION app.fail_some(task twtasks.task_input)
	RETURNS twtasks.task_result
	LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM app.effect(task);
		IF task.data::integer % 10 = 0 THEN
			RAISE EXCEPTION 'no tens' USING ERRCODE = 'P0042';
		END IF;
		RETURN NULL;
	END $$;

	CREATE FUNCTION app.take_long(task twtasks.task_input) RETURNS void
	LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM app.effect(task);
		PERFORM pg_sleep(60);	-- workload
	END $$;

	CREATE FUNCTION app.answer(task twtasks.task_input)
	RETURNS twtasks.task_result
	LANGUAGE sql AS $$
		SELECT (task.data->>0, (task.data->>1)::interval, task.data->>2)::twtasks.task_result
	$$;

	CREATE FUNCTION app.misbehave(task twtasks.task_input) RETURNS void
	LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM app.effect(task);
		EXECUTE task.data->>0;
	END $$;

	GRANT USAGE ON SCHEMA app, twtasks TO accountant;
	GRANT INSERT, SELECT ON app.effect TO accountant;
	REVOKE ALL ON ALL FUNCTIONS IN SCHEMA app FROM PUBLIC;
	GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA app TO accountant;
SQL

sub handler
{
	my ($type, $function, %options) = @_;

	return {
		types => [$type],
		sql => "app.$function",
		role => 'accountant',
		retry => { delay => '10ms', max_tries => 2 },
		%options
	};
}

my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	handlers => [
		handler('EFFECT', 'effect', processes => 2),
		handler('FAIL_SOME', 'fail_some'),
		handler('TAKE_LONG', 'take_long', timeout => '300ms'),
		handler('ANSWER', 'answer'),
		handler('MISBEHAVE', 'misbehave'),
		handler('LATE', 'misbehave'),
		handler('MISSING', 'missing'),
		handler('FORBIDDEN', 'effect', role => 'producer')
	]);

sub done
{
	my ($type) = @_;

	return $node->tasks("status = 'DONE' AND type = '$type'");
}

sub effects
{
	my ($type) = @_;

	return $node->value(
		"SELECT count(*) || ' ' || count(DISTINCT id)
		FROM app.effect WHERE type = '$type'");
}

sub error_of
{
	my ($id) = @_;

	return $node->value(
		"SELECT tries || ' ' || error FROM twtasks.error_tasks WHERE id = '$id'"
	);
}

# ---- exactly once ----

foreach my $round (1 .. 4)
{
	$node->add_many('EFFECT', TASKS / 4, 50);
	wait_for(sub { done('EFFECT') > ($round - 1) * TASKS / 4 + 50 },
		'progress');
	$sidecar->kill9;
	$sidecar->run;
}
wait_ok(sub { done('EFFECT') == TASKS },
	'all tasks are done, though the sidecar was killed four times');
is(effects('EFFECT'), TASKS . ' ' . TASKS,
	'each task had its effect exactly once');
is($node->tasks('type = \'EFFECT\' AND tries <> 1'),
	0, 'a try that was cut off left no trace');
is($node->value('SELECT DISTINCT who FROM app.effect'),
	'accountant', 'the functions ran as the role of the handler');

# ---- failures ----

$node->add_many('FAIL_SOME', 200, 200);
wait_ok(
	sub {
		$node->tasks(
			'type = \'FAIL_SOME\' AND status IN (\'DONE\', \'ERROR\')') ==
		  200;
	},
	'all tasks of a partly failing function end');
is(done('FAIL_SOME'), 180, 'the other tasks are done');
is(effects('FAIL_SOME'), '180 180', 'only the tasks that are DONE had effects');
is( $node->value(
		<<'SQL'), '2|no tens (SQLSTATE P0042)', 'failed tasks were tried as often as configured');
		SELECT DISTINCT tries, error FROM twtasks.error_tasks
		WHERE type = 'FAIL_SOME'
SQL

my $long = $node->add_task('TAKE_LONG');

wait_ok(sub { $node->status_of($long) eq 'ERROR' },
	'a function that takes too long is given up');
like(
	error_of($long),
	qr/^2 canceling statement due to statement timeout.*57014/,
	'a cancelled function counts as a try');
is(effects('TAKE_LONG'), '0 0', 'a cancelled function has no effect');

# ---- a constraint that is checked late ----

$node->value(<<'SQL');
	CREATE TABLE app.account (n integer PRIMARY KEY,
		owner integer REFERENCES app.account DEFERRABLE INITIALLY DEFERRED);
	GRANT SELECT, INSERT ON app.account TO accountant;
SQL
my @orphans = map {
	$node->value(
		"SELECT task_id FROM twtasks.add_tasks('LATE',
			ARRAY(SELECT jsonb_build_array(format('INSERT INTO app.account VALUES (%s, %s)', n, CASE n % 3 WHEN 1 THEN 0 ELSE n END))
				  FROM generate_series(3 * $_, 3 * $_ + 2) n)) WITH ORDINALITY WHERE ordinality = 2"
	);
} 1 .. 10;

wait_ok(
	sub {
		$node->tasks(
			'type = \'LATE\' AND status IN (\'DONE\', \'ERROR\')') == 30;
	},
	'tasks end though one of three breaks a deferred constraint');
is(done('LATE'), 20, 'the other tasks of each three are done');
is($node->value('SELECT count(*) FROM app.account WHERE n % 3 <> 1'),
	20, 'the effects of the other tasks are kept');
is($node->value('SELECT count(*) FROM app.account'),
	20, 'nothing stays of failed functions');
is(effects('LATE'), '20 20', 'each task had its effect once');
like(error_of($_), qr/^2 insert or update .* foreign key .*23503/,
	'failed functions were tried as configured')
  foreach @orphans;

# ---- who may, and what may not be done ----

foreach my $type (qw(MISSING FORBIDDEN))
{
	my $id = $node->add_task($type);

	my $state = "SELECT tries || ' ' || error FROM twtasks.tasks WHERE id = '$id' AND status = 'WAITING'";

	wait_ok(sub { $node->value($state) ne '' },
		"$type: the task waits");
	my $why = $type eq 'MISSING'
	  ? qr/handler function "app.missing" does not exist \(SQLSTATE 42883\): Create it as /
	  : qr/permission denied .* \(SQLSTATE 42501\): GRANT /;

	like($node->value($state), qr/^0 $why/, "$type: no try is counted, and the error says what to type");
	$sidecar->wait_for_log(qr/ERROR handler: cannot be started, its tasks wait: handlers\[\d+\]: $why/, $type);
	is(scalar(() = $sidecar->log =~ /ERROR handler: .*$why/g), 1, "$type: the log says once that the handler cannot be started");
}
foreach my $sql (
	'SET ROLE postgres',
	'SET SESSION AUTHORIZATION postgres',
	'RESET ROLE', 'COMMIT', 'ROLLBACK')
{
	my $id = $node->add_task('MISBEHAVE', data => "[\"$sql\"]");

	wait_ok(sub { $node->status_of($id) eq 'ERROR' }, "$sql is refused");
}
is(effects('MISBEHAVE'), '0 0', 'nothing is left of a function that misbehaves');
my $settings = $node->add_task('MISBEHAVE',
	data => '["SET search_path = app; SET statement_timeout = 1"]');

wait_ok(sub { $node->status_of($settings) eq 'DONE' },
	'a function may change settings');
is($node->value('SELECT who FROM app.effect WHERE type = \'MISBEHAVE\''),
	'accountant', 'a change of settings does not change the role');

# ---- answers ----

my %answers = (
	'["done", null, "well"]' => 'DONE 2',
	'["delete"]' => '',
	'["error", null, "give up"]' => 'ERROR 2',
	'["retry", "1 hour"]' => 'WAITING 2',
	'["repeat", "1 hour"]' => 'WAITING 2',
	'["accepted"]' => 'PROCESSING 1');

foreach my $answer (sort keys %answers)
{
	my $id = $node->add_task('ANSWER', data => $answer);

	wait_ok(sub { $node->state_of($id) eq $answers{$answer} },
		"answer $answer: $answers{$answer}");
}
my $wrong = $node->add_task('ANSWER', data => '["nonsense"]');

wait_ok(sub { $node->status_of($wrong) eq 'ERROR' },
	'a task with an unknown answer is in ERROR');
like(error_of($wrong), qr/unrecognized result: "nonsense"/, 'the error names the wrong result');

# After all that it works as before.
my $last = $node->add_task('EFFECT');

wait_ok(sub { $node->status_of($last) eq 'DONE' }, 'the sessions still work');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
