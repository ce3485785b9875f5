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
	[ pipe2 => EMFILE, ENFILE ],
	[ poll => EINTR, ENOMEM ],
	[ prctl => EINVAL ],
	[ pthread_create => EAGAIN ],
	[ read => EIO, EINTR, EAGAIN ],
	[ readlink => EIO, ENOMEM ],
	[ realloc => ENOMEM ],
	[ recv => ECONNRESET, EINTR, ENOMEM, EAGAIN ],
	[ send => ECONNRESET, EPIPE, EINTR ],
	[ sendto => ENOBUFS, EINTR ],
	[ setrlimit => EPERM ],
	[ setsid => EPERM ],
	[ setsockopt => ENOMEM ],
	[ shutdown => ENOTCONN ],
	[ signalfd => EMFILE, ENFILE, ENOMEM ],
	[ socket => EMFILE, ENFILE, ENOBUFS ],
	[ stat => EIO, ENOMEM ],
	[ syscall => ENOSYS, EMFILE ],
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

# The environment of a process with this case: a hash of call, from, error and every; without
# one, calls are counted only.
sub env
{
	my ($name, $case) = @_;

	return {
		LD_PRELOAD => shim(),
		NTH_RECORD => "$directory/$name",
		NTH_STACK => "$directory/$name.stack",
		$case ? (NTH_CALL => $case->{call}, NTH_FROM => $case->{from}, NTH_EVERY => $case->{every} // 0, NTH_ERROR => $case->{error}) : ()
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
	return "$case->{call} $case->{from}" . ($case->{every} ? " and each ${\ $case->{every}}th later" : '') . ": $!";
}

# Where its calls have failed.
sub stack
{
	my ($name) = @_;
	my $path = "$directory/$name.stack";

	return -e $path ? PostgreSQL::Test::Utils::slurp_file($path) : 'no stack';
}

# Kinds of open descriptors with their number; without sockets, since sessions come and go.
sub descriptors
{
	my ($pid) = @_;
	my %kinds;

	foreach my $target (map { readlink($_) // () } glob "/proc/$pid/fd/*")
	{
		my $kind = $target =~ /^(\w+):\[\d+\]$/ ? $1 : $target =~ s{^.*/log/.*}{log}r;

		$kinds{$kind}++ if $kind ne 'socket';
	}
	return \%kinds;
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

	return join "\n", $program->log(0), map { "refused: $_->{error}" } grep { $_->{error} } @said;
}

# Returns what is wrong with a program's end by itself, or ''.  A hash names the calls whose
# failure may end it, with reasons.  Without memory glibc may crash where it looks up a user,
# and libcrypto where it begins.
sub fault_of_end
{
	my ($program, $status, $ends) = @_;

	return '' if $status == 0;
	return stack($program->{name}) =~ /getpwuid_r|OPENSSL_init_crypto/ ? '' : 'signal ' . ($status & 127) if $status & 127;
	return "ended by itself with status $status" if !$ends->{ $program->{case}{call} };
	return words($program) =~ /FATAL|out of memory|refused: / ? '' : "ended by itself with status $status, and does not say why";
}

# Waits until a program has no more descriptors than is usual; returns the others.
sub left_open
{
	my ($program, $usual) = @_;
	my $more = sub { $program->has_exited ? () : more_descriptors($usual, descriptors($program->pid)) };

	return '' if defined $program->{ended} || eval { wait_for(sub { !$more->() }, 'descriptors to be closed', 60) };
	return join ', ', $more->();
}

# Stops the program and returns what is wrong with it.
sub faults
{
	my ($program, $usual, $ends) = @_;
	my $open = left_open($program, $usual);
	my $last = $program->stop;
	my @faults = map { fault_of_end($program, $_, $ends) || () } $program->{ended} // (), $last;

	push @faults, "left open: $open" if $open;
	return map { "$program->{what}: $_\n" . stack($program->{name}) . $program->log(0) } @faults;
}

# Tries cases on so many programs at a time, whose names begin with a prefix.  Options:
#	clean => the name of the run without faults	usual => its descriptors
#	cases => those of each run; "make nth-call" tries others
#	ends => calls whose failure may end the program, with reasons
#	prefix, at_once, prepare => of a name and a case, run => of programs
sub cases_ok
{
	my (%options) = @_;
	my @cases = $ENV{TWT_NTH_PART} ? some_cases(counts($options{clean})) : @{ $options{cases} };
	my $tried = @cases;
	my ($number, $failed) = (0, 0);
	my @faults;

	while (@cases)
	{
		my @programs = map { $options{prepare}->($options{prefix} . ++$number, $_) } splice @cases, 0, $options{at_once};

		$options{run}->(@programs);
		push @faults, map { faults($_, @options{qw(usual ends)}) } @programs;
		$failed += grep { failed($_->{name}) } @programs;
	}
	note("of $tried calls $failed failed");
	is(join("\n", @faults), '', 'no failed call ends the program by a signal or without a word, or leaves more descriptors of a kind open');
	return cmp_ok($failed, '>', $tried / 2, 'calls failed');
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
