# 110_kafka_kills.pl -- three brokers, three sidecars and their processes are killed
# and frozen at random, under load: no task is lost, none is started twice that may
# not be, each message arrives, each message of a topic becomes one task, and soon
# after the end nothing is left to do.
#
# The producer writes each promise into a table of its own, in the transaction of
# the task.  Two witnesses outside of twtasks tell the facts: a file to which
# handlers append each start, and the topics read back.  The checks compare promises
# and facts in SQL.
#
# TWT_KILL_SECONDS, TWT_KILL_RATE (tasks a second) and TWT_KILL_QUEUE (auto
# or kafka) make it a campaign: scripts/campaign-kafka.  TWT_TEST_SEED chooses what
# is killed, and when.

use strict;
use warnings FATAL => 'all';

use JSON::PP;
use POSIX qw(strftime);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);
use TwTasks::Cluster;
use TwTasks::Havoc;
use TwTasks::Kafka;
use TwTasks::Ledger;
use TwTasks::Seed;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $seconds = $ENV{TWT_KILL_SECONDS} || 15;
my $rate = $ENV{TWT_KILL_RATE} || 100;
my $queue = $ENV{TWT_KILL_QUEUE} || 'kafka';
my @kafka = TwTasks::Kafka->create_cluster(3);
my $node = TwTasks::Cluster->create('main', conf => { max_connections => 200 });
my $ledger = TwTasks::Ledger->new;
my $directory = PostgreSQL::Test::Utils::tempdir();

# ---- the load ----

# ONCE may start once only, SAFE may start again, and OUT is a call with three
# messages.  Each value says the fate of its transaction.
$node->safe_psql('postgres', <<'SQL');
	CREATE TABLE public.task (id uuid, kind text);
	CREATE TABLE public.message (value text);
	CREATE SEQUENCE public.number;

	CREATE PROCEDURE public.produce(fate text) LANGUAGE plpgsql
	AS $$
	DECLARE
		n constant bigint := nextval('public.number');
		kind constant text := (ARRAY['ONCE', 'SAFE', 'ONCE', 'SAFE', 'OUT'])[1 + n % 5];
		values constant text[] := ARRAY(SELECT fate || n || '.' || i FROM generate_series(1, 3) i);
	BEGIN
		IF kind = 'OUT' THEN
			INSERT INTO public.task
			SELECT s.task_id, kind FROM twtasks.send_to_kafka('out',
				ARRAY(SELECT twtasks.kafka_message(v, v) FROM unnest(values) v)) s;
			INSERT INTO public.message SELECT unnest(values);
		ELSE
			INSERT INTO public.task SELECT a.task_id, kind FROM twtasks.add_task(kind, to_jsonb(fate)) a;
		END IF;
	END $$;
SQL
PostgreSQL::Test::Utils::append_to_file("$directory/commit.sql", 'CALL public.produce(\'kept \');');
PostgreSQL::Test::Utils::append_to_file("$directory/rollback.sql",
	"BEGIN;\nCALL public.produce('undone ');\nROLLBACK;\n");

# One transaction in twenty rolls back.
sub start_load
{
	my $pid = fork // die "could not fork: $!";

	return $pid if $pid;
	open STDOUT, '>', "$directory/pgbench";
	open STDERR, '>&', *STDOUT;
	exec 'pgbench', '-n', '-c', 8, '-R', $rate * 0.8 / 0.95, '-T', $seconds,
	  '-f', "$directory/commit.sql\@19", '-f', "$directory/rollback.sql\@1",
	  $node->connstr('postgres')
	  or POSIX::_exit(127);
}

# One task in five comes from a topic, as a message that is a number.
sub start_source
{
	my ($output, $input, $pid);

	pipe $output, $input or die "could not make a pipe: $!";
	$pid = fork // die "could not fork: $!";
	return ($pid, $input) if $pid;
	close $input;
	open STDIN, '<&', $output;
	open STDOUT, '>', "$directory/acknowledged";
	exec TwTasks::Ledger::handler('kafka_source.py'), scalar $kafka[0]->brokers, 'in', $rate * 0.2
	  or POSIX::_exit(127);
}

# ---- the servers ----

sub again
{
	return { delay => '1s', multiplier => 1, jitter => 0, max_tries => 10_000 };
}

sub sidecar
{
	my ($name) = @_;

	return TwTasks::Sidecar->start(
		$node, $name,
		lease => '5s',
		queue => $queue,
		kafka => {
			brokers => [ $kafka[0]->brokers ],
			group => 'campaign',
			settings => { 'session.timeout.ms' => 6000, 'heartbeat.interval.ms' => 500 }
		},
		listeners => [ { name => 'in', topics => ['in'], type => 'IN', start => 'earliest' } ],
		listeners_postgres => $node->connstr('postgres') . ' user=producer',
		handlers => [
			{
				types => ['ONCE'],
				processes => 2,
				prefetch => 2,
				stuck => 'error',
				retry => { max_tries => 1 },
				worker => $ledger->worker(undef, 10)
			},
			{
				types => ['SAFE'],
				processes => 2,
				prefetch => 2,
				stuck => 'retry',
				retry => again(),
				worker => $ledger->worker(undef, 10)
			},
			{
				types => ['SendToKafka'],
				kafka => 'out',
				settings => { 'linger.ms' => 5 },
				retry => again()
			},
			{ types => ['IN'], noop => JSON::PP::true, stuck => 'retry' }
		]);
}

my $triggers = 'twTasks.campaign.executeTask.default';

$kafka[0]->create_topic($_, 6) foreach 'in', 'out', $triggers;
my @sidecars = map { sidecar($_) } qw(a b c);
my $havoc = TwTasks::Havoc->new(
	broker => \@kafka,
	process => [ TwTasks::Havoc::children_of(@sidecars) ],
	sidecar => \@sidecars);

TwTasks::Seed::sow();
my $load = start_load();
my ($source, $input) = start_source();
my $began = time;

# ---- the kills ----

watch_for($seconds, sub { $havoc->turn });
wait_for(sub { waitpid($load, POSIX::WNOHANG) == $load }, 'the end of the load');
my $status = $?;
my $took = time - $began;

$havoc->end;
close $input;
is($status, 0, 'the producer of tasks never fails')
  or diag(PostgreSQL::Test::Utils::slurp_file("$directory/pgbench"));

# Tasks that are not finished, and messages that no listener has taken.
sub backlog
{
	my ($messages) = @_;

	return $node->value("SELECT (SELECT count(*) FROM twtasks.task WHERE status <> 'ERROR') + $messages
		- (SELECT sum(next_offset) FROM twtasks.message_offset)");
}

$began = time;
wait_for(sub { waitpid($source, POSIX::WNOHANG) == $source }, 'the end of the producer of messages');
is($?, 0, 'the producer of messages never fails');
my $taken = $kafka[0]->write_messages('in', "$directory/in");
my $backlog = backlog($taken);
wait_ok(sub { backlog($taken) == 0 }, 'nothing is left to do');
my $drained = time - $began;
cmp_ok($drained, '<', 60, 'the backlog is gone within a minute') if $ENV{TWT_KILL_SECONDS};
is(scalar(grep { $_->has_exited } @sidecars), 0, 'each sidecar that was started again runs');

# ---- the witnesses ----

# A line of the ledger is "start" or "end", then the task, the process and the type.
$kafka[0]->write_messages('out', "$directory/out");
$node->value("CREATE TABLE public.ledger (what text, id uuid, version bigint, tries integer, pid integer, type text)");
$node->value("COPY public.ledger FROM '" . $ledger->path . '\' DELIMITER \' \'');
foreach my $topic (qw(in out))
{
	$node->value("CREATE TABLE public.topic_$topic (value text, twtasks_id text, part integer)");
	$node->value("COPY public.topic_$topic FROM '$directory/$topic'");
}
$node->value('CREATE TABLE public.acknowledged (value text)');
$node->value("COPY public.acknowledged FROM '$directory/acknowledged'");
$node->value('ANALYZE');

# ---- the checks ----

sub count_of
{
	return $node->value("SELECT count(*) FROM $_[0]");
}

# A task whose node or process was killed may have started or not.  If it may start
# once only, it is then left to a person, in ERROR.  A node has at most four of them
# under way.
my $lost = count_of(<<'SQL');
	public.task p LEFT JOIN twtasks.tasks t USING (id)
	WHERE t.status IS DISTINCT FROM 'DONE' AND NOT (p.kind = 'ONCE' AND t.status = 'ERROR')
SQL
my $unknown = count_of('twtasks.tasks WHERE type = \'ONCE\' AND status = \'ERROR\'');
my $twice = count_of(<<'SQL');
	(SELECT FROM public.ledger WHERE what = 'start' AND type = 'ONCE'
	 GROUP BY id HAVING count(*) > 1) t
SQL
my $again = count_of(<<'SQL');
	(SELECT FROM public.ledger WHERE what = 'start' AND type = 'SAFE'
	 GROUP BY id HAVING count(*) > 1) t
SQL
my $sent_again = count_of('(SELECT FROM public.topic_out GROUP BY value HAVING count(*) > 1) t');
my $missing = count_of('(SELECT value FROM public.message EXCEPT SELECT value FROM public.topic_out) t');

is($lost, 0, 'no task is lost');
cmp_ok($unknown, '<=', 4 * $havoc->count, 'no task is left to a person without a kill');
is($twice, 0, 'no task is started twice that may start once only');
is(count_of(<<'SQL'), 0, 'no version of a task is started twice');
	(SELECT FROM public.ledger WHERE what = 'start' GROUP BY id, version HAVING count(*) > 1) t
SQL
is(count_of(<<'SQL'), 0, 'no task is done without its handler');
	twtasks.tasks t WHERE t.status = 'DONE' AND t.type IN ('ONCE', 'SAFE')
	AND NOT EXISTS (SELECT FROM public.ledger l WHERE l.what = 'end' AND l.id = t.id)
SQL
is($missing, 0, 'each committed message arrives');
is(count_of('(SELECT FROM public.topic_out GROUP BY value HAVING count(DISTINCT twtasks_id) > 1) t'),
	0, 'a message has one id, however often it arrives');
is(count_of(<<'SQL'), 0, 'nothing happens of a transaction that rolled back');
	(SELECT id::text FROM public.ledger EXCEPT SELECT id::text FROM public.task
	 UNION ALL SELECT value FROM public.topic_out WHERE value NOT LIKE 'kept %') t
SQL

# The offset of a message is not in its task, so equal values count as often.
my $not_once = count_of(<<'SQL');
	(SELECT value, count(*) FROM public.topic_in GROUP BY value) m
	FULL JOIN (SELECT data::text AS value, count(*)
			   FROM (SELECT data FROM twtasks.task WHERE type = 'IN'
					 UNION ALL SELECT data FROM twtasks.finished_task WHERE type = 'IN') d
			   GROUP BY data::text) t USING (value)
	WHERE m.count IS DISTINCT FROM t.count
SQL
is($not_once, 0, 'each message of a topic becomes one task');
is(count_of('twtasks.tasks WHERE type = \'IN\' AND status <> \'DONE\''), 0, 'each of these tasks is done');
is(count_of('(SELECT value FROM public.acknowledged EXCEPT SELECT value FROM public.topic_in) t'),
	0, 'the brokers lose no acknowledged message');

my $handed_on = $kafka[0]->write_messages($triggers, "$directory/triggers");
cmp_ok($handed_on, '>', 0, 'nodes hand on triggers') if $queue eq 'kafka' && $ENV{TWT_KILL_SECONDS};

my $tasks = count_of('public.task') + $taken;
my $messages = count_of('public.message');

diag(sprintf "%s, seed %s, queue %s: %.0f s at %.0f tasks/s: %d tasks, %d messages; %s.\n"
	  . 'Lost: %d tasks, %d messages. Started twice: %d. Of %d messages of a topic not one task: %d. '
	  . "Left to a person, since they may have run: %d. "
	  . "Started again, as they may: %d; sent again: %d. Triggers handed on: %d. Backlog at the end: %d, gone in %.1f s.",
	strftime('%Y-%m-%d', gmtime), TwTasks::Seed::seed(), $queue, $took, $tasks / $took, $tasks, $messages,
	$havoc->summary, $lost, $missing, $twice, $taken, $not_once, $unknown, $again, $sent_again, $handed_on, $backlog, $drained)
  if $ENV{TWT_KILL_SECONDS};
is($_->stop, 0, "$_->{name} stops in order") foreach @sidecars;

done_testing();
