# 038_silent_neighbours.pl -- one row stays locked, as by an operator's open
# transaction, while its task is finished in one statement with others.  The others
# are finished soon.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;

use constant { TASKS => 20, PATIENCE => 120 };

my $node = TwTasks::Cluster->create('main');

$node->value(<<'SQL');
	CREATE FUNCTION public.hold() RETURNS trigger LANGUAGE plpgsql AS
	$$ BEGIN PERFORM pg_catalog.pg_advisory_xact_lock_shared(1); RETURN NULL; END $$;
	CREATE TRIGGER hold AFTER INSERT ON twtasks.finished_task FOR EACH ROW
	WHEN (NEW.sub_type = 'held') EXECUTE FUNCTION public.hold();
SQL
my $holder = $node->session;

$holder->query('SELECT pg_advisory_lock(1)');
$node->value("SELECT count(twtasks.add_task('NOOP', sub_type => CASE WHEN n = 1 THEN 'held' ELSE 'free' END))
	FROM generate_series(1, ${\ TASKS}) n");
my $sidecar = TwTasks::Sidecar->start($node, 'a',
	handlers => [ { types => ['NOOP'], noop => JSON::PP::true, concurrency => TASKS } ]);

wait_for(sub { $node->tasks('status = \'PROCESSING\'') == TASKS }, 'all outcomes to be under way together');
wait_ok(sub { $node->tasks('sub_type = \'free\' AND status <> \'DONE\'') == 0 },
	'the others are finished', PATIENCE);
note(sprintf 'after %.1f s', took());
is($node->tasks('sub_type = \'held\' AND status = \'PROCESSING\''), 1, 'one outcome waits for the row');
$holder->close;
$node->wait_until_done('NOOP', 'it is stored in the end');
is($node->tasks('tries <> 1'), 0, 'each task was tried once');
is($sidecar->stop, 0, 'the sidecar stops in order');
unlike($sidecar->log, qr/refused/, 'no outcome was refused');

done_testing();
