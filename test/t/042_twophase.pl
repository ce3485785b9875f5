# 042_twophase.pl -- tasks in a prepared transaction run when it is committed,
# also after a restart of the server, and never when it is rolled back.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $ledger = TwTasks::Ledger->new;

sub prepare
{
	my ($node, $name) = @_;
	my $session = $node->session('producer');

	$session->query('BEGIN');
	my $id =
	  $session->query('SELECT task_id FROM twtasks.add_task(\'TASK\')');
	$session->query("PREPARE TRANSACTION '$name'");
	return $id;
}

foreach my $kind (qw(ring notify))
{
	my $node = TwTasks::Cluster->create(
		$kind,
		queue => $kind,
		conf => { max_prepared_transactions => 10 });
	my $sidecar = TwTasks::Sidecar->start(
		$node, 'a',
		sweep => '500ms',
		handlers => [ { types => ['TASK'], command => $ledger->command } ]);
	my %id = map { $_ => prepare($node, $_) } qw(now never later never_later);

	# a task added afterwards overtakes
	my $after = $node->add_task('TASK');

	wait_for(sub { $node->status_of($after) eq 'DONE' }, 'a later task');
	is(scalar(grep { $ledger->starts($_) } values %id),
		0, "$kind: prepared tasks do not run");
	$node->value('COMMIT PREPARED \'now\'');
	$node->value('ROLLBACK PREPARED \'never\'');
	wait_ok(sub { $node->status_of($id{now}) eq 'DONE' },
		"$kind: a task runs after its COMMIT PREPARED");

	$node->stop('fast');
	$node->start;
	$node->value('COMMIT PREPARED \'later\'');
	$node->value('ROLLBACK PREPARED \'never_later\'');
	wait_ok(
		sub { $node->status_of($id{later}) eq 'DONE' },
		"$kind: a task that is committed after a restart runs");

	is(join(' ', map { $ledger->starts($id{$_}) } qw(now later)),
		'1 1', "$kind: each committed task ran once");
	is(join(' ', map { $ledger->starts($id{$_}) } qw(never never_later)),
		'0 0', "$kind: no task ran that was rolled back");
	is($node->tasks('status <> \'DONE\''), 0, "$kind: no task is left undone");
	is($sidecar->stop, 0, "$kind: the sidecar stops in order");
	$node->stop;
}

done_testing();
