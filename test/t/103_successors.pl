# 103_successors.pl -- tasks that replies add: from every kind of handler that
# replies, and none is lost or doubled when a sidecar or the server dies.

use strict;
use warnings FATAL => 'all';

use JSON::PP;
use List::Util qw(min);
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::HttpServer;
use TwTasks::Ledger;
use TwTasks::Replies;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $chains = 40;
my $length = 80;
my $all    = '(SELECT type, data FROM twtasks.task UNION ALL SELECT type, data FROM twtasks.finished_task) a';

my $node   = TwTasks::Cluster->create('main');
my $server = TwTasks::HttpServer->start;
my $ledger = TwTasks::Ledger->new;
my @arguments = (
	lease    => '2s',
	handlers => [
		{
			types       => ['LINK'],
			worker      => [ TwTasks::Ledger::handler('chain_worker.py'), $ledger->path ],
			processes   => 2,
			prefetch    => 8,
			concurrency => 16,
			stuck       => 'retry',
			retry       => { delay => '10ms', max_tries => 100 }
		},
		{ types => ['WORKER'], worker => [ TwTasks::Ledger::handler('puppet.py') ], retry => { max_tries => 1 } },
		{ types => ['HTTP'], http => $server->url, retry => { max_tries => 1 } },
		{ types => ['NEXT'], noop => JSON::PP::true },
	]);

$node->value('GRANT twtasks_producer TO sidecar');
my $sidecar = TwTasks::Sidecar->start($node, 'a', @arguments);

# The status of a task, and the numbers of the tasks that its reply added.
sub check
{
	my ($id, $number, $expected, $what) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	wait_ok(sub { $node->status_of($id) =~ /^(DONE|ERROR)$/ }, "$what: the task ends");
	my $added = $node->value("SELECT count(*) FROM $all WHERE type = 'NEXT' AND data->>'n' = '$number'");
	is($node->status_of($id) . " $added", $expected, $what);
	return;
}

sub why
{
	my ($id) = @_;

	return $node->value("SELECT error FROM twtasks.error_tasks WHERE id = '$id'");
}

# ---- each kind of handler that replies ----

sub next_tasks
{
	my ($number) = @_;

	return "\"add\": [{\"type\": \"NEXT\", \"data\": {\"n\": $number}}]";
}

check(worker_says($node, '"result":"done",' . next_tasks(1)), 1, 'DONE 1', 'a reply of a worker');
check(server_says($node, '{"result": "done",' . "\n" . next_tasks(2) . '}'), 2, 'DONE 1', 'an answer of an HTTP server');

my $bad = worker_says($node, '"result":"done","add":[{"type":"NEXT","data":{"n":3}},{"type":"no good"}]');
check($bad, 3, 'ERROR 0', 'a reply with a task that cannot be added');
is(why($bad), 'it became DONE, but adding the tasks of its reply failed: invalid type: "no good" (SQLSTATE 22023)', 'the task tells why');

my $huge = worker_says($node, '"result":"done","add":[{"type":"NEXT","data":{"n":4,"x":1e999999}}]');
check($huge, 4, 'ERROR 0', 'a reply that the database cannot read');
is(why($huge), 'the handler\'s tasks to add could not be stored', 'the task tells why');

my $late = server_says($node, '{"result": "retry", ' . next_tasks(5) . '}');
check($late, 5, 'ERROR 0', 'an answer that adds tasks without being done');
like(why($late), qr/member "add" goes with the results done and delete only/, 'the task tells why');

# ---- deaths ----

$node->value("SELECT count(twtasks.add_task('LINK', jsonb_build_object('chain', n, 'left', $length - 1))) FROM generate_series(1, $chains) n");

sub links_done
{
	return $node->tasks('type = \'LINK\' AND status = \'DONE\'');
}

foreach my $kill (1 .. 3)
{
	# A fast machine may have done most links while the server or the sidecar started.
	my $wanted = min(links_done() + $chains * 5, $chains * $length);

	wait_ok(sub { links_done() >= $wanted }, "links are done before death $kill");
	if ($kill == 2)
	{
		$node->stop('immediate');
		$node->start;
	}
	else
	{
		$sidecar->crash;
		$sidecar = TwTasks::Sidecar->start($node, "a$kill", @arguments);
	}
}
wait_ok(sub { links_done() >= $chains * $length }, 'all links are done');
is($node->tasks('type = \'LINK\' AND status <> \'DONE\''), 0, 'none is left');
is($node->value("SELECT count(*) FROM (SELECT data FROM $all WHERE type = 'LINK' GROUP BY data HAVING count(*) > 1) d"), 0, 'no link is there twice');
is(links_done(), $chains * $length, 'each link is there once');
cmp_ok($ledger->select('start'), '>=', $chains * $length, 'each link was run');

is($sidecar->stop, 0, 'the sidecar stops in order');
$server->stop if $server->can('stop');
done_testing();
