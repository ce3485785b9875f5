# 043_door_faults.pl -- the door loses what it likes: its pipe is full, gone, or replaced, its
# sidecar or the server is killed.  No commit waits or fails, and each task runs once.

use strict;
use warnings FATAL => 'all';

use Cwd qw(abs_path);
use Fcntl qw(O_RDONLY O_WRONLY O_NONBLOCK);
use File::Basename;
use POSIX qw(mkfifo);
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Door;
use TwTasks::Wait;

my $door = TwTasks::Door->new(conf => { restart_after_crash => 'on' });
my $node = $door->node;
my $sidecar = $door->start('a', ['TASK']);

$door->passes_ok($sidecar, 'a lone task comes through the door');

# A sidecar that stands still lets its pipe fill.
{
	sysopen my $stuffing, $door->pipe_of($sidecar), O_WRONLY | O_NONBLOCK or die "could not open the pipe: $!";
	$sidecar->freeze;
	while (defined syswrite $stuffing, 'x' x 511 . "\n") { }
	while (defined syswrite $stuffing, "\n") { }
	my $adder = $node->session;

	$adder->send(q(SELECT twtasks.add_task('TASK'))) foreach 1 .. 20;
	$adder->send(q(CREATE TABLE public.added ()));
	wait_ok(sub { $node->value(q(SELECT to_regclass('public.added') IS NOT NULL)) eq 't' }, 'no commit waits for a full pipe');
	close $stuffing;
	$sidecar->signal('CONT');
	$door->all_done_ok('the tasks come through shared memory');
}
$door->passes_ok($sidecar, 'the door is open after the sidecar stood still');

# The sidecar is killed, and its pipe with its session.
$sidecar->kill9;
$node->add_task('TASK') foreach 1 .. 10;
$sidecar->run;
$door->all_done_ok('tasks that were added meanwhile are done by the next sidecar');
$door->passes_ok($sidecar, 'the door is open after the sidecar was killed');

# Something else is in the place of the pipe.
{
	my $path = $door->pipe_of($sidecar);
	my $target = $door->directory . '/target';

	unlink $path or die "could not remove the pipe: $!";
	$door->add_anew(5);
	PostgreSQL::Test::Utils::append_to_file($path, '');
	$door->add_anew(20);
	is(-s $path, 0, 'nothing is written to a file in place of the pipe');
	unlink $path;
	mkfifo($target, oct 600) or die "could not make a pipe: $!";
	sysopen my $strange, $target, O_RDONLY | O_NONBLOCK or die "could not open a pipe: $!";
	symlink $target, $path or die "could not make a link: $!";
	$door->add_anew(20);
	my $read = sysread $strange, my $bytes, 1000;

	ok(!$read, 'nothing is written to what a link in place of the pipe names');
	unlink $path, $target;
}

# A process of the server is killed, so all its sessions end and leave their pipes.
{
	my $pid = $node->value("SELECT max(pid) FROM pg_stat_activity WHERE application_name = 'twtasksd queue'");

	$node->forget_session;
	kill KILL => $pid;
	wait_for(
		sub {
			my $text = $node->value_or_undef("SELECT max(pid) FROM pg_stat_activity WHERE application_name = 'twtasksd queue'");

			$node->forget_session if !defined $text;
			return $text && $text ne $pid;
		},
		'the server to be back');
	$door->passes_ok($sidecar, 'the door is open after a crash of the server');
}

is(join(' ', $door->repeated), '', 'no task was started twice');
is($sidecar->stop, 0, 'the sidecar stops in order');

# ---- a session that waits in place of a sidecar's, and this test at the other end of its pipe ----

wait_for(sub { $node->value(q(SELECT count(*) FROM pg_stat_activity WHERE application_name ~ '^twtasksd')) == 0 },
	'the end of the sessions of the sidecar, which wakes others');
my ($taker, $adder) = map { $node->session } 1 .. 2;
my $taker_pid = $taker->backend_pid;
my $add = q(SELECT task_id FROM twtasks.add_task('OTHER', bucket => 'own'));

sub next_triggers
{
	my ($ms) = @_;

	return "CALL twtasks_internal.next_triggers('{own}', 100, $ms" . ', NULL' x 9 . ')';
}

# Adds a task while the session waits for triggers.
sub add_beside
{
	my ($before) = @_;

	$taker->query(next_triggers(0));	# a wish for a sweep would end its wait
	$taker->send(next_triggers(600000));
	wait_for(
		sub {
			$node->value("SELECT count(*) FROM pg_stat_activity WHERE pid = $taker_pid AND wait_event = 'Extension'") == 1
			  && ($node->value(q(SELECT waiters FROM twtasks.queue_stats() WHERE bucket = 'own')) || 0) == 1;
		},
		'a session to wait for triggers');
	$before->() if $before;
	my $task = $adder->query($add);

	like($taker->receive, qr/\Q$task\E/, 'the session gets the trigger from shared memory');
	return $task;
}

# A crash leaves pipes behind, and a later session may have the same number.
sub leave
{
	my ($session, $make) = @_;
	my $path = $door->directory . '/door.' . $session->backend_pid;

	$make->($path);
	$session->query(q(SELECT twtasks_internal.take_types('{OTHER}')));
	return $path;
}

{
	my $target = $door->directory . '/other';
	my @sessions = map { $node->session } 1 .. 2;
	my $file = leave($sessions[0], sub { PostgreSQL::Test::Utils::append_to_file($_[0], 'kept') });

	mkfifo($target, oct 600) or die "could not make a pipe: $!";
	my $link = leave($sessions[1], sub { symlink $target, $_[0] or die "could not make a link: $!" });

	$_->close foreach @sessions;
	my $pids = join ', ', map { /(\d+)$/ } $file, $link;
	wait_for(sub { $node->value("SELECT count(*) FROM pg_stat_activity WHERE pid IN ($pids)") == 0 },
		'the end of two sessions');
	ok(-s $file && -l $link && -p $target, 'a session removes neither a file nor a link in place of its pipe');
	unlink $file, $link, $target;
}

$node->configure_buckets('own');
my $path = leave($taker, sub { mkfifo($_[0], oct 600) or die "could not make a pipe: $!" });

is((stat $path)[2] & oct 777, oct 640, 'a session replaces a pipe that one of its number has left');
sysopen my $reader, $path, O_RDONLY | O_NONBLOCK or die "could not open the pipe: $!";
my $task = add_beside();

sysread $reader, my $line, 1000;
like($line, qr/^own \Q$task\E 0 .* OTHER\n\z/, 'its pipe has a line with the trigger');

# A function of a user may let SIGPIPE end the process.  So that session writes to no pipe.
{
	my $library = PostgreSQL::Test::Utils::tempdir() . '/hear_sigpipe.so';
	my ($headers) = run_command([ 'pg_config', '--includedir-server' ]);

	is( system('cc', '-shared', '-fPIC', "-I$headers", '-o', $library,
			abs_path(dirname(__FILE__) . '/../handlers/hear_sigpipe.c')),
		0, 'a library that listens to SIGPIPE is built');
	$adder->query("LOAD '$library'");
	add_beside(sub { close $reader });
	is($adder->try('SELECT 1'), 1, 'the signal of a pipe that nobody reads ends no session');
}
$node->stop;

done_testing();
