# 070_stuck_reload.pl -- a reload that hangs, at a file or in the check of a program,
# stops neither sidecar nor twtasks-web: tasks go on, the node lives, and the log,
# /health and twtasks.warnings say what is stuck or was refused.

use strict;
use warnings FATAL => 'all';

use Cwd qw(abs_path);
use File::Basename;
use HTTP::Tiny;
use JSON::PP;
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;
use TwTasks::Web;

my $node = TwTasks::Cluster->create('main');
my $ledger = TwTasks::Ledger->new;
my $directory = PostgreSQL::Test::Utils::tempdir();
my $stuck = qr/a reload is stuck: a file, a name look-up or the check of a program does not answer/;

sub flag
{
	my ($name) = @_;

	PostgreSQL::Test::Utils::append_to_file("$directory/$name", '');
	return "$directory/$name";
}

# A process that hangs has written a line into the flag.
sub wait_until_hung
{
	my ($name) = @_;

	wait_for(sub { -s "$directory/$name" }, "$name to hang");
	return;
}

# One check hangs for each flag: on a slow machine it is killed before the test goes
# on, and the next check must not hang then.
sub wait_until_check_hung
{
	wait_until_hung('check.taken');
	my ($pid) = split /\n/, PostgreSQL::Test::Utils::slurp_file("$directory/check.taken");

	unlink "$directory/check.taken";
	return $pid;
}

# ---- programs ----

# twtasksd beside a twtasks-http whose check hangs if it can take a flag.
sub install_copy
{
	my $http = TwTasks::Sidecar::beside('http');

	mkdir "$directory/bin";
	TwTasks::Sidecar::copy_alone("$directory/bin");
	PostgreSQL::Test::Utils::append_to_file(
		"$directory/bin/twtasks-http",
		join("\n",
			'#!/bin/sh',
			"[ \"\$1\" = --check ] && mv $directory/check $directory/check.taken 2>/dev/null || exec $http \"\$@\"",
			"echo \$\$ >>$directory/check.taken",
			'exec tail -f /dev/null',
			''));
	chmod oct 755, "$directory/bin/twtasks-http";
	return "$directory/bin/twtasksd";
}

my $shim = "$directory/hang_at.so";
my $source = abs_path(dirname(__FILE__) . '/../handlers/hang_at.c');

is(system('cc', '-shared', '-fPIC', '-o', $shim, $source, '-ldl'), 0, 'the shim is built');

# Flags by the path at which a process hangs.
sub hanging_env
{
	my (%flags) = @_;

	return { LD_PRELOAD => $shim, HANG_AT => join(' ', map { "$_ $directory/$flags{$_}" } sort keys %flags) };
}

my $secrets = TwTasks::Web::write_tokens("$directory/secrets", 'a secret of the signatures');
my %http = (types => ['HTTP'], http => 'http://127.0.0.1:9/', networks => 'any', secret_file => $secrets);

# A node that stands still for as long as a check may take would be gone.
sub prepare
{
	my ($name, $type, %config) = @_;

	return TwTasks::Sidecar->prepare(
		$node, $name,
		lease => '15s',
		buckets => [$name],
		listen => '127.0.0.1:' . PostgreSQL::Test::Cluster::get_free_port(),
		handlers => [ \%http, { types => [$type], command => $ledger->command($type), concurrency => 10 } ],
		%config);
}

my $checked = prepare('checked', 'CHECKED', program => install_copy())->run;
my $mounted = prepare('mounted', 'MOUNTED');

$mounted->{env} = hanging_env($mounted->{config_path} => 'mount', $mounted->{config}{handlers}[1]{command}[0] => 'program');
$mounted->run;

my $token = 'a token that nobody guesses';
my $tokens = TwTasks::Web::write_tokens("$directory/tokens", $token);
my $web = TwTasks::Web->start(
	$node, 'web',
	listen => '127.0.0.1:' . PostgreSQL::Test::Cluster::get_free_port(),
	token_file => $tokens,
	env => hanging_env($tokens => 'web'));

# ---- what is said ----

sub health
{
	my ($sidecar) = @_;
	my $answer = HTTP::Tiny->new(timeout => 60)->get("http://$sidecar->{config}{listen}/health");

	return $answer->{status} == 200 ? decode_json($answer->{content})->{config} // 'in force' : "status $answer->{status}";
}

sub warnings_of
{
	my ($sidecar) = @_;

	return $node->value("SELECT coalesce(string_agg(detail, chr(10)), 'none') FROM twtasks.warnings
		WHERE warning = 'not reloaded' AND detail LIKE 'node \"$sidecar->{name}\": %'");
}

sub says
{
	my ($sidecar, $trouble) = @_;

	return health($sidecar) =~ $trouble && warnings_of($sidecar) =~ $trouble;
}

sub says_ok
{
	my ($sidecar, $trouble, $name) = @_;

	wait_ok(sub { says($sidecar, $trouble) }, $name);
	return;
}

sub in_force_ok
{
	my ($sidecar, $name) = @_;

	wait_ok(sub { health($sidecar) eq 'in force' && warnings_of($sidecar) eq 'none' }, $name);
	return;
}

sub add
{
	my ($sidecar) = @_;

	return $node->add_task(uc $sidecar->{name}, bucket => $sidecar->{name});
}

sub works_ok
{
	my ($sidecar, $name) = @_;
	my $done = "status = 'DONE' AND type = '" . uc($sidecar->{name}) . "'";
	my $before = $node->tasks($done);
	my $id = add($sidecar);

	wait_for(sub { $ledger->starts($id) }, "start of a task of $sidecar->{name}");
	$ledger->release(uc $sidecar->{name}, 1);
	wait_ok(sub { $node->tasks($done) > $before }, $name);
	return;
}

# ---- FIFOs, which nobody writes ----

my $position = $checked->log_position;

unlink $secrets;
POSIX::mkfifo($secrets, oct 600) or die "could not make a FIFO: $!";
$checked->signal('HUP');
$checked->wait_for_log(qr/not reloaded: .*secret_file: .*not a regular file/, 'the refusal', $position);
says_ok($checked, qr/the configuration file was refused/, 'a reload is refused if a secret is a FIFO');
unlink $secrets;
TwTasks::Web::write_tokens($secrets, 'a secret of the signatures');
$checked->signal('HUP');
in_force_ok($checked, 'a reload that succeeds ends the warning');

$position = $mounted->log_position;
unlink $mounted->{config_path};
POSIX::mkfifo($mounted->{config_path}, oct 600) or die "could not make a FIFO: $!";
$mounted->signal('HUP');
$mounted->wait_for_log(qr/not reloaded: .*not a regular file/, 'the refusal', $position);
says_ok($mounted, qr/the configuration file was refused/, 'a reload is refused if the file is a FIFO');
unlink $mounted->{config_path};
$mounted->reload($mounted->{config});
in_force_ok($mounted, 'a right file ends the warning');

# ---- reloads that hang ----

my %running = map { $_->{name} => add($_) } $checked, $mounted;

wait_for(sub { $ledger->starts($_) }, 'start') foreach values %running;
my @positions = map { $_->log_position } $mounted, $web;

flag($_) foreach qw(mount web);
$_->signal('HUP') foreach $mounted, $web;
wait_until_hung($_) foreach qw(mount web);

my $killed = qr/not reloaded: .*twtasks-http --check" did not end within 20 seconds/;
my $check;

# Soon the check is killed: a slow machine may look too late.
sub is_seen_stuck
{
	$position = $checked->log_position;
	flag('check');
	$checked->signal('HUP');
	$check = wait_until_check_hung();
	$checked->signal('HUP');
	return wait_for(
		sub {
			return 'stuck' if $checked->log($position) =~ /reloads again after the reload that is under way/ && says($checked, $stuck);
			return $checked->log($position) =~ $killed && 'killed';
		},
		'the check to be stuck or killed') eq 'stuck';
}

once_ok(\&is_seen_stuck, 'the check of a program is stuck');
$checked->wait_for_log($stuck, 'the log', $position);
$mounted->wait_for_log($stuck, 'the log', $positions[0]);
says_ok($mounted, $stuck, 'the opening of the file is stuck');
$web->wait_for_log($stuck, 'the log', $positions[1]);
is(($web->ask('GET', '/health'))[0], 200, 'twtasks-web answers while its reload is stuck');
works_ok($mounted, 'tasks run while the opening of the file hangs');

$checked->wait_for_log($killed, 'the refusal', $position);
ok(!TwTasks::Sidecar::is_running($check), 'a check that hangs is killed');
$checked->wait_for_log(qr/INFO  config: reloaded/, 'the second reload', $position);
in_force_ok($checked, 'the second HUP is obeyed after the reload that hung');
works_ok($checked, 'tasks run after a check that hung');

unlink "$directory/$_" foreach qw(mount web);
$mounted->wait_for_log(qr/INFO  config: reloaded/, 'the late answer', $positions[0]);
in_force_ok($mounted, 'a reload is applied when the file answers');
$web->wait_for_log(qr/INFO  config: reloaded/, 'the late answer', $positions[1]);

$ledger->release(uc $_->{name}, 2) foreach $checked, $mounted;
wait_ok(sub { $node->tasks("status NOT IN ('DONE', 'ERROR')") == 0 }, 'what ran meanwhile ends');
is($node->tasks("status = 'ERROR'") + grep({ $ledger->starts($_) != 1 } values %running), 0,
	'no task that ran was taken away from its node');
is($node->value('SELECT count(*) FROM twtasks.nodes'), 2, 'no node was gone');

$position = $mounted->log_position;
flag('program');
$mounted->signal('HUP');
wait_until_hung('program');
$mounted->wait_for_log(qr/INFO  config: reloaded/, 'the reload', $position);
works_ok($mounted, 'tasks run while the look for a program hangs after a reload');
unlink "$directory/program";

# ---- told to stop meanwhile ----

flag($_) foreach qw(check mount web);
$_->signal('HUP') foreach $checked, $mounted, $web;
wait_until_hung($_) foreach qw(mount web);
$check = wait_until_check_hung();
is($_->stop, 0, "$_->{name} stops in order while its reload hangs") foreach $checked, $mounted, $web;
wait_ok(sub { !TwTasks::Sidecar::is_running($check) }, 'the check that hangs ends with its sidecar');

done_testing();
