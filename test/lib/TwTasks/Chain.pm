# Chain.pm -- what a consumer of ordered events got, and whether it is right.
#
# The record is the consumer's own: lines in the order in which events came.  Each
# event of a test is a text that is used once.

package TwTasks::Chain;

use strict;
use warnings FATAL => 'all';

use JSON::PP;
use PostgreSQL::Test::Utils;
use TwTasks::Ledger;

my $json = JSON::PP->new->canonical->allow_nonref;

sub new
{
	my ($class) = @_;
	my $directory = PostgreSQL::Test::Utils::tempdir();
	my $self = bless { path => "$directory/record" }, $class;

	PostgreSQL::Test::Utils::append_to_file($self->{path}, '');
	return $self;
}

# A worker that keeps the record, and waits after each head task at the fifo, if
# one is given.
sub worker
{
	my ($self, $gate) = @_;

	return [ TwTasks::Ledger::handler('event_worker.py'), $self->{path}, $gate // '-' ];
}

# All head tasks that came, in order.
sub heads
{
	my ($self) = @_;

	return map { $json->decode($_) } TwTasks::Ledger::whole_lines($self->{path});
}

# The events that came, without resends.
sub events
{
	my ($self) = @_;
	my %seen;

	return grep { !$seen{ $_->{id} }++ } map { @{ $_->{events} } } $self->heads;
}

# Adds an event that came for the first time to the chain of its object.
sub first_send
{
	my ($state, $object, $event) = @_;
	my $last = $state->{last}{$object} // 0;
	my $from = $event->{skipped} // $event->{prev};
	my @faults;

	push @faults, "$object: event $event->{id} came after $last"
	  unless $event->{id} > $last;
	push @faults, "$object: event $event->{id} has prev $event->{prev}, the last was $last"
	  unless $from <= $last && $event->{prev} < $event->{id};
	push @faults, "$object: \"$event->{event}\" has two ids"
	  if $state->{texts}{ $event->{event} }++;
	$state->{last}{$object} = $event->{id};
	return @faults;
}

# The faults of the chains, as sentences.
sub faults
{
	my ($self) = @_;
	my %state;
	my @faults;

	foreach my $head ($self->heads)
	{
		foreach my $event (@{ $head->{events} })
		{
			my $form = $json->encode([ $head->{object}, $event ]);
			my $before = $state{form}{ $event->{id} };

			$state{form}{ $event->{id} } //= $form;
			push @faults, defined $before
			  ? ($before eq $form ? () : "a resend differs: $before, $form")
			  : first_send(\%state, $head->{object}, $event);
		}
	}
	return @faults;
}

1;
