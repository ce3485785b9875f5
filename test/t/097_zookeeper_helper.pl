# 097_zookeeper_helper.pl -- the program that stands for election in a node's name
# is killed, stands still, or ends again and again: the node gives the lead up, and
# another one leads.  The sidecar starts the program again, and says so.

use strict;
use warnings FATAL => 'all';

use HTTP::Tiny;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;
use TwTasks::ZooKeeper;

# A leader gives way when two thirds of a session are over; the rest is for a busy machine,
# on which this test looks late.
use constant SESSION => 12;

my $zookeeper = TwTasks::ZooKeeper->create;
my $node = TwTasks::Cluster->create('zk', queue => 'ring');
my $secret = PostgreSQL::Test::Utils::tempdir() . '/digest';
my $started = qr/INFO  zookeeper: \S+twtasks-zookeeper\[(\d+)\] started for /;

PostgreSQL::Test::Utils::append_to_file($secret, "twtasks:geheim\n");
chmod oct 600, $secret;

sub prepare
{
	my ($name, $fallback, @rest) = @_;

	return TwTasks::Sidecar->prepare(
		$node, $name,
		leader => 'zookeeper',
		zookeeper => {
			servers => [ $zookeeper->servers ],
			group => 'payments',
			digest_file => $secret,
			session => SESSION . 's',
			fallback => $fallback
		},
		handlers => [ { types => ['*'], noop => 'true' } ],
		@rest);
}

# The number of the helper that was started after this position of the log.
sub helper_of
{
	my ($sidecar, $position) = @_;

	return $sidecar->wait_for_log($started, 'the helper', $position);
}

# The nodes that ZooKeeper still counts.
sub standing
{
	return scalar(() = $zookeeper->ask('dump') =~ m{/leader/}g);
}

sub warned
{
	return $node->value(q(SELECT coalesce(string_agg(detail, chr(10)), '') FROM twtasks.warnings WHERE warning = 'helper in trouble'));
}

my $a = prepare('a', '60s')->run;

wait_ok(sub { $node->leaders eq 'a' }, 'the first node leads');
my $b = prepare('b', '60s')->run;

wait_ok(sub { standing() == 2 }, 'a second node stands');
my $helper = helper_of($a, 0);

is(PostgreSQL::Test::Utils::slurp_file("/proc/$helper/cmdline") =~ tr/\0/ /r, $a->program =~ s/twtasksd$/twtasks-zookeeper /r,
	'the helper has no arguments')
  if -x $a->program =~ s/twtasksd$/twtasks-zookeeper/r;
unlike(PostgreSQL::Test::Utils::slurp_file("/proc/$helper/environ"), qr/geheim|digest|payments/, 'nor settings in its environment');
unlike($a->log, qr/geheim/, 'nor the secret in the log');
ok(PostgreSQL::Test::Utils::slurp_file("/proc/$a->{pid}/maps") !~ /zookeeper/, 'the sidecar is not linked with ZooKeeper');
is(warned(), '', 'a helper that works is no warning');

# ---- It stands still ----

my $position = $a->log_position;

kill STOP => $helper;
$a->wait_for_log(qr/this node no longer leads/, 'end of the claim', $position);
is(standing(), 2, 'a leader whose helper stands still gives the mark up before ZooKeeper forgets it');
wait_ok(sub { $node->leaders eq 'b' }, 'the second node leads when the helper of the first stands still');
$node->due_task_ok('the second node does what a leader does');
ok($a->wait_for_log(qr/WARN  zookeeper: \S+\[$helper\] wrote nothing for 20 s, and is ended$/m, undef, $position),
	'the log says that the helper stood still');
my $second = helper_of($a, $position);

isnt($second, $helper, 'another helper follows');
wait_ok(sub { warned() eq 'node "a": helper "zookeeper": wrote nothing for 20 s' }, 'twtasks.warnings has one sentence for it');
ok(!TwTasks::Sidecar::is_running($helper), 'the helper that stood still is gone');
wait_ok(sub { standing() == 2 }, 'the first node stands again');
is($node->leaders, 'b', 'the first node stands behind the second');

# ---- It is killed ----

$position = $b->log_position;
kill KILL => helper_of($b, 0);
$b->wait_for_log(qr/this node no longer leads/, 'end of the claim', $position);
is(standing(), 2, 'a leader whose helper is killed gives the mark up before ZooKeeper forgets it');
ok( $b->wait_for_log(qr/WARN  zookeeper: \S+twtasks-zookeeper\[\d+\] was ended by signal 9 \(Killed\), and starts again in [0-9.]+ s$/m,
		undef, $position),
	'the log tells of a helper that was killed');
wait_ok(sub { $node->leaders eq 'a' }, 'the first node leads when the helper of the second was killed');
wait_ok(sub { standing() == 2 }, 'the second node stands again');

# ---- The sidecar is killed, and so is its helper ----

$a->crash;
wait_ok(sub { !TwTasks::Sidecar::is_running($second) }, 'no helper outlives its sidecar');
wait_ok(sub { $node->leaders eq 'b' }, 'the second node leads when the first was killed');
is($b->stop, 0, 'the second node stops in order');
is(standing(), 0, 'no node is left in ZooKeeper');

# ---- It ends again and again ----

my $directory = PostgreSQL::Test::Utils::tempdir();
my $real = TwTasks::Sidecar::beside('zookeeper');
my $listen = '127.0.0.1:' . PostgreSQL::Test::Cluster::get_free_port();

TwTasks::Sidecar::copy_alone($directory);
PostgreSQL::Test::Utils::append_to_file("$directory/twtasks-zookeeper", qq(#!/bin/sh\ntest "\$1" = --check && exec $real --check\nexit 7\n));
chmod oct 755, "$directory/twtasks-zookeeper";
$a = prepare('a', '3s', program => "$directory/twtasksd", listen => $listen)->run;
wait_ok(sub { warned() eq 'node "a": helper "zookeeper": exited with status 7' },
	'twtasks.warnings has one sentence for a helper that ends again and again');
my $health = HTTP::Tiny->new->get("http://$listen/health");

is($health->{status}, 200, '/health tells of the tasks by its status');
like($health->{content}, qr/"helpers":"helper \\"zookeeper\\": exited with status 7"/, '/health has the sentence too');
wait_ok(sub { $node->leaders eq 'a' }, 'PostgreSQL chooses the leader then');
$node->due_task_ok('the leader does its work without a helper');
$a->stop;

# ---- It is missing ----

unlink "$directory/twtasks-zookeeper";
my ($out, $err);

IPC::Run::run([ "$directory/twtasksd", '--config', $a->{config_path}, '--check-config' ], '>', \$out, '2>', \$err);
like($err, qr/: zookeeper: could not execute "\Q$directory\E\/twtasks-zookeeper": No such file or directory$/m,
	'--check-config names a program that is missing');
$node->stop;
done_testing();
