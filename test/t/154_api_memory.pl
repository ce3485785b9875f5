# 154_api_memory.pl -- fifty people who watch a page cost the database what one
# costs: one computation serves all of them, and problems are not kept.

use strict;
use warnings FATAL => 'all';

use IO::Socket::INET;
use List::Util qw(uniq);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);
use TwTasks::Api;
use TwTasks::Cluster;
use TwTasks::Wait;

use constant VIEWERS => 50;
use constant SOME => 20;
use constant FRESH => 1.5;			# seconds: see cache_us of the route
use constant FRESH_LIST => 2;

my $node = TwTasks::Cluster->create('main', conf => { log_statement => 'all' });
my $web = TwTasks::Api->start($node, 'web', connections_per_address => 100);

$node->add_task('WATCHED');

# Calls of sessions that read, as the server logged them: each takes a role first.
sub calls
{
	my @calls = PostgreSQL::Test::Utils::slurp_file($node->logfile) =~ / twtasks-web read LOG:  execute <unnamed>: SELECT pg_catalog[.]set_config\('role'/g;

	return scalar @calls;
}

sub figure
{
	my ($name) = @_;
	my (undef, undef, $answer) = $web->ask('GET', '/metrics');

	return $answer->{content} =~ /^twtasks_web_memory_$name (\d+)$/m ? $1 : die "no figure $name";
}

# Sends the same request on many connections, and returns the answers.
sub ask_at_once
{
	my ($person, $path, $n) = @_;
	my $text = "GET /api/v1$path HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
	  . "Authorization: Bearer $web->{api_tokens}{$person}\r\n\r\n";
	my @sockets = map { IO::Socket::INET->new($web->{config}{listen}) or die "could not connect: $!" } 1 .. $n;

	print $_ $text foreach @sockets;
	return map { join '', readline $_ } @sockets;
}

# ---- many viewers ----

my $began = time;
my @answers = ask_at_once('vera', '/overview', VIEWERS);

push @answers, ask_at_once('otto', '/overview', VIEWERS);
my $took = time - $began;

is(scalar(grep { /^HTTP\/1.1 200 / } @answers), 2 * VIEWERS, 'all have an answer');
cmp_ok(scalar(uniq map { s/^.*?\r\n\r\n//sr } @answers), '<=', 1 + $took / FRESH, '... the same one');
cmp_ok(figure('computed_total'), '<=', 1 + $took / FRESH, '... which was computed once');
cmp_ok(calls(), '<=', 1 + $took / FRESH, '... by the statements of one viewer');
cmp_ok(figure('hits_total') + figure('joined_total') + figure('computed_total'), '>=', 2 * VIEWERS, '... the others had it from memory');

# ---- all that pages ask in intervals ----

my $id = $node->add_task('OWN', run_after => '2100-01-01');
my $paths = ($web->call(undef, 'GET', '/openapi.json'))[1]{paths};
my %kept = map { $_ => $paths->{$_}{get}{'x-seconds'} } grep { $paths->{$_}{get} } keys %$paths;

is_deeply([ sort grep { !$kept{$_} } keys %kept ], [ '/me', '/stream' ], 'all answers but those of one person are kept');

foreach my $path ('/tasks?type=OWN', "/tasks/$id", "/tasks/$id/why", "/tasks/$id/life", "/tasks/$id/attempts", '/nodes', '/queues', '/buckets',
	'/limits', '/policies', '/pauses', '/schedules', '/listeners', '/incidents', '/silences', '/audit', '/payload-reads', '/unknown')
{
	my ($before, $since) = (calls(), time);

	is(scalar(grep { /^HTTP\/1.1 200 / } ask_at_once('vera', $path, SOME)), SOME, "many ask for $path");
	cmp_ok(calls() - $before, '<=', 1 + (time - $since) / FRESH_LIST, '... and cost the database what one costs');
}

# ---- changes ----

# The version of the task, perhaps from memory.
sub version
{
	my ($person) = @_;

	return ($web->call($person, 'GET', "/tasks/$id", memory => 1))[1]{version};
}

foreach my $action ('hold', 'release', 'hold', 'release')
{
	my $version = version('vera');

	is(($web->call('otto', 'POST', "/tasks/$id/$action", body => { version => $version, reason => 'test' }))[0], 200, "$action");
	isnt(version('otto'), $version, '... and who made the change sees it');
	isnt(version('vera'), $version, '... as others do');
}
$node->value("SELECT twtasks.hold_task('$id', version, 'test') FROM twtasks.task WHERE id = '$id'");
is(($web->call('vera', 'GET', "/tasks/$id"))[1]{status}, 'HELD', 'a client that wants an answer of now gets it');

# ---- versions ----

my (undef, undef, $answer) = $web->call('vera', 'GET', '/overview', memory => 1);
my ($status) = $web->call('vera', 'GET', '/overview', memory => 1, headers => { 'If-None-Match' => $answer->{headers}{etag} });

like($answer->{headers}{etag}, qr/^"[0-9a-f]{16}"$/, 'an answer has a version');
like($status, qr/^(?:304|200)$/, '... which a client can send back');
is($answer->{headers}{'cache-control'}, 'private, no-cache', '... and no cache in between keeps it');

# ---- problems ----

# Readers wait for the lock, and then for no longer than their time limit.
my $locker = $node->session;
my $locked;

$locker->query('BEGIN; LOCK TABLE twtasks.monitor_type IN ACCESS EXCLUSIVE MODE');
wait_ok(
	sub { ($status, my $body) = $web->call('vera', 'GET', '/overview', memory => 1); $status == 503 },
	'no answer while the tables are locked');
$locker->query('COMMIT');
wait_ok(sub { ($web->call('vera', 'GET', '/overview', memory => 1))[0] == 200 }, '... and one afterwards, since problems are not kept');
cmp_ok(figure('bytes'), '>', 0, 'the memory is counted');

# ---- the database goes away ----

my $at = $web->log_position;

$web->call('vera', 'GET', '/overview', memory => 1);
$node->stop('immediate');
$web->wait_for_log(qr/postgres: read: /, 'the end of the session', $at);
is(($web->call('vera', 'GET', '/overview', memory => 1))[0], 503, 'no answer from memory when the database has stopped');

done_testing();
