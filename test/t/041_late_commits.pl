# 041_late_commits.pl -- without preload a transaction sends no notification while
# another one's is on its way.  Its task starts soon all the same, however late it
# commits, and no sweep is needed.
#
# A commit that waits for a standby has decided already, and is not visible yet.  A
# cancel ends its wait.  pg_receivewal is a standby that applies nothing, so commits
# wait that want it to; those of sidecars do not.

use strict;
use warnings FATAL => 'all';

use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

use constant { ROUNDS => 20, SOON_MS => 100 };

my $node = TwTasks::Cluster->create(
	'main',
	queue => 'notify',
	init => { allows_streaming => 1 },
	conf => { synchronous_commit => 'local', synchronous_standby_names => '\'*\'' });
my $ledger = TwTasks::Ledger->new;
my $said;
my $standby = IPC::Run::start(
	[ 'pg_receivewal', '--synchronous', '-D', PostgreSQL::Test::Utils::tempdir(), '-d', $node->connstr('postgres') ],
	'<', \undef, '>&', \$said);

END
{
	local $?;
	$standby->kill_kill if $standby;
}

my ($early, $late, $other) = map { $node->session } 1 .. 3;

sub held
{
	my ($session) = @_;

	return $node->value("SELECT coalesce(max(wait_event), '') FROM pg_stat_activity WHERE pid = " . $session->backend_pid);
}

# Commits a task, and waits until the commit waits.
sub commit
{
	my ($session, $type, %options) = @_;
	my $for = delete $options{waits_for} || 'SyncRep';
	my $after = $options{after} ? ", run_after => now() + interval '1 hour'" : '';
	my $level = $options{level} || 'READ COMMITTED';

	$session->backend_pid;
	$session->query('SET synchronous_commit = remote_apply');
	$session->send("BEGIN ISOLATION LEVEL $level; SELECT FROM twtasks.add_task('$type'$after); COMMIT");
	wait_for(sub { held($session) eq $for }, "the commit of $type to wait for $for");
	return;
}

sub let_commit
{
	my ($session) = @_;

	$node->value('SELECT pg_cancel_backend(' . $session->backend_pid . ')');
	$session->receive;
	return;
}

sub done
{
	return $node->tasks("status = 'DONE' AND type = '$_[0]'");
}

# A sidecar asks again while a transaction is late.
sub wait_for_question
{
	my $now = $node->value('SELECT clock_timestamp()');

	wait_for(
		sub {
			$node->value("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'twtasksd queue'
				AND query LIKE '%late_commits%' AND query_start > '$now'") > 0;
		},
		'another question');
	return;
}

wait_for(sub { $node->value('SELECT count(*) FROM pg_stat_replication WHERE sync_state = \'sync\'') > 0 },
	'the standby');

# While a task runs, no tick finds the first work after idle time.
my $running = $node->add_task('RUNNING');
my %config = (
	sweep => '1h',
	handlers => [
		{ types => [qw(EARLY LATE)], noop => JSON::PP::true },
		{ types => ['RUNNING'], command => $ledger->command('gate') }
	]);
my $sidecar = TwTasks::Sidecar->start($node, 'a', %config);

wait_for(sub { $ledger->starts($running) }, 'the first task to run');

# ---- a task that commits before the notification, and one long after ----

$sidecar->wait_until_idle;
commit($early, 'EARLY');
$other->query("SELECT FROM twtasks.add_task('LATE')");
pass('a commit does not wait for one that notifies');
let_commit($early);
wait_ok(sub { done('LATE') == 1 }, 'a task without a notification starts');
my $soon = 0;

foreach my $round (1 .. ROUNDS)
{
	commit($early, 'EARLY');
	commit($late, 'LATE');
	let_commit($early);
	wait_for(sub { done('EARLY') == 1 + $round }, 'the task that notified');
	wait_for_question();
	my $before = $node->value('SELECT clock_timestamp()');

	let_commit($late);
	wait_for(sub { done('LATE') == 1 + $round }, "late task $round, without a sweep");
	$soon++ if $node->value("SELECT max(started) < '$before'::timestamptz + interval '" . SOON_MS . " ms'
		FROM twtasks.finished_task WHERE type = 'LATE'") eq 't';
}
is(done('LATE'), 1 + ROUNDS, 'each late task started without a sweep');
note("$soon of " . ROUNDS . ' within ' . SOON_MS . ' ms');
cmp_ok($soon, '>', 0, 'late tasks start soon');

# ---- transactions that send a notification all the same ----

{
	my $listener = $node->session;
	my $heard = sub { scalar(() = $listener->query('SELECT 1') =~ /Asynchronous notification "twtasks"/g) };

	$listener->query('LISTEN twtasks');
	commit($early, 'EARLY');
	commit($late, 'LATE');
	let_commit($_) foreach $early, $late;
	is($heard->(), 1, 'one notification is in flight');
	foreach my $kind ([ 'a task that is due later', after => 1 ], [ 'a serializable one', level => 'SERIALIZABLE' ])
	{
		my ($name, %options) = @$kind;

		commit($early, 'EARLY');
		commit($late, 'LATE', %options, waits_for => 'object');
		$node->value('SELECT pg_cancel_backend(' . $early->backend_pid . ')');
		$early->receive;
		wait_for(sub { held($late) eq 'SyncRep' }, "the commit of $name");
		let_commit($late);
		is($heard->(), 2, "$name notifies too");
	}
	$listener->close;
}

# ---- a crash between the notification and the look ----

wait_for(sub { $node->tasks("type = 'LATE' AND status IN ('SUBMITTED', 'PROCESSING')") == 0 }, 'the tasks so far');
my $before = done('LATE');

sub cut_off
{
	my ($by) = @_;

	$sidecar->wait_until_idle;
	commit($early, 'EARLY');
	commit($late, 'LATE');
	$sidecar->freeze;
	let_commit($early);
	$sidecar->kill9;
	$by->();
	let_commit($late);
	wait_ok(sub { done('LATE') == $before + 1 }, $_[1]);
	$before++;
	return;
}

cut_off(sub { $sidecar->run; wait_for_question() }, 'a late task after a crash starts by the next sidecar');
my $second = TwTasks::Sidecar->start($node, 'b', %config);

$node->wait_for_company(2);
cut_off(sub { }, 'a late task starts by another sidecar that lives');

# ---- nobody looks twice ----

$ledger->release('gate');
is($second->stop, 0, 'the sidecar stops in order');
wait_for(
	sub {
		$node->value("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'twtasksd queue'") == 0;
	},
	'the sessions to end');
commit($early, 'EARLY');
commit($late, 'LATE', waits_for => 'object');
pass('without sidecars that look twice each commit notifies');
let_commit($early);

done_testing();
