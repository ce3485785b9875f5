# 045_partitions.pl -- making partitions of the history and finishing tasks get
# along: neither makes the other fail.

use strict;
use warnings FATAL => 'all';

use Cwd qw(abs_path);
use File::Basename;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Session;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node =
  TwTasks::Cluster->create('main', conf => { deadlock_timeout => '100ms' });

sub finish
{
	my ($session, $time) = @_;

	return $session->try(
		"INSERT INTO twtasks.finished_task (id, version, state_time, created,
			status, tries, priority, type, bucket)
		 VALUES (gen_random_uuid(), 1, $time, now(), 'DONE', 1, 5, 'TASK', 'default')
		 RETURNING 'finished'");
}

# One transaction finishes a task that belongs to a partition and then one
# that belongs to the default partition, as SQL handlers do around midnight.
$node->value('SELECT twtasks_internal.make_partitions(0)');
my $worker = $node->session;
my $maker = $node->session;
my $maker_pid = $maker->backend_pid;

$worker->query('BEGIN');
is(finish($worker, 'now()'), 'finished', 'a task is finished');
$maker->send('SELECT twtasks_internal.make_partitions(20) >= 0');
wait_for(
	sub {
		$node->value(
			'SELECT state <> \'active\' OR wait_event_type = \'Lock\'
			FROM pg_stat_activity WHERE pid = ' . $maker_pid) eq 't';
	},
	'partitions to be made, or waited for');
is(finish($worker, 'now() - interval \'1 year\''),
	'finished', 'another task is finished while partitions are being made');
is($worker->try('COMMIT'), '', 'the transaction of the finished task commits');
is($maker->receive, 't', 'the partitions are made, or left for later');

# The same by chance: at each start the leader makes partitions, and finds
# many tasks that wait.
$node->value(<<'SQL');
	CREATE SCHEMA app;
	CREATE FUNCTION app.nothing(task twtasks.task_input) RETURNS void
	LANGUAGE sql AS $$ SELECT $$;
	GRANT USAGE ON SCHEMA app TO sidecar;
SQL
my $sidecar = TwTasks::Sidecar->prepare(
	$node, 'a',
	handlers => [
		{ types => ['SQL'], sql => 'app.nothing', processes => 2 },
		{ types => ['NOOP'], noop => JSON::PP::true }
	]);

foreach my $round (1 .. 5)
{
	$node->value(<<'SQL');
		DELETE FROM twtasks.finished_task_other;
		DO $$
		DECLARE
			partition regclass;
		BEGIN
			FOR partition IN
				SELECT inhrelid FROM pg_inherits
				WHERE inhparent = 'twtasks.finished_task'::regclass
				  AND inhrelid <> 'twtasks.finished_task_other'::regclass
			LOOP
				EXECUTE format('DROP TABLE %s', partition);
			END LOOP;
		END $$
SQL
	$node->add_many($_, 300, 300) foreach qw(SQL NOOP);
	$sidecar->run;
	wait_for(sub { $node->value('SELECT count(*) FROM twtasks.task') == 0 },
		"round $round");
	is($node->tasks('tries <> 1'), 0, "round $round: no try failed");
	is($sidecar->stop, 0, 'the sidecar stops in order');
	# A call of the leader outlives it, and would make partitions that are dropped below.
	wait_for(sub { $node->value("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'twtasksd %'") == 0 },
		'the sessions of the sidecar to end');
}
# ---- a reader is in the way ----

# The leader does not wait for its next hour, and says so meanwhile.
sub warned
{
	return $node->value(q{SELECT detail FROM twtasks.warnings WHERE warning = 'history fails'});
}

my $day = $node->value(q{SELECT max(c.relname) FROM pg_class c WHERE c.relname ~ '^finished_task_[0-9]{8}$'});
my $reader = $node->session;

$node->value("DROP TABLE twtasks.$day");
$reader->query('BEGIN; SELECT count(*) FROM twtasks.finished_task');
$sidecar->run;
wait_ok(sub { warned() }, 'a leader that cannot make a partition says so');
my $pid = $reader->backend_pid;
wait_ok(sub { warned() =~ /^make_partitions: other sessions hold locks on twtasks\.finished_task: (?:.*\D)?$pid\b/ },
	'the warning names the reader');
$reader->query('COMMIT');
wait_ok(sub { $node->value("SELECT to_regclass('twtasks.$day') IS NOT NULL") eq 't' },
	'it makes the partition soon after the reader has gone');
wait_ok(sub { warned() eq '' }, 'the warning ends');
is($sidecar->stop, 0, 'the sidecar stops in order');

# ---- the first partition of a database ----

# A transaction that has read the history without partitions has its lock.
$node->safe_psql('postgres', 'CREATE DATABASE keys');
$node->safe_psql('keys', q{CREATE EXTENSION twtasks;
	SELECT twtasks.add_task('A', key => key) FROM unnest('{orphan,kept}'::text[]) key;
	TRUNCATE twtasks.task;
	DELETE FROM twtasks.unique_key WHERE key = 'kept'});
my $adder = TwTasks::Session->new($node->connstr('keys'));
my $other = TwTasks::Session->new($node->connstr('keys'));
my $first_id = $other->query(q{SELECT task_id FROM twtasks.add_task('A')});
my $second_id = $other->query(q{SELECT task_id FROM twtasks.add_task('A')});

sub add_again
{
	return $adder->query("SELECT result FROM twtasks.add_task('A', $_[0])");
}

$adder->query('BEGIN; SELECT count(*) FROM twtasks.finished_task');
is(add_again("task_id => '$first_id'"), 'already_exists', 'a live task is not added again');
is(add_again(q{key => 'orphan'}), 'added', 'a key without a task is free');
$other->query(q{SELECT twtasks.add_task('A', key => 'kept')});
$other->query('SELECT twtasks.cancel_task(t.id) FROM twtasks.task t');
is(add_again("task_id => '$second_id'"), 'already_exists', 'nor one that has just begun the history');
is(add_again(q{key => 'kept'}), 'already_exists', '... nor one with its key');
$adder->query('COMMIT');
$_->close foreach $adder, $other;

# A commit shows its rows before it tells other sessions of its partition.
my $held = PostgreSQL::Test::Utils::tempdir() . '/held';
my ($headers) = run_command([ 'pg_config', '--includedir-server' ]);
my $source = abs_path(dirname(__FILE__) . '/../handlers/hold_commit.c');

is(system('cc', '-shared', '-fPIC', "-I$headers", "-DHELD=\"$held\"", '-o', "$held.so", $source),
	0, 'a library that holds commits is built');
$node->safe_psql('postgres', 'CREATE DATABASE shown');
my ($finisher, @again) = map { TwTasks::Session->new($node->connstr('shown')) } 0 .. 2;
my $shown_id = $finisher->query("CREATE EXTENSION twtasks; LOAD '$held.so';
	SELECT task_id FROM twtasks.add_task('A')");
my $pids = join ', ', map { $_->backend_pid } @again;

$finisher->query(q{SELECT FROM twtasks.add_task('A', key => 'shown')});
$_->query('SELECT count(*) FROM twtasks.finished_task') foreach @again;	# they know that it has no partition
PostgreSQL::Test::Utils::append_to_file($held, '');
$finisher->send('SELECT twtasks.cancel_task(t.id) FROM twtasks.task t');
wait_for(sub { -s $held }, 'the first finish to show its rows');
$again[0]->send("SELECT result FROM twtasks.add_task('A', task_id => '$shown_id')");
$again[1]->send(q{SELECT result FROM twtasks.add_task('A', key => 'shown')});
wait_for(
	sub {
		$node->value("SELECT count(*) FROM pg_stat_activity WHERE pid IN ($pids) AND query LIKE '%add_task%'
			AND (state = 'idle' OR wait_event_type = 'Lock')") == 2;
	},
	'both adds to wait, or to end');
unlink $held;
is($again[0]->receive, 'already_exists', 'a task whose finish is just making the history is not added again');
is($again[1]->receive, 'already_exists', '... nor is its key free');
$_->close foreach $finisher, @again;

# ---- a new database ----

# Its first start finds tasks that wait.
$node->safe_psql('postgres', 'CREATE DATABASE new');
$node->safe_psql('new', q{CREATE EXTENSION twtasks;
	SELECT twtasks.add_task('NOOP') FROM generate_series(1, 500)});
my $new = TwTasks::Session->new($node->connstr('new'));
my $first_reader = TwTasks::Session->new($node->connstr('new'));

my $some = $new->query('SELECT id FROM twtasks.task LIMIT 1');

$first_reader->query('SET twtasks.testing = on');
$first_reader->query('BEGIN; SELECT count(*) FROM twtasks.finished_task');
$first_reader->send("SELECT twtasks.wait_for_task('$some', timeout => '180 s')");
my $first = TwTasks::Sidecar->start(
	$node, 'first',
	postgres => $node->connstr('new') . ' user=sidecar',
	handlers => [ { types => ['NOOP'], noop => JSON::PP::true } ]);

wait_ok(sub { $new->query('SELECT count(*) FROM twtasks.finished_task') == 500 },
	'tasks of a new database run although a reader is there');
is($first_reader->receive, 'DONE', 'the reader finds a task in the new partition');
wait_ok(sub { $new->query(q{SELECT count(*) FROM twtasks.warnings WHERE warning = 'history fails'}) == 1 },
	'it says that the reader keeps it from making the next partition');
$first_reader->query('COMMIT');
$first_reader->close;
is($new->query('SELECT count(*) FROM twtasks.finished_task_other'), 0, 'all of them finish in the partition of their day');
is($first->stop, 0, 'its sidecar stops in order');

# A commit that has shown its rows may not have told of its partition yet.
my $commit = TwTasks::Session->new($node->connstr('new'));
my $waiter = TwTasks::Session->new($node->connstr('new'));
my $waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND pid = " . $waiter->backend_pid;

$commit->query('BEGIN; LOCK TABLE ONLY twtasks.finished_task IN SHARE UPDATE EXCLUSIVE MODE');
$waiter->send("SELECT twtasks.wait_for_task('00000000-0000-7000-8000-000000000000', timeout => '1 h')");
wait_ok(sub { $new->query($waits) == 1 }, 'a wait lets a session with a new partition end its commit');
$commit->query('COMMIT');
like($waiter->receive, qr/does not exist/, '... and looks again then');
$_->close foreach $commit, $waiter, $new;

is(scalar(() = slurp_file($node->logfile) =~ /deadlock detected/g),
	0, 'no deadlock was detected');

done_testing();
