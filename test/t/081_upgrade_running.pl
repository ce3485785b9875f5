# 081_upgrade_running.pl -- the extension can be updated while tasks run: nothing
# is lost.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Producer;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main', version => '1.0');
my $version = $node->value(
	'SELECT default_version FROM pg_available_extensions WHERE name = \'twtasks\'');
my $ledger = TwTasks::Ledger->new;

my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	handlers => [
		{ types => ['TASK'], worker => $ledger->worker },
		{ types => ['GATED'], command => $ledger->command('gate') }
	]);
my $gated = $node->add_task('GATED');
my $producer = TwTasks::Producer->start($node, 'TASK');

$ledger->wait_for_progress('before');
wait_ok(sub { $node->value('SELECT count(*) FROM twtasks.monitor') == 1 }, 'the leader counts beside SQL of 1.0');
# An administrator may have changed a role since.
$node->value('ALTER ROLE twtasks_viewer LOGIN');
# As a finish does: it reads the requests to cancel, then locks the history.
my ($finish, $update) = ($node->session, $node->session);
$finish->query('BEGIN');
$finish->query('SELECT FROM twtasks.cancel_request');
$update->send('ALTER EXTENSION twtasks UPDATE');
wait_ok(
	sub { $node->value(q{SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock' AND relation = 'twtasks.cancel_request'::regclass}) == 1 },
	'the update waits for a finish');
unlike($finish->try(q{SET LOCAL lock_timeout = '5s'; LOCK TABLE twtasks.finished_task IN ROW EXCLUSIVE MODE}), qr/ERROR/, '... which does not wait for it');
$finish->query('COMMIT');
unlike($update->receive, qr/ERROR/, 'the update goes on');
$node->value('ALTER ROLE twtasks_viewer NOLOGIN');
is($node->value('SELECT count(*) FROM twtasks.monitor'), 1, 'the last count stays, since its age is watched');
is( $node->value('SELECT extversion FROM pg_extension WHERE extname = \'twtasks\''),
	$version,
	'the extension is updated while tasks run');
$ledger->wait_for_progress('afterwards');
$ledger->release('gate');
wait_ok(
	sub { $node->state_of($gated) eq 'DONE 2' },
	'a task that ran through the update is done');
$producer->stop;
wait_ok(sub { $node->tasks('status <> \'DONE\'') == 0 }, 'all tasks are done');

$producer->none_lost_ok($node);
is(scalar($ledger->repeated), 0, 'no task was started twice');
unlike($sidecar->log, qr/ERROR/, 'the log of the sidecar has no error');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
