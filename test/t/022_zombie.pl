# 022_zombie.pl -- a sidecar that was frozen for longer than its lease has no
# say in what others have taken over: its late finish is refused, what it had
# grabbed but not started does not start, be it in a batch, waiting for a worker
# or for a connection, its handlers are killed, and it goes on as a new
# incarnation.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::HttpServer;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my $ledger = TwTasks::Ledger->new;
my $server = TwTasks::HttpServer->start(
	tls => '127.0.0.1',
	gate => $ledger->gate('secure'));

# A second task waits until the first one is done.
sub worker
{
	my ($gate) = @_;

	return {
		types => ['WORKER'],
		concurrency => 2,
		processes => 1,
		prefetch => 1,
		stuck => 'retry',
		worker => $ledger->worker($gate)
	};
}

sub http
{
	return {
		types => ['HTTP'],
		stuck => 'retry',
		http => $server->url,
		connect_timeout => '5min',
		ca_file => $server->certificate
	};
}

sub handler
{
	my ($type, $gate) = @_;

	return {
		types => [$type],
		concurrency => 1,
		stuck => 'retry',
		command => $ledger->command($gate)
	};
}

sub state_is
{
	my ($id, $status) = @_;

	return $node->status_of($id) eq $status;
}

my $zombie = TwTasks::Sidecar->start(
	$node, 'zombie',
	lease => '5s',
	handlers => [
		handler('ENDS', 'ends'),
		handler('STAYS', 'stays'),
		handler('COMES', 'comes'),
		handler('LATER'),
		worker('works'),
		http()
	]);
my $old = $zombie->incarnation;

# Else its first look may bring a task again, and the grab of that one would be the
# one that waits.
$zombie->wait_until_idle;

# One task whose handler ends while the sidecar is frozen, one whose handler
# stays, and one whose grab is answered meanwhile.
my $ends = $node->add_task('ENDS');
my $stays = $node->add_task('STAYS');
my $first = $node->add_task('COMES');

my $works = $node->add_task('WORKER');

wait_for(sub { $ledger->select('start') == 4 }, 'four starts');

# One task waits for that worker, the other for its connection.
my $waits = $node->add_task('WORKER');
my $http = $node->add_task('HTTP');

wait_for(
	sub {
		state_is($waits, 'PROCESSING') && $server->waited == 1;
	},
	'what waits to be started');

my $comes = $node->add_task('COMES');
my $lock = $node->lock_tasks;

$ledger->release('comes');
wait_for(sub { $node->wait_in_call('grab_tasks') }, 'grab to wait for the lock');
wait_for(sub { $node->wait_in_call('finish_tasks') }, 'finish to wait for it');
$zombie->freeze;
$lock->close;
wait_for(sub { state_is($first, 'DONE') }, 'the first to be done');
wait_for(sub { state_is($comes, 'PROCESSING') }, 'grab to be committed');
$ledger->release('ends');
$ledger->release('works');
wait_for(sub { $ledger->ends($ends) && $ledger->ends($works) },
	'end of the handlers');

wait_for(
	sub {
		$node->value(
			"SELECT heartbeat + lease < clock_timestamp()
			FROM twtasks.nodes WHERE incarnation = $old") eq 't';
	},
	'the lease to be over');

my $heir = TwTasks::Sidecar->start($node, 'heir',
	handlers => [
		handler('ENDS', 'heir'),
		handler('STAYS'), handler('COMES'), worker('heir_works'), http()
	]);

wait_ok(
	sub {
		$ledger->starts($ends) == 2
		  && state_is($stays, 'DONE')
		  && state_is($comes, 'DONE');
	},
	'another sidecar takes over when the lease is over');
is( $node->value(
		"SELECT count(*) FROM twtasks.tasks
		WHERE incarnation = " . $heir->incarnation . " AND version = 4"),
	2,
	'the heir finishes the tasks that it took');
# The waiting tasks belong to the other one now, and both may go on.
$ledger->release('heir_works', 2);
wait_for(
	sub {
		state_is($works, 'DONE') && state_is($waits, 'DONE') && $server->waited == 2;
	},
	'the heir to have it');
$ledger->release('secure', 2);
wait_for(sub { state_is($http, 'DONE') }, 'its request');
my ($child) = grep { $_->{version} == 1 } $ledger->select('start', $stays);

ok( TwTasks::Sidecar::is_running($child->{pid}),
	'the handler of the frozen sidecar still runs');

# It is to send its finish before it learns of its fate.
my $nodes = $node->session;

$nodes->query('BEGIN; LOCK TABLE twtasks.node IN EXCLUSIVE MODE');
$zombie->signal('CONT');
$zombie->wait_for_log(qr/refused "done" for task $ends version 1/,
	'the refused finish');
pass('the late finish is refused, and logged');
$zombie->wait_for_log(qr/refused "done" for task $works version 1/,
	'the refused finish of a worker');
is($node->state_of($ends),
	'PROCESSING 3', 'the task still belongs to the other sidecar');
$nodes->close;

$zombie->wait_for_log(
	qr/incarnation $old was declared gone/,
	'the zombie to learn that it is gone');
wait_ok(sub { !TwTasks::Sidecar::is_running($child->{pid}) },
	'the handler of the frozen sidecar is killed');

# It can only have grabbed this task after all that.
my $later = $node->add_task('LATER');

wait_ok(sub { state_is($later, 'DONE') }, 'the thawed sidecar goes on with new tasks');
my $new = $zombie->wait_for_log(qr/.*started as incarnation (\d+)/s);

cmp_ok($new, '>', $heir->incarnation, 'the thawed sidecar has a newer incarnation');
is( $node->value("SELECT incarnation FROM twtasks.tasks WHERE id = '$later'"),
	$new, 'the new incarnation finished the task');

$ledger->release('heir');
wait_ok(sub { $node->state_of($ends) eq 'DONE 4' }, 'the new incarnation finishes the task');
is($ledger->starts($ends), 2, 'a task that ended too late was run again');
is($ledger->starts($stays), 2, 'a task whose handler did not end was started again');
is($ledger->ends($stays), 1, 'only the second handler of that task ended');
is($ledger->starts($comes),
	1, 'a task that was grabbed and not started in time never started there');
is($ledger->starts($waits), 1, 'a task that waited for a worker never started there');
is(scalar(my @requests = $server->requests($http)),
	1, 'only the other sidecar sent the task that waited for its connection');
is($node->tasks('status <> \'DONE\''), 0, 'all tasks are done');
is($_->stop, 0, 'the sidecar stops in order') foreach $zombie, $heir;

done_testing();
