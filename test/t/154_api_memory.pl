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
use constant FRESH => 2;				# seconds: see cache_us of the route

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
	my ($person) = @_;
	my $text = "GET /api/v1/overview HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
	  . "Authorization: Bearer $web->{api_tokens}{$person}\r\n\r\n";
	my @sockets = map { IO::Socket::INET->new($web->{config}{listen}) or die "could not connect: $!" } 1 .. VIEWERS;

	print $_ $text foreach @sockets;
	return map { join '', readline $_ } @sockets;
}

# ---- many viewers ----

my $began = time;
my @answers = ask_at_once('vera');

push @answers, ask_at_once('otto');
my $took = time - $began;

is(scalar(grep { /^HTTP\/1.1 200 / } @answers), 2 * VIEWERS, 'all have an answer');
cmp_ok(scalar(uniq map { s/^.*?\r\n\r\n//sr } @answers), '<=', 1 + $took / FRESH, '... the same one');
cmp_ok(figure('computed_total'), '<=', 1 + $took / FRESH, '... which was computed once');
cmp_ok(calls(), '<=', 1 + $took / FRESH, '... by the statements of one viewer');
cmp_ok(figure('hits_total') + figure('joined_total') + figure('computed_total'), '>=', 2 * VIEWERS, '... the others had it from memory');

# ---- versions ----

my (undef, undef, $answer) = $web->call('vera', 'GET', '/overview');
my ($status) = $web->call('vera', 'GET', '/overview', headers => { 'If-None-Match' => $answer->{headers}{etag} });

like($answer->{headers}{etag}, qr/^"[0-9a-f]{16}"$/, 'an answer has a version');
like($status, qr/^(?:304|200)$/, '... which a client can send back');
is($answer->{headers}{'cache-control'}, 'private, no-cache', '... and no cache in between keeps it');

# ---- problems ----

# Readers wait for the lock, and then for no longer than their time limit.
my $locker = $node->session;
my $locked;

$locker->query('BEGIN; LOCK TABLE twtasks.monitor_type IN ACCESS EXCLUSIVE MODE');
wait_ok(
	sub { ($status, my $body) = $web->call('vera', 'GET', '/overview'); $status == 503 },
	'no answer while the tables are locked');
$locker->query('COMMIT');
wait_ok(sub { ($web->call('vera', 'GET', '/overview'))[0] == 200 }, '... and one afterwards, since problems are not kept');
cmp_ok(figure('bytes'), '>', 0, 'the memory is counted');

# ---- the database goes away ----

my $at = $web->log_position;

$web->call('vera', 'GET', '/overview');
$node->stop('immediate');
$web->wait_for_log(qr/postgres: read: /, 'the end of the session', $at);
is(($web->call('vera', 'GET', '/overview'))[0], 503, 'no answer from memory when the database has stopped');

done_testing();
