# 032_sessions_terminated.pl -- each of the sidecar's sessions is ended by the
# server in turn, under load: nothing is lost, nothing runs twice, and the
# sidecar stays the same incarnation.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Producer;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my $ledger = TwTasks::Ledger->new;

$node->create_effect;

my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	handlers => [
		{ types => ['WORKER'], worker => $ledger->worker },
		{ types => ['SQL'], sql => 'app.effect', processes => 2 }
	]);
my $producer = TwTasks::Producer->start($node, qw(WORKER SQL));

sub done
{
	return $node->tasks('status = \'DONE\'');
}

sub terminate
{
	my ($role) = @_;
	my $ended;

	# that of the duties rests most of the time
	wait_for(
		sub {
			$ended = $node->value(
				"SELECT count(pg_terminate_backend(pid))
				FROM pg_stat_activity WHERE application_name = 'twtasksd $role'");
		},
		"sessions of $role to end");
	wait_for(
		sub {
			$node->value(
				"SELECT count(*) FROM pg_stat_activity
				WHERE application_name = 'twtasksd $role'") >= $ended;
		},
		"sessions of $role to come back");
	return;
}

my @roles = qw(control grab finish queue sql);

foreach my $role (@roles, 'duties')
{
	my $before = done();

	terminate($role);
	wait_ok(sub { done() > $before + 50 }, "work goes on without $role");
}

# Often and in a hurry, to meet them in whatever they are at.
terminate($_) foreach (@roles) x 15;
$producer->stop;

wait_ok(sub { $node->tasks('status <> \'DONE\'') == 0 },
	'all tasks are done');

$producer->none_lost_ok($node);
is(scalar($ledger->repeated), 0, 'no task was started twice');
is( $ledger->starts +
	  $node->value('SELECT count(DISTINCT id) FROM app.effect'),
	$node->tasks('true'),
	'all tasks were executed');
$node->effects_once_ok;

# A function whose session ended while it ran may have been the cause: that
# try counts.
is( $node->tasks(
		'(tries <> 1 AND type <> \'SQL\') OR incarnation <> '
		  . $sidecar->incarnation),
	0,
	'no task needed a second try, and the incarnation is the same');
unlike($sidecar->log, qr/refused|declared gone/, 'no finish was refused');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
