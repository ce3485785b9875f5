# 055_pause.pl -- pause and resume of types and buckets, and types bound to
# nodes, while sidecars run: at once, without a task or a slot lost.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my $ledger = TwTasks::Ledger->new;

# A function that waits at a gate, which is a lock.
$node->value(<<'SQL');
	CREATE SCHEMA app;
	CREATE TABLE app.effect (task uuid);
	CREATE FUNCTION app.pass(task twtasks.task_input) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO app.effect VALUES (task.id);
		PERFORM pg_advisory_xact_lock_shared(7);
	END $$;
	GRANT USAGE ON SCHEMA app TO sidecar;
	GRANT INSERT ON app.effect TO sidecar;
SQL

# Nothing but a resume shall bring what was paused.
my %often = (sweep => '1h', log => { level => 'debug' });

sub start
{
	my ($name, %config) = @_;

	return TwTasks::Sidecar->start($node, $name, %often, %config);
}

sub wait_until_done
{
	my ($condition, $n, $name) = @_;

	return wait_ok(
		sub { $node->tasks("status = 'DONE' AND $condition") == $n }, $name);
}

# ---- a type, with its tasks in the sidecar's memory ----

my $sidecar = start(
	'one',
	buckets => [ 'default', 'side' ],
	handlers => [
		{
			types => [ 'PAY|*', 'MAIL' ],
			concurrency => 1,
			command => $ledger->command('gate')
		},
		{ types => ['SQL'], sql => 'app.pass', concurrency => 100, processes => 1 },
		{ types => ['BULK'], noop => JSON::PP::true }
	]);
my $running = $node->add_task('PAY|CARD');

wait_for(sub { $ledger->starts($running) }, 'the first start');
my @waiting = map { $node->add_task('PAY|CARD', priority => 1) } 1 .. 5;

wait_for(
	sub {
		$node->value(
			'SELECT sum(waiting) FROM twtasks.queue_stats()') == 0;
	},
	'all triggers to be taken');
TwTasks::Sidecar::configure(policies => 'SELECT twtasks.pause_type(\'PAY|*\', \'test\')', $sidecar);
my $mail = $node->add_task('MAIL');

$ledger->release('gate', 1);
wait_ok(
	sub { $node->status_of($running) eq 'DONE' },
	'a task that runs when its type is paused ends');
wait_ok(sub { $ledger->starts($mail) },
	'the slot of a paused type goes to a less urgent type');
$ledger->release('gate', 10);
wait_until_done('type = \'MAIL\'', 1, 'the task of the other type is done');
my $late = $node->add_task('PAY|BANK');

watch_for(0.5);
is($ledger->starts, 2, 'no task of the paused type starts');
is( $node->value(
		'SELECT count(*) FROM twtasks.stats WHERE type ~ \'^PAY\' AND status = \'SUBMITTED\''
	),
	2,
	'the tasks of the paused type wait');
TwTasks::Sidecar::configure(policies => 'SELECT twtasks.resume_type(\'PAY|*\')', $sidecar);
wait_until_done('type ~ \'^PAY\'', 7,
	'all tasks run when their type is resumed, without a routine look');
is(scalar($ledger->repeated), 0, 'each task ran once');

# ---- SQL handlers, of which some wait for their session ----

my $gate = $node->session;

$gate->query('SELECT pg_advisory_lock(7)');
$node->add_task('SQL');
wait_for(sub { $node->waits_for_lock('sql') }, 'the function to wait');
$node->add_task('SQL') foreach 1 .. 50;
wait_for(
	sub {
		$node->value(
			'SELECT sum(waiting) FROM twtasks.queue_stats()') == 0;
	},
	'all triggers to be taken');
TwTasks::Sidecar::configure(policies => 'SELECT twtasks.pause_type(\'SQL\')', $sidecar);
$gate->close;
wait_until_done('type = \'SQL\'', 1, 'a function that runs ends');
watch_for(0.3);
is($node->value('SELECT count(*) FROM app.effect'),
	1, 'paused tasks that waited for a session are not called');
is($node->tasks('type = \'SQL\' AND status = \'SUBMITTED\' AND version = 0'),
	50, 'paused tasks stay as they are');
TwTasks::Sidecar::configure(policies => 'SELECT twtasks.resume_type(\'SQL\')', $sidecar);
wait_until_done('type = \'SQL\'', 51, 'the paused tasks run when their type is resumed');
is( $node->value('SELECT count(*) = 51 AND count(DISTINCT task) = 51 FROM app.effect'),
	't', 'each task had its effect once');

# ---- a bucket ----

TwTasks::Sidecar::configure(policies => 'SELECT twtasks.pause_bucket(\'side\')', $sidecar);
my $side = $node->add_task('BULK', bucket => 'side');
my $main = $node->add_task('BULK');

wait_ok(sub { $node->status_of($main) eq 'DONE' },
	'tasks of other buckets run while a bucket is paused');
watch_for(0.3);
is($node->state_of($side), 'SUBMITTED 0', 'a task in a paused bucket stays SUBMITTED');
is($sidecar->stop, 0, 'the sidecar stops in order');
$sidecar->run;
watch_for(0.3);
is($node->state_of($side), 'SUBMITTED 0', 'a task in a paused bucket stays SUBMITTED after a restart');
TwTasks::Sidecar::configure(policies => 'SELECT twtasks.resume_bucket(\'side\')', $sidecar);
wait_ok(sub { $node->status_of($side) eq 'DONE' }, 'a task in a paused bucket runs when the bucket is resumed');

# ---- again and again, under load ----

my ($paused, $done) = (0, 0);

foreach my $round (1 .. 20)
{
	$node->add_many('BULK', 500, 100);
	$node->value($round % 2 ? 'SELECT twtasks.pause_type(\'BULK\')' :
		  'SELECT twtasks.resume_type(\'BULK\')');
}
$node->value('SELECT twtasks.resume_type(\'BULK\')');
wait_until_done('type = \'BULK\'', 10002, 'no task is lost by pauses');

# ---- what the database refuses before the sidecar knows ----

$node->value('ALTER FUNCTION twtasks_internal.read_policies RENAME TO unreadable');
my $position = $sidecar->log_position;

$node->value('SELECT twtasks.pause_type(\'BULK\')');
$sidecar->wait_for_log(qr/ERROR postgres: .*policies:/,
	'a failure to read policies', $position);
my $early = $node->add_task('BULK');

$sidecar->wait_for_log(qr/grab: 1 lost the race/, 'an attempt', $position);
is($node->state_of($early), 'SUBMITTED 0',
	'the database refuses paused tasks that the sidecar does not know of');
$node->value('SELECT twtasks.resume_type(\'BULK\')');
$node->value('ALTER FUNCTION twtasks_internal.unreadable RENAME TO read_policies');
wait_ok(
	sub { $node->status_of($early) eq 'DONE' },
	'a task is found when its type is resumed');

# ---- types bound to nodes ----

my $two = start('two', handlers => [ { types => ['*'], noop => JSON::PP::true } ]);

# Names of the nodes that did so many tasks of the type.
sub done_by
{
	my ($type, $n) = @_;

	$node->add_many($type, $n, 1);
	wait_for(
		sub { $node->tasks("type = '$type' AND status = 'DONE'") == $n },
		"$n of $type");
	return $node->value(
		"SELECT string_agg(DISTINCT n.name, ' ' ORDER BY n.name)
		FROM twtasks.tasks t JOIN twtasks.nodes n USING (incarnation)
		WHERE t.type = '$type'");
}

$node->value('SELECT twtasks.configure_type(\'BULK\', nodes => \'{t*}\')');
TwTasks::Sidecar::configure(policies => 'SELECT twtasks.configure_type(\'MAIL\', priority => 5)', $sidecar, $two);

# a trigger that the wrong one gets waits for a look at the table
$_->{config}{sweep} = '200ms' foreach $sidecar, $two;
foreach my $each ($sidecar, $two)
{
	my $position = $each->log_position;

	$each->reload($each->{config});
	$each->wait_for_log(qr/config: reloaded/, 'the reload', $position);
}
$node->value('TRUNCATE twtasks.finished_task');
is(done_by('BULK', 40), 'two', 'a type is run by the nodes that it names');
TwTasks::Sidecar::configure(policies => 'SELECT twtasks.configure_type(\'BULK\', nodes => \'{one}\')',
	$sidecar, $two);
$node->value('TRUNCATE twtasks.finished_task');
is(done_by('BULK', 40), 'one', 'other nodes run the tasks when the policy changes');
is($_->stop, 0, 'a sidecar stops in order') foreach $sidecar, $two;

# ---- a bucket that nobody has configured ----

$sidecar = TwTasks::Sidecar->prepare($node, 'forgotten',
	handlers => [ { types => ['*'], noop => JSON::PP::true } ]);
$sidecar->{config}{buckets} = [ 'default', 'forgotten' ];
$sidecar->run;
$sidecar->wait_for_log(
	qr/WARN  policy: bucket "forgotten" is not configured/, 'the warning');
pass('a sidecar warns of a bucket to which nothing can be added');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
