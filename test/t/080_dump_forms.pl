# 080_dump_forms.pl -- each form of a dump can be made and restored, or its restore
# is refused, and work goes on in the restored database.  A dump has the SQL edition itself, so
# that it is restored as a whole, into a database without it.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Session;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my $directory = PostgreSQL::Test::Utils::tempdir();

# A key of each place that a task can be in: live, in the history of a day, and
# in the history of no day.
sub fill
{
	my ($session) = @_;

	$session->query(q{SELECT twtasks.add_task('A', key => key), twtasks_internal.make_partitions(1)
		FROM unnest('{live,finished,old}'::text[]) key});
	$session->query(q{SELECT twtasks.cancel_task(twtasks.id_of(key)) FROM unnest('{finished,old}'::text[]) key});
	$session->query(q{UPDATE twtasks.finished_task SET state_time = state_time - interval '1 day' WHERE key = 'old'});
	$session->query(q{CREATE TABLE public.orders AS SELECT 7 AS number});
	return;
}

my $places = q{SELECT string_agg(key || ' ' || status, ', ' ORDER BY key) FROM twtasks.tasks};
my $all = 'finished CANCELLED, live SUBMITTED, old CANCELLED';

fill($node->session);
is($node->value(q{SELECT tableoid::regclass FROM twtasks.finished_task WHERE key = 'old'}),
	'twtasks.finished_task_other', 'a part of the history is in no day');

sub make_database
{
	my ($name, @statements) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $name TEMPLATE template0");
	$node->safe_psql($name, $_) foreach @statements;
	return;
}

sub dump_to
{
	my ($file, @options) = @_;

	return $node->command_ok([ 'pg_dump', @options, '-f', "$directory/$file", 'postgres' ], "pg_dump @options");
}

sub restore_plain
{
	my ($database, @files) = @_;

	return $node->command_ok(
		[ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $database, map { ('-f', "$directory/$_") } @files ],
		"restore of @files in $database");
}

# In the restored database keys hold, and tasks run: those that were there, and new ones.
sub works
{
	my ($database, $on) = @_;

	$on //= $node;
	my $session = TwTasks::Session->new($on->connstr($database));

	is($session->query($places), $all, "$database: all tasks are there");
	$session->query('SELECT twtasks.adopt(NULL, hold => false)');
	is( $session->query(
			q{SELECT string_agg(result, ' ' ORDER BY key) FROM unnest('{finished,live,new,old}'::text[]) key, twtasks.add_task('A', key => key)}),
		'already_exists already_exists added already_exists',
		"$database: the keys hold");
	my $sidecar = TwTasks::Sidecar->start(
		$node, $database,
		postgres => $on->connstr($database) . ' user=sidecar',
		handlers => [ { types => ['A'], noop => JSON::PP::true } ]);

	wait_ok(sub { $session->query(q{SELECT count(*) FROM twtasks.finished_task WHERE status = 'DONE'}) == 2 },
		"$database: tasks run");
	is($sidecar->stop, 0, "$database: the sidecar stops in order");
	is( $session->query(
			q{SELECT count(*) FROM twtasks.finished_task WHERE status = 'DONE' AND tableoid = 'twtasks.finished_task_other'::regclass}),
		0, "$database: they finish in partitions of their day");
	$session->close;
	return;
}

# ---- parts of a database, into one that has the extension ----

my $extension = 'CREATE EXTENSION twtasks';

# The archive without its schemas, which are there: see docs/operations.md.
sub restore_listed
{
	my ($database, $file) = @_;

	return $node->command_ok(
		[ 'bash', '-c', "cd '$directory' && pg_restore -l $file | grep -v ' SCHEMA ' >$file.list && "
			  . "pg_restore --exit-on-error -L $file.list -d $database $file" ],
		"restore of $file in $database");
}

sub parts_of_a_database
{
	my %schemas = (one_schema => [ -n => 'twtasks' ], two_schemas => [ -n => 'public', -n => 'twtasks' ]);

	foreach my $name (sort keys %schemas)
	{
		make_database($name, $extension);
		dump_to("$name.dump", '-Fc', @{ $schemas{$name} });
		restore_listed($name, "$name.dump");
		works($name);
	}
	is($node->safe_psql('two_schemas', 'SELECT number FROM public.orders'), '7', 'tables of users are in a dump of their schema');

	make_database('tables', $extension);
	dump_to('tables.sql', -t => 'twtasks.*');
	restore_plain('tables', 'tables.sql');
	works('tables');
	return;
}

parts_of_a_database() if !$node->has_edition;

# ---- a whole database, in parts ----

make_database('steps');
dump_to('schema.sql', '--schema-only');
dump_to('data.sql', '--data-only');
restore_plain('steps', qw(schema.sql data.sql));
works('steps');

make_database('sections');
dump_to("$_.sql", "--section=$_") foreach qw(pre-data data post-data);
restore_plain('sections', map { "$_.sql" } qw(pre-data data post-data));
works('sections');

make_database('side_by_side');
dump_to('directory', qw(-Fd -j 2));
$node->command_ok([ qw(pg_restore --exit-on-error -j 2 -d side_by_side), "$directory/directory" ], 'restore in two jobs');
works('side_by_side');

# Over what another restore has left, whose sidecar has finished tasks.
dump_to('clean.sql', qw(--clean --if-exists));
restore_plain('steps', 'clean.sql');
works('steps');

# ---- data alone, into a database with the extension ----

sub data_alone
{
	# It has no partition for the days of the dump.
	my $orders = 'CREATE TABLE public.orders (number integer)';

	make_database('refused', $extension, $orders);
	$node->command_fails_like(
		[ 'psql', '-Xq1', '-v', 'ON_ERROR_STOP=1', '-d', 'refused', '-f', "$directory/data.sql" ],
		qr/relation "twtasks\.finished_task_\w+" does not exist/,
		'data alone is refused without the partitions');
	$node->command_checks_all([ 'psql', '-Xq', '-d', 'refused', '-f', "$directory/data.sql" ],
		0, [qr/^/], [qr/does not exist/], 'a restore that goes on after errors leaves out the history');
	is( $node->safe_psql('refused', q{SELECT twtasks.adopt(NULL, hold => false) \g /dev/null
		SELECT string_agg(result, ' ' ORDER BY key) FROM unnest('{finished,live,old}'::text[]) key, twtasks.add_task('A', key => key)}),
		'added already_exists added',
		'keys whose tasks it left out are free');

	make_database('data_alone', $extension, $orders, 'SELECT twtasks_internal.make_partitions()');
	dump_to('by_root.sql', qw(--data-only --load-via-partition-root));
	restore_plain('data_alone', 'by_root.sql');
	works('data_alone');
	return;
}

data_alone() if !$node->has_edition;

# ---- a dump of version 1.0, and a database that was updated ----

sub versions
{
	make_database('old', "$extension VERSION '1.0'");
	my $old = TwTasks::Session->new($node->connstr('old'));

	fill($old);
	is($old->query(q{SELECT tableoid::regclass FROM twtasks.finished_task WHERE key = 'old'}),
		'twtasks.finished_task_default', 'a database of version 1.0 has another default partition');
	$node->command_ok([ qw(pg_dump -Fc -f), "$directory/old.dump", 'old' ], 'pg_dump of version 1.0');
	make_database('from_old', "$extension VERSION '1.0'");
	restore_listed('from_old', 'old.dump');
	$node->safe_psql('from_old', 'ALTER EXTENSION twtasks UPDATE');
	works('from_old');

	$old->query('ALTER EXTENSION twtasks UPDATE');
	$node->command_ok([ qw(pg_dump -Fc -n twtasks -f), "$directory/updated.dump", 'old' ], 'pg_dump -n after the update');
	make_database('updated', $extension);
	restore_listed('updated', 'updated.dump');
	works('updated');
	$old->query('DROP EXTENSION twtasks');
	is($old->query(q{SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace('twtasks')}), 0, 'DROP EXTENSION removes the partitions');
	$old->close;
	return;
}

versions() if !$node->has_edition;

# ---- a whole server ----

my $other = PostgreSQL::Test::Cluster->new('other');

$node->command_ok([ 'pg_dumpall', '-f', "$directory/all.sql" ], 'pg_dumpall');
$other->init(extra => [ '--no-sync', '--locale=C', '--encoding=UTF8' ]);
$other->append_conf('postgresql.conf', "shared_preload_libraries = 'twtasks'\n");
$other->start;

# The role that restores is there already.
$other->command_checks_all([ 'psql', '-Xq', '-d', 'postgres', '-f', "$directory/all.sql" ],
	0, [qr/^/], [qr/\A[^\n]*role "\w+" already exists\n\z/], 'restore of a whole server');
works('postgres', $other);

done_testing();
