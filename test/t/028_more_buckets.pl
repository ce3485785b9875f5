# 028_more_buckets.pl -- a sidecar works for as many buckets as its configuration
# may name, with fewer queues than that; and a call that the server refuses is
# not made again and again.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;

use constant { BUCKETS => 100, QUEUES => 3 };

my $node = TwTasks::Cluster->create('main', conf => { 'twtasks.queues' => QUEUES });
my @buckets = ('default', map { "more-$_" } 2 .. BUCKETS);
my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	sweep => '1h',
	buckets => \@buckets,
	handlers => [ { types => ['WORK'], noop => JSON::PP::true } ]);

$node->configure_buckets(@buckets);
$sidecar->wait_until_idle;
$node->add_task('WORK', bucket => $_) foreach @buckets;
wait_ok(sub { $node->tasks('status = \'DONE\'') == BUCKETS },
	'tasks of all buckets are done without a sweep');
is($node->value('SELECT count(*) FROM twtasks.queue_stats()'),
	QUEUES, 'there are as many buckets with a queue as there are queues');
is($node->value(q(SELECT detail FROM twtasks.warnings WHERE warning = 'no queue')),
	BUCKETS - QUEUES . ' of the buckets that sidecars work for, such as "more-10", '
	  . 'have no queue in shared memory: all are in use',
	'a warning names the buckets without a queue');
is($node->value(q(SELECT hint FROM twtasks.warnings WHERE warning = 'no queue')),
	'increase twtasks.queues and restart the server; until then NOTIFY brings their triggers',
	'the log says what to do');

# ---- a call that is refused ----

sub refusals
{
	my $log = PostgreSQL::Test::Utils::slurp_file($node->logfile);
	my @refused = $log =~ /permission denied for procedure next_triggers/g;

	return scalar @refused;
}

$node->value('REVOKE EXECUTE ON PROCEDURE twtasks_internal.next_triggers FROM twtasks_worker');
$node->value(q(SELECT pg_terminate_backend(pid) FROM pg_stat_activity
	WHERE application_name = 'twtasksd queue'));
wait_ok(sub { refusals() >= 5 }, 'a call that is refused is made again');

my $before = refusals();

# A pause is at least half a second in the end; without pauses 161 were seen.
watch_for(10);
cmp_ok(refusals() - $before, '<', 40, 'the sidecar tries again less and less often');
$node->value('GRANT EXECUTE ON PROCEDURE twtasks_internal.next_triggers TO twtasks_worker');
$node->add_task('WORK', bucket => $_) foreach @buckets;
wait_ok(sub { $node->tasks('status = \'DONE\'') == 2 * BUCKETS },
	'all buckets work when the right is granted');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
