# 041_late_commits.pl -- without preload a transaction sends no notification while
# another one's is on its way.  Its task starts soon all the same, however late it
# commits, and no sweep is needed.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::LateCommits;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $commits = TwTasks::LateCommits->new;
my $node = $commits->node;
my $ledger = TwTasks::Ledger->new;

# While a task runs, no tick finds the first work after idle time.
my $running = $node->add_task('RUNNING');
my %config = (
	sweep => '1h',
	handlers => [
		{ types => [qw(EARLY LATE)], noop => JSON::PP::true },
		{ types => ['RUNNING'], command => $ledger->command('gate') }
	]);
my $sidecar = TwTasks::Sidecar->start($node, 'a', %config);

wait_for(sub { $ledger->starts($running) }, 'the first task to run');

# ---- a task that commits before the notification, and one long after ----

$sidecar->wait_until_idle;
$commits->commit(early => 'EARLY');
$node->session->query("SELECT FROM twtasks.add_task('LATE')");
pass('a commit does not wait for one that notifies');
$commits->let_commit('early');
wait_ok(sub { $commits->done('LATE') == 1 }, 'a task without a notification starts');
$commits->start_soon;
$commits->all_notify;

# ---- a crash between the notification and the look ----

wait_for(sub { $node->tasks("type = 'LATE' AND status IN ('SUBMITTED', 'PROCESSING')") == 0 }, 'the tasks so far');
my $before = $commits->done('LATE');

sub cut_off
{
	my ($by) = @_;

	$sidecar->wait_until_idle;
	$commits->commit(early => 'EARLY');
	$commits->commit(late => 'LATE');
	$sidecar->freeze;
	$commits->let_commit('early');
	$sidecar->kill9;
	$by->();
	$commits->let_commit('late');
	wait_ok(sub { $commits->done('LATE') == $before + 1 }, $_[1]);
	$before++;
	return;
}

cut_off(sub { $sidecar->run; $commits->wait_for_question }, 'a late task after a crash starts by the next sidecar');
my $second = TwTasks::Sidecar->start($node, 'b', %config);

$node->wait_for_company(2);
cut_off(sub { }, 'a late task starts by another sidecar that lives');

# ---- nobody looks twice ----

$ledger->release('gate');
is($second->stop, 0, 'the sidecar stops in order');
wait_for(
	sub {
		$node->value("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'twtasksd queue'") == 0;
	},
	'the sessions to end');

# All sidecars of the SQL edition look twice.
if (!$node->has_edition)
{
	$commits->commit(early => 'EARLY');
	$commits->commit(late => 'LATE', waits_for => 'object');
	pass('without sidecars that look twice each commit notifies');
	$commits->let_commit('early');
}

done_testing();
