# 041_vacuum.pl -- the leader vacuums the tables that tasks pass through, since
# autovacuum may come late, or never.  It waits for nobody, and leaves alone what its
# user or a snapshot keeps.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Session;
use TwTasks::Sidecar;
use TwTasks::Wait;

# More than the dead rows that the leader tolerates.
use constant MANY => 6000;

my $node = TwTasks::Cluster->create('main', conf => { autovacuum => 'off' });

sub vacuums
{
	my ($table) = @_;

	return $node->value("SELECT vacuum_count FROM pg_stat_user_tables WHERE relid = 'twtasks.$table'::regclass");
}

sub dead_rows
{
	my ($table) = @_;

	return $node->value("SELECT n_dead_tup FROM pg_stat_user_tables WHERE relid = 'twtasks.$table'::regclass");
}

# Each statement is a session of its own, whose end tells the statistics what it did.
sub kill_rows
{
	$node->value('INSERT INTO twtasks.unique_key (task_id, key) SELECT gen_random_uuid(), n FROM generate_series(1, ' . MANY . ') n');
	$node->value('DELETE FROM twtasks.unique_key');
	wait_for(sub { dead_rows('unique_key') >= MANY }, 'the statistics to know of dead rows');
	return;
}

# Returns after how many milliseconds the leader is to call again.
sub vacuum
{
	return $node->value('CALL twtasks_internal.vacuum_tasks(NULL)');
}

is(vacuum(), 10000, 'nothing is to be done at first');
is(vacuums('task'), 0, 'no table is vacuumed without need');

my $other = $node->session;
kill_rows();
$other->query('BEGIN');
$other->query('LOCK TABLE twtasks.unique_key IN SHARE UPDATE EXCLUSIVE MODE');
is(vacuum(), 10000, 'a table that somebody has locked is passed over');
$other->query('ROLLBACK');
is(vacuums('unique_key'), 0, 'it was not vacuumed');

$node->value('ALTER TABLE twtasks.unique_key SET (autovacuum_enabled = off)');
is(vacuum(), 10000, 'a table whose user wants no vacuum is passed over');
$node->value('ALTER TABLE twtasks.unique_key RESET (autovacuum_enabled)');
$node->value('ALTER TABLE twtasks.unique_key SET (autovacuum_vacuum_threshold = 1000000)');
is(vacuum(), 10000, 'its own threshold counts');
is(vacuums('unique_key'), 0, 'it was not vacuumed');
$node->value('ALTER TABLE twtasks.unique_key RESET (autovacuum_vacuum_threshold)');

$node->value('INSERT INTO twtasks.unique_key (task_id, key) SELECT gen_random_uuid(), \'kept \' || n FROM generate_series(1, 100) n');
vacuum();
is(vacuums('unique_key'), 1, 'a table with many dead rows is vacuumed');
is(dead_rows('unique_key'), 0, 'all of them are removed');
is($node->value('SET enable_seqscan = off; SELECT count(*) FROM twtasks.unique_key WHERE key LIKE \'kept %\' AND key > \'kept\''), 100, 'the index keeps the rows that live');
is($node->value('SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off; SELECT count(*) FROM twtasks.unique_key'), 100, 'and so does the table');

$other->query('BEGIN ISOLATION LEVEL REPEATABLE READ');
$other->query('SELECT count(*) FROM twtasks.unique_key');
kill_rows();
cmp_ok(vacuum(), '>=', 10000, 'a vacuum in vain is not repeated soon');
is(vacuums('unique_key'), 2, 'it was tried');
cmp_ok(dead_rows('unique_key'), '>=', MANY, 'a snapshot keeps dead rows');
is($other->query('SELECT count(*) FROM twtasks.unique_key'), 100, 'the snapshot still sees its rows');
$other->query('COMMIT');
vacuum();
is(dead_rows('unique_key'), 0, 'after its end the rows are removed');
like($other->try('BEGIN; CALL twtasks_internal.vacuum_tasks(NULL)'), qr/cannot run inside a transaction block/, 'a transaction block is refused');
$other->query('ROLLBACK');

# Functions of an index run as the owner of the table, whoever calls.
$node->value(q{CREATE FUNCTION place(text) RETURNS text LANGUAGE plpgsql IMMUTABLE
	AS $$ BEGIN RAISE LOG 'place as % by %', current_user, current_setting('search_path'); RETURN $1; END $$});
$node->value('CREATE INDEX places ON twtasks.unique_key USING brin (public.place(key)) WITH (pages_per_range = 1)');
kill_rows();
$node->value('INSERT INTO twtasks.unique_key (task_id, key) SELECT gen_random_uuid(), \'new \' || n FROM generate_series(1, 500) n');
my $before_it = -s $node->logfile;
vacuum();
my %called = map { $_ => 1 } slurp_file($node->logfile, $before_it) =~ /LOG: +place (as .*)$/mg;
is_deeply([ keys %called ], ['as twtasks_owner by pg_catalog, pg_temp'], 'functions of an index run as the owner of the table');
is($node->value('SELECT current_user'), 'postgres', '... and the caller is who it was');

# A vacuum that takes long, since such a function waits, keeps no dead rows from others.
$node->value(q{CREATE OR REPLACE FUNCTION place(text) RETURNS text LANGUAGE plpgsql IMMUTABLE
	AS $$ BEGIN PERFORM pg_catalog.pg_advisory_xact_lock_shared(1); RETURN $1; END $$});
$node->value('CREATE TABLE own AS SELECT generate_series(1, 1000) n');
kill_rows();
$node->value('INSERT INTO twtasks.unique_key (task_id, key) SELECT gen_random_uuid(), \'more \' || n FROM generate_series(1, 500) n');
$other->query('BEGIN; SELECT pg_advisory_xact_lock(1)');
my $slow = TwTasks::Session->new($node->connstr('postgres'));
$slow->send('CALL twtasks_internal.vacuum_tasks(NULL)');
wait_for(sub { $node->value(q{SELECT count(*) FROM pg_stat_activity WHERE query ~ '^CALL' AND wait_event = 'advisory'}) == 1 }, 'a vacuum to wait in a function');
$node->value('DELETE FROM own');
# A session tells what it deleted up to a second later, and that would count after the vacuum.
wait_for(sub { $node->value(q{SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = 'own'}) == 1000 },
	'the statistics to know of dead rows of the other table');
$node->value('VACUUM own');
is($node->value(q{SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = 'own'}), 0, 'a vacuum under way keeps no dead rows from other vacuums');
$other->query('ROLLBACK');
unlike($slow->receive, qr/ERROR/, '... and goes on');
$node->value('DROP INDEX twtasks.places');

# Its last pages are empty, and stay.
$node->value('DELETE FROM twtasks.unique_key');
kill_rows();
my $size = "SELECT pg_relation_size('twtasks.unique_key')";
my $before_it_was = $node->value($size);
vacuum();
is(dead_rows('unique_key'), 0, 'a table of dead rows is vacuumed');
is($node->value($size), $before_it_was, '... and its file is not shortened, which would need a lock that stops everybody');

# A TOAST table without options has those of its table.
my $toast = $node->value(q{SELECT reltoastrelid::regclass FROM pg_class WHERE oid = 'twtasks.task'::regclass});

sub toast_vacuums
{
	return $node->value("SELECT vacuum_count FROM pg_stat_all_tables WHERE relid = '$toast'::regclass");
}

$node->value('ALTER TABLE twtasks.task ALTER COLUMN payload SET STORAGE EXTERNAL');
$node->value(q{SELECT count(twtasks.add_task('LARGE', payload => convert_to(repeat('x', 400000), 'UTF8'))) FROM generate_series(1, 40)});
$node->value(q{DELETE FROM twtasks.task WHERE type = 'LARGE'});
wait_for(sub { $node->value("SELECT n_dead_tup FROM pg_stat_all_tables WHERE relid = '$toast'::regclass") >= MANY },
	'the statistics to know of dead rows of the TOAST table');
$node->value('ALTER TABLE twtasks.task SET (autovacuum_enabled = off)');
vacuum();
is(toast_vacuums(), 0, 'the TOAST table of a table whose user wants no vacuum is passed over');
$node->value('ALTER TABLE twtasks.task RESET (autovacuum_enabled)');
vacuum();
is(toast_vacuums(), 1, 'else it is vacuumed too');

# In the daily life of the leader.  A task that nobody handles lets it go on.
$node->value('SELECT twtasks.add_task(\'NOBODY\')');
my $before = vacuums('task');
my $sidecar = TwTasks::Sidecar->start($node, 'a', handlers => [ { types => ['TASK'], noop => \1 } ]);

for my $round (1 .. 2)
{
	$node->add_many('TASK', MANY, 1000);
	$node->wait_until_done('TASK');
	wait_ok(sub { vacuums('task') > $before }, "the leader vacuums the table of tasks, round $round");
	$before = vacuums('task');
}
is($node->value("SELECT count(*) FROM twtasks.task"), 1, 'the task that waits is still there');
unlike($sidecar->log, qr/vacuum/, 'nothing of it is logged');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
