# 054_processing.pl -- policies of processing in a running sidecar: deadlines,
# what is kept of a task, what becomes of one whose node is gone.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main',
	conf => { 'twtasks.function_timeout' => '60s' });
my $ledger = TwTasks::Ledger->new;

$node->safe_psql('postgres', <<'SQL');
	CREATE SCHEMA app;
	GRANT USAGE ON SCHEMA app TO sidecar;
	CREATE FUNCTION app.rule(task twtasks.task_input)
	RETURNS twtasks.stuck_rule LANGUAGE plpgsql SET search_path = app, pg_temp
	AS $$
	BEGIN
		IF task.data->>'rule' = 'raise' THEN
			RAISE EXCEPTION 'no idea';
		END IF;
		RETURN (task.data->>'rule')::twtasks.stuck_rule;
	END $$;
	CREATE FUNCTION app.wait(task twtasks.task_input)
	RETURNS void LANGUAGE plpgsql SET search_path = app, pg_temp
	AS $$
	BEGIN
		IF task.type = 'SQL|SHORT' THEN
			PERFORM pg_advisory_xact_lock(42);
		END IF;
	END $$;
	SELECT twtasks.configure_type('STUCK', stuck_function => 'app.rule');
	SELECT twtasks.configure_type('SQL|SHORT', timeout => '200ms', retry => '"none"');
	SELECT twtasks.configure_type('CLEAR', when_done => 'clear');
	SELECT twtasks.configure_type('DELETE', when_done => 'delete');
SQL

sub start
{
	my ($name) = @_;

	return TwTasks::Sidecar->start(
		$node, $name,
		handlers => [
			{
				types => ['STUCK'],
				concurrency => 100,
				stuck => 'ignore',
				command => $ledger->command('gate')
			},
			{ types => ['SQL|*'], sql => 'app.wait' },
			{ types => [ 'CLEAR', 'DELETE' ], noop => JSON::PP::true }
		]);
}

my $sidecar = start('first');

# ---- what is kept ----

my $clear =
  $node->add_task('CLEAR', key => 'clear', data => '{"secret": 1}');
my $delete =
  $node->add_task('DELETE', key => 'delete', data => '{"secret": 1}');

wait_ok(sub { $node->status_of($clear) eq 'DONE' }, 'a task with when_done clear is done');
is( $node->value(
		"SELECT coalesce(data::text, 'cleared') FROM twtasks.finished_task WHERE id = '$clear'"
	),
	'cleared',
	'a task with when_done clear loses its data');
wait_ok(sub { $node->state_of($delete) eq '' }, 'a task with when_done delete is gone');
is( $node->value(
		'SELECT result FROM twtasks.add_task(\'DELETE\', key => \'delete\')'),
	'added',
	'the key of a deleted task is free');

# ---- deadlines of SQL handlers, each by its type ----

my $lock = $node->session;

$lock->query('SELECT pg_advisory_lock(42)');

# quick ones, after which several share a statement
$node->add_many('SQL|QUICK', 50, 50);
wait_for(sub { $node->tasks('type = \'SQL|QUICK\' AND status = \'DONE\'') == 50 },
	'the quick ones');
$node->value(
	'SELECT count(*) FROM twtasks.add_tasks(ARRAY(
	SELECT (t, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::twtasks.new_task
	FROM unnest(\'{SQL|LONG,SQL|SHORT}\'::text[]) t))');
wait_ok(
	sub {
		$node->tasks('type = \'SQL|SHORT\' AND status = \'ERROR\'') == 1;
	},
	'a SQL handler is ended at the deadline of the type');
like(
	$node->value(
		'SELECT error FROM twtasks.tasks WHERE type = \'SQL|SHORT\''),
	qr/statement timeout/,
	'the timeout of its statement ends a SQL handler');
wait_ok(
	sub { $node->tasks('type = \'SQL|LONG\' AND status = \'DONE\'') == 1 },
	'a SQL task of another type runs on');
$lock->close;

# ---- a node that is gone ----

my %task = map {
	$_ => $node->add_task('STUCK', data => "{\"rule\": \"$_\"}")
} qw(retry error fail ignore raise);

wait_for(sub { $ledger->starts == 5 }, 'five starts');
my $heir = start('heir');
my $position = $heir->log_position;

$sidecar->kill9;
wait_ok(
	sub { $ledger->starts($task{retry}) == 2 },
	'a function says that a task is to run again');
wait_ok(
	sub {
		$node->status_of($task{error}) eq 'ERROR'
		  && $node->status_of($task{fail}) eq 'FAILED';
	},
	'the stuck rules error and fail act');
is($node->status_of($task{raise}),
	'ERROR', 'a task is in ERROR when its function fails, though the file says ignore');
$heir->wait_for_log(
	qr/WARN  postgres: (?:control|duties): function "app.rule" of a policy failed: no idea/,
	'the warning', $position);
is($node->status_of($task{ignore}), 'PROCESSING', 'the task that a function says to ignore is left alone');
is($ledger->starts($task{ignore}), 1, 'a task with the stuck rule ignore is not started again');
$ledger->release('gate', 100);
wait_ok(
	sub { $node->status_of($task{retry}) eq 'DONE' },
	'the task that ran again is done');
is($heir->stop, 0, 'the sidecar stops in order');

done_testing();
