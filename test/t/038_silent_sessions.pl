# 038_silent_sessions.pl -- the backend of each of the sidecar's sessions is frozen in
# turn, under load: the session is given up after a while, its calls are resolved,
# and tasks go on.  Nothing is lost or runs twice, also when the backend goes on
# later.  The health names the silent session meanwhile.

use strict;
use warnings FATAL => 'all';

use HTTP::Tiny;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Producer;
use TwTasks::Sidecar;
use TwTasks::Wait;

# Longer than any session is silent before it is given up.
use constant PATIENCE => 60;

my $node = TwTasks::Cluster->create('main');
my $ledger = TwTasks::Ledger->new;
my $port = PostgreSQL::Test::Cluster::get_free_port();

$node->create_effect;
$node->value("SELECT twtasks.configure_type('SQL', timeout => '2 seconds')");

my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	listen => "127.0.0.1:$port",
	handlers => [
		{ types => ['WORKER'], worker => $ledger->worker },
		{ types => ['SQL'], sql => 'app.effect', processes => 1, grace => '1s' }
	]);
my $producer = TwTasks::Producer->start($node, qw(WORKER SQL));

sub health
{
	return HTTP::Tiny->new->get("http://127.0.0.1:$port/health")->{content};
}

sub done
{
	my ($type) = @_;

	return $node->value("SELECT count(*) FROM twtasks.finished_task WHERE type = '$type' AND status = 'DONE'");
}

sub both_go_on
{
	my ($worker, $sql) = @_;

	return done('WORKER') > $worker + 20 && done('SQL') > $sql + 20;
}

sub warned
{
	return $node->value('SELECT string_agg(warning || \': \' || detail, E\'\n\') FROM twtasks.warnings');
}

my @frozen;

foreach my $role (qw(control grab finish queue sql))
{
	my $from = $sidecar->log_position;
	my $pid = $node->freeze_backend("application_name = 'twtasksd $role'");
	my ($told, $warned);

	push @frozen, $pid;
	wait_ok(
		sub {
			$warned ||= warned() =~ /silent session: node "a": session "$role" has not answered/ ? 1 : 0;
			$told ||= health() =~ /session \\"$role\\" has not answered|session \\"$role\\" is not there/ ? 1 : 0;
			$sidecar->log($from) =~ /postgres: $role: no answer to "\w+" for [\d.]+ s, its session is given up \(backend $pid\)/;
		},
		"the frozen session of $role is given up",
		PATIENCE);
	note(sprintf '%s: after %.1f s', $role, took());
	ok($told, "the health names the silent session of $role");

	# A control session that is silent can say nothing.
	ok($warned, "twtasks.warnings names the silent session of $role") if $role ne 'control';
	my @before = (done('WORKER'), done('SQL'));

	wait_ok(sub { both_go_on(@before) }, "tasks go on without the session of $role", PATIENCE);
	note(sprintf '%s: %.1f s later', $role, took());
	wait_ok(sub { health() =~ /"status":"ok"/ }, "the health is good again after $role", PATIENCE);
}

kill CONT => @frozen;
wait_ok(
	sub {
		$node->value('SELECT count(*) FROM pg_stat_activity WHERE pid IN (' . join(',', @frozen) . ')') == 0;
	},
	'the backends end when they go on');
$producer->stop;
wait_ok(sub { $node->tasks('status <> \'DONE\'') == 0 }, 'all tasks are done');

$producer->none_lost_ok($node);
is(scalar($ledger->repeated), 0, 'no task was started twice');
$node->effects_once_ok;
is($node->value('SELECT count(DISTINCT incarnation) FROM twtasks.tasks'), 1, 'the incarnation is the same');
unlike($sidecar->log, qr/declared gone/, 'the node was never declared gone');
unlike(warned(), qr/silent/, 'no warning of silence stays');
$sidecar->freeze;
wait_ok(sub { warned() =~ /silent node: node "a" should have ticked/ }, 'a node that stands still is in twtasks.warnings');
$sidecar->signal('CONT');
wait_ok(sub { warned() !~ /silent/ }, 'the warning ends when the node ticks again');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
