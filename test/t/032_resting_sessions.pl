# 032_resting_sessions.pl -- a sidecar that has nothing to do holds two sessions,
# its control session and its queue.  A task is started over these before any
# other one is open; load opens the others, which close again without a word.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my $ledger = TwTasks::Ledger->new;

$node->value(<<'SQL');
	CREATE SCHEMA app;
	CREATE FUNCTION app.pass(task twtasks.task_input) RETURNS void
	LANGUAGE sql AS $$ SELECT $$;
	GRANT USAGE ON SCHEMA app TO sidecar;
	SELECT twtasks.configure_limit('LIMITED', 2, 'cluster');
SQL

my @sidecars = map {
	TwTasks::Sidecar->start(
		$node, $_,
		handlers => [
			{ types => ['WORKER'], worker => $ledger->worker('gate') },
			{ types => ['LIMITED'], noop => JSON::PP::true },
			{ types => ['SQL'], sql => 'app.pass', processes => 4 }
		])
} qw(a b);

# The roles of the sessions of both.
sub sessions
{
	return $node->value(
		"SELECT string_agg(substr(application_name, 10), ' ' ORDER BY application_name)
		FROM pg_stat_activity WHERE application_name LIKE 'twtasksd %'");
}

sub are_at_rest
{
	return sessions() eq 'control control queue queue';
}

sub rest_ok
{
	return wait_ok(\&are_at_rest, $_[0]);
}

sub add_many
{
	return $node->value('SELECT count(twtasks.add_task(t)) FROM unnest(\'{WORKER,SQL,LIMITED}\'::text[]) t,
		generate_series(1, 200)');
}

# When both have ticked.
sub heartbeats
{
	return $node->value('SELECT extract(epoch FROM min(heartbeat)) FROM twtasks.nodes');
}

rest_ok('each idle sidecar has two sessions');

# ---- the start does not wait for a session ----

my ($first, @refused_from);

# Not if the control session of the sidecar that gets the task has something to do
# just then: the grab session is refused before.
sub is_started
{
	@refused_from = map { $_->log_position } @sidecars;
	$node->value('ALTER ROLE sidecar CONNECTION LIMIT 4');
	$first = $node->add_task('WORKER');
	wait_for(sub { $ledger->starts($first) == 1 || refused() > 0 }, 'the task to start, or a session to be refused');
	return 1 if $ledger->starts($first) == 1;
	$node->value('ALTER ROLE sidecar CONNECTION LIMIT -1');
	wait_for(sub { $ledger->starts($first) == 1 }, 'the task to start');
	$ledger->release('gate', 1);
	wait_for(sub { $node->tasks('status <> \'DONE\'') == 0 }, 'the task to be done');
	wait_for(\&are_at_rest, 'the sessions to rest');
	return 0;
}

# How many sidecars know that they get no session to grab.
sub refused
{
	return scalar grep { $sidecars[$_]->log($refused_from[$_]) =~ /grab: .*; will connect again/ } 0 .. 1;
}

once_ok(\&is_started, 'a task is started over the resting sessions');
$ledger->release('gate', 1000);
is($node->status_of($first), 'PROCESSING', 'the finish of that task waits for a session');

# More of them would only make more results that cannot be stored.
wait_for(
	sub {
		$node->add_task('WORKER');
		return refused() == 2;
	},
	'both to find that they get none');
# A grab over the control session may be under way, before its next tick.
my $ticks = heartbeats();
wait_for(sub { heartbeats() > $ticks }, 'heartbeats after that');
my $grabbed = $node->tasks('status = \'PROCESSING\'');
$ticks = heartbeats();

$node->add_task('WORKER');
wait_for(sub { heartbeats() > $ticks }, 'heartbeats');
is($node->tasks('status = \'PROCESSING\''), $grabbed, 'no other task is grabbed meanwhile');
$node->value('ALTER ROLE sidecar CONNECTION LIMIT -1');
wait_ok(sub { $node->tasks('status <> \'DONE\'') == 0 }, 'no task is lost');
rest_ok('the sessions rest again after the work');

# ---- load ----

my $from = $sidecars[0]->log_position;
my $from_b = $sidecars[1]->log_position;
my %seen;

add_many();
wait_ok(
	sub {
		$seen{$_} = 1 foreach split / /, sessions();
		add_many() if $node->tasks('status <> \'DONE\'') < 100;
		return 4 == grep { $seen{$_} } qw(grab finish sql slots);
	},
	'load opens the other sessions');
wait_ok(sub { $node->tasks('status <> \'DONE\'') == 0 }, 'all tasks are done');
rest_ok('each sidecar has two sessions when idle again');
unlike($sidecars[0]->log($from) . $sidecars[1]->log($from_b),
	qr/ postgres: |WARN|ERROR/, 'the log says nothing of the sessions');
is(scalar($ledger->repeated), 0, 'no task was started twice');

# ---- what comes to a sidecar at rest ----

$_->reload($_->{config}) foreach @sidecars;
$_->wait_for_log(qr/config: reloaded/, 'its reload') foreach @sidecars;
my @tasks = map { $node->add_task($_) } qw(WORKER SQL LIMITED);

wait_ok(sub { $node->tasks('status <> \'DONE\'') == 0 }, 'tasks of all kinds run after a reload');
rest_ok('the sessions rest');
is($_->stop, 0, "sidecar $_->{name} stops in order") foreach @sidecars;

done_testing();
