# 205_edition_tle.pl -- the texts for pg_tle are extensions, also for events and kinds, that a
# role without superuser creates, dumps, updates and drops.  No registry has pg_tle, so a stand-in hands the text
# to CREATE EXTENSION as pg_tle does: by a file that needs no superuser.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Prefix;
use TwTasks::Session;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $place = TwTasks::Prefix->new('twtasks');
my $extensions = $place->extensions;
my $directory = PostgreSQL::Test::Utils::tempdir();
my $source = "$directory/source";

system('cp', '-R', "$ENV{TWT_EDITIONS}/source", $source) == 0 or die "no sources\n";

# The call that scripts/edition writes: its function, arguments and text.
sub call_of
{
	my @options = @_;
	my ($out, $errors) = run_command([ "$source/scripts/edition", '--tle', @options ]);

	is($errors, '', "edition --tle @options");
	$out =~ /\ASELECT pgtle\.(\w+)\('(\w+)', (.*?), \n\$twtasks_tle\$\n(.*)\$twtasks_tle\$(.*)\);\s*\z/s or die "not a call of pgtle\n";
	return ("$1 $2$5", $3, $4);
}

sub write_file
{
	my ($file, $text) = @_;

	unlink $file;
	append_to_file($file, $text);
	return;
}

my ($function, $arguments, $text) = call_of();
my ($version) = $arguments =~ /^'([0-9.]+)', '.*'$/;

is($function, 'install_extension twtasks', 'the text is to be installed');
ok($text !~ /^\\|^COMMIT\b/m, '... without commands of psql');
unlink glob "$extensions/twtasks*";
write_file("$extensions/twtasks--$version.sql", $text);
write_file("$extensions/twtasks.control", "default_version = '$version'\nrelocatable = false\nsuperuser = false\n");

foreach my $name (qw(events kinds))
{
	($function, undef, $text) = call_of($name);
	is($function, "install_extension twtasks_$name, ARRAY['twtasks']", "the text of $name is to be installed after it");
	write_file("$extensions/twtasks_$name--$version.sql", $text);
	write_file("$extensions/twtasks_$name.control", "default_version = '$version'\nrelocatable = false\nsuperuser = false\nrequires = 'twtasks'\n");
}

my $node = TwTasks::Cluster->create('main', queue => 'notify', edition => 'one-role', install_path => $place->install_path);
$node->safe_psql('postgres', 'CREATE ROLE creator LOGIN CREATEROLE');
$node->safe_psql('postgres', "CREATE DATABASE $_ OWNER creator") foreach qw(tle copy);

sub session_of { return TwTasks::Session->new($node->connstr($_[0]) . ($_[1] ? " user=$_[1]" : '')); }

# As a role without superuser.
sub run_ok
{
	my ($sql, $name) = @_;

	is(session_of('tle', 'creator')->try($sql) =~ /ERROR.*/s ? $& : '', '', $name);
	return;
}

run_ok("CREATE EXTENSION $_", "a role without superuser creates the extension $_") foreach qw(twtasks twtasks_events twtasks_kinds);
$node->safe_psql('tle', 'CREATE ROLE sidecar LOGIN IN ROLE twtasks_worker');
my $session = session_of('tle');
is($session->query('SELECT edition, version FROM twtasks.edition()'), "sql|$version", 'it is the SQL edition');
my @marked = split /\n/, $session->query(
	q{SELECT u.oid::regclass FROM pg_extension e, unnest(e.extconfig) u(oid) WHERE e.extname = 'twtasks' ORDER BY 1});
cmp_ok(scalar @marked, '>', 20, 'dumps have its tables');

my $sidecar = TwTasks::Sidecar->start($node, 'a', postgres => $node->connstr('tle') . ' user=sidecar', handlers => [ { types => [qw(NOOP MAIL)], noop => JSON::PP::true } ]);
$session->query($_) foreach
	q{SELECT twtasks.configure_stream('works', 'WORKS'), twtasks.configure_kind('mail', 'idempotent', 'MAIL', 'mail-{/n}')},
	q{SELECT twtasks.add_event('works', 'o', '1')}, q{SELECT twtasks.start('mail', '{"n": 1}')};
$session->query(q{SELECT twtasks.add_task('NOOP', key => 'done'), twtasks.add_task('WAITS', key => 'waits')});
wait_ok(sub { $session->query(q{SELECT status FROM twtasks.tasks WHERE key = 'done'}) eq 'DONE' }, 'a sidecar runs its tasks');
wait_ok(sub { $session->query('SELECT identifier, decision FROM twtasks.outcomes') eq 'mail-1|done' }, '... and actions of kinds');
wait_ok(sub { $session->query('SELECT head FROM twtasks.event_objects') ne '' }, '... and gives events to a head');
is($sidecar->stop, 0, 'the sidecar stops in order');

$node->command_ok([ 'pg_dump', '-Fc', '-f', "$directory/dump", 'tle' ], 'pg_dump');
$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', $node->connstr('copy'), "$directory/dump" ], 'restore');
is(session_of('copy')->query('SELECT key, status FROM twtasks.tasks WHERE type IN ($$NOOP$$, $$WAITS$$) ORDER BY 1'), "done|DONE\nwaits|SUBMITTED", 'a copy has the tasks');
is(session_of('copy')->query($_), $session->query($_), "... and the rows of $_") foreach
  'SELECT * FROM twtasks.event_object', 'SELECT * FROM twtasks.outcome', 'SELECT type, data FROM twtasks.task ORDER BY 1';
is(session_of('copy')->query('SELECT is_adopted FROM twtasks.adoption_state'), 'f', '... and runs none');

# ---- updated ----

my $errors;
foreach my $name ('', qw(events kinds))
{
	(my $old, $errors) = run_command([ "$source/scripts/edition", '--tle', $name ? ($name) : () ]);
	write_file("$directory/old$name.sql", $old);
}
write_file("$source/twtasks.control", slurp_file("$source/twtasks.control") =~ s/'\Q$version\E'/'77.1'/r);
write_file("$source/sql/watch/is_well.sql", slurp_file("$source/sql/watch/is_well.sql") . <<'SQL');
/*
 * twtasks.later()
 *
 *		A new function.
 */
CREATE FUNCTION twtasks.later()
RETURNS integer
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT 1 $$;
SQL
(undef, $errors) = run_command([ "$source/scripts/edition", '--update', "$directory/old.sql" ]);
like($errors, qr/is an edition for pg_tle/, 'an update for psql is not written for an extension');
($function, $arguments, $text) = call_of('--update', "$directory/old.sql");
is("$function $arguments", "install_update_path twtasks '$version', '77.1'", 'an update leads to the next version');
write_file("$extensions/twtasks--$version--77.1.sql", $text);
run_ok(q{ALTER EXTENSION twtasks UPDATE TO '77.1'}, 'a role without superuser updates it');
foreach my $name (qw(events kinds))
{
	($function, $arguments, $text) = call_of('--update', "$directory/old$name.sql", $name);
	is("$function $arguments", "install_update_path twtasks_$name '$version', '77.1'", "an update of $name leads to the next version");
	write_file("$extensions/twtasks_$name--$version--77.1.sql", $text);
	run_ok("ALTER EXTENSION twtasks_$name UPDATE TO '77.1'", "a role without superuser updates $name");
}
is($session->query('SELECT string_agg(i.name || $$ $$ || i.version, $$, $$ ORDER BY i.name) FROM twtasks_internal.installed_extension i JOIN pg_extension e ON e.extname = i.name AND e.extversion = i.version'),
	'twtasks_events 77.1, twtasks_kinds 77.1', 'both say their versions');
write_file("$extensions/twtasks_events--77.1.sql", (call_of('events'))[2]);
run_ok('DROP EXTENSION twtasks_events', 'an extension on top is dropped alone');
run_ok(q{CREATE EXTENSION twtasks_events VERSION '77.1'}, '... and created anew');
is($session->query(q{SELECT version, (SELECT extversion FROM pg_extension WHERE extname = 'twtasks') FROM twtasks.edition()}), '77.1|77.1', 'both say its version');
is($session->query(q{SELECT count(*) FROM pg_depend WHERE objid = 'twtasks.later'::regproc AND deptype = 'e'}), 1, 'a new function belongs to it');

$session->close;
run_ok('DROP EXTENSION twtasks CASCADE', 'it can be dropped with all');

done_testing();
