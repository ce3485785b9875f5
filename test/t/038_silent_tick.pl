# 038_silent_tick.pl -- the backend of the control session is frozen in the middle of
# a tick, so the row of its node stays locked.  The node begins a new incarnation, and
# tasks run again.  Health and warnings tell meanwhile.

use strict;
use warnings FATAL => 'all';

use HTTP::Tiny;
use PostgreSQL::Test::Cluster;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Producer;
use TwTasks::Sidecar;
use TwTasks::Wait;

# The session is given up after half of the lease.
use constant { LEASE => 8, PATIENCE => 60 };

my $node = TwTasks::Cluster->create('main');
my $ledger = TwTasks::Ledger->new;
my $port = PostgreSQL::Test::Cluster::get_free_port();
my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	lease => LEASE . 's',
	listen => "127.0.0.1:$port",
	handlers => [ { types => ['TASK'], worker => $ledger->worker } ]);
my $old = $sidecar->incarnation;
my $producer = TwTasks::Producer->start($node, 'TASK');

sub health
{
	return HTTP::Tiny->new->get("http://127.0.0.1:$port/health")->{content};
}

sub done
{
	return $node->value('SELECT count(*) FROM twtasks.finished_task WHERE status = \'DONE\'');
}

sub warned
{
	return $node->value('SELECT coalesce(string_agg(warning || \': \' || detail, E\'\n\'), \'\') FROM twtasks.warnings');
}

wait_for(sub { done() > 20 }, 'tasks to run');
my ($holder, $pid) = $node->hold_tick($old);
my $from = $sidecar->log_position;
my $told;

kill STOP => $pid;
sub ask_health
{
	$told ||= health() =~ /another transaction locks the row of this node|session \\"control\\"/;
	return 1;
}

# The health tells of a silent session after half of its limit.
wait_ok(sub { ask_health() && $sidecar->log($from) =~ /no answer to "tick" .*given up \(backend $pid\)/ },
	'the session is given up', PATIENCE);
wait_ok(
	sub {
		ask_health() && $sidecar->log($from) =~ /incarnation $old is left, and a new one begins: another transaction locks its row/;
	},
	'the incarnation is left',
	PATIENCE);
ok($told, 'the health told why nothing ran');
my $new = $sidecar->wait_for_log(qr/started as incarnation (?!$old\b)(\d+)/, 'the new incarnation');
my $before = done();

wait_ok(sub { done() > $before + 20 }, 'tasks run again, though the row is still locked', PATIENCE);
note(sprintf 'after %.1f s', took());
wait_ok(sub { health() =~ /"status":"ok".*"incarnation":$new\b/ }, 'the health is good again');
wait_ok(sub { warned() =~ /silent node: node "a" should have ticked/ }, 'twtasks.warnings tells of the row', PATIENCE);
is($node->value("SELECT ended IS NULL FROM twtasks.node WHERE incarnation = $old"), 't',
	'nobody can end the old incarnation yet');

$holder->close;
kill CONT => $pid;
wait_ok(
	sub { $node->value("SELECT count(*) FROM twtasks.node WHERE incarnation = $old AND ended IS NULL") == 0 },
	'the old incarnation ends when its backend goes on', PATIENCE);
wait_ok(sub { warned() !~ /silent/ }, 'the warning ends');
$producer->stop;
wait_ok(sub { $node->tasks('status <> \'DONE\'') == 0 }, 'all tasks are done');

$producer->none_lost_ok($node);
is(scalar($ledger->repeated), 0, 'no task was started twice');
unlike($sidecar->log, qr/declared gone/, 'the node was never declared gone');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
