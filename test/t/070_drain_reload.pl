# 070_drain_reload.pl -- told to stop, a sidecar lets what runs end, for so
# long as it is configured to; told to reload, it takes a right configuration
# and refuses a wrong one; systemd is told of both.

use strict;
use warnings FATAL => 'all';

use IO::Socket::UNIX;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my $ledger = TwTasks::Ledger->new;
my $directory = PostgreSQL::Test::Utils::tempdir_short();
my $systemd = IO::Socket::UNIX->new(
	Type => SOCK_DGRAM,
	Local => "$directory/notify",
	Blocking => 0) or die "could not open a socket: $!";

# The messages to systemd since the last time.
my $told = '';

sub wait_until_told
{
	my ($regexp, $name) = @_;

	wait_ok(
		sub {
			while (defined recv $systemd, my $message, 4096, 0)
			{
				$told .= "$message;";
			}
			return $told =~ $regexp;
		},
		$name);
	$told = '';
	return;
}

sub start
{
	my ($name, %config) = @_;

	return TwTasks::Sidecar->start(
		$node, $name,
		handlers => [
			{
				types => ['TASK'],
				concurrency => 2,
				command => $ledger->command('gate')
			},
			{
				types => ['RETRY'],
				stuck => 'retry',
				command => $ledger->command('retry')
			}
		],
		env => { NOTIFY_SOCKET => "$directory/notify" },
		%config);
}

sub add_and_wait
{
	my ($type) = @_;
	my $id = $node->add_task($type);

	wait_for(sub { $ledger->starts($id) }, "start of a $type");
	return $id;
}

# ---- a patient stop ----

my $sidecar = start('patient');

wait_until_told(qr/^READY=1;$/, 'systemd is told of the start');
my @running = map { add_and_wait('TASK') } 1 .. 2;
my $behind = $node->add_task('TASK');

$sidecar->signal('TERM');
$sidecar->wait_for_log(qr/stopping: 2 tasks are running/);
wait_until_told(qr/^STOPPING=1;$/, 'systemd is told of the stop');
my $late = $node->add_task('RETRY');

$ledger->release('gate', 1);
wait_ok(
	sub {
		grep { $node->status_of($_) eq 'DONE' } @running;
	},
	'a task that ran ends while the sidecar stops');
ok(!$sidecar->has_exited, 'the sidecar waits for the other running task');
$ledger->release('gate', 1);
is($sidecar->wait_for_exit, 0, 'the sidecar exits in order when all tasks are done');
is( join(' ', map { $node->state_of($_) } @running),
	'DONE 2 DONE 2',
	'both running tasks are done');
is( join(' ', map { $node->state_of($_) } $behind, $late),
	'SUBMITTED 0 SUBMITTED 0',
	'the tasks behind them were not grabbed');
is($node->value('SELECT count(*) FROM twtasks.nodes WHERE ended IS NULL'),
	0, 'the node has ended in the database');

# ---- an impatient one ----

$sidecar = start('impatient', drain => '300ms');
wait_for(sub { $ledger->starts($_) }, 'start') foreach $behind, $late;
my @pids = map { $_->{pid} } map { $ledger->select('start', $_) } $behind,
  $late;
my $from = time;

$sidecar->signal('TERM');
is($sidecar->wait_for_exit, 0, 'the sidecar exits in order when its drain time is over');
cmp_ok(time - $from, '>=', 0.3, 'the sidecar does not exit before its drain time is over');
cmp_ok(took(), '<', 20, 'the sidecar exits soon after its drain time');
like(
	$sidecar->log,
	qr/2 tasks are still running: they are ended/,
	'the log says how many tasks are ended');
is(scalar(grep { TwTasks::Sidecar::is_running($_) } @pids),
	0, 'the handlers of the ended tasks are killed');
is( join(' ', map { $node->status_of($_) } $behind, $late),
	'ERROR SUBMITTED',
	'the stuck rules of the ended tasks are applied at once');

# ---- told twice ----

$sidecar = start('twice');
wait_for(sub { $ledger->starts($late) == 2 }, 'start');
my ($pid) = map { $_->{pid} } ($ledger->select('start', $late))[-1];

$sidecar->signal('TERM');
$sidecar->wait_for_log(qr/stopping: 1 tasks are running/);
ok(TwTasks::Sidecar::is_running($pid), 'the handler still runs after the first TERM');
$sidecar->signal('TERM');
is($sidecar->wait_for_exit, 0, 'the sidecar stops after the second TERM');
cmp_ok(took(), '<', 20, 'the second TERM works at once');
ok(!TwTasks::Sidecar::is_running($pid), 'the second TERM kills the handler');

# ---- reload ----

$sidecar = start('reloaded');
wait_for(sub { $ledger->starts($late) == 3 }, 'start');
$ledger->release('retry');
wait_ok(
	sub { $node->status_of($late) eq 'DONE' },
	'the next sidecar runs the tasks that the others left');
@running = map { add_and_wait('TASK') } 1 .. 2;
$behind = $node->add_task('TASK');
wait_until_told(qr/READY=1;$/, 'systemd is told of each start');

my $config = $sidecar->{config};
my $position = $sidecar->log_position;

$sidecar->reload(
	'handlers: [{types: [TASK], command: [/bin/true], timeout: 5}]');
$sidecar->wait_for_log(qr/ERROR config: not reloaded: .*timeout/,
	'the refusal', $position);
wait_until_told(qr/^RELOADING=1\nMONOTONIC_USEC=\d+;READY=1;$/,
	'systemd is told of the reload');
is($ledger->starts($behind), 0, 'a wrong configuration changes nothing');

$position = $sidecar->log_position;
$sidecar->reload({ %$config, buckets => ['another'] });
$sidecar->wait_for_log(qr/WARN  config: not reloaded: .*"buckets".* restart/,
	'the refusal', $position);
pass('a configuration that needs a restart changes nothing');

$position = $sidecar->log_position;
$config->{handlers}[0]{concurrency} = 3;
$config->{handlers}[0]{prefetch} = 3;
$sidecar->reload($config);
$sidecar->wait_for_log(qr/WARN  config: \S+: handlers\[0\]\.prefetch: it has no effect/,
	'the warning of an option of another kind', $position);
$sidecar->wait_for_log(qr/INFO  config: reloaded/, 'the reload', $position);
wait_ok(sub { $ledger->starts($behind) },
	'a right configuration takes effect, here for the number of slots');
$ledger->release('gate', 3);
wait_ok(sub { $node->tasks('status NOT IN (\'DONE\', \'ERROR\')') == 0 },
	'no running task was disturbed');
is(scalar(grep { $ledger->starts($_) != 1 } @running, $behind),
	0, 'no running task was started again');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
