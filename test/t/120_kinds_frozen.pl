# 120_kinds_frozen.pl -- a sidecar stands still beyond the deadlines of its steps, at
# first while its handlers run on, and then together with them.  Another sidecar goes
# on.  Each kind of task keeps its promise, and what the handlers said too late is
# kept as an anomaly.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::KindRun;
use TwTasks::Seed;
use TwTasks::Wait;

TwTasks::Seed::sow();

my $run = TwTasks::KindRun->create(
	fence => 1,
	short => [ 0.1, 0.5 ],
	slow => [ 0.8, 1.5 ],
	faults => { drop_request => 0.02, drop_reply => 0.02, refuse => 0.04, slow => 0.02, early => 0.5 });
my $frozen = $run->start_sidecar('frozen');
my $heir = $run->start_sidecar('heir');

# A busy machine may end the actions before the sidecar stands still.
sub freeze_in_action
{
	return wait_for(
		sub {
			$run->wait_for_actions($frozen, 'BOX');
			$frozen->freeze;
			return 1 if 3 <= grep { $_->{type} =~ /^BOX/ } $run->in_flight($frozen);
			$frozen->signal('CONT');
			return 0;
		},
		'a sidecar that stands still while its handlers act');
}

# ---- its handlers run on ----

$run->start_identifiers(60, 3);
$run->start_identifiers(300, 1, 'box');
freeze_in_action();
wait_ok(sub { !$run->in_flight($frozen) }, 'the handlers of the frozen sidecar answer');
$run->settle;
$frozen->signal('CONT');
$run->wait_for_incarnation($frozen, 2);
wait_ok(sub { !$run->check->lost_results }, 'each of these answers becomes an anomaly', 60);

# ---- its handlers stand still too, in the middle of their actions ----

$run->start_identifiers(60, 2);
$run->start_identifiers(150, 1, 'pess');
$run->wait_for_actions($frozen, 'PESS');
$frozen->freeze;
my @handlers = TwTasks::KindRun::handlers_of($frozen);
kill STOP => $_ foreach @handlers;
$run->settle;
kill CONT => $_ foreach @handlers;
$frozen->signal('CONT');
$run->wait_for_incarnation($frozen, 3);
$run->verify;

# ---- the checker sees ----

my $anomalies = $run->node->value('WITH gone AS (DELETE FROM twtasks.anomaly RETURNING 1) SELECT count(*) FROM gone');
cmp_ok(scalar($run->check->lost_results), '>', 0, "without the $anomalies anomalies, results are lost");
$run->stop;
done_testing();
