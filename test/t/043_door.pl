# 043_door.pl -- a lone trigger also goes through the door, a pipe to a waiting sidecar.
# Each task runs once, and only tasks that were committed alone come that way.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Door;
use TwTasks::Wait;

my $door = TwTasks::Door->new(conf => { max_prepared_transactions => 10 });
my $node = $door->node;
my $sidecar = $door->start('a', ['TASK']);

$door->passes_ok($sidecar, 'a lone task comes through the door');

# Tasks that must not come through the door.
my @never;

sub add
{
	my ($session, @more) = @_;

	return $session->query('SELECT task_id FROM twtasks.add_task(' . join(', ', q('TASK'), @more) . ')');
}

foreach (1 .. 20)
{
	my $session = $node->common_session;

	$session->query('BEGIN');
	push @never, add($session), add($session);
	$session->query('COMMIT');
	$session->query('BEGIN');
	push @never, add($session);
	$session->query('ROLLBACK');
	$session->query('BEGIN; SAVEPOINT s');
	push @never, add($session);
	$session->query('ROLLBACK TO s');
	add($session);
	$session->query('COMMIT');
	push @never, add($session, q(run_after => now() + interval '1 day'));
}
$door->all_done_ok('tasks with and without savepoints are done');

# Another session commits what one has prepared.
my @prepared = map {
	my $session = $node->session;

	$session->query('BEGIN');
	my $task = add($session);

	$session->query("PREPARE TRANSACTION 'p$_'");
	$session->close;
	$task;
} 1 .. 5;

$node->value("COMMIT PREPARED 'p$_'") foreach 1 .. 5;
$door->wait_until_done($_) foreach @prepared;
$door->passes_ok($sidecar, 'a lone task after them comes through the door');
is(scalar(grep { $door->passed($sidecar, $_) } @never, @prepared),
	0, 'what came together, was rolled back, prepared or is not due does not come through the door');

# Several sidecars for a bucket: each pipe has the tasks of its own session, and what it
# cannot start comes to others.
my $same = $door->start('b', ['TASK']);
my $other = $door->start('c', ['OTHER']);
my $plain = $door->prepare('d', ['PLAIN'], log => {});

delete $plain->{config}{door_directory};
$plain->run;
isnt($door->pipe_of($_), $door->pipe_of($sidecar), "$_->{name} has a pipe of its own") foreach $same, $other;
foreach (1 .. 30)
{
	$node->add_task($_) foreach qw(TASK OTHER PLAIN);
}
$door->all_done_ok('tasks of three types are done by four sidecars');
is(scalar(grep { $door->passed($other, $_) } split /\n/, $node->value("SELECT id FROM twtasks.tasks WHERE type <> 'OTHER'")),
	0, 'a sidecar takes no task from its door that it does not handle');
$other->kill9;
$same->kill9;
$node->add_task('TASK') foreach 1 .. 10;
$door->all_done_ok('tasks are done after the end of other sidecars');
$door->passes_ok($sidecar, 'the door of the sidecar that is left is open');
is($plain->stop, 0, 'a sidecar without a door stops in order');

is(join(' ', $door->repeated), '', 'no task was started twice');
is($sidecar->stop, 0, 'the sidecar stops in order');
$node->stop;
is(scalar($door->pipes), 0, 'the server leaves no pipe behind');

done_testing();
