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
		  AND query LIKE 'CALL twtasks_internal.next_triggers%'
SQL
}

# Counts the snapshots that its sessions hold for longer than a moment.
sub snapshots
{
	return $node->value(<<'SQL');
		SELECT count(*) FROM pg_stat_activity
		WHERE application_name LIKE 'twtasksd %'
		  AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)
SQL
}

$node->value('CREATE TABLE dying (n integer)');
$sidecar->wait_until_idle;

# A tick may hold vacuum back for a moment, and a call may have just ended.
wait_ok(
	sub {
		my $since = waiting_since() || return;

		$node->value('INSERT INTO dying SELECT generate_series(1, 10000)');
		$node->value('DELETE FROM dying');
		$node->value('VACUUM dying');
		return $node->value('SELECT pg_relation_size(\'dying\')') == 0
		  && waiting_since() eq $since;
	},
	'vacuum removes rows that die while the sidecar waits for triggers');
wait_ok(
	sub {
		my $since = waiting_since() || return;

		return snapshots() == 0 && waiting_since() eq $since;
	},
	'no session of the sidecar holds a snapshot then');
is($node->value(<<'SQL'), '0', 'no session waits in a transaction that it opened');
		SELECT count(*) FROM pg_stat_activity
		WHERE application_name LIKE 'twtasksd %' AND state LIKE 'idle in%'
SQL
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
