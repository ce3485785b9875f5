# 038_nth_call.pl -- the n-th call of a sidecar to the system or the C library fails, whichever
# it is, once or for a second: no signal ends the sidecar, tasks go on, no task is lost, no
# version of a task starts twice, and no kind of descriptor has more open than without faults.
#
# The cases are the same in each run.  "make nth-call" tries all, or some by chance:
# TWT_TEST_SEED repeats them.

use strict;
use warnings FATAL => 'all';

use Errno qw(:POSIX);
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::NthCall;
use TwTasks::Seed;
use TwTasks::Sidecar;
use TwTasks::Wait;

use constant AT_ONCE => 26;

# Each is far from the first and the last call of its name, so it comes in each run.
my @usual = TwTasks::NthCall::cases(
	[ access => 5, EIO ], [ calloc => 100, ENOMEM ], [ clone => 2, EAGAIN ], [ close => 20, EIO ],
	[ connect => 2, ECONNREFUSED ], [ dup2 => 5, EMFILE ], [ epoll_ctl => 40, ENOSPC ], [ epoll_wait => 30, EINTR ],
	[ eventfd => 3, EMFILE ], [ execve => 2, ENOMEM ], [ fcntl => 20, EINTR ], [ malloc => 5000, ENOMEM ],
	[ open => 4, EMFILE ], [ pipe2 => 8, EMFILE ], [ poll => 10, EINTR ], [ read => 20, EIO ],
	[ recv => 20, ECONNRESET ], [ send => 30, EPIPE ], [ socket => 3, EMFILE ], [ write => 4, ENOSPC ]);

# A machine lacks these for a second.  A session that fails is told at once; a process that
# starts a moment later is not.
my @storms = TwTasks::NthCall::storms(
	[ 'pipe2,open,socket,eventfd,dup2' => 8, EMFILE ],
	[ 'socket,open,pipe2,eventfd' => 2, EMFILE, qr/Too many open files/ ],
	[ 'clone,epoll_ctl,stat,eventfd' => 2, ENOMEM ],
	[ 'clone,execve,pthread_create' => 2, EAGAIN ],
	[ 'write' => 4, ENOSPC ],
	[ 'recv,send,read,write,connect' => 30, EAGAIN ]);

# Calls whose failure may end the program, which starts again.
my %ends = (
	%TwTasks::NthCall::ENDS,
	setrlimit => 'a secret may come into a core file',
	prctl => 'orphans would be left to others');

# Calls that may end it only before it has joined the other nodes.
my %start_ends = (
	epoll_ctl => 'there is no loop without its timer and signals',
	fopen => 'the configuration cannot be read',
	fstat => 'the configuration cannot be read',
	open => 'the configuration cannot be read',
	read => 'the configuration cannot be read',
	readlink => 'the programs beside it cannot be found');

TwTasks::Seed::sow();
my $node = TwTasks::Cluster->create('main', conf => { max_connections => 400, 'twtasks.queues' => 2 * AT_ONCE });
my $ledger = TwTasks::Ledger->new;
my @types = qw(COMMAND ONCE WORKER SQL);

$node->create_effect;
$node->value("SELECT twtasks.configure_type('$_', timeout => '20 seconds')") foreach @types;

sub bucket
{
	return "b$_[0]";
}

sub prepare
{
	my ($name, $env) = @_;
	my %again = (stuck => 'retry', retry => { delay => '1s', max_tries => 30 });

	return TwTasks::Sidecar->prepare(
		$node, $name,
		buckets => [ bucket($name) ],
		env => $env,
		handlers => [
			{ types => ['COMMAND'], command => $ledger->command, %again },
			{ types => ['ONCE'], command => $ledger->command, stuck => 'error', retry => { delay => '1s', max_tries => 1 } },
			{ types => ['WORKER'], worker => $ledger->worker, %again },
			{ types => ['SQL'], sql => 'app.effect', processes => 1, grace => '1s', %again }
		]);
}

sub unfinished
{
	my ($sidecar) = @_;

	return $node->value("SELECT coalesce(string_agg(type || ' ' || status, ', '), '') FROM twtasks.tasks
		WHERE bucket = '${\ bucket($sidecar->{name})}' AND status NOT IN ('DONE', 'ERROR')");
}

# A task of each type for each sidecar.
sub work
{
	my (@sidecars) = @_;

	foreach my $sidecar (@sidecars)
	{
		$node->add_task($_, bucket => bucket($sidecar->{name})) foreach @types;
	}
	return if eval {
		wait_for(
			sub {
				TwTasks::NthCall::tend($_) foreach @sidecars;
				return $node->tasks("status NOT IN ('DONE', 'ERROR')") == 0;
			},
			'all tasks to end');
	};
	die join "\n", map { unfinished($_) ? "$_->{what}: " . unfinished($_) . "\n" . TwTasks::NthCall::stack($_->{name}) : () } @sidecars;
}

sub run_all
{
	my (@sidecars) = @_;

	$_->launch foreach @sidecars;
	work(@sidecars);
	# A sidecar that was started again may not have its handler of signals yet.
	$_->signal('HUP') foreach grep { !defined $_->{ended} } @sidecars;
	work(@sidecars);
	return;
}

# No command runs.
sub has_worker_alone
{
	my ($sidecar) = @_;

	return TwTasks::Sidecar::children_of($sidecar->pid) == 1;
}

# ---- verdict ----

TwTasks::NthCall::cases_ok(
	prepare => \&prepare,
	run => \&run_all,
	is_at_rest => \&has_worker_alone,
	cases => [ @usual, @storms ],
	ends => \%ends,
	starts => \%start_ends,
	begun => qr/ node: started as incarnation /,
	leak => (TwTasks::NthCall::cases([ pipe2 => 8, EMFILE ]))[0],
	prefix => 'n',
	at_once => AT_ONCE);

# ---- tasks ----

my %starts;

$starts{"$_->{id} $_->{version}"}++ foreach $ledger->select('start');
is(join(', ', grep { $starts{$_} > 1 } sort keys %starts), '', 'no version of a task started twice');
is($node->tasks("type <> 'ONCE' AND status <> 'DONE'"), 0, 'each task that may run again is done');
$node->effects_once_ok;
is($node->value('SELECT count(*) FROM app.effect'), $node->tasks("type = 'SQL'"), 'each SQL task had its effect');
my %once;

$once{ $_->{id} }++ foreach grep { $_->{type} eq 'ONCE' } $ledger->select('start');
is(join(', ', grep { $once{$_} > 1 } sort keys %once), '', 'no task that may run once started twice');

done_testing();
