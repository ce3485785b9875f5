# 099_kafka_listen.pl -- messages of topics become tasks: which parts of a message
# a task has, and with which message a listener begins.

use strict;
use warnings FATAL => 'all';

use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Kafka;
use TwTasks::Listener;
use TwTasks::Wait;

my $kafka = TwTasks::Kafka->create(settings => { 'message.max.bytes' => 12_000_000 });
my $node = TwTasks::Cluster->create('main', conf => { 'twtasks.max_payload' => "'12MB'" });
my $hour = 3600;

sub listen_to
{
	my ($name, $topic, %options) = @_;
	my $kafka_options = delete $options{kafka} || {};
	my %settings = TwTasks::Listener::settings_for($node, $kafka,
		{ name => $name, topics => [$topic], type => uc $name, start => 'earliest', %options });

	%{ $settings{kafka} } = (%{ $settings{kafka} }, %$kafka_options);
	return TwTasks::Listener->start($node, $name, %settings);
}

sub tasks_ok
{
	my ($type, $n, $claim) = @_;

	return wait_ok(sub { $node->tasks("type = '$type'") == $n }, $claim);
}

sub all_of
{
	my ($type, $what) = @_;

	return $node->value("SELECT coalesce(string_agg($what, ' ' ORDER BY id), '') FROM twtasks.tasks WHERE type = '$type'");
}

# ---- the parts of a task ----

my $parent = '00-0123456789abcdef0123456789abcdef-0123456789abcdef-01';

$kafka->create_topic('plain', 3);
$kafka->produce('plain',
	{ value => '{"no": 4}', key => 'k', partition => 1,
		headers => [ [ id => 'key-4' ], [ traceparent => $parent ], [ other => '1' ] ] },
	{ value => undef, headers => [ [ id => 'key-5' ] ], partition => 0 });
my $plain = listen_to('plain', 'plain', key => 'header:id', headers => ['other']);

tasks_ok('PLAIN', 2, 'each message is one task');
is($node->value("SELECT data::text FROM twtasks.task WHERE type = 'PLAIN' AND key = 'key-4'"),
	'{"no": 4}', 'the value is the data');
is_deeply(
	decode_json($node->value("SELECT context FROM twtasks.task WHERE type = 'PLAIN' AND key = 'key-4'")),
	{ traceparent => $parent, other => '1' },
	'the context has the trace and the headers that were asked for');
is($node->value("SELECT data IS NULL AND payload IS NULL FROM twtasks.task WHERE type = 'PLAIN' AND key = 'key-5'"),
	't', 'a message without a value is a task without data');
is($node->value("SELECT string_agg(partition || ':' || next_offset, ' ' ORDER BY partition) FROM twtasks.message_offset WHERE listener = 'plain'"),
	'0:1 1:1 2:0', 'the offset of each partition stands after its last message');
is($plain->stop, 0, 'the process ends in order when its input ends');

done_testing();
