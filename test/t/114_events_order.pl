# 114_events_order.pl -- events are in the order of the changes that they tell of,
# whichever process made a change: each change of an object has a number, and
# processes change the same objects at the same time, roll back some changes, and
# commit others late, while a sidecar is killed.

use strict;
use warnings FATAL => 'all';

use POSIX ();
use Test::More;
use TwTasks::Chain;
use TwTasks::Cluster;
use TwTasks::Seed;
use TwTasks::Sidecar;
use TwTasks::Wait;

use constant {
	PROCESSES => 4,
	TRANSACTIONS => 60,
	OBJECTS => 3
};

TwTasks::Seed::sow();

my $node = TwTasks::Cluster->create('main', conf => { max_prepared_transactions => PROCESSES });
my $chain = TwTasks::Chain->new;
my %sidecars;

$node->add_extensions('events');
$node->value(<<"SQL");
	SELECT twtasks.configure_stream('works', 'WORKS', batch => 3),
		twtasks.configure_type('WORKS', stuck => 'retry', retry => '{"delay": "50ms", "max_delay": "50ms", "max_tries": 10000}');
	CREATE TABLE work (id integer PRIMARY KEY, changes integer NOT NULL DEFAULT 0);
	INSERT INTO work SELECT n FROM generate_series(1, @{[OBJECTS]}) n;
	GRANT SELECT, UPDATE ON work TO producer;
SQL

sub start_sidecar
{
	my ($name) = @_;

	$sidecars{$name} = TwTasks::Sidecar->start(
		$node, $name,
		lease => '5s',
		handlers => [ { types => ['WORKS'], concurrency => 8, processes => 2, worker => $chain->worker } ]);
	return;
}

# A change of an object, and the event that tells its number.
sub change
{
	my $id = 1 + int rand OBJECTS;

	return "UPDATE work SET changes = changes + 1 WHERE id = $id;"
	  . " SELECT twtasks.add_event('works', 'work:' || id, to_jsonb(id || '=' || changes)) FROM work WHERE id = $id;";
}

# Other processes wait for the lock of the changed row until the end.  A
# transaction changes one object, so none waits for another in a circle.
sub transaction
{
	my ($name) = @_;
	my $change = change();
	my @ways = (
		"BEGIN; $change COMMIT;",
		"BEGIN; $change $change COMMIT;",
		"BEGIN; $change ROLLBACK;",
		"BEGIN; SAVEPOINT s; $change ROLLBACK TO s; $change COMMIT;",
		"BEGIN; $change PREPARE TRANSACTION '$name'; COMMIT PREPARED '$name';");

	return $ways[ rand @ways ];
}

# Starts a process that changes objects; returns its number.
sub start_process
{
	my ($name) = @_;
	my $seed = int rand 1e9;
	my $pid = fork // die "could not fork: $!";

	return $pid if $pid;
	srand $seed;
	# the test's own objects are not ours to destroy
	my $is_done = eval {
		my $session = $node->session('producer');

		$session->query(transaction("$name-$_")) foreach 1 .. TRANSACTIONS;
		1;
	};
	print STDERR $@ unless $is_done;
	POSIX::_exit($is_done ? 0 : 1);
}

start_sidecar($_) foreach qw(a b);
my @pids = map { start_process("p$_") } 1 .. PROCESSES;

wait_for(sub { (() = $chain->heads) >= 10 }, 'the first heads');
$sidecars{a}->kill9;
start_sidecar('a');

foreach my $pid (@pids)
{
	waitpid $pid, 0;
	is($?, 0, 'a process has made its changes');
}
wait_ok(
	sub {
		$node->value('SELECT count(*) FROM twtasks.event_objects WHERE queued > 0 OR head IS NOT NULL') eq '0';
	},
	'all events are sent in the end');

my @faults = $chain->faults;
my %order;

push @{ $order{ $_->[0] } }, $_->[1]
  foreach map { [ split /=/, $_->{event} ] } sort { $a->{id} <=> $b->{id} } $chain->events;
is(join("\n", @faults), '', 'each object has one chain, and resends are identical');
foreach my $id (1 .. OBJECTS)
{
	my $changes = $node->value("SELECT changes FROM work WHERE id = $id");

	is(join(' ', @{ $order{$id} || [] }), join(' ', 1 .. $changes), "the events of object $id are in the order of its changes");
	cmp_ok($changes, '>', PROCESSES, 'there were many');
}
is($node->value('SELECT count(*) FROM twtasks.broken_event_objects'), '0', 'no invariant is broken');

$_->stop foreach values %sidecars;
done_testing();
