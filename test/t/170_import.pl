# 170_import.pl -- twtasks-import copies 4,000 tasks of the original byte for byte,
# although runs are interrupted at each point, and a repeated run adds nothing.

use strict;
use warnings FATAL => 'all';

use IPC::Run;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Original;
use TwTasks::Session;
use TwTasks::Wait;

my $tasks = 4_000;
my $node = TwTasks::Cluster->create('main');
my $original = TwTasks::Original->create($node, $tasks);

# All tasks here, live or ended.
my $here = 'SELECT count(*) FROM twtasks.tasks';

# The tasks that the import takes.
my $taken = q{(status NOT IN ('DONE', 'FAILED', 'CANCELLED') OR state_time >= now() - interval '30 days')};

# Each task as it shall be here, and as it is.
sub wanted_rows
{
	return $original->value(<<"SQL");
		SELECT concat_ws('|', t.id, CASE t.status WHEN 'NEW' THEN 'SUBMITTED' WHEN 'PROCESSING' THEN 'ERROR' ELSE t.status END,
			t.version, t.processing_tries_count, least(t.priority, 9), t.type, coalesce(t.sub_type, '-'), coalesce(k.key, '-'),
			extract(epoch FROM t.state_time), extract(epoch FROM t.time_created),
			CASE WHEN t.status IN ('NEW', 'WAITING', 'SUBMITTED') THEN extract(epoch FROM t.next_event_time)::text ELSE '-' END,
			coalesce(encode(sha256(e.payload), 'hex'), '-'), coalesce(length(e.payload), -1), coalesce(e.context::text, '-'))
		FROM tw_task t JOIN expected e USING (id) LEFT JOIN unique_tw_task_key k ON k.task_id = t.id
		WHERE $taken ORDER BY t.id
SQL
}

sub found_rows
{
	return $node->value(<<'SQL');
		SELECT concat_ws('|', t.id, t.status, t.version, t.tries, t.priority, t.type, coalesce(t.sub_type, '-'), coalesce(t.key, '-'),
			extract(epoch FROM t.state_time), extract(epoch FROM t.created),
			CASE WHEN t.status IN ('WAITING', 'SUBMITTED') THEN extract(epoch FROM t.next_event_time)::text ELSE '-' END,
			coalesce(encode(sha256(t.payload), 'hex'), '-'), coalesce(length(t.payload), -1), coalesce(t.context::text, '-'))
		FROM (SELECT id, status, version, tries, priority, type, sub_type, key, state_time, created, next_event_time, payload, context FROM twtasks.task
			UNION ALL SELECT id, status, version, tries, priority, type, sub_type, key, state_time, created, NULL, payload, context FROM twtasks.finished_task) t
		ORDER BY t.id
SQL
}

# The first line that two texts do not share.
sub first_difference
{
	my ($one, $other) = map { [ split /\n/ ] } @_;

	for my $i (0 .. $#$one)
	{
		return "$one->[$i]\n" . ($other->[$i] // 'nothing') if $one->[$i] ne ($other->[$i] // '');
	}
	return scalar(@$one) . ' and ' . scalar(@$other) . ' lines';
}

# ---- only a look ----

my ($out) = $original->ends(0, ['--dry-run'], 'a dry run finds that all tasks fit');

like($out, qr/^status +tasks +new +here +refused +type\n(?:CANCELLED|DONE)/, 'it counts them by status and type');
is($node->value($here), 0, 'it stores nothing');
is($node->value('SELECT count(*) FROM twtasks.import'), 0, 'nor that an import has begun');

# ---- interrupted ----

my ($in, $said) = ('', '');
my $taken_count = $original->value("SELECT count(*) FROM tw_task WHERE $taken");
my $holder = TwTasks::Session->new($node->connstr('postgres'));

# The sessions of an import that wait for a lock.
my $waiting = q{FROM pg_stat_activity WHERE query ~ 'twtasks\.(import_tasks|end_import)' AND pid <> pg_backend_pid() AND wait_event_type = 'Lock'};

# Another session holds a key that the import needs, of the task at this place.
sub hold_key_at
{
	my ($part) = @_;
	my $place = int($taken_count * $part);
	my $key = $original->value("SELECT key FROM unique_tw_task_key JOIN tw_task ON id = task_id WHERE $taken AND id >=
		(SELECT id FROM tw_task WHERE $taken ORDER BY id OFFSET $place LIMIT 1) ORDER BY id LIMIT 1");

	$holder->query(qq{BEGIN; INSERT INTO twtasks.unique_key (task_id, key) VALUES (gen_random_uuid(), '$key')});
	return;
}

# Starts an import, and waits until it waits.
sub start_import
{
	my ($name) = @_;
	my $run = IPC::Run::start($original->command([ '--timeout', '600s' ]), '<', \$in, '>', \$said, '2>', \$said);

	wait_ok(sub { $node->value("SELECT count(*) $waiting") == 1 }, $name);
	return $run;
}

# The session of a killed import ends, and has committed nothing more.
sub kill_import
{
	my ($run) = @_;

	$run->kill_kill(grace => 0);
	eval { $run->finish };
	wait_ok(sub { $node->value("SELECT count(pg_terminate_backend(pid)) $waiting") == 0 }, 'the server ends the session of the killed import');
	return;
}

# More tasks are here than before, and not all.
my $middle = 0;

sub goes_on
{
	my $now = $node->value($here);

	cmp_ok($now, '>', $middle, 'the import has committed batches');
	cmp_ok($now, '<', $taken_count, 'and not all of them');
	$middle = $now;
	return;
}

hold_key_at(1 / 4);
my $run = start_import('an import waits for a key that another transaction holds');

kill_import($run);
goes_on();
$holder->query('ROLLBACK');

hold_key_at(1 / 2);
$run = start_import('a repeated one waits for a later key');
is($node->value("SELECT count(pg_terminate_backend(pid)) $waiting"), 1, 'its connection is cut');
$run->finish;
is($run->result, 3, 'it ends as without a database');
like($said, qr/^(?:twtasks-import: )?(?:terminating connection|lost the connection)/m, 'and says so');
goes_on();
$holder->query('ROLLBACK');

hold_key_at(3 / 4);
$run = start_import('the next waits for a later key still');
$node->stop('immediate');
$run->finish;
isnt($run->result, 0, 'it ends when the server crashes');
$node->start;
delete $original->{session};
$holder = TwTasks::Session->new($node->connstr('postgres'));
goes_on();

# The note that everything is equal is the last statement.  Its row is locked while the
# import still waits for a key.
hold_key_at(0.99);
$run = start_import('one more waits at the last tasks');
my $locker = TwTasks::Session->new($node->connstr('postgres'));

$locker->query('BEGIN; SELECT FROM twtasks.import FOR UPDATE');
$holder->query('ROLLBACK');
wait_ok(sub { $node->value("SELECT count(*) $waiting AND query ~ 'end_import'") == 1 }, 'then it waits to note that all is equal');
kill_import($run);
$locker->query('ROLLBACK');
is($node->value('SELECT count(*) FROM twtasks.import WHERE verified IS NOT NULL'), 0, 'no run was noted as complete');
is($node->value($here), $taken_count, 'although all tasks are here');

# ---- to the end ----

($out) = $original->ends(0, [], 'a repeated import comes to its end');
like($out, qr/^\d+ tasks have a priority that is not within 0 to 9/m, 'it counts priorities that it changes');
like($out, qr/^ERROR +(\d+) +\1 +0  [0-9a-f]{64}$/m, 'it shows the hash of each status');

my ($wanted, $found) = (wanted_rows(), found_rows());

ok($wanted eq $found, 'each task is here, byte for byte') or diag(first_difference($wanted, $found));
is($node->value('SELECT count(*) FROM twtasks.unique_key'), $node->value($here), 'the id of each task is taken');
is($node->value(q{SELECT count(*) FROM twtasks.unknown_outcomes}),
	$original->value(q{SELECT count(*) FROM tw_task WHERE status = 'PROCESSING'}),
	'tasks that were PROCESSING wait for a person');
is($node->value(q{SELECT count(*) FROM twtasks.finished_task_other}), 0, 'the history has a partition for each day');

# ---- again ----

my $before = $node->value('SELECT sum(hashtext(t::text)) FROM twtasks.task t');

($out) = $original->ends(0, [], 'an import that is complete may be repeated');
unlike($out, qr/^\w+ +\d+ +[1-9]\d* +\d+ +\d+  TYPE/m, 'it adds nothing');
ok(found_rows() eq $found, 'nothing is doubled');
is($node->value('SELECT sum(hashtext(t::text)) FROM twtasks.task t'), $before, 'no task has changed');

done_testing();
