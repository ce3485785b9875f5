# 055_slots_freed.pl -- whatever goes wrong before a handler runs, or with what a
# policy names, the slot is free again: on a node with one slot the others still
# run.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node   = TwTasks::Cluster->create('main');
my $ledger = TwTasks::Ledger->new;
my @once   = (retry => { max_tries => 1 });

$node->value(<<'SQL');
	CREATE ROLE stranger;
	CREATE FUNCTION public.for_nobody(task twtasks.task_input) RETURNS void LANGUAGE sql AS '';
	REVOKE ALL ON FUNCTION public.for_nobody FROM PUBLIC;
	CREATE FUNCTION public.breaks(task twtasks.task_input, error text) RETURNS timestamptz
	LANGUAGE sql SET search_path = pg_catalog, pg_temp AS 'SELECT now() + 1 / 0 * interval ''1 s''';
	CREATE FUNCTION public.goes(task twtasks.task_input, error text) RETURNS timestamptz
	LANGUAGE sql SET search_path = pg_catalog, pg_temp AS 'SELECT NULL::timestamptz';
	SELECT twtasks.configure_type('BREAKS', retry_function => 'public.breaks');
	SELECT twtasks.configure_type('GONE', retry_function => 'public.goes');
	DROP FUNCTION public.goes;
SQL

# Tasks that no node may run hold up nothing either.
$node->value('SELECT twtasks.configure_type(\'NOWHERE\', nodes => \'{nobody}\')');
my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	concurrency => 1,
	sweep       => '500ms',
	handlers    => [
		{ types => ['MISSING'], command => ['/nonexistent/handler'], @once },
		{ types => ['FORBIDDEN'], command => ['/etc/passwd'], @once },
		{ types => ['WORKER'], worker => ['/nonexistent/worker'], @once, timeout => '1s' },
		{ types => ['NO_FUNCTION'], sql => 'public.no_function', @once },
		{ types => ['NOT_ALLOWED'], sql => 'public.for_nobody', @once },
		{ types => [ 'BREAKS', 'GONE' ], command => ['/bin/false'], @once },
		{ types => ['NOWHERE'], command => ['/bin/true'] },
		{ types => ['GOOD'], command => $ledger->command }
	]);

foreach my $type (qw(MISSING FORBIDDEN WORKER NO_FUNCTION NOT_ALLOWED BREAKS GONE NOWHERE))
{
	my @bad  = map { $node->add_task($type) } 1 .. 3;
	my $good = $node->add_task('GOOD', priority => 9);

	wait_ok(sub { $node->status_of($good) eq 'DONE' },
		"$type: a less urgent task of another type runs despite the full limit");
}
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
