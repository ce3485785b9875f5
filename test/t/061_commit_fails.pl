# 061_commit_fails.pl -- a transaction that fails at its very end, in COMMIT,
# has failed: the try of a SQL function counts, and a grab or a finish is done
# again.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;
use TwTasks::Wrap;

my $node = TwTasks::Cluster->create('main');
my $host = $node->host;
my $port = $node->port;
my $ledger = TwTasks::Ledger->new;

# postgres_fdw commits in the other database when the transaction here commits:
# that is when the other database checks its constraint.
$node->value($_) foreach ('CREATE DATABASE ledger', <<"SQL");
	CREATE SCHEMA app;
	CREATE EXTENSION postgres_fdw;
	CREATE SERVER ledger FOREIGN DATA WRAPPER postgres_fdw
		OPTIONS (host '$host', port '$port', dbname 'ledger');
	CREATE USER MAPPING FOR PUBLIC SERVER ledger
		OPTIONS (user 'sidecar', password_required 'false');
	CREATE FOREIGN TABLE app.payout (n integer) SERVER ledger
		OPTIONS (schema_name 'public', table_name 'payout');
	CREATE FUNCTION app.pay(task twtasks.task_input) RETURNS void
	LANGUAGE sql AS 'INSERT INTO app.payout VALUES (task.data::integer)';
	GRANT USAGE ON SCHEMA app TO sidecar;
	GRANT INSERT ON app.payout TO sidecar;
	SELECT twtasks.configure_limit('PAY_LIMITED', 3, 'cluster')
SQL
$node->safe_psql('ledger', <<'SQL');
	CREATE TABLE payout (n integer UNIQUE DEFERRABLE INITIALLY DEFERRED);
	INSERT INTO payout VALUES (1);
	GRANT INSERT, SELECT ON payout TO sidecar;
SQL

my %retry = (retry => { delay => '10ms', max_tries => 2 });
my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	handlers => [
		{ types => [ 'PAY', 'PAY_LIMITED' ], sql => 'app.pay', %retry },
		{ types => ['COMMAND'], command => $ledger->command, %retry }
	]);

# ---- SQL functions ----

foreach my $type (qw(PAY PAY_LIMITED))
{
	my $base = $type eq 'PAY' ? 10 : 20;
	my ($second, @others) = map { $node->add_task($type, data => $_) } 1,
	  $base .. $base + 5;

	wait_ok(sub { $node->status_of($second) eq 'ERROR' },
		"$type: a transaction that fails at commit is a failure");
	like(
		$node->value(
			"SELECT tries || ' ' || error FROM twtasks.error_tasks WHERE id = '$second'"
		),
		qr/^2 duplicate key value .*SQLSTATE 23505/,
		"$type: the failed task had two tries, and its error says why");
	wait_ok(
		sub { $node->tasks("type = '$type' AND status = 'DONE'") == @others },
		"$type: the other tasks are done");
	# The database knows the end of a task before the log does.
	$sidecar->wait_for_log(qr/given up.*task=\Q$second\E/);
	is( scalar(() = $sidecar->log =~ /ERROR .*given up.*task=\Q$second\E/g),
		1,
		"$type: the log has one line about the end of the task");
	is(scalar(() = $sidecar->log =~ /WARN .*try 1 failed.*task=\Q$second\E/g),
		1, "$type: the log has one line about its first try");
}
is( $node->safe_psql('ledger', 'SELECT count(*), count(DISTINCT n) FROM payout'),
	'13|13',
	'each effect is there once');

# ---- grabs and finishes ----

$node->value(<<'SQL');
	CREATE TABLE app.one (n integer UNIQUE DEFERRABLE INITIALLY DEFERRED);
	INSERT INTO app.one VALUES (1);
SQL

foreach my $step (qw(grab finish))
{
	my $from = $sidecar->log_position;

	wrap($node, "${step}_tasks", 'INSERT INTO app.one VALUES (1);');
	my $task = $node->add_task('COMMAND');

	$sidecar->wait_for_log(
		qr/ERROR postgres: $step\w*: duplicate key .*SQLSTATE 23505/,
		"$step: its failure is told", $from);
	isnt($node->status_of($task), 'DONE', "$step: the task is not DONE while the call fails");
	unwrap($node, "${step}_tasks");
	wait_ok(sub { $node->status_of($task) eq 'DONE' },
		"$step: the task is done when the call works again");
	is($node->value("SELECT tries FROM twtasks.tasks WHERE id = '$task'"),
		1, "$step: the task is done in its first try");
	is($ledger->starts($task), 1, "$step: the handler ran once");
}
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
