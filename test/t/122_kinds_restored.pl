# 122_kinds_restored.pl -- a restored dump goes on with each identifier where the
# dump has left it: steps under way run, outcomes stay, and nothing starts twice.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Session;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my $file = PostgreSQL::Test::Utils::tempdir() . '/dump';

sub contents
{
	my ($session) = @_;

	return join "\n---\n", map { $session->query("SELECT * FROM twtasks.$_ x ORDER BY x::text") }
	  qw(kind reaction outcome attempt anomaly audit kinds reactions outcomes attempts anomalies);
}

$node->add_extensions('kinds');
$node->value(<<'SQL');
	CREATE FUNCTION decide(read_model jsonb, data jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE
		SET search_path = pg_catalog, pg_temp AS 'SELECT data';
	CREATE FUNCTION unsure(event jsonb, identifier text, started timestamptz) RETURNS jsonb LANGUAGE sql
		SET search_path = pg_catalog, pg_temp AS $$ SELECT '{"decision": "unsure"}'::jsonb $$;
	CREATE FUNCTION pay(task twtasks.task_input) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		IF task.data->>'step' = 'find' THEN PERFORM twtasks.set_outcome('{"found": false}'); END IF;
	END $$;
	SELECT twtasks.configure_kind('pay', 'pessimistic', 'PAY', 'pay-{/n}'),
		twtasks.configure_kind('box', 'black_boxed', 'BOX', 'box-{/n}', on_uncertain => 'public.unsure'),
		twtasks.configure_kind('item', 'to_do', 'ITEM', 'item-{/n}', decide => 'public.decide');
	SELECT twtasks.on_outcome('item', '*', 'pay');
	SELECT twtasks.on_outcome('item', '*', 'pay', 'none');
	SELECT twtasks.on_outcome('item', 'pay', 'box');
SQL

my $main = $node->session;

$main->query("SELECT twtasks.start(k, '{\"n\": 1}') FROM unnest('{pay,box,item}'::text[]) k");
$main->query("SELECT twtasks.start('item', '{\"n\": 2}')");
# A restore writes the audit again, but nobody lets these steps run again.
$main->query("SELECT twtasks.hold_task(task, NULL, 'x'), twtasks.release_task(task, NULL, NULL, 'x') FROM twtasks.outcomes");
$main->query("SELECT twtasks.answer_to_do('item', 'item-2', '{\"decision\": \"no\"}')");
$main->query("SELECT twtasks_internal.note_anomaly(task, 'a test', 'done', NULL, NULL) FROM twtasks.attempt WHERE kind = 'box'");

my $before = contents($main);

$node->command_ok([ 'pg_dump', '--format=custom', '--file', $file, 'postgres' ], 'pg_dump');
$node->safe_psql('postgres', 'CREATE DATABASE restored TEMPLATE template0');
$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', 'restored', $file ], 'restore');

my $restored = TwTasks::Session->new($node->connstr('restored'));

is(contents($restored), $before, 'kinds, reactions, outcomes, attempts, anomalies and the audit are as before');
is($restored->query("SELECT twtasks.start('item', '{\"n\": 2}')"), 'already_decided', 'an outcome stays');
is($restored->query("SELECT twtasks.start('pay', '{\"n\": 1}')"), 'already_started', 'what is under way starts no second time');
is($restored->query("SELECT count(*) FROM pg_trigger WHERE tgname = 'keep_step_policy'"), '1', 'the policies of steps are guarded');
$restored->query('SELECT twtasks.adopt(NULL, hold => false)');

my $sidecar = TwTasks::Sidecar->start($node, 'restored', postgres => $node->connstr('restored'),
	handlers => [ { types => [qw(PAY BOX)], sql => 'public.pay' } ]);

$restored->query("SELECT twtasks.answer_to_do('item', 'item-1', '{\"decision\": \"yes\"}')");
wait_ok(sub { $restored->query('SELECT count(*) FROM twtasks.outcomes WHERE decided IS NULL') eq '0' },
	'every identifier gets its outcome');
is($restored->query("SELECT string_agg(identifier || ' ' || decision, ', ' ORDER BY identifier) FROM twtasks.outcomes"),
	'box-1 done, item-1 yes, item-2 no, pay-1 done', 'it is the right one');
is($restored->query('SELECT count(*) FROM twtasks.broken_outcomes'), '0', 'no invariant is broken');

$sidecar->stop;
$restored->close;
$main->close;
done_testing();
