# NthCall.pm -- programs of which the n-th call of a name fails, as handlers/fail_nth.c
# arranges.  It counts the calls of a run without faults first.

package TwTasks::NthCall;

use strict;
use warnings FATAL => 'all';

use Cwd qw(abs_path);
use Errno qw(:POSIX);
use File::Basename;
use List::Util qw(min shuffle);
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Wait;

# Descriptors that so many looks find unchanged are those of a program at rest.
use constant QUIET_LOOKS => 25;

# How long a program may need to close what a fault has left.
use constant CLOSING_SECONDS => 60;
use constant LEAK_SECONDS => 5;
use constant FINE_LOOKS => 5;

# Calls whose failure may end any of our programs, with the reason.
our %ENDS = (
	calloc => 'a program without memory ends',
	malloc => 'a program without memory ends',
	realloc => 'a program without memory ends',
	epoll_create1 => 'there is no loop without it',
	timerfd_create => 'there is no loop without it',
	signalfd => 'no signal would come');

# Calls whose failure may also end a helper beside a sidecar.
our %HELPER_ENDS = (
	epoll_ctl => 'it would not hear its sidecar',
	fcntl => 'its pipes would block',
	fopen => 'a file of the settings cannot be read',
	open => 'a file of the settings cannot be read',
	fstat => 'a file of the settings cannot be read',
	read => 'the pipe of its sidecar is broken',
	write => 'the pipe of its sidecar is broken');

# Names in the order of fail_nth.c, with the errors that the manual pages name for what a
# machine may lack.  A name without errors is counted only.
my @calls = (
	[ MHD_create_response_from_buffer_with_free_callback_cls => ENOMEM ],
	[ accept4 => EMFILE, ECONNABORTED, ENOBUFS, EINTR ],
	[ access => EACCES, EIO ],
	[ bind => EADDRINUSE ],
	[ calloc => ENOMEM ],
	[ chmod => EPERM ],
	[ clone => EAGAIN, ENOMEM ],
	[ close => EIO, EINTR ],
	[ connect => ECONNREFUSED, EAGAIN, EINTR ],
	[ dup2 => EMFILE, EINTR ],
	[ epoll_create1 => EMFILE ],
	[ epoll_ctl => ENOMEM, ENOSPC ],
	[ epoll_wait => EINTR ],
	[ eventfd => EMFILE, ENOMEM ],
	[ execve => EAGAIN, ENOMEM, ENOENT ],
	[ fcntl => EMFILE, EINTR ],
	[ fopen => EMFILE, ENOMEM ],
	[ fork => EAGAIN, ENOMEM ],
	[ fstat => EIO, ENOMEM ],
	[ getaddrinfo => EMFILE, ENOMEM ],
	[ getpeername => ENOBUFS ],
	[ getrandom => EINTR ],
	[ getsockname => ENOBUFS ],
	[ getsockopt => ENOBUFS ],
	[ kill => EPERM ],
	[ listen => EADDRINUSE ],
	[ lseek => EINVAL ],
	[ malloc => ENOMEM ],
	[ memfd_create => EMFILE, ENOMEM ],
	[ open => EMFILE, ENFILE, EINTR, EIO ],
	[ pipe => EMFILE, ENFILE ],
	[ pipe2 => EMFILE, ENFILE ],
	[ poll => EINTR, ENOMEM ],
	[ prctl => EINVAL ],
	[ pthread_create => EAGAIN ],
	[ read => EIO, EINTR, EAGAIN ],
	[ readlink => EIO, ENOMEM ],
	[ realloc => ENOMEM ],
	[ recv => ECONNRESET, EINTR, ENOMEM, EAGAIN ],
	[ recvmsg => ECONNRESET, EINTR, ENOMEM, EAGAIN ],
	[ send => ECONNRESET, EPIPE, EINTR ],
	[ sendmsg => ECONNRESET, EPIPE, EINTR, EAGAIN ],
	[ sendto => ENOBUFS, EINTR ],
	[ setrlimit => EPERM ],
	[ setsid => EPERM ],
	[ setsockopt => ENOMEM ],
	[ shutdown => ENOTCONN ],
	[ signalfd => EMFILE, ENFILE, ENOMEM ],
	[ socket => EMFILE, ENFILE, ENOBUFS ],
	[ stat => EIO, ENOMEM ],
	[ syscall => ENOSYS, EMFILE ],
	[ thrd_create => EAGAIN ],
	[ timerfd_create => EMFILE, ENOMEM ],
	[ 'timerfd_settime' ],
	[ unlink => EIO ],
	[ vfork => EAGAIN, ENOMEM ],
	[ waitid => EINTR ],
	[ waitpid => EINTR ],
	[ write => EIO, ENOSPC, EINTR, EAGAIN, EPIPE ]);
my %errors = map { my ($name, @errors) = @$_; $name => \@errors } @calls;
my $directory = PostgreSQL::Test::Utils::tempdir();
my $shim;

# The path of the library.  A test of its own the first time.
sub shim
{
	return $shim if $shim;
	$shim = "$directory/fail_nth.so";
	my $source = abs_path(dirname(__FILE__) . '/../../handlers/fail_nth.c');

	is(system('cc', '-O2', '-shared', '-fPIC', '-fno-builtin', '-o', $shim, $source, '-ldl'), 0, 'the library is built');
	return $shim;
}

# The environment of a process with this case: a hash of call, from, error, and perhaps
#	every => each so many calls later fails too
#	ms => the call, or each of several with commas between, fails for so long
#	leak => the library leaves a pipe open
# Without a case, calls are counted only.
sub env
{
	my ($name, $case) = @_;

	return {
		LD_PRELOAD => shim(),
		NTH_RECORD => "$directory/$name",
		NTH_STACK => "$directory/$name.stack",
		map { ('NTH_' . uc($_) => $case->{$_}) } grep { defined $case->{$_} } qw(call from every error ms leak)
	};
}

sub numbers
{
	my ($name) = @_;

	return unpack 'L*', -e "$directory/$name" ? PostgreSQL::Test::Utils::slurp_file("$directory/$name") : '';
}

# How often each name was called by the process with this environment.
sub counts
{
	my @numbers = numbers(@_);

	return map { $calls[$_][0] => $numbers[$_] // 0 } 0 .. $#calls;
}

# How many of its calls have failed.
sub failed
{
	return (numbers(@_))[ scalar @calls ] // 0;
}

# Whether the call asks for memory.
sub is_memory
{
	return $_[0] =~ /alloc$/;
}

# All cases of a run with these counts.  Memory is asked for many thousand times, so that
# only some of these calls fail, at equal distances.
sub all_cases
{
	my (%counts) = @_;
	my @cases;

	foreach my $call (sort keys %counts)
	{
		my $step = is_memory($call) ? 1 + int($counts{$call} / 200) : 1;

		for (my $n = 1; $n <= $counts{$call}; $n += $step)
		{
			push @cases, map { { call => $call, from => $n, error => $_ } } @{ $errors{$call} };
		}
	}
	return @cases;
}

# One of TWT_NTH_PART of them by chance, of names that fit TWT_NTH_CALL.
sub some_cases
{
	my (%counts) = @_;
	my $only = $ENV{TWT_NTH_CALL} // '.';
	my @cases = shuffle(grep { $_->{call} =~ /^(?:$only)/ } all_cases(%counts));

	return @cases[ 0 .. int(@cases / $ENV{TWT_NTH_PART}) - 1 ];
}

# Returns so many cases that do not depend on how often a library makes its calls: each name at
# equal parts of the way through its calls, memory at more of them.
sub spread
{
	my ($few, %counts) = @_;
	my @cases;

	foreach my $part (0.5, 0.1, 0.8, 0.3, 0.65, 0.02, 0.9, 0.4, 0.2, 0.7)
	{
		foreach my $call (grep { $counts{$_} && @{ $errors{$_} } } sort keys %counts)
		{
			my @errors = @{ $errors{$call} };

			foreach my $more (0, is_memory($call) ? (0.03, 0.06) : ())
			{
				push @cases, { call => $call, from => 1 + int(($part + $more) * ($counts{$call} - 1)), error => $errors[ @cases % @errors ] };
			}
		}
	}
	my %seen;

	@cases = grep { !$seen{ describe($_) }++ } @cases;
	return @cases[ 0 .. min($few, scalar @cases) - 1 ];
}

sub describe
{
	my ($case) = @_;

	local $! = $case->{error};
	return "$case->{call} $case->{from}" . ($case->{every} ? " and each ${\ $case->{every}}th later" : '')
	  . ($case->{ms} ? " and for $case->{ms} ms" : '') . ": $!";
}

# Where its calls have failed.
sub stack
{
	my ($name) = @_;
	my $path = "$directory/$name.stack";

	return -e $path ? PostgreSQL::Test::Utils::slurp_file($path) : 'no stack';
}

# Sockets that have a peer or listen, by inode.  The kernel lists those of TCP alone that are
# in use, and all of others.
sub sockets_in_use
{
	my ($pid) = @_;
	my %inodes;

	foreach my $file (map { "/proc/$pid/net/$_" } qw(tcp tcp6 udp udp6 unix))
	{
		foreach (split /\n/, -e $file ? PostgreSQL::Test::Utils::slurp_file($file) : '')
		{
			my @fields = split;
			my ($inode, $is_used) = $file =~ /unix$/ ? ($fields[6], $fields[5] eq '03' || $fields[3] ne '00000000') : ($fields[9], 1);

			$inodes{$inode} = 1 if $is_used;
		}
	}
	return \%inodes;
}

# Kinds of open descriptors with their number.  Sessions and connections come and go, so of
# sockets it counts those without a peer.
sub descriptors
{
	my ($pid) = @_;
	my $used = sockets_in_use($pid);
	my %kinds;

	foreach my $target (map { readlink($_) // () } glob "/proc/$pid/fd/*")
	{
		my ($kind, $inode) = $target =~ /^(\w+):\[(\d+)\]$/ ? ($1, $2) : ($target =~ s{^.*/log/.*}{log}r, 0);

		$kinds{$kind}++ unless $kind eq 'socket' && $used->{$inode};
	}
	return \%kinds;
}

# The descriptors of a program at rest: it has not changed them for many looks.
sub descriptors_at_rest
{
	my ($program, $is_at_rest) = @_;
	my ($last, $looks, $kinds) = ('', 0);

	wait_for(
		sub {
			$kinds = descriptors($program->pid);
			my $now = join ' ', map { "$_ $kinds->{$_}" } sort keys %$kinds;

			$looks = $is_at_rest->($program) && $now eq $last ? $looks + 1 : 0;
			$last = $now;
			return $looks >= QUIET_LOOKS;
		},
		'a program at rest');
	return $kinds;
}

# Returns the kinds of which there are more than before.
sub more_descriptors
{
	my ($before, $now) = @_;

	return grep { $now->{$_} > ($before->{$_} // 0) } sort keys %$now;
}

# Its log, and why it has refused its settings.
sub words
{
	my ($program) = @_;
	my @said = $program->can('said') ? $program->said : ();

	return join "\n", $program->log(0), map { "refused: $_->{error}" } grep { ref eq 'HASH' && $_->{error} } @said;
}

# Whether the failure of its call may end a program, also one that has begun its work.
sub may_end
{
	my ($program, $options) = @_;
	my @calls = split /,/, $program->{case}{call};

	return 1 if grep { $options->{ends}{$_} } @calls;
	return $options->{begun} && words($program) !~ /$options->{begun}.*FATAL/s && grep { $options->{starts}{$_} } @calls;
}

# Returns what is wrong with a program's end by itself, or ''.  Without memory glibc may
# crash where it looks up a user, and libcrypto where it begins.
sub fault_of_end
{
	my ($program, $status, $options) = @_;

	return '' if $status == 0;
	if (my $signal = $status & 127)
	{
		return '' if stack($program->{name}) =~ /getpwuid_r|OPENSSL_init_crypto/;
		return $options->{aborts} && words($program) =~ $options->{aborts} ? '' : "signal $signal";
	}
	return "ended by itself with status $status" if !may_end($program, $options);
	return words($program) =~ ($options->{why} // qr/FATAL|out of memory|refused: /) ? '' : "ended by itself with status $status, and does not say why";
}

# Returns what is wrong with the log of a program whose case has words for it, or ''.
sub fault_of_log
{
	my ($program) = @_;
	my $says = $program->{case}{says};

	return !$says || !failed($program->{name}) || words($program) =~ $says ? '' : "does not say what failed: $says";
}

# Waits until a program at rest has no more descriptors than is usual; returns the others.  A
# worker that is replaced has none for a moment, so one look would not tell.
sub left_open
{
	my ($program, $usual, $is_at_rest) = @_;
	my ($more, $looks) = ('', 0);
	my $is_fine = sub {
		my $now = descriptors($program->pid);
		my @kinds = more_descriptors($usual, $now);

		$more = join ', ', map { "$_: $now->{$_} in place of " . ($usual->{$_} // 0) } @kinds if @kinds;
		$looks = @kinds || !$is_at_rest->($program) ? 0 : $looks + 1;
		return $looks >= FINE_LOOKS || $program->has_exited;
	};
	my $seconds = $program->{case}{leak} ? LEAK_SECONDS : CLOSING_SECONDS;

	return '' if defined $program->{ended} || eval { wait_for($is_fine, 'descriptors to be closed', $seconds) };
	return $more;
}

# Stops the program and returns what is wrong with it.
sub faults
{
	my ($program, $usual, %options) = @_;
	my $open = left_open($program, $usual, $options{is_at_rest});
	my $last = $program->stop;
	my @faults = map { fault_of_end($program, $_, \%options) || () } $program->{ended} // (), $last;

	push @faults, fault_of_log($program) || ();
	push @faults, "left open: $open" if $open;
	return map { "$program->{what}: $_\n" . stack($program->{name}) . $program->log(0) } @faults;
}

# A program of that name with a case, or without faults.
sub prepare
{
	my ($name, $case, %options) = @_;
	my $program = $options{prepare}->($name, env($name, $case));

	@$program{qw(case what)} = ($case, $case ? describe($case) : 'no fault');
	return $program;
}

# Runs it without faults, and returns what it has open at rest.
sub run_clean
{
	my (%options) = @_;
	my $clean = prepare('clean', undef, %options);

	$options{run}->($clean);
	my $usual = descriptors_at_rest($clean, $options{is_at_rest});

	is($clean->stop, 0, 'without faults the program stops in order');
	$options{look}->($clean) if $options{look};
	return $usual;
}

# Lets programs run and stop, and returns what is wrong.  A program that hangs ends its round
# alone, so the other cases have their verdict.
sub faults_of_round
{
	my ($usual, $programs, %options) = @_;
	my @faults = eval {
		$options{run}->(@$programs);
		map { faults($_, $usual, %options) } @$programs;
	};

	return @faults if $@ eq '';
	unshift @faults, $@;
	$_->kill9, $_->stop foreach @$programs;
	return @faults;
}

# Tries cases, so many at once; returns what is wrong, and how many have failed.
sub try_cases
{
	my ($usual, $cases, %options) = @_;
	my @cases = @$cases;
	my ($number, $failed) = (0, 0);
	my @faults;

	while (@cases)
	{
		my @programs = map { prepare($options{prefix} . ++$number, $_, %options) } splice @cases, 0, $options{at_once};

		push @faults, faults_of_round($usual, \@programs, %options);
		$failed += grep { failed($_->{name}) } @programs;
	}
	return (\@faults, $failed);
}

# A fault of the program that leaves a pipe open is found.
sub leak_found_ok
{
	my ($usual, $case, %options) = @_;
	my ($faults) = try_cases($usual, [ { %$case, leak => 1 } ], %options, prefix => 'leak');

	return like(join("\n", @$faults), qr/: left open: .*\bpipe: \d+ in place of \d+/, 'a pipe that is left open is found');
}

# Runs a program without faults, and then with one in each run.  Options:
#	prepare => returns a program, of a name and an environment
#	run => lets programs do their work, and tends them
#	is_at_rest => whether a program has ended its work		look => looks at one without faults
#	cases => those of each run, or a function of the counts; "make nth-call" tries others
#	ends => calls whose failure may end the program, with reasons
#	starts => those that may only end it before its log fits begun
#	why => what its log must say where it ends by itself
#	aborts => what its log says where a library of others has ended it by a signal
#	leak => a case beside which the library leaves a pipe open
#	prefix => begins the programs' names		at_once => how many run
sub cases_ok
{
	my %options = (is_at_rest => sub { 1 }, @_);
	my $usual = run_clean(%options);
	my %counts = counts('clean');
	my $few = ref $options{cases} eq 'CODE' ? $options{cases}->(%counts) : $options{cases};
	my @cases = $ENV{TWT_NTH_PART} ? some_cases(%counts) : @$few;
	my ($faults, $failed) = try_cases($usual, \@cases, %options);

	# "make nth-call" shows diagnoses alone.
	($ENV{TWT_NTH_PART} ? \&diag : \&note)->('of ' . @cases . " calls $failed failed");
	is(join("\n", @$faults), '', 'no failed call ends the program by a signal or without a word, or leaves more descriptors of a kind open');
	leak_found_ok($usual, $options{leak}, %options) if $options{leak};
	return cmp_ok($failed, '>', @cases / 2, 'calls failed');
}

# Cases of a call, a number and an error.
sub cases
{
	return map { { call => $_->[0], from => $_->[1], error => $_->[2] } } @_;
}

# Cases of several calls that fail for a second: calls with commas between, the number of the
# first one, an error, and perhaps what the log must say.
sub storms
{
	return map { { call => $_->[0], from => $_->[1], error => $_->[2], says => $_->[3], ms => 1000 } } @_;
}

# Lets bundled programs work, gives them their settings once more, and lets them work over what
# they have kept.  It leaves those alone that end by themselves.
#	give => gives a program its work		is_done => whether it has answered all
sub drive
{
	my ($programs, %options) = @_;
	my $left = sub { grep { !$_->has_exited && !$options{is_done}->($_) } @$programs };

	foreach my $begin (qw(launch hello))
	{
		foreach my $program (@$programs)
		{
			$program->$begin;
			$options{give}->($program);
		}
		next if eval { wait_for(sub { !$left->() }, 'answers to all work') };
		die join "\n", map { "not answered: $_->{what}\n" . stack($_->{name}) } $left->();
	}
	foreach (grep { $_->has_exited } @$programs)
	{
		$_->{ended} = $_->{status};
		$_->said;
	}
	return;
}

# A program that has ended by itself starts again without faults, as by systemd.
sub tend
{
	my ($program) = @_;

	return if defined $program->{ended} || !$program->has_exited;
	$program->{ended} = $program->{status};
	$program->{env} = {};
	$program->launch;
	return;
}

1;
