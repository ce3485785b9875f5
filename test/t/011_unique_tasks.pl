# 011_unique_tasks.pl -- every key that ten sessions add twice runs once: at
# once, at its time, and when no trigger ever came; and the urgent run first.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

use constant { KEYS => 500, SESSIONS => 10 };

my $node   = TwTasks::Cluster->create('main');
my $ledger = TwTasks::Ledger->new;

$node->value('CREATE TABLE said (result text)');
$node->value('GRANT INSERT ON said TO producer');

# ---- urgent first ----

my %priority;

foreach my $priority (7, 1, 4, 2)
{
	my $id = $node->add_task('URGENT', priority => $priority);

	$priority{$id} = $priority;
}

my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	handlers => [
		{
			types       => ['URGENT'],
			concurrency => 1,
			command     => $ledger->command
		},
		{ types => ['*'], worker => $ledger->worker, concurrency => 100 }
	]);

wait_for(sub { $node->tasks('status = \'DONE\'') == 4 },
	'the urgent ones to be done');
is(join(' ', map { $priority{ $_->{id} } } $ledger->select('start')),
	'1 2 4 7', 'tasks that waited for the sidecar run in order of priority');

# ---- each once ----

# Each session adds every key whose number leaves one of two remainders, each
# in a transaction of its own: so each key comes twice, from two sessions.
sub add_twice
{
	my ($type, $run_after) = @_;
	my @sessions = map { $node->session('producer') } 1 .. SESSIONS;

	$node->value('TRUNCATE said');
	foreach my $n (0 .. $#sessions)
	{
		$sessions[$n]->send(
			"DO \$\$
			BEGIN
				FOR i IN 1 .. ${\ KEYS} LOOP
					CONTINUE WHEN i % ${\ SESSIONS} NOT IN ($n, ($n + 3) % ${\ SESSIONS});
					INSERT INTO said SELECT result FROM twtasks.add_task('$type',
						key => '$type ' || i, run_after => $run_after);
					COMMIT;
				END LOOP;
			END \$\$");
	}
	is($_->receive, '', "$type: each session adds its tasks") foreach @sessions;
	is( $node->value(
			'SELECT result, count(*) FROM said GROUP BY 1 ORDER BY 1'),
		"added|${\ KEYS}\nalready_exists|${\ KEYS}",
		"$type: each key was added once, and found once");
	return;
}

sub check_runs
{
	my ($type, $version) = @_;
	my %starts;

	wait_ok(
		sub { $node->tasks("type = '$type' AND status = 'DONE'") == KEYS },
		"$type: all tasks are done");
	$starts{ $_->{id} }++
	  foreach grep { $_->{type} eq $type } $ledger->select('start');
	is(scalar(keys %starts), KEYS,                "$type: each task was started");
	is(scalar(grep { $_ > 1 } values %starts), 0, "$type: no task was started twice");
	is( $node->tasks(
			"type = '$type' AND (tries <> 1 OR version <> $version)"),
		0,
		"$type: each task was done in one try");
	return;
}

add_twice('NOW', 'NULL');
check_runs('NOW', 2);
add_twice('LATER', 'clock_timestamp() + interval \'1 s\'');
check_runs('LATER', 3);

# Rows as they are when every trigger was lost an hour ago.
$node->value(
	"INSERT INTO twtasks.task (id, next_event_time, state_time, created, status, queued, type)
	SELECT gen_random_uuid(), now() - interval '1 hour', now() - interval '1 hour',
		now() - interval '1 hour', 'SUBMITTED', true, 'STUCK'
	FROM generate_series(1, ${\ KEYS})");
check_runs('STUCK', 2);
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
