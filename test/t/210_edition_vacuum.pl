# 210_edition_vacuum.pl -- a long autovacuum keeps neither reset_tasks() nor an update from
# their locks in the SQL edition, whose roles may not see what other sessions are.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::NextEdition;
use TwTasks::Wait;

my $next = TwTasks::NextEdition->new;
my $node = TwTasks::Cluster->create('main', queue => 'notify', edition => 'sql', conf => {
	autovacuum => 'on',
	autovacuum_naptime => '10min',
	autovacuum_vacuum_cost_delay => '100ms',
	autovacuum_vacuum_cost_limit => 1,
	deadlock_timeout => '100ms',
	'twtasks.testing' => 'on'
});

$next->write('update.sql', '--update', "$ENV{TWT_EDITIONS}/sql.sql");

sub nap
{
	my ($time) = @_;

	$node->safe_psql('postgres', "ALTER SYSTEM SET autovacuum_naptime = '$time'");
	$node->reload;
	return;
}

# Lets the server begin a vacuum that takes minutes.  Returns the length of the log before.
sub begin_vacuum
{
	$node->value($_) foreach
		q{INSERT INTO twtasks.unique_key (task_id, key) SELECT gen_random_uuid(), 'k' || n FROM generate_series(1, 20000) n},
		'UPDATE twtasks.unique_key SET key = key';
	nap('1s');
	wait_for(
		sub {
			$node->value(q{SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
				WHERE a.backend_type = 'autovacuum worker' AND l.relation = 'twtasks.unique_key'::regclass});
		},
		'an autovacuum to be at work');
	nap('10min');
	return -s $node->logfile;
}

sub was_ended_ok
{
	my ($before) = @_;

	return like(slurp_file($node->logfile, $before), qr/canceling autovacuum task\n(?:.*\n)?.*vacuum of table "postgres\.twtasks\.unique_key"/, '... and the server has ended the vacuum for it');
}

my $vacuum = begin_vacuum();
is($node->value('SELECT twtasks.reset_tasks()'), 0, 'a vacuum does not keep reset_tasks() from its locks');
was_ended_ok($vacuum);
is($node->value('SELECT count(*) FROM twtasks.unique_key'), 0, 'the tables are empty');

$vacuum = begin_vacuum();
is(TwTasks::NextEdition::load($node, 'postgres', $next->file('update.sql'), 'installer'), '', 'nor an update');
was_ended_ok($vacuum);
is($node->value('SELECT version FROM twtasks.edition()'), '77.1', 'the database has the new version');

done_testing();
