# 093_schedules.pl -- schedules run when they are due, each occurrence once:
# over a change to summer time, with two sidecars, when the server's clock is put
# back, after sidecars or server were away; changes count at once.
#
# The server goes by a clock of the test, so that nobody has to wait for a
# minute to end.

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

# 2024-03-31, a Sunday, 01:00 UTC: in Berlin it is 03:00 now, no longer 02:00.
use constant SUMMER => 1_711_846_800;
# Seconds that are left of a minute for the leader's tick.
use constant LAST => 7;

my $clock = TwTasks::Clock->new->set(SUMMER - 3600);
my $node = TwTasks::Cluster->create(
	'main',
	clock => $clock,
	conf => { timezone => '\'UTC\'' });
my $ledger = TwTasks::Ledger->new;
my @sidecars = map {
	TwTasks::Sidecar->start(
		$node, $_,
		lease => '1h',
		handlers => [ { types => ['*'], command => $ledger->command } ])
} qw(a b);

sub schedule
{
	my ($name, $cron, $type, @rest) = @_;

	return $node->value('SELECT result FROM twtasks.schedule('
		  . TwTasks::Cluster::arguments(
			name => $name,
			cron => $cron,
			type => $type,
			@rest)
		  . ')');
}

# Occurrences whose tasks are done, and how often handlers started.
sub runs
{
	my ($name) = @_;

	return $node->value(
		"SELECT coalesce(string_agg(to_char(occurrence, 'HH24:MI'), ' ' ORDER BY occurrence), '')
		FROM twtasks.schedule_runs WHERE name = '$name' AND status = 'DONE'"
	);
}

sub starts
{
	my ($type) = @_;

	return scalar grep { $_->{type} eq $type } $ledger->select('start');
}

# Sets the server's clock to so many seconds before (or behind) a whole minute
# of the hour that begins so many hours after 01:00.
sub set_clock
{
	my ($hour, $minute, $seconds) = @_;

	return $clock->set(SUMMER + $hour * 3600 + $minute * 60 + $seconds);
}

# The same, and waits until the sidecars know.  That takes a tick or more: who
# has something to do before the hour begins comes early in the minute before.
sub set_known_clock
{
	set_clock(@_);
	wait_for(
		sub {
			$node->value(
				'SELECT bool_and(abs(extract(epoch FROM heartbeat - clock_timestamp())) < 10)
				FROM twtasks.nodes WHERE ended IS NULL') eq 't';
		},
		'the sidecars to tick');
	return;
}

# To the last seconds of the minute before that hour.
sub let_minute_end
{
	my ($hour) = @_;

	return set_clock($hour, 0, -LAST());
}

# ---- on time, and over a change of the clock ----

$_->wait_until_idle foreach @sidecars;
set_known_clock(0, 0, -50);
is(schedule('berlin', '30 2 * * *', 'BERLIN', time_zone => 'Europe/Berlin'),
	'added', 'a schedule can name a time that Berlin skips');
is( $node->value('SELECT next_run FROM twtasks.schedules'),
	'2024-03-31 01:00:00+00',
	'a skipped time is due when the clock goes on');
schedule('each', '* * * * *', 'EACH');
schedule('change', '0 0 1 1 *', 'CHANGE');
is(schedule('change', '0 * * * *', 'CHANGE'),
	'changed', 'a schedule is given another time');
schedule('paused', '0 * * * *', 'PAUSED');
is($node->value('SELECT twtasks.pause_schedule(\'paused\')'),
	'paused', 'a schedule is paused');
schedule('removed', '0 * * * *', 'REMOVED');
is($node->value('SELECT twtasks.unschedule(\'removed\')'),
	'removed', 'a schedule is removed');
let_minute_end(0);
wait_ok(sub { runs('berlin') eq '01:00' }, 'a schedule that is due runs');
note(sprintf 'after %.2f s, of which %d were left of the minute', took(), LAST);
wait_ok(
	sub { runs('each') eq '01:00' && runs('change') eq '01:00' },
	'the other schedules run too');
is( $node->value(
		'SELECT next_run FROM twtasks.schedules WHERE name = \'berlin\''),
	'2024-04-01 00:30:00+00',
	'the next run is by summer time');
is( $node->value(
		'SELECT context FROM twtasks.finished_task WHERE type = \'BERLIN\''),
	'{"schedule": "berlin", "scheduled_for": "2024-03-31T01:00:00Z"}',
	'the handler is told its occurrence');

# ---- paused, run now, resumed ----

is($node->value('SELECT (twtasks.run_schedule_now(\'paused\')).result'),
	'added', 'a paused schedule can be run by hand');
wait_ok(
	sub {
		$node->value(
			'SELECT last_status FROM twtasks.schedules WHERE name = \'paused\''
		) eq 'DONE';
	},
	'the run by hand is done');
is(starts('PAUSED') . starts('REMOVED'),
	'10', 'neither the paused nor the removed schedule ran when it was due');
set_known_clock(1, 0, -50);
is($node->value('SELECT twtasks.resume_schedule(\'paused\')'),
	'resumed', 'a paused schedule is resumed');
let_minute_end(1);
wait_ok(sub { runs('paused') eq '02:00' }, 'a resumed schedule runs when it is due');

# ---- the server's clock is put back ----

wait_ok(sub { runs('each') =~ /02:00$/ && runs('change') =~ /02:00$/ },
	'the other schedules run in that hour too');

my $runs = runs('each');

set_known_clock(1, 0, -50);

# Also one that does not know what has been.
$node->value('SELECT twtasks.unschedule(\'change\')');
schedule('change', '0 * * * *', 'CHANGE');
schedule('beside', '0 * * * *', 'BESIDE');
let_minute_end(1);
wait_ok(sub { runs('beside') eq '02:00' }, 'the same minute comes again');
is(runs('each'), $runs, 'an occurrence that ran does not run again');
is(starts('CHANGE'), 2, 'a schedule that was made anew does not run again');
is( $node->value(
		'SELECT next_run FROM twtasks.schedules WHERE name = \'change\''),
	'2024-03-31 03:00:00+00',
	'the schedule made anew runs an hour later');

# ---- another one leads, while the one that led lives ----

sub leads
{
	my ($sidecar) = @_;

	return $sidecar->log =~ /this node leads(?!.*no longer leads)/s;
}

# As if its lease were over, until another one has looked.
sub follow
{
	my ($leader, $heir) = @_;
	my $incarnation = $leader->incarnation;

	wait_for(
		sub {
			$node->value(
				"UPDATE twtasks.node SET heartbeat = heartbeat - 2 * lease
				WHERE incarnation = $incarnation AND heartbeat > clock_timestamp() - lease"
			);
			leads($heir);
		},
		'another one to lead');
	return;
}

# It stands still, and takes itself for the leader when it goes on, after the
# other one has added what is due.
wait_for(sub { 1 == grep { leads($_) } @sidecars }, 'a leader');

my ($leader, $heir) = leads($sidecars[0]) ? @sidecars : reverse @sidecars;

$leader->freeze;
follow($leader, $heir);
set_clock(1, 10, -1);
wait_ok(sub { runs('each') =~ /02:10$/ }, 'another leader adds the tasks that are due');
$leader->signal('CONT');
# With a clock that was set, the heir may be late in its turn.
wait_ok(sub { 1 == grep { leads($_) } @sidecars }, 'one of the two leads, as both see it');
wait_for(sub { $node->tasks('status <> \'DONE\'') == 0 }, 'all to be done');
$runs = runs('each');
is($node->value('SELECT count(*) FROM twtasks.nodes WHERE ended IS NOT NULL'),
	0, 'no node was declared gone');

# Two sidecars were there all the time.
is(starts('EACH'),
	scalar(split / /, $runs),
	'no occurrence was run by both sidecars');
$node->value(
	'SELECT count(twtasks.unschedule(name)) FROM twtasks.schedules');

# ---- who was away ----

# Stops all, lets the clock go from 03:01:30 to 03:17:30, starts them again.
sub away
{
	my ($how, $stop, $start) = @_;
	my %before;

	set_clock(2, 1, 30);
	schedule('skip', '*/5 * * * *', 'SKIP', missed => 'skip');
	schedule('once', '*/5 * * * *', 'ONCE', missed => 'once');
	schedule('all', '*/5 * * * *', 'ALL', missed => 'all');
	schedule('two', '*/5 * * * *', 'TWO', missed => 'all', missed_limit => 2);
	$before{$_} = starts($_) foreach qw(SKIP ONCE ALL TWO);
	$stop->();
	set_clock(2, 17, 30);
	$start->();
	wait_ok(
		sub {
			runs('once') eq '03:15'
			  && runs('all') eq '03:05 03:10 03:15'
			  && runs('two') eq '03:10 03:15';
		},
		"$how: missed occurrences run by each schedule's rule");
	is(runs('skip'), '', "$how: a schedule with the rule skip runs none of them");
	is(starts('ONCE') - $before{ONCE}, 1, "$how: the rule once starts one run for all missed ones");
	is(starts('ALL') - $before{ALL}, 3, "$how: the rule all starts each missed run");
	is( $node->value(
			'SELECT count(*) FROM twtasks.schedules
			WHERE name IN (\'skip\', \'once\', \'two\')
			  AND to_char(last_missed, \'HH24:MI\') = CASE name WHEN \'skip\' THEN \'03:15\'
				WHEN \'once\' THEN \'03:10\' ELSE \'03:05\' END'),
		3,
		"$how: the view shows the last occurrence that was left out");
	is( $node->value(
			'SELECT count(*) FROM twtasks.schedules
			WHERE name IN (\'skip\', \'once\', \'all\', \'two\')
			  AND next_run = \'2024-03-31 03:20:00+00\''),
		4,
		"$how: all schedules go on");

	# That a name was used before does not count: make room for the next.
	$node->value('SELECT count(twtasks.unschedule(name)) FROM twtasks.schedules
		WHERE name IN (\'skip\', \'once\', \'all\', \'two\')');
	$node->value(
		'DELETE FROM twtasks.schedule_run WHERE name IN (\'skip\', \'once\', \'all\', \'two\')'
	);
	return;
}

away(
	'sidecars killed',
	sub { $_->kill9 foreach @sidecars },
	sub { $_->run foreach @sidecars });
away(
	'sidecars stopped',
	sub { $_->stop foreach @sidecars },
	sub { $_->run foreach @sidecars });
away('server stopped', sub { $node->stop('fast') }, sub { $node->start });
away('server crashed', sub { $node->stop('immediate') },
	sub { $node->start });

# ---- all in all ----

is($node->tasks('status <> \'DONE\''), 0, 'all tasks are done');
is(scalar($ledger->repeated), 0, 'no task was started twice');
is($_->stop, 0, 'the sidecar stops in order') foreach @sidecars;

done_testing();
