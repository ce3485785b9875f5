# 033_settings.pl -- what others have set for the sidecar's role and database
# does not get in its way, and it may be started before the server.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my $ledger = TwTasks::Ledger->new;

# A schema whose functions and operators would be found first, and fail.
$node->value(<<'SQL');
	ALTER ROLE sidecar SET statement_timeout = 2000;
	ALTER ROLE sidecar SET lock_timeout = 2000;
	ALTER ROLE sidecar SET idle_session_timeout = 2000;
	ALTER ROLE sidecar SET idle_in_transaction_session_timeout = 2000;
	DO $$ BEGIN
		IF current_setting('transaction_timeout', true) IS NOT NULL THEN -- since 17
			ALTER ROLE sidecar SET transaction_timeout = 2000;
		END IF;
	END $$;
	ALTER ROLE sidecar SET default_transaction_isolation = 'serializable';
	ALTER ROLE sidecar SET synchronous_commit = off;
	ALTER ROLE sidecar SET search_path = trap, pg_catalog;
	ALTER ROLE sidecar SET default_transaction_read_only = on;
	ALTER ROLE sidecar SET client_min_messages = debug1;
	ALTER DATABASE postgres SET timezone = 'Asia/Kathmandu';
	ALTER DATABASE postgres SET datestyle = 'German';
	ALTER DATABASE postgres SET intervalstyle = 'sql_standard';
	ALTER DATABASE postgres SET bytea_output = 'escape';
	ALTER DATABASE postgres SET extra_float_digits = -15;
	CREATE SCHEMA trap;
	CREATE FUNCTION trap.clock_timestamp() RETURNS timestamptz
	LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
	CREATE FUNCTION trap.unnest(uuid[]) RETURNS SETOF uuid
	LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
	CREATE FUNCTION trap.equal(uuid, uuid) RETURNS boolean
	LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
	CREATE OPERATOR trap.= (FUNCTION = trap.equal, LEFTARG = uuid, RIGHTARG = uuid);
	GRANT USAGE ON SCHEMA trap TO PUBLIC;

	CREATE SCHEMA app;
	CREATE TABLE app.seen (committing text, isolation text);
	CREATE FUNCTION app.look(task twtasks.task_input) RETURNS void
	LANGUAGE sql SET search_path = pg_catalog AS $$
		INSERT INTO app.seen VALUES (current_setting('synchronous_commit'),
									 current_setting('transaction_isolation'))
	$$;
	GRANT USAGE ON SCHEMA app TO sidecar;
	GRANT INSERT ON app.seen TO sidecar;
SQL

# ---- before the server ----

$node->stop;
my $sidecar = TwTasks::Sidecar->prepare(
	$node, 'early',
	handlers => [
		{ types => ['COMMAND'], command => $ledger->command },
		{ types => ['WORKER'], worker => $ledger->worker },
		{ types => ['SQL'], sql => 'app.look' },
		{
			types => ['FAIL'],
			command => $ledger->command(undef, 1),
			retry => { delay => '100ms', max_tries => 2 }
		}
	]);

$sidecar->launch;
$sidecar->wait_for_log(qr/control: .*; will connect again/);
pass('a sidecar without a server waits');
$node->start;
$sidecar->wait_for_log(qr/started as incarnation/);
pass('the sidecar starts its work when there is a database');

# ---- with those settings ----

my @ids = map { $node->add_task($_) } qw(COMMAND WORKER SQL);
my $fail = $node->add_task('FAIL');

wait_ok(
	sub {
		3 == grep { $node->state_of($_) eq 'DONE 2' } @ids;
	},
	'tasks are done whatever was set');
wait_ok(sub { $node->status_of($fail) eq 'ERROR' }, 'retries come in time');

# By then each timeout would have passed.
my $later = $node->add_task('COMMAND',
	run_after =>
	  $node->value('SELECT clock_timestamp() + interval \'2500 ms\''));

wait_ok(sub { $node->status_of($later) eq 'DONE' },
	'a later task is done too');
is( $node->value('SELECT * FROM app.seen'),
	'on|read committed',
	'commits wait for the disk, and the isolation is as expected');
wait_ok(
	sub {
		$node->value('SELECT EXISTS (SELECT FROM pg_inherits
			WHERE inhparent = \'twtasks.finished_task\'::regclass)') eq 't';
	},
	'the leader does its duties');
unlike($sidecar->log, qr/trapped|timeout|closed the connection/, 'no call failed');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
