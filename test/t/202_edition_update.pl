# 202_edition_update.pl -- an update of the SQL edition leaves in the database what a fresh
# installation does, keeps what an administrator has set, loses no task while it runs, and
# refuses each database for which it was not written.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Catalog;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::NextEdition;
use TwTasks::Producer;
use TwTasks::Session;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $editions = $ENV{TWT_EDITIONS} || die "scripts/check writes the editions\n";
my $next = TwTasks::NextEdition->new;
my $version = $next->version;

# ---- the sources of a later version ----

$next->rewrite('sql/order.txt', 'base/owner.sql', "watch/later.sql\nbase/owner.sql");
$next->rewrite('sql/base/schema.sql', "\tadded_by\t\ttext COLLATE \"C\",\t\t\t\t\t\t\t\t-- The role that added it, by its name at that time\n",
	"\tadded_by\t\ttext COLLATE \"C\",\t\t\t\t\t\t\t\t-- The role that added it, by its name then\n\tlater\t\t\tboolean NOT NULL DEFAULT false,\t\t\t\t\t\t\t\t-- New\n");
$next->rewrite('sql/base/settings.twin.sql', "('enabled', 'on')", "('later', 'on'), ('enabled', 'on')");
$next->rewrite('sql/base/settings.twin.sql', "('keep_audit', '400d')", "('keep_audit', '500d')");
$next->rewrite('sql/base/settings.twin.sql', "('keep_attempts', '14d')", "('keep_attempts', '15d')");
$next->rewrite('sql/base/settings.twin.sql', "SELECT 'notify'", "SELECT 'notify'::text");
$next->rewrite('sql/policy/user_function.twin.sql', "SELECT twtasks_internal.make_call('call_retry'", "SELECT twtasks_internal.make_call('call_later', 'a later one', 'text', 'integer');\nSELECT twtasks_internal.make_call('call_retry'");
# Code that a template makes, a function with another name, and one with another parameter.
$next->rewrite('sql/policy/try_call.twin.sql', 'EXCEPTION WHEN OTHERS OR ASSERT_FAILURE', 'EXCEPTION WHEN ASSERT_FAILURE OR OTHERS');
$next->rewrite('sql/policy/user_function.named.twin.sql', 'RETURN answer;', "RETURN answer;\t-- as text");
$next->rewrite('sql/add/add_task.known.twin.sql', 'twtasks_internal.count_changes', 'twtasks_internal.changes_between') foreach 1 .. 3;
$next->rewrite('sql/add/add_task.known.twin.sql', 'nearest_type(type text)', 'nearest_type(type text, later integer DEFAULT 0)');
$next->append('sql/watch/later.sql', <<'SQL');
/*
 * twtasks.later()
 *
 *		A new function.
 */
CREATE FUNCTION twtasks.later()
RETURNS integer
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT 1;
$$;
CREATE TABLE twtasks.later_table (
	n	bigint GENERATED ALWAYS AS IDENTITY,	-- A number
	CONSTRAINT later_table_pkey PRIMARY KEY (n)
);
CREATE VIEW twtasks.later_tasks AS SELECT t.id, t.later FROM twtasks.task t;
COMMENT ON VIEW twtasks.later_tasks IS 'A new view';
GRANT EXECUTE ON FUNCTION twtasks.later TO twtasks_viewer;
GRANT SELECT ON twtasks.later_tasks, twtasks.stats TO twtasks_producer;
SQL
$next->by_hand('sql', 'ALTER TABLE twtasks.task ADD COLUMN later boolean NOT NULL DEFAULT false;' . "\n");
$next->write('next.sql');
$next->write('update.sql', '--update', "$editions/sql.sql");
$next->write('one.sql', '--one-role', '--update', "$editions/one-role.sql");
$next->write('next-one.sql', '--one-role');

# ---- updated while tasks run ----

my $node = TwTasks::Cluster->create('main', queue => 'notify', edition => 'sql');
my $ledger = TwTasks::Ledger->new;
my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	handlers => [
		{ types => ['TASK'], worker => $ledger->worker },
		{ types => ['GATED'], command => $ledger->command('gate') }
	]);

# The error of psql with a file, or nothing; "installer" is not a superuser.
sub load
{
	my ($database, $file, $user) = @_;

	return TwTasks::NextEdition::load($node, $database, $file, $user // 'installer');
}

sub make_database
{
	my ($name, @files) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $name OWNER installer");
	is(load($name, $_), '', "$name: $_") foreach @files;
	return TwTasks::Session->new($node->connstr($name));
}

my $fresh = make_database('fresh', $next->file('next.sql'));
$fresh->query($_) foreach 'SET ROLE twtasks_owner', q{SELECT twtasks_internal.make_partition('finished_task_other', 'DEFAULT')}, 'RESET ROLE';
$node->value($_) foreach
	'GRANT EXECUTE ON FUNCTION twtasks.task_at TO PUBLIC',
	'REVOKE SELECT ON twtasks.audit FROM twtasks_viewer',
	q{UPDATE twtasks.setting SET value = '3d' WHERE name = 'keep_audit'};
my $id = $node->add_task('GATED');
my $producer = TwTasks::Producer->start($node, 'TASK');

$ledger->wait_for_progress('before');
is(load('postgres', $next->file('update.sql')), '', 'a role without superuser updates while tasks run');
is($node->value('SELECT edition, version FROM twtasks.edition()'), 'sql|77.1', 'the database says its new version');
is($node->value('SELECT count(*) FROM twtasks_internal.installed'), 1, '... and no other');
$ledger->wait_for_progress('afterwards');
$ledger->release('gate');
wait_ok(sub { $node->state_of($id) eq 'DONE 2' }, 'a task that ran through the update is done');
$producer->stop;
wait_ok(sub { $node->tasks('status <> \'DONE\'') == 0 }, 'all tasks are done');
$producer->none_lost_ok($node);
is(scalar($ledger->repeated), 0, 'no task was started twice');
# On a busy machine a call may wait for the locks of the update until its time is over.
unlike($sidecar->log =~ s/^.*SQLSTATE 55P03.*\n//gmr, qr/ERROR/, 'the log of the sidecar has no other error');
is($sidecar->stop, 0, 'the sidecar stops in order');

is($node->value(q{SELECT string_agg(name || ' ' || value || ' ' || standard, ', ' ORDER BY name COLLATE "C") FROM twtasks.setting WHERE name IN ('keep_audit', 'keep_attempts', 'later')}),
	'keep_attempts 15d 15d, keep_audit 3d 500d, later on on', 'a setting that somebody has set stays, and others get their new standard');
is($node->value(q{SELECT has_function_privilege('twtasks_tester', 'twtasks.task_at'::regproc, 'EXECUTE'),
		has_table_privilege('twtasks_viewer', 'twtasks.audit', 'SELECT')}),
	't|f', 'rights stay as they were set');
$node->value($_) foreach 'REVOKE EXECUTE ON FUNCTION twtasks.task_at FROM PUBLIC', 'GRANT SELECT ON twtasks.audit TO twtasks_viewer',
	'DROP TABLE IF EXISTS twtasks.task_attempt_other';
same_catalog(catalog_of($node->session), catalog_of($fresh), 'the catalog is that of a fresh installation');

# ---- refused ----

my $other = make_database('other', "$editions/sql.sql");
my $update = $next->file('update.sql');
my $before = catalog_of($other);

# refused_ok DATABASE, FILE, PATTERN, NAME, [USER]
sub refused_ok
{
	my ($database, $file, $pattern, $name, $user) = @_;

	like(load($database, $file, $user), $pattern, $name);
	return;
}

$node->safe_psql('postgres', 'CREATE ROLE stranger LOGIN; CREATE DATABASE none');
refused_ok('postgres', $update, qr/has this edition of twtasks already/, 'an update is refused where it has been');
refused_ok('none', $update, qr/does not have the SQL edition.*Load the edition itself/s, '... in a database without twtasks');
refused_ok('other', $update, qr/"stranger" may not update twtasks.*another member of "twtasks_owner"/s, '... to a stranger', 'stranger');
refused_ok('other', $next->file('one.sql'), qr/another build of version \Q$version\E.*edition --update/s, '... where it is for one role');
$other->query(q{UPDATE twtasks_internal.installed SET version = '78.0', build = 'x'});
refused_ok('other', $update, qr/has version 78.0 of twtasks, not \Q$version\E.*leads to version 77.1/s, '... of a newer version');
$other->query(q{UPDATE twtasks_internal.installed SET version = '0.9'});
refused_ok('other', $update, qr/has version 0.9 of twtasks, not .*Load the update from version 0.9 first/s, '... of one that is too old');
same_catalog(catalog_of($other), $before, 'a refused update changes nothing');
my ($out, $errors) = run_command([ $next->source('scripts/edition'), '--update', $0 ]);
like($errors, qr/has no SQL edition of twtasks/, 'a file without the edition leads to no update');

my $library = $node->safe_psql('postgres', 'CREATE DATABASE library');
$node->safe_psql('library', 'CREATE EXTENSION twtasks');
refused_ok('library', $update, qr/does not have the SQL edition.*ALTER EXTENSION twtasks UPDATE/s, 'an update is refused where the extension is');

# ---- one role ----

$node->safe_psql('postgres', 'CREATE ROLE solo LOGIN');
foreach my $database (qw(solo solo_fresh))
{
	$node->safe_psql('postgres', "CREATE DATABASE $database OWNER solo");
}
is(load('solo', $_, 'solo'), '', 'one role: ' . $_) foreach "$editions/one-role.sql", $next->file('one.sql');
is(load('solo_fresh', $next->file('next-one.sql'), 'solo'), '', 'one role: a fresh installation');
same_catalog(map({ catalog_of(TwTasks::Session->new($node->connstr($_))) } qw(solo solo_fresh)),
	'the catalog of one role is that of a fresh installation');

done_testing();
