# 101_outcome.pl -- an outcome travels from every kind of handler to the function
# of on_end, with all its digits; a wrong outcome is told, and nothing is lost.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::HttpServer;
use TwTasks::Ledger;
use TwTasks::Replies;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my $server = TwTasks::HttpServer->start;

$node->safe_psql('postgres', <<'SQL');
	CREATE SCHEMA app;
	GRANT USAGE ON SCHEMA app TO sidecar;
	CREATE TABLE app.heard (id uuid, status twtasks.task_status, outcome text);
	CREATE FUNCTION app.hears(tasks twtasks.ended_task[]) RETURNS void
	LANGUAGE sql SET search_path = app, pg_temp
	AS $$ INSERT INTO heard SELECT t.id, t.status, t.outcome FROM unnest(tasks) t $$;
	SELECT twtasks.configure_type('*', on_end => 'app.hears');
	CREATE FUNCTION app.works(task twtasks.task_input) RETURNS void
	LANGUAGE sql AS $$ SELECT twtasks.set_outcome(task.data) $$;
SQL

my %once = (retry => { max_tries => 1 });
my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	handlers => [
		{ types => ['WORKER'], worker => [ TwTasks::Ledger::handler('puppet.py') ], prefetch => 1, %once },
		{ types => ['HTTP'], http => $server->url, %once },
		{ types => ['SQL'], sql => 'app.works', %once },
	]);

sub heard
{
	my ($id) = @_;

	return $node->value("SELECT string_agg(concat_ws(' ', status, outcome), '; ') FROM app.heard WHERE id = '$id'") // '';
}

sub check
{
	my ($id, $expected, $what) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	wait_ok(sub { heard($id) ne '' }, "$what: the function hears of it");
	is(heard($id), $expected, $what);
	return;
}

my $digits = '{"n": 12345678901234567890.10, "payment": "p-17"}';

# ---- each kind of handler ----

check(worker_says($node, "\"result\":\"done\",\"outcome\":$digits"), "DONE $digits", 'an outcome of a worker');
check(worker_says($node, "\"result\":\"error\",\"outcome\":$digits"), "ERROR $digits", 'an outcome of a worker that gives up');
check(worker_says($node, '"result":"done"'), 'DONE', 'no outcome of a worker');
check(server_says($node, "{\"result\": \"done\",\n\"outcome\": $digits}"), "DONE $digits", 'an outcome of an HTTP server');
check($node->add_task('SQL', data => $digits), "DONE $digits", 'an outcome of a SQL handler');
my $accepted = worker_says($node, '"result":"accepted"');
wait_for(sub { $node->tasks("id = '$accepted' AND status = 'PROCESSING' AND incarnation IS NULL") == 1 });
$node->value("SELECT twtasks.finish_task('$accepted', 1, outcome => '$digits')");
check($accepted, "DONE $digits", 'an outcome from outside');

# ---- wrong outcomes ----

my $list = worker_says($node, '"result":"done","outcome":[1]');
check($list, 'ERROR', 'an outcome of a worker that is no object');
like($node->value("SELECT error FROM twtasks.error_tasks WHERE id = '$list'"), qr/member "outcome" is no object/, 'the task tells what was wrong');
check($node->add_task('SQL', data => '[1]'), 'ERROR', 'an outcome of a SQL handler that is no object');
my $strange = server_says($node, '{"result": "done", "outcome": [1]}');
check($strange, 'ERROR', 'an outcome of an HTTP server that is no object');
like($node->value("SELECT error FROM twtasks.tasks WHERE id = '$strange'"), qr/member "outcome" is no object/, 'the error of that task tells it');

# A number that jsonb cannot hold shows in the database only.
my $huge = worker_says($node, '"result":"done","outcome":{"n":1e999999}');
check($huge, 'ERROR', 'an outcome that the database refuses');
is($node->value("SELECT error FROM twtasks.error_tasks WHERE id = '$huge'"), 'the handler\'s outcome could not be stored', 'that task tells it');
check(worker_says($node, '"result":"done"'), 'DONE', 'a task after it');

$sidecar->stop;
$server->stop if $server->can('stop');
done_testing();
