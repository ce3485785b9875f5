# 067_web.pl -- results by HTTP: twtasks-web finishes from outside what was handed
# on, each wrong request gets a clear answer, and nobody who may not gets one.

use strict;
use warnings FATAL => 'all';

use Encode ();
use HTTP::Tiny;
use IO::Socket::INET;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use POSIX ();
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;
use TwTasks::Web;

my $node = TwTasks::Cluster->create('main', conf => { 'twtasks.function_timeout' => '60s' });
my $puppet = TwTasks::Ledger::handler('puppet.py');
my $directory = PostgreSQL::Test::Utils::tempdir();
my $port = PostgreSQL::Test::Cluster::get_free_port();
my $token = 'a token that nobody guesses';
my $other_token = 'another token of that kind';
my $nobody = '00000000-0000-0000-0000-00000000ffff';

sub write_tokens
{
	my (@lines) = @_;
	my $path = "$directory/tokens";

	unlink $path;
	PostgreSQL::Test::Utils::append_to_file($path, "$_\n") foreach @lines;
	chmod oct 600, $path;
	return $path;
}

my $token_file = write_tokens($token, $other_token);
my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	handlers => [
		{ types => ['ACCEPT'], worker => [$puppet] },
		{
			types => ['SHORT'],
			worker => [$puppet],
			timeout => '10s',
			grace => '10ms'
		}
	]);
my $web = TwTasks::Web->start(
	$node, 'web',
	listen => "127.0.0.1:$port",
	token_file => $token_file);

# The answer to a request: its status, and its body as a hash.
sub ask
{
	my ($method, $path, %options) = @_;
	my %headers = (
		'Content-Type' => 'application/json',
		Authorization => "Bearer $token",
		%{ $options{headers} || {} });
	my $content =
	  ref $options{body} ? encode_json($options{body}) : $options{body};

	delete $headers{$_} foreach grep { !defined $headers{$_} } keys %headers;
	my $answer =
	  HTTP::Tiny->new(timeout => 180)
	  ->request($method, 'http://127.0.0.1:' . ($options{port} // $port) . $path,
		{ headers => \%headers, content => $content // '' });
	my $body = eval { decode_json($answer->{content}) } // {};

	return ($answer->{status}, $body, $answer);
}

sub finish
{
	my ($id, $body, %options) = @_;

	return ask('POST', "/api/tasks/$id/finish", body => $body, %options);
}

# A task that its worker has handed on.
sub accepted
{
	my ($type) = @_;
	my $id = $node->add_task($type // 'ACCEPT',
		data => '[["reply", {"result": "accepted"}]]');

	wait_for(
		sub {
			$node->tasks(
				"id = '$id' AND status = 'PROCESSING' AND incarnation IS NULL"
			) == 1;
		},
		'its acceptance');
	return $id;
}

wait_for(sub { (ask('GET', '/health'))[0] == 200 }, 'the server to listen');

# ---- health ----

my ($status, $body) = ask('GET', '/health', headers => { Authorization => undef });

is($status, 200, 'health needs no token');
is($body->{status}, 'ok', 'the health answer says ok');
is((ask('HEAD', '/health'))[0], 200, 'HEAD is answered too');

# ---- results ----

my $done = accepted();

($status, $body) = finish($done, { version => 1, result => 'done', message => 'paid' });
is($status, 200, 'a result is accepted');
is_deeply(
	$body,
	{ result => 'changed', id => $done, version => 2, status => 'DONE' },
	'the answer says what became of the task');
is($node->value("SELECT message FROM twtasks.tasks WHERE id = '$done'"),
	'paid', 'the task keeps the message');
($status, $body) = finish($done, { version => 1, result => 'done' });
is($status, 409, 'a second result is refused');
is_deeply(
	$body,
	{
		error => 'wrong_version',
		id => $done,
		version => 2,
		status => 'DONE',
		detail =>
		  'The task is DONE in version 2, the request named version 1.'
	},
	'the answer to a second result says that the task is DONE');

my %becomes = (
	delete => 'DONE',
	error => 'ERROR',
	retry => 'WAITING',
	repeat => 'WAITING');

foreach my $result (sort keys %becomes)
{
	my $id = accepted();

	($status, $body) =
	  finish($id, { version => 1, result => $result, retry_in => '1h' });
	is("$status $body->{status}", "200 $becomes{$result}", "result $result is accepted");
	next if $becomes{$result} ne 'WAITING';
	is( $node->value(
			"SELECT extract(epoch FROM next_event_time - state_time)::int FROM twtasks.tasks WHERE id = '$id'"
		),
		3600,
		'a task waits as long as the result asks');
}

# Without its own rights twtasks-web refuses no result for good.
my $payment = accepted();

$node->value('REVOKE twtasks_web FROM web');
($status, $body) = finish($payment, { version => 1, result => 'done' });
is("$status $body->{detail}", '503 The role of twtasks-web may not finish tasks; the log of twtasks-web says what helps.',
	'a result waits for a right of twtasks-web');
$web->wait_for_log(qr/this program's role may not call the extension: finish_task: .*; GRANT twtasks_web TO "web"\.$/m);
$node->value('GRANT twtasks_web TO web');

# Tasks that follow, which the role of twtasks-web may add if it is told so.
my $next = { version => 1, result => 'done', add => [ { type => 'NEXT', key => 'next' } ] };

($status, $body) = finish($payment, $next);
is("$status $body->{detail}", '400 The role of twtasks-web may not add these tasks; the log of twtasks-web says why.',
	'tasks to add need a right');
$web->wait_for_log(qr/permission denied for role "web" to add tasks/);
is($node->state_of($payment), 'PROCESSING 1', '... and without it the task stays as it was');
$node->value('GRANT twtasks_producer TO web');
($status, $body) = finish($payment, { %$next, add => [ { type => 'no good' } ] });
is("$status $body->{detail}", '400 The database cannot store this result, or add its tasks; the log of twtasks-web says why.',
	'a task that cannot be added is refused, and no text of the database is in the refusal');
$web->wait_for_log(qr/invalid type: "no good"/);
($status, $body) = finish($payment, $next);
is("$status $body->{status}", '200 DONE', 'a result with tasks to add is accepted');
is($node->tasks(q(type = 'NEXT' AND key = 'next')), 1, '... and the task is there');

my $at = accepted();

finish(
	$at,
	{
		version => 1,
		result => 'retry',
		retry_at => POSIX::strftime('%Y-%m-%dT%H:%M:%SZ', gmtime(time + 7200))
	});
is( $node->value(
		"SELECT abs(extract(epoch FROM next_event_time - state_time) - 7200) < 60 FROM twtasks.tasks WHERE id = '$at'"
	),
	't',
	'a task waits until the time that the result names');

my $short = accepted('SHORT');

wait_for(
	sub {
		$node->value(
			"SELECT deadline < clock_timestamp() FROM twtasks.tasks WHERE id = '$short'"
		) ne 'f';
	},
	'its deadline');
$node->value('SELECT twtasks_internal.recover_tasks()');
# The sidecar may be about the same, which makes a second call skip the task.
wait_ok(sub { $node->status_of($short) eq 'ERROR' }, 'the stuck rule has decided after the deadline');
($status, $body) = finish($short, { version => 1, result => 'done' });
is("$status $body->{error} $body->{status}",
	'409 wrong_version ERROR', 'a result after the deadline is refused');

# ---- wrong requests ----

my $id = accepted();

foreach my $case (
	[ 404, 'not_found', $nobody, { version => 1, result => 'done' } ],
	[ 409, 'wrong_version', $id, { version => 2, result => 'done' } ],
	[ 400, 'bad_request', 'nonsense', { version => 1, result => 'done' } ],
	[ 400, 'bad_request', "$id%27", { version => 1, result => 'done' } ],
	[ 400, 'bad_request', $id, { result => 'done' } ],
	[ 400, 'bad_request', $id, { version => '1', result => 'done' } ],
	[ 400, 'bad_request', $id, { version => 1 } ],
	[ 400, 'bad_request', $id, { version => 1, result => 'fine' } ],
	[ 400, 'bad_request', $id, { version => 1, result => 'accepted' } ],
	[ 400, 'bad_request', $id, { version => 1, result => 'cancelled' } ],
	[ 400, 'bad_request', $id, { version => 1, result => 'retry', retry_in => -1 } ],
	[ 400, 'bad_request', $id, { version => 1, result => 'done', message => 7 } ],
	[ 400, 'bad_request', $id, '[1]' ],
	[ 400, 'bad_request', $id, '{"version": 1, "result": "done"' ],
	[ 400, 'bad_request', $id, '{"version": 1, "version": 2, "result": "done"}' ],
	[ 400, 'bad_request', $id, '' ],
	[ 413, 'too_large', $id, '"' . 'x' x 300_000 . '"' ])
{
	my ($expected, $word, $task, $what) = @$case;

	($status, $body) = finish($task, $what);
	is("$status $body->{error}", "$expected $word",
		'refused: ' . substr((ref $what ? encode_json($what) : $what), 0, 60));
	ok($body->{detail}, 'the refusal says why');
}
my %right = (version => 1, result => 'done');
my @strangers = (
	[ 401, { Authorization => undef } ],
	[ 401, { Authorization => 'Bearer wrong' } ],
	[ 401, { Authorization => "Basic $token" } ],
	[ 401, { Authorization => "Bearer $token and more" } ],
	[ 403, { Origin => 'http://evil.example' } ],
	[ 403, { Origin => 'null' } ],
	[ 415, { 'Content-Type' => 'text/plain' } ],
	[ 415, { 'Content-Type' => 'application/x-www-form-urlencoded' } ]);

foreach my $case (@strangers)
{
	my ($expected, $headers) = @$case;

	($status) = finish($id, \%right, headers => $headers);
	is($status, $expected,
		"refused: " . encode_json($headers));
}
is((ask('GET', "/api/tasks/$id/finish"))[0], 405, 'another method is refused');
is((ask('POST', "/api/tasks/$id/finish/more", body => \%right))[0],
	404, 'another path is not found');
is((ask('POST', '/api/tasks//finish', body => \%right))[0],
	404, 'a path without an id is not found');
is((ask('POST', '/', body => \%right))[0], 404, 'the root path is not found');
is($node->state_of($id), 'PROCESSING 1', 'no refused request changed the task');
($status) = finish($id, \%right,
	headers => { Authorization => "Bearer $other_token", Origin => "http://127.0.0.1:$port" });
is($status, 200, 'the right request works with the other token');

# ---- characters that the database cannot store ----

foreach my $case (
	[ 'half of a pair', 'a\\ud83d', "a\x{fffd}" ],
	[ 'half of another', 'a\\udce9b', "a\x{fffd}b" ],
	[ 'a byte that is no UTF-8', "a\xe9b", "a\x{fffd}b" ],
	[ 'a NUL', 'a\\u0000b', 'a\x00b' ])
{
	my ($name, $text, $stored) = @$case;
	my $told = accepted();
	my $kept = accepted();

	is((finish($told, qq({"version": 1, "result": "error", "message": "$text"})))[0],
		200, "$name in a message harms nothing");
	is($node->value("SELECT error FROM twtasks.tasks WHERE id = '$told'"),
		Encode::encode_utf8($stored), "$name in a message is replaced");
	foreach my $data (qq("outcome": {"x": "$text"}), qq("add": [{"type": "$text"}]))
	{
		($status, $body) = finish($kept, qq({"version": 1, "result": "done", $data}));
		is($status, 400, "$name in data is refused: $data");
		like($body->{detail}, qr/^member "(outcome|add)" has /, "$name in data: the refusal says why");
	}
	is($node->state_of($kept), 'PROCESSING 1', "$name in data changes nothing");
}

# ---- a database that is away ----

my $away = accepted();
my $before_away = $web->log_position;

$node->stop('fast');
wait_ok(sub { (finish($away, \%right))[0] == 503 },
	'the answer is 503 without the database');
(undef, undef, my $answer) = finish($away, \%right);
is($answer->{headers}{'retry-after'}, 1, 'the answer says when to come again');
$web->wait_for_log(qr/results: .*; will connect again/, 'the loss', $before_away);
($status, $body) = ask('GET', '/health');
is("$status $body->{status}", '503 no database', 'the health answer is 503 at once');
$node->start;
wait_ok(sub { (finish($away, \%right))[0] == 200 }, 'the result is stored when the database is back');

# ---- clients that only hold a connection ----

my @holders = map {
	my $socket = IO::Socket::INET->new("127.0.0.1:$port");
	syswrite $socket, "POST /api/tasks/$id/finish HTTP/1.1\r\nHost: a\r\nContent-Le";
	$socket
} 1 .. 300;

close $_ foreach @holders;
wait_ok(sub { (ask('GET', '/health'))[0] == 200 },
	'silent connections do not stop later ones');
is( (ask('GET', '/health', headers => { 'X-Long' => 'x' x 100_000 }))[0],
	431, 'headers that are too long are refused');

# ---- tokens are changed ----

write_tokens('a third token of that kind');
$web->reload($web->{config});
$web->wait_for_log(qr/config: reloaded/, 'its reload');
my $rotated = accepted();

is((finish($rotated, \%right))[0], 401, 'the old token is refused after a reload');
is( (
		finish(
			$rotated, \%right,
			headers => { Authorization => 'Bearer a third token of that kind' })
	)[0],
	200,
	'the new token is accepted after a reload');
my $web_pid = $web->pid;

foreach my $where ($web->{log_path}, "/proc/$web_pid/cmdline",
	"/proc/$web_pid/environ")
{
	unlike(
		PostgreSQL::Test::Utils::slurp_file($where),
		qr/\Q$token\E|\Q$other_token\E|third token/,
		"$where holds no token");
}

# ---- the end ----

$node->value(<<'SQL');
	CREATE FUNCTION public.wait(tasks twtasks.ended_task[]) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
	BEGIN
		WHILE NOT pg_try_advisory_xact_lock(67) LOOP END LOOP;
	END $$;
	SELECT twtasks.configure_type('ACCEPT', on_end => 'public.wait');
SQL
my $last = accepted();

my $gate = $node->session;

$gate->query('BEGIN; SELECT pg_advisory_lock(67)');
my $pid = fork // die "could not fork: $!";
if (!$pid)
{
	($status) = finish(
		$last, \%right,
		headers => { Authorization => 'Bearer a third token of that kind' });
	POSIX::_exit($status == 200 ? 0 : 1);
}
wait_for(sub { $node->value('SELECT count(*) FROM pg_stat_activity WHERE application_name = \'twtasks-web results\' AND state = \'active\'') },
	'the request to wait');
$web->signal('TERM');
wait_ok(sub { (ask('GET', '/health'))[0] == 599 },
	'a server that stops takes no more requests');
$gate->close;
waitpid $pid, 0;
is($?, 0, 'a request that has begun is answered');
is($web->wait_for_exit, 0, 'the server stops in order then');
is($node->status_of($last), 'DONE', 'the result of the last request is stored');

# ---- without tokens ----

my $open_port = PostgreSQL::Test::Cluster::get_free_port();
my $taken = IO::Socket::INET->new(
	LocalAddr => '127.0.0.1',
	LocalPort => $open_port,
	Listen => 1) or die "could not listen: $!";
my $open =
  TwTasks::Web->prepare($node, 'open', listen => "localhost:$open_port")->launch;

$open->wait_for_log(qr/could not listen on localhost port $open_port: .*will try again/);
my $unheard = accepted();

close $taken;
wait_ok(
	sub {
		(ask('GET', '/health', port => $open_port))[0] == 200;
	},
	'the server listens when the port is free');
foreach my $case (
	[ 403, { Host => 'evil.example' } ],
	[ 403, { Origin => 'http://evil.example' } ],
	[ 200, {} ])
{
	my ($expected, $headers) = @$case;
	my $socket = IO::Socket::INET->new("127.0.0.1:$open_port");
	my $text = encode_json(\%right);
	my %all = (
		Host => "127.0.0.1:$open_port",
		'Content-Type' => 'application/json',
		'Content-Length' => length $text,
		Connection => 'close',
		%$headers);

	print $socket "POST /api/tasks/$unheard/finish HTTP/1.1\r\n",
	  (map { "$_: $all{$_}\r\n" } sort keys %all), "\r\n", $text;
	like(
		scalar(readline $socket),
		qr/^HTTP\/1\.1 $expected /,
		'without a token: ' . encode_json($headers) . " $expected");
}

sub complaint
{
	my (%config) = @_;
	my $path = TwTasks::Sidecar::write_config("$directory/check.yaml", \%config);
	my ($out, $err);

	IPC::Run::run([ TwTasks::Web::program(), '--config', $path, '--check-config' ],
		'>', \$out, '2>', \$err);
	return $err;
}

like(
	complaint(listen => '0.0.0.0:9180'),
	qr/listen: an address that other machines can reach needs a token_file/,
	'an address for other machines needs a token file');
unlike(complaint(listen => '0.0.0.0:9180', token_file => $token_file),
	qr/listen|token_file/, 'an address for other machines is allowed with a token file');
like(
	complaint(listen => '127.0.0.1:9180', token_file => '/nonexistent'),
	qr/token_file: could not open the file/,
	'a missing token file is refused');
write_tokens('short');
like(
	complaint(listen => '127.0.0.1:9180', token_file => $token_file),
	qr/token_file: a token must have 16 characters at least/,
	'a short token is refused');

like(
	complaint(postgres => 'dbname=app'),
	qr/listen: the key is missing/,
	'a missing address is refused');

done_testing();
