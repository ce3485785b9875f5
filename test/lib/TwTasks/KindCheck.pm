# KindCheck.pm -- whether each kind of task kept its promise, by what the third
# party and the workers wrote, and by the outcomes in the database.
#
# A fault is a sentence that begins with the identifier.  Only what the third party
# knows counts as an action: what the database believes is compared with it.

package TwTasks::KindCheck;

use strict;
use warnings FATAL => 'all';

use List::Util qw(max);

# Decisions that say: the action was not done.
my %undone = map { $_ => 1 } qw(expired given_up cancelled failed);

# Takes the lines of the third party, those of the workers, outcomes, attempts and
# anomalies, as lists of hashes; and "kinds", the kind of each name.
sub new
{
	my ($class, %facts) = @_;
	my $self = bless { %facts, faults => [] }, $class;

	foreach my $line (@{ $facts{lines} })
	{
		my $identifier = $line->{identifier} // next;

		push @{ $self->{by}{$identifier}{ $line->{what} } }, $line;
	}
	push @{ $self->{by}{ $_->{identifier} }{"worker $_->{what}"} }, $_ foreach @{ $facts{record} };
	push @{ $self->{by}{ $_->{identifier} }{anomaly} }, $_ foreach @{ $facts{anomalies} };
	return $self;
}

sub of
{
	my ($self, $identifier, $what) = @_;

	return @{ $self->{by}{$identifier}{$what} // [] };
}

sub fault
{
	my ($self, $identifier, $text) = @_;

	push @{ $self->{faults} }, "$identifier: $text";
	return;
}

# All faults, as sentences.
sub faults
{
	my ($self) = @_;
	my %seen;

	foreach my $outcome (@{ $self->{outcomes} })
	{
		my $identifier = $outcome->{identifier};
		my $kind = $self->{kinds}{ $outcome->{kind} } or die "kind $outcome->{kind} is unknown\n";

		$seen{$identifier} = 1;
		$self->check_decided($outcome);
		$self->check_effects($kind, $outcome);
		$self->check_calls($identifier);
		my $check = $self->can("check_$kind");
		$self->$check($identifier, $outcome) if $check;
	}
	$self->fault($_, 'the third party was called for it, and it is no identifier')
	  foreach grep { !$seen{$_} } sort keys %{ $self->{by} };
	return @{ $self->{faults} };
}

sub check_decided
{
	my ($self, $outcome) = @_;

	$self->fault($outcome->{identifier}, 'it is undecided') unless defined $outcome->{decision};
	$self->fault($outcome->{identifier}, "it has a problem: $outcome->{problem}") if defined $outcome->{problem};
	return;
}

# The outcome and the third party say the same.
sub check_effects
{
	my ($self, $kind, $outcome) = @_;
	my $identifier = $outcome->{identifier};
	my @effects = $self->of($identifier, 'effect');
	my $decision = $outcome->{decision} // return;
	my ($same) = grep { $_->{serial} == ($outcome->{outcome}{serial} // 0) } @effects;

	$self->fault($identifier, scalar(@effects) . ' actions were completed') if @effects > 1;
	if ($undone{$decision})
	{
		# An effect of another party is not ours to prevent.  The end of an idempotent
		# action may be unknown when it expires, and then the row says so.
		$self->fault($identifier, "it was done, and the outcome is $decision")
		  if !($kind eq 'idempotent' && $outcome->{uncertain}) && grep { ($_->{owner} // 'us') eq 'us' } @effects;
	}
	elsif ($decision ne 'uncertain')
	{
		$self->fault($identifier, "the outcome is $decision, which the third party does not know")
		  unless $same && $same->{decision} eq $decision;
	}
	return;
}

# Each attempt calls an operation that changes something once.
sub check_calls
{
	my ($self, $identifier) = @_;
	my %calls;

	$calls{"$_->{op} of attempt $_->{attempt}"}++ foreach grep { $_->{op} =~ /^(act|first|second)$/ } $self->of($identifier, 'call');
	$self->fault($identifier, "$_ was called $calls{$_} times") foreach grep { $calls{$_} > 1 } sort keys %calls;
	return;
}

sub check_idempotent
{
	my ($self, $identifier) = @_;
	my @wrong = grep { ($_->{key} // '') ne $identifier } $self->of($identifier, 'call');

	$self->fault($identifier, 'it was called without its key') if @wrong;
	return;
}

# Before each action the third party was asked, with the number of the attempt.
sub check_pessimistic
{
	my ($self, $identifier) = @_;
	my %asked;

	foreach my $call ($self->of($identifier, 'call'))
	{
		$asked{ $call->{attempt} } = 1 if $call->{op} eq 'find';
		$self->fault($identifier, "attempt $call->{attempt} acts without a search before it")
		  if $call->{op} eq 'act' && !$asked{ $call->{attempt} };
	}
	return;
}

# Attempts to which the third party has surely said no.
sub refused
{
	my ($self, $identifier) = @_;

	return map { ($_->{attempt} => 1) } grep { $_->{op} eq 'act' && defined $_->{refused} } $self->of($identifier, 'answer');
}

# After an end that nobody knows there is no other action, and the outcome says so.
sub check_black_boxed
{
	my ($self, $identifier, $outcome) = @_;
	my %refused = $self->refused($identifier);
	my @attempts = map { $_->{attempt} } grep { $_->{step} eq 'attempt' } $self->of($identifier, 'worker start');
	my $last = max(0, @attempts);
	my %known = map { ($_->{attempt} => $_) } grep { $_->{outcome} } $self->of($identifier, 'worker answer');
	my $decision = $outcome->{decision} // '';

	$self->fault($identifier, "it acts again after attempt $_, whose end is unknown") foreach grep { !$refused{$_} } 1 .. $last - 1;
	$self->fault($identifier, "the end of attempt $last is unknown, and the outcome is $decision")
	  if $last && !$known{$last} && $decision ne 'uncertain';
	$self->fault($identifier, 'the outcome says uncertain, and the row does not')
	  if ($decision eq 'uncertain') != ($outcome->{uncertain} ? 1 : 0);
	return;
}

# Whether it is of an undo that has failed too often, which is no result of a worker.
sub is_in_vain
{
	my ($anomaly) = @_;

	return !defined $anomaly->{result} && $anomaly->{step} eq 'undo';
}

# A second step comes after a look that has found our first step to be the oldest.  A
# first step is left over only with an anomaly, which tells a person of it.
sub check_optimistic
{
	my ($self, $identifier, $outcome) = @_;
	my %looked;

	foreach my $call ($self->of($identifier, 'call'))
	{
		$looked{ $call->{attempt} } = 1 if $call->{op} eq 'look';
		$self->fault($identifier, "attempt $call->{attempt} completes without a look before it")
		  if $call->{op} eq 'second' && !$looked{ $call->{attempt} };
	}
	return if grep { is_in_vain($_) } $self->of($identifier, 'anomaly');
	my %gone = map { ($_->{step} => 1) } $self->of($identifier, 'undone'), grep { $_->{step} } $self->of($identifier, 'effect');
	foreach my $step ($self->of($identifier, 'first'))
	{
		$self->fault($identifier, "first step $step->{serial} is left over")
		  if $step->{owner} eq 'us' && !$gone{ $step->{serial} } && $step->{expires} > ($outcome->{decided} // 0);
	}
	return;
}

# Results of black boxes that the sidecar got too late, and of which there is no
# anomaly: their tasks.  Only a sidecar that lives on can tell.
sub lost_results
{
	my ($self) = @_;
	my @lost;

	foreach my $outcome (grep { $_->{uncertain} && $self->{kinds}{ $_->{kind} } eq 'black_boxed' } @{ $self->{outcomes} })
	{
		my $identifier = $outcome->{identifier};
		my %noted = map { ($_->{number} => 1) } $self->of($identifier, 'anomaly');

		push @lost, map { $_->{task} }
		  grep { $_->{outcome}{decision} && !$noted{ $_->{attempt} } } $self->of($identifier, 'worker answer');
	}
	return @lost;
}

# An anomaly did not count: the end of its step was unknown, or the step ended by hand.
# An outcome in it is what a worker said.  An error without one may be the sidecar's.
sub strange_anomalies
{
	my ($self) = @_;
	my %failed = map { ($_->{task} => 1) } grep { ($_->{answer} // '') =~ /^(fault|unknown|expired)$/ } @{ $self->{attempts} };
	my %counted = map { ($_->{task} => 1) } grep { ($_->{answer} // '') =~ /^(decided|done|fault|found|own|none)$/ } @{ $self->{attempts} };
	my @strange;

	foreach my $anomaly (@{ $self->{anomalies} })
	{
		next if is_in_vain($anomaly) && $failed{ $anomaly->{task} };
		my @said = grep { $_->{task} eq $anomaly->{task} && $_->{outcome} } $self->of($anomaly->{identifier}, 'worker answer');

		push @strange, "$anomaly->{identifier}#$anomaly->{number}.$anomaly->{step}: " . ($anomaly->{result} // 'no result')
		  if !defined $anomaly->{result} || $counted{ $anomaly->{task} } || $anomaly->{outcome} && !@said;
	}
	return @strange;
}

1;
