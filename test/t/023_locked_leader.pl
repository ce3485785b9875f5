# 023_locked_leader.pl -- a transaction holds the row of the leader, as its own backend
# does when it stands still in the middle of a tick, or an operator's.  The leader
# cannot be confirmed meanwhile; another node leads, and tasks run.  In the end one
# node leads.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my $ledger = TwTasks::Ledger->new;
my @config = (lease => '4s', handlers => [ { types => ['TASK'], worker => $ledger->worker } ]);
my $leader = TwTasks::Sidecar->start($node, 'leader', @config);

$leader->wait_for_log(qr/this node leads/);
my $heir = TwTasks::Sidecar->start($node, 'heir', @config);

$node->wait_for_company(2);

my $holder = $node->session;

$holder->query('BEGIN; SELECT FROM twtasks.node WHERE incarnation = ' . $leader->incarnation . ' FOR UPDATE');
my ($from, $again) = ($heir->log_position, $leader->log_position);

# The one whose row is locked begins anew, and may be first.
wait_ok(sub { ($heir->log($from) . $leader->log($again)) =~ /this node leads/ }, 'another node leads');
note(sprintf 'after %.1f s', took());
$node->add_task('TASK') foreach 1 .. 10;
wait_ok(sub { $node->tasks('status <> \'DONE\'') == 0 }, 'tasks run');
unlike($heir->log, qr/given up/, 'no call of that node waits for the row');

# A row of a node that has ended may be locked as well.
my $ended = $node->session;

$node->value("INSERT INTO twtasks.node (name, started, heartbeat, lease, ended)
	SELECT 'old', m, m, '4 s', m FROM (SELECT clock_timestamp() - interval '1 hour') u(m)");
$ended->query("BEGIN; SELECT FROM twtasks.node WHERE name = 'old' FOR UPDATE");
is($node->value('BEGIN; SET LOCAL lock_timeout = \'5s\'; SELECT retried FROM twtasks_internal.recover_tasks(); COMMIT'),
	0, 'no recovery waits for the row of a node that has ended');
$ended->close;

$holder->close;
wait_ok(sub { $node->leaders =~ /^\w+$/ }, 'one node leads in the end');
unlike($leader->log, qr/declared gone/, 'the node was not declared gone');
wait_ok(
	sub {
		$node->value('SELECT count(*) FROM twtasks.node WHERE heartbeat > clock_timestamp() - interval \'3 s\' AND ended IS NULL') == 2;
	},
	'both are confirmed again');
is($_->stop, 0, 'the sidecar stops in order') foreach $leader, $heir;

done_testing();
