# 039_lying_server.pl -- a server whose answers are wrong crashes no program: the answer is
# refused or the connection dropped, and when the server tells the truth, tasks run again.

use strict;
use warnings FATAL => 'all';

use HTTP::Tiny;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ctl;
use TwTasks::Liar;
use TwTasks::Seed;
use TwTasks::Sidecar;
use TwTasks::Wait;
use TwTasks::Web;

use constant LIES => 6;

TwTasks::Seed::sow();
my $node = TwTasks::Cluster->create('main');
my $liar = TwTasks::Liar->start($node);
my $port = PostgreSQL::Test::Cluster::get_free_port();
my %handlers = (
	noop => { types => ['NOOP'], noop => \1 },
	sql => { types => ['SQL'], sql => 'app.effect' },
	command => { types => ['COMMAND'], command => ['/bin/true'] });

$node->create_effect;
my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	postgres => $liar->connstr . ' user=sidecar',
	handlers => [ @handlers{qw(noop sql command)} ]);
my $web = TwTasks::Web->start($node, 'web', postgres => $liar->connstr . ' user=web', listen => "127.0.0.1:$port");

sub request
{
	my ($method, $path, $content) = @_;

	return HTTP::Tiny->new(timeout => 60)->request($method, "http://127.0.0.1:$port$path",
		{ headers => { 'Content-Type' => 'application/json' }, content => $content });
}

# Makes each program ask something.
sub make_them_ask
{
	my $id = "01a1f85d-bc20-7ca3-a25e-5df99ce4a320";

	$node->add_task($_) foreach qw(NOOP SQL COMMAND);
	request(GET => '/metrics');
	request(POST => "/api/tasks/$id/finish", '{"version": 1, "result": "done"}');
	return;
}

# A program may give up in order; then it is started again.
sub no_crash_ok
{
	my ($program, $name) = @_;

	return pass($name) unless $program->has_exited;
	is($program->{status} & 127, 0, $name) or diag($program->log);
	$liar->lie(0, 'nothing');
	$program->run;
	return;
}

# The same for one that had a lie before, and gives up a little later.
sub revive
{
	foreach my $program (grep { $_->has_exited } $sidecar, $web)
	{
		die "$program->{name} has crashed\n" if $program->{status} & 127;
		$program->run;
	}
	return 1;
}

foreach my $kind (TwTasks::Liar::lies())
{
	my $from = $liar->lie(2, $kind);

	wait_ok(
		sub {
			make_them_ask();
			$liar->told($from) >= LIES || grep { $_->has_exited } $sidecar, $web;
		},
		"$kind: there were lies");
	no_crash_ok($sidecar, "$kind: the sidecar does not crash");
	no_crash_ok($web, "$kind: twtasks-web does not crash");
	$liar->lie(0, 'nothing');
	my $id = $node->add_task('NOOP');

	wait_ok(sub { revive() && $node->status_of($id) eq 'DONE' }, "$kind: tasks run again");
	wait_ok(sub { revive() && request(GET => '/health')->{status} == 200 }, "$kind: twtasks-web is well again");
}
is($_->stop, 0, "$_->{name} stops in order") foreach $web, $sidecar;
done_testing();
