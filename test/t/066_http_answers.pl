# 066_http_answers.pl -- no answer counts as more than it said: not one that is
# encoded, nor one that is long; and a request that could not be sent is no try.

use strict;
use warnings FATAL => 'all';

use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::HttpServer;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my $server = TwTasks::HttpServer->start;
my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	handlers => [
		{ types => ['HTTP'], http => $server->url, retry => { delay => '1h', max_tries => 5 } },
		{ types => ['ONCE'], http => $server->url, retry => { max_tries => 1 } }
	]);

sub add
{
	my ($type, %orders) = @_;

	return $node->add_task($type, data => encode_json(\%orders));
}

sub check
{
	my ($id, $state, $message, $what) = @_;

	wait_ok(sub { $node->state_of($id) eq $state }, "$what: the task is $state");
	return like($node->value("SELECT coalesce(error, '') FROM twtasks.tasks WHERE id = '$id'"),
		$message, "$what: the message is right");
}

# ---- codings ----

my %error = (result => 'error', message => 'no such account');
my $packed = "\x1f\x8b\x08 and more of that kind";
my $coded = qr/^answer is not as it should be: its JSON is encoded as /;

foreach my $case (
	[ 'Content-Encoding', 'gzip', 'ERROR 2', $coded ],
	[ 'Content-Encoding', 'br', 'ERROR 2', $coded ],
	[ 'Content-Encoding', 'identity, gzip', 'ERROR 2', $coded ],
	[ 'content-encoding', 'identity', 'ERROR 2', qr/^no such account$/ ],
	[ 'Content-Encoding', '', 'ERROR 2', qr/^no such account$/ ])
{
	my ($name, $coding, $state, $message) = @$case;

	check(
		add('HTTP', type => 'application/json', body => encode_json(\%error), headers => [ [ $name => $coding ] ]),
		$state, $message, "$name: $coding");
}
my $plain = add('HTTP', body => 'x', headers => [ [ 'Content-Encoding' => 'gzip' ] ]);

check($plain, 'DONE 2', qr/^$/, 'text that is encoded');
is(($server->requests($plain))[0]{headers}{'accept-encoding'}, 'identity', 'the request asks for no coding');
my $raw = add('HTTP',
	raw => "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n$packed");

check($raw, 'ERROR 2', $coded, 'a gzip answer that says error');
my $transfer = add('HTTP',
	raw => "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: gzip\r\nConnection: close\r\n\r\n$packed");

wait_ok(sub { $node->state_of($transfer) =~ /^(ERROR|WAITING) 2$/ }, 'a transfer encoding that nobody asked for is not done');

# ---- long answers ----

$node->value('GRANT twtasks_producer TO sidecar');

sub long
{
	my ($length, %members) = @_;

	return (type => 'application/json', body => '{"more": "' . 'x' x $length . '", ' . substr(encode_json(\%members), 1));
}

check(add('HTTP', long(600_000, result => 'done', add => [ { type => 'NEXT', key => 'behind' } ])),
	'DONE 2', qr/^$/, 'tasks to add behind a long member');
is($node->tasks(q(type = 'NEXT' AND key = 'behind')), 1, 'they are there');
check(add('HTTP', long(600_000, %error)), 'ERROR 2', qr/^no such account$/, 'an error behind a long member');
check(add('HTTP', long(1_100_000, result => 'done')),
	'ERROR 2', qr/its JSON has more than 1 MB/, 'what may stand behind the end that is read');

# ---- no descriptors ----

my @programs = $sidecar->programs;
my ($soft, $hard) = PostgreSQL::Test::Utils::slurp_file("/proc/$programs[0]/limits") =~ /Max open files +(\S+) +(\S+)/;

is($soft, $hard, 'the program has as many descriptors as it may have');
sub limit
{
	my ($n) = @_;

	foreach (@programs)
	{
		system('prlimit', '--pid', $_, "--nofile=$n:$hard") == 0 or die "could not set a limit\n";
	}
	return;
}

limit(3);
my $short = add('ONCE');

$sidecar->wait_for_log(qr/cannot be started, its tasks wait: handlers\[\d\]: could not connect to .*too few descriptors/);
wait_ok(
	sub { $node->value('SELECT coalesce(max(detail), \'\') FROM twtasks.warnings WHERE warning = \'broken handler\'') =~ /handlers\[1\]: .*too few descriptors/ },
	'the view of warnings says so');
limit($hard);
wait_ok(sub { $node->status_of($short) eq 'DONE' }, 'a task whose request could not be sent is done later');
is(($server->requests($short))[0]{headers}{'twtasks-tries'}, 1, 'it was the first try');
is(scalar(() = $sidecar->log =~ /too few descriptors/g), 1, 'the log has it once');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
