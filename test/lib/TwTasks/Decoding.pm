# Decoding.pm -- what a server commits, by a slot of logical decoding, as
# TwTasks::Witnesses reads it.
#
# A process of its own reads what pg_recvlogical gets, which tells the server how far that is only
# when it has written it.  So nothing is lost with a connection or a server, and after a crash the
# slot may show a transaction again.  A standby that is promoted has no slot: it gets one, and the
# rows as they are where that begins.

package TwTasks::Decoding;

use strict;
use warnings FATAL => 'all';

use POSIX ();
use PostgreSQL::Test::Utils;
use TwTasks::Session;
use TwTasks::Wait;

# Before a new connection asks the slot again.
use constant SECONDS_BETWEEN => 0.5;

# From now on, with the rows of a table "effects" that name tasks.
sub start
{
	my ($class, $node, $path, $effects) = @_;
	my $self = bless { path => $path, effects => $effects, owner => $$ }, $class;

	$node->safe_psql('postgres', q{SELECT pg_create_logical_replication_slot('witness', 'test_decoding')});
	PostgreSQL::Test::Utils::append_to_file($path, '');
	$self->launch($node);
	return $self;
}

sub launch
{
	my ($self, $node) = @_;

	$self->{connstr} = $node->connstr('postgres');
	$self->{pid} = fork // die "could not fork: $!";
	return if $self->{pid};

	# The test's own objects are not ours to destroy.
	eval { $self->follow } or print STDERR "decoding: $@";
	POSIX::_exit(1);
}

# Until somebody ends us, which ends the stream.
sub follow
{
	my ($self) = @_;
	my $is_told;

	local $SIG{TERM} = sub { $is_told = 1; kill KILL => $self->{stream} if $self->{stream} };
	until ($is_told)
	{
		my $stream = $self->open_stream;

		kill KILL => $self->{stream} if $is_told;
		$self->copy($stream);
		delete $self->{stream};
		close $stream;
		watch_for(SECONDS_BETWEEN) if !$is_told;
	}
	POSIX::_exit(0);
}

# The changes that the slot shows, until its connection ends.
sub open_stream
{
	my ($self) = @_;
	my @command = (qw(pg_recvlogical --slot witness --start --no-loop -f - -o include-xids=1 -o skip-empty-xacts=1 --status-interval 1 --fsync-interval 1),
		'-d', $self->{connstr});

	$self->{stream} = open(my $stream, '-|') // die "could not fork: $!";
	return $stream if $self->{stream};
	open STDERR, '>>', "$self->{path}.log" or POSIX::_exit(126);
	exec @command or POSIX::_exit(127);
}

# Appends each transaction of a stream as a whole.  A value may have several lines, and the last line may be cut.
sub copy
{
	my ($self, $stream) = @_;
	my $wanted = qr/^table (?:twtasks\.(?:task|finished_task[a-z_0-9]*|event|outcome)|$self->{effects}): /;
	my @changes;

	open my $copy, '>>', $self->{path} or die "could not open \"$self->{path}\": $!";
	while (my $line = <$stream>)
	{
		chomp $line or last;
		if    ($line =~ /^table \S+: [A-Z]+:/) { push @changes, $line }
		elsif ($line =~ /^BEGIN \d+$/)        { @changes = () }
		elsif ($line =~ /^COMMIT (\d+)$/)
		{
			my @lines = map { "$_\n" } map { $self->compact($_) } grep { $_ =~ $wanted } splice @changes;

			print {$copy} "begin $1\n", @lines, "commit $1\n" if @lines;
		}
		elsif (@changes) { $changes[-1] .= " $line" }
	}
	close $copy or die "could not write \"$self->{path}\": $!";
	return;
}

# A column, or "-".
sub column
{
	my ($data, $name) = @_;

	return $data =~ / $name\[[^\]]+\]:'?([^' ]+)/ ? $1 : '-';
}

# A change of the queue of events, or of an identifier of a kind.
sub compact_other
{
	my ($table, $action, $data) = @_;
	my ($identifier, $decision) = map { column($data, $_) } qw(identifier decision);

	return $action eq 'INSERT' && $data =~ / event\[jsonb\]:'"([^"]+)"'/ ? "queued $1" : () if $table eq 'twtasks.event';
	return $action ne 'UPDATE' || $decision eq 'null' ? () : "decided $identifier $decision";
}

# A change as a line for TwTasks::Witnesses, if they want it.
sub compact
{
	my ($self, $data) = @_;
	my ($table, $action) = $data =~ /^table (\S+): ([A-Z]+):/ or die "not a change: $data\n";
	my ($id, $version, $status) = map { column($data, $_) } qw(id version status);

	return "effect $id" if $table eq $self->{effects};
	return compact_other($table, $action, $data) if $table =~ /\.(?:event|outcome)$/;
	return "end $id $version $status" if $table ne 'twtasks.task' && $action eq 'INSERT';
	die "the history was changed: $data\n" if $table ne 'twtasks.task';
	return "leave $id" if $action eq 'DELETE';
	return "change $id $version $status" if $action eq 'UPDATE';
	my $follow = $data =~ /"follow": (\d+)/ ? $1 : 0;
	my $after = $data =~ /"after": "([0-9a-f-]+)"/ ? $1 : '-';

	return "add $id $version $status " . column($data, 'type') . " $follow $after", $data =~ /"object": "([^"]+)"/ ? "head $id $1" : ();
}

# ---- another server takes over ----

# The rows as a promoted server has them where its slot begins; its log before that is
# not decoded.
sub save_rows
{
	my ($self, $node, $snapshot) = @_;
	my $session = $node->session;
	my $rows = "$self->{path}.rows";

	$session->query("BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '$snapshot'");
	foreach my $query (<<"SQL", q{SELECT 'head', id, data ->> 'object' FROM twtasks.task WHERE data ? 'object'})
		SELECT 'have', t.id, version, status, type, coalesce(data ->> 'follow', '0'), coalesce(data ->> 'after', '-'), coalesce(effects, 0)
		FROM (SELECT id, version, status, type, data FROM twtasks.task
			UNION ALL SELECT id, version, status, type, data FROM twtasks.finished_task) t
		LEFT JOIN (SELECT id, count(*) AS effects FROM $self->{effects} GROUP BY id) e USING (id)
SQL
	{
		$session->query("COPY ($query) TO '$rows' (DELIMITER ' ')");
		PostgreSQL::Test::Utils::append_to_file($self->{path}, PostgreSQL::Test::Utils::slurp_file($rows));
	}
	unlink $rows;
	return;
}

# Goes on with a promoted server.  Its slot waits for transactions that are prepared:
# "decide" ends them.
sub move
{
	my ($self, $node, $decide) = @_;
	my $slot = TwTasks::Session->new($node->connstr('postgres') . ' replication=database');

	$self->end;
	$slot->send('CREATE_REPLICATION_SLOT witness LOGICAL test_decoding EXPORT_SNAPSHOT');
	wait_for(
		sub {
			$decide->();
			return ($node->value_or_undef(q(SELECT count(confirmed_flush_lsn) FROM pg_replication_slots
				WHERE slot_name = 'witness')) // 0) > 0;
		},
		'the slot of the promoted server');
	my ($name, $lsn, $snapshot) = split /\|/, $slot->receive;

	PostgreSQL::Test::Utils::append_to_file($self->{path}, "switch $lsn\n");
	$self->save_rows($node, $snapshot);
	PostgreSQL::Test::Utils::append_to_file($self->{path}, "switched\n");
	$slot->close;
	$self->launch($node);
	return;
}

# ---- the end ----

sub end
{
	my ($self) = @_;

	local ($?, $!);
	kill TERM => $self->{pid};
	waitpid delete $self->{pid}, 0;
	return;
}

# When nothing more is to come, and the rest was read.
sub finish
{
	my ($self, $node) = @_;
	my $last = $node->value('SELECT pg_current_wal_insert_lsn()');

	wait_for(
		sub { $node->value("SELECT confirmed_flush_lsn >= '$last' FROM pg_replication_slots WHERE slot_name = 'witness'") eq 't' },
		'the rest of decoding', 600);
	$self->end;
	return;
}

sub DESTROY
{
	my ($self) = @_;

	local $?;
	kill KILL => $self->{pid} if $self->{pid} && $self->{owner} == $$;
	return;
}

1;
