# 145_notify_successor.pl -- the leader is killed while a message about an incident is
# under way, and before it has sent another one: its successor loses none, and what
# comes twice has the same key for the pager.

use strict;
use warnings FATAL => 'all';

use JSON::PP;
use POSIX qw(mkfifo);
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::HttpServer;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
# Before a sidecar runs, which would open incidents of its own.
my $judge = $node->hold_judge;
my $server = TwTasks::HttpServer->start;
my $directory = PostgreSQL::Test::Utils::tempdir();
my $gate = "$directory/gate";

mkfifo($gate, oct 600) or die "could not make $gate: $!";
PostgreSQL::Test::Utils::append_to_file("$directory/secret", "0123456789abcdef\n");
chmod oct 600, "$directory/secret";
my $gated = $server->url('/held?') . join '', map { sprintf '%%%02X', ord } split //, encode_json({ gate => $gate });

sub config
{
	my ($url) = @_;

	return (
		handlers => [ { types => ['NOOP'], noop => JSON::PP::true } ],
		notify => { targets => [ { name => 'pager', kind => 'pagerduty', url => $url, secret_file => "$directory/secret" } ] });
}

sub leads
{
	return $node->value('SELECT string_agg(n.name, \' \') FROM twtasks.nodes n WHERE n.leads') // '';
}

# As the judge opens one; it is seen until tomorrow, so that no judge ends it.
sub open_incident
{
	my ($object) = @_;

	$node->value("INSERT INTO twtasks.incident (key, kind, object, severity, opened, refreshed, count, summary, told)
		VALUES ('error/$object', 'error', '$object', 'page', now(), now() + interval '1 day', 3, 'tasks are in ERROR', now())");
	return;
}

# The keys that came to a path, in order.
sub keys_at
{
	my ($path) = @_;

	return join ' ', map { decode_json($_->{body})->{dedup_key} } grep { $_->{target} =~ m{^\Q$path\E} } $server->requests;
}

sub sent
{
	return $node->value(q(SELECT string_agg(key || ' ' || state || ' ' || status, ', ' ORDER BY key) FROM twtasks.incident_sent)) // '';
}

my $first = TwTasks::Sidecar->start($node, 'first', config($gated));

wait_ok(sub { leads() eq 'first' }, 'the first sidecar leads');
wait_ok(sub { $node->value('SELECT count(*) FROM twtasks.monitor') == 1 }, 'and counts');
my $second = TwTasks::Sidecar->start($node, 'second', config($server->url('/answered')));

open_incident('SENT');
# The sidecar asks what is to be sent when it reads its configuration, too.
$first->reload(TwTasks::Sidecar::config_for($node, 'first', config($gated)));
wait_ok(sub { keys_at('/held') eq 'postgres/error/SENT' }, 'a message is under way');
open_incident('JUDGED');
$first->kill9;

wait_ok(sub { leads() eq 'second' }, 'the second sidecar leads then');
$second->reload(TwTasks::Sidecar::config_for($node, 'second', config($server->url('/answered'))));
wait_ok(
	sub { sent() eq 'error/JUDGED open sent, error/SENT open sent' },
	'it sends both');
is(join(' ', sort split / /, keys_at('/answered')), 'postgres/error/JUDGED postgres/error/SENT',
	'what comes twice has the same key, and the rest comes once');

$first->run;
$first->reload(TwTasks::Sidecar::config_for($node, 'first', config($server->url('/answered'))));
$second->reload(TwTasks::Sidecar::config_for($node, 'second', config($server->url('/answered'))));
$node->value(q(UPDATE twtasks.incident SET resolved = now()));
$second->reload(TwTasks::Sidecar::config_for($node, 'second', config($server->url('/answered'))));
wait_ok(sub { (() = keys_at('/answered') =~ /postgres/g) == 4 }, 'the ends are sent');
wait_ok(sub { $node->value(q(SELECT count(*) FROM twtasks.incident_sent WHERE state = 'resolve' AND status = 'sent')) == 2 }, 'and noted');
is(scalar(() = keys_at('/answered') =~ /SENT/g), 2, 'nothing is sent again');
is($second->stop, 0, 'the second sidecar stops in order');
is($first->stop, 0, 'the first one stops in order');
done_testing();
