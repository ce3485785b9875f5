# 089_upgrade_vacuum.pl -- a long autovacuum does not keep the extension from an update:
# the server ends it, as for other changes of a table.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main', version => '1.0', conf => {
	autovacuum => 'on',
	autovacuum_naptime => '1s',
	autovacuum_vacuum_cost_delay => '100ms',
	autovacuum_vacuum_cost_limit => 1
});

$node->value(q{SELECT count(twtasks.add_task('NONE', key => 'k' || n)) FROM generate_series(1, 20000) n});
$node->value('UPDATE twtasks.unique_key SET key = key');
wait_ok(
	sub {
		$node->value(q{SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
			WHERE a.backend_type = 'autovacuum worker' AND l.relation = 'twtasks.unique_key'::regclass}) > 0;
	},
	'an autovacuum is at work');
$node->safe_psql('postgres', q{ALTER SYSTEM SET autovacuum_naptime = '10min'});
$node->reload;
unlike($node->session->try('ALTER EXTENSION twtasks UPDATE'), qr/ERROR/, 'the extension is updated all the same');
isnt($node->value(q{SELECT extversion FROM pg_extension WHERE extname = 'twtasks'}), '1.0', '... to the new version');
like(slurp_file($node->logfile), qr/canceling autovacuum task/, '... and the autovacuum was ended for it');

done_testing();
