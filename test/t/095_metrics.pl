# 095_metrics.pl -- the figures of /metrics, and the rows of twtasks.flow, say what
# the sidecars did: they equal the history.

use strict;
use warnings FATAL => 'all';

use HTTP::Tiny;
use List::Util qw(sum0);
use PostgreSQL::Test::Cluster;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my $ledger = TwTasks::Ledger->new;
my (@sidecars, %ports);

$node->create_effect;
$node->value('CREATE FUNCTION app.refuse(task twtasks.task_input) RETURNS void
	LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION \'no\'; END $$');
$node->value('CREATE FUNCTION app.ask(task twtasks.task_input) RETURNS twtasks.task_result LANGUAGE sql
	AS $$ SELECT (\'retry\', \'1 ms\'::interval, \'not yet\')::twtasks.task_result WHERE task.tries < 3 $$');
$node->value('GRANT EXECUTE ON FUNCTION app.refuse, app.ask TO sidecar');

sub start
{
	my ($name, %options) = @_;

	$ports{$name} = PostgreSQL::Test::Cluster::get_free_port();
	return TwTasks::Sidecar->start(
		$node, $name,
		listen => "127.0.0.1:$ports{$name}",
		buckets => [ 'default', 'bulk' ],
		handlers => [
			{ types => ['NOOP'], noop => JSON::PP::true },
			{ types => ['MANY*'], noop => JSON::PP::true },
			{ types => ['SQL'], sql => 'app.effect' },
			{ types => ['ASKS'], sql => 'app.ask' },
			{ types => ['REFUSED'], sql => 'app.refuse', retry => { delay => '1ms', max_tries => 2 } },
			{
				types => ['FAIL'],
				command => ['/bin/false'],
				retry => { delay => '1ms', max_tries => 3 }
			},
			{ types => ['WORKER'], worker => $ledger->worker }
		],
		%options);
}

sub scrape
{
	my ($name) = @_;
	my $answer = HTTP::Tiny->new(timeout => 180)->get("http://127.0.0.1:$ports{$name}/metrics");

	return $answer->{status} == 200 ? $answer->{content} : '';
}

# The sum of the samples that the pattern matches, of all sidecars.
sub figure
{
	my ($pattern) = @_;

	my @samples = map { scrape($_) =~ /^twtasks_$pattern ([0-9.]+)$/mg } sort keys %ports;

	return @samples ? sum0(@samples) : -1;
}

push @sidecars, start($_) foreach qw(a b);
$node->add_many('NOOP', 600, 50);
$node->add_task('NOOP', bucket => 'bulk') foreach 1 .. 5;
$node->add_many('SQL', 40, 10);
$node->add_task($_) foreach (('FAIL') x 4, ('ASKS') x 2, ('REFUSED') x 3, ('WORKER') x 7);

# A sidecar counts a result when it has the answer of the database.
my %expected = (
	'tasks_ended_total\{bucket="default",type="NOOP",result="done"\}' => 600,
	'tasks_ended_total\{bucket="bulk",type="NOOP",result="done"\}' => 5,
	'tasks_ended_total\{bucket="default",type="SQL",result="done"\}' => 40,
	'tasks_ended_total\{bucket="default",type="WORKER",result="done"\}' => 7,
	'tasks_ended_total\{bucket="default",type="FAIL",result="retry"\}' => 8,
	'tasks_ended_total\{bucket="default",type="FAIL",result="error"\}' => 4,
	'tasks_ended_total\{bucket="default",type="REFUSED",result="retry"\}' => 3,
	'tasks_ended_total\{bucket="default",type="REFUSED",result="error"\}' => 3,
	'tasks_ended_total\{bucket="default",type="ASKS",result="retry"\}' => 4,
	'tasks_ended_total\{bucket="default",type="ASKS",result="done"\}' => 2,
	'grabs_total\{bucket="default",type="FAIL"\}' => 12,
	'tasks_started_total\{bucket="default",type="SQL"\}' => 40,
	'run_seconds_count\{bucket="default",type="NOOP"\}' => 600,
	'run_seconds_bucket\{bucket="default",type="SQL",le="\+Inf"\}' => 40,
	'wait_seconds_count\{bucket="default",type="NOOP"\}' => 600,
	'wait_seconds_count\{bucket="default",type="SQL"\}' => 40,
	'wait_seconds_count\{bucket="default",type="FAIL"\}' => 12,
	'wait_seconds_count\{bucket="default",type="WORKER"\}' => 7,
	'refused_finishes_total\{.*\}' => 0,
	'worker_protocol_errors_total\{handler="WORKER"\}' => 0,
	'leader' => 1,
	'database_up' => 2,
	'running\{handler="NOOP"\}' => 0,
	'table_triggers\{bucket="default"\}' => 0);

foreach my $pattern (sort keys %expected)
{
	wait_ok(sub { figure($pattern) == $expected{$pattern} }, "$pattern is $expected{$pattern}");
}
is( figure('tasks_ended_total\{.*,result="done"\}'),
	$node->value('SELECT count(*) FROM twtasks.finished_task WHERE status = \'DONE\''),
	'tasks that are done are the rows of the history');
cmp_ok(figure('slots_free\{handler="FAIL"\}'), '>', 0, 'there are free slots');
cmp_ok(figure('grab_seconds_count'), '>', 0, 'grabs are timed');
cmp_ok(figure('finish_seconds_count'), '>', 0, 'finishes are timed');
cmp_ok(figure('log_lines_total\{level="error"\}'), '>', 0, 'lines of the log are counted');
cmp_ok(abs($node->value('SELECT extract(epoch FROM clock_timestamp())') - figure('heartbeat_timestamp_seconds') / 2),
	'<', 60, 'the time of the heartbeat is about now');

# ---- the format ----

my $answer = HTTP::Tiny->new(timeout => 180)->get("http://127.0.0.1:$ports{a}/metrics");
my (%declared, @odd);

is($answer->{headers}{'content-type'}, 'text/plain; version=0.0.4; charset=utf-8', 'the content type names the format');
foreach my $line (split /\n/, $answer->{content})
{
	if ($line =~ /^# HELP (twtasks_\w+) \S/ || $line =~ /^# TYPE (twtasks_\w+) (?:counter|gauge|histogram)$/)
	{
		$declared{$1}++;
	}
	elsif ($line !~ /^(twtasks_\w+?)(?:_bucket|_sum|_count)?(?:\{(?:\w+="(?:[^"\\\n]|\\[\\"n])*",?)+\})? -?[0-9.]+$/
		|| ($declared{$1} // $declared{"$1_count"} // 0) != 2)
	{
		push @odd, $line;
	}
}
is("@odd", '', 'each line is a sample of a metric that has its help and type');
is(HTTP::Tiny->new(timeout => 180)->request('HEAD', "http://127.0.0.1:$ports{a}/metrics")->{status}, 200, 'HEAD is answered');
is(HTTP::Tiny->new(timeout => 180)->post("http://127.0.0.1:$ports{a}/metrics")->{status}, 405, 'POST is refused');

SKIP:
{
	my ($promtool) = grep { -x "$_/promtool" } split /:/, $ENV{PATH};

	skip 'there is no promtool', 1 if !$promtool;
	open my $check, '|-', "$promtool/promtool check metrics" or die "could not run promtool: $!";
	print $check $answer->{content};
	ok(close $check, 'promtool has no complaint');
}

# ---- the flow ----

is($_->stop, 0, 'a sidecar stops in order') foreach @sidecars;
is($node->value('SELECT translate(string_agg(s::text, E\'\n\'), \',()\', \' \') FROM (
	SELECT bucket, type, sum(started), sum(done), sum(errors), sum(retried), sum(failed), sum(refused), sum(unknown),
		(SELECT sum(n) FROM twtasks.flow g, unnest(g.run) n WHERE g.type <> \'REFUSED\' AND (g.bucket, g.type) = (f.bucket, f.type)),
		(SELECT sum(n) FROM twtasks.flow g, unnest(g.wait) n WHERE g.type <> \'REFUSED\' AND (g.bucket, g.type) = (f.bucket, f.type))
	FROM twtasks.flow f GROUP BY 1, 2 ORDER BY 1, 2) s'),
	join("\n",
		'bulk NOOP 5 5 0 0 0 0 0 5 5',
		'default ASKS 6 2 0 4 0 0 0 6 6',
		'default FAIL 12 0 4 8 0 0 0 12 12',
		'default NOOP 600 600 0 0 0 0 0 600 600',
		'default REFUSED 6 0 3 3 0 0 0  ',
		'default SQL 40 40 0 0 0 0 0 40 40',
		'default WORKER 7 7 0 0 0 0 0 7 7'),
	'the flow says the same');
is($node->value('SELECT bool_and(step BETWEEN \'0\' AND \'10 minutes\' AND at < clock_timestamp()
	AND node IN (SELECT incarnation FROM twtasks.node)) FROM twtasks.flow'), 't', 'its rows have a time and a node');

# Its silence tells something only if it has said that it would speak.
is(start('idle', buckets => ['idle'])->stop, 0, 'a sidecar without tasks stops');
is($node->value("SELECT notes_flow FROM twtasks.node WHERE name = 'idle'"), 't', 'it has told that it adds to the flow');

# ---- many types ----

%ports = ();
my $bounded = start('c', metrics => { types => 3, histogram_types => 1 });

$node->add_task("MANY_$_") foreach 1 .. 20;
wait_ok(sub { figure('tasks_ended_total\{.*,result="done"\}') == 20 }, 'tasks of many types are counted');
is(scalar(my @types = scrape('c') =~ /^twtasks_grabs_total\{/mg), 4, 'types beyond the bound share a row');
is(figure('tasks_ended_total\{bucket="default",type="\(other\)",result="done"\}'), 17, 'the row has all of them');
is($bounded->stop, 0, 'the sidecar stops in order');

done_testing();
