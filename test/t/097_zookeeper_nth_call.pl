# 097_zookeeper_nth_call.pl -- the n-th call of twtasks-zookeeper to the system or the C library
# fails, whichever it is, once or for a second: no signal ends it, one node of each group leads
# and all others stand behind it, and no kind of descriptor has more open than without faults.
#
# The cases are the same in each run.  "make nth-call" tries all, or some by chance:
# TWT_TEST_SEED repeats them.

use strict;
use warnings FATAL => 'all';

use Errno qw(:POSIX);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(clock_gettime);
use TwTasks::Bundled;
use TwTasks::NthCall;
use TwTasks::Seed;
use TwTasks::Wait;
use TwTasks::ZooKeeper;

use constant { AT_ONCE => 8, SESSION => 6 };

# The clock of the sidecars, which counts on while a machine sleeps: see clock_gettime(2).
use constant CLOCK_BOOTTIME => 7;

# Calls whose failure may end the program, which is started again.
my %ends = (%TwTasks::NthCall::ENDS, %TwTasks::NthCall::HELPER_ENDS);

# Each comes often enough in each run.
my @usual = qw(close connect epoll_wait eventfd fcntl getsockopt open poll pthread_create read recv send setsockopt socket write);

my @storms = TwTasks::NthCall::storms([ 'socket,open,eventfd' => 1, EMFILE ], [ 'send,recv,connect' => 3, ECONNRESET ]);

TwTasks::Seed::sow();
my $zookeeper = TwTasks::ZooKeeper->create;
my $secret = PostgreSQL::Test::Utils::tempdir() . '/digest';
my ($groups, $may_stand) = (0, 1);

PostgreSQL::Test::Utils::append_to_file($secret, "twtasks:a secret of the test\n");
chmod oct 600, $secret;

sub prepare
{
	my ($name, $env) = @_;

	return TwTasks::Bundled->prepare('zookeeper', $name,
		hello => { servers => [ $zookeeper->servers ], group => "g$groups", digest_file => $secret, session => SESSION }, env => $env);
}

sub now_ms
{
	return int(1000 * clock_gettime(CLOCK_BOOTTIME));
}

# Lets it stand for election for an hour, or no longer.
sub let_stand
{
	my ($program) = @_;

	return $program->say({ stand_until_ms => $may_stand ? now_ms() + 3_600_000 : 0 });
}

# Its last word, while that holds: "first", "behind", or ''.
sub standing
{
	my ($program) = @_;

	foreach my $word (reverse $program->said)
	{
		last if $word->{ready};
		next if !exists $word->{leads};
		return '' if !defined $word->{leads} || $word->{until_ms} <= now_ms();
		return $word->{leads} ? 'first' : 'behind';
	}
	return '';
}

# A program that has ended by itself starts again, and stands if it may.
sub tend
{
	my ($program) = @_;
	my $had_ended = defined $program->{ended};

	TwTasks::NthCall::tend($program);
	let_stand($program) if !$had_ended && defined $program->{ended};
	return;
}

# Waits until the standings of all, in order and with blanks between, are so.
sub wait_for_standings
{
	my ($wanted, @programs) = @_;
	my @now;

	return if eval {
		wait_for(
			sub {
				tend($_) foreach @programs;
				@now = sort map { standing($_) } @programs;
				return "@now" eq $wanted;
			},
			"standings: $wanted");
	};
	die join "\n", "standings: @now", map { "$_->{what}: ${\ standing($_)}\n" . TwTasks::NthCall::stack($_->{name}) } @programs;
}

# All stand, none does, and all stand again.
sub run_all
{
	my (@programs) = @_;
	my $all = join ' ', ('behind') x $#programs, 'first';

	$groups++;
	foreach my $program (@programs)
	{
		$program->{config}{hello}{group} = "g$groups";
		$program->launch;
		let_stand($program);
	}
	wait_for_standings($all, @programs);
	$_->hello foreach @programs;
	$may_stand = 0;
	let_stand($_) foreach @programs;
	wait_for_standings(' ' x $#programs, @programs);
	$may_stand = 1;
	let_stand($_) foreach @programs;
	wait_for_standings($all, @programs);
	return;
}

sub few_cases
{
	my (%counts) = @_;
	return [ TwTasks::NthCall::spread(14, map { $_ => $counts{$_} } @usual), @storms ];
}

# ---- a secret that cannot be read for a moment ----

my $lone = prepare('lone', {})->launch;

wait_for(sub { grep { $_->{ready} } $lone->said }, 'a program that has its settings');
rename $secret, "$secret.away" or die "could not rename: $!";
let_stand($lone);
ok($lone->wait_for_log(qr/WARN  zookeeper: digest_file: could not /), 'the log says that the secret cannot be read');
is(standing($lone), '', 'the node does not stand without its secret');
rename "$secret.away", $secret or die "could not rename: $!";
wait_ok(sub { standing($lone) eq 'first' }, 'the node stands once the secret can be read');
is($lone->stop, 0, 'the program stops in order');

# ---- verdict ----

TwTasks::NthCall::cases_ok(
	prepare => \&prepare,
	run => \&run_all,
	cases => \&few_cases,
	ends => \%ends,
	# ZooKeeper's client insists on random bytes.
	aborts => qr/setup_random: Assertion /,
	prefix => 'z',
	at_once => AT_ONCE);

done_testing();
