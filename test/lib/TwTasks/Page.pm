# Page.pm -- the page of twtasks-web in a browser: a server with data for all pages, and
# scripts of node that look at them.

package TwTasks::Page;

use strict;
use warnings FATAL => 'all';

use File::Copy qw(copy);
use IPC::Run;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Api;
use TwTasks::Cluster;

use constant FOLDER => 'test/ui';

# Returns the output of a command that failed; undef: it did not.
sub quietly
{
	my $output;

	return IPC::Run::run([@_], '<', \undef, '>&', \$output) ? undef : $output || 'failed';
}

# Skips the test where there is no browser, or its packages cannot be installed.
sub modules
{
	my $modules = PostgreSQL::Test::Utils::tempdir();

	plan skip_all => 'there is no node 20 with npm'
	  if quietly('node', '-e', 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)') || quietly('npm', '--version');
	copy(FOLDER . "/$_", "$modules/$_") foreach qw(package.json package-lock.json);
	my $away = quietly('timeout', '180', 'npm', 'ci', '--prefix', $modules, '--silent', '--no-audit', '--no-fund', '--ignore-scripts');
	plan skip_all => 'npm could not install the packages of the test' if defined $away;
	return $modules;
}

# Starts a server with the data of a file, and twtasks-web.
sub start
{
	my ($class, $data) = @_;
	my ($chromium) = grep { -x } qw(/usr/bin/chromium /usr/bin/chromium-browser);

	plan skip_all => 'there is no chromium' if !$chromium;
	my $modules = modules();
	my $node = TwTasks::Cluster->create('main', conf => { autovacuum => 'off' });
	my $web = TwTasks::Api->start($node, 'web', manage => { trace_url => 'https://traces.example/{trace_id}' });
	my %tokens = %{ $web->{api_tokens} };

	$node->add_extensions('events', 'kinds');
	PostgreSQL::Test::Utils::system_or_bail('psql', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-f', FOLDER . "/$data");
	return bless {
		node => $node,
		web => $web,
		environment => {
			TWT_UI_MODULES => $modules,
			TWT_CHROMIUM => $chromium,
			TWT_WEB => "http://$web->{config}{listen}",
			TWT_DATABASE => $node->connstr('postgres'),
			TWT_OPERATOR => $tokens{otto},
			TWT_VIEWER => $tokens{vera},
			TWT_READER => $tokens{pia} } }, $class;
}

# Starts a script; the caller pumps and ends it.
sub start_script
{
	my ($self, $script, $output, $errors) = @_;

	local %ENV = (%ENV, %{ $self->{environment} });
	return IPC::Run::start([ 'node', FOLDER . "/$script.mjs" ], '<', \undef, '>', $output, '2>', $errors, IPC::Run::timeout(600));
}

# The results of a script, which are lines of JSON.
sub results_ok
{
	my ($script, $output) = @_;
	my @results = map { decode_json($_) } grep { /^\{/ } split /\n/, $output;

	ok($_->{ok}, "$script: $_->{name}") or diag($_->{why}) foreach @results;
	return scalar @results;
}

sub run_script
{
	my ($self, $script) = @_;
	my ($output, $errors) = ('', '');
	my $run = $self->start_script($script, \$output, \$errors);

	ok($run->finish, "$script: ran to its end") or diag($errors);
	cmp_ok(results_ok($script, $output), '>', 0, "$script: has results");
	return;
}

1;
