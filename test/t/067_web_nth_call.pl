# 067_web_nth_call.pl -- the n-th call of twtasks-web to the system or the C library fails,
# whichever it is, once or for a second: no signal ends it, it answers again, and no kind of
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

use constant AT_ONCE => 15;

# Each comes in each run, however often twtasks-web is asked.
my @usual = TwTasks::NthCall::cases(
	[ MHD_create_response_from_buffer_with_free_callback_cls => 1, ENOMEM ],
	[ accept4 => 1, EMFILE ], [ close => 3, EIO ], [ connect => 1, ECONNREFUSED ], [ epoll_wait => 5, EINTR ], [ malloc => 500, ENOMEM ],
	[ open => 3, EMFILE ], [ recv => 3, ECONNRESET ], [ send => 3, EPIPE ], [ socket => 2, EMFILE ]);

# A machine lacks these for a second.  libmicrohttpd does not tell that it could not accept.
my @storms = TwTasks::NthCall::storms(
	[ 'accept4,open,socket,eventfd' => 1, EMFILE ],
	[ 'socket,open,accept4,eventfd' => 2, EMFILE, qr/Too many open files/ ],
	[ 'recv,poll,stat,pthread_create' => 3, ENOMEM ],
	[ 'write' => 2, ENOSPC ],
	[ 'recv,read,write,connect' => 3, EAGAIN ]);

# Calls whose failure may end the program, which starts again.
my %ends = (
	%TwTasks::NthCall::ENDS,
	MHD_create_response_from_buffer_with_free_callback_cls => 'a program without memory ends',
	socket => 'it cannot listen',
	bind => 'it cannot listen',
	epoll_ctl => 'libmicrohttpd gives up',
	fstat => 'a file of the configuration cannot be read at the start',
	listen => 'it cannot listen',
	open => 'a file of the configuration cannot be read at the start',
	read => 'a file of the configuration cannot be read at the start',
	readlink => 'the programs beside it cannot be found at the start');

TwTasks::Seed::sow();
my $node = TwTasks::Cluster->create('main');
my $directory = PostgreSQL::Test::Utils::tempdir();
my $token = 'a token that nobody guesses';
my $tokens = TwTasks::Web::write_tokens("$directory/tokens", $token);
my $nobody = '00000000-0000-0000-0000-00000000ffff';

sub prepare
{
	my ($name, $env) = @_;

	return TwTasks::Web->prepare(
		$node, $name,
		listen => '127.0.0.1:' . PostgreSQL::Test::Cluster::get_free_port(),
		token_file => $tokens,
		env => $env);
}

# The answers to a look at its health, and to a result for a task that does not exist.  A
# connection may be lost, so a question is asked again after some seconds.
sub answers
{
	my ($web) = @_;
	my @patience = (timeout => 10);

	return 0 if ($web->ask('GET', '/health', @patience))[0] ne '200';
	return ($web->ask('POST', "/api/tasks/$nobody/finish", @patience, token => $token, body => { version => 1, result => 'done' }))[0] =~ /^4/;
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

TwTasks::NthCall::cases_ok(
	prepare => \&prepare,
	run => \&run_all,
	cases => [ @usual, @storms ],
	ends => \%ends,
	leak => (TwTasks::NthCall::cases([ recv => 3, ECONNRESET ]))[0],
	prefix => 'w',
	at_once => AT_ONCE);

done_testing();
