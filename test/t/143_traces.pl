# 143_traces.pl -- each try is a span at a receiver of OTLP, with the right parent, and its
# handler hands the trace on; what the receiver does not take is counted.

use strict;
use warnings FATAL => 'all';

use HTTP::Tiny;
use IO::Socket::INET;
use IPC::Open2;
use JSON::PP;
use POSIX qw(:sys_wait_h);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::HttpServer;
use TwTasks::Sidecar;
use TwTasks::Wait;
use TwTasks::Web;

my $node = TwTasks::Cluster->create('main');
my $server = TwTasks::HttpServer->start;
my $directory = PostgreSQL::Test::Utils::tempdir();
my $port = PostgreSQL::Test::Cluster::get_free_port();
my $canary = 'canary-0123456789';
my $trace = '0af7651916cd43dd8448eb211c80319c';
my $caller = 'b7ad6b7169203331';
my $program = "$directory/handler";

# A type with FLAKY in its name fails at its first try.
PostgreSQL::Test::Utils::append_to_file($program, <<"SCRIPT");
#!/bin/sh
echo "\$TWTASKS_ID \$TWTASKS_TRIES \$TRACEPARENT \$TRACESTATE" >>$directory/seen
echo $canary >&2
case \$TWTASKS_TYPE-\$TWTASKS_TRIES in *FLAKY*-1 | *BAD*) exit 1 ;; esac
SCRIPT
chmod oct 755, $program;
PostgreSQL::Test::Utils::append_to_file("$directory/worker.sh", <<"SCRIPT");
while read -r line
do
	case \$line in *'"hello"'*) continue ;; esac
	printf '%s\\n' "\$line" >>$directory/lines
	id=\${line#*'"id":"'} version=\${line#*'"version":'}
	printf '{"id":"%s","version":%s,"result":"done"}\\n' "\${id%%\\"*}" "\${version%%,*}"
done
SCRIPT

sub config
{
	my (%traces) = @_;

	return (
		listen => "127.0.0.1:$port",
		environment => 'test',
		handlers => [
			{ types => ['NOOP*'], noop => JSON::PP::true },
			{ types => ['WORKER'], worker => [ '/bin/sh', "$directory/worker.sh" ] },
			{ types => ['HTTP'], http => $server->url('/handler'), hosts => ['http://127.0.0.1'] },
			{ types => ['*'], command => [$program], retry => { delay => '1ms', max_tries => 2 } }
		],
		traces => { url => $server->url('/v1/traces'), %traces });
}

sub spans
{
	return map { @{ $_->{scopeSpans}[0]{spans} } }
	  map { @{ decode_json($_->{body})->{resourceSpans} } } grep { $_->{target} =~ m{^/v1/traces} } $server->requests;
}

sub attributes
{
	my ($object) = @_;

	return map { $_->{key} => (values %{ $_->{value} })[0] } @{ $object->{attributes} };
}

# The spans of the tries of a task, in their order; or of their waits.
sub spans_of
{
	my ($id, $operation) = @_;
	my %of;

	foreach my $span (spans())
	{
		my %has = attributes($span);
		next if $has{'messaging.message.id'} ne $id || index($span->{name}, ($operation // 'process') . ' ') != 0;
		push @{ $of{ $has{'messaging.twtasks.message.delivery_attempt'} } }, $span;
	}
	return map { @{ $of{$_} } } sort { $a <=> $b } keys %of;
}

# The traces that the program saw at a try: traceparent and tracestate.
sub seen
{
	my ($id, $try) = @_;
	my ($line) = PostgreSQL::Test::Utils::slurp_file("$directory/seen") =~ /^\Q$id $try\E (.*)$/m;

	return split / /, $line // 'nothing';
}

sub add
{
	my ($type, %context) = @_;

	return $node->add_task($type, data => encode_json({ secret => $canary }), (%context ? (context => encode_json(\%context)) : ()));
}

sub wait_for_spans
{
	my ($id, $n, $name) = @_;

	wait_ok(sub { spans_of($id) == $n }, $name);
	return spans_of($id);
}

sub parent
{
	my ($flags) = @_;

	return (traceparent => "00-$trace-$caller-$flags", tracestate => 'v=1', other => $canary);
}

sub tries
{
	my ($result) = @_;
	my $answer = HTTP::Tiny->new(timeout => 180)->get("http://127.0.0.1:$port/metrics");

	return $answer->{content} =~ /^twtasks_traced_tries_total\{result="$result"\} (\d+)$/m ? $1 : -1;
}

$node->value(q(SELECT twtasks.adopt('test')));

my $sidecar = TwTasks::Sidecar->start($node, 'a', config(sample => 1));

sub trace
{
	my (%traces) = @_;
	my $from = $sidecar->log_position;

	$sidecar->reload(TwTasks::Sidecar::config_for($node, 'a', config(%traces)));
	$sidecar->wait_for_log(qr/config: reloaded/, 'its reload', $from);
	return;
}

# ---- one span per try ----

my $id = add('PAY', parent('01'));
my ($span) = wait_for_spans($id, 1, 'a try has a span');
is_deeply(
	[ @$span{qw(traceId parentSpanId name kind)}, exists $span->{status}, exists $span->{links} ],
	[ $trace, $caller, 'process PAY', 5, '', '' ],
	'it is a child of the traceparent, and a consumer');
like($span->{spanId}, qr/^(?!0{16})[0-9a-f]{16}$/, 'its id is hexadecimal');
is_deeply(
	{ attributes($span) },
	{
		'messaging.system' => 'twtasks',
		'messaging.operation.type' => 'process',
		'messaging.operation.name' => 'process',
		'messaging.destination.name' => 'PAY',
		'messaging.message.id' => $id,
		'messaging.twtasks.message.delivery_attempt' => 1,
		'messaging.twtasks.result' => 'done'
	},
	'it has the attributes of the conventions');
my ($tries) = grep { $_->{key} =~ /attempt/ } @{ $span->{attributes} };
is_deeply($tries->{value}, { intValue => '1' }, 'an integer is text, since it has 64 bits');
my ($start, $end) = @$span{qw(startTimeUnixNano endTimeUnixNano)};
like("$start $end", qr/^\d{19} \d{19}$/, 'times are nanoseconds');
cmp_ok($start, '<=', $end, 'and in order');
cmp_ok(abs($end / 1e9 - time), '<', 300, 'of today');
my ($wait) = spans_of($id, 'wait');
is_deeply(
	[ @$wait{qw(traceId parentSpanId name kind endTimeUnixNano)} ],
	[ $trace, $caller, 'wait PAY', 1, $start ],
	'its wait is a span beside it, up to its start');
cmp_ok($wait->{startTimeUnixNano}, '<=', $start, 'that began before it');
is_deeply(
	[ seen($id, 1) ],
	[ "00-$trace-$span->{spanId}-01", 'v=1' ],
	'the handler gets the span as its parent');
my ($request) = grep { $_->{target} eq '/v1/traces' } $server->requests;
is($request->{headers}{'content-type'}, 'application/json', 'the request is JSON');
is_deeply(
	{ attributes(decode_json($request->{body})->{resourceSpans}[0]{resource}) },
	{ 'service.name' => 'twtasks', 'service.version' => '1.1', 'service.instance.id' => 'a', 'deployment.environment.name' => 'test' },
	'the resource names the node');

$id = add('FLAKY', parent('01'));
my ($first, $second) = wait_for_spans($id, 2, 'a retry has a span of its own');
is_deeply(
	[ @$first{qw(traceId parentSpanId)}, $first->{status}{code}, { attributes($first) }->{'error.type'} ],
	[ $trace, $caller, 2, 'retry' ],
	'the first try failed');
isnt($second->{traceId}, $trace, 'the retry begins a trace');
is_deeply($second->{links}, [ { traceId => $trace, spanId => $caller } ], 'that is linked to the traceparent');
ok(!exists $second->{parentSpanId} && !exists $second->{status}, 'and has neither a parent nor an error');
is_deeply([ seen($id, 2) ], ["00-$second->{traceId}-$second->{spanId}-01"], 'its handler gets it, and no tracestate of another trace');

$id = add('BAD', traceparent => "00-$trace-$caller");
my @bad = wait_for_spans($id, 2, 'a malformed traceparent harms nothing');
is_deeply([ map { { attributes($_) }->{'error.type'} } @bad ], [qw(retry error)], 'the error that ends the tries');
ok(!(grep { exists $_->{parentSpanId} || exists $_->{links} || $_->{traceId} !~ /^(?!0{32})[0-9a-f]{32}$/ } @bad), 'its tries begin traces');

# ---- each kind of handler hands the trace on ----

$id = add('WORKER', parent('01'));
($span) = wait_for_spans($id, 1, 'the task of a worker');
my ($line) = map { decode_json($_) } grep { /\Q$id\E/ } split /\n/, PostgreSQL::Test::Utils::slurp_file("$directory/lines");
is_deeply(
	$line->{context},
	{ parent('01'), traceparent => "00-$trace-$span->{spanId}-01" },
	'the rest of its context is as it was');
$id = add('HTTP');
($span) = wait_for_spans($id, 1, 'the task of an HTTP handler');
($request) = grep { $_->{target} eq '/handler' } $server->requests;
is($request->{headers}{traceparent}, "00-$span->{traceId}-$span->{spanId}-01", 'gets a trace that begins here');

# ---- samples ----

trace(sample => 0);
my @out = (add('PAY'), add('PAY', parent('00')));
my @in = (add('PAY', parent('01')), add('FLAKY'), add('BAD', parent('00')));
wait_for_spans($in[0], 1, 'a sampled traceparent counts with sample 0');
wait_for_spans($in[1], 1, 'a try that fails has a span with sample 0');
wait_for_spans($in[2], 2, 'and one of a trace that is not sampled');
wait_ok(sub { $node->tasks(q(type = 'PAY' AND status = 'DONE')) == 4 && tries('sent') >= 11 }, 'all are done');
is_deeply([ map { scalar spans_of($_) } @out ], [ 0, 0 ], 'no other try has one');
like((seen($out[0], 1))[0], qr/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/, 'its handler learns that its trace is not sampled');
like((seen($out[1], 1))[0], qr/^00-$trace-(?!$caller)[0-9a-f]{16}-00$/, 'and the flag of its traceparent');
is((() = map { $_->{body} =~ /$canary/ ? 1 : () } grep { $_->{target} =~ /traces/ } $server->requests), 0,
	'no span has data, a context or a message');

# ---- a receiver in trouble ----

my $sent = tries('sent');
my $again = encode_json({ status => 503, headers => [ [ 'Retry-After', 1 ] ], next => { status => 200 } });
trace(sample => 1, url => $server->url("/v1/traces?$again"));
$id = add('NOOP');
wait_for_spans($id, 2, 'a receiver that asks for it gets the spans again');
wait_ok(sub { tries('sent') == $sent + 1 }, 'they are counted once');
is(tries('dropped'), 0, 'and none was dropped');

my $headers = TwTasks::Web::write_tokens("$directory/headers", "Authorization: Bearer $canary");
my $refuse = encode_json({ status => 400, body => "who_is_$canary" });
trace(sample => 1, headers_file => $headers, url => $server->url("/v1/traces?$refuse"));
$node->add_many('NOOP', 500, 50);
wait_ok(sub { tries('dropped') == 500 }, 'what the receiver refuses is dropped and counted');
is($node->tasks(q(status = 'DONE' AND type = 'NOOP')), 501, 'and tasks go on');
is((grep { $_->{target} =~ /400/ } $server->requests)[0]{headers}{authorization}, "Bearer $canary", 'a header comes from its file');
wait_ok(
	sub { $node->value(q(SELECT string_agg(warning || ': ' || detail, '') FROM twtasks.warnings WHERE warning ~ 'traces')) =~
		  /^traces in trouble: node "a": traces: HTTP 400$/ },
	'a warning says why');
like($sidecar->log, qr/dropped spans of \d+ tries: HTTP 400$/m, 'and so does the log');
unlike($sidecar->log, qr/who_is_/, 'which does not quote a header');

my $newer = $canary =~ s/canary/another/r;
PostgreSQL::Test::Utils::system_log('rm', $headers);
TwTasks::Web::write_tokens($headers, "Authorization: Bearer $newer");
trace(sample => 1, headers_file => $headers, url => $server->url("/v1/traces?$refuse"));
$node->add_many('NOOP', 1, 1);
wait_ok(sub { (grep { $_->{target} =~ /400/ } $server->requests)[-1]{headers}{authorization} eq "Bearer $newer" }, 'a reload reads the file of headers again');

trace(sample => 1, url => 'http://127.0.0.1:1/');
$id = add('PAY', parent('01'));
wait_ok(sub { $node->tasks(qq(id = '$id' AND status = 'DONE')) == 1 }, 'no receiver, and a task is done');
is($sidecar->stop, 0, 'and the sidecar stops in order');

# ---- a receiver that never answers, when the helper is to end ----

my $deaf = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 128) || die "could not listen: $!";
my $pid = open2(my $from, my $to, TwTasks::Sidecar::beside('notify'), 'traces');
my $try = qq({"trace":"$trace","span":"$caller","wait":"$caller","parent":"","link":"","task":"$id","try":1,)
  . q("waited":-1,"start":1,"end":2,"result":"done","failed":false,"type":"PAY"});

$to->autoflush;
print $to encode_json({ hello => 1, node => 'a', settings => { service => 'twtasks', url => 'http://127.0.0.1:' . $deaf->sockport . '/' } }), "\n";
like(readline $from, qr/^\{"ready":1/, 'the helper has its settings');
print $to "$try\n" x 10000;
ok(my $connection = $deaf->accept, 'it sends the first batch');
close $to;
# it must live until its input has ended, and not for twenty requests of 10 s each
wait_ok(sub { kill TERM => $pid; waitpid($pid, WNOHANG) == $pid }, 'TERM ends it then', 60);
is($?, 0, 'in order');

done_testing();
