# 059_unreadable.pl -- a task whose data cannot be read, since it is damaged or
# too long as text, goes to ERROR and says why; those beside it run.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node    = TwTasks::Cluster->create('main');
my $ledger  = TwTasks::Ledger->new;
my $sidecar = TwTasks::Sidecar->prepare(
	$node, 'a',
	handlers => [
		{ types => ['COMMAND'], command => $ledger->command },
		{ types => ['SQL'],     sql     => 'app.read' }
	]);

$node->value(<<'SQL');
	CREATE SCHEMA app;
	GRANT USAGE ON SCHEMA app TO sidecar;
	CREATE FUNCTION app.read(task twtasks.task_input) RETURNS void LANGUAGE plpgsql
	AS $$ BEGIN PERFORM length(task.data::text); END $$;
SQL

my @good = map { $node->add_task('COMMAND') } 1 .. 3;
my %bad  = map {
	$_ => $node->value(
		"SELECT task_id FROM twtasks.add_task('$_',
		(SELECT jsonb_agg(gen_random_uuid()) FROM generate_series(1, 1000)))"
	)
} qw(COMMAND SQL);

push @good, map { $node->add_task('COMMAND') } 1 .. 3;

# The values stored out of line are gone.
my $file = $node->toast_file;

$node->while_stopped(
	sub {
		truncate $file, 0 or die "could not truncate \"$file\": $!";
	});
$sidecar->run;

wait_ok(
	sub {
		@good == grep { $node->status_of($_) eq 'DONE' } @good;
	},
	'the other tasks run');
wait_ok(
	sub { $node->status_of($bad{COMMAND}) eq 'ERROR' },
	'a task whose data cannot be read is given up');
like(
	$node->value(
		"SELECT error FROM twtasks.tasks WHERE id = '$bad{COMMAND}'"),
	qr/^its data cannot be read: .* \(SQLSTATE XX001\)$/,
	'the task\'s error says why');
is($node->state_of($bad{COMMAND}), 'ERROR 2', 'the unreadable task ends after one try');
is($ledger->starts($bad{COMMAND}), 0,         'the handler of the unreadable task was not started');
wait_ok(sub { $node->status_of($bad{SQL}) eq 'WAITING' },
	'an unreadable task of a SQL handler fails');
like(
	$node->value("SELECT error FROM twtasks.tasks WHERE id = '$bad{SQL}'"),
	qr/^could not read .* \(SQLSTATE XX001\)$/,
	'the error of the SQL task is PostgreSQL\'s own');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
