# 060_worker_crashes.pl -- a worker that ends with each task: their errors have the
# end of its traceback, the view of warnings has its last line, and the row goes
# when a task is finished.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my $program = <<'EOP';
import json, sys
sys.stdin.readline()
for line in sys.stdin:
    task = json.loads(line)
    if task["data"] != 1:
        raise RuntimeError("no account")
    print(json.dumps({"id": task["id"], "version": task["version"], "result": "done"}), flush=True)
EOP

sub warned
{
	return $node->value(
		'SELECT coalesce(string_agg(detail, chr(10)), \'\') FROM twtasks.warnings WHERE warning = \'worker crashes\'');
}

my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	handlers => [
		{
			types => ['PAY'],
			worker => [ '/usr/bin/python3', '-c', $program ],
			retry => { delay => '1h', max_tries => 5 }
		}
	]);
my @tasks;

# One after the other: a process takes along all that it has.
foreach (1 .. 3)
{
	push @tasks, $node->add_task('PAY', data => '0');
	wait_for(sub { $node->state_of($tasks[-1]) eq 'WAITING 2' }, 'the failed try');
}
wait_ok(
	sub { warned() eq 'node "a": worker "PAY" ends again and again, with its tasks: exited with status 1: RuntimeError: no account' },
	'the view of warnings has its last words');
like($node->value("SELECT error FROM twtasks.tasks WHERE id = '$_'"),
	qr/\Aworker exited with status 1: Traceback .*RuntimeError: no account\z/s, 'the error of a task has the traceback')
	foreach @tasks;
unlike($sidecar->log, qr/cannot be started/, 'its program can be started');

my $good = $node->add_task('PAY', data => '1');

wait_ok(sub { $node->state_of($good) eq 'DONE 2' }, 'a task that it can do');
wait_ok(sub { warned() eq '' }, 'ends the row');
is($sidecar->stop, 0, 'the sidecar stops in order');
done_testing();
