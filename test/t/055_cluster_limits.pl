# 055_cluster_limits.pl -- limits of the whole cluster: two sidecars together
# never exceed one, and use it to the full; they take turns; a slot that is
# freed at one is used by the other; one that is killed gives its slots back.
#
# The sweep that comes by itself is switched off: whoever waits is told.

use strict;
use warnings FATAL => 'all';

use List::Util qw(min);
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my $ledger = TwTasks::Ledger->new;
my %sidecars;

# A task in SQL runs until the lock is given up.
$node->safe_psql('postgres', <<'SQL');
	CREATE FUNCTION public.hold(task twtasks.task_input) RETURNS void LANGUAGE sql
	AS $$ SELECT pg_advisory_xact_lock_shared(4711) $$;
SQL

# Each has a bucket of its own, and one that both work for.
sub start
{
	my ($name) = @_;

	return TwTasks::Sidecar->start(
		$node, $name,
		sweep => '1h',
		log => { level => 'debug' },
		buckets => [ 'default', $name ],
		handlers => [
			{
				types => [ 'PAY|*', 'ONE' ],
				concurrency => 50,
				stuck => 'retry',
				command => $ledger->command('gate')
			},
			{
				types => ['SQL|*'],
				concurrency => 20,
				processes => 8,
				sql => 'public.hold'
			},
			{ types => ['RATE'], noop => JSON::PP::true },
			{ types => ['NEW|*'], concurrency => 20, worker => $ledger->worker },
			{ types => ['FREE'], noop => JSON::PP::true }
		]);
}

sub change
{
	my ($call) = @_;

	return TwTasks::Sidecar::configure(limits => "SELECT twtasks.$call", values %sidecars);
}

sub limit
{
	return change("configure_limit($_[0])");
}

sub limits
{
	my ($what, $name) = @_;

	return $node->value(
		"SELECT coalesce(sum($what), 0) FROM twtasks.limits WHERE name = '$name'"
	);
}

sub add
{
	my ($bucket, $type, $n) = @_;

	$node->add_task($type, bucket => $bucket) foreach 1 .. $n;
	return;
}

$node->value("SELECT twtasks.configure_bucket('$_')") foreach qw(a b);
$node->value('SELECT twtasks.configure_limit(\'PAY\', 5, \'cluster\')');
$node->value('SELECT twtasks.configure_limit(\'PAY|*\', 4, \'cluster\')');
%sidecars = map { $_ => start($_) } qw(a b);

# ---- turns ----

sub turns
{
	my ($key) = @_;

	return scalar grep { $_->{type} eq "PAY|$key" } $ledger->select('start');
}

# One has the whole limit, and the other comes.  Each has many turns before one
# of them has none left to wait for; how they alternate is left to chance.
sub check_turns
{
	my $released = 0;

	add('a', 'PAY|a', 60);
	wait_ok(sub { $ledger->running(qr/PAY/) == 4 }, 'one node uses all slots of a key');
	add('b', 'PAY|b', 60);
	wait_ok(sub { $ledger->running(qr/PAY/) == 5 },
		'the other node uses the slots that are left');
	wait_ok(sub { limits('waiting', 'PAY') >= 1 }, 'a node at the limit waits for a slot');
	while ($released < 20 || $released < 50 && min(map { turns($_) } qw(a b)) < 6)
	{
		my $starts = $ledger->starts;

		$ledger->release('gate');
		$released++;
		wait_for(sub { $ledger->starts == $starts + 1 },
			'a freed slot to be used');
		die "no slot is used twice\n" if limits('used', 'PAY') > 5;
	}
	foreach my $key (qw(a b))
	{
		cmp_ok(turns($key), '>=', 6, "key $key had its turns");
	}
	$ledger->release('gate', 120 - $released);
	$node->wait_until_done('^PAY', 'all tasks get their turn');
	is($ledger->most_at_once(qr/PAY/), 5, 'at most five tasks run at a time');
	is($ledger->most_at_once(qr/PAY\|a/), 4, 'at most four tasks of a key run at a time');
	return;
}

# ---- many, by both ----

sub check_many
{
	my $before = $ledger->starts;

	foreach my $bucket (qw(a b))
	{
		$node->value(
			"SELECT count(twtasks.add_task('PAY|$bucket' || n % 10, bucket => '$bucket'))
			FROM generate_series(1, 500) n");
	}
	$ledger->release('gate', 1000);
	$node->wait_until_done('^PAY', 'both nodes do a thousand tasks');
	is($ledger->starts - $before, 1000, 'each task was started once');
	is($ledger->most_at_once(qr/PAY/), 5, 'at most five tasks of a thousand run at a time');
	return;
}

# ---- changed ----

sub check_change
{
	limit('\'ONE\', 1, \'cluster\'');
	add('a', 'ONE', 10);
	wait_for(sub { $ledger->running(qr/ONE/) == 1 }, 'one to start');
	add('b', 'ONE', 10);
	wait_for(sub { limits('waiting', 'ONE') == 1 }, 'the other to wait');
	limit('\'ONE\', 6, \'cluster\'');
	wait_ok(sub { $ledger->running(qr/ONE/) == 6 }, 'a raised limit lets more tasks start');
	limit('\'ONE\', 2, \'cluster\'');
	$ledger->release('gate', 4);
	wait_for(
		sub { $node->tasks('type = \'ONE\' AND status = \'DONE\'') == 4 },
		'four to end');
	is($ledger->running(qr/ONE/), 2, 'a lowered limit lets no task start before there is room');
	$ledger->release('gate');
	wait_ok(
		sub {
			$node->tasks('type = \'ONE\' AND status = \'DONE\'') == 5
			  && $ledger->running(qr/ONE/) == 2;
		},
		'a freed slot is used again under the lowered limit');
	change('drop_limit(\'ONE\')');
	wait_ok(sub { $ledger->running(qr/ONE/) == 15 }, 'all tasks start when the limit is dropped');
	$ledger->release('gate', 15);
	$node->wait_until_done('^ONE', 'all tasks get their turn');
	return;
}

# Tasks refused by a limit that the sidecars have not read yet are not forgotten.
sub check_new
{
	foreach my $n (1 .. 10)
	{
		$node->value("SELECT twtasks.configure_limit('NEW|$n', 1, 'cluster')");
		$node->add_many("NEW|$n", 10, 10);
	}
	$node->wait_until_done('^NEW', 'all tasks under new limits get their turn');
	return;
}

# ---- SQL ----

sub held
{
	return $node->value(
		'SELECT count(*) FROM pg_stat_activity
		WHERE application_name = \'twtasksd sql\' AND wait_event = \'advisory\''
	);
}

# A limit that comes while tasks wait for a connection: they are refused when
# they get one, and not forgotten.
sub check_new_sql
{
	my $lock = $node->session;

	$lock->query('SELECT pg_advisory_lock(4711)');
	add($_, 'SQL|y', 20) foreach qw(a b);
	wait_for(sub { held() == 16 }, 'all connections to be in use');
	limit('\'SQL|y\', 1, \'cluster\'');
	$lock->close;
	$node->wait_until_done('^SQL', 'all tasks under a limit that came meanwhile get their turn');
	change('drop_limit(\'SQL|y\')');
	return;
}

sub check_sql
{
	my $lock = $node->session;

	$lock->query('SELECT pg_advisory_lock(4711)');
	limit('\'SQL\', 6, \'cluster\'');
	limit('\'SQL|bad\', 1, \'cluster\'');
	add($_, 'SQL|x', 15) foreach qw(a b);
	wait_ok(sub { held() == 6 }, 'as many functions run as the limit allows');
	is(limits('used', 'SQL'), 6, 'other sessions see the used slots');
	add('a', 'FREE', 1);
	wait_ok(sub { $node->tasks('type = \'FREE\' AND status = \'DONE\'') == 1 },
		'tasks of other types run beside the functions');
	is(held(), 6, 'no function under the limit ends');
	$lock->close;
	$node->wait_until_done('^SQL', 'all tasks get their turn');
	is($node->tasks('type = \'SQL|x\' AND tries <> 1'), 0, 'all functions succeed in their first try');
	is(limits('used', 'SQL'), 0, 'no slot stays in use');

	$node->value(
		'CREATE OR REPLACE FUNCTION public.hold(task twtasks.task_input) RETURNS void
		LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION \'no %\', task.type; END $$'
	);
	$node->value("SELECT twtasks.configure_type('SQL|*', retry => '\"none\"')");
	add($_, 'SQL|bad', 5) foreach qw(a b);
	wait_ok(
		sub { $node->tasks('type = \'SQL|bad\' AND status = \'ERROR\'') == 10 },
		'a failed task is in ERROR, and gives its slot back');
	is($node->tasks('type = \'SQL|bad\' AND error !~ \'no SQL.bad\''),
		0, 'the error of each failed task has the reason');
	return;
}

# ---- a rate ----

sub check_rate
{
	limit('\'RATE\', scope => \'cluster\', rate => 20, burst => 4');

	# 4 at once, then one every 50 ms; a machine that is busy loses some, but not
	# at every attempt
	once_ok(
		sub {
			my $began = $node->value('SELECT clock_timestamp()');

			$node->add_many('RATE', 40, 10);
			add($_, 'RATE', 10) foreach qw(a b);
			$node->wait_until_done('^RATE', 'all tasks get their turn');
			my $took = $node->value(
				"SELECT extract(epoch FROM max(state_time) - '$began')
				FROM twtasks.tasks WHERE type = 'RATE'");

			cmp_ok($took, '>=', 56 / 20, 'two nodes together are no faster than the rate');
			return $took < 56 / 20 * 2;
		},
		'two nodes together are not much slower than the rate');
	return;
}

# ---- a crash ----

sub check_crash
{
	my $before = $ledger->starts;
	my $turns = turns('b');

	limit('\'PAY|*\', 5, \'cluster\'');
	add('a', 'PAY|a', 10);
	wait_for(sub { $ledger->starts == $before + 5 }, 'one to use all slots');
	add('b', 'PAY|b', 10);
	wait_for(sub { limits('waiting', 'PAY') == 1 }, 'the other to wait');
	$sidecars{a}->kill9;
	wait_ok(
		sub { turns('b') == $turns + 5 },
		'the other node uses the slots of a killed node');
	is(limits('used', 'PAY'), 5, 'all slots are in use, and no more');
	$sidecars{a}->run;
	$ledger->release('gate', 100);
	$node->wait_until_done('^PAY', 'all tasks get their turn');
	is($node->value('SELECT count(*) FROM twtasks.limits WHERE used <> 0'),
		0, 'no slot stays in use');
	return;
}

check_turns();
check_many();
check_change();
check_new();
check_new_sql();
check_sql();
check_rate();
check_crash();
is($_->stop, 0, 'the sidecar stops in order') foreach values %sidecars;

done_testing();
