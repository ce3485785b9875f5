# 085_by_hand.pl -- changes by hand while the engine runs: what is resumed,
# rescheduled, released or reopened runs, what is cancelled or held does not;
# the handler of a task that runs can be stopped, and that is all; nothing is
# done twice.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node    = TwTasks::Cluster->create('main');
my $ledger  = TwTasks::Ledger->new;
my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	sweep    => '1h',
	handlers => [
		{ types => ['ORDERED'], command => $ledger->command, concurrency => 1 },
		{ types => ['GATED'],  command => $ledger->command('gate') },
		{ types => ['FAILS*'], command => $ledger->command(undef, 65) },
		{ types => ['*'],      command => $ledger->command }
	]);

sub in_an_hour
{
	return $node->value('SELECT clock_timestamp() + interval \'1 hour\'');
}

# A change of one task, with its version as it is; the result.
sub change
{
	my ($function, $id, $more) = @_;

	return $node->value(
		"SELECT r.result FROM twtasks.tasks t, twtasks.$function(t.id, t.version"
		  . ($more ? ", $more" : '')
		  . ") r WHERE t.id = '$id'");
}

# A change of many: results and how often.
sub change_many
{
	my ($arguments) = @_;

	return $node->value(
		"SELECT string_agg(n || ' ' || result, ', ' ORDER BY result) FROM (
			SELECT result, count(*) AS n FROM twtasks.change_tasks($arguments) GROUP BY 1) x"
	);
}

sub runs
{
	my ($id, $how, $starts) = @_;

	wait_ok(sub { $node->status_of($id) eq 'DONE' }, "$how: the task runs");
	is($ledger->starts($id), $starts // 1, "$how: the task was started as often as expected");
	return;
}

# ---- one by one ----

my $id = $node->add_task('LATER', run_after => in_an_hour());
is(change('resume_task', $id), 'changed', 'a task is resumed before its time');
runs($id, 'resumed before its time');

$id = $node->add_task('LATER', run_after => in_an_hour());
is(change('reschedule_task', $id, 'now() - interval \'1 hour\''),
	'changed', 'a task is rescheduled to the past');
runs($id, 'rescheduled to the past');

$id = $node->add_task('LATER', run_after => in_an_hour());
is(change('reschedule_task', $id, 'now() + interval \'1 s\''),
	'changed', 'a task is rescheduled to be soon');
runs($id, 'rescheduled to be soon');

my $held = $node->add_task('LATER', run_after => in_an_hour());
is(change('hold_task', $held), 'changed', 'a task is held');
is(change('reschedule_task', $held, 'now()'),
	'wrong_status', 'a held task cannot be rescheduled');
my $cancelled = $node->add_task('LATER', run_after => in_an_hour());
is(change('cancel_task', $cancelled), 'changed', 'a task is cancelled');

# The sidecar has the triggers of a paused type in memory.  After a change of priority
# the task goes before those of the same age.  When a later task has run, the sidecar
# has the triggers of the change, too.
$node->value("SELECT twtasks.pause_type('ORDERED', 'test')");
my @ordered = map { $node->add_task('ORDERED') } 1 .. 5;
is(change('prioritize_task', $ordered[3], 1), 'changed', 'a task gets priority 1');
is(change('prioritize_task', $ordered[0], 8), 'changed', 'the first one gets priority 8');
runs($node->add_task('LATER'), 'after them');
$node->value("SELECT twtasks.resume_type('ORDERED')");
wait_for(sub { $node->tasks("type = 'ORDERED' AND status = 'DONE'") == 5 }, 'all to run');
is_deeply([ map { $_->{id} } grep { $_->{type} eq 'ORDERED' } $ledger->select('start') ],
	[ @ordered[ 3, 1, 2, 4, 0 ] ], 'they start by their new priorities');

# A running task belongs to its handler.
my $running = $node->add_task('GATED');
wait_for(sub { $ledger->starts($running) }, 'a task to run');
is(change($_, $running), 'wrong_status', "a running task allows no $_")
  foreach qw(resume_task fail_task hold_task reopen_task);
$ledger->release('gate');
runs($running, 'an undisturbed task');

my $stopped = $node->add_task('GATED');
wait_for(sub { $ledger->starts($stopped) }, 'another task to run');
is(change('cancel_task', $stopped, '\'wrong file\''),
	'requested', 'a running task can be cancelled');
wait_ok(
	sub { $node->status_of($stopped) eq 'CANCELLED' },
	'a cancelled task is ended');
is($ledger->ends($stopped), 0, 'the handler of a cancelled task does not come to its end');

$id = $node->add_task('FAILS');
wait_for(sub { $node->status_of($id) eq 'ERROR' }, 'a task in ERROR');
is(change('resume_task', $id, '\'the account is open now\''),
	'changed', 'a task in ERROR is resumed');
wait_ok(
	sub { $node->state_of($id) =~ /^ERROR 6$/ },
	'a task resumed in ERROR runs and fails again');
is(change('fail_task', $id, '\'no use\''), 'changed', 'a task in ERROR is given up');
is(change('resume_task', $id), 'wrong_status', 'a task that was given up cannot be resumed');
is(change('reopen_task', $id), 'changed',      'a task that was given up is reopened');
wait_ok(sub { $ledger->starts($id) == 3 && $node->status_of($id) eq 'ERROR' },
	'a reopened task runs once more');
is( $node->value(
		"SELECT count(DISTINCT id) FROM twtasks.tasks WHERE type = 'FAILS'"),
	1,
	'a reopened task is the same task');

# ---- many ----

$node->add_many('FAILS|MANY', 300, 100);
wait_for(
	sub {
		$node->tasks('type = \'FAILS|MANY\' AND status = \'ERROR\'') == 300;
	},
	'all to have failed');
my $before = scalar($ledger->select('start'));
is( change_many(
		'\'resume\', \'FAILS|*\', dry_run => true, max_tasks => 1000'),
	'300 would_change',
	'a dry run tells what would be done');
is( change_many(
		'\'resume\', \'FAILS|*\', \'once more\', error => \'status 65\', max_tasks => 200'
	),
	'200 changed',
	'a batch is resumed');
is( change_many(
		'\'resume\', \'FAILS|*\', \'once more\', until => now() - interval \'1 day\''
	),
	'',
	'a batch with a time limit finds no task that is so old');
wait_ok(
	sub {
		scalar($ledger->select('start')) == $before + 200
		  && $node->tasks('type = \'FAILS|MANY\' AND status = \'ERROR\'') ==
		  300;
	},
	'each task of the batch runs once');
is(change_many('\'fail\', \'FAILS|*\', \'enough\', max_tasks => 1000'),
	'300 changed', 'all tasks of a type are given up');
is($node->tasks('type = \'FAILS|MANY\' AND status = \'FAILED\''),
	300, 'all tasks that were given up are FAILED');
is( $node->value(
		'SELECT count(*) FROM twtasks.audit WHERE reason IN (\'once more\', \'enough\')'
	),
	500,
	'the audit has each change');

my @stopped = map { $node->add_task('GATED') } 1 .. 3;
wait_for(
	sub { $node->tasks('type = \'GATED\' AND status = \'PROCESSING\'') == 3 },
	'three to run');
is(change_many('\'cancel\', \'GATED\', \'wrong files\''),
	'', 'a batch does not cancel running tasks by default');
is( change_many(
		'\'cancel\', \'GATED\', \'wrong files\', statuses => \'{PROCESSING}\''
	),
	'3 requested',
	'a batch cancels running tasks on request');
wait_ok(
	sub { $node->tasks('type = \'GATED\' AND status = \'CANCELLED\'') == 4 },
	'all running tasks are CANCELLED');

# Operator and engine at the same tasks: every task that was cancelled did not
# run, every other one did.
my $session = $node->session;
$session->send(
	'SELECT string_agg(DISTINCT r.result, \' \' ORDER BY r.result) FROM generate_series(1, 200) n,
	LATERAL twtasks.change_tasks(\'cancel\', \'RACE\', \'race \' || n) r');
$node->add_many('RACE', 500, 5);
like(
	$session->receive,
	qr/^(?:[a-z_]+ ?)*$/,
	'tasks are cancelled while they are added and run');
wait_for(
	sub {
		$node->tasks(
			'type = \'RACE\' AND status IN (\'DONE\', \'CANCELLED\')') == 500;
	},
	'all to be over');
is( $node->tasks('type = \'RACE\' AND status = \'CANCELLED\''),
	$node->value(
		'SELECT count(*) FROM twtasks.audit WHERE reason LIKE \'race %\''),
	'the cancelled tasks are those that the audit shows');
my %ran = map { $_->{id} => 1 }
  grep { $_->{type} eq 'RACE' } $ledger->select('start');
is( scalar(keys %ran),
	$node->tasks('type = \'RACE\' AND status = \'DONE\''),
	'only the tasks that were not cancelled ran');

# ---- what was held and cancelled before all this ----

is($ledger->starts($held),                 0, 'the held task has not run');
is(change('release_task', $held, 'now()'), 'changed', 'the held task is released');
runs($held, 'a released task');
is($ledger->starts($cancelled),       0, 'the cancelled task has not run');
is(change('reopen_task', $cancelled), 'changed', 'the cancelled task is reopened');
runs($cancelled, 'a reopened task');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
