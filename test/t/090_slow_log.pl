# 090_slow_log.pl -- a sidecar that waits for triggers is no slow statement for the
# server's log, however long it waits.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main', conf => { log_min_duration_statement => '2s' });
my $sidecar =
  TwTasks::Sidecar->start($node, 'a', handlers => [ { types => ['NOOP'], noop => JSON::PP::true } ]);

# Another session shows that the server logs such statements.
$node->value('SET log_min_duration_statement = 0; SELECT \'marked\'; RESET log_min_duration_statement');
wait_for(
	sub {
		$node->value(
			'SELECT count(*) FROM pg_stat_activity WHERE query LIKE \'CALL twtasks_internal.next_triggers%\'
			AND state = \'active\' AND now() - query_start > interval \'3 seconds\'') > 0;
	},
	'a long wait for a trigger');
my $id = $node->add_task('NOOP');

wait_ok(sub { $node->status_of($id) eq 'DONE' }, 'the task is done');
is($sidecar->stop, 0, 'the sidecar stops in order');

my $log = PostgreSQL::Test::Utils::slurp_file($node->logfile);

like($log, qr/LOG:  duration: .*marked/, 'the log has slow statements');
unlike($log, qr/LOG:  duration: \S+ ms  execute \w+: CALL /, 'the wait for a trigger is not among them');

done_testing();
