# 036_unstored.pl -- while outcomes cannot be stored, a node grabs no more than
# a few thousand tasks: a crash would lose the outcomes of all of them.

use strict;
use warnings FATAL => 'all';

use List::Util qw(max);
use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $all  = 20_000;
my $most = 6_000;

my $node = TwTasks::Cluster->create('main');

$node->add_many('NOOP', $all, 10_000);

# Finishes wait in a trigger.
$node->value('CREATE FUNCTION public.hold() RETURNS trigger LANGUAGE plpgsql AS
	$$BEGIN PERFORM pg_catalog.pg_advisory_xact_lock_shared(1); RETURN NULL; END$$');
$node->value('CREATE TRIGGER hold AFTER INSERT ON twtasks.finished_task
	FOR EACH ROW EXECUTE FUNCTION public.hold()');
my $holder = $node->session;

$holder->query('SELECT pg_advisory_lock(1)');
my $sidecar = TwTasks::Sidecar->start($node, 'a',
	handlers => [ { types => ['NOOP'], noop => JSON::PP::true, stuck => 'retry',
			concurrency => 1_000 } ]);

wait_ok(sub { $node->tasks('status = \'PROCESSING\'') >= 2_000 },
	'tasks are grabbed while the first finishes wait');

my $seen = 0;

watch_for(2, sub { $seen = max($seen, $node->tasks('status = \'PROCESSING\'')) });
cmp_ok($seen, '<', $most, 'with thousands of outcomes unstored, no further task is grabbed');
is($node->tasks('status = \'DONE\''), 0, 'no outcome was stored meanwhile');

$holder->close;
$node->wait_until_done('NOOP', 'all are done when outcomes can be stored again');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
