# 204_edition_move_on_top.pl -- events and kinds at work move from the SQL edition to the
# extension and back: each object gets each event once and in order, and each identifier
# goes on where it was, to the same outcome as without a move.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Move;
use TwTasks::Session;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main', queue => 'notify', edition => 'sql');
$node->install_on_top('postgres', 'sql', $_) foreach qw(events kinds);
my $super = $node->value('SELECT session_user');
my $ledger = TwTasks::Ledger->new;
my $move = TwTasks::Move->new($node);

$node->safe_psql('postgres', 'CREATE DATABASE library');
$node->safe_psql('library', 'CREATE EXTENSION twtasks_events CASCADE; CREATE EXTENSION twtasks_kinds');
$node->safe_psql('postgres', 'CREATE DATABASE again OWNER installer');
foreach my $file (qw(sql events kinds))
{
	$node->command_ok([ 'psql', '-Xq', '-o', '/dev/null', '-f', "$ENV{TWT_EDITIONS}/$file.sql", '-d', $move->connection('installer', 'again') ], "a third database has the file $file");
}
my @tables = $move->tables_in('library', qw(twtasks twtasks_events twtasks_kinds));
my %session = map { $_ => TwTasks::Session->new($node->connstr($_)) } qw(postgres library again);

sub value
{
	my ($database, $sql) = @_;

	return $session{$database}->query($sql);
}

sub sidecar_of
{
	my ($name, $database) = @_;

	return TwTasks::Sidecar->start(
		$node, $name,
		lease => '5s',
		postgres => $move->connection('sidecar', $database),
		handlers => [
			{ types => ['WORKS'], stuck => 'retry', command => $ledger->command('gate') },
			{ types => ['MAIL'], command => $ledger->command('gate') },
			{ types => [qw(ITEM NOTE)], noop => JSON::PP::true }
		]);
}

# Three events for each of three objects, and an action of each kind.
my $round = 0;
sub add_work
{
	my ($database) = @_;

	$round++;
	value($database, "SELECT twtasks.add_event('works', 'o' || n % 3, to_jsonb(n)) FROM generate_series(9 * $round - 8, 9 * $round) n");
	is(value($database, "SELECT twtasks.start('$_', '{\"n\": $round}')"), 'started', "$database: $_ starts") foreach qw(mail item);
	return;
}

# With heads that run, events that wait behind them, and actions under way.
sub moved_ok
{
	my ($user, $from, $to, $to_user) = @_;
	my $sidecar = sidecar_of($from, $from);

	wait_ok(sub { value($from, q{SELECT count(*) FROM twtasks.tasks WHERE status = 'PROCESSING' AND type IN ('WORKS', 'MAIL')}) == 3 + $round }, "$from: heads and actions are under way");
	is(value($from, 'SELECT count(*) FROM twtasks.event_objects WHERE queued > 0 AND head IS NOT NULL'), '3', '... and events wait behind each head');
	$sidecar->kill9;
	wait_ok(sub { $move->out($user, $from, "$from.sql") eq '' }, '... they move when the lease has ended');
	my $before = $move->rows_of($from, @tables);

	cmp_ok(length $before->{"twtasks.$_"}, '>', 0, "$_ has rows") foreach qw(event_stream event_object event kind outcome attempt item_role task);
	# Where the library writes rows itself, it names the trigger that it cannot fire.
	like($session{$from}->try($_), qr/ERROR: .*(?:were moved to another one|trigger "moved" cannot be fired)/, "$from refuses $_")
	  foreach q{SELECT twtasks.add_event('works', 'o1', '0')}, q{SELECT twtasks.start('mail', '{"n": 0}')},
	  qq{SELECT twtasks.answer_to_do('item', 'item-$round', '{"decision": "late"}')};
	is(($move->in($to_user, $to, "$from.sql"))[0], '', "$to takes all rows");
	is_deeply($move->rows_of($to, @tables), $before, 'each row is as before');
	is(value($to, 'SELECT * FROM twtasks.adopt(NULL, hold => false)'), '0|0', 'a person lets the tasks run');
	return;
}

value($_, 'CREATE FUNCTION public.decide(read_model jsonb, data jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$SELECT data$$')
  foreach sort keys %session;
value('postgres', $_) foreach
	q{SELECT twtasks.configure_stream('works', 'WORKS', batch => 2)},
	q{SELECT twtasks.configure_kind('mail', 'idempotent', 'MAIL', 'mail-{/n}', delay => '10 ms')},
	q{SELECT twtasks.configure_kind('item', 'to_do', 'ITEM', 'item-{/n}', decide => 'public.decide', readers => '{twtasks_operator}', answerers => '{twtasks_operator}')},
	q{SELECT twtasks.configure_kind('note', 'idempotent', 'NOTE', '{/identifier}')},
	q{SELECT twtasks.on_outcome('item', '*', 'note')};
add_work('postgres');
moved_ok('installer', 'postgres', 'library', $super);
is(value('library', q{SELECT twtasks.start('mail', '{"n": 1}')}), 'already_started', 'an action under way starts no second time');
add_work('library');
is(value('library', q{SELECT result FROM twtasks.answer_to_do('item', 'item-1', '{"decision": "yes"}')}), 'decided', 'a person answers an item that has moved');
moved_ok($super, 'library', 'again', 'installer');
is(value('again', q{SELECT result FROM twtasks.answer_to_do('item', 'item-1', '{"decision": "no"}')}), 'already_decided', 'an answer is known');
is(value('again', q{SELECT result FROM twtasks.answer_to_do('item', 'item-2', '{"decision": "no"}')}), 'decided', 'another item is answered');

# ---- to the end ----

$ledger->release('gate', 100);
my $last = sidecar_of('last', 'again');

wait_ok(sub { value('again', 'SELECT count(*) FROM twtasks.event_objects WHERE sent_id > 0 AND sent_id = last_id AND queued = 0') eq '3' }, 'all events are sent');
is(value('again', <<'SQL'), '3 6 9 12 15 18;1 4 7 10 13 16;2 5 8 11 14 17', 'each object had each event once and in order, each after the one before');
	SELECT string_agg(sent, ';' ORDER BY object) FROM (
		SELECT string_agg(e ->> 'event', ' ' ORDER BY (e ->> 'id')::bigint) AS sent, sub_type AS object
		FROM (SELECT e, f.sub_type, lag((e ->> 'id')::bigint, 1, 0::bigint) OVER (PARTITION BY f.sub_type ORDER BY (e ->> 'id')::bigint) AS before
			  FROM twtasks.finished_task f, jsonb_array_elements(f.data -> 'events') e WHERE f.type = 'WORKS' AND f.status = 'DONE') s
		WHERE (e ->> 'prev')::bigint = before GROUP BY sub_type) o
SQL
wait_ok(sub { value('again', 'SELECT count(*) FROM twtasks.outcomes WHERE decided IS NULL') eq '0' }, 'each identifier has its outcome');
is(value('again', 'SELECT string_agg(identifier || $$ $$ || kind || $$ $$ || decision, $$, $$ ORDER BY kind, identifier) FROM twtasks.outcomes'),
	'item-1 item yes, item-2 item no, mail-1 mail done, mail-2 mail done, item-1 note done, item-2 note done', 'it is the right one, with its reaction');
is(value('again', 'SELECT (SELECT count(*) FROM twtasks.broken_outcomes) + (SELECT count(*) FROM twtasks.broken_event_objects)'), '0', 'no invariant is broken');
is($last->stop, 0, 'the sidecar stops in order');

done_testing();
