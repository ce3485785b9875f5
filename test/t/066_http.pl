# 066_http.pl -- tasks as HTTP requests: what is sent, what each answer leads
# to, and that a server which misbehaves harms nobody but its own task.

use strict;
use warnings FATAL => 'all';

use Digest::SHA qw(hmac_sha256_base64);
use JSON::PP;
use MIME::Base64 qw(decode_base64);
use PostgreSQL::Test::Utils;
use POSIX ();
use Test::More;
use TwTasks::Cluster;
use TwTasks::HttpServer;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my $server = TwTasks::HttpServer->start;
my $secure = TwTasks::HttpServer->start(tls => '127.0.0.1');
my $closed = TwTasks::HttpServer->start;
my $directory = PostgreSQL::Test::Utils::tempdir();
my $secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
my $other_secret = 'a secret as it is written';
my $token = 'Bearer very-secret-token';

$closed->stop;

sub write_secret
{
	my ($name, @lines) = @_;
	my $path = "$directory/$name";

	unlink $path;
	PostgreSQL::Test::Utils::append_to_file($path, "$_\n") foreach @lines;
	chmod oct 600, $path;
	return $path;
}

my $secret_file = write_secret('secret', $secret, $other_secret);
my $headers_file =
  write_secret('headers', "Authorization: $token", 'X-Api-Version: 7');

sub handler
{
	my ($type, $url, %options) = @_;

	return {
		types => [$type],
		http => $url,
		retry => { delay => '1h', max_tries => 5 },
		%options
	};
}

my @handlers = (
	handler(
		'HTTP', $server->url('/hook'),
		secret_file => $secret_file,
		headers_file => $headers_file),
	handler('LATE', $server->url, timeout => '3s'),
	handler('SMALL', $server->url, max_output => '20B'),
	handler(
		'MAPPED', $server->url,
		statuses => [ '404=done', '4xx=error', '202=accepted', '503=failure' ]),
	handler(
		'CHOOSE', $server->url,
		headers_file => $headers_file,
		hosts => [ 'http://localhost:' . $server->port, 'good.example' ]),
	handler(
		'CHOOSE_ANY', $server->url,
		headers_file => $headers_file,
		networks => 'any',
		hosts => [ 'http://localhost:' . $server->port ]),
	handler('FIXED', $server->url),
	handler('TLS', $secure->url, ca_file => $secure->certificate),
	handler('TLS_UNTRUSTED', $secure->url),
	handler(
		'TLS_NAME', $secure->url('/', 'localhost'),
		ca_file => $secure->certificate),
	handler('TLS_PLAIN', 'https://127.0.0.1:' . $server->port),
	handler('REFUSED', $closed->url),
	handler('NOWHERE', 'http://nowhere.invalid/'),
	handler('MANY', $server->url, concurrency => 20));

my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	log => { level => 'debug' },
	env => {
		http_proxy => 'http://127.0.0.1:1',
		https_proxy => 'http://127.0.0.1:1',
		ALL_PROXY => 'http://127.0.0.1:1'
	},
	handlers => \@handlers);

sub add
{
	my ($type, %orders) = @_;

	return $node->add_task($type, data => encode_json(\%orders));
}

sub error_of
{
	my ($id) = @_;

	return $node->value(
		"SELECT coalesce(string_agg(error, ''), '')
		FROM twtasks.tasks WHERE id = '$id'");
}

sub check
{
	my ($id, $state, $message, $what) = @_;

	wait_ok(sub { $node->state_of($id) eq $state }, "$what: the task is $state");
	return like(error_of($id), $message, "$what: the message is right");
}

# Seconds from its last change until the task's next try.
sub delay_of
{
	my ($id) = @_;

	return $node->value(
		"SELECT round(extract(epoch FROM next_event_time - state_time))
		FROM twtasks.tasks WHERE id = '$id'");
}

# ---- what is sent ----

my $first = $node->add_task(
	'HTTP',
	data => '{"body": "fine", "a": "ä"}',
	sub_type => 'a b: 7%',
	context =>
	  '{"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"tracestate": "v=1", "request_id": "r-17", "http_url": "http://127.0.0.1:1/"}'
);

check($first, 'DONE 2', qr/^$/, 'a request that is answered');
my ($request, @more) = $server->requests($first);
is(scalar @more, 0, 'an answered request was sent once');
is("$request->{method} $request->{target}",
	'POST /hook', 'the request goes to the URL of the handler');
is_deeply(
	decode_json($request->{body}),
	{ a => "\x{e4}", body => 'fine' },
	'the request has the task\'s data');
my %headers = %{ $request->{headers} };
my %expected = (
	'content-type' => 'application/json',
	'idempotency-key' => "$first:1",
	'twtasks-id' => $first,
	'twtasks-version' => 1,
	'twtasks-type' => 'HTTP',
	'twtasks-sub-type' => 'a%20b:%207%25',
	'twtasks-tries' => 1,
	traceparent => '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
	tracestate => 'v=1',
	'x-request-id' => 'r-17',
	'webhook-id' => $first,
	authorization => $token,
	'x-api-version' => 7);

is_deeply({ map { $_ => $headers{$_} } keys %expected },
	\%expected, 'the headers say which task it is');
like($headers{'twtasks-deadline'},
	qr/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/, 'a header has the deadline');

# As somebody who receives it would check it.
sub signatures
{
	my ($sent, @keys) = @_;
	my $text = join '.', $sent->{headers}{'webhook-id'},
	  $sent->{headers}{'webhook-timestamp'}, $sent->{body};

	return join ' ', map {
		my $digest = hmac_sha256_base64($text, $_);
		$digest .= '=' while length($digest) % 4;
		"v1,$digest"
	} @keys;
}

my $key = decode_base64($secret =~ s/^whsec_//r);

is( $headers{'webhook-signature'},
	signatures($request, $key, $other_secret),
	'the request is signed with both secrets');
cmp_ok(abs($headers{'webhook-timestamp'} - time),
	'<', 100, 'a header has the time of the signature');

my $binary = $node->value(
	"SELECT task_id FROM twtasks.add_task('HTTP', payload => (
		SELECT decode(string_agg(lpad(to_hex(i), 2, '0'), '' ORDER BY i), 'hex')
		FROM generate_series(0, 255) i))");

check($binary, 'DONE 2', qr/^$/, 'a payload');
($request) = $server->requests($binary);
is($request->{body}, join('', map { chr } 0 .. 255), 'a payload arrives byte for byte');
is($request->{headers}{'content-type'},
	'application/octet-stream', 'the content type of a payload is binary');
is( $request->{headers}{'webhook-signature'},
	signatures($request, $key, $other_secret),
	'a payload is signed too');
my $empty = $node->add_task('HTTP');

check($empty, 'DONE 2', qr/^$/, 'a task without data');
($request) = $server->requests($empty);
is( "$request->{body} $request->{headers}{'content-length'}",
	' 0', 'a task without data sends an empty body');

# ---- what comes back ----

my $long = 'x' x 100;

foreach my $case (
	[ 201, 'DONE 2', qr/^$/ ],
	[ 204, 'DONE 2', qr/^$/ ],
	[ 302, 'WAITING 2', qr/^server answered 302: why not$/ ],
	[ 400, 'ERROR 2', qr/^server answered 400: why not$/ ],
	[ 401, 'WAITING 2', qr/^server answered 401/ ],
	[ 404, 'WAITING 2', qr/^server answered 404/ ],
	[ 409, 'WAITING 2', qr/^server answered 409/ ],
	[ 422, 'ERROR 2', qr/^server answered 422/ ],
	[ 429, 'WAITING 2', qr/^server answered 429/ ],
	[ 500, 'WAITING 2', qr/^server answered 500/ ],
	[ 503, 'WAITING 2', qr/^server answered 503/ ])
{
	my ($status, $state, $message) = @$case;

	check(
		add(
			'HTTP',
			status => $status,
			body => $status == 204 ? '' : 'why not',
			headers => [ [ Location => '/other' ] ]),
		$state, $message,
		"status $status");
}
is(scalar(grep { $_->{target} eq '/other' } $server->requests),
	0, 'no redirect is followed');

check(add('MAPPED', status => 404), 'DONE 2', qr/^$/, 'a status with a meaning');
check(add('MAPPED', status => 429), 'ERROR 2', qr/429/, 'a class of statuses with a meaning');
my $mapped = add('MAPPED', status => 202, body => 'x');

wait_ok(sub { error_of($mapped) eq 'server answered 202: x' },
	'a task whose answer is mapped to accepted keeps the message');
is($node->state_of($mapped), 'PROCESSING 1', 'an accepted task stays in PROCESSING');
check(
	add('SMALL', status => 500, body => $long . 'the end of it'),
	'WAITING 2',
	qr/^server answered 500: \.\.\.x{7}the end of it$/,
	'the end of a long answer');
check(
	add('HTTP', status => 500, body => "a\x01b\e[31m\r\n"),
	'WAITING 2',
	qr/^server answered 500: a\\x01b\\x1b\[31m$/,
	'an answer that is no text');

foreach my $header (
	[ '120', 120, 120 ],
	[
		POSIX::strftime('%a, %d %b %Y %H:%M:%S GMT', gmtime(time + 300)),
		250, 301
	],
	[ '0', 1, 1 ],
	[ '99999999', 86400, 86400 ],
	[ 'soon', 3200, 3600 ])
{
	my ($value, $least, $most) = @$header;

	foreach my $status (409, 425, 429, 500, 503)
	{
		my $id = add(
			'HTTP',
			status => $status,
			headers => [ [ 'Retry-After' => $value ] ]);

		# a task that waits for a second runs again, and then waits once more
		my $delay = wait_for(
			sub {
				$node->value(
					"SELECT round(extract(epoch FROM next_event_time - state_time))
					FROM twtasks.tasks WHERE id = '$id' AND status = 'WAITING'"
				);
			},
			"$status with Retry-After: $value");

		cmp_ok($delay, '>=', $least, "$status, Retry-After: $value: the task waits long enough");
		cmp_ok($delay, '<=', $most, "$status, Retry-After: $value: the task waits $delay s and no longer");
	}
}

sub json
{
	my (%said) = @_;

	return (type => 'application/json', body => encode_json(\%said));
}

check(add('HTTP', json(result => 'error', message => 'no such account')),
	'ERROR 2', qr/^no such account$/, 'JSON: error');
my $asked = add('HTTP', json(result => 'retry', retry_in => '2min'));

check($asked, 'WAITING 2', qr/^$/, 'JSON: retry');
is(delay_of($asked), 120, 'a retry comes after the time in the answer');
my $accepted = add('HTTP', json(result => 'accepted', message => 'queued'));

wait_ok(sub { error_of($accepted) eq 'queued' }, 'a JSON answer accepts the task');
is( $node->value(
		"SELECT concat_ws(' ', result, version, status) FROM twtasks.finish_task('$accepted', 1, message => 'paid')"
	),
	'changed 2 DONE',
	'an accepted task is finished by another caller');
check(add('HTTP', json(result => 'ok')), 'DONE 2', qr/^$/,
	'JSON of another kind');
check(
	add('HTTP', type => 'application/json',
		body => '{"result": "error", "ledger_id": 18446744073709551615}'),
	'ERROR 2', qr/^$/, 'JSON with a number that is too large');
check(
	add('HTTP', type => 'application/json', body => '{"result": "retry"'),
	'ERROR 2',
	qr/^answer is not as it should be: syntax error in its JSON at byte \d+$/,
	'JSON that breaks off');
check(
	add('HTTP', status => 500, json(result => 'done')),
	'WAITING 2',
	qr/^server answered 500/,
	'JSON does not make a failure a success');
check(
	add('HTTP', body => encode_json({ result => 'error' })),
	'DONE 2', qr/^$/, 'text is not JSON');

# ---- servers that misbehave ----

my $who = '127.0.0.1 port ' . $server->port;

check(add('HTTP', how => 'reset'),
	'WAITING 2', qr/^no answer from $who: /, 'a connection that is reset');
check(add('HTTP', how => 'close'),
	'WAITING 2', qr/^no answer from $who: /, 'a connection that is closed');
check(add('HTTP', how => 'partial', body => 'x'),
	'WAITING 2', qr/^no answer from $who: /, 'half an answer');
check(add('HTTP', raw => "SSH-2.0-OpenSSH_9.2\r\n"),
	'WAITING 2', qr/^no answer from $who: /, 'an answer that is not HTTP');
check(add('HTTP', how => 'headers'),
	'WAITING 2',
	qr/^no answer from $who: Fail/,	# the rest is libcurl's
	'headers without end');
check(add('HTTP', how => 'endless', status => 500),
	'WAITING 2', qr/^server answered 500: \.\.\.x+ \[\.\.\.\] x+$/, 'a body without end');
check(add('HTTP', how => 'endless'),
	'DONE 2', qr/^$/, 'a body without end that says done');
check(add('HTTP', raw => "HTTP/1.1 200 OK\r\n\r\n"),
	'DONE 2', qr/^$/, 'an answer of the old kind');
check(
	add('LATE', how => 'hang'),
	'WAITING 2',
	qr/^deadline of 3\.000 s passed$/,
	'a server without an answer');
check(
	add('LATE', how => 'drip'),
	'WAITING 2',
	qr/^deadline of 3\.000 s passed$/,
	'an answer that drips');
check(add('REFUSED'),
	'WAITING 2', qr/^could not connect to 127\.0\.0\.1 port \d+: /,
	'a port where nobody listens');
check(add('NOWHERE'),
	'WAITING 2', qr/^could not connect to nowhere\.invalid port 80: /,
	'a host that does not exist');

# ---- the key of the task's choice ----

my $keyed = $node->add_task('HTTP',
	data => '{}',
	context => encode_json({ idempotency_key => 'refund 7' }));

check($keyed, 'DONE 2', qr/^$/, 'a task that names its idempotency key');
is(($server->requests($keyed))[0]{headers}{'idempotency-key'}, 'refund%207', 'the request has the key that the task names');
my $miskeyed = $node->add_task('HTTP', data => '{}', context => '{"idempotency_key": 7}');

check($miskeyed, 'ERROR 2', qr/^cannot send the idempotency key that the task names: it is no string$/, 'a task whose key is no string');
is(scalar $server->requests($miskeyed), 0, 'a task whose key cannot be used is not sent');

# ---- certificates ----

check(add('TLS'), 'DONE 2', qr/^$/, 'a server with TLS');
check(
	add('TLS_UNTRUSTED'),
	'WAITING 2',
	qr/^could not connect to .*certificate/i,
	'a certificate of an unknown authority');
check(
	add('TLS_NAME'),
	'WAITING 2',
	qr/^could not connect to .*(?:certificate|name)/i,
	'a certificate for another name');
check(add('TLS_PLAIN'),
	'WAITING 2', qr/^could not connect to /, 'a server without TLS');
is( scalar(
		grep { ($_->{headers}{'twtasks-type'} // '') =~ /^TLS_/ }
		  $secure->requests,
		$server->requests),
	0,
	'no server without a valid certificate got a request');

# ---- where a task may choose ----

sub add_to
{
	my ($type, $url) = @_;

	return $node->add_task($type,
		data => '{}',
		context => encode_json({ http_url => $url }));
}

my $chosen = add_to('CHOOSE_ANY', $server->url('/chosen', 'localhost'));

check($chosen, 'DONE 2', qr/^$/, 'a URL of the task\'s choice');
($request) = $server->requests($chosen);
is($request->{target}, '/chosen', 'the URL of the task\'s choice gets the request');
is($request->{headers}{authorization},
	undef, 'a chosen URL does not get the headers of the handler\'s host');
my $own = add_to('CHOOSE', $server->url);

check($own, 'ERROR 2', qr/not one that tasks may choose/,
	'the handler\'s own host, if it is not on the list');
check(
	add_to('CHOOSE', $server->url('/', 'localhost')),
	'ERROR 2',
	qr/^could not connect to "localhost": .*private address/,
	'a name of a private address');
foreach my $url (
	'http://127.0.0.1:1/', 'http://evil.example/',
	'https://good.example.evil.example/', 'http://good.example/',
	'https://good.example@evil.example/', 'file:///etc/passwd',
	'nonsense', 'https://good.example:444/')
{
	check(
		add_to('CHOOSE', $url), 'ERROR 2',
		qr/^cannot send to the URL that the task names: /,
		"a URL that is not allowed: $url");
}
check(add_to('FIXED', 'http://evil.example/'),
	'DONE 2', qr/^$/, 'a handler without a list goes to its own URL');
foreach my $context (
	'{"http_url": "http://evil.example/", "ref": 12345678901234567890}',
	'{"http_url": ["http://evil.example/"]}',
	'{"http_url": 1e400}')
{
	check(
		$node->add_task('CHOOSE', data => '{}', context => $context),
		'ERROR 2', qr/^cannot send to the URL that the task names: /,
		"a wrong URL in the context: $context");
}
check($node->add_task('CHOOSE', data => '{}'),
	'DONE 2', qr/^$/, 'a task that names no URL');

# ---- cancelled ----

my $hangs = add('HTTP', how => 'hang');

wait_for(sub { $server->requests($hangs) }, 'its request');
is( $node->value(
		"SELECT result FROM twtasks.request_cancel('$hangs', 1, 'stop')"),
	'requested',
	'a request can be asked to end');
check($hangs, 'CANCELLED 2', qr/^cancelled by \w+: stop$/, 'a request that is cancelled');

# ---- many ----

my $before = $sidecar->descriptors;

$node->add_many('MANY', 1000, 1000);
wait_ok(sub { $node->tasks('type = \'MANY\' AND status = \'DONE\'') == 1000 },
	'a thousand tasks are done');
my %keys;

$keys{ $_->{headers}{'idempotency-key'} }++
  foreach grep { ($_->{headers}{'twtasks-type'} // '') eq 'MANY' }
  $server->requests;
is(scalar keys %keys, 1000, 'each task was sent');
is((grep { $_ > 1 } values %keys), 0, 'no task was sent twice');
cmp_ok(
	scalar(
		keys %{
			{
				map { $_->{connection} => 1 }
				  grep { ($_->{headers}{'twtasks-type'} // '') eq 'MANY' }
				  $server->requests
			}
		}
	),
	'<=', 25,
	'a thousand requests use few connections');
cmp_ok($sidecar->descriptors, '<=', $before + 25,
	'only the kept connections are left open');

# ---- the programs that send them ----

my @programs =
  grep { PostgreSQL::Test::Utils::slurp_file("/proc/$_/comm") eq "twtasks-http\n" } $sidecar->programs;

foreach my $what (map { ("/proc/$_/cmdline", "/proc/$_/environ") } @programs)
{
	PostgreSQL::Test::Utils::slurp_file($what) =~ /\Q$secret\E|\Q$other_secret\E|very-secret/
	  and fail("$what holds no secret");
}
is(scalar @programs, scalar @handlers, 'each handler has one program');
my $lost = add('HTTP', how => 'hang');

wait_for(sub { $server->requests($lost) }, 'a request that hangs');
kill KILL => @programs;
check($lost, 'WAITING 2', qr/^worker was ended by signal 9/, 'a request whose program is killed');
check(add('HTTP'), 'DONE 2', qr/^$/, 'a request of the next program');

# ---- secrets ----

write_secret('secret', 'another secret of some length');
$sidecar->reload($sidecar->{config});
$sidecar->wait_for_log(qr/config: reloaded/, 'its reload');
my $rotated = add('HTTP');

check($rotated, 'DONE 2', qr/^$/, 'a request after a reload');
($request) = $server->requests($rotated);
is( $request->{headers}{'webhook-signature'},
	signatures($request, 'another secret of some length'),
	'the new secret signs the request');

# A connection that was kept does not lift the rule of a later configuration.
check(add_to('CHOOSE_ANY', $server->url('/', 'localhost')),
	'DONE 2', qr/^$/, 'a URL while all networks are allowed');
delete $_->{networks} foreach @handlers;
my $public = $sidecar->log_position;

$sidecar->reload($sidecar->{config});
$sidecar->wait_for_log(qr/config: reloaded/, 'its reload', $public);
check(
	add_to('CHOOSE_ANY', $server->url('/', 'localhost')),
	'ERROR 2',
	qr/^could not connect to "localhost": .*private address/,
	'a kept connection to a private address');
write_secret('secret', 'short');
my $position = $sidecar->log_position;

$sidecar->reload($sidecar->{config});
$sidecar->wait_for_log(qr/not reloaded: .*secret_file: secret 1 of the file/,
	'a refusal', $position);
my $kept = add('HTTP');

check($kept, 'DONE 2', qr/^$/, 'a request after a failed reload');
($request) = $server->requests($kept);
is( $request->{headers}{'webhook-signature'},
	signatures($request, 'another secret of some length'),
	'the old secret stays after a failed reload');
my $pid = $sidecar->pid;

foreach my $where ($sidecar->{log_path}, "/proc/$pid/cmdline",
	"/proc/$pid/environ")
{
	unlike(
		PostgreSQL::Test::Utils::slurp_file($where),
		qr/\Q$secret\E|\Q$other_secret\E|very-secret-token|another secret/,
		"$where holds no secret");
}
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
