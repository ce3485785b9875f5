# 067_web_nth_call.pl -- the n-th call of twtasks-web to the system or the C library fails,
# whichever it is: no signal ends it, it answers again, and no kind of
# descriptor has more open than without faults.
#
# The cases are the same in each run.  "make nth-call" tries all, or some by chance:
# TWT_TEST_SEED repeats them.

use strict;
use warnings FATAL => 'all';

use Errno qw(:POSIX);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::NthCall;
use TwTasks::Seed;
use TwTasks::Wait;
use TwTasks::Web;

use constant AT_ONCE => 10;

# Each comes in each run, however often twtasks-web is asked.
my @usual = map { { call => $_->[0], from => $_->[1], error => $_->[2] } } (
	[ MHD_create_response_from_buffer_with_free_callback_cls => 1, ENOMEM ],
	[ accept4 => 1, EMFILE ], [ close => 3, EIO ], [ connect => 1, ECONNREFUSED ], [ epoll_wait => 5, EINTR ], [ malloc => 500, ENOMEM ],
	[ open => 3, EMFILE ], [ recv => 3, ECONNRESET ], [ send => 3, EPIPE ], [ socket => 2, EMFILE ]);

# Calls whose failure may end the program, which starts again.
my %ends = (
	MHD_create_response_from_buffer_with_free_callback_cls => 'a program without memory ends',
	calloc => 'a program without memory ends',
	malloc => 'a program without memory ends',
	realloc => 'a program without memory ends',
	epoll_create1 => 'there is no loop without it',
	timerfd_create => 'there is no loop without it',
	socket => 'it cannot listen',
	bind => 'it cannot listen',
	epoll_ctl => 'libmicrohttpd gives up',
	fstat => 'a file of the configuration cannot be read at the start',
	listen => 'it cannot listen',
	open => 'a file of the configuration cannot be read at the start',
	read => 'a file of the configuration cannot be read at the start',
	signalfd => 'no signal would come');

TwTasks::Seed::sow();
my $node = TwTasks::Cluster->create('main');
my $directory = PostgreSQL::Test::Utils::tempdir();
my $token = 'a token that nobody guesses';
my $tokens = TwTasks::Web::write_tokens("$directory/tokens", $token);
my $nobody = '00000000-0000-0000-0000-00000000ffff';

sub prepare
{
	my ($name, $case) = @_;
	my $web = TwTasks::Web->prepare(
		$node, $name,
		listen => '127.0.0.1:' . PostgreSQL::Test::Cluster::get_free_port(),
		token_file => $tokens,
		env => TwTasks::NthCall::env($name, $case));

	$web->{case} = $case;
	$web->{what} = $case ? TwTasks::NthCall::describe($case) : 'no fault';
	return $web;
}

# The answers to a look at its health, and to a result for a task that does not exist.
sub answers
{
	my ($web) = @_;

	return 0 if ($web->ask('GET', '/health'))[0] ne '200';
	return ($web->ask('POST', "/api/tasks/$nobody/finish", token => $token, body => { version => 1, result => 'done' }))[0] =~ /^4/;
}

sub wait_until_answered
{
	my ($web) = @_;

	wait_for(sub { TwTasks::NthCall::tend($web); answers($web) }, "answers of twtasks-web: $web->{what}");
	return;
}

sub run_all
{
	my (@webs) = @_;

	$_->launch foreach @webs;
	wait_until_answered($_) foreach @webs;
	$_->signal('HUP') foreach grep { !defined $_->{ended} } @webs;
	wait_until_answered($_) foreach @webs;
	return;
}

my $clean = prepare('clean');

run_all($clean);
my $usual = TwTasks::NthCall::descriptors($clean->pid);
is($clean->stop, 0, 'without faults twtasks-web stops in order');

TwTasks::NthCall::cases_ok(
	clean => 'clean',
	usual => $usual,
	cases => \@usual,
	ends => \%ends,
	prefix => 'w',
	at_once => AT_ONCE,
	prepare => \&prepare,
	run => \&run_all);

done_testing();
