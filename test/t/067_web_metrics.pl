# 067_web_metrics.pl -- what the database knows, for Prometheus: one computation
# however many ask, for those who may, and an answer without the database too.

use strict;
use warnings FATAL => 'all';

use IO::Socket::INET;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Wait;
use TwTasks::Web;

my $node = TwTasks::Cluster->create('main');
my $directory = PostgreSQL::Test::Utils::tempdir();
my $token = 'a token that nobody guesses';
my $metrics_token = 'a token for figures only';

$node->value(q(ALTER ROLE web SET log_statement = 'all'));
$node->add_task('PAY|ODD', data => '{"iban": "CANARY"}', key => 'CANARY key');
$node->value('SELECT twtasks_internal.monitor_tasks()');

sub start
{
	my ($name, %config) = @_;

	return TwTasks::Web->start($node, $name,
		listen => '127.0.0.1:' . PostgreSQL::Test::Cluster::get_free_port(), %config);
}

# The text, and the whole answer.
sub metrics
{
	my ($web, %options) = @_;
	my (undef, undef, $answer) = $web->ask('GET', '/metrics', %options);

	return ($answer->{content}, $answer);
}

# How often the database has computed them.
sub calls
{
	my @calls = PostgreSQL::Test::Utils::slurp_file($node->logfile) =~ /SELECT twtasks[.]metrics_text\(\)/g;

	return scalar @calls;
}

# ---- the figures ----

my $web = start('open');
my $begin = time;
my ($text, $answer);

wait_ok(sub { ($text, $answer) = metrics($web); $text =~ /^twtasks_database_up 1$/m }, 'the database answers');
is($answer->{status}, 200, 'the answer is 200');
is($answer->{headers}{'content-type'}, 'text/plain; version=0.0.4; charset=utf-8', 'the answer names its format');
like($text, qr/^twtasks_tasks[{]bucket="default",capped="false",status="SUBMITTED",type="PAY[|]ODD"[}] 1$/m, 'the answer has the task');
like($text, qr/^twtasks_web_info[{]version="[0-9.]+"[}] 1$/m, 'the answer has the version');
unlike($text, qr/CANARY/, 'the answer has neither data nor keys');

my ($status) = $web->ask('GET', '/nothing');
my ($posted) = $web->ask('POST', '/api/tasks/nonsense/finish', body => { version => 1, result => 'done' });

is("$status $posted", '404 400', 'two requests are refused');
($text) = metrics($web) foreach 1 .. 20;
like($text, qr/^twtasks_http_requests_total[{]route="[(]none[)]",status="4xx"[}] 1$/m, 'a request without a route is counted');
like($text, qr|^twtasks_http_requests_total[{]route="/api/tasks/[*]/finish",status="4xx"[}] 1$|m, 'a request with a route is counted');
like($text, qr/^twtasks_http_seconds_bucket[{]route="[(]none[)]",status="4xx",le="[+]Inf"[}] 1$/m, 'its time is counted');
like($text, qr/^twtasks_http_seconds_count[{]route="[(]none[)]",status="4xx"[}] 1$/m, 'the histogram has its count');
cmp_ok(calls(), '<=', 2 + (time - $begin) / 5, 'an answer of the database serves all requests of 5 seconds');

SKIP:
{
	skip 'no promtool here', 1 if !grep { -x "$_/promtool" } split /:/, $ENV{PATH};
	my $said = '';

	IPC::Run::run([ 'promtool', 'check', 'metrics' ], '<', \$text, '>&', \$said);
	is($said, '', 'promtool has nothing to say about them');
}

# ---- many ask at once ----

my $fresh = start('fresh');
my $before = calls();
my $gate = $node->session;
my @sockets;

$gate->query('BEGIN; LOCK TABLE twtasks.schedule IN ACCESS EXCLUSIVE MODE');
foreach (1 .. 10)
{
	my $socket = IO::Socket::INET->new($fresh->{config}{listen}) or die "could not connect: $!";

	print $socket "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
	push @sockets, $socket;
}
wait_for(sub { $node->value(q(SELECT count(*) FROM pg_stat_activity WHERE usename = 'web' AND wait_event_type = 'Lock')) },
	'the database to compute');
$gate->query('ROLLBACK');
my $answered = grep { local $/ = undef; readline($_) =~ /^twtasks_database_up 1\r?$/m } @sockets;
is($answered, 10, 'all get an answer');
is(calls() - $before, 1, 'all get the same answer');
$gate->close;
$fresh->stop;

# ---- a database that is away ----

$node->stop('fast');
wait_ok(sub { ($text, $answer) = metrics($web); $text =~ /^twtasks_database_up 0$/m }, 'the answer says that the database is away');
is($answer->{status}, 200, 'the answer is 200 all the same');
unlike($text, qr/^twtasks_(tasks|nodes|warnings)/m, 'figures of the database are absent');
like($text, qr/^twtasks_http_requests_total/m, 'figures of the program are there');
$node->start;
wait_ok(sub { ($text) = metrics($web); $text =~ /^twtasks_database_up 1$/m }, 'the figures come back');

# ---- who may ask ----

my $stranger = IO::Socket::INET->new($web->{config}{listen});
print $stranger "GET /metrics HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
like(scalar(readline $stranger), qr/^HTTP.1[.]1 403 /, 'another host is refused where no token is needed');
$web->stop;

my $tokens = TwTasks::Web::write_tokens("$directory/tokens", $token);
my $guarded = start('guarded', token_file => $tokens);

is((metrics($guarded))[1]{status}, 401, 'a token is needed where there are tokens');
is((metrics($guarded, token => $token))[1]{status}, 200, 'the token of the server is taken');
TwTasks::Web::write_tokens("$directory/metrics", $metrics_token);
$guarded->reload({ %{ $guarded->{config} }, metrics_token_file => "$directory/metrics" });
$guarded->wait_for_log(qr/config: reloaded/, 'its reload');
is((metrics($guarded, token => $metrics_token))[1]{status}, 200, 'the token for metrics is taken after a reload');
is((metrics($guarded, token => $token))[1]{status}, 401, 'the other token is not any more');
($status) = $guarded->ask('POST', '/api/tasks/nonsense/finish', token => $metrics_token, body => { version => 1, result => 'done' });
is($status, 401, 'the token for metrics opens no other route');

sub complaint
{
	my (%config) = @_;
	my $path = TwTasks::Sidecar::write_config("$directory/check.yaml", \%config);
	my $err = '';

	IPC::Run::run([ TwTasks::Web::program(), '--config', $path, '--check-config' ], '>', \my $out, '2>', \$err);
	return $err;
}

TwTasks::Web::write_tokens("$directory/metrics", $token);
like(complaint(listen => 'localhost:1', token_file => $tokens, metrics_token_file => "$directory/metrics"),
	qr/metrics_token_file: a token is in token_file too/, 'a token has one purpose');
TwTasks::Web::write_tokens("$directory/metrics", 'short');
like(complaint(listen => 'localhost:1', metrics_token_file => "$directory/metrics"),
	qr/metrics_token_file: a token must have 16 characters at least/, 'a short token is refused');
$guarded->stop;

done_testing();
