# ZooKeeperFaults.pm -- a tunnel to a ZooKeeper server that makes two faults: the
# answer to the first candidate's node is lost with its connection, and a session
# expires while its client lives.

package TwTasks::ZooKeeperFaults;

use strict;
use warnings FATAL => 'all';

use parent 'TwTasks::Tunnel';

use PostgreSQL::Test::Utils;

# ZooKeeper's protocol has these types of requests, and these flags of an ephemeral
# sequential node.
use constant { CREATE => 1, CLOSE_SESSION => -11, EPHEMERAL_SEQUENTIAL => 3 };

sub create
{
	my ($class, $server) = @_;

	return $class->SUPER::create($server, record => PostgreSQL::Test::Utils::tempdir() . '/record');
}

# Whether the answer was lost.
sub has_withheld
{
	return -e $_[0]->{record};
}

sub serve
{
	my ($self) = @_;

	local $SIG{USR1} = sub { $self->close_session };
	return $self->SUPER::serve;
}

# The server forgets the session and its ephemeral nodes, as it does when time is
# over.  The client finds out when it connects again.
sub expire
{
	kill USR1 => $_[0]->{pid};
	return;
}

sub close_session
{
	my ($self) = @_;

	$self->{is_over} = 1;
	syswrite $self->{to_server}, pack('N/a*', pack('l>l>', 1, CLOSE_SESSION));
	return;
}

sub passes
{
	my ($self, $from, $block) = @_;
	my $is_answer = '127.0.0.1:' . $from->peerport eq $self->{server};

	return 0 if $is_answer && delete $self->{is_over};
	$self->{to_server} = $self->{links}{$from} unless $is_answer;
	foreach my $frame ($self->frames($from, $block))
	{
		my ($number, $type) = unpack 'l>l>', $frame;

		return 0 if $is_answer && $self->is_withheld($number);
		$self->{withheld} //= $number if !$is_answer && $type == CREATE && is_candidate($frame);
	}
	return 1;
}

# Returns the whole frames; a frame has its length before it.
sub frames
{
	my ($self, $from, $block) = @_;
	my $rest = ($self->{rest}{$from} // '') . $block;
	my @frames;

	while (length $rest >= 4 && length $rest >= 4 + unpack 'N', $rest)
	{
		push @frames, unpack 'N/a*', $rest;
		substr $rest, 0, 4 + length $frames[-1], '';
	}
	$self->{rest}{$from} = $rest;
	return @frames;
}

sub is_candidate
{
	my ($frame) = @_;

	return unpack('N', substr $frame, -4) == EPHEMERAL_SEQUENTIAL;
}

# Withholds one answer only.  A client uses the number of a request once.
sub is_withheld
{
	my ($self, $number) = @_;

	return 0 if $self->{is_done} || !defined $self->{withheld} || $self->{withheld} != $number;
	PostgreSQL::Test::Utils::append_to_file($self->{record}, "withheld\n");
	return $self->{is_done} = 1;
}

1;
