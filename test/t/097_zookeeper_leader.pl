# 097_zookeeper_leader.pl -- with "leader: zookeeper" the node that ZooKeeper
# names leads.  A node that is cut from ZooKeeper or from PostgreSQL gives way
# to the other one, and without ZooKeeper PostgreSQL chooses.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Tunnel;
use TwTasks::Wait;
use TwTasks::ZooKeeper;

# A leader gives way when two thirds of a session are over; the rest is for a busy machine,
# on which this test looks late.
use constant SESSION => 12;
use constant FALLBACK => 15;

my $zookeeper = TwTasks::ZooKeeper->create;
my $node = TwTasks::Cluster->create('zk', queue => 'ring');
my %tunnels = map { $_ => TwTasks::Tunnel->create($zookeeper->servers) } qw(a b);
my $secret = PostgreSQL::Test::Utils::tempdir() . '/digest';

PostgreSQL::Test::Utils::append_to_file($secret, "twtasks:geheim\n");
chmod oct 600, $secret;
$node->value('CREATE ROLE sidecar_a LOGIN IN ROLE sidecar');

sub prepare
{
	my ($name, %config) = @_;

	return TwTasks::Sidecar->prepare(
		$node, $name,
		lease => '4s',
		leader => 'zookeeper',
		zookeeper => {
			servers => [ $tunnels{$name}->address ],
			group => 'payments',
			digest_file => $secret,
			session => SESSION . 's',
			fallback => FALLBACK . 's'
		},
		handlers => [ { types => ['*'], noop => 'true' } ],
		%config);
}

# The nodes that ZooKeeper still counts.
sub standing
{
	return scalar(() = $zookeeper->ask('dump') =~ m{/leader/}g);
}

my $a = prepare('a', postgres => $node->connstr('postgres') . ' user=sidecar_a')->run;

wait_ok(sub { $node->leaders eq 'a' }, 'a node that stands alone leads');
like($zookeeper->ask('dump'), qr{/twtasks/payments/leader/\w+-\d{10}},
	'the leader has an ephemeral node of its group');

my $b = prepare('b')->run;

wait_ok(sub { standing() == 2 }, 'a second node stands');
is($node->leaders, 'a', 'the second node does not lead');

# ---- A leader that stands still ----

$a->freeze;
wait_ok(sub { $node->leaders eq 'b' }, 'the second node leads when the first stands still');
$node->due_task_ok('the second node does what a leader does');
$a->signal('CONT');
wait_ok(sub { standing() == 2 }, 'the first node stands again');
is($node->leaders, 'b', 'the first node stands behind the second');

# ---- Cut from ZooKeeper, but not from PostgreSQL ----

my $position = $b->log_position;

$tunnels{b}->cut;
$b->wait_for_log(qr/this node no longer leads/, 'end of the claim', $position);
is(standing(), 2, 'a leader that is cut gives the mark up before ZooKeeper forgets it');
wait_ok(sub { $node->leaders eq 'a' }, 'the other node leads');
$b->wait_for_log(qr/so PostgreSQL chooses the leader/, 'fallback', $position);
is($node->leaders, 'a', 'the leader stays while the cut node asks PostgreSQL');
$tunnels{b}->mend;
wait_ok(sub { standing() == 2 }, 'the cut node stands again');

# ---- Cut from PostgreSQL, but not from ZooKeeper ----

$node->value('ALTER ROLE sidecar_a NOLOGIN');
$node->value(q(SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'sidecar_a'));
wait_ok(sub { $node->leaders eq 'b' }, 'a leader that is cut from PostgreSQL gives way');
$node->due_task_ok('the other node does the leader\'s work');
$node->value('ALTER ROLE sidecar_a LOGIN');
wait_ok(sub { standing() == 2 }, 'the cut node stands again when PostgreSQL lets it in');

# ---- Without ZooKeeper ----

$position = $a->log_position;
$zookeeper->crash;
$a->wait_for_log(qr/so PostgreSQL chooses the leader/, 'fallback', $position);
wait_ok(sub { $node->leaders =~ /^[ab]$/ }, 'PostgreSQL chooses one leader while ZooKeeper is away');
$node->due_task_ok('the chosen leader does its work');
$zookeeper->start;
$a->wait_for_log(qr/answers again and chooses the leader/, 'return of ZooKeeper', $position);
wait_ok(sub { standing() == 2 && $node->leaders =~ /^[ab]$/ },
	'ZooKeeper chooses the leader when it is back');

# ---- The end ----

my ($leader, $other) = $node->leaders eq 'a' ? ($a, $b) : ($b, $a);

is($leader->stop, 0, 'the leader stops in order');
wait_ok(sub { $node->leaders eq $other->{name} }, 'the other node leads then');
is($other->stop, 0, 'the other node stops in order');
is(standing(), 0, 'no node is left in ZooKeeper');

# ---- A wrong digest ----

my $wrong = PostgreSQL::Test::Utils::tempdir() . '/wrong';

PostgreSQL::Test::Utils::append_to_file($wrong, "twtasks:wrong\n");
chmod oct 600, $wrong;
my $began = time;

$a = prepare('a', postgres => $node->connstr('postgres') . ' user=sidecar_a',
	zookeeper => { servers => [ $zookeeper->servers ], group => 'payments', digest_file => $wrong, session => SESSION . 's', fallback => FALLBACK . 's' })->run;
ok($a->wait_for_log(qr/WARN  zookeeper: no right to the group.s nodes: they may have another digest_file$/m),
	'the log says that the digest is wrong');
wait_ok(sub { $node->leaders eq 'a' }, 'PostgreSQL chooses the leader then');
cmp_ok(scalar(() = $a->log =~ /another digest_file/g), '<=', 1 + (time - $began) / 60, 'the log says it once a minute, not at each try');
$a->stop;
$node->stop;
done_testing();
