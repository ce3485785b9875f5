# 201_edition_runs.pl -- a sidecar runs the tasks of the SQL edition, which a role without
# superuser has installed; and functions of users have only the rights of their owners.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main', queue => 'notify', edition => 'sql');
my $ledger = TwTasks::Ledger->new;
my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	sweep    => '1h',
	handlers => [
		{ types => ['COMMAND'], command => $ledger->command },
		{ types => ['FAILS'], command => $ledger->command(undef, 1), retry => { delay => '10ms', max_tries => 2 } },
		{ types => ['NOOP'], noop => JSON::PP::true }
	]);

is($node->value('SELECT edition FROM twtasks.edition()'), 'sql', 'the database has the SQL edition');
my %task = map { $_ => $node->add_task($_) } qw(COMMAND FAILS NOOP);
wait_ok(sub { $node->value('SELECT count(*) FROM twtasks.task WHERE status <> \'ERROR\'') eq '0' }, 'the tasks end');
is($node->status_of($task{COMMAND}), 'DONE', 'a command ran');
is($node->status_of($task{NOOP}), 'DONE', 'a task of noop is done');
is($node->value("SELECT status || ' ' || tries FROM twtasks.task WHERE id = '$task{FAILS}'"), 'ERROR 2', 'a command that fails is tried again, and then left to people');

# Its owner lets a function run as the role that calls it, and changes what called it.
$node->value(<<'SQL');
	CREATE SCHEMA app;
	CREATE ROLE team;
	GRANT USAGE, CREATE ON SCHEMA app TO team;
	GRANT USAGE ON SCHEMA app TO PUBLIC;
	CREATE FUNCTION app.look(task twtasks.new_task) RETURNS twtasks.new_task LANGUAGE plpgsql SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp AS $$ BEGIN task.sub_type := current_user; RETURN task; END $$;
	ALTER FUNCTION app.look(twtasks.new_task) OWNER TO team;
	SELECT twtasks.configure_type('LOOKED', intercept => 'app.look');
SQL
my $id = $node->add_task('LOOKED');
is($node->value("SELECT sub_type FROM twtasks.task WHERE id = '$id'"), 'team', 'a function of a policy runs as its owner');
$node->value('ALTER FUNCTION app.look(twtasks.new_task) SECURITY INVOKER');
like($node->common_session->try('SELECT twtasks.add_task(\'LOOKED\')'), qr/"app.look" is not SECURITY DEFINER/, '... and is not called without that');
is($sidecar->stop, 0, 'the sidecar stops in order');

my $solo = TwTasks::Cluster->create('solo', queue => 'notify', edition => 'one-role');
is($solo->session('installer')->query('SELECT result FROM twtasks.add_task(\'ONE\')'), 'added', 'one role has all that it needs');

done_testing();
