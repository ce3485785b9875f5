# 031_connection_cut.pl -- the connection breaks after a call was sent and
# before its answer arrives: whether the server executed it, never saw it or
# sees it only later, no task is lost and none runs twice.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Proxy;
use TwTasks::Sidecar;
use TwTasks::Wait;

use constant TASKS => 20;

my $node = TwTasks::Cluster->create('main');
my $ledger = TwTasks::Ledger->new;
my $proxy = TwTasks::Proxy->start($node);

$node->create_effect;
$node->value(<<'SQL');
	CREATE FUNCTION app.fail(task twtasks.task_input) RETURNS void
	LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'failed'; END $$;
SQL

my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	postgres => $proxy->connstr . ' user=sidecar',
	handlers => [
		{ types => ['WORKER'], worker => $ledger->worker },
		{ types => ['SQL'], sql => 'app.effect' },
		{
			types => ['FAIL'],
			sql => 'app.fail',
			retry => { delay => '1h', max_tries => 2 }
		}
	]);

# Adds tasks while the next call of that name is to be cut; returns what the
# sidecar logged meanwhile.
sub check
{
	my ($type, $call, $how) = @_;
	my $from = $sidecar->log_position;
	my $case = "$call cut, server: $how";

	$proxy->cut($call, $how);
	$node->add_many($type, TASKS, TASKS);
	wait_ok(sub { $proxy->has_noted("cut $call $how") }, "$case: the connection was cut");
	wait_ok(sub { $node->tasks('status <> \'DONE\'') == 0 },
		"$case: all tasks are done");
	# a function that was alone in its session may have ended it
	is($node->tasks('tries <> 1 AND type <> \'SQL\''), 0, "$case: all tasks were done in their first try");
	unlike($sidecar->log($from), qr/refused/, "$case: no finish was refused");
	return $sidecar->log($from) unless $how eq 'late';

	wait_ok(sub { $proxy->has_noted("late $call gave 0 rows") },
		"$case: the late call changed nothing");
	is($node->tasks('status <> \'DONE\''), 0, "$case: all tasks are still done");
	return $sidecar->log($from);
}

foreach my $how (qw(after never late))
{
	like(
		check('WORKER', 'grab', $how),
		qr/asking for the outcome/,
		"grab cut, server: $how: the sidecar asked about the lost grab");
	check('WORKER', 'finish', $how);
	check('SQL', 'execute', $how);
}

# That it failed is not forgotten either: the try counts, and the task does not
# stay where it is until its deadline.
$proxy->cut('execute', 'after');
my $failed = $node->add_task('FAIL');

wait_ok(
	sub { $node->state_of($failed) eq 'WAITING 2' },
	'execute cut, function failed: the task is tried again later');
is($node->tasks('status = \'WAITING\' AND tries = 1'),
	1, 'the interrupted try counts');

is(scalar($ledger->repeated), 0, 'no task was started twice');
is(scalar($ledger->select('start')), 6 * TASKS, 'there are as many starts as tasks');
is( $node->value(
			'SELECT count(*) = count(DISTINCT id) AND count(*) = '
		  . 3 * TASKS
		  . ' FROM app.effect'),
	't',
	'each SQL function had its effect once');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
