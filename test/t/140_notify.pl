# 140_notify.pl -- incidents reach each kind of target as its vendor wants them, once,
# and no secret leaves its file but to its target.

use strict;
use warnings FATAL => 'all';

use Digest::SHA qw(hmac_sha256_base64);
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::HttpServer;
use TwTasks::Sidecar;
use TwTasks::Wait;
use TwTasks::Web;

my $node = TwTasks::Cluster->create('main');
# Before a sidecar runs, which would open incidents of its own.
my $judge = $node->hold_judge;
my $server = TwTasks::HttpServer->start;
my $directory = PostgreSQL::Test::Utils::tempdir();
my %canary = map { $_ => "canary-of-$_-0123456789" } qw(pagerduty jira hook victor slack);

sub secret
{
	my ($name, $text) = @_;

	return TwTasks::Web::write_tokens("$directory/$name", $text // $canary{$name});
}

sub target
{
	my ($kind, %options) = @_;

	return { name => $kind, kind => $kind, ($kind eq 'command' ? () : (url => $server->url("/$kind"))), %options };
}

my $victor = $server->url("/splunk-oncall/$canary{victor}");
my $slack = $server->url("/slack/$canary{slack}");
my $program = "$directory/take";
PostgreSQL::Test::Utils::append_to_file($program, "#!/bin/sh\ncat >>$directory/taken\necho >>$directory/taken\nexec test \"\$1\" = '\$HOME; x'\n");
chmod oct 755, $program;
PostgreSQL::Test::Utils::append_to_file("$directory/own.tmpl", '{"said": "${summary}", "n": ${count}}');

my @targets = (
	target('pagerduty', secret_file => secret('pagerduty')),
	target('splunk-oncall', url => undef, url_file => secret('victor', $victor)),
	target('jira-service-management', secret_file => secret('jira')),
	target('slack', url => undef, url_file => secret('slack', $slack)),
	target('webhook', secret_file => secret('hook')),
	target('alertmanager'),
	target('command', command => [ $program, '$HOME; x' ]),
	target('webhook', name => 'own', url => $server->url('/own'), template => "$directory/own.tmpl"));
foreach my $target (@targets)
{
	delete $target->{url} unless defined $target->{url};
}

sub config
{
	my (%notify) = @_;

	return (
		log => { level => 'debug' },
		handlers => [ { types => ['NOOP'], noop => JSON::PP::true } ],
		notify => { heartbeat => $server->url('/beat'), link => 'https://ops.example/{key}', targets => \@targets, %notify });
}

my $sidecar = TwTasks::Sidecar->start($node, 'a', config());

# As the judge opens one; it is seen until tomorrow, so that no judge ends it.
sub open_incident
{
	my ($key, %columns) = @_;
	my ($kind, $object) = split m{/}, $key, 2;

	return $node->value("INSERT INTO twtasks.incident (key, kind, object, severity, opened, refreshed, count, summary, detail, told)
		VALUES ('$key', '$kind', '$object', 'page', now(), now() + interval '1 day', 3,
			'3 \"tasks\" <fail> & stop', E'one\\ntwo', @{[ $columns{told} // 'now()' ]}) RETURNING id");
}

# The sidecar asks what is to be sent when it reads its configuration, too.
sub ask
{
	$sidecar->reload(TwTasks::Sidecar::config_for($node, 'a', @_ ? @_ : config()));
	return;
}

sub to
{
	my ($kind) = @_;

	return grep { $_->{target} =~ m{^/\Q$kind\E(?:[/?]|$)} } $server->requests;
}

sub sent_to
{
	my ($target) = @_;

	return $node->value("SELECT coalesce(string_agg(state || ' ' || status, ', ' ORDER BY id), '')
		FROM twtasks.incident_sent WHERE target = '$target'");
}

sub wait_for_sent
{
	my ($expected, $name) = @_;

	foreach my $target (map { $_->{name} } @targets)
	{
		wait_ok(sub { sent_to($target) eq $expected }, "$name: $target");
	}
	return;
}

wait_ok(sub { to('beat') > 0 }, 'the heartbeat is called while all is well');
my $id = open_incident('error/PAY|A');
open_incident('error/SILENT', told => 'NULL');
ask();
wait_for_sent('open sent', 'an opening');
my $beats = to('beat');

my ($pager) = map { decode_json($_->{body}) } to('pagerduty');
is_deeply(
	[ @$pager{qw(routing_key event_action dedup_key client_url)}, @{ $pager->{payload} }{qw(summary severity source component)},
		$pager->{payload}{custom_details}{detail} ],
	[ $canary{pagerduty}, 'trigger', 'postgres/error/PAY|A', 'https://ops.example/error%2FPAY%7CA',
		'3 "tasks" <fail> & stop', 'critical', 'postgres', 'twtasks', "one\ntwo" ],
	'PagerDuty gets the documented fields');
my ($victor_message) = map { decode_json($_->{body}) } to('splunk-oncall');
is_deeply([ @$victor_message{qw(message_type entity_id)} ], [ 'CRITICAL', 'postgres/error/PAY|A' ], 'Splunk On-Call');
is((to('splunk-oncall'))[0]{target}, "/splunk-oncall/$canary{victor}", 'its URL comes from a file');
my ($jira) = to('jira-service-management');
is($jira->{headers}{authorization}, "GenieKey $canary{jira}", 'Jira Service Management gets its key');
is(decode_json($jira->{body})->{alias}, 'postgres/error/PAY|A', 'and an alias');
like(decode_json((to('slack'))[0]{body})->{text}, qr/^\*OPEN\* .*: 3 "tasks" &lt;fail&gt; &amp; stop /, 'Slack gets text without markup');
my ($alert) = to('alertmanager');
is(decode_json($alert->{body})->[0]{labels}{key}, 'error/PAY|A', 'Alertmanager gets labels');
is_deeply(decode_json((to('own'))[0]{body}), { said => '3 "tasks" <fail> & stop', n => 3 }, 'a template of the user is taken');
my ($taken) = map { decode_json($_) } grep { /\S/ } split /\n/, PostgreSQL::Test::Utils::slurp_file("$directory/taken");
is($taken->{key}, 'error/PAY|A', 'a command gets JSON on its stdin, without a shell');

my ($hook) = to('webhook');
my %header = %{ $hook->{headers} };
is($header{'webhook-id'}, "$id/open/0", 'a webhook has an id');
is($header{'webhook-signature'},
	'v1,' . hmac_sha256_base64("$header{'webhook-id'}.$header{'webhook-timestamp'}.$hook->{body}", $canary{hook}) . '=',
	'a webhook is signed as requests of HTTP handlers are');
is_deeply([ sort keys %{ decode_json($hook->{body}) } ],
	[ sort qw(id state key dedup_key severity summary detail hint count since url environment database) ],
	'a webhook has all members');

$node->value("UPDATE twtasks.incident SET acknowledged = now(), acknowledged_by = 'x' WHERE id = $id");
ask();
wait_for_sent('open sent, acknowledge sent', 'an acknowledgement');
$node->value("UPDATE twtasks.incident SET resolved = now() WHERE id = $id");
ask();
wait_for_sent('open sent, acknowledge sent, resolve sent', 'an end');
is_deeply([ map { decode_json($_->{body})->{event_action} } to('pagerduty') ], [qw(trigger acknowledge resolve)], 'PagerDuty hears of all, once');
is((to('jira-service-management'))[2]{target}, '/jira-service-management/postgres%2Ferror%2FPAY%7CA/close?identifierType=alias',
	'an alert of Jira is closed by its alias');
is($node->value("SELECT count(*) FROM twtasks.incident_sent WHERE key = 'error/SILENT'"), 0, 'nobody hears of a silenced incident');

# ---- a receiver that is down holds up no other, and gets all in order ----

my $echo = '?' . '%7B%22status%22%3A503%2C%22body%22%3A%22' . $canary{pagerduty} . '%22%7D';
my ($pagerduty) = grep { $_->{name} eq 'pagerduty' } @targets;
my $fine = $pagerduty->{url};
$pagerduty->{url} .= $echo;
my $position = $sidecar->log_position;
ask(config());
$sidecar->wait_for_log(qr/twtasks-notify\[\d+\] started for/, 'another helper', $position);
my $second = open_incident('error/PAY|B');
ask(config());
wait_ok(sub { sent_to('slack') =~ /resolve sent, open sent$/ }, 'another target gets a message');
wait_ok(sub { $node->value("SELECT count(*) FROM twtasks.warnings WHERE warning = 'target in trouble' AND detail LIKE '%notify target \"pagerduty\": could not send: HTTP 503%'") == 1 },
	'a failing target is in the warnings');
is($node->value("SELECT status || ' ' || answer FROM twtasks.incident_sent WHERE incident = $second AND target = 'pagerduty'"),
	'retry HTTP 503: ***', 'its answer is noted, without the secret');
$node->value("UPDATE twtasks.incident SET resolved = now() WHERE id = $second");
$pagerduty->{url} = $fine;
my $before = to('pagerduty');
ask(config());
wait_ok(sub { sent_to('pagerduty') =~ /open sent, resolve sent$/ }, 'it gets all when it is up again');
is_deeply([ map { decode_json($_->{body})->{event_action} } grep { $_->{target} eq '/pagerduty' } to('pagerduty') ],
	[qw(trigger acknowledge resolve trigger resolve)], 'in order');
wait_ok(sub { $node->value("SELECT count(*) FROM twtasks.warnings WHERE detail LIKE '%notify target%'") == 0 }, 'the warning goes');

# ---- secrets ----

my @helpers = grep { /twtasks-notify/ } map { PostgreSQL::Test::Utils::slurp_file("/proc/$_/cmdline") . PostgreSQL::Test::Utils::slurp_file("/proc/$_/environ") }
  $sidecar->programs;
is(scalar @helpers, 1, 'one helper runs');
my $everything = join "\n", $sidecar->log, @helpers, $node->value('SELECT json_agg(s) FROM twtasks.incident_sent s'),
  $node->value('SELECT json_agg(w) FROM twtasks.warnings w');
unlike($everything, qr/canary/, 'no secret is in a log, an argument, the environment or the database');

# ---- what is wrong stops the heartbeat ----

is($node->value('SELECT twtasks_internal.is_well()'), 'f', 'with an open page the heartbeat stops');
is(scalar(to('beat')), $beats, 'nobody called it since the page, although the helper began anew');
$node->value('UPDATE twtasks.incident SET resolved = now()');
is($node->value('SELECT twtasks_internal.is_well()'), 't', 'without one it goes on');

is($sidecar->stop, 0, 'the sidecar stops in order');
done_testing();
