# 095_canaries_processes.pl -- secrets of the configuration are in no output of any program:
# not in its log, arguments or environment, nor in what it prints, serves or stores.

use strict;
use warnings FATAL => 'all';

use HTTP::Tiny;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::HttpServer;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;
use TwTasks::Web;

my $node = TwTasks::Cluster->create('main');
my $server = TwTasks::HttpServer->start;
my $ledger = TwTasks::Ledger->new;
my $directory = PostgreSQL::Test::Utils::tempdir();
my %ports = map { $_ => PostgreSQL::Test::Cluster::get_free_port() } qw(sidecar web);
my $connection = $node->connstr('postgres') . ' password=canary-of-a-password';

sub secret_file
{
	my ($name, @lines) = @_;

	return TwTasks::Web::write_tokens("$directory/$name", @lines);
}

# A sidecar asks what is to be sent when it starts.
$node->value(q{INSERT INTO twtasks.incident (key, kind, object, severity, opened, refreshed, count, summary, told)
	VALUES ('error/OTHER', 'error', 'OTHER', 'page', now(), now() + interval '1 day', 1, 'tasks are in ERROR', now())});
my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	postgres => "$connection user=sidecar",
	listen => "127.0.0.1:$ports{sidecar}",
	log => { level => 'debug' },
	notify => {
		heartbeat_file => secret_file('beat', $server->url('/canary-of-a-heartbeat')),
		targets => [
			{ name => 'pager', kind => 'pagerduty', url => $server->url('/pager'), secret_file => secret_file('pager', 'canary-of-a-routing-key') },
			{ name => 'chat', kind => 'slack', url_file => secret_file('chat', $server->url('/canary-of-a-url')) } ]
	},
	handlers => [
		{ types => ['COMMAND'], command => $ledger->command('gate') },
		{ types => ['WORKER'], worker => $ledger->worker('gate') },
		{
			types => ['HTTP'],
			http => $server->url('/hook'),
			headers_file => secret_file('headers', 'Authorization: Bearer canary-of-a-header'),
			secret_file => secret_file('signing', 'canary-of-a-signing-secret'),
			retry => { max_tries => 1 }
		}
	]);
my $web = TwTasks::Web->start(
	$node, 'web',
	postgres => "$connection user=web",
	listen => "127.0.0.1:$ports{web}",
	log => { level => 'debug' },
	token_file => secret_file('tokens', 'canary-of-a-token-with-many-letters'));

# ---- all that they do ----

my @ids = map { $node->add_task($_) } qw(COMMAND WORKER);
my $hanging = $node->add_task('HTTP', data => '{"how": "hang"}');

# A server that refuses a request may repeat what it was sent.
my $refused = $node->add_task('HTTP',
	data => encode_json({ status => 401, body => 'wrong: Bearer canary-of-a-header, or canary-of-a-header' }));

wait_for(sub { $ledger->starts($ids[0]) && $ledger->starts($ids[1]) && $server->requests($hanging) }, 'handlers that run');
wait_for(sub { $node->status_of($refused) eq 'ERROR' }, 'a request that is refused');
wait_for(sub { $node->value(q(SELECT count(DISTINCT target) FROM twtasks.incident_sent WHERE key = 'error/OTHER' AND status = 'sent')) == 2 }, 'messages');

sub no_canary_ok
{
	my ($text, $what) = @_;

	ok(length $text, "$what: there is something to see");
	return unlike($text, qr/canary/, "$what shows no secret");
}

# ---- processes ----

my %running = (twtasksd => $sidecar->pid, 'twtasks-web' => $web->pid);

foreach my $pid ($sidecar->processes)
{
	my $name = PostgreSQL::Test::Utils::slurp_file("/proc/$pid/comm") =~ s/\n//r;

	$running{$name} = $pid if $name =~ /^twtasks-/;
}
is(join(' ', sort keys %running), 'twtasks-http twtasks-notify twtasks-run twtasks-web twtasksd', 'each program runs');
foreach my $name (sort keys %running)
{
	no_canary_ok(PostgreSQL::Test::Utils::slurp_file("/proc/$running{$name}/$_"), "$_ of $name") foreach qw(cmdline environ);
	like(PostgreSQL::Test::Utils::slurp_file("/proc/$running{$name}/limits"), qr/^Max core file size +0 +0 /m, "a crash of $name writes no memory to a file");
}

# ---- what they print and serve ----

foreach my $program ($sidecar, $web)
{
	no_canary_ok(join('', run_command([ $program->program, '--config', $program->{config_path}, '--print-config' ])), "--print-config of $program->{name}");
	my ($out, $err) = run_command([ $program->program, '--config', $program->{config_path}, '--check-config' ]);
	unlike("$out$err", qr/canary/, "--check-config of $program->{name} shows no secret");
}
foreach my $what (sort keys %ports)
{
	foreach my $path (qw(/metrics /health /))
	{
		my $answer = HTTP::Tiny->new(timeout => 180, default_headers => { Authorization => 'Bearer canary-of-a-token-with-many-letters' })
		  ->get("http://127.0.0.1:$ports{$what}$path");

		unlike(join('', $answer->{content}, %{ $answer->{headers} }), qr/canary/, "$path of $what shows no secret");
		is($answer->{status}, 200, "$path of $what answers") if $path eq '/metrics';
	}
}

# ---- what is stored ----

foreach my $relation (split /\n/, $node->value(<<'SQL'))
	SELECT c.oid::regclass FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE n.nspname IN ('twtasks', 'twtasks_internal') AND c.relkind IN ('r', 'p', 'v') AND NOT c.relispartition
	  -- a task carries here what the server shall answer
	  AND c.oid <> ALL ('{twtasks.task,twtasks.finished_task}'::regclass[])
	UNION ALL SELECT 'pg_stat_activity' ORDER BY 1
SQL
{
	is($node->value("SELECT count(*) FROM $relation r WHERE strpos(r::text, 'can' || 'ary') > 0"), 0, "$relation has no secret");
}
is($node->value("SELECT error FROM twtasks.tasks WHERE id = '$refused'"), 'server answered 401: wrong: Bearer ***, or ***', 'what a server repeats is hidden');

# ---- the end ----

$ledger->release('gate', 2);
$server->stop;
is($_->stop, 0, "$_->{name} stops in order") foreach $web, $sidecar;
no_canary_ok($_->log(0), "the log of $_->{name}") foreach $web, $sidecar;
unlike(PostgreSQL::Test::Utils::slurp_file($node->logfile), qr/canary-of-a-(?!header)/, 'the log of the server has no secret');
done_testing();
