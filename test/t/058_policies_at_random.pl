# 058_policies_at_random.pl -- whatever is configured, paused, limited and taken
# back while tasks are added and run, pass their deadlines, repeat, and sidecars
# are killed: none is lost, none runs twice that should not, and a function of
# the database had its effect once for each task that is done.
#
# TWT_TEST_SEED, as a failure names it, repeats the changes of a run.

use strict;
use warnings FATAL => 'all';

use JSON::PP;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Seed;
use TwTasks::Sidecar;
use TwTasks::Wait;

use constant { ROUNDS => 100, TASKS => 20, KILL_EVERY => 12, REPEAT_UNTIL => 7 };

TwTasks::Seed::sow();

my $node = TwTasks::Cluster->create('main');
my $ledger = TwTasks::Ledger->new;
my @types =
  map { ("$_|A", "$_|B", "$_|A|X") } qw(COMMAND WORKER SQL NOOP NOOP);
my @patterns = ('*', qw(COMMAND|* WORKER|* SQL|* NOOP|* SQL|A* NOOP|A), @types);

push @types, qw(REPEAT|A REPEAT|B LATE|A);
push @patterns, qw(REPEAT|* LATE|*);

# Types that may start again when a sidecar was killed.
my $again = qr/^(WORKER|SQL|NOOP|LATE)/;

# Every tenth call of the function fails, and some take too long.  The policy of an
# add refuses some tasks.
$node->value(<<'SQL');
	CREATE SCHEMA app;
	CREATE TABLE app.effect (task uuid);
	CREATE TABLE app.added (task uuid);
	CREATE FUNCTION app.run(task twtasks.task_input) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO app.effect VALUES (task.id);
		IF random() < 0.1 THEN
			RAISE EXCEPTION 'this time not';
		ELSIF random() < 0.02 THEN
			PERFORM pg_sleep(0.1);	-- workload
		END IF;
	END $$;
	CREATE FUNCTION app.intercept(task twtasks.new_task) RETURNS twtasks.new_task
	LANGUAGE plpgsql SET search_path = app, pg_temp AS $$
	BEGIN
		IF random() < 0.1 THEN
			RETURN NULL;
		END IF;
		task.priority := floor(random() * 10);
		RETURN task;
	END $$;
	CREATE FUNCTION app.retry(task twtasks.task_input, error text) RETURNS timestamptz
	LANGUAGE sql SET search_path = pg_catalog, pg_temp
	AS $$ SELECT CASE WHEN task.tries < 5 THEN clock_timestamp() END $$;
	CREATE FUNCTION app.stuck(task twtasks.task_input) RETURNS twtasks.stuck_rule
	LANGUAGE sql SET search_path = pg_catalog, pg_temp
	AS $$ SELECT ('{retry,error,fail,NULL}'::twtasks.stuck_rule[])[1 + floor(random() * 4)] $$;
	GRANT USAGE ON SCHEMA app TO sidecar;
	GRANT INSERT ON app.effect TO sidecar;
	SELECT twtasks.configure_bucket('side');
SQL

sub start
{
	my ($name) = @_;

	return TwTasks::Sidecar->start(
		$node, $name,
		buckets => [ 'default', 'side', 'extra' ],
		sweep => '300ms',
		look_ahead => 200,
		handlers => [
			{
				types => ['COMMAND|*'],
				concurrency => 3,
				command => $ledger->command('gate')
			},
			{
				types => ['WORKER|*'],
				processes => 1,
				worker => $ledger->worker
			},
			{
				types => ['SQL|*'],
				sql => 'app.run',
				retry => { delay => '10ms', max_tries => 3 }
			},
			{
				types => ['REPEAT|*'],
				concurrency => 5,
				command => $ledger->command(undef, 0, REPEAT_UNTIL),
				statuses => ['80=repeat'],
				retry => { delay => '10ms', max_tries => 3 }
			},
			{
				types => ['LATE|*'],
				concurrency => 10,
				timeout => '100ms',
				command => $ledger->command('never'),
				retry => { delay => '10ms', max_tries => 2 }
			},
			{ types => ['NOOP|*'], noop => JSON::PP::true }
		]);
}

sub any
{
	return $_[ rand @_ ];
}

# A task that is deleted when done must leave a trace elsewhere.
sub option
{
	my ($pattern) = @_;
	my @keeps = $pattern =~ /SQL|COMMAND|WORKER/ ? qw(keep clear delete) : qw(keep clear);
	my @stuck = (qw(error fail ignore), $pattern =~ $again ? 'retry' : ());
	my @timeouts = $pattern =~ /SQL|LATE/ ? ('50 ms', '200 ms') : ('30 min', '1 h');

	return any(
		'priority => ' . any(0 .. 9),
		'aging => \'' . any('0', '100 ms', '1 s') . '\'',
		'bucket => \'' . any(qw(default side)) . '\'',
		($pattern eq '*' ? 'priority => 1' : 'timeout => \'' . any(@timeouts) . '\''),
		'queue_time => \'' . any('1 s', '1 min') . '\'',
		'expires_after => \'' . any('20 ms', '1 s', '1 h') . '\'',
		('stuck => \'' . any(@stuck) . '\'') x 3,
		($pattern =~ $again ? 'stuck_function => \'' . any('none', 'app.stuck') . '\'' : 'stuck => \'ignore\''),
		'when_done => \'' . any(@keeps) . '\'',
		'nodes => \'' . any('{one}', '{two}', '{t*,o*}', '{nobody}') . '\'',
		'intercept => \'' . any('none', 'app.intercept') . '\'',
		'retry => \'' . any('"none"', '{"delay": "10ms", "max_tries": 9}', '{"delays": ["0s", "5ms"]}') . '\'',
		'retry_function => \'' . any('none', 'app.retry') . '\'',
		'reset_tries => ' . any(qw(true false)));
}

sub limit
{
	return any(
		'concurrency => ' . any(0 .. 3),
		'concurrency => 1, stretch => 2, stretch_priority => 3',
		'rate => 50, burst => ' . any(1, 20)) . ', scope => \'' . any(qw(node cluster)) . '\'';
}

sub change
{
	my $pattern = any(@patterns);
	my $bucket = any(qw(default side));

	return any(
		("SELECT twtasks.configure_type('$pattern', " . option($pattern) . ')') x 8,
		("SELECT twtasks.drop_type_policy('$pattern')") x 3,
		"SELECT twtasks.unset_type_options('$pattern', 'nodes', 'intercept', 'expires_after')",
		"SELECT twtasks.pause_type('$pattern')",
		("SELECT twtasks.resume_type('$pattern')") x 2,
		"SELECT twtasks.pause_bucket('$bucket')",
		("SELECT twtasks.resume_bucket('$bucket')") x 2,
		"SELECT twtasks.configure_limit('$pattern', " . limit() . ')',
		("SELECT twtasks.drop_limit('$pattern')") x 2,
		'SELECT twtasks.configure_bucket(\'extra\')',
		'SELECT twtasks.drop_bucket(\'extra\')');
}

my %refused;

# Some are refused, which is an answer; what went wrong is something else.
sub try
{
	my ($sql) = @_;
	my $text = $node->common_session->try($sql);

	$refused{$1}++ if $text =~ /^ERROR:\s+(\w+):/m;
	return $text;
}

sub add
{
	my $type = any(@types);
	my $more = any(('') x 5, ', bucket => \'extra\'', ', priority => 0',
		', run_after => clock_timestamp() + interval \'20 ms\'');

	return try("WITH a AS (SELECT task_id FROM twtasks.add_task('$type'$more))
		INSERT INTO app.added SELECT task_id FROM a");
}

# Kills a sidecar, mostly while commands wait at their gate.  It starts again as a
# new node of the same name.
sub kill_one
{
	my ($sidecars) = @_;
	my $which = int rand 2;

	$sidecars->[$which]->kill9;
	$sidecars->[$which] = start(qw(one two)[$which]);
	return;
}

my @sidecars = map { start($_) } qw(one two);

foreach my $round (1 .. ROUNDS)
{
	try(change()) foreach 1 .. 3;
	add() foreach 1 .. TASKS;
	$ledger->release('gate', 5);
	kill_one(\@sidecars) if $round % KILL_EVERY == 0;
}

# Nothing but what was asked for was refused: 22023 a bucket that is gone or a
# limit without a figure, 55000 one that is used, P0001 an add.
is(join(' ', grep { !/^(22023|55000|P0001)$/ } sort keys %refused),
	'', 'every refusal has its reason');
foreach my $sql (
	'SELECT count(twtasks.resume_type(name)) FROM twtasks.paused WHERE kind = \'type\'',
	'SELECT count(twtasks.resume_bucket(name)) FROM twtasks.paused WHERE kind = \'bucket\'',
	'SELECT count(twtasks.drop_limit(pattern)) FROM twtasks.limits',
	'SELECT count(twtasks.drop_type_policy(pattern)) FROM twtasks.type_policies')
{
	$node->value($sql);
}
my $added = $node->value('SELECT count(*) FROM app.added');

cmp_ok($added, '>', ROUNDS * TASKS / 2, 'most tasks were added');
# Cancels the tasks that the rule "ignore" leaves to an operator.
sub cancel_ignored
{
	return $node->value(
		'SELECT count(twtasks.request_cancel(t.id, t.version))
		FROM twtasks.task t JOIN twtasks.node n ON n.incarnation = t.incarnation
		WHERE t.status = \'PROCESSING\' AND t.stuck = \'ignore\' AND n.ended IS NOT NULL');
}

my $ignored = 0;

$ledger->release('gate', ROUNDS * TASKS);
wait_ok(
	sub {
		$ignored += cancel_ignored();
		return $node->tasks('status IN (\'WAITING\', \'SUBMITTED\', \'PROCESSING\')') == 0;
	},
	'all tasks come to an end once nothing is in their way');
note("$ignored were ignored");

# ---- the count ----

my %started = map { $_->{id} => 1 } $ledger->select('end');
my @missing = grep { !$started{$_} } split /\n/, $node->value(
	'SELECT a.task FROM app.added a
	WHERE NOT EXISTS (SELECT FROM twtasks.tasks t WHERE t.id = a.task)
	AND NOT EXISTS (SELECT FROM app.effect e WHERE e.task = a.task)');

is_deeply(\@missing, [], 'no task is missing');
is( $node->value(
		'SELECT count(*) FROM twtasks.tasks t
		WHERE NOT EXISTS (SELECT FROM app.added a WHERE a.task = t.id)'),
	0,
	'no task exists that was not added');

# A task by its versions: each start is that of a grab.
my (%versions, %twice, %restarted);

foreach my $start ($ledger->select('start'))
{
	$twice{ $start->{id} } = 1 if grep { $_ == $start->{version} } @{ $versions{ $start->{id} } };
	push @{ $versions{ $start->{id} } }, $start->{version};
	$restarted{ $start->{id} } = 1
	  if $start->{type} =~ /^COMMAND/ && @{ $versions{ $start->{id} } } > 1;
}
is_deeply([ keys %twice ], [], 'no program was started twice for a grab');
is_deeply([ keys %restarted ], [], 'no task runs again that may not be retried');
my @repeating = split /\n/, $node->value(
	'SELECT id FROM twtasks.tasks WHERE type ~ \'^REPEAT\' AND status = \'DONE\'');
my @wrong = grep {
	my @runs = sort { $a <=> $b } @{ $versions{$_} // [0] };
	my $last = pop @runs;

	$last < REPEAT_UNTIL || grep { $_ >= REPEAT_UNTIL } @runs
} @repeating;

cmp_ok(scalar @repeating, '>', 0, 'some tasks repeated');
is_deeply(\@wrong, [], 'each repeating task ran until it had ended its work, and no longer');
is( $node->value(
		'SELECT count(*) FROM (SELECT task FROM app.effect GROUP BY 1 HAVING count(*) > 1) x'
	),
	0,
	'no function had its effect twice');
is( $node->value(
		'SELECT count(*) FROM twtasks.tasks t WHERE type ~ \'^SQL\'
		AND (status = \'DONE\') <> EXISTS (SELECT FROM app.effect e WHERE e.task = t.id)'
	),
	0,
	'exactly the tasks that are DONE had their effect');
my @undone = grep { !$started{$_} } split /\n/, $node->value(
	'SELECT id FROM twtasks.tasks WHERE type ~ \'^(COMMAND|WORKER|REPEAT)\' AND status = \'DONE\'');

is_deeply(\@undone, [], 'a program ran for each task that is DONE');
is( $node->value(
		'SELECT count(*) FROM twtasks.tasks WHERE status NOT IN (\'DONE\', \'ERROR\', \'FAILED\')'
	),
	$ignored,
	'every task but the ignored ones has ended');
is($node->tasks('type ~ \'^LATE\' AND status = \'DONE\''), 0, 'no task that takes too long is done');
is($_->stop, 0, 'a sidecar stops in order') foreach @sidecars;

done_testing();
