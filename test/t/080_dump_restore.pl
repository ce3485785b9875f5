# 080_dump_restore.pl -- pg_dump and pg_restore keep everything: tasks in each
# status, the history with its day partitions, keys, sequences, the audit, all
# that was configured; and in the restored database the work goes on.

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
my $directory = PostgreSQL::Test::Utils::tempdir();
my %gated = (command => $ledger->command('gate'));

# Before there is anything to keep; a sidecar would do it too, but when?
$node->value('SELECT twtasks_internal.make_partitions()');

my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	handlers => [
		{ types => ['DONE'], noop => JSON::PP::true },
		{ types => ['GATED|retry'], stuck => 'retry', %gated },
		{ types => [qw(GATED|error GATED|cancel)], %gated },
		{
			types => ['ERROR'],
			command => $ledger->command(undef, 65)
		}
	]);

# ---- what there is to keep ----

sub in_an_hour
{
	return $node->value('SELECT clock_timestamp() + interval \'1 hour\'');
}

$node->value('SET twtasks.on_behalf_of = \'anne\'');
$node->value(
	'SELECT twtasks.allow_type(\'FOREIGN*\', \'twtasks_producer\'), twtasks.allow_payload(\'FOREIGN*\', \'twtasks_producer\'),
	twtasks.configure_bucket(\'other\'),
	twtasks.configure_bucket(\'default\', \'all the rest\'), twtasks.configure_bucket(\'small\', concurrency => 3);
	SELECT twtasks.configure_type(\'FOREIGN*\', bucket => \'other\', timeout => \'1min\',
		retry => \'[{"delays": ["1s"]}, {"delay": "1min"}]\', nodes => \'{a,b*}\'),
	twtasks.pause_type(\'FOREIGN|*\', \'for now\'), twtasks.silence(\'*\', \'FOREIGN|*\', now() + interval \'1 hour\', \'for now\'),
	twtasks_internal.judge_incidents(), twtasks.pause_bucket(\'other\'), twtasks.resume_bucket(\'other\'),
	twtasks.pause_bucket(\'small\')'
);

# Together the rows have a value in each column.
$node->value(<<'SQL');
	SELECT twtasks.configure_type('REST|*', priority => 7, queue_time => '1h', expires_after => '1d',
			stuck => 'ignore', stuck_function => 'none', when_done => 'clear', intercept => 'none',
			retry_function => 'none', reset_tries => false, aging => '0'),
		twtasks.configure_limit('LIMITED', 3, 'cluster', stretch => 2, stretch_priority => 1,
			rate => 100, per => '1min', burst => 5),
		twtasks.configure_limit('LIMITED|*', 0),
		twtasks.configure_limit('LIMITED|A', rate => 7),
		twtasks.schedule('full', '* * * * *', 'UNHANDLED', '{"a": "é"}', sub_type => 's', bucket => 'other', priority => 3,
			expires_after => '1 year', context => '{"b": null}', payload => '\x00ff', time_zone => 'Europe/Berlin',
			missed => 'all', missed_limit => 5),
		twtasks.schedule('bare', '0 0 1 1 *', 'UNHANDLED'),
		twtasks.pause_schedule('bare', 'for now');
	UPDATE twtasks.schedule
	SET next_run = date_trunc('minute', clock_timestamp()), look_at = date_trunc('minute', clock_timestamp())
	WHERE name = 'full';
	SELECT twtasks_internal.run_schedules();
	UPDATE twtasks.schedule SET next_run = 'infinity', look_at = 'infinity' WHERE name = 'full';
SQL
my $done = $node->add_task(
	'DONE',
	key => 'done-key',
	data => '{"a": "é"}',
	context => '{"b": null}');
my $retry = $node->add_task('GATED|retry');
my $error = $node->add_task('GATED|error', priority => 1);
my $unwanted = $node->add_task('GATED|cancel');
my $failed = $node->add_task('ERROR', key => 'error-key');
my $waiting =
  $node->add_task('DONE', key => 'wait-key', run_after => in_an_hour());
my $held =
  $node->add_task('DONE', run_after => in_an_hour(), sub_type => 'h');
my $cancelled = $node->add_task('DONE', run_after => in_an_hour());
my $unhandled = $node->value(
	'SELECT task_id FROM twtasks.add_task(\'UNHANDLED\',
	payload => \'\\x00ff0a\', bucket => \'other\')');

$node->add_many('DONE', 1000, 500);
$node->value(
	"SELECT twtasks.hold_task('$held', 0, 'to be kept'),
	twtasks.cancel_task('$cancelled', 0, 'not wanted'), twtasks.request_payload('$held', 'to be kept')");
wait_for(
	sub {
		$node->tasks('status = \'DONE\'') == 1001
		  && $node->tasks('status = \'PROCESSING\'') == 3
		  && $node->status_of($failed) eq 'ERROR'
		  && $node->value('SELECT count(*) FROM twtasks.schedule_run') > 0;
	},
	'tasks in each status');
is( $node->value(
		'SELECT string_agg(DISTINCT status::text, \' \' ORDER BY status::text) FROM twtasks.tasks'
	),
	'CANCELLED DONE ERROR HELD PROCESSING SUBMITTED WAITING',
	'tasks exist in each status');
cmp_ok(
	$node->value(
		'SELECT count(*) FROM pg_inherits
		WHERE inhparent = \'twtasks.finished_task\'::regclass'),
	'>',
	5,
	'partitions exist');
is($node->value('SELECT count(*) FROM twtasks.finished_task_other'),
	'0', 'the partitions hold history');

# ---- kept ----

# The columns that are compared; all columns of the other tables are.
my %columns = (
	'twtasks.finished_task' => 'tableoid::regclass, *',
	'twtasks.node' => 'incarnation, name, started, lease');

# To create the extension adds a row of its own there.
my $created = $node->value('SELECT id FROM twtasks.adoption');
my %rows = ('twtasks.adoption' => "WHERE id = '$created'");

# All but what is only true while it runs, and what CREATE EXTENSION brings.
sub tables
{
	my ($kind) = @_;

	return split /\n/, $node->value(
		"SELECT c.oid::regclass FROM pg_class c
		WHERE c.relnamespace = 'twtasks'::regnamespace AND c.relkind IN ($kind) AND NOT c.relispartition
		  AND c.relname NOT IN ('slot_use', 'cleaning', 'duty', 'flow', 'monitor_look', 'monitor_metric', 'monitor_type', 'refused_node', 'task_progress', 'test_clock', 'transition') ORDER BY 1");
}

$node->safe_psql('postgres',
	q{SELECT twtasks.note_sent(i.id, 'desk', 'open', 0, 'sent') FROM twtasks.incident i});
my @tables = tables('\'r\', \'p\'');
my @sequences = tables('\'S\'');

# Everything in the tables, in a form that can be compared.
sub contents
{
	my ($session) = @_;

	return join "\n---\n", map { $session->query($_) } (
		(map { 'SELECT ' . ($columns{$_} // '*') . " FROM $_ x " . ($rows{$_} // '') . ' ORDER BY x::text' } @tables),
		(map { "SELECT last_value, is_called FROM $_" } @sequences),
		'SELECT * FROM twtasks.transition ORDER BY action, from_status, to_status',
		'SELECT c.oid::regclass, c.relkind, r.rolname, c.relacl,
				pg_get_expr(c.relpartbound, c.oid)
		 FROM pg_class c JOIN pg_roles r ON r.oid = c.relowner
		 WHERE relnamespace = \'twtasks\'::regnamespace ORDER BY c.oid::regclass::text',
		'SELECT a.attrelid::regclass, a.attname, a.attstattarget FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
		 WHERE relnamespace = \'twtasks\'::regnamespace AND a.attstattarget > 0 ORDER BY a.attrelid::regclass::text, a.attname'
	);
}

sub session_of
{
	my ($database) = @_;

	return TwTasks::Session->new($node->connstr($database));
}

$node->value(q(SELECT twtasks.take_messages('billing', 'invoices', 0, 7, 9, '{}')));
$node->value(q(SELECT twtasks.begin_import('original', 0)));
$node->value(q(SELECT count(*) FROM twtasks.import_tasks('original', jsonb_build_array(jsonb_build_object(
	'id', gen_random_uuid(), 'type', 'IMPORTED', 'status', 'WAITING', 'version', 1, 'tries', 0, 'priority', 5,
	'next_event_time', 'tomorrow'::timestamptz, 'state_time', now(), 'created', now())))));

# Nothing changes any more: the sidecar is killed while three tasks run.  Its calls may
# outlive it.
$sidecar->kill9;
wait_for(sub { $node->value(q(SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'twtasksd %')) == 0 },
	'the sessions of the sidecar to end');
is($node->value("SELECT result FROM twtasks.request_cancel('$unwanted', 1, 'not wanted')"),
	'requested', 'a running task can be asked to end');
foreach my $table (@tables)
{
	cmp_ok($node->value("SELECT count(*) FROM $table"), '>', 0, "$table has rows");
}
my $before = contents($node->session);
my @formats = qw(plain custom directory);

foreach my $format (@formats)
{
	my $file = "$directory/dump.$format";
	my $database = "restored_$format";

	$node->command_ok(
		[ 'pg_dump', "--format=$format", '--file', $file, 'postgres' ],
		"$format: pg_dump");
	$node->safe_psql('postgres',
		"CREATE DATABASE $database TEMPLATE template0");
	$node->command_ok(
		$format eq 'plain'
		? [
			'psql', '-Xq', '-v', 'ON_ERROR_STOP=1',
			'-d', $database, '-f', $file
		  ]
		: [ 'pg_restore', '--exit-on-error', '-d', $database, $file ],
		"$format: restore");
	my $restored = contents(session_of($database));

	ok($restored eq $before, "$format: all contents are as before")
	  || diag(diff($before, $restored));
}

# Some of the lines of the first that the second has not.
sub missing
{
	my %there = map { $_ => 1 } split /\n/, $_[1];
	my @missing = grep { !$there{$_} } split /\n/, $_[0];

	return join "\n", splice @missing, 0, 6;
}

sub diff
{
	return "missing:\n" . missing(@_) . "\nnew:\n" . missing(reverse @_);
}

# ---- and used ----

my $database = 'restored_custom';
my $restored = session_of($database);

is( $restored->query(
		"SELECT task_id, result FROM twtasks.add_task('DONE', key => 'done-key')"
	),
	"$done|already_exists",
	'a key of the history is known');
is( $restored->query(
		"SELECT task_id, result FROM twtasks.add_task('DONE', key => 'wait-key')"
	),
	"$waiting|already_exists",
	'the key of a waiting task is known');
is($restored->query('SELECT is_adopted FROM twtasks.adoption_state'),
	'f', 'the restored copy is not adopted');
is($restored->query('SELECT held FROM twtasks.adopt(NULL, hold => false)'),
	0, 'a copy is adopted without holding anything');
my $heir = TwTasks::Sidecar->start(
	$node, 'heir',
	postgres => $node->connstr($database) . ' user=sidecar',
	buckets => [ 'default', 'other' ],
	handlers => [ { types => ['*'], command => $ledger->command } ]);

sub restored_state
{
	my ($id) = @_;

	return $restored->query(
		"SELECT status FROM twtasks.tasks WHERE id = '$id'");
}

cmp_ok($heir->incarnation, '>', $sidecar->incarnation,
	'incarnations go on from there');
wait_ok(sub { restored_state($retry) eq 'DONE' },
	'a task that ran runs again by the stuck rule retry');
wait_ok(
	sub { restored_state($error) eq 'ERROR' },
	'a task that ran is in ERROR by the stuck rule error');
wait_ok(
	sub { restored_state($unwanted) eq 'CANCELLED' },
	'a task that was to be cancelled is CANCELLED');
wait_ok(
	sub { restored_state($unhandled) eq 'DONE' },
	'a task that waited for a node runs');
is($restored->query("SELECT result FROM twtasks.release_task('$held', 1, now())"),
	'changed', 'a held task can be released');
wait_ok(sub { restored_state($held) eq 'DONE' }, 'a released task runs');
is( $restored->query(
		'SELECT count(DISTINCT id) = count(*) AND max(id) > 2 FROM twtasks.audit'
	),
	't',
	'the audit goes on');
is( $restored->query(
		'SELECT twtasks.drop_type_policy(\'REST|*\');
		SELECT actor = session_user AND before ->> \'stuck\' = \'ignore\' AND after IS NULL
		FROM twtasks.policy_audit ORDER BY id DESC LIMIT 1'),
	"t\nt",
	'the audit of policies goes on');
like($restored->query('SELECT twtasks_internal.make_partitions(30)'),
	qr/^\d\d$/, 'partitions are made');
is($restored->query('SELECT twtasks_internal.clean_older(\'0 days\')'),
	'', 'cleaning works');
is($heir->stop, 0, 'the sidecar stops in order');

# Its work does not touch the other database.
is($node->status_of($retry), 'PROCESSING', 'the original database is unchanged');

done_testing();
