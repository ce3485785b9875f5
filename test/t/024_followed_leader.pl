# 024_followed_leader.pl -- a leader that stands still for a while is followed
# by another one soon, long before its lease is over, and what is due runs all
# the time.  Its tasks stay its own: when it goes on, one of the two leads, and
# it finishes them.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

# More tasks than one node runs, so that each has some.
use constant { ROUNDS => 2, TASKS => 12 };

sub leads
{
	my ($sidecar) = @_;

	return $sidecar->log =~ /this node leads(?!.*no longer leads)/s;
}

foreach my $kind (qw(ring notify))
{
	my $node     = TwTasks::Cluster->create($kind, queue => $kind);
	my $ledger   = TwTasks::Ledger->new;
	my @sidecars = map {
		TwTasks::Sidecar->start(
			$node,
			"$kind-$_",
			lease    => '1h',
			handlers => [
				{ types => ['DUE'], noop => JSON::PP::true },
				{ types => ['GATED'], command => $ledger->command('gate') }
			])
	} 1 .. 2;

	foreach my $round (1 .. ROUNDS)
	{
		wait_for(sub { 1 == grep { leads($_) } @sidecars }, 'a leader');
		my ($leader, $heir) =
		  leads($sidecars[0]) ? @sidecars : reverse @sidecars;
		my $incarnation = $leader->incarnation;
		my @running = map { $node->add_task('GATED') } 1 .. TASKS;

		wait_for(
			sub {
				$node->tasks(
					"type = 'GATED' AND status = 'PROCESSING' AND incarnation = $incarnation"
				) > 0
				  && $node->tasks('type = \'GATED\' AND status = \'SUBMITTED\'') == 0;
			},
			'tasks that the leader runs');
		$leader->freeze;

		# the heir hears of it, or finds it when it looks
		my $due = $node->add_task('DUE', run_after =>
			  $node->value('SELECT clock_timestamp() + interval \'300 ms\''));
		my %after;

		wait_ok(
			sub {
				$after{done} //= took() if $node->status_of($due) eq 'DONE';
				$after{led} //= took() if leads($heir);
				return keys %after == 2;
			},
			"$kind: another node leads and runs due tasks before the lease is over");
		is($node->leaders, $heir->{name}, "$kind: the database knows it as the leader");
		note(sprintf '%s: leads after %.2f s, done after %.2f s',
			$kind, @after{qw(led done)});
		is($node->tasks(
				'type = \'GATED\' AND status = \'PROCESSING\' AND version = 1'),
			TASKS,
			"$kind: the new leader takes no task away");

		$leader->signal('CONT');
		# On a busy machine the heir may be late in its turn.
		wait_ok(sub { $node->leaders eq join ',', map { $_->{name} } grep { leads($_) } @sidecars }, "$kind: one of the two leads, as both and the database see it");
		$ledger->release('gate', TASKS);
		wait_ok(sub { $node->tasks('type = \'GATED\' AND status <> \'DONE\'') == 0 },
			"$kind: the tasks of the old leader are done");
		is($node->tasks('type = \'GATED\' AND (version <> 2 OR tries <> 1)'),
			0, "$kind: each task of the old leader ran once");
		is(scalar($leader->log =~ /declared gone/), '', "$kind: the old leader was never declared gone");
	}
	is($_->stop, 0, "$kind: the sidecar stops in order") foreach @sidecars;
	$node->stop;
}

done_testing();
