# 083_made_anew.pl -- a database is dropped and made anew under running sidecars.
# They register there anew, each for itself, and what they ran before acts on
# nothing there.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node   = TwTasks::Cluster->create('main');
my $ledger = TwTasks::Ledger->new;

sub make_database
{
	$node->safe_psql('postgres', 'DROP DATABASE IF EXISTS app WITH (FORCE)');
	$node->safe_psql('postgres', 'CREATE DATABASE app');
	$node->install('app');
	return;
}

sub app
{
	my ($query) = @_;

	return $node->safe_psql('app', $query);
}

sub add
{
	my ($type) = @_;

	return app("SELECT (twtasks.add_task('$type')).task_id");
}

sub living
{
	return app(
		q(SELECT string_agg(name || ' ' || incarnation, ',' ORDER BY name) FROM twtasks.node WHERE ended IS NULL));
}

make_database();

my ($first, $second) = map {
	TwTasks::Sidecar->start(
		$node, $_,
		postgres => $node->connstr('app') . ' user=sidecar',
		handlers => [
			{ types => ['AGAIN'],  stuck => 'retry', command => $ledger->command('again') },
			{ types => ["ONCE|$_"], stuck => 'error', command => $ledger->command('once') }
		])
} qw(a b);
my $old = add('ONCE|a');

wait_for(sub { $ledger->starts($old) }, 'a task to run');

# The second comes first, and may get a number that the first one had.
my $from = $first->log_position;
my $from_second = $second->log_position;

$first->freeze;
make_database();
$second->wait_for_log(qr/was declared gone/, 'the second to be unknown', $from_second);
my $incarnation =
  $second->wait_for_log(qr/started as incarnation (\d+)/, 'the second to register', $from_second);
app("SELECT (twtasks.add_task('ONCE|a', task_id => '$old')).task_id");

$first->signal('CONT');
$first->wait_for_log(qr/was declared gone/, 'the first to be unknown', $from);
my $other = $first->wait_for_log(qr/started as incarnation (\d+)/, 'the first to register', $from);

isnt($other, $incarnation, 'the sidecars have numbers of their own');
is(living(), "a $other,b $incarnation", 'the database knows both');

# The old run of that id was stopped; the new one is another.
wait_ok(sub { $ledger->starts($old) == 2 }, 'a task with an id of the old database runs');
is(app("SELECT status || ' ' || version FROM twtasks.tasks WHERE id = '$old'"),
	'PROCESSING 1', 'its old run has not ended it');
$ledger->release('once');
wait_ok(sub { app("SELECT status FROM twtasks.tasks WHERE id = '$old'") eq 'DONE' },
	'its new run ends it');

# One is killed, and the other runs what it left.
$second->freeze;
my $again = add('AGAIN');

wait_for(sub { $ledger->starts($again) == 1 }, 'the first to run it');
$first->kill9;
$second->signal('CONT');
wait_ok(sub { $ledger->starts($again) == 2 }, 'the other runs the task of a killed one');
$ledger->release('again', 2);
wait_ok(sub { app("SELECT status FROM twtasks.tasks WHERE id = '$again'") eq 'DONE' },
	'and ends it');

# One stops in order, and the tasks of the other go on.
$first->run;
my $once = add('ONCE|b');

wait_for(sub { $ledger->starts($once) == 1 }, 'the second to run one');
is($first->stop, 0, 'a sidecar stops in order');
is(app("SELECT status FROM twtasks.tasks WHERE id = '$once'"),
	'PROCESSING', 'the task of the other runs on');
$ledger->release('once');
wait_ok(sub { app("SELECT status FROM twtasks.tasks WHERE id = '$once'") eq 'DONE' },
	'until it is done');
is($second->stop, 0, 'the other stops in order');

done_testing();
