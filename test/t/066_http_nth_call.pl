# 066_http_nth_call.pl -- the n-th call of twtasks-http to the system or the C library fails,
# whichever it is: no signal ends it, each task is answered once, a request lacks no header
# and is sent once, no task goes back without a try that was sent, and no kind of descriptor
# has more open than without faults.
#
# The cases are the same in each run.  "make nth-call" tries all, or some by chance:
# TWT_TEST_SEED repeats them.

use strict;
use warnings FATAL => 'all';

use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Bundled;
use TwTasks::HttpServer;
use TwTasks::NthCall;
use TwTasks::Seed;

use constant { AT_ONCE => 10, TASKS => 5 };

# Calls whose failure may end the program, which is started again.
my %ends = (%TwTasks::NthCall::ENDS, %TwTasks::NthCall::HELPER_ENDS);

TwTasks::Seed::sow();
my $server = TwTasks::HttpServer->start;
my $directory = PostgreSQL::Test::Utils::tempdir();

sub write_secret
{
	my ($name, $line) = @_;
	my $path = "$directory/$name";

	PostgreSQL::Test::Utils::append_to_file($path, "$line\n");
	chmod oct 600, $path;
	return $path;
}

my %hello = (
	http => $server->url('/hook', 'localhost'),
	secret_file => write_secret('secret', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'),
	headers_file => write_secret('headers', 'Authorization: Bearer of a token'),
	concurrency => TASKS);

sub prepare
{
	my ($name, $env) = @_;
	return TwTasks::Bundled->prepare('http', $name, hello => \%hello, env => { %$env, http_proxy => 'http://127.0.0.1:1' });
}

sub give
{
	my ($program) = @_;

	return $program->give_tasks(TASKS, sub { return (sub_type => "of $_[0]", data => { body => 'x' x 100, type => 'text/plain' }) });
}

sub answers
{
	my ($program) = @_;

	return grep { $_->{id} } $program->said;
}

# ---- verdict ----

my (@names, %answers, @wrong);

sub look
{
	my ($clean) = @_;

	is(join(' ', map { $_->{result} } answers($clean)), join(' ', ('done') x (2 * TASKS)), 'it has sent all tasks');
	@names = sort keys %{ ($server->requests)[0]{headers} };
	return;
}

sub few_cases
{
	my (%counts) = @_;
	my @others = grep { !TwTasks::NthCall::is_memory($_) } keys %counts;

	return [ TwTasks::NthCall::spread(30, map { $_ => $counts{$_} } @others), TwTasks::NthCall::spread(30, malloc => $counts{malloc}) ];
}

sub run_and_note
{
	my (@programs) = @_;

	TwTasks::NthCall::drive(\@programs, give => \&give, is_done => sub { answers($_[0]) >= @{ $_[0]{ids} } });
	foreach my $program (grep { $_->{case} } @programs)
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
	prefix => 'h',
	at_once => AT_ONCE);

# ---- requests ----

my %requests;

foreach my $request ($server->requests)
{
	my @has = sort keys %{ $request->{headers} };

	push @wrong, "a request has @has" if "@has" ne "@names";
	push @wrong, "a request has the body $request->{body}" if $request->{body} !~ /^\{"body":"x{100}","type":"text\/plain"\}$/;
	$requests{ $request->{headers}{'twtasks-id'} // '' }++;
}
is(join("\n", @wrong), '', 'each request has all headers, and the body');
is(join(', ', grep { $requests{$_} > 1 } sort keys %requests), '', 'each task is sent once at most');
my @all = map { @$_ } values %answers;

is(join(', ', grep { @{ $answers{$_} } > 1 } sort keys %answers), '', 'no task is answered twice');
is(join("\n", map { $_->{what} } grep { $_->{result} eq 'done' && !$requests{ $_->{id} } } @all), '', 'a task that is done was sent');
is(join("\n", map { $_->{what} } grep { $_->{result} eq 'release' && $requests{ $_->{id} } } @all), '', 'a task that goes back without a try was not sent');
is(join("\n", map { "$_->{what}: $_->{result} $_->{message}" } grep { $_->{result} !~ /^(done|retry|release)$/ } @all), '', 'no task goes to ERROR by a fault of this machine');

done_testing();
