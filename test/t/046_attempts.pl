# 046_attempts.pl -- whatever is killed, each try of a task has its attempt, and no
# attempt is of a try that never was.  A setting switches them off.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

use constant TASKS => 10;

my $node = TwTasks::Cluster->create('main');
my $ledger = TwTasks::Ledger->new;
my $added = 0;

$node->value(q{SELECT twtasks.configure_type('A', retry => '[{"delay": "100ms", "multiplier": 1, "jitter": 0, "max_tries": 1000}]')});

sub run_sidecar
{
	return TwTasks::Sidecar->start(
		$node, 'worker',
		handlers => [
			{ types => ['A'], concurrency => 4, stuck => 'retry', command => [ @{ $ledger->command(undef, 0, 120) }, 1 ] },
			{ types => ['HOLD'], stuck => 'retry', command => $ledger->command('hold') }
		]);
}

sub add_tasks
{
	$node->value("SELECT count(*) FROM twtasks.add_tasks('A', (SELECT array_agg('{}'::jsonb) FROM generate_series(1, @{[TASKS]})))");
	$added += TASKS;
	return;
}

sub attempts
{
	return $node->value(q{SELECT count(*) FROM twtasks.task_attempt});
}

# The handler fails until the version of its task is 120 or more.
my $held = $node->add_task('HOLD');

foreach my $kill (qw(sidecar server sessions sidecar both))
{
	my $before = attempts();
	my $starts = $ledger->starts($held);
	my $sidecar = run_sidecar();

	# Earlier ones may have ended.
	add_tasks();
	wait_for(sub { $ledger->starts($held) > $starts }, 'a task that is killed');

	wait_for(sub { attempts() >= $before + 10 }, 'ten attempts');
	$node->value(q{SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND application_name ^@ 'twtasksd'})
	  if $kill eq 'sessions';
	$sidecar->kill9 if $kill eq 'both';
	if ($kill =~ /server|both/)
	{
		$node->stop('immediate');
		$node->start;
	}
	$sidecar->kill9 if $kill ne 'both';
}
my $last = run_sidecar();

$ledger->release('hold', 9);

wait_ok(sub { $node->value('SELECT count(*) FROM twtasks.task') == 0 }, 'all tasks end');

is($node->value(q{SELECT count(*) || ' ' || count(*) FILTER (WHERE status = 'DONE') FROM twtasks.finished_task}),
	join(' ', ($added + 1) x 2), 'they are done');
is( $node->value(q{SELECT string_agg(f.id || ': ' || f.tries || ' tries, ' || a.tries::text, '; ') FROM twtasks.finished_task f
		CROSS JOIN LATERAL (SELECT array_agg(t.try ORDER BY t.version) FROM twtasks.task_attempts t WHERE t.task_id = f.id AND t.result <> 'late') a(tries)
		WHERE a.tries IS DISTINCT FROM ARRAY(SELECT generate_series(1, f.tries))}),
	'', 'killing everything at any moment loses no attempt of a task whose finish committed: tries have no gap');

# The handlers' own word, which no kill can take back.
my $started = join(',', map { "('$_->{id}'::uuid, $_->{version}::bigint)" } $ledger->select('start'));

is( $node->value(qq{SELECT count(*) FROM (VALUES $started) l(id, version)
		WHERE NOT EXISTS (SELECT FROM twtasks.task_attempts t WHERE t.task_id = l.id AND t.version = l.version)}),
	0, 'each start of a handler has its attempt');
is( $node->value(q{SELECT count(*) FROM twtasks.finished_task f
		WHERE (SELECT sum(t.ended - coalesce(t.runnable, t.started)) FROM twtasks.task_attempts t WHERE t.task_id = f.id AND t.result <> 'late')
			> f.state_time - f.created}),
	0, 'the waits and runs of a task are no longer than its life');
is($node->value(q{SELECT count(*) FROM twtasks.task_attempts WHERE started < runnable OR ended < started OR next < ended OR node IS NULL}),
	0, 'times are in order, and each has its node');
cmp_ok($node->value(q{SELECT count(*) FROM twtasks.task_attempt WHERE result = 'retry'}), '>', TASKS, 'handlers have failed');
cmp_ok($node->value(q{SELECT count(*) FROM twtasks.task_attempt WHERE result = 'unknown'}), '>', 0, 'nodes have gone');

# ---- the days ----

is($last->stop, 0, 'the sidecar stops in order');
$node->value('SELECT twtasks_internal.make_partitions()');
is($node->value('SELECT twtasks_internal.make_partitions()'), 0, 'the days of the history are there');
is($node->value(q{SELECT count(*) FROM twtasks_internal.history_parts('task_attempt') p WHERE p.past > (clock_timestamp() AT TIME ZONE 'UTC')::date}), 8, 'attempts have partitions ahead');
$node->value(q{SELECT twtasks_internal.make_part('2020-01-01', '2020-01-02', 'task_attempt')});
$node->value(q{UPDATE twtasks.task_attempt SET ended = '2020-01-01 12:00+00' WHERE result = 'retry'});
is($node->value('SELECT twtasks_internal.clean_tasks()'), 'task_attempt_20200101', 'an old day is dropped whole');
is($node->value(q{SELECT count(*) FROM twtasks.task_attempt WHERE result = 'retry'}), 0, '... with its attempts');
is($node->value('SELECT twtasks_internal.clean_tasks()'), '', '... and no other one');

# A plan for the whole would lock the partitions of all days.
is( $node->safe_psql('postgres', q{
		SELECT FROM twtasks.add_task('LOCKS', task_id => '00000000-0000-0000-0000-000000000046');
		SELECT set_config('test.node', twtasks_internal.start_node('locks')::text, false) AS node \gset
		SELECT FROM twtasks_internal.grab_tasks('{00000000-0000-0000-0000-000000000046}', '{0}', :node, 1, '{60000}', '{error}');
		BEGIN;
		SELECT FROM twtasks_internal.finish_tasks('{00000000-0000-0000-0000-000000000046}', '{1}', '{error}', '{0}', '{broken}', :node, 2);
		SELECT count(DISTINCT l.relation) FROM pg_locks l JOIN pg_inherits i ON i.inhrelid = l.relation
		WHERE l.pid = pg_backend_pid() AND i.inhparent = 'twtasks.task_attempt'::regclass;
		SELECT count(*) FROM twtasks.task_attempt WHERE task_id = '00000000-0000-0000-0000-000000000046';
		ROLLBACK;}),
	"1\n1", 'an attempt locks the partition of its day alone');
$node->value(q{DELETE FROM twtasks.task});

# ---- switched off ----

$node->change_setting(keep_attempts => 0);
my $before = attempts();
my $off = run_sidecar();

$node->add_task('A');
wait_ok(sub { $node->value('SELECT count(*) FROM twtasks.task') == 0 }, 'a task is tried until it is done');
is(attempts(), $before, '... and has no attempts');
is($off->stop, 0, 'the sidecar stops in order');

done_testing();
