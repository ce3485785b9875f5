# 038_standby_lacks_finish.pl -- somebody ends a session whose finish waits for a
# synchronous standby.  The server shows the finish then, and a standby that is promoted may
# lack it.  The sidecar forgets an outcome when resolve_finish() finds it, so that call waits for
# the standby too.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main', init => { allows_streaming => 1 });

# Sends the statement in a session of that name, and returns what becomes of it there.
sub fate
{
	my ($name, $statement) = @_;
	my $session = $node->session;

	$session->query("SET application_name = '$name'");
	$session->send($statement);
	my $fate = wait_for(
		sub {
			$node->value("SELECT max(CASE WHEN wait_event = 'SyncRep' THEN 'waits' WHEN state = 'idle' THEN 'has its answer' END)
				FROM pg_stat_activity WHERE application_name = '$name' AND query !~ '^SET '");
		},
		"the statement of $name to wait, or to end");
	return $session, $fate;
}

$node->value('SET synchronous_commit = local');
$node->value(q(ALTER SYSTEM SET synchronous_standby_names = 'nobody'));
$node->value('SELECT pg_reload_conf()');

# The checkpointer tells commits when they have to wait.
my $writer;
wait_ok(
	sub {
		($writer, my $fate) = fate(writer => q(SELECT pg_logical_emit_message(true, 'probe', '')));
		return $fate eq 'waits';
	},
	'commits wait for the standby');

my ($reader, $read) = fate(reader => 'SELECT count(*) FROM twtasks.task');
my ($sidecar, $resolved) = fate(sidecar => q(SELECT * FROM twtasks_internal.resolve_finish(ARRAY[gen_random_uuid()], '{1}', 1, 1)));

is($read, 'has its answer', 'a session that only reads does not wait');
is($resolved, 'waits', 'the question about a lost finish waits');

$node->value('ALTER SYSTEM RESET synchronous_standby_names');
$node->value('SELECT pg_reload_conf()');
is($sidecar->receive, '', '... and it has its answer when the standby is no longer waited for');

done_testing();
