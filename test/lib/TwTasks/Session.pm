# Session.pm -- one session with the server, by a psql that stays.
#
# Cheap enough to ask again and again; and a statement may be sent without
# waiting for its end, to hold or to await a lock.

package TwTasks::Session;

use strict;
use warnings FATAL => 'all';

use IPC::Open3;

# Whether what psql said has an error.  The warning that the server crashes or ends comes beside an
# answer; the end of the session follows.
sub has_failed
{
	my ($text) = @_;

	return !defined $text || $text =~ /^(?:psql|ERROR|FATAL|PANIC):|^WARNING:  57P0/m;
}

# Whether psql has said that a text was reached, with no error and no warning on the way.
sub has_ended
{
	my ($text) = @_;

	return !has_failed($text) && $text =~ /^ended$/m && $text !~ /^WARNING:/m;
}

sub new
{
	my ($class, $connstr) = @_;
	my $self = bless { sent => 0, answered => 0 }, $class;

	# stderr goes where stdout goes, so that errors stand in their place
	$self->{pid} = open3($self->{in}, $self->{out}, undef,
		'psql', '-XAtq', '-v', 'VERBOSITY=verbose', '-d', $connstr);
	$self->{in}->autoflush(1);
	return $self;
}

# A session that comes after others: what they have left prepared, by names that begin like
# this one, is committed.  undef when the server does not answer.
sub after
{
	my ($class, $connstr, $name) = @_;
	my $self = $class->new($connstr);
	my $left = $self->try("SELECT gid FROM pg_prepared_xacts WHERE gid LIKE '$name-%' AND database = current_database()");

	foreach my $gid (split /\n/, $left // return)
	{
		return if ($self->try("COMMIT PREPARED '$gid'") // 'ended') ne '';
	}
	return $self;
}

# Sends a statement and does not wait.
sub send
{
	my ($self, $sql) = @_;
	my $number = ++$self->{sent};

	local $SIG{PIPE} = 'IGNORE';
	print { $self->{in} } "$sql\n;\n\\echo end-of-$number\n";
	return;
}

# The answers to all that was sent; undef when the session has ended.
sub receive
{
	my ($self) = @_;
	my $text = '';

	while ($self->{answered} < $self->{sent})
	{
		my $line = readline $self->{out};

		return unless defined $line;
		if ($line eq 'end-of-' . ($self->{answered} + 1) . "\n")
		{
			$self->{answered}++;
			next;
		}
		$text .= $line;
	}
	chomp $text;
	return $text;
}

# Returns the server's answer, errors included; undef when the session has ended.
sub try
{
	my ($self, $sql) = @_;

	$self->send($sql);
	return $self->receive;
}

sub query
{
	my ($self, $sql) = @_;
	my $text = $self->try($sql);

	die "the session has ended at: $sql\n" unless defined $text;
	die "$text\nat: $sql\n" if has_failed($text);
	return $text;
}

sub backend_pid
{
	return $_[0]->{backend_pid} ||= $_[0]->query('SELECT pg_backend_pid()');
}

sub close
{
	my ($self) = @_;
	my $pid = delete $self->{pid} or return;

	local ($?, $!);
	kill KILL => $pid;
	CORE::close($self->{in});
	CORE::close($self->{out});
	waitpid $pid, 0;
	return;
}

sub DESTROY
{
	$_[0]->close;
	return;
}

1;
