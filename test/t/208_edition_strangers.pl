# 208_edition_strangers.pl -- a stranger takes and awaits every advisory lock that it sees
# or can guess.  Sidecars of the SQL edition lead, run tasks, reconnect and take over as
# without it.  In both editions, incidents are judged and tasks are counted meanwhile.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $ledger = TwTasks::Ledger->new;
my $node = TwTasks::Cluster->create('main', queue => 'notify', edition => 'sql');
my $connstr = $node->connstr('postgres') . ' user=stranger';
my @waiting;

$node->safe_psql('postgres', 'CREATE ROLE stranger LOGIN');

my $names = join ', ', map { "hashtextextended('twtasks.$_', 0)" } qw(incident monitor duty/judge_incidents message_offset/a);

# Takes locks whose numbers are known from the sources, for these incarnations too.
sub take_known
{
	my ($database, @incarnations) = @_;
	my $session = TwTasks::Session->new($node->connstr($database) . ' user=stranger');
	my $numbers = join ', ', $names, "x'7477736c00000000'::bigint", map { "(x'74776e6f'::bigint << 32) | ($_ & x'ffffffff'::bigint)" } 0, @incarnations;

	$session->query("SELECT pg_try_advisory_lock(n) FROM unnest(ARRAY[$numbers]) n");
	return $session;
}

# Queues for each lock that another session holds, in a session for each, exclusive and shared.
sub queue_for_all
{
	my $look = TwTasks::Session->new($connstr);
	my @keys = split /\n/, $look->query('SELECT DISTINCT (classid::bigint << 32) | objid::bigint FROM pg_locks
		WHERE locktype = \'advisory\' AND granted AND pid NOT IN (SELECT pid FROM pg_stat_activity WHERE usename = \'stranger\')');

	foreach my $key (@keys)
	{
		foreach my $lock (qw(pg_advisory_lock pg_advisory_lock_shared))
		{
			my $session = TwTasks::Session->new($connstr);
			$session->send("SELECT $lock($key)");
			push @waiting, $session;
		}
	}
	wait_ok(sub { $node->value('SELECT count(*) FROM pg_locks WHERE locktype = \'advisory\' AND NOT granted') >= 2 * @keys },
		'a stranger queues for ' . @keys . ' locks that sidecars hold');
	return scalar @keys;
}

sub ended_ok
{
	my ($id, $what) = @_;

	return wait_ok(sub { $node->status_of($id) eq 'DONE' }, $what);
}

# A lease so long that nothing here may wait for its end.
sub sidecar_of
{
	my ($name) = @_;

	return TwTasks::Sidecar->prepare($node, $name, lease => '10min',
		handlers => [ { types => ['PLAIN'], command => $ledger->command },
			{ types => ['GATED'], command => $ledger->command('gate'), stuck => 'retry' } ]);
}

push @waiting, take_known('postgres');
my $a = sidecar_of('a')->run;
ok($a->wait_for_log(qr/this node leads/), 'a sidecar leads while a stranger holds the locks that it knows');
push @waiting, take_known('postgres', $a->incarnation, $a->incarnation + 1);
ended_ok($node->add_task('PLAIN'), 'a task runs');
ok(queue_for_all() > 0, 'the life of a session is a lock that others see');

# ---- a new session: the stranger is first in the queue for the lock of the old one ----

my $pid = $node->value("SELECT pid FROM twtasks_internal.session WHERE number = twtasks_internal.node_lock($a->{incarnation})");
$node->value("SELECT pg_terminate_backend($pid)");
wait_ok(
	sub {
		$node->value("SELECT coalesce(twtasks_internal.holder_of(twtasks_internal.node_lock($a->{incarnation})), $pid)") != $pid;
	},
	'after a lost connection another session holds the life of the node');
ended_ok($node->add_task('PLAIN'), 'a task runs after that');
is($node->value("SELECT count(*) FROM twtasks.node WHERE incarnation = $a->{incarnation} AND ended IS NULL AND leads"), 1, 'the node is the same, and leads');

# ---- a take-over ----

my $b = sidecar_of('b')->run;
queue_for_all();
my $id = $node->add_task('GATED');
wait_ok(sub { $node->status_of($id) eq 'PROCESSING' }, 'a task is in work');
my $owner = $node->value("SELECT incarnation FROM twtasks.task WHERE id = '$id'") eq $a->incarnation ? $a : $b;
my $heir = $owner == $a ? $b : $a;
$owner->kill9;
wait_ok(sub { $node->value("SELECT incarnation FROM twtasks.task WHERE id = '$id'") eq $heir->incarnation },
	'the other node takes over, and does not wait for the end of the lease');
wait_ok(sub { $node->value("SELECT leads FROM twtasks.node WHERE incarnation = $heir->{incarnation}") eq 't' }, '... and leads');
$ledger->release('gate');
ended_ok($id, 'the task ends');
is($heir->stop, 0, 'the sidecar stops in order');

# ---- what runs once in the database, in both editions ----

$node->safe_psql('postgres', 'CREATE DATABASE library');
$node->safe_psql('library', 'CREATE EXTENSION twtasks');
push @waiting, take_known('library');
foreach my $database (qw(library postgres))
{
	my $session = TwTasks::Session->new($node->connstr($database));

	$session->query('SET statement_timeout = \'60s\'');
	is($session->query('SELECT errors FROM twtasks_internal.monitor_tasks()'), 0, "$database: tasks are counted");
	$session->query('UPDATE twtasks.monitor_look SET at = at - interval \'1 hour\'');
	is($session->query('SELECT twtasks.judge_silence()'), 't', "$database: nobody has counted for an hour");
	is($session->query('SELECT count(*) FROM twtasks.incident WHERE kind = \'silent\''), 1, "$database: incidents are judged");
	$session->query('SELECT twtasks_internal.note_duty(\'judge_incidents\', \'broken\')');
	is($session->query('SELECT problem FROM twtasks.duty WHERE name = \'judge_incidents\''), 'broken', "$database: the fault of a duty is noted");
	$session->close;
}
$_->close foreach @waiting;

done_testing();
