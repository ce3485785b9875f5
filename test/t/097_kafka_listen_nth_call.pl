# 097_kafka_listen_nth_call.pl -- the n-th call of "twtasks-kafka listen" to the system or the C
# library fails, whichever it is, once or for a second: no signal ends it, each message becomes
# one task, and no kind of descriptor has more open than without faults.
#
# The cases are the same in each run.  "make nth-call" tries all, or some by chance:
# TWT_TEST_SEED repeats them.

use strict;
use warnings FATAL => 'all';

use Errno qw(:POSIX);
use Test::More;
use TwTasks::Cluster;
use TwTasks::Kafka;
use TwTasks::Listener;
use TwTasks::NthCall;
use TwTasks::Seed;
use TwTasks::Wait;

use constant { AT_ONCE => 10, MESSAGES => 4, PARTITIONS => 2 };

# Calls whose failure may end the program, which is started again.
my %ends = (
	%TwTasks::NthCall::ENDS,
	%TwTasks::NthCall::HELPER_ENDS,
	eventfd => 'no client can be made',
	pipe => 'no client can be made',
	pipe2 => 'no client can be made',
	pthread_create => 'a client lacks a thread',
	thrd_create => 'a client lacks a thread');

# Each comes often enough in each run.
my @usual = qw(close connect epoll_wait eventfd fcntl getsockopt open pipe poll pthread_create read recv recvmsg send sendmsg socket write);

# librdkafka 2.0 waits for ever where it cannot begin this thread.
my @threads = TwTasks::NthCall::cases([ thrd_create => 2, EAGAIN ]);

my @storms = TwTasks::NthCall::storms([ 'socket,open,pipe2,eventfd' => 1, EMFILE ], [ 'sendmsg,recvmsg,connect' => 3, EAGAIN ]);

TwTasks::Seed::sow();
my $kafka = TwTasks::Kafka->create;
my $node = TwTasks::Cluster->create('main', conf => { max_connections => 50 });
my $rounds = 0;
my $number = 0;
my %wanted;

# Its tasks have no key, so a message that is taken twice gives two.
sub prepare
{
	my ($name, $env) = @_;

	return TwTasks::Listener->prepare(
		$node, $name,
		TwTasks::Listener::settings_for(
			$node, $kafka, { name => $name, topics => [ topic() ], type => $name, start => 'earliest' }),
		env => $env);
}

# Programs that run at once read one topic, each in a group of its own.
sub topic
{
	return "in$rounds";
}

# Sends some messages, which are wanted of each program.
sub send_messages
{
	my (@programs) = @_;
	my @values = map { ++$number } 1 .. MESSAGES;

	$kafka->produce(topic(), map { { value => $_, partition => $_ % PARTITIONS } } @values);
	push @{ $wanted{ $_->{name} } }, @values foreach @programs;
	return;
}

sub tasks
{
	return map { split /:/ } split ' ', $node->value(q(SELECT coalesce(string_agg(type || ':' || n, ' '), '')
		FROM (SELECT type, count(*) AS n FROM twtasks.tasks GROUP BY type) t));
}

sub wait_until_taken
{
	my (@programs) = @_;
	my @left;

	return if eval {
		wait_for(
			sub {
				my %tasks = tasks();

				TwTasks::NthCall::tend($_) foreach @programs;
				@left = grep { ($tasks{ $_->{name} } // 0) < @{ $wanted{ $_->{name} } } } @programs;
				return !@left;
			},
			'tasks of all messages');
	};
	die join "\n", map { "not taken: $_->{what}\n" . TwTasks::NthCall::stack($_->{name}) } @left;
}

sub run_all
{
	my (@programs) = @_;

	$rounds++;
	$kafka->create_topic(topic(), PARTITIONS);
	send_messages(@programs);
	foreach my $program (@programs)
	{
		$program->{config}{listeners}[0]{topics} = [ topic() ];
		$program->launch;
	}
	wait_until_taken(@programs);
	send_messages(@programs);
	wait_until_taken(@programs);
	return;
}

sub few_cases
{
	my (%counts) = @_;

	return [ TwTasks::NthCall::spread(18, map { $_ => $counts{$_} } @usual), @threads, @storms ];
}

TwTasks::NthCall::cases_ok(
	prepare => \&prepare,
	run => \&run_all,
	cases => \&few_cases,
	ends => \%ends,
	why => qr/FATAL|ERROR|out of memory|does not come back/,
	# librdkafka insists on the thread for the coordinator of its group.
	aborts => qr/rd_kafka_broker_add_logical: Assertion /,
	prefix => 'l',
	at_once => AT_ONCE);

# ---- messages ----

my %has;

foreach (split ' ', $node->value(q(SELECT string_agg(type || ':' || data, ' ' ORDER BY data::int) FROM twtasks.task)))
{
	my ($name, $value) = split /:/;

	push @{ $has{$name} }, $value;
}
is_deeply(\%has, \%wanted, 'each message is one task of each listener');
is($node->value('SELECT count(*) FROM twtasks.listeners WHERE problem IS NOT NULL'), 0, 'no listener stands still');

done_testing();
