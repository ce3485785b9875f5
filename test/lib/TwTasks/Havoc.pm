# Havoc.pm -- kills and freezes servers at random, and brings them back.
#
# Servers are of kinds, and one of each kind is always left alone.  All that
# happens comes from srand(): see TwTasks::Seed.

package TwTasks::Havoc;

use strict;
use warnings FATAL => 'all';

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
# wait, and take a signal().
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

	$victim->{is_dead} = rand() < 0.5;
	if ($victim->{is_dead})
	{
		$victim->{server}->crash;
		$victim->{back} = time + between(DEAD);
	}
	else
	{
		$victim->{server}->signal('STOP');
		$victim->{back} = time + between(FROZEN);
	}
	$self->{count}{"$victim->{kind} " . ($victim->{is_dead} ? 'killed' : 'frozen')}++;
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

# How often what happened to which kind of servers, as text.
sub summary
{
	my ($self) = @_;

	return join ', ', map { "$_ $self->{count}{$_} times" } sort keys %{ $self->{count} };
}

1;
