# 120_kinds_kills.pl -- each kind of task keeps its promise while handlers, sidecars
# and the server are killed at random, while people cancel steps, and while the third
# party fails in every way that it can.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::KindRun;
use TwTasks::Seed;
use TwTasks::Wait;

use constant ROUNDS => 12;
use constant IDENTIFIERS => 250;

TwTasks::Seed::sow();

my $run = TwTasks::KindRun->create(
	fence => 1,
	rivals => 0.3,
	lifetime => 4,
	slow => [ 0.8, 2.5 ],
	faults => { drop_request => 0.06, drop_reply => 0.06, refuse => 0.08, late => 0.02, slow => 0.02, early => 0.05, twice => 0.1 });

my @faults = qw(cancel_steps kill_handler freeze_handler kill_sidecar crash_server);

$run->start_sidecar($_) foreach qw(a b);
$run->start_identifiers(IDENTIFIERS, 3);
foreach my $round (1 .. ROUNDS)
{
	my $fault = $round <= @faults ? $faults[ $round - 1 ] : $faults[ rand 3 ];

	last unless $run->wait_for_steps(100 + int rand 200);
	note("round $round: $fault");
	$run->$fault;
}
$run->settle;
$run->verify;
$run->stop;
done_testing();
