# 099_listener_process.pl -- the process of the listeners runs while its node may
# start tasks, comes back when it dies, and never outlives its sidecar.  No broker
# is there: the process waits for one.

use strict;
use warnings FATAL => 'all';

use HTTP::Tiny;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;

plan skip_all => 'built without Kafka' if ($ENV{WITH_KAFKA} // '') eq 'no';

my $node = TwTasks::Cluster->create('main', init => { allows_streaming => 1 });
my $listen = '127.0.0.1:' . PostgreSQL::Test::Cluster::get_free_port();
my %listener = (topics => ['invoices'], type => 'BILL');

# A configuration with these listeners, on a broker that is not there.
sub config
{
	my (%changes) = @_;

	return (
		listen => $listen,
		handlers => [ { types => ['BILL'], noop => JSON::PP::true } ],
		kafka => { brokers => ['127.0.0.1:1'], group => 'test' },
		listeners => [ \%listener ],
		listeners_postgres => $node->connstr('postgres') . ' user=producer',
		%changes);
}

# The pid of the process that was started last, by the log.
sub listener_of
{
	my ($sidecar, $offset) = @_;
	my $pid;

	$sidecar->wait_for_log(qr/listen: \S+twtasks-kafka\[\d+\] started for listeners$/m,
		'start of the listeners', $offset);
	# The log names the supervisor of a program that is slow to start.
	wait_for(
		sub {
			($pid) = grep { (eval { PostgreSQL::Test::Utils::slurp_file("/proc/$_/cmdline") } // '') =~ /twtasks-kafka\0listen\0/ }
			  $sidecar->programs;
		},
		'the process of the listeners');
	return $pid;
}

sub gone_ok
{
	my ($pid, $name) = @_;

	wait_ok(sub { !TwTasks::Sidecar::is_running($pid) }, $name);
	return;
}

sub reload
{
	my ($sidecar, %changes) = @_;
	my $position = $sidecar->log_position;

	$sidecar->reload(TwTasks::Sidecar::config_for($node, 'a', config(%changes)));
	return $position;
}

# ---- what --check-config says ----

sub checked
{
	my ($name, %changes) = @_;
	my $path = TwTasks::Sidecar::write_config(PostgreSQL::Test::Utils::tempdir() . "/$name.yaml",
		TwTasks::Sidecar::config_for($node, $name, config(%changes)));
	my ($out, $err);

	IPC::Run::run([ TwTasks::Sidecar::program(), '--config', $path, '--check-config' ], '>', \$out, '2>', \$err);
	return $err;
}

unlike(checked('right'), qr/listeners/, '--check-config finds no fault in a listener that has its rights');
like(checked('missing', listeners => [ \%listener, { topics => ['orders'], function => 'app.to_task' } ]),
	qr/: warning: listeners\[1\]: function "app.to_task" for take_messages does not exist: It must be app.to_task\(twtasks.message\)/,
	'--check-config names a function that is missing');
like(checked('refused', listeners_postgres => $node->connstr('postgres') . ' user=sidecar'),
	qr/: warning: listeners\[0\]: permission denied for function take_messages/, '--check-config names a right that is missing');
is($node->value('SELECT count(*) FROM twtasks.listeners'), 0, '--check-config leaves nothing in the database');

my $standby = PostgreSQL::Test::Cluster->new('standby');

$node->backup('backup');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
my $said = checked('standby', listeners_postgres => $standby->connstr('postgres') . ' user=producer target_session_attrs=any');

like($said, qr/: notice: did not look at the listeners: the server is a standby$/m, '--check-config says that a standby cannot tell');
unlike($said, qr/warning: listeners/, '--check-config does not blame a listener for a standby');
$standby->stop;

# ---- it runs, and comes back ----

my $sidecar = TwTasks::Sidecar->start($node, 'a', config());
my $pid = listener_of($sidecar);

like(PostgreSQL::Test::Utils::slurp_file("/proc/$pid/cmdline"), qr/^[^\0]*twtasks-kafka\0listen\0$/,
	'the listeners have a process, which shows no secrets');

my $position = $sidecar->log_position;
kill KILL => $pid;
ok( $sidecar->wait_for_log(
		qr/WARN  listen: \S+twtasks-kafka\[$pid\] was ended by signal 9 \(Killed\), and starts again in [0-9.]+ s$/m,
		undef, $position),
	'the log tells of a process that died');
wait_ok(
	sub {
		$node->value(q(SELECT string_agg(detail, ' ') FROM twtasks.warnings WHERE warning = 'listener in trouble')) =~
		  /listeners: was ended by signal 9 \(Killed\)/;
	},
	'twtasks.warnings has a row for it');
my $second = listener_of($sidecar, $position);
isnt($second, $pid, 'another process follows it');

# ---- no broker is there ----

wait_ok(
	sub {
		$node->value(q(SELECT detail FROM twtasks.warnings WHERE warning = 'listener in trouble')) =~
		  /^node "a": listener "invoices": .*brokers are down/;
	},
	'twtasks.warnings says that no broker is there');
my $health = HTTP::Tiny->new->get("http://$listen/health");
is($health->{status}, 200, '/health tells of the tasks by its status');
like($health->{content}, qr/"listeners":"listener \\"invoices\\": [^"]*brokers are down"/, '/health says that no broker is there');

# ---- reloads ----

$position = reload($sidecar);
$sidecar->wait_for_log(qr/config: reloaded/, undef, $position);
ok(TwTasks::Sidecar::is_running($second), 'a reload that changes nothing lets the process run');

$position = reload($sidecar, listeners => [ { %listener, topics => ['a b'] } ]);
ok($sidecar->wait_for_log(qr/not reloaded: .*listeners\[0\]\.topics\[0\]: invalid value "a b"/, undef, $position),
	'a reload refuses a topic that cannot be');
$position = reload($sidecar, listeners => [ { topics => ['invoices'], function => 'to_task' } ]);
ok($sidecar->wait_for_log(qr/not reloaded: .*listeners\[0\]\.function: /, undef, $position),
	'a reload refuses a function without its schema');
ok(TwTasks::Sidecar::is_running($second), 'a configuration that is refused lets the process run');

$position = reload($sidecar, listeners => [ { %listener, start => 'earliest' } ]);
my $third = listener_of($sidecar, $position);
like($sidecar->log($position), qr/INFO  listen: \S+\[$second\] exited with status 0: its configuration has changed$/m,
	'other settings end the process in order');
isnt($third, $second, 'other settings are for another process');

my %without = config();
delete $without{listeners};
$position = $sidecar->log_position;
$sidecar->reload(TwTasks::Sidecar::config_for($node, 'a', %without));
$sidecar->wait_for_log(qr/\[$third\] exited with status 0: there are no listeners any more$/m, undef, $position);
gone_ok($third, 'the process ends when the last listener is removed');
$position = reload($sidecar);
$pid = listener_of($sidecar, $position);
ok($pid, 'the process starts when there are listeners again');

# ---- only where tasks may start ----

$position = $sidecar->log_position;
$node->value('UPDATE twtasks.adoption SET ended = clock_timestamp()');
ok($sidecar->wait_for_log(qr/\[$pid\] exited with status 0: /, undef, $position),
	'the process ends when the database refuses the node');
gone_ok($pid, 'no process is left where tasks may not start');
unlike($sidecar->log($position), qr/listen: \S+ started for/, 'none starts while the node is refused');
throws_ok("SELECT twtasks.take_messages('l', 't', 0, 0, 1, '{}')",
	qr/this database takes no messages: it is a copy that was not adopted/, 'the database takes no messages itself');
$node->value('SELECT twtasks.adopt(NULL, hold => false)');
$pid = listener_of($sidecar, $position);
ok($pid, 'the process starts once the database is adopted');

sub throws_ok
{
	my ($sql, $regexp, $name) = @_;
	my ($status, $out, $error) = $node->psql('postgres', $sql);

	like($error, $regexp, $name);
	return;
}

# ---- the end ----

is($sidecar->stop, 0, 'a sidecar with listeners stops in order');
ok(!TwTasks::Sidecar::is_running($pid), 'the process ends before its sidecar');
like($sidecar->log, qr/\[$pid\] exited with status 0: this sidecar stops$/m, 'the process ends in order');

$sidecar->run;
$pid = listener_of($sidecar);
$sidecar->freeze;
kill STOP => $pid;
$sidecar->kill9;
gone_ok($pid, 'no process outlives a sidecar that is killed');

# A process that stands still does not hold up the end for long.
$sidecar->run;
$pid = listener_of($sidecar);
kill STOP => $pid;
$sidecar->stop;
ok(!TwTasks::Sidecar::is_running($pid), 'a process that does not end is killed');

# ---- a copy ----

$node->forget_session;
$node->safe_psql('template1', 'CREATE DATABASE copy TEMPLATE postgres');
my $copy = TwTasks::Sidecar->prepare($node, 'copy', config(),
	postgres => $node->connstr('copy') . ' user=sidecar',
	listeners_postgres => $node->connstr('copy') . ' user=producer')->launch;
$copy->wait_for_log(qr/ERROR adoption: executes nothing in this database/, 'refusal of the copy');
is($copy->stop, 0, 'the sidecar of a copy stops in order');
unlike($copy->log, qr/started for listeners/, 'no listeners start for a copy');

done_testing();
