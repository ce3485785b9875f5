# KindRun.pm -- a server with kinds of all sorts, a third party that fails at
# random, and sidecars that come to harm while identifiers are started.

package TwTasks::KindRun;

use strict;
use warnings FATAL => 'all';

use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::KindCheck;
use TwTasks::KindStarter;
use TwTasks::Sidecar;
use TwTasks::ThirdParty;
use TwTasks::Wait;

my $json = JSON::PP->new->canonical;

# Names of kinds, what they are, and what configure_kind() is told of them.
my %kinds = (
	idem => [ 'idempotent', 'retry_function => \'app.soon\'' ],
	idemx => [ 'idempotent', 'delay => \'100ms\', attempts => 4, expires => \'15s\', on_fault => \'app.gives_up\'' ],
	pess => [ 'pessimistic', 'retry_function => \'app.soon\', delay => \'100ms\'' ],
	pessx => [ 'pessimistic', 'delay => \'100ms\', attempts => 3, expires => \'15s\', on_fault => \'app.gives_up\', on_expiry => \'app.expires\'' ],
	box => [ 'black_boxed', 'retry_function => \'app.soon\', on_uncertain => \'app.unsure\'' ],
	boxx => [ 'black_boxed', 'delay => \'100ms\', attempts => 3, expires => \'15s\', on_fault => \'app.gives_up\', on_uncertain => \'app.unsure\'' ],
	opt => [ 'optimistic', 'retry_function => \'app.soon\', delay => \'100ms\'' ],
	optx => [ 'optimistic', 'delay => \'100ms\', attempts => 3, expires => \'15s\', on_fault => \'app.gives_up\', still_needed => \'app.is_needed\'' ],
	receipt => [ 'idempotent', 'retry_function => \'app.soon\'', 'receipt-{/identifier}' ]);

# Options of the third party: see test/handlers/third_party.py.  "timeout" is that
# of a step.
sub create
{
	my ($class, %options) = @_;
	my $timeout = delete $options{timeout} // '1s';
	my $node = TwTasks::Cluster->create('main',
		conf => { listen_addresses => '\'127.0.0.1\'', max_prepared_transactions => 20, 'twtasks.function_timeout' => '\'30s\'' });
	my $self = bless { node => $node, sidecars => {}, starters => [], party => TwTasks::ThirdParty->start(%options) }, $class;

	$node->add_extensions('kinds');
	$node->safe_psql('postgres', <<'SQL');
		CREATE SCHEMA app;
		CREATE FUNCTION app.soon(event jsonb, identifier text, attempts integer, fault text) RETURNS interval
		LANGUAGE sql SET search_path = pg_catalog, pg_temp
		AS $$ SELECT '150 ms'::interval * (0.5 + random()) $$;
		CREATE FUNCTION app.gives_up(event jsonb, identifier text, fault text) RETURNS jsonb
		LANGUAGE sql SET search_path = pg_catalog, pg_temp
		AS $$ SELECT jsonb_build_object('decision', 'given_up', 'fault', fault) $$;
		CREATE FUNCTION app.expires(event jsonb, identifier text) RETURNS jsonb
		LANGUAGE sql SET search_path = pg_catalog, pg_temp
		AS $$ SELECT jsonb_build_object('decision', 'expired', 'event', event) $$;
		CREATE FUNCTION app.unsure(event jsonb, identifier text, started timestamptz) RETURNS jsonb
		LANGUAGE sql SET search_path = pg_catalog, pg_temp
		AS $$ SELECT jsonb_build_object('decision', 'uncertain', 'started', started) $$;
		CREATE FUNCTION app.is_needed(event jsonb, identifier text) RETURNS boolean
		LANGUAGE sql SET search_path = pg_catalog, pg_temp
		AS $$ SELECT (event->>'n')::integer % 7 <> 0 OR random() < 0.7 $$;
SQL
	foreach my $name (sort keys %kinds)
	{
		my ($kind, $more, $identifier) = @{ $kinds{$name} };

		$identifier //= "$name-{/n}";
		$node->value("SELECT twtasks.configure_kind('$name', '$kind', upper('$name'), '$identifier', $more);
			SELECT twtasks.configure_type(upper('$name'), timeout => '$timeout')");
	}
	$node->value("SELECT twtasks.on_outcome('pess', 'paid', 'receipt')");
	push @TwTasks::Wait::on_failure, sub { diag("undecided:\n" . $node->value($self->undecided('o::text', 'LIMIT 20'))) };
	return $self;
}

sub node
{
	return $_[0]->{node};
}

sub party
{
	return $_[0]->{party};
}

sub kind_of
{
	return { map { $_ => $kinds{$_}[0] } keys %kinds };
}

sub names
{
	return grep { $_ ne 'receipt' } sort keys %kinds;
}

# ---- sidecars ----

# Under that name, as they are configured; "processes" workers do "prefetch" steps
# at once each.
sub start_sidecar
{
	my ($self, $name, %config) = @_;
	my $processes = delete $config{processes} // 4;
	my $prefetch = delete $config{prefetch} // 3;

	$self->{sidecars}{$name} = TwTasks::Sidecar->start(
		$self->{node}, $name,
		lease => '5s',
		handlers => [
			{
				types => [ map { uc } sort keys %kinds ],
				worker => $self->{party}->worker($prefetch),
				processes => $processes,
				prefetch => $prefetch,
				grace => '300ms'
			}
		],
		%config);
	return $self->{sidecars}{$name};
}

sub sidecars
{
	my ($self) = @_;

	return map { $self->{sidecars}{$_} } sort keys %{ $self->{sidecars} };
}

sub random_sidecar
{
	my ($self) = @_;
	my @all = $self->sidecars;

	return $all[ rand @all ];
}

# The processes of a sidecar's handler.
sub handlers_of
{
	my ($sidecar) = @_;

	return $sidecar->programs;
}

# Steps that the workers of a sidecar have taken up and not answered.
sub in_flight
{
	my ($self, $sidecar) = @_;
	my %pids = map { $_ => 1 } handlers_of($sidecar);
	my %open;

	foreach my $line (grep { $pids{ $_->{pid} } } $self->{party}->record)
	{
		$line->{what} eq 'start' ? $open{ $line->{task} } = $line : delete $open{ $line->{task} };
	}
	return values %open;
}

# Waits until two of these steps act, of types that begin so; returns them.
sub wait_for_actions
{
	my ($self, $sidecar, $type) = @_;

	return @{
		wait_for(
			sub {
				my @found = grep { $_->{type} =~ /^$type/ && $_->{step} eq 'attempt' } $self->in_flight($sidecar);

				return @found >= 2 && \@found;
			},
			"actions of $type under way")
	};
}

# Waits until it is a new node, after its old one was declared gone.
sub wait_for_incarnation
{
	my ($self, $sidecar, $number) = @_;
	my $starts = join '.*', ('as incarnation \d+') x $number;

	return $sidecar->wait_for_log(qr/$starts/s, "incarnation $number of sidecar $sidecar->{name}");
}

sub random_handler
{
	my ($self) = @_;
	my @children = handlers_of($self->random_sidecar);

	return @children ? $children[ rand @children ] : undef;
}

# ---- what happens to them ----

# Lets one of the following happen.
sub strike
{
	my ($self, $fault) = @_;

	$self->{strikes}{$fault}++;
	$self->$fault;
	return;
}

sub kill_handler
{
	my ($self) = @_;
	my $pid = $self->random_handler;

	kill KILL => $pid if $pid;
	return;
}

# It stands still beyond the deadlines of its steps, until its sidecar kills it.
sub freeze_handler
{
	my ($self) = @_;
	my $pid = $self->random_handler;

	kill STOP => $pid if $pid;
	return;
}

sub kill_sidecar
{
	my ($self) = @_;
	my $sidecar = $self->random_sidecar;

	delete $self->{frozen}{ $sidecar->{name} };
	$sidecar->kill9;
	$sidecar->run;
	return;
}

# One sidecar stands still until the next one does.
sub freeze_sidecar
{
	my ($self) = @_;
	my $sidecar = $self->random_sidecar;

	$self->thaw_sidecars;
	$self->{frozen}{ $sidecar->{name} } = $sidecar;
	$sidecar->freeze;
	return;
}

sub thaw_sidecars
{
	my ($self) = @_;

	$_->signal('CONT') foreach values %{ delete $self->{frozen} // {} };
	return;
}

sub crash_server
{
	my ($self) = @_;

	$self->{node}->forget_session;
	$self->{node}->stop('immediate');
	$self->{node}->start;
	return;
}

# A person cancels some steps, whether they run or wait.  Without an undo, a first
# step would be left over.
sub cancel_steps
{
	my ($self) = @_;

	$self->{node}->value_or_undef('SELECT count(twtasks.cancel_task(id, reason => \'somebody\'))
		FROM (SELECT id FROM twtasks.task WHERE data->>\'step\' <> \'undo\' ORDER BY random() LIMIT 12) t');
	return;
}

# ---- the load ----

# The highest number of an identifier so far.
sub numbers
{
	return $_[0]->{numbers} // 0;
}

# Lets processes start more identifiers of each of these kinds, all of them the same.
sub start_identifiers
{
	my ($self, $count, $processes, @names) = @_;
	my $from = $self->numbers;

	@names = $self->names unless @names;
	$self->{numbers} = $from + $count;
	$self->{party}->storm;
	my @all = map { my $name = $_; map { [ $name, $from + $_ ] } 1 .. $count } @names;

	push @{ $self->{starters} }, TwTasks::KindStarter->start($self->{node}, "s$from-$_", identifiers => \@all)
	  foreach 1 .. $processes;
	return;
}

# Waits until so many more steps have been answered, or none is left; returns whether
# some are left.
sub wait_for_steps
{
	my ($self, $more) = @_;
	my $wanted = $self->answers + $more;

	wait_for(sub { $self->answers >= $wanted || $self->is_settled }, "$more more steps");
	return !$self->is_settled;
}

sub is_settled
{
	my ($self) = @_;

	return !(grep { $_->is_running } @{ $self->{starters} })
	  && ($self->{node}->value_or_undef($self->undecided('count(*)')) // 1) eq '0';
}

sub answers
{
	my ($self) = @_;

	return $self->{party}->count_answers;
}

sub undecided
{
	my ($self, $what, $rest) = @_;

	return "SELECT $what FROM twtasks.outcomes o WHERE decided IS NULL OR problem IS NOT NULL " . ($rest // '');
}

# From now on steps have ten seconds.  A worker that is stopped for one of them begins anew,
# which takes a busy machine longer than a short step may take, again and again.
sub give_time
{
	my ($self) = @_;

	$self->{node}->value("SELECT twtasks.configure_type(upper('$_'), timeout => '10s')") foreach sort keys %kinds;
	return;
}

# The faults end, and then all that was started.
sub settle
{
	my ($self) = @_;

	$self->finish_starters;
	$self->{party}->calm;
	return $self->await_outcomes;
}

sub finish_starters
{
	my ($self) = @_;

	$_->finish foreach @{ $self->{starters} };
	return;
}

sub await_outcomes
{
	my ($self) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return wait_ok(sub { ($self->{node}->value_or_undef($self->undecided('count(*)')) // 1) eq '0' }, 'each identifier has its outcome');
}

# ---- the checks ----

sub rows
{
	my ($self, $query) = @_;

	return map { $json->decode($_) } split /\n/, $self->{node}->value("SELECT row_to_json(t) FROM ($query) t");
}

sub check
{
	my ($self) = @_;

	return TwTasks::KindCheck->new(
		kinds => kind_of(),
		lines => [ $self->{party}->lines ],
		record => [ $self->{party}->record ],
		anomalies => [ $self->rows('SELECT * FROM twtasks.anomaly') ],
		attempts => [ $self->rows('SELECT task, answer FROM twtasks.attempt') ],
		outcomes => [
			$self->rows('SELECT kind, identifier, extract(epoch FROM decided)::float8 AS decided, decision, outcome,
				uncertain, problem FROM twtasks.outcome')
		]);
}

# Returns the tasks of these whose workers knew the end, while the database did not.
sub unknown_of
{
	my ($self, @tasks) = @_;
	my %known = map { ($_->{task} => 1) } grep { $_->{outcome} } $self->{party}->record;
	my $list = join ',', grep { $known{$_} } @tasks;

	return map { $_->{task} } $self->rows("SELECT task FROM twtasks.attempt WHERE task = ANY ('{$list}') AND answer = 'unknown'");
}

# Whether the starts are what became of them: a kept one exists, and a result
# "started" of a transaction that was kept is the only one.
sub start_faults
{
	my ($self) = @_;
	my (%calls, @faults);
	my %rows = map { ("$_->{kind} $_->{n}" => 1) }
	  $self->rows('SELECT kind, event->>\'n\' AS n FROM twtasks.outcome WHERE kind <> \'receipt\'');

	foreach my $call (map { $_->calls } @{ $self->{starters} })
	{
		my $name = "$call->{kind} $call->{number}";

		$calls{$name}{ $call->{fate} }++;
		push @{ $calls{$name}{all} }, $call;
		$calls{$name}{started}++ if $call->{fate} eq 'kept' && $call->{result} eq 'started';
	}
	foreach my $name (sort keys %calls)
	{
		my ($kept, $open, $started) = map { $calls{$name}{$_} // 0 } qw(kept open started);

		push @faults, "$name: it was started in $kept transactions, and has no row" if $kept && !$rows{$name};
		push @faults, "$name: it was started in no transaction, and has a row" if !$kept && !$open && $rows{$name};
		push @faults, "$name: $started transactions have started it: " . join(', ', map { "$_->{result} $_->{fate}" } @{ $calls{$name}{all} }) if $started > 1 || $kept && !$open && !$started;
	}
	return @faults;
}

# Whether each outcome has started what it should.
sub reaction_faults
{
	my ($self) = @_;

	return split /\n/, $self->{node}->value(<<'SQL');
		SELECT coalesce(p.identifier, r.identifier) || ': receipt ' || coalesce(r.identifier, 'missing')
		FROM (SELECT * FROM twtasks.outcome WHERE kind = 'pess' AND decision = 'paid') p
		FULL JOIN (SELECT * FROM twtasks.outcome WHERE kind = 'receipt') r ON r.identifier = 'receipt-' || p.identifier
		WHERE p.identifier IS NULL OR r.identifier IS NULL
			OR r.event <> jsonb_build_object('identifier', p.identifier, 'event', p.event, 'outcome', p.outcome)
SQL
}

sub first_ten
{
	return join "\n", splice @_, 0, 10;
}

# As tests of their own.
sub verify
{
	my ($self) = @_;
	my $check = $self->check;

	is(first_ten($check->faults), '', 'each kind keeps its promise');
	is(first_ten($check->strange_anomalies), '', 'each anomaly is a result of a worker');
	is(first_ten($self->start_faults), '', 'each identifier is started once, by a transaction that was kept');
	is(first_ten($self->reaction_faults), '', 'each outcome has started what it should');
	is($self->{node}->value('SELECT string_agg(b::text, \'; \') FROM twtasks.broken_outcomes b'), '', 'no invariant is broken');
	is($self->{node}->value('SELECT count(*) FROM twtasks.task'), '0', 'no step is left');
	note($self->summary);
	return $check;
}

# Returns what happened, for the reader of a log.
sub summary
{
	my ($self) = @_;
	my %faults;

	$faults{ $_->{fault} }++ foreach grep { $_->{what} eq 'call' && $_->{fault} } $self->{party}->lines;
	return join '; ',
	  join(', ', map { "$_ $self->{strikes}{$_} times" } sort keys %{ $self->{strikes} }),
	  $self->{node}->value('SELECT string_agg(kind || \': \' || n, \', \') FROM (SELECT kind, string_agg(decision || \' \' || n, \' \') AS n
		FROM (SELECT kind, decision, count(*) AS n FROM twtasks.outcome GROUP BY 1, 2 ORDER BY 1, 2) a GROUP BY kind) b'),
	  join(', ', map { "$_ $faults{$_} times" } sort keys %faults),
	  $self->answers . ' steps, ' . $self->{node}->value('SELECT count(*) FROM twtasks.anomaly') . ' anomalies';
}

sub stop
{
	my ($self) = @_;

	is($_->stop, 0, "sidecar $_->{name} stops in order") foreach $self->sidecars;
	return;
}

1;
