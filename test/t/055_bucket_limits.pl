# 055_bucket_limits.pl -- how many tasks of a bucket run at once: all of its
# types together, on each node for itself, changed while they run; and a bucket
# that is full holds up no other.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my $ledger = TwTasks::Ledger->new;
my %in_slow;

$node->value(<<'SQL');
	CREATE SCHEMA app;
	CREATE FUNCTION app.run(task twtasks.task_input) RETURNS void LANGUAGE sql AS '';
	GRANT USAGE ON SCHEMA app TO sidecar;
	SELECT twtasks.configure_bucket('slow', concurrency => 3), twtasks.configure_bucket('fast');
SQL

# The sweep that comes by itself is switched off: what waits for a slot is
# woken by it.
sub start
{
	my ($name) = @_;

	return TwTasks::Sidecar->start(
		$node, $name,
		buckets => [qw(slow fast default)],
		sweep => '1h',
		log => { level => 'debug' },
		handlers => [
			{ types => [qw(A B)], concurrency => 100, command => $ledger->command('gate') },
			{ types => ['FREE'], command => $ledger->command },
			{ types => ['SQL'], sql => 'app.run' }
		]);
}

sub add
{
	my ($bucket, $type, $n) = @_;

	foreach (1 .. $n)
	{
		my $id = $node->add_task($type, bucket => $bucket);

		$in_slow{$id} = 1 if $bucket eq 'slow';
	}
	return;
}

sub change
{
	my ($call, @sidecars) = @_;

	return TwTasks::Sidecar::configure(policies => "SELECT twtasks.$call", @sidecars);
}

sub running
{
	return $ledger->running(sub { $in_slow{ $_[0]->{id} } });
}

sub done
{
	my ($condition) = @_;

	return $node->tasks("$condition AND status <> 'DONE'") == 0;
}

# Tasks of the other buckets are done while the slow one stands still.
sub check_others
{
	my ($what) = @_;

	add($_, 'FREE', 5) foreach qw(fast default);
	add('fast', 'SQL', 5);
	wait_ok(sub { done('bucket <> \'slow\'') }, "$what: other buckets go on");
	return;
}

my $one = start('one');

# ---- all types of a bucket together ----

add('slow', $_, 20) foreach qw(A B);
wait_ok(sub { running() == 3 }, 'three tasks of a bucket run');
add('slow', $_, 5) foreach qw(FREE SQL);
check_others('full');
is($node->tasks('bucket = \'slow\' AND type IN (\'FREE\', \'SQL\') AND status <> \'SUBMITTED\''),
	0, 'no other type of the full bucket starts');
add('fast', 'A', 10);
wait_ok(sub { $ledger->starts == 23 }, 'tasks of a limited bucket\'s type run in another bucket');
is(running(), 3, 'three tasks still run in the full bucket');
$ledger->release('gate', 10);
wait_for(sub { $ledger->ends >= 20 }, 'ten to end');
is($ledger->most_at_once(sub { $in_slow{ $_[0]->{id} } }), 3, 'never more than three tasks of the bucket ran');

# ---- changed while it runs ----

change('configure_bucket(\'slow\', concurrency => 6)', $one);
wait_ok(sub { running() == 6 }, 'a raised limit lets more tasks start');
change('configure_bucket(\'slow\', \'with words\')', $one);
is($node->value('SELECT concurrency FROM twtasks.buckets WHERE name = \'slow\''),
	6, 'a change of the description leaves the limit');
change('configure_bucket(\'slow\', concurrency => 0)', $one);
$ledger->release('gate', 100);
wait_ok(sub { running() == 0 }, 'running tasks end when the limit becomes 0');
check_others('shut');
is(scalar(grep { $in_slow{ $_->{id} } } $ledger->select('start')),
	$node->tasks('bucket = \'slow\' AND status = \'DONE\''), 'no task was started in the slow bucket');
my $two = start('two');

change('configure_bucket(\'slow\', concurrency => 1)', $one, $two);
change('unset_bucket_options(\'slow\', \'concurrency\')', $one, $two);
wait_ok(sub { done('true') }, 'all tasks get their turn without a limit');

# ---- on each node ----

$one->stop;
$two->stop;
$ledger = TwTasks::Ledger->new;
%in_slow = ();
$node->value('SELECT twtasks.configure_bucket(\'slow\', concurrency => 2)');

# Both find them at their start: a trigger would reach but one of them.
add('slow', 'A', 20);
my @both = map { start($_) } qw(one two);

wait_ok(sub { running() == 4 }, 'each of two nodes runs two tasks');
$ledger->release('gate', 20);
wait_ok(sub { done('true') }, 'all tasks get their turn');
is($ledger->most_at_once(sub { 1 }), 4, 'four tasks run at most');
is(scalar($ledger->repeated), 0, 'no task was started twice');
is($_->stop, 0, 'a sidecar stops in order') foreach @both;

done_testing();
