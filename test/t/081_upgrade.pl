# 081_upgrade.pl -- the extension can be updated while tasks run: nothing is
# lost; and whatever version was installed, an update leads to what a fresh
# installation gives.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Prefix;
use TwTasks::Producer;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $prefix = eval { TwTasks::Prefix->new('twtasks') };

plan skip_all => "a PostgreSQL of our own could not be made: $@"
  unless $prefix;

my $control = slurp_file($prefix->extensions . '/twtasks.control');
my ($version) = $control =~ /default_version\s*=\s*'([^']+)'/;
my $next = "$version.next";

# The upgrade script of a release with a new function.
append_to_file($prefix->extensions . "/twtasks--$version--$next.sql",
	<<'SQL');
\echo Use "ALTER EXTENSION twtasks UPDATE" to load this file. \quit
CREATE FUNCTION twtasks.is_next() RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$ SELECT true $$;
ALTER TABLE twtasks.task ADD COLUMN next integer;
SQL

my $node =
  TwTasks::Cluster->create('main', install_path => $prefix->install_path);
my $ledger = TwTasks::Ledger->new;

sub installed
{
	return $node->value(
		'SELECT extversion FROM pg_extension WHERE extname = \'twtasks\'');
}

# Everything that an installation makes, as text.
sub objects
{
	my ($database) = @_;
	my $session = TwTasks::Session->new($node->connstr($database));

	return join "\n", map { $session->query($_) } (
		'SELECT pg_get_functiondef(oid), proacl FROM pg_proc
		 WHERE pronamespace IN (\'twtasks\'::regnamespace, \'twtasks_internal\'::regnamespace) ORDER BY oid::regprocedure::text',
		'SELECT attrelid::regclass, attname, format_type(atttypid, atttypmod),
				attnotnull, relacl, reloptions,
				pg_get_expr(adbin, adrelid), col_description(attrelid, attnum)
		 FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
		 LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
		 WHERE relnamespace = \'twtasks\'::regnamespace AND attnum > 0 AND NOT attisdropped
		 ORDER BY attrelid::regclass::text, attname',
		'SELECT pg_get_indexdef(indexrelid) FROM pg_index
		 JOIN pg_class c ON c.oid = indexrelid
		 WHERE relnamespace = \'twtasks\'::regnamespace ORDER BY 1',
		'SELECT * FROM twtasks.transition ORDER BY action, from_status, to_status',
		'SELECT x::regclass FROM pg_extension, unnest(extconfig) x
		 WHERE extname = \'twtasks\' ORDER BY 1');
}

# ---- every released version ----

is(installed(), $version, 'CREATE EXTENSION installs the current version');
my @older = split /\n/, $node->value(
	"SELECT source
	FROM pg_extension_update_paths('twtasks')
	WHERE target = '$version' AND path IS NOT NULL");

note('versions that lead here: ' . (join(' ', @older) || 'none yet'));
foreach my $old (@older)
{
	my $database = "from_$old" =~ tr/./_/r;

	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, "CREATE EXTENSION twtasks VERSION '$old'");
	$node->safe_psql($database, 'ALTER EXTENSION twtasks UPDATE');
	ok(objects($database) eq objects('postgres'),
		"an update from $old leads to what a fresh installation gives");
}
like(
	$node->common_session->try('ALTER EXTENSION twtasks UPDATE'),
	qr/version "\Q$version\E" of extension "twtasks" is already installed/,
	'an update to the current version changes nothing');
is( $node->value(
		"SELECT path FROM pg_extension_update_paths('twtasks')
		WHERE source = '$version' AND target = '$next'"),
	"$version--$next",
	'an update path leads to the next version');

# ---- the next one, while tasks run ----

my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	handlers => [
		{ types => ['TASK'], worker => $ledger->worker },
		{ types => ['GATED'], command => $ledger->command('gate') }
	]);
my $gated = $node->add_task('GATED');
my $producer = TwTasks::Producer->start($node, 'TASK');

$ledger->wait_for_progress('before');
$node->value("ALTER EXTENSION twtasks UPDATE TO '$next'");
is(installed(), $next, 'the extension is updated while tasks run');
is($node->value('SELECT twtasks.is_next()'), 't', 'the new version brings its function');
$ledger->wait_for_progress('afterwards');
$ledger->release('gate');
wait_ok(
	sub { $node->state_of($gated) eq 'DONE 2' },
	'a task that ran through the update is done');
$producer->stop;
wait_ok(sub { $node->tasks('status <> \'DONE\'') == 0 }, 'all tasks are done');

my %exists = map { $_ => 1 }
  split /\n/, $node->value('SELECT id FROM twtasks.finished_task');

is(scalar(grep { !$exists{$_} } $producer->ids('committed')),
	0, 'no committed task is lost');
is(scalar($ledger->repeated), 0, 'no task was started twice');
unlike($sidecar->log, qr/ERROR/, 'the log of the sidecar has no error');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
