# 038_silent_standby.pl -- a commit waits for a synchronous standby that is away.  The
# session is given up, but its backend is not ended: that would end the wait, and the
# outcome would count as stored before the standby has it.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

use constant PATIENCE => 90;

my $node = TwTasks::Cluster->create('main', init => { allows_streaming => 1 });
my $ledger = TwTasks::Ledger->new;

$node->value(<<'SQL');
	CREATE FUNCTION public.hold() RETURNS trigger LANGUAGE plpgsql AS
	$$ BEGIN PERFORM pg_catalog.pg_advisory_xact_lock_shared(1); RETURN NULL; END $$;
	CREATE TRIGGER hold AFTER INSERT ON twtasks.finished_task FOR EACH ROW EXECUTE FUNCTION public.hold();
SQL

my $sidecar = TwTasks::Sidecar->start($node, 'a', lease => '60s',
	handlers => [ { types => ['TASK'], worker => $ledger->worker } ]);

# The backend of this role that waits for that.
sub waits
{
	my ($role, $event) = @_;

	return $node->value("SELECT min(pid) FROM pg_stat_activity
		WHERE application_name = 'twtasksd $role' AND wait_event = '$event'");
}

my $holder = $node->session;

$holder->query('SELECT pg_advisory_lock(1)');
my $task = $node->add_task('TASK');

wait_for(sub { waits('finish', 'advisory') }, 'the finish to be under way');
$node->value('ALTER SYSTEM SET synchronous_standby_names = \'nobody\'');
$node->value('SELECT pg_reload_conf()');
wait_for(sub { waits('control', 'SyncRep') }, 'a tick to wait for the standby');
$holder->close;
my $pid = wait_for(sub { waits('finish', 'SyncRep') }, 'the finish to wait for the standby');

wait_ok(sub { $sidecar->log =~ /finish: no answer to "finish" .* given up \(backend $pid\)/ },
	'the session is given up', PATIENCE);
wait_for(
	sub {
		$node->value("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'twtasksd finish'
			AND state = 'idle' AND query ~ 'pg_terminate_backend'") > 0;
	},
	'the next session');

my $is_stored = 0;

watch_for(1, sub { $is_stored ||= $node->status_of($task) ne 'PROCESSING' });
ok(!$is_stored, 'the outcome is not stored before the standby has it');
is(waits('finish', 'SyncRep'), $pid, 'its backend waits on');

$node->value('ALTER SYSTEM RESET synchronous_standby_names');
$node->value('SELECT pg_reload_conf()');
wait_ok(sub { $node->status_of($task) eq 'DONE' }, 'the outcome is stored in the end', PATIENCE);
wait_ok(sub { waits('finish', 'SyncRep') eq '' }, 'the backend ends');
is(scalar($ledger->repeated), 0, 'no task was started twice');
is($sidecar->stop, 0, 'the sidecar stops in order');
unlike($sidecar->log, qr/refused|declared gone/, 'no outcome was refused');

done_testing();
