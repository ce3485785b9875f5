# Liar.pm -- a server that answers wrongly: a proxy before the true one, which executes
# all that it is asked.
#
# It listens at a socket of its own.  While it lies, it changes some of the answers: their
# columns, rows and values, or the bytes of their messages.  lies() names the ways.

package TwTasks::Liar;

use strict;
use warnings FATAL => 'all';

use IO::Select;
use IO::Socket::UNIX;
use List::Util qw(shuffle);
use POSIX ();
use PostgreSQL::Test::Utils;
use TwTasks::Wait;

use constant BLOCK => 65536;

# Most sessions are set up by so many true answers: most statements come later.
use constant SET_UP => 3;

# Lengths and counts at which a reader may overflow.
my @extremes = map { pack 'N', $_ } 0, 1, 0xffff, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff;

# Messages that do not belong into an answer.
my @strangers = (
	[ E => "\0" ],
	[ E => "SERROR\0C\0M\0\0" ],
	[ E => "SERROR\0C42P01\0M%n%s%n%s\e[2J\nlevel=info\0\0" ],
	[ E => "SFATAL\0C57P01\0Mended\0\0" ],
	[ N => "\0" ],
	[ N => "SWARNING\0C01000\0M%s%n\0\0" ],
	[ A => "\0\0\0\1twtasks\0\0" ],
	[ A => "\0\0\0\1twtasks\0default\nsweep\n-1 -1 -1\n\xff\xfe\0" ],
	[ A => "\0\0\0\1\0\0" ],
	[ S => "client_encoding\0NONSENSE\0" ],
	[ S => "standard_conforming_strings\0off\0" ],
	[ K => "\0\0\0\0\0\0\0\0" ],
	[ G => "\0\0\0" ],
	[ H => "\0\0\0" ],
	[ W => "\0\0\0" ],
	[ R => "\0\0\0\3" ],
	[ Z => 'I' ],
	[ I => '' ],
	[ n => '' ],
	[ s => '' ],
	[ t => "\0\0" ],
	[ V => "\xff\xff\xff\xff" ],
	[ v => "\0\0\0\0\0\0\0\0" ],
	[ C => '' ],
	[ '?' => 'x' ]);

# ---- what is changed: a list of messages, [type, body] each ----

sub any
{
	return $_[ rand @_ ];
}

sub random_bytes
{
	my ($n) = @_;

	return join '', map { chr int rand 256 } 1 .. $n;
}

sub columns_of
{
	my ($body) = @_;

	return unpack('x2 a*', $body) =~ /\G([^\0]*\0.{18})/gs;
}

sub values_of
{
	my ($body) = @_;
	my ($n, $rest) = unpack 'n a*', $body;
	my @values;

	for (1 .. $n)
	{
		my $size = unpack 'l>', substr $rest, 0, 4, '';

		push @values, $size < 0 ? undef : substr $rest, 0, $size, '';
	}
	return @values;
}

sub row
{
	return [ D => pack('n', scalar @_) . join '', map { defined ? pack('N', length) . $_ : "\xff\xff\xff\xff" } @_ ];
}

# Gives the columns and the values of each row to the function, and takes what it returns.
sub each_list
{
	my ($messages, $change) = @_;

	foreach my $message (@$messages)
	{
		if ($message->[0] eq 'T')
		{
			my @columns = $change->(columns_of($message->[1]));

			$message = [ T => pack('n', scalar @columns) . join '', @columns ];
		}
		$message = row($change->(values_of($message->[1]))) if $message->[0] eq 'D';
	}
	return;
}

sub each_value
{
	my ($messages, $change) = @_;

	foreach my $message (grep { $_->[0] eq 'D' } @$messages)
	{
		$message = row(map { $change->($_) } values_of($message->[1]));
	}
	return;
}

# A number within a value, such as the length of an array or of an element of it.
sub with_extreme
{
	my ($value) = @_;

	return $value if !defined $value || length $value < 4;
	substr $value, 4 * int(rand length($value) / 4), 4, any(@extremes);
	return $value;
}

sub spoil_bytes
{
	my ($messages) = @_;
	my $message = any(@$messages);

	return if !length $message->[1];
	substr($message->[1], rand length $message->[1], 1) = random_bytes(1);
	return;
}

my %lies = (
	'fewer columns' => sub { each_list($_[0], sub { @_[ 1 .. $#_ ] }) },
	'fewer columns at the end' => sub { each_list($_[0], sub { @_[ 0 .. $#_ - 1 ] }) },
	'no columns' => sub { each_list($_[0], sub { () }) },
	'more columns' => sub { each_list($_[0], sub { (@_, @_) }) },
	'columns in another order' => sub { each_list($_[0], sub { reverse @_ }) },
	'no rows' => sub { @{ $_[0] } = grep { $_->[0] ne 'D' } @{ $_[0] } },
	'rows twice' => sub { @{ $_[0] } = map { $_->[0] eq 'D' ? ($_, $_) : $_ } @{ $_[0] } },
	'no result' => sub { @{ $_[0] } = grep { $_->[0] !~ /[TD]/ } @{ $_[0] } },
	'rows without columns' => sub { @{ $_[0] } = grep { $_->[0] ne 'T' } @{ $_[0] } },
	'nulls' => sub { each_value($_[0], sub { undef }) },
	'some nulls' => sub { each_value($_[0], sub { rand 2 < 1 ? undef : $_[0] }) },
	'empty values' => sub { each_value($_[0], sub { '' }) },
	'short values' => sub { each_value($_[0], sub { substr $_[0] // '', 0, 1 }) },
	'long values' => sub { each_value($_[0], sub { ($_[0] // '') . random_bytes(int rand 100) }) },
	'huge values' => sub { each_value($_[0], sub { rand 4 < 1 ? 'x' x 2_000_000 : $_[0] }) },
	'random values' => sub { each_value($_[0], sub { random_bytes(length($_[0] // '1234')) }) },
	'bytes of zero' => sub { each_value($_[0], sub { "\0" x length($_[0] // '1234') }) },
	'extreme numbers' => sub { each_value($_[0], \&with_extreme) },
	'a message that does not belong there' => sub { splice @{ $_[0] }, rand @{ $_[0] }, 0, any(@strangers) },
	'a message less' => sub { splice @{ $_[0] }, rand @{ $_[0] }, 1 },
	'messages in another order' => sub { @{ $_[0] } = shuffle @{ $_[0] } },
	'wrong bytes' => \&spoil_bytes);

# Ways that change the bytes on the wire, and then end the connection.
my %endings = (
	'an end in the middle' => sub { substr $_[0], 0, int rand length $_[0] },
	'a length that is too large' => sub { $_[0] . 'D' . any(@extremes) . random_bytes(64) },
	'noise' => sub { $_[0] . random_bytes(1 + int rand 2000) });

sub lies
{
	return sort keys %lies, keys %endings;
}

# ---- the process ----

sub start
{
	my ($class, $node) = @_;
	my $self = bless {
		server => $node->host . '/.s.PGSQL.' . $node->port,
		port => $node->port,
		directory => PostgreSQL::Test::Utils::tempdir_short(),
		links => {}
	}, $class;

	$self->{record} = "$self->{directory}/record";
	PostgreSQL::Test::Utils::append_to_file($self->{record}, '');
	pipe $self->{orders}, $self->{control} or die "could not make a pipe: $!";
	$self->{control}->autoflush(1);
	$self->{listener} = IO::Socket::UNIX->new(
		Local => "$self->{directory}/.s.PGSQL.$self->{port}",
		Listen => 50) or die "could not listen: $!";
	$self->{pid} = fork // die "could not fork: $!";
	return $self if $self->{pid};

	$SIG{PIPE} = 'IGNORE';
	eval { $self->serve };
	$self->note("failed: $@");
	POSIX::_exit(1);
}

sub connstr
{
	my ($self) = @_;

	return "host=$self->{directory} port=$self->{port} dbname=postgres";
}

# From now on one answer of so many is a lie of this kind; 0: none is.  Returns where the
# record goes on.
sub lie
{
	my ($self, $one_of, $kind) = @_;
	my $from = length $self->recorded(0);

	print { $self->{control} } "$one_of $kind\n";
	wait_for(sub { $self->recorded($from) =~ /^from now on: $one_of $kind$/m }, 'the liar to take an order');
	return $from;
}

sub recorded
{
	my ($self, $from) = @_;

	return substr PostgreSQL::Test::Utils::slurp_file($self->{record}), $from;
}

# How many lies it has told since then.
sub told
{
	my ($self, $from) = @_;
	my @told = $self->recorded($from) =~ /^lied: /mg;

	return scalar @told;
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

sub note
{
	my ($self, $text) = @_;

	PostgreSQL::Test::Utils::append_to_file($self->{record}, "$text\n");
	return;
}

sub serve
{
	my ($self) = @_;

	srand $$;
	$self->{select} = IO::Select->new($self->{listener}, $self->{orders});
	while (1)
	{
		foreach my $handle ($self->{select}->can_read)
		{
			if ($handle == $self->{listener}) { $self->accept_client }
			elsif ($handle == $self->{orders}) { $self->take_order }
			# the other end may have closed both just now
			elsif (my $link = $self->{links}{ fileno($handle) // -1 }) { $self->pass_on($link, $handle) }
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
		@$self{qw(one_of kind)} = split / /, $order, 2;
		$self->note("from now on: $order");
	}
	return;
}

sub accept_client
{
	my ($self) = @_;
	my $client = $self->{listener}->accept or return;
	my $server = IO::Socket::UNIX->new(Peer => $self->{server});

	return close $client unless $server;
	my $link = {
		client => $client,
		server => $server,
		bytes => '',
		answer => [],
		spared => rand 4 < 3 ? SET_UP : 0
	};

	foreach my $handle ($client, $server)
	{
		$self->{links}{ fileno $handle } = $link;
		$self->{select}->add($handle);
	}
	return;
}

sub close_link
{
	my ($self, $link) = @_;

	foreach my $handle (map { delete $link->{$_} } qw(client server))
	{
		$self->{select}->remove($handle);
		delete $self->{links}{ fileno $handle };
		close $handle;
	}
	return;
}

sub write_to
{
	my ($handle, $bytes) = @_;

	while (length $bytes)
	{
		my $n = syswrite($handle, $bytes) // return;

		substr $bytes, 0, $n, '';
	}
	return;
}

sub pass_on
{
	my ($self, $link, $handle) = @_;

	return $self->close_link($link) unless sysread $handle, my $bytes, BLOCK;
	return write_to($link->{server}, $bytes) if $handle == $link->{client};
	$link->{bytes} .= $bytes;
	while ($link->{client} && length $link->{bytes} >= 5)
	{
		my $size = 1 + unpack 'x N', $link->{bytes};

		last if length $link->{bytes} < $size;
		$self->take_message($link, substr $link->{bytes}, 0, $size, '');
	}
	return;
}

# An answer ends with Z.  Questions of the server, and news between answers, do not wait for it.
sub take_message
{
	my ($self, $link, $message) = @_;
	my ($type, $body) = unpack 'a x4 a*', $message;

	if ($type =~ /[ANSR]/ && !@{ $link->{answer} })
	{
		write_to($link->{client}, $message);
		return;
	}
	push @{ $link->{answer} }, [ $type, $body ];
	$self->give_answer($link) if $type eq 'Z';
	return;
}

sub give_answer
{
	my ($self, $link) = @_;
	my $answer = $link->{answer};
	my $is_spared = $link->{spared} > 0 && $link->{spared}--;
	my $kind = !$is_spared && $self->{one_of} && rand $self->{one_of} < 1 ? $self->{kind} : undef;

	$link->{answer} = [];
	if ($kind && $lies{$kind})
	{
		$lies{$kind}->($answer);
	}
	my $bytes = join '', map { $_->[0] . pack('N', 4 + length $_->[1]) . $_->[1] } @$answer;

	$bytes = $endings{$kind}->($bytes) if $kind && $endings{$kind};
	write_to($link->{client}, $bytes);
	$self->note("lied: $kind") if $kind;
	$self->close_link($link) if $kind && $endings{$kind};
	return;
}

1;
