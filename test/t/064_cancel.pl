# 064_cancel.pl -- an operator cancels tasks that run: whoever runs one is
# told at once, other tasks are not touched, and what is done first is done.

use strict;
use warnings FATAL => 'all';

use IO::Select;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $ledger = TwTasks::Ledger->new;
my $puppet = TwTasks::Ledger::handler('puppet.py');
my $node;

sub set_up
{
	my ($name, %options) = @_;

	$node = TwTasks::Cluster->create($name, %options);
	$node->value(<<'SQL');
		CREATE ROLE alice LOGIN IN ROLE twtasks_operator;
		CREATE SCHEMA app;
		CREATE TABLE app.effect (id uuid, type text);
		CREATE FUNCTION app.work(task twtasks.task_input) RETURNS twtasks.task_result
		LANGUAGE plpgsql AS $$
		BEGIN
			INSERT INTO app.effect VALUES (task.id, task.type);
			IF task.data->>0 = 'stay' THEN
				PERFORM pg_sleep(600);	-- workload
			ELSIF task.data->>0 = 'insist' THEN
				BEGIN
					PERFORM pg_sleep(600);	-- workload
				EXCEPTION WHEN query_canceled THEN
					NULL;
				END;
			ELSIF task.data->>0 = 'for ever' THEN
				LOOP
					BEGIN
						PERFORM pg_sleep(600);	-- workload
					EXCEPTION WHEN query_canceled THEN
						NULL;
					END;
				END LOOP;
			END IF;
			RETURN NULL;
		END $$;
		GRANT USAGE ON SCHEMA app TO sidecar;
		GRANT INSERT ON app.effect TO sidecar;
SQL
	return;
}

my $alice;

# Returns the answer to alice, who names the task's current version.
sub cancel
{
	my ($id, $version) = @_;

	$version //= (split / /, $node->state_of($id))[1];
	$alice ||= $node->session('alice');
	return $alice->query(
		"SELECT concat_ws(' ', result, version, status)
		FROM twtasks.request_cancel('$id', $version, 'wrong file')");
}

sub error_of
{
	my ($id) = @_;

	return $node->value(
		"SELECT coalesce(string_agg(error, ''), '')
		FROM twtasks.tasks WHERE id = '$id'");
}

sub is_cancelled
{
	my ($id, $message, $what) = @_;

	wait_ok(sub { $node->status_of($id) eq 'CANCELLED' },
		"$what: the task is CANCELLED");
	return like(error_of($id), $message, "$what: the error says why");
}

sub add
{
	my ($type, @steps) = @_;

	return $node->add_task($type, data => encode_json(\@steps));
}

set_up('main');
my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	log => { level => 'debug' },
	handlers => [
		{ types => ['COMMAND'], command => $ledger->command('gate') },
		{
			types => ['DEAF_COMMAND'],
			command => [
				TwTasks::Ledger::handler('command.sh'), 'hold',
				$ledger->gate('held'), 'deaf'
			],
			grace => '200ms'
		},
		{ types => ['OBEYS'], worker => [$puppet] },
		{
			types => ['POLITE'],
			worker => [ $puppet, 'polite' ],
			retry => { delay => '1h' }
		},
		{ types => ['DEAF'], worker => [ $puppet, 'deaf' ], timeout => '10min' },
		{
			types => ['DEAF_LATE'],
			worker => [ $puppet, 'deaf' ],
			timeout => '2s',
			grace => '100ms'
		},
		{
			types => ['ONE'],
			worker => $ledger->worker('one'),
			prefetch => 1,
			concurrency => 3
		},
		{ types => ['SQL'], sql => 'app.work', concurrency => 100 },
		{
			types => ['SQL_LATE'],
			sql => 'app.work',
			timeout => '500ms',
			grace => '500ms',
			retry => { max_tries => 1 }
		}
	]);

# ---- commands ----

my $command = $node->add_task('COMMAND');
my $other = $node->add_task('COMMAND');

wait_for(sub { $ledger->starts($command) && $ledger->starts($other) },
	'start of two commands');
is(cancel($command, 0), 'wrong_version 1 PROCESSING', 'a wrong version cancels nothing');
is(cancel($command), 'requested 1 PROCESSING', 'the command of a task can be asked to end');
is_cancelled($command, qr/^cancelled by alice: wrong file/, 'a command');
is($node->state_of($other), 'PROCESSING 1', 'another command goes on');
my ($line) = $ledger->select('start', $command);
ok(!TwTasks::Sidecar::process_state($line->{pid}), 'the process of the command is gone');
$ledger->release('gate');
wait_ok(sub { $node->status_of($other) eq 'DONE' }, 'the other task is done');
is( $node->value(
		"SELECT string_agg(concat_ws(' ', action, actor, from_status, to_status, reason), ', ' ORDER BY id)
		FROM twtasks.audit WHERE task_id = '$command'"),
	'request_cancel alice PROCESSING PROCESSING wrong file, cancel alice PROCESSING CANCELLED wrong file',
	'the audit shows the actor and the result');

my $deaf = $node->add_task('DEAF_COMMAND');

ok(IO::Select->new($ledger->{gates}{held})->can_read(180),
	'the command ignores TERM from here on');
cancel($deaf);
is_cancelled($deaf, qr/^cancelled by alice/, 'a command that ignores TERM');

# ---- workers ----

my $beside = add('OBEYS', [ 'say', '' ]);
my $obeys = add('OBEYS', [ 'say', '' ]);

wait_for(
	sub {
		$node->status_of($obeys) eq 'PROCESSING'
		  && $node->status_of($beside) eq 'PROCESSING';
	},
	'grab of two');
is(cancel($obeys), 'requested 1 PROCESSING', 'the task of a worker can be asked to end');
is_cancelled($obeys, qr/^stopped$/, 'a worker that obeys');
is($node->state_of($beside), 'PROCESSING 1', 'the task beside the cancelled one goes on');

my $polite = add('POLITE', [ 'say', '' ]);

wait_for(sub { $node->status_of($polite) eq 'PROCESSING' }, 'its grab');
cancel($polite);
is_cancelled(
	$polite,
	qr/^told: cancelled by alice: wrong file$/,
	'a worker that says cancelled');

my $unasked = add('POLITE', [ 'reply', { result => 'cancelled' } ]);

wait_ok(sub { $node->status_of($unasked) eq 'WAITING' },
	'a worker that cancels unasked has failed');
like(error_of($unasked), qr/without being asked/, 'the error says that nobody asked');

my $ignored = add('DEAF', [ 'say', '' ]);
my $neighbour = add('DEAF', [ 'say', '' ]);

wait_for(
	sub {
		$node->status_of($ignored) eq 'PROCESSING'
		  && $node->status_of($neighbour) eq 'PROCESSING';
	},
	'grab of two');
my $position = $sidecar->log_position;

cancel($ignored);
$sidecar->wait_for_log(qr/cancelled by alice.*\Q$ignored\E/,
	'word of it', $position);

# Lines reach the process in order: by then it has read the request.
my $after = add('DEAF');

wait_ok(sub { $node->status_of($after) eq 'DONE' },
	'a worker that ignores the cancel works on');
is($node->state_of($_), 'PROCESSING 1', 'the task of a deaf worker runs on')
  foreach $ignored, $neighbour;

# Told by the data of the next one to answer for the first.
my $messenger = add(
	'DEAF',
	[
		'write',
		encode_json({ id => $ignored, version => 1, result => 'done' }) . "\n"
	],
	[ 'reply', { result => 'done' } ]);

wait_ok(sub { $node->status_of($ignored) eq 'DONE' },
	'a task that the worker finished after all is DONE');

my $late = add('DEAF_LATE', [ 'say', '' ]);

wait_for(sub { $node->status_of($late) eq 'PROCESSING' }, 'its grab');
cancel($late);
is_cancelled(
	$late,
	qr/^deadline of 2.000 s passed/,
	'a worker that ignores the cancel, at its deadline');

my @one = map { $node->add_task('ONE') } 1 .. 3;

wait_for(sub { $node->tasks('type = \'ONE\' AND status = \'PROCESSING\'') == 3 },
	'grab of three');
wait_for(sub { $ledger->starts($one[0]) || $ledger->starts($one[1]) || $ledger->starts($one[2]) },
	'start of one');
my ($running) = grep { $ledger->starts($_) } @one;
my @waiting = grep { $_ ne $running } @one;

cancel($waiting[0]);
is_cancelled($waiting[0], qr/^cancelled by alice: wrong file$/,
	'a task that waits for its worker');
$ledger->release('one', 2);
wait_ok(
	sub {
		$node->status_of($running) eq 'DONE'
		  && $node->status_of($waiting[1]) eq 'DONE';
	},
	'the other tasks are done');
is($ledger->starts($waiting[0]), 0, 'a cancelled task that waited was never started');

# ---- accepted ----

my $accepted = add('OBEYS', [ 'reply', { result => 'accepted' } ]);

wait_for(
	sub {
		$node->value(
			"SELECT count(*) FROM twtasks.tasks
			WHERE id = '$accepted' AND status = 'PROCESSING' AND incarnation IS NULL"
		) == 1;
	},
	'its acceptance');
is(cancel($accepted), 'changed 2 CANCELLED', 'an accepted task is cancelled at once');

# ---- SQL ----

# The first one stays; the others are in the same statement if they come
# together with it, and in the queue behind it if not.
sub add_sql
{
	my ($type, @what) = @_;
	my $list = join ', ',
	  map { "('$type', '[\"$_\"]', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::twtasks.new_task" } @what;

	return split /\n/,
	  $node->value("SELECT task_id FROM twtasks.add_tasks(ARRAY[$list])");
}

sub runs_function
{
	return $node->value(
		"SELECT count(*) FROM pg_stat_activity WHERE application_name = 'twtasksd sql'
		AND state = 'active' AND wait_event = 'PgSleep'") > 0;
}

my ($quick, $stays, $quick2) = add_sql('SQL', 'done', 'stay', 'done');

wait_for(\&runs_function, 'the function to run');
is(cancel($stays), 'requested 0 SUBMITTED',
	'a running function can be asked to end');
is_cancelled($stays, qr/^cancelled by alice: wrong file$/, 'a SQL function');
wait_ok(
	sub {
		$node->status_of($quick) eq 'DONE'
		  && $node->status_of($quick2) eq 'DONE';
	},
	'tasks of the same statement are done');
is( $node->value(
		'SELECT count(*) || \' \' || count(DISTINCT id) FROM app.effect'),
	'2 2',
	'each task had its effect once, the cancelled one none');
is( $node->value(
		"SELECT max(tries) FROM twtasks.tasks WHERE id IN ('$quick', '$quick2')"),
	1, 'no other task was blamed');

my ($insists) = add_sql('SQL', 'insist');

wait_for(\&runs_function, 'the function to run');
is(cancel($insists), 'requested 0 SUBMITTED', 'a function that insists can be asked to end');
wait_ok(sub { $node->status_of($insists) eq 'DONE' },
	'a function that catches the cancel and returns is done');
is($node->value('SELECT count(*) FROM twtasks.cancel_requests'),
	0, 'the request to cancel is dropped when the task is done');

# Then it is grabbed by a call of its own, and this node is known to have it.
$position = $sidecar->log_position;
$node->value("SELECT twtasks.configure_limit('SQL', 1, 'cluster')");
$sidecar->wait_for_log(qr/read \d+ limits/, 'the limit to be read', $position);
my ($counted, $behind) = add_sql('SQL', 'stay', 'done');

wait_for(\&runs_function, 'the function to run');
is(cancel($counted), 'requested 1 PROCESSING',
	'a function under a limit of the cluster can be asked to end');
is_cancelled(
	$counted,
	qr/^canceling statement due to user request/,
	'a SQL function under a limit of the cluster');
wait_ok(sub { $node->status_of($behind) eq 'DONE' }, 'the slot of the cancelled task is free');
$node->value("SELECT twtasks.drop_limit('SQL', 'cluster')");

my ($eternal) = add_sql('SQL_LATE', 'for ever');

wait_ok(sub { $node->status_of($eternal) eq 'ERROR' },
	'a function that catches everything ends with its session');
like(error_of($eternal), qr/^deadline of 0.500 s passed$/, 'the error names the deadline');
is( $node->value(
		"SELECT tries FROM twtasks.error_tasks WHERE id = '$eternal'"),
	1, 'the deadline costs one try');
is( $node->value('SELECT count(*) FROM app.effect WHERE type = \'SQL_LATE\''),
	0, 'the ended function has no effect');

# ---- another transaction holds the row ----

# No handler here runs the task, so only a request that is asked for again ends it.
my $locked = $node->add_task('FOREIGN');
my $holder = $node->session;
my $told = $node->add_task('COMMAND');

wait_for(sub { $ledger->starts($told) }, 'its start');
$holder->query("BEGIN; SELECT 1 FROM twtasks.task WHERE id = '$locked' FOR UPDATE");
is(cancel($locked), 'requested 0 SUBMITTED', 'a task whose row is locked can be asked to end');
cancel($told);
is_cancelled($told, qr/^cancelled by alice/, 'a task whose request comes after that');
is($node->state_of($locked), 'SUBMITTED 0', 'a lock on its row keeps a task from its end');
$holder->query('COMMIT');
is_cancelled($locked, qr/^cancelled by alice: wrong file$/, 'a task whose row was locked');
$holder->close;

# ---- the sidecar is away ----

my $unheard = $node->add_task('COMMAND');

wait_for(sub { $ledger->starts($unheard) }, 'its start');
$node->value(
	'SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
	WHERE application_name = \'twtasksd control\'');
is(cancel($unheard), 'requested 1 PROCESSING',
	'a cancel can be requested while no session listens');
is_cancelled($unheard, qr/^cancelled by alice/, 'a task whose sidecar connects again');

my $orphan = $node->add_task('COMMAND');

wait_for(sub { $ledger->starts($orphan) }, 'its start');
$sidecar->freeze;
is(cancel($orphan), 'requested 1 PROCESSING', 'a cancel can be requested of a frozen node');
$sidecar->kill9;
$sidecar->run;
is_cancelled($orphan, qr/^cancelled by alice: wrong file$/,
	'a task whose node is gone, without its stuck rule');

# Anybody may notify.
$node->value('NOTIFY twtasks_cancel, \'nonsense\'');
my $last = $node->add_task('OBEYS');

wait_ok(sub { $node->status_of($last) eq 'DONE' }, 'a malformed notification changes nothing');
$ledger->release('gate', 10);
is($sidecar->stop, 0, 'the sidecar stops in order');
$alice->close;
undef $alice;
$node->stop;

# ---- without shared memory ----

set_up('notify', queue => 'notify');
$sidecar = TwTasks::Sidecar->start(
	$node, 'n',
	handlers =>
	  [ { types => ['COMMAND'], command => $ledger->command('never') } ]);
my $by_notify = $node->add_task('COMMAND');

wait_for(sub { $ledger->starts($by_notify) }, 'its start');
is(cancel($by_notify), 'requested 1 PROCESSING', 'a cancel can be requested without shared memory');
is_cancelled($by_notify, qr/^cancelled by alice/, 'a task that is cancelled without shared memory');
is($sidecar->stop, 0, 'the sidecar stops in order without shared memory');

done_testing();
