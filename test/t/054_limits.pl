# 054_limits.pl -- limits by pattern and key, on one node: they hold at every
# moment, are used to the full, change while it runs, and hold up no other
# type, however many tasks or keys wait under them.

use strict;
use warnings FATAL => 'all';

use List::Util qw(max);
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

use constant {
	LOOK_AHEAD => 2000,
	KEYS => 5000
};

my $node = TwTasks::Cluster->create('main');
my $ledger = TwTasks::Ledger->new;
my $sidecar;

sub change
{
	my ($call) = @_;

	return TwTasks::Sidecar::configure(limits => "SELECT twtasks.$call", $sidecar);
}

sub limit
{
	return change("configure_limit($_[0])");
}

# The sweep that comes by itself is switched off: what there is no room for is
# fetched as soon as there is.
$sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	log => { level => 'debug' },
	look_ahead => LOOK_AHEAD,
	sweep => '1h',
	handlers => [
		{
			types => ['PAY*'],
			concurrency => 100,
			command => $ledger->command('pay')
		},
		{
			types => [ 'SLOW', 'KEYED|*' ],
			concurrency => 100,
			processes => 8,
			prefetch => 1,
			worker => $ledger->worker('slow')
		},
		{ types => ['FAST|*'], worker => $ledger->worker },
		{ types => ['RATE|*'], concurrency => 100, noop => JSON::PP::true }
	]);

# ---- a hierarchy ----

sub check_hierarchy
{
	limit('\'PAY*\', 12');
	limit('\'PAY\', 8');
	limit('\'PAY|*\', 3');
	limit('\'PAY|vip\', 4, stretch => 2, stretch_priority => 1');
	$node->add_task('PAY|a') foreach 1 .. 10;
	wait_ok(sub { $ledger->starts == 3 }, 'a key has its own limit');
	$node->add_task('PAY|b') foreach 1 .. 10;
	wait_ok(sub { $ledger->starts == 6 }, 'another key has its own limit');
	foreach my $n (1 .. 10)
	{
		$node->add_task($_) foreach qw(PAY PAY|c|EUR PAY|vip PAYBACK);
	}
	wait_ok(sub { $ledger->starts == 12 },
		'as many tasks run as the widest limit allows');
	is($ledger->running(qr/^PAY(\||$)/), 8, 'the limit of the type holds');
	$ledger->release('pay', 30);
	wait_for(sub { $ledger->starts >= 38 }, 'more to be started');
	$node->add_task('PAY|vip', priority => 1) foreach 1 .. 10;
	$ledger->release('pay', 40);
	$node->wait_until_done('^PAY', 'all tasks get their turn');
	is($ledger->most_at_once(qr/^PAY/), 12, 'the widest limit was reached, not exceeded');
	is($ledger->most_at_once(qr/^PAY(\||$)/), 8, 'the limit of the type was never exceeded');
	is(max(map { $ledger->most_at_once(qr/^PAY\|$_/) } qw(a b c)),
		3, 'the limit of each key was never exceeded');
	cmp_ok($ledger->most_at_once(qr/^PAY\|vip/), '<=', 6,
		'a key with a limit of its own goes by that limit');
	is(scalar($ledger->repeated), 0, 'no task was started twice');
	return;
}

# ---- changed while it runs ----

sub check_change
{
	my $ended = $ledger->ends;

	limit('\'PAY|a\', 0');
	$node->add_task('PAY|a') foreach 1 .. 20;
	$node->add_task('PAY|b');
	wait_for(sub { $ledger->running(qr/PAY\|b/) == 1 }, 'another key to start');
	is($ledger->running(qr/PAY\|a/), 0, 'a limit of 0 lets none start');
	limit('\'PAY|a\', 2');
	wait_ok(sub { $ledger->running(qr/PAY\|a/) == 2 }, 'a raised limit lets more tasks run');
	limit('\'PAY|a\', 5');
	wait_ok(sub { $ledger->running(qr/PAY\|a/) == 5 }, 'a limit raised again lets more tasks run');
	limit('\'PAY|a\', 1');
	change('drop_limit(\'PAY\')');
	$ledger->release('pay', 5);
	wait_for(sub { $ledger->ends == $ended + 5 }, 'five to end');
	cmp_ok($ledger->running(qr/PAY\|a/), '<=', 1,
		'a lowered limit lets no task start before there is room');
	change('drop_limit(\'PAY|a\')');
	wait_ok(sub { $ledger->running(qr/PAY\|a/) == 3 },
		'the limit for each key is back when that of one key is dropped');
	$ledger->release('pay', 16);
	$node->wait_until_done('^PAY', 'all tasks get their turn');
	return;
}

# ---- nobody is held up ----

sub check_fast
{
	my ($key, $what) = @_;

	$node->add_many("FAST|$key", 10, 1);
	wait_ok(
		sub {
			$node->tasks("status = 'DONE' AND type = 'FAST|$key'") == 10;
		},
		"ten tasks of another type are done beside $what");
	is($ledger->running(qr/^(SLOW|KEYED)/), 5, 'the limited tasks do not end');

	# some milliseconds where nothing else runs
	once_ok(
		sub {
			my $id = $node->add_task("FAST|$key");

			wait_for(sub { $node->status_of($id) eq 'DONE' }, 'one more');
			return $node->value(
				"SELECT state_time - created < interval '0.5 s' FROM twtasks.tasks WHERE id = '$id'"
			) eq 't';
		},
		'the limited tasks do not delay others');
	return;
}

sub check_slow_tenant
{
	limit('\'SLOW\', 5');
	$node->add_many('SLOW', 9_000, 3_000);
	$node->add_many('SLOW', 1_000, 1);
	wait_for(sub { $ledger->running(qr/^SLOW/) == 5 }, 'five slow ones to start');
	check_fast('slow', 'ten thousand slow tasks with a limit of five');
	$ledger->release('slow', 10_000);
	$node->wait_until_done('^SLOW', 'the slow tasks get their turn');
	is($ledger->most_at_once(qr/^SLOW/), 5, 'at most five slow tasks run at a time');
	return;
}

# There are so many keys that not even one task of each has room.
sub check_many_keys
{
	limit('\'KEYED\', 5');
	limit('\'KEYED|*\', 2');
	$node->value(
		"SELECT count(*) FROM twtasks.add_tasks(ARRAY(
			SELECT ('KEYED|' || k, to_jsonb(k), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::twtasks.new_task
			FROM generate_series($_, @{[KEYS]}, 10) k, generate_series(1, 3)))")
	  foreach 1 .. 10;
	wait_for(sub { $ledger->running(qr/^KEYED/) == 5 }, 'five keys to start');
	check_fast('keys', KEYS . ' keys with a limit of five together');
	$node->add_task('KEYED|4999', priority => 0, key => 'urgent');
	# triggers come in order: when this one has come, so has that
	$node->add_task('FAST|mark');
	wait_for(
		sub { $node->tasks("type = 'FAST|mark' AND status = 'DONE'") == 1 },
		'the sidecar to know of it');
	$ledger->release('slow', 5);
	wait_ok(
		sub { $node->tasks("key = 'urgent' AND status <> 'SUBMITTED'") == 1 },
		'the urgent task runs next');
	$ledger->release('slow', 3 * KEYS);
	$node->wait_until_done('^KEYED', 'all keys get their turn');
	is($ledger->most_at_once(qr/^KEYED/), 5, 'at most five keyed tasks run at a time');
	is(scalar($ledger->repeated), 0, 'no task was started twice');
	return;
}

# One task of each key, of which most find no room when they are added.
sub check_single_keys
{
	change('drop_limit(\'KEYED\')');
	$ledger->release('slow', KEYS);
	$node->value(
		"SELECT count(*) FROM twtasks.add_tasks(ARRAY(
			SELECT ('KEYED|' || k, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::twtasks.new_task
			FROM generate_series(1, @{[KEYS]}) k))");
	$node->wait_until_done('^KEYED', 'keys that found no room get their turn');
	return;
}

# ---- a rate ----

# 5 at once, then one every 50 ms.  A machine that is busy loses some, but not
# at every attempt.
sub check_rate
{
	my %attempts;

	limit('\'RATE|*\', rate => 20, per => \'1 second\', burst => 5');
	foreach my $key (qw(a b))
	{
		once_ok(
			sub {
				my $type = "RATE|$key" . ++$attempts{$key};
				my $began = $node->value('SELECT clock_timestamp()');

				$node->add_many($type, 50, 50);
				$node->wait_until_done("^$type", "$type: all tasks get their turn");
				my $took = $node->value(
					"SELECT extract(epoch FROM max(state_time) - '$began')
					FROM twtasks.tasks WHERE type = '$type'");

				cmp_ok($took, '>=', 45 / 20, "$type: the tasks run no faster than their rate");
				return $took < 45 / 20 * 1.5;
			},
			"$key: the tasks run not much slower than their rate");
	}
	return;
}

check_hierarchy();
check_change();
check_slow_tenant();
check_many_keys();
check_single_keys();
check_rate();
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
