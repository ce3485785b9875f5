# 081_upgrade_running.pl -- the extension can be updated while tasks run: nothing
# is lost.

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

is(installed(), $version, 'CREATE EXTENSION installs the current version');
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
