# 097_kafka_nth_call.pl -- the n-th call of twtasks-kafka to the system or the C library fails,
# whichever it is, once or for a second: no signal ends it, each task is answered once, a task
# that is done has its messages in the topic, a message lacks nothing, and no kind of
# descriptor has more open than without faults.
#
# The cases are the same in each run.  "make nth-call" tries all, or some by chance:
# TWT_TEST_SEED repeats them.

use strict;
use warnings FATAL => 'all';

use Errno qw(:POSIX);
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Bundled;
use TwTasks::Kafka;
use TwTasks::NthCall;
use TwTasks::Seed;

use constant { AT_ONCE => 8, TASKS => 3 };

# Calls whose failure may end the program, which is started again.
my %ends = (%TwTasks::NthCall::ENDS, %TwTasks::NthCall::HELPER_ENDS);

my @storms = TwTasks::NthCall::storms([ 'socket,open,pipe2,eventfd' => 1, EMFILE ], [ 'sendmsg,recvmsg,connect' => 3, EAGAIN ]);

TwTasks::Seed::sow();
my $kafka = TwTasks::Kafka->create;
my %hello = (
	kafka => 'out',
	brokers => [ $kafka->brokers ],
	settings => { 'message.timeout.ms' => 30000, 'reconnect.backoff.max.ms' => 500, 'topic.metadata.propagation.max.ms' => 500 },
	concurrency => TASKS);

$kafka->create_topic('out', 2);

sub prepare
{
	my ($name, $env) = @_;
	return TwTasks::Bundled->prepare('kafka', $name, hello => \%hello, env => $env);
}

sub give
{
	my ($program) = @_;

	return $program->give_tasks(TASKS, sub { return (key => "key of $_[0]", data => { body => 'x' x 100 }) });
}

sub answers
{
	my ($program) = @_;

	return grep { ref eq 'HASH' && $_->{id} } $program->said;
}

# ---- verdict ----

my (%answers, @wrong);

sub look
{
	my ($clean) = @_;

	is(join(' ', map { $_->{result} } answers($clean)), join(' ', ('done') x (2 * TASKS)), 'it has sent all tasks');
	return;
}

sub few_cases
{
	my (%counts) = @_;
	my @others = grep { !TwTasks::NthCall::is_memory($_) } keys %counts;

	return [ TwTasks::NthCall::spread(14, map { $_ => $counts{$_} } grep { !/^thrd_create|^epoll_ctl/ } @others), @storms ];
}

sub run_and_note
{
	my (@programs) = @_;

	TwTasks::NthCall::drive(\@programs, give => \&give, is_done => sub { answers($_[0]) >= @{ $_[0]{ids} } });
	foreach my $program (@programs)
	{
		push @{ $answers{ $_->{id} } }, { %$_, what => $program->{what} } foreach answers($program);
	}
	return;
}

TwTasks::NthCall::cases_ok(
	prepare => \&prepare,
	run => \&run_and_note,
	look => \&look,
	cases => \&few_cases,
	ends => \%ends,
	prefix => 'k',
	at_once => AT_ONCE);

# ---- messages ----

my %messages;

foreach my $message ($kafka->messages('out'))
{
	my %headers = map { $_->[0] => $_->[1] } @{ $message->{headers} };
	my $names = join ' ', sort keys %headers;

	push @wrong, "a message has the headers $names" if $names ne 'X-Request-Id twtasks-id';
	push @wrong, "a message has the key $message->{key} and the value $message->{value}"
	  if $message->{key} !~ /^key of \d$/ || $message->{value} !~ /^\{"body":"x{100}"\}$/;
	$messages{ ($headers{'twtasks-id'} // '') =~ s/:0$//r }++;
}
is(join("\n", @wrong), '', 'each message has its key, its value and all headers');
my @all = map { @$_ } values %answers;

is(join(', ', grep { @{ $answers{$_} } > 1 } sort keys %answers), '', 'no task is answered twice');
is(join("\n", map { $_->{what} } grep { $_->{result} eq 'done' && !$messages{ $_->{id} } } @all), '', 'a task that is done was sent');
is(join("\n", map { $_->{what} } grep { $_->{result} eq 'release' && $messages{ $_->{id} } } @all), '', 'a task that goes back without a try was not sent');
is(join("\n", map { "$_->{what}: $_->{result} $_->{message}" } grep { $_->{result} !~ /^(done|retry|release)$/ } @all), '', 'no task goes to ERROR by a fault of this machine');

done_testing();
