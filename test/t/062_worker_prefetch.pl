# 062_worker_prefetch.pl -- tasks that wait in the pipe of a worker which does one
# after the other: the wait takes nothing of their time, so none is lost.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

# The example as it is shipped, with a fifth of a second of work.
my $example = slurp_file(TwTasks::Ledger::handler('../../examples/worker.py'));
$example =~ s/^(def do_task.*\n.*\n)/$1    import threading; threading.Event().wait(0.2)\n/m or die 'the example has changed';
my $worker = PostgreSQL::Test::Utils::tempdir() . '/worker.py';
append_to_file($worker, $example);
chmod 0755, $worker;

my $node = TwTasks::Cluster->create('main');
my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	handlers => [
		{
			types   => ['SHORT'],
			worker  => [$worker],
			prefetch => 64,
			timeout => '8s',
			retry   => { max_tries => 1 }
		}
	]);

$node->value('SELECT count(twtasks.add_task(\'SHORT\')) FROM generate_series(1, 64)');
wait_for(
	sub { $node->value('SELECT count(*) FROM twtasks.tasks WHERE status IN (\'DONE\', \'ERROR\')') == 64 },
	'all have ended');
is($node->value('SELECT string_agg(DISTINCT status || \' after \' || tries, \', \') FROM twtasks.tasks'),
	'DONE after 1', '64 tasks of 0.2 s are done in one try with timeouts of 8 s');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
