# 083_adoption_restored.pl -- files of a stopped server are copied, restored over
# themselves, or moved: what goes back in time, or runs a second time, executes
# nothing until it is adopted; what only stops and starts again goes on.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $ledger  = TwTasks::Ledger->new;
my $node    = TwTasks::Cluster->create('main', conf => { restart_after_crash => 'on' });
my $data    = $node->data_dir;
my $saved   = PostgreSQL::Test::Utils::tempdir() . '/saved';
my $number  = 0;
my $copied  = 'the cluster\'s files were copied or restored';
my $moved   = 'it was started from another directory of this machine';
my $marked  = 'SELECT cookie FROM twtasks.adoption WHERE ended IS NULL';
my $cookie;
my $machine = 'it was started on another machine, and has no environment';

sub state_of
{
	my ($server) = @_;

	return $server->value('SELECT is_adopted, fault FROM twtasks.adoption_state');
}

sub sidecar_of
{
	my ($server, %config) = @_;

	return TwTasks::Sidecar->prepare(
		$server, 'sidecar' . ++$number,
		handlers => [ { types => ['*'], command => $ledger->command } ], %config);
}

# A task is executed, by a sidecar that starts for it.
sub pays
{
	my ($name, %config) = @_;
	my $sidecar = sidecar_of($node, %config)->run;
	my $id      = $node->add_task('PAYOUT');

	wait_ok(sub { $node->status_of($id) eq 'DONE' }, "$name: the payout is done");
	is($sidecar->stop, 0, "$name: the sidecar stops in order");
	return;
}

sub refuses
{
	my ($server, $fault, $name, %config) = @_;
	my $sidecar = sidecar_of($server, %config)->launch;

	is(state_of($server), "f|$fault", "$name: the view says why nothing is executed");
	ok( $sidecar->wait_for_log(
			qr/ERROR adoption: executes nothing in this database: \Q$fault\E/),
		"$name: the sidecar says why nothing is executed");
	is($sidecar->stop, 0, "$name: the sidecar stops in order");
	return;
}

sub stop
{
	my ($mode) = @_;

	$node->forget_session;
	$node->stop($mode);
	return;
}

# While the server is stopped.
sub with_stopped
{
	my ($action, $mode) = @_;

	stop($mode);
	$action->();
	$node->start;
	return;
}

sub run
{
	my (@command) = @_;

	return sub { system_or_bail(@command) };
}

# Leaves the state of a transaction that named a marker before its server died.
sub unsettle
{
	my ($marker) = glob "$data/twtasks.*";

	system_or_bail('mv',    $marker, "$marker.$cookie");
	system_or_bail('touch', $marker, "$marker.00000000-0000-4000-8000-000000000000");
	return;
}

sub markers
{
	my @markers = glob "$data/twtasks.*";

	return scalar @markers;
}

# ---- no false alarm ----

pays('at first');
with_stopped(sub { }, 'immediate');
pays('after a crash');
kill 'KILL', $node->value('SELECT pg_backend_pid()');
wait_for(sub { slurp_file($node->logfile) =~ /reinitializing/ }, 'the crash');
$node->poll_query_until('postgres', 'SELECT true') or die 'the server does not come back';
$node->forget_session;
pays('after the crash of a session');
with_stopped(run('chmod', '-R', 'u+rwX', $data));
pays('after a start, with permissions set again');
$node->value('BEGIN; SELECT twtasks.adopt(\'elsewhere\'); ROLLBACK');
pays('after an adoption that was rolled back');
$cookie = $node->value($marked);
with_stopped(\&unsettle, 'immediate');
pays('after a crash within the change of markers');
$node->value('UPDATE twtasks.adoption SET marked = marked - interval \'61 min\'');
$cookie = $node->value($marked);
$node->value('SELECT twtasks_internal.make_partitions()');
isnt($node->value($marked), $cookie, 'a new marker is made each hour');
is(state_of($node), 't|', 'the next look settles the new marker');
is(markers(), 1, 'exactly one marker exists');
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql('other', 'CREATE EXTENSION twtasks');
$node->safe_psql('postgres', 'DROP DATABASE other');
is(markers(), 2, 'the marker of a dropped database stays');
$node->value('SELECT twtasks.adopt(NULL)');
is(state_of($node) . markers(), 't|1', 'the next adoption removes the marker of a dropped database');

# ---- restored over itself ----

stop();
system_or_bail('cp', '-a', $data, $saved);
system_or_bail('tar', '-cf', "$saved.tar", '-C', $data, '.');
$node->start;
pays('what the backup does not have');
with_stopped(run('cp', '-a', "$saved/.", $data));
refuses($node, $copied, 'cp -a over it');
is($node->value('SELECT held FROM twtasks.adopt(NULL)'), 0, 'the copy is adopted');
pays('cp -a over it, adopted');
with_stopped(run('tar', '-xf', "$saved.tar", '-C', $data));
refuses($node, $copied, 'tar x over it');
$node->value('SELECT twtasks.adopt(NULL)');
pays('tar x over it, adopted');

# ---- a second one, elsewhere ----

stop();
my $copy = TwTasks::Cluster->new('copy');
system_or_bail('cp', '-a', $data, $copy->data_dir);
$copy->append_conf('postgresql.conf',
	'port = ' . $copy->port . "\nunix_socket_directories = '" . $copy->host . "'\n");
$copy->start;
refuses($copy, $copied, 'the copy alone');
$node->start;
pays('beside its copy');
$copy->restart;
$copy->forget_session;
refuses($copy, $copied, 'the copy beside its original');
$copy->stop;

# ---- the same files, started from elsewhere ----

# All that tells a snapshot of a volume from the volume is where it is started.
my $aside = "$data.aside";
stop();
system_or_bail('mv',      $data,  $aside);
system_or_bail('ln', '-s', $aside, $data);
$node->start;
refuses($node, $moved, 'from another directory');
stop();
unlink $data;
system_or_bail('mv', $aside, $data);
$node->start;
pays('back in its directory');

$node->value('UPDATE twtasks.adoption SET machine = machine + 1 WHERE ended IS NULL');
refuses($node, $machine, 'another machine');
$node->value('UPDATE twtasks.adoption SET machine = machine - 1 WHERE ended IS NULL');
$node->value('SELECT twtasks.adopt(\'production\')');
$node->value(
	'UPDATE twtasks.adoption SET machine = machine + 1, directory = directory + 1, started = \'-infinity\' WHERE ended IS NULL');
pays('another machine, with an environment', environment => 'production');
is( $node->value(
		'SELECT (a.machine, a.directory) = (p.machine, p.directory) FROM twtasks.adoption a, twtasks_internal.own_place() p WHERE ended IS NULL'
	),
	't', 'the adoption records where the database is now');
$node->value('UPDATE twtasks.adoption SET directory = directory + 1 WHERE ended IS NULL');
refuses($node, $moved, 'with an environment, from another directory',
	environment => 'production');

done_testing();
