# 098_kafka_queue.pl -- triggers through Kafka: a node hands on what it cannot
# start at once, another node starts it, and what can start at once stays.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Kafka;
use TwTasks::Sidecar;
use TwTasks::Wait;

use constant PARTITIONS => 4;

my $topic = 'here.twTasks.test.executeTask.default';
my $kafka = TwTasks::Kafka->create;
my $node = TwTasks::Cluster->create('main');

$kafka->create_topic($topic, PARTITIONS);
$kafka->create_topic("there.$topic");
$node->value(<<'SQL');
	CREATE SCHEMA app;
	GRANT USAGE ON SCHEMA app TO sidecar;
	CREATE TABLE app.effect (id uuid, node text);
	GRANT INSERT ON app.effect TO sidecar;

	CREATE FUNCTION app.note(task twtasks.task_input) RETURNS void
	LANGUAGE sql AS $$
		INSERT INTO app.effect VALUES (task.id, 'free')
	$$;

	CREATE FUNCTION app.hold(task twtasks.task_input) RETURNS void
	LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM pg_advisory_xact_lock_shared(1);
		INSERT INTO app.effect VALUES (task.id, 'busy');
	END $$;
SQL

# No sweep comes by itself: a task starts by its trigger, or not at all.  A node
# that does not leave its group keeps its partitions for ten minutes.
sub start
{
	my ($name, $function, $slots, %kafka) = @_;

	return TwTasks::Sidecar->start(
		$node, $name,
		queue => 'kafka',
		sweep => '1h',
		kafka => {
			brokers => [ $kafka->brokers ],
			group => 'test',
			namespace => 'here',
			settings => {
				'session.timeout.ms' => 600_000,
				'max.poll.interval.ms' => 700_000,
				'message.timeout.ms' => 60_000
			},
			%kafka
		},
		handlers => [ { types => ['TASK'], sql => "app.$function", concurrency => $slots } ]);
}

# Waits until the sidecar reads so many partitions.
sub wait_for_partitions
{
	my ($sidecar, $n) = @_;

	wait_for(sub { () = $sidecar->log =~ /are read from the end/g; }, 'a first partition');
	wait_for(
		sub {
			my @ends = $sidecar->log =~ /, partition \d+, are read from the end/g;
			return @ends >= $n;
		},
		"$n partitions to be read");
	return;
}

# ---- one node ----

my $free = start('free', 'note', 100, prefixes => ['there.']);

wait_for_partitions($free, PARTITIONS + 1);
$node->add_task('TASK') foreach 1 .. 20;
$node->wait_until_done('TASK', 'tasks run on a node with free slots');
is(scalar $kafka->messages($topic), 0, 'a trigger that can start at once does not pass through Kafka');

# ---- two nodes ----

my $busy = start('busy', 'hold', 1);
my $lock = $node->session;

wait_for_partitions($busy, 1);
$lock->query('SELECT pg_advisory_lock(1)');

# The free node gets no more triggers than it has asked for, so the ring gives the
# others to the node without a free slot.
$free->freeze;
wait_for(sub { $node->add_task('TASK'); $node->waits_for_lock('sql') == 1 }, 'the only slot to be taken');
$node->add_task('TASK') foreach 1 .. 100;
wait_ok(sub { $kafka->messages($topic) > 50 }, 'a node without a free slot hands triggers on');
$free->signal('CONT');

# The free node never hands on, so what is in the topic came from the other.
sub taken_over
{
	my %done = map { $_ => 1 } split /\n/, $node->value("SELECT id FROM app.effect WHERE node = 'free'");

	return grep { $done{ substr $_->{value}, 0, 36 } } $kafka->messages($topic);
}

wait_ok(sub { taken_over() > 5 }, 'a node with free slots starts their tasks');
my %used = map { $_->{partition} => 1 } $kafka->messages($topic);

cmp_ok(scalar(keys %used), '>', 1, 'triggers are spread over partitions');
is($node->waits_for_lock('sql'), 1, 'the node without a free slot runs what it has a slot for');
$node->add_many('TASK', 200, 200);
$lock->query('SELECT pg_advisory_unlock(1)');
$node->wait_until_done('TASK', 'all tasks run, wherever their triggers waited');
my %passes;

$passes{ substr $_->{value}, 0, 36 }++ foreach $kafka->messages($topic);
is((grep { $_ > 1 } values %passes), 0, 'no trigger passes through Kafka twice');
is($node->value('SELECT count(*) - count(DISTINCT id) FROM app.effect'), 0, 'no task runs twice');

# ---- a data centre's prefix ----

sub set_enabled
{
	my ($value) = @_;

	$node->append_conf('postgresql.conf', "twtasks.enabled = $value\n");
	$node->reload;
	wait_for(sub { $node->value('SELECT twtasks.is_enabled()') eq $value }, "enabled = $value");
	return;
}

set_enabled('f');
my $id = $node->add_task('TASK');

set_enabled('t');
is($node->status_of($id), 'SUBMITTED', 'a task waits without a trigger');
my $version = (split / /, $node->state_of($id))[1];

$kafka->produce("there.$topic", { value => "$id $version 5 0 0 TASK" });
wait_ok(sub { $node->status_of($id) eq 'DONE' }, 'a trigger of another data centre starts its task');

# ---- the end ----

is($busy->stop, 0, 'a node stops in order');
wait_ok(sub { $free->log =~ /read here.*left to other nodes.*read here/s },
	'a node that stops leaves its partitions to another at once');
is($free->stop, 0, 'the last node stops in order');

done_testing();
