# 010_end_to_end.pl -- what was committed runs, in each handler mode and with
# each kind of queue; what was rolled back never does.
#
# The sweep is switched off but for the one at the start: triggers alone bring
# the tasks here.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

sub handlers
{
	my ($ledger) = @_;

	return [
		{ types => ['COMMAND'], command => $ledger->command },
		{ types => ['WORKER'], worker => $ledger->worker },
		{ types => ['SQL'], sql => 'app.note' },
		{ types => [ 'NOOP', 'NOOP|*' ], noop => JSON::PP::true },
		{
			types => ['RETRY'],
			command => $ledger->command(undef, 1),
			retry => { delay => '10ms', max_tries => 3 }
		}
	];
}

sub add_in_one_transaction
{
	my ($node, $end) = @_;
	my $session = $node->session('producer');
	my @ids;

	$session->query('BEGIN');
	foreach my $type (qw(COMMAND WORKER SQL NOOP NOOP|x))
	{
		push @ids,
		  $session->query(
			"SELECT task_id FROM twtasks.add_task('$type', '{\"a\": 1}')");
	}
	$session->query($end);
	return @ids;
}

sub are_done
{
	my ($node, @ids) = @_;

	return $node->tasks('status = \'DONE\' AND id IN ('
		  . join(', ', map { "'$_'" } @ids)
		  . ')') == @ids;
}

sub check_savepoints
{
	my ($node, $ledger) = @_;
	my $session = $node->session('producer');
	my $add = 'SELECT task_id FROM twtasks.add_task(\'COMMAND\')';

	$session->query('BEGIN');
	my $before = $session->query($add);
	$session->query('SAVEPOINT a');
	my $undone = $session->query($add);
	$session->query('ROLLBACK TO a');
	$session->query('SAVEPOINT b');
	my $kept = $session->query($add);
	$session->query('RELEASE b; COMMIT');

	wait_ok(sub { are_done($node, $before, $kept) },
		'tasks added outside of savepoints and in a released savepoint run');
	is($ledger->starts($undone),
		0, 'a task added in a savepoint that was rolled back does not run');
	return;
}

# Neither a sweep nor the leader's look at what is due comes so soon.
sub check_times
{
	my ($node) = @_;
	my ($soon, $waits, $retried);

	once_ok(
		sub {
			$soon = $node->value('SELECT clock_timestamp() + interval \'500 ms\'');
			$waits = $node->add_task('COMMAND', run_after => $soon);
			wait_for(sub { are_done($node, $waits) }, 'what is added for later');
			return took() < 1.5;
		},
		'what is added for later runs when it is due', 3);
	is( $node->value(
			"SELECT state_time >= '$soon'
			FROM twtasks.finished_task WHERE id = '$waits'"),
		't',
		'a task with run_after does not run before its time');
	once_ok(
		sub {
			$retried = $node->add_task('RETRY');
			wait_for(sub { $node->state_of($retried) eq 'ERROR 8' }, 'what fails');
			return took() < 2;
		},
		'a failed task is tried again when it is due');
	is($node->value("SELECT (twtasks.resume_task('$retried', 8)).result"),
		'changed', 'a task in ERROR may be resumed by hand');
	wait_ok(sub { $node->state_of($retried) eq 'ERROR 18' },
		'a resumed task runs again, with new tries');
	return;
}

sub check_queue
{
	my ($kind) = @_;
	my $node = TwTasks::Cluster->create($kind, queue => $kind);
	my $ledger = TwTasks::Ledger->new;

	$node->value(<<'SQL');
		CREATE SCHEMA app;
		CREATE TABLE app.note (id uuid, data jsonb);
		CREATE FUNCTION app.note(task twtasks.task_input) RETURNS void
		LANGUAGE sql AS $$ INSERT INTO app.note VALUES (task.id, task.data) $$;
		GRANT USAGE ON SCHEMA app TO sidecar;
		GRANT INSERT ON app.note TO sidecar;
SQL
	my $sidecar = TwTasks::Sidecar->start(
		$node, 'a',
		sweep => '1h',
		handlers => handlers($ledger));

	$sidecar->wait_until_idle;
	like(
		$sidecar->log,
		$kind eq 'ring' ? qr/through shared memory/ : qr/by NOTIFY/,
		"triggers come by $kind");

	my @rolled_back = add_in_one_transaction($node, 'ROLLBACK');
	my @committed = add_in_one_transaction($node, 'COMMIT');

	wait_ok(sub { are_done($node, @committed) },
		"$kind: tasks of every handler mode are done after the commit");
	is_deeply(
		[ map { $ledger->starts($_) } @committed ],
		[ 1, 1, 0, 0, 0 ],
		"$kind: command and worker were started once");
	is( $node->value('SELECT id, data FROM app.note'),
		"$committed[2]|{\"a\": 1}",
		"$kind: the SQL function ran once");
	check_savepoints($node, $ledger);
	check_times($node);
	is(scalar(grep { $ledger->starts($_) } @rolled_back),
		0, "$kind: nothing that was rolled back was started");
	is($node->tasks('status <> \'DONE\' AND type <> \'RETRY\''),
		0, "$kind: nothing else is in the tables");
	is($sidecar->stop, 0, "$kind: the sidecar stops in order");
	$node->stop;
	return;
}

# The SQL edition has no ring.
check_queue('ring') if !$ENV{TWT_TEST_EDITION};
check_queue('notify');

done_testing();
