# 080_dump_restore.pl -- pg_dump and pg_restore keep everything: tasks in each
# status, the history with its day partitions, keys, sequences, the audit; and
# in the restored database the work goes on.

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
$node->value('SELECT twtasks.make_partitions()');

my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	handlers => [
		{ types => ['DONE'], noop => JSON::PP::true },
		{ types => ['GATED|retry'], stuck => 'retry', %gated },
		{ types => ['GATED|error'], %gated },
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

my $done = $node->add_task(
	'DONE',
	key => 'done-key',
	data => '{"a": "é"}',
	context => '{"b": null}');
my $retry = $node->add_task('GATED|retry');
my $error = $node->add_task('GATED|error', priority => 1);
my $failed = $node->add_task('ERROR', key => 'error-key');
my $waiting =
  $node->add_task('DONE', key => 'wait-key', run_after => in_an_hour());
my $held =
  $node->add_task('DONE', run_after => in_an_hour(), sub_type => 'h');
my $cancelled = $node->add_task('DONE', run_after => in_an_hour());
my $unhandled = $node->value(
	'SELECT task_id FROM twtasks.add_task(\'UNHANDLED\',
	payload => \'\\x00ff0a\', bucket => \'other\')');

$node->value(
	'SELECT twtasks.configure_bucket(\'other\'),
	twtasks.configure_bucket(\'default\', \'all the rest\'),
	twtasks.configure_type(\'FOREIGN*\', bucket => \'other\', timeout => \'1min\')'
);
$node->add_many('DONE', 1000, 500);
$node->value(
	"SELECT twtasks.hold_task('$held', 0, 'to be kept'),
	twtasks.cancel_task('$cancelled', 0, 'not wanted')");
wait_for(
	sub {
		$node->tasks('status = \'DONE\'') == 1001
		  && $node->tasks('status = \'PROCESSING\'') == 2
		  && $node->status_of($failed) eq 'ERROR';
	},
	'tasks in each status');
is( $node->value(
		'SELECT string_agg(DISTINCT status::text, \' \' ORDER BY status::text) FROM twtasks.tasks'
	),
	'CANCELLED DONE ERROR HELD PROCESSING SUBMITTED WAITING',
	'there are tasks in each status');
cmp_ok(
	$node->value(
		'SELECT count(*) FROM pg_inherits
		WHERE inhparent = \'twtasks.finished_task\'::regclass'),
	'>',
	5,
	'there are partitions');
is($node->value('SELECT count(*) FROM twtasks.finished_task_default'),
	'0', 'the history is in them');

# ---- kept ----

# Everything in the tables, in a form that can be compared.
sub contents
{
	my ($session) = @_;

	return join "\n---\n", map { $session->query($_) } (
		'SELECT * FROM twtasks.task ORDER BY id',
		'SELECT tableoid::regclass, * FROM twtasks.finished_task ORDER BY id',
		'SELECT * FROM twtasks.unique_key ORDER BY task_id',
		'SELECT incarnation, name, started, lease FROM twtasks.node ORDER BY 1',
		'SELECT * FROM twtasks.audit ORDER BY id',
		'SELECT * FROM twtasks.type_policy ORDER BY pattern',
		'SELECT * FROM twtasks.bucket_policy ORDER BY name',
		'SELECT * FROM twtasks.transition ORDER BY action, from_status, to_status',
		'SELECT last_value, is_called FROM twtasks.node_incarnation_seq',
		'SELECT last_value, is_called FROM twtasks.audit_id_seq',
		'SELECT c.oid::regclass, c.relkind, r.rolname, c.relacl,
				pg_get_expr(c.relpartbound, c.oid)
		 FROM pg_class c JOIN pg_roles r ON r.oid = c.relowner
		 WHERE relnamespace = \'twtasks\'::regnamespace ORDER BY c.oid::regclass::text'
	);
}

sub session_of
{
	my ($database) = @_;

	return TwTasks::Session->new($node->connstr($database));
}

# Nothing changes any more: the sidecar is killed while two tasks run.
$sidecar->kill9;
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

	ok($restored eq $before, "$format: all is as it was")
	  || diag(diff($before, $restored));
}

sub diff
{
	my %there = map { $_ => 1 } split /\n/, $_[1];

	return "missing:\n" . join "\n",
	  (grep { !$there{$_} } split /\n/, $_[0])[ 0 .. 5 ];
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
	'so is one of a task that waits');
is($restored->query('SELECT is_adopted FROM twtasks.adoption_state'),
	'f', 'nothing is executed before it is adopted');
is($restored->query('SELECT held FROM twtasks.adopt(NULL, hold => false)'),
	0, 'adopted, without holding anything');
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
	'a task that ran, with the stuck rule retry, runs again');
wait_ok(
	sub { restored_state($error) eq 'ERROR' },
	'one with the rule error is in ERROR');
wait_ok(
	sub { restored_state($unhandled) eq 'DONE' },
	'one that had been waiting for a node runs');
is($restored->query("SELECT result FROM twtasks.release_task('$held', 1, now())"),
	'changed', 'one that was held can be released');
wait_ok(sub { restored_state($held) eq 'DONE' }, 'and runs');
is( $restored->query(
		'SELECT count(DISTINCT id) = count(*) AND max(id) > 2 FROM twtasks.audit'
	),
	't',
	'the audit goes on');
like($restored->query('SELECT twtasks.make_partitions(30)'),
	qr/^\d\d$/, 'partitions are made');
is($restored->query('SELECT twtasks.clean_tasks(\'0 days\')'),
	'', 'cleaning works');
is($heir->stop, 0, 'the sidecar stops in order');

# What it did is not the other database's business.
is($node->status_of($retry), 'PROCESSING', 'the original is as it was');

done_testing();
