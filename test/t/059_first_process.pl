# 059_first_process.pl -- as the first process of a container, the sidecar and twtasks-web
# reap the orphans of all other processes: no zombie stays.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;
use TwTasks::Web;

use constant { ORPHANS => 200, TASKS => 200 };

my @unshare = qw(unshare --user --map-current-user --pid --fork --kill-child --mount-proc);
plan skip_all => 'this user may not make namespaces' unless system(@unshare, 'true') == 0;

my $directory = PostgreSQL::Test::Utils::tempdir();
my $node = TwTasks::Cluster->create('main');

# A program that becomes the first process of a namespace, leaves orphans there, which
# exit when the FIFO of that name is opened, and goes on as twtasksd or twtasks-web.
sub first_process
{
	my ($name, $program) = @_;
	my $path = "$directory/$name";

	append_to_file("$path.py", <<"PYTHON");
import os, sys
for n in range(${\ ORPHANS }):
    pid = os.fork()
    if pid == 0:
        os.setsid()
        if os.fork() == 0:
            open("$path.fifo").close()
        os._exit(0)
    os.waitpid(pid, 0)
os.execv("$program", ["$name"] + sys.argv[1:])
PYTHON
	append_to_file($path, qq(#!/bin/sh\nexec @unshare /usr/bin/python3 "$path.py" "\$@"\n));
	chmod oct 755, $path;
	system('mkfifo', "$path.fifo") == 0 or die "mkfifo failed\n";
	return $path;
}

# Its process number, outside.
sub number_of
{
	my ($server) = @_;

	return wait_for(
		sub { (split ' ', slurp_file("/proc/$server->{pid}/task/$server->{pid}/children"))[0] },
		'the first process');
}

# How many children of that process are in one of these states.
sub children
{
	my ($pid, $states) = @_;

	return scalar grep { (eval { slurp_file($_) } // '') =~ /\) [$states] $pid / } glob '/proc/[0-9]*/stat';
}

# Lets the orphans exit, and looks for them; children of its own stay.
sub reaps_ok
{
	my ($server, $path, $who, $own) = @_;
	my $pid = number_of($server);

	cmp_ok(children($pid, 'SDR'), '>=', ORPHANS + $own, "$who has the orphans");
	open my $go, '>', "$path.fifo" or die "$path.fifo: $!";
	# It stays open for orphans that have not come to open it.
	wait_ok(sub { children($pid, 'SDRZ') == $own }, "$who has reaped each of them");
	close $go;
	return $pid;
}

sub stops_ok
{
	my ($server, $pid, $who) = @_;

	kill TERM => $pid;
	is($server->wait_for_exit, 0, "$who stops in order");
	return;
}

my $path = first_process('twtasksd', TwTasks::Sidecar::program());
my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	program => $path,
	handlers => [
		{
			types => ['LEAVES'],
			command => [ '/bin/sh', '-c', 'setsid true & setsid true & exit "$(cat)"' ],
			statuses => ['7=delete']
		}
	]);
my $pid = number_of($sidecar);

$node->value(
	"SELECT count(twtasks.add_task('LEAVES', to_jsonb(CASE WHEN n % 2 = 0 THEN 0 ELSE 7 END)))
	FROM generate_series(1, ${\ TASKS }) n");
wait_ok(sub { $node->tasks("status = 'DONE'") == TASKS / 2 && $node->tasks('true') == TASKS / 2 },
	'each task ends by the status of its handler');
reaps_ok($sidecar, $path, 'the sidecar', 0);
wait_ok(sub { $node->value('SELECT count(*) FROM twtasks.monitor_look') == 1 }, 'the sidecar has counted');
stops_ok($sidecar, $pid, 'the sidecar');

$path = first_process('twtasks-web', TwTasks::Web::program());
my $port = PostgreSQL::Test::Cluster::get_free_port();
my $tokens = TwTasks::Web::write_tokens("$directory/tokens", 'a token that nobody guesses');

# The kernel reaps for a twtasks-web that has never had a child.  So this one starts
# twtasks-notify, since no sidecar counts any more.
$node->value(q(UPDATE twtasks.monitor_look SET at = at - interval '151 s'));
my $web = TwTasks::Web->start(
	$node, 'web',
	program => $path,
	listen => "127.0.0.1:$port",
	token_file => $tokens,
	notify => { targets => [ { name => 'hook', kind => 'webhook', url => 'http://127.0.0.1:1/' } ] });
ok($web->wait_for_log(qr/twtasks-notify\[\d+\] started for/), 'twtasks-web has a child');
stops_ok($web, reaps_ok($web, $path, 'twtasks-web', 1), 'twtasks-web');

done_testing();
