# Havoc.pm -- kills and freezes servers at random, and brings them back.
#
# Servers are of kinds, and one of each kind is always left alone.  All that
# happens comes from srand(): see TwTasks::Seed.

package TwTasks::Havoc;

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Time::HiRes qw(time);

# Seconds between two blows, and seconds until a server is back: least, most.
use constant PAUSE => (0.5, 5);
use constant DEAD => (0.2, 5);
use constant FROZEN => (0.5, 12);

sub between
{
	my ($least, $most) = @_;

	return $least + rand($most - $least);
}

# Takes lists of servers by kind.  A server can crash(), launch() without a
# wait, and take a signal(); a false answer says that none was there.
sub new
{
	my ($class, %servers) = @_;
	my @all;

	foreach my $kind (sort keys %servers)
	{
		push @all, map { { kind => $kind, server => $_, back => 0 } } @{ $servers{$kind} };
	}
	return bless { all => \@all, next => time, count => {} }, $class;
}

sub bring_back
{
	my ($self, $victim) = @_;

	if ($victim->{is_dead})
	{
		$victim->{server}->launch;
	}
	else
	{
		$victim->{server}->signal('CONT');
	}
	$victim->{back} = 0;
	return;
}

# One of those that stand, if another of its kind stands too.
sub choose
{
	my ($self) = @_;
	my %standing;

	$standing{ $_->{kind} }++ foreach grep { !$_->{back} } @{ $self->{all} };
	my @victims = grep { !$_->{back} && $standing{ $_->{kind} } > 1 } @{ $self->{all} };

	return @victims ? $victims[ rand @victims ] : undef;
}

sub strike
{
	my ($self) = @_;
	my $victim = $self->choose or return;

	my $is_dead = rand() < 0.5;
	my $back = time + ($is_dead ? between(DEAD) : between(FROZEN));

	$is_dead ? $victim->{server}->crash : $victim->{server}->signal('STOP') or return;
	@$victim{qw(is_dead back)} = ($is_dead, $back);
	$self->{count}{"$victim->{kind} " . ($is_dead ? 'killed' : 'frozen')}++;
	return;
}

# Does what is due; to be called again and again.
sub turn
{
	my ($self) = @_;
	my $now = time;

	foreach my $victim (@{ $self->{all} })
	{
		$self->bring_back($victim) if $victim->{back} && $victim->{back} <= $now;
	}
	return if $now < $self->{next};
	$self->strike;
	$self->{next} = $now + between(PAUSE);
	return;
}

# Brings all back, and leaves them alone.
sub end
{
	my ($self) = @_;

	$self->bring_back($_) foreach grep { $_->{back} } @{ $self->{all} };
	return;
}

# Takes sidecars; returns as many servers that are a random process of one each.
sub children_of
{
	return map { TwTasks::Havoc::Child->new($_) } @_;
}

# How often a server was killed or frozen.
sub count
{
	my ($self) = @_;
	my $count = 0;

	$count += $_ foreach values %{ $self->{count} };
	return $count;
}

# The same as text, for each kind of servers.
sub summary
{
	my ($self) = @_;

	return join ', ', map { "$_ $self->{count}{$_} times" } sort keys %{ $self->{count} };
}

package TwTasks::Havoc::Child;

sub new
{
	my ($class, $sidecar) = @_;

	return bless { sidecar => $sidecar }, $class;
}

# A process below the sidecar, chosen anew each time.
sub choose
{
	my ($self) = @_;
	my @children = $self->{sidecar}->processes;

	$self->{pid} = @children ? $children[ rand @children ] : undef;
	return $self->{pid};
}

sub crash
{
	my ($self) = @_;

	return $self->choose && kill KILL => $self->{pid};
}

# The one that was stopped is the one that goes on.
sub signal
{
	my ($self, $name) = @_;

	return ($name eq 'CONT' || $self->choose) && kill $name => $self->{pid};
}

# Its sidecar starts the next one.
sub launch
{
	return 1;
}

1;
