# 038_standby_lacks_grab.pl -- somebody ends a session whose grab waits for a synchronous
# standby.  The server shows the grab then, and a standby that is promoted may lack it and
# give the task again.  So the task starts only when the standby has the grab.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main', init => { allows_streaming => 1 });
my $ledger = TwTasks::Ledger->new;
my $sidecar = TwTasks::Sidecar->start($node, 'a', lease => '10min',
	handlers => [ { types => ['TASK'], worker => $ledger->worker, stuck => 'error' } ]);

# The backend of a sidecar that waits for the standby in a call whose text matches.
sub waits_in
{
	my ($call) = @_;

	return $node->value("SELECT max(pid) FROM pg_stat_activity
		WHERE application_name LIKE 'twtasksd%' AND wait_event = 'SyncRep' AND query LIKE '%.$call(%'");
}

sub set_standby
{
	my ($set) = @_;

	$node->value("ALTER SYSTEM $set");
	$node->value('SELECT pg_reload_conf()');
	return;
}

# The session for grabs stays open for a while after a task.
my $first = $node->add_task('TASK');
wait_for(sub { $node->status_of($first) eq 'DONE' }, 'a first task');

$node->value('SET synchronous_commit = local');
set_standby(q(SET synchronous_standby_names = 'nobody'));
my $probe = $node->session;
$probe->send('CREATE TABLE public.probe ()');
wait_for(sub { $node->value(q(SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE '%probe%')) > 0 },
	'commits to wait for the standby');

my $task = $node->add_task('TASK');
my $pid = wait_for(sub { waits_in('grab_tasks') }, 'the grab to wait for the standby');

$node->value("SELECT pg_terminate_backend($pid)");
# If it was the session of the heartbeat, the next heartbeat waits too, and the task is given back.
wait_for(sub { $ledger->starts($task) || waits_in('resolve_grab') || $sidecar->log =~ /grabs may still be committed/ },
	'the sidecar to ask about the grab');
watch_for(1);
is($ledger->starts($task), 0, 'no task starts whose grab the standby lacks');

set_standby('RESET synchronous_standby_names');
wait_ok(sub { $node->status_of($task) eq 'DONE' }, 'it starts when the standby has the grab');
is($ledger->starts($task), 1, 'once');
$probe->close;
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
