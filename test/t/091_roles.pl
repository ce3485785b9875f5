# 091_roles.pl -- nobody needs to be a superuser: a producer adds and no more,
# a sidecar does its work and no more, an operator and a viewer do theirs.

use strict;
use warnings FATAL => 'all';

use File::Basename;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my $ledger = TwTasks::Ledger->new;

$node->value(<<'SQL');
	CREATE ROLE operator LOGIN IN ROLE twtasks_operator;
	CREATE ROLE viewer LOGIN IN ROLE twtasks_viewer;
	CREATE ROLE stranger LOGIN;
SQL
is($node->value(<<'SQL'), '0', 'no role may do more than its description says');
		SELECT count(*) FROM pg_roles
		WHERE (rolname LIKE 'twtasks%' OR rolname IN ('sidecar', 'producer'))
		  AND (rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls)
SQL
is( $node->value(
		<<'SQL'), 'twtasks_worker', 'the sidecar is a worker, and that is all');
		SELECT string_agg(roleid::regrole::text, ' ') FROM pg_auth_members
		WHERE member = 'sidecar'::regrole
SQL

# The page has each right of the catalog, and no other.
$node->add_extensions(qw(events kinds));
my $page = PostgreSQL::Test::Utils::slurp_file(dirname(__FILE__) . '/../../docs/reference.md');
my ($titles, $rows) = $page =~ /^\| name \| (`twtasks_producer`.*?) \|\n\|[-|]+\n((?:\|.*\n)+)/m;
my @columns = split / \| /, $titles =~ tr/`//dr;
my @rights;

foreach my $row (split /\n/, $rows)
{
	my (undef, $name, @cells) = map { s/^\s+|\s+$//gr } split /\|/, $row =~ tr/`//dr, -1;

	push @rights, map { "$name $columns[$_]" } grep { $cells[$_] eq 'yes' } 0 .. $#columns;
}
is(join("\n", sort @rights), join("\n", sort split /\n/, $node->value(<<'SQL')), 'docs/reference.md has the rights of each role');
	SELECT DISTINCT g.name || ' ' || CASE g.grantee WHEN 0 THEN 'any role' ELSE g.grantee::regrole::text END
	FROM (SELECT p.proname || '()' AS name, a.grantee
		  FROM pg_proc p CROSS JOIN LATERAL aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
		  WHERE p.pronamespace = 'twtasks'::regnamespace
		  UNION ALL
		  SELECT c.relname, a.grantee
		  FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a
		  WHERE c.relnamespace = 'twtasks'::regnamespace AND c.relkind IN ('r', 'p', 'v') AND a.privilege_type = 'SELECT') g
	WHERE g.grantee <> 'twtasks_owner'::regrole
SQL

my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	handlers => [
		{ types => ['TASK'], command => $ledger->command },
		{ types => ['ERROR'], command => $ledger->command(undef, 65) },
		{
			types => ['GATED'],
			stuck => 'retry',
			command => $ledger->command('gate')
		}
	]);
my %session = map { $_ => $node->session($_) }
  qw(producer sidecar operator viewer stranger);

sub may
{
	my ($who, $sql, $name) = @_;
	my $text = $session{$who}->try($sql);

	unlike($text, qr/^ERROR/m, "role $who $name");
	return $text;
}

sub may_not
{
	my ($who, $sql, $name) = @_;

	return like(
		$session{$who}->try($sql),
		qr/^ERROR:  42501: permission denied/m,
		"role $who may not $name");
}

# ---- the producer, and the sidecar's work ----

my $task =
  may('producer', 'SELECT task_id FROM twtasks.add_task(\'TASK\')', 'adds a task');
my $error =
  may('producer',
	'SELECT task_id FROM twtasks.add_tasks(\'[{"type": "ERROR"}]\'::jsonb)',
	'adds many tasks');
my $later = may(
	'producer',
	'SELECT task_id FROM twtasks.add_task(\'TASK\', run_after => now() + interval \'300 ms\')',
	'adds a task for later');
my $expired = may(
	'producer',
	'SELECT task_id FROM twtasks.add_task(\'OTHER\', expires => now() + interval \'1 ms\')',
	'adds a task that expires');
my $gated =
  may('producer', 'SELECT task_id FROM twtasks.add_task(\'GATED\')', 'adds a task');

wait_ok(
	sub {
			 $node->status_of($task) eq 'DONE'
		  && $node->status_of($later) eq 'DONE'
		  && $node->status_of($error) eq 'ERROR'
		  && $ledger->starts($gated);
	},
	'the sidecar runs the tasks');
$sidecar->kill9;
$sidecar->run;
$ledger->release('gate', 10);
wait_ok(
	sub { $node->status_of($gated) eq 'DONE' },
	'the sidecar recovers the task of an ended sidecar');
$node->value(
	'SELECT pg_terminate_backend(pid) FROM pg_stat_activity
	WHERE application_name = \'twtasksd control\'');
wait_ok(
	sub {
		$node->value(
			'SELECT count(*) FROM pg_inherits
			WHERE inhparent = \'twtasks.finished_task\'::regclass') > 5;
	},
	'the sidecar makes partitions');
is( $node->value(
		'SELECT string_agg(DISTINCT usename, \' \') FROM pg_stat_activity
		WHERE application_name LIKE \'twtasksd %\''),
	'sidecar',
	'all sessions are of the role that the sidecar logged in as');
unlike(
	$sidecar->log(0),
	qr/permission denied/,
	'the sidecar was never denied anything');

# ---- what is not theirs ----

my @tables = map { "twtasks.$_" }
  qw(task finished_task finished_task_other unique_key node transition);

foreach my $who (qw(producer sidecar operator viewer stranger))
{
	may_not($who, $_, $_)
	  foreach 'SELECT FROM twtasks.task', 'DELETE FROM twtasks.task',
	  'UPDATE twtasks.finished_task SET status = \'FAILED\'',
	  'INSERT INTO twtasks.audit DEFAULT VALUES',
	  'TRUNCATE twtasks.unique_key',
	  'SELECT twtasks_internal.apply_stuck_rule(\'{}\', \'\')',
	  'SELECT twtasks_internal.change_task(\'cancel\', NULL, NULL, NULL, NULL)',
	  'SELECT twtasks_internal.queue_trigger(NULL, 0, \'\', \'\', 0::smallint, 0, NULL)',
	  'CREATE TABLE twtasks.mine ()';
}
$node->value(
	'CREATE FUNCTION public.trap() RETURNS trigger LANGUAGE plpgsql
	AS $$ BEGIN RETURN NEW; END $$; GRANT EXECUTE ON FUNCTION public.trap TO PUBLIC'
);
foreach my $who (qw(producer sidecar operator viewer stranger))
{
	my @made = grep {
		$session{$who}->try(
			"CREATE TRIGGER trap BEFORE UPDATE ON $_
			FOR EACH ROW EXECUTE FUNCTION public.trap()") !~ /^ERROR:  42501/
	} @tables;

	is("@made", '', "$who: the role cannot make a trigger on a table");
}
foreach my $who (qw(sidecar operator viewer stranger))
{
	may_not($who, 'SELECT twtasks.add_task(\'TASK\')', 'add');
}
foreach my $who (qw(producer operator viewer stranger))
{
	may_not($who, "SELECT twtasks_internal.$_", "call $_")
	  foreach 'grab_tasks(\'{}\', \'{}\', 0, 0, \'{}\', \'{}\')',
	  'finish_tasks(\'{}\', \'{}\', \'{}\', \'{}\', \'{}\', NULL, NULL)',
	  'start_node(\'mine\')', 'recover_tasks()', 'clean_tasks()',
	  'execute_tasks(\'f\', NULL, \'{}\', \'{}\', 0, 0, \'{}\', \'{}\')';
}
foreach my $who (qw(producer sidecar viewer stranger))
{
	may_not($who, "SELECT twtasks.resume_task('$error', 2)", 'resume');
}
may_not('stranger', "SELECT FROM twtasks.$_", "look at $_")
  foreach qw(tasks stats nodes audit);
may_not('producer', 'SELECT FROM twtasks.tasks', 'look at tasks');
may_not('sidecar', 'SELECT FROM twtasks.audit', 'look at the audit');

# ---- operator and viewer ----

may($_,
	'SELECT count(*) FROM twtasks.tasks, twtasks.stats, twtasks.nodes',
	'looks at tasks') foreach qw(operator viewer);
like(
	may('operator',
		"SELECT result FROM twtasks.fail_task('$error', 2, 'not worth it')",
		'gives up a task in ERROR'),
	qr/^changed$/,
	'an operator gives up a task in ERROR');
is( may('viewer',
		"SELECT actor, action, reason FROM twtasks.audit",
		'looks at the audit'),
	'operator|fail|not worth it',
	'the audit names the actor');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
