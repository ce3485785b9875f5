# 024_help_others.pl -- of a backlog each sidecar takes its part first, and then
# what others have not come to: nobody keeps anything back.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

use constant TASKS => 5_000;

# Without shared memory every sidecar is told to look; what does not fit into the
# look-ahead is found by the looks that follow, and by nothing else.
my $node = TwTasks::Cluster->create('main',
	conf => { shared_preload_libraries => q('') });
my $ledger = TwTasks::Ledger->new;
my ($free, $other) = map {
	TwTasks::Sidecar->start(
		$node, $_,
		sweep => '10min', look_ahead => 500,
		handlers =>
		  [ { types => [$_], worker => $ledger->worker('go') } ])
} qw(FREE OTHER);

$node->wait_for_company(2);

# Half of them are the part of a sidecar that does not run the type at all.
$node->add_many('FREE', TASKS, TASKS);
$ledger->release('go', TASKS);
wait_ok(sub { $node->tasks('status = \'DONE\'') == TASKS },
	'the sidecar with the handler does all tasks');
is(scalar($ledger->repeated), 0, 'no task was started twice');
is($_->stop, 0, 'the sidecar stops in order') foreach $free, $other;

done_testing();
