# 205_edition_tle.pl -- the text for pg_tle is an extension that a role without superuser
# creates, dumps, updates and drops.  No registry has pg_tle, so a stand-in hands the text
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
	$out =~ /\ASELECT pgtle\.(\w+)\('twtasks', (.*?), \n\$twtasks_tle\$\n(.*)\$twtasks_tle\$\);\s*\z/s or die "not a call of pgtle\n";
	return ($1, $2, $3);
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

is($function, 'install_extension', 'the text is to be installed');
ok($text !~ /^\\|^COMMIT\b/m, '... without commands of psql');
unlink glob "$extensions/twtasks*";
write_file("$extensions/twtasks--$version.sql", $text);
write_file("$extensions/twtasks.control", "default_version = '$version'\nrelocatable = false\nsuperuser = false\n");

my $node = TwTasks::Cluster->create('main', queue => 'notify', edition => 'one-role', install_path => $place->install_path);
$node->safe_psql('postgres', 'CREATE ROLE creator LOGIN CREATEROLE');
$node->safe_psql('postgres', "CREATE DATABASE $_ OWNER creator") foreach qw(tle copy);

sub session_of { return TwTasks::Session->new($node->connstr($_[0]) . ($_[1] ? " user=$_[1]" : '')); }

unlike(session_of('tle', 'creator')->try('CREATE EXTENSION twtasks'), qr/ERROR/, 'a role without superuser creates the extension');
$node->safe_psql('tle', 'CREATE ROLE sidecar LOGIN IN ROLE twtasks_worker');
my $session = session_of('tle');
is($session->query('SELECT edition, version FROM twtasks.edition()'), "sql|$version", 'it is the SQL edition');
my @marked = split /\n/, $session->query(
	q{SELECT u.oid::regclass FROM pg_extension e, unnest(e.extconfig) u(oid) WHERE e.extname = 'twtasks' ORDER BY 1});
cmp_ok(scalar @marked, '>', 20, 'dumps have its tables');

my $sidecar = TwTasks::Sidecar->start($node, 'a', postgres => $node->connstr('tle') . ' user=sidecar', handlers => [ { types => ['NOOP'], noop => JSON::PP::true } ]);
$session->query(q{SELECT twtasks.add_task('NOOP', key => 'done'), twtasks.add_task('WAITS', key => 'waits')});
wait_ok(sub { $session->query(q{SELECT status FROM twtasks.tasks WHERE key = 'done'}) eq 'DONE' }, 'a sidecar runs its tasks');
is($sidecar->stop, 0, 'the sidecar stops in order');

$node->command_ok([ 'pg_dump', '-Fc', '-f', "$directory/dump", 'tle' ], 'pg_dump');
$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', $node->connstr('copy'), "$directory/dump" ], 'restore');
is(session_of('copy')->query('SELECT key, status FROM twtasks.tasks ORDER BY 1'), "done|DONE\nwaits|SUBMITTED", 'a copy has the tasks');
is(session_of('copy')->query('SELECT is_adopted FROM twtasks.adoption_state'), 'f', '... and runs none');

# ---- updated ----

my ($old, $errors) = run_command([ "$source/scripts/edition", '--tle' ]);
write_file("$directory/old.sql", $old);
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
is("$function $arguments", "install_update_path '$version', '77.1'", 'an update leads to the next version');
write_file("$extensions/twtasks--$version--77.1.sql", $text);
is(session_of('tle', 'creator')->try(q{ALTER EXTENSION twtasks UPDATE TO '77.1'}) =~ /ERROR.*/s ? $& : '', '', 'a role without superuser updates it');
is($session->query(q{SELECT version, (SELECT extversion FROM pg_extension WHERE extname = 'twtasks') FROM twtasks.edition()}), '77.1|77.1', 'both say its version');
is($session->query(q{SELECT count(*) FROM pg_depend WHERE objid = 'twtasks.later'::regproc AND deptype = 'e'}), 1, 'a new function belongs to it');

$session->close;
is(session_of('tle', 'creator')->try('DROP EXTENSION twtasks CASCADE') =~ /ERROR.*/s ? $& : '', '', 'it can be dropped');

done_testing();
