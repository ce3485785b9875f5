# 088_upgrade_orders.pl -- a released version is updated in each order of its three
# steps, while tasks, ordered events and kinds of task are at work.  A step that comes
# too early is refused and changes nothing.  Nothing is lost or done twice, no server
# crashes, and the catalog becomes that of a fresh installation.
#
# TWT_UPGRADE_BACKLOG (tasks that wait already) and TWT_UPGRADE_RATE (transactions a
# second) make it a campaign: scripts/check-upgrade.

use strict;
use warnings FATAL => 'all';

use List::Util qw(max sum);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);
use TwTasks::Catalog;
use TwTasks::Chain;
use TwTasks::Cluster;
use TwTasks::EventProducer;
use TwTasks::Ledger;
use TwTasks::Old;
use TwTasks::Producer;
use TwTasks::Seed;
use TwTasks::Sidecar;
use TwTasks::Wait;

plan skip_all => 'there are no builds of older commits: this copy of the sources has no history'
  unless TwTasks::Old->builds;

# A producer waits for each commit, so a busy machine needs several for the whole rate.
use constant { FROM => '1.0', RATE_OF_PRODUCER => 50 };

my $backlog = $ENV{TWT_UPGRADE_BACKLOG} || 1000;
my $rate = $ENV{TWT_UPGRADE_RATE} || 100;
my $is_campaign = defined $ENV{TWT_UPGRADE_BACKLOG};
my @extensions = qw(twtasks twtasks_events twtasks_kinds);
my @orders = (
	[qw(library sql sidecars)], [qw(library sidecars sql)], [qw(sql library sidecars)],
	[qw(sql sidecars library)], [qw(sidecars library sql)], [qw(sidecars sql library)]);

TwTasks::Seed::sow();

# In a session of its own, which has loaded no library before.
sub answer
{
	my ($run, @statements) = @_;
	my $session = TwTasks::Session->new($run->{node}->connstr('postgres'));
	my $answer = join "\n", grep { length } map { $session->try($_) // 'the session has ended' } @statements;

	$session->close;
	return $answer;
}

sub version
{
	my ($run, $extension) = @_;

	return answer($run, "SELECT extversion FROM pg_extension WHERE extname = '$extension'");
}

sub start_sidecar
{
	my ($run, $name, @program) = @_;

	$run->{sidecars}{$name} = TwTasks::Sidecar->start(
		$run->{node}, $name, @program,
		handlers => [
			{ types => [ 'TASK', 'WAITED', 'PAY' ], concurrency => 64, worker => $run->{ledger}->worker },
			{ types => ['WORKS'], concurrency => 8, worker => $run->{chain}->worker } ]);
	return;
}

# Adds the streams, the kind and the tasks that wait before the sidecars start.
sub prepare_work
{
	my ($node) = @_;

	$node->value("CREATE EXTENSION $_ VERSION '" . FROM . q{'}) foreach qw(twtasks_events twtasks_kinds);
	$node->value(q{SELECT twtasks.configure_stream('works', 'WORKS', batch => 3),
		twtasks.configure_stream('hot', 'WORKS', batch => 20),
		twtasks.configure_kind('pay', 'idempotent', 'PAY', 'pay-{/n}'),
		twtasks.configure_type('WORKS', stuck => 'retry', retry => '{"delay": "50ms", "max_tries": 1000}')});
	$node->value("SELECT count(twtasks.add_task('WAITED')) FROM generate_series(1, $backlog)");
	start_identifiers($node, 0);
	return;
}

# Identifiers of step n of an order.
sub start_identifiers
{
	my ($node, $step) = @_;

	$node->value(
		"SELECT count(twtasks.start('pay', jsonb_build_object('n', n))) FROM generate_series($step * 20 + 1, $step * 20 + 20) n");
	return;
}

# A cluster of the old version at work: a hash.
sub released
{
	my ($name, $queue) = @_;
	my $run = { name => $name, queue => $queue, place => TwTasks::Old->new, ledger => TwTasks::Ledger->new,
		chain => TwTasks::Chain->new, began => time };

	$run->{place}->install_library(TwTasks::Old::RELEASE);
	$run->{node} = TwTasks::Cluster->create($name,
		queue => $queue, version => FROM, install_path => $run->{place}->install_path,
		conf => { max_prepared_transactions => 20 });
	prepare_work($run->{node});
	start_sidecar($run, $_, program => TwTasks::Old::sidecar()) foreach qw(a b);
	my $producers = max(1, int $rate / RATE_OF_PRODUCER);
	$run->{producers} = [ map { TwTasks::Producer->start_at_rate($run->{node}, $rate / $producers, 'TASK') } 1 .. $producers ];
	$run->{adding} = time;
	$run->{events} = TwTasks::EventProducer->start($run->{node}, 'p');
	return $run;
}

# As an administrator does it: new files, and a server that loads them, or
# applications that connect anew.
sub step_library
{
	my ($run) = @_;

	$run->{place}->install_library;
	$run->{has_library} = 1;
	return if $run->{queue} eq 'notify';
	$run->{node}->forget_session;
	$run->{node}->stop;
	$run->{node}->start;
	return;
}

sub step_sql
{
	my ($run) = @_;
	my $answer = answer($run, map { "ALTER EXTENSION $_ UPDATE" } @extensions);

	if (!$run->{has_library})
	{
		like($answer, qr/ERROR: +(?:0A000|42883):/, "$run->{name}: SQL before its library is refused");
		is(version($run, $_), FROM, "$run->{name}: ... and $_ stays as it was") foreach @extensions;
		return;
	}
	unlike($answer, qr/ERROR/, "$run->{name}: the SQL is updated");
	answer($run, q{SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'producer'});
	$run->{node}->forget_session;
	$run->{has_sql} = 1;
	return;
}

# Node by node.
sub step_sidecars
{
	my ($run) = @_;

	foreach my $name (sort keys %{ $run->{sidecars} })
	{
		is($run->{sidecars}{$name}->stop, 0, "$run->{name}: the old sidecar $name stops in order");
		start_sidecar($run, $name);
	}
	return;
}

my %steps = (library => \&step_library, sql => \&step_sql, sidecars => \&step_sidecars);

# The steps in this order, and the one that was refused once more.
sub take_steps
{
	my ($run, @order) = @_;
	my $number = 0;

	foreach my $step (@order)
	{
		$steps{$step}->($run);
		start_identifiers($run->{node}, ++$number);
		$run->{ledger}->wait_for_progress("$run->{name}: after the step \"$step\"");
	}
	step_sql($run) unless $run->{has_sql};
	start_identifiers($run->{node}, ++$number);
	$run->{ledger}->wait_for_progress("$run->{name}: when all is new");
	return 20 * ($number + 1);
}

sub check_tasks
{
	my ($run) = @_;
	my ($name, $node, $ledger) = @$run{qw(name node ledger)};

	wait_ok(sub { $node->tasks(q{status <> 'DONE'}) == 0 }, "$name: all tasks are done");
	$_->none_lost_ok($node) foreach @{ $run->{producers} };
	is($node->value(q{SELECT count(*) FROM twtasks.finished_task WHERE type = 'WAITED'}),
		$backlog, "$name: none that waited is lost");
	is(scalar($ledger->repeated), 0, "$name: no task is started twice");
	return;
}

sub check_extensions
{
	my ($run) = @_;
	my ($name, $node, $chain) = @$run{qw(name node chain)};
	my %got = map { $_->{event} => 1 } $chain->events;
	my @sent = grep { $_->[2] eq 'sent' } $run->{events}->events;

	is_deeply([ $chain->faults ], [], "$name: each object has one chain");
	is_deeply([ grep { !$got{ $_->[1] } } @sent ], [], "$name: no event is lost");
	is($node->value('SELECT count(*) FROM twtasks.broken_event_objects'), '0', "$name: no chain is broken");
	is($node->value(q{SELECT count(*) FROM twtasks.outcomes WHERE decision = 'done'}),
		$run->{identifiers}, "$name: each identifier has its outcome");
	is($node->value('SELECT count(*) FROM twtasks.broken_outcomes'), '0', "$name: no identifier stands still");
	return;
}

# Beside a database that never had the old version.
sub check_catalog
{
	my ($run) = @_;
	my ($name, $node) = @$run{qw(name node)};

	$node->safe_psql('postgres', 'CREATE DATABASE fresh');
	my ($fresh, $updated) = map { TwTasks::Session->new($node->connstr($_)) } qw(fresh postgres);
	$fresh->query($_)
	  foreach map({ "CREATE EXTENSION $_" } @extensions), 'SET ROLE twtasks_owner',
	  'SELECT twtasks_internal.begin_history()', 'RESET ROLE';
	same_catalog(catalog_of($updated), catalog_of($fresh), "$name: the catalog is that of a fresh installation");
	$_->close foreach $fresh, $updated;
	return;
}

# With the rate that was reached: a busy machine may not hold the wanted one.
sub report
{
	my ($run) = @_;
	my $added = sum map { scalar $_->ids('committed') } @{ $run->{producers} };
	my $say = $is_campaign ? \&diag : \&note;

	$say->(sprintf '%s: %d tasks added, %.0f a second, beside %d that waited; %d events, %d identifiers; %.0f s', $run->{name},
		$added, $added / $run->{adding}, $backlog, scalar($run->{chain}->events), $run->{identifiers}, time - $run->{began});
	return;
}

sub check_order
{
	my ($queue, @order) = @_;
	my $run = released(join('_', $queue, @order), $queue);
	my ($name, $node) = @$run{qw(name node)};
	$run->{identifiers} = take_steps($run, @order);

	$_->stop foreach @{ $run->{producers} }, $run->{events};
	$run->{adding} = time - $run->{adding};
	$node->forget_session;
	wait_ok(
		sub { $node->value('SELECT count(*) FROM twtasks.event_objects WHERE queued > 0 OR head IS NOT NULL') eq '0' },
		"$name: all events are sent");
	check_tasks($run);
	check_extensions($run);
	check_catalog($run);
	is($_->stop, 0, "$name: a new sidecar stops in order") foreach values %{ $run->{sidecars} };
	unlike(slurp_file($node->logfile), qr/terminated by signal|PANIC/, "$name: no server process crashes");
	report($run);
	$node->stop;
	return;
}

my @queues = rand() < 0.5 ? qw(ring notify) : qw(notify ring);

foreach my $n (0 .. $#orders)
{
	check_order($_, @{ $orders[$n] }) foreach $is_campaign ? @queues : $queues[ ($n + int $n / 2) % 2 ];
}
done_testing();
