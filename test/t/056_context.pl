# 056_context.pl -- what a session says about its work goes with its tasks to
# handlers of each kind, and from SQL handlers on to the tasks that they add.

use strict;
use warnings FATAL => 'all';

use JSON::PP;
use Test::More;
use PostgreSQL::Test::Utils;
use TwTasks::Cluster;
use TwTasks::HttpServer;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my $directory = PostgreSQL::Test::Utils::tempdir();
my $file = "$directory/contexts";
my $server = TwTasks::HttpServer->start;
my $worker = <<'PYTHON';
import json, sys
for line in sys.stdin:
    task = json.loads(line)
    if "id" not in task:
        continue
    with open(sys.argv[1], "w") as seen:
        json.dump(task["context"], seen)
    print(json.dumps({"id": task["id"], "version": task["version"], "result": "done"}), flush=True)
PYTHON

$node->safe_psql('postgres', <<'SQL');
	CREATE SCHEMA app;
	GRANT USAGE ON SCHEMA app TO sidecar;
	GRANT twtasks_producer TO sidecar;
	CREATE FUNCTION app.next(task twtasks.task_input)
	RETURNS void LANGUAGE sql SET search_path = app, pg_temp
	AS $$ SELECT twtasks.add_task('COMMAND', sub_type => task.sub_type) $$;
	CREATE TABLE app.seen (of_task jsonb, of_setting jsonb);
	GRANT INSERT ON app.seen TO sidecar;
	CREATE FUNCTION app.note(task twtasks.task_input)
	RETURNS void LANGUAGE sql SET search_path = app, pg_temp
	AS $$ INSERT INTO app.seen VALUES (task.context, current_setting('twtasks.context')::jsonb) $$;
SQL

my $sidecar = TwTasks::Sidecar->start(
	$node, 'main',
	handlers => [
		{
			types => ['COMMAND'],
			command => [
				'/bin/sh', '-c',
				"echo \"\$TWTASKS_SUB_TYPE=\$TWTASKS_CONTEXT\" >>$file"
			]
		},
		{ types => ['SQL'], sql => 'app.next' },
		{
			types => ['KIND|COMMAND'],
			command => [
				'/bin/sh', '-c',
				"env | grep -E 'TRACE|TWTASKS_CONTEXT' | sort >$directory/env; mv $directory/env $directory/command"
			]
		},
		{
			types => ['KIND|WORKER'],
			worker => [ '/usr/bin/python3', '-c', $worker, "$directory/worker" ]
		},
		{ types => ['KIND|SQL'], sql => 'app.note' },
		{ types => ['KIND|HTTP'], http => $server->url('/hook') }
	]);

sub wait_for_context
{
	my ($name, $expected, $what) = @_;
	my %context;

	wait_for(
		sub {
			return unless -e $file;
			%context = map { split /=/, $_, 2 }
			  split /\n/, PostgreSQL::Test::Utils::slurp_file($file);
			return defined $context{$name};
		},
		"the command of $name");
	is($context{$name}, $expected, $what);
	return;
}

my $session = $node->session('producer');

$session->query('SET twtasks.context = \'{"request_id": "r1"}\'');
$session->query(
	'SELECT twtasks.add_task(\'COMMAND\', sub_type => \'command\')');
$session->query('SELECT twtasks.add_task(\'SQL\', sub_type => \'child\')');
$session->query(
	'SELECT twtasks.add_task(\'SQL\', sub_type => \'own\', context => \'{"traceparent": "00-1"}\')'
);
$session->query('RESET twtasks.context');
$session->query('SELECT twtasks.add_task(\'SQL\', sub_type => \'none\')');
wait_for_context('command', '{"request_id": "r1"}',
	'a command gets what the session said');
wait_for_context('child', '{"request_id": "r1"}',
	'a task that a SQL handler added carries the context');
wait_for_context(
	'own',
	'{"request_id": "r1", "traceparent": "00-1"}',
	'with what the task itself carried');
wait_for_context('none', '', 'a task without a context carries none');

# ---- each kind of handler, by the way that its tools for tracing look ----

my %trace = (
	traceparent => '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
	tracestate => 'v=1',
	request_id => 'r-17');
my $text = $node->value('SELECT \'' . encode_json(\%trace) . '\'::jsonb');
my $done = "type ~ '^KIND' AND status = 'DONE'";

$session->query("SET twtasks.context = '$text'");
$session->query("SELECT twtasks.add_task('KIND|$_')")
  foreach qw(COMMAND WORKER SQL HTTP);
wait_ok(sub { $node->tasks($done) == 4 }, 'a handler of each kind is done');
is( PostgreSQL::Test::Utils::slurp_file("$directory/command"),
	"TRACEPARENT=$trace{traceparent}\nTRACESTATE=v=1\nTWTASKS_CONTEXT=$text\n",
	'a command gets the context in its environment');
is_deeply(
	decode_json(PostgreSQL::Test::Utils::slurp_file("$directory/worker")),
	\%trace, 'a worker gets the context in its line');
is( $node->value(
		"SELECT of_task = '$text' AND of_setting = '$text' FROM app.seen"),
	't',
	'a SQL function gets the context in its row and as a setting');
my ($request) = $server->requests;
is_deeply(
	[ @{ $request->{headers} }{qw(traceparent tracestate x-request-id)} ],
	[ @trace{qw(traceparent tracestate request_id)} ],
	'an HTTP request carries the context in its headers');

# Malformed trace members are not passed on.
$session->query(
	'SELECT twtasks.add_task(\'KIND|COMMAND\', context => \'{"traceparent": "00-1\n2"}\')'
);
wait_ok(sub { $node->tasks($done) == 5 }, 'a task with a malformed trace is done');
unlike(
	PostgreSQL::Test::Utils::slurp_file("$directory/command"),
	qr/^TRACE/m,
	'a malformed trace is not passed on');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
