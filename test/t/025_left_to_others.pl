# 025_left_to_others.pl -- what a sidecar cannot run it leaves to others: a
# draining one takes no trigger, and types without a handler are not looked for
# again and again.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

use constant { STRANGERS => 150, CROWD => 6_000, TASKS => 20 };

my $ledger = TwTasks::Ledger->new;

# ---- a drain ----

{
	my $node = TwTasks::Cluster->create('drain');
	my ($old, $new) = map {
		TwTasks::Sidecar->start(
			$node, $_,
			sweep => '10min',
			handlers => [
				{ types => ['QUICK'], noop => JSON::PP::true },
				{ types => [ uc $_ ], command => $ledger->command('gate') }
			])
	} qw(old new);
	my $long = $node->add_task('OLD');

	wait_ok(sub { $node->status_of($long) eq 'PROCESSING' }, 'a task runs');
	$old->signal('TERM');
	$old->wait_for_log(qr/drain: stopping/);
	$node->add_task('QUICK') foreach 1 .. TASKS;
	wait_ok(
		sub { $node->tasks('type = \'QUICK\' AND status = \'DONE\'') == TASKS },
		'another sidecar runs tasks that are added during a drain');
	is($node->status_of($long), 'PROCESSING', 'the drain still waits for its task');
	$ledger->release('gate', 1);
	is($old->wait_for_exit, 0, 'the draining sidecar ends');
	is($new->stop, 0, 'the sidecar stops in order');
	$node->stop;
}

# ---- types of nobody ----

{
	my $node = TwTasks::Cluster->create('strangers', conf => { track_functions => 'all' });
	my @sidecars = map {
		TwTasks::Sidecar->start($node, $_, handlers => [ { types => [qw(OWN ALSO_*)], noop => JSON::PP::true } ])
	} qw(one two);
	my $looks = sub {
		$node->value(q(SELECT coalesce(sum(calls), 0) FROM pg_stat_user_functions
			WHERE funcname = 'sweep_tasks'));
	};

	$node->wait_for_company(2);
	$node->add_task("STRANGER_$_") foreach 1 .. STRANGERS;
	$node->add_many('ZZ_STRANGER', CROWD, CROWD);
	$node->add_many('OWN', 5 * CROWD, 5 * CROWD);
	is( $node->value(
			q(SELECT string_agg(DISTINCT array_to_string(types, ','), ';') FROM twtasks.nodes)),
		'OWN,ALSO_*', 'sidecars publish the types that they handle');
	$node->add_task('ALSO_THIS');
	is( $node->value(
			q(SELECT string_agg(detail, ';') FROM twtasks.warnings
			WHERE warning = 'no handler' AND detail ~ '"(OWN|ALSO_THIS|STRANGER_1)"')),
		'type "STRANGER_1" has tasks in bucket "default", and no node that lives handles it',
		'a warning names the type that nobody handles, and no other');
	wait_ok(sub { $node->tasks('type = \'OWN\' AND status = \'DONE\'') == 5 * CROWD },
		'the sidecars\' own tasks are done');

	my $wait_for_ticks = sub {
		my $now = $node->value('SELECT clock_timestamp()');

		wait_for(
			sub { $node->value("SELECT min(heartbeat) > '$now' FROM twtasks.nodes") eq 't' },
			'both to tick');
	};

	# The looks for those tasks do not count: sessions tell of them up to a second later.
	$wait_for_ticks->() foreach 1 .. 2;
	my $before = $looks->();

	$wait_for_ticks->();
	cmp_ok($looks->() - $before, '<=', 20,
		'tasks that nobody runs are looked for once in a while');
	is($_->stop, 0, 'the sidecar stops in order') foreach @sidecars;
}

done_testing();
