# 097_kafka_triggers_nth_call.pl -- the n-th call of "twtasks-kafka triggers" to the system or
# the C library fails, whichever it is, once or for a second: no signal ends it, each trigger
# comes out of the topic or back, or a sweep looks for its task, and no kind of descriptor has
# more open than without faults.
#
# The cases are the same in each run.  "make nth-call" tries all, or some by chance:
# TWT_TEST_SEED repeats them.

use strict;
use warnings FATAL => 'all';

use Errno qw(:POSIX);
use Test::More;
use Time::HiRes qw(time);
use TwTasks::Bundled;
use TwTasks::Kafka;
use TwTasks::NthCall;
use TwTasks::Seed;
use TwTasks::Wait;

use constant { AT_ONCE => 10, TRIGGERS => 4, PARTITIONS => 2 };

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
my @usual = qw(close connect epoll_wait eventfd fcntl getsockopt open pipe poll pthread_create read recv recvmsg send sendmsg socket);

my @storms = TwTasks::NthCall::storms([ 'socket,open,pipe2,eventfd' => 1, EMFILE ], [ 'sendmsg,recvmsg,connect' => 3, EAGAIN ]);

TwTasks::Seed::sow();
my $kafka = TwTasks::Kafka->create;
my ($number, $stirred) = (0, 0);
my @round;

# Each has a group of its own, so it reads all that it sends.
sub prepare
{
	my ($name, $env) = @_;

	$kafka->create_topic("twTasks.$name.executeTask.default", PARTITIONS);
	return TwTasks::Bundled->prepare(
		'kafka', $name,
		arguments => ['triggers'],
		hello => {
			brokers => [ $kafka->brokers ],
			settings => { 'reconnect.backoff.max.ms' => 500, 'message.timeout.ms' => 30000 },
			group => $name,
			buckets => ['default']
		},
		env => $env);
}

# A program leaves its partitions to others when it hears nothing for 20 s.
sub stir
{
	return 1 if time < $stirred + 1;
	$stirred = time;
	$_->say({ alive => 1 }) foreach grep { $_->{to} && !$_->has_exited } @round;
	return 1;
}

sub send_triggers
{
	my ($program) = @_;
	my @ids = map { sprintf '00000000-0000-7000-8000-%012x', ++$number } 1 .. TRIGGERS;

	push @{ $program->{ids} }, @ids;
	$program->{sweeps} = sweeps($program);
	$program->say({ send => 0, trigger => "$_ 0 5 0 0 T" }) foreach @ids;
	return;
}

# How often it has asked to sweep the bucket.
sub sweeps
{
	return scalar grep { defined $_->{sweep} } $_[0]->said;
}

# A partition that it did not read yet is read from its end.
sub has_partitions
{
	return sweeps($_[0]) >= PARTITIONS;
}

sub has_all
{
	my ($program) = @_;
	my %came = map { substr($_->{trigger}, 0, 36) => 1 } grep { $_->{trigger} } $program->said;

	return sweeps($program) > $program->{sweeps} || !grep { !$came{$_} } @{ $program->{ids} };
}

sub wait_until
{
	my ($is_so, $what) = @_;
	my $left = sub { grep { !$_->has_exited && !$is_so->($_) } @round };

	return if eval {
		wait_for(sub { stir(); !$left->() }, $what);
	};
	die join "\n", map { "$what: $_->{what}\n" . TwTasks::NthCall::stack($_->{name}) } $left->();
}

sub run_all
{
	@round = @_;
	$_->launch foreach @round;
	wait_until(\&has_partitions, 'partitions');
	foreach (1, 2)
	{
		send_triggers($_) foreach @round;
		wait_until(\&has_all, 'triggers');
	}
	$_->{ended} = $_->{status} foreach grep { $_->has_exited } @round;
	return;
}

sub look
{
	my ($clean) = @_;
	my %came = map { substr($_->{trigger}, 0, 36) => 1 } grep { exists $_->{got} } $clean->said;

	is(join(' ', sort keys %came), join(' ', @{ $clean->{ids} }), 'without faults each trigger comes out of the topic');
	return;
}

sub few_cases
{
	my (%counts) = @_;

	return [ TwTasks::NthCall::spread(18, map { $_ => $counts{$_} } @usual), @storms ];
}

TwTasks::NthCall::cases_ok(
	prepare => \&prepare,
	run => \&run_all,
	look => \&look,
	is_at_rest => \&stir,
	cases => \&few_cases,
	ends => \%ends,
	why => qr/FATAL|out of memory|refused: |another one follows|triggers stay on this node|does not come back/,
	# librdkafka insists on the thread for the coordinator of its group.
	aborts => qr/rd_kafka_broker_add_logical: Assertion /,
	prefix => 't',
	at_once => AT_ONCE);

done_testing();
