# 080_dump_own_columns.pl -- a dump of a database whose tables of twtasks have
# columns of users is restored in the two steps of docs/operations.md.  A dump of the SQL
# edition has the tables themselves, so it needs one step.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Session;

my $node = TwTasks::Cluster->create('main');
my $directory = PostgreSQL::Test::Utils::tempdir();
my $add_columns = q{ALTER TABLE twtasks.task ADD note text; ALTER TABLE twtasks.finished_task ADD note text};
my $contents = q{SELECT 'live', id, note FROM twtasks.task UNION ALL SELECT 'finished', id, note FROM twtasks.finished_task ORDER BY 1, 2};

$node->value('SELECT twtasks_internal.make_partitions()');
$node->value($add_columns);
$node->add_task('A') foreach 1 .. 3;
$node->value(q{SELECT twtasks.cancel_task(id) FROM twtasks.task LIMIT 1});
$node->value(q{UPDATE twtasks.task SET note = 'mine'; UPDATE twtasks.finished_task SET note = 'mine'});
my $before = $node->value($contents);

$node->command_ok([ 'pg_dump', '-Fc', '-f', "$directory/app.dump", 'postgres' ], 'pg_dump');
$node->safe_psql('postgres', 'CREATE DATABASE app TEMPLATE template0');

# The commands of the page.
my $first = q{pg_restore -l app.dump | grep -E ' (SCHEMA|EXTENSION) ' >first && pg_restore --exit-on-error -L first -d app app.dump};
my $rest = q{pg_restore -l app.dump | grep -vE ' (SCHEMA|EXTENSION) ' >rest && pg_restore --exit-on-error -L rest -d app app.dump};

sub restore
{
	my ($commands) = @_;

	return $node->command_ok([ 'bash', '-c', "cd '$directory' && $commands" ], $commands);
}

if ($node->has_edition) { restore('pg_restore --exit-on-error -d app app.dump') }
else
{
	restore($first);
	$node->safe_psql('app', $add_columns);
	restore($rest);
}

my $restored = TwTasks::Session->new($node->connstr('app'));

is($restored->query($contents), $before, 'all tasks are there, live and finished, with the columns of users');
is($restored->query('SELECT is_adopted FROM twtasks.adoption_state'), 'f', 'it is a copy');
$restored->close;
done_testing();
