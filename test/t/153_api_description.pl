# 153_api_description.pl -- the description of the management API is right OpenAPI,
# and describes each answer to requests that a generator makes of it.

use strict;
use warnings FATAL => 'all';

use IPC::Run;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Api;
use TwTasks::Cluster;

# A stream has no end, so no request of it does: 156_api_stream.pl has some.

# A few requests of each route, the same ones in each run; "make check-api" makes
# others for as long as it is told.
my @amount =
    $ENV{TWT_API_SECONDS}
  ? ('--max-time', $ENV{TWT_API_SECONDS})
  : ('--max-time', 20, '--max-examples', 4, '--seed', $ENV{TWT_TEST_SEED} // 1);

my $tools = $ENV{TWT_API_TOOLS} // '';

plan skip_all => 'the tools that judge the API cannot be had: see scripts/api-tools' unless -d $tools;

$ENV{PYTHONPATH} = $tools;
$TwTasks::Api::people{olga} = 'operator,payload';

my $node = TwTasks::Cluster->create('main');

$node->add_extensions(qw(events kinds));
$node->value(<<'SQL');
	SELECT twtasks.allow_payload('*', 'twtasks_payload_viewer');
	SELECT twtasks.schedule('nightly', '0 3 * * *', 'REPORT', reason => 'test');
SQL
$node->add_task('SOME|TYPE', key => "key $_") foreach 1 .. 20;

my $web = TwTasks::Api->start($node, 'web');
my $directory = PostgreSQL::Test::Utils::tempdir();

# Runs a tool; says what it said if it fails.
sub tool_ok
{
	my ($name, $script, @arguments) = @_;
	my ($said, $is_ok);

	$is_ok = IPC::Run::run([ '/usr/bin/python3', '-c', $script, @arguments ], '>&', \$said);
	ok($is_ok, $name) or diag(join "\n", map { substr $_, 0, 200 } split /\n/, $said);
}

# ---- the description ----

my (undef, undef, $answer) = $web->call(undef, 'GET', '/openapi.json');
my $printed = `'$ENV{TWTASKS_WEB}' --openapi`;

is($answer->{headers}{'content-type'}, 'application/json', 'the description is JSON');
is($printed, $answer->{content}, 'the program prints what it serves');
PostgreSQL::Test::Utils::append_to_file("$directory/openapi.json", $printed);
tool_ok('it is right', 'from openapi_spec_validator.__main__ import main; main()', "$directory/openapi.json");

# ---- requests ----

# Refusals of requests that the description allows are right: an object may be
# missing, or have changed.
tool_ok(
	'each answer is described, and none is 500',
	'from schemathesis.cli import schemathesis; schemathesis()',
	'run', "http://$web->{config}{listen}/api/v1/openapi.json",
	'--url', "http://$web->{config}{listen}/api/v1",
	'-H', "Authorization: Bearer $web->{api_tokens}{olga}",
	'--checks', 'not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance',
	'--exclude-path', '/stream', '--phases', 'examples,fuzzing', @amount, '--continue-on-failure', '--no-shrink', '--no-color',
	'--suppress-health-check', 'all', '--warnings', 'off');

unlike(PostgreSQL::Test::Utils::slurp_file($web->{log}), qr/ FATAL | PANIC /, 'the server goes on') if $web->{log};

done_testing();
