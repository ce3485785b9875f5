# 095_prometheus.pl -- a real Prometheus reads our figures, each alert fires once
# and not before, each query of the board has data, and killed sidecars are noticed.

use strict;
use warnings FATAL => 'all';

use File::Basename;
use HTTP::Tiny;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Prometheus;
use TwTasks::Sidecar;
use TwTasks::Wait;
use TwTasks::Web;

TwTasks::Prometheus::needed();

my $root = dirname(__FILE__) . '/../..';
my $rules = PostgreSQL::Test::Utils::slurp_file("$root/share/prometheus/twtasks.rules.yml");
my $tests = PostgreSQL::Test::Utils::slurp_file("$root/test/prometheus/twtasks.test.yml");
my @alerts = $rules =~ /^ +- alert: (\w+)$/mg;

# ---- the rules ----

my $directory = PostgreSQL::Test::Utils::tempdir();

PostgreSQL::Test::Utils::append_to_file("$directory/twtasks.rules.yml", $rules);
PostgreSQL::Test::Utils::append_to_file("$directory/twtasks.test.yml", $tests);
foreach my $kind ('check', 'test')
{
	my ($said, $status) = TwTasks::Prometheus::promtool('', $kind, 'rules', "$directory/twtasks." . ($kind eq 'check' ? 'rules' : 'test') . '.yml');

	is($status, 0, "promtool $kind rules") or diag($said);
}
my %headings = map { s/[^\w-]//gr => 1 } map { lc } PostgreSQL::Test::Utils::slurp_file("$root/docs/runbook.md") =~ /^## (.+)$/mg;

foreach my $alert (@alerts)
{
	my ($rule) = $rules =~ /^ +- alert: $alert\n(.*?)(?:\n\n|\z)/ms;

	like($tests, qr/alertname="$alert".*exp_samples: \[\]/, "$alert: the tests see it silent");
	like($tests, qr/alertname="$alert".*value: 1\}/, "$alert: the tests see it fire once");
	ok($rule =~ m{^ +runbook_url: docs/runbook[.]md#(\S+)$}m && $headings{$1}, "$alert: docs/runbook.md says what to do");
	like($rule, qr/^ +summary: .+\n +description: ./m, "$alert: it has a summary and a description");
}

# ---- the endpoints ----

my $node = TwTasks::Cluster->create('main');
my %ports = map { $_ => PostgreSQL::Test::Cluster::get_free_port() } qw(twtasksd twtasks-web);

$node->value(q(SELECT twtasks.configure_limit('NOOP', 5, scope => 'cluster'), twtasks.pause_type('PAUSED', 'for the test')));
my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	listen => "127.0.0.1:$ports{twtasksd}",
	lease => '5s',
	handlers => [
		{ types => [ 'NOOP', 'PAUSED' ], noop => JSON::PP::true },
		{ types => ['FAIL'], command => ['/bin/false'], retry => { max_tries => 1 } }
	]);
my $web = TwTasks::Web->start($node, 'web', listen => "127.0.0.1:$ports{'twtasks-web'}");
my $failed = $node->add_task('FAIL');

$node->add_task($_) foreach ('NOOP') x 20, 'PAUSED';
wait_for(sub { $node->status_of($failed) eq 'ERROR' }, 'a task to fail');
wait_for(sub { $node->tasks(q(type = 'NOOP' AND status = 'DONE')) == 20 }, 'tasks to end');

# The leader would do both within a minute.
$node->value(q(INSERT INTO twtasks.incident (key, kind, object, severity, opened, refreshed, count, summary)
	VALUES ('error/FAIL', 'error', 'FAIL', 'page', now(), now(), 1, 'test') ON CONFLICT DO NOTHING));
$node->value('SELECT twtasks_internal.monitor_tasks()');

foreach my $job (sort keys %ports)
{
	my $answer = HTTP::Tiny->new(timeout => 60)->get("http://127.0.0.1:$ports{$job}/metrics");
	my ($said) = TwTasks::Prometheus::promtool($answer->{content}, 'check', 'metrics');

	is($answer->{status}, 200, "$job has metrics");
	is($said, '', "$job: promtool has nothing to say about them");
}

# ---- the server ----

my $prometheus = TwTasks::Prometheus->create(
	{
		global => { scrape_interval => '1s', evaluation_interval => '1s' },
		rule_files => ['hurried.rules.yml'],
		scrape_configs => [
			map { { job_name => $_, static_configs => [ { targets => ["127.0.0.1:$ports{$_}"], labels => { database => 'app' } } ] } } sort keys %ports ]
	},
	# The rule of which a time is promised keeps its own.
	'hurried.rules.yml' => $rules =~ s/for: \d+m/for: 1s/gr =~ s/(alert: NothingRuns\n.*?for: )1s/${1}1m/sr);

sub is_firing
{
	my ($alert) = @_;

	return scalar $prometheus->query("ALERTS{alertname=\"$alert\",alertstate=\"firing\"}");
}

wait_ok(sub { my @up = $prometheus->query('up == 1'); @up == keys %ports }, 'Prometheus reads all');
wait_ok(sub { $prometheus->query('twtasks_monitor_timestamp_seconds') }, 'Prometheus has figures of the database');

my $board = decode_json(PostgreSQL::Test::Utils::slurp_file("$root/share/grafana/twtasks.json"));
my @rows = map { $_->{title} } grep { $_->{type} eq 'row' } @{ $board->{panels} };

is("@rows", 'Wrong now Flow Latency by type Engine', 'the board has four rows');
foreach my $panel (@{ $board->{panels} })
{
	# Without a ring it has no figures.
	next if ($panel->{title} // '') eq 'Queue in shared memory' && !$node->has_ring;
	foreach my $target (@{ $panel->{targets} || [] })
	{
		my $query = $target->{expr} =~ s/\$__rate_interval/20s/gr =~ s/\$database/.*/gr;

		wait_ok(sub { scalar $prometheus->query($query) }, "board, $panel->{title}: $target->{expr}");
	}
}

# ---- the sidecars are killed ----

ok(!is_firing('NothingRuns'), 'no alert says that nothing runs');

sub is_soon_noticed
{
	$sidecar->run if $sidecar->has_exited;
	wait_for(sub { !is_firing('NothingRuns') }, 'the end of the alert');
	$sidecar->kill9;
	$node->add_task('NOOP');
	wait_for(sub { is_firing('NothingRuns') }, 'the alert that nothing runs');
	note(sprintf 'after %.1f s', took());
	return took() < 90;
}

once_ok(\&is_soon_noticed, 'an alert says within 90 seconds that nothing runs');
wait_ok(sub { is_firing('NodeDown') }, 'an alert says that a node is down');
$web->stop;

done_testing();
