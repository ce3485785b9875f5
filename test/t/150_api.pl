# 150_api.pl -- the management API: routes of its table, parameters, persons,
# problems, answers from memory, and a database without the extensions.

use strict;
use warnings FATAL => 'all';

use IO::Select;
use IO::Socket::INET;
use JSON::PP;
use Test::More;
use TwTasks::Api;
use TwTasks::Cluster;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my $web = TwTasks::Api->start($node, 'web');
my $id = $node->add_task('LONELY');

# A problem as RFC 9457 has it.
sub is_problem
{
	my ($status, $type, $name, $person, $method, $path, %options) = @_;
	my ($is, $body, $answer) = $web->call($person, $method, $path, %options);

	is("$is $answer->{headers}{'content-type'} " . ($body->{type} // ''),
		"$status application/problem+json /problems/$type", $name);
	return $body;
}

# ---- persons ----

my ($status, $me) = $web->call('vera', 'GET', '/me');

is($status, 200, 'me');
is_deeply(
	[ @$me{qw(name roles database extensions trace_url)} ],
	[ 'vera', ['viewer'], 'postgres', ['twtasks'], undef ],
	'... who asks, and what there is');
is_deeply(($web->call('otto', 'GET', '/me'))[1]{roles}, [ 'viewer', 'operator' ], 'an operator is a viewer');
is_problem(401, 'unauthorized', 'nobody is refused', undef, 'GET', '/me');
is_problem(404, 'no-such-path', 'another path', 'vera', 'GET', '/mee');
is_problem(405, 'method-not-allowed', 'another method', 'vera', 'POST', '/me');

# ---- a task ----

($status, my $why) = $web->call('vera', 'GET', "/tasks/$id/why");
is($status, 200, 'why') or diag(explain $why);
is($why->{reason}, 'no node', '... a reason');
is_problem(404, 'not-found', 'no such task', 'vera', 'GET', '/tasks/00000000-0000-4000-8000-000000000000/why');
like(is_problem(400, 'bad-request', 'no id', 'vera', 'GET', '/tasks/1/why')->{detail}, qr/"id" must be a UUID/, '... says so');
like(
	is_problem(400, 'bad-request', 'an unknown parameter', 'vera', 'GET', "/tasks/$id/why?ids=1")->{detail},
	qr/does not know the parameter "ids"/, '... is named');

# ---- without the extensions ----

is_problem(501, 'not-installed', "$_ needs an extension", 'vera', 'GET', $_)
  foreach '/streams', '/streams/x/objects', '/kinds', '/kind-machines/x', '/kinds/x/y', '/outcomes?kind=x', '/to-do';
like($web->log, qr/ERROR postgres: this database has no extension twtasks_events, or an older one: streams: /, 'the log names it');

# ---- the end ----

# A second signal ends the program while a request waits for the database.
my $hasty = TwTasks::Api->start($node, 'hasty', env => { MALLOC_PERTURB_ => 90 });
my $holder = $node->session;
my $socket = IO::Socket::INET->new(PeerAddr => $hasty->{config}{listen}) or die "could not connect: $!";

$holder->query('BEGIN; LOCK TABLE twtasks.monitor_type IN ACCESS EXCLUSIVE MODE');
print $socket "GET /api/v1/overview HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer $hasty->{api_tokens}{vera}\r\n\r\n";
$socket->flush;
wait_for(
	sub {
		IO::Select->new($socket)->can_read(0)
		  || $node->value(q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'twtasks-web read' AND state = 'active'}) > 0;
	},
	'the request to wait for the lock, or its answer');
$hasty->signal('TERM');
$hasty->wait_for_log(qr/main: stopping/);
$hasty->signal('TERM') unless $hasty->has_exited;
is($hasty->wait_for_exit, 0, 'it ends in order, although a request has no answer');
$holder->query('ROLLBACK');
done_testing();
