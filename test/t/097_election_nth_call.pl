# 097_election_nth_call.pl -- the n-th call of a sidecar that stands for election at ZooKeeper
# to the system or the C library fails, whichever it is, once or for a second: no signal ends
# the sidecar, each node stands in the end, one of them leads, and no kind of descriptor has
# more open than without faults.
#
# The cases are the same in each run.  "make nth-call" tries all, or some by chance:
# TWT_TEST_SEED repeats them.

use strict;
use warnings FATAL => 'all';

use Errno qw(:POSIX);
use JSON::PP;
use Test::More;
use TwTasks::Cluster;
use TwTasks::NthCall;
use TwTasks::Seed;
use TwTasks::Sidecar;
use TwTasks::Wait;
use TwTasks::ZooKeeper;

use constant { AT_ONCE => 9, SESSION => 12 };

# Each is far from the first and the last call of its name, so it comes in each run.
my @usual = TwTasks::NthCall::cases(
	[ access => 2, EIO ], [ clone => 1, EAGAIN ], [ close => 10, EIO ], [ dup2 => 2, EMFILE ], [ epoll_ctl => 20, ENOSPC ],
	[ epoll_wait => 30, EINTR ], [ execve => 1, ENOMEM ], [ fcntl => 8, EINTR ], [ open => 4, EMFILE ], [ pipe2 => 2, EMFILE ],
	[ read => 12, EIO ], [ recv => 20, ECONNRESET ], [ send => 10, EPIPE ], [ socket => 2, EMFILE ], [ write => 4, ENOSPC ]);

my @storms = TwTasks::NthCall::storms(
	[ 'pipe2,open,socket,eventfd,dup2' => 2, EMFILE ],
	[ 'clone,execve,pthread_create' => 1, EAGAIN ],
	[ 'recv,send,read,write,connect' => 20, EAGAIN ]);

# Calls whose failure may end the program, which starts again.
my %ends = (
	%TwTasks::NthCall::ENDS,
	setrlimit => 'a secret may come into a core file',
	prctl => 'orphans would be left to others');

# Calls that may end it only before it has joined the other nodes.
my %start_ends = (
	epoll_ctl => 'there is no loop without its timer and signals',
	fopen => 'the configuration cannot be read',
	fstat => 'the configuration cannot be read',
	open => 'the configuration cannot be read',
	read => 'the configuration cannot be read',
	readlink => 'the programs beside it cannot be found',
	(map { $_ => 'the settings of ZooKeeper cannot be checked' } qw(access clone dup2 execve fcntl pipe2 pthread_create write)));

TwTasks::Seed::sow();
my $zookeeper = TwTasks::ZooKeeper->create;
my $node = TwTasks::Cluster->create('main', conf => { max_connections => 200, 'twtasks.queues' => 2 * AT_ONCE });

sub prepare
{
	my ($name, $env) = @_;

	return TwTasks::Sidecar->prepare(
		$node, $name,
		env => $env,
		leader => 'zookeeper',
		zookeeper => { servers => [ $zookeeper->servers ], group => 'g', session => SESSION . 's', fallback => '1h' },
		handlers => [ { types => ['*'], noop => JSON::PP::true } ]);
}

# The nodes that ZooKeeper counts.
sub standing
{
	return scalar(() = $zookeeper->ask('dump') =~ m{/leader/}g);
}

sub wait_until_led
{
	my (@sidecars) = @_;

	return if eval {
		wait_for(
			sub {
				TwTasks::NthCall::tend($_) foreach @sidecars;
				return standing() == @sidecars && $node->leaders =~ /^\w+$/;
			},
			'a leader, and all nodes behind it');
	};
	die join "\n", 'leaders: ' . $node->leaders . ', standing: ' . standing(), map { "$_->{what}\n" . TwTasks::NthCall::stack($_->{name}) } @sidecars;
}

sub run_all
{
	my (@sidecars) = @_;

	$_->launch foreach @sidecars;
	wait_until_led(@sidecars);
	# A sidecar that was started again may not have its handler of signals yet.
	$_->signal('HUP') foreach grep { !defined $_->{ended} } @sidecars;
	$node->due_task_ok('a leader does its work');
	wait_until_led(@sidecars);
	return;
}

# The supervisor of the helper.
sub has_helper_alone
{
	my ($sidecar) = @_;

	return TwTasks::Sidecar::children_of($sidecar->pid) == 1;
}

TwTasks::NthCall::cases_ok(
	prepare => \&prepare,
	run => \&run_all,
	is_at_rest => \&has_helper_alone,
	cases => [ @usual, @storms ],
	ends => \%ends,
	starts => \%start_ends,
	begun => qr/ node: started as incarnation /,
	prefix => 'e',
	at_once => AT_ONCE);

done_testing();
