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
ok(!$sidecar->has_exited, 'which waits for the other one');
$ledger->release('gate', 1);
is($sidecar->wait_for_exit, 0, 'then it exits in order');
is( join(' ', map { $node->state_of($_) } @running),
	'DONE 2 DONE 2',
	'and both are done');
is( join(' ', map { $node->state_of($_) } $behind, $late),
	'SUBMITTED 0 SUBMITTED 0',
	'what was behind them was not grabbed');
is($node->value('SELECT count(*) FROM twtasks.nodes WHERE ended IS NULL'),
	0, 'the node has said goodbye');

# ---- an impatient one ----

$sidecar = start('impatient', drain => '300ms');
wait_for(sub { $ledger->starts($_) }, 'start') foreach $behind, $late;
my @pids = map { $_->{pid} } map { $ledger->select('start', $_) } $behind,
  $late;
my $from = time;

$sidecar->signal('TERM');
is($sidecar->wait_for_exit, 0, 'when its patience ends it exits in order');
cmp_ok(time - $from, '>=', 0.3, 'not before');
cmp_ok(took(), '<', 20, 'and soon');
like(
	$sidecar->log,
	qr/2 tasks are still running: they are ended/,
	'it says what it leaves');
is(scalar(grep { TwTasks::Sidecar::is_running($_) } @pids),
	0, 'their handlers are killed');
is( join(' ', map { $node->status_of($_) } $behind, $late),
	'ERROR SUBMITTED',
	'and their stuck rules applied at once');

# ---- told twice ----

$sidecar = start('twice');
wait_for(sub { $ledger->starts($late) == 2 }, 'start');
my ($pid) = map { $_->{pid} } ($ledger->select('start', $late))[-1];

$sidecar->signal('TERM');
$sidecar->wait_for_log(qr/stopping: 1 tasks are running/);
ok(TwTasks::Sidecar::is_running($pid), 'told once, the handler still runs');
$sidecar->signal('TERM');
is($sidecar->wait_for_exit, 0, 'told twice, it stops');
cmp_ok(took(), '<', 20, 'at once');
ok(!TwTasks::Sidecar::is_running($pid), 'and its handler is killed');

# ---- reload ----

$sidecar = start('reloaded');
wait_for(sub { $ledger->starts($late) == 3 }, 'start');
$ledger->release('retry');
wait_ok(
	sub { $node->status_of($late) eq 'DONE' },
	'what the others left is done by the next one');
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
pass('nor does one that needs a restart');

$position = $sidecar->log_position;
$config->{handlers}[0]{concurrency} = 3;
$sidecar->reload($config);
$sidecar->wait_for_log(qr/INFO  config: reloaded/, 'the reload', $position);
wait_ok(sub { $ledger->starts($behind) },
	'a right one takes effect, here for the number of slots');
$ledger->release('gate', 3);
wait_ok(sub { $node->tasks('status NOT IN (\'DONE\', \'ERROR\')') == 0 },
	'and nothing that ran was disturbed');
is(scalar(grep { $ledger->starts($_) != 1 } @running, $behind),
	0, 'nor started again');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
