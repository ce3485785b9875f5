# 095_canaries.pl -- what tasks carry is in no view, table, function or metric that a
# viewer may see, in no answer by HTTP and in no log; nor is a token of a program.

use strict;
use warnings FATAL => 'all';

use HTTP::Tiny;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;
use TwTasks::Web;

my $node = TwTasks::Cluster->create('main');
my %ports = map { $_ => PostgreSQL::Test::Cluster::get_free_port() } qw(sidecar web);
my $token = 'canary-of-a-token';
my $tokens = TwTasks::Web::write_tokens(PostgreSQL::Test::Utils::tempdir() . '/tokens', $token);

$node->add_extensions(qw(events kinds));
$node->value(<<'SQL');
	CREATE ROLE viewer LOGIN IN ROLE twtasks_viewer;
	CREATE ROLE operator LOGIN IN ROLE twtasks_operator;
SQL
my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	listen => "127.0.0.1:$ports{sidecar}",
	handlers => [
		{ types => ['DONE'], command => [ '/bin/sh', '-c', 'cat >/dev/null' ] },
		{ types => ['FAIL'], command => [ '/bin/sh', '-c', 'cat >/dev/null; echo away >&2; exit 65' ], retry => { max_tries => 1 } },
		{ types => ['RETRY'], command => [ '/bin/sh', '-c', 'cat >/dev/null; echo away >&2; exit 75' ], retry => { delay => '1h', max_tries => 5 } }
	]);
my $web = TwTasks::Web->start($node, 'web', listen => "127.0.0.1:$ports{web}", token_file => $tokens);

# Each type in each status, with all that a task can carry.
$node->value(<<"SQL") foreach qw(DONE FAIL RETRY NOBODY);
	SELECT twtasks.add_task('$_', '{"iban": "canary-of-data"}', key => 'order $_', sub_type => 'EUR',
							payload => 'canary-of-payload'::bytea, context => '{"token": "canary-of-context"}'),
		   twtasks.add_task('$_', '{"iban": "canary-of-data"}', run_after => '2100-01-01', payload => 'canary-of-payload'::bytea)
SQL
$node->value(<<'SQL');
	SELECT twtasks.schedule('nightly', '30 2 * * *', 'DONE', '{"iban": "canary-of-data"}',
							context => '{"token": "canary-of-context"}', payload => 'canary-of-payload'::bytea)
SQL
wait_for(sub { $node->tasks(q(status = 'DONE')) >= 1 && $node->tasks(q(status = 'ERROR')) == 1 }, 'ends of tasks');
wait_for(sub { $node->tasks(q(type = 'RETRY' AND status = 'WAITING' AND tries > 0)) == 1 }, 'a task that is retried');
$node->value(q(SELECT twtasks.configure_limit('NOBODY', 1)));
$node->value(q(UPDATE twtasks.task SET next_event_time = now() - interval '1 h' WHERE type = 'NOBODY' AND status = 'SUBMITTED'));
$node->value(q(SELECT twtasks_internal.monitor_tasks()));
$node->value(q(SELECT twtasks_internal.judge_incidents()));

my $viewer = $node->session('viewer');

sub seen_ok
{
	my ($name, $text) = @_;

	ok(length $text, "$name: there is something to see") or return;
	return unlike($text, qr/canary/, "$name shows nothing that a task carries");
}

# ---- SQL: all that the catalog lets a viewer see ----

foreach my $relation (split /\n/, $node->value(<<'SQL'))
	SELECT c.oid::regclass FROM pg_class c
	WHERE c.relnamespace = 'twtasks'::regnamespace AND c.relkind IN ('r', 'p', 'v') AND NOT c.relispartition
	  AND has_table_privilege('viewer', c.oid, 'SELECT') ORDER BY 1
SQL
{
	my $rows = $viewer->try("SELECT string_agg(r::text, E'\\n') FROM $relation r");

	unlike($rows, qr/canary|^ERROR/, "$relation shows nothing that a task carries");
}
foreach my $hidden (qw(task finished_task schedule))
{
	like($viewer->try("SELECT r FROM twtasks.$hidden r"), qr/permission denied/, "a viewer may not read twtasks.$hidden");
}
my $ids = $node->value('SELECT string_agg(quote_literal(id), \',\') FROM twtasks.tasks');

my %answers = (
	list_tasks => 'SELECT l::text FROM twtasks.list_tasks() l',
	list_unknown => 'SELECT l::text FROM twtasks.list_unknown() l',
	error_groups => 'SELECT g::text FROM twtasks.error_groups() g',
	why => "SELECT w::text FROM unnest(ARRAY[$ids]::uuid[]) i(id) CROSS JOIN LATERAL twtasks.why(i.id) w",
	life => "SELECT l::text FROM unnest(ARRAY[$ids]::uuid[]) i(id) CROSS JOIN LATERAL twtasks.life(i.id) l",
	find_stuck => 'SELECT s::text FROM twtasks.find_stuck(20) s',
	what_if_limit => 'SELECT w::text FROM twtasks.what_if_limit(\'NOBODY\', 3) w',
	count_tasks => 'SELECT c::text FROM twtasks.count_tasks(100) c',
	metrics => 'SELECT m::text FROM twtasks.metrics() m',
	metrics_text => 'SELECT twtasks.metrics_text()');

foreach my $function (sort keys %answers)
{
	my $answer = $viewer->try("SELECT string_agg(a, E'\\n') FROM ($answers{$function}) t(a)");

	unlike($answer, qr/^ERROR/, "$function() answers a viewer");
	seen_ok("$function()", $answer);
}
like($viewer->try("SELECT twtasks.list_tasks(data => '{\"iban\": \"x\"}')"), qr/permission denied to search in the data/,
	'a viewer may not ask for data');
like($viewer->try(qq(SELECT w.advice::text FROM twtasks.why('00000000-0000-0000-0000-000000000000') w)), qr/^(?!.*canary)/,
	'why() of an unknown task shows nothing');

# ---- HTTP and logs ----

my %requests = (
	"the sidecar's /metrics" => "$ports{sidecar}/metrics",
	"the sidecar's /health" => "$ports{sidecar}/health",
	"twtasks-web's /metrics" => "$ports{web}/metrics",
	"twtasks-web's /health" => "$ports{web}/health");

foreach my $what (sort keys %requests)
{
	my $answer = HTTP::Tiny->new(timeout => 180, default_headers => { Authorization => "Bearer $token" })->get("http://127.0.0.1:$requests{$what}");

	seen_ok($what, $answer->{content});
	unlike($answer->{content}, qr/[0-9a-f]{8}-[0-9a-f]{4}-|order [A-Z]/, "$what has no label with an id or a key");
}
seen_ok("the log of $_->{name}", $_->log) foreach $sidecar, $web;
is($_->stop, 0, "$_->{name} stops in order") foreach $web, $sidecar;
done_testing();
