# Nemesis.pm -- faults of sidecars, handlers, sessions, backends, connections and the
# server, and what users do to the table of tasks.
#
# Freezes end by themselves while other faults come.  All choices come from srand(): see
# TwTasks::Seed.

package TwTasks::Nemesis;

use strict;
use warnings FATAL => 'all';

use POSIX qw(WNOHANG);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(clock_gettime);
use TwTasks::Sidecar;
use TwTasks::SmallFaults;
use TwTasks::Wait;

# The clock that handlers read: of the machine, not to be set.
use constant BOOTTIME => 7;

# Takes the server, its sidecars, a file for the times of its crashes, and by the name of
# the server a proxy (TwTasks::Proxy) that some of the sidecars' calls and some commits pass.  With a
# pair of servers (TwTasks::Pair), "promote" makes the standby the server and returns it.
# "kafka" is a broker (TwTasks::Kafka), and "zookeeper" a server of that name (TwTasks::ZooKeeper).
sub new
{
	my ($class, %options) = @_;
	my $self = bless { %options, struck => {}, thawing => {}, fallen => 0, owner => $$ }, $class;

	PostgreSQL::Test::Utils::append_to_file($options{crashes}, '');
	return $self;
}

sub proxy
{
	my ($self) = @_;

	return $self->{proxies}{ $self->{node}->name };
}

sub one_of
{
	return $_[ rand @_ ];
}

sub any_sidecar
{
	my ($self) = @_;

	return one_of(@{ $self->{sidecars} });
}

# The backend of a random session of a kind; undef: there is none, or no server.
sub any_backend
{
	my ($self, $which) = @_;

	return $self->{node}->value_or_undef(
		"SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'
		AND pid <> pg_backend_pid() AND $which ORDER BY random() LIMIT 1") || undef;
}

# Ends sessions of a kind as an administrator does.  Returns how many, if the server says so.
sub end_sessions
{
	my ($self, $which) = @_;

	return $self->{node}->value_or_undef(
		"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
		WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND $which");
}

# Before the server crashes, or with the time of it.
sub note_crash
{
	my ($self, $time) = @_;

	PostgreSQL::Test::Utils::append_to_file($self->{crashes}, sprintf "%.3f\n", $time // clock_gettime(BOOTTIME));
	return;
}

# Until the server answers; it may have ended, and need a start.
sub revive
{
	my ($self) = @_;
	my $node = $self->{node};

	wait_for(
		sub {
			$self->start_server if !kill 0 => $node->{_pid};
			return defined $node->value_or_undef('SELECT 1');
		},
		'the server to answer');
	return;
}

# Stops processes, and lets them go on after so many seconds at most.  Returns whether there are any.
sub freeze
{
	my ($self, $most, @pids) = @_;
	my $seconds = rand $most;

	@pids = grep { $_ } @pids or return;
	kill STOP => @pids;
	my $child = fork // die "could not fork: $!";
	if ($child == 0)
	{
		watch_for($seconds);
		kill CONT => @pids;
		POSIX::_exit(0);
	}
	$self->{thawing}{$child} = [@pids];
	return 1;
}

# Starts what was ended, as often as its remains prevent it.
sub start_server
{
	my ($self, $node) = @_;

	$node //= $self->{node};
	wait_for(
		sub {
			# A start that fails takes the pid from the file that the last server left.
			$node->{_pid} = undef;
			return $node->start(fail_ok => 1);
		},
		'the server to start');
	return 1;
}

# A statement that may fail: another session may be in its way, or no server there.  A session
# that ends after SET must not be followed by one without the limits, which could wait for ever.
# REINDEX CONCURRENTLY may spend the limit of the statement on a commit that waits for a standby,
# and go on: then that of its locks ends its wait for a transaction that stays prepared.
sub change
{
	my ($self, $statement) = @_;

	$self->{node}->value_or_undef("SET statement_timeout = 3000; SET lock_timeout = 3000; $statement; RESET statement_timeout; RESET lock_timeout");
	return 1;
}

# A statement that must succeed, as soon as the server lets it.
sub ensure
{
	my ($self, $statement) = @_;

	wait_for(sub { defined $self->{node}->value_or_undef($statement) }, "the server to take: $statement");
	return 1;
}


# The sidecars whose clocks can be set.
sub with_clock
{
	my ($self) = @_;

	return grep { $_->{clock} } @{ $self->{sidecars} };
}

# Each fault returns whether it had a victim, but for calls that a proxy is to cut.
my @tables = qw(twtasks.task twtasks.event twtasks.event_object twtasks.outcome twtasks.attempt);
my $ours = "application_name LIKE 'twtasksd%'";

my %faults = (
	kill_sidecar => sub {
		my ($self) = @_;
		my $sidecar = $self->any_sidecar;

		$sidecar->kill9;
		$sidecar->launch;
	},
	restart_sidecar => sub {
		my ($self) = @_;
		my $sidecar = $self->any_sidecar;

		$sidecar->stop;
		$sidecar->launch;
	},
	freeze_sidecar => sub { $_[0]->freeze(9, $_[0]->any_sidecar->pid) },
	kill_worker => sub { kill KILL => one_of(grep { TwTasks::SmallFaults::works($_) } $_[0]->any_sidecar->processes) // return },
	freeze_worker => sub { $_[0]->freeze(9, one_of($_[0]->any_sidecar->processes)) },
	end_session => sub { kill TERM => $_[0]->any_backend($ours) // return },
	end_producer => sub { kill TERM => $_[0]->any_backend("usename = 'producer'") // return },
	cut_sidecars => sub { $_[0]->end_sessions($ours) },
	cut_all => sub { $_[0]->end_sessions('true') },
	freeze_session => sub { $_[0]->freeze(30, $_[0]->any_backend($ours)) },
	kill_backend => sub {
		my ($self) = @_;
		my $pid = $self->any_backend('true') or return;

		$self->note_crash;
		$self->{node}->forget_session;
		kill KILL => $pid;
	},
	crash_server => sub {
		my ($self) = @_;

		$self->note_crash;
		$self->{node}->forget_session;
		$self->{node}->stop('immediate');
		$self->start_server;
	},
	kill_server => sub {
		my ($self) = @_;
		my $pid = $self->{node}{_pid};
		my @backends = TwTasks::Sidecar::children_of($pid);

		$self->note_crash;
		$self->{node}->forget_session;
		$self->{node}->kill9;
		kill KILL => @backends if rand() < 0.5;
		kill CONT => @backends;
		wait_for(sub { !kill 0 => $pid }, 'the server to be gone');
		$self->start_server;
	},
	freeze_server => sub {
		my ($self) = @_;
		my $pid = $self->{node}{_pid};

		$self->freeze(6, $pid, TwTasks::Sidecar::children_of($pid));
	},
	full_disk => sub {
		my ($self) = @_;
		my $node = $self->{node};
		my $before = -s $node->logfile;
		my $time = clock_gettime(BOOTTIME);

		$node->disk->fill;
		watch_for(rand 5);
		$node->disk->free;
		$self->revive;
		my @panics = PostgreSQL::Test::Utils::slurp_file($node->logfile, $before) =~ /PANIC:/g;
		$self->note_crash($time) foreach @panics;
		return 1;
	},
	set_clock => sub {
		my ($self) = @_;
		my ($sidecar) = $self->with_clock;

		$sidecar->{clock}->put(one_of(60, 3600, 86400) * (rand(2) - 1));
		return 1;
	},
	black_hole => sub { $_[0]->freeze(20, $_[0]->proxy->{pid}) },
	no_connections => sub {
		my ($self) = @_;
		my $role = one_of(qw(sidecar sidecar producer));

		$self->ensure("ALTER ROLE $role CONNECTION LIMIT " . int rand 5);
		$self->end_sessions("usename = '$role'");
		watch_for(rand 6);
		$self->ensure("ALTER ROLE $role CONNECTION LIMIT -1");
	},
	lock_table => sub {
		my ($self) = @_;
		my $session = $self->{node}->session;

		$session->try('SET lock_timeout = 3000; BEGIN; LOCK TABLE ' . one_of($tables[0], @tables) . ' IN '
			  . one_of('SHARE', 'SHARE ROW EXCLUSIVE', 'ACCESS EXCLUSIVE') . ' MODE');
		watch_for(rand 3);
		$session->close;
		return 1;
	},
	add_column => sub { $_[0]->change('ALTER TABLE twtasks.task ADD COLUMN note integer DEFAULT 7') },
	drop_column => sub { $_[0]->change('ALTER TABLE twtasks.task DROP COLUMN IF EXISTS note') },
	add_index => sub { $_[0]->change('CREATE INDEX CONCURRENTLY IF NOT EXISTS own ON twtasks.task (created)') },
	drop_index => sub { $_[0]->change('DROP INDEX CONCURRENTLY IF EXISTS twtasks.own') },
	reindex => sub { $_[0]->change('REINDEX TABLE CONCURRENTLY ' . one_of($tables[0], @tables)) },
	rewrite => sub { $_[0]->change('VACUUM (FULL) ' . one_of($tables[0], @tables)) },
	checkpoint => sub { $_[0]->change('CHECKPOINT') });

# The next call of a kind that passes the proxy is cut, or falls silent.
my @calls = qw(grab finish execute tick sweep next_triggers);
my @ways = qw(after never mute half lost open);

foreach my $way (@ways)
{
	$faults{"cut_$way"} = sub { $_[0]->proxy->cut(one_of(@calls), $way) };
}

# The next COMMIT, or the first half of one in two phases, is cut: its producer cannot know.
foreach my $way (qw(after never mute lost))
{
	$faults{"commit_$way"} = sub { $_[0]->proxy->cut('COMMIT', $way) };
}

my %faults_of_pair = (
	freeze_standby => sub {
		my ($self) = @_;
		my $pid = $self->{pair}->standby->{_pid};

		$self->freeze(6, $pid, TwTasks::Sidecar::children_of($pid));
	},
	restart_standby => sub {
		my ($self) = @_;
		my $standby = $self->{pair}->standby;

		$standby->stop('immediate');
		$self->start_server($standby);
	},
	promote => sub {
		my ($self) = @_;

		$self->note_crash;
		$self->{node} = $self->{promote}->();
	},

	# The standby loses what it has not read, while sessions that wait for it end.
	promote_late => sub {
		my ($self) = @_;
		my $standby = $self->{pair}->standby;
		my @pids = ($standby->{_pid}, TwTasks::Sidecar::children_of($standby->{_pid}));

		kill STOP => @pids;
		foreach (1 .. 3)
		{
			watch_for(rand 1);
			$self->end_sessions($ours);
		}
		watch_for(rand 1);
		$self->note_crash;
		$self->{node} = $self->{promote}->(
			sub {
				kill KILL => @pids;
				wait_for(sub { !kill 0 => $pids[0] }, 'the standby to be gone');
				$self->start_server($standby);
			});
	});

my %faults_of = (pair => \%faults_of_pair);

foreach my $what (qw(kafka zookeeper))
{
	$faults_of{$what}{"freeze_$what"} = sub { $_[0]->freeze(9, $_[0]{$what}{pid}) };
	$faults_of{$what}{"restart_$what"} = sub {
		my ($self) = @_;

		$self->{$what}->crash;
		watch_for(rand 5);
		$self->{$what}->launch;
	};
}

# The faults that can happen here: "pair", "kafka" and "zookeeper" may be missing.
sub faults
{
	my ($self) = @_;

	return (%faults, map { %{ $faults_of{$_} } } grep { $self->{$_} } sort keys %faults_of);
}

# All that can happen here.
sub names
{
	my ($self) = @_;

	my %all = $self->faults;

	delete $all{full_disk} if !$self->{node}->disk;
	delete $all{set_clock} if !$self->with_clock;
	return sort keys %all;
}

# Crashes and waits of the whole server are rarer than the rest.
sub any_name
{
	my ($self) = @_;
	my $is_rare = qr/^(?:crash_server|kill_server|kill_backend|freeze_server|full_disk|no_connections|promote|promote_late|restart_kafka|restart_zookeeper)$/;
	my $wants_rare = rand() < 0.1;

	return one_of(grep { /$is_rare/ xor !$wants_rare } $self->names);
}

sub strike
{
	my ($self, $name) = @_;

	note("fault: $name");
	my %all = $self->faults;
	my $has_struck = $all{$name}->($self);

	$self->{struck}{$name}++ if $has_struck;
	delete $self->{thawing}{$_} foreach grep { waitpid($_, WNOHANG) == $_ } keys %{ $self->{thawing} };
	$self->raise_fallen;
	return;
}

# Sidecars that have ended by themselves, which none should.
sub raise_fallen
{
	my ($self) = @_;

	foreach my $sidecar (grep { $_->has_exited } @{ $self->{sidecars} })
	{
		my ($last) = $sidecar->log =~ /((?:.*\n){0,5})\z/;

		diag("sidecar $sidecar->{name} has ended by itself, with status $sidecar->{status}:\n$last");
		$self->{fallen}++;
		$sidecar->launch;
	}
	return;
}

sub fallen
{
	return $_[0]{fallen};
}

# How often each fault had a victim, by its name.  The proxies say which calls they have cut, whoever
# had ordered it.
sub struck
{
	my ($self) = @_;
	my %struck = %{ $self->{struck} };

	foreach my $proxy (values %{ $self->{proxies} })
	{
		my %cuts = $proxy->cuts;

		$struck{$_} += $cuts{$_} foreach keys %cuts;
	}
	return %struck;
}

# Nothing stays frozen.
sub end
{
	my ($self) = @_;

	local $?;
	foreach my $child (keys %{ $self->{thawing} })
	{
		kill KILL => $child;
		waitpid $child, 0;
		kill CONT => @{ delete $self->{thawing}{$child} };
	}
	return;
}

sub DESTROY
{
	my ($self) = @_;

	$self->end if $self->{owner} == $$;
	return;
}

1;
