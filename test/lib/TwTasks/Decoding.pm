# Decoding.pm -- what a server commits, by a slot of logical decoding, as
# TwTasks::Witnesses reads it.
#
# A process of its own reads the slot again and again, so the server need not keep its
# log.  It looks at the slot before it moves it on: an answer that is lost loses nothing.
# After a crash of the server the slot may show a transaction again.  A standby that is
# promoted has no slot: it gets one, and the rows as they are where that begins.

package TwTasks::Decoding;

use strict;
use warnings FATAL => 'all';

use POSIX ();
use PostgreSQL::Test::Utils;
use TwTasks::Session;
use TwTasks::Wait;

use constant {
	CHANGES_AT_ONCE => 100000,
	SECONDS_BETWEEN => 3
};

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

sub follow
{
	my ($self) = @_;
	my $is_told;

	local $SIG{TERM} = sub { $is_told = 1 };
	until ($is_told)
	{
		$self->drain_once;
		watch_for(SECONDS_BETWEEN);
	}
	POSIX::_exit(0);
}

# Opens the answer to a statement.
sub ask
{
	my ($self, $sql) = @_;
	my @command = ('psql', '-XAtq', '-F', ' ', '-v', 'ON_ERROR_STOP=1', '-v', 'FETCH_COUNT=1000', '-d', $self->{connstr}, '-c', $sql);

	open my $answer, '-|', @command or die "could not run psql: $!";
	return $answer;
}

# Takes a part of what has come since; returns false when there was nothing, or no
# complete answer.
sub drain_once
{
	my ($self) = @_;
	my $relations = "twtasks\\.(task|finished_task[a-z_0-9]*|event|outcome)|$self->{effects}";
	my $answer = $self->ask(
		"SELECT lsn, xid, translate(data, E'\\n\\r', '  ')
		FROM pg_logical_slot_peek_changes('witness', NULL, @{[CHANGES_AT_ONCE]}, 'include-xids', '1')
		WHERE data ~ '^(BEGIN|COMMIT|table ($relations): )'");
	my ($text, $last) = ('', undef);
	my @transaction;

	while (my $line = <$answer>)
	{
		chomp $line;
		my ($lsn, $xid, $data) = split / /, $line, 3;

		if    ($data =~ /^BEGIN/) { @transaction = () }
		elsif ($data =~ /^COMMIT/)
		{
			$text .= join '', "begin $xid\n", @transaction, "commit $xid $lsn\n" if @transaction;
			$last = $lsn;
		}
		else { push @transaction, map { "$_\n" } $self->compact($data) }
	}
	return 0 if !close $answer || !defined $last;
	PostgreSQL::Test::Utils::append_to_file($self->{path}, $text);
	my $moved = $self->ask("SELECT 1 FROM pg_replication_slot_advance('witness', '$last')");
	my $said = <$moved>;
	return close $moved;
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

# Reads the rest, when nothing more is to come.
sub finish
{
	my ($self) = @_;

	$self->end;
	1 while $self->drain_once;
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
