# 143_web_silence.pl -- when no sidecar lives any more, twtasks-web says so to people, and
# sends what the leader left; once one leads again, it alone sends.
#
#	TWT_REAL_SILENCE=1	waits for real until the last count is old

use strict;
use warnings FATAL => 'all';

use JSON::PP;
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
my %notify = (
	heartbeat => $server->url('/beat'),
	targets => [ { name => 'hook', kind => 'webhook', url => $server->url('/hook') } ]);
my $sidecar = TwTasks::Sidecar->start($node, 'a',
	handlers => [ { types => ['NOOP'], noop => JSON::PP::true } ], notify => \%notify);
my $web = TwTasks::Web->start($node, 'web',
	listen => '127.0.0.1:' . PostgreSQL::Test::Cluster::get_free_port(), notify => \%notify);

# The messages about a key, such as "open resolve".
sub messages
{
	my ($key) = @_;

	return join ' ', map { $_->{state} } grep { $_->{key} eq $key }
	  map { decode_json($_->{body}) } grep { $_->{target} eq '/hook' } $server->requests;
}

sub beats
{
	return scalar grep { $_->{target} eq '/beat' } $server->requests;
}

sub helpers
{
	my ($program) = @_;

	# a process may end between both looks
	return scalar grep { /twtasks-notify/ } map { eval { PostgreSQL::Test::Utils::slurp_file("/proc/$_/cmdline") } // '' } $program->programs;
}

wait_ok(sub { $node->value('SELECT count(*) FROM twtasks.monitor') == 1 && beats() > 0 }, 'a sidecar counts');
is(helpers($web), 0, 'twtasks-web leaves messages to the leader');

$sidecar->kill9;
# The leader has decided to send it, and died.
$node->value(q{INSERT INTO twtasks.incident (key, kind, object, severity, opened, refreshed, count, summary, told)
	VALUES ('error/PAY', 'error', 'PAY', 'page', now(), now(), 1, 'tasks are in ERROR', now())});
my $beats = beats();
is($node->value(q(SELECT twtasks.judge_silence())), 'f', 'the last count is not old yet');
$node->value(q(UPDATE twtasks.monitor_look SET at = at - interval '151 s')) unless $ENV{TWT_REAL_SILENCE};
wait_ok(sub { messages('silent/') eq 'open' }, 'people hear that nobody counts');
diag(sprintf 'they heard of it %.0f s after the end of the last sidecar', took()) if $ENV{TWT_REAL_SILENCE};
wait_ok(sub { messages('error/PAY') eq 'open' }, 'they hear of what the leader left, too');
wait_ok(sub { $node->value(q(SELECT count(*) FROM twtasks.incident_sent WHERE key IN ('silent/', 'error/PAY') AND status = 'sent')) == 2 },
	'both are noted');
is(helpers($web), 1, 'one helper sends');
$node->value(q(SELECT twtasks.silence('*', '*', now() + interval '1 h', 'test')));
my $position = $web->log_position;
$web->reload({ %{ $web->{config} } });
$web->wait_for_log(qr/twtasks-notify\[\d+\] started for/, 'a reload takes new settings', $position);
is(beats(), $beats, 'it never calls the heartbeat');
$node->value('DELETE FROM twtasks.silence');

$sidecar->run;
wait_ok(sub { messages('silent/') eq 'open resolve' }, 'the next leader says that the silence has ended');
wait_ok(sub { messages('error/PAY') eq 'open resolve' }, 'it goes on where twtasks-web was');
wait_ok(sub { helpers($web) == 0 }, 'the helper of twtasks-web ends');
ok($web->wait_for_log(qr/twtasks-notify\[\d+\] exited with status 0: sidecars count tasks$/m), 'the log says why');
is($node->value(q(SELECT twtasks.next_incidents('{new}', 100, true) IS NULL)), '', 'it gets no message while a leader counts');

# ---- all lose the server, and twtasks-web is back first ----

sub silence_session
{
	return $node->value(q(SELECT query FROM pg_stat_activity WHERE application_name ~ 'silence$' AND state = 'idle')) // '';
}

sub opened
{
	return $node->value(q(SELECT count(*) FROM twtasks.incident WHERE kind = 'silent'));
}

$sidecar->freeze;
$web->freeze;
$node->value(q(UPDATE twtasks.monitor_look SET at = at - interval '151 s'));
$node->restart;
$node->forget_session;
$web->signal('CONT');
wait_ok(sub { silence_session() =~ /statement_timeout|judge_silence/ }, 'twtasks-web is back');
$web->freeze;
is(opened(), 1, 'it does not ask at once');
$sidecar->signal('CONT');
wait_ok(sub { $node->value(q(SELECT at > now() - interval '60 s' FROM twtasks.monitor_look)) eq 't' }, 'a sidecar counts again');
$web->signal('CONT');
wait_ok(sub { silence_session() =~ /judge_silence/ }, 'then it asks');
is(opened() . messages('silent/'), '1open resolve', 'and nobody hears of a silence');

is($web->stop, 0, 'twtasks-web stops in order');
is($sidecar->stop, 0, 'the sidecar stops in order');
done_testing();
