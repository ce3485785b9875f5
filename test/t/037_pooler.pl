# 037_pooler.pl -- a sidecar refuses to work through a pooler, and leaves the
# sessions of the pooler's other clients as they were.  The application's own
# connections may go through one that shares sessions by transactions.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Pooler;
use TwTasks::Sidecar;
use TwTasks::Wait;

plan skip_all => 'no PgBouncer is installed' unless TwTasks::Pooler::program();

# Nothing but a trigger brings a task in time.
my @handlers = (
	sweep => '1h',
	handlers => [ { types => ['TASK'], noop => JSON::PP::true } ]);

# ---- the sidecar ----

my $node = TwTasks::Cluster->create('ring');
my $pooler = TwTasks::Pooler->start($node);
my $other = $pooler->session('sidecar');
my $state = <<'SQL';
	SELECT pg_backend_pid(), current_setting('search_path'), current_setting('jit'),
		current_setting('tcp_keepalives_idle'), (SELECT count(*) FROM pg_prepared_statements)
SQL
my $before = $other->query($state);
my $sidecar = TwTasks::Sidecar->prepare($node, 'a', @handlers);
my $direct = $sidecar->{config}{postgres};

$sidecar->{config}{postgres} = $pooler->connstr('sidecar');
$sidecar->launch;
foreach my $role (qw(control queue))
{
	$sidecar->wait_for_log(
		qr/ERROR postgres: $role: a pooler answers: name the server itself in "postgres"/,
		"$role is refused");
}
is($other->query($state), $before,
	'another client of the session finds its state unchanged');
unlike($sidecar->log, qr/started as|SQLSTATE/, 'the refused sidecar does not grab, listen or finish');
$sidecar->kill9;
$sidecar->{config}{postgres} = $direct;
$sidecar->run;

# ---- producers ----

sub check_producers
{
	my ($kind, $server, $worker, $through) = @_;
	my @clients = map { $through->session('producer') } 1 .. 3;
	my $add = 'SELECT task_id FROM twtasks.add_task(\'TASK\'%s)';
	my $done = sub {
		my ($id, $what) = @_;

		wait_ok(sub { $server->status_of($id) eq 'DONE' }, "$kind: $what");
	};

	is( scalar(keys %{ { map { $_->query('SELECT pg_backend_pid()') => 1 } @clients } }),
		1, "$kind: producers share a session");
	$worker->wait_until_idle;
	$done->($_->query(sprintf $add, ''), 'a task runs after its commit') foreach @clients;

	my $ids = $clients[0]->query(
		"BEGIN; SELECT twtasks.add_task('TASK') FROM generate_series(1, 3); ROLLBACK;
		BEGIN; " . sprintf($add, '') . "; SAVEPOINT s; SELECT FROM twtasks.add_task('TASK');
		ROLLBACK TO s; COMMIT");

	$done->((split /\n/, $ids)[-1], 'tasks that the transaction kept run');
	is($server->tasks("status <> 'DONE'"), 0, "$kind: no other task is there");

	$clients[1]->query("BEGIN; SET LOCAL twtasks.context = '{\"request\": 1}'");
	my $with = $clients[1]->query(sprintf $add, '');
	$clients[1]->query('COMMIT');
	my $without = $clients[2]->query(sprintf $add, '');

	is( $server->value(
			"SELECT string_agg(coalesce(context->>'request', 'none'), ' ' ORDER BY id = '$without')
			FROM twtasks.finished_task WHERE id IN ('$with', '$without')"),
		'1 none',
		"$kind: a context that is set for a transaction stays in it")
	  if wait_for(
		sub { $server->status_of($with) . $server->status_of($without) eq 'DONEDONE' },
		'both tasks');
	return;
}

check_producers('ring', $node, $sidecar, $pooler);
is($sidecar->stop, 0, 'the sidecar stops in order');

my $plain = TwTasks::Cluster->create('notify', queue => 'notify');
my $listener = TwTasks::Sidecar->start($plain, 'b', @handlers);

check_producers('notify', $plain, $listener, TwTasks::Pooler->start($plain));
is($listener->stop, 0, 'the sidecar stops in order');

done_testing();
