# 089_upgrade_vacuum.pl -- a long autovacuum does not keep the extension from an update:
# the server ends it, as for other changes of a table.  An update that others keep from its
# locks names them, prepared transactions too.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Session;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main', version => '1.0', conf => {
	autovacuum => 'on',
	autovacuum_naptime => '1s',
	autovacuum_vacuum_cost_delay => '100ms',
	autovacuum_vacuum_cost_limit => 1,
	max_prepared_transactions => 1
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

$node->safe_psql('postgres', 'ALTER SYSTEM SET autovacuum = off');
$node->reload;
wait_ok(
	sub {
		$node->value(q{SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE backend_type LIKE 'autovacuum%'}) eq '0';
	},
	'no autovacuum is at work any more');

# The block of the update that takes its locks, with less patience.
my ($update) = glob $node->value(q{SELECT setting FROM pg_config() WHERE name = 'SHAREDIR'}) . '/extension/twtasks--1.0--*.sql';
my ($locks) = grep { /could not lock/ } slurp_file($update) =~ /^(DO \$\$\n.*?^END \$\$;)$/msg;
$locks =~ s/'1min'/'1s'/ or die "$update has no minute to wait";
my $holder = TwTasks::Session->new($node->connstr('postgres'));

$node->session->query("BEGIN; LOCK TABLE twtasks.task IN ROW SHARE MODE; PREPARE TRANSACTION 'left behind'");
$holder->query('BEGIN; LOCK TABLE twtasks.node IN ROW SHARE MODE');
my $refusal = $node->session->try($locks);
like($refusal, qr/^ERROR: +55P03: could not lock the tables and views of twtasks within a minute$/m, 'an update waits for locks, but not for ever');
like($refusal, qr/^DETAIL: .*by: prepared transaction "left behind", session @{[ $holder->backend_pid ]}\.$/m,
	'... and names those who hold them, the oldest first');
$holder->query('ROLLBACK');
$node->session->query(q{ROLLBACK PREPARED 'left behind'});
unlike($node->session->try($locks), qr/ERROR/, '... and has them when these have ended');

done_testing();
