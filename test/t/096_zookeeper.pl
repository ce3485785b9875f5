# 096_zookeeper.pl -- the ZooKeeper server of the other tests: it answers, also
# after a crash.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::ZooKeeper;

my $zookeeper = TwTasks::ZooKeeper->create;

is($zookeeper->ask('ruok'), 'imok', 'the server answers');
like($zookeeper->ask('dump'), qr/^Sessions with Ephemerals \(0\):/m, 'the server lists its sessions');
$zookeeper->crash;
is($zookeeper->ask('ruok'), '', 'a killed server is away');
$zookeeper->start;
is($zookeeper->ask('ruok'), 'imok', 'a restarted server answers again');

done_testing();
