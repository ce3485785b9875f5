# 059_storage_fails.pl -- a task whose data is in a file that the server cannot
# read waits, and loses no try: it runs when the storage is back.  Other tasks
# run meanwhile.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my $ledger = TwTasks::Ledger->new;
my $sidecar = TwTasks::Sidecar->prepare(
	$node, 'a',
	handlers => [
		{
			types => ['COMMAND'],
			command => $ledger->command,
			retry => { max_tries => 1 }
		}
	]);
my @good = map { $node->add_task('COMMAND') } 1 .. 3;
my $bad = $node->value(
	"SELECT task_id FROM twtasks.add_task('COMMAND',
	(SELECT jsonb_agg(gen_random_uuid()) FROM generate_series(1, 1000)))"
);

push @good, map { $node->add_task('COMMAND') } 1 .. 3;

my $file = $node->toast_file;

$node->while_stopped(
	sub {
		rename $file, "$file.away" or die "could not rename \"$file\": $!";
	});
$sidecar->run;

wait_ok(
	sub {
		@good == grep { $node->status_of($_) eq 'DONE' } @good;
	},
	'the other tasks run');
ok( $sidecar->wait_for_log(
		qr/ERROR postgres: grab: .* \(SQLSTATE 58P01\)/),
	'the log says that the data of a task cannot be read');
is($ledger->starts($bad), 0, 'the handler of the unreadable task was not started');
rename "$file.away", $file or die "could not rename \"$file\": $!";
wait_ok(sub { $node->status_of($bad) eq 'DONE' },
	'the task runs when its data is back');
is($ledger->starts($bad), 1, 'the task was started once');
is($node->value("SELECT tries FROM twtasks.tasks WHERE id = '$bad'"),
	1, 'the task is done in its first try');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
