# 070_killed_check.pl -- a program that cannot check its settings since it is killed, as for lack of
# memory, does not make a configuration wrong: systemd starts such a sidecar again.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;

use constant { BAD_CONFIG => 3, NO_RESOURCES => 4 };

my $node = TwTasks::Cluster->create('main');
my $directory = PostgreSQL::Test::Utils::tempdir();
my $http = TwTasks::Sidecar::beside('http');

TwTasks::Sidecar::copy_alone($directory);

# A twtasks-http that runs this line of shell.
sub install
{
	my ($line) = @_;

	unlink "$directory/twtasks-http";
	PostgreSQL::Test::Utils::append_to_file("$directory/twtasks-http", "#!/bin/sh\n$line\n");
	chmod oct 755, "$directory/twtasks-http";
	return;
}

# The status with which a sidecar ends that does not start, and its log.
sub refusal
{
	my ($name, $networks) = @_;
	my $sidecar = TwTasks::Sidecar->prepare(
		$node, $name,
		program => "$directory/twtasksd",
		handlers => [ { types => ['HTTP'], http => 'http://127.0.0.1:9/', networks => $networks } ]);

	$sidecar->launch;
	$sidecar->wait_for_exit;
	return ($sidecar->{status} >> 8, $sidecar->log);
}

install('kill -KILL $$');
my ($status, $log) = refusal('killed', 'any');

is($status, NO_RESOURCES, 'a check that is killed does not pass for a wrong configuration');
like($log, qr/FATAL config: \S+ handlers\[0\]: "\S+twtasks-http --check" was ended by signal 9$/m, '... and the log names the signal');

install("exec $http \"\$@\"");
($status, $log) = refusal('wrong', 'nowhere');
is($status, BAD_CONFIG, 'a setting that its program refuses makes it wrong');
like($log, qr/FATAL config: \S+ handlers\[0\]\.networks/, '... and the log names the setting');

unlink "$directory/twtasks-http";
($status) = refusal('missing', 'any');
is($status, BAD_CONFIG, 'and so does a program that is missing, which a later start would not find either');

done_testing();
