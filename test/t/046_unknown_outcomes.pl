# 046_unknown_outcomes.pl -- whatever is killed, unknown_outcomes has exactly the tasks
# that started and of which no report was committed, by the handlers' own ledger.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

use constant { TASKS => 12, SLOTS => 4 };

my $node = TwTasks::Cluster->create('main');
my $ledger = TwTasks::Ledger->new;

sub run_sidecar
{
	return TwTasks::Sidecar->start(
		$node, 'worker',
		handlers => [
			{ types => ['PAY'], concurrency => SLOTS, command => $ledger->command('pay') },
			{ types => ['FREE'], concurrency => SLOTS, command => $ledger->command },
			{ types => ['BAD'], concurrency => SLOTS, command => $ledger->command(undef, 65) },
			{ types => ['AGAIN'], concurrency => SLOTS, command => $ledger->command(undef, 0, 4) }
		]);
}

sub add_tasks
{
	my ($type) = @_;

	$node->value("SELECT count(*) FROM twtasks.add_tasks('$type', (SELECT array_agg('{}'::jsonb) FROM generate_series(1, @{[TASKS]})))");
	return;
}

# The ids that a query has, sorted.
sub ids
{
	my ($query) = @_;
	my @ids = sort split /\n/, $node->safe_psql('postgres', $query);

	return @ids;
}

$node->value(q{SELECT twtasks.configure_type('AGAIN', retry => '[{"delay": "10ms", "multiplier": 1, "jitter": 0, "max_tries": 100}]')});

foreach my $kill (qw(sidecar server sessions both sidecar))
{
	my $ended = $ledger->ends;
	my $sidecar = run_sidecar();

	add_tasks($_) foreach qw(PAY FREE BAD AGAIN);
	# All slots of the gate are in use, and others come and go.
	wait_for(sub { $ledger->running(qr/^PAY$/) >= 1 && $ledger->ends >= $ended + 4 }, 'tasks that run');
	$ledger->release('pay', 3);
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

# Tasks that no kill has met end by themselves.
my $last = run_sidecar();

$ledger->release('pay', 100);
wait_ok(sub { $node->value(q{SELECT count(*) FROM twtasks.task WHERE status NOT IN ('ERROR', 'HELD')}) == 0 }, 'each task has ended, or waits for a person');

my %started = map { $_->{id} => 1 } $ledger->select('start');
my %ended = map { $_->{id} => 1 } $ledger->select('end');
my %reported = map { $_ => 1 } ids(q{SELECT id FROM twtasks.finished_task WHERE status = 'DONE'
	UNION SELECT task_id FROM twtasks.task_attempts WHERE result = 'error'});
my @unknown = ids('SELECT id FROM twtasks.unknown_outcomes');
my %unknown = map { $_ => 1 } @unknown;
my @unreported = grep { !$reported{$_} } sort keys %started;

is_deeply([ grep { $started{$_} } @unknown ], \@unreported, 'of the tasks that started, the view has exactly those of which no report was committed');
is_deeply([ grep { !$ended{$_} && !$unknown{$_} } sort keys %started ], [], '... and each that did not end');
cmp_ok(scalar @unreported, '>', 0, '... which are some');
# A node may go between its grab and the first word of the handler.
is_deeply(
	[ grep { !$started{$_} } @unknown ],
	[ grep { !$started{$_} } ids(q{SELECT task_id FROM twtasks.task_attempts WHERE result = 'unknown'}) ],
	'of the others it has exactly those whose grab was committed');
is_deeply([ ids(q{SELECT id FROM twtasks.task}) ], [ sort(@unknown, grep { $reported{$_} } ids(q{SELECT id FROM twtasks.task})) ], 'nothing else is left');
note(scalar(@unreported) . ' of ' . scalar(keys %started) . ' tasks are unknown, and ' . (@unknown - @unreported) . ' that did not start');

# ---- the view's own words decide ----

my @paid = ids(q{SELECT id FROM twtasks.unknown_outcomes WHERE type = 'PAY'});
my $again = $node->value(q{SELECT replace(if_not_done, '...', 'it is not paid') FROM twtasks.unknown_outcomes WHERE type = 'PAY' ORDER BY id LIMIT 1});
my $over = $node->value(q{SELECT replace(if_done, '...', 'it is paid') FROM twtasks.unknown_outcomes WHERE type = 'PAY' ORDER BY id DESC LIMIT 1});

$node->value("SELECT count(*) FROM ($_) r") foreach $again, $over;
wait_ok(sub { $node->status_of($paid[0]) eq 'DONE' }, 'a task of which a person says that it was not done runs again');
is($node->status_of($paid[-1]), 'DONE', '... and it is DONE, if it was done');
is_deeply([ ids('SELECT id FROM twtasks.unknown_outcomes') ], [ grep { $_ ne $paid[0] && $_ ne $paid[-1] } @unknown ], 'both have left the view');
is($last->stop, 0, 'the sidecar stops in order');

done_testing();
