# 059_storage_fails.pl -- a task whose data cannot be read for now has failed:
# it is tried again by its policy, and runs when the storage is back.  Those
# beside it run meanwhile.

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
			retry => { delay => '1s', max_tries => 1000 }
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
	'the others run');
ok( $sidecar->wait_for_log(
		qr/try 1 failed, next one .*: its data cannot be read: .* \(SQLSTATE 58P01\) task=\Q$bad\E/
	),
	'one whose data is out of reach has failed');
is($ledger->starts($bad), 0, 'its handler was not started');
rename "$file.away", $file or die "could not rename \"$file\": $!";
wait_ok(sub { $node->status_of($bad) eq 'DONE' },
	'it runs when its data is back');
is($ledger->starts($bad), 1, 'once');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
