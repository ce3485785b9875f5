# SmallFaults.pm -- many faults that are over in a moment, beside the large ones of TwTasks::Nemesis.
#
# A process of its own makes them, so they also come while a large fault lasts.  It must
# neither wait for a server nor be told what was started anew: it finds processes by what the
# kernel says of them, and asks no database.  All choices but those of victims come from srand().

package TwTasks::SmallFaults;

use strict;
use warnings FATAL => 'all';

use List::Util qw(shuffle);
use POSIX ();
use PostgreSQL::Test::Utils;
use TwTasks::Sidecar;
use TwTasks::Wait;

# Seconds between two of them on average, and seconds that a process stands still, at most.
use constant { BETWEEN => 0.04, PAUSE => 0.2 };

# Calls of sidecars, and the ways to cut one that cost no time.
my @calls = qw(grab finish execute tick sweep next_triggers);
my @ways = qw(after never);

sub one_of
{
	return $_[ rand @_ ];
}

# Takes "nodes" (servers), "proxies" (TwTasks::Proxy) and a directory for its record.
sub start
{
	my ($class, %options) = @_;
	my $self = bless { %options, parent => $$, record => "$options{directory}/small" }, $class;
	my $seed = int rand 1e9;

	PostgreSQL::Test::Utils::append_to_file($self->{record}, '');
	$self->{pid} = fork // die "could not fork: $!";
	return $self if $self->{pid};

	# The test's own objects are not ours to destroy.
	srand $seed;
	eval { $self->follow } or print STDERR "small faults: $@";
	POSIX::_exit(1);
}

# ---- victims ----

# A file of the kernel about a process; empty when the process is gone.
sub told
{
	my ($pid, $file) = @_;

	return eval { PostgreSQL::Test::Utils::slurp_file("/proc/$pid/$file") } // '';
}

# Processes of the test that run this program.
sub running
{
	my ($self, $command) = @_;

	return grep { told($_, 'cmdline') =~ $command } TwTasks::Sidecar::children_of($self->{parent});
}

sub sidecars
{
	return $_[0]->running(qr/^\S*twtasksd\0/);
}

# Whether a process below a sidecar does its work.  Others are about to run a program, or check
# what a configuration says: without an answer a sidecar does not start.
sub works
{
	return told($_[0], 'cmdline') !~ /\0--check\0|twtasksd\0|^\z/;
}

# Handlers, and the programs that they have started.
sub handlers
{
	my ($self) = @_;

	return grep { works($_) } map { ($_, TwTasks::Sidecar::children_of($_)) } map { TwTasks::Sidecar::children_of($_) } $self->sidecars;
}

# The first process of a server; none while it is down.
sub postmaster
{
	my ($node) = @_;

	return (eval { PostgreSQL::Test::Utils::slurp_file($node->data_dir . '/postmaster.pid') } // '') =~ /^(\d+)/ ? $1 : ();
}

sub backends
{
	my ($self, $role) = @_;

	return grep { told($_, 'cmdline') =~ / $role postgres / } map { TwTasks::Sidecar::children_of($_) } map { postmaster($_) } @{ $self->{nodes} };
}

# ---- faults ----
#
# Each returns whether it had a victim that nobody else counts.

sub kill_one
{
	my ($signal, @pids) = @_;

	return @pids && kill $signal => one_of(@pids);
}

# Processes that stand still longer, by a large fault, are left alone.
sub pause
{
	my (@pids) = @_;
	my @awake = grep { told($_, 'stat') =~ /\) [^TZ]/ } @pids or return 0;

	kill STOP => @awake;
	watch_for(rand PAUSE);
	return kill CONT => @awake;
}

sub pause_one
{
	return @_ && pause(one_of(@_));
}

# The proxy counts what was cut.
sub cut
{
	my ($self, $call, $how) = @_;

	one_of(@{ $self->{proxies} })->cut_soon($call, $how);
	return 0;
}

my %faults = (
	kill_worker => sub { kill_one(KILL => $_[0]->handlers) },
	end_session => sub { kill_one(TERM => $_[0]->backends('sidecar')) },
	end_producer => sub { kill_one(TERM => $_[0]->backends('producer')) },
	cut_call => sub { $_[0]->cut(one_of(@calls), one_of(@ways)) },
	cut_commit => sub { $_[0]->cut('COMMIT', one_of(@ways)) },
	pause_worker => sub { pause_one($_[0]->handlers) },
	pause_sidecar => sub { pause_one($_[0]->sidecars) },
	pause_session => sub { pause_one($_[0]->backends('sidecar')) },
	pause_commit => sub { pause_one($_[0]->backends('producer')) },
	pause_connections => sub { pause_one(map { $_->{pid} } @{ $_[0]{proxies} }) },
	pause_server => sub {
		my ($self) = @_;
		my ($pid) = shuffle(map { postmaster($_) } @{ $self->{nodes} });

		return $pid && pause($pid, TwTasks::Sidecar::children_of($pid));
	},
	pause_java => sub { pause_one($_[0]->running(qr/^java\0/)) });

# ---- the process ----

sub follow
{
	my ($self) = @_;
	my $is_told;

	local $SIG{TERM} = sub { $is_told = 1 };
	until ($is_told)
	{
		my $name = one_of(sort keys %faults);

		PostgreSQL::Test::Utils::append_to_file($self->{record}, "$name\n") if $faults{$name}->($self);
		watch_for(-log(1 - rand) * BETWEEN);
	}
	POSIX::_exit(0);
}

# Returns whether it had gone on until now.
sub end
{
	my ($self) = @_;
	my $pid = delete $self->{pid} or return 1;

	local ($?, $!);
	kill TERM => $pid;
	waitpid $pid, 0;
	return $? == 0;
}

# How often each fault had a victim, by its name.
sub struck
{
	my ($self) = @_;
	my %struck;

	$struck{"small_$_"}++ foreach split /\n/, PostgreSQL::Test::Utils::slurp_file($self->{record});
	return %struck;
}

sub DESTROY
{
	my ($self) = @_;

	return if !$self->{pid} || $self->{parent} != $$;
	local ($?, $!);
	kill KILL => $self->{pid};
	waitpid $self->{pid}, 0;
	return;
}

1;
