# 083_adoption_physical.pl -- copies of the files: a standby that is promoted
# goes on by itself, a clone or a recovery to a point in time executes nothing
# until it is adopted.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $ledger = TwTasks::Ledger->new;
my $number = 0;

sub state_of
{
	my ($node) = @_;

	return $node->value(
		'SELECT is_adopted, fault, environment FROM twtasks.adoption_state');
}

sub restart
{
	my ($node) = @_;

	$node->forget_session;
	$node->restart;
	return;
}

# A server of the files of a backup.
sub from_backup
{
	my ($origin, $name, %how) = @_;
	my $node = TwTasks::Cluster->new($name);

	$node->init_from_backup($origin, 'backup', %how);
	return $node;
}

sub sidecar_of
{
	my ($node, $environment) = @_;

	return TwTasks::Sidecar->prepare(
		$node, 'sidecar' . ++$number,
		environment => $environment,
		handlers    => [ { types => ['*'], command => $ledger->command } ]);
}

# Runs a task there, and all that could run before.
sub runs_tasks
{
	my ($node, $environment) = @_;
	my $sidecar = sidecar_of($node, $environment)->run;
	my $id      = $node->add_task('PROBE');

	wait_ok(
		sub {
			$node->status_of($id) eq 'DONE'
			  && $node->tasks('status IN (\'SUBMITTED\', \'PROCESSING\')') == 0;
		},
		$node->name . ': tasks are executed');
	is($sidecar->stop, 0, $node->name . ': the sidecar stops in order');
	return;
}

# A sidecar says that it executes nothing, and why; the task that waits there
# stays as it is.
sub runs_nothing
{
	my ($node, $environment, $why) = @_;
	my $name    = $node->name;
	my $sidecar = sidecar_of($node, $environment)->launch;

	ok( $sidecar->wait_for_log(
			qr/ERROR adoption: executes nothing in this database: $why/),
		"$name: the sidecar says why nothing is executed");
	is( $node->tasks(
			'type = \'WITNESS\' AND status = \'SUBMITTED\' AND version = 0'),
		1,
		"$name: no task that could run does");
	is($sidecar->stop, 0, "$name: the sidecar stops in order");
	return;
}

# A standby that starts late finds what it needs.
my $main = TwTasks::Cluster->create('main',
	conf => { wal_keep_size => '1GB' },
	init => { allows_streaming => 1, has_archiving => 1 });
$main->value('SELECT held FROM twtasks.adopt(\'production\')');
is(state_of($main), 't||production', 'the original has an environment');
runs_tasks($main, 'production');
$main->backup('backup');

# ---- files copied, and started ----

$main->add_task('WITNESS');
my $witness = 'SELECT twtasks.add_task(\'WITNESS\')';
my $clone   = from_backup($main, 'clone');
$clone->start;
$clone->value($witness);
is( state_of($clone),
	'f|the cluster\'s files were copied or restored|',
	'clone: the clone is told from the original');
runs_nothing($clone, 'production',
	'the cluster\'s files were copied or restored');
restart($clone);
is( state_of($clone),
	'f|the cluster\'s files were copied or restored|',
	'clone: the clone is told from the original after a restart');
is($clone->value('SET client_min_messages = warning; SELECT held FROM twtasks.adopt(\'test\')'),
	1, 'clone: the adoption holds the task that would run');
runs_tasks($clone, 'test');
restart($clone);
is(state_of($clone), 't||test', 'clone: the adoption survives a restart');
is($clone->tasks('type = \'WITNESS\' AND status = \'HELD\''),
	1, 'clone: the held task stays held');
$clone->stop;

# The original is not troubled by copies of it, nor by a restart.
restart($main);
is(state_of($main), 't||production', 'the original goes on after a restart');

# ---- recovery to a point in time ----

$main->safe_psql('postgres', 'SELECT pg_create_restore_point(\'here\')');
my $segment = $main->value('SELECT pg_walfile_name(pg_current_wal_lsn())');
$main->value(
	'SELECT twtasks.cancel_task(id, 0) FROM twtasks.tasks WHERE type = \'WITNESS\''
);
$main->safe_psql('postgres', 'SELECT pg_switch_wal()');
wait_for(
	sub {
		$main->value(
			"SELECT last_archived_wal >= '$segment' FROM pg_stat_archiver")
		  eq 't';
	},
	'the archive to have the restore point');
my $past = from_backup($main, 'past', has_restoring => 1, standby => 0);
$past->append_conf('postgresql.conf',
	"recovery_target_name = 'here'\nrecovery_target_action = 'promote'\n");
$past->start;
wait_for(sub { $past->value('SELECT pg_is_in_recovery()') eq 'f' },
	'the end of the recovery');
like(
	state_of($past),
	qr/^f\|it was recovered to a point in time \(at restore point "here"\)\|$/,
	'past: the recovery to a point in time is noticed');
runs_nothing($past, 'production',
	'it was recovered to a point in time \(at restore point "here"\)');
is( $past->value(
		'SET client_min_messages = warning; SELECT held FROM twtasks.adopt(\'production\', reason => \'recovered\')'
	),
	1,
	'past: the adoption holds the task that would run');
runs_tasks($past, 'production');
is($past->tasks('type = \'WITNESS\' AND status = \'HELD\''),
	1, 'past: the held task stays held');
$past->stop;

# ---- a standby ----

my $standby = from_backup($main, 'standby', has_streaming => 1);
$standby->start;
$main->add_task('WITNESS');
$main->wait_for_catchup($standby, 'replay', $main->lsn('insert'));
is( state_of($standby),
	'f|the server is a standby|',
	'standby: the standby is not adopted');
like(
	$standby->value(
		q{SELECT hint FROM twtasks.warnings WHERE warning = 'not adopted'}),
	qr/^tasks run on the primary/,
	'standby: the warning does not ask for what a standby refuses');
my $before = $standby->session;
is($before->query('SELECT twtasks.is_adopted()'),
	'f', 'standby: an open session sees that it is not adopted');
$main->stop('immediate');
$standby->promote;
is($before->query('SELECT twtasks.is_adopted()'),
	't', 'promoted: the open session sees that it is adopted');
is(state_of($standby), 't||production', 'promoted: the server keeps its environment');
runs_nothing($standby, 'test',
	'it was adopted for environment "production", not "test"');
runs_tasks($standby, 'production');
is($standby->tasks('type = \'WITNESS\' AND status = \'DONE\''),
	1, 'promoted: the task of before the promotion is done');
is( $standby->value(
		'SELECT environment, reason, timeline FROM twtasks.adoption WHERE ended IS NULL'
	),
	'production|a standby was promoted|2',
	'promoted: the adoption records the new timeline');
runs_tasks($standby, 'production');
is($standby->value('SELECT count(*) FROM twtasks.adoption'),
	3, 'promoted: the promotion is recorded once');

# So that a copy of the new primary is told from it.
$standby->backup('backup');
my $second = from_backup($standby, 'second');
$second->start;
is( state_of($second),
	'f|the cluster\'s files were copied or restored|',
	'second clone: the clone is told from the new primary');
$second->stop;

# The timeline alone says nothing about those that are not its ancestors.
$second->start;
$second->value(
	'UPDATE twtasks.adoption SET timeline = 7 WHERE ended IS NULL');
is( state_of($second),
	'f|its history is not that of the cluster for which it was adopted|',
	'a timeline of another history is noticed');

$second->stop;

# ---- pg_upgrade ----

my ($bindir) = run_command([ 'pg_config', '--bindir' ]);
my $upgraded = TwTasks::Cluster->new('upgraded');

$standby->add_task('WITNESS');
$standby->stop;
$upgraded->init(extra => [ '--no-sync', '--locale=C', '--encoding=UTF8' ]);
$upgraded->command_ok(
	[
		'pg_upgrade', '--no-sync',
		'-b',         $bindir,
		'-B',         $bindir,
		'-d',         $standby->data_dir,
		'-D',         $upgraded->data_dir,
		'-p',         $standby->port,
		'-P',         $upgraded->port,
		'-s',         $upgraded->host
	],
	'upgraded: pg_upgrade succeeds');
$upgraded->start;
is( state_of($upgraded),
	'f|it came from another cluster|',
	'upgraded: the server counts as another cluster');
runs_nothing($upgraded, 'production', 'it came from another cluster');
is( $upgraded->value(
		'SELECT held FROM twtasks.adopt(\'production\', hold => false)'),
	0,
	'upgraded: the adoption may hold nothing');
runs_tasks($upgraded, 'production');
is($upgraded->tasks('type = \'WITNESS\' AND status = \'DONE\''),
	2, 'upgraded: the tasks of before the upgrade are done');

done_testing();
