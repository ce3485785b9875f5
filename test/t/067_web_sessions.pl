# 067_web_sessions.pl -- a result that has to wait in the database holds up no
# other result: a task that somebody's transaction has locked, a backend that is
# frozen.

use strict;
use warnings FATAL => 'all';

use IO::Select;
use IO::Socket::INET;
use JSON::PP;
use List::Util qw(uniq);
use PostgreSQL::Test::Cluster;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;
use TwTasks::Web;

# A report waits much less for its task than functions of users may take.
my $node = TwTasks::Cluster->create('main', conf => { 'twtasks.function_timeout' => '60s' });
my $port = PostgreSQL::Test::Cluster::get_free_port();
my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	handlers => [ { types => ['ACCEPT'], worker => [ TwTasks::Ledger::handler('puppet.py') ], concurrency => 50 } ]);
my $web = TwTasks::Web->start($node, 'web', listen => "127.0.0.1:$port");
my %done = (version => 1, result => 'done');

# Tasks that their worker has handed on.
sub accepted
{
	my ($n) = @_;
	my @ids = map { $node->add_task('ACCEPT', data => '[["reply", {"result": "accepted"}]]') } 1 .. $n;
	my $list = join ', ', map { "'$_'" } @ids;

	wait_for(
		sub { $node->tasks("id IN ($list) AND status = 'PROCESSING' AND incarnation IS NULL") == $n },
		'tasks that are accepted');
	return @ids;
}

sub finish
{
	my ($id) = @_;

	return $web->ask('POST', "/api/tasks/$id/finish", body => \%done);
}

# Sends reports on connections of their own; returns these.
sub send_reports
{
	my (@ids) = @_;
	my $text = encode_json(\%done);

	return map {
		my $socket = IO::Socket::INET->new("127.0.0.1:$port") or die "could not connect: $!";

		print $socket "POST /api/tasks/$_/finish HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n",
		  "Content-Type: application/json\r\nContent-Length: ", length $text, "\r\n\r\n$text";
		$socket
	} @ids;
}

sub statuses
{
	return map { join('', readline $_) =~ /^HTTP\/1.1 (\d+)/ ? $1 : 'none' } @_;
}

sub backends
{
	return split /\n/,
	  $node->value("SELECT pid FROM pg_stat_activity WHERE application_name = 'twtasks-web results' ORDER BY backend_start");
}

# ---- an open transaction ----

my @locked = accepted(5);
my @free = accepted(40);
my $operator = $node->session;

$operator->query(
	'BEGIN; SELECT twtasks.cancel_task(id, 1) FROM twtasks.tasks WHERE id IN ('
	  . join(', ', map { "'$_'" } @locked) . ')');
my @waiting;

# A report waits for a second: the first may be refused before the last one waits.
wait_for(
	sub {
		@waiting = () if @waiting && IO::Select->new(@waiting)->can_read(0) && statuses(@waiting);
		@waiting = send_reports(@locked) if !@waiting;
		return $node->waits_for_lock('results', 'twtasks-web') == 5;
	},
	'reports that wait');
is_deeply([ uniq statuses(send_reports(@free)) ], [200], 'results of other tasks are stored meanwhile');
is(($web->ask('GET', '/health'))[0], 200, 'the health is right meanwhile');
is_deeply([ uniq statuses(@waiting) ], [503], 'a report about a locked task is refused');
my ($status, $body, $answer) = finish($locked[0]);

is("$status $body->{error}", '503 unavailable', 'the next one too');
like($body->{detail}, qr/holds a lock.*nothing has changed/, 'the refusal says why');
is($answer->{headers}{'retry-after'}, 1, 'the refusal says when to come again');
cmp_ok(scalar(backends()), '<=', 8, 'there are no more sessions than there may be');
$operator->query('ROLLBACK');
is_deeply([ uniq map { (finish($_))[0] } @locked ], [200], 'the results are stored when the transaction has ended');

# ---- a frozen backend ----

wait_for(sub { backends() == 1 }, 'sessions to rest');
my ($frozen) = backends();
my ($unknown, @others) = accepted(20);

kill STOP => $frozen;
my ($silent) = send_reports($unknown);

is_deeply([ uniq statuses(send_reports(@others)) ], [200], 'results are stored over other sessions');
is(($web->ask('GET', '/health'))[0], 200, 'the health is right at first');
wait_ok(
	sub {
		($status, $body) = $web->ask('GET', '/health');
		return "$status $body->{status}" eq '503 the database does not answer';
	},
	'the health names a call without an answer');
$answer = join '', readline $silent;
like($answer, qr/^HTTP\/1.1 503 .*Retry-After: 1.*whether the result was stored is not known/s,
	'a report without an answer is told so');
$web->wait_for_log(qr/results: no answer to "finish_task" .*its session is given up \(backend $frozen\)/);
wait_ok(sub { ($web->ask('GET', '/health'))[0] == 200 }, 'the health is right again');
($status) = finish($unknown);
like($status, qr/^(200|503)$/, 'the same report is safe');
kill CONT => $frozen;
wait_ok(sub { (finish($unknown))[0] =~ /^(200|409)$/ }, 'the report is answered when the backend is gone');
is($node->state_of($unknown), 'DONE 2', 'the task is done once');
is($web->stop, 0, 'the server stops in order');

done_testing();
