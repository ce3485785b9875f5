# 038_silent_holders.pl -- a backend that is frozen in the middle of a transaction
# keeps its rows locked for as long as it stands.  Only their tasks wait for it: the
# slots are free again, and all other tasks run.  Nothing runs twice when the
# backend goes on.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

use constant PATIENCE => 90;

my $node = TwTasks::Cluster->create('main');
my $ledger = TwTasks::Ledger->new;

# A change to a task of these sub-types waits within its transaction; so does a
# function.
$node->value(<<'SQL');
	CREATE SCHEMA app;
	CREATE TABLE app.effect (id uuid);
	CREATE FUNCTION app.hold() RETURNS void LANGUAGE sql AS
	$$ SELECT pg_catalog.pg_advisory_xact_lock_shared(1) $$;
	CREATE FUNCTION app.hold_row() RETURNS trigger LANGUAGE plpgsql AS
	$$ BEGIN PERFORM app.hold(); RETURN NULL; END $$;
	CREATE TRIGGER hold_grab AFTER UPDATE ON twtasks.task FOR EACH ROW
	WHEN (NEW.sub_type = 'grab' AND OLD.status = 'SUBMITTED' AND NEW.status = 'PROCESSING')
	EXECUTE FUNCTION app.hold_row();
	CREATE TRIGGER hold_finish AFTER INSERT ON twtasks.finished_task FOR EACH ROW
	WHEN (NEW.sub_type = 'finish') EXECUTE FUNCTION app.hold_row();
	CREATE FUNCTION app.effect(task twtasks.task_input) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		IF task.sub_type = 'sql' THEN PERFORM app.hold(); END IF;
		INSERT INTO app.effect VALUES (task.id);
	END $$;
	GRANT USAGE ON SCHEMA app TO sidecar, twtasks_owner;
	GRANT INSERT ON app.effect TO sidecar;
	SELECT twtasks.configure_type('SQL', timeout => '2 seconds');
SQL

my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	handlers => [
		{ types => ['WORKER'], concurrency => 2, worker => $ledger->worker },
		{ types => ['SQL'], sql => 'app.effect', concurrency => 2, processes => 1, grace => '1s' }
	]);

# Holds up one task in the middle of that call, and freezes the backend there;
# returns its process id, the task and what holds it up.
sub freeze_in
{
	my ($role, $type, $sub_type) = @_;
	my $holder = $node->session;

	$holder->query('SELECT pg_advisory_lock(1)');
	my $task = $node->add_task($type, sub_type => $sub_type);
	my $pid;

	wait_for(
		sub {
			$pid = $node->value("SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'twtasksd %'
				AND application_name ~ '$role' AND wait_event = 'advisory'");
		},
		"a session of $role to wait");
	kill STOP => $pid;
	return ($pid, $task, $holder);
}

sub check
{
	my ($role, $type, $sub_type, $is_ended) = @_;
	my $case = "$sub_type, the backend " . ($is_ended ? 'ends' : 'goes on') . ' later';
	my $from = $sidecar->log_position;
	my ($pid, $task, $holder) = freeze_in($role, $type, $sub_type);

	# These wait for nothing but a slot and a session.
	my @others = map { $node->add_task($_) } (qw(WORKER SQL)) x 10;

	wait_ok(
		sub { $node->tasks("status <> 'DONE'") == 1 },
		"$case: all other tasks are done", PATIENCE);
	note(sprintf '%s: after %.1f s', $case, took());
	ok($sidecar->wait_for_log(qr/its session is given up \(backend $pid\)/, undef, $from), "$case: the session was given up");
	is($node->status_of($task), $sub_type eq 'finish' ? 'PROCESSING' : 'SUBMITTED',
		"$case: nothing is known of the task");
	$holder->close;
	kill CONT => $pid;
	wait_ok(sub { $node->status_of($task) eq 'DONE' }, "$case: the task is done in the end", PATIENCE);
	is($node->value("SELECT tries FROM twtasks.tasks WHERE id = '$task'"), 1, "$case: one try counts");
	return $sidecar->log($from);
}

check('grab|control', 'WORKER', 'grab', 1);
check('finish', 'WORKER', 'finish', 1);
check('sql', 'SQL', 'sql', 1);

# Nobody may end the backends now.
$node->value('REVOKE EXECUTE ON FUNCTION pg_catalog.pg_terminate_backend(int, bigint) FROM PUBLIC');
like(check('grab|control', 'WORKER', 'grab', 0), qr/1 grabs may still be committed/, 'the slot of the grab is free again');
check('finish', 'WORKER', 'finish', 0);
check('sql', 'SQL', 'sql', 0);

is(scalar($ledger->repeated), 0, 'no task was started twice');
$node->effects_once_ok;
is($node->tasks("status <> 'DONE'"), 0, 'no task is lost');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
