# 206_edition_events.pl -- on the SQL edition, which a role without superuser has installed
# with its extensions, a sidecar sends events in order and walks a kind from start to end;
# both load for one role too.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main', queue => 'notify', edition => 'sql');
$node->install_on_top('postgres', 'sql', $_) foreach qw(events kinds);

my $ledger = TwTasks::Ledger->new;
$node->value(<<'SQL');
	SELECT twtasks.configure_stream('works', 'WORKS', batch => 2);
	SELECT twtasks.configure_kind('mail', 'idempotent', 'MAIL', 'mail-{/n}', delay => '10 ms');
SQL
my $producer = $node->session('producer');
$producer->query("SELECT twtasks.add_event('works', 'o' || n % 3, to_jsonb(n)) FROM generate_series(1, 15) n");
is($producer->query("SELECT twtasks.start('mail', '{\"n\": 1}')"), 'started', 'a producer starts an action');
like($producer->try("SELECT twtasks.add_task('WORKS')"), qr/permission denied to add tasks of type "WORKS" by hand/, 'nobody adds a head by hand');
like($producer->try("SELECT twtasks_internal.add_own_tasks('{}')"), qr/permission denied/, '... nor by the function of extensions');

my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	sweep    => '1h',
	handlers => [
		{ types => ['WORKS'], command => $ledger->command },
		{ types => ['MAIL'], noop => JSON::PP::true }
	]);
wait_ok(sub { $node->value('SELECT count(*) FROM twtasks.event_objects WHERE sent_id > 0 AND sent_id = last_id AND queued = 0') eq '3' }, 'all events are sent');
is($node->value(<<'SQL'), '1 4 7 10 13;2 5 8 11 14;3 6 9 12 15', 'the events of each object are sent in order, each after the one before');
	SELECT string_agg(sent, ';' ORDER BY sent COLLATE "C") FROM (
		SELECT string_agg(e ->> 'event', ' ' ORDER BY (e ->> 'id')::bigint) AS sent
		FROM (SELECT e, f.sub_type, lag((e ->> 'id')::bigint, 1, 0::bigint) OVER (PARTITION BY f.sub_type ORDER BY (e ->> 'id')::bigint) AS before
			  FROM twtasks.finished_task f, jsonb_array_elements(f.data -> 'events') e WHERE f.type = 'WORKS' AND f.status = 'DONE') s
		WHERE (e ->> 'prev')::bigint = before GROUP BY sub_type) o
SQL
wait_ok(sub { $node->value(q(SELECT decision FROM twtasks.outcomes WHERE identifier = 'mail-1')) eq 'done' }, 'the action has its outcome');
is($node->value('SELECT (SELECT count(*) FROM twtasks.broken_outcomes) + (SELECT count(*) FROM twtasks.broken_event_objects)'), '0', 'no invariant is broken');
is($sidecar->stop, 0, 'the sidecar stops in order');

my $solo = TwTasks::Cluster->create('solo', queue => 'notify', edition => 'one-role');
$solo->install_on_top('postgres', 'one-role', $_) foreach qw(events kinds);
my $installer = $solo->session('installer');
$installer->query("SELECT twtasks.configure_stream('works', 'WORKS'), twtasks.configure_kind('mail', 'idempotent', 'MAIL', '{/n}')");
is($installer->query("SELECT twtasks.start('mail', '{\"n\": 1}')"), 'started', 'one role starts an action');
$installer->query("SELECT twtasks.add_event('works', 'o', '1')");
is($installer->query('SELECT given FROM twtasks_internal.start_events()'), '1', '... and an event has its head');

done_testing();
