# 043_door_directory.pl -- the server makes pipes of the door only in a directory where nobody
# else can make files, nobody else can write to them, and a line in one is a hint.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Door;
use TwTasks::Wait;

my $door = TwTasks::Door->new(init => { allows_streaming => 1 });
my $node = $door->node;
my $sidecar = $door->start('a', ['TASK']);

$door->passes_ok($sidecar, 'a lone task comes through the door');
is((stat $door->pipe_of($sidecar))[2] & oct 777, oct 640, 'others can neither read the pipe nor write to it');

# ---- who decides where the server writes ----

foreach my $sql ("SET twtasks.door_directory = '/tmp'",
	"SELECT set_config('twtasks.door_directory', '/tmp', false)",
	"ALTER ROLE sidecar SET twtasks.door_directory = '/tmp'")
{
	foreach my $role ('sidecar', undef)
	{
		my $session = $node->session($role);

		like($session->try($sql), qr/cannot be changed without restarting/, ($role || 'the superuser') . " cannot: $sql");
		$session->close;
	}
}
$node->append_conf('postgresql.conf', "twtasks.door_directory = 'relative'");
$node->stop;
$node->start;
is($node->value('SHOW twtasks.door_directory'), '', 'a path that is not absolute counts as none');
$node->append_conf('postgresql.conf', "twtasks.door_directory = '" . $door->directory . "'");
$node->stop;
$node->start;
$door->passes_ok($sidecar, 'the door is open after a restart');

# ---- a forger, who would have to be the server's user ----

{
	my $hour = $node->value('SELECT now() + interval \'1 hour\'');
	my ($later, $held) = map { $node->add_task('TASK', run_after => $hour) } 1 .. 2;

	$node->value("SELECT twtasks.hold_task('$held', 0)");
	my @before = map { $node->state_of($_) } $later, $held;
	my $done = $node->add_task('TASK');
	my $unknown = '6f2c0d0a-0f5e-4a35-9f0e-0c3f7c1f2b11';

	$door->wait_until_done($done);
	open my $forged, '>', $door->pipe_of($sidecar) or die "could not open the pipe: $!";
	$forged->autoflush(1);
	foreach my $id ($later, $held, $done, $unknown)
	{
		foreach my $bucket (qw(default foreign))
		{
			print $forged "$bucket $id $_ 5 10 0 TASK\n" foreach 0 .. 3;
		}
	}
	print $forged "$_\n"
	  foreach '', ' ', 'default', 'default ', "default $done", "default $unknown 1 5 10 0 OTHER", "default $done 1 5 10 1 TASK",
	  "default\0 $done 1 5 10 0 TASK", '{}', 'x' x 5000, 'x' x 100_000;
	$door->passes_ok($sidecar, 'a lone task still comes through the door');
	is_deeply([ map { $node->state_of($_) } $later, $held ], \@before, 'forged lines changed no task');
	is(join(' ', $door->repeated), '', 'forged lines started no task a second time');
	unlike($sidecar->log, qr/no handler for type "OTHER"/, 'a type without a handler is skipped');
	close $forged;
}
is($sidecar->stop, 0, 'the sidecar stops in order');

# ---- directories that the server does not use ----

my $place = PostgreSQL::Test::Utils::tempdir();

mkdir "$place/shared" or die "could not make a directory: $!";
mkdir "$place/open"   or die "could not make a directory: $!";
mkdir "$place/closed" or die "could not make a directory: $!";
mkdir "$place/real"   or die "could not make a directory: $!";
chmod oct 770, "$place/shared";
chmod oct 757, "$place/open";
chmod oct 550, "$place/closed";
symlink "$place/real", "$place/link" or die "could not make a link: $!";
PostgreSQL::Test::Utils::append_to_file("$place/file", '');
my %faults = (
	"$place/missing" => qr/No such file or directory/,
	"$place/file" => qr/it is not a directory/,
	"$place/link" => qr/it is not a directory/,
	"$place/open" => qr/others than the server's user may write to it/,
	"$place/shared" => qr/others than the server's user may write to it/,
	"$place/closed" => qr/Permission denied/,
	'/' => qr/the server's user does not own it/);

# Whether the server refuses that directory.
sub is_refused
{
	my ($directory, $why) = @_;
	my $fault = qr/could not use twtasks\.door_directory "\Q$directory\E": $why/;
	my $log_start = -s $node->logfile;

	$node->append_conf('postgresql.conf', "twtasks.door_directory = '$directory'");
	$node->stop;
	$node->start;
	$node->value("SELECT twtasks_internal.take_types('{A}')");
	like(PostgreSQL::Test::Utils::slurp_file($node->logfile, $log_start), qr/LOG: .*$fault/,
		"the server says why it does not use $directory");
	return;
}

is_refused($_, $faults{$_}) foreach sort keys %faults;
is_deeply([ glob("$place/*/*"), glob('/door.*') ], [], 'the server makes no pipe there');

# The sidecar works without a door, and has one when the directory has been mended.
is_refused("$place/shared", $faults{"$place/shared"});
$door->{directory} = "$place/shared";
$sidecar = $door->start('b', ['TASK']);
$sidecar->wait_for_log(qr/could not open the door/, 'a sidecar without a door');
$node->add_task('TASK') foreach 1 .. 5;
$door->all_done_ok('tasks are done without the door');
$sidecar->stop;
chmod oct 750, "$place/shared";
$sidecar->run;
$door->passes_ok($sidecar, 'the door is open without a restart of the server');

# ---- a standby ----

my $standby = TwTasks::Cluster->new('standby');

$node->backup('backup');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
mkdir "$place/standby" or die "could not make a directory: $!";
$standby->append_conf('postgresql.conf', "twtasks.door_directory = '$place/standby'");
$standby->start;
$standby->value("SELECT twtasks_internal.take_types('{TASK}')");
is(join(' ', glob "$place/standby/*"), '', 'a standby makes no pipe');
is($sidecar->stop, 0, 'the sidecar of the primary stops in order');
$node->stop;
$standby->promote;
$standby->forget_session;
$door->{directory} = "$place/standby";
$door->{node} = $standby;
$sidecar = $door->start('c', ['TASK']);
$door->passes_ok($sidecar, 'the door is open after a promotion');
is($sidecar->stop, 0, 'its sidecar stops in order');
$standby->stop;

done_testing();
