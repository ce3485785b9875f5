# 081_upgrade.pl -- library, SQL and sidecars are replaced in any order, while
# tasks are added and run.  No server crashes, no task is lost or started twice,
# what does not fit says so, and after the update all work together.

use strict;
use warnings FATAL => 'all';

use HTTP::Tiny;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Old;
use TwTasks::Producer;
use TwTasks::Sidecar;
use TwTasks::Wait;

plan skip_all => 'there are no builds of older commits: this copy of the sources has no history'
  unless TwTasks::Old->builds;

my $current;

sub version_in
{
	my ($node, $database) = @_;

	return $node->safe_psql($database // 'postgres',
		"SELECT extversion FROM pg_extension WHERE extname = 'twtasks'");
}

# In a session of its own, which has loaded no library before.
sub answer
{
	my ($node, $sql, $database) = @_;
	my $session = TwTasks::Session->new($node->connstr($database // 'postgres'));
	my $answer = $session->try($sql);

	$session->close;
	return $answer;
}

sub no_crash
{
	my ($node) = @_;

	unlike(slurp_file($node->logfile), qr/terminated by signal|PANIC/,
		$node->name . ': no server process crashes');
	return;
}

sub all_done
{
	my ($node, $ledger, $producer) = @_;
	my $name = $node->name;

	$producer->stop;
	$node->forget_session;
	wait_ok(sub { $node->tasks('status <> \'DONE\'') == 0 }, "$name: all tasks are done");
	$producer->none_lost_ok($node);
	is(scalar($ledger->repeated), 0, "$name: no task is started twice");
	no_crash($node);
	return;
}

# A cluster of 1.0, with its sidecar at work.
sub released
{
	my ($name, $queue) = @_;
	my $place = TwTasks::Old->new;

	$place->install_library(TwTasks::Old::RELEASE);
	my $node = TwTasks::Cluster->create($name,
		queue => $queue, version => '1.0', install_path => $place->install_path);
	my $ledger = TwTasks::Ledger->new;
	my @handlers = (handlers => [ { types => ['TASK'], worker => $ledger->worker } ]);
	my $old = TwTasks::Sidecar->start($node, 'old', program => TwTasks::Old::sidecar(), @handlers);
	my $producer = TwTasks::Producer->start($node, 'TASK');

	$ledger->wait_for_progress("$name: 1.0");
	return ($place, $node, $ledger, $old, $producer, @handlers);
}

# ---- a server that preloads twtasks ----

{
	my ($place, $node, $ledger, $old, $producer, @handlers) = released('preloaded', 'ring');

	$place->install_library;
	$current = $node->value("SELECT default_version FROM pg_available_extensions WHERE name = 'twtasks'");
	like(
		answer($node, 'ALTER EXTENSION twtasks UPDATE'),
		qr/0A000: this session has an older library of twtasks in memory.*Restart the server/s,
		'an update is refused as long as the old library is in memory');
	is(version_in($node), '1.0', '... and changes nothing');
	my $new = TwTasks::Sidecar->start($node, 'new', @handlers);

	$ledger->wait_for_progress('the new sidecar on the old library');
	$node->stop;
	$node->start;
	$ledger->wait_for_progress('the new library with the old SQL');
	wait_ok(sub { $node->tasks('incarnation = ' . $new->incarnation) > 0 }, 'the new sidecar runs tasks by the old SQL');
	is(answer($node, 'ALTER EXTENSION twtasks UPDATE'), '', 'the update succeeds after the restart');
	is(version_in($node), $current, '... to the current version');
	$ledger->wait_for_progress('all that is new, and the old sidecar');
	is($new->stop, 0, 'the new sidecar stops in order');
	$ledger->wait_for_progress('the old sidecar with the new SQL');
	all_done($node, $ledger, $producer);
	is($old->stop, 0, 'the old sidecar stops in order');
	$node->stop;
}

# ---- a server that does not ----

{
	my ($place, $node, $ledger, $old, $producer) = released('not_preloaded', 'notify');
	my $application = $node->session;
	my $add = q{SELECT result FROM twtasks.add_task('NONE')};

	is($application->query($add), 'added', 'an application adds by the old library');
	$place->install_library;
	is($application->query($add), 'added', '... also when the new one is installed');
	like(
		$application->try('ALTER EXTENSION twtasks UPDATE'),
		qr/0A000: this session has an older library.*open a new session/s,
		'a session with the old library cannot update');
	like(
		answer($node, 'ALTER EXTENSION twtasks UPDATE'),
		qr/WARNING: .*sessions may have an older library.*\b@{[$application->query('SELECT pg_backend_pid()')]}\b/s,
		'the update names sessions that may have the old library');
	is(version_in($node), $current, '... and succeeds');
	like($application->try($add), qr/42883: could not find function "twt_add_task_needs_1_1"/,
		'the old library does not run the new SQL');
	$application->close;
	$node->value(
		"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'producer'");
	$ledger->wait_for_progress('the old sidecar, whose sessions are new');
	$node->value("DELETE FROM twtasks.task WHERE type = 'NONE'");
	all_done($node, $ledger, $producer);
	is($old->stop, 0, 'the old sidecar stops in order');
	$node->stop;
}

# ---- SQL that was called 1.0 before the release ----

my $place = TwTasks::Old->new;

$place->install_library(TwTasks::Old::BEFORE);
$place->install_sql(TwTasks::Old::BEFORE);
my $node = TwTasks::Cluster->create('unreleased', version => '1.0', install_path => $place->install_path);
my $grabbed = $node->add_task('GRABBED');

$node->stop;
$place->install_library(TwTasks::Old::FIRST);
$place->install_sql(TwTasks::Old::FIRST);
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE first');
$node->safe_psql('first', q{CREATE EXTENSION twtasks VERSION '1.0'});
$node->stop;
$place->install_library;
$node->start;

sub health
{
	my ($port) = @_;
	my $answer = HTTP::Tiny->new->get("http://127.0.0.1:$port/health");

	return "$answer->{status} $answer->{content}";
}

is(answer($node, q{SELECT result FROM twtasks.add_task('TASK')}), 'added', 'SQL before the release adds tasks');
like(
	answer($node, "SELECT * FROM twtasks_internal.finish_tasks('{$grabbed}', '{1}', '{done}', '{0}', '{NULL}', 1, 1)"),
	qr/0A000: the library of twtasks \S+ does not know this function "finish_tasks".*version 1.0.*ALTER EXTENSION twtasks UPDATE/s,
	'... but an unknown function is refused');
like(answer($node, "SELECT * FROM twtasks_internal.grab_tasks('{$grabbed}', '{0}', 1, 1, '{1000}', '{error}')"),
	qr/0A000: .*ALTER EXTENSION twtasks UPDATE/s, '... and nothing is grabbed that cannot be finished');

my $ledger = TwTasks::Ledger->new;
my $port = PostgreSQL::Test::Cluster::get_free_port();
my $sidecar = TwTasks::Sidecar->prepare($node, 'new',
	listen => "127.0.0.1:$port", handlers => [ { types => [ 'TASK', 'GRABBED' ], command => $ledger->command } ]);

$sidecar->launch;
$sidecar->wait_for_log(
	qr/does not fit version \S+ of this program: .*ALTER EXTENSION twtasks UPDATE/, 'word that the SQL does not fit');
wait_ok(sub { health($port) =~ /^503 .*does not fit/ }, '/health says so');
like(
	answer($node, 'ALTER EXTENSION twtasks UPDATE; SELECT extversion FROM pg_extension WHERE extname = \'twtasks\''),
	qr/^\Q$current\E$/m, 'the update brings known SQL');
wait_ok(sub { answer($node, q{SELECT count(*) FROM twtasks.tasks WHERE status = 'DONE'}) eq '2' },
	'the sidecar goes on by itself');
wait_ok(sub { health($port) =~ /^200 / }, '... and is in health');
is(scalar(() = $sidecar->log =~ /does not fit/g), 1, 'one line of its log said what did not fit');
is($sidecar->stop, 0, 'it stops in order');

# Each function of the first sources, called with values that are not null.
my @answers = split /\n/, answer($node, <<'SQL', 'first');
	CREATE FUNCTION pg_temp.answer(statement text) RETURNS text LANGUAGE plpgsql AS $$
	BEGIN EXECUTE statement; RETURN 'served'; EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE; END $$;
	SELECT p.proname || ' ' || pg_temp.answer(format('SELECT * FROM %s(%s)', p.oid::regproc,
		(SELECT string_agg(format('%L::%s', CASE typcategory WHEN 'A' THEN '{}' WHEN 'N' THEN '1'
				WHEN 'B' THEN 'false' WHEN 'D' THEN 'now' WHEN 'T' THEN '1s' WHEN 'S' THEN 'x' WHEN 'E' THEN 'error' WHEN 'C' THEN NULL
				ELSE CASE typname WHEN 'uuid' THEN gen_random_uuid()::text WHEN 'bytea' THEN '' ELSE '{}' END END,
				format_type(t.oid, NULL)), ', ' ORDER BY a.place)
		 FROM unnest(p.proargtypes) WITH ORDINALITY a (type, place) JOIN pg_type t ON t.oid = a.type)))
	FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang AND l.lanname = 'c'
	WHERE p.pronamespace = 'twtasks'::regnamespace AND p.prokind = 'f'
SQL

note('answers to the first SQL: ' . join(', ', @answers));
cmp_ok(scalar(grep { / (?:0A000|42883)$/ } @answers), '>', 0, 'the first SQL is refused, function by function');
like(
	answer($node, 'ALTER EXTENSION twtasks UPDATE', 'first'),
	qr/0A000: the SQL of extension "twtasks" in this database is not version 1.0, though it says so.*It lacks: .*create it anew/s,
	'... and cannot be updated');
no_crash($node);

done_testing();
