# Flood.pm -- many tasks under random faults, and witnesses that are not ours.
#
# Three witnesses are asked in the end: the producers' own record, the handlers'
# own ledger, and the server's write-ahead log, by logical decoding.

package TwTasks::Flood;

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

use constant SIDECARS => qw(a b);

# Options: producers, batch (most tasks in half a transaction).
sub create
{
	my ($class, %options) = @_;
	my $node = TwTasks::Cluster->create(
		'main',
		conf => {
			wal_level => 'logical',
			max_prepared_transactions => 20,
			autovacuum_naptime => '1s',
			restart_after_crash => 'on'
		});
	my $self = bless {
		node => $node,
		directory => PostgreSQL::Test::Utils::tempdir(),
		sidecars => {},
		producers => [],
		struck => {},
		frozen => {},
		batch => $options{batch} || 10
	}, $class;

	PostgreSQL::Test::Utils::append_to_file($self->path('ledger'), '');
	$node->safe_psql('postgres', <<'SQL');
		CREATE EXTENSION amcheck;
		GRANT twtasks_producer TO sidecar;
		SELECT pg_create_logical_replication_slot('witness', 'test_decoding');
SQL
	$self->start_sidecar($_) foreach SIDECARS;
	$self->start_producer($_) foreach 1 .. ($options{producers} || 2);
	return $self;
}

sub path
{
	my ($self, $name) = @_;

	return "$self->{directory}/$name";
}

sub handler
{
	my ($self, $type, %options) = @_;

	return {
		types => [$type],
		worker => [ TwTasks::Ledger::handler('flood_worker.py'), $self->path('ledger') ],
		concurrency => 32,
		%options
	};
}

sub start_sidecar
{
	my ($self, $name) = @_;

	$self->{sidecars}{$name} = TwTasks::Sidecar->start(
		$self->{node}, $name,
		lease => '5s',
		handlers => [
			$self->handler('ONCE', stuck => 'error', retry => { max_tries => 1 }),
			$self->handler('AGAIN', stuck => 'retry', retry => { delay => '100ms', max_tries => 10000 })
		]);
	return;
}

sub start_producer
{
	my ($self, $number) = @_;
	my @command = (
		TwTasks::Ledger::handler('flood_producer.py'), $self->path("record-$number"),
		$self->{node}->connstr('postgres') . ' user=producer', "p$number", int rand 1e9, $self->{batch});
	my $pid = fork // die "could not fork: $!";

	if ($pid == 0)
	{
		exec @command or POSIX::_exit(1);
	}
	push @{ $self->{producers} }, $pid;
	return;
}

sub DESTROY
{
	my ($self) = @_;

	kill 'KILL', @{ $self->{producers} };
	kill 'CONT', keys %{ $self->{frozen} };
	return;
}

# How many tasks handlers have started.
sub started
{
	my ($self) = @_;
	my $lines = 0;

	open my $file, '<', $self->path('ledger') or die "could not open the ledger: $!";
	$lines++ while <$file>;
	close $file;
	return $lines;
}

# ---- faults ----

sub any_sidecar
{
	my ($self) = @_;

	return (sort keys %{ $self->{sidecars} })[ rand SIDECARS ];
}

# The backend of a random session of a kind; undef: there is none, or no server.
sub any_backend
{
	my ($self, $which) = @_;

	return $self->{node}->value_or_undef(
		"SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'
		AND pid <> pg_backend_pid() AND $which ORDER BY random() LIMIT 1");
}

sub kill_backend
{
	my ($self, $which, $signal) = @_;
	my $pid = $self->any_backend($which) or return;

	kill $signal, $pid;
	return $pid;
}

my $ours = "application_name LIKE 'twtasksd%'";

my %faults = (
	kill_sidecar => sub {
		my ($self) = @_;
		my $name = $self->any_sidecar;

		$self->{sidecars}{$name}->kill9;
		$self->start_sidecar($name);
	},
	restart_sidecar => sub {
		my ($self) = @_;
		my $name = $self->any_sidecar;

		$self->{sidecars}{$name}->stop;
		$self->start_sidecar($name);
	},
	freeze_sidecar => sub {
		my ($self) = @_;
		my $sidecar = $self->{sidecars}{ $self->any_sidecar };

		$sidecar->freeze;
		watch_for(rand 9);
		$sidecar->signal('CONT');
	},
	kill_worker => sub {
		my ($self) = @_;
		my @children = $self->{sidecars}{ $self->any_sidecar }->processes;

		kill 'KILL', $children[ rand @children ] if @children;
	},
	end_session => sub { $_[0]->kill_backend($ours, 'TERM') },
	end_producer => sub { $_[0]->kill_backend("usename = 'producer'", 'TERM') },
	freeze_session => sub {
		my $pid = $_[0]->kill_backend($ours, 'STOP') or return;

		$_[0]->{frozen}{$pid} = 1;
		watch_for(rand 30);
		kill 'CONT', $pid;
		delete $_[0]->{frozen}{$pid};
	},
	kill_backend => sub { $_[0]->kill_backend('true', 'KILL'); $_[0]{node}->forget_session },
	crash_server => sub {
		my ($self) = @_;

		$self->{node}->forget_session;
		$self->{node}->stop('immediate');
		$self->{node}->start;
	},
	add_column => sub { $_[0]->change('ALTER TABLE twtasks.task ADD COLUMN note integer DEFAULT 7') },
	drop_column => sub { $_[0]->change('ALTER TABLE twtasks.task DROP COLUMN IF EXISTS note') },
	add_index => sub { $_[0]->change('CREATE INDEX CONCURRENTLY IF NOT EXISTS own ON twtasks.task (created)') },
	drop_index => sub { $_[0]->change('DROP INDEX CONCURRENTLY IF EXISTS twtasks.own') },
	reindex => sub { $_[0]->change('REINDEX TABLE CONCURRENTLY twtasks.task') },
	rewrite => sub { $_[0]->change('VACUUM (FULL) twtasks.task') },
	checkpoint => sub { $_[0]->change('CHECKPOINT') });

# A statement that may fail: another session may be in its way, or no server there.
sub change
{
	my ($self, $statement) = @_;

	$self->{node}->value_or_undef('SET statement_timeout = 3000');
	$self->{node}->value_or_undef($statement);
	$self->{node}->value_or_undef('RESET statement_timeout');
	return;
}

sub names
{
	return sort keys %faults;
}

sub strike
{
	my ($self, $name) = @_;

	note("fault: $name");
	$self->{struck}{$name}++;
	$faults{$name}->($self);
	return;
}

sub summary
{
	my ($self) = @_;

	return join ', ', map { "$_ $self->{struck}{$_}" } sort keys %{ $self->{struck} };
}

# ---- the end ----

# Lets producers end, and all that was added.  Only a person could resume what is in
# ERROR.
sub settle
{
	my ($self) = @_;
	my $node = $self->{node};

	kill 'TERM', @{ $self->{producers} };
	waitpid $_, 0 foreach splice @{ $self->{producers} };
	wait_for(sub { defined $node->value_or_undef('SELECT 1') }, 'the server');
	$node->value("COMMIT PREPARED '$_'")
	  foreach split /\n/, $node->value('SELECT gid FROM pg_prepared_xacts');
	return wait_ok(
		sub { ($node->value_or_undef("SELECT count(*) FROM twtasks.task WHERE status <> 'ERROR'") // '') eq '0' },
		'every task ends', 600);
}

# Brings the witnesses' words into tables.
sub question
{
	my ($self) = @_;
	my $node = $self->{node};
	my $records = join ' ', map { $self->path("record-$_") } 1 .. 99;

	$node->safe_psql('postgres', <<'SQL');
		CREATE TABLE record (id uuid, what text);
		CREATE TABLE ledger (id uuid, version bigint, type text);
		CREATE TABLE wal AS
			SELECT substring(data FROM 'table twtasks\.([a-z_]+)') AS place,
				substring(data FROM ' id\[uuid\]:''([0-9a-f-]+)''')::uuid AS id,
				substring(data FROM ' status\[[^]]+\]:''?([A-Z]+)') AS status
			FROM pg_logical_slot_get_changes('witness', NULL, NULL, 'include-xids', '0')
			WHERE data ~ '^table twtasks\.(task|finished_task[a-z_0-9]*): INSERT:';
		CREATE TABLE added AS SELECT id, count(*) FROM wal WHERE place = 'task' GROUP BY id;
		CREATE TABLE ended AS SELECT id, count(*), min(status) AS status FROM wal WHERE place <> 'task' GROUP BY id;
SQL
	foreach my $file (glob $self->path('record-*'))
	{
		$node->safe_psql('postgres', "COPY record FROM '$file' (DELIMITER ' ')");
	}
	$node->safe_psql('postgres',
		'COPY ledger FROM \'' . $self->path('ledger') . '\' (DELIMITER \' \')');
	$node->safe_psql('postgres', <<'SQL');
		CREATE TABLE told AS
			SELECT id, coalesce(max(what) FILTER (WHERE what <> 'intended'), 'open') AS what FROM record GROUP BY id;
		CREATE TABLE started AS SELECT id, min(type) AS type, count(*) AS starts, count(DISTINCT version) AS versions
			FROM ledger GROUP BY id;
		ANALYZE told, added, ended, started;
SQL
	return;
}

sub none_ok
{
	my ($self, $query, $what) = @_;

	return is($self->{node}->value("SELECT count(*) FROM ($query) q"), '0', $what);
}

sub verify
{
	my ($self) = @_;

	$self->question;
	$self->none_ok("SELECT FROM told t LEFT JOIN added a USING (id) WHERE what = 'committed' AND a.id IS NULL",
		'no committed task is missing in the write-ahead log');
	$self->none_ok("SELECT FROM told t JOIN added a USING (id) WHERE what = 'gone'",
		'no task came from what was rolled back');
	$self->none_ok('SELECT FROM started LEFT JOIN added a USING (id) WHERE a.id IS NULL',
		'no handler started a task that was never committed');
	$self->none_ok('SELECT FROM added WHERE count > 1 UNION ALL SELECT FROM ended WHERE count > 1',
		'no task was added or ended twice');
	$self->none_ok(
		"WITH rest AS MATERIALIZED (SELECT a.id FROM added a LEFT JOIN ended e USING (id) WHERE e.id IS NULL)
		SELECT FROM rest LEFT JOIN twtasks.error_tasks t USING (id) WHERE t.id IS NULL OR t.type <> 'ONCE'",
		'every task has ended, or is of unknown outcome and waits for a person');
	$self->none_ok("SELECT FROM ended WHERE status <> 'DONE'", 'every task that ended is DONE');
	$self->none_ok('SELECT FROM ended e LEFT JOIN started s USING (id) WHERE s.id IS NULL',
		'no task is DONE that no handler has started');
	$self->none_ok("SELECT FROM started WHERE type = 'ONCE' AND starts > 1",
		'no task that must not run twice was started twice');
	$self->none_ok(
		"WITH known AS (SELECT id, type, status, key, data FROM twtasks.task
			UNION ALL SELECT id, type, status, key, data FROM twtasks.finished_task)
		SELECT FROM known k LEFT JOIN known f ON f.key = 'after-' || k.id AND f.type = k.type
		WHERE (k.status = 'DONE' AND (k.data ->> 'follow')::int > 0) <> (f.id IS NOT NULL)",
		'a task that follows exists if and only if its task is DONE');
	$self->{node}->undamaged_ok;
	return;
}

# How many tasks were committed, and how many of them followed another one.
sub counts
{
	my ($self) = @_;

	return split /\|/, $self->{node}->value(
		"SELECT (SELECT count(*) FROM added), (SELECT count(*) FROM added LEFT JOIN told USING (id) WHERE told.id IS NULL),
			(SELECT count(*) FROM twtasks.error_tasks)");
}

sub stop
{
	my ($self) = @_;

	$_->stop foreach values %{ $self->{sidecars} };
	return;
}

1;
