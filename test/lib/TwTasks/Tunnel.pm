# Tunnel.pm -- a port of this machine that passes everything on to a server, as
# a network does, and can fall silent, as a cut network does.

package TwTasks::Tunnel;

use strict;
use warnings FATAL => 'all';

use IO::Select;
use IO::Socket::INET;
use POSIX ();
use TwTasks::Wait;

use constant BLOCK => 65536;

# To the server at HOST:PORT.
sub create
{
	my ($class, $server, %parts) = @_;
	my $self = bless {
		%parts,
		server => $server,
		links => {},
		listener => IO::Socket::INET->new(
			LocalAddr => '127.0.0.1',
			Listen => 20)
	}, $class;

	die "could not listen: $!" unless $self->{listener};
	$self->{port} = $self->{listener}->sockport;
	$self->{pid} = fork // die "could not fork: $!";
	return $self if $self->{pid};
	eval { $self->serve; };
	POSIX::_exit(1);
}

sub address
{
	return "127.0.0.1:$_[0]->{port}";
}

# Connections stay open, and nothing comes through.
sub cut
{
	my ($self) = @_;

	kill STOP => $self->{pid};
	wait_for(sub { TwTasks::Sidecar::process_state($self->{pid}) =~ /^[Tt]/ }, 'the tunnel to be cut');
	return;
}

sub mend
{
	kill CONT => $_[0]->{pid};
	return;
}

sub serve
{
	my ($self) = @_;
	my $select = IO::Select->new($self->{listener});

	while (1)
	{
		foreach my $ready ($select->can_read)
		{
			$ready == $self->{listener}
			  ? $self->link_up($select)
			  : $self->pass_on($select, $ready);
		}
	}
	return;
}

sub link_up
{
	my ($self, $select) = @_;
	my $client = $self->{listener}->accept or return;
	my $server = IO::Socket::INET->new($self->{server}) or return;

	$self->{links}{$client} = $server;
	$self->{links}{$server} = $client;
	$select->add($client, $server);
	return;
}

sub pass_on
{
	my ($self, $select, $from) = @_;
	my $to = $self->{links}{$from} or return;
	my $n = sysread $from, my $block, BLOCK;

	if ($n && $self->passes($from, $block))
	{
		syswrite $to, $block;
		return;
	}
	$select->remove($from, $to);
	delete @{ $self->{links} }{ $from, $to };
	close $_ foreach $from, $to;
	return;
}

# Whether these bytes come through; if not, both connections are closed.
sub passes
{
	return 1;
}

sub DESTROY
{
	my ($self) = @_;

	local ($?, $!);
	kill KILL => $self->{pid};
	waitpid $self->{pid}, 0;
	return;
}

1;
