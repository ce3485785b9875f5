# EventWitness.pm -- whether ordered events kept their promises, beside TwTasks::Witnesses, which
# judges their head tasks.
#
# The lines, in the files of TwTasks::Witnesses:
#
#	clients		TX event OBJECT TEXT
#				TX noevent OBJECT TEXT, in a savepoint that TX rolls back
#	ledger		sent TASK VERSION OBJECT ID TEXT
#	topics		the same, for objects whose heads go to a topic
#	decoded		queued TEXT
#				head TASK OBJECT
#				leave TASK
#	ends		still OBJECT TASK, whose head waits for a person
#
# TEXT is "PRODUCER-N-PLACE", for the place in its producer's N-th transaction, and is used
# once.  OBJECT begins with the name of its stream, as in "once:7".  The head of such an
# object starts at most once.  Others may repeat what they have sent.  No commit leaves an object with
# two live heads, whether or not they run at one time.

package TwTasks::EventWitness;

use strict;
use warnings FATAL => 'all';

# Takes the TwTasks::Witnesses to whom faults go.
sub new
{
	my ($class, $witnesses) = @_;

	return bless { witnesses => $witnesses, wanted => {}, sends => [], queued => {}, still => {}, sent => {}, heads => {}, object_of => {} }, $class;
}

sub is_once
{
	return $_[0] =~ /^once:/;
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
	my ($tx, $what, $object, $text) = $line =~ /^(\S+) ((?:no)?event) (\S+) (\S+)/ or return;

	$self->{wanted}{$text} = { tx => $tx, stays => $what eq 'event', object => $object };
	return;
}

sub take_ledger
{
	my ($self, $line) = @_;

	push @{ $self->{sends} }, [ split / /, $1 ] if $line =~ /^sent (.*)/;
	return;
}

sub take_topic
{
	my ($self, $line) = @_;

	return $self->take_ledger($line);
}

sub take_decoded
{
	my ($self, $line) = @_;

	$self->{queued}{$1} = 1 if $line =~ /^queued (\S+)$/;
	# A promoted server may lack what nobody was told of.
	@$self{qw(queued heads object_of in_switch)} = ({}, {}, {}, []) if $line =~ /^switch /;
	push @{ $self->{in_switch} }, [ split / /, $line ] if $self->{in_switch} && $line =~ /^head /;
	$self->take_transaction(@{ delete $self->{in_switch} }) if $line eq 'switched';
	return;
}

# The lines of decoding between the begin and the commit of a transaction that the server has not
# shown before.
sub take_transaction
{
	my ($self, @lines) = @_;
	my %changed;

	foreach my $line (@lines)
	{
		my ($what, $task, $object) = @$line;

		if ($what eq 'head')
		{
			$self->{object_of}{$task} = $object;
			$changed{$object} = $self->{heads}{$object}{$task} = 1;
		}
		elsif ($what eq 'leave' && $self->{object_of}{$task})
		{
			delete $self->{heads}{ delete $self->{object_of}{$task} }{$task};
		}
	}
	foreach my $object (sort keys %changed)
	{
		my @heads = sort keys %{ $self->{heads}{$object} };

		$self->fault(double => $object, "has the live heads @heads") if @heads > 1;
	}
	return;
}

sub take_end
{
	my ($self, $line) = @_;
	my ($what, $object, $task) = split / /, $line;

	$self->{still}{$object} = $task if $what eq 'still';
	return;
}

# ---- the verdict ----

# After the tasks were judged.
sub judge
{
	my ($self) = @_;
	my $gone = $self->{witnesses}{gone};

	# A promotion may lose a head that may repeat, with what it has sent.
	$self->judge_send(@$_) foreach grep { !$gone->{ $_->[0] } } @{ $self->{sends} };
	$self->judge_still($_) foreach sort keys %{ $self->{still} };
	$self->judge_wanted($_) foreach sort keys %{ $self->{wanted} };
	$self->fault(ghost => $_, 'is in the queue, and was not committed') foreach grep { $self->fate($_) ne 'committed' } sort keys %{ $self->{queued} };
	return;
}

# "committed" or "refused", also for what was taken back; "nobody" for what nobody asked for.
sub fate
{
	my ($self, $text) = @_;
	my $wanted = $self->{wanted}{$text} or return 'nobody';

	return $wanted->{stays} ? $self->{witnesses}->fate($wanted->{tx}) : 'refused';
}

sub judge_send
{
	my ($self, $task, $version, $object, $id, $text) = @_;
	my $before = $self->{sent}{$text};
	my $wanted = $self->{wanted}{$text};

	$self->{witnesses}{count}{ $before ? 'resends' : 'events' }++;
	if ($before)
	{
		$self->fault(double => $text, 'was sent twice') if is_once($object);
		$self->fault(broken => $text, "has the ids $before and $id") if $before != $id;
		return;
	}
	$self->{sent}{$text} = $id;
	$self->fault(ghost => $text, 'was sent, and was not committed') if $self->fate($text) ne 'committed';
	$self->fault(broken => $text, "was sent to $object") if $wanted && $wanted->{object} ne $object;
	$self->fault(broken => $text, 'was sent after a later event of its object') if $id <= ($self->{last}{$object} // 0);
	$self->{last}{$object} = $id;
	$self->judge_order($object, $text);
	return;
}

# A producer's transactions come one after the other.  One whose answer was lost may have
# been committed later.
sub judge_order
{
	my ($self, $object, $text) = @_;
	my ($producer, $number, $place) = split /-/, $text;
	my $last = $self->{places}{"$object $producer"} // '-1-0';
	my (undef, $last_number, $last_place) = split /-/, $last;

	return if !$self->{wanted}{$text} || $self->{witnesses}->told($self->{wanted}{$text}{tx}) ne 'committed';
	$self->fault(broken => $text, "was sent after $last, which its producer added later")
	  if $number < $last_number || ($number == $last_number && $place < $last_place);
	$self->{places}{"$object $producer"} = $text;
	return;
}

# Only an object whose head may not start again stands still, while a person must look at it.
sub judge_still
{
	my ($self, $object) = @_;
	my $task = $self->{still}{$object};
	my $status = $self->{witnesses}->status_of($task) // 'missing';

	$self->fault(lost => $object, "stands still at the task $task, which is $status") if !is_once($object) || $status ne 'ERROR';
	return;
}

sub judge_wanted
{
	my ($self, $text) = @_;

	return if $self->{sent}{$text} || $self->{still}{ $self->{wanted}{$text}{object} } || $self->fate($text) ne 'committed';
	return $self->fault(lost => $text, 'was committed, and never sent');
}

1;
