# 062_worker_batch.pl -- tasks in batches: one line with many tasks and one answer for
# them; a batch of which some tasks fail; a worker that is killed in the middle of a
# batch, and a sidecar.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $dir = PostgreSQL::Test::Utils::tempdir();

# The example as it is shipped, with this work.  Data: "bad" is refused; "wait" waits for
# the file "go"; "die" answers half of the batch and dies, once.
my $work = <<'EOP';
def do_tasks(tasks):
    words = [task["data"] for task in tasks]
    note("lines", str(len(tasks)))
    for task in tasks:
        note("runs", task["id"])
    while "wait" in words and not os.path.exists(DIR + "/go"):
        threading.Event().wait(0.05)
    if "die" in words and not os.path.exists(DIR + "/answered"):
        half = tasks[:(len(tasks) + 1) // 2]
        note("answered", *[task["id"] for task in half])
        note("lost", *[task["id"] for task in tasks[len(half):]])
        answer(half, {"result": "done"})
        os.kill(os.getpid(), signal.SIGKILL)
    return {task["id"]: {"result": "error", "message": "no such account"} for task in tasks if task["data"] == "bad"}


def note(name, *words):
    with open(DIR + "/" + name, "a") as file:
        file.writelines(word + "\n" for word in words)

EOP
my $example = slurp_file(TwTasks::Ledger::handler('../../examples/batch.py'));
$example =~ s/^def do_tasks.*?(?=^def answer)/import signal, threading\nDIR = "$dir"\n\n$work\n/ms or die 'the example has changed';
append_to_file("$dir/worker.py", $example);
chmod 0755, "$dir/worker.py";

sub lines_of
{
	my ($name) = @_;

	return -e "$dir/$name" ? split(/\n/, slurp_file("$dir/$name")) : ();
}

my $node = TwTasks::Cluster->create('main');

sub start_sidecar
{
	return TwTasks::Sidecar->start(
		$node, 'a',
		handlers => [
			{
				types => ['BULK'],
				worker => ["$dir/worker.py"],
				batch => 50,
				concurrency => 1000,
				stuck => 'retry',
				retry => { delay => '100ms', max_tries => 3 }
			}
		]);
}

# Tasks with these data, which gather while a first one keeps the worker busy.
sub gather
{
	my @data = @_;
	my $gate = $node->add_task('BULK', data => '"wait"');
	my @ids;

	wait_for(sub { grep { $_ eq $gate } lines_of('runs') }, 'the worker is busy');
	@ids = split /\n/, $node->value(
		"SELECT a.task_id FROM unnest(string_to_array('" . join(' ', @data) . "', ' ')) d,
			LATERAL twtasks.add_task('BULK', to_jsonb(d)) a");
	wait_for(
		sub { $node->value("SELECT count(*) FROM twtasks.tasks WHERE status = 'PROCESSING'") == @data + 1 },
		'all are grabbed');
	return @ids;
}

sub open_gate
{
	append_to_file("$dir/go", '');
	wait_for(sub { $node->value("SELECT count(*) FROM twtasks.tasks WHERE status NOT IN ('DONE', 'ERROR')") == 0 }, 'all have ended');
	unlink "$dir/go";
	return;
}

sub tries_of
{
	my @ids = @_;

	return $node->value("SELECT string_agg(DISTINCT status || ' ' || tries, ', ' ORDER BY status || ' ' || tries)
		FROM twtasks.tasks WHERE id IN ('" . join("', '", @ids) . "')");
}

my $sidecar = start_sidecar();
my @ids = gather(('good') x 99, 'bad');

open_gate();
is(tries_of(@ids), 'DONE 1, ERROR 1', 'tasks of batches end in one try');
is($node->value("SELECT string_agg(id || ': ' || error, ', ') FROM twtasks.tasks WHERE status = 'ERROR'"),
	"$ids[-1]: no such account", '... and one answer of its own is for its task alone');
is(scalar(lines_of('runs')), 101, '... each runs once');
is((sort { $b <=> $a } lines_of('lines'))[0], 50, '... the longest line has as many as "batch" says');
cmp_ok(scalar(lines_of('lines')), '<', 20, '... and lines are few');

@ids = gather(('die') x 20);
open_gate();
my %runs;
$runs{$_}++ foreach lines_of('runs');
my @answered = lines_of('answered');
my @lost = lines_of('lost');

is(tries_of(@ids), 'DONE 1, DONE 2', 'a worker that is killed in a batch has answered a part of it');
is(tries_of(@answered), 'DONE 1', '... which is done');
is_deeply([ grep { $runs{$_} != 1 } @answered ], [], '... and has run once');
is(tries_of(@lost), 'DONE 2', '... and the others run again');
is_deeply([ grep { $runs{$_} != 2 } @lost ], [], '... once');
like($node->value("SELECT error FROM twtasks.task_attempts WHERE task_id = '$lost[0]'"),
	qr/was killed|signal 9/, '... with the reason');

@ids = gather(('good') x 20);
$sidecar->crash;
$sidecar = start_sidecar();
open_gate();
is(tries_of(@ids), 'DONE 2', 'after the death of the sidecar its stuck rule is for each task of the batch');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
