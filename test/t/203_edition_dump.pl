# 203_edition_dump.pl -- pg_dump keeps the SQL edition with all of its objects, rights and
# rows, by each format; a copy, in this cluster or in another, runs nothing before somebody
# adopts it, and then goes on.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Catalog;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Session;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $directory = PostgreSQL::Test::Utils::tempdir();
my $node = TwTasks::Cluster->create('main', queue => 'notify', edition => 'sql');
my $other = TwTasks::Cluster->create('other', queue => 'notify', edition => 'sql');
my $ledger = TwTasks::Ledger->new;
my @handlers = (
	{ types => ['NOOP'], noop => JSON::PP::true },
	{ types => ['FAILS'], command => $ledger->command(undef, 65) },
	{ types => ['GATED'], stuck => 'retry', command => $ledger->command('gate') });
my $sidecar = TwTasks::Sidecar->start($node, 'a', handlers => \@handlers);

# ---- what there is to keep ----

$node->value($_) foreach
	q{SELECT twtasks.configure_type('NOOP', priority => 3)},
	q{SELECT twtasks.pause_type('PAUSED', 'for now')},
	q{SELECT twtasks.schedule('yearly', '0 0 1 1 *', 'NOOP')},
	q{UPDATE twtasks.setting SET value = '3d' WHERE name = 'keep_audit'},
	'GRANT EXECUTE ON FUNCTION twtasks.task_at TO PUBLIC',
	'REVOKE SELECT ON twtasks.audit FROM twtasks_viewer';
my $done = $node->add_task('NOOP', key => 'done');
my $failed = $node->add_task('FAILS');
my $gated = $node->add_task('GATED');
my $held = $node->value(q{SELECT task_id FROM twtasks.add_task('NOOP', payload => '\x00ff', run_after => clock_timestamp() + interval '1 hour')});

$node->value("SELECT twtasks.hold_task('$held', 0, 'to be kept')");
wait_ok(sub { $node->status_of($done) eq 'DONE' && $node->status_of($failed) eq 'ERROR' && $node->status_of($gated) eq 'PROCESSING' },
	'tasks are in each status');
# Nothing changes any more.
$sidecar->kill9;

sub contents_of
{
	my ($session) = @_;

	$session->query(q{SET search_path = ''});
	return join "\n---\n", map { $session->query($_) } (
		map({ "SELECT '$_', to_jsonb(x) FROM $_ x ORDER BY to_jsonb(x)::text" } split /\n/, $session->query(
			q{SELECT c.oid::regclass FROM pg_class c WHERE c.relnamespace::regnamespace::text IN ('twtasks', 'twtasks_internal')
			AND c.relkind = 'r' AND c.relpersistence = 'p' ORDER BY c.oid::regclass::text})),
		map({ "SELECT '$_', last_value, is_called FROM $_" } split /\n/, $session->query(
			q{SELECT c.oid::regclass FROM pg_class c WHERE c.relnamespace::regnamespace::text IN ('twtasks', 'twtasks_internal')
			AND c.relkind = 'S' ORDER BY c.oid::regclass::text})));
}

# A view that is restored has other names for constants, so its text is left out.
sub objects_of
{
	my $catalog = catalog_of($_[0]);

	s/^(\([^,]*,v,.*?),,," ?SELECT .*/$1/s foreach @{ $catalog->{relation} };
	return $catalog;
}

# A backend whose sidecar has ended may still write.
wait_ok(sub { $node->value('SELECT count(*) FROM pg_stat_activity WHERE application_name ^@ \'twtasksd\'') == 0 }, 'no session of the sidecar is left');
my $contents = contents_of($node->session);
my $catalog = objects_of($node->session);

like($contents, qr/$_/, "there is $_ to keep") foreach $done, $failed, $gated, $held, 'PAUSED', 'yearly', '"3d"';

# ---- copies ----

sub restored
{
	my ($cluster, $database, $user, $format) = @_;
	my $file = "$directory/$database";
	my $target = $cluster->connstr($database) . " user=$user";

	$cluster->safe_psql('postgres', "CREATE DATABASE $database OWNER installer TEMPLATE template0");
	$node->command_ok([ 'pg_dump', "--format=$format", '--file', $file, 'postgres' ], "$database: pg_dump");
	$cluster->command_ok(
		$format eq 'plain' ? [ 'psql', '-Xq', '-o', '/dev/null', '-v', 'ON_ERROR_STOP=1', '-d', $target, '-f', $file ] : [ 'pg_restore', '--exit-on-error', '-d', $target, $file ],
		"$database: restore");
	my $session = TwTasks::Session->new($cluster->connstr($database));

	is_deeply([ split /\n/, contents_of($session) ], [ split /\n/, $contents ], "$database: all rows are as before");
	same_catalog(objects_of($session), $catalog, "$database: so are all objects, comments and rights");
	is($session->query('SELECT is_adopted FROM twtasks.adoption_state'), 'f', "$database: nothing runs there");
	return $session;
}

my $super = $node->value('SELECT session_user');
my $same = restored($node, 'plain', $super, 'plain');
my $far = restored($other, 'custom', $super, 'custom');

my $heir = TwTasks::Sidecar->prepare($other, 'heir', postgres => $other->connstr('custom') . ' user=sidecar', handlers => \@handlers)->launch;

ok($heir->wait_for_log(qr/ERROR adoption: executes nothing in this database: .*how to adopt it/), 'a sidecar is refused there');
is($far->query("SELECT status FROM twtasks.tasks WHERE id = '$gated'"), 'PROCESSING', '... and changes no task');
is($far->query('SELECT * FROM twtasks.adopt(NULL, hold => false)'), '0|0', 'a person adopts the copy');
$ledger->release('gate');
wait_ok(sub { $far->query("SELECT status FROM twtasks.tasks WHERE id = '$gated'") eq 'DONE' }, 'a task that ran runs again there, by its stuck rule');
is($far->query(q{SELECT result FROM twtasks.add_task('NOOP', key => 'done')}), 'already_exists', 'a key of the history is known');
is($heir->stop, 0, 'the sidecar stops in order');
is($node->status_of($gated), 'PROCESSING', 'the original is unchanged');
is($node->value('SELECT is_adopted FROM twtasks.adoption_state'), 't', '... and still may run');

done_testing();
