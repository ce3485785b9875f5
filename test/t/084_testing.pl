# 084_testing.pl -- what tests of applications use, with a sidecar at work: a
# clock that is shifted counts for it at once, and it says so; waiting sees
# what it does.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node   = TwTasks::Cluster->create('main', conf => { 'twtasks.testing' => 'on' });
my $ledger = TwTasks::Ledger->new;

$node->safe_psql('postgres', 'CREATE ROLE tester LOGIN IN ROLE twtasks_tester, twtasks_producer');

# lease: it asks for the time every second or so
my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	lease    => '6s',
	sweep    => '1h',
	handlers => [
		{
			types   => ['GATED'],
			command => $ledger->command('gate'),
			timeout => '30min',
			stuck   => 'error'
		},
		{
			types   => ['FAILS'],
			command => $ledger->command(undef, 1),
			retry   =>
			  { delay => '1h', multiplier => 1, max_tries => 3, jitter => 0 }
		},
		{ types => ['*'], command => $ledger->command }
	]);
my $tester = $node->session('tester');

sub add_at
{
	my ($type, $time) = @_;

	return $tester->query(
		"SELECT task_id FROM twtasks.add_task('$type', run_after => $time)");
}

# ---- waiting ----

my $id = $tester->query('SELECT task_id FROM twtasks.add_task(\'NOW\')');
is($tester->query("SELECT twtasks.wait_for_task('$id', timeout => '180 s')"),
	'DONE', 'a test waits for a task');
$tester->query(
	'SELECT count(twtasks.add_task(\'MANY\')) FROM generate_series(1, 50)');
is($tester->query('SELECT twtasks.wait_until_idle(\'MANY\', \'180 s\')'),
	'', 'a test waits for all tasks of a type');
is($node->tasks('type = \'MANY\' AND status = \'DONE\''),
	50, 'all tasks of the type are done then');
like(
	$tester->try(
		"BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT twtasks.wait_for_task('$id', timeout => '180 s')"
	),
	qr/25001/,
	'a test cannot wait with a snapshot in which nothing changes');
$tester->query('ROLLBACK');

# ---- the clock ----

my $gated = $tester->query('SELECT task_id FROM twtasks.add_task(\'GATED\')');
my $fails = $tester->query('SELECT task_id FROM twtasks.add_task(\'FAILS\')');
my $hour  = add_at('HOUR', 'clock_timestamp() + interval \'1 hour\'');
my $soon  = add_at('SOON', 'clock_timestamp() + interval \'1 hour 3 s\'');
my $day   = add_at('DAY',  'clock_timestamp() + interval \'1 day\'');
wait_for(
	sub { $ledger->starts($gated) && $node->status_of($fails) eq 'WAITING' },
	'what runs now to run');
$sidecar->wait_until_idle;

$tester->query('SELECT twtasks.advance_clock(\'1 hour\')');
is($tester->query("SELECT twtasks.wait_for_task('$hour', timeout => '180 s')"),
	'DONE', 'a task that is due by then runs');
is($tester->query("SELECT twtasks.wait_for_task('$gated', '{ERROR}', '180 s')"),
	'ERROR', 'a task past its deadline is in ERROR');
wait_ok(sub { $ledger->starts($fails) == 2 }, 'a failed task is tried again');
is($tester->query("SELECT twtasks.wait_for_task('$soon', timeout => '180 s')"),
	'DONE', 'a task that is due soon runs');
is($node->status_of($day), 'WAITING', 'a task that is not due yet waits');
ok( $sidecar->wait_for_log(
		qr/WARN  clock: shifted by 3[56]\d{5} ms for a test; SELECT twtasks\.set_clock\(NULL\) sets it right/
	),
	'the sidecar says that its clock is shifted');
like(
	$node->value(
		'SELECT string_agg(warning || \' \' || coalesce(detail, \'\'), E\'\\n\') FROM twtasks.warnings'
	),
	qr/^clock shifted by .* by tester$/m,
	'a view says that the clock is shifted, and by whom');
is($node->value('SELECT count(*) FROM twtasks.nodes WHERE ended IS NULL'),
	1, 'the sidecar lives by the true clock');

$tester->query('SELECT twtasks.advance_clock(\'1 hour\')');
is($tester->query("SELECT twtasks.wait_for_task('$fails', '{ERROR}', '180 s')"),
	'ERROR', 'another hour brings the last try');
is($ledger->starts($fails), 3, 'the task had three tries');
$tester->query('SELECT twtasks.advance_clock(\'22 hours\')');
is($tester->query("SELECT twtasks.wait_for_task('$day', timeout => '180 s')"),
	'DONE', 'a task of the next day runs when the clock moves a day');

# ---- and anew ----

$ledger->release('gate');
$sidecar->wait_until_idle;
cmp_ok($tester->query('SELECT twtasks.reset_tasks()'),
	'>', 50, 'all tasks are removed');
$id = add_at('LATER', 'clock_timestamp() + interval \'12 hours\'');
$tester->query('SELECT twtasks.add_task(\'NOW\')');
is($tester->query('SELECT twtasks.wait_until_idle(timeout => \'180 s\')'),
	'', 'the next test runs');
is($node->status_of($id), 'WAITING', 'a later task waits by the true clock after the reset');
is($sidecar->stop,        0,         'the sidecar stops in order');

# Where it is off again, the clock that somebody left shifted does not count.
$tester->query('SELECT twtasks.advance_clock(\'1 day\')');
$node->change_setting(testing => 'off');
$sidecar->run;
$node->forget_session;
$id = $node->add_task('LATER',
	run_after =>
	  $node->value('SELECT clock_timestamp() + interval \'12 hours\''));
$node->value('SELECT twtasks.add_task(\'LAST\')');
wait_ok(sub { $node->tasks('type = \'LAST\' AND status = \'DONE\'') == 1 },
	'a sidecar works with testing off');
is($node->status_of($id), 'WAITING', 'a task waits by the true clock with testing off');
unlike($sidecar->log, qr/clock:/, 'the log says nothing of the clock with testing off');
like(
	$node->value(
		'SELECT string_agg(warning, \',\' ORDER BY warning) FROM twtasks.warnings'),
	qr/^clock shifted,no environment$/,
	'the warning of the shifted clock stays');
is($sidecar->stop, 0, 'the sidecar with testing off stops in order');

done_testing();
