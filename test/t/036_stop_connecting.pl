# 036_stop_connecting.pl -- a program that is told to stop while it authenticates ends in
# order, though the thread that connects still computes in a library.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;
use TwTasks::Web;

# Their check takes a client seconds; the keys need not be right.
my $iterations = 10_000_000;
my $verifier = "SCRAM-SHA-256\$$iterations:c2FsdHNhbHRzYWx0c2FsdA==\$" . join ':', ('A' x 43 . '=') x 2;

my $node = TwTasks::Cluster->create('main');

$node->value("ALTER ROLE $_ PASSWORD '$verifier'") foreach 'sidecar', 'web';
my $trust = PostgreSQL::Test::Utils::slurp_file($node->data_dir . '/pg_hba.conf');

unlink $node->data_dir . '/pg_hba.conf';
$node->append_conf('pg_hba.conf', "local all sidecar,web scram-sha-256\n$trust");
$node->reload;

# The processor time that all threads but the first have taken, in ticks of 10 ms.
sub ticks_of_others
{
	my ($pid) = @_;
	my $ticks = 0;

	foreach my $path (grep { !m{/$pid/stat$} } glob "/proc/$pid/task/*/stat")
	{
		my $stat = eval { PostgreSQL::Test::Utils::slurp_file($path) } // '';

		$ticks += (split ' ', $1)[11] if $stat =~ /\) (.*)/;
	}
	return $ticks;
}

sub stops_in_order_ok
{
	my ($program, $what) = @_;
	my @statuses;

	foreach (1 .. 5)
	{
		$program->launch;
		wait_for(
			sub { !$program->has_exited && ticks_of_others($program->pid) >= 10 },
			"a thread of $what that computes");
		push @statuses, $program->stop;
	}
	is_deeply(\@statuses, [ (0) x 5 ], "$what ends in order while it authenticates");
	return;
}

my %env = (env => { PGPASSWORD => 'right' });

stops_in_order_ok(
	TwTasks::Sidecar->prepare(
		$node, 'a', handlers => [ { types => ['TASK'], noop => JSON::PP::true } ], %env),
	'the sidecar');
stops_in_order_ok(
	TwTasks::Web->prepare(
		$node, 'web', listen => '127.0.0.1:' . PostgreSQL::Test::Cluster::get_free_port(), %env),
	'twtasks-web');
done_testing();
