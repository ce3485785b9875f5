# Torture.pm -- a server, perhaps with a standby, perhaps a broker, and three sidecars with handlers of each kind, under
# all faults of TwTasks::Nemesis, and the verdict of TwTasks::Witnesses.

package TwTasks::Torture;

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Clock;
use TwTasks::Cluster;
use TwTasks::Decoding;
use TwTasks::Disk;
use TwTasks::EventWitness;
use TwTasks::Kafka;
use TwTasks::KindWitness;
use TwTasks::Ledger;
use TwTasks::Nemesis;
use TwTasks::Pair;
use TwTasks::Proxy;
use TwTasks::Sidecar;
use TwTasks::SmallFaults;
use TwTasks::TopicWitness;
use TwTasks::Wait;
use TwTasks::Witnesses;
use TwTasks::ZooKeeper;

use constant SIDECARS => qw(a b c);

# Topics of objects, by their names in torture_producer.py.
use constant OBJECT_TOPICS => map { "topic-$_" } 0 .. 3;

# Producers stand still from the first number of live tasks to the second one.
use constant BACKLOG => (20000, 10000);

# Seconds after which a prepared transaction has no producer: longer than producers are patient.
use constant FORGOTTEN => 30;

my %conf = (
	wal_level => 'logical',
	max_wal_senders => 10,
	max_prepared_transactions => 20,
	autovacuum_naptime => '1s',
	restart_after_crash => 'on');

# Options: producers, batch (most tasks in a third of a transaction), standby (whether
# there is one, which may be promoted), full (whether the disk may be full), small (whether small
# faults come beside the large ones), kafka (whether events and messages go to topics, too),
# zookeeper (whether sidecars elect their leader there).
sub create
{
	my ($class, %options) = @_;
	my %of_server = (conf => \%conf, $options{full} ? (disk => TwTasks::Disk->new) : ());
	my $pair = $options{standby} ? TwTasks::Pair->create(%of_server) : undef;
	my $node = $pair ? $pair->primary : TwTasks::Cluster->create('main', %of_server);
	my $self = bless {
		pair => $pair,
		nodes => [ $pair ? $pair->nodes : $node ],
		node => $node,
		directory => PostgreSQL::Test::Utils::tempdir(),
		kafka => $options{kafka} ? TwTasks::Kafka->create : undef,
		zookeeper => $options{zookeeper} ? TwTasks::ZooKeeper->create : undef,
		producers => [],
		batch => $options{batch},
		owner => $$
	}, $class;

	PostgreSQL::Test::Utils::append_to_file($self->path('ledger'), '');
	$node->add_extensions(qw(events kinds));
	$node->safe_psql('postgres', <<'SQL');
		CREATE EXTENSION amcheck;
		GRANT twtasks_producer TO sidecar;
		ALTER ROLE producer SET idle_session_timeout = '30s';
		ALTER ROLE producer SET idle_in_transaction_session_timeout = '30s';
		CREATE SCHEMA app;
		CREATE TABLE app.effect (id uuid);
		CREATE FUNCTION app.effect(task twtasks.task_input) RETURNS void LANGUAGE plpgsql AS $$
		DECLARE
			follow CONSTANT integer := (task.data ->> 'follow')::integer;
		BEGIN
			INSERT INTO app.effect VALUES (task.id);
			IF follow > 0 THEN
				PERFORM twtasks.add_task(task.type, key => 'after-' || task.id,
					data => jsonb_build_object('follow', follow - 1, 'after', task.id));
			END IF;
			IF random() < 0.03 THEN
				RAISE 'not this time';
			END IF;
		END $$;
		CREATE FUNCTION app.effects(tasks twtasks.task_input[]) RETURNS void LANGUAGE plpgsql AS $$
		BEGIN
			INSERT INTO app.effect SELECT t.id FROM unnest(tasks) t;
			PERFORM twtasks.add_task(t.type, key => 'after-' || t.id,
				data => jsonb_build_object('follow', (t.data ->> 'follow')::integer - 1, 'after', t.id))
			FROM unnest(tasks) t WHERE (t.data ->> 'follow')::integer > 0;
			IF random() < 0.03 THEN
				RAISE 'not this time';
			END IF;
		END $$;
		GRANT USAGE ON SCHEMA app TO sidecar;
		GRANT INSERT ON app.effect TO sidecar;
		CREATE FUNCTION app.unsure(event jsonb, identifier text, started timestamptz) RETURNS jsonb
		LANGUAGE sql SET search_path = pg_catalog, pg_temp
		AS $$ SELECT jsonb_build_object('decision', 'uncertain', 'started', started) $$;
		-- Urgent: each object has one head at a time, which must not wait for a backlog of tasks.
		SELECT twtasks.configure_stream('again', 'HEAD_AGAIN', batch => 3, priority => 0),
			twtasks.configure_stream('once', 'HEAD_ONCE', batch => 3, priority => 0),
			twtasks.configure_stream('topic', 'HEAD_TOPIC', batch => 3, priority => 0),
			twtasks.configure_kind('idem', 'idempotent', 'KIND_IDEM', 'idem-{/n}', delay => '100ms'),
			twtasks.configure_kind('box', 'black_boxed', 'KIND_BOX', 'box-{/n}', delay => '100ms', on_uncertain => 'app.unsure');
SQL
	$self->create_topics if $self->{kafka};
	$self->{decoding} = TwTasks::Decoding->start($node, $self->path('decoded'), 'app.effect');
	$self->{proxies} = { map { $_->name => TwTasks::Proxy->start($_) } @{ $self->{nodes} } };
	$self->{sidecars} = [ map { $self->sidecar($_) } SIDECARS ];
	$self->{nemesis} = TwTasks::Nemesis->new(
		node => $node,
		sidecars => $self->{sidecars},
		crashes => $self->path('crashes'),
		proxies => $self->{proxies},
		pair => $pair,
		kafka => $self->{kafka},
		zookeeper => $self->{zookeeper},
		promote => sub { $self->promote(@_) });
	$self->start_producer($_) foreach 1 .. $options{producers};
	$self->{small} = TwTasks::SmallFaults->start(
		nodes => $self->{nodes},
		proxies => [ values %{ $self->{proxies} } ],
		directory => $self->{directory})
	  if $options{small};
	return $self;
}

# The head of an object goes to the topic of the same name, whose one partition keeps the order.
sub create_topics
{
	my ($self) = @_;

	$self->{kafka}->create_topic($_) foreach OBJECT_TOPICS;
	$self->{kafka}->create_topic('messages', 3);
	return;
}

# The handlers of what goes to topics.  An attempt is given up before its task is taken over.
sub to_topics
{
	my ($self, %again) = @_;
	my $kafka = $self->{kafka} or return;
	my %common = (brokers => [ $kafka->brokers ], settings => { 'message.timeout.ms' => 10000, 'linger.ms' => 5 }, %again);

	return ({ types => ['HEAD_TOPIC'], kafka => 'topic-*', %common }, { types => ['SendToKafka'], kafka => 'messages', %common });
}

# How a leader is elected.  Without ZooKeeper for a few seconds the database elects.
sub election
{
	my ($self) = @_;
	my $zookeeper = $self->{zookeeper} or return;

	return (
		leader => 'zookeeper',
		zookeeper => { servers => [ $zookeeper->servers ], group => 'torture', session => '3s', fallback => '5s' });
}

sub path
{
	my ($self, $name) = @_;

	return "$self->{directory}/$name";
}

sub nemesis
{
	return $_[0]->{nemesis};
}

# How to connect to the server, whichever it is.
sub connstr
{
	my ($self, $by_proxy) = @_;
	my @nodes = @{ $self->{nodes} };
	my @hosts = $by_proxy ? map { $self->{proxies}{ $_->name }{directory} } @nodes : map { $_->host } @nodes;

	return 'host=' . join(',', @hosts) . ' port=' . join(',', map { $_->port } @nodes) . ' dbname=postgres target_session_attrs=read-write';
}

# The last sidecar connects by the proxy, and has a clock of its own where there is a library for it.
sub sidecar
{
	my ($self, $name) = @_;
	my @ledger = $self->path('ledger');
	my %once = (stuck => 'error', timeout => '20s', retry => { max_tries => 1 });
	my %again = (stuck => 'retry', timeout => '20s', retry => { delay => '100ms', max_tries => 10000 });
	my @worker = (worker => [ TwTasks::Ledger::handler('torture_worker.py'), @ledger ], concurrency => 32);
	my @batches = (worker => $worker[1], batch => 100, prefetch => 2, concurrency => 400);
	my @command = (command => [ TwTasks::Ledger::handler('torture_run.sh'), @ledger ], concurrency => 4);
	my @sql = (timeout => '5s', grace => '1s', retry => $again{retry});
	my $is_last = $name eq (SIDECARS)[-1];
	my $connstr = $self->connstr($is_last);
	my $clock = $is_last && TwTasks::Clock::library() ? TwTasks::Clock->new : undef;
	my $sidecar = TwTasks::Sidecar->start(
		$self->{node}, $name,
		$clock ? (env => { $clock->environment }) : (),
		postgres => "$connstr user=sidecar",
		lease => '5s',
		$self->election,
		handlers => [
			{ types => [qw(WORK_ONCE HEAD_ONCE)], @worker, %once },
			{ types => [qw(WORK_AGAIN HEAD_AGAIN)], @worker, %again },
			# A step is taken over at its deadline alone, which is later for each task before it in its worker.
			{ types => [qw(KIND_IDEM KIND_BOX)], @worker, prefetch => 1, processes => 2, timeout => '5s', grace => '1s' },
			{ types => ['RUN_ONCE'],   @command, %once },
			{ types => ['RUN_AGAIN'],  @command, %again },
			{ types => ['BATCH_ONCE'],  @batches, %once },
			{ types => ['BATCH_AGAIN'], @batches, %again },
			{ types => ['SQL'],         sql => 'app.effect', processes => 2, @sql },
			{ types => ['SQL_BATCH'],   sql => 'app.effects', batch => 100, @sql },
			$self->to_topics(%again)
		]);

	$sidecar->{clock} = $clock;
	return $sidecar;
}

# The first producer connects by the proxy.
sub start_producer
{
	my ($self, $number) = @_;
	my $connstr = $self->connstr($number == 1);
	my @command = (
		TwTasks::Ledger::handler('torture_producer.py'), $self->path("clients-$number"),
		"$connstr user=producer", "p$number", int rand 1e9, $self->{batch}, $self->{kafka} ? 'topics' : ());
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

	kill 'KILL', @{ $self->{producers} } if $self->{owner} == $$;
	return;
}

# Transactions that are prepared, and that nobody may end: all, or those that are older than
# producers wait for an answer.  Their names decide.
sub decide_prepared
{
	my ($self, $seconds) = @_;
	my $node = $self->{node};
	my $age = $seconds ? "WHERE prepared < clock_timestamp() - interval '$seconds s'" : '';
	my $all = $node->value_or_undef("SELECT gid FROM pg_prepared_xacts $age ORDER BY gid") // '';

	$node->value_or_undef((/[02468]$/ ? 'COMMIT' : 'ROLLBACK') . " PREPARED '$_'") foreach split /\n/, $all;
	return;
}

# The standby takes over, and gets one in its turn.  Returns the server that it is now.
sub promote
{
	my ($self, $between) = @_;
	my $pair = $self->{pair};

	$pair->switch($between);
	$self->{node} = $pair->primary;
	$pair->attach;
	$self->{decoding}->move($self->{node}, sub { $self->decide_prepared });
	return $self->{node};
}

# How many tasks are live; undef while nobody can say.
sub live
{
	my ($self) = @_;

	return $self->{node}->value_or_undef(q{SELECT count(*) FROM twtasks.task WHERE status <> 'ERROR'});
}

# Callers call it again and again: producers stand still while there is too much to do, and a
# manager of transactions ends what they have left prepared.
sub pace
{
	my ($self) = @_;
	my $live = $self->live;
	my ($high, $low) = BACKLOG;

	$self->decide_prepared(FORGOTTEN);

	kill STOP => @{ $self->{producers} } if defined $live && $live > $high;
	kill CONT => @{ $self->{producers} } if defined $live && $live < $low;
	return;
}

# How many tasks handlers have started, by the length of what they wrote.
sub progress
{
	my ($self) = @_;

	return -s $self->path('ledger');
}

# Keeps what the witnesses wrote, with the logs of the test.
sub keep
{
	my ($self) = @_;

	local $?;
	system 'cp', '-R', $self->{directory}, "$PostgreSQL::Test::Utils::log_path/witnesses";
	return;
}

# ---- the end ----

# Sessions of producers that are gone may still commit.
sub end_producers
{
	my ($self) = @_;
	my $theirs = "FROM pg_stat_activity WHERE usename = 'producer'";

	kill CONT => @{ $self->{producers} };
	kill TERM => @{ $self->{producers} };
	waitpid $_, 0 foreach splice @{ $self->{producers} };
	wait_for(
		sub {
			$self->{node}->value_or_undef("SELECT count(pg_terminate_backend(pid)) $theirs");
			return ($self->{node}->value_or_undef("SELECT count(*) $theirs") // '') eq '0';
		},
		'the sessions of producers to end');
	return;
}

# How much is still to come; undef while nobody can say.
sub unsettled
{
	my ($self) = @_;

	return $self->{node}->value_or_undef(<<'SQL');
		SELECT (SELECT count(*) FROM twtasks.task WHERE status <> 'ERROR')
			+ (SELECT count(*) FROM twtasks.outcome WHERE decided IS NULL)
			+ (SELECT count(*) FROM twtasks.event_objects WHERE queued > 0 AND status IS DISTINCT FROM 'ERROR')
SQL
}

# Lets producers end, and all that was added.
sub settle
{
	my ($self) = @_;

	ok($self->{small}->end, 'small faults came until now') if $self->{small};
	$self->{nemesis}->end;
	$_->start foreach grep { $_ } @$self{qw(kafka zookeeper)};
	$self->end_producers;
	$self->decide_prepared;
	wait_ok(sub { ($self->unsettled // '') eq '0' }, 'every task ends, every event is sent, every identifier is decided', 600);
	wait_ok(sub { @{ $self->{sidecars} } == (() = $self->{zookeeper}->ask('dump') =~ m{/leader/}g) }, 'each sidecar stands for election')
	  if $self->{zookeeper};
	return;
}

# The tables as a witness.
sub save_rows
{
	my ($self, $witness, $query) = @_;

	return $self->{node}->safe_psql('postgres', "COPY ($query) TO '" . $self->path($witness) . q{' (DELIMITER ' ')});
}

# The topics as a witness.
sub save_topics
{
	my ($self) = @_;

	PostgreSQL::Test::Utils::append_to_file($self->path('topics'), '');
	foreach my $topic ($self->{kafka} ? (OBJECT_TOPICS, 'messages') : ())
	{
		my $path = $self->path("topic-$topic");

		$self->{kafka}->write_messages($topic, $path);
		PostgreSQL::Test::Utils::append_to_file($self->path('topics'),
			join '', map { "$_\n" } map { TwTasks::TopicWitness::lines_of($_) } split /\n/, PostgreSQL::Test::Utils::slurp_file($path));
	}
	return;
}

# The witnesses, with all that they have to say.
sub verdict
{
	my ($self) = @_;
	my $witnesses = TwTasks::Witnesses->new(
		WORK_ONCE => 'once',
		WORK_AGAIN => 'again',
		RUN_ONCE => 'once',
		RUN_AGAIN => 'again',
		BATCH_ONCE => 'once',
		BATCH_AGAIN => 'again',
		SQL => 'sql',
		SQL_BATCH => 'sql',
		HEAD_ONCE => 'head_once',
		HEAD_AGAIN => 'head',
		KIND_IDEM => 'step',
		KIND_BOX => 'step',
		HEAD_TOPIC => 'sent',
		SendToKafka => 'sent');

	$witnesses->add_judge(TwTasks::EventWitness->new($witnesses), qw(events resends));
	$witnesses->add_judge(TwTasks::KindWitness->new($witnesses), qw(identifiers uncertain));
	$witnesses->add_judge(TwTasks::TopicWitness->new($witnesses), qw(messages repeats));
	$self->{decoding}->finish($self->{node});
	$self->save_topics;
	$self->save_rows(rows => 'SELECT id, version, status FROM twtasks.tasks');
	$self->save_rows(ends => q{SELECT 'still', object, head::text FROM twtasks.event_objects WHERE status IS NOT NULL
		UNION ALL SELECT 'outcome', identifier, coalesce(decision, '-') FROM twtasks.outcome});
	$witnesses->read_file(clients => $_) foreach glob $self->path('clients-*');
	$witnesses->read_file($_ => $self->path($_)) foreach qw(ledger topics crashes decoded rows ends);
	$witnesses->judge;
	return $witnesses;
}

# No witness of tasks sees this: damage in the files, and processes that crashed by
# themselves.
sub sound_ok
{
	my ($self) = @_;
	my $log = join '', map { PostgreSQL::Test::Utils::slurp_file($_->logfile) } @{ $self->{nodes} };

	# PostgreSQL itself gives up when its log finds no place on the disk, by an abort.
	$self->{no_space} = () = $log =~ /No space left on device/g;
	my $allowed = $log =~ s/PANIC:  .*No space left on device//g;
	$log =~ s/terminated by signal 6\b// foreach 1 .. $allowed;
	my @crashes = $log =~ /^.*(?:terminated by signal (?!9\b)|PANIC:|TRAP:|server process .* exited with exit code (?![12]\b)).*$/mg;

	is($self->{nemesis}->fallen, 0, 'no sidecar has ended by itself');
	is(join("\n", @crashes), '', 'no process of the server has crashed by itself');
	is($self->{node}->value('SELECT string_agg(b, \'; \') FROM (SELECT b::text FROM twtasks.broken_event_objects b
		UNION ALL SELECT b::text FROM twtasks.broken_outcomes b) v(b)'), '', 'no object and no identifier breaks an invariant');
	return $self->{node}->undamaged_ok;
}

# How often each fault had a victim, by its name.
sub faults
{
	my ($self) = @_;

	return ($self->{nemesis}->struck, $self->{small} ? $self->{small}->struck : ());
}

# How often the servers had no space on a full disk, after sound_ok().
sub no_space
{
	return $_[0]{no_space};
}

sub stop
{
	my ($self) = @_;

	foreach my $sidecar (@{ $self->{sidecars} })
	{
		is($sidecar->stop, 0, "sidecar $sidecar->{name} ends in order");
	}
	$_->stop foreach values %{ $self->{proxies} };
	return;
}

1;
