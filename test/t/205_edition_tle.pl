# 205_edition_tle.pl -- the texts for pg_tle are extensions, also for events and kinds, that a
# role without superuser creates, dumps, updates and drops.  Where the server has pg_tle, it takes the text.  No registry
# has pg_tle, so elsewhere a stand-in hands the text to CREATE EXTENSION by a file that needs no superuser.

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

my $has_tle = -e "$extensions/pg_tle.control";
note($has_tle ? 'with pg_tle' : 'with a stand-in for pg_tle');

# The call that scripts/edition writes: what it does, its text, and all of it.
sub call_of
{
	my @options = @_;
	my ($out, $errors) = run_command([ "$source/scripts/edition", '--tle', @options ]);

	is($errors, '', "edition --tle @options");
	$out =~ /\ASELECT pgtle\.(\w+)\('(\w+)', '([0-9.]+)', '(.*?)', \n\$twtasks_tle\$\n(.*)\$twtasks_tle\$(.*)\);\s*\z/s or die "not a call of pgtle\n";
	return { function => $1, name => $2, version => $3, second => $4, more => $6, text => $5, sql => $out };
}

sub write_file
{
	my ($file, $text) = @_;

	unlink $file;
	append_to_file($file, $text);
	return;
}

# Makes the extension, or its update, one that CREATE EXTENSION finds.
sub install
{
	my ($call) = @_;
	my ($name, $version) = @$call{qw(name version)};

	return run_ok($call->{sql}, "pg_tle takes $call->{function} of $name") if $has_tle;
	return write_file("$extensions/$name--$version--$call->{second}.sql", $call->{text}) if $call->{function} eq 'install_update_path';
	write_file("$extensions/$name--$version.sql", $call->{text});
	return write_file("$extensions/$name.control",
		"default_version = '$version'\nrelocatable = false\nsuperuser = false\n" . ($name eq 'twtasks' ? '' : "requires = 'twtasks'\n"));
}

unlink glob "$extensions/twtasks*";
my $node = TwTasks::Cluster->create('main', queue => 'notify', edition => 'one-role', install_path => $place->install_path,
	conf => $has_tle ? { shared_preload_libraries => "'pg_tle'" } : {});
$node->safe_psql('postgres', 'CREATE ROLE creator LOGIN CREATEROLE');
$node->safe_psql('postgres', "CREATE DATABASE $_ OWNER creator") foreach qw(tle copy);
$node->safe_psql('tle', 'CREATE EXTENSION pg_tle; GRANT pgtle_admin TO creator') if $has_tle;

sub session_of { return TwTasks::Session->new($node->connstr($_[0]) . ($_[1] ? " user=$_[1]" : '')); }

# As a role without superuser.
sub run_ok
{
	my ($sql, $name) = @_;

	is(session_of('tle', 'creator')->try($sql) =~ /ERROR.*/s ? $& : '', '', $name);
	return;
}

# ---- created ----

my $call = call_of();
my $version = $call->{version};

is("$call->{function} $call->{name}$call->{more}", 'install_extension twtasks', 'the text is to be installed');
ok($call->{text} !~ /^\\|^COMMIT\b/m, '... without commands of psql');
install($call);

foreach my $name (qw(events kinds))
{
	$call = call_of($name);
	is("$call->{function} $call->{name}$call->{more}", "install_extension twtasks_$name, ARRAY['twtasks']", "the text of $name is to be installed after it");
	install($call);
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
my $update = call_of('--update', "$directory/old.sql");
is(join(' ', @$update{qw(function name version second)}), "install_update_path twtasks $version 77.1", 'an update leads to the next version');
install($update);
run_ok(q{ALTER EXTENSION twtasks UPDATE TO '77.1'}, 'a role without superuser updates it');
foreach my $name (qw(events kinds))
{
	$update = call_of('--update', "$directory/old$name.sql", $name);
	is(join(' ', @$update{qw(function name version second)}), "install_update_path twtasks_$name $version 77.1", "an update of $name leads to the next version");
	install($update);
	run_ok("ALTER EXTENSION twtasks_$name UPDATE TO '77.1'", "a role without superuser updates $name");
}
is($session->query('SELECT string_agg(i.name || $$ $$ || i.version, $$, $$ ORDER BY i.name) FROM twtasks_internal.installed_extension i JOIN pg_extension e ON e.extname = i.name AND e.extversion = i.version'),
	'twtasks_events 77.1, twtasks_kinds 77.1', 'both say their versions');
run_ok('DROP EXTENSION twtasks_events', 'an extension on top is dropped alone');
run_ok(q{SELECT pgtle.uninstall_extension('twtasks_events')}, '... and pg_tle forgets its old version') if $has_tle;
install(call_of('events'));
run_ok(q{CREATE EXTENSION twtasks_events VERSION '77.1'}, '... and created anew');
is($session->query(q{SELECT version, (SELECT extversion FROM pg_extension WHERE extname = 'twtasks') FROM twtasks.edition()}), '77.1|77.1', 'both say its version');
is($session->query(q{SELECT count(*) FROM pg_depend WHERE objid = 'twtasks.later'::regproc AND deptype = 'e'}), 1, 'a new function belongs to it');

$session->close;
run_ok('DROP EXTENSION twtasks CASCADE', 'it can be dropped with all');

done_testing();
