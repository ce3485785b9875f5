# 100_on_end_slow.pl -- functions that hear of the ends of tasks and take too long, in a
# running sidecar: they stop no other task.

use strict;
use warnings FATAL => 'all';

use JSON::PP;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main', conf => { 'twtasks.function_timeout' => '3s' });

$node->safe_psql('postgres', <<'SQL');
	CREATE FUNCTION public.hears(tasks twtasks.ended_task[]) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
	AS $$ BEGIN WHILE EXISTS (SELECT FROM unnest(tasks) t WHERE t.data ? 'slow') LOOP END LOOP; END $$;
	SELECT twtasks.configure_type('*', on_end => 'public.hears');
SQL

my $sidecar = TwTasks::Sidecar->start($node, 'a', handlers => [ { types => ['NOOP'], noop => JSON::PP::true } ]);
my @slow = map { $node->add_task('NOOP', data => '{"slow": true}') } 1 .. 3;
my @quick = map { $node->add_task('NOOP') } 1 .. 10;

wait_ok(sub { !grep { $node->status_of($_) ne 'DONE' } @quick }, 'tasks that end beside slow functions are done');
wait_ok(sub { !grep { $node->status_of($_) ne 'ERROR' } @slow }, 'tasks with slow functions are in ERROR');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
