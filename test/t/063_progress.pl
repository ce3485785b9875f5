# 063_progress.pl -- a worker reports how far it is: the database has the last
# report while the task runs, and none after its end.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my $directory = PostgreSQL::Test::Utils::tempdir();
my $program = "$directory/worker.py";

# Reports, waits for the file, and ends its task.
append_to_file($program, <<'END');
import json, os, sys, time

def say(task, **members):
    print(json.dumps({"id": task["id"], "version": task["version"], **members}), flush=True)

for line in sys.stdin:
    task = json.loads(line)
    if "id" in task:
        say(task, progress="much")
        for page in range(1, 4):
            say(task, progress=page * 20, message=f"page {page} of 5")
        while not os.path.exists(task["data"]):
            time.sleep(0.01)  # workload
        say(task, result="done")
END

my $sidecar = TwTasks::Sidecar->start($node, 'a',
	handlers => [ { types => ['*'], worker => [ '/usr/bin/python3', $program ], processes => 2 } ]);

sub progress
{
	return $node->value("SELECT string_agg(percent || ' ' || note, ', ' ORDER BY id) FROM twtasks.progress");
}

my $first = $node->add_task('A', data => "\"$directory/go\"");

wait_ok(sub { progress() eq '60 page 3 of 5' }, 'the database has the last report');
like($node->value("SELECT sentence FROM twtasks.why('$first')"), qr/; its handler reported 60 % at .*: page 3 of 5\.$/, 'why() has it');
my $second = $node->add_task('A', data => "\"$directory/go\"");

wait_ok(sub { progress() eq '60 page 3 of 5, 60 page 3 of 5' }, '... of each task');
append_to_file("$directory/go", '');
wait_ok(sub { $node->tasks("status = 'DONE'") == 2 }, 'both end: a wrong report is ignored');
is(progress(), '', 'no task that has ended has progress');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
