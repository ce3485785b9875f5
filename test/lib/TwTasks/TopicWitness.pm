# TopicWitness.pm -- whether messages to Kafka kept their promises, beside TwTasks::Witnesses,
# which judges their tasks.
#
# The lines, in the files of TwTasks::Witnesses:
#
#	clients		TX message KEY TEXT
#				TX nomessage KEY TEXT, in a savepoint that TX rolls back
#	topics		message TASK NUMBER KEY TEXT, for each message, with its number in its task
#				sent TASK VERSION OBJECT ID TEXT, for each event: TwTasks::EventWitness
#
# TEXT is used once.  A message comes at least once, in a task and a place that stay.  Messages of
# one task with one key first come in their order, also where attempts overlap.

package TwTasks::TopicWitness;

use strict;
use warnings FATAL => 'all';

use JSON::PP;

# Takes the TwTasks::Witnesses to whom faults go.
sub new
{
	my ($class, $witnesses) = @_;

	return bless { witnesses => $witnesses, wanted => {}, messages => [], found => {} }, $class;
}

# A line of TwTasks::Kafka::write_messages() as lines of "topics".  Heads of events are JSON.
sub lines_of
{
	my ($line) = @_;
	my ($value, $id) = split /\t/, $line;
	my ($task, $number) = split /:/, $id;

	return "message $task $number $value" if $value !~ /^\{/;
	my $head = decode_json($value);

	return map { "sent $task 0 $head->{object} $_->{id} $_->{event}" } @{ $head->{events} };
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
	my ($tx, $what, $key, $text) = $line =~ /^(\S+) ((?:no)?message) (\S+) (\S+)/ or return;

	$self->{wanted}{$text} = { tx => $tx, stays => $what eq 'message', key => $key };
	return;
}

sub take_topic
{
	my ($self, $line) = @_;
	my ($what, @message) = split / /, $line;

	push @{ $self->{messages} }, \@message if $what eq 'message';
	return;
}

# ---- the verdict ----

# After the tasks were judged.
sub judge
{
	my ($self) = @_;
	my $gone = $self->{witnesses}{gone};

	# A promotion may lose a task that has sent its messages.
	$self->judge_message(@$_) foreach grep { !$gone->{ $_->[0] } } @{ $self->{messages} };
	foreach my $text (sort keys %{ $self->{wanted} })
	{
		$self->fault(lost => $text, 'was committed, and never sent') if $self->is_committed($text) && !$self->{found}{$text};
	}
	return;
}

sub is_committed
{
	my ($self, $text) = @_;
	my $wanted = $self->{wanted}{$text};

	return $wanted && $wanted->{stays} && $self->{witnesses}->fate($wanted->{tx}) eq 'committed';
}

sub judge_message
{
	my ($self, $task, $number, $key, $text) = @_;
	my $before = $self->{found}{$text};

	$self->{witnesses}{count}{ $before ? 'repeats' : 'messages' }++;
	if ($before)
	{
		$self->fault(broken => $text, "was sent as $before and as $task:$number") if $before ne "$task:$number";
		return;
	}
	$self->{found}{$text} = "$task:$number";
	return $self->fault(ghost => $text, 'was sent, and was not committed') if !$self->is_committed($text);
	my $last = $self->{last}{"$task $key"} // -1;

	$self->fault(broken => $text, "was sent with the key $key") if $self->{wanted}{$text}{key} ne $key;
	$self->fault(broken => $text, 'was sent after a later message of its task and key') if $number <= $last;
	$self->{last}{"$task $key"} = $number;
	return;
}

1;
