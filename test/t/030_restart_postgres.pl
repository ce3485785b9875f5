# 030_restart_postgres.pl -- the server is stopped and crashes while tasks run
# and are added: every committed task ends, once, and a handler that ran
# through the restart reports its end afterwards, once.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Producer;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node =
  TwTasks::Cluster->create('main', conf => { restart_after_crash => 'on' });
my $ledger = TwTasks::Ledger->new;
my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	handlers => [
		{ types => ['GATED'], command => $ledger->command('gate') },
		{ types => ['WORKER'], worker => $ledger->worker },
		{ types => ['COMMAND'], command => $ledger->command }
	]);
my $incarnation = $sidecar->incarnation;
my $producer =
  TwTasks::Producer->start($node, qw(WORKER WORKER WORKER COMMAND));

$ledger->wait_for_progress('before');
foreach my $mode (qw(fast immediate))
{
	my @gated = map { $node->add_task('GATED') } 1 .. 5;

	wait_for(
		sub {
			5 == grep { $ledger->starts($_) } @gated;
		},
		'five starts');
	$node->stop($mode);
	$ledger->release('gate', 5);
	wait_ok(
		sub {
			5 == grep { $ledger->ends($_) } @gated;
		},
		"$mode: handlers run on while the server is away");
	$node->start;
	wait_ok(
		sub {
			5 == grep { $node->state_of($_) eq 'DONE 2' } @gated;
		},
		"$mode: the ends of handlers are reported when the server is back");
	$ledger->wait_for_progress("after a $mode stop");
}
foreach my $mode (qw(immediate fast immediate))
{
	$node->stop($mode);
	$node->start;
	$ledger->wait_for_progress("after a quick $mode restart");
}

# One process of the server that dies takes all others with it.
my $victim = $node->session;

$node->value('SELECT 1');    # this session is open, so the crash ends it
kill KILL => $victim->backend_pid;
wait_for(sub { !defined $node->value_or_undef('SELECT 1') }, 'the crash');
wait_for(sub { defined $node->value_or_undef('SELECT 1') }, 'the recovery');
$ledger->wait_for_progress('after a crash');
$producer->stop;

wait_ok(sub { $node->tasks('status <> \'DONE\'') == 0 },
	'all tasks are done');

my @committed = $producer->ids('committed');
my %may_be = map { $_ => 1 } @committed, $producer->ids('left open');
my %exists = map { $_ => 1 } split /\n/,
  $node->value(
	'SELECT id FROM twtasks.finished_task WHERE type <> \'GATED\'');

cmp_ok(scalar @committed, '>', 250, scalar @committed . ' tasks were added');
is(scalar(grep { !$exists{$_} } @committed), 0, 'no committed task is lost');
is(scalar(grep { !$may_be{$_} } keys %exists),
	0, 'no task exists that was rolled back');
is(scalar(grep { $ledger->starts($_) } $producer->ids('rolled back')),
	0, 'no task was started that was rolled back');
is(scalar($ledger->repeated), 0, 'no task was started twice');
is( scalar($ledger->select('start')),
	10 + keys %exists,
	'there are as many starts as tasks');
is($ledger->ends, $ledger->starts, 'there are as many ends as starts');
is($node->tasks("tries <> 1 OR incarnation <> $incarnation"),
	0, 'each task was done in its first try, by the same incarnation');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
