# 040_triggers_lost.pl -- triggers are hints and the sweep is the guarantee:
# when all triggers are lost, every task still runs, seconds later.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;

use constant TASKS => 500;

my @handlers =
  (handlers => [ { types => ['TASK'], noop => JSON::PP::true } ]);

sub wait_until_done
{
	my ($node, $n, $name) = @_;

	wait_ok(sub { $node->tasks('status = \'DONE\'') == $n }, $name);
	return;
}

# Nothing is queued while tasks are switched off.
sub check_switched_off
{
	my ($node, $kind) = @_;

	$node->change_setting(enabled => 'off');
	$node->add_many('TASK', TASKS, 10);
	is($node->tasks('status = \'SUBMITTED\''),
		TASKS, "$kind: the tasks wait without triggers");
	$node->change_setting(enabled => 'on');
	wait_until_done($node, TASKS, "$kind: the sweep finds all tasks");
	return;
}

# Somebody else takes triggers from the queue and throws them away.
sub check_thief
{
	my ($node, $sidecar) = @_;
	my @thieves = map { $node->session } 1 .. 3;

	$node->value('CREATE TABLE stolen (id uuid)');
	$_->send(<<'SQL') foreach @thieves;
		DO $$
		DECLARE
			ids uuid[];
			versions bigint[];
			types text[];
			priorities smallint[];
			sizes integer[];
			buckets integer[];
			due timestamptz;
			sweep text[];
			gone boolean;
		BEGIN
			LOOP
				CALL twtasks_internal.next_triggers('{default}', 1000, 1000, ids, versions, types,
					priorities, sizes, buckets, due, sweep, gone);
				INSERT INTO stolen SELECT unnest(ids);
				COMMIT;
			END LOOP;
		END $$
SQL
	wait_for(
		sub {
			$node->value('SELECT waiters FROM twtasks.queue_stats()') == 4;
		},
		'three thieves to wait beside the sidecar');

	# the sidecar gets no more triggers than it has asked for
	$sidecar->freeze;
	$node->add_many('TASK', TASKS, 10);
	wait_for(sub { $node->value('SELECT count(*) FROM stolen') > TASKS / 2 },
		'the thieves to take triggers');
	$sidecar->signal('CONT');
	wait_until_done($node, 2 * TASKS,
		'the sweep finds the tasks whose triggers were stolen');
	$_->close foreach @thieves;
	return;
}

# Nobody listens; and later no sweep comes by itself.
sub check_start
{
	my ($node, $kind, $sidecar) = @_;
	my $before = $node->tasks('true');

	is($sidecar->stop, 0, "$kind: the sidecar stops in order");
	$node->add_many('TASK', TASKS, 10);
	$sidecar->{config}{sweep} = '1h';
	$sidecar->run;
	wait_until_done(
		$node,
		$before + TASKS,
		"$kind: the start finds tasks that were added while no sidecar ran");
	return;
}

# The SQL edition has no ring.
foreach my $kind ($ENV{TWT_TEST_EDITION} ? () : 'ring', 'notify')
{
	my $node = TwTasks::Cluster->create($kind, queue => $kind);
	my $sidecar =
	  TwTasks::Sidecar->start($node, 'a', sweep => '2s', @handlers);

	$sidecar->wait_until_idle;
	check_switched_off($node, $kind);
	check_thief($node, $sidecar) if $kind eq 'ring';
	check_start($node, $kind, $sidecar);
	is($sidecar->stop, 0, "$kind: the sidecar stops in order");
	$node->stop;
}

done_testing();
