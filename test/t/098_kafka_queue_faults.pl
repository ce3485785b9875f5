# 098_kafka_queue_faults.pl -- triggers through Kafka when brokers are away, when
# offsets, messages and topics are lost, when nodes freeze, and when others write
# into the topics: every task still runs, and reading never stops.

use strict;
use warnings FATAL => 'all';

use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Kafka;
use TwTasks::Sidecar;
use TwTasks::Wait;

use constant PARTITIONS => 2;

my $topic = 'twTasks.test.executeTask.default';
my $kafka = TwTasks::Kafka->create(
	settings => {
		'log.retention.check.interval.ms' => 100,
		'log.segment.delete.delay.ms' => 100
	});
my $node = TwTasks::Cluster->create('main');

$node->value(<<'SQL');
	CREATE SCHEMA app;
	GRANT USAGE ON SCHEMA app TO sidecar;

	CREATE FUNCTION app.hold(task twtasks.task_input) RETURNS void
	LANGUAGE sql AS $$
		SELECT pg_advisory_xact_lock_shared(1)
	$$;
SQL

# HOLD waits for the lock of the test, TASK is done at once.
sub config
{
	my (%options) = @_;

	return (
		queue => 'kafka',
		sweep => '1h',
		kafka => {
			brokers => [ $kafka->brokers ],
			group => 'test',
			settings => {
				'reconnect.backoff.max.ms' => 200,
				'topic.metadata.refresh.interval.ms' => 500,
				'queue.buffering.max.messages' => 10
			}
		},
		handlers => [
			{ types => ['TASK'], noop => JSON::PP::true },
			{ types => ['HOLD'], sql => 'app.hold', concurrency => 1 } ],
		%options);
}

sub set_enabled
{
	my ($value) = @_;

	$node->append_conf('postgresql.conf', "twtasks.enabled = $value\n");
	$node->reload;
	wait_for(sub { $node->value('SELECT twtasks.is_enabled()') eq $value }, "enabled = $value");
	return;
}

# Adds tasks without triggers; returns the triggers.
sub untriggered
{
	my ($n, $type) = @_;

	set_enabled('f');
	my @ids = map { $node->add_task($type) } 1 .. $n;
	set_enabled('t');
	return map { "$_ " . (split / /, $node->state_of($_))[1] . " 5 0 0 $type" } @ids;
}

sub id_of
{
	return substr $_[0], 0, 36;
}

sub are_done
{
	my (@triggers) = @_;

	return !grep { $node->status_of(id_of($_)) ne 'DONE' } @triggers;
}

sub done_ok
{
	my ($claim, @triggers) = @_;

	return wait_ok(sub { are_done(@triggers) }, $claim);
}

# Adds a task for each partition, whose trigger only Kafka brings.
sub triggered_by_kafka
{
	my ($partitions) = @_;
	my @triggers = untriggered($partitions // PARTITIONS, 'TASK');

	$kafka->produce($topic, map { { value => $triggers[$_], partition => $_ } } 0 .. $#triggers);
	return @triggers;
}

sub reads_on_ok
{
	my ($claim, $partitions) = @_;

	return done_ok($claim, triggered_by_kafka($partitions));
}

# From there on, so many partitions are read from the end.
sub wait_for_end
{
	my ($sidecar, $n, $position) = @_;

	wait_for(
		sub {
			my @ends = $sidecar->log($position) =~ /, partition \d+, are read from the end/g;
			return @ends >= $n;
		},
		"$n partitions to be read from the end");
	return;
}

# ---- a topic that is not there, and its first offset ----

my $sidecar = TwTasks::Sidecar->start($node, 'a', config());

$sidecar->wait_for_log(qr/could not read triggers: .*$topic: Broker: Unknown topic/, 'a missing topic to be told');
$node->add_task('TASK');
$node->wait_until_done('TASK', 'tasks run without the topic');
my @early = untriggered(50, 'TASK');

# The message is there before the reader can see the topic.
my ($reader) = $sidecar->log =~ /.*twtasks-kafka\[(\d+)\] started for helper "triggers"/s;

kill STOP => $reader;
wait_for(sub { TwTasks::Sidecar::process_state($reader) =~ /^[Tt]?$/ }, 'the reader to stand still');
$kafka->create_topic($topic, PARTITIONS,
	'segment.bytes' => 1_100_000, 'retention.bytes' => 1, 'max.message.bytes' => 1_050_000);
$kafka->produce($topic, { value => 'not a trigger' });
kill CONT => $reader;
wait_for_end($sidecar, PARTITIONS);
done_ok('a partition without an offset is read from its end, and its bucket is swept', @early);
unlike($sidecar->log, qr/were no triggers/, 'no partition is read from its beginning');
reads_on_ok('a topic that was created is read');

# ---- junk ----

my ($poison) = untriggered(1, 'TASK');
my $id = id_of($poison);
my ($due) = map { s/ 0 TASK$/ 4000000000000000 TASK/r } $poison;

$kafka->produce(
	$topic,
	map {
		{ value => $_, partition => 0 }
	} 'junk', undef, '', 'x' x 1_000_000, '{"taskId": "1", "version": 0}', $due,
	"$id 5 0 0 TASK", "$id -1 5 0 0 TASK", "$id 0 11 0 0 TASK", "$id 0 5 0 0 no type", "\x00\xff",
	'00000000-0000-7000-8000-000000000000 0 5 0 0 TASK', "$id 0 5 0 0 NOBODYS",
	"$id 99 5 0 0 TASK");
reads_on_ok('reading goes on after messages that are no triggers');
like($sidecar->log, qr/10 messages were no triggers/, 'messages that are no triggers are counted');
is(scalar(() = $sidecar->log =~ /were no triggers/g), 2, 'messages that are no triggers are not logged one by one');

# A look at the table, as after a lost session, starts the task rightly.
once_ok(
	sub {
		my ($true) = untriggered(1, 'TASK');
		my $of = id_of($true);

		$kafka->produce($topic, map { { value => $_, partition => 0 } } "$of 99 5 0 0 TASK", "$of 5 0 0 TASK", "$of 0 5 0 0 NOBODYS");
		my @next = triggered_by_kafka();
		wait_for(sub { are_done(@next) }, 'reading to go on');
		return $node->status_of($of) eq 'SUBMITTED';
	},
	'forged triggers start no task');
$kafka->produce($topic, { value => $poison });
done_ok('the true trigger starts the task', $poison);

# ---- a table without room ----

my $lock = $node->session;

$lock->query('SELECT pg_advisory_lock(1)');
is($sidecar->stop, 0, 'the sidecar stops in order');
$sidecar->{config}{look_ahead} = 20;
$sidecar->run;
$sidecar->wait_for_log(qr/partitions are read here/, 'partitions');
$kafka->produce($topic, map { { value => $_, partition => 0 } } untriggered(200, 'HOLD'));
reads_on_ok('a table that is full of waiting tasks holds up no partition');
$lock->query('SELECT pg_advisory_unlock(1)');
$node->wait_until_done('HOLD', 'tasks that found no room run later');

# ---- brokers that are away ----

is($sidecar->stop, 0, 'the sidecar stops in order');
delete $sidecar->{config}{look_ahead};
$sidecar->run;
$sidecar->wait_for_log(qr/partitions are read here/, 'partitions');
$lock->query('SELECT pg_advisory_lock(1)');
$node->add_task('HOLD');
wait_for(sub { $node->waits_for_lock('sql') == 1 }, 'the only slot to be taken');
$kafka->crash;
$node->add_task('HOLD') foreach 1 .. 100;
$node->add_task('TASK');
$node->wait_until_done('TASK', 'tasks with a slot run while no broker answers');
$sidecar->wait_for_log(qr/triggers stay on this node: could not send/, 'a failed delivery');
is(scalar(() = $sidecar->log =~ /triggers stay on this node/g), 1, 'brokers that are away are one line in the log');
$lock->query('SELECT pg_advisory_unlock(1)');
$node->wait_until_done('HOLD', 'tasks whose triggers no broker took, or the client had no room for, run here');
$kafka->start;
$lock->query('SELECT pg_advisory_lock(1)');
wait_ok(sub { $node->add_task('HOLD'); $sidecar->log =~ /triggers pass through Kafka again/ },
	'triggers pass through Kafka when the brokers are back');
reads_on_ok('reading goes on when the brokers are back');
$lock->query('SELECT pg_advisory_unlock(1)');
$node->wait_until_done('HOLD', 'tasks of triggers that went through Kafka run');

# ---- a log that was truncated, a topic that was made anew, more partitions ----

is($sidecar->stop, 0, 'the sidecar stops in order');
my @behind = untriggered(30, 'TASK');

$kafka->produce($topic, map { { value => $_, partition => 0 } } @behind, ('x' x 1_000_000) x 3);
wait_for(sub { !grep { ($_->{value} // '') eq $behind[29] } $kafka->messages($topic) },
	'the log to be truncated');
$sidecar->run;
wait_for_end($sidecar, 1);
done_ok('tasks of triggers that were truncated run', @behind);
reads_on_ok('a log that was truncated is read on');
is($sidecar->stop, 0, 'the sidecar stops in order');
@behind = untriggered(30, 'TASK');
$kafka->delete_topic($topic);
$kafka->create_topic($topic, PARTITIONS);
$sidecar->run;
wait_for_end($sidecar, 1);
done_ok('tasks of triggers that went with their topic run', @behind);
reads_on_ok('a topic that was made anew is read');
my $position = $sidecar->log_position;

$kafka->add_partitions($topic, PARTITIONS + 1);
wait_for_end($sidecar, 1, $position);
reads_on_ok('partitions that were added are read', PARTITIONS + 1);

# ---- a helper that dies ----

$position = $sidecar->log_position;
my @lost = untriggered(5, 'TASK');
my @started = $sidecar->log(0) =~ /twtasks-kafka\[(\d+)\] started for helper "triggers"/g;

kill KILL => $started[-1];
ok($sidecar->wait_for_log(qr/WARN  kafka: .*\[$started[-1]\] was ended by signal 9 \(Killed\), and starts again in/, undef, $position),
	'the log tells of a helper that died');
done_ok('a sweep follows, for triggers that went with it', @lost);
wait_ok(
	sub {
		$node->value(q(SELECT string_agg(detail, ' ') FROM twtasks.warnings WHERE warning = 'helper in trouble')) =~
		  /helper "triggers": was ended by signal 9 \(Killed\)/;
	},
	'twtasks.warnings has a row for it');
$sidecar->wait_for_log(qr/partitions are read here/, 'partitions', $position);
reads_on_ok('another helper follows, and reads on', PARTITIONS + 1);

# ---- a helper that stands still, with triggers in its pipe and in the topic ----

$position = $sidecar->log_position;
$lock->query('SELECT pg_advisory_lock(1)');
$node->add_task('HOLD');
wait_for(sub { $node->waits_for_lock('sql') == 1 }, 'the only slot to be taken');
@started = $sidecar->log(0) =~ /twtasks-kafka\[(\d+)\] started for helper "triggers"/g;
kill STOP => $started[-1];
$node->add_task('HOLD') foreach 1 .. 50;
@lost = untriggered(PARTITIONS, 'TASK');
$kafka->produce($topic, map { { value => $lost[$_], partition => $_ } } 0 .. $#lost);
ok($sidecar->wait_for_log(qr/WARN  kafka: .*\[$started[-1]\] wrote nothing for 20 s, and is ended$/m, undef, $position),
	'the log tells of a helper that stood still');
wait_ok(
	sub {
		$node->value(q(SELECT string_agg(detail, ' ') FROM twtasks.warnings WHERE warning = 'helper in trouble')) =~
		  /helper "triggers": wrote nothing for 20 s$/;
	},
	'twtasks.warnings has a row for it');
$sidecar->wait_for_log(qr/partitions are read here/, 'partitions of the next helper', $position);
ok(!TwTasks::Sidecar::is_running($started[-1]), 'no helper that stood still is left');
$lock->query('SELECT pg_advisory_unlock(1)');
$node->wait_until_done('HOLD', 'tasks whose triggers waited in its pipe run');
done_ok('tasks whose triggers waited in the topic run', @lost);

# ---- a node that freezes with triggers in its table ----

$lock->query('SELECT pg_advisory_lock(1)');
my $other = TwTasks::Sidecar->start($node, 'b', config(sweep => '1s', lease => '5s'));

$other->wait_for_log(qr/partitions are read here/, 'a share of the partitions');
$node->add_task('HOLD') foreach 1 .. 100;
$position = $sidecar->log_position;
$sidecar->freeze;
$lock->query('SELECT pg_advisory_unlock(1)');
$node->add_task('TASK') foreach 1 .. 20;
$node->wait_until_done('TASK', 'new tasks run beside a node that is frozen');
wait_ok(sub { $node->tasks("type = 'HOLD' AND status = 'SUBMITTED'") == 0 },
	'tasks whose triggers wait in a frozen node run elsewhere');
ok($sidecar->wait_for_log(qr/leaves triggers to other nodes: the sidecar stands still/, undef, $position),
	'the helper of a frozen node leaves its partitions');
$sidecar->signal('CONT');
$node->wait_until_done('HOLD', 'all tasks are done after the freeze');
reads_on_ok('both nodes read their partitions after the freeze', PARTITIONS + 1);
is($other->stop, 0, 'the other sidecar stops in order');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
