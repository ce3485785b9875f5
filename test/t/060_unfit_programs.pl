# 060_unfit_programs.pl -- a program that is missing or ends at once, whatever its
# interpreter says, costs no tries; --check-config, the log, the view of warnings
# and /health say so.  A sidecar that stops gives back what waits for a process.

use strict;
use warnings FATAL => 'all';

use HTTP::Tiny;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my $python = '/usr/bin/python3';
my $says = qr/handlers\[0\]: worker exited with status 2: .*can't open file '\/nothere\.py'/;

sub health
{
	my ($port) = @_;
	my $answer = HTTP::Tiny->new(timeout => 60)->get("http://127.0.0.1:$port/health");

	return ($answer->{status}, eval { decode_json($answer->{content}) } // {});
}

sub broken
{
	return $node->value(
		'SELECT coalesce(string_agg(detail, chr(10)), \'\') FROM twtasks.warnings WHERE warning = \'broken handler\'');
}

sub unread
{
	return $node->tasks('status = \'SUBMITTED\' AND tries = 0');
}

# ---- a worker that is missing ----

my $port = PostgreSQL::Test::Cluster::get_free_port();
my @handlers = ({ types => ['MISSING'], worker => [ $python, '/nothere.py' ] });
my $sidecar = TwTasks::Sidecar->start($node, 'a', listen => "127.0.0.1:$port", handlers => \@handlers);

$node->add_task('MISSING') foreach 1 .. 4;
$sidecar->wait_for_log(qr/ERROR handler: cannot be started, its tasks wait: $says/, 'the log says so');
wait_ok(sub { broken() =~ /^node "a": $says/ }, 'the view of warnings says so');
wait_ok(
	sub {
		my ($status, $body) = health($port);

		return $status == 503 && $body->{status} =~ /^$says/ && $body->{broken} =~ /^$says/;
	},
	'/health says so');
wait_ok(sub { $node->tasks('status <> \'PROCESSING\'') == 4 }, 'its tasks go back');
is($node->tasks('tries = 0'), 4, 'no try was counted');
is(scalar(() = $sidecar->log =~ / ERROR handler: /g), 1, 'the log says it once');

my ($out, $err);

IPC::Run::run([ TwTasks::Sidecar::program(), '--config', $sidecar->{config_path}, '--check-config' ],
	'>', \$out, '2>', \$err);
like($err, qr{warning: handlers\[0\]: no file "/nothere\.py", the first argument of its worker}, '--check-config says so');
is($sidecar->stop, 0, 'the sidecar stops in order');
$node->value('TRUNCATE twtasks.task');

# ---- a stop while tasks wait for a process ----

$sidecar = TwTasks::Sidecar->start(
	$node, 'b',
	drain => '2s',
	handlers => [ { types => ['FALSE'], worker => ['/bin/false'] } ]);
$node->add_task('FALSE') foreach 1 .. 4;
wait_for(sub { $sidecar->log =~ /cannot be started/ }, 'the failed start');
$node->add_task('FALSE') foreach 1 .. 4;
is($sidecar->stop, 0, 'a sidecar whose worker ends at once stops in order');
is(unread() + $node->tasks('status = \'WAITING\' AND tries = 0'), 8, 'a stop gives its tasks back');

# A worker that takes long to start has not read its first line.
$sidecar = TwTasks::Sidecar->start(
	$node, 'c',
	drain => '2s',
	handlers => [ { types => ['SLOW'], worker => [ '/bin/sleep', '1000' ] } ]);
$node->add_task('SLOW') foreach 1 .. 4;
wait_for(sub { $node->tasks('type = \'SLOW\' AND status = \'PROCESSING\'') == 4 }, 'the grab');
is($sidecar->stop, 0, 'a sidecar whose worker does not start stops in order');
unlike($sidecar->log, qr/still running/, 'no task is left when the sidecar stops');
is($node->tasks('type = \'SLOW\' AND status = \'SUBMITTED\' AND tries = 0'), 4, 'what waited for the worker is released');

# ---- no descriptors ----

$port = PostgreSQL::Test::Cluster::get_free_port();
$sidecar = TwTasks::Sidecar->start(
	$node, 'd',
	listen => "127.0.0.1:$port",
	handlers => [
		{ types => ['HOLDS'], command => [ '/bin/sleep', '1000' ], concurrency => 1000 },
		{ types => ['NOOP'], noop => JSON::PP::true }
	]);
is((health($port))[0], 200, 'a sidecar with descriptors is well');
system('prlimit', "--pid=$sidecar->{pid}", '--nofile=60:60') == 0 or die 'could not set the limit';
$node->value("SELECT count(twtasks.add_task('HOLDS')) FROM generate_series(1, 100)");
$sidecar->wait_for_log(qr/cannot be started, its tasks wait: handlers\[0\]: .*: Too many open files/,
	'the log says that there are no descriptors');

my ($status, $body);

wait_ok(
	sub {
		($status, $body) = health($port);
		return ($body->{broken} // '') =~ /^handlers\[0\]: .*: Too many open files$/;
	},
	'/health says that there are no descriptors');
is("$status $body->{status}", '200 ok', 'other handlers work, so /health is ok');
watch_for(2);
is(scalar(() = $sidecar->log =~ /Too many open files/g), 1, 'the log says it once');
is($node->tasks('type = \'HOLDS\' AND tries > 1'), 0, 'no try of a task without a process is counted');

done_testing();
