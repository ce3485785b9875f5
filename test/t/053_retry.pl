# 053_retry.pl -- when a task that failed is tried again: by the figures of its
# policy, or by a function of the database, whatever becomes of that.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main',
	conf => { 'twtasks.function_timeout' => '60s' });
my $ledger = TwTasks::Ledger->new;

$node->safe_psql('postgres', <<'SQL');
	SELECT twtasks.configure_type('NONE', retry => '"none"');
	SELECT twtasks.configure_type('LIST', retry => '{"delays": ["10s", "20s"]}');
	SELECT twtasks.configure_type('CHAIN', retry => '[{"delays": ["1min"]},
		{"delay": "1h", "multiplier": 3, "max_delay": "2h", "max_tries": 3, "jitter": 0}]');
	SELECT twtasks.configure_type('REPEAT*', retry => '{"delays": ["10s", "20s"]}');
	SELECT twtasks.configure_type('REPEAT|COUNTED', reset_tries => false);

	CREATE SCHEMA app;
	CREATE SEQUENCE app.crashes;
	CREATE FUNCTION app.when_again(task twtasks.task_input, error text)
	RETURNS timestamptz LANGUAGE plpgsql SET search_path = app, pg_temp
	AS $$
	BEGIN
		PERFORM pg_advisory_xact_lock(42);
		IF task.type = 'ASK|BROKEN' THEN
			RAISE EXCEPTION 'no idea';
		ELSIF task.type = 'ASK|CRASH' THEN
			PERFORM nextval('app.crashes');
			PERFORM pg_terminate_backend(pg_backend_pid());
		END IF;
		RETURN CASE WHEN task.tries < 3 AND error LIKE '%exited with status 1%'
					THEN clock_timestamp() + task.tries * interval '1 h' END;
	END $$;
	SELECT twtasks.configure_type('ASK*', retry_function => 'app.when_again',
		retry => '{"delays": ["1min"]}');
SQL

my $sidecar = TwTasks::Sidecar->start(
	$node, 'main',
	handlers => [
		{
			types => ['*'],
			command => $ledger->command(undef, 1)
		},
		{ types => ['DONE'], noop => JSON::PP::true },
		{
			types => ['REPEAT*'],
			worker => [ TwTasks::Ledger::handler('puppet.py') ]
		}
	]);

# 'WAITING 2 20': status, tries and seconds until the next one, in whole steps of so many
# seconds, upwards.  A function counts from its call, which may be long before the end of the
# try is stored.
sub waits
{
	my ($id, $step) = @_;

	return $node->value(
		"SELECT concat_ws(' ', status, tries,
			$step * ceil(extract(epoch FROM nullif(next_event_time, 'infinity') - state_time) / $step))
		FROM twtasks.task WHERE id = '$id'");
}

# Lets the task be tried without waiting for its time.
sub try_again
{
	my ($id) = @_;

	is( $node->value(
			"SELECT result FROM twtasks.resume_task('$id',
			(SELECT version FROM twtasks.task WHERE id = '$id'))"),
		'changed',
		'the task is resumed');
	return;
}

sub wait_until_waits
{
	my ($id, $expected, $name, $step) = @_;

	return wait_ok(sub { waits($id, $step // 1) eq $expected }, $name);
}

# ---- figures ----

my $none = $node->add_task('NONE');
my $list = $node->add_task('LIST');
my $chain = $node->add_task('CHAIN');

wait_until_waits($none, 'ERROR 1', 'a policy without delays allows no other try');
wait_until_waits($list, 'WAITING 1 10', 'list: the first delay comes first');
try_again($list);
wait_until_waits($list, 'WAITING 2 20', 'list: the second delay comes next');
try_again($list);
wait_until_waits($list, 'ERROR 3', 'list: the task is in ERROR after the last delay');
wait_until_waits($chain, 'WAITING 1 60', 'chain: the first part comes first');
foreach my $expected ('WAITING 2 3600', 'WAITING 3 7200', 'ERROR 4')
{
	try_again($chain);
	wait_until_waits($chain, $expected, "chain: the second part comes next: $expected");
}

# ---- repeats ----

my $repeats = '[["reply", {"result": "repeat"}]]';
my $anew = $node->add_task('REPEAT|ANEW', data => $repeats);
my $counted = $node->add_task('REPEAT|COUNTED', data => $repeats);

wait_until_waits($anew, 'WAITING 0 10', 'a repeat starts anew');
try_again($anew);
wait_until_waits($anew, 'WAITING 0 10', 'each repeat starts anew');
wait_until_waits($counted, 'WAITING 1 10', 'a repeat may count its tries');
try_again($counted);
wait_until_waits($counted, 'WAITING 2 20', 'a counted repeat has the delays of its policy');
try_again($counted);
wait_until_waits($counted, 'ERROR 3', 'a repeat that counts its tries ends in ERROR');

# ---- a function ----

my $asked = $node->add_task('ASK');

wait_until_waits($asked, 'WAITING 1 3600', 'a function says when', 60);
try_again($asked);
wait_until_waits($asked, 'WAITING 2 7200', 'the function decides about the next try too', 60);
try_again($asked);
wait_until_waits($asked, 'ERROR 3', 'the function ends the tries');

# ---- one that fails ----

my $broken = $node->add_task('ASK|BROKEN');

wait_until_waits($broken, 'WAITING 1 60',
	'the figures decide when the function fails');
# The database knows the end of a try before the log does.
ok($sidecar->wait_for_log(qr/WARN  postgres: policy: function "app.when_again" of a policy failed: no idea/),
	'the log says that the function failed');
my $crash = $node->add_task('ASK|CRASH');

wait_until_waits($crash, 'WAITING 1 60', 'the figures decide when the function ends its session');
is($node->value('SELECT last_value FROM app.crashes'),
	2, 'the function is called at most twice');
$node->value('ALTER FUNCTION app.when_again RENAME TO gone');
my $gone = $node->add_task('ASK');

wait_until_waits($gone, 'WAITING 1 60', 'the figures decide when the function is gone');
$node->value('ALTER FUNCTION app.gone RENAME TO when_again');

# ---- one that is slow ----

my $lock = $node->session;

$lock->query('SELECT pg_advisory_lock(42)');
my $slow = $node->add_task('ASK');

wait_for(sub { $node->waits_for_lock('policy') }, 'the function to be asked');
my $other = $node->add_task('LIST');

wait_until_waits($other, 'WAITING 1 10',
	'other tasks do not wait while a function is asked');
my $done = $node->add_task('DONE');

wait_ok(sub { $node->status_of($done) eq 'DONE' }, 'successful tasks do not wait for the function');
is($node->status_of($slow), 'PROCESSING', 'the failed task waits for the function');
$sidecar->signal('TERM');
$sidecar->wait_for_log(qr/stopping:/, 'the stop');
$lock->query('SELECT pg_advisory_unlock(42)');
is($sidecar->wait_for_exit, 0, 'a stop waits for the answer');
is(waits($slow, 60), 'WAITING 1 3600', 'the function\'s answer counts');

# ---- one that never answers, in a database that is gone for a while ----

$node->change_setting(function_timeout => '2s');
$sidecar->run;
$lock->query('SELECT pg_advisory_lock(42)');
my @many = map { $node->add_task('ASK') } 1 .. 30;

wait_for(sub { $node->waits_for_lock('policy') }, 'the function to be asked');
wait_ok(
	sub {
		30 == grep { waits($_, 1) eq 'WAITING 1 60' } @many;
	},
	'the figures decide on all tasks that the function did not answer for');
ok($sidecar->wait_for_log(qr/it took too long|did not answer in time/), 'the log says that the function took too long');
$lock->close;
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
