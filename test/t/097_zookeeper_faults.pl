# 097_zookeeper_faults.pl -- a candidate that never got the answer to its node has
# one node only, and leads; a leader whose session expires stands again.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;
use TwTasks::ZooKeeper;
use TwTasks::ZooKeeperFaults;

my $zookeeper = TwTasks::ZooKeeper->create;
my $node = TwTasks::Cluster->create('zk', queue => 'ring');
my $faults = TwTasks::ZooKeeperFaults->create($zookeeper->servers);

sub start
{
	my ($name, $server) = @_;

	return TwTasks::Sidecar->start(
		$node, $name,
		leader => 'zookeeper',
		zookeeper => {
			servers => [$server],
			group => 'payments',
			session => '10s',
			fallback => '60s'
		},
		handlers => [ { types => ['*'], noop => 'true' } ]);
}

# The sequence numbers of the candidates' nodes.
sub standing
{
	return join ' ', sort map { $_ + 0 } $zookeeper->ask('dump') =~ m{/leader/\w+-(\d{10})$}gm;
}

# ---- A lost answer ----

my $a = start('a', $faults->address);

wait_for(sub { $faults->has_withheld }, 'a lost answer');
wait_ok(sub { $node->leaders eq 'a' }, 'a candidate whose answer was lost leads');
is(standing(), '0', 'a candidate whose answer was lost has the one node that it asked for');

# ---- An expired session ----

my $b = start('b', $zookeeper->servers);

wait_ok(sub { standing() eq '0 1' }, 'a second node stands');
my $position = $a->log_position;

$faults->expire;
$a->wait_for_log(qr/zookeeper: its session is over: another one is opened/, 'an expired session', $position);
wait_ok(sub { $node->leaders eq 'b' }, 'the second node leads when the session of the first expires');
wait_ok(sub { standing() eq '1 2' }, 'the first node stands again, behind the second');
is($node->leaders, 'b', 'the second node still leads');
is($b->stop, 0, 'the second node stops in order');
wait_ok(sub { $node->leaders eq 'a' }, 'the first node leads again');
$node->stop;
done_testing();
