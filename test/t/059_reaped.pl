# 059_reaped.pl -- a sidecar that the kernel gives orphans, as it does to the first process
# of a container, reaps them: no zombie stays, and each task ends as its handler did.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;

use constant TASKS => 50;

my $node = TwTasks::Cluster->create('main');
my $subreaper = PostgreSQL::Test::Utils::tempdir() . '/subreaper';
my $program = TwTasks::Sidecar::program();

# A subreaper gets the same orphans and signals as process 1, and needs no rights.
append_to_file($subreaper, <<"PYTHON");
#!/usr/bin/env python3
import ctypes, os, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
os.execv("$program", ["twtasksd"] + sys.argv[1:])
PYTHON
chmod oct 755, $subreaper;

my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	program => $subreaper,
	handlers => [
		{
			types => ['LEAVES'],
			command => [ '/bin/sh', '-c', 'setsid true & setsid true & exit "$(cat)"' ],
			statuses => ['7=delete']
		}
	]);

sub zombies
{
	my $n = 0;

	foreach my $path (glob '/proc/[0-9]*/stat')
	{
		open my $file, '<', $path or next;
		$n++ if (<$file> // '') =~ /\) Z $sidecar->{pid} /;
		close $file;
	}
	return $n;
}

$node->value(
	"SELECT count(twtasks.add_task('LEAVES', to_jsonb(CASE WHEN n % 2 = 0 THEN 0 ELSE 7 END)))
	FROM generate_series(1, ${\ TASKS}) n");
wait_ok(sub { $node->tasks("status = 'DONE'") == TASKS / 2 && $node->tasks('true') == TASKS / 2 },
	'each task ends by the status of its handler');
wait_ok(sub { zombies() == 0 }, 'no zombie stays');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
