# 202_edition_news.pl -- the SQL edition sends no notification while another one is on its
# way, and its late tasks start soon: as 041_late_commits.pl, by locks that only the owner
# can take.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::LateCommits;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $commits = TwTasks::LateCommits->new(edition => 'sql');
my $node = $commits->node;
my $ledger = TwTasks::Ledger->new;

# ---- nobody looks twice ----

$commits->commit(early => 'EARLY');
$commits->commit(late => 'LATE', waits_for => 'object');
pass('before the first sidecar each commit notifies');
$node->value('SELECT pg_cancel_backend(' . $commits->session('early')->backend_pid . ')');
$commits->session('early')->receive;
wait_for(sub { $commits->held('late') eq 'SyncRep' }, 'the commit');
$commits->let_commit('late');

# ---- a sidecar that looks twice ----

# While a task runs, no tick finds the first work after idle time.
my $running = $node->add_task('RUNNING');
my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	sweep => '1h',
	handlers => [
		{ types => [qw(EARLY LATE)], noop => JSON::PP::true },
		{ types => ['RUNNING'], command => $ledger->command('gate') }
	]);

wait_for(sub { $ledger->starts($running) }, 'the first task to run');
$sidecar->wait_until_idle;
$commits->start_soon;
$commits->all_notify;

# ---- what is sent at the commit ----

my $session = $node->session;

# The lines of triggers that a transaction sends, by their types; "sweep" as it is.
sub sent
{
	my (@statements) = @_;
	my $output = join "\n", map { $session->query($_) } @statements, 'SELECT 1';

	return join ' | ', map { join ' ', map { (split)[-1] } split /\n/ } $output =~ /Asynchronous notification "twtasks" with payload "default\n([^"]*)"/g;
}

sub add { return "SELECT FROM twtasks.add_task('$_[0]', key => '$_[0]-' || gen_random_uuid())" }

$session->query('LISTEN twtasks');
is(sent(add('ONE')), 'ONE', 'a task');
is(sent('BEGIN', 'SAVEPOINT a', add('GONE'), 'ROLLBACK TO a', 'SAVEPOINT b', add('KEPT'), 'RELEASE b', add('SECOND'), 'COMMIT'),
	'KEPT SECOND', 'what a savepoint rolls back is not sent');
is(sent('BEGIN', add('GONE'), 'ROLLBACK'), '', 'nothing is sent after a rollback');
is(sent('BEGIN', add('FIRST'), 'SET CONSTRAINTS ALL IMMEDIATE', add('SECOND'), add('THIRD'), 'COMMIT'),
	'FIRST | SECOND | THIRD', 'constraints that are immediate lose nothing');
is(sent('BEGIN', add('PREPARED'), 'PREPARE TRANSACTION \'p\'', 'COMMIT PREPARED \'p\''), '', 'a prepared transaction leaves its task to the sweep');
is(sent('BEGIN', add('PREPARED'), "$_ TRANSACTION 'p'", 'COMMIT PREPARED \'p\''), '', "... with comments: $_")
  foreach '/* app=pay */ PREPARE', "-- app /* pay\n/* a /* nested **/ */ prepare /* the */", '/*' . 'x' x 1000 . '*/PREPARE';
is(sent('BEGIN', add('PREPARED') . "; SELECT $_; PREPARE TRANSACTION 'p'", 'COMMIT PREPARED \'p\''), '', "... behind a value: " . substr($_, 0, 40))
  foreach '\'--\'', '\'a\\\'', 'E\'\\\'/*\'', '$$\'$$', '$a$ $b$ \' $a$', '1 AS "a\'b"', 'date\'2026-11-27\'', '\'' . 'x' x 5000 . '\'';
is(sent("/* ; PREPARE TRANSACTION 'p' */ SELECT 'prepare transaction' FROM twtasks.add_task('PLAIN')"), 'PLAIN', 'words in a comment or in a value prepare nothing');
is(sent("SELECT FROM twtasks.add_task('PLAIN', $_)"), 'PLAIN', "... $_")
  foreach '\'{"note":"see; prepare transaction fees"}\'', 'E\'"\\\'; prepare transaction"\'', '$a$"$b$; prepare transaction"$a$', '\'"\'\'; prepare transaction"\'';
$session->query($_) foreach 'BEGIN', add('PREPARED'), 'PREPARE TRANSACTION \'p\'';
is(sent(add('OTHER')), 'OTHER', 'a prepared transaction holds no notification back');
$session->query('COMMIT PREPARED \'p\'');
is(sent('BEGIN', add('RESET'), 'RESET ALL', add('LATER'), 'COMMIT'), 'LATER | sweep', 'tasks whose triggers were reset ask for a sweep');
$node->value('CREATE TABLE orders (); CREATE FUNCTION ordered() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM twtasks.add_task(\'AFTER\'); RETURN NULL; END $$;'
	  . 'CREATE CONSTRAINT TRIGGER ordered AFTER INSERT ON orders DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ordered()');
is(sent('BEGIN', add('BEFORE'), 'INSERT INTO orders DEFAULT VALUES', 'COMMIT'), 'BEFORE | AFTER', 'what a later deferred trigger adds is sent, too');
is($node->value('SELECT count(*) FROM twtasks_internal.news'), '0', 'no row of news is left');
$node->value('CREATE FUNCTION adds() RETURNS void LANGUAGE plpgsql SET work_mem = \'4MB\' AS $$ BEGIN PERFORM twtasks.add_task(\'INSIDE\'); END $$');
is(sent('BEGIN', 'SELECT adds()', add('OUTSIDE'), 'COMMIT'), 'INSIDE OUTSIDE', 'what a function with a setting adds is sent at the commit');
is(sent('BEGIN', 'SELECT count(twtasks.add_task(\'MANY\')) FROM generate_series(1, 200)', 'COMMIT'), 'sweep', 'many tasks ask for a sweep');
is(sent('BEGIN', add('ONE'), 'SELECT count(*) FROM twtasks.add_tasks(\'MANY\', array_fill(\'{}\'::jsonb, \'{61}\'))', 'COMMIT'), 'sweep', '... also after one that was told');
$session->query('BEGIN');
$session->query(add('NOW'));
$session->query('SELECT FROM twtasks.add_task(\'DUE\', run_after => now() + interval \'1h\')');
like($session->query('COMMIT'), qr/"default\n[0-9a-f-]{36} 0 5 0 0 NOW\n[0-9a-f-]{36} 0 5 0 [1-9][0-9]* DUE"/, 'a task that is due later tells when');

# ---- locks ----

my $stranger = $node->session('producer');

like($stranger->try("SELECT FROM twtasks_internal.news_lock FOR UPDATE"), qr/permission denied/, 'a producer cannot lock the row');
$stranger->query('BEGIN');
like($stranger->try("LOCK TABLE twtasks_internal.news_lock IN ROW SHARE MODE"), qr/permission denied/, '... nor the table');
$stranger->query('ROLLBACK');
$stranger->query('BEGIN');
$stranger->query(add('EARLY'));
$stranger->query('SET CONSTRAINTS ALL IMMEDIATE');
$stranger->query(add('EARLY'));
is(sent(add('OTHER')), 'OTHER', 'a transaction that goes on holds no notification back');
wait_for(sub { $node->value('SELECT twtasks_internal.late_commits(\'{default}\')') eq '{}' }, '... and is not late');
$stranger->query('ROLLBACK');
$stranger->query($_) foreach 'BEGIN', add('EARLY'), '/*' . 'x' x 5000 . '*/ SET CONSTRAINTS ALL IMMEDIATE';
is(sent(add('OTHER')), 'OTHER', '... even if its statement is long');
$stranger->query('COMMIT');
$ledger->release('gate');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
