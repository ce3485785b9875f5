# 081_upgrade_catalog.pl -- an update from a released version leaves in the
# database what a fresh installation does, and what an administrator has set.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Catalog;
use TwTasks::Session;

my @extensions = qw(twtasks twtasks_events twtasks_kinds);
my $node = PostgreSQL::Test::Cluster->new('main');

$node->init(extra => ['--no-sync']);
$node->start;

sub in_database
{
	my ($name, @statements) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $name");
	my $session = TwTasks::Session->new($node->connstr($name));
	$session->query($_) foreach @statements;
	return $session;
}

my $current = $node->safe_psql('postgres',
	"SELECT default_version FROM pg_available_extensions WHERE name = 'twtasks'");
my @older = split /\n/, $node->safe_psql('postgres',
	"SELECT source FROM pg_extension_update_paths('twtasks')
	WHERE target = '$current' AND path IS NOT NULL AND source ~ '^[0-9.]+\$'");
my %updated;

ok(@older > 0, "versions lead to $current: @older");

# Roles belong to the cluster: no fresh installation may have made them.
foreach my $old (@older)
{
	$updated{$old} = catalog_of(in_database(
		'from_' . $old =~ tr/./_/r,
		map({ "CREATE EXTENSION $_ VERSION '$old'" } @extensions),
		map({ "ALTER EXTENSION $_ UPDATE" } @extensions)));
}

# Partitions do not belong to the extension, but version 1.0 made one.
my $fresh = in_database('fresh',
	map({ "CREATE EXTENSION $_" } @extensions),
	'SET ROLE twtasks_owner',
	q{SELECT twtasks_internal.make_partition('finished_task_other', 'DEFAULT')},
	'RESET ROLE');
my $expected = catalog_of($fresh);

cmp_ok(scalar @{ $expected->{function} }, '>', 250, 'the catalog has the functions');
same_catalog($updated{$_}, $expected, "an update from $_ leads to a fresh installation's catalog")
  foreach @older;

like(
	$fresh->try('ALTER EXTENSION twtasks UPDATE'),
	qr/version "\Q$current\E" of extension "twtasks" is already installed/,
	'an update to the current version changes nothing');

# ---- what an administrator has set ----

my $kept = in_database('kept',
	map({ "CREATE EXTENSION $_ VERSION '$older[0]'" } @extensions),
	'CREATE ROLE app',
	'GRANT EXECUTE ON FUNCTION twtasks.add_task TO app',
	'REVOKE EXECUTE ON FUNCTION twtasks.fail_task FROM twtasks_operator',
	'REVOKE EXECUTE ON FUNCTION twtasks.read_to_do FROM PUBLIC',
	'REVOKE SELECT ON twtasks.audit FROM twtasks_viewer',
	'ALTER TABLE twtasks.task SET (autovacuum_vacuum_threshold = 77)',
	'SELECT twtasks_internal.make_partitions()',
	'ALTER TABLE twtasks.finished_task ALTER COLUMN type SET STATISTICS 300, ALTER COLUMN data SET STATISTICS 0',
	'ALTER TABLE twtasks.unique_key ALTER COLUMN key SET STATISTICS 200',
	'CREATE ROLE clerk',
	q{CREATE FUNCTION public.decide(read_model jsonb, data jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE
		SET search_path = pg_catalog, pg_temp AS 'SELECT data'},
	q{SELECT twtasks.configure_kind('item', 'to_do', 'ITEM', '{/n}', decide => 'public.decide',
		readers => '{clerk,app}', answerers => '{clerk}')},
	map({ "ALTER EXTENSION $_ UPDATE" } @extensions));

is( $kept->query(q{SELECT has_function_privilege('app', 'twtasks.add_task'::regproc, 'EXECUTE'),
		has_function_privilege('twtasks_operator', 'twtasks.fail_task'::regproc, 'EXECUTE'),
		has_function_privilege('app', 'twtasks.read_to_do'::regproc, 'EXECUTE'),
		has_table_privilege('twtasks_viewer', 'twtasks.audit', 'SELECT'),
		reloptions @> '{autovacuum_vacuum_threshold=77}'
		FROM pg_class WHERE oid = 'twtasks.task'::regclass}),
	't|f|f|f|t',
	'an update keeps the rights and the options that were set');

my $targets = q{SELECT string_agg(DISTINCT concat_ws(' ', a.attname, a.attstattarget), ', ' ORDER BY concat_ws(' ', a.attname, a.attstattarget))
	FROM pg_attribute a WHERE a.attnum > 0 AND NOT a.attisdropped};
is($kept->query("$targets AND a.attstattarget <> 10 AND a.attrelid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = 'twtasks.finished_task'::regclass)"),
	'data 0, type 300', 'all partitions keep the statistics targets that were set, and get ours for the other columns');
is($kept->query("$targets AND a.attrelid = 'twtasks.unique_key'::regclass"), 'key 200, put_version 10, task_id 10', '... and so does the table of keys');
$kept->query('SELECT twtasks_internal.make_partitions(20)');
is($kept->query("$targets AND a.attrelid = (SELECT inhrelid FROM pg_inherits WHERE inhparent = 'twtasks.finished_task'::regclass ORDER BY inhrelid DESC LIMIT 1) AND a.attstattarget <> 10"),
	'data 0, type 300', 'partitions that are made later have them, too');

is($kept->query('SELECT readers, answerers FROM twtasks.kinds'), '{app,clerk}|{clerk}', 'an update keeps who may read and answer items');

my ($dump, $errors) = run_command([ 'pg_dump', '-s', '-d', $node->connstr('kept') ]);
my @rights = sort grep { /^(GRANT|REVOKE) .*(?:_task\(|read_to_do|audit)/ } split /\n/, $dump;

is($errors, '', 'a dump is made');
is_deeply(
	[ map { s/\(.*\) (TO|FROM)/ $1/r } @rights ],
	[
		'GRANT ALL ON FUNCTION twtasks.add_task TO app;',
		'REVOKE ALL ON FUNCTION twtasks.fail_task FROM twtasks_operator;',
		'REVOKE ALL ON FUNCTION twtasks.read_to_do FROM PUBLIC;',
		'REVOKE SELECT ON TABLE twtasks.audit FROM twtasks_viewer;'
	],
	'a dump has these rights, too');

# ---- what an administrator has changed ----

# changed NAME, STATEMENT... -- the session of a database of the oldest version
sub changed
{
	my ($name, @statements) = @_;

	return in_database($name, map({ "CREATE EXTENSION $_ VERSION '$older[0]'" } @extensions), @statements);
}

my $update = join '; ', map { "ALTER EXTENSION $_ UPDATE" } @extensions;
my $default = 'twtasks.finished_task_default';
my $of_types = changed('of_types',
	'CREATE TABLE public.ended (t twtasks.ended_task, a twtasks.ended_task[])',
	'CREATE TABLE public.typed OF twtasks.ended_task',
	'CREATE TABLE public.followed (o twtasks.outcome)',
	q{INSERT INTO twtasks.outcome (kind, identifier, started, step, event)
		VALUES ('k', 'i', now(), 'first', '{}')},
	'INSERT INTO public.followed SELECT o FROM twtasks.outcome o');

is($of_types->try($update), '', 'tables of the types of twtasks do not keep it from an update');
is($of_types->query('SELECT (o).identifier, (o).chain FROM public.followed'), 'i|', '... and keep their rows');
is($of_types->query('SELECT chain FROM twtasks.outcome'), '0', '... as twtasks does');
$of_types->query($_) foreach 'DROP TABLE public.ended, public.typed, public.followed', 'DELETE FROM twtasks.outcome';
same_catalog(catalog_of($of_types), $expected, 'the catalog then is a fresh one');

my $taken = changed('taken', "ALTER EXTENSION twtasks DROP TABLE $default");

is($taken->try($update), '', 'a default partition that the extension does not have is no obstacle');
same_catalog(catalog_of($taken), $expected, '... and becomes the one of today');

my $dropped = changed('dropped', "ALTER EXTENSION twtasks DROP TABLE $default", "DROP TABLE $default");

is($dropped->try($update), '', 'nor is one that was dropped');
is($dropped->query('SELECT twtasks_internal.begin_history()'), 't', '... which is made again');

my $detached = changed('detached',
	"ALTER EXTENSION twtasks DROP TABLE $default",
	"ALTER TABLE twtasks.finished_task DETACH PARTITION $default");

like($detached->try($update),
	qr/55000: .*finished_task_default is not the default partition.*is missing.*Attach the table again/s,
	'one that was detached is refused by name');
$detached->query("ALTER TABLE twtasks.finished_task ATTACH PARTITION $default DEFAULT");
is($detached->try($update), '', '... until it is attached again');

$_->close foreach $kept, $fresh, $of_types, $taken, $dropped, $detached;
done_testing();
