# KindWitness.pm -- whether kinds of task kept their promises, beside TwTasks::Witnesses, which
# judges their steps as tasks.
#
# The lines, in the files of TwTasks::Witnesses:
#
#	clients		TX start IDENTIFIER
#				TX nostart IDENTIFIER, in a savepoint that TX rolls back
#	ledger		act TASK VERSION IDENTIFIER KEY, which may be "-"
#	decoded		decided IDENTIFIER DECISION
#	ends		outcome IDENTIFIER DECISION, which is "-" while it is undecided
#
# IDENTIFIER begins with the name of its kind: "box" is black_boxed, and "idem" idempotent.
# Both try for ever, so each action is paid in the end.  The end of a black box may be
# uncertain.

package TwTasks::KindWitness;

use strict;
use warnings FATAL => 'all';

# Takes the TwTasks::Witnesses to whom faults go.
sub new
{
	my ($class, $witnesses) = @_;

	return bless { witnesses => $witnesses, wanted => {}, acts => {}, decided => {}, outcomes => {} }, $class;
}

sub is_black_box
{
	return $_[0] =~ /^box-/;
}

sub fault
{
	my ($self, @fault) = @_;

	return $self->{witnesses}->fault(@fault);
}

# ---- what the witnesses say ----

sub take_client
{
	my ($self, $line) = @_;
	my ($tx, $what, $identifier) = $line =~ /^(\S+) ((?:no)?start) (\S+)/ or return;

	$self->{wanted}{$identifier} = { tx => $tx, stays => $what eq 'start' };
	return;
}

sub take_ledger
{
	my ($self, $line) = @_;
	my ($task, $identifier, $key) = $line =~ /^act (\S+) \S+ (\S+) (\S+)/ or return;

	push @{ $self->{acts}{$identifier} }, { task => $task, key => $key };
	return;
}

# A promoted server may lack what nobody was told of.
sub take_decoded
{
	my ($self, $line) = @_;

	$self->{decided} = {} if $line =~ /^switch /;
	my ($identifier, $decision) = $line =~ /^decided (\S+) (\S+)/ or return;
	my $before = $self->{decided}{$identifier} //= $decision;

	$self->fault(double => $identifier, "was decided twice: $before, $decision") if $before ne $decision;
	return;
}

sub take_end
{
	my ($self, $line) = @_;
	my ($what, $identifier, $decision) = split / /, $line;

	$self->{outcomes}{$identifier} = $decision if $what eq 'outcome';
	return;
}

# ---- the verdict ----

# After the tasks were judged.
sub judge
{
	my ($self) = @_;
	my %all = map { $_ => 1 } map { keys %{ $self->{$_} } } qw(wanted acts outcomes);

	$self->judge_one($_) foreach sort keys %all;
	return;
}

sub judge_one
{
	my ($self, $identifier) = @_;
	my $wanted = $self->{wanted}{$identifier};
	my $is_committed = $wanted && $wanted->{stays} && $self->{witnesses}->fate($wanted->{tx}) eq 'committed';
	my $decision = $self->{outcomes}{$identifier};
	my $gone = $self->{witnesses}{gone};

	# A promotion may lose a step with the start of its identifier.
	my @acts = grep { !$gone->{ $_->{task} } } @{ $self->{acts}{$identifier} // [] };
	if (!$is_committed)
	{
		$self->fault(ghost => $identifier, 'has an outcome, and its start was not committed') if defined $decision;
		$self->fault(ghost => $identifier, 'was acted on, and its start was not committed') if @acts;
		return;
	}
	$self->{witnesses}{count}{identifiers}++;
	return $self->fault(lost => $identifier, 'was started, and has no outcome') if !defined $decision;
	$self->judge_decision($identifier, $decision, scalar @acts);
	is_black_box($identifier) ? $self->judge_black_box($identifier) : $self->judge_idempotent($identifier, @acts);
	return;
}

sub judge_decision
{
	my ($self, $identifier, $decision, $acts) = @_;
	my $decoded = $self->{decided}{$identifier} // $decision;

	$self->fault(broken => $identifier, "is $decision in the table, and was decided as $decoded") if $decision ne $decoded;
	$self->fault(unfounded => $identifier, 'is paid, and nobody acted') if $decision eq 'paid' && !$acts;
	return if $decision eq 'paid';
	$self->{witnesses}{count}{uncertain}++;
	$self->fault(lost => $identifier, "is $decision in the end") if $decision ne 'uncertain' || !is_black_box($identifier);
	return;
}

# A step that a promotion has lost may have acted all the same.
sub judge_black_box
{
	my ($self, $identifier) = @_;
	my $all = scalar @{ $self->{acts}{$identifier} // [] };

	$self->fault(double => $identifier, "was acted on $all times") if $all > 1;
	return;
}

# The third party of an idempotent action counts one for each key.
sub judge_idempotent
{
	my ($self, $identifier, @acts) = @_;

	$self->fault(broken => $identifier, "was acted on with the key $_->{key}") foreach grep { $_->{key} ne $identifier } @acts;
	return;
}

1;
