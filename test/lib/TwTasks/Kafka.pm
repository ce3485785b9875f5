# Kafka.pm -- a Kafka broker of the tests, which is its own controller, and a
# client of it: see test/handlers/kafka_client.py.
#
# Nothing creates a topic but create_topic().

package TwTasks::Kafka;

use strict;
use warnings FATAL => 'all';

use parent 'TwTasks::Jvm';

use IPC::Open2;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Ledger;

# Sessions and elections are short, so that a killed broker is back in seconds.
my %settings = (
	'process.roles' => 'broker,controller',
	'node.id' => 1,
	'controller.listener.names' => 'CONTROLLER',
	'auto.create.topics.enable' => 'false',
	'offsets.topic.replication.factor' => 1,
	'offsets.topic.num.partitions' => 1,
	'transaction.state.log.replication.factor' => 1,
	'transaction.state.log.num.partitions' => 1,
	'transaction.state.log.min.isr' => 1,
	'group.initial.rebalance.delay.ms' => 0,
	'broker.session.timeout.ms' => 1000,
	'broker.heartbeat.interval.ms' => 200,
	'controller.quorum.election.timeout.ms' => 300,
	'controller.quorum.election.backoff.max.ms' => 300,
	'controller.quorum.fetch.timeout.ms' => 600,
	'controlled.shutdown.enable' => 'false',
	'log.cleaner.enable' => 'false');

# A running broker.  The test is skipped where its jars could not be fetched.
# Options: settings => { more for server.properties }
sub create
{
	my ($class, %options) = @_;
	my $jars = $ENV{TWT_KAFKA_JARS} // '';

	plan(skip_all => 'no broker could be fetched') unless -d $jars;
	my $directory = PostgreSQL::Test::Utils::tempdir();
	my ($port, $controller) = ($class->free_port, $class->free_port);
	my %all = (
		%settings,
		'controller.quorum.voters' => "1\@127.0.0.1:$controller",
		'listeners' =>
		  "PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$controller",
		'advertised.listeners' => "PLAINTEXT://127.0.0.1:$port",
		'log.dirs' => "$directory/data",
		%{ $options{settings} || {} });
	my $self = $class->SUPER::new(
		name => 'kafka',
		memory => 384,
		classes => "$jars/*",
		arguments => [ 'kafka.Kafka', "$directory/server.properties" ],
		port => $port);

	PostgreSQL::Test::Utils::append_to_file("$directory/server.properties",
		join('', map { "$_=$all{$_}\n" } sort keys %all));
	format_data("$directory/data");
	return $self->start;
}

# Writes the files of kafka.tools.StorageTool, without another Java machine.
sub format_data
{
	my ($directory) = @_;

	mkdir $directory;
	PostgreSQL::Test::Utils::append_to_file("$directory/meta.properties",
		"version=1\nnode.id=1\ncluster.id=dHd0YXNrcy10ZXN0LS0tLQ\n");
	return;
}

sub brokers
{
	return "127.0.0.1:$_[0]->{port}";
}

# ---- the client ----

# Asks the client's process, which is started for the first question.
sub ask
{
	my ($self, %question) = @_;

	$self->{client} ||=
	  open2($self->{out}, $self->{in},
		TwTasks::Ledger::handler('kafka_client.py'),
		$self->brokers);
	print { $self->{in} } encode_json(\%question), "\n";
	$self->{in}->flush;
	my $line = readline $self->{out};
	my $answer = decode_json($line // '{"error": "the client ended"}');

	die "$question{do}: $answer->{error}\n" if $answer->{error};
	return $answer->{result};
}

sub create_topic
{
	my ($self, $topic, $partitions, %config) = @_;

	return $self->ask(
		do => 'create',
		topic => $topic,
		partitions => $partitions // 1,
		config => \%config);
}

sub delete_topic
{
	my ($self, $topic) = @_;

	return $self->ask(do => 'delete', topic => $topic);
}

# Messages are hashes of value, key, headers (pairs) and partition; returns when
# all are acknowledged.
sub produce
{
	my ($self, $topic, @messages) = @_;

	return $self->ask(do => 'produce', topic => $topic, messages => \@messages);
}

# All messages of the topic, each partition in its order: hashes of partition,
# offset, key, value, headers (pairs), size and sha256 of the value.  Bytes are
# characters.  A value of more than 64 kB is left out.
sub messages
{
	my ($self, $topic) = @_;

	return @{ $self->ask(do => 'read', topic => $topic) };
}

sub DESTROY
{
	my ($self) = @_;

	$self->SUPER::DESTROY;
	my $pid = delete $self->{client} or return;

	local ($?, $!);
	kill KILL => $pid;
	waitpid $pid, 0;
	return;
}

1;
