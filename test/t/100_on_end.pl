# 100_on_end.pl -- functions that hear of the ends of tasks, in running
# sidecars: once for each end, whatever crashes; and a function that fails stops no
# other task.

use strict;
use warnings FATAL => 'all';

use JSON::PP;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my $steps = 60;

$node->safe_psql('postgres', <<'SQL');
	CREATE SCHEMA app;
	GRANT USAGE ON SCHEMA app TO sidecar;
	CREATE TABLE app.heard (type text, step integer, status twtasks.task_status, message text, error text);
	CREATE FUNCTION app.hears(tasks twtasks.ended_task[]) RETURNS void
	LANGUAGE plpgsql SET search_path = app, pg_temp
	AS $$
	BEGIN
		INSERT INTO heard SELECT t.type, (t.data->>'step')::integer, t.status, t.message, t.error FROM unnest(tasks) t;
		IF EXISTS (SELECT FROM unnest(tasks) t WHERE t.data ? 'bad') THEN
			RAISE EXCEPTION 'no such account';
		END IF;
	END $$;
	CREATE TABLE app.effect (step integer);
	GRANT INSERT ON app.effect TO sidecar;
	CREATE FUNCTION app.works(task twtasks.task_input) RETURNS void
	LANGUAGE sql AS $$ INSERT INTO app.effect VALUES ((task.data->>'step')::integer) $$;
	SELECT twtasks.configure_type('*', on_end => 'app.hears');
	SELECT twtasks.configure_type('SQL', retry => '{"delays": ["10ms"]}');
SQL

# The next step of a chain is added by the end of the one before.
$node->safe_psql('postgres', <<"SQL");
	CREATE FUNCTION app.follow(tasks twtasks.ended_task[]) RETURNS void
	LANGUAGE plpgsql SET search_path = app, pg_temp
	AS \$\$
	BEGIN
		INSERT INTO heard SELECT t.type, (t.data->>'step')::integer, t.status, t.message, t.error FROM unnest(tasks) t;
		PERFORM twtasks.add_task(t.type, jsonb_build_object('step', (t.data->>'step')::integer + 1))
		FROM unnest(tasks) t WHERE (t.data->>'step')::integer < $steps;
	END \$\$;
	SELECT twtasks.configure_type('CHAIN|*', on_end => 'app.follow');
SQL

sub start
{
	my ($name) = @_;

	return TwTasks::Sidecar->start(
		$node, $name,
		handlers => [
			{ types => [ 'CHAIN|NOOP', 'NOOP' ], noop => JSON::PP::true, stuck => 'retry' },
			{ types => ['CHAIN|COMMAND'], command => ['/bin/true'], stuck => 'retry' },
			{ types => ['FAILS'], command => [ '/bin/sh', '-c', 'echo broken >&2; exit 1' ], retry => { max_tries => 1 } },
			{ types => ['SQL'], sql => 'app.works' },
		]);
}

sub done
{
	return !grep { $node->status_of($_) ne 'DONE' } @_;
}

sub reached
{
	my ($type) = @_;

	return $node->value("SELECT coalesce(max(step), 0) FROM app.heard WHERE type = '$type'");
}

sub steps_of
{
	my ($type) = @_;

	return $node->value("SELECT string_agg(step || ' ' || status, ',' ORDER BY step) FROM app.heard WHERE type = '$type'");
}

my @sidecars = map { start($_) } qw(a b);

# ---- chains, while sidecars and the server crash ----

my @chains = ('CHAIN|NOOP', 'CHAIN|COMMAND');
$node->add_task($_, data => '{"step": 1}') for @chains;
wait_for(sub { reached('CHAIN|NOOP') > 5 && reached('CHAIN|COMMAND') > 5 });
$sidecars[0]->kill9;
my $before = reached('CHAIN|NOOP');
wait_ok(sub { reached('CHAIN|NOOP') > $before || $before == $steps }, 'a chain goes on when a sidecar is killed');
$node->stop('immediate');
$node->start;
$sidecars[0] = start('c');

my $each_once = join ',', map { "$_ DONE" } 1 .. $steps;
for my $type (@chains)
{
	wait_ok(sub { reached($type) == $steps }, "the chain $type reaches its end");
	is(steps_of($type), $each_once, "each end of $type was heard of once");
}

# ---- what the function is told ----

my $fails = $node->add_task('FAILS', data => '{"step": 7}');
wait_ok(sub { $node->status_of($fails) eq 'ERROR' }, 'a task whose handler fails is in ERROR');
like($node->value("SELECT concat_ws(' ', step, status, error) FROM app.heard WHERE type = 'FAILS'"), qr/^7 ERROR .*broken/s, 'the function is told of the handler\'s failure');

# ---- a function that fails ----

my $bad = $node->add_task('NOOP', data => '{"step": 1, "bad": true}');
my @good = map { $node->add_task('NOOP', data => '{"step": 1}') } 1 .. 20;
wait_ok(sub { $node->status_of($bad) eq 'ERROR' }, 'a task whose function fails is in ERROR');
wait_ok(sub { done(@good) }, 'the tasks that end beside it are done');
is($node->value("SELECT count(*) FROM app.heard WHERE type = 'NOOP'"), 20, 'the function has heard of all other tasks');
is($node->value("SELECT error FROM twtasks.error_tasks WHERE id = '$bad'"),
	'it became DONE, but function "app.hears" for on_end failed: no such account (SQLSTATE P0001)', 'the task tells why it is in ERROR');

my $sql = $node->add_task('SQL', data => '{"step": 1, "bad": true}');
my $well = $node->add_task('SQL', data => '{"step": 2}');
wait_ok(sub { $node->status_of($sql) eq 'ERROR' }, 'a task of a SQL handler whose function fails is tried again, and then in ERROR');
wait_ok(sub { done($well) }, 'another task of a SQL handler is done');
is($node->value('SELECT string_agg(step::text, \',\') FROM app.effect'), '2', 'the work of its handler is undone each time');

$_->stop for @sidecars;
done_testing();
