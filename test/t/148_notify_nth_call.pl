# 148_notify_nth_call.pl -- the n-th call of twtasks-notify to the system or the C library
# fails, whichever it is, once or for a second: no signal ends it, it sends each message in the
# end, says "sent" of those alone that their targets took, and no kind of descriptor has more
# open than without faults.
#
# The cases are the same in each run.  "make nth-call" tries all, or some by chance:
# TWT_TEST_SEED repeats them.

use strict;
use warnings FATAL => 'all';

use Errno qw(:POSIX);
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Bundled;
use TwTasks::HttpServer;
use TwTasks::NthCall;
use TwTasks::Seed;
use TwTasks::Sidecar;
use TwTasks::Web;

use constant { AT_ONCE => 8, MESSAGES => 2 };

# Calls whose failure may end the program, which is started again.
my %ends = (
	%TwTasks::NthCall::ENDS,
	%TwTasks::NthCall::HELPER_ENDS,
	access => 'a file of the settings cannot be read',
	readlink => 'the templates beside it cannot be found');

# The first look at a program that has ended fails.
my @storms = TwTasks::NthCall::storms(
	[ 'waitpid' => 1, EINTR ],
	[ 'fork,memfd_create' => 1, EAGAIN ],
	[ 'socket,memfd_create,pipe2,eventfd' => 1, EMFILE ]);

TwTasks::Seed::sow();
my $server = TwTasks::HttpServer->start;
my $directory = PostgreSQL::Test::Utils::tempdir();
my $taken = "$directory/taken";
my $number = 0;
my @targets = qw(hook program refusing);

sub write_program
{
	my ($name, $text) = @_;

	PostgreSQL::Test::Utils::append_to_file("$directory/$name", "#!/bin/sh\n$text\n");
	chmod oct 755, "$directory/$name";
	return "$directory/$name";
}

PostgreSQL::Test::Utils::append_to_file($taken, '');
my %hello = (
	targets => [
		{
			name => 'hook',
			kind => 'webhook',
			url => $server->url('/hook'),
			secret_file => TwTasks::Web::write_tokens("$directory/secret", 'a secret of the test')
		},
		{ name => 'program', kind => 'command', command => [ write_program('take', qq(text=\$(cat)\nprintf '%s\\n' "\$text" >>$taken)) ] },
		{ name => 'refusing', kind => 'command', command => [ write_program('refuse', 'exit 1') ] }
	]);

sub prepare
{
	my ($name, $env) = @_;
	return TwTasks::Bundled->prepare('notify', $name, hello => \%hello, env => $env);
}

sub message
{
	my ($id) = @_;

	return {
		incident => $id,
		state => 'open',
		repeat => 0,
		key => "error/$id",
		severity => 'page',
		summary => 'a "test"',
		detail => 'x' x 100,
		count => 1,
		since => '2026-01-01T00:00:00Z',
		database => 'app'
	};
}

# The sidecar tells all messages of a target that are not sent.
sub give
{
	my ($program) = @_;
	my @ids = map { ++$number } 1 .. MESSAGES;

	push @{ $program->{ids} }, @ids;
	$program->say({ target => $_, messages => [ map { message($_) } @ids ] }) foreach @targets;
	return;
}

# Its lines about a target with a status, by incident.
sub told
{
	my ($program, $target, $status) = @_;

	return map { $_->{incident} => $_ } grep { ref eq 'HASH' && ($_->{target} // '') eq $target && $_->{status} eq $status } $program->said;
}

sub has_told_all
{
	my ($program) = @_;

	foreach my $target (@targets)
	{
		my %told = told($program, $target, $target eq 'refusing' ? 'retry' : 'sent');

		return 0 if grep { !$told{$_} } @{ $program->{ids} };
	}
	return 1;
}

my (@wrong, %sent);

sub run_and_note
{
	my (@programs) = @_;

	TwTasks::NthCall::drive(\@programs, give => \&give, is_done => \&has_told_all);
	foreach my $program (@programs)
	{
		my %refused = told($program, 'refusing', 'sent');

		push @wrong, "$program->{what}: says that it sent what its target refused" if %refused;
		foreach my $target (qw(hook program))
		{
			my %told = told($program, $target, 'sent');

			$sent{$target}{$_} = $program->{what} foreach keys %told;
		}
	}
	return;
}

sub few_cases
{
	my (%counts) = @_;
	my @others = grep { !TwTasks::NthCall::is_memory($_) } keys %counts;

	return [ @storms, TwTasks::NthCall::spread(16, map { $_ => $counts{$_} } @others), TwTasks::NthCall::spread(5, malloc => $counts{malloc}) ];
}

# ---- a program that does not know where it is ----

my ($nowhere) = TwTasks::NthCall::cases([ readlink => 1, EIO ]);
my $lost = prepare('lost', TwTasks::NthCall::env('lost', $nowhere))->launch;

is($lost->wait_for_exit >> 8, 4, 'it takes no template from another directory for its own, and does not call its settings wrong');
like($lost->log, qr/FATAL notify: could not find the templates /, 'its log says why');

# ---- verdict ----

TwTasks::NthCall::cases_ok(
	prepare => \&prepare,
	run => \&run_and_note,
	is_at_rest => sub { TwTasks::Sidecar::children_of($_[0]->pid) == 0 },
	cases => \&few_cases,
	ends => \%ends,
	leak => (TwTasks::NthCall::cases([ fork => 1, EAGAIN ]))[0],
	prefix => 'm',
	at_once => AT_ONCE);

# ---- what the targets have ----

my @requests = $server->requests;
my %has = (
	hook => { map { $_->{headers}{'webhook-id'} =~ /^(\d+)/ => 1 } grep { $_->{headers}{'webhook-id'} } @requests },
	program => { map { decode_json($_)->{id} =~ /^(\d+)/ => 1 } split /\n/, PostgreSQL::Test::Utils::slurp_file($taken) });
my @names = sort keys %{ $requests[0]{headers} };

foreach my $target (qw(hook program))
{
	push @wrong, map { "$sent{$target}{$_}: says that $target has $_" } grep { !$has{$target}{$_} } sort keys %{ $sent{$target} };
}
push @wrong, map { 'a request has ' . join ' ', sort keys %{ $_->{headers} } } grep { join(' ', sort keys %{ $_->{headers} }) ne "@names" } @requests;
is(join("\n", @wrong), '', 'what it says was sent is there, and each request has all headers');

done_testing();
