# 202_edition_update_on_top.pl -- updates of the SQL edition and of events and kinds on top
# of it leave in the database what a fresh installation does, while events are sent and
# actions go on.  An update is refused before its turn, and where objects of users depend on
# functions that it drops: it names them, and changes nothing.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Catalog;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::NextEdition;
use TwTasks::Session;
use TwTasks::Sidecar;
use TwTasks::Wait;

my @names = qw(events kinds);
my $editions = $ENV{TWT_EDITIONS} || die "scripts/check writes the editions\n";
my $next = TwTasks::NextEdition->new;

# ---- a later version, with new and changed objects in each ----

$next->rewrite('sql/add/add_task.known.twin.sql', 'nearest_type(type text)', 'nearest_type(type text, later integer DEFAULT 0)');
$next->rewrite('sql/add/add_task.known.twin.sql', 'count_changes(word text, other text)', 'count_changes(word text, other text, later integer DEFAULT 0)');
$next->rewrite('extensions/events/schema.sql', "\tCONSTRAINT event_stream_pkey", "\tlater\t\tboolean NOT NULL DEFAULT false,\t-- New\n\tCONSTRAINT event_stream_pkey");
$next->by_hand('extensions/events', "ALTER TABLE twtasks.event_stream ADD COLUMN later boolean NOT NULL DEFAULT false;\n");
$next->append('extensions/events/views.sql', <<'SQL');
/*
 * twtasks.later_events()
 *
 *		A new function.
 */
CREATE FUNCTION twtasks.later_events()
RETURNS bigint
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT count(*) FROM twtasks.event $$;
CREATE VIEW twtasks.later_streams AS SELECT s.name, s.later FROM twtasks.event_stream s;
COMMENT ON VIEW twtasks.later_streams IS 'A new view';
SQL
$next->append('extensions/events/grants.sql', "GRANT EXECUTE ON FUNCTION twtasks.later_events TO twtasks_viewer;\nGRANT SELECT ON twtasks.later_streams TO twtasks_viewer;\n");
$next->rewrite('extensions/kinds/schema.sql', "\tCONSTRAINT outcome_pkey", "\tlater\t\t\ttext,\t\t\t\t\t\t-- New\n\tCONSTRAINT outcome_pkey");
$next->by_hand('extensions/kinds', "ALTER TABLE twtasks.outcome ADD COLUMN later text;\n");
$next->rewrite('extensions/kinds/go_on.sql', 'wait_of(first interval, n integer)', 'wait_of(first interval, n integer, later integer DEFAULT 0)');
$next->rewrite('extensions/kinds/to_do.twin.sql', 'decision text;', "decision text;\t-- as text");
$next->rewrite('extensions/kinds/schema.twin.sql', '-- end: in each update', "SELECT twtasks_internal.make_try_call('twtasks.kind', 'text');\n-- end: in each update");
my %made = map { $_->[0] => [ $_->[1] eq 'sql' ? () : '--one-role' ] } [ 'with roles', 'sql' ], [ 'one role', 'one-role' ];

sub edition_of
{
	my ($form, $name) = @_;
	my $one_role = @{ $made{$form} };

	return "$editions/" . ($name ? ($one_role ? "one-role-$name" : $name) : $one_role ? 'one-role' : 'sql') . '.sql';
}

foreach my $form (sort keys %made)
{
	$next->write("$form fresh $_", @{ $made{$form} }, $_ ? ($_) : ()) foreach '', @names;
	$next->write("$form update $_", @{ $made{$form} }, '--update', edition_of($form, $_), $_ ? ($_) : ()) foreach '', @names;
}

my $node = TwTasks::Cluster->create('main', queue => 'notify', edition => 'sql');
$node->install_on_top('postgres', 'sql', $_) foreach @names;
$node->safe_psql('postgres', 'CREATE ROLE solo LOGIN');

sub loaded_ok
{
	my ($database, $file, $user) = @_;

	is(TwTasks::NextEdition::load($node, $database, $file, $user), '', "$database: " . $file =~ s{.*/}{}r);
	return;
}

sub refused_ok
{
	my ($database, $file, $pattern, $name) = @_;

	like(TwTasks::NextEdition::load($node, $database, $file, 'installer'), $pattern, $name);
	return;
}

sub session_of { return TwTasks::Session->new($node->connstr($_[0])); }

sub make_database
{
	my ($name, $user) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $name OWNER $user");
	return;
}

# ---- refused ----

my ($core, $events, $kinds) = map { $next->file("with roles update $_") } '', @names;
my $before = catalog_of($node->session);

refused_ok('postgres', $events, qr/"twtasks_events" 77\.1 needs the SQL edition of twtasks of the same version.*update the SQL edition first/s, 'twtasks is updated first');
make_database('none', 'installer');
loaded_ok('none', edition_of('with roles', ''), 'installer');
loaded_ok('none', $core, 'installer');
refused_ok('none', $events, qr/does not have the SQL edition of twtasks_events/, 'an update is refused where the extension is not');
$node->value($_) foreach
	'CREATE VIEW public.of_user AS SELECT twtasks_internal.nearest_type(\'A\') AS near',
	'CREATE TABLE public.user_table (n text DEFAULT twtasks_internal.nearest_type(\'A\'))';
refused_ok('postgres', $core, qr/objects of yours depend on functions.*DETAIL:  default value for column n of table (public\.)?user_table depends on twtasks_internal\.nearest_type\(text\); view (public\.)?of_user depends on twtasks_internal\.nearest_type\(text\)\n.*HINT:  .*Drop these objects/s,
	'objects of users that depend on a function that goes are named');
$node->value($_) foreach 'DROP VIEW public.of_user', 'DROP TABLE public.user_table',
	'CREATE INDEX user_index ON twtasks.task (twtasks_internal.count_changes(type, \'A\'))',
	'CREATE TRIGGER user_trigger BEFORE INSERT ON twtasks.task FOR EACH ROW
		WHEN (twtasks_internal.count_changes(NEW.type, \'A\') = 0) EXECUTE FUNCTION suppress_redundant_updates_trigger()',
	'ALTER TABLE twtasks.task ADD CONSTRAINT user_constraint CHECK (twtasks_internal.count_changes(type, \'A\') > 0)';
refused_ok('postgres', $core, qr/objects of yours depend on functions.*DETAIL:  constraint user_constraint on table twtasks\.task depends on [^;]*; index twtasks\.user_index depends on [^;]*; trigger user_trigger on table twtasks\.task depends on twtasks_internal\.count_changes\(text,text\)\n/s,
	'... also those on tables of ours');
$node->value($_) foreach 'DROP INDEX twtasks.user_index', 'DROP TRIGGER user_trigger ON twtasks.task', 'ALTER TABLE twtasks.task DROP CONSTRAINT user_constraint';
same_catalog(catalog_of($node->session), $before, 'a refused update changes nothing');

# ---- updated while events are sent and actions go on ----

my $ledger = TwTasks::Ledger->new;
$node->value(<<'SQL');
	SELECT twtasks.configure_stream('works', 'WORKS', batch => 2);
	SELECT twtasks.configure_kind('mail', 'idempotent', 'MAIL', 'mail-{/n}', delay => '10 ms');
	REVOKE SELECT ON twtasks.event_streams FROM twtasks_viewer;
SQL
my $producer = $node->session('producer');
my $number = 0;

sub add_work
{
	$number++;
	$producer->query("SELECT twtasks.add_event('works', 'o' || n % 3, to_jsonb(n)) FROM generate_series(15 * $number - 14, 15 * $number) n");
	$producer->query("SELECT twtasks.start('mail', '{\"n\": $number}')");
	return;
}

my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	sweep    => '1h',
	handlers => [ { types => ['WORKS'], command => $ledger->command }, { types => ['MAIL'], noop => JSON::PP::true } ]);

foreach my $file ($core, $events, $kinds)
{
	add_work();
	loaded_ok('postgres', $file, 'installer');
}
add_work();
wait_ok(sub { $node->value('SELECT count(*) FROM twtasks.event_objects WHERE sent_id > 0 AND sent_id = last_id AND queued = 0') eq '3' }, 'all events are sent');
is($node->value(<<'SQL'), '3', 'the events of each object were sent in order, each once');
	SELECT count(*) FROM (
		SELECT f.sub_type FROM twtasks.finished_task f, jsonb_array_elements(f.data -> 'events') e
		WHERE f.type = 'WORKS' AND f.status = 'DONE'
		GROUP BY f.sub_type
		HAVING array_agg((e ->> 'event')::int ORDER BY (e ->> 'id')::bigint) = array_agg((e ->> 'event')::int ORDER BY (e ->> 'event')::int)
			AND count(*) = 20 AND count(DISTINCT e ->> 'event') = 20) o
SQL
wait_ok(sub { $node->value('SELECT count(*) FROM twtasks.outcomes WHERE decision = \'done\'') == $number }, 'each action has its outcome');
is($node->value('SELECT (SELECT count(*) FROM twtasks.broken_outcomes) + (SELECT count(*) FROM twtasks.broken_event_objects)'), '0', 'no invariant is broken');
is($sidecar->stop, 0, 'the sidecar stops in order');
is($node->value('SELECT string_agg(name || \' \' || version, \', \' ORDER BY name) FROM twtasks_internal.installed_extension'),
	'twtasks_events 77.1, twtasks_kinds 77.1', 'the database says the versions of both');
refused_ok('postgres', $events, qr/has this edition of twtasks_events already/, 'an update is refused where it has been');

# ---- the catalogs ----

sub fresh_catalog
{
	my ($form, $database, $user) = @_;

	make_database($database, $user);
	loaded_ok($database, $next->file("$form fresh $_"), $user) foreach '', @names;
	my $session = session_of($database);
	$session->query(q{SET ROLE twtasks_owner; SELECT twtasks_internal.make_partition('finished_task_other', 'DEFAULT'); RESET ROLE}) if $form eq 'with roles';
	return catalog_of($session);
}

is($node->value(q{SELECT has_table_privilege('twtasks_viewer', 'twtasks.event_streams', 'SELECT')}), 'f', 'rights stay as they were set');
$node->value($_) foreach 'GRANT SELECT ON twtasks.event_streams TO twtasks_viewer', 'DROP TABLE IF EXISTS twtasks.task_attempt_other';
same_catalog(catalog_of($node->session), fresh_catalog('with roles', 'fresh', 'installer'), 'the catalog is that of a fresh installation');

make_database('solo', 'solo');
loaded_ok('solo', edition_of('one role', $_), 'solo') foreach '', @names;
loaded_ok('solo', $next->file("one role update $_"), 'solo') foreach '', @names;
same_catalog(catalog_of(session_of('solo')), fresh_catalog('one role', 'solo_fresh', 'solo'), '... also with one role');

done_testing();
