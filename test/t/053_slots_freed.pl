# 053_slots_freed.pl -- whatever goes wrong before a handler runs, its slot is
# free again: on a node with one slot the others still run.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my $ledger = TwTasks::Ledger->new;
my @once = (retry => { max_tries => 1 });

$node->value(<<'SQL');
	CREATE ROLE stranger;
	CREATE FUNCTION public.for_nobody(task twtasks.task_input) RETURNS void LANGUAGE sql AS '';
	REVOKE ALL ON FUNCTION public.for_nobody FROM PUBLIC;
SQL

my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	concurrency => 1,
	sweep => '500ms',
	handlers => [
		{ types => ['MISSING'], command => ['/nonexistent/handler'], @once },
		{ types => ['FORBIDDEN'], command => ['/etc/passwd'], @once },
		{ types => ['WORKER'], worker => ['/nonexistent/worker'], @once, timeout => '1s' },
		{ types => ['NO_FUNCTION'], sql => 'public.no_function', @once },
		{ types => ['NOT_ALLOWED'], sql => 'public.for_nobody', @once },
		{ types => ['GOOD'], command => $ledger->command }
	]);

foreach my $type (qw(MISSING FORBIDDEN WORKER NO_FUNCTION NOT_ALLOWED))
{
	my @bad = map { $node->add_task($type) } 1 .. 3;
	my $good = $node->add_task('GOOD', priority => 9);

	wait_ok(sub { $node->status_of($good) eq 'DONE' },
		"$type: a less urgent task of another type runs all the same");
}
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
