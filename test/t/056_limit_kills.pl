# 056_limit_kills.pl -- limits of the whole cluster while sidecars are killed,
# and their workers and sessions: what runs under nodes that have not ended is
# never more than a limit allows; in the end all tasks are done and all slots
# are there.
#
# TWT_LIMIT_KILLS is how often something is killed; TWT_TEST_SEED what and when.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Seed;
use TwTasks::Sidecar;
use TwTasks::Wait;

use constant {
	IN_ALL => 6,
	OF_KEY => 3,
	LOW => 150
};

my $kills = $ENV{TWT_LIMIT_KILLS} || 12;
my @types = qw(PAY|command PAY|worker PAY|sql);
my $node = TwTasks::Cluster->create('main');
my $ledger = TwTasks::Ledger->new;
my %killed = (sidecar => 0, process => 0, session => 0);
my $added = 0;

# The witness looks all the time, by a session of its own.
$node->safe_psql('postgres', <<'SQL');
	CREATE FUNCTION public.work(task twtasks.task_input) RETURNS void LANGUAGE sql
	AS $$ SELECT pg_sleep(0.02) -- workload
	$$;
	CREATE TABLE public.seen (looks integer, filled integer, most integer, of_key integer);
	INSERT INTO public.seen VALUES (0, 0, 0, 0);
	CREATE PROCEDURE public.look(in_all integer) LANGUAGE plpgsql
	AS $$
	BEGIN
		LOOP
			UPDATE public.seen s
			SET looks = s.looks + 1, filled = s.filled + (r.most = in_all)::integer,
				most = greatest(s.most, r.most), of_key = greatest(s.of_key, r.of_key)
			FROM (SELECT coalesce(sum(k.n), 0) AS most, coalesce(max(k.n), 0) AS of_key
				  FROM (SELECT count(*) AS n
						FROM twtasks.task t JOIN twtasks.node d USING (incarnation)
						WHERE t.status = 'PROCESSING' AND d.ended IS NULL
						GROUP BY t.type) k) r;
			COMMIT;
			PERFORM pg_sleep(0.002); -- between two looks, not for a workload
		END LOOP;
	END $$;
SQL
$node->value("SELECT twtasks.configure_limit('PAY', @{[IN_ALL]}, 'cluster')");
$node->value("SELECT twtasks.configure_limit('PAY|*', @{[OF_KEY]}, 'cluster')");
$node->value(
	'SELECT twtasks.configure_type(\'PAY*\', retry =>
	\'{"delay": "20ms", "multiplier": 1, "max_tries": 1000}\')');

my @sidecars = map {
	TwTasks::Sidecar->start(
		$node, $_,
		handlers => [
			{
				types => ['PAY|command'],
				concurrency => 10,
				stuck => 'retry',
				command => [ '/bin/sleep', '0.02' ]
			},
			{
				types => ['PAY|worker'],
				processes => 2,
				stuck => 'retry',
				worker => $ledger->worker
			},
			{ types => ['PAY|sql'], processes => 3, sql => 'public.work' }
		])
} qw(a b c);
my $witness = $node->session;

# There is always something to do.
sub top_up
{
	return if $node->tasks('status = \'SUBMITTED\'') > LOW;
	$node->add_many($_, LOW, 10) foreach @types;
	$added += LOW * @types;
	return;
}

sub one_of
{
	return $_[ int rand @_ ];
}

# In the middle of its work, and back at once.
sub kill_sidecar
{
	my $sidecar = one_of(@sidecars);

	wait_for(
		sub {
			top_up();
			$node->tasks(
				"status = 'PROCESSING' AND incarnation = $sidecar->{incarnation}");
		},
		"sidecar $sidecar->{name} to have tasks");
	$sidecar->kill9;
	$sidecar->run;
	return 1;
}

# A worker, or a command.
sub kill_process
{
	my @processes = one_of(@sidecars)->processes;

	return @processes && kill KILL => one_of(@processes);
}

# Ends a session of a random sidecar.
sub kill_session
{
	return $node->value(
		'SELECT count(pg_terminate_backend(a.pid))
		FROM (SELECT pid FROM pg_stat_activity
			  WHERE application_name LIKE \'twtasksd %\' ORDER BY random() LIMIT 1) a'
	);
}

my %kill = (
	sidecar => \&kill_sidecar,
	process => \&kill_process,
	session => \&kill_session
);

# Returns the tasks that a grab of this type gets.
sub let_through
{
	my ($type, $incarnation) = @_;

	$node->add_many($type, 20, 20);
	return $node->value(
		"SELECT count(g.version) FROM (
			SELECT array_agg(id) AS ids, array_agg(version) AS versions
			FROM twtasks.task WHERE type = '$type' AND status = 'SUBMITTED') t,
		twtasks_internal.grab_tasks(t.ids, t.versions, $incarnation, 1, '{600000}', '{retry}') g"
	);
}

sub check_slots
{
	my $incarnation = $node->value('SELECT twtasks_internal.start_node(\'last\')');

	is(join(' ', map { let_through($_, $incarnation) } @types),
		"@{[OF_KEY]} @{[IN_ALL - OF_KEY]} 0", 'each limit lets through as many tasks as it allows');
	return;
}

TwTasks::Seed::sow();
$witness->send("CALL public.look(@{[IN_ALL]})");
while ($killed{sidecar} + $killed{process} + $killed{session} < $kills)
{
	my $what = one_of(qw(sidecar sidecar sidecar process session));

	top_up();
	$killed{$what}++ if $kill{$what}->();
}
wait_ok(
	sub {
		top_up();
		return $node->value('SELECT filled > 0 AND of_key > 0 FROM public.seen') eq 't';
	},
	'the limit was seen to be used to the full');
wait_ok(sub { $node->tasks('status <> \'DONE\'') == 0 },
	'all tasks are done');
is($node->tasks('true'), $added, 'no task is lost');

my ($looks, $filled, $most, $of_key) = split /[|]/,
  $node->value('SELECT looks, filled, most, of_key FROM public.seen');
is($most, IN_ALL, 'the limit was reached, and never exceeded');
is($of_key, OF_KEY, 'the limit of a key is never exceeded');
diag("killed $killed{sidecar} sidecars, $killed{process} of their processes, "
	  . "$killed{session} of their sessions; $added tasks done; "
	  . "$looks looks, $filled of them saw the limit used to the full")
  if $ENV{TWT_LIMIT_KILLS};
is($_->stop, 0, 'the sidecar stops in order') foreach @sidecars;
is($node->value('SELECT count(*) FROM twtasks.limits WHERE used <> 0'),
	0, 'no slot stays in use');
check_slots();

done_testing();
