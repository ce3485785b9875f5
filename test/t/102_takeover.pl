# 102_takeover.pl -- a sidecar is cut off from the database while its handlers
# run on.  With takeover => 'deadline' no other sidecar runs their tasks before
# the cut-off sidecar has killed them; without it another does at once.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my $ledger = TwTasks::Ledger->new;

$node->safe_psql('postgres', <<'SQL');
	CREATE ROLE cut LOGIN IN ROLE twtasks_worker;
	SELECT twtasks.configure_type('LATE*', takeover => 'deadline');
SQL

sub handler
{
	my ($type, %options) = @_;

	return { types => [$type], command => $ledger->command($type), grace => '500ms', stuck => 'retry', %options };
}

sub start
{
	my ($name, $role, @types) = @_;
	# Ten seconds and a grace are added to the deadline; until then a busy machine has to see the first claims.
	my %timeout = ('LATE' => '10s', 'LATE|ERROR' => '10s', 'EARLY' => '60s');

	return TwTasks::Sidecar->start(
		$node, $name,
		postgres => $node->connstr('postgres') . " user=$role",
		handlers => [ map { handler($_, timeout => $timeout{$_}, $_ eq 'LATE|ERROR' ? (stuck => 'error') : ()) } @types ]);
}

sub fact
{
	my ($id, $fact) = @_;

	return $node->value("SELECT $fact FROM twtasks.task WHERE id = '$id'");
}

my @types = ('EARLY', 'LATE', 'LATE|ERROR');
my $cut = start('cut', 'cut', @types);
my %id = map { $_ => $node->add_task($_) } @types;

wait_for(sub { !grep { $ledger->starts($_) == 0 } values %id });
my %deadline = map { $_ => fact($id{$_}, 'deadline') } @types;
my %pid = map { ($_->{type} => $_->{pid}) } $ledger->select('start');

# No session of the sidecar is left, and none comes back.
$node->safe_psql('postgres', <<'SQL');
	ALTER ROLE cut NOLOGIN;
	SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'cut';
SQL
my $other = start('other', 'sidecar', @types);

# ---- without it ----

wait_ok(sub { $ledger->starts($id{EARLY}) == 2 }, 'a task whose node is gone runs again');
ok(TwTasks::Sidecar::is_running($pid{EARLY}), 'its first handler still runs');
is(fact($id{EARLY}, "state_time < '$deadline{EARLY}'"), 't', 'its deadline has not passed');

# ---- with it ----

is($ledger->starts($id{LATE}), 1, 'a task whose takeover waits has not run again');
is(fact($id{LATE}, "status || ' ' || version"), 'PROCESSING 1', 'that task is still the first sidecar\'s');
my $cancelled = $node->value("SELECT result FROM twtasks.request_cancel('$id{'LATE|ERROR'}')");
is($cancelled, 'requested', 'a request to cancel does not end a task that may still run');
wait_ok(sub { $ledger->starts($id{LATE}) == 2 }, 'the task runs again in the end');
ok(!TwTasks::Sidecar::is_running($pid{LATE}), 'its first handler was killed before');
is(fact($id{LATE}, "state_time >= '$deadline{LATE}'"), 't', 'its deadline had passed when it was grabbed again');
wait_ok(sub { $node->status_of($id{'LATE|ERROR'}) eq 'CANCELLED' }, 'the request to cancel counts when the deadline has passed');
is($ledger->starts($id{'LATE|ERROR'}), 1, 'the cancelled task did not run again');

$ledger->release($_) for @types, 'EARLY';
wait_ok(sub { $node->status_of($id{$_}) eq 'DONE' }, "the task $_ is done by the other sidecar") for qw(EARLY LATE);
$cut->kill9;
$other->stop;
done_testing();
