# 025_failover.pl -- however a leader comes to its end, another node does what
# one does for all within five seconds; the same holds after a restart of the
# server.  Both with shared memory, where the end of a session is told, and with
# NOTIFY, where the others have to look.

use strict;
use warnings FATAL => 'all';

use List::Util qw(first);
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;

use constant { ROUNDS => 3, ROUNDS_MAX => 6, SECONDS => 5 };
# Sooner than the next tick that is due.
use constant SOON => { ring => 4, notify => 2.5 };

# Says where the logs of all sidecars end now.
sub log_positions
{
	my ($case) = @_;

	$case->{positions}{ $_->{name} } = $_->log_position
	  foreach @{ $case->{sidecars} };
	return;
}

# The sidecar that leads and knows it, when all are there.
sub leader
{
	my ($case) = @_;

	wait_for(
		sub {
			$case->{node}->value(
				'SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid)
				WHERE locktype = \'advisory\' AND mode = \'ExclusiveLock\' AND granted
				  AND application_name = \'twtasksd control\''
			) == @{ $case->{sidecars} };
		},
		'all sessions to be held');
	return wait_for(
		sub {
			my $incarnation =
			  $case->{node}->value(
				'SELECT max(incarnation) FROM twtasks.node WHERE leads AND ended IS NULL'
			  );

			return first
			{
				$_->log =~
				  /as incarnation $incarnation\n(?!.*as incarnation)/s
				  && $_->log =~ /this node leads(?!.*no longer leads)/s
			} @{ $case->{sidecars} };
		},
		'a leader');
}

# Expired tasks of which nobody but a leader takes care.
sub add_expired
{
	my ($case) = @_;

	return $case->{node}
	  ->add_task('NOBODY', expires => $case->{node}->value('SELECT now()'));
}

# How long it takes until a node says that it leads, and does what leaders do.
sub check_failover
{
	my ($case, $how, $end) = @_;
	my @took;

	# a round in which the machine was busy is made up for
	while (@took < ROUNDS_MAX && ROUNDS > grep { $_ < SECONDS } @took)
	{
		my $leader = leader($case);

		log_positions($case);
		my $expired = add_expired($case);

		$end->($leader);
		wait_for(
			sub {
				grep {
					$_->log($case->{positions}{ $_->{name} }) =~
					  /this node leads/
				} @{ $case->{sidecars} };
			},
			"$case->{kind}, $how: the next leader");
		my $led = took();

		wait_for(sub { $case->{node}->status_of($expired) eq 'FAILED' },
			"$case->{kind}, $how: what it does");
		push @took, $led + took();
		$leader->run if $leader->has_exited;
	}
	is(scalar(grep { $_ < SECONDS } @took),
		ROUNDS, "$case->{kind}, $how: another sidecar leads, and does its duties");
	note(sprintf '%s, %s: after %s s',
		$case->{kind}, $how, join ', ', map { sprintf '%.2f', $_ } @took);
	return;
}

# A tick is given up when somebody has locked the node, as who looks for gone
# ones may do for a moment.  That of a follower: for that of the leader the ticks
# of the others might wait as well.
sub check_failed_tick
{
	my ($case) = @_;
	my $leader = leader($case);
	my ($own)  = grep { $_ != $leader } @{ $case->{sidecars} };
	my $mine   = 'incarnation = ' . $own->incarnation;

	once_ok(
		sub { tick_after_failure($case, $mine) < SOON->{ $case->{kind} } },
		"$case->{kind}: a tick that failed is made again soon");
	return;
}

# How long after a failure.
sub tick_after_failure
{
	my ($case, $mine) = @_;
	my $node = $case->{node};
	my $lock = $node->session;

	$lock->query("BEGIN; SELECT FROM twtasks.node WHERE $mine FOR UPDATE");
	wait_for(sub { $node->waits_for_lock('control') == 1 },
		'a tick that waits');
	wait_for(sub { $node->waits_for_lock('control') == 0 },
		'a tick that fails');
	my $since = $node->value('SELECT clock_timestamp()');

	$lock->close;
	wait_for(
		sub {
			$node->value(
				"SELECT heartbeat > '$since' FROM twtasks.nodes WHERE $mine")
			  eq 't';
		},
		'the tick to be made again');
	return took();
}

foreach my $kind (qw(ring notify))
{
	my $node     = TwTasks::Cluster->create($kind, queue => $kind);
	my @sidecars = map {
		TwTasks::Sidecar->start($node, "$kind-$_",
			lease    => '1h',
			handlers => [ { types => ['TASK'], noop => JSON::PP::true } ])
	} 1 .. 3;
	my $case = { kind => $kind, node => $node, sidecars => \@sidecars };

	check_failover($case, 'killed',  sub { $_[0]->kill9 });
	check_failover($case, 'stopped', sub { $_[0]->stop });
	check_failover(
		$case,
		'its session was ended',
		sub {
			$node->value(
				'SELECT pg_terminate_backend(l.pid) FROM pg_locks l, twtasks.node n
				WHERE n.leads AND l.locktype = \'advisory\'
				  AND twtasks_internal.node_lock(n.incarnation) = (l.classid::bigint << 32) + l.objid::bigint'
			);
		});
	check_failed_tick($case);
	foreach my $mode (qw(fast immediate))
	{
		check_failover(
			$case,
			"server restarted, $mode",
			sub { $node->stop($mode); $node->start });
	}
	is(scalar(grep { $_->log =~ /declared gone/ } @sidecars),
		0, "$kind: no sidecar that came back was declared gone");
	# A mark that could not be taken, since its row was locked, goes with a tick.
	wait_ok(
		sub {
			$node->value(
				'SELECT count(*) FROM twtasks.node WHERE leads AND ended IS NULL'
			) == 1;
		},
		"$kind: exactly one node leads");
	is($_->stop, 0, "$kind: the sidecar stops in order") foreach @sidecars;
	$node->stop;
}

done_testing();
