# 065_sql_deadlock.pl -- two statements that wait for each other's rows only
# because each has several tasks: those of the one that is given up are
# executed one by one, and none is blamed.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main',
	conf => { deadlock_timeout => '50ms', log_lock_waits => 'on' });

# A task with a gate passes it before it changes its row.
$node->value(<<'SQL');
	CREATE SCHEMA app;
	CREATE TABLE app.account (name text PRIMARY KEY, changes integer NOT NULL);
	INSERT INTO app.account VALUES ('ada', 0), ('bob', 0), ('eve', 0);
	CREATE FUNCTION app.change(task twtasks.task_input) RETURNS void
	LANGUAGE plpgsql AS $$
	BEGIN
		IF task.data ? 'gate' THEN
			PERFORM pg_advisory_xact_lock_shared(1);
		END IF;
		UPDATE app.account SET changes = changes + 1 WHERE name = task.data->>'account';
	END $$;
	GRANT USAGE ON SCHEMA app TO sidecar;
	GRANT SELECT, UPDATE ON app.account TO sidecar;
SQL

sub handler
{
	my ($type) = @_;

	return {
		types => [$type],
		sql => 'app.change',
		concurrency => 100,
		retry => { max_tries => 1 }
	};
}

my $sidecar = TwTasks::Sidecar->start($node, 'a',
	handlers => [ handler('LEFT'), handler('RIGHT') ]);

sub all_ended
{
	return $node->tasks("status NOT IN ('DONE', 'ERROR')") == 0;
}

# Statements have several tasks where those before them were quick.
sub warm_up
{
	$node->value(
		"SELECT count(twtasks.add_task(type, '{\"account\": \"eve\"}'))
		FROM unnest('{LEFT,RIGHT}'::text[]) type, generate_series(1, 30)");
	wait_for(\&all_ended, 'the quick ones');
	return;
}

# The tasks of a statement are executed in the order of their ids.
sub cross
{
	my ($attempt) = @_;
	my $gate = $node->session;

	$gate->query('BEGIN; SELECT pg_advisory_xact_lock(1)');
	$node->value(
		"SELECT count(twtasks.add_task(type, data::jsonb,
			task_id => format('00000000-0000-0000-%s-%s', lpad('$attempt', 4, '0'), lpad(n::text, 12, '0'))::uuid))
		FROM (VALUES (1, 'LEFT', '{\"account\": \"ada\"}'), (2, 'LEFT', '{\"account\": \"bob\", \"gate\": true}'),
			(3, 'RIGHT', '{\"account\": \"bob\"}'), (4, 'RIGHT', '{\"account\": \"ada\", \"gate\": true}')) t(n, type, data)"
	);
	wait_for(sub { $node->waits_for_lock('sql') == 2 }, 'both at the gate');
	$gate->query('COMMIT');
	wait_for(\&all_ended, 'their ends');
	return;
}

my ($attempts, $deadlocks) = (0, 0);

while ($attempts < 20 && !$deadlocks)
{
	warm_up();
	cross(++$attempts);
	$deadlocks = () =
	  slurp_file($node->logfile) =~ /detected deadlock while waiting/g;
}
is($deadlocks, 1, 'two statements met in a deadlock');
is($node->tasks('status = \'DONE\''), $attempts * 64, 'all tasks are done');
is($node->tasks('tries <> 1'), 0, 'all tasks are done in their first try');
is($node->value('SELECT string_agg(changes::text, \',\' ORDER BY name) FROM app.account'),
	join(',', 2 * $attempts, 2 * $attempts, 60 * $attempts),
	'each task had its effect once');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
