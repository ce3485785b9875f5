# 083_old_kernel.pl -- kernels that lack newer system calls, and sandboxes that refuse
# them: tasks are executed and killed, copies of a cluster are still told from their
# original, and a sidecar that cannot work there says so.

use strict;
use warnings FATAL => 'all';

use Errno qw(EINVAL ENOSYS EPERM);
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sandbox;
use TwTasks::Sidecar;
use TwTasks::Wait;

use constant P_PIDFD => 3;

my @calls = qw(statx close_range pidfd_send_signal);

plan skip_all => 'Perl does not know the numbers of system calls here'
  if grep { !defined TwTasks::Sandbox::number($_) } @calls, qw(prctl waitid);

my $ledger = TwTasks::Ledger->new;
my $node = TwTasks::Cluster->create('main');
my $number = 0;

sub start_sidecar
{
	return TwTasks::Sidecar->start(
		$node, 'sidecar' . ++$number,
		handlers => [
			{ types => ['QUICK'], command => $ledger->command },
			{ types => ['LONG'], timeout => '1s', command => [ '/bin/sleep', '1000' ] } ]);
}

sub works
{
	my ($name) = @_;
	my $sidecar = start_sidecar();
	my ($quick, $long) = map { $node->add_task($_) } qw(QUICK LONG);

	wait_ok(sub { $node->status_of($quick) eq 'DONE' }, "$name: a task is done");
	wait_ok(sub { $node->status_of($long) eq 'ERROR' }, "$name: a task is ended at its timeout");
	wait_ok(sub { !$sidecar->programs }, "$name: ... and its program is killed");
	is($sidecar->stop, 0, "$name: the sidecar stops in order");
	return;
}

# While the server is stopped.
sub restart
{
	my ($action) = @_;

	$node->forget_session;
	$node->stop;
	$action->() if $action;
	$node->start;
	return;
}

# As a copy of the cluster has it: the same file in another place of the disk.
sub copy_marker
{
	my ($marker) = glob $node->data_dir . '/twtasks.*';

	system_or_bail('cp', '-p', $marker, "$marker.copy");
	system_or_bail('mv', "$marker.copy", $marker);
	return;
}

sub refuse_everything
{
	my ($error) = @_;

	return sub { TwTasks::Sandbox::refuse($error, @calls) };
}

$node->value(q{SELECT twtasks.configure_type('LONG', retry => '{"delay": "1s", "max_tries": 1}')});
works('with all calls');
restart(refuse_everything(ENOSYS));
works('on an old kernel');
restart();
works('with a marker that was made there');
restart(refuse_everything(EPERM));
works('in a sandbox');
# The SQL edition has no marker: 207_edition_copies.pl is about its copies.
if (!$node->has_edition)
{
	restart(\&copy_marker);
	is($node->value('SELECT is_adopted FROM twtasks.adoption_state'), 'f', 'a copy is told from its original');
}

TwTasks::Sandbox::refuse_argument(EINVAL, 'waitid', P_PIDFD);
my $sidecar = TwTasks::Sidecar->prepare($node, 'late', handlers => [ { types => ['*'], command => $ledger->command } ]);

$sidecar->launch;
ok($sidecar->wait_for_log(qr/FATAL main: this kernel is too old: Linux 5\.4 or newer is needed/), 'a sidecar that cannot work says so');
is($sidecar->wait_for_exit >> 8, 4, '... and ends');
done_testing();
