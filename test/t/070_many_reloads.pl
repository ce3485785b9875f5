# 070_many_reloads.pl -- a configuration that was replaced takes up no memory.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;

sub handler
{
	my ($n) = @_;

	return {
		types => [ map { "A_TYPE_WITH_QUITE_A_LONG_NAME_${n}_$_" } 1 .. 900 ],
		noop => JSON::PP::true
	};
}

my $node = TwTasks::Cluster->create('main');
my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	handlers => [
		{ types => ['TASK'], noop => JSON::PP::true },
		map { handler($_) } 1 .. 5
	]);

sub reload_often
{
	my ($n) = @_;

	foreach (1 .. $n)
	{
		my $from = $sidecar->log_position;

		$sidecar->signal('HUP');
		$sidecar->wait_for_log(qr/config: reloaded/, 'its reload', $from);
	}
	return $sidecar->memory('VmRSS');
}

my $before = reload_often(20);
my $after = reload_often(60);

# Each holds some 400 kB, that is, 24 MB in all.
cmp_ok($after - $before, '<', 8000, 'the memory does not grow');

my $task = $node->add_task('TASK');

wait_ok(sub { $node->status_of($task) eq 'DONE' }, 'the sidecar works after all reloads');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
