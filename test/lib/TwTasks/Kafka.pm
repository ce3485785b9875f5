# Kafka.pm -- a Kafka broker of the tests, which is its own controller, or
# several that are one cluster, and a client: see test/handlers/kafka_client.py.
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
use TwTasks::Wait;

# Sessions and elections are short, so that a killed broker is back in seconds.  A broker
# that stood still for longer than a session leads nothing for a moment.
my %settings = (
	'process.roles' => 'broker,controller',
	'controller.listener.names' => 'CONTROLLER',
	'auto.create.topics.enable' => 'false',
	'offsets.topic.replication.factor' => 1,
	'offsets.topic.num.partitions' => 1,
	'transaction.state.log.replication.factor' => 1,
	'transaction.state.log.num.partitions' => 1,
	'transaction.state.log.min.isr' => 1,
	'group.initial.rebalance.delay.ms' => 0,
	'broker.session.timeout.ms' => 4000,
	'broker.heartbeat.interval.ms' => 200,
	'controller.quorum.election.timeout.ms' => 300,
	'controller.quorum.election.backoff.max.ms' => 300,
	'controller.quorum.fetch.timeout.ms' => 600,
	'controlled.shutdown.enable' => 'false',
	'log.cleaner.enable' => 'false');

# A cluster keeps each message three times, and takes one that two brokers have.
# Its controllers are more patient: several share the processors.
my %settings_of_many = (
	'default.replication.factor' => 3,
	'min.insync.replicas' => 2,
	'offsets.topic.replication.factor' => 3,
	'transaction.state.log.replication.factor' => 3,
	'transaction.state.log.min.isr' => 2,
	'replica.lag.time.max.ms' => 4000,
	'broker.session.timeout.ms' => 3000,
	'broker.heartbeat.interval.ms' => 500,
	'controller.quorum.election.timeout.ms' => 1000,
	'controller.quorum.election.backoff.max.ms' => 500,
	'controller.quorum.fetch.timeout.ms' => 2000);

# A running broker.  The test is skipped where its jars could not be fetched.
# Options: settings => { more for server.properties },
# listeners => { NAME => protocol }, beside the one for the test, see address()
sub create
{
	my ($class, %options) = @_;
	my ($self) = $class->prepare(1, %options);

	return $self->start;
}

# Running brokers of one cluster, at least three.
sub create_cluster
{
	my ($class, $n, %options) = @_;
	my @brokers = $class->prepare($n, %options,
		settings => { %settings_of_many, %{ $options{settings} || {} } });

	# One without company does not become ready.
	$_->launch foreach @brokers;
	$_->start foreach @brokers;
	wait_for(sub { $brokers[0]->ask(do => 'brokers') == $n }, "$n brokers in the cluster");
	return @brokers;
}

sub prepare
{
	my ($class, $n, %options) = @_;
	my $jars = $ENV{TWT_KAFKA_JARS} // '';
	my @ids = 1 .. $n;
	my %protocol = (PLAINTEXT => 'PLAINTEXT', %{ $options{listeners} || {} });
	my (%port, %controller);

	plan(skip_all => 'built without Kafka') if ($ENV{WITH_KAFKA} // '') eq 'no';
	plan(skip_all => 'no broker could be fetched') unless -d $jars;
	$port{$_} = $class->free_port foreach @ids;
	$controller{$_} = $class->free_port foreach @ids;
	my %common = (
		%settings,
		'listener.security.protocol.map' =>
		  join(',', map { "$_:$protocol{$_}" } sort keys %protocol) . ',CONTROLLER:PLAINTEXT',
		'controller.quorum.voters' =>
		  join(',', map { "$_\@127.0.0.1:$controller{$_}" } @ids),
		%{ $options{settings} || {} });

	return map {
		my $directory = PostgreSQL::Test::Utils::tempdir();
		my %address = map { $_ => 'localhost:' . $class->free_port } keys %{ $options{listeners} || {} };

		$address{PLAINTEXT} = "127.0.0.1:$port{$_}";
		my $listeners = join ',', map { "$_\://$address{$_}" } sort keys %address;
		my %all = (
			%common,
			'node.id' => $_,
			'listeners' => "$listeners,CONTROLLER://127.0.0.1:$controller{$_}",
			'advertised.listeners' => $listeners,
			'log.dirs' => "$directory/data");

		PostgreSQL::Test::Utils::append_to_file("$directory/server.properties",
			join('', map { "$_=$all{$_}\n" } sort keys %all));
		format_data("$directory/data", $_);
		my $broker = $class->SUPER::new(
			name => $n == 1 ? 'kafka' : "kafka$_",
			memory => 384,
			classes => "$jars/*",
			arguments => [ 'kafka.Kafka', "$directory/server.properties" ],
			port => $port{$_});

		$broker->{addresses} = \%address;
		$broker->{brokers} = [ map { "127.0.0.1:$port{$_}" } @ids ];
		$broker;
	} @ids;
}

# Writes the files of kafka.tools.StorageTool, without another Java machine.
sub format_data
{
	my ($directory, $id) = @_;

	mkdir $directory;
	PostgreSQL::Test::Utils::append_to_file("$directory/meta.properties",
		"version=1\nnode.id=$id\ncluster.id=dHd0YXNrcy10ZXN0LS0tLQ\n");
	return;
}

# Returns the addresses of all brokers of the cluster.
sub brokers
{
	my ($self) = @_;

	return wantarray ? @{ $self->{brokers} } : join ',', @{ $self->{brokers} };
}

# Returns the address of the listener with this name.
sub address
{
	my ($self, $name) = @_;

	return $self->{addresses}{$name};
}

# ---- the client ----

# Asks the client's process, which is started for the first question.
sub ask
{
	my ($self, %question) = @_;

	$self->{client} ||=
	  open2($self->{out}, $self->{in},
		TwTasks::Ledger::handler('kafka_client.py'),
		scalar $self->brokers);
	print { $self->{in} } encode_json(\%question), "\n";
	$self->{in}->flush;
	my $line = readline $self->{out};
	my $answer = decode_json($line // '{"error": "the client ended"}');

	die "$question{do}: $answer->{error}\n" if $answer->{error};
	return $answer->{result};
}

# Lets a user of the broker do these operations with a topic ("add"), or no longer
# ("remove").  Debian's clients cannot, so another Java machine does it.
sub change_rights
{
	my ($self, $change, $user, $topic, @operations) = @_;

	return $self->change_rights_on($change, $user, topic => $topic, @operations);
}

# The same for another kind of resource, such as a group.
sub change_rights_on
{
	my ($self, $change, $user, $kind, $name, @operations) = @_;

	PostgreSQL::Test::Utils::system_log('java', '-Xmx128m', '-XX:TieredStopAtLevel=1', '-cp', $self->{classes},
		'kafka.admin.AclCommand', '--bootstrap-server', scalar $self->brokers, "--$change", '--force',
		"--$kind", $name, '--allow-principal', "User:$user", map { ('--operation', $_) } @operations) == 0
	  or die "could not $change rights\n";
	return;
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

sub configure_topic
{
	my ($self, $topic, %config) = @_;

	return $self->ask(do => 'configure', topic => $topic, config => \%config);
}

sub delete_topic
{
	my ($self, $topic) = @_;

	return $self->ask(do => 'delete', topic => $topic);
}

sub add_partitions
{
	my ($self, $topic, $partitions) = @_;

	return $self->ask(do => 'grow', topic => $topic, partitions => $partitions);
}

# Messages are hashes of value, key, headers (pairs), partition and timestamp (in
# milliseconds); returns when all are acknowledged.
sub produce
{
	my ($self, $topic, @messages) = @_;

	return $self->ask(do => 'produce', topic => $topic, messages => \@messages);
}

# The same in a transaction, which ends by "commit" or "abort".
sub produce_in_transaction
{
	my ($self, $end, $topic, @messages) = @_;

	return $self->ask(do => 'produce', topic => $topic, messages => \@messages, end => $end);
}

# All messages of the topic, each partition in its order: hashes of partition,
# offset, key, value, headers (pairs), size and sha256 of the value.  Bytes are
# characters.  A value of more than 64 kB is left out.
sub messages
{
	my ($self, $topic) = @_;

	return @{ $self->ask(do => 'read', topic => $topic) };
}

# Writes all messages of the topic to a file, a line each: value, twtasks-id and
# partition, separated by tabs, for more messages than messages() should return.
sub write_messages
{
	my ($self, $topic, $path) = @_;

	return $self->ask(do => 'write', topic => $topic, path => $path);
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
