# 142_ctl_doctor.pl -- twtasksctl doctor finds each planted fault with a remedy, and
# none on a healthy server.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Ctl;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main',
	conf => { fsync => 'on', wal_level => 'replica', max_wal_senders => 2, max_replication_slots => 2, max_prepared_transactions => 5, autovacuum => 'on' });

$node->value(<<'SQL');
	CREATE ROLE viewer LOGIN IN ROLE twtasks_viewer;
	CREATE ROLE somebody;
	CREATE TABLE public.mine (id integer);
	CREATE FUNCTION public.noted() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
SQL
$node->value("SELECT twtasks.adopt('production')");
my $sidecar = TwTasks::Sidecar->start($node, 'a', environment => 'production',
	handlers => [ { types => ['A*'], command => ['/bin/true'] } ]);
my $ctl = TwTasks::Ctl->new($node);

sub findings
{
	my (@arguments) = @_;
	my ($status, $out) = $ctl->run([ 'doctor', '--json', @arguments ]);

	return ($status, grep { $_->{finding} ne 'OK' } @{ JSON::PP::decode_json($out) });
}

# Plants a fault by SQL, looks for it, and takes it back.
sub found_ok
{
	my ($check, $pattern, $plant, $mend, @arguments) = @_;
	my ($status, @found);

	$node->value($_) foreach ref $plant ? @$plant : $plant;
	wait_for(
		sub {
			# the sidecar counts each minute, and would take this one back
			$node->value($plant->[-1]) if $check eq 'leader';
			($status, @found) = findings(@arguments);
			return scalar grep { $_->{check} eq $check && $_->{sentence} =~ $pattern } @found;
		},
		"the doctor to find: $pattern");
	is($status, 4, "$check: $pattern: exit status");
	ok(!(grep { !$_->{command} } @found), "$check: $pattern: each finding has a remedy");
	$node->value($_) foreach ref $mend ? @$mend : $mend;
	return;
}

wait_for(sub { $node->value("SELECT count(*) FROM twtasks.nodes WHERE ended IS NULL") }, 'a node');
my ($status, @found);
wait_ok(sub { ($status, @found) = findings(); return !@found }, 'a healthy server has no finding')
  or diag(JSON::PP::encode_json(\@found));
is($status, 0, 'and the exit status says so');
my ($text) = $ctl->ends(0, ['doctor']);

like($text, qr/^OK    preload: triggers go through shared memory$/m, 'each check tells that it was made');
my $reader = TwTasks::Ctl->new($node, 'viewer');
my $blind = $reader->json(4, ['doctor'], 'a viewer can ask the doctor');
is(join(' ', map { $_->{check} } grep { $_->{finding} ne 'OK' } @$blind), 'rights', '... and hears what it cannot see');
$node->value('GRANT pg_read_all_stats TO viewer');
my $viewer = $reader->json(0, ['doctor'], 'with the right, all is well');

# ---- faults of the configuration, which twtasks.warnings has ----

found_ok('warnings', qr/^paused: type "A"/, "SELECT twtasks.pause_type('A', 'x')", "SELECT twtasks.resume_type('A')");
found_ok('warnings', qr/^limit of 0/, "SELECT twtasks.configure_limit('A', 0)", "SELECT twtasks.drop_limit('A', NULL)");
found_ok('warnings', qr/^schedule paused/,
	[ "SELECT twtasks.schedule('s', '1 1 1 1 *', 'A')", "SELECT twtasks.pause_schedule('s')" ],
	"SELECT twtasks.unschedule('s')");
found_ok('warnings', qr/^no handler: type "NONE"/, "SELECT twtasks.add_task('NONE', key => 'none')",
	"SELECT twtasks.cancel_task(twtasks.id_of('none'), reason => 'x')");
found_ok('warnings', qr/^testing: .*this database/, 'ALTER DATABASE postgres SET twtasks.testing = on',
	'ALTER DATABASE postgres RESET twtasks.testing');
found_ok('warnings', qr/^nodes missing/, "SELECT twtasks.configure_type('A', nodes => '{nobody}')",
	"SELECT twtasks.drop_type_policy('A')");

# ---- faults of the installation ----

found_ok('extension', qr/twtasks has version 1\.0/, "UPDATE pg_extension SET extversion = '1.0' WHERE extname = 'twtasks'",
	"UPDATE pg_extension SET extversion = a.default_version FROM pg_available_extensions a WHERE a.name = extname AND extname = 'twtasks'");
found_ok('leader', qr/last count of a leader is 1 day/, [ 'SELECT twtasks_internal.monitor_tasks()',
		"UPDATE twtasks.monitor_look SET at = twtasks.clock() - interval '1 day'" ],
	'SELECT twtasks_internal.monitor_tasks()');
my $tomorrow = $node->value("SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE c.relname = 'finished_task_' || to_char(now() AT TIME ZONE 'UTC' + interval '1 day', 'YYYYMMDD')");

found_ok('partitions', qr/no partition for/, "DROP TABLE $tomorrow", 'SELECT twtasks_internal.make_partitions()');
found_ok('autovacuum', qr/autovacuum is off for table twtasks\.task$/, 'ALTER TABLE twtasks.task SET (autovacuum_enabled = false)',
	'ALTER TABLE twtasks.task RESET (autovacuum_enabled)');
found_ok('autovacuum', qr/^autovacuum is off$/, [ 'ALTER SYSTEM SET autovacuum = off', 'SELECT pg_reload_conf()' ],
	[ 'ALTER SYSTEM RESET autovacuum', 'SELECT pg_reload_conf()' ]);
found_ok('autovacuum', qr/^track_counts is off$/, [ 'ALTER SYSTEM SET track_counts = off', 'SELECT pg_reload_conf()' ],
	[ 'ALTER SYSTEM RESET track_counts', 'SELECT pg_reload_conf()' ]);
found_ok('durability', qr/^fsync is off/, [ 'ALTER SYSTEM SET fsync = off', 'SELECT pg_reload_conf()' ],
	[ 'ALTER SYSTEM RESET fsync', 'SELECT pg_reload_conf()' ]);
found_ok('durability', qr/^full_page_writes is off/,
	[ 'ALTER SYSTEM SET full_page_writes = off', 'SELECT pg_reload_conf()' ],
	[ 'ALTER SYSTEM RESET full_page_writes', 'SELECT pg_reload_conf()' ]);
my $session = $node->session;

$session->query('BEGIN');
$session->query('SELECT 1 FROM public.mine');
my $pid = $session->query('SELECT pg_backend_pid()');

found_ok('old transactions', qr/^process \Q$pid\E /, 'SELECT 1', 'SELECT 1', '--old', '1ms');
$session->query("PREPARE TRANSACTION 'left behind'");
found_ok('old transactions', qr/^prepared transaction "left behind"/, 'SELECT 1', "ROLLBACK PREPARED 'left behind'", '--old', '1ms');
found_ok('slots', qr/"idle"/, "SELECT pg_create_physical_replication_slot('idle', true)", "SELECT pg_drop_replication_slot('idle')");
found_ok('foreign triggers', qr/trigger "noted" on twtasks\.task /,
	'CREATE TRIGGER noted AFTER INSERT ON twtasks.task FOR EACH ROW EXECUTE FUNCTION public.noted()',
	'DROP TRIGGER noted ON twtasks.task');
found_ok('indexes', qr/task_pkey is not valid/, "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'twtasks.task_pkey'::regclass",
	"UPDATE pg_index SET indisvalid = true WHERE indexrelid = 'twtasks.task_pkey'::regclass");
found_ok('owner', qr/twtasks\.audit belongs to "somebody"/, 'ALTER TABLE twtasks.audit OWNER TO somebody',
	'ALTER TABLE twtasks.audit OWNER TO twtasks_owner');
found_ok('roles', qr/"$_" is a superuser/, "ALTER ROLE $_ LOGIN", "ALTER ROLE $_ NOLOGIN")
  foreach qw(twtasks_viewer twtasks_payload_viewer);
found_ok('roles', qr/"somebody" is a member of twtasks_owner/, 'GRANT twtasks_owner TO somebody', 'REVOKE twtasks_owner FROM somebody');
found_ok('roles', qr/"somebody" may create objects in schema twtasks$/, 'GRANT CREATE ON SCHEMA twtasks TO somebody',
	'REVOKE CREATE ON SCHEMA twtasks FROM somebody');
my @many = map { $node->session } 1 .. 50;

$_->query('SELECT 1') foreach @many;
found_ok('sessions', qr/of 60 sessions/, 'SELECT 1', 'SELECT 1');
$_->close foreach @many;
wait_ok(sub { ($status, @found) = findings(); return !@found }, 'without its faults, the server is healthy again')
  or diag(JSON::PP::encode_json(\@found));

# ---- a dead sidecar ----

$sidecar->stop;
found_ok('nodes', qr/^no sidecar lives/, 'SELECT 1', 'SELECT 1');
done_testing();
