# 059_shortage.pl -- a server that is short of memory or disk, or refuses to
# write, says nothing about a task: it waits, and no try is lost.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;
use TwTasks::Wrap;

my $node = TwTasks::Cluster->create('main');
my $ledger = TwTasks::Ledger->new;
my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	handlers => [
		{
			types => ['COMMAND'],
			command => $ledger->command,
			retry => { max_tries => 1 }
		}
	]);

foreach my $state (qw(53100 53200 58030 25006 42501))
{
	my $from = $sidecar->log_position;

	# A grab that reads no data would succeed.
	wrap($node, 'grab_tasks', <<"SQL");
		IF strpos(current_query(), 'g.data') > 0 THEN
			RAISE 'short of something' USING ERRCODE = '$state';
		END IF;
SQL
	my @tasks = map { $node->add_task('COMMAND') } 1 .. 3;

	$sidecar->wait_for_log(qr/ERROR postgres: grab: .*SQLSTATE $state/,
		"$state: a failure", $from);
	is($node->tasks("status = 'SUBMITTED' AND tries = 0"),
		3, "$state: the tasks wait");
	unwrap($node, 'grab_tasks');
	wait_ok(sub { $node->tasks("status = 'DONE' AND tries = 1") == 3 },
		"$state: the tasks run, in their first try");
	is(scalar(grep { $ledger->starts($_) != 1 } @tasks), 0, "$state: each task was started once");
	$node->value('TRUNCATE twtasks.finished_task');
}
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
