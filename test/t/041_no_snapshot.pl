# 041_no_snapshot.pl -- a sidecar that waits for triggers does not hold vacuum
# back: it has no snapshot and no transaction id, and rows that die while it
# waits are removed.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main', conf => { autovacuum => 'off' });
my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	sweep => '1h',
	handlers => [ { types => ['TASK'], noop => JSON::PP::true } ]);

sub waiting_since
{
	return $node->value(<<'SQL');
		SELECT query_start FROM pg_stat_activity
		WHERE application_name = 'twtasksd queue' AND state = 'active'
		  AND query LIKE 'CALL twtasks.next_triggers%'
SQL
}

$node->value('CREATE TABLE dying (n integer)');
$sidecar->wait_until_idle;

# The first call returns at once, for the sweep at the start.
my $since = wait_for(\&waiting_since, 'the sidecar to wait for triggers');

$node->value('INSERT INTO dying SELECT generate_series(1, 10000)');
cmp_ok($node->value('SELECT pg_relation_size(\'dying\')'),
	'>', 0, 'a table has rows');
$node->value('DELETE FROM dying');
$node->value('VACUUM dying');

is(waiting_since(), $since, 'the sidecar has waited all the time');
is($node->value('SELECT pg_relation_size(\'dying\')'),
	0, 'vacuum removed rows that died meanwhile');
is($node->value(<<'SQL'), '0', 'no session of the sidecar holds a snapshot');
		SELECT count(*) FROM pg_stat_activity
		WHERE application_name LIKE 'twtasksd %'
		  AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)
SQL
is($node->value(<<'SQL'), '0', 'nor is one in a transaction that it opened');
		SELECT count(*) FROM pg_stat_activity
		WHERE application_name LIKE 'twtasksd %' AND state LIKE 'idle in%'
SQL
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
