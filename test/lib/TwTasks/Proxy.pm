# Proxy.pm -- a proxy before the server that cuts connections at the moments
# that matter: after a call was sent and before its answer arrives.
#
# It listens at a socket of its own and passes everything on.  It knows calls
# by the name of their prepared statement, and plain statements that end a transaction as
# "COMMIT".  A call that is to be cut
#
#	after	is executed by the server, but its answer is not passed on;
#	never	does not reach the server;
#	late	reaches the server only when what the client did next, on another
#			connection, has been answered: "late grab" when a resolve_grab
#			has, any other when the same call has.
#
# The client's connection is cut then.  Or it falls silent: what the client sends is
# taken and nothing comes, as in a network that has lost the way.  The server does not
# learn it when the client goes away.  The next call that falls silent is
#
#	mute	executed by the server;
#	half	executed too, and a part of its answer is passed on;
#	lost	not executed, since it does not reach the server;
#	open	executed, and not committed, since only its end does not reach it.
#
# "silent connect" is a connection that is accepted and never answered.
#
# All calls of a name can also fall silent.  A call that is
#
#	blocked	does not reach the server, and nothing more passes on its connection;
#	held	is executed by the server, and its answer waits in the proxy.
#
# That concerns all calls of that name, until mend().

package TwTasks::Proxy;

use strict;
use warnings FATAL => 'all';

use IO::Select;
use IO::Socket::UNIX;
use POSIX ();
use PostgreSQL::Test::Utils;
use TwTasks::Wait;

use constant BLOCK => 65536;

sub start
{
	my ($class, $node) = @_;
	my $self = bless {
		server => $node->host . '/.s.PGSQL.' . $node->port,
		port => $node->port,
		directory => PostgreSQL::Test::Utils::tempdir_short(),
		links => {},
		rules => [],
		silent => {},
		held => []
	}, $class;

	$self->{record} = "$self->{directory}/record";
	PostgreSQL::Test::Utils::append_to_file($self->{record}, '');
	pipe $self->{orders}, $self->{control} or die "could not make a pipe: $!";
	$self->{control}->autoflush(1);
	$self->{listener} = IO::Socket::UNIX->new(
		Local => "$self->{directory}/.s.PGSQL.$self->{port}",
		Listen => 20) or die "could not listen: $!";
	$self->{pid} = fork // die "could not fork: $!";
	return $self if $self->{pid};

	eval { $self->serve; };
	$self->note("failed: $@");
	POSIX::_exit(1);
}

# How to connect through it.
sub connstr
{
	my ($self) = @_;

	return "host=$self->{directory} port=$self->{port} dbname=postgres";
}

# The next call of that name will be cut so.
sub cut
{
	my ($self, $call, $how) = @_;

	print { $self->{control} } "$call $how\n";
	wait_for(sub { $self->has_noted("will cut $call $how") },
		'the proxy to take an order');
	return;
}

# The same, unless the proxy has such an order for calls of that name; does not wait.
sub cut_soon
{
	my ($self, $call, $how) = @_;

	print { $self->{control} } "$call $how unless-waiting\n";
	return;
}

# How many calls were cut, by "commit_" or "cut_" and the way.
sub cuts
{
	my ($self) = @_;
	my %cuts;

	foreach my $line (grep { /^cut / } split /\n/, PostgreSQL::Test::Utils::slurp_file($self->{record}))
	{
		my (undef, $call, $how) = split / /, $line;

		$cuts{ ($call eq 'COMMIT' ? 'commit' : 'cut') . "_$how" }++;
	}
	return %cuts;
}

# Calls of that name are blocked or held from now on.
sub silence
{
	my ($self, $call, $how) = @_;

	print { $self->{control} } "$call $how\n";
	wait_for(sub { $self->has_noted("$how: $call") }, 'the proxy to take an order');
	return;
}

# Answers that were held go on; connections that were blocked are cut.
sub mend
{
	my ($self, $call) = @_;

	print { $self->{control} } "$call mended\n";
	return;
}

sub has_noted
{
	my ($self, $text) = @_;

	return
	  index(PostgreSQL::Test::Utils::slurp_file($self->{record}), "$text\n")
	  >= 0;
}

sub stop
{
	my ($self) = @_;
	my $pid = delete $self->{pid} or return;

	local $?;
	kill KILL => $pid;
	waitpid $pid, 0;
	return;
}

sub DESTROY
{
	$_[0]->stop;
	return;
}

# ---- the process ----

sub note
{
	my ($self, $text) = @_;

	PostgreSQL::Test::Utils::append_to_file($self->{record}, "$text\n");
	return;
}

sub serve
{
	my ($self) = @_;

	$self->{select} = IO::Select->new($self->{listener}, $self->{orders});
	while (1)
	{
		foreach my $handle ($self->{select}->can_read)
		{
			if    ($handle == $self->{listener}) { $self->accept_client }
			elsif ($handle == $self->{orders})   { $self->take_order }
			# the other end of a link may have closed both just now
			elsif (my $link = $self->{links}{ fileno($handle) // -1 })
			{
				$self->pass_on($link, $handle);
			}
		}
	}
	return;
}

sub take_order
{
	my ($self) = @_;

	sysread $self->{orders}, my $text, BLOCK or POSIX::_exit(0);
	foreach my $order (split /\n/, $text)
	{
		my ($call, $how, $unless_waiting) = split / /, $order;

		next if $unless_waiting && grep { $_->[0] eq $call } @{ $self->{rules} };
		if    ($how eq 'mended') { $self->end_silence($call) }
		elsif ($how =~ /^(?:blocked|held)$/)
		{
			$self->{silent}{$call} = $how;
			$self->note("$how: $call");
		}
		else
		{
			push @{ $self->{rules} }, [ $call, $how ];
			$self->note("will cut $call $how");
		}
	}
	return;
}

sub end_silence
{
	my ($self, $call) = @_;
	my %links = map { $_ => $_ } values %{ $self->{links} };

	delete $self->{silent}{$call};
	foreach my $link (grep { ($_->{silent_for} // '') eq $call } values %links)
	{
		delete $link->{silent_for};
		if (defined(my $kept = delete $link->{kept}))
		{
			write_to($link, 'client', $kept);
			$self->close_link($link) if $link->{server_left};
		}
		else
		{
			$self->close_link($link);
		}
	}
	return;
}

sub accept_client
{
	my ($self) = @_;
	my $client = $self->{listener}->accept or return;

	if (my $how = $self->find_rule('connect'))
	{
		push @{ $self->{unanswered} }, $client;
		$self->note("cut connect $how");
		return;
	}
	my $server = IO::Socket::UNIX->new(Peer => $self->{server});

	# no server, no connection
	return close $client unless $server;
	my $link = {
		client => $client,
		server => $server,
		from_client => '',
		from_server => '',
		calls => []
	};

	foreach my $handle ($client, $server)
	{
		$self->{links}{ fileno $handle } = $link;
		$self->{select}->add($handle);
	}
	return;
}

sub close_end
{
	my ($self, $link, $end) = @_;
	my $handle = delete $link->{$end} or return;

	$self->{select}->remove($handle);
	delete $self->{links}{ fileno $handle };
	close $handle;
	return;
}

sub close_link
{
	my ($self, $link) = @_;

	$self->close_end($link, $_) foreach qw(client server);
	return;
}

sub write_to
{
	my ($link, $end, $bytes) = @_;

	while ($link->{$end} && length $bytes)
	{
		my $n = syswrite($link->{$end}, $bytes) // return;

		substr $bytes, 0, $n, '';
	}
	return;
}

sub pass_on
{
	my ($self, $link, $handle) = @_;
	my $end =
	  $link->{client} && $handle == $link->{client} ? 'client' : 'server';

	unless (sysread $handle, my $bytes, BLOCK)
	{
		return $self->lose_server($link)
		  if $end eq 'server' && defined $link->{silent_for};
		$self->lose_end($link, $end);
		return;
	}
	else
	{
		$link->{"from_$end"} .= $bytes;
	}
	return $end eq 'client'
	  ? $self->from_client($link)
	  : $self->from_server($link);
}

# The client of a silent link does not hear that the server has gone.
sub lose_server
{
	my ($self, $link) = @_;

	$self->{select}->remove($link->{server});
	$link->{server_left} = 1;
	return;
}

# The server's end of a silent link stays until the server closes it.
sub lose_end
{
	my ($self, $link, $end) = @_;

	$self->note("ended $link->{name} $link->{cut}") if $link->{is_silent} && $end eq 'server';
	return $self->close_end($link, $end) if $link->{is_silent} && $end eq 'client';
	return $self->close_link($link);
}

# Takes a whole message, or nothing.  The first of a client has no type.
sub take_message
{
	my ($link, $end) = @_;
	my $buffer = \$link->{"from_$end"};
	my $type_size = $end eq 'client' && !$link->{is_greeted} ? 0 : 1;

	return if length $$buffer < $type_size + 4;
	my $size = $type_size + unpack 'N', substr $$buffer, $type_size, 4;

	return if length $$buffer < $size;
	$link->{is_greeted} = 1 if $end eq 'client';
	return substr $$buffer, 0, $size, '';
}

# The name of the statement that a Bind message calls, or of a plain one that is cut.
sub called
{
	my ($message) = @_;

	return 'COMMIT' if $message =~ /^Q....(?:COMMIT|PREPARE TRANSACTION)\b/s;
	return $message =~ /^B....[^\0]*\0([^\0]*)\0/s ? $1 : undef;
}

sub from_client
{
	my ($self, $link) = @_;

	while ($link->{client}
		&& defined(my $message = take_message($link, 'client')))
	{
		my $type = substr $message, 0, 1;
		my $name = called($message);

		next if $link->{is_silent};
		$link->{name} = $name if defined $name;
		$link->{cut} ||= $self->find_rule($name) if defined $name;
		return if defined $name && $self->falls_silent($link, $name);
		if (!$link->{cut} || $link->{cut} =~ /^(?:after|mute|half)$/ || $link->{cut} eq 'open' && $type ne 'S')
		{
			write_to($link, 'server', $message);
		}
		else
		{
			$link->{late} .= $message;
		}
		next unless $type eq 'S' || $type eq 'Q' && defined $name;

		# a call ends with its Sync, and a plain statement is one message
		push @{ $link->{calls} }, $link->{name} // '';
		$self->cut_client($link) if $link->{cut};
	}
	return;
}

# Whether nothing more comes from the client.
sub falls_silent
{
	my ($self, $link, $name) = @_;
	my $how = $self->{silent}{$name} or return 0;

	$link->{silent_for} = $name;
	if ($how eq 'held')
	{
		$link->{kept} //= '';
		return 0;
	}
	$self->{select}->remove($link->{client});
	$self->note("has blocked $name");
	return 1;
}

sub find_rule
{
	my ($self, $name) = @_;
	my $rules = $self->{rules};

	foreach my $n (0 .. $#$rules)
	{
		return (splice @$rules, $n, 1)->[1] if $rules->[$n][0] eq $name;
	}
	return;
}

# The whole call is known; the client hears no more.
sub cut_client
{
	my ($self, $link) = @_;
	my $what = "$link->{name} $link->{cut}";

	if ($link->{cut} =~ /^(?:mute|half|lost|open)$/)
	{
		$link->{is_silent} = 1;
		$self->note("cut $what");
		return;
	}
	if ($link->{cut} eq 'after')
	{
		# the server's answer is awaited, then the client goes too
		$self->{select}->remove($link->{client});
		return;
	}
	push @{ $self->{held} }, $link if $link->{cut} eq 'late';
	$self->close_end($link, 'client');
	$self->close_link($link) if $link->{cut} eq 'never';
	$self->note("cut $what");
	return;
}

sub from_server
{
	my ($self, $link) = @_;

	while ($link->{server}
		&& defined(my $message = take_message($link, 'server')))
	{
		my $type = substr $message, 0, 1;

		$link->{rows}++ if $type eq 'D';
		$message = substr $message, 0, length($message) / 2
		  if $link->{is_silent} && $link->{cut} eq 'half' && @{ $link->{calls} } == 1;
		if (defined $link->{kept}) { $link->{kept} .= $message }
		elsif (!$link->{cut} || @{ $link->{calls} } != 1 || ($link->{cut} eq 'half' && !$link->{halves}++))
		{
			write_to($link, 'client', $message);
		}
		next unless $type eq 'Z' && @{ $link->{calls} };

		my $name = shift @{ $link->{calls} };

		$self->after_answer($link, $name);
		$link->{rows} = 0;
	}
	return;
}

sub after_answer
{
	my ($self, $link, $name) = @_;

	return if $link->{is_silent};
	if ($link->{cut} && !@{ $link->{calls} })
	{
		$self->note("cut $name $link->{cut}") if $link->{cut} eq 'after';
		$self->note(
			'late ' . $name . ' gave ' . ($link->{rows} || 0) . ' rows')
		  if $link->{cut} eq 'late';
		$self->close_link($link);
		return;
	}
	# several calls may have been lost; the late one comes after all of them
	foreach my $held (splice @{ $self->{held} })
	{
		my $awaited =
		  $held->{name} eq 'grab' ? 'resolve_grab' : $held->{name};

		$held->{is_due} ||= $name eq $awaited;
		if ($held->{is_due} && !@{ $link->{calls} })
		{
			write_to($held, 'server', $held->{late});
		}
		else
		{
			push @{ $self->{held} }, $held;
		}
	}
	return;
}

1;
