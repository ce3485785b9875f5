# 160_pages.pl -- the page of twtasks-web in a browser: how it looks, what may be done
# by keyboard, what a viewer sees, and what it says when the database is away.

use strict;
use warnings FATAL => 'all';

use File::Copy qw(copy);
use IPC::Run;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Api;
use TwTasks::Cluster;
use TwTasks::Wait;

my ($chromium) = grep { -x } qw(/usr/bin/chromium /usr/bin/chromium-browser);
my $modules = PostgreSQL::Test::Utils::tempdir();
my $ui = 'test/ui';

# Returns the output of a command that failed; undef: it did not.
sub quietly
{
	my $output;

	return IPC::Run::run([@_], '<', \undef, '>&', \$output) ? undef : $output || 'failed';
}

plan skip_all => 'there is no chromium' if !$chromium;
plan skip_all => 'there is no node 20 with npm'
  if quietly('node', '-e', 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)') || quietly('npm', '--version');
copy("$ui/$_", "$modules/$_") foreach qw(package.json package-lock.json);
my $away = quietly('timeout', '180', 'npm', 'ci', '--prefix', $modules, '--silent', '--no-audit', '--no-fund', '--ignore-scripts');
plan skip_all => 'npm could not install the packages of the test' if defined $away;

my $node = TwTasks::Cluster->create('main', conf => { autovacuum => 'off' });
my $web = TwTasks::Api->start($node, 'web');

PostgreSQL::Test::Utils::system_or_bail('psql', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-f', "$ui/data.sql");

my %environment = (
	%ENV,
	TWT_UI_MODULES => $modules,
	TWT_CHROMIUM => $chromium,
	TWT_WEB => "http://$web->{config}{listen}",
	TWT_OPERATOR => $web->{api_tokens}{otto},
	TWT_VIEWER => $web->{api_tokens}{vera},
	TWT_READER => $web->{api_tokens}{pia});

# Results of a script: lines of JSON.
sub results_ok
{
	my ($script, $output) = @_;
	my @results = map { decode_json($_) } grep { /^\{/ } split /\n/, $output;

	ok($_->{ok}, "$script: $_->{name}") or diag($_->{why}) foreach @results;
	return scalar @results;
}

sub start_script
{
	my ($script, $output, $errors) = @_;

	local %ENV = %environment;
	return IPC::Run::start([ 'node', "$ui/$script.mjs" ], '<', \undef, '>', $output, '2>', $errors, IPC::Run::timeout(600));
}

sub run_script
{
	my ($script) = @_;
	my ($output, $errors) = ('', '');
	my $run = start_script($script, \$output, \$errors);

	ok($run->finish, "$script: ran to its end") or diag($errors);
	cmp_ok(results_ok($script, $output), '>', 0, "$script: has results");
	return;
}

run_script('looks');
run_script('keys');

# ---- the audit says who did it, and why ----

is( $node->value(q{SELECT string_agg(DISTINCT reason, ', ' ORDER BY reason) FROM twtasks.audit WHERE on_behalf_of = 'otto'}),
	'failed by keyboard, held by keyboard, it was not paid, it was paid, released, resumed by keyboard',
	'changes of tasks have the name and the reason of the person');
is($node->value(q{SELECT concurrency FROM twtasks.limits WHERE pattern = 'PAYOUT|*' LIMIT 1}), 7, 'the limit is the new one');
is($node->value(q{SELECT reason FROM twtasks.paused WHERE name = 'PAYOUT|ACME'}), 'paused by keyboard', 'the type is paused');

# ---- the database goes away, and comes back ----

my ($output, $errors) = ('', '');
my $run = start_script('away', \$output, \$errors);

$run->pump until $output =~ /^ready$/m || !$run->pumpable;
$node->stop('immediate');
$run->pump until $output =~ /^away$/m || !$run->pumpable;
$node->start;
ok($run->finish, 'away: ran to its end') or diag($errors);
results_ok('away', $output);

done_testing();
