# 097_kafka_memory.pl -- large tasks that wait for a broker take a bounded part of
# the memory of the sidecar and of twtasks-kafka, and all of them arrive.

use strict;
use warnings FATAL => 'all';

use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Kafka;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $tasks = 60;
my $bytes = 7_750_000;
my $kafka = TwTasks::Kafka->create(settings => { 'message.max.bytes' => 12_000_000 });
my $node = TwTasks::Cluster->create('main');

$kafka->create_topic('large', 3, 'max.message.bytes' => 12_000_000);
my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	handlers => [
		{
			types => ['SendToKafka'],
			kafka => 'large',
			brokers => [ $kafka->brokers ],
			settings => { 'message.timeout.ms' => 300_000 },
		},
		{ types => ['OTHER'], noop => JSON::PP::true } ]);

sub worker
{
	my ($child) = $sidecar->programs;

	return bless { pid => $child }, ref $sidecar;
}

$kafka->signal('STOP');
$node->value(<<"SQL");
	SELECT count(*) FROM generate_series(1, $tasks) n,
		twtasks.send_to_kafka('large', ARRAY[ROW(NULL, convert_to(n || repeat('x', $bytes), 'UTF8'), NULL)::twtasks.kafka_message])
SQL
wait_for(sub { worker()->memory('VmRSS') > 64_000 }, 'large tasks in both processes');
my $other = $node->add_task('OTHER');

wait_ok(sub { $node->status_of($other) eq 'DONE' }, 'a task of another handler is not held up');
my $processing = $node->tasks("status = 'PROCESSING'");

$kafka->signal('CONT');
wait_ok(sub { $node->tasks("status = 'DONE' AND type = 'SendToKafka'") == $tasks }, 'all large tasks are sent');
my @memory = map { $_->memory('VmHWM') } $sidecar, worker();

note("kB at most: sidecar $memory[0], worker $memory[1]; $processing tasks at once");
cmp_ok($memory[$_], '<', 160_000, ('the sidecar', 'twtasks-kafka')[$_] . ' holds a part of 465 MB') foreach 0, 1;

done_testing();
