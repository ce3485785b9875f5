# 094_clock_jumps.pl -- somebody sets a clock.  If it is that of a sidecar's
# machine, nothing at all happens: no lease ends, no deadline passes, nothing
# runs early.  If it is that of the server, tasks become due by it, and no
# sooner; no node is taken for gone, and no task is lost.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Clock;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

plan skip_all => 'libfaketime is not installed'
  unless TwTasks::Clock::library();

use constant HOUR => 3600;
use constant DAY => 86400;
use constant YEAR => 365 * DAY;

my $ledger = TwTasks::Ledger->new;
my $server_clock = TwTasks::Clock->new->put(-DAY());
my $clock = TwTasks::Clock->new;
my $node = TwTasks::Cluster->create('main', clock => $server_clock);
my %due_at;

# Leases short enough to end within the test, were it by a clock that is set.
sub start
{
	my ($name, $gate, %config) = @_;

	return TwTasks::Sidecar->start(
		$node, $name,
		lease => '6s',
		handlers => [
			{
				types => ['LONG'],
				timeout => '12h',
				command => $ledger->command($gate)
			},
			{
				types => ['SHORT|error'],
				timeout => '10min',
				stuck => 'error',
				command => $ledger->command($gate)
			},
			{
				types => ['SHORT|retry'],
				timeout => '10min',
				stuck => 'retry',
				command => $ledger->command($gate)
			},
			{
				types => ['ANSWER'],
				worker => [ TwTasks::Ledger::handler('puppet.py') ]
			},
			{ types => ['*'], command => $ledger->command }
		],
		%config);
}

sub running
{
	my (@types) = @_;
	my @tasks = map { $node->add_task($_) } @types;

	wait_for(
		sub {
			@tasks == grep { $ledger->starts($_) } @tasks;
		},
		'starts of ' . @tasks . ' tasks');
	return @tasks;
}

# A task that is due so many seconds from now, by the server's clock.
sub due_in
{
	my ($seconds) = @_;
	my $at = $node->value(
		"SELECT clock_timestamp() + $seconds * interval '1 second'");
	my $task = $node->add_task('DUE', run_after => $at);

	$due_at{$task} = $at;
	return $task;
}

sub ran_in_time
{
	my ($task) = @_;

	return $node->value(
		"SELECT state_time >= '$due_at{$task}'
		FROM twtasks.tasks WHERE id = '$task'") eq 't';
}

# A task whose worker asks for its next try at a time, that one by the server's clock.
sub answered
{
	my $at = $node->value("SELECT to_char((now() + interval '10 minutes') AT TIME ZONE 'UTC',
		'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')");

	return ($node->add_task('ANSWER',
			data => qq([["reply", {"result": "retry", "retry_at": "$at"}]])), $at);
}

sub has_ended
{
	my ($task) = @_;

	return $node->status_of($task) eq 'DONE';
}

# All nodes have ticked since the clock was set: twice, so that whoever looks
# for gone ones did so between.
sub wait_for_ticks
{
	foreach my $n (1 .. 2)
	{
		my $now = $node->value('SELECT clock_timestamp()');

		wait_for(
			sub {
				$node->value("SELECT bool_and(heartbeat > '$now')
					FROM twtasks.nodes WHERE ended IS NULL") eq 't';
			},
			'the nodes to tick');
	}
	return;
}

# ---- the clock of a sidecar's machine ----

my $sidecar = start('jumping', 'first', env => { $clock->environment });
my $incarnation = $sidecar->incarnation;

$sidecar->wait_for_log(qr/this node leads/);
foreach my $jump (HOUR, -HOUR, 10 * YEAR, -55 * YEAR)
{
	my $what = sprintf 'put %s by %.1f hours',
	  $jump > 0 ? 'forward' : 'back', abs($jump) / HOUR;
	my ($long, $short) = running('LONG', 'SHORT|retry');
	my $soon = due_in(2);
	my $later = due_in(600);
	my $position = $sidecar->log_position;

	$clock->put($jump);
	my $now = $node->add_task('NOW');
	my ($answered, $at) = answered();

	wait_ok(sub { has_ended($now) }, "$what: a new task runs");
	wait_ok(
		sub {
			$node->value("SELECT status = 'WAITING'
					AND next_event_time BETWEEN timestamptz '$at' - interval '3 seconds'
						AND timestamptz '$at' + interval '3 seconds'
				FROM twtasks.tasks WHERE id = '$answered'") eq 't';
		},
		"$what: a time that a worker names is by the database's clock");
	wait_for_ticks();
	my $spent = $sidecar->processor_time;

	wait_ok(sub { has_ended($soon) }, "$what: a task that is due runs");
	cmp_ok($sidecar->processor_time - $spent,
		'<', 1, "$what: the sidecar does not run in circles");
	ok(ran_in_time($soon), "$what: a task does not run before its time");
	is($node->status_of($later), 'WAITING', "$what: a later task waits");
	is( join(' ', map { $node->state_of($_) } $long, $short),
		'PROCESSING 1 PROCESSING 1',
		"$what: running tasks go on");
	unlike(
		$sidecar->log($position),
		qr/declared gone|no longer leads/,
		"$what: the node lives and leads");
	$ledger->release('first', 2);
	wait_ok(sub { has_ended($long) && has_ended($short) },
		"$what: running tasks end");
	$clock->put(0);
	$node->value(
		"SELECT result FROM twtasks.cancel_task('$later', 0, 'not awaited')");
	$node->value("SELECT r.result FROM twtasks.tasks t, twtasks.cancel_task(t.id, t.version, 'not awaited') r
		WHERE t.id = '$answered'");
}
is($node->value('SELECT string_agg(incarnation::text, \' \') FROM twtasks.nodes'),
	$incarnation, 'the sidecar stayed one node all the time');
is($sidecar->stop, 0, 'the sidecar stops in order');
is(scalar($ledger->repeated), 0, 'no task was started twice');

# ---- the server's clock, forward ----

my @sidecars = map { start($_, 'second') } qw(a b);

sub none_is_gone
{
	my ($when) = @_;

	return is(
		join('', map { $_->log } @sidecars) =~ /declared gone/ || 0,
		0, "$when: no node is declared gone");
}

my @long = running(('LONG') x 6);
my $within = due_in(HOUR / 2);
my $beyond = due_in(2 * HOUR);
my $error = (running('SHORT|error'))[0];
my $retry = (running('SHORT|retry'))[0];

# A pause between two looks at clocks makes one value wrong.
my $booted = $node->value('SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY twtasks_internal.boot_time()) FROM generate_series(1, 5)');

$server_clock->jump(HOUR);
wait_ok(sub { $node->value("SELECT abs(extract(epoch FROM twtasks_internal.boot_time() - interval '1 h' - '$booted')) < 0.1") eq 't' },
	'forward: the machine seems to have been started later by that')
  if !$node->has_edition;	# SQL has no clock that nobody sets
wait_ok(sub { has_ended($within) },
	'forward: a task due within the jump runs');
wait_ok(
	sub { $node->status_of($error) eq 'ERROR' },
	'forward: a task past its deadline follows its stuck rule');
wait_ok(sub { $ledger->starts($retry) == 2 }, 'forward: a recovered task runs again');
wait_for_ticks();
none_is_gone('forward');
is($node->status_of($beyond),
	'WAITING', 'forward: a task due after the jump waits');
is( scalar(grep { $node->state_of($_) eq 'PROCESSING 1' } @long),
	6, 'forward: running tasks with time left go on');

my $due = due_in(1);

wait_ok(sub { has_ended($due) }, 'forward: tasks become due as always');
ok(ran_in_time($due), 'forward: no task runs before its time');

# ---- the server's clock, back ----

my $before = due_in(5);

$server_clock->jump(-3 * HOUR);
my $new = $node->add_task('NOW');

$due = due_in(1);
wait_ok(sub { has_ended($new) }, 'back: a new task runs');
wait_ok(sub { has_ended($due) }, 'back: a task that is due by the new clock runs');
wait_for(
	sub {
		$node->value("SELECT clock_timestamp() + interval '3 hours' > '$due_at{$before}'")
		  eq 't';
	},
	'the old time to come');
wait_for_ticks();
is($node->status_of($before),
	'WAITING', 'back: a task that was due by the old clock waits');
none_is_gone('back');
is( scalar(grep { $node->state_of($_) eq 'PROCESSING 1' } @long),
	6, 'back: running tasks go on');
$ledger->release('second', 9);
wait_ok(
	sub {
		6 == grep { $node->state_of($_) eq 'DONE 2' } @long;
	},
	'back: running tasks end');
wait_ok(sub { has_ended($retry) }, 'back: the second try of a task ends too');

# ---- who is gone is noticed all the same ----

# Frozen right after the clock was put back, with a heartbeat of the future.
my ($orphan) = running('SHORT|retry');
my $name = $node->value(
	"SELECT n.name FROM twtasks.tasks t
	JOIN twtasks.nodes n ON n.incarnation = t.incarnation
	WHERE t.id = '$orphan'");
my ($victim) = grep { $_->{name} eq $name } @sidecars;

$victim->freeze;
$server_clock->jump(-HOUR);
wait_ok(
	sub { $ledger->starts($orphan) == 2 },
	'back: the task of a frozen node is taken over after its lease');
$ledger->release('second', 2);
wait_ok(sub { has_ended($orphan) }, 'back: the task of the frozen node ends');
$victim->signal('CONT');
$victim->wait_for_log(qr/was declared gone.*started as incarnation/s);

# The time for what waited comes again.
$server_clock->put(HOUR + 60 - DAY);
$node->value(
	"SELECT r.result FROM twtasks.tasks t,
	twtasks.resume_task(t.id, t.version, 'the clock is right') r WHERE t.id = '$error'"
);
$ledger->release('second');
wait_ok(
	sub { has_ended($before) && has_ended($error) },
	'tasks that waited for their time run when it comes');
is( $node->tasks(
		"status NOT IN ('DONE', 'CANCELLED') AND id <> '$beyond'"),
	0,
	'no task is lost');
$ledger->release('second', 10);
is($_->stop, 0, 'the sidecar stops in order') foreach @sidecars;

done_testing();
