# 121_web_to_do.pl -- to-do items by HTTP: each token acts as its role and as no
# other, and each request gets a clear answer.

use strict;
use warnings FATAL => 'all';

use IO::Select;
use IO::Socket::INET;
use JSON::PP;
use List::Util qw(uniq);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use POSIX ();
use Test::More;
use TwTasks::Cluster;
use TwTasks::Wait;
use TwTasks::Web;

my $node = TwTasks::Cluster->create('main');
my $directory = PostgreSQL::Test::Utils::tempdir();
my $port = PostgreSQL::Test::Cluster::get_free_port();
my %tokens = map { $_ => "a token for the $_" } qw(finishers clerks auditors strangers ghosts);
my $nobody = '00000000-0000-0000-0000-00000000ffff';
my @roles = qw(clerks auditors strangers ghosts);

# Nobody gave the role "ghosts" to the login of twtasks-web.
$node->value(<<'SQL');
	CREATE ROLE clerks;
	CREATE ROLE auditors;
	CREATE ROLE strangers;
	CREATE ROLE ghosts;
	GRANT clerks, auditors, strangers TO web;
	GRANT USAGE ON SCHEMA twtasks TO clerks, auditors, strangers;
SQL

sub token_file
{
	my ($name, @tokens) = @_;

	return TwTasks::Web::write_tokens("$directory/$name", @tokens ? @tokens : $tokens{$name});
}

sub entries
{
	return [ map { { token_file => token_file($_), role => $_ } } @_ ];
}

my $web = TwTasks::Web->start(
	$node, 'web',
	listen => "127.0.0.1:$port",
	token_file => token_file('finishers'),
	to_do => entries(@roles));

# Options: by, the role whose token the request has (clerks); others as TwTasks::Web::ask()
sub ask
{
	my ($method, $path, %options) = @_;
	my $by = exists $options{by} ? $options{by} : 'clerks';

	return $web->ask($method, "/api/to-do/$path", token => $by && $tokens{$by}, %options);
}

# The status of an answer and its word, such as "404 not_found"
sub outcome_of
{
	my ($status, $body) = ask(@_);

	return join ' ', $status, ref $body eq 'HASH' ? $body->{error} // $body->{result} // () : ();
}

wait_for(sub { ($web->ask('GET', '/health'))[0] == 200 }, 'the server to listen');

# ---- without the extension ----

is(outcome_of('GET', 'refunds'), '501 not_installed', 'the answer says that the extension is missing');
is(outcome_of('POST', 'refunds/a', body => {}), '501 not_installed', 'it says so to an answer, too');
is(scalar(() = $web->log =~ /to-do: the database does not have the extension/g),
	1, 'the log has one line about that');
is(($web->ask('GET', '/health'))[0], 200, 'the server goes on');

$node->add_extensions('kinds');
$node->value(<<'SQL');
	CREATE SCHEMA app;
	CREATE FUNCTION app.read_model(event jsonb) RETURNS jsonb LANGUAGE sql SET search_path = pg_catalog, pg_temp
		AS $$ SELECT event - 'refund' $$;
	CREATE FUNCTION app.contract(data jsonb) RETURNS boolean LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
		AS $$ BEGIN
			PERFORM set_config('search_path', data->>'search_path', false) WHERE data ? 'search_path';
			RETURN (data->>'approve')::boolean IS NOT NULL;
		END $$;
	CREATE FUNCTION app.decide(read_model jsonb, data jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
		AS $$ SELECT jsonb_build_object('decision', 'done', 'approved', data->'approve', 'amount', read_model->'amount') $$;
	GRANT USAGE ON SCHEMA app TO PUBLIC;
	SELECT twtasks.configure_kind(name, 'to_do', upper(name), '{/refund}', expires => expires,
		read_model => 'app.read_model', contract => 'app.contract', decide => 'app.decide',
		readers => '{clerks,auditors}', answerers => '{clerks}')
	FROM (VALUES ('refunds', NULL), ('late', interval '1 ms')) k (name, expires);
	SELECT twtasks.configure_kind('action', 'idempotent', 'ACTION', '{/refund}');
SQL

sub open_items
{
	my ($kind, @identifiers) = @_;
	my $json = encode_json(\@identifiers);

	$node->value("SELECT twtasks.start('$kind', jsonb_build_object('refund', i, 'amount', 30))
		FROM jsonb_array_elements_text(\$json\$$json\$json\$) WITH ORDINALITY e (i, n) ORDER BY n");
	return;
}

sub decided_by
{
	my ($identifier) = @_;

	return $node->value("SELECT decided_by FROM twtasks.outcomes WHERE identifier = '$identifier'");
}

# ---- reading ----

my ($status, $body, $answer) = ask('GET', 'refunds');

is("$status $answer->{content}", "200 []\n", 'a list may be empty');
open_items('refunds', $_) foreach 'first', 'a second/one', "drei%20 \x{fc}\"";
($status, $body) = ask('GET', 'refunds', by => 'auditors');
is_deeply([ map { $_->{identifier} } @$body ],
	[ 'first', 'a second/one', "drei%20 \x{fc}\"" ], 'the list has all items, the oldest first');
is_deeply($body->[0]{read_model}, { amount => 30 }, 'an item has its read model');
like($body->[0]{started}, qr/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/, 'an item says when it began');
is_deeply([ sort keys %{ $body->[0] } ],
	[qw(expires identifier read_model started)], 'an item has no other members');
($status, $body) = ask('GET', 'refunds/first');
is("$status $body->{identifier}", '200 first', 'one item can be read');
is((ask('HEAD', 'refunds/first'))[0], 200, 'HEAD is answered too');
foreach my $path ('a%20second%2Fone', 'a%20second%2fone', 'drei%2520%20%C3%BC%22')
{
	is((ask('GET', "refunds/$path"))[0], 200, "the path names an item: $path");
}
is(outcome_of('GET', 'refunds/none'), '404 not_found', 'an item that is not there is not found');
is(outcome_of('GET', 'action'), '404 not_found', 'a kind of another sort has no items');
is(outcome_of('GET', 'nothing'), '404 not_found', 'a name that is not there is not found');

# ---- answers ----

($status, $body) = ask('POST', 'refunds/first', body => { approve => JSON::PP::true });
is($status, 200, 'an answer is taken');
is_deeply(
	$body,
	{ result => 'decided', outcome => { decision => 'done', approved => JSON::PP::true, amount => 30 } },
	'the answer says what was decided');
is(decided_by('first'), 'clerks', 'the database knows the role');
is(outcome_of('GET', 'refunds/first'), '404 not_found', 'the item is no longer open');
($status, $body) = ask('POST', 'refunds/first', body => { approve => JSON::PP::false });
is("$status $body->{error}", '409 already_decided', 'a second answer is refused');
is_deeply($body->{outcome}, { decision => 'done', approved => JSON::PP::true, amount => 30 },
	'the refusal says what was decided');
ok($body->{detail}, 'the refusal says why');
open_items('refunds', 'of the data', 'open');
is(outcome_of('POST', 'refunds', body => { refund => 'of the data', approve => JSON::PP::true }),
	'200 decided', 'the identifier may come from the data');
open_items('late', 'x');
wait_for(
	sub { $node->value('SELECT bool_and(expires < twtasks.clock()) FROM twtasks.outcomes WHERE kind = \'late\'') eq 't' },
	'its end');
($status, $body) = ask('POST', 'late/x', body => { approve => JSON::PP::true });
is("$status $body->{error} $body->{outcome}{decision}", '409 expired expired', 'an answer may be late');

# ---- wrong requests ----

foreach my $case (
	[ '422 unprocessable', 'open', {} ],
	[ '422 unprocessable', 'open', 'null' ],
	[ '422 unprocessable', 'open', { approve => 'x' } ],
	[ '404 not_found', 'none', {} ],
	[ '400 bad_request', 'open', '' ],
	[ '400 bad_request', 'open', '{"approve": true' ],
	[ '400 bad_request', 'open', '{"approve": true} {}' ],
	[ '400 bad_request', 'open', '{"approve": true, "approve": false}' ],
	[ '400 bad_request', 'open', '{"approve": "\u0000"}' ],
	[ '400 bad_request', 'open%00', { approve => 1 } ],
	[ '400 bad_request', 'open%0', { approve => 1 } ],
	[ '400 bad_request', 'open%0A', { approve => 1 } ],
	[ '400 bad_request', 'open%7F', { approve => 1 } ],
	[ '400 bad_request', 'open%FF', { approve => 1 } ],
	[ '400 bad_request', 'x' x 251, { approve => 1 } ],
	[ '404 not_found', 'x' x 250, { approve => 1 } ],
	[ '404 no_such_path', 'open/more', { approve => 1 } ],
	[ '413 too_large', 'open', '"' . 'x' x 300_000 . '"' ])
{
	my ($expected, $identifier, $data) = @$case;

	is(outcome_of('POST', "refunds/$identifier", body => $data),
		$expected, "refused: $identifier " . substr(ref $data ? encode_json($data) : $data, 0, 40));
}
is(outcome_of('POST', 'refunds/open', body => '{}', headers => { 'Content-Type' => 'text/plain' }),
	'415 unsupported_media_type', 'refused: text/plain');
is(outcome_of('PUT', 'refunds/open', body => '{}'),
	'405 method_not_allowed', 'refused: PUT');
unlike($web->log, qr/contract/, 'the log has no line about wrong data');

# ---- access ----

my %right = (body => { approve => JSON::PP::true });

foreach my $case (
	[ '401 unauthorized', by => undef ],
	[ '401 unauthorized', by => 'finishers' ],
	[ '401 unauthorized', by => undef, token => 'wrong' ],
	[ '401 unauthorized', by => undef, token => "$tokens{clerks} and more" ],
	[ '403 forbidden', headers => { Origin => 'http://evil.example' } ],
	[ '403 forbidden', by => 'auditors' ],
	[ '403 forbidden', by => 'strangers' ],
	[ '500 failed', by => 'ghosts' ])
{
	my ($expected, %options) = @$case;

	is(outcome_of('POST', 'refunds/open', %right, %options), $expected,
		'refused: ' . encode_json(\%options));
}
is(outcome_of('GET', 'refunds', by => 'strangers'), '403 forbidden', 'a role may not read');
$web->wait_for_log(qr/take_role: permission denied to set role "ghosts"/);
is((ask('GET', 'refunds/open'))[0], 200, 'no refused request decided the item');
is( (
		$web->ask('POST', "/api/tasks/$nobody/finish",
			token => $tokens{clerks}, body => { version => 1, result => 'done' })
	)[0],
	401,
	'a token for to-do items finishes no task');

# ---- requests of many roles at once ----

# Sends requests on connections of their own, and returns the statuses in order.
# One address may hold 64 connections.
sub ask_at_once
{
	my (@requests) = @_;
	my $n = 0;
	my @sockets = map {
		my ($by, $method, $path) = @$_;
		my $socket = IO::Socket::INET->new(
			PeerAddr => "127.0.0.1:$port",
			LocalAddr => '127.0.0.' . (2 + int($n++ / 50))) or die "could not connect: $!";
		my $data = $method eq 'POST' ? '{"approve": true}' : '';

		print $socket "$method /api/to-do/$path HTTP/1.1\r\nHost: a\r\nConnection: close\r\n",
		  "Authorization: Bearer $tokens{$by}\r\nContent-Type: application/json\r\n",
		  'Content-Length: ', length $data, "\r\n\r\n$data";
		$socket
	} @requests;

	return sub { map { (readline($_) // '') =~ /^HTTP\/1.1 (\d+)/ ? $1 : 'none' } @sockets };
}

my @mixed = map { [ $roles[ $_ % 4 ], 'POST', "refunds/m$_" ] } 0 .. 99;

open_items('refunds', map { "m$_" } 0 .. 99);

my @statuses = ask_at_once(@mixed)->();

foreach my $rest (0 .. 3)
{
	is_deeply([ uniq map { $statuses[$_] } grep { $_ % 4 == $rest } 0 .. 99 ],
		[ (200, 403, 403, 500)[$rest] ], "each request of the $roles[$rest] has their rights");
}

# ---- a function that changes the session ----

$node->value(<<'SQL');
	CREATE SCHEMA evil;
	CREATE TABLE evil.seen (role name);
	CREATE FUNCTION evil.note() RETURNS boolean LANGUAGE sql
		AS $$ INSERT INTO evil.seen VALUES (current_user) RETURNING true $$;
	CREATE DOMAIN evil.text AS pg_catalog.text CHECK (evil.note());
	GRANT USAGE ON SCHEMA evil TO PUBLIC;
	GRANT INSERT, SELECT ON evil.seen TO PUBLIC;
SQL
open_items('refunds', 'poison');
is( outcome_of('POST', 'refunds/poison', body => { approve => 1, search_path => 'evil, pg_catalog' }),
	'200 decided', 'a contract sets the search_path of its session');
is((ask('GET', 'refunds', by => 'auditors'))[0], 200, 'the next request is answered');
is($node->value('SELECT count(*) FROM evil.seen'), 0, 'it found nothing of that search_path');

# ---- rights that decide lacks ----

$node->value(<<'SQL');
	CREATE TABLE app.secret (n integer);
	CREATE FUNCTION app.look(read_model jsonb, data jsonb) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
		AS $$ BEGIN
			IF data ? 'look' THEN PERFORM FROM app.secret; END IF;
			RETURN '{"decision": "done"}';
		END $$;
	SELECT twtasks.configure_kind('looks', 'to_do', 'LOOKS', '{/refund}', decide => 'app.look', readers => '{clerks}', answerers => '{clerks}');
SQL
open_items('looks', 'one');
is(outcome_of('POST', 'looks/one', body => { look => 1 }), '500 failed', '42501 inside decide is not the token\'s');
$web->wait_for_log(qr/answer_to_do: permission denied for table secret/);
is(outcome_of('POST', 'looks/one', body => {}), '200 decided', 'the item stays open');

# ---- a database that is slow, or away ----

my $lock = $node->session;

$lock->query('BEGIN; LOCK TABLE twtasks.outcome');
my $pid = fork // die "could not fork: $!";

if (!$pid)
{
	POSIX::_exit(outcome_of('POST', 'refunds/open', %right) eq '503 unavailable' ? 0 : 1);
}
wait_for(sub { $node->waits_for_lock('to-do', 'twtasks-web') }, 'the request to wait');
is( (
		$web->ask('POST', "/api/tasks/$nobody/finish",
			token => $tokens{finishers}, body => { version => 1, result => 'done' })
	)[0],
	404,
	'results of tasks are stored meanwhile');
waitpid $pid, 0;
is($?, 0, 'a request that takes too long is refused');

my $wait = ask_at_once(map { [ 'clerks', 'GET', 'refunds' ] } 1 .. 230);

wait_for(sub { $node->waits_for_lock('to-do', 'twtasks-web') }, 'the requests to wait');
is(($web->ask('GET', '/health'))[0], 200, 'the server answers other requests');
$lock->close;
@statuses = $wait->();
is_deeply([ sort { $a <=> $b } uniq @statuses ], [ 200, 503 ], 'too many requests at once are refused');
cmp_ok(scalar(grep { $_ == 200 } @statuses), '<=', 200, 'as many wait as may');

$node->stop('fast');
is(outcome_of('POST', 'refunds/open', %right), '503 unavailable', 'the answer is 503 without the database');
(undef, undef, $answer) = ask('GET', 'refunds');
is($answer->{headers}{'retry-after'}, 1, 'the answer says when to come again');
$node->forget_session;
$node->start;
wait_ok(sub { outcome_of('POST', 'refunds/open', %right) eq '200 decided' },
	'an answer is taken when the database is back');

# ---- a long list ----

open_items('refunds', map { sprintf 'n%04d', $_ } 1 .. 1001);
($status, $body) = ask('GET', 'refunds');
is(scalar @$body, 1000, 'a list has at most 1,000 items');
isnt($body->[-1]{identifier}, 'n1001', 'the newest items are left out');

# A list has 1 MB at most, but its first item.
sub open_large
{
	my ($identifier, $length) = @_;

	return $node->value("SELECT twtasks.start('large', jsonb_build_object('refund', '$identifier', 'pad', repeat('x', $length)))");
}

$node->value("SELECT twtasks.configure_kind('large', 'to_do', 'LARGE', '{/refund}',
	read_model => 'app.read_model', decide => 'app.decide', readers => '{clerks}', answerers => '{clerks}')");
open_large($_, 400_000) foreach 'a' .. 'e';
($status, $body) = ask('GET', 'large');
is(join(' ', map { $_->{identifier} } @$body), 'a b', 'a list has as many items as have room');
is((ask('POST', "large/$_", body => {}))[0], 200, "item $_ is answered") foreach 'a' .. 'e';

# ---- tokens and roles are changed ----

token_file('clerks', 'a new token for clerks');
$web->{config}{to_do} = [ grep { $_->{role} ne 'auditors' } @{ $web->{config}{to_do} } ];
$web->reload($web->{config});
$web->wait_for_log(qr/config: reloaded/, 'its reload');
is(outcome_of('GET', 'refunds/n0001'), '401 unauthorized', 'the old token is refused after a reload');
is(outcome_of('GET', 'refunds/n0001', by => 'auditors'),
	'401 unauthorized', 'the tokens of a role that is gone are refused');
is((ask('GET', 'refunds/n0001', token => 'a new token for clerks'))[0],
	200, 'the new token is accepted');
foreach my $token (values %tokens, 'a new token')
{
	unlike(PostgreSQL::Test::Utils::slurp_file($web->{log_path}), qr/\Q$token\E/, 'the log has no token');
}
is($web->stop, 0, 'the server stops in order');

done_testing();
