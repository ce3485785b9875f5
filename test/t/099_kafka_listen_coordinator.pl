# 099_kafka_listen_coordinator.pl -- while the coordinator of its group is away, a
# listener goes on in all partitions that have a leader.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Kafka;
use TwTasks::Listener;
use TwTasks::Wait;

use constant PARTITIONS => 4;

# No other broker has the offsets of groups, so no other one can coordinate.
my @kafka = TwTasks::Kafka->create_cluster(3, settings => { 'offsets.topic.replication.factor' => 1 });
my $node = TwTasks::Cluster->create('main');

sub send_to_each
{
	my ($what, $kafka) = @_;

	$kafka->produce('bills', map { { value => qq("$what"), partition => $_ } } 0 .. PARTITIONS - 1);
	return;
}

sub taken
{
	my ($what) = @_;

	return $node->value("SELECT count(*) FROM twtasks.task WHERE type = 'BILL' AND data #>> '{}' = '$what'");
}

$kafka[0]->create_topic('bills', PARTITIONS);
my $listener = TwTasks::Listener->start($node, 'a',
	TwTasks::Listener::settings_for($node, $kafka[0],
		{ name => 'bills', topics => ['bills'], type => 'BILL', start => 'earliest' }));

$listener->wait_for_log(qr/reads @{[PARTITIONS]} partitions/, 'the partitions');
send_to_each('first', $kafka[0]);
wait_for(sub { taken('first') == PARTITIONS }, 'a message of each partition');
my $coordinator = $kafka[0]->ask(do => 'leader', topic => '__consumer_offsets');
my ($other) = map { $kafka[ $_ - 1 ] } grep { $_ != $coordinator } 1 .. 3;

$kafka[ $coordinator - 1 ]->crash;
send_to_each('second', $other);
wait_ok(sub { taken('second') == PARTITIONS }, 'all partitions go on while the coordinator is away');

# Without an answer of the coordinator for session.timeout.ms the group counts as left.
$listener->wait_for_log(qr/reads on without its group/, 'the end of the session');
send_to_each('third', $other);
wait_ok(sub { taken('third') == PARTITIONS }, 'and when their session in the group is over');
my $position = $listener->log_position;

$kafka[ $coordinator - 1 ]->start;
$listener->wait_for_log(qr/reads @{[PARTITIONS]} partitions/, 'the group again', $position);
send_to_each('fourth', $other);
wait_ok(sub { taken('fourth') == PARTITIONS }, 'and when the coordinator is back');
is($node->tasks("type = 'BILL'"), 4 * PARTITIONS, 'each message gave one task');
is($listener->stop, 0, 'the process ends in order');

done_testing();
