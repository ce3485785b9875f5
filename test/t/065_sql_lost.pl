# 065_sql_lost.pl -- a SQL function that takes its statement or its session
# along fails alone: the tasks beside it are executed again, once, and are not
# blamed.  The server ends the session of a sidecar that died, whatever the
# function in it catches.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');

$node->value(<<'SQL');
	CREATE SCHEMA app;
	CREATE TABLE app.effect (id uuid, type text);
	CREATE FUNCTION app.work(task twtasks.task_input) RETURNS void
	LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO app.effect VALUES (task.id, task.type);
		EXECUTE coalesce(task.data->>0, 'SELECT 1');
	END $$;
	GRANT USAGE ON SCHEMA app TO sidecar;
	GRANT INSERT ON app.effect TO sidecar;
SQL

sub handler
{
	my ($type, %options) = @_;

	return {
		types => [$type],
		sql => 'app.work',
		concurrency => 1000,
		retry => { delay => '10ms', max_tries => 2 },
		%options
	};
}

my @handlers = (
	handler('ONE'), handler('TWO', processes => 2), handler('RELOADED', retry => { max_tries => 1 }));
my $sidecar = TwTasks::Sidecar->start($node, 'a', handlers => \@handlers);

# Tasks of one transaction, of which the middle one does that; returns its id.
sub add_around
{
	my ($type, $n, $sql) = @_;

	return $node->value(
		"SELECT a.task_id FROM twtasks.add_tasks(ARRAY(
			SELECT ('$type', CASE WHEN i = $n THEN jsonb_build_array(\$x\$$sql\$x\$) END,
				NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::twtasks.new_task
			FROM generate_series(1, 2 * $n - 1) i)) WITH ORDINALITY a(task_id, version, result, place)
		WHERE a.place = $n");
}

sub ends_well
{
	my ($type, $n, $culprit, $message, $what) = @_;

	wait_ok(sub { $node->tasks("type = '$type' AND status = 'DONE'") == 2 * $n - 2 },
		"$what: the tasks beside the culprit are done");
	wait_ok(sub { $node->status_of($culprit) eq 'ERROR' },
		"$what: the culprit is in ERROR");
	is( $node->value(
			"SELECT tries || ' ' || error FROM twtasks.error_tasks WHERE id = '$culprit'"
		),
		"2 $message",
		"$what: the culprit had two tries, and its error says why");
	is( $node->value(
			"SELECT count(*) || ' ' || count(DISTINCT id) FROM app.effect WHERE type = '$type'"
		),
		(2 * $n - 2) . ' ' . (2 * $n - 2),
		"$what: the other tasks had their effects once");
	is($node->tasks("type = '$type' AND tries <> 1 AND id <> '$culprit'"),
		0, "$what: no other task was blamed");
	# One by one: together they may be part of a deadlock with a sidecar.
	$node->value("TRUNCATE $_") foreach qw(app.effect twtasks.finished_task twtasks.task);
	return;
}

my $kill = 'SELECT pg_terminate_backend(pg_backend_pid()); SELECT pg_sleep(60)';	# workload
my $cancel = 'SELECT pg_cancel_backend(pg_backend_pid()); SELECT pg_sleep(60)';	# workload

foreach my $type (qw(ONE TWO))
{
	foreach my $n (1, 5, 60)
	{
		ends_well($type, $n, add_around($type, $n, $kill),
			'its session was lost while it ran',
			"$type, $n: the function ends its session");
		ends_well(
			$type, $n,
			add_around($type, $n, $cancel),
			'canceling statement due to user request, in PL/pgSQL function app.work(twtasks.task_input) line 4 at EXECUTE (SQLSTATE 57014)',
			"$type, $n: the function cancels its statement");
	}
}
is($sidecar->incarnation,
	$node->value('SELECT max(incarnation) FROM twtasks.nodes'),
	'the sidecar is still the same');

# ---- a timeout that is changed while sessions are open ----

my $before = $node->add_task('RELOADED');

wait_ok(sub { $node->status_of($before) eq 'DONE' },
	'a session is open');
$handlers[2]{timeout} = '300ms';
$sidecar->reload($sidecar->{config});
$sidecar->wait_for_log(qr/config: reloaded/, 'its reload');
my $late = add_around('RELOADED', 1, 'SELECT pg_sleep(60)');	# workload

wait_ok(sub { $node->status_of($late) eq 'ERROR' },
	'a shorter timeout holds at once');
like(
	$node->value("SELECT error FROM twtasks.error_tasks WHERE id = '$late'"),
	qr/due to statement timeout/,
	'a shorter timeout holds in the open session too');
is($sidecar->stop, 0, 'the sidecar stops in order');

# ---- a function that catches its timeout, of a sidecar that is no more ----

$node->value(<<'SQL');
	CREATE FUNCTION app.stubborn(task twtasks.task_input) RETURNS void
	LANGUAGE plpgsql AS $$
	BEGIN
		LOOP
			BEGIN
				PERFORM pg_advisory_xact_lock(7);
				RETURN;
			EXCEPTION WHEN query_canceled THEN
				NULL;
			END;
		END LOOP;
	END $$;
SQL

my $holder = $node->session;

$holder->query('SELECT pg_advisory_lock(7)');
$sidecar = TwTasks::Sidecar->start($node, 'b',
	handlers => [handler('STUBBORN', sql => 'app.stubborn', timeout => '10min')]);
$node->add_task('STUBBORN');
wait_ok(sub { $node->waits_for_lock('sql') }, 'a function waits');
$node->value(q(SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'twtasksd sql'));
$sidecar->kill9;
wait_ok(
	sub { $node->value(q(SELECT count(*) FROM pg_stat_activity WHERE application_name = 'twtasksd sql')) == 0 },
	'the server ends the session of a sidecar that is no more, also where its function catches a cancel');
$holder->close;

done_testing();
