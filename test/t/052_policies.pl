# 052_policies.pl -- what is configured in the database is valid at once in
# every sidecar, over the configuration file, and loses no task.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my $ledger = TwTasks::Ledger->new;

sub start
{
	my ($name) = @_;

	return TwTasks::Sidecar->start(
		$node, $name,
		log => { level => 'debug' },
		handlers => [
			{
				types => ['*'],
				timeout => '9min',
				concurrency => 100,
				command => $ledger->command('gate')
			}
		]);
}

# Adds a task and waits until it runs.
sub add_and_wait
{
	my ($type) = @_;
	my $id = $node->add_task($type);

	wait_for(sub { $ledger->starts($id) }, "start of a $type");
	return $id;
}

# Seconds from the grab to the deadline in the database; 15 are the grace and
# the margin.
sub timeout_of
{
	my ($id) = @_;

	return $node->value(
		"SELECT round(extract(epoch FROM deadline - state_time)) - 15
		FROM twtasks.task WHERE id = '$id'");
}

sub stuck_rule_of
{
	my ($id) = @_;

	return $node->value("SELECT stuck FROM twtasks.task WHERE id = '$id'");
}

# ---- over the file, at once, everywhere ----

$node->value('SELECT twtasks.configure_type(\'EARLY\', timeout => \'1min\')');
my @sidecars = map { start($_) } qw(one two);

is(timeout_of(add_and_wait('EARLY')),
	60, 'a policy set before the start holds from the first task on');
my $old = add_and_wait('TASK');

is(timeout_of($old), 540, 'without a policy the file decides');
is(stuck_rule_of($old), 'error', 'the file also decides the stuck rule');
TwTasks::Sidecar::configure(
	policies => 'SELECT twtasks.configure_type(\'TA*\', timeout => \'5min\', stuck => \'retry\')',
	@sidecars);
my @new = map { add_and_wait('TASK') } 1 .. 8;

is(join(' ', map { timeout_of($_) } @new),
	join(' ', (300) x 8), 'a policy decides in both sidecars');
is(join(' ', map { stuck_rule_of($_) } @new),
	join(' ', ('retry') x 8), 'the policy decides the stuck rule in both sidecars');
is(timeout_of($old), 540, 'a running task keeps the timeout of its grab');
TwTasks::Sidecar::configure(
	policies => 'SELECT twtasks.unset_type_options(\'TA*\', \'stuck\'),
	twtasks.configure_type(\'TASK\', timeout => \'2min\')', @sidecars);
my $newer = add_and_wait('TASK');

is(timeout_of($newer), 120, 'the more special pattern decides');
is(stuck_rule_of($newer), 'error',
	'the file decides an option that is taken from a policy');
TwTasks::Sidecar::configure(policies => 'BEGIN; SELECT twtasks.drop_type_policy(\'TASK\'); ROLLBACK;
	SELECT twtasks.configure_type(\'OTHER\', priority => 1)', @sidecars);
is(timeout_of(add_and_wait('TASK')),
	120, 'a policy that is rolled back changes nothing');
TwTasks::Sidecar::configure(policies => 'SELECT twtasks.drop_type_policy(\'TASK\')', @sidecars);
is(timeout_of(add_and_wait('TASK')), 300, 'a dropped policy has no effect');

# ---- under a file that is read anew ----

my ($sidecar, $second) = @sidecars;

$ledger->release('gate', $ledger->starts);
is($second->stop, 0, 'the second sidecar stops in order');
wait_ok(sub { $node->tasks('status <> \'DONE\'') == 0 },
	'all started tasks are done');
my $position = $sidecar->log_position;

$sidecar->{config}{handlers}[0]{timeout} = '8min';
$sidecar->{config}{handlers}[0]{stuck} = 'fail';
$sidecar->reload($sidecar->{config});
$sidecar->wait_for_log(qr/INFO  config: reloaded/, 'the reload', $position);
my $reloaded = add_and_wait('FRESH');

is( timeout_of($reloaded) . ' ' . stuck_rule_of($reloaded),
	'480 fail', 'the new file decides where there is no policy');
$reloaded = add_and_wait('TASK');
is( timeout_of($reloaded) . ' ' . stuck_rule_of($reloaded),
	'300 fail', 'a policy comes before the file');

# ---- after the database was away ----

$node->forget_session;
$node->restart;
wait_for(sub { defined $node->value_or_undef('SELECT 1') }, 'the server');
$node->value('SELECT twtasks.configure_type(\'TASK\', timeout => \'1min\')');
wait_for(
	sub {
		timeout_of(add_and_wait('TASK')) == 60;
	},
	'changes to be heard of after a restart of the server');

# ---- not before they are known ----

$ledger->release('gate', $ledger->starts - $ledger->ends);
is($sidecar->stop, 0, 'the sidecar stops in order');
# add_task() of the SQL edition reads policies.
my $early = $node->add_task('EARLY');
my $lock = $node->session;

$lock->query('BEGIN; LOCK TABLE twtasks.type_policy');
$sidecar = start('uninformed');
wait_for(sub { $node->waits_for_lock('control') }, 'the wait for policies');

watch_for(0.5);
is($ledger->starts($early), 0, 'nothing starts before the policies are known');
$lock->query('COMMIT');
wait_ok(sub { $ledger->starts($early) }, 'a task starts when the policies are known');
is(timeout_of($early), 60, 'the task starts with the timeout of its policy');
$reloaded = add_and_wait('TASK|LONG');

# ---- deadlines that differ within one handler ----

TwTasks::Sidecar::configure(
	policies => 'SELECT twtasks.configure_type(\'TASK|SHORT\', timeout => \'3s\')',
	$sidecar);
my $short = add_and_wait('TASK|SHORT');

wait_ok(
	sub {
		$node->value(
			"SELECT count(*) FROM twtasks.tasks
			WHERE id = '$short' AND error LIKE 'deadline of 3.000 s passed%'"
		) == 1;
	},
	'a deadline is met though an earlier task of the handler has longer');
is($node->status_of($reloaded), 'PROCESSING', 'the running task goes on after the reload');
$ledger->release('gate', 100);
wait_ok(
	sub {
		$node->tasks('status NOT IN (\'DONE\', \'WAITING\')') == 0;
	},
	'the other tasks are done');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
