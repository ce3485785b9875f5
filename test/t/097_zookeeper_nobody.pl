# 097_zookeeper_nobody.pl -- whatever ZooKeeper answers, some node leads after
# "fallback": also when the election's path is deleted and cannot be made anew, and when
# a foreign node stands first.  The sidecars say so once, and ask seldom.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;
use TwTasks::ZooKeeper;

use constant FALLBACK => 5;

my $zookeeper = TwTasks::ZooKeeper->create;
my $node = TwTasks::Cluster->create('zk', queue => 'ring');
my $path = '/twtasks/payments/leader';

sub start
{
	my ($name) = @_;

	return TwTasks::Sidecar->start(
		$node, $name,
		lease => '4s',
		leader => 'zookeeper',
		zookeeper => {
			servers => [ $zookeeper->servers ],
			group => 'payments',
			session => '4s',
			fallback => FALLBACK . 's'
		},
		handlers => [ { types => ['*'], noop => 'true' } ]);
}

sub standing
{
	return scalar(() = $zookeeper->ask('dump') =~ m{$path/[0-9a-f]{32}-}g);
}

# Requests that the server has got.
sub requests
{
	my ($n) = $zookeeper->ask('srvr') =~ /^Received: (\d+)/m;

	return $n;
}

sub told
{
	my ($pattern, @sidecars) = @_;

	return join ' ', map { scalar(() = $_->log =~ /$pattern/g) } @sidecars;
}

# ---- foreign nodes, and nodes that are no candidates ----

$zookeeper->command('create', $_) foreach '/twtasks', '/twtasks/payments', $path, "$path/odd", "$path/0000000000";
$zookeeper->command('create', '-s', "$path/" . 'f' x 32 . '-');
my ($a, $b) = map { start($_) } qw(a b);

wait_ok(sub { standing() == 2 }, 'two nodes stand behind a foreign one');
is($node->leaders, '', 'nobody leads at first');
wait_ok(sub { $node->leaders =~ /^[ab]$/ }, 'PostgreSQL chooses a leader when the first node does not lead');
$node->due_task_ok('the chosen leader does its work');
my $leader = $node->leaders;
my $before = requests();

my $since = time;
watch_for(2 * FALLBACK);
is($node->leaders, $leader, 'that leader stays');
cmp_ok(requests() - $before, '<', 10 * (time - $since), 'the nodes ask seldom');
is(told(qr/WARN .*zookeeper: the first of the group's nodes does not lead for 5 s, so PostgreSQL/, $leader eq 'a' ? $a : $b), '1',
	'the log says once why PostgreSQL chooses');
is(told('no longer leads', $a, $b), '0 0', 'no leader gave way');
my ($foreign) = $zookeeper->command('ls', $path) =~ /(f{32}-\d+)/;

$zookeeper->command('delete', "$path/$foreign");
wait_ok(sub { told('answers again and chooses the leader', $leader eq 'a' ? $a : $b) eq '1' },
	'ZooKeeper chooses again when the foreign node is gone');
wait_ok(sub { $node->leaders =~ /^[ab]$/ }, 'one node leads');

# ---- a path that is deleted ----

$zookeeper->command('deleteall', '/twtasks/payments');
wait_ok(sub { standing() == 2 && $node->leaders =~ /^[ab]$/ }, 'a path that was deleted is made anew, and one node leads');

# ---- a path that cannot be made anew ----

my @positions = map { $_->log_position } $a, $b;
my $began = time;

$zookeeper->command('setAcl', '/twtasks', 'world:anyone:drwa');
$zookeeper->command('deleteall', '/twtasks/payments');
wait_ok(sub { $node->leaders eq '' }, 'without its path the election has no leader');
wait_ok(sub { $node->leaders =~ /^[ab]$/ }, 'PostgreSQL chooses a leader then');
$node->due_task_ok('that leader does its work');
$before = requests();
$since = time;
watch_for(4);
cmp_ok(requests() - $before, '<', 25 * (time - $since), 'the nodes ask seldom without a path');
foreach my $case ([ $a, $positions[0] ], [ $b, $positions[1] ])
{
	my ($sidecar, $position) = @$case;

	$sidecar->wait_for_log(qr/so PostgreSQL chooses the leader/, 'fallback', $position);
	my $new = substr $sidecar->log, $position;

	my $refused = () = $new =~ /WARN .*zookeeper: no right/g;

	is(scalar(() = $new =~ /WARN .*zookeeper: no answer/g), 1, "$sidecar->{name}: the log says once what is wrong");
	ok($refused > 0 && $refused <= 1 + (time - $began) / 60, "$sidecar->{name}: and why, at most once a minute") or diag("$refused lines");
}
$zookeeper->command('setAcl', '/twtasks', 'world:anyone:cdrwa');
wait_ok(sub { standing() == 2 && $node->leaders =~ /^[ab]$/ }, 'the election goes on when its path can be made');
is($_->stop, 0, "$_->{name} stops in order") foreach $a, $b;
$node->stop;
done_testing();
