# 038_silent_network.pl -- a network acknowledges what the sidecar sends, and brings no
# answer: while it connects, in the middle of a result, and whether or not the
# server has executed the call, or has it open before its commit.  Tasks go on after
# a while; nothing is lost or runs twice, with one sidecar or two.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Producer;
use TwTasks::Proxy;
use TwTasks::Sidecar;
use TwTasks::Wait;

use constant PATIENCE => 90;

my $node = TwTasks::Cluster->create('main');
my $ledger = TwTasks::Ledger->new;
my $proxy = TwTasks::Proxy->start($node);

$node->create_effect;
$node->value("SELECT twtasks.configure_type('SQL', timeout => '2 seconds')");

sub start
{
	my ($name) = @_;

	return TwTasks::Sidecar->start(
		$node, $name,
		postgres => $proxy->connstr . ' user=sidecar connect_timeout=5',
		handlers => [
			{ types => ['WORKER'], worker => $ledger->worker },
			{ types => ['SQL'], sql => 'app.effect', processes => 1, grace => '1s' }
		]);
}

my @calls = qw(grab finish execute tick);
my @ways = qw(mute half lost open);
my @sidecars = (start('a'));
my $producer = TwTasks::Producer->start($node, qw(WORKER SQL));

sub done
{
	my ($type) = @_;

	return $node->value("SELECT count(*) FROM twtasks.finished_task WHERE type = '$type' AND status = 'DONE'");
}

# Each call falls silent in one of the ways, all of them at once.
sub round
{
	my ($n, $more) = @_;
	my %way = map { $calls[$_] => $ways[ ($_ + $n) % @ways ] } 0 .. $#calls;
	my $case = 'round ' . ($n + 1);

	$way{connect} = 'silent' if $more;
	$proxy->cut($_, $way{$_}) foreach sort keys %way;
	foreach my $call (sort keys %way)
	{
		wait_ok(sub { $proxy->has_noted("cut $call $way{$call}") }, "$case: $call falls silent: $way{$call}", PATIENCE);
	}
	my @before = (done('WORKER'), done('SQL'));

	wait_ok(
		sub { done('WORKER') > $before[0] + 20 && done('SQL') > $before[1] + 20 },
		"$case: tasks go on", PATIENCE);
	note(sprintf '%s: after %.1f s', $case, took());
	foreach my $call (@calls)
	{
		wait_ok(
			sub { $proxy->has_noted("ended $call $way{$call}") },
			"$case: the backend of $call that the network has lost is ended", PATIENCE);
	}
	return;
}

round(0, 0);
round(1, 1);
round(2, 0);
round(3, 1);
push @sidecars, start('b');
# Two silent control sessions in a row would take longer than its lease.
wait_for(
	sub {
		$node->value('SELECT count(DISTINCT application_name) = 3 AND count(*) >= 6 FROM pg_stat_activity
			WHERE application_name IN (\'twtasksd control\', \'twtasksd grab\', \'twtasksd finish\')') eq 't';
	},
	'both to have sessions of their own for grabs');
round($_, 1) foreach 0 .. 1;

$producer->stop;
wait_ok(sub { $node->tasks('status <> \'DONE\'') == 0 }, 'all tasks are done');

$producer->none_lost_ok($node);
is(scalar($ledger->repeated), 0, 'no task was started twice');
is( $ledger->starts + $node->value('SELECT count(DISTINCT id) FROM app.effect'),
	$node->tasks('true'),
	'all tasks were executed');
$node->effects_once_ok;

# A retry that was stored may be refused when it is sent again: the task has gone on.
unlike(join('', map { $_->log } @sidecars),
	qr/refused "(?!retry)|declared gone/, 'no finish was refused, and no node was declared gone');
is($_->stop, 0, 'the sidecar stops in order') foreach @sidecars;

done_testing();
