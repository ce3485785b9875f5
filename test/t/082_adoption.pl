# 082_adoption.pl -- a copy made with dumps, templates or pg_upgrade executes
# nothing until somebody says that it should: no call does, no sidecar does,
# and both say why.

use strict;
use warnings FATAL => 'all';

use HTTP::Tiny;
use IO::Socket::UNIX;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $directory = PostgreSQL::Test::Utils::tempdir();
my $ledger    = TwTasks::Ledger->new;
my $node =
  TwTasks::Cluster->create('main', init => { allows_streaming => 'logical' });

sub session_of
{
	my ($server, $database) = @_;

	return TwTasks::Session->new($server->connstr($database));
}

# A sidecar that has connected and was refused.
sub refused
{
	my ($server, $database, $name, $why, %config) = @_;
	my $sidecar = TwTasks::Sidecar->prepare(
		$server, $name,
		postgres => $server->connstr($database) . ' user=sidecar',
		handlers => [ { types => ['*'], command => $ledger->command } ],
		%config)->launch;

	ok( $sidecar->wait_for_log(
			qr/ERROR adoption: executes nothing in this database: $why; twtasks\.warnings says how to adopt it$/m
		),
		"$name: the sidecar says why no task is executed");
	return $sidecar;
}

# One task of each kind that the engine would do something with.
sub add_tasks
{
	$node->value(<<'SQL');
		SELECT twtasks.add_task('SUBMITTED', task_id => '00000000-0000-0000-0000-000000000001'),
			twtasks.add_task('WAITING', task_id => '00000000-0000-0000-0000-000000000002',
				run_after => '2100-01-01'),
			twtasks.add_task('DUE', task_id => '00000000-0000-0000-0000-000000000003', run_after => '2100-01-01'),
			twtasks.add_task('EXPIRED', task_id => '00000000-0000-0000-0000-000000000004',
				expires => clock_timestamp() + interval '1 hour'),
			twtasks.add_task('STUCK', task_id => '00000000-0000-0000-0000-000000000005'),
			twtasks.add_task('OLD', task_id => '00000000-0000-0000-0000-000000000006');
		CREATE TABLE twtasks.finished_task_20200101 PARTITION OF twtasks.finished_task
			FOR VALUES FROM ('2020-01-01 00:00+00') TO ('2020-01-02 00:00+00');
		SELECT twtasks.cancel_task('00000000-0000-0000-0000-000000000006', 0);
		UPDATE twtasks.finished_task SET state_time = '2020-01-01 12:00+00';
		UPDATE twtasks.task SET next_event_time = created WHERE type = 'DUE';
		UPDATE twtasks.task SET expires = created WHERE type = 'EXPIRED';
		SELECT twtasks_internal.grab_tasks(ARRAY['00000000-0000-0000-0000-000000000005']::uuid[], '{0}',
			twtasks_internal.start_node('gone'), 1, '{0}', '{retry}');
SQL
	return;
}

my $all = 'SELECT type, status, version FROM twtasks.tasks ORDER BY id';

# Every call that would execute or move a task does nothing.
sub check_inert
{
	my ($session, $name, $why) = @_;
	my $before = $session->query($all);

	is( $session->query(
			'SELECT is_adopted, fault, environment FROM twtasks.adoption_state'
		),
		"f|$why|",
		"$name: a view says why nothing is executed");
	is($session->query('SELECT twtasks_internal.start_node(\'mine\') IS NULL'),
		't', "$name: no node starts");
	my $mine = $session->query(
		'INSERT INTO twtasks.node (name, started, heartbeat, lease) VALUES (\'forced\', now(), now(), \'1 d\') RETURNING incarnation'
	);
	$session->query("SELECT twtasks_internal.lock_session(twtasks_internal.node_lock($mine))");
	is( $session->query(
			"SELECT count(*) FROM twtasks_internal.grab_tasks(ARRAY['00000000-0000-0000-0000-000000000001']::uuid[], '{0}', $mine, 1, '{60000}', '{error}')"
		),
		0,
		"$name: no task is grabbed");
	is( $session->query(
			"SELECT count(*) FROM twtasks_internal.execute_tasks('app.note', NULL, ARRAY['00000000-0000-0000-0000-000000000001']::uuid[], '{0}', $mine, 2, '{60000}', '{error}')"
		),
		0,
		"$name: no task is executed");
	is($session->query("SELECT twtasks_internal.heartbeat($mine)"),
		'f', "$name: no node is alive");
	is( $session->query(
			'SELECT count(*) FROM twtasks_internal.sweep_tasks(\'default\', 10)'),
		0,
		"$name: a sweep finds nothing");
	is($session->query('SELECT * FROM twtasks_internal.promote_tasks()'),
		'0|', "$name: no task is promoted");
	is($session->query('SELECT twtasks_internal.expire_tasks()'),
		0, "$name: no task expires");
	is( $session->query(
			'SELECT * FROM twtasks_internal.recover_tasks(true, 1000, \'0 s\')'),
		'0|0|0|',
		"$name: no task is recovered");
	is( $session->query(
			'BEGIN; UPDATE twtasks.schedule SET next_run = now() - interval \'1 h\', look_at = now() - interval \'1 h\' WHERE NOT is_paused;
			SELECT added FROM twtasks_internal.run_schedules(); ROLLBACK'),
		0,
		"$name: no schedule adds a task");
	is($session->query('SELECT twtasks_internal.clean_older(\'0 s\')'),
		'', "$name: no task is cleaned up");
	is($session->query($all), $before, "$name: the tasks are as they were");
	$session->query("DELETE FROM twtasks.node WHERE incarnation = $mine");
	return;
}

$node->value(<<'SQL');
	SELECT twtasks.schedule('daily', '0 3 * * *', 'DAILY');
	SELECT twtasks.schedule('paused', '0 4 * * *', 'DAILY');
	SELECT twtasks.pause_schedule('paused');
	CREATE SCHEMA app;
	CREATE FUNCTION app.note(task twtasks.task_input) RETURNS void LANGUAGE sql AS '';
	GRANT USAGE ON SCHEMA app TO sidecar;
SQL
my $owner = $node->has_edition ? 'installer' : $node->value('SELECT session_user');
is( $node->value('SELECT is_adopted, fault, environment, actor, reason FROM twtasks.adoption_state'),
	"t|||$owner|CREATE EXTENSION",
	'a database is adopted where the extension is created');
add_tasks();

# ---- dumped and restored: in the cluster, and in another ----

my $other = TwTasks::Cluster->create('other');

# The database was restored from a dump, which has all rows of the SQL edition, and so where they were.
sub fault_on
{
	my ($server) = @_;

	return 'it was restored from a dump' if !$server->has_edition;
	return $server->name eq 'main' ? 'it is a copy of another database' : 'it came from another cluster';
}

my $dump  = "$directory/dump";

$node->command_ok([ 'pg_dump', '-Fc', '-f', $dump, 'postgres' ], 'the database is dumped');
foreach my $server ($node, $other)
{
	my $name = 'restored in ' . $server->name;

	$server->safe_psql('postgres',
		'CREATE DATABASE restored TEMPLATE template0');
	$server->command_ok(
		[ 'pg_restore', '--exit-on-error', '-d', 'restored', $dump ],
		"$name: the dump is restored");
	check_inert(session_of($server, 'restored'), $name, fault_on($server));
}

# Also where the extension was there before, or the dump is of this database.
sub check_data_only
{
	$other->safe_psql('postgres', 'CREATE DATABASE data_only TEMPLATE template0');
	$other->safe_psql(
		'data_only',
		'CREATE EXTENSION twtasks; TRUNCATE twtasks.transition; CREATE SCHEMA app;
		CREATE FUNCTION app.note(task twtasks.task_input) RETURNS void LANGUAGE sql AS $$$$;
		SELECT twtasks_internal.make_partitions();');
	$node->command_ok([ 'pg_dump', '-Fc', '--load-via-partition-root', '-f', "$dump.by_root", 'postgres' ],
		'the database is dumped by its root');
	is(session_of($other, 'data_only')->query('SELECT twtasks.is_adopted()'),
		't', 'data only: the database is adopted before the restore');
	$other->command_ok(
		[
			'pg_restore', '--data-only', '--exit-on-error', '-d',
			'data_only',  "$dump.by_root"
		],
		'data only: the dump is restored');
	check_inert(session_of($other, 'data_only'),
		'data only', 'it was restored from a dump');
	return;
}

# The SQL edition is restored with all of its rows, or not at all.
check_data_only() if !$node->has_edition;
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$dump.restored", 'restored' ],
	'the copy is dumped');
$node->command_ok(
	[
		'pg_restore',      '--clean',
		'--exit-on-error', '-d',
		'restored',        "$dump.restored"
	],
	'the dump is restored over the copy');
check_inert(
	session_of($node, 'restored'),
	'a copy of a copy',
	fault_on($node));

# ---- a template ----

$node->forget_session;
$node->safe_psql('template1',
	'CREATE DATABASE template_copy TEMPLATE postgres');
check_inert(session_of($node, 'template_copy'),
	'template', 'it is a copy of another database');

# ---- adopted ----

my $session = session_of($other, 'restored');
my $notify  = PostgreSQL::Test::Utils::tempdir_short() . '/notify';
my $systemd =
  IO::Socket::UNIX->new(Type => SOCK_DGRAM, Local => $notify, Blocking => 0)
  or die "could not open a socket: $!";
my $port = PostgreSQL::Test::Cluster::get_free_port();
my $sidecar = refused(
	$other, 'restored', 'refused',
	fault_on($other),
	listen => "127.0.0.1:$port",
	env => { NOTIFY_SOCKET => $notify });

wait_ok(
	sub {
		my $told = '';

		recv $systemd, $told, 4096, 0;
		return $told =~ /READY=1/;
	},
	'systemd does not wait for an adoption');
wait_ok(
	sub {
		my $fault = fault_on($other);

		HTTP::Tiny->new->get("http://127.0.0.1:$port/health")->{content} =~ /"status":"$fault"/;
	},
	'the health answer says why nothing is executed');

is($session->query('SELECT count(*) FROM twtasks.add_task(\'NEW\')'),
	1, 'tasks can be added before the adoption');
like(
	$session->try('SELECT twtasks.adopt(\'no spaces\')'),
	qr/22023.*invalid environment: "no spaces"/,
	'a malformed environment is refused');
is( $session->query(
		'SET client_min_messages = warning; SELECT held FROM twtasks.adopt(\'staging\', reason => \'a copy for tests\')'
	),
	6,
	'the adoption of a copy holds the tasks that would run');
is( $session->query($all =~ s/ORDER/WHERE status <> 'CANCELLED' ORDER/r),
	"SUBMITTED|HELD|1\nWAITING|HELD|1\nDUE|HELD|1\nEXPIRED|HELD|1\nSTUCK|HELD|2\nNEW|HELD|1",
	'the adoption holds tasks in each status');
is( $session->query(
		'SELECT from_status, count(*), bool_and(to_status = \'HELD\' AND reason = \'a copy for tests\')
		FROM twtasks.audit WHERE action = \'adopt\' GROUP BY 1 ORDER BY 1'),
	"WAITING|2|t\nSUBMITTED|3|t\nPROCESSING|1|t",
	'each held task is in the audit');
is( $session->query(
		'SELECT is_adopted, environment, actor = session_user, reason FROM twtasks.adoption_state'
	),
	't|staging|t|a copy for tests',
	'the view shows who adopted the copy');
# To create the extension adds a row of its own.
is($session->query('SELECT count(*), count(ended) FROM twtasks.adoption'),
	$node->has_edition ? '2|1' : '3|2', 'the table of adoptions keeps the earlier places');

is( $session->query(
		'SELECT name, is_paused, next_run FROM twtasks.schedules ORDER BY name'
	),
	"daily|t|\npaused|t|",
	'no schedule adds tasks after the adoption');
is( $session->query(
		'SELECT name, actor = session_user, reason FROM twtasks.schedule_audit ORDER BY id DESC LIMIT 1'
	),
	'daily|t|a copy for tests',
	'the audit of schedules shows the pause');

# The sidecar asks again, and hears another answer: it has no environment.
ok( $sidecar->wait_for_log(
		qr/it was adopted for environment "staging", not none/),
	'a sidecar for another environment is refused');
is($sidecar->stop, 0, 'the refused sidecar stops in order');
my @lines = $sidecar->log =~ /ERROR adoption/g;
is(scalar @lines, 2, 'the sidecar has logged each reason once');
refused(
	$other, 'restored', 'production',
	'it was adopted for environment "staging", not "production"',
	environment => 'production')->stop;
is( $session->query(
		'SELECT count(*) FROM twtasks.warnings WHERE warning = \'node refused\' AND detail ~ \'"production"\''
	),
	1,
	'a view names the refused environment');

my $right = TwTasks::Sidecar->start(
	$other, 'right',
	environment => 'staging',
	postgres    => $other->connstr('restored') . ' user=sidecar',
	handlers    => [ { types => ['*'], command => $ledger->command } ]);

$session->query('SELECT twtasks.add_task(\'AFTER\')');
wait_ok(
	sub {
		$session->query(
			'SELECT status FROM twtasks.tasks WHERE type = \'AFTER\'') eq
		  'DONE';
	},
	'a sidecar for this environment runs new tasks');
is( $session->query(
		'SELECT string_agg(result, \' \') FROM twtasks.change_tasks(\'release\', \'*\', \'checked\')'
	),
	join(' ', ('changed') x 6),
	'held tasks are released by hand');
wait_ok(
	sub {
		$session->query(
			'SELECT count(*) FROM twtasks.tasks WHERE status = \'DONE\'') == 5;
	},
	'released tasks run');
is( $session->query(
		'SELECT status, next_event_time = \'2100-01-01\' FROM twtasks.tasks WHERE type = \'WAITING\''
	),
	'WAITING|t',
	'a released task that waits keeps its time');

# A name given to where it is anyway: nothing is held, nobody is stopped.
$session->query(
	'SELECT twtasks.add_task(\'SOON\', run_after => clock_timestamp() + interval \'1 hour\')'
);
# Rows do not tell the SQL edition that this is no copy.
my $hold = $node->has_edition ? ', hold => false' : '';
is($session->query("SELECT held FROM twtasks.adopt('renamed'$hold)"),
	0, 'another name for the environment holds nothing');
is( $session->query('SELECT count(*) FROM twtasks.nodes WHERE ended IS NULL'),
	1, 'another name for the environment ends no sidecar');
is($right->stop, 0, 'the sidecar stops in order');
refused(
	$other, 'restored', 'renamed',
	'it was adopted for environment "renamed", not "staging"',
	environment => 'staging')->stop;

# Without holding, for a move that lost nothing.
$session = session_of($node, 'restored');
is($session->query('SELECT held FROM twtasks.adopt(NULL, hold => false)'),
	0, 'an adoption may hold nothing');
is( $session->query(
		'SELECT count(*) FROM twtasks.tasks WHERE status = \'HELD\''),
	0,
	'no task is held after such an adoption');
is( $session->query(
		'SELECT string_agg(name, \' \') FROM twtasks.schedules WHERE NOT is_paused'
	),
	'daily',
	'no schedule is paused after such an adoption');
my $heir = TwTasks::Sidecar->start(
	$node, 'heir',
	postgres => $node->connstr('restored') . ' user=sidecar',
	handlers => [ { types => ['*'], command => $ledger->command } ]);
wait_ok(
	sub {
		$session->query(
			'SELECT count(*) FROM twtasks.tasks WHERE status = \'DONE\'') == 3;
	},
	'tasks that are SUBMITTED, due or PROCESSING (stuck rule retry) run');
is($heir->stop, 0, 'the sidecar stops in order');

# ---- a session that knew better ----

# It learns at once that rows of another place have come: here by logical
# replication, whose worker runs no ordinary trigger.
$other->safe_psql('postgres',
	'CREATE DATABASE subscriber TEMPLATE template0');
$other->install('subscriber');
$session = session_of($other, 'subscriber');
is($session->query('SELECT twtasks.is_adopted()'),
	't', 'a session sees that its database is adopted');
$node->safe_psql('postgres',
	'CREATE PUBLICATION everything FOR TABLE twtasks.task, twtasks.adoption');
my $connstr = $node->connstr('postgres') =~ s/'//gr;
$other->safe_psql('subscriber',
	"CREATE SUBSCRIPTION copy CONNECTION '$connstr' PUBLICATION everything");
wait_ok(sub { $session->query('SELECT twtasks.is_adopted()') eq 'f' },
	'a subscriber\'s copy is not adopted');
is( $session->query('SELECT fault FROM twtasks.adoption_state'),
	'it was restored from a dump',
	'the reason shown is the nearest one');
$session->query('BEGIN; SELECT twtasks.adopt(NULL)');
is($session->query('SELECT twtasks.is_adopted()'),
	't', 'an adoption counts in its own transaction');
is($session->query('ROLLBACK; SELECT twtasks.is_adopted()'),
	'f', 'an adoption that is rolled back does not count');
$other->safe_psql('subscriber', 'DROP SUBSCRIPTION copy');

# ---- who may ----

foreach my $role (qw(producer worker viewer))
{
	like($session->try("SET ROLE twtasks_$role; SELECT twtasks.adopt('x')"),
		qr/42501/, "a $role may not adopt");
	$session->query('RESET ROLE');
}
is( $session->query(
		'SET client_min_messages = warning; SET ROLE twtasks_operator; SELECT held FROM twtasks.adopt(\'x\')')
	  =~ /^\d+$/,
	1,
	'an operator may adopt');

done_testing();
