# 060_broken_handlers.pl -- handlers whose program, function or grant is missing
# are told at the start, at a reload, by --check-config and in twtasks.warnings,
# with what to type; the other handlers work.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my $directory = PostgreSQL::Test::Utils::tempdir();

$node->value(<<'SQL');
	CREATE ROLE accountant NOLOGIN;
	CREATE ROLE stranger NOLOGIN;
	GRANT accountant TO sidecar;
	CREATE SCHEMA app;
	CREATE SCHEMA hidden;
	GRANT USAGE ON SCHEMA app, twtasks TO accountant;
	CREATE FUNCTION app.fine(task twtasks.task_input) RETURNS void LANGUAGE sql AS '';
	CREATE FUNCTION app.number(task twtasks.task_input) RETURNS integer LANGUAGE sql AS 'SELECT 1';
	CREATE FUNCTION app.of_text(task text) RETURNS void LANGUAGE sql AS '';
	CREATE FUNCTION app.secret(task twtasks.task_input) RETURNS void LANGUAGE sql AS '';
	CREATE FUNCTION hidden.fine(task twtasks.task_input) RETURNS void LANGUAGE sql AS '';
	REVOKE EXECUTE ON FUNCTION app.secret FROM PUBLIC;
SQL

sub sql_handler
{
	my ($type, $function, $role) = @_;

	return { types => [$type], sql => $function, role => $role // 'accountant' };
}

my @handlers = (
	sql_handler('FINE', 'app.fine'),
	sql_handler('MISSING', 'app.missing'),
	sql_handler('NUMBER', 'app.number'),
	sql_handler('OF_TEXT', 'app.of_text'),
	sql_handler('SECRET', 'app.secret'),
	sql_handler('HIDDEN', 'hidden.fine'),
	sql_handler('STRANGER', 'app.fine', 'stranger'),
	sql_handler('NOBODY', 'app.fine', 'nobody'),
	{ types => ['PROGRAM'], command => ['/nonexistent/handler'] },
	{ types => ['WORKER'], worker => ['/nonexistent/worker'] },
	{ types => ['NOOP'], noop => JSON::PP::true });

# By the number of the handler.
my %faults = (
	1 => 'handler function "app.missing" does not exist (SQLSTATE 42883): Create it as app.missing(task twtasks.task_input), with its schema in the name.',
	2 => 'handler function "app.number" must return twtasks.task_result or void (SQLSTATE 42883)',
	3 => 'handler function "app.of_text" does not exist (SQLSTATE 42883): Create it as app.of_text(task twtasks.task_input), with its schema in the name.',
	4 => 'permission denied for handler function "app.secret" (SQLSTATE 42501): GRANT EXECUTE ON FUNCTION app.secret(twtasks.task_input) TO accountant.',
	5 => 'permission denied for the schema of handler function "hidden.fine" (SQLSTATE 42501): GRANT USAGE ON SCHEMA hidden TO accountant.',
	6 => 'permission denied to run a handler as role "stranger" (SQLSTATE 42501): GRANT stranger TO sidecar.',
	7 => 'role "nobody" of a handler does not exist (SQLSTATE 42704): Create it, or correct it in the sidecar\'s configuration.',
	8 => 'no program "/nonexistent/handler" that may be executed',
	9 => 'no program "/nonexistent/worker" that may be executed');

sub expected
{
	my ($before, @numbers) = @_;

	return join "\n", map { "${before}handlers[$_]: $faults{$_}" } @numbers;
}

# Writes this configuration and asks --check-config about it.
sub check_config
{
	my ($name, $config) = @_;
	my $path = TwTasks::Sidecar::write_config("$directory/$name.yaml", $config);
	my ($out, $err);

	ok( IPC::Run::run(
			[ TwTasks::Sidecar::program(), '--config', $path, '--check-config' ],
			'>', \$out, '2>', \$err),
		"$name: --check-config exits with 0");
	like($out, qr/the configuration is right$/, "$name: the file is right");
	$err =~ s/^\Q$path\E: //mg;
	chomp $err;
	return $err;
}

# The log names each of them once.
sub told_ok
{
	my ($sidecar, $offset, $name) = @_;

	$sidecar->wait_for_log(qr/handlers\[9\]: /, $name, $offset);
	my @told =
	  $sidecar->log($offset) =~ /ERROR handler: cannot be started, its tasks wait: (.*)/g;

	is(join("\n", @told), expected('', 1 .. 9), $name);
	return;
}

sub warned_ok
{
	my ($name, @numbers) = @_;
	my $rows = '';

	wait_for(
		sub {
			$rows = $node->value(
				'SELECT string_agg(detail, chr(10) ORDER BY detail) FROM twtasks.warnings
				WHERE warning = \'broken handler\'');
			return $rows eq expected('node "a": ', @numbers);
		},
		$name) if @numbers;
	is($rows, expected('node "a": ', @numbers), $name);
	return;
}

# ---- a start, and what works all the same ----

my $sidecar =
  TwTasks::Sidecar->start($node, 'a', handlers => \@handlers);

told_ok($sidecar, undef, 'the log of the start has each handler that cannot be started');
warned_ok('the view has each handler that cannot be started', 1 .. 9);
foreach my $type (qw(FINE NOOP))
{
	my $id = $node->add_task($type);

	wait_ok(sub { $node->status_of($id) eq 'DONE' }, "$type: the other handlers work");
}
my $waits = $node->add_task('NOBODY');

wait_ok(sub { $node->state_of($waits) =~ /^WAITING/ }, 'a task for a role that does not exist waits');
is($node->value("SELECT tries FROM twtasks.tasks WHERE id = '$waits'"),
	0, 'the waiting task has no try counted');

# ---- a reload ----

my $position = $sidecar->log_position;

$sidecar->reload($sidecar->{config});
told_ok($sidecar, $position, 'the log of a reload has each broken handler again');

# ---- without a start ----

my %config = (%{ $sidecar->{config} }, environment => 'production');

is(check_config('reachable', \%config),
	expected('warning: ', 1 .. 9), 'reachable: --check-config warns of each broken handler');
is(check_config('fine', { %config, handlers => [ @handlers[ 0, 10 ] ] }),
	'', 'fine: --check-config has nothing to say');
like(
	check_config('unreachable', { %config, postgres => 'host=/nowhere dbname=app' }),
	qr{\A\Q${\ expected('warning: ', 8, 9)}\E\nnotice: did not look at the functions of handlers: \N*/nowhere\N*\z},
	'unreachable: --check-config tells in one line what it could not look at');
like(
	check_config('refused', { %config, postgres => "$config{postgres} user=producer" }),
	qr/\nnotice: did not look at the functions of handlers: ERROR: +permission denied for schema twtasks_internal\z/,
	'refused: --check-config says that it lacks the right');
is( check_config(
		'programs',
		{
			%config,
			postgres => 'host=/nowhere dbname=app',
			handlers => [ @handlers[ 10, 8 ] ]
		}) =~ s/handlers\[1\]/handlers[8]/r,
	expected('warning: ', 8),
	'programs: --check-config needs no database without functions');

# ---- mended ----

$position = $sidecar->log_position;
$node->value(<<'SQL');
	GRANT EXECUTE ON FUNCTION app.secret(twtasks.task_input) TO accountant;
	GRANT USAGE ON SCHEMA hidden TO accountant;
	GRANT stranger TO sidecar;
	GRANT USAGE ON SCHEMA app TO stranger;
SQL
$sidecar->wait_for_log(qr/INFO  handler: can be started again: handlers\[$_\]/,
	"handlers[$_]: what was typed has mended it", $position)
  foreach 4, 5, 6;
warned_ok('the view has the handlers that are still broken', 1 .. 3, 7 .. 9);
unlike($sidecar->log($position), qr/cannot be started, its tasks wait: /,
	'the log does not repeat the complaint');
is($sidecar->stop, 0, 'the sidecar stops in order');
is($node->value('SELECT count(*) FROM twtasks.warnings WHERE warning = \'broken handler\''),
	0, 'broken handlers of an ended node are not in the view');

# ---- all is well ----

my $well = TwTasks::Sidecar->start($node, 'well', handlers => [ @handlers[ 0, 10 ] ]);

is($well->stop, 0, 'a sidecar whose handlers are there starts, and stops in order');
unlike($well->log, qr/cannot be started/, 'a sidecar with good handlers complains of none');

# ---- a function that is dropped later ----

my $fault = 'handlers[0]: handler function "app.fine" does not exist (SQLSTATE 42883): Create it as app.fine(task twtasks.task_input), with its schema in the name.';

$well = TwTasks::Sidecar->start($node, 'later', handlers => [ @handlers[ 0, 10 ] ]);
$node->value('DROP FUNCTION app.fine(twtasks.task_input)');
$node->add_task('FINE') foreach 1 .. 3;
wait_ok(sub { $node->tasks('type = \'FINE\' AND status = \'WAITING\' AND tries = 0') == 3 },
	'tasks of a function that was dropped wait');
wait_ok(
	sub { $node->value('SELECT string_agg(detail, chr(10)) FROM twtasks.warnings WHERE warning = \'broken handler\'') eq "node \"later\": $fault" },
	'the view has the function');
is(join("\n", $well->log =~ /ERROR handler: (.*)/g),
	"cannot be started, its tasks wait: $fault", 'the log names it once');
is($well->stop, 0, 'the sidecar stops in order');

done_testing();
